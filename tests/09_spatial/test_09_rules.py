"""Every gradient rule of module 09 against differences, to first and second order; none is missing."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.autograd import RULES
from tinytorch.core.checks import check_gradient
from tinytorch.nn import functional as F

from .samples import SAMPLES, all_ops

OPS = all_ops()
BY_FUNCTION = {"batch_normalized"}          # its mean and variance are those of its input: see NORMS
CALLS = [pytest.param(OPS.get(name), inputs, params, id=f"{name}-{i}")
         for name, calls in SAMPLES.items() for i, (inputs, params) in enumerate(calls)]


def test_every_op_has_a_rule_and_a_sample():
    """A rule that nobody checks is a rule that may be wrong"""
    assert [name for name, op in OPS.items() if op not in RULES] == []
    assert set(OPS) - BY_FUNCTION == set(SAMPLES)


def floats(inputs): return [x for x in inputs if isinstance(x, np.ndarray) and x.dtype == "float64"]


def called(op, inputs, params):
    """The op as a function of the floats among its inputs."""
    def f(*new):
        new = iter(new)
        return op(*[next(new) if isinstance(x, np.ndarray) and x.dtype == "float64" else x
                    for x in inputs], **params)
    return f


@pytest.mark.parametrize("op, inputs, params", CALLS)
def test_first_order(op, inputs, params):
    """Along a random direction, each input by itself, in float64"""
    check_gradient(called(op, inputs, params), *floats(inputs))


@pytest.mark.parametrize("op, inputs, params", CALLS)
def test_second_order(op, inputs, params):
    """The gradient of sum(out³) has PyTorch's meaning too: its own gradient stands against differences"""
    f, every = called(op, inputs, params), tuple(range(len(floats(inputs))))
    slope = torch.func.grad(lambda *x: (f(*x) ** 3).sum(), argnums=every)

    def along(*x): return sum((g * g).sum() for g in slope(*x))

    arrays, h, rng = floats(inputs), 1e-6, np.random.default_rng(1)
    second = torch.func.grad(along, argnums=every)(*[torch.tensor(a) for a in arrays])
    directions = [rng.normal(size=a.shape) for a in arrays]
    ours = sum(float((g.numpy() * d).sum()) for g, d in zip(second, directions))
    up, down = [along(*[torch.tensor(a + s * d) for a, d in zip(arrays, directions)]).item()
                for s in (h, -h)]
    assert ours == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("op, inputs, params", CALLS)
def test_float32(op, inputs, params):
    """Result and gradients of float32 tensors are float32, and the same numbers"""
    def run(dtype):
        leaves = [torch.tensor(a, dtype=np.dtype(dtype), requires_grad=True) for a in floats(inputs)]
        out = called(op, inputs, params)(*leaves)
        (out * out).sum().backward()
        return [out.detach().numpy(), *[leaf.grad.numpy() for leaf in leaves]]

    for single, double in zip(run("float32"), run("float64")):
        assert single.dtype == "float32"
        np.testing.assert_allclose(single, double, rtol=1e-3, atol=1e-3)


def numbers(*shape): return np.random.default_rng(3).normal(size=shape)


X, W, B = numbers(3, 4, 5), np.array([0.5, -1., 2., 1.]), np.array([1., 0., -1., 3.])
NORMS = {
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (X, W, B)),
    "batch_norm of rows": (lambda x: F.batch_norm(x, None, None, training=True), (numbers(6, 3),)),
    "batch_norm in eval": (
        lambda x, w, b: F.batch_norm(x, torch.tensor(W), torch.tensor(W * W), w, b), (X, W, B)),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (X, W, B)),
    "instance_norm": (lambda x, w: F.instance_norm(x, weight=w), (X, W)),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms(name):
    """First and second order: the statistics depend on the input, too"""
    f, arrays = NORMS[name]
    check_gradient(f, *arrays)
    slope = torch.func.grad(lambda x, *more: (f(x, *more) ** 3).sum())
    second = torch.func.grad(lambda x, *more: (slope(x, *more) ** 2).sum())
    rng, h = np.random.default_rng(1), 1e-6
    direction = rng.normal(size=arrays[0].shape)
    rest = [torch.tensor(a) for a in arrays[1:]]
    up, down = [(slope(torch.tensor(arrays[0] + s * direction), *rest) ** 2).sum().item()
                for s in (h, -h)]
    ours = float((second(torch.tensor(arrays[0]), *rest).numpy() * direction).sum())
    assert ours == pytest.approx((up - down) / (2 * h), rel=1e-4)
