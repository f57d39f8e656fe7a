"""Padding: what stands outside the border, in every mode; and what cannot be padded."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn import functional as F

ROW = [[[1., 2., 3., 4.]]]
MODES = {"constant": [0., 0., 1., 2., 3., 4., 0.], "reflect": [3., 2., 1., 2., 3., 4., 3.],
         "replicate": [1., 1., 1., 2., 3., 4., 4.], "circular": [3., 4., 1., 2., 3., 4., 1.]}


@pytest.mark.parametrize("mode", MODES)
def test_a_row(mode):
    """Two more in front, one more behind"""
    assert F.pad(torch.tensor(ROW), (2, 1), mode).tolist() == [[MODES[mode]]]


@pytest.mark.parametrize("mode", MODES)
def test_the_gradient_adds_up_what_was_used_again(mode):
    """Each number of the row gets as much as it was used; a constant takes nothing"""
    x = torch.tensor(ROW, requires_grad=True)
    F.pad(x, (2, 1), mode).sum().backward()
    used = {n: MODES[mode].count(n) for n in ROW[0][0]}
    assert x.grad.tolist() == [[list(map(float, used.values()))]]


def test_the_last_dimension_comes_first():
    """(left, right, top, bottom): a picture of 1 x 2 becomes one of 2 x 4"""
    padded = F.pad(torch.tensor([[[5, 6]]]), (2, 0, 0, 1), value=9)
    assert padded.tolist() == [[[9, 9, 5, 6], [9, 9, 9, 9]]] and padded.dtype == "int64"


@pytest.mark.parametrize("mode, expected", [
    ("constant", [2., 3., 4., 0.]), ("reflect", [2., 3., 4., 3.]),
    ("replicate", [2., 3., 4., 4.]), ("circular", [2., 3., 4., 2.])])
def test_a_negative_padding_cuts_off(mode, expected):
    """What circular cuts off does not come in again on the other side"""
    assert F.pad(torch.tensor(ROW), (-1, 1), mode).tolist() == [[expected]]


def test_three_modes_pad_up_to_three_dimensions():
    x = torch.arange(8.).reshape(1, 2, 2, 2)
    out = F.pad(x, (1, 1, 1, 1, 1, 1), "reflect")
    np.testing.assert_array_equal(out.numpy(), np.pad(x.numpy(), [(0, 0)] + [(1, 1)] * 3, "reflect"))
    np.testing.assert_array_equal(F.pad(x, (2, 1, 0, 1), "circular").numpy(), np.pad(
        x.numpy(), [(0, 0), (0, 0), (0, 1), (2, 1)], "wrap"))


def test_the_result_is_new_memory():
    x = torch.zeros(1, 1, 3)
    F.pad(x, (0, 0)).fill_(1)
    assert x.sum().item() == 0


@pytest.mark.parametrize("shape, pad, mode, value, error", [
    ((1, 1, 4), (1,), "constant", None, RuntimeError), ((4,), (1, 1, 1, 1), "constant", None, RuntimeError),
    ((1, 1, 4), (-3, -2), "constant", None, RuntimeError),
    ((1, 1, 4), (4, 0), "reflect", None, RuntimeError), ((1, 1, 4), (5, 0), "circular", None, RuntimeError),
    ((1, 1, 4), (1, 1), "reflect", 2., RuntimeError), ((1, 1, 4), (-2, -2), "replicate", None, RuntimeError),
    ((1, 1, 1, 4), (1, 1), "reflect", None, NotImplementedError),
    ((4,), (1, 1), "replicate", None, NotImplementedError),
    ((1, 1, 4), (1, 1), "mirror", None, NotImplementedError),
])
def test_what_cannot_be_padded(shape, pad, mode, value, error):
    """The message names shape and padding"""
    with pytest.raises(error, match="^pad"):
        F.pad(torch.ones(*shape), pad, mode, value)


@pytest.mark.parametrize("layer, pad, mode, value, shown", [
    (nn.ZeroPad2d(1), (1, 1, 1, 1), "constant", 0., "ZeroPad2d((1, 1, 1, 1))"),
    (nn.ConstantPad1d((1, 0), 7.), (1, 0), "constant", 7., "ConstantPad1d(padding=(1, 0), value=7.0)"),
    (nn.ReflectionPad2d((1, 0, 0, 1)), (1, 0, 0, 1), "reflect", None, "ReflectionPad2d((1, 0, 0, 1))"),
    (nn.ReplicationPad1d(2), (2, 2), "replicate", None, "ReplicationPad1d((2, 2))"),
    (nn.ReplicationPad3d(1), (1,) * 6, "replicate", None, "ReplicationPad3d((1, 1, 1, 1, 1, 1))"),
    (nn.CircularPad2d(1), (1, 1, 1, 1), "circular", None, "CircularPad2d((1, 1, 1, 1))"),
])
def test_layers(layer, pad, mode, value, shown):
    """A layer is pad with its padding and mode, and prints it"""
    x = torch.arange(36.).reshape(*((1, 4, 9) if len(pad) == 2 else (1, 2, 3, 3, 2) if len(pad) == 6
                                    else (1, 2, 6, 3)))
    assert layer(x).tolist() == F.pad(x, pad, mode, value).tolist() and repr(layer) == shown


def test_a_circular_layer_counts_dimensions():
    with pytest.raises(ValueError, match="CircularPad2d of"):
        nn.CircularPad2d(1)(torch.ones(3, 3))
