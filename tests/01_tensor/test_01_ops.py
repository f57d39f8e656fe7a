"""Arithmetic: values by hand, by Python's math, or by NumPy in float64."""
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import tinytorch as torch
from tinytorch.core import ops
from tinytorch.core.math import floor_quotient, trunc_divide
from tinytorch.core.reductions import linalg_norm, matrix_norm, vector_norm

from .support import same

inf, nan = math.inf, math.nan


# ---- one number at a time ----

UNARY = {
    "exp": (math.exp, [-1.5, 0., 0.3, 2.]), "exp2": (lambda x: 2 ** x, [-1.5, 0., 0.3, 2.]),
    "expm1": (math.expm1, [-1.5, 0., 1e-6, 2.]), "log": (math.log, [0.2, 1., 7.]),
    "log2": (math.log2, [0.2, 1., 8.]), "log10": (math.log10, [0.2, 1., 1000.]),
    "log1p": (math.log1p, [-0.5, 0., 1e-6, 7.]), "sqrt": (math.sqrt, [0., 2., 9.]),
    "rsqrt": (lambda x: x ** -0.5, [0.25, 2., 9.]), "square": (lambda x: x * x, [-3., 0., 1.5]),
    "reciprocal": (lambda x: 1 / x, [-4., 0.5, 3.]), "sin": (math.sin, [-2., 0., 1.]),
    "cos": (math.cos, [-2., 0., 1.]), "tan": (math.tan, [-2., 0., 1.]),
    "asin": (math.asin, [-1., 0., 0.3]), "acos": (math.acos, [-1., 0., 0.3]),
    "atan": (math.atan, [-9., 0., 0.3]), "sinh": (math.sinh, [-2., 0., 1.]),
    "cosh": (math.cosh, [-2., 0., 1.]), "asinh": (math.asinh, [-2., 0., 1.]),
    "acosh": (math.acosh, [1., 1.5, 4.]), "atanh": (math.atanh, [-0.9, 0., 0.3]),
    "erf": (math.erf, [-7., -2., -0.3, 0., 0.46, 0.47, 1., 3.]),
    "abs": (abs, [-3., 0., 2.5]), "negative": (lambda x: -x, [-3., 0., 2.5]),
    "floor": (math.floor, [-1.5, 0., 2.7]), "ceil": (math.ceil, [-1.5, 0., 2.3]),
    "trunc": (math.trunc, [-1.7, 0., 2.7]), "round": (round, [-1.5, 0.5, 1.5, 2.5, 2.6]),
    "frac": (lambda x: x - math.trunc(x), [-1.75, 0., 2.5]),
    "sign": (lambda x: (x > 0) - (x < 0), [-3., 0., 2.5]),
}


@pytest.mark.parametrize("name", UNARY)
def test_elementwise(name):
    """Each function of one number, as function and as method, in float32 and float64"""
    function, numbers = UNARY[name]
    expected = [float(function(x)) for x in numbers]
    same(getattr(torch, name)(torch.tensor(numbers)), expected, "float32", rtol=3e-6)
    same(getattr(torch.tensor([numbers], dtype=torch.float64), name)(), [expected], "float64",
         rtol=1e-14, atol=1e-15)


FRACTIONS = [name for name in UNARY if name not in (
    "square", "abs", "negative", "floor", "ceil", "trunc", "round", "frac", "sign")]


@pytest.mark.parametrize("name", FRACTIONS)
def test_functions_with_fractions_make_integers_float32(name):
    """int8, int64 and bool become float32, not NumPy's float16 or float64"""
    one = 0 if name == "atanh" else 1
    expected = float(UNARY[name][0](one))
    for dtype in (torch.int8, torch.int64, torch.uint8, torch.bool):
        same(getattr(torch, name)(torch.tensor([one], dtype=dtype)), [expected], "float32")


def test_whole_numbers_stay_whole():
    x = torch.tensor([-3, 0, 5], dtype=torch.int32)
    for name in ("floor", "ceil", "trunc", "round"):
        same(getattr(x, name)(), [-3, 0, 5], "int32")
    same(x.abs(), [3, 0, 5], "int32")
    same(x.sign(), [-1, 0, 1], "int32")
    same(x.square(), [9, 0, 25], "int32")
    same(torch.sign(torch.tensor([True, False])), [True, False], "bool")


def test_floor_of_integers_is_a_copy():
    x = torch.tensor([1, 2])
    y = x.floor()
    y[0] = 9
    same(x, [1, 2])


def test_round_to_decimals():
    same(torch.round(torch.tensor([1.2345, -0.555]), decimals=2), [1.23, -0.56], atol=0.006)
    same(torch.tensor([1234., 1250.]).round(decimals=-2), [1200., 1200.])


def test_erf_to_the_last_digits():
    """erf agrees with Python's to 1e-15 from -8 to 8, at infinity and at nan"""
    x = np.linspace(-8, 8, 2001)
    np.testing.assert_allclose(torch.erf(torch.tensor(x)).numpy(), [math.erf(v) for v in x],
                               rtol=2e-15, atol=0)
    same(torch.erf(torch.tensor([inf, -inf, nan])), [1., -1., nan])


def test_outside_of_the_domain():
    """log(0) is -inf, log and sqrt of negative numbers nan, 1/0 inf: no exception"""
    same(torch.log(torch.tensor([0., -1.])), [-inf, nan])
    same(torch.sqrt(torch.tensor([-1., 4.])), [nan, 2.])
    same(1 / torch.tensor([0., -0.]), [inf, -inf])
    same(torch.exp(torch.tensor([1000., -1000.])), [inf, 0.])


def test_other_names():
    """PyTorch's second names are the same functions"""
    x = torch.tensor([-0.5, 0.25])
    for second, first in [("absolute", "abs"), ("neg", "negative"), ("fix", "trunc"),
                          ("arcsin", "asin"), ("arccos", "acos"), ("arctan", "atan"),
                          ("arcsinh", "asinh"), ("arctanh", "atanh")]:
        same(getattr(torch, second)(x), getattr(torch, first)(x).numpy())
        same(getattr(x, second)(), getattr(torch, first)(x).numpy())
    same(torch.arccosh(x + 2), np.arccosh([1.5, 2.25]))
    same(torch.clip(x, 0.), [0., 0.25])


# ---- two numbers ----

BINARY = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b, "mul": lambda a, b: a * b, "sub": lambda a, b: a - b,
    "div": lambda a, b: a / b, "true_divide": lambda a, b: a / b, "pow": lambda a, b: a ** b,
    "floor_divide": lambda a, b: a // b, "remainder": lambda a, b: a % b, "fmod": math.fmod,
    "maximum": max, "minimum": min, "fmax": max, "fmin": min, "atan2": math.atan2,
    "arctan2": math.atan2, "hypot": math.hypot, "xlogy": lambda a, b: a * math.log(b),
    "logaddexp": lambda a, b: math.log(math.exp(a) + math.exp(b)),
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "greater": lambda a, b: a > b, "greater_equal": lambda a, b: a >= b,
    "less": lambda a, b: a < b, "less_equal": lambda a, b: a <= b, "not_equal": lambda a, b: a != b,
    "logical_and": lambda a, b: bool(a and b), "logical_or": lambda a, b: bool(a or b),
    "logical_xor": lambda a, b: bool(a) != bool(b),
}


@pytest.mark.parametrize("name", BINARY)
def test_two_numbers(name):
    """Each function of two numbers: (2, 1) with (3,) broadcasts to (2, 3)"""
    left, right = [[5.5], [0.5]], [2., 0.5, 3.]
    expected = [[BINARY[name](row[0], y) for y in right] for row in left]
    dtype = "bool" if isinstance(expected[0][0], bool) else "float32"
    same(getattr(torch, name)(torch.tensor(left), torch.tensor(right)), expected, dtype)
    same(getattr(torch.tensor(left), name)(torch.tensor(right)), expected, dtype)


def test_comparisons_meet_equal_numbers():
    x, y = torch.tensor([1, 2, 3]), torch.tensor([3, 2, 1])
    same(x == y, [False, True, False], "bool")
    same(x != y, [True, False, True], "bool")
    same(x < y, [True, False, False])
    same(x <= y, [True, True, False])
    same(x > y, [False, False, True])
    same(x >= y, [False, True, True])
    same(x == 2, [False, True, False])
    same(torch.tensor([nan]) == torch.tensor([nan]), [False])


def test_alpha_scales_the_second():
    """add and sub take PyTorch's alpha: x + alpha * y"""
    x, y = torch.tensor([1., 2.]), torch.tensor([10., 20.])
    same(torch.add(x, y, alpha=3), [31., 62.])
    same(x.sub(y, alpha=0.5), [-4., -8.])


def test_operators_with_numbers_on_either_side():
    x = torch.tensor([1., 2., 4.])
    same(x + 1, [2., 3., 5.])
    same(1 + x, [2., 3., 5.])
    same(x - 3, [-2., -1., 1.])
    same(3 - x, [2., 1., -1.])
    same(x * 2, [2., 4., 8.])
    same(2 * x, [2., 4., 8.])
    same(x / 4, [0.25, 0.5, 1.])
    same(8 / x, [8., 4., 2.])
    same(x ** 2, [1., 4., 16.])
    same(2 ** x, [2., 4., 16.])
    same(x // 3, [0., 0., 1.])
    same(9 // x, [9., 4., 2.])
    same(x % 3, [1., 2., 1.])
    same(7 % x, [0., 1., 3.])
    same(-x, [-1., -2., -4.])
    same(+x, [1., 2., 4.])
    same(abs(-x), [1., 2., 4.])


def test_bits():
    """& | ^ ~ work on bools and on the bits of integers"""
    x, y = torch.tensor([True, True, False]), torch.tensor([True, False, False])
    same(x & y, [True, False, False], "bool")
    same(x | y, [True, True, False])
    same(x ^ y, [False, True, False])
    same(~x, [False, False, True])
    n = torch.tensor([12, 10])
    same(n & 10, [8, 10], "int64")
    same(10 | n, [14, 10])
    same(6 ^ n, [10, 12])
    same(~n, [-13, -11])
    same(torch.bitwise_and(n, torch.tensor(10)), [8, 10])
    same(torch.bitwise_or(n, 1), [13, 11])
    same(torch.bitwise_xor(n, n), [0, 0])
    same(torch.bitwise_not(n), [-13, -11])
    same(torch.logical_not(torch.tensor([0., 2., 0.])), [True, False, True], "bool")


def test_signs_of_remainders():
    """% has the divisor's sign, fmod the dividend's"""
    x = torch.tensor([-7, 7, -7, 7])
    y = torch.tensor([3, -3, -3, 3])
    same(x % y, [2, -2, -1, 1], "int64")
    same(torch.fmod(x, y), [-1, 1, -1, 1], "int64")
    same(torch.remainder(x.float(), y), [2., -2., -1., 1.], "float32")
    same(torch.fmod(x.float(), y), [-1., 1., -1., 1.])


def test_rounded_division():
    """div with rounding_mode: downwards, towards zero, or not at all"""
    x, y = torch.tensor([7., -7.]), torch.tensor([2., 2.])
    same(torch.div(x, y, rounding_mode="floor"), [3., -4.])
    same(torch.div(x, y, rounding_mode="trunc"), [3., -3.])
    same(torch.div(x, y, rounding_mode=None), [3.5, -3.5])
    n, m = torch.tensor([7, -7, 6, -6]), torch.tensor([2, 2, -3, -3])
    same(n.div(m, rounding_mode="floor"), [3, -4, -2, 2], "int64")
    same(n.div(m, rounding_mode="trunc"), [3, -3, -2, 2], "int64")
    same(n / m, [3.5, -3.5, -2., 2.], "float32")
    same(trunc_divide(n, m), [3, -3, -2, 2])
    same(floor_quotient(n, m), [3, -4, -2, 2])
    with pytest.raises(RuntimeError, match="'up'"):
        x.div(y, rounding_mode="up")


@pytest.mark.parametrize("divide", [
    lambda x, y: x // y, lambda x, y: x % y, torch.fmod,
    lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    lambda x, y: torch.div(x, y, rounding_mode="floor")], ids=["//", "%", "fmod", "trunc", "floor"])
def test_integers_divided_by_zero(divide):
    """An integer has no infinity: dividing by 0 is an error; floats answer inf or nan"""
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(torch.tensor([5, 1]), torch.tensor([2, 0]))
    assert not divide(torch.tensor([5.]), torch.tensor([0.])).isfinite().item()


def test_powers():
    same(torch.tensor([2, 3]) ** 2, [4, 9], "int64")
    same(torch.tensor([2, 3]) ** torch.tensor([3, 0]), [8, 1], "int64")
    same(torch.tensor([4., 9.]) ** 0.5, [2., 3.])
    same(torch.tensor([2., 4.]) ** -1, [0.5, 0.25])
    same(torch.tensor([0., -1.]) ** 0, [1., 1.])
    same(torch.tensor([-8.]) ** (1 / 3), [nan])
    same(torch.pow(3, torch.tensor([0., 2.])), [1., 9.])
    with pytest.raises(RuntimeError, match="negative"):
        torch.tensor([2, 3]) ** -1


def test_nan_wins_in_maximum_and_loses_in_fmax():
    x, y = torch.tensor([nan, 1., 3.]), torch.tensor([2., nan, 2.])
    same(torch.maximum(x, y), [nan, nan, 3.])
    same(torch.minimum(x, y), [nan, nan, 2.])
    same(torch.fmax(x, y), [2., 1., 3.])
    same(torch.fmin(x, y), [2., 1., 2.])


def test_xlogy_of_zero():
    """0 * log(0) is 0, and nan only where y is nan"""
    same(torch.xlogy(torch.tensor([0., 0., 2.]), torch.tensor([0., nan, 1.])), [0., nan, 0.])
    same(torch.logaddexp(torch.tensor([1000.]), torch.tensor([1000.])), [1000 + math.log(2)])


def test_clamp():
    x = torch.tensor([-2., 0.5, 3.])
    same(x.clamp(-1, 1), [-1., 0.5, 1.])
    same(torch.clamp(x, min=0), [0., 0.5, 3.])
    same(x.clamp(max=0.), [-2., 0., 0.])
    same(x.clamp(2, 1), [1., 1., 1.])
    same(x.clamp(torch.tensor([-3., 1., 1.]), torch.tensor([0., 2., 2.])), [-2., 1., 2.])
    same(torch.tensor([1, 5]).clamp(2, 4), [2, 4], "int64")
    same(torch.clamp_min(x, 1), [1., 1., 3.])
    same(torch.clamp_max(x, 1), [-2., 0.5, 1.])
    same(torch.tensor([nan]).clamp(0, 1), [nan])
    with pytest.raises(RuntimeError, match="min and max"):
        x.clamp()


def test_where():
    """A choice, element by element; with the condition alone, the places where it holds"""
    mask = torch.tensor([[True, False], [False, True]])
    same(torch.where(mask, torch.tensor([1., 2.]), torch.tensor([[10.], [20.]])),
         [[1., 10.], [20., 2.]])
    same(torch.where(mask, 5., torch.zeros(2)), [[5., 0.], [0., 5.]], "float32")
    same(torch.tensor([1, 2]).where(torch.tensor([False, True]), 7), [7, 2], "int64")
    rows, columns = torch.where(mask)
    same(rows, [0, 1])
    same(columns, [0, 1])
    with pytest.raises(RuntimeError, match="bool"):
        torch.where(torch.tensor([1, 0]), 1., torch.zeros(2))


def test_straight_lines():
    x, y = torch.tensor([0., 10.]), torch.tensor([4., 20.])
    same(torch.lerp(x, y, 0.25), [1., 12.5])
    same(x.lerp(y, torch.tensor([1., 0.])), [4., 10.])
    same(torch.addcmul(x, y, y, value=0.5), [8., 210.])
    same(x.addcdiv(y, torch.tensor([2., 5.]), value=2), [4., 18.])


def test_isnan_and_its_kin():
    x = torch.tensor([nan, inf, -inf, 0.])
    same(torch.isnan(x), [True, False, False, False], "bool")
    same(torch.isinf(x), [False, True, True, False])
    same(torch.isfinite(x), [False, False, False, True])
    same(torch.nan_to_num(x, nan=7., posinf=8., neginf=-9.), [7., 8., -9., 0.])
    most = float(np.finfo("float32").max)
    same(torch.nan_to_num(x), [0., most, -most, 0.])
    same(torch.isnan(torch.tensor([1, 2])), [False, False])
    same(torch.isfinite(torch.tensor([1, 2])), [True, True])


def test_close_and_equal():
    x, y = torch.tensor([1., 100., nan]), torch.tensor([1.000001, 100.01, nan])
    same(torch.isclose(x, y), [True, False, False])
    same(torch.isclose(x, y, rtol=1e-3, equal_nan=True), [True, True, True])
    assert torch.allclose(x[:1], y[:1]) is True and torch.allclose(x, y) is False
    assert torch.allclose(torch.tensor([1.]), torch.tensor([2.]), atol=1.) is True
    assert torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2])) is True
    assert torch.equal(torch.tensor([1, 2]), torch.tensor([[1, 2]])) is False
    assert torch.equal(torch.tensor([1, 2]), torch.tensor([1, 3])) is False


@settings(max_examples=60, deadline=None)
@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3, min_side=0))
def test_broadcasting_is_numpys(shapes):
    """Any two shapes that fit give the shape and the numbers that NumPy gives"""
    a, b = [np.arange(math.prod(s), dtype="float64").reshape(s) for s in shapes.input_shapes]
    same(torch.tensor(a) - torch.tensor(b) * 2, a - b * 2, "float64")
    assert ops.broadcast_shape(a.shape, b.shape) == shapes.result_shape


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), max_size=3))
def test_shapes_that_do_not_fit(a, b):
    """Where NumPy cannot broadcast, neither can an op: RuntimeError with both shapes"""
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(RuntimeError) as error:
            torch.zeros(a) + torch.zeros(b)
        assert str(tuple(a)) in str(error.value) and str(tuple(b)) in str(error.value)
        with pytest.raises(RuntimeError, match="do not fit"):
            ops.broadcast_shape(tuple(a), tuple(b))


# ---- many into one ----

X = np.array([[[3., -1., 2.], [0.5, 4., -2.]], [[1., 1., 5.], [-3., 2., 0.25]]])  # (2, 2, 3)


@pytest.mark.parametrize("dim", [None, 0, 1, -1, (0, 2), (1,), [0, 1], ()])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "var", "std", "logsumexp", "all",
                                  "any", "norm"])
def test_reductions(name, dim, keepdim):
    """Every reduction over no, one, several and all dims, with and without keepdim"""
    if dim is None and name == "logsumexp":
        dim = (0, 1, 2)
    axis = tuple(dim) or None if isinstance(dim, (tuple, list)) else dim
    reference = {
        "sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min,
        "var": lambda x, **how: np.var(x, ddof=1, **how),
        "std": lambda x, **how: np.std(x, ddof=1, **how),
        "logsumexp": lambda x, **how: np.log(np.sum(np.exp(x), **how)),
        "all": lambda x, **how: np.all(x > -2, **how), "any": lambda x, **how: np.any(x > 4, **how),
        "norm": lambda x, **how: np.sqrt(np.sum(x * x, **how))}[name]
    x = torch.tensor(X, dtype=torch.float32)
    x = x > -2 if name == "all" else x > 4 if name == "any" else x
    got = getattr(torch, name)(x, dim=dim, keepdim=keepdim)
    same(got, reference(X, axis=axis, keepdims=keepdim), rtol=2e-6)
    assert got.dtype == (torch.bool if name in ("all", "any") else torch.float32)


@pytest.mark.parametrize("name", ["prod", "cumsum", "cumprod", "argmax", "argmin"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_reductions_over_one_dim(name, dim):
    reference = getattr(np, name)(X, axis=dim)
    same(getattr(torch.tensor(X), name)(dim), reference,
         "int64" if name.startswith("arg") else "float64")


def test_without_dim():
    x = torch.tensor([[3., -1.], [0.5, 4.]])
    same(x.prod(), -6.)
    same(x.argmax(), 3, "int64")
    same(x.argmin(), 1)
    same(x.max(), 4.)
    same(torch.min(x), -1.)
    same(x.argmax(1, keepdim=True), [[0], [1]])
    same(x.prod(0, keepdim=True), [[1.5, -4.]])
    same(torch.count_nonzero(torch.tensor([[0., 2.], [0., 0.]])), 1, "int64")
    same(torch.tensor([[0., 2.], [1., 3.]]).count_nonzero(0), [1, 2])


def test_max_with_its_place():
    """max(dim) gives values and indices, the first one where several are equal"""
    x = torch.tensor([[1., 7., 7.], [9., 0., 2.]])
    found = x.max(1)
    same(found.values, [7., 9.])
    same(found.indices, [1, 0], "int64")
    values, indices = torch.min(x, 0, keepdim=True)
    same(values, [[1., 0., 2.]])
    same(indices, [[0, 1, 1]])
    same(torch.max(x, torch.tensor(5.)), [[5., 7., 7.], [9., 5., 5.]])
    same(x.min(torch.tensor([3.])), [[1., 3., 3.], [3., 0., 2.]])


def test_nan_is_the_largest():
    x = torch.tensor([1., nan, 3.])
    same(x.max(), nan)
    same(x.argmax(), 1)
    same(x.sum(), nan)


def test_sums_of_integers_are_int64():
    """200 times uint8 200 would overflow 8 bits"""
    same(torch.full((200,), 200, dtype=torch.uint8).sum(), 40000, "int64")
    same(torch.tensor([True, True, False]).sum(), 2, "int64")
    same(torch.tensor([100, 100], dtype=torch.int8).cumsum(0), [100, 200], "int64")
    same(torch.tensor([16, 16], dtype=torch.int8).prod(), 256, "int64")
    same(torch.tensor([3, 4], dtype=torch.int8).cumprod(0), [3, 12], "int64")
    same(torch.tensor([1, 2]).sum(dtype=torch.float64), 3., "float64")
    same(torch.tensor([1.5, 2.], dtype=torch.float16).sum(), 3.5, "float16")


def test_integers_have_no_mean():
    for name in ("mean", "var", "std"):
        with pytest.raises(RuntimeError, match="int64"):
            getattr(torch.tensor([1, 2]), name)()


def test_spread():
    """correction 1 divides by N - 1, correction 0 by N; one number alone has no spread"""
    x = torch.tensor([1., 4.])
    same(x.var(), 4.5)
    same(x.var(correction=0), 2.25)
    same(x.std(), math.sqrt(4.5))
    same(x.std(0, correction=0, keepdim=True), [1.5])
    same(torch.tensor([3.]).var(), nan)
    spread, middle = torch.var_mean(torch.tensor(X), dim=1)
    same(spread, X.var(1, ddof=1))
    same(middle, X.mean(1))
    spread, middle = torch.std_mean(torch.tensor(X), dim=(0, 2), correction=0, keepdim=True)
    same(spread, X.std((0, 2), keepdims=True))
    same(middle, X.mean((0, 2), keepdims=True))


def test_logsumexp_of_large_and_lost_numbers():
    same(torch.logsumexp(torch.tensor([1000., 1000.]), 0), 1000 + math.log(2))
    same(torch.logsumexp(torch.tensor([-inf, -inf]), 0), -inf)
    same(torch.logsumexp(torch.tensor([inf, 1.]), 0), inf)
    same(torch.logsumexp(torch.tensor([0, 0]), 0), math.log(2), "float32")


def test_reductions_of_nothing():
    """The sum of nothing is 0, the product 1, the mean nan, the largest number an error"""
    x = torch.zeros(0, 3)
    same(x.sum(), 0.)
    same(x.sum(0), [0., 0., 0.])
    same(x.sum(1), np.zeros(0))
    same(x.prod(), 1.)
    same(x.mean(), nan)
    same(x.all(), True)
    same(x.any(), False)
    for name in ("amax", "max", "argmax"):
        with pytest.raises((RuntimeError, IndexError)):
            getattr(x, name)()


def test_a_single_number_can_be_reduced_over_dim_0():
    x = torch.tensor(3.)
    for name in ("sum", "mean", "amax", "logsumexp", "prod"):
        same(getattr(x, name)(0), 3.)
    same(x.cumsum(0), 3.)
    same(x.max(0).indices, 0)
    with pytest.raises(IndexError):
        x.sum(1)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "var", "argmax", "cumsum", "all", "logsumexp"])
def test_a_dimension_that_is_not_there(name):
    """IndexError that names the shape and the dimension"""
    x = torch.zeros(2, 3) if name != "all" else torch.zeros(2, 3) > 0
    with pytest.raises(IndexError, match=r"(?s)(?=.*\(2, 3\))(?=.*2)"):
        getattr(x, name)(2)


def test_median_is_the_lower_one():
    x = torch.tensor([[3., 1., 2., 4.], [9., 9., 0., 5.]])
    same(x.median(), 3.)
    values, indices = x.median(1)
    same(values, [2., 5.])
    same(indices, [2, 3])
    same(x.median(0, keepdim=True).values, [[3., 1., 0., 4.]])
    same(torch.tensor([1., nan, 2.]).median(), nan)


# ---- norms ----

@pytest.mark.parametrize("p", [0, 1, 2, 3, 0.5, inf, -inf])
def test_p_norms(p):
    x = np.array([[3., -4., 0.5], [1., 2., -2.]])
    same(torch.norm(torch.tensor(x), p=p), np.linalg.norm(x.ravel(), p))
    same(vector_norm(torch.tensor(x), p, dim=1), np.linalg.norm(x, p, axis=1))
    same(torch.tensor(x).norm(p, dim=0, keepdim=True), np.linalg.norm(x, p, axis=0, keepdims=True))


@pytest.mark.parametrize("kind", ["fro", 1, -1, inf, -inf])
def test_matrix_norms(kind):
    x = np.arange(-5., 7.).reshape(2, 2, 3)
    expected = np.linalg.norm(x, kind, axis=(1, 2))
    same(matrix_norm(torch.tensor(x), kind), expected)
    same(linalg_norm(torch.tensor(x), kind, dim=(1, 2), keepdim=True), expected[:, None, None])


def test_norm_by_hand_and_refused():
    same(torch.norm(torch.tensor([3., 4.])), 5.)
    same(torch.dist(torch.tensor([1., 1.]), torch.tensor([4., 5.])), 5.)
    same(torch.dist(torch.tensor([1., 1.]), torch.tensor([4., 5.]), p=1), 7.)
    same(linalg_norm(torch.tensor([[3., 0.], [0., 4.]])), 5.)
    with pytest.raises(RuntimeError, match="int64"):
        torch.norm(torch.tensor([3, 4]))
    with pytest.raises(NotImplementedError, match="singular"):
        matrix_norm(torch.eye(2), 2)


# ---- products ----

A, B = np.arange(6.).reshape(2, 3), np.arange(-6., 6.).reshape(3, 4)
V, W = np.array([1., -2., 3.]), np.array([0.5, 2., -1.])


def test_named_products():
    a, b, v, w = [torch.tensor(x) for x in (A, B, V, W)]
    same(a @ b, A @ B, "float64")
    same(torch.mm(a, b), A @ B)
    same(torch.mv(a, v), A @ V)
    same(torch.dot(v, w), -6.5)
    same(torch.outer(v, w), [[0.5, 2., -1.], [-1., -4., 2.], [1.5, 6., -3.]])
    same(torch.inner(a, v), A @ V)
    same(torch.inner(v, torch.tensor(2., dtype=torch.float64)), [2., -4., 6.])
    same(torch.bmm(a[None], b[None]), (A @ B)[None])
    same(torch.kron(torch.tensor([[1., 2.]]), torch.tensor([[1.], [10.]])), [[1., 2.], [10., 20.]])
    same(torch.kron(a, b), np.kron(A, B))
    same(torch.trace(a @ a.mT), 0 + 1 + 4 + 9 + 16 + 25)
    same(torch.matmul(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5, 6], [7, 8]])),
         [[19, 22], [43, 50]], "int64")


def test_products_with_something_added():
    a, b, v = torch.tensor(A), torch.tensor(B), torch.tensor(V)
    bias = torch.tensor([1., 2., 3., 4.], dtype=torch.float64)
    same(torch.addmm(bias, a, b), A @ B + [1., 2., 3., 4.])
    same(torch.addmm(bias, a, b, beta=2, alpha=0.5), A @ B / 2 + [2., 4., 6., 8.])
    same(torch.addmv(torch.tensor([10., 20.], dtype=torch.float64), a, v), A @ V + [10., 20.])
    same(torch.baddbmm(bias, a[None], b[None]), (A @ B)[None] + [1., 2., 3., 4.])
    pair = torch.stack([a, 2 * a])
    same(torch.addbmm(bias, pair, torch.stack([b, b])), 3 * A @ B + [1., 2., 3., 4.])
    same(torch.addr(torch.tensor(1.), v, v), 1 + np.outer(V, V))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((4, 2, 3), (3, 2)),
                        ((4, 2, 3), (4, 3, 2)), ((2, 3), (5, 3, 2)), ((4, 1, 2, 3), (5, 3, 2)),
                        ((3,), (4, 3, 2)), ((4, 2, 3), (3,)), ((0, 3), (3, 2)), ((2, 0), (0, 4))]),
       st.integers(0, 2 ** 31))
def test_matmul_is_numpys(shapes, seed):
    rng = np.random.default_rng(seed)
    x, y = [rng.normal(size=s) for s in shapes]
    same(torch.tensor(x) @ torch.tensor(y), x @ y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("product, x, y", [
    (torch.matmul, (2, 3), (4, 5)), (torch.matmul, (2, 3), (2,)), (torch.matmul, (), (2, 2)),
    (torch.matmul, (2, 2, 3), (3, 3, 2)), (torch.mm, (2, 3), (3,)), (torch.mv, (2, 3), (2,)),
    (torch.dot, (2,), (3,)), (torch.dot, (2, 2), (2,)), (torch.bmm, (2, 2, 3), (3, 3, 2)),
    (torch.outer, (2, 2), (2,)), (torch.trace, (2,), None)])
def test_products_that_do_not_fit(product, x, y):
    """RuntimeError with both shapes"""
    with pytest.raises(RuntimeError) as error:
        product(*[torch.zeros(s) for s in (x, y) if s is not None])
    for shape in (x, y):
        assert shape is None or str(shape) in str(error.value)


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 3)),
    ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ij->j", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
    ("i,j->ij", (2,), (3,)), ("i,i", (4,), (4,)), ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("...ij,...jk->...ik", (2, 2, 3), (3, 4)), ("...i,i->...", (2, 4, 3), (3,)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("ijk,k->ij", (2, 3, 4), (4,)), ("ba", (2, 3)),
    ("ij,ij->ij", (2, 3), (2, 3)), ("ij,ij->i", (1, 3), (2, 3)), ("i...->...", (3, 2)),
    ("iij->j", (3, 3, 2)), ("a b , b -> a", (2, 3), (3,)), ("ijij->ij", (2, 3, 2, 3)),
]


@pytest.mark.parametrize("equation, shapes", [(e, s) for e, *s in EINSUMS],
                         ids=[e for e, *_ in EINSUMS])
def test_einsum(equation, shapes):
    arrays = [np.random.default_rng(i).normal(size=s) for i, s in enumerate(shapes)]
    same(torch.einsum(equation, *map(torch.tensor, arrays)), np.einsum(equation, *arrays),
         rtol=1e-12, atol=1e-12)


def test_einsum_takes_a_list():
    x = torch.tensor([1., 2.])
    same(torch.einsum("i,i->", [x, x]), 5.)


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk->ik", [(2, 3)]), ("ij->ik", [(2, 3)]), ("ij->ii", [(2, 3)]), ("ijk", [(2, 3)]),
    ("ij,jk->ik", [(2, 3), (4, 5)]), ("i1->i", [(2, 3)])])
def test_einsum_refuses(equation, shapes):
    with pytest.raises(RuntimeError, match="einsum"):
        torch.einsum(equation, *[torch.zeros(s) for s in shapes])


@pytest.mark.parametrize("dims", [0, 1, 2, ([0, 1], [1, 0]), ([2], [0])])
def test_tensordot(dims):
    x, y = np.arange(24.).reshape(2, 3, 4), np.arange(24.).reshape(3, 4, 2) - 7
    if dims == 1:
        y = y.transpose(1, 0, 2)
    elif dims == ([0, 1], [1, 0]):
        y = y.transpose(0, 2, 1)
    elif dims == ([2], [0]):
        y = y.transpose(1, 0, 2)
    same(torch.tensordot(torch.tensor(x), torch.tensor(y), dims), np.tensordot(x, y, dims))
