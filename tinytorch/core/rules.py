# Generated from modules/05_autograd/autograd_dev.py by tito export. Edit the lesson, not this file.
# source sha256 95a8ca2e84cd59d44100d58063659dbdea3fe3695918310af49d1b614184b1c3  body sha256 7d3cfcdf2209feb970e46d2bba4648958862c36de7dbcf520345786c2ef2ea1d  # noqa: E501
"""core.rules: built in module 05_autograd."""

import numpy as np

from tinytorch.core import ops
from tinytorch.core import math as math_ops
from tinytorch.core.autograd import record, vjp
from tinytorch.core.backend import array_module, is_array
from tinytorch.core.base import record_with
from tinytorch.core.op import op

__all__ = [
    "add_rule", "as_rows", "kept_shape", "matmul_rule", "multiply_rule", "put", "spread",
    "sum_rule", "vector_rule", "zero_at",
]


@vjp(ops.add)
def add_rule(out, x, y, alpha=1):
    return lambda g: (g, g if alpha == 1 else g * alpha)


@vjp(ops.multiply)
def multiply_rule(out, x, y):
    """The pullback of x * y."""
    return lambda g: (lambda: g * y, lambda: g * x)


@op
def spread(x, shape):
    """x stretched to `shape`, without a copy."""
    return array_module(x).broadcast_to(x, shape)


def kept_shape(shape, dim):
    """The shape that a reduction of an array of `shape` over `dim` has with keepdim."""
    dim = ops.axes(dim)
    dims = range(len(shape)) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    dims = [d % len(shape) if shape else d for d in dims]
    return tuple([1 if i in dims else n for i, n in enumerate(shape)])


@vjp(math_ops.sum)
def sum_rule(out, x, dim=None, keepdim=False, dtype=None):
    """The pullback of a sum."""
    shape, once = x.shape, kept_shape(x.shape, dim)
    return lambda g: (spread(g.reshape(once), shape),)


def vector_rule(x, y):
    """The pullback of a matrix product with a vector on one side or on both: one row, one column."""
    rows, columns = x.reshape(1, -1) if x.ndim == 1 else x, y.reshape(-1, 1) if y.ndim == 1 else y

    def pull(g):
        g = g.reshape(g.shape[:g.ndim - (y.ndim > 1)] + (1,) * (x.ndim == 1) + g.shape[g.ndim - (y.ndim > 1):]
                      + (1,) * (y.ndim == 1))
        dx, dy = g @ columns.swapaxes(-1, -2), rows.swapaxes(-1, -2) @ g
        return (dx.reshape(dx.shape[:-2] + dx.shape[-1:]) if x.ndim == 1 else dx,
                dy.reshape(dy.shape[:-1]) if y.ndim == 1 else dy)

    return pull


@vjp(ops.matmul)
def matmul_rule(out, x, y):
    """The pullback of x @ y, on the last two axes."""
    if x.ndim == 1 or y.ndim == 1:
        return vector_rule(x, y)
    if x.ndim > 2 and y.ndim == 2:                     # one large product instead of many small ones
        return lambda g: (lambda: g @ y.swapaxes(0, 1),
                          lambda: as_rows(x).swapaxes(0, 1) @ as_rows(g))
    return lambda g: (lambda: g @ y.swapaxes(-1, -2), lambda: x.swapaxes(-1, -2) @ g)


def as_rows(x):
    """x (..., d) as one matrix (n, d)."""
    return x if x.ndim == 2 else x.reshape(-1, x.shape[-1])


@op
def put(g, index, shape):
    """Zeros of `shape` with g added at `index`: the transpose of x[index]. Repeated places add up."""
    xp = array_module(g)
    out = xp.zeros(shape, g.dtype)
    parts = index if isinstance(index, tuple) else (index,)
    if any(is_array(i) and i.dtype.kind in "iu" or isinstance(i, list) for i in parts):
        if xp is np:
            np.add.at(out, index, g)
        else:
            import cupyx
            cupyx.scatter_add(out, index, g)
    else:
        out[index] = g
    return out
@op
def zero_at(g, index):
    """A copy of g with zeros at `index`."""
    out = g.copy()
    out[index] = 0
    return out


@vjp(ops.subtract)
def _(out, x, y, alpha=1): return lambda g: (g, lambda: -g if alpha == 1 else g * -alpha)
@vjp(ops.negative)
def _(out, x): return lambda g: (-g,)
@vjp(ops.divide)
def _(out, x, y): return lambda g: (lambda: g / y, lambda: -g * out / y)
@vjp(ops.pow)
def _(out, x, p):
    base = lambda g: g * p * x ** (p - 1)                                    # noqa: E731
    if isinstance(p, (int, float)):
        return lambda g: (base(g) if p else g * 0, None)
    return lambda g: (lambda: ops.masked_fill(base(g), p == 0, 0.0),
                      lambda: g * ops.masked_fill(out * np.log(x), (x == 0) & (p >= 0), 0.0))
@vjp(ops.mean)
def _(out, x, dim=None, keepdim=False):
    shape, once, n = x.shape, kept_shape(x.shape, dim), ops.counted(x.shape, ops.axes(dim))
    return lambda g: (spread(g.reshape(once) * (1 / n), shape),)
@vjp(ops.var)
def _(out, x, dim=None, correction=1, keepdim=False):
    once, n = kept_shape(x.shape, dim), ops.counted(x.shape, ops.axes(dim)) - correction
    return lambda g: (g.reshape(once) * (2 / n) * (x - ops.mean(x, dim, True)),)
@vjp(ops.reshape_to)
def _(out, x, shape):
    shape = x.shape
    return lambda g: (g.reshape(shape),)
@vjp(ops.transpose)
def _(out, x, dim0, dim1): return lambda g: (g.swapaxes(dim0, dim1),)
@vjp(spread)
def _(out, x, shape): return lambda g: (g,)                                  # the walk sums it back
@vjp(ops.getitem)
def _(out, x, index):
    shape = x.shape
    return lambda g: (put(g, index, shape),)
@vjp(put)
def _(out, g, index, shape): return lambda h: (h[index],)
@vjp(ops.write)
def _(out, x, value, index): return lambda g: (zero_at(g, index), lambda: g[index])
@vjp(zero_at)
def _(out, g, index): return lambda h: (zero_at(h, index),)
@vjp(ops.masked_fill)
def _(out, x, mask, value):
    return lambda g: (lambda: ops.masked_fill(g, mask, 0.0), None,
                      lambda: ops.masked_fill(g, ~mask, 0.0).sum())
@vjp(ops.gather)
def _(out, x, dim, index):
    shape, places = x.shape, ops.places_of(index, dim)
    return lambda g: (put(g, places, shape),)


record_with(record, everywhere=True)
