"""Numbers of the CPU among tensors of a device, integers added there, and a second device."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.autograd import grad, higher_order

from . import strict
from .strict import same, traffic

# How a number w meets y = [1, 2] on a device, and dw of the sum of that
MEETINGS = {
    "y * w": (lambda y, w: y * w, 3.),
    "w - y": (lambda y, w: w - y, 2.),
    "y ** w": (lambda y, w: y ** w, 8 * np.log(2)),
    "y * computed": (lambda y, w: y * (w * 2), 6.),
    "two numbers": (lambda y, w: y.sum() * w, 3.),
    "where": (lambda y, w: torch.where(y > 1, y, w), 1.),
    "masked_fill": (lambda y, w: y.masked_fill(y > 1, w), 1.),
    "in place": (lambda y, w: (y * 1).mul_(w), 3.),
    "written": (lambda y, w: written(y, 0, w), 1.),
    "written at places": (lambda y, w: written(y, [0, 1], w), 2.),
}


def written(y, index, w):
    out = torch.zeros_like(y)
    out[index] = w
    return out


@pytest.mark.parametrize("name", MEETINGS)
def test_the_gradient_comes_home(name, device):
    """The result is there, and the number's gradient on the CPU, also inside higher_order()"""
    meet, expected = MEETINGS[name]
    y = torch.tensor([1., 2.], device=device, requires_grad=True)
    w = torch.tensor(3., requires_grad=True)
    out = meet(y, w)
    assert out.device == device
    out.sum().backward()
    assert w.grad.device == "cpu" and w.grad.item() == pytest.approx(expected)
    with higher_order():
        slope, = grad(meet(y, w).sum(), [w], create_graph=True)
    assert slope.device == "cpu" and slope.item() == pytest.approx(expected)


def test_the_numbers_dtype_counts_as_on_the_cpu(device):
    for number, dtype in [(3., torch.float64), (2, torch.int64), (2.5, torch.float32)]:
        for kind in (torch.int8, torch.float32, torch.float64):
            x, w = torch.ones(2, dtype=kind), torch.tensor(number, dtype=dtype)
            same(x.to(device) * w, x * w)


def test_a_number_of_the_cpu_holds_none_of_a_device(device):
    w, y = torch.tensor(1.), torch.tensor(2., device=device, requires_grad=True)
    for attempt in (lambda: w.add_(y), lambda: w.__setitem__(..., y)):
        with pytest.raises(RuntimeError, match=r"(?s)cpu.*cuda:0.*to\("):
            attempt()
    assert w.item() == 1. and w.node is None and not w.requires_grad


def test_an_array_of_the_cpu_is_not_written_there(device):
    with pytest.raises(RuntimeError, match=r"(?s)cpu.*cuda:0.*to\("):
        torch.zeros(2, device=device)[[0, 1]] = torch.ones(2)


@pytest.mark.parametrize("dtype", "int8 uint8 int32 int64 bool".split())
def test_integers_add_up(dtype, device):
    """At places that repeat; small ones run over as on the CPU"""
    def f(where):
        x = torch.tensor([1, 3, 100, 1], device=where).to(np.dtype(dtype))
        source = torch.tensor([100, 100, -5, 1, 0], device=where).to(np.dtype(dtype))
        index = torch.tensor([2, 2, 0, 2, 1], device=where)
        return (x.index_add(0, index, source), x.scatter_add(0, index, source),
                x.index_put((index,), source[0], accumulate=True))
    for got, expected in zip(f(device), f("cpu")):
        same(got, expected)


def test_a_permutation(device):
    assert sorted(torch.randperm(50, device=device).tolist()) == list(range(50))
    assert torch.randperm(0, device=device).shape == (0,)


def test_what_is_made_on_a_second_device_is_made_there(stand_in, monkeypatch):
    """Nothing crosses; and CuPy draws only where its generator's device is the current one"""
    drawn, places = strict.Generator._drawn, []
    monkeypatch.setattr(strict.Generator, "_drawn", lambda self, *args: places.append(
        strict.Device.now()) or drawn(self, *args))
    traffic.clear()
    for x in (torch.zeros(2, device="cuda:1"), torch.arange(3, device="cuda:1"),
              torch.rand(2, device="cuda:1"), torch.randperm(4, device="cuda:1")):
        assert x.device == "cuda:1"
    assert traffic.counts() == (0, 0, 0) and places == [1, 1] and strict.Device.now() == 0


def test_a_device_keeps_no_state(device):
    with pytest.raises(NotImplementedError, match="manual_seed"):
        torch.Generator(device).get_state()
    with pytest.raises(NotImplementedError, match="manual_seed"):
        torch.Generator(device).set_state({})
