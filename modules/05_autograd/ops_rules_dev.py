# %% [markdown]
# # Rules for the ops of module 01
#
# Given: a formula sheet. Broadcasting and dtypes are undone by the walk, so no rule mentions them.

# %%
#| default_exp core.ops_rules

# %%
import math

import numpy as np

from tinytorch.core import ops
from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module, device_of, is_array
from tinytorch.core.casts import move
from tinytorch.core.indexing import add_at
from tinytorch.core.op import op
from tinytorch.core.rules import kept_shape, spread
from tinytorch.core.tensor import Tensor

# %% [markdown]
# ## Two ops that only rules need
#
# Reading by index has two companions: `put`, which puts a gradient back where its numbers came from, and
# `zero_at`, which drops the gradient of what was overwritten. They are ops, so that they have rules too.

# %%
#| export
def by_integers(index):
    """True if an index holds lists or arrays of integers, which may name a place twice."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(i, list) or is_array(i) and i.dtype.kind in "iu" for i in parts)
@op
def put(g, index, shape):
    """Zeros of `shape` with g added at `index`: the transpose of x[index]. Repeated places add up."""
    out = array_module(g).zeros(shape, g.dtype)
    if by_integers(index):
        return add_at(out, index, g)
    out[index] = g
    return out
@vjp(put)
def _(out, g, index, shape): return lambda h: (h[index],)
@op
def zero_at(g, index):
    """A copy of g with zeros at `index`."""
    out = array_module(g).array(g)
    out[index] = 0
    return out
@vjp(zero_at)
def _(out, g, index): return lambda h: (zero_at(h, index),)
@op
def last_at(g, index):
    """g[index], but 0 for what was overwritten at once, because the index names its place again later."""
    return g[index] * survives(g, index) if by_integers(index) else g[index]
@vjp(last_at)
def _(out, g, index):
    shape, whole = g.shape, 1 if not by_integers(index) else survives(g, index)
    return lambda h: (put(h * whole, index, shape),)


def survives(x, index):
    """For each element that x[index] = value writes, True if no later one is written to its place."""
    x = x.data if isinstance(x, Tensor) else x
    xp = array_module(x)
    last = xp.arange(x.size).reshape(x.shape)
    order = xp.arange(last[index].size).reshape(last[index].shape)
    last[index] = order                                # the last one wins
    return last[index] == order


# %% [markdown]
# ## Arithmetic

# %%
#| export
@vjp(ops.subtract)
def _(out, x, y, alpha=1): return lambda g: (g, lambda: g * -alpha)
@vjp(ops.negative)
def _(out, x): return lambda g: (-g,)
@vjp(ops.divide)
def _(out, x, y):
    if isinstance(y, (int, float)): return lambda g: (g / y,)
    return lambda g: (lambda: g / y, lambda: -g * out / y)
@vjp(ops.pow)
def _(out, x, p):
    if not is_array(p) and isinstance(p, (int, float)):
        return lambda g: (g * (p * x ** (p - 1)) if p else g * 0,)
    return lambda g: (lambda: g * ops.masked_fill(p * x ** (p - 1), p == 0, 0.0),
                      lambda: g * ops.masked_fill(out * np.log(x), (x == 0) & (p >= 0), 0.0))


# %% [markdown]
# ## Reductions, shapes, indices

# %%
#| export
@vjp(spread)
def _(out, x, shape): return lambda g: (g,)                        # the walk sums it back
@vjp(ops.mean)
def _(out, x, dim=None, keepdim=False, dtype=None):
    shape, once, n = x.shape, kept_shape(x.shape, dim), ops.counted(x.shape, ops.axes(dim))
    return lambda g: (spread(g.reshape(once) / n, shape),)
@vjp(ops.var)
def _(out, x, dim=None, correction=1, keepdim=False):
    once, n = kept_shape(x.shape, dim), ops.counted(x.shape, ops.axes(dim)) - correction
    return lambda g: (g.reshape(once) * (x - ops.mean(x, dim, True)) * (2 / n),)
@vjp(ops.reshape_to)
def _(out, x, shape):
    before = x.shape
    return lambda g: (g.reshape(before),)
@vjp(ops.transpose)
def _(out, x, dim0, dim1): return lambda g: (ops.transpose(g, dim0, dim1),)
@vjp(ops.getitem)
def _(out, x, index):
    shape = x.shape
    return lambda g: (put(g, index, shape),)
@vjp(ops.write)
def _(out, x, value, index):
    if out.dtype.kind != "f": return None
    return lambda g: (lambda: zero_at(g, index), lambda: last_at(g, index))
@vjp(ops.masked_fill)
def _(out, x, mask, value):
    if isinstance(value, (int, float)): return lambda g: (lambda: ops.masked_fill(g, mask, 0.0),)
    home = device_of(value.data if isinstance(value, Tensor) else value)      # a number may be the CPU's
    return lambda g: (lambda: ops.masked_fill(g, mask, 0.0), None,
                      lambda: move(ops.masked_fill(g, ~mask, 0.0).sum(), home))
@vjp(ops.gather)
def _(out, x, dim, index):
    shape, index = x.shape, index.data if isinstance(index, Tensor) else index
    if ops.corner_case(x, index):
        index, count = index.reshape(-1), math.prod(shape)
        return lambda g: (put(g.reshape(index.shape), index, (count,)).reshape(shape),)
    return lambda g: (put(g, ops.places_of(index, dim), shape),)
