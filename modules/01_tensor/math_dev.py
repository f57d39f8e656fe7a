# %% [markdown]
# # Arithmetic: one number at a time, many into one, products
#
# Given code: nothing to solve here. A formula sheet: an op is a line or two, and names, argument order
# and defaults are PyTorch's. So `abs`, `sum`, `max`, `min`, `all`, `any` and `round` are ops in these
# files, and Python's functions of these names are not to be had.

# %%
#| default_exp core.math

# %%
import math
from typing import NamedTuple

import numpy as np

from tinytorch.core import ops
from tinytorch.core.backend import array_module, is_array
from tinytorch.core.base import METHODS, method, spelled
from tinytorch.core.dtypes import bool_, float32, int64, result_type
from tinytorch.core.op import op
from tinytorch.core.tensor import Tensor
from tinytorch.core.threads import in_pieces

# %% [markdown]
# ## Functions of one number
#
# What has fractions needs floats. NumPy would turn an int8 or a bool into a float16 with three digits,
# so integers become float32 first.

# %%
#| export
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


# %% [markdown]
# NumPy has no error function. Near 0 it is x times a fraction of polynomials in x²; further out
# 1 - erf(x) is exp(-x²) times another fraction, and beyond 6 it is below the last digit of a float64.
# The coefficients are those of W. J. Cody, *Rational Chebyshev approximations for the error function*,
# Mathematics of Computation 23 (1969).
#
# For a float32 half of those digits are lost, and the exact gelu of transformers asks for erf all day. There
# erf(x) is tanh(x p(x²)), with one polynomial p, fitted so that the largest relative error (1e-7) is as small
# as it can be. Further out x p(x²) is so large that its tanh is 1. Nine steps in place of thirty.
# (`in_pieces` does all the steps with one piece of x, then with the next.)

# %%
#| export
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


# %% [markdown]
# ## Signs, rounding, remainders
#
# Integers are whole already. `remainder` has the sign of the divisor, as Python's `%`; `fmod` that of
# the dividend, as C's. A half is rounded to the even neighbour. The sign of nan is 0.

# %%
#| export
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


# %% [markdown]
# ## Functions of two numbers, and choices
#
# `maximum` of a number and nan is nan; `fmax` prefers the number. In `where` and `clamp` a Python
# number is as narrow as the tensor beside it.

# %%
#| export
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


# %% [markdown]
# ## Yes or no
#
# Logical ops ask whether a number is 0; bitwise ones work on the bits of integers and on bools.

# %%
#| export
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


# %% [markdown]
# ## Many into one
#
# Integers and bools are summed in int64. A tensor of shape () may be reduced over dim 0, as if it had one.

# %%
#| export
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


# %% [markdown]
# `amax` and `max()` give the number alone; `max(dim)` gives it with its place, and between equal numbers
# that is the first.

# %%
#| export core.reductions
@op
def deviation(x, dim=None, correction=1, keepdim=False):
    """The square root of `ops.var`, with a gradient of 0 where all numbers are equal."""
    return np.sqrt(ops.var(x, dim, correction, keepdim))


deviation.name = "std"                                # what errors and graphs call it


def _spread(dim, correction, unbiased):
    """dim and correction from PyTorch's spellings: `unbiased` is a correction of 1, and may stand first."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return dim, (1 if correction is None else correction) if unbiased is None else int(unbiased)


@method
def var(x, dim=None, correction=1, keepdim=False, unbiased=None):
    """The variance over `dim`: squared distances from the mean, summed and divided by N - correction."""
    return ops.var(x, *_spread(dim, correction, unbiased), keepdim)
@method
def std(x, dim=None, correction=1, keepdim=False, unbiased=None):
    """The square root of the variance."""
    return deviation(x, *_spread(dim, correction, unbiased), keepdim)


@spelled
def var_mean(x, dim=None, correction=1, keepdim=False, unbiased=None):
    dim, correction = _spread(dim, correction, unbiased)
    return ops.var(x, dim, correction, keepdim), ops.mean(x, dim, keepdim)
@spelled
def std_mean(x, dim=None, correction=1, keepdim=False, unbiased=None):
    dim, correction = _spread(dim, correction, unbiased)
    return deviation(x, dim, correction, keepdim), ops.mean(x, dim, keepdim)


@op(method=True)
def logsumexp(x, dim, keepdim=False):
    """log(sum(exp(x))), without overflow: the largest number is taken out first."""
    x, dim = floats(x), over(x, dim)
    if not x.size:
        return np.log(x.sum(axis=dim, keepdims=keepdim))     # of no numbers: log(0)
    top = x.max(axis=dim, keepdims=True)
    top = array_module(x).where(np.isfinite(top), top, 0)
    return np.log(np.exp(x - top).sum(axis=dim, keepdims=keepdim)) + top.reshape(
        x.sum(axis=dim, keepdims=keepdim).shape)


class Found(NamedTuple):
    """Numbers, and where in their dimension they were found."""
    values: Tensor
    indices: Tensor


def found(x, index, dim, keepdim=True):
    """The numbers at `index` along `dim` of x, and the index; without that dimension unless keepdim."""
    if x.ndim == 0:
        return Found(x.clone(), index.reshape(()))
    values = ops.gather(x, dim, index)
    return Found(values, index) if keepdim else Found(values.squeeze(dim), index.squeeze(dim))


@method
def max(x, dim=None, keepdim=False):
    """The largest number; along `dim`, with its index; of two tensors, the larger of each pair."""
    if dim is None or isinstance(dim, Tensor):
        return amax(x) if dim is None else maximum(x, dim)
    return found(x, argmax(x, dim, True), dim, keepdim)


@method
def min(x, dim=None, keepdim=False):
    """The smallest number; along `dim`, with its index; of two tensors, the smaller of each pair."""
    if dim is None or isinstance(dim, Tensor):
        return amin(x) if dim is None else minimum(x, dim)
    return found(x, argmin(x, dim, True), dim, keepdim)


@op
def median_index(x, dim):
    """Where the lower median along `dim` stands; the first nan, if there is one."""
    order, n, nans = x.argsort(axis=dim), x.shape[dim], np.isnan(x).sum(axis=dim, keepdims=True)
    xp = array_module(x)
    return xp.take_along_axis(order, xp.where(nans > 0, n - nans, (n - 1) // 2), axis=dim)


@method
def median(x, dim=None, keepdim=False):
    """The number in the middle, the lower of two; along `dim`, with its index."""
    if dim is None:
        return median(x.reshape(-1), 0).values
    return found(x, median_index(x.reshape(x.shape or (1,)), dim), dim, keepdim)


# %% [markdown]
# ## Norms
#
# The p-norm is (sum |x|^p)^(1/p): p = 1 sums sizes, 2 is the length, infinity the largest size, 0 counts
# what is not 0.

# %%
#| export core.reductions
@op
def vector_norm(x, ord=2, dim=None, keepdim=False, dtype=None):
    """The p-norm of all numbers of x, or along `dim`."""
    if x.dtype.kind != "f":
        raise RuntimeError(f"norm of {x.dtype} numbers: a norm has fractions. Convert them: x.float().")
    size, how = np.absolute(x if dtype is None else x.astype(dtype)), {"axis": over(x, dim),
                                                                     "keepdims": keepdim}
    if ord in (math.inf, -math.inf):
        return size.max(**how) if ord > 0 else size.min(**how)
    if ord in (0, 1):
        return size.sum(**how) if ord else (size != 0).sum(**how).astype(size.dtype)
    return np.sqrt((size * size).sum(**how)) if ord == 2 else (size ** ord).sum(**how) ** (1 / ord)


@method
def norm(x, p="fro", dim=None, keepdim=False, dtype=None):
    """The p-norm of all numbers, or along `dim`; "fro" is p = 2."""
    if p == "nuc":
        return matrix_norm(x, p, dim, keepdim, dtype)
    return vector_norm(x, 2 if p in ("fro", None) else p, dim, keepdim, dtype)


def matrix_norm(x, ord="fro", dim=(-2, -1), keepdim=False, dtype=None):
    """The norm of matrices: "fro", or the largest (1) or smallest (-1) column sum, inf for rows."""
    if ord == "fro":
        return vector_norm(x, 2, dim, keepdim, dtype)
    if ord not in (1, -1, math.inf, -math.inf):
        raise NotImplementedError(f"matrix_norm: ord={ord!r} needs singular values, which are not to be "
                                  "had here. There are 'fro', 1, -1, inf and -inf.")
    rows, columns = [d % x.ndim for d in dim]
    first, second = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = vector_norm(x, 1, first, True, dtype)
    if ord > 0 and not sums.shape[second]:
        out = sums.sum(second, True)                   # a matrix without numbers has norm 0
    else:
        out = amax(sums, second, True) if ord > 0 else amin(sums, second, True)
    return out if keepdim else out.squeeze((rows, columns))


def linalg_norm(x, ord=None, dim=None, keepdim=False, dtype=None):
    """torch.linalg.norm: a matrix norm if `ord` is given and x, or `dim`, is a matrix; else a vector's."""
    matrix = len(dim) == 2 if isinstance(dim, (tuple, list)) else dim is None and x.ndim == 2
    if ord is not None and matrix:
        return matrix_norm(x, ord, (0, 1) if dim is None else dim, keepdim, dtype)
    return vector_norm(x, 2 if ord is None else ord, dim, keepdim, dtype)


@method
def dist(x, y, p=2): return vector_norm(x - y, p)


# %% [markdown]
# ## Products
#
# Everything here is `matmul` after some turning, so nothing here needs a gradient rule.

# %%
#| export core.products
def _dims(name, x, y, nx, ny):
    """Refuse operands of other numbers of dimensions than the product `name` is for."""
    if x.ndim != nx or y.ndim != ny:
        raise RuntimeError(f"{name} of {x.shape} and {y.shape}: it takes {nx} and {ny} dimensions. "
                           "matmul takes any.")


@method
def mm(x, y):
    """The product of two matrices."""
    _dims("mm", x, y, 2, 2)
    return ops.matmul(x, y)


@method
def bmm(x, y):
    """The products of two stacks of matrices, without broadcasting."""
    _dims("bmm", x, y, 3, 3)
    if x.shape[0] != y.shape[0]:
        raise RuntimeError(f"bmm of {x.shape} and {y.shape}: both need as many matrices. "
                           "matmul broadcasts.")
    return ops.matmul(x, y)


@method
def mv(x, y):
    """A matrix times a vector."""
    _dims("mv", x, y, 2, 1)
    return ops.matmul(x, y)


@method
def dot(x, y):
    """The sum of the products of two vectors' numbers."""
    _dims("dot", x, y, 1, 1)
    return ops.matmul(x, y)


@method
def outer(x, y):
    """Every number of a vector times every number of another."""
    _dims("outer", x, y, 1, 1)
    return x.unsqueeze(1) * y


@method
def inner(x, y):
    """Products summed over the last dimensions of both."""
    return x * y if 0 in (x.ndim, y.ndim) else tensordot(x, y, ([-1], [-1]))


def _plus(x, product, beta, alpha):
    """beta * x + alpha * product, of the product's shape and dtype; beta 0 means that x is not looked at."""
    beta, alpha = [product.dtype.type(n).item() for n in (beta, alpha)]
    x, product = x.expand(product.shape), product if alpha == 1 else product * alpha
    return x + product if beta == 1 else (x if beta else nan_to_num(x, 0.0, 0.0, 0.0)) * beta + product


@method
def addmm(x, mat1, mat2, beta=1, alpha=1): return _plus(x, mm(mat1, mat2), beta, alpha)
@method
def addmv(x, mat, vec, beta=1, alpha=1): return _plus(x, mv(mat, vec), beta, alpha)
@method
def addbmm(x, batch1, batch2, beta=1, alpha=1): return _plus(x, bmm(batch1, batch2).sum(0), beta, alpha)
@method
def baddbmm(x, batch1, batch2, beta=1, alpha=1): return _plus(x, bmm(batch1, batch2), beta, alpha)
@method
def addr(x, vec1, vec2, beta=1, alpha=1): return _plus(x, outer(vec1, vec2), beta, alpha)


@method
def trace(x):
    """The sum of a matrix's diagonal."""
    if x.ndim != 2:
        raise RuntimeError(f"trace of {x.shape}: it takes a matrix. Use diagonal(dim1, dim2).sum(-1).")
    return x.diagonal().sum()


@method
def kron(x, y):
    """Kronecker's product: each number of x times the whole of y, in place of the number."""
    n = x.ndim if x.ndim > y.ndim else y.ndim
    a, b = (1,) * (n - x.ndim) + x.shape, (1,) * (n - y.ndim) + y.shape
    apart = x.reshape([m for size in a for m in (size, 1)]) * y.reshape([m for size in b for m in (1, size)])
    return apart.reshape([i * j for i, j in zip(a, b)])


# %% [markdown]
# `einsum` names each dimension by a letter. Letters that both operands and the result have are a
# batch; those that only the operands have are summed. Sorted into batch, own and summed, each
# pair of operands is one matrix product.

# %%
#| export core.products
def contract(x, xs, y, ys, out):
    """The product of x and y, summed to the names `out`; the lists xs and ys name their dimensions."""
    for name in set(xs) & set(ys):                    # of sizes 1 and n: the 1 is no dimension of its own
        if x.shape[xs.index(name)] != y.shape[ys.index(name)]:
            if x.shape[xs.index(name)] == 1:
                x, xs = x.squeeze(xs.index(name)), [n for n in xs if n != name]
            elif y.shape[ys.index(name)] == 1:
                y, ys = y.squeeze(ys.index(name)), [n for n in ys if n != name]
            else:
                raise RuntimeError(f"einsum or tensordot of {x.shape} and {y.shape}: dimension {name!r} has "
                                   "two sizes. They must be equal.")
    x, xs = _summed(x, xs, [*ys, *out])
    y, ys = _summed(y, ys, [*xs, *out])
    batch = [n for n in xs if n in ys and n in out]
    gone = [n for n in xs if n in ys and n not in out]
    left, right = [n for n in xs if n not in ys], [n for n in ys if n not in xs]
    size = {**dict(zip(xs, x.shape)), **dict(zip(ys, y.shape))}
    count = lambda names: math.prod([size[n] for n in names])                # noqa: E731
    x = _ordered(x, xs, batch + left + gone).reshape([*[size[n] for n in batch], count(left), count(gone)])
    y = _ordered(y, ys, batch + gone + right).reshape([*[size[n] for n in batch], count(gone), count(right)])
    return _ordered((x @ y).reshape([size[n] for n in batch + left + right]), batch + left + right, out)


def _ordered(x, names, out):
    """x with its named dimensions in another order."""
    return x if names == out else x.permute([names.index(n) for n in out])


def _summed(x, names, wanted):
    """x summed over the dimensions that nobody wants."""
    dims = [i for i, n in enumerate(names) if n not in wanted]
    return (x.sum(dims), [n for n in names if n in wanted]) if dims else (x, names)


@method
def tensordot(x, y, dims=2):
    """Products summed over the last `dims` dimensions of x and the first of y, or over two lists of them."""
    if isinstance(dims, int):
        dims = range(x.ndim - dims, x.ndim), range(dims)
    xs, ys = list(range(x.ndim)), [("y", i) for i in range(y.ndim)]
    for i, j in zip(*dims):
        ys[j] = xs[i]
    gone = [xs[i] for i in dims[0]]
    return contract(x, xs, y, ys, [n for n in [*xs, *ys] if n not in gone])


def einsum(equation, *operands):
    """Sums of products by letters: `einsum("bij,bjk->bik", x, y)` is a batch of matrix products.

    A letter that the right side lacks is summed; without `->` the right side is every letter that
    occurs once, in alphabetical order. `...` stands for any dimensions, which broadcast.
    """
    operands = list(operands[0]) if isinstance(operands[0], (list, tuple)) else list(operands)
    names, out = _letters(equation.replace(" ", ""), [x.ndim for x in operands])
    for i, x in enumerate(operands):
        for letter in [n for n in dict.fromkeys(names[i]) if names[i].count(n) > 1]:
            while names[i].count(letter) > 1:                                # "ii": the diagonal
                first, second = [d for d, n in enumerate(names[i]) if n == letter][:2]
                x = x.diagonal(0, first, second)
                names[i] = [n for d, n in enumerate(names[i]) if d not in (first, second)] + [letter]
        operands[i] = x
    x, xs = operands[0], names[0]
    for i, y in enumerate(operands[1:], 1):
        later = [n for other in names[i + 1:] for n in other]
        both = list(dict.fromkeys([n for n in [*xs, *names[i]] if n in out or n in later]))
        x, xs = contract(x, xs, y, names[i], both), both
    x, xs = _summed(x, xs, out)
    return _ordered(x, xs, out)


def _letters(equation, ndims):
    """A list of dimension names for each operand, and one for the result; `...` becomes numbers."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise RuntimeError(f"einsum({equation!r}): it names {len(terms)} operands and got {len(ndims)}.")
    names = [_spelled(term, n, equation) for term, n in zip(terms, ndims)]
    dots = {n for term in names for n in term if isinstance(n, int)}
    if arrow:
        out = _spelled(right, None, equation, sorted(dots))
        if len(set(out)) < len(out) or {*out} - {n for term in names for n in term}:
            raise RuntimeError(f"einsum({equation!r}): each letter on the right must be there once, and "
                               "must be on the left too.")
        return names, out
    letters = sorted([n for term in names for n in term if isinstance(n, str)])
    return names, sorted(dots) + [n for n in letters if letters.count(n) == 1]


def _spelled(term, ndim, equation, dots=None):
    """The names in a term; the dimensions under `...` count back from -1, so that they are aligned."""
    before, found, after = term.partition("...")
    if before + after and not (before + after).isalpha():
        raise RuntimeError(f"einsum({equation!r}): {term!r} must be letters, and at most one '...'.")
    if dots is None:
        rest = ndim - len(before + after)
        if rest < 0 or rest and not found:
            raise RuntimeError(f"einsum({equation!r}): {term!r} is for another number of dimensions than "
                               f"the operand's {ndim}.")
        dots = list(range(-rest, 0))
    return [*before, *(dots if found else []), *after]


# %% [markdown]
# ## Other names
#
# PyTorch's own second names, and NumPy's where a ufunc has another.

# %%
#| export
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
