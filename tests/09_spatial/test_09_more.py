"""Rows, transposed convolution, unfold and fold, the other pools: worked numbers and identities."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.nn import functional as F


def t(numbers): return torch.tensor(numbers, dtype=torch.float64)
def drawn(*shape): return torch.tensor(np.random.default_rng(7).normal(size=shape))
def dot(x, y): return (x * y).sum().item()


# ---- rows ----

def test_conv1d_by_hand():
    """1 2 4 8 with [1, -1]: each minus the next; nothing is flipped"""
    row, weight = t([[[1., 2., 4., 8.]]]), t([[[1., -1.]]])
    assert F.conv1d(row, weight).tolist() == [[[-1., -2., -4.]]]
    assert F.conv1d(row, weight, t([10.]), stride=2, padding=1).tolist() == [[[9., 8., 18.]]]
    assert F.conv1d(row, weight, dilation=2).tolist() == [[[-3., -6.]]]
    assert F.conv1d(row, weight, padding="same").tolist() == [[[-1., -2., -4., 8.]]]
    assert F.conv1d(row[0], weight, stride=(3,)).tolist() == [[-1.]]


def test_a_row_is_a_picture_of_height_one():
    x, w, b = drawn(2, 4, 9), drawn(6, 2, 3), drawn(6)
    out = F.conv1d(x, w, b, 2, 1, 1, 2)
    picture = F.conv2d(x[:, :, None], w[:, :, None], b, (1, 2), (0, 1), 1, 2)
    assert np.allclose(out.numpy(), picture[:, :, 0].numpy())


@pytest.mark.parametrize("call", [
    lambda: F.conv1d(drawn(4), drawn(1, 1, 2)), lambda: F.conv1d(drawn(1, 1, 2, 4), drawn(1, 1, 2)),
    lambda: F.conv1d(drawn(1, 4), drawn(1, 2)), lambda: F.conv1d(drawn(1, 4), drawn(1, 1, 2), stride=(1, 2)),
    lambda: F.conv1d(drawn(2, 4), drawn(1, 1, 2)), lambda: F.conv1d(drawn(1, 4), drawn(1, 1, 5)),
    lambda: F.conv_transpose1d(drawn(4), drawn(1, 1, 2)), lambda: F.max_pool1d(drawn(4), 2)])
def test_what_is_no_row(call):
    with pytest.raises(RuntimeError):
        call()


# ---- transposed ----

def test_transposed_by_hand():
    """Each number spreads its multiple of the kernel; where two overlap they add"""
    x, w = t([[[1., 2.]]]), t([[[1., 10.]]])
    assert F.conv_transpose1d(x, w).tolist() == [[[1., 12., 20.]]]
    assert F.conv_transpose1d(x, w, stride=2).tolist() == [[[1., 10., 2., 20.]]]
    assert F.conv_transpose1d(x, w, t([0.5]), stride=3, output_padding=2).tolist() == [
        [[1.5, 10.5, 0.5, 2.5, 20.5, 0.5, 0.5]]]
    assert F.conv_transpose1d(x, w, padding=1).tolist() == [[[12.]]]
    assert F.conv_transpose1d(x, w, dilation=3).tolist() == [[[1., 2., 0., 10., 20.]]]
    assert F.conv_transpose1d(x, w, dilation=3, output_padding=2, padding=1).tolist() == [
        [[2., 0., 10., 20., 0.]]]


@pytest.mark.parametrize("how", [
    dict(), dict(stride=2), dict(stride=(2, 3), padding=(1, 2)), dict(dilation=2), dict(groups=2, stride=2)])
def test_it_is_the_transpose_of_conv2d(how):
    """<conv2d(x), y> = <x, conv_transpose2d(y)> with the same weight"""
    x, w = drawn(2, 4, 7, 9), drawn(6, 4 // how.get("groups", 1), 3, 3)
    out = F.conv2d(x, w, **how)
    y = drawn(*out.shape)
    back = F.conv_transpose2d(y, w, **how)
    more = [n - m for n, m in zip(x.shape[2:], back.shape[2:])]
    back = F.conv_transpose2d(y, w, output_padding=tuple(more), **how)
    assert back.shape == x.shape and dot(out, y) == pytest.approx(dot(x, back))


def test_transposed_without_a_batch():
    x, w, b = drawn(4, 3, 2), drawn(4, 2, 3, 2), drawn(4)
    out = F.conv_transpose2d(x, w, b, 2, groups=2)
    assert np.allclose(out.numpy(), F.conv_transpose2d(x[None], w, b, 2, groups=2)[0].numpy())


@pytest.mark.parametrize("call", [
    lambda: F.conv_transpose2d(drawn(1, 2, 3, 3), drawn(3, 1, 2, 2)),                    # channels
    lambda: F.conv_transpose2d(drawn(1, 3, 3, 3), drawn(3, 1, 2, 2), groups=2),
    lambda: F.conv_transpose2d(drawn(1, 2, 3, 3), drawn(2, 1, 2, 2), drawn(2)),          # bias
    lambda: F.conv_transpose2d(drawn(1, 2, 3, 3), drawn(2, 1, 2, 2), output_padding=1),
    lambda: F.conv_transpose2d(drawn(1, 2, 1, 1), drawn(2, 1, 2, 2), padding=1),         # nothing left
    lambda: F.conv_transpose2d(drawn(1, 2, 3, 3), drawn(2, 1, 2, 2).float()),            # dtypes
    lambda: F.conv_transpose2d(drawn(3, 3), drawn(2, 1, 2, 2)),
    lambda: F.conv_transpose2d(drawn(1, 2, 3, 3), drawn(2, 1, 2, 2), stride=0)])
def test_what_cannot_be_transposed(call):
    with pytest.raises(RuntimeError):
        call()


# ---- columns ----

def test_unfold_by_hand():
    """The four windows of 3 x 3, one a column"""
    x = torch.arange(9).reshape(1, 1, 3, 3)
    assert F.unfold(x, 2)[0].T.tolist() == [[0, 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8]]


def test_convolution_is_a_product_with_the_columns():
    x, w = drawn(2, 3, 5, 6), drawn(4, 3, 2, 3)
    how = dict(stride=(2, 1), padding=(1, 0), dilation=(1, 2))
    out = F.conv2d(x, w, **how)
    columns = F.unfold(x, (2, 3), **how)
    assert np.allclose((w.reshape(4, -1) @ columns).reshape(out.shape).numpy(), out.numpy())


def test_fold_counts_in_how_many_windows_a_pixel_is():
    ones = torch.ones(1, 2, 3, 3)
    folded = F.fold(F.unfold(ones, 2), 3, 2)
    assert folded[0, 1].tolist() == [[1., 2., 1.], [2., 4., 2.], [1., 2., 1.]]
    assert F.fold(F.unfold(ones[0], 2), 3, 2).tolist() == folded[0].tolist()


@pytest.mark.parametrize("call", [
    lambda: F.unfold(drawn(3, 3), 2), lambda: F.unfold(drawn(1, 3, 3), 4),
    lambda: F.unfold(drawn(0, 3, 3), 2), lambda: F.unfold(drawn(1, 3, 3), 0),
    lambda: F.fold(drawn(1, 4, 3), 3, 2), lambda: F.fold(drawn(1, 3, 4), 3, 2),
    lambda: F.fold(drawn(4), 3, 2)])
def test_what_has_no_columns(call):
    with pytest.raises(RuntimeError):
        call()


# ---- pools ----

def test_pools_of_rows():
    row = t([[[1., 5., 2., 4., 3.]]])
    assert F.max_pool1d(row, 2).tolist() == [[[5., 4.]]]
    values, where = F.max_pool1d(row, 3, 2, 1, return_indices=True)
    assert values.tolist() == [[[5., 5., 4.]]] and where.tolist() == [[[1, 1, 3]]]
    assert F.avg_pool1d(row, 2, padding=1).tolist() == [[[0.5, 3.5, 3.5]]]
    assert F.avg_pool1d(row, 2, padding=1, count_include_pad=False).tolist() == [[[1., 3.5, 3.5]]]
    assert F.adaptive_avg_pool1d(row, 3).tolist() == [[[3., 11 / 3, 3.5]]]
    assert F.max_pool1d(row[0], 2, 2, ceil_mode=True).tolist() == [[5., 4., 3.]]


def test_an_adaptive_maximum():
    """5 in 3 windows: 0 1, 1 2 3 and 3 4. The gradient goes to the first largest"""
    row = t([[[1., 5., 2., 4., 4.]]]).requires_grad_()
    values, where = F.adaptive_max_pool1d(row, 3, return_indices=True)
    assert values.tolist() == [[[5., 5., 4.]]] and where.tolist() == [[[1, 1, 3]]]
    values.sum().backward()
    assert row.grad.tolist() == [[[0., 2., 0., 1., 0.]]]


def test_an_adaptive_maximum_of_pictures():
    """Every window looked at by itself, all-negative ones too; more windows than pixels repeat them"""
    x = drawn(2, 3, 5, 7) - 10
    for size in (1, (3, 2), (5, 7), (6, 9), (None, 3)):
        out, where = F.adaptive_max_pool2d(x, size, return_indices=True)
        height, width = out.shape[2:]
        for i, j in np.ndindex(height, width):
            rows, columns = [slice(at * n // m, -(-(at + 1) * n // m))
                             for at, n, m in ((i, 5, height), (j, 7, width))]
            assert out[:, :, i, j].tolist() == x[:, :, rows, columns].amax((2, 3)).tolist()
        assert x.flatten(2).gather(2, where.flatten(2)).tolist() == out.flatten(2).tolist()
    assert torch.isnan(F.adaptive_max_pool2d(t([[[1., np.nan]]]), 1)).item()


def test_the_norm_of_a_window():
    """3 and 4: sum 7, length 5, and nearly 4 for a large p"""
    x = t([[[[3., 4.]]]])
    assert [F.lp_pool2d(x, p, (1, 2)).item() for p in (1, 2, 40)] == pytest.approx([7., 5., 4.], rel=1e-4)
    assert F.lp_pool2d(x, float("inf"), (1, 2)).item() == 4.
    assert F.lp_pool1d(x[0], 2, 2).item() == pytest.approx(5.)


def test_a_maximum_undone():
    """The maxima stand where they stood, the rest is 0; the gradient is picked up from there"""
    x = t([[[[1., 9., 2., 3.], [4., 5., 8., 6.]]]])
    values, where = F.max_pool2d(x, 2, return_indices=True)
    values = values.detach().requires_grad_()
    out = F.max_unpool2d(values, where, 2)
    assert out.tolist() == [[[[0., 9., 0., 0.], [0., 0., 8., 0.]]]]
    (out * torch.arange(8.).reshape(2, 4)).sum().backward()
    assert values.grad.tolist() == [[[[1., 6.]]]]
    values, where = F.max_pool1d(x[0, :, 0], 2, return_indices=True)
    assert F.max_unpool1d(values, where, 2, output_size=[5]).tolist() == [[0., 9., 0., 3., 0.]]


@pytest.mark.parametrize("index, size, error", [
    ([[[[1, 99]]]], None, RuntimeError), ([[[[1.0, 2.0]]]], None, RuntimeError),
    ([[[1]]], None, RuntimeError), ([[[[1, 2]]]], (5, 9), ValueError)])
def test_what_cannot_be_undone(index, size, error):
    with pytest.raises(error):
        F.max_unpool2d(t([[[[9., 8.]]]]), torch.tensor(index), 2, output_size=size)


@pytest.mark.parametrize("call, shape", [
    (lambda x: F.conv1d(x[:, :, 0], drawn(3, 2, 2)), (0, 3, 5)),
    (lambda x: F.conv_transpose2d(x, drawn(2, 3, 2, 2), stride=2), (0, 3, 8, 12)),
    (lambda x: F.unfold(x, 2), (0, 8, 15)),
    (lambda x: F.fold(x[:, :, 0, :4].reshape(0, 4, 2), (2, 3), 2), (0, 1, 2, 3)),
    (lambda x: F.max_pool1d(x[:, :, 0], 2), (0, 2, 3)), (lambda x: F.lp_pool2d(x, 2, 2), (0, 2, 2, 3)),
    (lambda x: F.adaptive_max_pool2d(x, 2), (0, 2, 2, 2)),
    (lambda x: F.max_unpool2d(x, x.long(), 2), (0, 2, 8, 12)),
    (lambda x: F.pad(x, (1,) * 4, "reflect"), (0, 2, 6, 8)),
    (lambda x: F.interpolate(x, (3, 9), mode="bicubic"), (0, 2, 3, 9)),
    (lambda x: F.group_norm(x, 2), (0, 2, 4, 6)), (lambda x: F.instance_norm(x), (0, 2, 4, 6)),
    (lambda x: F.pixel_unshuffle(x, 2), (0, 8, 2, 3))])
def test_an_empty_batch(call, shape):
    """It goes through everything, and its gradient is as empty"""
    x = torch.zeros(0, 2, 4, 6, dtype=torch.float64, requires_grad=True)
    out = call(x)
    out.sum().backward()
    assert out.shape == shape and x.grad.shape == x.shape


def test_an_adaptive_maximum_of_size_zero():
    assert F.adaptive_max_pool2d(drawn(1, 2, 3, 4), (0, 2)).shape == (1, 2, 0, 2)
