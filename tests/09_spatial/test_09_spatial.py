"""Convolution: against the loops, in every layout and dtype; what is refused; the graph around it."""
import itertools

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import tinytorch as torch
from tinytorch.core.checks import check_gradient
from tinytorch.nn import unrolling
from tinytorch.nn.spatial import (
    Windows,
    conv2d,
    conv2d_input,
    conv2d_loops,
    conv2d_weight,
    grid_of,
    same_padding,
    windows,
)
from tinytorch.nn.unrolling import LongRows, channel_sums, parts

rng = np.random.default_rng(9)


def N(*shape): return rng.normal(size=shape)


def by_loops(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """conv2d by the seven loops: padding and dilation are made of zeros, groups one after the other."""
    stride, padding, dilation = [(v, v) if isinstance(v, int) else v for v in (stride, padding, dilation)]
    x = np.pad(x, ((0, 0), (0, 0), *[(p, p) for p in padding]))
    o, c, kh, kw = weight.shape
    (down, across), per = dilation, o // groups
    wide = np.zeros((o, c, down * (kh - 1) + 1, across * (kw - 1) + 1))
    wide[:, :, ::down, ::across] = weight
    out = np.concatenate([conv2d_loops(x[:, g * c:(g + 1) * c], wide[g * per:(g + 1) * per])
                          for g in range(groups)], 1)[:, :, ::stride[0], ::stride[1]]
    return out if bias is None else out + bias[:, None, None]


CASES = [dict(stride=s, padding=p, dilation=d, groups=g)
         for s, p, d, g in itertools.product((1, (2, 1)), (0, (1, 2)), (1, (1, 2)), (1, 2))]


@pytest.mark.parametrize("how", CASES, ids=str)
def test_against_the_loops(how):
    """Stride, padding, dilation and groups in every combination"""
    x, weight, bias = N(2, 4, 6, 7), N(6, 4 // how["groups"], 3, 2), N(6)
    np.testing.assert_allclose(conv2d(x, weight, bias, **how), by_loops(x, weight, bias, **how), atol=1e-12)


@pytest.mark.parametrize("how", CASES[::3], ids=str)
@pytest.mark.parametrize("numbers", [1, 100, 1 << 19])
def test_however_many_at_a_time(how, numbers, monkeypatch):
    """One picture at a time, a few, or all: the same results and gradients"""
    x, weight = N(5, 4, 6, 7), N(6, 4 // how["groups"], 3, 2)
    out = by_loops(x, weight, **how)
    g = N(*out.shape)
    expected = conv2d_input(x.shape, weight, g, **how), conv2d_weight(x, weight.shape, g, **how)
    monkeypatch.setattr(unrolling, "CACHE", numbers)
    np.testing.assert_allclose(conv2d(x, weight, **how), out, atol=1e-12)
    np.testing.assert_allclose(conv2d_input(x.shape, weight, g, **how), expected[0], atol=1e-12)
    np.testing.assert_allclose(conv2d_weight(x, weight.shape, g, **how), expected[1], atol=1e-12)


@pytest.mark.parametrize("groups, padding, dilation", [(1, 0, 1), (2, (1, 0), 1), (4, 2, (2, 1)),
                                                       (1, (0, 3), 2)])
def test_long_rows(groups, padding, dilation):
    """Two ways to unroll: the same products, and each undoes its own order"""
    x, weight = N(2, 4, 6, 7), N(4, 4 // groups, 3, 2)
    grid = grid_of(x.shape, weight.shape, 1, padding, dilation)
    results = []
    for kind in Windows, LongRows:
        u = kind(grid, groups, (6, 7))
        rows, matrix = u.rows(u.padded(x)), u.matrix(weight)
        dx = u.zeros(x, 2, 4)
        g = np.sin(np.arange(2 * 4 * np.prod(grid.size))).reshape(2, 4, *grid.size)
        u.add_back(dx, matrix.swapaxes(1, 2), u.line(g))
        np.testing.assert_array_equal(u.weight(matrix, weight.shape), weight)
        np.testing.assert_array_equal(u.picture(u.line(g)), g)
        results.append((u.picture(matrix @ rows), dx))
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_parts():
    """Together they are everything, and an enormous picture is a part of its own"""
    for n, numbers in (7, 1), (7, 1 << 18), (7, 1 << 40), (0, 5), (3, 0):
        for threads in 1, 2, 3:
            assert [i for part in parts(n, numbers, threads) for i in range(n)[part]] == list(range(n))
    assert len(parts(64, 1 << 16, 2)) == 8 and len(parts(64, 2000, 2)) == 1


def test_threads_give_the_same(monkeypatch):
    """A large batch, whose parts are shared among threads, has the numbers of its pictures one by one"""
    monkeypatch.setattr(unrolling, "SMALL", 0)
    x, weight, bias = N(12, 3, 40, 40), N(5, 3, 3, 3), N(5)
    with threadpool_limits(3, "blas"):
        out = conv2d(x, weight, bias, 1, 1)
        g = N(*out.shape)
        dw, dx = conv2d_weight(x, weight.shape, g, 1, 1), conv2d_input(x.shape, weight, g, 1, 1)
    alone = [conv2d(x[i], weight, bias, 1, 1) for i in range(12)]
    np.testing.assert_allclose(out, alone, atol=1e-12)
    dws = [conv2d_weight(x[i], weight.shape, g[i], 1, 1) for i in range(12)]
    dxs = [conv2d_input(x[i].shape, weight, g[i], 1, 1) for i in range(12)]
    np.testing.assert_allclose(dw, np.sum(dws, 0), atol=1e-10)
    np.testing.assert_allclose(dx, dxs, atol=1e-12)


# ---- inputs of every kind ----

@pytest.mark.parametrize("stride", [1, 2])
def test_any_memory(stride):
    """Transposed, reversed, every second: what counts is the numbers"""
    turned = N(6, 7, 4, 3).transpose(3, 2, 1, 0)[:, ::2, ::-1]
    for x, weight in ((turned, N(3, 2, 5, 4).transpose(3, 1, 2, 0)[::-1]),
                      (N(6, 7, 2, 3).T[::-1], N(3, 2, 6, 4)[:, :, ::2, ::-2])):
        plain = conv2d(x.copy("C"), weight.copy("C"), None, stride, 3)
        np.testing.assert_allclose(conv2d(x, weight, None, stride, 3), plain)
        g = N(*plain.shape[::-1]).T
        np.testing.assert_allclose(conv2d_input(x.shape, weight, g, stride, 3),
                                   conv2d_input(x.shape, weight.copy("C"), g.copy("C"), stride, 3))
        np.testing.assert_allclose(conv2d_weight(x, weight.shape, g, stride, 3),
                                   conv2d_weight(x.copy("C"), weight.shape, g.copy("C"), stride, 3))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "int8"])
def test_dtypes(stride, dtype):
    """A dtype stays what it is; float16 is summed in float32 and rounded once"""
    x, weight = (N(2, 3, 5, 5) * 3).astype(dtype), (N(4, 3, 3, 3) * 3).astype(dtype)
    out = conv2d(torch.tensor(x), torch.tensor(weight), torch.tensor(np.ones(4, dtype)), stride)
    exact = by_loops(x.astype(float), weight.astype(float), np.ones(4), stride).astype(dtype)
    assert str(out.dtype) == f"torch.{dtype}" or out.dtype == np.dtype(dtype)
    np.testing.assert_allclose(out.numpy().astype(float), exact.astype(float),
                               rtol={"float16": 1e-3, "float32": 1e-5}.get(dtype, 1e-12), atol=1e-3)


@pytest.mark.parametrize("stride", [1, 2])
def test_empty(stride):
    """No pictures, or no channels: results and gradients of the right shape, all zero where there are any"""
    for x_size, w_size in ((0, 2, 5, 5), (3, 2, 2, 2)), ((2, 0, 5, 5), (3, 0, 2, 2)):
        x = torch.tensor(np.zeros(x_size), requires_grad=True)
        weight = torch.tensor(np.zeros(w_size), requires_grad=True)
        bias = torch.tensor(np.full(3, 2.), requires_grad=True)
        out = conv2d(x, weight, bias, stride)
        assert out.shape[:2] == (x_size[0], 3) and bool((out == 2).all())
        out.sum().backward()
        assert x.grad.shape == x_size and weight.grad.shape == w_size
        assert bias.grad.tolist() == [out.numel() / 3] * 3


def test_keywords_and_tensors():
    """As PyTorch is called: everything by name, and a bias may be left out"""
    x, weight = torch.tensor(N(1, 2, 4, 4)), torch.tensor(N(2, 2, 3, 3))
    out = conv2d(input=x, weight=weight, stride=1, padding=1)
    np.testing.assert_allclose(out.numpy(), conv2d(x.numpy(), weight.numpy(), None, 1, 1))


@pytest.mark.parametrize("kernel, dilation", [((3, 3), 1), ((2, 4), 1), ((1, 3), (1, 3)), ((4, 2), (1, 2))])
def test_same(kernel, dilation):
    """The size stays, and the odd zero is to the right and below"""
    x, weight = N(1, 1, 7, 8), N(1, 1, *kernel)
    gaps = (dilation, dilation) if isinstance(dilation, int) else dilation
    wide = np.pad(x, ((0, 0), (0, 0), *[same_padding(k, d) for k, d in zip(kernel, gaps)]))
    out = conv2d(x, weight, padding="same", dilation=dilation)
    assert out.shape == x.shape
    np.testing.assert_allclose(out, conv2d(wide, weight, padding="valid", dilation=dilation))


def test_inputs_are_left_alone():
    """Nothing that goes in is written, with stride 1 or 2, forward or back"""
    arrays = N(2, 3, 5, 5), N(3, 3, 3, 3), N(3)
    copies = [a.copy() for a in arrays]
    for stride in 1, 2:
        leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
        conv2d(*leaves, stride, 1).sum().backward()
        for leaf, array, copy in zip(leaves, arrays, copies):
            np.testing.assert_array_equal(leaf.detach().numpy(), copy)
            np.testing.assert_array_equal(array, copy)


def test_the_result_has_memory_of_its_own():
    """A filter of 1 by 1 and 1 copies all the same"""
    x = N(1, 1, 3, 3)
    out = conv2d(x, np.ones((1, 1, 1, 1)))
    out += 1
    assert not np.may_share_memory(out, x)


# ---- gradients ----

@pytest.mark.parametrize("how", CASES[1::4], ids=str)
def test_gradients(how):
    """Input, weight and bias, of a batch and of one picture"""
    weight = N(4, 4 // how["groups"], 2, 3)
    for x in N(2, 4, 5, 6), N(4, 5, 6):
        check_gradient(lambda *a: conv2d(*a, **how), x, weight, N(4))


def test_only_what_is_wanted():
    """A picture that needs no gradient costs none"""
    x, weight = torch.tensor(N(1, 1, 4, 4)), torch.tensor(N(1, 1, 2, 2), requires_grad=True)
    conv2d(x, weight).sum().backward()
    assert x.grad is None and weight.grad.shape == weight.shape


def test_channel_sums():
    for shape in (2, 3, 4, 5), (3, 4, 5), (0, 3, 4, 5), (1, 1, 1, 1):
        g = N(*shape)
        np.testing.assert_allclose(channel_sums(g), g.reshape(-1, *g.shape[-3:]).sum((0, 2, 3)))


# ---- what is refused ----

def zeros(*shape): return np.zeros(shape)


@pytest.mark.parametrize("call, says", [
    (lambda: conv2d(zeros(1, 3, 5, 5), zeros(2, 4, 3, 3)), "4 channels"),
    (lambda: conv2d(zeros(1, 4, 5, 5), zeros(3, 2, 3, 3), groups=2), "multiple of 2"),
    (lambda: conv2d(zeros(1, 4, 5, 5), zeros(4, 4, 3, 3), groups=0), "groups"),
    (lambda: conv2d(zeros(5, 5), zeros(1, 1, 3, 3)), r"\(5, 5\)"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(1, 3, 3)), r"\(1, 3, 3\)"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(1, 1, 6, 3)), "larger"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(1, 1, 3, 3), dilation=3), r"\(7, 7\)"),
    (lambda: conv2d(zeros(1, 1, 0, 5), zeros(1, 1, 1, 1), padding=1), "empty"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(1, 1, 0, 1)), "empty"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(0, 1, 3, 3)), "multiple"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(2, 1, 3, 3), zeros(3)), r"\(2,\)"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(2, 1, 3, 3), zeros(2, 1)), r"\(2,\)"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(1, 1, 3, 3), stride=0), "stride"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(1, 1, 3, 3), dilation=0), "dilation"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(1, 1, 3, 3), padding=-1), "padding"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(1, 1, 3, 3), padding="some"), "'some'"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(1, 1, 3, 3), stride=2, padding="same"), "stride"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(1, 1, 3, 3), stride=(1, 2, 3)), "pair"),
    (lambda: conv2d(zeros(1, 1, 5, 5), zeros(1, 1, 3, 3).astype("float32")), "float32"),
    (lambda: conv2d(torch.tensor(zeros(1, 1, 4, 4)), torch.tensor(zeros(1, 1, 2, 2)).float()), "one dtype"),
])
def test_errors(call, says):
    """RuntimeError, as in PyTorch, with the sizes in it"""
    with pytest.raises(RuntimeError, match=says):
        call()


def test_other_errors():
    with pytest.raises(TypeError, match=r"1\.5"):
        conv2d(zeros(1, 1, 5, 5), zeros(1, 1, 3, 3), stride=1.5)
    with pytest.raises(NotImplementedError, match="bools"):
        conv2d(zeros(1, 1, 5, 5) > 0, zeros(1, 1, 3, 3) > 0)


def test_a_gradient_of_the_wrong_shape():
    """conv2d_input and conv2d_weight take only what conv2d could have given"""
    for g in zeros(1, 1, 4, 4), zeros(2, 1, 3, 3), zeros(1, 2, 3, 3), zeros(1, 1, 1, 9):
        with pytest.raises(RuntimeError, match="must be equal"):
            conv2d_input((1, 1, 5, 5), zeros(1, 1, 3, 3), g)
        with pytest.raises(RuntimeError, match="must be equal"):
            conv2d_weight(zeros(1, 1, 5, 5), (1, 1, 3, 3), g)


# ---- windows ----

def test_windows_of_any_array():
    """Each window is the slice that it should be"""
    x = N(4, 3, 9, 8)[::2, :, ::-1]
    view = windows(x, (3, 2), (2, 1), (1, 3))
    for at in np.ndindex(view.shape[2:4]):
        a, b = at[0] * 2, at[1]
        np.testing.assert_array_equal(view[:, :, at[0], at[1]], x[:, :, a:a + 3, b:b + 4:3])
    assert np.may_share_memory(view, x)
