"""Gradients of module 04's losses: by hand, by central differences, at the ends, second ones."""
import math

import numpy as np
import pytest

import tinytorch as torch
import tinytorch.nn.functional as F
from tinytorch.core.autograd import COMPOSITES
from tinytorch.core.checks import check_gradient
from tinytorch.core.graph import saved_in
from tinytorch.func import grad
from tinytorch.nn import losses

RNG = np.random.default_rng(7)
X, Y, W = RNG.normal(size=(3, 4)) * 1.5, RNG.normal(size=(3, 4)), RNG.uniform(0.2, 2, (3, 4))
P, Q = RNG.uniform(0.1, 0.9, (3, 4)), RNG.uniform(0.1, 0.9, (3, 4))
CLASSES = torch.tensor([2, -100, 0])


def t(x): return torch.tensor(x, dtype="float64")


PAIRS = {                                              # functions of input and target, both differentiable
    "mse": (lambda x, y, **k: F.mse_loss(x, y, **k), X, Y),
    "mse, weight": (lambda x, y, **k: F.mse_loss(x, y, weight=t(W), **k), X, Y),
    "l1": (F.l1_loss, X, Y),
    "huber": (lambda x, y, **k: F.huber_loss(x, y, delta=0.9, **k), X, Y),
    "smooth_l1": (lambda x, y, **k: F.smooth_l1_loss(x, y, beta=0.5, **k), X, Y),
    "binary": (F.binary_cross_entropy, P, Q),
    "binary, weight": (lambda x, y, **k: F.binary_cross_entropy(x, y, t(W[0]), **k), P, Q),
    "logits": (F.binary_cross_entropy_with_logits, X, Q),
    "logits, weights": (lambda x, y, **k: F.binary_cross_entropy_with_logits(
        x, y, t(W), pos_weight=t(W[0]), **k), X, Q),
    "kl_div": (F.kl_div, X, Q),
    "kl_div, log_target": (lambda x, y, **k: F.kl_div(x, y, log_target=True, **k), X, Y),
    "soft": (F.cross_entropy, X, Q),
    "soft, smoothed": (lambda x, y, **k: F.cross_entropy(x, y, t(W[0]), label_smoothing=0.2, **k), X, Q),
}
OF_CLASSES = {
    "nll": lambda x, **k: F.nll_loss(x, CLASSES, **k),
    "nll, weight": lambda x, **k: F.nll_loss(x, CLASSES, t(W[0]), **k),
    "cross_entropy": lambda x, **k: F.cross_entropy(x, CLASSES, **k),
    "cross_entropy, weight": lambda x, **k: F.cross_entropy(x, CLASSES, t(W[0]), **k),
    "smoothed": lambda x, **k: F.cross_entropy(x, CLASSES, t(W[0]), label_smoothing=0.3, **k),
    "(N, C, d)": lambda x, **k: F.cross_entropy(x.reshape(1, 3, 4), torch.tensor([[0, 2, 1, 1]]), **k),
}
REDUCTIONS = pytest.mark.parametrize("reduction", ["none", "sum", "mean"])


def check_second(f, x):
    """The slope of the gradient of f, along a random direction, against differences of the gradient."""
    weights, along = RNG.normal(size=x.shape), RNG.normal(size=x.shape)
    first, h = grad(lambda x: f(x).sum()), 1e-6
    second = grad(lambda x: (first(x) * t(weights)).sum())(t(x)).numpy()
    up, down = [first(t(x + step * along)).numpy() for step in (h, -h)]
    judge = ((up - down) / (2 * h) * weights).sum()
    assert math.isclose((second * along).sum(), judge, rel_tol=1e-4, abs_tol=1e-6)


@REDUCTIONS
@pytest.mark.parametrize("f, x, y", PAIRS.values(), ids=PAIRS)
def test_pairs(f, x, y, reduction):
    """Input and target have the slopes that nudging them finds, and slopes of slopes"""
    check_gradient(lambda x, y: f(x, y, reduction=reduction), t(x), t(y))
    check_second(lambda x: f(x, t(y), reduction=reduction) ** 2, x)
    check_second(lambda y: f(t(x), y, reduction=reduction) ** 2, y)


@REDUCTIONS
@pytest.mark.parametrize("f", OF_CLASSES.values(), ids=OF_CLASSES)
def test_of_classes(f, reduction):
    """So have scores whose target is a class"""
    check_gradient(lambda x: f(x, reduction=reduction), t(X))
    check_second(lambda x: f(x, reduction=reduction) ** 2, X)


def test_by_hand():
    """2/n times the difference; p minus y; and for a probability 1/p"""
    x, y = [torch.tensor(numbers, requires_grad=True) for numbers in ([1.0, 2.0, 4.0], [1.0, 4.0, 1.0])]
    F.mse_loss(x, y).backward()
    np.testing.assert_allclose(x.grad.numpy(), [0, -4 / 3, 2], 1e-6)
    np.testing.assert_allclose(y.grad.numpy(), [0, 4 / 3, -2], 1e-6)
    z = torch.tensor([2.0, 800.0], requires_grad=True)
    F.binary_cross_entropy_with_logits(z, torch.tensor([1.0, 0.0]), reduction="sum").backward()
    np.testing.assert_allclose(z.grad.numpy(), [1 / (1 + math.exp(-2)) - 1, 1], 1e-5)
    p = torch.tensor([0.25, 0.25], requires_grad=True)
    F.binary_cross_entropy(p, torch.tensor([1.0, 0.0]), reduction="sum").backward()
    np.testing.assert_allclose(p.grad.numpy(), [-4, 4 / 3], 1e-6)


def test_binary_ends():
    """At 0 and 1 the slope is finite: 0 where it was right, 1e12 where it was not, as in PyTorch"""
    p = torch.tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True)
    F.binary_cross_entropy(p, torch.tensor([0.0, 1.0, 1.0, 0.0]), reduction="sum").backward()
    np.testing.assert_allclose(p.grad.numpy(), [0, 0, -1e12, 1e12], 1e-6)


def test_ignored_rows_have_no_slope():
    """A row that is ignored gets exactly 0; its neighbours get what they would get alone"""
    x = torch.tensor(X, requires_grad=True)
    for loss in F.cross_entropy(x, CLASSES), F.cross_entropy(x, CLASSES, label_smoothing=0.1):
        x.grad = None
        loss.backward()
        assert (x.grad.numpy()[1] == 0).all() and (x.grad.numpy()[[0, 2]] != 0).all()


def test_what_is_kept():
    """The mean of squares keeps the difference, cross entropy its probabilities: one array each"""
    x = torch.tensor(X, requires_grad=True)
    assert [a.shape for a in saved_in(F.mse_loss(x, t(Y)).node.pull)] == [(3, 4)]
    loss = losses.cross_entropy_rows(x, CLASSES)
    assert [a.shape for a in saved_in(loss.node.pull) if a.dtype.kind == "f"] == [(3, 4)]


def test_empty():
    """Of nothing the mean is nan, and its slope has the shape of nothing"""
    x = torch.zeros(0, 3, requires_grad=True)
    for loss in F.mse_loss(x, torch.zeros(0, 3)), F.cross_entropy(x, torch.tensor([], dtype=torch.int64)):
        x.grad = None
        loss.backward()
        assert math.isnan(loss.item()) and x.grad.shape == (0, 3)


def test_dtypes():
    """Gradients have the dtype of what they belong to, also in float16 and between two dtypes"""
    x, y = torch.tensor(X, dtype="float16", requires_grad=True), torch.tensor(Y, dtype="float32")
    F.mse_loss(x, y).backward()
    assert str(x.grad.dtype) == "float16"
    np.testing.assert_allclose(x.grad.numpy(), 2 * (X - Y) / 12, 1e-2, 1e-3)
    x.grad = None
    F.cross_entropy(x, torch.tensor([0, 1, 2])).backward()
    assert str(x.grad.dtype) == "float16"
    many = torch.full((100_000,), 50.0, dtype=torch.float16, requires_grad=True)
    F.mse_loss(many, torch.zeros(100_000, dtype=torch.float16)).backward()
    np.testing.assert_allclose(many.grad.numpy(), 0.001, 1e-2)


def test_plain_forms():
    """What keeps numbers has a plain form, and both give the same"""
    for op, args in [(losses.mse_loss, (t(X), t(Y))), (losses.mse_loss, (t(X), t(Y), "none")),
                     (losses.mse_loss, (t(X), t(Y), "sum")), (losses.cross_entropy_rows, (t(X), CLASSES)),
                     (losses.cross_entropy_rows, (t(X), torch.tensor([1, 2, 0]), 2))]:
        np.testing.assert_allclose(COMPOSITES[op](*args).numpy(), op(*args).numpy(), 1e-12)
