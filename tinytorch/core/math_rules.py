# Generated from modules/05_autograd/math_rules_dev.py by tito export. Edit the lesson, not this file.
# source sha256 844cf63d585b2e6542be57c891c2dde2b338edf42bb30de76f0fc21dc3eefbde  body sha256 abc00d7914d38f45044e426a020597a518d22f3f1d9eca1377b5a480f58b2796  # noqa: E501
"""core.math_rules: built in module 05_autograd."""

import math

import numpy as np

from tinytorch.core import ops
from tinytorch.core.autograd import composite, vjp
from tinytorch.core.backend import array_module
from tinytorch.core.casts import cast
from tinytorch.core.creation import drawn_below
from tinytorch.core.joining import stack, unbind
from tinytorch.core.math import (
    abs,
    acos,
    acosh,
    amax,
    amin,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    choose,
    clamp,
    cos,
    cosh,
    cumprod,
    cumsum,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    floor_divide,
    floor_quotient,
    fmax,
    fmin,
    fmod,
    frac,
    hypot,
    isfinite,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_not,
    maximum,
    minimum,
    nan_to_num,
    over,
    prod,
    reciprocal,
    remainder,
    round,
    rsqrt,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    sum,
    tan,
    trunc,
    trunc_divide,
    xlogy,
)
from tinytorch.core.op import op
from tinytorch.core.reductions import deviation, logsumexp, vector_norm
from tinytorch.core.rules import kept_shape
from tinytorch.core.shape import flip_all

__all__ = ["cumprod_grad", "nothing", "prod_grad", "staircase"]


@vjp(exp)
def _(out, x): return lambda g: (g * out,)
@vjp(exp2)
def _(out, x): return lambda g: (g * out * math.log(2),)
@vjp(expm1)
def _(out, x): return lambda g: (g * (out + 1),)
@vjp(log)
def _(out, x): return lambda g: (g / x,)
@vjp(log2)
def _(out, x): return lambda g: (g / (x * math.log(2)),)
@vjp(log10)
def _(out, x): return lambda g: (g / (x * math.log(10)),)
@vjp(log1p)
def _(out, x): return lambda g: (g / (x + 1),)
@vjp(sqrt)
def _(out, x): return lambda g: (g / (2 * out),)
@vjp(rsqrt)
def _(out, x): return lambda g: (-0.5 * g * (out * out * out),)
@vjp(square)
def _(out, x): return lambda g: (g * (2 * x),)
@vjp(reciprocal)
def _(out, x): return lambda g: (-g * (out * out),)
@vjp(sin)
def _(out, x): return lambda g: (g * cos(x),)
@vjp(cos)
def _(out, x): return lambda g: (-g * sin(x),)
@vjp(tan)
def _(out, x): return lambda g: (g * (1 + out * out),)
@vjp(asin)
def _(out, x): return lambda g: (g * rsqrt(1 - x * x),)
@vjp(acos)
def _(out, x): return lambda g: (-g * rsqrt(1 - x * x),)
@vjp(atan)
def _(out, x): return lambda g: (g / (1 + x * x),)
@vjp(sinh)
def _(out, x): return lambda g: (g * cosh(x),)
@vjp(cosh)
def _(out, x): return lambda g: (g * sinh(x),)
@vjp(asinh)
def _(out, x): return lambda g: (g * rsqrt(x * x + 1),)
@vjp(acosh)
def _(out, x): return lambda g: (g * rsqrt(x * x - 1),)
@vjp(atanh)
def _(out, x): return lambda g: (g / (1 - x * x),)
@vjp(erf)
def _(out, x): return lambda g: (g * (exp(-x * x) * (2 / math.sqrt(math.pi))),)
@vjp(abs)
def _(out, x): return lambda g: (g * sign(x),)                     # 0 at the kink
@vjp(frac)
def _(out, x): return lambda g: (g,)
@vjp(nan_to_num)
def _(out, x, nan=None, posinf=None, neginf=None): return lambda g: (choose(isfinite(x), g, 0.0),)


@op
def nothing(g):
    """Zeros in the shape of g, also where g is infinite."""
    return array_module(g).zeros(g.shape, g.dtype)


def staircase(out, *inputs, **params):
    n = len(inputs)
    return lambda g: (nothing(g),) * n


for _op in (nothing, sign, floor, ceil, trunc, round, trunc_divide, floor_quotient, drawn_below):
    vjp(_op)(staircase)


@vjp(floor_divide)
def _(out, x, y): return None


@vjp(remainder)
def _(out, x, y): return lambda g: (g, lambda: -g * floor_quotient(x, y))
@vjp(fmod)
def _(out, x, y): return lambda g: (g, lambda: -g * trunc_divide(x, y))
@vjp(maximum)
def _(out, x, y):                                                  # half each at a tie
    return lambda g: (lambda: choose(x == y, g / 2, choose(x < y, 0.0, g)),
                      lambda: choose(x == y, g / 2, choose(x > y, 0.0, g)))
@vjp(minimum)
def _(out, x, y):
    return lambda g: (lambda: choose(x == y, g / 2, choose(x > y, 0.0, g)),
                      lambda: choose(x == y, g / 2, choose(x < y, 0.0, g)))
@vjp(fmax)
def _(out, x, y):                                                  # all to x at a tie
    first = (x >= y) | isnan(y)
    return lambda g: (lambda: choose(first, g, 0.0), lambda: choose(first, 0.0, g))
@vjp(fmin)
def _(out, x, y):
    first = (x <= y) | isnan(y)
    return lambda g: (lambda: choose(first, g, 0.0), lambda: choose(first, 0.0, g))
@vjp(atan2)
def _(out, x, y):
    def over_square(t):                                            # 0 at the origin, not 0 / 0
        square = x * x + y * y
        return ops.masked_fill(t / square, square == 0, 0.0)
    return lambda g: (lambda: g * over_square(y), lambda: g * over_square(-x))
@vjp(hypot)
def _(out, x, y): return lambda g: (lambda: g * (x / out), lambda: g * (y / out))
@vjp(logaddexp)
def _(out, x, y): return lambda g: (lambda: g / (1 + exp(y - x)), lambda: g / (1 + exp(x - y)))
@vjp(xlogy)
def _(out, x, y):
    return lambda g: (lambda: g * choose((x == 0) & (y <= 0), 0.0, np.log(y)), lambda: g * x / y)
@vjp(choose)
def _(out, condition, x, y):
    return lambda g: (None, lambda: choose(condition, g, 0.0), lambda: choose(condition, 0.0, g))
@vjp(clamp)
def _(out, x, min=None, max=None):                                 # 1 inside, the bounds included
    low, high = -math.inf if min is None else min, math.inf if max is None else max
    apart = True if min is None or max is None else min < max
    return lambda g: (lambda: choose((x >= low) & (x <= high), g, 0.0),
                      lambda: choose((x < low) & apart, g, 0.0),
                      lambda: choose((x > high) | logical_not(apart), g, 0.0))


def _evenly(out, x, dim=None, keepdim=False):
    """amax, amin: all that are as large as the result share its gradient."""
    once = kept_shape(x.shape, dim)

    def pull(g):
        share = cast(x == out.reshape(once), g.dtype)
        return (g.reshape(once) * (share / sum(share, dim, True)),)
    return pull


vjp(amax)(_evenly)
vjp(amin)(_evenly)


@vjp(cumsum)
def _(out, x, dim, dtype=None):
    if x.ndim == 0:
        return lambda g: (g,)
    return lambda g: (flip_all(cumsum(flip_all(g, dim), dim), dim),)
@vjp(logsumexp)
def _(out, x, dim, keepdim=False):
    once = kept_shape(x.shape, dim)
    return lambda g: (g.reshape(once) * exp(x - out.reshape(once)),)
@vjp(deviation)
def _(out, x, dim=None, correction=1, keepdim=False):
    once, n = kept_shape(x.shape, dim), ops.counted(x.shape, over(x, dim)) - correction

    def pull(g):
        slope = ops.masked_fill(g / (out * n), out == 0, 0.0)      # 0 where all numbers are equal
        return ((x - ops.mean(x, dim, True)) * slope.reshape(once),)
    return pull
@vjp(vector_norm)
def _(out, x, ord=2, dim=None, keepdim=False, dtype=None):
    once = kept_shape(x.shape, dim)

    def pull(g):
        n, g = out.reshape(once), g.reshape(once)
        if ord == 0:
            return (nothing(x),)
        if ord == 1:
            return (g * sign(x),)
        if ord == 2:
            return (g * ops.masked_fill(x / n, n == 0, 0.0),)      # 0 at the tip of the cone
        if ord in (math.inf, -math.inf):
            share = cast(abs(x) == n, g.dtype)
            return (g * sign(x) * (share / sum(share, dim, True)),)
        slope = ops.masked_fill(abs(x) ** (ord - 1), x == 0, 0.0) if ord < 1 else abs(x) ** (ord - 1)
        return (sign(x) * slope * ops.masked_fill(g / n ** (ord - 1), n == 0, 0.0),)
    return pull


def prod_grad(g, x, dim):
    """g times, for each number of x, the product of the others along `dim`."""
    zero, where = x == 0, array_module(x).where
    others = zero.sum(axis=dim, keepdims=True) - zero
    rest = where(zero, 1, x)
    return where(others > 0, 0, g * (rest.prod(axis=dim, keepdims=True) / rest))


@vjp(prod)
def _(out, x, dim=None, keepdim=False, dtype=None):
    once, axis = kept_shape(x.shape, dim), over(x, dim)
    return lambda g: (prod_grad(g.reshape(once), x, axis),)
@composite(prod)
def _(x, dim=None, keepdim=False, dtype=None):
    once, axis = kept_shape(x.shape, dim), over(x, dim)
    parts = unbind(x.reshape(-1), 0) if axis is None else unbind(x, axis)
    out = sum(x, dim, dtype=dtype) + 1 if not parts else parts[0].to(dtype=dtype)
    for part in parts[1:]:
        out = out * part
    return out.reshape(once) if keepdim else out


def cumprod_grad(g, x, out, dim):
    """The gradient of cumprod: what flows into x[k] is out[k - 1] (g[k] + x[k+1] (g[k+1] + x[k+2] (...)))."""
    xp = array_module(x)
    g, x, out = [xp.moveaxis(a, dim, 0) for a in (g, x, out)]
    result, later = xp.empty_like(x), 0
    for k in reversed(range(len(x))):
        later = g[k] + (x[k + 1] * later if k + 1 < len(x) else 0)
        result[k] = later * (out[k - 1] if k else 1)
    return xp.moveaxis(result, 0, dim)


@vjp(cumprod)
def _(out, x, dim, dtype=None):
    if x.ndim == 0:
        return lambda g: (g,)
    return lambda g: (cumprod_grad(g, x, out, dim),)
@composite(cumprod)
def _(x, dim, dtype=None):
    if x.ndim == 0 or x.shape[dim] == 0:
        return x * 1
    parts = [*unbind(x.to(dtype=dtype), dim)]
    for k in range(1, len(parts)):
        parts[k] = parts[k - 1] * parts[k]
    return stack(parts, dim)
