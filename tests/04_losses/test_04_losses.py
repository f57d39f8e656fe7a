"""Losses of numbers and of yes or no, against their formulas in NumPy's float64; PyTorch's signatures."""
import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import tinytorch as torch
import tinytorch.nn.functional as F
from tinytorch.nn import losses

from .support import REDUCTIONS, drawn, inf, nan, reduced, same, shares

# ---- losses of numbers ----

def squared(x, y): return (x - y) ** 2
def absolute(x, y): return abs(x - y)
def huber(x, y, d=1.0): return np.where(abs(x - y) <= d, (x - y) ** 2 / 2, d * (abs(x - y) - d / 2))
def smooth(x, y, b=1.0): return huber(x, y, b) / b


NUMBERS = {"mse": (F.mse_loss, squared), "l1": (F.l1_loss, absolute), "huber": (F.huber_loss, huber),
           "smooth_l1": (F.smooth_l1_loss, smooth),
           "huber 2.5": (lambda *a, **k: F.huber_loss(*a, delta=2.5, **k), lambda x, y: huber(x, y, 2.5)),
           "smooth 0.3": (lambda *a, **k: F.smooth_l1_loss(*a, beta=0.3, **k),
                          lambda x, y: smooth(x, y, 0.3)),
           "smooth 0": (lambda *a, **k: F.smooth_l1_loss(*a, beta=0, **k), absolute)}
each = pytest.mark.parametrize("f, formula", NUMBERS.values(), ids=NUMBERS)


@each
@REDUCTIONS
def test_of_numbers(f, formula, reduction):
    """The formula, reduced, in float64 and float32, for (2, 3, 4), (1, 1), (5,) and ()"""
    for shape in (2, 3, 4), (1, 1), (5,), ():
        x, y = drawn(*shape), drawn(*shape, seed=1)
        expected = reduced(np.asarray(formula(x, y)), reduction)
        same(f(torch.tensor(x), torch.tensor(y), reduction=reduction), expected, "float64", 1e-12)
        x32, y32 = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
        same(f(x32, y32, reduction=reduction), expected, "float32", 2e-5, 1e-6)


@each
def test_of_numbers_dtypes(f, formula):
    """float16 gives float16; a target of another dtype is taken; integers alone have no mean"""
    x, y = drawn(4, 5), drawn(4, 5, seed=1)
    half = f(torch.tensor(x, dtype=torch.float16), torch.tensor(y, dtype=torch.float16))
    same(half, formula(x, y).mean(), "float16", 5e-3)
    mixed = f(torch.tensor([0.5, 4.0]), torch.tensor([1, 0]))
    same(mixed, formula(np.array([0.5, 4.0]), np.array([1, 0])).mean(), "float32")
    with pytest.raises(RuntimeError, match="int64"):
        f(torch.tensor([1, 2]), torch.tensor([1, 4]))


@each
def test_of_numbers_shapes_must_be_equal(f, formula):
    """What would broadcast is refused, with both shapes; nothing is empty but has a mean of nan"""
    for shape in (3,), (), (1, 3), (2, 3, 1):
        with pytest.raises(RuntimeError, match=r"\(3, 1\).*\(.*\)"):
            f(torch.ones(3, 1), torch.ones(*shape))
    same(f(torch.ones(0, 2), torch.ones(0, 2)), nan)
    same(f(torch.ones(0, 2), torch.ones(0, 2), reduction="sum"), 0.0)
    same(f(torch.ones(0, 2), torch.ones(0, 2), reduction="none"), np.zeros((0, 2)))


@each
def test_of_numbers_inputs_stay(f, formula):
    """Transposed and sliced inputs too, and they are left as they were"""
    x, y = torch.tensor(drawn(4, 6)), torch.tensor(drawn(6, 4, seed=1))
    before = x.numpy().copy(), y.numpy().copy()
    expected = formula(before[0][::2].T, before[1][:, :2]).mean()
    same(f(x[::2].T, y[:, :2]), expected, "float64", 1e-12)
    same(x, before[0])
    same(y, before[1])


def test_outliers():
    """Of a miss by 100 the square makes 10,000, the others some 100; infinity stays infinity"""
    x, y = torch.tensor([100.0]), torch.tensor([0.0])
    assert [f(x, y).item() for f in (F.mse_loss, F.l1_loss, F.huber_loss)] == [10000.0, 100.0, 99.5]
    for f in F.mse_loss, F.l1_loss, F.huber_loss, F.smooth_l1_loss:
        same(f(torch.tensor([inf, nan]), torch.tensor([1.0, 1.0]), reduction="none"), [inf, nan])


@pytest.mark.parametrize("f, formula", [(F.mse_loss, squared), (F.l1_loss, absolute), (F.huber_loss, huber)])
def test_element_weights(f, formula):
    """A weight for each number: mse and l1 divide by its sum, huber by the count, as PyTorch"""
    x, y, w = np.array([1.0, 2.0, 4.0]), np.array([1.0, 4.0, 1.0]), np.array([1.0, 2.0, 4.0])
    weighted = formula(x, y) * w
    x, y, w = torch.tensor(x), torch.tensor(y), torch.tensor(w)
    same(f(x, y, weight=w, reduction="none"), weighted)
    same(f(x, y, weight=w, reduction="sum"), weighted.sum())
    same(f(x, y, weight=w), weighted.sum() / (3 if f is F.huber_loss else 7))
    with pytest.raises(ValueError, match=r"\(3,\).*weight.*\(1,\)"):
        f(x, y, weight=w[:1])


def test_bends():
    with pytest.raises(RuntimeError, match="delta is 0"):
        F.huber_loss(torch.ones(2), torch.ones(2), delta=0)
    with pytest.raises(RuntimeError, match="beta is -1"):
        F.smooth_l1_loss(torch.ones(2), torch.ones(2), beta=-1)


def test_huber_has_the_dtype_of_its_input():
    same(F.huber_loss(torch.tensor([0.5]), torch.tensor([0.0], dtype=torch.float64)), 0.125, "float32")
    with pytest.raises(RuntimeError, match="int64"):
        F.huber_loss(torch.tensor([1]), torch.tensor([0.5]))


@settings(max_examples=50, deadline=None, phases=[Phase.generate])   # no search for a smaller failure: seeds
@given(array_shapes(max_dims=4, max_side=4), st.integers(0, 2 ** 32 - 1))
def test_mse_of_any_shape(shape, seed):
    """Two tensors of any one shape; the loss is 0 exactly where they are equal"""
    x, y = np.random.default_rng(seed).uniform(-100, 100, (2, *shape)).astype("float32")
    expected = ((x.astype("float64") - y) ** 2).mean()
    same(F.mse_loss(torch.tensor(x), torch.tensor(y)), expected, "float32", 1e-5, 1e-6)
    same(F.mse_loss(torch.tensor(x), torch.tensor(x)), 0.0)


def test_mse_of_many_numbers_keeps_its_digits():
    """A million float32 squares of 0.1 have the mean 0.01, and so have five thousand"""
    for n in 5000, 1_000_000:
        same(F.mse_loss(torch.full((n,), 0.1), torch.zeros(n)), 0.01, "float32", 1e-6)


def test_mse_keeps_the_difference():
    """The op hands the recorder what its rule will need, and the caller only the loss"""
    loss, difference = losses.mse_loss.forward(np.array([1.0, 2.0]), np.array([3.0, 2.5]))
    assert loss == 2.125 and difference.tolist() == [-2.0, -0.5]
    assert losses.mse_loss(np.array([1.0, 2.0]), np.array([3.0, 2.5])) == 2.125


# ---- yes or no ----

@REDUCTIONS
def test_binary(reduction):
    """The formula from probabilities, and the same from their logits, with weights that broadcast"""
    for shape in (2, 3), (4,), (), (2, 1, 3):
        p, y = shares(*shape), shares(*shape, seed=1)
        terms = np.asarray(-(y * np.log(p) + (1 - y) * np.log(1 - p)))
        z = np.log(p / (1 - p))
        weights = [np.array([2.0]), shares(shape[-1], seed=2), shares(*shape, seed=3)] if shape else []
        for w in [None, *weights]:
            expected = reduced(terms if w is None else terms * w, reduction)
            weight = None if w is None else torch.tensor(w)
            same(F.binary_cross_entropy(torch.tensor(p), torch.tensor(y), weight, reduction=reduction),
                 expected, "float64", 1e-9)
            same(F.binary_cross_entropy_with_logits(torch.tensor(z), torch.tensor(y), weight,
                                                    reduction=reduction), expected, "float64", 1e-9)


@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-9), ("float32", 1e-5), ("float16", 5e-3)])
def test_binary_dtypes(dtype, rtol):
    p, y = np.array([0.25, 0.5, 0.875]), np.array([1.0, 0.5, 0.0])
    expected = -(y * np.log(p) + (1 - y) * np.log(1 - p))
    z = torch.tensor(np.log(p / (1 - p)), dtype=dtype)
    p, y = torch.tensor(p, dtype=dtype), torch.tensor(y, dtype=dtype)
    same(F.binary_cross_entropy(p, y, reduction="none"), expected, dtype, rtol)
    same(F.binary_cross_entropy_with_logits(z, y, reduction="none"), expected, dtype, rtol,
         1e-3 if dtype == "float16" else 1e-7)


def test_binary_ends():
    """Logs stop at -100; certain and right is 0; from logits nothing stops"""
    p, y = torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([0.0, 1.0, 1.0, 0.0])
    same(F.binary_cross_entropy(p, y, reduction="none"), [0.0, 0.0, 100.0, 100.0])
    z = torch.tensor([-800.0, 800.0, -800.0, 800.0])
    same(F.binary_cross_entropy_with_logits(z, y, reduction="none"), [0.0, 0.0, 800.0, 800.0])
    same(F.binary_cross_entropy(torch.tensor([1e-7]), torch.tensor([0.0])), 1e-7, rtol=1e-5, atol=0)
    sure = F.binary_cross_entropy_with_logits(torch.tensor([50.0]), torch.tensor([1.0]))
    same(sure, math.exp(-50), rtol=1e-5, atol=0)
    same(F.binary_cross_entropy_with_logits(torch.tensor([inf]), torch.tensor([0.0])), inf)
    tiny = torch.tensor([1e-40, 1e-50], dtype=torch.float64)
    same(F.binary_cross_entropy(tiny, torch.ones_like(tiny), reduction="none"), [40 * math.log(10), 100.0])


def test_binary_pos_weight():
    """pos_weight multiplies the part that is yes, by column, and in (2, 3, 4) by place"""
    z, y, w = drawn(2, 3), shares(2, 3), np.array([0.5, 1.0, 4.0])
    expected = w * y * np.log1p(np.exp(-z)) + (1 - y) * np.log1p(np.exp(z))
    same(F.binary_cross_entropy_with_logits(torch.tensor(z), torch.tensor(y), pos_weight=torch.tensor(w),
                                            reduction="none"), expected, "float64", 1e-9)
    both = F.binary_cross_entropy_with_logits(torch.tensor(z), torch.tensor(y), torch.tensor(w),
                                              pos_weight=torch.tensor(w))
    same(both, (expected * w).mean(), "float64", 1e-9)
    with pytest.raises(RuntimeError):
        F.binary_cross_entropy_with_logits(torch.tensor(z), torch.tensor(y), pos_weight=torch.ones(2))


@pytest.mark.parametrize("f", [F.binary_cross_entropy, F.binary_cross_entropy_with_logits])
def test_binary_refuses(f):
    """Other shapes: ValueError. Integers, and weights that would stretch the losses: RuntimeError"""
    p = torch.full((2, 3), 0.5)
    for shape in (3,), (2, 1), (3, 2):
        with pytest.raises(ValueError, match=r"\(2, 3\).*\("):
            f(p, torch.ones(*shape))
    with pytest.raises(RuntimeError, match="int64"):
        f(p, torch.ones(2, 3, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="int64"):
        f(torch.ones(2, 3, dtype=torch.int64), p)
    for shape in (2,), (4, 2, 3):
        with pytest.raises(RuntimeError, match=r"weight of \("):
            f(p, p, torch.ones(*shape))
    with pytest.raises(TypeError):
        f(p, [0.0, 1.0])


def test_binary_probabilities_only():
    for bad in 1.5, -0.1, nan:
        with pytest.raises(RuntimeError, match="input.*between 0 and 1"):
            F.binary_cross_entropy(torch.tensor([bad, 0.5]), torch.tensor([1.0, 0.0]))
        with pytest.raises(RuntimeError, match="target.*between 0 and 1"):
            F.binary_cross_entropy(torch.tensor([0.5, 0.5]), torch.tensor([0.0, bad]))
    with pytest.raises(RuntimeError, match="one dtype"):
        F.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.0], dtype=torch.float64))
    same(F.binary_cross_entropy(torch.ones(0), torch.ones(0), reduction="sum"), 0.0)


def test_the_binary_op_refuses_what_would_broadcast():
    """The lesson's own op, called without the face that asks first"""
    with pytest.raises(RuntimeError, match=r"\(2, 1\).*\(2,\)"):
        losses.binary_cross_entropy(torch.full((2, 1), 0.5), torch.tensor([1.0, 0.0]))
    with pytest.raises(RuntimeError, match="int64"):
        losses.binary_cross_entropy(torch.tensor([0.5, 0.5]), torch.tensor([1, 0]))


# ---- PyTorch's signatures ----

OLD = {F.mse_loss: (), F.l1_loss: (), F.smooth_l1_loss: (), F.kl_div: (), F.binary_cross_entropy: (None,),
       F.binary_cross_entropy_with_logits: (None,)}


@pytest.mark.parametrize("f", OLD, ids=[f.__name__ for f in OLD])
def test_old_names(f):
    """size_average and reduce stand where PyTorch has them, and win over reduction"""
    x, y = torch.tensor([0.5, 0.25]), torch.tensor([1.0, 0.0])
    none, total, mean = [f(x, y, reduction=r).tolist() for r in ("none", "sum", "mean")]
    assert f(x, y, *OLD[f], False).tolist() == total
    assert f(x, y, *OLD[f], None, False).tolist() == none
    assert f(x, y, *OLD[f], True, True, "none").tolist() == mean
    assert f(x, y, size_average=False, reduction="none").tolist() == total
    assert f(x, y, *OLD[f], None, None, "sum").tolist() == total
    with pytest.raises(ValueError, match="None"):
        f(x, y, reduction=None)


@pytest.mark.parametrize("f", [F.nll_loss, F.cross_entropy])
def test_old_names_of_classes(f):
    x, y = torch.tensor([[0.5, 0.25], [1.0, 4.0]]), torch.tensor([0, 1])
    assert f(x, y, None, False).item() == f(x, y, reduction="sum").item()
    assert f(x, y, None, None, 1).item() == f(x, y, ignore_index=1).item()
    assert f(x, y, None, None, -100, False).tolist() == f(x, y, reduction="none").tolist()
    assert f(x, y, None, None, -100, None, "sum").item() == f(x, y, reduction="sum").item()


def test_one_number_of_many():
    """reduce_loss: the divisor may be given, and may be a tensor"""
    x = torch.tensor([[1.0, 2.0], [4.0, 5.0]])
    same(losses.reduce_loss(x), 3.0)
    same(losses.reduce_loss(x, "mean", 2), 6.0)
    same(losses.reduce_loss(x, "mean", torch.tensor(24)), 0.5)
    assert losses.reduce_loss(x, "none") is x
    with pytest.raises(RuntimeError, match="'avg'"):   # an op makes PyTorch's class of a ValueError
        losses.mse_loss(x, x, "avg")
    with pytest.raises(ValueError, match="'avg'.*'none', 'sum' or 'mean'"):
        losses.reduce_loss(x, "avg")
