"""Sliding windows and BigBird's blocks: the numbers of dense attention with the same mask."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.checks import check_gradient
from tinytorch.nn.attention import scaled_dot_product_attention
from tinytorch.nn.sparse_attention import (
    bigbird_attention,
    bigbird_blocks,
    bigbird_mask,
    sliding_window_attention,
    sliding_window_mask,
)


def drawn(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.normal(size=shape), requires_grad=True) for shape in shapes]


def the_same(sparse, mask, shape, size=3):
    """`sparse(q, k, v)` gives dense attention's numbers and gradients with this mask."""
    inputs = drawn(shape, shape, (*shape[:-1], size))
    found = []
    for f in sparse, lambda q, k, v: scaled_dot_product_attention(q, k, v, mask):
        out = f(*inputs)
        (out * out).sum().backward()
        found.append([out.data, *[x.grad.numpy() for x in inputs]])
        for x in inputs:
            x.grad = None
    for ours, dense in zip(*found):
        np.testing.assert_allclose(ours, dense, rtol=1e-9, atol=1e-12)


WINDOWS = [(3, (), False), (3, (), True), (1, [0], False), (4, [5, -1], False), (4, [2, 11], True),
           (0, (), False), (0, [3], True), (40, (), False), (40, [1], True)]


@pytest.mark.parametrize("window, chosen, causal", WINDOWS)
@pytest.mark.parametrize("t", [1, 12, 17])
def test_sliding_window(t, window, chosen, causal):
    """A window, with global tokens or none, causal or not, longer and shorter than the sequence"""
    chosen = [p for p in chosen if -t <= p < t]
    the_same(lambda q, k, v: sliding_window_attention(q, k, v, window, chosen, causal),
             sliding_window_mask(t, window, chosen, causal), (2, 2, t, 5))


def test_window_mask_by_hand():
    """Six tokens, a window of 1, token 0 global: the drawing"""
    assert sliding_window_mask(6, 1, [0]).int().tolist() == [
        [1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0], [1, 0, 1, 1, 1, 0], [1, 0, 0, 1, 1, 1],
        [1, 0, 0, 0, 1, 1]]
    assert sliding_window_mask(4, 1, [1], is_causal=True).int().tolist() == [
        [1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]]


def test_window_of_one_token_is_its_value():
    """Who sees only itself gets its own value, whatever the scores"""
    q, v = drawn((5, 3), (5, 2))
    assert np.allclose(sliding_window_attention(q, q, v, 0).data, v.data)


@pytest.mark.parametrize("t, block, window, chosen, some", [
    (16, 4, 1, 1, 1), (19, 4, 1, 1, 2), (19, 4, 0, 0, 1), (30, 3, 1, 2, 2), (7, 16, 1, 1, 1), (1, 1, 1, 1, 1),
    (24, 4, 2, 9, 3), (24, 4, 1, 0, 0)])
def test_bigbird(t, block, window, chosen, some):
    """Window, global and random blocks, also where the last block is not full and where all is seen"""
    how = block, window, chosen, some, 7
    the_same(lambda q, k, v: bigbird_attention(q, k, v, *how), bigbird_mask(t, *how), (2, t, 4))


def test_bigbird_blocks():
    """Each block sees its neighbours, the first, and as many more as asked; a seed is a pattern"""
    blocks = bigbird_blocks(20, 1, 2, 3, seed=1)
    for i, row in enumerate(blocks):
        seen = [j for j in row.tolist() if j >= 0]
        fixed = {0, 1, *range(max(0, i - 1), min(20, i + 2))}
        assert len(set(seen)) == len(seen) == len(fixed) + 3
        assert fixed <= set(seen)
    assert (blocks == bigbird_blocks(20, 1, 2, 3, seed=1)).all()
    assert (blocks != bigbird_blocks(20, 1, 2, 3, seed=2)).any()


def test_scale_and_dtype():
    """scale multiplies the scores, and float32 stays float32"""
    q, k, v = [x.detach().float() for x in drawn((9, 4), (9, 4), (9, 4))]
    for out, mask in ((sliding_window_attention(q, k, v, 2, [0], scale=0.1), sliding_window_mask(9, 2, [0])),
                      (bigbird_attention(q, k, v, 2, scale=0.1), bigbird_mask(9, 2))):
        assert out.dtype == torch.float32
        dense = scaled_dot_product_attention(q, k, v, mask, scale=0.1)
        np.testing.assert_allclose(out.data, dense.numpy(), rtol=1e-5, atol=1e-6)


def test_empty():
    """A sequence of none, and a batch of none"""
    for shape in (2, 0, 4), (0, 6, 4):
        x = torch.zeros(*shape)
        assert sliding_window_attention(x, x, x, 2).shape == shape
        assert bigbird_attention(x, x, x, 2).shape == shape


def test_judge():
    """First and second derivatives, along random directions"""
    q, k, v = [x.detach().numpy() for x in drawn((7, 3), (7, 3), (7, 2))]
    check_gradient(lambda q, k, v: sliding_window_attention(q, k, v, 2, [1], True), q, k, v)
    check_gradient(lambda q, k, v: bigbird_attention(q, k, v, 2, 1, 1, 1), q, k, v)


@pytest.mark.parametrize("call, says", [
    (lambda x: sliding_window_attention(x, x[:3], x[:3], 1), "4 queries and 3 keys"),
    (lambda x: sliding_window_attention(x, x, x, -1), "window=-1"),
    (lambda x: sliding_window_attention(x, x, x, 1.5), "window=1.5"),
    (lambda x: bigbird_attention(x, x, x, 0), "block=0"),
    (lambda x: bigbird_attention(x, x, x, 2, random_blocks=-1), "random_blocks=-1")])
def test_refused(call, says):
    with pytest.raises(RuntimeError, match=says):
        call(torch.zeros(4, 2))


def test_no_such_token():
    with pytest.raises(IndexError, match="-4 to 3"):
        sliding_window_attention(*[torch.zeros(4, 2)] * 3, 1, [4])
