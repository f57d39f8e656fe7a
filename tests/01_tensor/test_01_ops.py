"""Arithmetic: values by hand, by Python's math, or by NumPy in float64."""
import itertools
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core import ops
from tinytorch.core.math import floor_quotient, trunc_divide

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


def test_erf_of_float32():
    """To two units in the last place, in any size of array; exactly 1 from 5 on, and nan stays nan"""
    x = np.concatenate([np.linspace(-5, 5, 70001), 10.0 ** np.arange(-30, 0)]).astype("float32")
    for given in x, x[:70000].reshape(-1, 7).T, x[40000]:
        wanted = np.vectorize(math.erf)(given.astype("float64"))
        found = torch.erf(torch.tensor(given))
        assert found.dtype == torch.float32
        np.testing.assert_allclose(found.numpy(), wanted, rtol=3e-7)
    same(torch.erf(torch.tensor([5., -5., 1e30, -inf, nan])), [1., -1., 1., -1., nan])


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


SHAPES = [s for n in range(4) for s in itertools.product((0, 1, 2, 3), repeat=n)]


def test_broadcasting_is_numpys():
    """Any two shapes of up to 3 dimensions: NumPy's numbers, or an error with both shapes"""
    arrays = [np.arange(math.prod(s), dtype="float32").reshape(s) for s in SHAPES]
    for a, b in itertools.product(arrays, arrays):
        try:
            expected = a - b
        except ValueError:
            with pytest.raises(RuntimeError) as error:
                ops.broadcast_shape(a.shape, b.shape)
            assert str(a.shape) in str(error.value) and str(b.shape) in str(error.value)
        else:
            assert ops.broadcast_shape(a.shape, b.shape) == np.shape(expected)
            assert np.array_equal((torch.from_numpy(a) - torch.from_numpy(b)).data, expected)


@pytest.mark.parametrize("a, b", [((2, 3), (2,)), ((3,), (2,)), ((4, 1, 3), (2, 1, 1, 2)),
                                  ((0,), (2,))])
def test_shapes_that_do_not_fit(a, b):
    """RuntimeError that names the op, both shapes and the rule"""
    with pytest.raises(RuntimeError) as error:
        torch.zeros(a) * torch.zeros(b)
    for word in ("multiply", str(a), str(b)):
        assert word in str(error.value)
