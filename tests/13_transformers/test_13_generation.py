"""Writing with a GPT: which tokens may be drawn, the loop around it, prompts of any lengths, caches."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.models import GPTDecoder, filter_logits, next_token
from tinytorch.models.generation import Writing

from .support import Cache, cut, drawn, filled, near, softmax, some_ids, stirred

V, N = 9, 7
LOGS = torch.tensor([[.5, .25, .15, .1]], dtype="float64").log()
SHAPES = {"learned": dict(), "sinusoidal": dict(positions="sinusoidal"),
          "llama": dict(positions="rotary", norm_layer=nn.RMSNorm, activation="swiglu", num_kv_heads=1,
                        bias=False, tie_weights=True)}


def gpt(vocab=V, layers=1, **how): return stirred(GPTDecoder(vocab, 8, layers, 2, 12, N, **how), .8)


def greedy(model, prompt, n):
    """The argmax of a whole forward, n times; of the last max_len tokens."""
    ids = list(prompt)
    for _ in range(n):
        ids.append(int(model(torch.tensor([ids[-N:]]))[0, -1].detach().numpy().argmax()))
    return ids


def shares_of(logits): return torch.softmax(logits, -1).numpy()


def unlike(counts, shares):
    """Pearson's chi-square of how often things came, over its degrees of freedom: near 1 if by chance."""
    want = shares * counts.sum()
    return ((counts - want) ** 2 / want).sum() / max(len(shares) - 1, 1)


# ---- filter_logits ----

@pytest.mark.parametrize("how, want", [
    (dict(), [.5, .25, .15, .1]), (dict(temperature=.5), [.7246, .1812, .0652, .0290]),
    (dict(temperature=2.0), np.sqrt([.5, .25, .15, .1]) / np.sqrt([.5, .25, .15, .1]).sum()),
    (dict(top_k=1), [1, 0, 0, 0]), (dict(top_k=2), [2 / 3, 1 / 3, 0, 0]), (dict(top_k=4), [.5, .25, .15, .1]),
    (dict(top_k=99), [.5, .25, .15, .1]), (dict(top_p=.7), [2 / 3, 1 / 3, 0, 0]),
    (dict(top_p=.8), [5 / 9, 2.5 / 9, 1.5 / 9, 0]), (dict(top_p=1e-9), [1, 0, 0, 0]),
    (dict(top_p=1.0), [.5, .25, .15, .1]), (dict(temperature=.5, top_p=.7), [1, 0, 0, 0]),
    (dict(top_k=2, top_p=.6), [1, 0, 0, 0]), (dict(top_k=3, top_p=.83), [2 / 3, 1 / 3, 0, 0])], ids=str)
def test_filter_by_hand(how, want):
    """p = .5 .25 .15 .1; the temperature first, then top_k, then top_p of what is left"""
    near(shares_of(filter_logits(LOGS, **how)), [want], 1e-4)
    order = [2, 0, 3, 1]                                               # wherever the words stand
    near(shares_of(filter_logits(LOGS[:, order], **how)), [np.array(want)[order]], 1e-4)


def plain_filter(row, temperature, top_k, top_p):
    row = row / temperature
    kept = np.argsort(-row)[:top_k]
    if top_p is not None:
        sums = softmax(row[kept]).cumsum()
        kept = kept[:1 + (sums < top_p).sum()]
    out = np.full(len(row), -np.inf)
    out[kept] = row[kept]
    return out


def test_each_row_has_its_own():
    """Against a loop over rows; the scores are left as they were"""
    x = drawn(20, 7)
    before = x.tolist()
    for temperature in .3, 1.0, 4.0:
        for top_k in None, 1, 3, 7, 50:
            for top_p in None, .05, .5, .9, 1.0:
                want = [plain_filter(row, temperature, top_k, top_p) for row in x.numpy()]
                near(filter_logits(x, temperature, top_k, top_p), want)
    assert x.tolist() == before


def test_all_of_the_probability_is_all():
    """top_p=1 leaves what is so rare that 1 - p rounds to 1"""
    x = torch.tensor([[0., 99., 1.]])
    assert filter_logits(x, top_p=1.0).tolist() == filter_logits(x, top_p=1).tolist() == x.tolist()
    assert filter_logits(x, top_p=.99).tolist() == [[-np.inf, 99., -np.inf]]


def test_ties():
    """Those equal to the k-th stay; of four quarters two are a half, and the third is not needed"""
    kept = filter_logits(torch.tensor([[1., 3., 1., 1., 0.]]), top_k=2)
    assert kept.tolist() == [[1., 3., 1., 1., -np.inf]]
    for p, n in ((.25, 1), (.5, 2), (.75, 3), (.76, 4), (.26, 2)):
        assert (filter_logits(torch.zeros(1, 4), top_p=p) > -np.inf).sum().item() == n


@pytest.mark.parametrize("how", [dict(temperature=0), dict(temperature=-1.0), dict(temperature=np.nan),
                                 dict(top_k=0), dict(top_k=-3), dict(top_p=0), dict(top_p=0.0),
                                 dict(top_p=-.1), dict(top_p=1.01)], ids=str)
def test_filters_that_are_refused(how):
    """The message has the value, and what is allowed"""
    name, value = next(iter(how.items()))
    with pytest.raises(ValueError, match=f"{name}={value}.*above 0.*at least 1.*at most 1"):
        filter_logits(LOGS, **how)
    if value != 0 or name != "temperature":
        with pytest.raises(ValueError, match=f"{name}={value}"):
            gpt().generate(torch.tensor([[1]]), 2, **how)


# ---- next_token ----

def test_the_likeliest_at_temperature_0():
    """Whatever the filters"""
    x = drawn(6, V)
    assert next_token(x, 0).tolist() == next_token(x, 0.0, 2, .5).tolist() == x.numpy().argmax(-1).tolist()


@pytest.mark.parametrize("how", [dict(), dict(temperature=.5), dict(temperature=2.0), dict(top_k=2),
                                 dict(top_p=.8), dict(temperature=2.0, top_k=3, top_p=.9)], ids=str)
def test_how_often_tokens_are_drawn(how):
    """By the shares that the filter leaves, and never what it does not"""
    tokens = next_token(LOGS.expand(4000, 4), **how, generator=torch.Generator().manual_seed(3))
    counts, shares = np.bincount(tokens.numpy(), minlength=4), shares_of(filter_logits(LOGS, **how))[0]
    assert counts[shares == 0].sum() == 0
    assert unlike(counts[shares > 0], shares[shares > 0]) < 4


def test_scores_of_one_place():
    """Those of all places are refused, and so are tokens that are not one for each row"""
    for temperature in 0, 1.0:
        with pytest.raises(ValueError, match=r"\(2, 3, 9\).*\[:, -1\]"):
            next_token(drawn(2, 3, V), temperature)
    for tokens in some_ids(V, 2, 1), some_ids(V, 3), torch.tensor(1):
        with pytest.raises(ValueError, match="one for each row"):
            Writing(torch.tensor([[1, 2], [3, 4]]), 2).append(tokens)


# ---- generate: what comes out ----

@pytest.mark.parametrize("how", SHAPES.values(), ids=SHAPES)
def test_greedy_is_the_argmax_again_and_again(how):
    """Also past max_len, where the oldest tokens drop out, and for prompts that are longer"""
    model = gpt(**how)
    for t, n in (3, 8), (1, 1), (N + 4, 2):
        ids = some_ids(V, 2, t)
        out = model.generate(ids, n, temperature=0)
        assert out.tolist() == [greedy(model, row, n) for row in ids.tolist()]
        assert out.dtype == ids.dtype and ids.shape == (2, t)


def test_nothing_more():
    model, ids = gpt(), some_ids(V, 2, 3)
    for how in dict(), dict(num_beams=3), dict(temperature=0, eos=1):
        assert model.generate(ids, 0, **how).tolist() == ids.tolist()
        assert [r.tolist() for r in model.generate([[1], [2, 3]], 0, **how)] == [[1], [2, 3]]


@pytest.mark.parametrize("how", [dict(), dict(temperature=.5), dict(top_k=2), dict(top_p=.6)], ids=str)
def test_how_often_texts_are_drawn(how):
    """Two tokens of three words: each of the 9 texts as often as its two shares, multiplied"""
    model, ids = gpt(3), torch.tensor([[1, 2]])
    firsts = shares_of(filter_logits(model(ids)[:, -1].detach(), **how))[0]
    longer = torch.tensor([[1, 2, i] for i in range(3)])
    shares = (firsts[:, None] * shares_of(filter_logits(model(longer)[:, -1].detach(), **how))).reshape(-1)
    out = model.generate(ids.expand(1000, 2), 2, seed=2, **how).numpy()
    assert (out[:, :2] == [1, 2]).all()
    counts = np.bincount(3 * out[:, 2] + out[:, 3], minlength=9)
    assert counts[shares == 0].sum() == 0
    assert unlike(counts[shares > 0], shares[shares > 0]) < 4


def test_top_k_of_1_is_greedy():
    model, ids = gpt(), some_ids(V, 3, 2)
    want = model.generate(ids, 5, temperature=0).tolist()
    assert model.generate(ids, 5, top_k=1).tolist() == model.generate(ids, 5, top_p=1e-6).tolist() == want
    assert model.generate(ids, 5, temperature=1e-3).tolist() == want


def test_seeds():
    """A seed decides alone; without one the default generator does, and a seed does not touch that"""
    model, ids = gpt(), some_ids(V, 3, 2)

    def write(seed=None): return model.generate(ids, 5, temperature=3.0, seed=seed).tolist()
    torch.manual_seed(1)
    first = write(5)
    here = torch.rand(3).tolist()
    torch.manual_seed(1)
    assert torch.rand(3).tolist() == here
    assert write(5) == first and write(6) != first and write(0) == write(0) != first
    torch.manual_seed(2)
    free = write()
    assert write() != free
    torch.manual_seed(2)
    assert write() == free
    torch.manual_seed(2)
    model.generate(ids, 3, temperature=0)
    assert write() == free


# ---- prompts of different length, and ends ----

PROMPTS = [[1, 2, 3], [4], [5, 6, 7, 8, 1, 2], [3, 3], [0, 1, 2, 3, 4, 5, 6, 7, 8]]


def test_prompts_of_any_lengths():
    """Row by row what each prompt alone gives; lists and tensors"""
    model = gpt()
    want = [greedy(model, p, 8) for p in PROMPTS]
    assert [row.tolist() for row in model.generate(PROMPTS, 8, temperature=0)] == want
    out = model.generate([torch.tensor(p) for p in PROMPTS], 1, temperature=0)
    assert [row.tolist() for row in out] == [row[:len(p) + 1] for row, p in zip(want, PROMPTS)]
    assert model.generate(PROMPTS[:1], 8, temperature=0)[0].tolist() == want[0]


def test_prompts_with_an_end():
    """Each ends where it alone would, whichever the end is; a token of the prompt is none"""
    model, n = gpt(), 6
    want, ids = [greedy(model, p, n) for p in PROMPTS], torch.tensor([[1, 2], [5, 6], [3, 3], [8, 0]])
    alike = [greedy(model, row, n) for row in ids.tolist()]
    assert len({token for row in want for token in row[-n:] if token % 2 == 0}) > 1
    for eos in range(0, V, 2):
        out = model.generate(PROMPTS, n, temperature=0, eos=eos)
        assert [r.tolist() for r in out] == [cut(row, len(p), eos) for row, p in zip(want, PROMPTS)]
        out = model.generate(ids, n, temperature=0, eos=eos)
        assert out.tolist() == filled([cut(row, 2, eos) for row in alike], eos)


def test_several_ends():
    """The first of any of them ends a text, as in the config of many a chat model; [3] is 3"""
    model, n, ends = gpt(), 6, [6, 7]
    for start in PROMPTS, torch.tensor([[1, 2], [5, 6], [3, 3], [8, 0]]):
        want = [min([cut(greedy(model, p, n), len(p), eos) for eos in ends], key=len)
                for p in (start if isinstance(start, list) else start.tolist())]
        assert {row[-1] for row in want} >= set(ends)
        out = model.generate(start, n, temperature=0, eos=ends)
        assert [r.tolist() for r in out] == (want if start is PROMPTS else filled(want, ends[0]))
    for beams in 1, 2:
        one, same = [model.generate(start, n, eos=eos, num_beams=beams, seed=0) for eos in (3, [3])]
        assert one.tolist() == same.tolist()


def test_what_is_drawn_ends_too():
    """Behind the first eos there is nothing else, and the rows go on until all have it"""
    out = gpt(3).generate(torch.ones(50, 1).long(), 60, temperature=99.0, eos=2, seed=0).numpy()
    assert 4 < out.shape[1] < 61 and (out[:, -1] == 2).all() and (out[:, -2] != 2).any()
    ends = (out == 2).argmax(1)
    assert all((row[end:] == 2).all() for row, end in zip(out, ends)) and len(set(ends)) > 4


# ---- caches ----

@pytest.mark.parametrize("how", SHAPES.values(), ids=SHAPES)
def test_a_cache_changes_no_token(how):
    """Greedy and drawn, of one length and of several, with ends"""
    model, ids = gpt(layers=2, **how), some_ids(V, 3, 2)
    for options in dict(temperature=0), dict(seed=4, temperature=2.0, top_k=5), dict(temperature=0, eos=3):
        want = model.generate(ids, N - 2, **options)
        assert model.generate(ids, N - 2, **options, cache=Cache()).tolist() == want.tolist()
        ragged = [[1, 2, 3], [4], [5, 6]]
        assert [r.tolist() for r in model.generate(ragged, N - 3, **options, cache=Cache())] == [
            r.tolist() for r in model.generate(ragged, N - 3, **options)]


def test_with_a_cache_each_token_is_read_once():
    """The prompt at once, then one after the other; a text goes on where the cache ends"""
    read = []

    class Counting(Cache):
        def update(self, layer, key, value):
            read.append(key.shape[2])
            return super().update(layer, key, value)

    model, ids, cache = gpt(layers=2), some_ids(V, 2, 3), Counting()
    out = model.generate(ids, 2, temperature=0, cache=cache)
    assert read == [3, 3, 1, 1] and cache.length() == 4
    more = model.generate(out, 2, temperature=0, cache=cache)
    assert read == [3, 3, 1, 1, 1, 1, 1, 1]
    assert more.tolist() == model.generate(ids, 4, temperature=0).tolist()


# ---- the model stays as it was ----

def test_nothing_is_recorded_or_dropped():
    """Inside it is in evaluation; afterwards as it was, part by part, also after an error"""
    seen = []

    class Watched(GPTDecoder):
        def forward(self, token_ids, cache=None):
            out = super().forward(token_ids, cache)
            seen.append((self.training, self.blocks[1].training, out.requires_grad, out.node))
            return out

    model = Watched(V, 8, 2, 2, 12, N, dropout=.5)
    model.blocks[1].eval()
    ids = some_ids(V, 2, 3)
    for how in dict(), dict(temperature=0), dict(num_beams=2):
        a, b = [model.generate(ids, 2, **how, seed=1) for _ in range(2)]
        assert a.tolist() == b.tolist() and not a.requires_grad
    assert set(seen) == {(False, False, False, None)}
    for bad in dict(num_beams=1), dict(num_beams=2):
        with pytest.raises(IndexError):
            model.generate(torch.tensor([[1, V]]), 2, **bad)
    assert model.training and model.blocks[0].training and not model.blocks[1].training
    assert model(ids).requires_grad
    assert not gpt().eval().training


# ---- errors ----

@pytest.mark.parametrize("start, how, error, says", [
    ([], {}, ValueError, "needs one to start"), ([[1], []], {}, ValueError, r"\[1, 0\].*needs one to start"),
    (torch.zeros(2, 0).long(), {}, ValueError, r"\[0, 0\]"), ([1, 2], {}, TypeError, "unsqueeze"),
    (torch.tensor([1, 2]), {}, TypeError, "unsqueeze"), ([[1]], dict(max_new_tokens=-1), ValueError, "=-1"),
    (["ab", "c"], {}, TypeError, "encode"), ("abc", {}, TypeError, "encode"),
    ([[1]], dict(max_new_tokens=None), ValueError, "=None"),
    ([[1]], dict(max_new_tokens=2.5), ValueError, "=2.5"),
    ([[1]], dict(num_beams=0), ValueError, "num_beams=0"), ([[1]], dict(num_beams=-2), ValueError, "-2"),
    ([[1, V]], {}, IndexError, f"id {V} "), (torch.tensor([[-1]]), {}, IndexError, "id -1"),
    (torch.ones(1, 2), {}, RuntimeError, "float32")], ids=str)
def test_refused(start, how, error, says):
    """With beams, too"""
    model = gpt()
    for beams in {how.get("num_beams", 1), how.get("num_beams", 2)}:
        with pytest.raises(error, match=says):
            model.generate(start, **dict(max_new_tokens=2) | how | dict(num_beams=beams))


def test_a_cache_without_room_is_refused():
    """More tokens than places, and nothing left to read"""
    model, cache = gpt(), Cache()
    for beams in 1, 2:
        with pytest.raises(ValueError, match=f"{N + 1} tokens.*max_len={N}"):
            model.generate([[1], [1, 2, 3]], N - 2, cache=Cache(), num_beams=beams)
    out = model.generate([[1, 2, 3]], N - 3, cache=cache)
    with pytest.raises(ValueError, match=f"read {N - 1} tokens, and the shortest prompt has 3"):
        model.generate([[1, 2, 3]], 2, cache=cache)
    assert len(out[0]) == N
