"""Attention in tiles and linear attention: the numbers of their definitions, in memory that grows with T."""
import tracemalloc

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.checks import check_gradient
from tinytorch.core.higher import grad, higher_order
from tinytorch.nn.attention import scaled_dot_product_attention
from tinytorch.nn.efficient_attention import linear_attention, merge_blocks, tiled_attention
from tinytorch.nn.tiles import Part, Tiling, part_of


def drawn(*shapes, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.normal(size=shape).astype(dtype), requires_grad=True) for shape in shapes]


def with_gradients(f, inputs):
    out = f(*inputs)
    (out * out.detach().cos()).sum().backward()
    found = [out.data, *[x.grad.data for x in inputs]]
    for x in inputs:
        x.grad = None
    return found


def same(ours, dense, **tolerance):
    for a, b in zip(ours, dense):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, **tolerance)


def peak(f):
    tracemalloc.start()
    f()
    try:
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ---- tiles ----

SHAPES = [
    ((7, 4), (7, 4), (7, 4)), ((2, 3, 9, 4), (2, 3, 9, 4), (2, 3, 9, 2)), ((5, 5, 3), (5, 8, 3), (5, 8, 3)),
    ((2, 4, 6, 3), (2, 1, 6, 3), (2, 1, 6, 3)), ((6, 3), (4, 2, 6, 3), (2, 6, 1)),
    ((3, 9, 2), (3, 4, 2), (3, 4, 2)), ((1, 1, 1), (1, 1, 1), (1, 1, 1))]


@pytest.mark.parametrize("block", [None, 1, 3, (2, 5)])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_numbers_and_gradients(shapes, is_causal, block):
    """The dense ones, for any leading sizes that fit, more queries than keys and fewer"""
    inputs = drawn(*shapes)
    ours = with_gradients(lambda q, k, v: tiled_attention(q, k, v, None, is_causal, None, block), inputs)
    dense = with_gradients(lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=is_causal), inputs)
    same(ours, dense, rtol=1e-9, atol=1e-12)


MASKS = {
    "of a batch": lambda rng: rng.random((2, 1, 7, 9)) < 0.5,
    "of keys": lambda rng: rng.random((2, 1, 1, 9)) < 0.6,
    "numbers": lambda rng: rng.normal(size=(3, 7, 9)), "one for all": lambda rng: rng.random((7, 9)) < 0.5,
    "one number": lambda rng: rng.normal(size=(1, 1)), "nothing": lambda rng: np.zeros((7, 9), bool)}


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("mask", MASKS)
def test_masks(mask, is_causal):
    """Of bools or numbers, in any shape that broadcasts, together with is_causal; hidden rows are zeros"""
    inputs = drawn((2, 3, 7, 4), (2, 3, 9, 4), (2, 3, 9, 4))
    mask = torch.tensor(MASKS[mask](np.random.default_rng(1)))
    ours = with_gradients(lambda q, k, v: tiled_attention(q, k, v, mask, is_causal, 0.3, 4), inputs)
    dense = with_gradients(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, scale=0.3), inputs)
    same(ours, dense, rtol=1e-9, atol=1e-12)
    assert not any(np.isnan(x).any() for x in ours)


def test_lowest_numbers_for_a_mask():
    """A row that is hidden by the lowest number there is, as some libraries do, is the mean of the values"""
    q, k, v = drawn((2, 3), (5, 3), (5, 3), dtype="float32")
    mask = torch.full((2, 5), float(np.finfo("float32").min))
    ours = with_gradients(lambda q, k, v: tiled_attention(q, k, v, mask, block=2), [q, k, v])
    np.testing.assert_allclose(ours[0], np.broadcast_to(v.data.mean(0), (2, 3)), rtol=1e-5)
    np.testing.assert_allclose(ours[3], np.broadcast_to(np.cos(ours[0]).sum(0) / 5, (5, 3)), rtol=1e-5)


def test_half():
    """float16 is computed in float32: 300 in each of 64 numbers would overflow, and comes out rounded once"""
    q, k, v = drawn((40, 64), (40, 64), (40, 64), dtype="float16")
    ours = with_gradients(lambda q, k, v: tiled_attention(q * 300, k * 300, v, block=16), [q, k, v])
    assert [x.dtype for x in ours] == ["float16"] * 4
    assert np.isfinite(ours[0]).all()
    wide = scaled_dot_product_attention(*[x.detach().float() for x in (q, k, v)])
    np.testing.assert_allclose(tiled_attention(q, k, v, block=16).data, wide.data, atol=2e-3)


def test_any_memory():
    """Transposed heads, every second place, and inputs that are left as they were"""
    q, k, v = [x.detach().numpy() for x in drawn((2, 9, 3, 4), (2, 18, 3, 4), (2, 9, 3, 4))]
    inputs = q.swapaxes(1, 2), k[:, ::2].swapaxes(1, 2), v[..., ::-1].swapaxes(1, 2)
    before = [x.copy() for x in inputs]
    out = tiled_attention(*inputs, is_causal=True, block=4)
    dense = scaled_dot_product_attention(*[torch.tensor(x) for x in before], is_causal=True)
    np.testing.assert_allclose(out, dense.data, rtol=1e-9)
    assert all((x == kept).all() for x, kept in zip(inputs, before))
    assert out.swapaxes(1, 2).flags.c_contiguous                       # so merging the heads needs no copy


@pytest.mark.parametrize("shape", [(0, 4), (2, 0, 4), (0, 5, 4), (3, 5, 0)])
def test_empty(shape):
    """No places, no batch, no features: the shape is right, gradients too"""
    inputs = drawn(shape, shape, (*shape[:-1], 3))
    out, *grads = with_gradients(lambda q, k, v: tiled_attention(q, k, v), inputs)
    assert out.shape == (*shape[:-1], 3)
    assert [g.shape for g in grads] == [x.shape for x in inputs]


def test_nan_and_inf_are_passed_on():
    """nan comes through in its row only, and an inf among the values stays one"""
    q, k, v = [x.detach().numpy() for x in drawn((4, 2), (4, 2), (4, 2))]
    q[1], v[2, 0] = np.nan, np.inf
    out = tiled_attention(q, k, v, block=2)
    assert np.isnan(out[1]).all()
    assert (out[[0, 2, 3], 0] == np.inf).all()
    assert np.isfinite(out[[0, 2, 3], 1]).all()


def test_judge():
    """First and second derivatives along random directions, with a mask"""
    mask = np.random.default_rng(3).random((5, 5)) < 0.7
    arrays = [x.detach().numpy() for x in drawn((2, 5, 3), (2, 5, 3), (2, 5, 2))]
    check_gradient(lambda q, k, v: tiled_attention(q, k, v, torch.tensor(mask), False, None, 2), *arrays)


def test_second_derivative():
    """It is that of the dense form"""
    found = []
    for f in lambda q, k, v: tiled_attention(q, k, v, block=2), scaled_dot_product_attention:
        q, k, v = drawn((4, 3), (5, 3), (5, 2))
        with higher_order():
            first = grad((f(q, k, v) ** 2).sum(), [q, k, v], create_graph=True)
            found.append([x.data for x in grad(sum((g * g).sum() for g in first), [q, k, v])])
    same(*found, rtol=1e-8)


def test_no_gradient_for_the_mask():
    """It is not computed, and whoever wants it hears so"""
    q, mask = drawn((3, 2), (3, 3))
    with pytest.raises(RuntimeError, match="tiled_attention"):
        tiled_attention(q, q, q, mask).sum().backward()


@pytest.mark.parametrize("shapes, how, says", [
    (((3, 2), (3, 4), (3, 2)), {}, "last sizes"), (((3, 2), (4, 2), (3, 2)), {}, "as many"),
    (((2,), (3, 2), (3, 2)), {}, "Add a dimension"), (((2, 3, 2), (4, 3, 2), (4, 3, 2)), {}, "do not fit"),
    (((3, 2),) * 3, {"block": 0}, "block=0"), (((3, 2),) * 3, {"block": (1, 2, 3)}, "a pair"),
    (((3, 2),) * 3, {"block": 1.5}, "whole number"),
    (((3, 2),) * 3, {"mask": torch.ones(2, 3).bool()}, "do not fit|broadcast"),
    (((3, 2),) * 3, {"mask": torch.ones(3, 3).long()}, "int64")])
def test_refused(shapes, how, says):
    with pytest.raises(RuntimeError, match=says):
        tiled_attention(*[torch.zeros(*shape) for shape in shapes], **how)


def test_refused_dtypes():
    for dtypes in (torch.int64,) * 3, (torch.float32, torch.float64, torch.float32):
        with pytest.raises(RuntimeError, match="floats of one dtype"):
            tiled_attention(*[torch.zeros(3, 2, dtype=dtype) for dtype in dtypes])


def test_tiles_above_the_diagonal_are_never_computed():
    """Causal, 4 x 4 tiles: 10 of the 16"""
    x = np.zeros((8, 2))
    tiling = Tiling(x, x, x, is_causal=True, block=2)
    assert sum(1 for at in tiling.rows() for _ in tiling.tiles(at)) == 10


def test_memory_grows_with_t():
    """Forward and backward, T twice as large: at most a little more than twice the memory, not four times"""
    def run(t):
        inputs = drawn((2, t, 32), (2, t, 32), (2, t, 32), dtype="float32")
        return peak(lambda: tiled_attention(*inputs, is_causal=True).sum().backward())
    small, large = run(1024), run(4096)
    assert large < 4.2 * small
    assert large < 2 * 4096 * 4096                                     # a quarter of one table of scores


def test_merging_in_any_order():
    """Four parts of the keys, merged one by one, in pairs, backwards: the same softmax"""
    rng = np.random.default_rng(5)
    scores, value = rng.normal(size=(3, 8)) * 20, rng.normal(size=(8, 2))
    a, b, c, d = [part_of(scores[:, i:i + 2].copy(), value[i:i + 2]) for i in range(0, 8, 2)]
    powers = np.exp(scores - scores.max(1, keepdims=True))
    want = powers @ value / powers.sum(1, keepdims=True)
    for both in (merge_blocks(merge_blocks(merge_blocks(a, b), c), d),
                 merge_blocks(merge_blocks(d, c), merge_blocks(b, a))):
        assert isinstance(both, Part)
        np.testing.assert_allclose(both.summed / both.total, want, rtol=1e-12)


# ---- linear ----

def table(q, k, v, is_causal):
    """Its definition, with all pairs, in plain ops"""
    q, k = [x.clip(min=0) + x.clip(max=0).exp() for x in (q, k)]
    weights = q @ k.swapaxes(-1, -2)
    weights = weights.tril() if is_causal else weights
    return weights @ v / weights.sum(-1, keepdim=True)


@pytest.mark.parametrize("block", [1, 4, 5, 64])
@pytest.mark.parametrize("is_causal", [False, True])
def test_linear(is_causal, block):
    """The numbers and the gradients of the table of all pairs"""
    inputs = drawn((2, 3, 9, 4), (2, 3, 9, 4), (2, 3, 9, 5))
    ours = with_gradients(lambda q, k, v: linear_attention(q, k, v, is_causal, eps=0, block=block), inputs)
    same(ours, with_gradients(lambda q, k, v: table(q, k, v, is_causal), inputs), rtol=1e-8, atol=1e-12)


def test_linear_feature_and_eps():
    """Another feature; eps saves a query that is unlike every key; float32 stays float32"""
    inputs = [[2., 0.], [-1., -1.]], [[1., 0.], [3., 0.]], [[10.], [20.]]
    q, k, v = [torch.tensor(x) for x in inputs]
    out = linear_attention(q, k, v, feature=torch.nn.functional.relu)
    assert out.dtype == torch.float32
    np.testing.assert_allclose(out.data, [[17.5], [0.]], rtol=1e-5)


def test_linear_judge():
    arrays = [x.detach().numpy() for x in drawn((5, 3), (5, 3), (5, 2))]
    for is_causal in False, True:
        check_gradient(lambda q, k, v, c=is_causal: linear_attention(q, k, v, c, block=2), *arrays)


def test_linear_refused():
    """Other sizes than attention's own; causal, queries and keys of different places"""
    x = torch.zeros(5, 2)
    for call in lambda: linear_attention(x, x[:3], x[:3], True), lambda: linear_attention(x, x[:, :1], x):
        with pytest.raises(RuntimeError, match="5 queries and 3 keys|last sizes"):
            call()
    assert linear_attention(x, x[:3], x[:3]).shape == (5, 2)


def test_linear_memory():
    """Forward and backward, T four times as large: at most a little more than four times the memory"""
    def run(t):
        inputs = drawn((t, 32), (t, 32), (t, 32), dtype="float32")
        return peak(lambda: linear_attention(*inputs, is_causal=True).sum().backward())
    assert run(4096) < 4.4 * run(1024)
