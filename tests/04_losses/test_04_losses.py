"""Losses as functions, against their formulas in NumPy's float64: values, dtypes, shapes, errors."""
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import tinytorch as torch
import tinytorch.nn.functional as F
from tinytorch.nn import losses

inf, nan = math.inf, math.nan


def same(got, expected, dtype=None, rtol=2e-6, atol=2e-7):
    """`got` is a tensor of this dtype with these numbers in this shape; nan equals nan."""
    assert isinstance(got, torch.Tensor), f"expected a tensor, got {type(got).__name__}"
    expected = np.asarray(expected)
    assert got.shape == expected.shape, f"expected shape {expected.shape}, got {got.shape}"
    assert dtype is None or str(got.dtype) == dtype, f"expected {dtype}, got {got.dtype}"
    np.testing.assert_allclose(got.numpy(), expected, rtol, atol)


def drawn(*shape, seed=0, scale=2.0): return np.random.default_rng(seed).normal(size=shape) * scale
def shares(*shape, seed=0): return np.random.default_rng(seed).uniform(0.05, 0.95, shape)


def reduced(x, reduction, total=None):
    if reduction == "none":
        return x
    return x.sum() if reduction == "sum" else x.sum() / (x.size if total is None else total)


def log_shares(x, dim):
    x = x - x.max(dim, keepdims=True)
    return x - np.log(np.exp(x).sum(dim, keepdims=True))


REDUCTIONS = pytest.mark.parametrize("reduction", ["none", "sum", "mean"])


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


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_mse_of_any_shape(data):
    """Two tensors of any one shape; the loss is 0 exactly where they are equal"""
    shape = data.draw(array_shapes(max_dims=4, max_side=4))
    x, y = [data.draw(arrays("float32", shape, elements=st.floats(-100, 100, width=32))) for _ in "xy"]
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


# ---- one of many ----

def picked(log_p, target, weight, ignore_index):
    """The loss of each target, what the mean divides by, and the mask of those that count."""
    out, w = np.zeros(target.shape), np.zeros(target.shape)
    for place in np.ndindex(target.shape):
        c = target[place]
        if c != ignore_index:
            w[place] = 1.0 if weight is None else weight[c]
            at = (c,) if log_p.ndim == 1 else (place[0], c, *place[1:])
            out[place] = -w[place] * log_p[at]
    return out, w.sum()


SHAPES = [(5, 4), (1, 4), (4,), (3, 4, 2), (2, 4, 3, 2), (2, 4, 1, 2, 3), (3, 1)]


@REDUCTIONS
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ignore_index", [-100, 2, -1])
def test_classes(shape, reduction, ignore_index):
    """nll_loss and cross_entropy, for every form, with and without weights, with some ignored"""
    classes = shape[1] if len(shape) > 1 else shape[0]
    x, dim = drawn(*shape), min(1, len(shape) - 1)
    target = np.random.default_rng(1).integers(0, classes, shape[:1] + shape[2:] if len(shape) > 1 else ())
    if target.size > 2:
        target.reshape(-1)[1] = ignore_index
    for weight in None, shares(classes, seed=2):
        each, total = picked(log_shares(x, dim), target, weight, ignore_index)
        if not total:
            continue
        expected = reduced(each, reduction, total)
        w = None if weight is None else torch.tensor(weight)
        how = dict(ignore_index=ignore_index, reduction=reduction)
        log_p = torch.tensor(log_shares(x, dim))
        same(F.nll_loss(log_p, torch.tensor(target), w, **how), expected, "float64", 1e-9)
        same(F.cross_entropy(torch.tensor(x), torch.tensor(target), w, **how), expected, "float64", 1e-9)


@REDUCTIONS
@pytest.mark.parametrize("shape", [(5, 4), (4,), (3, 4, 2), (2, 4, 3, 2)])
def test_smoothing(shape, reduction):
    """The target becomes 1 - ε + ε/C at its class and ε/C elsewhere; the mean divides by what counts"""
    dim, eps = min(1, len(shape) - 1), 0.15
    x, classes = drawn(*shape), 4
    target = np.random.default_rng(1).integers(0, classes, shape[:1] + shape[2:] if len(shape) > 1 else ())
    if target.size > 2:
        target.reshape(-1)[1] = -100
    for weight in None, shares(classes, seed=2):
        w = np.ones(classes) if weight is None else weight
        log_p = log_shares(x, dim)
        each, total = picked(log_p, target, weight, -100)
        spread = -(log_p * w.reshape(classes, *[1] * (len(shape) - 1 - dim))).sum(dim) * eps / classes
        expected = reduced((1 - eps) * each + np.where(target == -100, 0, spread), reduction, total)
        w = None if weight is None else torch.tensor(w)
        got = F.cross_entropy(torch.tensor(x), torch.tensor(target), w, label_smoothing=eps,
                              reduction=reduction)
        same(got, expected, "float64", 1e-9)


@REDUCTIONS
@pytest.mark.parametrize("shape", [(5, 4), (4,), (3, 4, 2), (2, 4, 3, 2)])
def test_target_probabilities(shape, reduction):
    """A distribution for each row, with weights and smoothing; the mean divides by the rows"""
    dim, classes = min(1, len(shape) - 1), 4
    x, target = drawn(*shape), np.exp(log_shares(drawn(*shape, seed=1), dim))
    for weight in None, shares(classes, seed=2):
        for eps in 0.0, 0.3:
            w = np.ones(classes) if weight is None else weight
            truth = target * (1 - eps) + eps / classes
            parts = truth * log_shares(x, dim) * w.reshape(classes, *[1] * (len(shape) - 1 - dim))
            w = None if weight is None else torch.tensor(w)
            got = F.cross_entropy(torch.tensor(x), torch.tensor(target), w, label_smoothing=eps,
                                  reduction=reduction)
            same(got, reduced(np.asarray(-parts.sum(dim)), reduction), "float64", 1e-9)


def test_chance():
    """Equal scores cost ln C: a model that knows nothing"""
    for classes in 2, 10, 65:
        x = torch.full((3, classes), 1.5)
        same(F.cross_entropy(x, torch.tensor([0, 1, classes - 1])), math.log(classes))


def test_large_scores():
    """Scores of ±10,000 and of -inf neither overflow nor become nan; float16 does neither"""
    x = torch.tensor([[10000.0, -10000.0], [-inf, 0.0]])
    same(F.cross_entropy(x, torch.tensor([1, 1]), reduction="none"), [20000.0, 0.0])
    same(F.cross_entropy(x, torch.tensor([0, 0]), reduction="none"), [0.0, inf])
    half = torch.tensor([[300.0, 1.0], [2.0, 1.0]], dtype=torch.float16)
    same(F.cross_entropy(half, torch.tensor([1, 0]), reduction="none"), [299.0, math.log1p(math.exp(-1))],
         "float16", 1e-3)


def test_ignored_rows_do_not_matter():
    """nan and inf in an ignored row; all rows ignored: mean nan, sum 0"""
    x, target = torch.tensor([[nan, inf, -inf], [1.0, 2.0, 3.0]]), torch.tensor([-100, 2])
    expected = -log_shares(np.array([1.0, 2.0, 3.0]), 0)[2]
    same(F.cross_entropy(x, target), expected)
    same(F.cross_entropy(x, target, reduction="none"), [0.0, expected])
    same(F.cross_entropy(x, target, label_smoothing=0.1, reduction="none")[0], 0.0)
    same(F.nll_loss(x, target, reduction="none"), [0.0, -3.0])
    nothing = torch.tensor([-100, -100])
    for f in F.nll_loss, F.cross_entropy:
        same(f(torch.ones(2, 3), nothing), nan)
        same(f(torch.ones(2, 3), nothing, reduction="sum"), 0.0)
        same(f(torch.ones(2, 3), nothing, reduction="none"), [0.0, 0.0])


@pytest.mark.parametrize("f", [F.nll_loss, F.cross_entropy])
def test_targets(f):
    """uint8 is taken; (1,) beside a single row too; an empty batch has a mean of nan"""
    x = torch.tensor([[2.0, 1.0, 0.1], [1.0, 2.0, 3.0]])
    wanted = f(x, torch.tensor([0, 2])).item()
    same(f(x, torch.tensor([0, 2], dtype=torch.uint8)), wanted)
    same(f(x[0], torch.tensor([1])), f(x[0], torch.tensor(1)).item())
    same(f(torch.zeros(0, 3), torch.tensor([], dtype=torch.int64)), nan)
    same(f(torch.zeros(0, 3, 2), torch.zeros(0, 2, dtype=torch.int64), reduction="none"), np.zeros((0, 2)))


@pytest.mark.parametrize("f", [F.nll_loss, F.cross_entropy])
@pytest.mark.parametrize("target, how, error, words", [
    ([0, -1], {}, IndexError, "target -1 is out of bounds"),
    ([0, 3], {}, IndexError, "target 3 is out of bounds.*0 to 2"),
    ([-100, 4], {}, IndexError, "target 4"),
    ([1, -100], {"ignore_index": 1}, IndexError, "target -100"),
    ([0.0, 1.0], {}, RuntimeError, "float32.*int64"),
    ([True, False], {}, RuntimeError, "bool.*int64"),
    ([0, 1, 2], {}, ValueError, r"\(2, 3\).*\(3,\).*\(2,\)"),
    (0, {}, ValueError, r"\(2, 3\).*\(\)"),
    ([[0], [1]], {}, RuntimeError, r"\(2, 1\).*\(2,\)"),
    ([[1, 0, 0], [0, 0, 1]], {}, RuntimeError, r"\(2, 3\)"),
    ([0, 1], {"weight": [1.0, 2.0]}, RuntimeError, r"weight.*\(2,\).*3 classes"),
    ([0, 1], {"weight": [1, 2, 3]}, RuntimeError, "weight.*int64.*float32"),
    ([0, 1], {"reduction": "average"}, ValueError, "'average'"),
    ([0, 1], {"ignore_index": 0.5}, TypeError, "ignore_index.*0.5"),
])
def test_wrong_calls(f, target, how, error, words):
    """PyTorch's classes of errors, with the shapes and values in the words"""
    if "weight" in how:
        how = {"weight": torch.tensor(how["weight"])}
    with pytest.raises(error, match=words):
        f(torch.zeros(2, 3), torch.tensor(target), **how)


@pytest.mark.parametrize("f", [F.nll_loss, F.cross_entropy])
def test_more_wrong_calls(f):
    with pytest.raises(RuntimeError, match="int64"):
        f(torch.zeros(2, 3, dtype=torch.int64), torch.tensor([0, 1]))
    with pytest.raises(TypeError, match="target is a list"):
        f(torch.zeros(2, 3), [0, 1])
    with pytest.raises(TypeError, match="weight is a list"):
        f(torch.zeros(2, 3), torch.tensor([0, 1]), [1.0, 1.0, 3.0])
    with pytest.raises(RuntimeError, match="int32"):
        f(torch.zeros(2, 3), torch.tensor([0, 1], dtype=torch.int32))
    with pytest.raises(RuntimeError, match=r"\(2, 3, 5\).*\(2, 4\).*\(2, 5\)"):
        f(torch.zeros(2, 3, 5), torch.zeros(2, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"\(10,\)"):
        f(torch.zeros(2, 3, 5), torch.zeros(10, dtype=torch.int64))


def test_wrong_probabilities():
    x, p = torch.zeros(2, 3), torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    for eps in 1.5, -0.1:
        with pytest.raises(RuntimeError, match=f"label_smoothing is {eps}"):
            F.cross_entropy(x, torch.tensor([0, 1]), label_smoothing=eps)
    with pytest.raises(RuntimeError, match="ignore_index=1"):
        F.cross_entropy(x, p, ignore_index=1)
    with pytest.raises(RuntimeError, match="3 classes"):
        F.cross_entropy(x, p, torch.ones(2))


def test_the_op_of_rows():
    """(losses, probabilities) from arrays; the scores are left as they were; a strided table too"""
    x = drawn(4, 6)
    target = np.array([1, -100, 0, 2])
    before = x.copy()
    for scores, places in (x, target), (x.T[:4].T[:, ::-1][:, ::-1][:, :4], target):
        out, p = losses.cross_entropy_rows.forward(scores, places)
        log_p = log_shares(np.array(scores), 1)
        np.testing.assert_allclose(p, np.exp(log_p), 1e-12)
        np.testing.assert_allclose(out, np.where(places == -100, 0, -log_p[range(4), places * (places >= 0)]))
    np.testing.assert_array_equal(x, before)
    assert losses.cross_entropy_rows(x.astype("float32"), target).dtype == "float32"
    with pytest.raises(RuntimeError, match="int64"):
        losses.cross_entropy_rows(torch.tensor([[1, 2]]), torch.tensor([0]))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 2 ** 32 - 1))
def test_cross_entropy_of_any_table(n, classes, seed):
    """nll_loss of log_softmax, for any table; adding a constant to a row changes nothing"""
    rng = np.random.default_rng(seed)
    x, target = rng.normal(size=(n, classes)) * 20, torch.tensor(rng.integers(0, classes, n))
    got = F.cross_entropy(torch.tensor(x), target)
    same(got, F.nll_loss(F.log_softmax(torch.tensor(x), 1), target).item(), "float64", 1e-9, 1e-9)
    x += rng.normal(size=(n, 1)) * 1000
    same(F.cross_entropy(torch.tensor(x), target), got.item(), rtol=1e-6, atol=1e-6)


# ---- two distributions ----

@pytest.mark.parametrize("reduction", ["none", "sum", "mean", "batchmean"])
@pytest.mark.parametrize("log_target", [False, True])
def test_kl_div(reduction, log_target):
    """p (log p - log q) with log q first; batchmean divides by the rows"""
    log_q, log_p = log_shares(drawn(3, 4), 1), log_shares(drawn(3, 4, seed=1), 1)
    terms = np.exp(log_p) * (log_p - log_q)
    expected = terms.sum() / 3 if reduction == "batchmean" else reduced(terms, reduction)
    target = torch.tensor(log_p if log_target else np.exp(log_p))
    got = F.kl_div(torch.tensor(log_q), target, reduction=reduction, log_target=log_target)
    same(got, expected, "float64", 1e-9)


def test_kl_div_ends():
    """0 log 0 is 0; a distribution is at distance 0 from itself; a single number has a batch of one"""
    q = torch.tensor([-1.0, -2.0])
    same(F.kl_div(q, torch.tensor([0.0, 1.0]), reduction="none"), [0.0, 2.0])
    same(F.kl_div(q, q.exp(), reduction="sum"), 0.0)
    same(F.kl_div(torch.tensor(-1.0), torch.tensor(0.5), reduction="batchmean"), 0.5 * (math.log(0.5) + 1))
    with pytest.raises(RuntimeError, match="int64"):
        F.kl_div(torch.tensor([1]), torch.tensor([0.5]))
    with pytest.raises(ValueError, match="'average'"):
        F.kl_div(q, q, reduction="average")


def test_kl_div_by_hand():
    """Teacher 4 1 0 and student 2 1 0 at temperature 2: 0.1100"""
    teacher = F.softmax(torch.tensor([[4.0, 1.0, 0.0]]) / 2, 1)
    student = torch.tensor([[2.0, 1.0, 0.0]]) / 2
    same(F.kl_div(F.log_softmax(student, 1), teacher, reduction="batchmean"), 0.11004, rtol=1e-3)


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
    with pytest.raises(ValueError, match="'avg'.*'none', 'sum' or 'mean'"):
        losses.reduce_loss(x, "avg")
