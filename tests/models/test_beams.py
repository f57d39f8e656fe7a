"""Beam search: by hand on tables of chances, by trying all texts, and with a GPT and its cache."""
import itertools
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.models import GPTDecoder, beam_search

from .support import Cache, some_ids, stirred

N = 7


def table(chances, asked=None):
    """logits_of for beam_search: {text: chances of its next token}; asked: gets the texts, call by call."""
    def logits_of(ids):
        rows = [tuple(row) for row in ids.tolist()]
        if asked is not None:
            asked.append(rows)
        return torch.tensor([chances.get(row, chances.get(None)) for row in rows], dtype="float64").log()
    return logits_of


def ones(b=1): return torch.ones(b, 1).long()


# ---- by hand ----

GARDEN = {(1,): [.5, .4, .1], (1, 0): [.4, .3, .3], (1, 1): [.05, .05, .9], (1, 2): [1., 0., 0.],
          None: [.2, .7, .1]}


def test_two_beams_find_what_greedy_misses():
    """.5 · .4 = .20 for the likeliest first; .4 · .9 = .36 behind the second"""
    assert beam_search(table(GARDEN), ones(), 2, 1).tolist() == [[1, 0, 0]]
    for beams in 2, 3, 9:
        assert beam_search(table(GARDEN), ones(), 2, beams).tolist() == [[1, 1, 2]]


def test_which_texts_are_kept_and_asked():
    """The two best of all proposals, best first; reorder gets the rows they go on from"""
    asked, moves = [], []
    out = beam_search(table(GARDEN, asked), ones(), 3, 2, reorder=lambda index: moves.append(index.tolist()))
    assert asked == [[(1,), (1,)], [(1, 0), (1, 1)], [(1, 1, 2), (1, 0, 0)]]
    assert moves == [[0, 0], [1, 0], [0, 1]] and out.tolist() == [[1, 1, 2, 1]]


def test_rows_are_searched_apart():
    """The index counts through all rows: those of the second begin behind those of the first"""
    other = {(0,): [.1, .3, .6], (0, 2): [.5, .25, .25], (0, 1): [0., .9, .1]}
    moves, start = [], torch.tensor([[1], [0]])
    out = beam_search(table(GARDEN | other), start, 2, 2, reorder=lambda index: moves.append(index.tolist()))
    assert out.tolist() == [[1, 1, 2], [0, 2, 0]]             # .36; .6 · .5 = .3, before .3 · .9
    assert moves == [[0, 0, 2, 2], [1, 0, 2, 3]]


ENDS = {(1,): [.6, 0., .4], (1, 0): [.4, 0., .6], None: [.7, 0., .3]}


@pytest.mark.parametrize("penalty, want", [
    (0.0, [1, 2]), (0.14, [1, 2]), (0.17, [1, 0, 2]), (1.0, [1, 0, 2]), (-1.0, [1, 2])])
def test_length_penalty_by_hand(penalty, want):
    """ln .4 = -.916 for the end at once, ln .36 / 2^p for one word more: that is better from p = .157 on"""
    assert math.log2(math.log(.36) / math.log(.4)) == pytest.approx(.157, abs=1e-3)
    assert beam_search(table(ENDS), ones(), 2, 3, eos=2, length_penalty=penalty).tolist()[0][:3] == want


def test_long_texts_gain_by_the_penalty():
    """Each word costs, and yet with 2 the longest wins; it has no end, there was no room for one"""
    assert beam_search(table(ENDS), ones(), 4, 3, eos=2, length_penalty=2.0).tolist() == [[1, 0, 0, 0, 0]]


def test_it_stops_when_none_can_be_better():
    """As many texts found as beams, and the worst as good as the best to come"""
    asked = []
    sure = {None: [.05, .05, .9]}
    assert beam_search(table(sure, asked), ones(), 9, 1, eos=2).tolist() == [[1, 2]] and len(asked) == 1
    asked.clear()                     # of two beams: .9, then .05 · .9; the best to come is .05 · .05 at most
    assert beam_search(table(sure, asked), ones(), 9, 2, eos=2, length_penalty=0.).tolist() == [[1, 2]]
    assert len(asked) == 2
    asked.clear()
    assert beam_search(table(sure, asked), ones(), 5, 2).tolist() == [[1] + [2] * 5] and len(asked) == 5


def test_it_goes_on_while_one_can_be_better():
    """Two are found, of .2 and .14; but a beam has .56, of which .504 are left at its end"""
    hope = {(1,): [.7, .1, .2], (1, 0): [.8, 0., .2], (1, 0, 0): [0., .1, .9], None: [.5, .5, 0.]}
    assert beam_search(table(hope), ones(), 4, 2, eos=2, length_penalty=0.).tolist() == [[1, 0, 0, 2]]


def test_an_end_outside_of_the_beams_does_not_count():
    """The third best proposal is an end: two beams do not take it, three do"""
    chances = {(1,): [.5, .3, .2], None: [.5, .5, 0.], (1, 0): [.45, .45, .1], (1, 1): [.45, .45, .1]}
    found = [beam_search(table(chances), ones(), 3, beams, eos=2, length_penalty=0.).tolist()[0]
             for beams in (2, 3)]
    assert len(found[0]) == 4 and found[1] == [1, 2]


def test_several_ends():
    """1 or 2 ends; whichever comes, what is behind is filled up with the first of them"""
    chances = {(1,): [.01, .01, .98], (0,): [.01, .98, .01], (3,): [1., 0., 0.], None: [.5, .2, .3]}
    out = beam_search(table(chances), torch.tensor([[1], [0], [3]]), 3, 2, eos=[1, 2], length_penalty=0.)
    assert out.tolist()[:2] == [[1, 2, 1], [0, 1, 1]] and out.tolist()[2] == [3, 0, 2]


def test_rows_that_end_early_are_filled_up():
    chances = {(1,): [.01, .01, .98], (0,): [.98, .01, .01], None: [.7, .2, .1]}
    out = beam_search(table(chances), torch.tensor([[1], [0]]), 3, 2, eos=2)
    assert out.tolist() == [[1, 2, 2, 2], [0, 0, 0, 0]]
    alone = [beam_search(table(chances), torch.tensor([[i]]), 3, 2, eos=2).tolist() for i in (1, 0)]
    assert alone == [[[1, 2]], [[0, 0, 0, 0]]]


def test_nothing_to_write():
    asked = []
    assert beam_search(table(GARDEN, asked), ones(2), 0, 3).tolist() == [[1], [1]] and asked == []


# ---- by trying all ----

def gpt(vocab=3, **how): return stirred(GPTDecoder(vocab, 8, 1, 2, 12, N, **how), .8)


def chances_of(model, start, texts):
    """The sum of log probabilities of each text (K, n) behind the row `start`."""
    ids = torch.tensor([[*start, *text] for text in texts])
    logp = torch.log_softmax(model(ids[:, :-1]), -1).detach().numpy()
    n, t = len(texts[0]), len(start)
    return sum(logp[np.arange(len(texts)), t - 1 + i, [text[i] for text in texts]] for i in range(n))


@pytest.mark.parametrize("vocab, n", [(3, 3), (4, 2), (2, 5)])
def test_with_beams_enough_it_finds_the_best_of_all(vocab, n):
    """V^n beams: every text is looked at"""
    model, start = gpt(vocab), some_ids(vocab, 3, 2)
    texts = list(itertools.product(range(vocab), repeat=n))
    want = [[*row, *texts[chances_of(model, row, texts).argmax()]] for row in start.tolist()]
    assert model.generate(start, n, num_beams=vocab**n).tolist() == want
    assert model.generate(start, n, num_beams=vocab**(n - 1)).tolist() == want   # the last step proposes all


def test_the_best_of_all_with_ends():
    """Of all texts up to an eos, and those of n words without, by sum / length^penalty"""
    model, n, eos = gpt(3), 4, 1
    for row in [0, 2], [2, 2], [1, 0]:
        found = {}
        for k in range(1, n + 1):
            texts = [t for t in itertools.product(range(3), repeat=k)
                     if eos not in t[:-1] and (k == n or t[-1] == eos)]
            found |= dict(zip(texts, chances_of(model, row, texts)))
        for penalty in 0.0, 0.7, 2.0, -1.0:
            best = max(found, key=lambda text: found[text] / len(text) ** penalty)
            out = model.generate(torch.tensor([row]), n, num_beams=3**n, eos=eos, length_penalty=penalty)
            assert out.tolist() == [[*row, *best]]


# ---- a GPT ----

SHAPES = {"learned": dict(), "sinusoidal": dict(positions="sinusoidal"),
          "llama": dict(positions="rotary", norm_layer=nn.RMSNorm, activation="swiglu", num_kv_heads=1,
                        bias=False, tie_weights=True)}


@pytest.mark.parametrize("eos", [None, 4])
def test_one_beam_is_greedy(eos):
    model, ids = gpt(9), some_ids(9, 4, 2)
    want = model.generate(ids, 6, temperature=0, eos=eos).tolist()
    assert model.generate(ids, 6, num_beams=1, temperature=0, eos=eos).tolist() == want

    def logits_of(ids): return model(ids[:, -N:])[:, -1].detach()
    assert beam_search(logits_of, ids, 6, 1, eos).tolist() == want


@pytest.mark.parametrize("how", SHAPES.values(), ids=SHAPES)
def test_a_cache_changes_no_beam(how):
    """Beams are kept and dropped in it, too; each word is read once"""
    model, ids = gpt(6, **how), some_ids(6, 3, 2)
    for options in dict(num_beams=3), dict(num_beams=4, eos=2), dict(num_beams=2, eos=0, length_penalty=0.):
        cache = Cache()
        out = model.generate(ids, N - 2, **options, cache=cache)
        assert out.tolist() == model.generate(ids, N - 2, **options).tolist()
        assert cache.length() == N - 1 or "eos" in options


def test_rows_and_prompts_alone():
    """A batch gives row by row what each alone does; lists give lists; past max_len the oldest drop out"""
    model, ids = gpt(5), some_ids(5, 4, 2)
    for n in 3, 9:
        out = model.generate(ids, n, num_beams=3)
        assert out.tolist() == [model.generate(row.unsqueeze(0), n, num_beams=3)[0].tolist() for row in ids]
    prompts = [[1], [2, 3, 1], [4, 4]]
    out = model.generate(prompts, 4, num_beams=3, eos=2)
    assert [r.tolist() for r in out] == [
        model.generate(torch.tensor([p]), 4, num_beams=3, eos=2)[0].tolist() for p in prompts]


def test_nothing_is_drawn():
    """Seeds and filters are for drawing: beams leave the generator alone"""
    model, ids = gpt(5), some_ids(5, 2, 2)
    torch.manual_seed(0)
    want = torch.rand(2).tolist()
    torch.manual_seed(0)
    model.generate(ids, 3, num_beams=3)
    assert torch.rand(2).tolist() == want


def test_refused():
    with pytest.raises(ValueError, match="num_beams=0"):
        beam_search(table(GARDEN), ones(), 2, 0)
    with pytest.raises(ValueError, match="max_new_tokens=-1"):
        beam_search(table(GARDEN), ones(), -1, 2)
    with pytest.raises(ValueError, match=r"\[0\]"):
        beam_search(table(GARDEN), torch.zeros(1, 0).long(), 2, 2)
    with pytest.raises(ValueError, match="one length"):
        gpt().generate([[1], [1, 2]], 2, num_beams=2, cache=Cache())
