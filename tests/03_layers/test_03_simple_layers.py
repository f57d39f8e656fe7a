"""Activations as layers: each calls its function with its arguments, and prints them."""
import math

import pytest

import tinytorch as torch
from tinytorch import nn

NUMBERS = [-4., -0.7, 0.3, 2.5, 7.]


def sigmoid(x): return 1 / (1 + math.exp(-x))
def softplus(x, beta=1.): return math.log1p(math.exp(beta * x)) / beta
def gelu(x): return x * (1 + math.erf(x / math.sqrt(2))) / 2
def clip(x, low, high): return min(max(x, low), high)


CASES = [
    (nn.ReLU(), lambda x: max(x, 0.), "ReLU()"),
    (nn.ReLU(True), lambda x: max(x, 0.), "ReLU(inplace=True)"),
    (nn.LeakyReLU(), lambda x: max(x, 0.01 * x), "LeakyReLU(negative_slope=0.01)"),
    (nn.LeakyReLU(0.2, True), lambda x: max(x, 0.2 * x), "LeakyReLU(negative_slope=0.2, inplace=True)"),
    (nn.PReLU(init=0.5), lambda x: max(x, 0.5 * x), "PReLU(num_parameters=1)"),
    (nn.Hardtanh(-2., 3.), lambda x: clip(x, -2, 3), "Hardtanh(min_val=-2.0, max_val=3.0)"),
    (nn.ReLU6(), lambda x: clip(x, 0, 6), "ReLU6()"),
    (nn.ELU(0.5), lambda x: x if x > 0 else 0.5 * math.expm1(x), "ELU(alpha=0.5)"),
    (nn.CELU(2.), lambda x: x if x > 0 else 2 * math.expm1(x / 2), "CELU(alpha=2.0)"),
    (nn.SELU(), lambda x: 1.0507009873 * (x if x > 0 else 1.6732632423 * math.expm1(x)), "SELU()"),
    (nn.SiLU(), lambda x: x * sigmoid(x), "SiLU()"),
    (nn.Mish(), lambda x: x * math.tanh(softplus(x)), "Mish()"),
    (nn.Hardswish(True), lambda x: x * clip(x + 3, 0, 6) / 6, "Hardswish()"),
    (nn.Hardsigmoid(), lambda x: clip(x + 3, 0, 6) / 6, "Hardsigmoid()"),
    (nn.GELU(), gelu, "GELU(approximate='none')"),
    (nn.GELU("tanh"), lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
     "GELU(approximate='tanh')"),
    (nn.Sigmoid(), sigmoid, "Sigmoid()"),
    (nn.Tanh(), math.tanh, "Tanh()"),
    (nn.LogSigmoid(), lambda x: -softplus(-x), "LogSigmoid()"),
    (nn.Softsign(), lambda x: x / (1 + abs(x)), "Softsign()"),
    (nn.Tanhshrink(), lambda x: x - math.tanh(x), "Tanhshrink()"),
    (nn.Softplus(2., 30.), lambda x: softplus(x, 2.), "Softplus(beta=2.0, threshold=30.0)"),
    (nn.Hardshrink(0.8), lambda x: x if abs(x) > 0.8 else 0., "Hardshrink(0.8)"),
    (nn.Softshrink(), lambda x: math.copysign(max(abs(x) - 0.5, 0), x), "Softshrink(0.5)"),
    (nn.Threshold(1, 20), lambda x: x if x > 1 else 20., "Threshold(threshold=1, value=20)"),
]


@pytest.mark.parametrize("layer, formula, text", CASES, ids=[case[2] for case in CASES])
def test_activations(layer, formula, text):
    """The function's numbers, the input's shape, PyTorch's way of printing; in place if asked"""
    x = torch.tensor([NUMBERS, NUMBERS[::-1]])
    out = layer(x)
    assert repr(layer) == text and out.shape == (2, 5)
    for got, number in zip(out.tolist()[0], NUMBERS):
        assert got == pytest.approx(formula(number), abs=1e-5)
    inplace = getattr(layer, "inplace", False)
    assert (out is x) is inplace and (x.tolist()[0] == pytest.approx(NUMBERS)) is not inplace


def test_along_a_dim():
    """Shares along the dim that was given"""
    x = torch.tensor([[1., 2., 3.], [1., 1., 4.]])
    assert nn.Softmax(1)(x)[0].tolist() == pytest.approx([0.0900, 0.2447, 0.6652], abs=1e-4)
    assert nn.Softmax(dim=0)(x)[:, 0].tolist() == pytest.approx([0.5, 0.5])
    assert nn.LogSoftmax(-1)(x)[0].tolist() == pytest.approx([-2.4076, -1.4076, -0.4076], abs=1e-4)
    assert nn.Softmin(1)(x)[0].tolist() == pytest.approx([0.6652, 0.2447, 0.0900], abs=1e-4)
    assert nn.GLU(0)(x)[0].tolist() == pytest.approx([1 * 0.73106, 2 * 0.73106, 3 * 0.98201], abs=1e-4)
    assert repr(nn.Softmax(dim=1)) == "Softmax(dim=1)" and repr(nn.GLU()) == "GLU(dim=-1)"


@pytest.mark.parametrize("shape, dim", [((3,), 0), ((2, 3), 1), ((2, 3, 4), 0), ((2, 3, 4, 5), 1)])
def test_without_a_dim(shape, dim):
    """Softmax without dim guesses as PyTorch does, and warns"""
    with pytest.warns(UserWarning, match="dim"):
        out = nn.Softmax()(torch.zeros(shape))
    assert out.reshape(-1)[0].item() == pytest.approx(1 / shape[dim])


def test_prelu_learns():
    """PReLU is the one with a parameter: a slope for each channel"""
    layer = nn.PReLU(2, dtype=torch.float64)
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    assert layer.weight.tolist() == [0.25, 0.25]
    layer.weight.detach()[1] = 0.5
    assert layer(torch.tensor([[-4., -4.]], dtype=torch.float64)).tolist() == [[-1., -2.]]


def test_kinds():
    """No activation is a kind of another, but ReLU6 of Hardtanh"""
    assert isinstance(nn.ReLU6(), nn.Hardtanh)
    assert not any(isinstance(layer, nn.ReLU) for layer in (nn.SiLU(), nn.Mish(), nn.SELU(), nn.ReLU6()))
    assert not isinstance(nn.LogSoftmax(1), nn.Softmax) and not isinstance(nn.CELU(), nn.ELU)


def test_refused():
    """Arguments that make no sense"""
    with pytest.raises(ValueError):
        nn.Hardtanh(1., 1.)
    with pytest.raises(RuntimeError):
        nn.GELU("other")(torch.ones(2))
    with pytest.raises(IndexError):
        nn.Softmax(2)(torch.ones(2, 3))
