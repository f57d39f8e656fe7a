"""Gradients of module 02's activations: by hand, by central differences, at the corners, second ones."""
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core import activation_rules
from tinytorch.core.autograd import COMPOSITES, RULES, central_difference
from tinytorch.core.checks import check_gradient
from tinytorch.core.graph import saved_in
from tinytorch.func import grad
from tinytorch.nn import activations as A
from tinytorch.nn import more_activations as M

inf = math.inf
SMOOTH = {
    "sigmoid": A.sigmoid, "tanh": A.tanh, "softplus": A.softplus, "silu": A.silu, "gelu": A.gelu,
    "softplus, beta 2": lambda x: A.softplus(x, 2.0), "mish": M.mish, "logsigmoid": M.logsigmoid,
    "gelu, tanh form": lambda x: A.gelu(x, approximate="tanh"),
    "softmax": lambda x: A.softmax(x, 1), "softmax, dim 0": lambda x: A.softmax(x, 0),
    "log_softmax": lambda x: A.log_softmax(x, -1), "glu": lambda x: M.glu(x, 1),
    "softmin": lambda x: M.softmin(x, 0), "tanhshrink": M.tanhshrink,
}
CORNERED = {
    "relu": A.relu, "leaky_relu": lambda x: A.leaky_relu(x, 0.3), "hardtanh": M.hardtanh,
    "relu6": M.relu6, "hardswish": M.hardswish, "hardsigmoid": M.hardsigmoid, "elu": M.elu,
    "selu": M.selu, "celu": lambda x: M.celu(x, 0.7), "softsign": M.softsign,
    "softshrink": M.softshrink, "hardshrink": M.hardshrink,
    "threshold": lambda x: M.threshold(x, 0.3, 5.0), "softplus, low threshold":
    lambda x: A.softplus(x, 1.0, 0.6),
}
X = np.random.default_rng(3).normal(size=(3, 4)) * 1.5


def leaf(numbers, dtype="float64"): return torch.tensor(numbers, dtype=dtype, requires_grad=True)


def slopes(f, numbers, weights=1.0):
    """The gradient of the weighted sum of f at these numbers."""
    x = leaf(numbers)
    (f(x) * torch.tensor(weights, dtype=torch.float64)).sum().backward()
    return x.grad.numpy()


@pytest.mark.parametrize("f", [*SMOOTH.values(), *CORNERED.values()], ids=[*SMOOTH, *CORNERED])
def test_against_differences(f):
    """The slope along a random direction is what nudging the input gives"""
    check_gradient(f, X)


@pytest.mark.parametrize("f", SMOOTH.values(), ids=SMOOTH)
def test_second_derivatives(f):
    """The gradient of a weighted gradient is what nudging the gradient gives"""
    rng = np.random.default_rng(5)
    weights, direction = rng.normal(size=(2, 3, 4))

    def first(x): return (grad(lambda y: (f(y) * f(y)).sum())(x) * torch.tensor(weights)).sum()
    found = grad(first)(torch.tensor(X)).numpy()
    judge = central_difference(lambda x: first(torch.tensor(x)).item(), X, direction)
    assert math.isclose((found * direction).sum(), judge, rel_tol=1e-5, abs_tol=1e-6)


def test_by_hand():
    """Slopes one can look up: 1/4, 1, 1/2, and softmax's p (1 - p)"""
    np.testing.assert_allclose(slopes(A.sigmoid, [0.0, 2.0]), [0.25, 0.8807971 * 0.1192029], 1e-6)
    np.testing.assert_allclose(slopes(A.tanh, [0.0, 0.5]), [1.0, 1 - 0.4621172 ** 2], 1e-6)
    np.testing.assert_allclose(slopes(A.softplus, [0.0, -1000.0, 1000.0]), [0.5, 0.0, 1.0])
    np.testing.assert_allclose(slopes(A.silu, [0.0]), [0.5])
    np.testing.assert_allclose(slopes(A.gelu, [0.0, 1.0]), [0.5, 0.8413447 + 0.2419707], 1e-6)
    many = np.linspace(-6, 6, 1100001)                 # done in pieces
    for f in A.gelu, SMOOTH["gelu, tanh form"]:
        np.testing.assert_allclose(slopes(f, many)[::10000], slopes(f, many[::10000]), atol=1e-6)
    p = np.array([0.09003057, 0.24472847, 0.66524096])
    np.testing.assert_allclose(slopes(lambda x: A.softmax(x, 0), [1.0, 2.0, 3.0], [0.0, 0.0, 1.0]),
                               p[2] * (np.array([0.0, 0.0, 1.0]) - p), 1e-6)
    np.testing.assert_allclose(slopes(lambda x: A.log_softmax(x, 0), [1.0, 2.0, 3.0], [1.0, 0.0, 0.0]),
                               [1.0, 0.0, 0.0] - p, 1e-6)


CORNERS = [
    (A.relu, [0.0, -0.0], [0.0, 0.0]), (A.leaky_relu, [0.0], [0.01]), (M.relu6, [0.0, 6.0], [0.0, 0.0]),
    (M.hardtanh, [-1.0, 1.0], [0.0, 0.0]), (M.hardswish, [-3.0, 3.0], [0.0, 1.0]),
    (M.hardsigmoid, [-3.0, 3.0], [0.0, 0.0]), (M.elu, [0.0], [1.0]), (M.celu, [0.0], [1.0]),
    (M.softshrink, [-0.5, 0.5], [0.0, 0.0]), (M.hardshrink, [-0.5, 0.5], [0.0, 0.0]),
    (lambda x: M.threshold(x, 1.0, 5.0), [1.0], [0.0]),
    (lambda x: A.softplus(x, 1.0, 0.0), [0.0, 0.1], [0.5, 1.0]),
]


@pytest.mark.parametrize("f, at, slope", CORNERS)
def test_at_the_corner(f, at, slope):
    """Where there is no slope, PyTorch's choice"""
    np.testing.assert_allclose(slopes(f, at), slope)


def test_nothing_passes_a_corner():
    """Past the corner the gradient is 0, also where what arrives is inf: sqrt(relu(x)) at -1"""
    x = leaf([-1.0, 4.0])
    with np.errstate(divide="ignore"):
        A.relu(x).sqrt().sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.25])
    for f in M.relu6, lambda x: A.leaky_relu(x, 0.0):
        x = leaf([-1.0, 4.0])
        with np.errstate(divide="ignore", invalid="ignore"):
            f(x).sqrt().sum().backward()
        assert x.grad.numpy()[1] == 0.25


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_through(dtype):
    """g where the mask is true, else 0; inf, nan and -0 as they are; strided and 0-d too"""
    g = np.array([[1.5, -2.0, inf], [np.nan, -0.0, -inf]], dtype)
    mask = np.array([[True, False, False], [False, True, True]])
    out = activation_rules.through(g, mask)
    np.testing.assert_array_equal(out, [[1.5, 0.0, 0.0], [0.0, -0.0, -inf]])
    assert out.dtype == dtype
    np.testing.assert_array_equal(activation_rules.through(g.T, mask.T), out.T)
    np.testing.assert_array_equal(activation_rules.through(np.broadcast_to(g[0, :1], (2, 3)), mask),
                                  1.5 * mask)
    assert activation_rules.through(np.array(2.5, dtype), np.array(True)) == 2.5


def test_single_numbers():
    """Shape () goes through every rule"""
    for f in [*[f for name, f in {**SMOOTH, **CORNERED}.items() if "max" not in name
                and name not in ("glu", "softmin")], lambda x: A.softmax(x, 0),
              lambda x: A.log_softmax(x, -1)]:
        x = leaf(0.8)
        f(x).backward()
        assert x.grad.shape == () and np.isfinite(x.grad.item())


def test_empty():
    x = leaf(np.zeros((0, 3)))
    (A.softmax(x, 1) + A.log_softmax(x, 0) + A.gelu(x) + A.relu(x)).sum().backward()
    assert x.grad.shape == (0, 3)


def test_dtypes():
    """The gradient has the dtype of the leaf, also through dtype= and from float16"""
    for dtype in "float16", "float32":
        for f in A.relu, A.leaky_relu, A.sigmoid, A.softplus, A.silu, A.gelu, M.hardtanh:
            x = leaf([-1.0, 0.5], dtype)
            f(x).sum().backward()
            assert str(x.grad.dtype) == dtype, f
        x = leaf([1.0, 2.0], dtype)
        A.softmax(x, 0, dtype="float64")[0].backward()
        assert str(x.grad.dtype) == dtype
        np.testing.assert_allclose(x.grad.numpy(), [0.19661193, -0.19661193], 1e-3)


def test_far_out_nothing_is_nan():
    """At 1000 and -1000 slopes are 0 or 1, and scores 1000 apart have gradients"""
    for f in A.sigmoid, A.tanh, A.softplus, A.silu, A.gelu, lambda x: A.gelu(x, "tanh"), M.mish:
        with np.errstate(over="raise", invalid="raise"):
            found = slopes(f, [-1000.0, 1000.0])
        assert found[0] == 0 and found[1] in (0, 1), f
    np.testing.assert_allclose(slopes(lambda x: A.log_softmax(x, 0), [0.0, 1000.0], [1.0, 0.0]), [1.0, -1.0])


IN_PLACE = ["relu", "leaky_relu", "silu", "hardtanh", "relu6", "hardsigmoid", "hardswish", "elu", "selu",
            "celu", "mish"]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    """Written into the input, the gradient is the same; a leaf cannot be written into"""
    f = getattr(M, name)
    expected = slopes(lambda x: f(x * 2.0), [-1.2, 0.3, 0.9])
    np.testing.assert_allclose(slopes(lambda x: f(x * 2.0, inplace=True), [-1.2, 0.3, 0.9]), expected)
    with pytest.raises(RuntimeError, match="leaf"):
        f(leaf([1.0]), inplace=True)


def test_what_is_kept():
    """gelu keeps its slope alone, relu its output alone, hardtanh and leaky_relu one byte a number"""
    x = leaf(np.ones(1000), "float32") * 1.0
    for f, size in (A.gelu, 4000), (A.relu, 4000), (M.hardtanh, 1000), (A.leaky_relu, 1000):
        out = f(x)
        kept = {id(a): a for a in saved_in(out.node.pull)}
        assert sum(a.nbytes for a in kept.values()) == size, f
    assert next(iter(saved_in(A.relu(x).node.pull))) is not x.data


def test_every_activation_has_a_rule():
    for name in A.__all__:
        assert getattr(A, name) in RULES, name
        assert not getattr(A, name).keeps or getattr(A, name) in COMPOSITES, name
