"""The given relatives: each against its formula in Python's math, at its corners, and in place."""
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.nn import more_activations as F

from .support import same

inf, nan = math.inf, math.nan
NUMBERS = [-9.0, -3.5, -1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 1.0, 2.0, 7.0]
ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805


def logistic(x): return 1 / (1 + math.exp(-x))
def clip(x, low, high): return min(max(x, low), high)
def bent(x, alpha): return x if x > 0 else alpha * math.expm1(x)


FORMULAS = {
    "relu": (F.relu, lambda x: max(x, 0.0)),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.1), lambda x: x if x > 0 else 0.1 * x),
    "silu": (F.silu, lambda x: x * logistic(x)),
    "hardtanh": (F.hardtanh, lambda x: clip(x, -1, 1)),
    "hardtanh, other ends": (lambda x: F.hardtanh(x, -2, 0.5), lambda x: clip(x, -2, 0.5)),
    "relu6": (F.relu6, lambda x: clip(x, 0, 6)),
    "hardsigmoid": (F.hardsigmoid, lambda x: clip(x + 3, 0, 6) / 6),
    "hardswish": (F.hardswish, lambda x: x * clip(x + 3, 0, 6) / 6),
    "threshold": (lambda x: F.threshold(x, 0.5, -7.0), lambda x: x if x > 0.5 else -7.0),
    "hardshrink": (F.hardshrink, lambda x: 0.0 if abs(x) <= 0.5 else x),
    "hardshrink 1": (lambda x: F.hardshrink(x, 1.0), lambda x: 0.0 if abs(x) <= 1 else x),
    "softshrink": (F.softshrink, lambda x: x - clip(x, -0.5, 0.5)),
    "softshrink 1": (lambda x: F.softshrink(x, 1.0), lambda x: x - clip(x, -1, 1)),
    "elu": (F.elu, lambda x: bent(x, 1.0)),
    "elu 0.3": (lambda x: F.elu(x, 0.3), lambda x: bent(x, 0.3)),
    "selu": (F.selu, lambda x: SCALE * bent(x, ALPHA)),
    "celu 2": (lambda x: F.celu(x, 2.0), lambda x: x if x > 0 else 2 * math.expm1(x / 2)),
    "mish": (F.mish, lambda x: x * math.tanh(math.log1p(math.exp(x)))),
    "logsigmoid": (F.logsigmoid, lambda x: -math.log1p(math.exp(-x))),
    "softsign": (F.softsign, lambda x: x / (1 + abs(x))),
    "tanhshrink": (F.tanhshrink, lambda x: x - math.tanh(x)),
    "prelu": (lambda x: F.prelu(x, torch.tensor([0.25], dtype=x.dtype)),
              lambda x: x if x > 0 else 0.25 * x),
}
each = pytest.mark.parametrize("f, formula", FORMULAS.values(), ids=FORMULAS)


@each
def test_values_and_dtypes(f, formula):
    """The formula, number by number, in float32, float64 and float16, and in other shapes"""
    expected = [formula(x) for x in NUMBERS]
    same(f(torch.tensor(NUMBERS)), expected, "float32")
    same(f(torch.tensor([NUMBERS], dtype="float64").reshape(1, 11)), [expected], "float64", 1e-13, 1e-15)
    same(f(torch.tensor(NUMBERS, dtype="float16")), expected, "float16", 4e-3, 2e-3)
    same(f(torch.tensor(0.2)), formula(0.2), "float32")
    same(f(torch.tensor(np.zeros((0, 1), "float32"))), np.zeros((0, 1)), "float32")


@each
def test_nan_and_large_numbers(f, formula):
    """nan stays nan; 1000 and -1000 overflow nowhere, and the input is untouched"""
    x = torch.tensor([nan, 1000.0, -1000.0])
    with np.errstate(over="raise", invalid="raise"):
        out = f(x).numpy()
    assert np.isnan(out[0]) and np.isfinite(out[1:]).all(), out
    same(x, [nan, 1000.0, -1000.0])


def test_far_out():
    """What the softer ones come to, far from 0"""
    x = torch.tensor([-1000.0, 1000.0])
    same(F.mish(x), [0.0, 1000.0])
    same(F.logsigmoid(x), [-1000.0, 0.0])
    same(F.elu(x, 0.5), [-0.5, 1000.0])
    same(F.selu(x), [-SCALE * ALPHA, SCALE * 1000])
    same(F.logsigmoid(torch.tensor([20.0])), [-2.0611537e-9], rtol=1e-5, atol=0)
    same(F.logsigmoid(torch.tensor([-30.0], dtype="float64")), [-30 - math.log1p(math.exp(-30))],
         rtol=1e-16, atol=0)


def test_integers():
    """The clipping ones keep integers, as in PyTorch; those with fractions refuse them"""
    x = torch.tensor([-9, 3, 9])
    same(F.relu6(x), [0, 3, 6], "int64")
    same(F.hardtanh(x, -2, 5), [-2, 3, 5], "int64")
    same(F.threshold(x, 3, 7), [7, 7, 9], "int64")
    same(F.relu6(torch.tensor([3, 200], dtype="uint8")), [3, 6], "uint8")
    same(F.softsign(x), [-0.9, 0.75, 0.9], "float32")
    for name in "hardsigmoid hardswish hardshrink softshrink elu selu celu mish logsigmoid glu".split():
        with pytest.raises(RuntimeError, match=f"{name} of int64 .*float"):
            getattr(F, name)(torch.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="softmax of int64"):
        F.softmin(x, 0)


def test_bools():
    for name in "relu leaky_relu silu hardtanh relu6 hardswish elu softsign tanhshrink mish".split():
        with pytest.raises(RuntimeError, match="bool"):
            getattr(F, name)(torch.tensor([True, False]))
    with pytest.raises(RuntimeError, match="bool"):
        F.threshold(torch.tensor([True]), 0, 1)


def test_lists_are_no_tensors():
    for name in "relu relu6 hardtanh hardswish elu selu mish logsigmoid softsign glu".split():
        with pytest.raises(TypeError, match="of a list"):
            getattr(F, name)([1.0, 2.0])


def test_wrong_numbers():
    """Limits that cross, an alpha of 0, a negative lambd, unsigned numbers with a negative end"""
    x = torch.tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="min_val 3"):
        F.hardtanh(x, 3, 2)
    same(F.hardtanh(x, 1.5, 1.5), [1.5, 1.5])
    with pytest.raises(RuntimeError, match="alpha is 0"):
        F.celu(x, 0.0)
    with pytest.raises(RuntimeError, match="lambd is -1"):
        F.softshrink(x, -1)
    with pytest.raises(RuntimeError, match="uint8"):
        F.hardtanh(torch.tensor([1], dtype="uint8"))


def test_prelu():
    """One slope for all, or one for each channel, which is dim 1"""
    x = torch.tensor([[[-1.0, 2.0], [-1.0, -3.0]]])
    same(F.prelu(x, torch.tensor([0.5])), [[[-0.5, 2.0], [-0.5, -1.5]]])
    same(F.prelu(x, torch.tensor([0.5, 0.1])), [[[-0.5, 2.0], [-0.1, -0.3]]])
    same(F.prelu(torch.tensor([[-1.0, -2.0]]), torch.tensor([0.5, 0.1])), [[-0.5, -0.2]])
    same(F.prelu(torch.tensor([-1.0, -2.0]), torch.tensor(0.5)), [-0.5, -1.0])
    for weight in [0.1, 0.2, 0.3], [[0.1, 0.2]]:
        with pytest.raises(RuntimeError, match="2 channels"):
            F.prelu(x, torch.tensor(weight))
    with pytest.raises(RuntimeError, match="1 channels"):
        F.prelu(torch.tensor([-1.0, -2.0]), torch.tensor([0.1, 0.2]))


def test_softmin():
    """The smallest score gets the largest share"""
    same(F.softmin(torch.tensor([1.0, 2.0, 3.0]), 0), [0.66524096, 0.24472847, 0.09003057], "float32")
    same(F.softmin(torch.tensor([[1, 2, 3]]), dim=1, dtype="float64"),
         [[0.66524096, 0.24472847, 0.09003057]], "float64")


def test_glu():
    """The first half gated by the second, along any dim"""
    x = torch.tensor([[1.0, -2.0, 0.0, 3.0]])
    same(F.glu(x), [[0.5, -2 * logistic(3)]])
    same(F.glu(torch.tensor([[1.0, -2.0], [0.0, 3.0]]), 0), [[0.5, -2 * logistic(3)]])
    same(F.glu(torch.tensor([[[1.0], [2.0], [0.0], [-1.0]]]), dim=-2), [[[0.5], [2 * logistic(-1)]]])
    with pytest.raises(RuntimeError, match="size 3"):
        F.glu(torch.tensor([1.0, 2.0, 3.0]))
    with pytest.raises(RuntimeError):
        F.glu(torch.tensor(1.0))
    for dim in 2, -3:
        with pytest.raises(IndexError, match=f"{dim}"):
            F.glu(x, dim)


# ---- writing into the input ----

IN_PLACE = {"relu": (), "leaky_relu": (0.2,), "silu": (), "hardtanh": (-0.5, 0.5), "relu6": (),
            "hardsigmoid": (), "hardswish": (), "threshold": (0.1, 5.0), "elu": (0.5,), "selu": (),
            "celu": (2.0,), "mish": ()}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    """inplace=True, by name or as last argument, writes the result into the input and hands it back"""
    f, args = getattr(F, name), IN_PLACE[name]
    expected = f(torch.tensor([-1.0, 0.3, 8.0]), *args).numpy()
    for call in lambda x: f(x, *args, inplace=True), lambda x: f(x, *args, True):
        x = torch.tensor([-1.0, 0.3, 8.0])
        view = x[1:]
        assert call(x) is x
        same(x, expected)
        same(view, expected[1:])
    x = torch.tensor([-1.0, 0.3, 8.0])
    same(f(x, *args, False), expected)
    same(f(input=x, inplace=False) if not args else f(x, *args), expected)
    same(x, [-1.0, 0.3, 8.0])
