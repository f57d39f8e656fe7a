"""mask_tokens: which are chosen, what stands in their place, and what is to be guessed."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.models import mask_tokens

V, MASK, SPECIAL = 30, 4, (0, 1, 2, 3)


def seeded(seed=0): return torch.Generator().manual_seed(seed)


def masked(ids, prob=.15, special=SPECIAL, seed=0):
    out = mask_tokens(ids, MASK, V, special, prob, generator=seeded(seed))
    return [x.numpy() for x in out]


def text(*shape, low=5): return torch.tensor(np.random.default_rng(1).integers(low, V, shape))


def test_labels_are_the_tokens_that_were_chosen():
    """-100 for all others, whose input is as it was"""
    ids = text(20, 50)
    inputs, labels = masked(ids)
    chosen = labels != -100
    assert (labels[chosen] == ids.numpy()[chosen]).all() and (inputs[~chosen] == ids.numpy()[~chosen]).all()
    assert set(np.unique(labels[~chosen])) == {-100} and inputs.dtype == labels.dtype == np.int64
    assert inputs.shape == labels.shape == (20, 50)


def test_ids_are_left_as_they_were():
    ids = text(4, 50)
    before = ids.tolist()
    inputs, labels = mask_tokens(ids, MASK, V, SPECIAL, 1.0)
    assert ids.tolist() == before and labels.tolist() == before != inputs.tolist()


@pytest.mark.parametrize("prob", [.15, .5])
def test_how_many_are_chosen(prob):
    """Within 4.5 standard deviations; 15 of 100 unless told, everywhere in the text"""
    n, ids = 20000, text(200, 100)
    chosen = masked(ids, prob)[1] != -100
    assert abs(chosen.sum() - n * prob) < 4.5 * np.sqrt(n * prob * (1 - prob))
    assert abs(chosen.mean(0) - prob).max() < .2 and abs(chosen.mean(1) - prob).max() < .25
    default = mask_tokens(ids, MASK, V, SPECIAL, generator=seeded())[1].numpy() != -100
    assert (default == (masked(ids)[1] != -100)).all()


def test_what_stands_in_their_place():
    """80 % [MASK], 10 % any ordinary token, 10 % as they were"""
    ids = text(200, 100)
    inputs, labels = masked(ids, 1.0)
    n = ids.numel()
    same, mask = inputs == ids.numpy(), inputs == MASK
    drawn = ~same & ~mask                              # a drawn token may also be the old one: 1 of 25
    for count, share in ((mask, .8), (same, .1 + .1 / 25), (drawn, .1 - .1 / 25)):
        assert abs(count.sum() - n * share) < 4.5 * np.sqrt(n * share * (1 - share))
    assert (labels == ids.numpy()).all()


def test_the_three_do_not_hang_on_the_choice():
    """Also where few are chosen it is 80, 10 and 10"""
    ids = text(400, 100)
    inputs, labels = masked(ids, .05)
    chosen = labels != -100
    n, mask = chosen.sum(), (inputs == MASK)[chosen].sum()
    same = (inputs == ids.numpy())[chosen].sum()
    assert abs(mask - .8 * n) < 4.5 * np.sqrt(n * .16)
    assert abs(same - .104 * n) < 4.5 * np.sqrt(n * .104 * .896)


def test_ordinary_tokens_are_drawn_alike():
    """Each as often as the others; never a special one, never [MASK]"""
    inputs, _ = masked(torch.full((200, 100), 5), 1.0)
    drawn = inputs[(inputs != MASK) & (inputs != 5)]
    counts = np.bincount(drawn, minlength=V)
    assert counts[:6].sum() == 0 and len(counts) == V
    want = len(drawn) / 24
    assert ((counts[6:] - want) ** 2 / want).sum() / 23 < 2.5


@pytest.mark.parametrize("special", [SPECIAL, [3, 0, 1, 2], {0, 1, 2, 3}, ()], ids=str)
def test_special_tokens_are_never_chosen(special):
    """Of whatever kind the list is; without one every token may be"""
    ids = text(50, 50, low=0)
    inputs, labels = masked(ids, 1.0, special)
    fixed = np.isin(ids.numpy(), list(special))
    assert ((labels == -100) == fixed).all() and (inputs[fixed] == ids.numpy()[fixed]).all()
    seen = set(np.unique(inputs[~fixed]))
    assert seen == set(range(V)) - set(special)


def test_mask_itself_is_chosen_unless_it_is_special():
    ids = torch.full((3, 4), MASK)
    assert (masked(ids, 1.0)[1] == MASK).all()
    assert (masked(ids, 1.0, (*SPECIAL, MASK))[1] == -100).all()


def test_all_and_none():
    ids = text(10, 10)
    assert (masked(ids, 0.0)[1] == -100).all() and (masked(ids, 0.0)[0] == ids.numpy()).all()
    assert (masked(ids, 1.0)[1] == ids.numpy()).all()
    assert masked(ids[:0])[0].shape == masked(ids[:0])[1].shape == (0, 10)


def test_only_one_ordinary_token():
    """There is nothing else to draw"""
    inputs, labels = mask_tokens(torch.full((40, 20), 4), 3, 5, (0, 1, 2), 1.0)
    assert set(np.unique(inputs.numpy())) == {3, 4} and (labels == 4).all()


def test_the_generator_decides():
    """The same seed, the same masks; without one the default generator"""
    ids = text(10, 20)
    first = masked(ids, seed=3)
    assert all((a == b).all() for a, b in zip(first, masked(ids, seed=3)))
    assert (first[1] != masked(ids, seed=4)[1]).any()
    torch.manual_seed(5)
    one = mask_tokens(ids, MASK, V, SPECIAL)
    here = torch.rand(2).tolist()
    torch.manual_seed(5)
    assert mask_tokens(ids, MASK, V, SPECIAL)[0].tolist() == one[0].tolist()
    torch.manual_seed(5)
    masked(ids)                                        # another generator leaves the default one alone
    two = mask_tokens(ids, MASK, V, SPECIAL)
    assert two[0].tolist() == one[0].tolist() and torch.rand(2).tolist() == here


def test_refused():
    """A vocabulary of special tokens only, a tokenizer without [MASK], and percents for a share"""
    with pytest.raises(ValueError, match="vocabulary of 3.*nothing is left"):
        mask_tokens(torch.ones(1, 2).long(), 2, 3, (0, 1))
    with pytest.raises(ValueError, match="is None"):
        mask_tokens(torch.ones(1, 2).long(), None, V, SPECIAL)
    for prob in 15, -.1, float("nan"):
        with pytest.raises(ValueError, match=f"prob={prob}.*between 0 and 1"):
            mask_tokens(torch.ones(1, 2).long(), MASK, V, SPECIAL, prob)
