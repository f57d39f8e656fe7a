"""Initialisers: in place, returned, with the distribution that was asked for."""
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.core.backend import Generator, writes
from tinytorch.nn import init

ALL = [init.uniform_, init.normal_, init.trunc_normal_, init.ones_, init.zeros_, init.eye_,
       init.xavier_uniform_, init.xavier_normal_, init.kaiming_uniform_, init.kaiming_normal_,
       init.orthogonal_, lambda t: init.constant_(t, 3.)]
DRAWN = ["uniform_", "normal_", "trunc_normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
         "kaiming_normal_", "orthogonal_"]


@pytest.fixture(autouse=True)
def seeded(): torch.manual_seed(0)


def numbers(name, shape, **how):
    return getattr(init, name)(torch.empty(*shape), **how).data.astype("float64")


@pytest.mark.parametrize("fill", ALL)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_in_place(fill, dtype):
    """The tensor itself is filled, keeps memory and dtype, stays a leaf, and the write is noted"""
    weight = nn.Parameter(torch.full((6, 5), math.nan, dtype=dtype))
    array, before = weight.data, writes.last
    assert fill(weight) is weight and weight.data is array and weight.dtype == dtype
    assert np.isfinite(array).all() and weight.requires_grad and weight.is_leaf and writes.last < before


@pytest.mark.parametrize("name", DRAWN)
def test_generator(name):
    """The seed repeats it; a generator of one's own is used instead, and the default one left alone"""
    torch.manual_seed(5)
    one = numbers(name, (4, 3))
    state = torch.default_generator().get_state()
    own = [numbers(name, (4, 3), generator=Generator().manual_seed(n)) for n in (1, 1, 2)]
    assert torch.default_generator().get_state() == state
    assert np.array_equal(own[0], own[1]) and not np.array_equal(own[0], own[2])
    torch.manual_seed(5)
    assert np.array_equal(one, numbers(name, (4, 3)))


def truncated(mean, std, a, b):
    """Mean and deviation of a normal distribution cut off at a and b, by summing over its curve."""
    x = np.linspace(a, b, 10_001)
    weight = np.exp(-((x - mean) / std) ** 2 / 2)
    average = (x * weight).sum() / weight.sum()
    return average, math.sqrt(((x - average) ** 2 * weight).sum() / weight.sum())


@pytest.mark.parametrize("name, how, mean, std, low, high", [
    ("uniform_", {}, 0.5, 12 ** -0.5, 0, 1), ("uniform_", dict(a=-3, b=1), -1, 4 * 12 ** -0.5, -3, 1),
    ("normal_", {}, 0, 1, -6, 6), ("normal_", dict(mean=5, std=2), 5, 2, -6, 16),
    ("trunc_normal_", {}, *truncated(0, 1, -2, 2), -2, 2),
    ("trunc_normal_", dict(mean=1., std=3., a=0., b=4.), *truncated(1, 3, 0, 4), 0, 4),
    ("trunc_normal_", dict(mean=4., std=2., a=-9., b=3.), *truncated(4, 2, -9, 3), -9, 3),
    ("trunc_normal_", dict(a=2., b=90.), *truncated(0, 1, 2, 20), 2, 90),
    ("xavier_uniform_", {}, 0, 600 ** -0.5 * 2 ** 0.5, -0.1, 0.1),
    ("xavier_normal_", dict(gain=3.), 0, 3 * math.sqrt(2 / 600), -2, 2),
    ("kaiming_normal_", {}, 0, math.sqrt(2 / 400), -1, 1),
    ("kaiming_normal_", dict(mode="fan_out"), 0, math.sqrt(2 / 200), -1, 1),
    ("kaiming_normal_", dict(a=2.), 0, math.sqrt(0.4 / 400), -1, 1),
    ("kaiming_normal_", dict(nonlinearity="tanh"), 0, 5 / 3 / 20, -1, 1),
    ("kaiming_uniform_", {}, 0, math.sqrt(2 / 400), -math.sqrt(6 / 400), math.sqrt(6 / 400)),
    ("kaiming_uniform_", dict(mode="fan_out", nonlinearity="linear"), 0, 200 ** -0.5, -0.1225, 0.1225),
])
def test_distributions(name, how, mean, std, low, high):
    """Mean, deviation and range over 80,000 numbers"""
    drawn = numbers(name, (200, 400), **how)
    assert drawn.mean() == pytest.approx(mean, abs=5 * std / 280)
    assert drawn.std() == pytest.approx(std, rel=0.02)
    assert drawn.min() >= low - 1e-6 and drawn.max() <= high + 1e-6
    if "normal" in name and "trunc" not in name:
        assert (abs(drawn - mean) > 3 * std).mean() == pytest.approx(0.0027, abs=0.001)
    if "uniform" in name:
        assert drawn.min() < low + 0.02 * (high - low) and drawn.max() > high - 0.02 * (high - low)


def test_convolutions():
    """The elements of the kernel count on both sides: (8, 3, 5, 5) has fan_in 75 and fan_out 200"""
    assert numbers("kaiming_normal_", (800, 3, 5, 5)).std() == pytest.approx(math.sqrt(2 / 75), rel=0.02)
    assert numbers("kaiming_normal_", (800, 3, 5, 5), mode="fan_out").std() == pytest.approx(
        math.sqrt(2 / 20_000), rel=0.02)
    assert numbers("xavier_normal_", (800, 3, 5, 5)).std() == pytest.approx(math.sqrt(2 / 20_075), rel=0.02)


def test_fixed():
    """Constants, and ones on a diagonal that need not be square"""
    assert init.constant_(torch.empty(2), -1.5).tolist() == [-1.5, -1.5]
    assert init.ones_(torch.empty(2)).tolist() == [1., 1.]
    assert init.zeros_(torch.empty(2)).tolist() == [0., 0.]
    assert init.eye_(torch.empty(2, 3)).tolist() == [[1., 0., 0.], [0., 1., 0.]]


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3), (2, 3, 4)])
def test_orthogonal(shape):
    """Rows or columns, whichever are fewer, have length `gain` and are at right angles"""
    q = numbers("orthogonal_", shape, gain=2.).reshape(shape[0], -1)
    product = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


def test_orthogonal_both_ways():
    """A direction and its opposite are equally likely"""
    first = [numbers("orthogonal_", (3, 3))[0, 0] for _ in range(200)]
    assert 60 < sum(n > 0 for n in first) < 140


@pytest.mark.parametrize("name, param, gain", [
    ("linear", None, 1), ("conv2d", None, 1), ("sigmoid", None, 1), ("tanh", None, 5 / 3),
    ("relu", None, 2 ** 0.5), ("leaky_relu", None, math.sqrt(2 / 1.0001)), ("leaky_relu", 1, 1),
    ("leaky_relu", 0, 2 ** 0.5), ("selu", None, 0.75)])
def test_gain(name, param, gain):
    """PyTorch's table"""
    assert init.calculate_gain(name, param) == pytest.approx(gain)


def test_refused():
    """Too few dimensions, unknown modes and activations"""
    bias, weight = torch.empty(5), torch.empty(5, 4)
    for name in ("xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_",
                 "orthogonal_", "eye_"):
        with pytest.raises(ValueError, match="5"):
            getattr(init, name)(bias)
    for fill in (init.kaiming_uniform_, init.kaiming_normal_):
        with pytest.raises(ValueError, match="fan_sum"):
            fill(weight, mode="fan_sum")
        with pytest.raises(ValueError, match="swish"):
            fill(weight, nonlinearity="swish")
    with pytest.raises(ValueError):
        init.eye_(torch.empty(2, 2, 2))


@pytest.mark.parametrize("fill", ALL[:-1])
def test_nothing_to_fill(fill):
    """An empty weight is left as it is"""
    for shape in ((0, 3), (3, 0)):
        assert fill(torch.empty(shape)).shape == shape
