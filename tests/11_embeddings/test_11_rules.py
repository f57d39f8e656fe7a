"""Every gradient rule of module 11 against differences, to first and second order; none is missing."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.autograd import RULES
from tinytorch.core.checks import check_gradient

from .samples import SAMPLES, all_ops

OPS = all_ops()
CALLS = [pytest.param(OPS[name], inputs, params, id=f"{name}-{i}")
         for name, calls in SAMPLES.items() for i, (inputs, params) in enumerate(calls)]


def test_every_op_has_a_rule_and_a_sample():
    """A rule that nobody checks is a rule that may be wrong"""
    assert [name for name, op in OPS.items() if op not in RULES] == [] and set(OPS) == set(SAMPLES)


def float_and_call(op, inputs, params):
    """(the one float64 array, the op as a function of it)"""
    places = [i for i, x in enumerate(inputs) if isinstance(x, np.ndarray) and x.dtype == "float64"]
    assert len(places) == 1
    def f(x): return op(*[x if i == places[0] else other for i, other in enumerate(inputs)], **params)
    return inputs[places[0]], f


@pytest.mark.parametrize("op, inputs, params", CALLS)
def test_first_and_second_order(op, inputs, params):
    """Along a random direction, in float64"""
    x, f = float_and_call(op, inputs, params)
    check_gradient(f, x)
    slope = torch.func.grad(lambda x: (f(x) ** 3).sum())
    second = torch.func.grad(lambda x: (slope(x) ** 2).sum())
    h, direction = 1e-6, np.random.default_rng(1).normal(size=x.shape)
    up, down = [(slope(torch.tensor(x + s * direction)) ** 2).sum().item() for s in (h, -h)]
    ours = float((second(torch.tensor(x)).numpy() * direction).sum())
    assert ours == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("op, inputs, params", CALLS)
def test_float32(op, inputs, params):
    """Result and gradient of a float32 tensor are float32, and the same numbers"""
    x, f = float_and_call(op, inputs, params)
    def run(dtype):
        leaf = torch.tensor(x, dtype=np.dtype(dtype), requires_grad=True)
        out = f(leaf)
        (out * out).sum().backward()
        return out.detach().numpy(), leaf.grad.numpy()

    for single, double in zip(run("float32"), run("float64")):
        assert single.dtype == "float32"
        np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-4)
