"""Many scores: attention part by part, without the keys that nobody sees, and without keeping its weights."""
import importlib
import math

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import tinytorch as torch
from tinytorch.core.autograd import RULES
from tinytorch.nn import attention_parts
from tinytorch.nn import functional as F
from tinytorch.nn.attention import attention, masked_softmax

rng = np.random.default_rng(12)


def both_ways(g, *inputs):
    """attention's output, its weights, and the gradients of the first four inputs, arrays."""
    kept = attention.forward(*inputs, scale=0.3)
    gradients = RULES[attention](kept, *inputs, scale=0.3)(g.reshape(kept[0].shape))
    return *kept, *[x() if callable(x) else x for x in gradients[:4]]


def same(found, wanted):
    for i in 0, 2, 3, 4, 5:                            # all but the weights
        np.testing.assert_allclose(found[i].reshape(wanted[i].shape), wanted[i], atol=1e-12)


@pytest.fixture
def tables(monkeypatch):
    """The shapes of the tables of scores that go through a softmax, in order."""
    shapes, lesson = [], importlib.import_module("tinytorch.nn.attention")

    def noted(scores, *args):
        shapes.append(scores.shape)
        return masked_softmax(scores, *args)
    monkeypatch.setattr(lesson, "masked_softmax", noted)
    return shapes


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("shape", [None, (60, 60), (1, 1, 60, 60), (3, 1, 1, 60), (3, 2, 60, 60),
                                   (1, 1, 3, 2, 60, 60)])
def test_part_by_part(shape, floats, threads, tables, monkeypatch):
    """Many scores are done one head at a time, both ways: the same numbers as all at once"""
    q, k, v, g = [rng.normal(size=(n, 2, 60, 4)) for n in (3, 3, 1, 3)]
    mask = None if shape is None else rng.normal(size=shape) if floats else rng.random(shape) < 0.7
    keep = 2.0 * (rng.random((3, 2, 60, 60)) < 0.5)
    wanted = both_ways(g, q, k, v, mask, keep)
    assert wanted[1] is not None and len(tables) == 1
    tables.clear()
    monkeypatch.setattr(attention_parts, "MANY", 60 * 60)
    with threadpool_limits(threads, "blas"):
        found = both_ways(g, q, k, v, mask, keep)
        assert found[1] is None, "many weights are not kept"
        same(found, wanted)
        if shape is None or len(shape) < 6:            # a mask with more dimensions: all at once
            assert {math.prod(x) for x in tables} == {60 * 60}
        first = None if mask is None else np.broadcast_to(mask, (1, 1, 3, 2, 60, 60))[0, 0, :1]
        one = both_ways(g[:1], q[:1], k[:1], v, first, keep[:1])
    np.testing.assert_allclose(one[0].reshape(2, 60, 4), wanted[0].reshape(3, 2, 60, 4)[0], atol=1e-12)
    with pytest.raises(RuntimeError, match="shape"):
        attention(*map(torch.tensor, (q, k, v)), torch.tensor(np.ones((2, 2, 60, 60), bool)))


places = np.arange(60)
HALF_HIDDEN = {                        # masks, and what blocks of 16 queries may see of 60 keys: from, to
    "causal": (places[:, None] >= places, [(0, 16), (0, 32), (0, 48), (0, 60)]),
    "window": (abs(places[:, None] - places)[None, None] < 3, [(0, 18), (14, 34), (30, 50), (46, 60)]),
    "padding": (places < np.array([50, 3, 41])[:, None, None, None], [(0, 50)]),
    "one word": (places < 1, [(0, 1)]),
    "some see nothing": (np.broadcast_to(places[:, None] >= 40, (60, 60)), [(0, 1), (0, 60)]),
    "nobody sees": (np.zeros((2, 3, 2, 60, 60), bool), [(0, 1)]),
    "all": (np.ones((60, 60), bool), [(0, 60)]),
}


@pytest.mark.parametrize("name", HALF_HIDDEN)
def test_keys_that_nobody_sees_are_left_out(name, tables, monkeypatch):
    """Block by block of the queries, both ways: the same numbers as with all the keys"""
    mask, spans = HALF_HIDDEN[name]
    q, k, v = rng.normal(size=(3, 3, 2, 60, 4))
    g = rng.normal(size=np.broadcast_shapes(mask.shape[:-1], (3, 2, 60)) + (4,))
    keep = 2.0 * (rng.random((3, 2, 60, 60)) < 0.5)
    wanted = both_ways(g, q, k, v, mask, keep)
    tables.clear()
    monkeypatch.setattr(attention_parts, "MANY", 0)
    monkeypatch.setattr(attention_parts, "BLOCK", 16)
    blocks = attention_parts.seen_by_blocks(mask, 60, 60)
    assert [(keys.start, keys.stop) for _, keys in blocks] == spans
    assert [i for rows, _ in blocks for i in range(60)[rows]] == list(range(60))
    found = both_ways(g, q, k, v, mask, keep)
    same([*found[:5], wanted[5]], wanted)              # the gradient of a mask that is added is made at once
    if name != "padding":                              # there each sentence has its own
        sizes = {(rows.stop - rows.start, keys.stop - keys.start) for rows, keys in blocks} | {(60, 60)}
        assert {x[-2:] for x in tables} == sizes


def test_masks_that_do_not_fit_are_refused_however_many_scores_there_are(monkeypatch):
    """And no keys at all are as good as none that may be seen"""
    for many in 1 << 19, 0:
        monkeypatch.setattr(attention_parts, "MANY", many)
        for rows, keys in ((200, 100), (100, 150), (300, 150)):
            with pytest.raises(RuntimeError):
                F.scaled_dot_product_attention(torch.randn(1, 200, 4), *torch.randn(2, 1, 150, 4),
                                               torch.ones(rows, keys, dtype=torch.bool))
        q, empty = torch.randn(1, 200, 4, requires_grad=True), torch.randn(1, 0, 4)
        out = F.scaled_dot_product_attention(q, empty, empty, is_causal=True)
        out.sum().backward()
        assert not out.data.any() and not q.grad.data.any() and out.shape == (1, 200, 4)
