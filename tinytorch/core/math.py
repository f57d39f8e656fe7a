# Generated from modules/01_tensor/math_dev.py by tito export. Edit the lesson, not this file.
# source sha256 291cfdffa9b4a550e1785d7760360448406aebe3c87c286ff27f88722f0184c9  body sha256 99f8e1982ffc60ddeda18349ba65994c5ee777572e5e03083687852dfe506752  # noqa: E501
"""core.math: built in module 01_tensor."""

import numpy as np

from tinytorch.core import ops
from tinytorch.core.backend import array_module, is_array
from tinytorch.core.base import METHODS, method
from tinytorch.core.dtypes import bool_, float32, int64, result_type
from tinytorch.core.op import op
from tinytorch.core.threads import in_pieces

__all__ = [
    "abs", "absolute", "acos", "acosh", "addcdiv", "addcmul", "all", "allclose", "amax", "amin",
    "any", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax",
    "argmin", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "ceil", "choose", "clamp", "clamp_max", "clamp_min", "clip", "cos", "cosh",
    "count_nonzero", "cumprod", "cumsum", "div", "equal", "erf", "exp", "exp2", "expm1", "fix",
    "floats", "floor", "floor_divide", "floor_quotient", "fmax", "fmin", "fmod", "frac", "greater",
    "greater_equal", "hypot", "isclose", "isfinite", "isinf", "isnan", "lerp", "less", "less_equal",
    "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "maximum", "minimum", "mul", "nan_to_num", "neg", "not_equal", "over", "prod",
    "reciprocal", "remainder", "round", "rsqrt", "sign", "sin", "sinh", "some", "sqrt", "square",
    "sub", "sum", "tan", "true_divide", "trunc", "trunc_divide", "where", "xlogy",
]


def floats(x):
    """x itself if it holds floats or is a Python number, else its numbers as float32."""
    return x.astype(float32) if is_array(x) and x.dtype.kind != "f" else x


@op(method=True)
def exp(x): return np.exp(floats(x))
@op(method=True)
def exp2(x): return np.exp2(floats(x))
@op(method=True)
def expm1(x): return np.expm1(floats(x))
@op(method=True)
def log(x): return np.log(floats(x))
@op(method=True)
def log2(x): return np.log2(floats(x))
@op(method=True)
def log10(x): return np.log10(floats(x))
@op(method=True)
def log1p(x): return np.log1p(floats(x))
@op(method=True)
def sqrt(x): return np.sqrt(floats(x))
@op(method=True)
def rsqrt(x): return 1 / np.sqrt(floats(x))
@op(method=True)
def square(x): return x ** 2 if x.dtype.kind != "b" else x.astype(int64)
@op(method=True)
def reciprocal(x): return 1 / floats(x)
@op(method=True)
def sin(x): return np.sin(floats(x))
@op(method=True)
def cos(x): return np.cos(floats(x))
@op(method=True)
def tan(x): return np.tan(floats(x))
@op(method=True)
def asin(x): return np.arcsin(floats(x))
@op(method=True)
def acos(x): return np.arccos(floats(x))
@op(method=True)
def atan(x): return np.arctan(floats(x))
@op(method=True)
def sinh(x): return np.sinh(floats(x))
@op(method=True)
def cosh(x): return np.cosh(floats(x))
@op(method=True)
def asinh(x): return np.arcsinh(floats(x))
@op(method=True)
def acosh(x): return np.arccosh(floats(x))
@op(method=True)
def atanh(x): return np.arctanh(floats(x))


_NEAR = ((1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2,
          3.20937758913846947e3),
         (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
          2.84423683343917062e3))
_FAR = ((2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
         2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
         1.23033935479799725e3),
        (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
         1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3,
         1.23033935480374942e3))


def _fraction(x, coefficients):
    """The quotient of two polynomials at x, highest power first."""
    above, below = [c[0] * x + c[1] for c in coefficients]
    for a, b in zip(coefficients[0][2:], coefficients[1][2:]):
        above, below = above * x + a, below * x + b
    return above / below


_ATANH_ERF = (1.41848921e-7, -5.66841415e-6, 8.76369250e-5, -6.19783510e-4, -1.91832237e-4,
              1.02769057e-1, 1.12837927)


@in_pieces
def _erf_float32(x):
    z = x * x
    p = _ATANH_ERF[0] * z
    for c in _ATANH_ERF[1:-1]:                         # in place: p is ours
        p += c
        p *= z
    p += _ATANH_ERF[-1]
    p *= x
    return np.tanh(p)


@op(method=True)
def erf(x):
    """The error function: how much of a normal distribution lies within x times sqrt(2) deviations."""
    x = floats(x)
    if array_module(x) is not np:
        from cupyx.scipy.special import erf
        return erf(x)
    if is_array(x) and x.dtype == float32:
        return _erf_float32(x)
    size = np.absolute(x)
    far = np.minimum(size, 6)
    far = np.copysign(1 - np.exp(-far * far) * _fraction(far, _FAR), x)
    near = np.minimum(size, 0.5)
    return np.where(size < 0.46875, x * _fraction(near * near, _NEAR), far)


@op(method=True)
def abs(x): return np.absolute(x)
@op(method=True)
def sign(x): return x.copy() if x.dtype.kind == "b" else (x > 0).astype(x.dtype) - (x < 0)
@op(method=True)
def floor(x): return np.floor(x) if x.dtype.kind == "f" else x.copy()
@op(method=True)
def ceil(x): return np.ceil(x) if x.dtype.kind == "f" else x.copy()
@op(method=True)
def trunc(x): return np.trunc(x) if x.dtype.kind == "f" else x.copy()
@op(method=True)
def round(x, decimals=0): return x.round(decimals)
@op(method=True)
def frac(x): return x - np.trunc(x)


def _whole(out, y):
    """`out`, a quotient or remainder by y. Floats answer 0 with inf or nan, integers cannot."""
    if out.dtype.kind != "f" and not np.all(y):
        raise RuntimeError("ZeroDivisionError: integers divided by 0. Make one side a float, or mask the 0.")
    return out


@op(method=True)
def floor_divide(x, y): return _whole(x // y, y)
@op(method=True)
def remainder(x, y): return _whole(x % y, y)
@op(method=True)
def fmod(x, y): return _whole(np.fmod(x, y), y)
@op
def trunc_divide(x, y):
    """x / y without what follows the point: div(rounding_mode="trunc")."""
    down = _whole(x // y, y)
    return np.trunc(x / y) if down.dtype.kind == "f" else down + ((down < 0) & (down * y != x))
@op
def floor_quotient(x, y):
    """floor_divide, for div(rounding_mode="floor"), which has a gradient: 0."""
    return _whole(x // y, y)


@method
def div(x, y, rounding_mode=None):
    """x / y; rounded towards zero with rounding_mode="trunc", downwards with "floor"."""
    modes = {None: ops.divide, "trunc": trunc_divide, "floor": floor_quotient}
    if rounding_mode not in modes:
        raise RuntimeError(f"div: rounding_mode={rounding_mode!r}; it can be None, 'trunc' or 'floor'.")
    return modes[rounding_mode](x, y)


@op(method=True)
def maximum(x, y): return np.maximum(x, y)
@op(method=True)
def minimum(x, y): return np.minimum(x, y)
@op(method=True)
def fmax(x, y): return np.fmax(x, y)
@op(method=True)
def fmin(x, y): return np.fmin(x, y)
@op(method=True)
def atan2(x, y):
    dtype = result_type(x, y)
    return np.arctan2(x, y, dtype=dtype if dtype.kind == "f" else float32)
@op(method=True)
def hypot(x, y): return np.hypot(x, y)
@op(method=True)
def logaddexp(x, y): return np.logaddexp(x, y)
@op(method=True)
def xlogy(x, y):
    """x * log(y), and 0 where x is 0."""
    zero = (x == 0) & ~np.isnan(y)
    return array_module(zero).where(zero, 0, x * np.log(array_module(zero).where(zero, 1, y)))


@op(method=True)
def clamp(x, min=None, max=None):
    """x, but at least `min` and at most `max`; where the two cross, max wins."""
    if min is None and max is None:
        raise RuntimeError("clamp: at least one of min and max must be given.")
    x = x if min is None else np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


@method
def clamp_min(x, min): return clamp(x, min)
@method
def clamp_max(x, max): return clamp(x, None, max)


@op
def choose(condition, x, y):
    """x where the condition holds, else y."""
    if condition.dtype != bool_:
        raise RuntimeError(f"where: the condition holds {condition.dtype}, it must hold bools. "
                           "Make it one by a comparison, such as condition != 0.")
    return array_module(condition).where(condition, x, y)


choose.name = "where"                                 # what errors and graphs call it


def where(condition, x=None, y=None):
    """x where `condition` holds, else y; with the condition alone, the indices where it holds."""
    return condition.nonzero(as_tuple=True) if x is None else choose(condition, x, y)


METHODS["where"] = lambda x, condition, other: choose(condition, x, other)


@method
def lerp(x, end, weight):
    """From x (weight 0) to `end` (weight 1) on a straight line."""
    return x + weight * (end - x)


@method
def addcmul(x, tensor1, tensor2, value=1): return x + tensor1 * tensor2 * value
@method
def addcdiv(x, tensor1, tensor2, value=1): return x + tensor1 / tensor2 * value


@op(method=True)
def logical_and(x, y): return np.logical_and(x, y)
@op(method=True)
def logical_or(x, y): return np.logical_or(x, y)
@op(method=True)
def logical_xor(x, y): return np.logical_xor(x, y)
@op(method=True)
def logical_not(x): return np.logical_not(x)
@op(method=True)
def bitwise_and(x, y): return x & y
@op(method=True)
def bitwise_or(x, y): return x | y
@op(method=True)
def bitwise_xor(x, y): return x ^ y
@op(method=True)
def bitwise_not(x): return ~x
@op(method=True)
def isnan(x): return np.isnan(x)
@op(method=True)
def isinf(x): return np.isinf(x)
@op(method=True)
def isfinite(x): return np.isfinite(x)


@op(method=True)
def nan_to_num(x, nan=None, posinf=None, neginf=None):
    """x with `nan` (0) for nan, and `posinf`, `neginf` (the largest finite numbers) for infinities."""
    return array_module(x).nan_to_num(x, nan=nan or 0, posinf=posinf, neginf=neginf)


@op(method=True)
def isclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True where x and y differ by at most atol + rtol * |y|."""
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"isclose: rtol={rtol} and atol={atol} must be 0 or more.")
    return array_module(x).isclose(x, y, rtol, atol, equal_nan)


@method
def allclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False):
    return all(isclose(x, y, rtol, atol, equal_nan)).item()
@method
def equal(x, y):
    """True if both have the same shape and the same numbers: one answer for all."""
    return x.shape == y.shape and all(x == y).item()


def over(x, dim):
    """`dim` as NumPy's axis for an array x: None, a number or a tuple."""
    dim = ops.axes(dim)
    if x.ndim == 0 and (dim in (0, -1) or isinstance(dim, tuple) and {0, -1}.issuperset(dim)):
        return None
    return dim


def some(x, dim):
    """`over`, for a question that has no answer where there are no numbers."""
    axis = over(x, dim)
    if x.size == 0 and axis is not None and ops.counted(x.shape, axis) == 0:
        raise IndexError(f"the largest or smallest of no numbers: shape {x.shape} over dim {dim} has none. "
                         "Reduce a dimension that is not empty.")
    return axis


def _sum_dtype(x, dtype): return dtype or (None if x.dtype.kind == "f" else int64)


@op(method=True, promote=False)
def sum(x, dim=None, keepdim=False, dtype=None):
    return x.sum(axis=over(x, dim), dtype=_sum_dtype(x, dtype), keepdims=keepdim)
@op(method=True, promote=False)
def prod(x, dim=None, keepdim=False, dtype=None):
    return x.prod(axis=over(x, dim), dtype=_sum_dtype(x, dtype), keepdims=keepdim)
@op(method=True, promote=False)
def cumsum(x, dim, dtype=None):
    return x.cumsum(axis=over(x, dim), dtype=_sum_dtype(x, dtype)).reshape(x.shape)
@op(method=True, promote=False)
def cumprod(x, dim, dtype=None):
    return x.cumprod(axis=over(x, dim), dtype=_sum_dtype(x, dtype)).reshape(x.shape)
@op(method=True)
def amax(x, dim=None, keepdim=False): return x.max(axis=some(x, dim), keepdims=keepdim)
@op(method=True)
def amin(x, dim=None, keepdim=False): return x.min(axis=some(x, dim), keepdims=keepdim)
@op(method=True)
def argmax(x, dim=None, keepdim=False): return x.argmax(axis=some(x, dim), keepdims=keepdim)
@op(method=True)
def argmin(x, dim=None, keepdim=False): return x.argmin(axis=some(x, dim), keepdims=keepdim)
@op(method=True)
def all(x, dim=None, keepdim=False): return (x != 0).all(axis=over(x, dim), keepdims=keepdim)
@op(method=True)
def any(x, dim=None, keepdim=False): return (x != 0).any(axis=over(x, dim), keepdims=keepdim)
@op(method=True)
def count_nonzero(x, dim=None): return (x != 0).sum(axis=over(x, dim))


mul = METHODS["mul"] = ops.multiply
sub = METHODS["sub"] = ops.subtract
neg = METHODS["neg"] = ops.negative
true_divide = METHODS["true_divide"] = ops.divide
greater = METHODS["greater"] = ops.gt
greater_equal = METHODS["greater_equal"] = ops.ge
less = METHODS["less"] = ops.lt
less_equal = METHODS["less_equal"] = ops.le
not_equal = METHODS["not_equal"] = ops.ne
absolute = METHODS["absolute"] = abs
arcsin = METHODS["arcsin"] = asin
arccos = METHODS["arccos"] = acos
arctan = METHODS["arctan"] = atan
arcsinh = METHODS["arcsinh"] = asinh
arccosh = METHODS["arccosh"] = acosh
arctanh = METHODS["arctanh"] = atanh
arctan2 = METHODS["arctan2"] = atan2
fix = METHODS["fix"] = trunc
clip = METHODS["clip"] = clamp
METHODS["invert"] = bitwise_not
