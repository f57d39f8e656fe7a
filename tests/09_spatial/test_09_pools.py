"""Pools and batch norm: against definitions that look at one window at a time; what is refused."""
import itertools
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.checks import check_gradient
from tinytorch.nn.batch_norm import batch_norm
from tinytorch.nn.batch_norm_parts import batch_normalized
from tinytorch.nn.pooling import adaptive_avg_pool2d, adaptive_bounds, avg_pool2d, max_pool2d

rng = np.random.default_rng(90)


def N(*shape): return rng.normal(size=shape)
def T(x, **how): return torch.tensor(x, **how)


def window_starts(n, kernel, stride, padding, dilation, ceil):
    """Where windows begin, in the picture: those that fit, with ceil also one that begins inside."""
    span, starts = dilation * (kernel - 1) + 1, []
    for start in range(-padding, n + padding, stride):
        fits = start + span <= n + padding
        if not fits and not (ceil and start < n and (not starts or starts[-1] + span < n + padding)):
            break
        starts.append(start)
    return starts


CASES = [dict(kernel_size=k, stride=s, padding=p, ceil_mode=c)
         for k, s, p, c in itertools.product((2, (3, 2)), (None, 1, (2, 3)), (0, 1), (False, True))]


def each_window(x, kernel_size, stride, padding, ceil_mode, dilation=1):
    """For each window, (row, column) and the indices of its numbers that lie in the picture."""
    pairs = [(v, v) if isinstance(v, int) else v
             for v in (kernel_size, stride or kernel_size, padding, dilation)]
    starts = [window_starts(n, *[p[i] for p in pairs], ceil_mode) for i, n in enumerate(x.shape[-2:])]
    for (i, a), (j, b) in itertools.product(*map(enumerate, starts)):
        rows, columns = [[p for p in range(at, at + d * k, d) if 0 <= p < n]
                         for at, k, d, n in zip((a, b), pairs[0], pairs[3], x.shape[-2:])]
        yield (i, j), (a, b), rows, columns


@pytest.mark.parametrize("how", CASES, ids=str)
def test_max_pool(how):
    """The largest, and where it stood: the first of equal ones"""
    x = rng.integers(-4, 0, size=(2, 3, 7, 8)).astype(float)
    out, places = max_pool2d(T(x), **how, return_indices=True)
    seen = 0
    for (i, j), _, rows, columns in each_window(x, **how):
        inside = x[:, :, rows][..., columns].reshape(2, 3, -1)
        first = inside.argmax(-1)
        np.testing.assert_array_equal(out.numpy()[:, :, i, j], inside.max(-1))
        where = np.array(rows)[first // len(columns)] * 8 + np.array(columns)[first % len(columns)]
        np.testing.assert_array_equal(places.numpy()[:, :, i, j], where)
        seen += 1
    assert seen == out.shape[2] * out.shape[3] and places.dtype == torch.int64


@pytest.mark.parametrize("how", CASES, ids=str)
@pytest.mark.parametrize("include", [True, False])
def test_avg_pool(how, include):
    """Over the numbers that count: those in the picture, and of the padding if it is counted"""
    x = N(2, 3, 7, 8)
    out = avg_pool2d(T(x), **how, count_include_pad=include)
    kernel = how["kernel_size"] if isinstance(how["kernel_size"], tuple) else (how["kernel_size"],) * 2
    for (i, j), begin, rows, columns in each_window(x, **how):
        ends = [min(b + k, n + how["padding"]) for b, k, n in zip(begin, kernel, (7, 8))]
        count = math.prod([e - b for e, b in zip(ends, begin)]) if include else len(rows) * len(columns)
        np.testing.assert_allclose(out.numpy()[:, :, i, j], x[:, :, rows][..., columns].sum((2, 3)) / count)


def test_dilation():
    x = N(1, 2, 9, 9)
    out = max_pool2d(T(x), 3, 2, 1, 2).numpy()
    for (i, j), _, rows, columns in each_window(x, 3, 2, 1, False, 2):
        np.testing.assert_array_equal(out[:, :, i, j], x[:, :, rows][..., columns].max((2, 3)))


@pytest.mark.parametrize("how", CASES[::3], ids=str)
def test_gradients(how):
    """Both pools, where windows overlap and where they stick out"""
    x = rng.permutation(2 * 7 * 8).reshape(2, 7, 8) / 7.
    check_gradient(lambda x: max_pool2d(x, **how), x)
    check_gradient(lambda x: avg_pool2d(x, **how), x)
    check_gradient(lambda x: avg_pool2d(x, **how, count_include_pad=False, divisor_override=-3), x)


def gradient(x, *how):
    x = T(np.array(x), requires_grad=True)
    max_pool2d(x, *how).sum().backward()
    return x.grad.tolist()


def test_ties_infinities_and_nan():
    """The first of equal ones; the last nan; never the margin, where all are -inf"""
    inf, nan = math.inf, math.nan
    assert gradient([[[5., 5.], [5., 5.]]], 2) == [[[1., 0.], [0., 0.]]]
    assert gradient([[[1., nan], [nan, 2.]]], 2) == [[[0., 0.], [1., 0.]]]
    assert gradient([[[-inf, -inf], [-inf, -inf]]], 2, 2, 1) == [[[1., 1.], [1., 1.]]]
    x = T(np.full((1, 2, 2), -inf))
    assert max_pool2d(x, 2, 2, 1, return_indices=True)[1].tolist() == [[[0, 1], [2, 3]]]
    zeros = T(np.zeros((1, 2, 2), "int64"))
    assert max_pool2d(zeros, 2, 2, 1, return_indices=True)[1].tolist() == [[[0, 1], [2, 3]]]


def test_gradient_of_infinity():
    """An infinite gradient goes to the winner alone: the others stay 0 and do not become nan"""
    x = T(np.array([[[1., 2.]]]), requires_grad=True)
    max_pool2d(x, (1, 2)).backward(T(np.array([[[math.inf]]])))
    assert x.grad.tolist() == [[[0., math.inf]]]


def test_large_windows():
    """More than 255 numbers in a window"""
    x = np.arange(400.).reshape(1, 20, 20)
    out, where = max_pool2d(T(x), 20, return_indices=True)
    assert out.tolist() == [[[399.]]] and where.tolist() == [[[399]]]
    assert avg_pool2d(T(x), 20).tolist() == [[[199.5]]]


def test_pools_without_a_batch_or_of_none():
    x = N(2, 4, 4)
    for pool in max_pool2d, avg_pool2d:
        np.testing.assert_array_equal(pool(T(x), 2).numpy(), pool(T(x[None]), 2).numpy()[0])
        assert pool(T(np.zeros((0, 2, 4, 4))), 2).shape == (0, 2, 2, 2)


def test_pools_of_integers():
    """The largest is one of them; a mean of integers is cut towards 0"""
    x = np.array([[[-1, -2, 7, 8]]])
    assert max_pool2d(T(x), (1, 2)).tolist() == [[[-1, 8]]]
    assert avg_pool2d(T(x), (1, 2)).tolist() == [[[-1, 7]]]


def test_half():
    """float16 sums are made in float32: 4,096 ones have the mean 1"""
    out = avg_pool2d(T(np.ones((1, 64, 64), "float16")), 64)
    assert out.dtype == torch.float16 and out.tolist() == [[[1.]]]


@pytest.mark.parametrize("call, says", [
    (lambda x: max_pool2d(x, 2, padding=2), "half"), (lambda x: avg_pool2d(x, 2, padding=2), "half"),
    (lambda x: max_pool2d(x, 6), "not one window"), (lambda x: avg_pool2d(x, 0), "kernel_size"),
    (lambda x: max_pool2d(x, 2, 0), "stride"), (lambda x: max_pool2d(x, 2, padding=-1), "padding"),
    (lambda x: max_pool2d(x, (2, 2, 2)), "pair"), (lambda x: max_pool2d(x[0, 0], 2), r"\(4, 5\)"),
    (lambda x: avg_pool2d(x[:, :0], 2), "only the batch"), (lambda x: max_pool2d(x > 0, 2), "bools"),
    (lambda x: avg_pool2d(x, 2, divisor_override=0), "divisor"),
    (lambda x: adaptive_avg_pool2d(x, -1), "output_size"),
    (lambda x: adaptive_avg_pool2d(x, (1, 2, 3)), "pair"),
    (lambda x: adaptive_avg_pool2d(x[0, 0], 2), r"\(4, 5\)"),
    (lambda x: adaptive_avg_pool2d(x[:, :, :0], 2), "only the batch"),
    (lambda x: adaptive_avg_pool2d(x.long(), 2), "float"),
])
def test_errors(call, says):
    with pytest.raises(RuntimeError, match=says):
        call(T(N(1, 2, 4, 5)))


@pytest.mark.parametrize("size", [1, 2, 3, (5, 2), (None, 3), 7, 9])
def test_adaptive(size):
    """Each window is the mean of its numbers, whatever the sizes"""
    x = N(2, 3, 5, 7)
    out = adaptive_avg_pool2d(T(x), size)
    wanted = size if isinstance(size, tuple) else (size, size)
    wanted = [n if w is None else w for w, n in zip(wanted, (5, 7))]
    assert out.shape == (2, 3, *wanted)
    for (i, (a, b)), (j, (c, d)) in itertools.product(*[enumerate(adaptive_bounds(n, w))
                                                        for n, w in zip((5, 7), wanted)]):
        np.testing.assert_allclose(out.numpy()[:, :, i, j], x[:, :, a:b, c:d].mean((2, 3)))
    check_gradient(lambda x: adaptive_avg_pool2d(x, size), x)


# ---- batch norm ----

@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 5), (2, 3, 2, 2, 3)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape, training):
    """Any number of dimensions after the channels; gradients of input, weight and bias"""
    x, weight, bias, mean, var = N(*shape), N(3), N(3), N(3), rng.uniform(0.5, 2, 3)
    running = T(mean.copy()), T(var.copy())
    out = batch_norm(T(x), *running, T(weight), T(bias), training, 0.3, 1e-3).numpy()
    rows = np.moveaxis(x, 1, -1).reshape(-1, 3)
    m, v = (rows.mean(0), rows.var(0)) if training else (mean, var)
    expected = (rows - m) / np.sqrt(v + 1e-3) * weight + bias
    np.testing.assert_allclose(np.moveaxis(out, 1, -1).reshape(-1, 3), expected)
    if training:
        mean, var = 0.7 * mean + 0.3 * m, 0.7 * var + 0.3 * rows.var(0, ddof=1)
    for got, want in zip(running, (mean, var)):
        np.testing.assert_allclose(got.numpy(), want)
    check_gradient(lambda x, w, b: batch_norm(x, T(mean), T(var), w, b, training), x, weight, bias)
    check_gradient(lambda x: batch_norm(x, T(mean), T(var), None, None, training), x)


def test_far_from_zero():
    """A mean a thousand times the spread: the gradient still adds up to 0, in float32"""
    x = T((N(64, 2, 8, 8) + 1000).astype("float32"), requires_grad=True)
    out = batch_norm(x, None, None, training=True)
    (out * T(N(*x.shape).astype("float32"))).sum().backward()
    assert abs(x.grad.sum().item()) < 0.1
    np.testing.assert_allclose(out.detach().numpy().std(), 1, rtol=1e-2)


def test_running_statistics_are_written():
    """They have no history, and a graph that still needs the old ones is an error"""
    mean, var = T(np.zeros(2)), T(np.ones(2))
    weight = T(np.ones(2), requires_grad=True)
    stale = (weight * mean).sum()
    batch_norm(T(N(4, 2), requires_grad=True), mean, var, weight, training=True)
    assert not mean.requires_grad and not var.requires_grad
    with pytest.raises(RuntimeError, match="in place"):
        stale.backward()


def test_half_batch_norm():
    """float16 in, float16 out, computed in float32"""
    x = (N(64, 2) * 300).astype("float16")
    out = batch_norm(T(x), T(np.zeros(2, "float16")), T(np.ones(2, "float16")), training=True)
    assert out.dtype == torch.float16 and abs(out.numpy().astype(float).std() - 1) < 1e-2


def test_batch_norm_of_nothing():
    """An empty batch comes back as it is, and nothing is remembered"""
    mean, var = T(np.zeros(2)), T(np.ones(2))
    assert batch_norm(T(np.zeros((0, 2, 3))), mean, var, training=True).shape == (0, 2, 3)
    assert batch_norm(T(np.zeros((3, 0))), None, None, training=True).shape == (3, 0)
    assert mean.tolist() == [0, 0] and var.tolist() == [1, 1]


@pytest.mark.parametrize("kind, how, says", [
    (RuntimeError, ((4, 2), None, None), "training=False"),
    (ValueError, ((4, 2), N(2), None), "both"),
    (RuntimeError, ((4, 2), N(3), N(2)), "running_mean"),
    (RuntimeError, ((4, 2), N(2), N(2), N(3)), "weight"),
    (ValueError, ((1, 2), None, None, None, None, True), "more than 1"),
    (ValueError, ((1, 2, 1, 1), None, None, None, None, True), "more than 1"),
    (ValueError, ((4, 2), None, None, None, None, True, 0.1, 0.), "eps"),
    (RuntimeError, ((4,), N(4), N(4)), r"\(4,\)"),
])
def test_batch_norm_errors(kind, how, says):
    shape, *rest = how
    with pytest.raises(kind, match=says):
        batch_norm(T(N(*shape)), *[T(r) if isinstance(r, np.ndarray) else r for r in rest])


def test_statistics_of_each_pixel():
    """Statistics of another shape are not stretched"""
    with pytest.raises(RuntimeError, match="each channel"):
        batch_normalized(N(4, 2, 3), None, None, N(2, 3), N(2, 3), 1e-5)


def test_integers_have_no_batch_norm():
    with pytest.raises(NotImplementedError, match="float"):
        batch_norm(T(np.ones((4, 2), "int64")), None, None, training=True)
