"""Where the first nan comes from."""
import math

import pytest

import tinytorch as torch
from tinytorch.autograd import detect_anomaly
from tinytorch.core.autograd import vjp
from tinytorch.core.op import op


def leaf(*numbers): return torch.tensor(list(numbers), requires_grad=True)


def test_the_op_that_makes_a_nan_is_named():
    """At the forward line, with its shapes; without the block nothing is said"""
    x = leaf(-1., 4.)
    assert math.isnan(x.sqrt()[0].item())
    with detect_anomaly():
        assert (x * 2).tolist() == [-2., 8.]
        with pytest.raises(RuntimeError, match=r"sqrt.*\(2,\)"):
            x.sqrt() * 3


def test_a_nan_that_came_in_is_nobodys_fault():
    with detect_anomaly():
        assert math.isnan((leaf(math.nan, 1.) * 2 + 1)[0].item())


def test_infinities_are_numbers():
    with detect_anomaly():
        assert torch.log(leaf(0., 1.)).tolist() == [-math.inf, 0.]
        with pytest.raises(RuntimeError, match="subtract"):
            torch.log(leaf(0., 1.)) - torch.log(torch.zeros(2))


def test_a_nan_on_the_way_back_is_found():
    """sqrt at 0 has an infinite slope, and 0 times that is nan: the error names who received it"""
    x = leaf(0., 4.)
    with detect_anomaly():
        y = x * 0.
        loss = (y.sqrt() * 0.).sum()
        with pytest.raises(RuntimeError, match="multiply|sqrt"):
            loss.backward()
    loss = ((x * 0.).sqrt() * 0.).sum()
    loss.backward()
    assert math.isnan(x.grad[0].item())


def test_a_broken_rule_is_found():
    @op
    def shaky(x): return x + 0

    @vjp(shaky)
    def _(out, x): return lambda g: (g * math.nan,)

    with detect_anomaly():
        loss = shaky(leaf(1.) * 2).sum()
        with pytest.raises(RuntimeError, match="multiply"):
            loss.backward()


def test_gradients_are_the_same_inside():
    x, y = leaf(1., 2.), leaf(1., 2.)
    (x.exp() * x).sum().backward()
    with detect_anomaly():
        a, b = y.exp().split(1)
        (torch.cat([a, b]) * y).sum().backward()
    assert y.grad.tolist() == pytest.approx(x.grad.tolist())


def test_it_ends_with_the_block():
    with pytest.raises(RuntimeError):
        with detect_anomaly():
            leaf(-1.).log()
    assert math.isnan(leaf(-1.).log().item())


def test_without_recording_the_forward_is_watched_still():
    with torch.no_grad(), detect_anomaly():
        with pytest.raises(RuntimeError, match="log"):
            torch.tensor([-1.]).log()
