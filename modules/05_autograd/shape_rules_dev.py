# %% [markdown]
# # Rules for shapes
#
# Given: a formula sheet, one rule for each op of module 01's `shape_dev.py`. What moves numbers has a
# gradient that moves them back, so every rule here is an op of the same sheet.

# %%
#| default_exp core.shape_rules

# %%
from tinytorch.core import ops
from tinytorch.core.autograd import vjp
from tinytorch.core.backend import device_of
from tinytorch.core.casts import cast, move
from tinytorch.core.indexing import (
    add_along,
    added_at,
    on_diagonal,
    place_along,
    place_at,
    tril,
    triu,
)
from tinytorch.core.joining import join, split_sizes, stack_up, unbind_all
from tinytorch.core.ops_rules import last_at
from tinytorch.core.shape import clone, diagonal, flip_all, permute_to, roll_by, spread_to
from tinytorch.core.tensor import Tensor

# %% [markdown]
# ## Views and copies

# %%
#| export
@vjp(permute_to)
def _(out, x, dims):
    dims = [d % x.ndim for d in dims]
    back = tuple([dims.index(d) for d in range(x.ndim)])
    return lambda g: (permute_to(g, back),)
@vjp(spread_to)
def _(out, x, shape): return lambda g: (g,)                        # the walk sums it back
@vjp(clone)
def _(out, x): return lambda g: (g,)
@vjp(flip_all)
def _(out, x, dims): return lambda g: (flip_all(g, dims),)
@vjp(roll_by)
def _(out, x, shifts, dims):
    back = tuple([-n for n in shifts]) if dims else -shifts
    return lambda g: (roll_by(g, back, dims),)
@vjp(diagonal)
def _(out, x, offset=0, dim1=0, dim2=1):
    shape = x.shape
    return lambda g: (on_diagonal(g, shape, offset, dim1, dim2),)
@vjp(on_diagonal)
def _(out, x, shape, offset, dim1, dim2): return lambda g: (diagonal(g, offset, dim1, dim2),)
@vjp(tril)
def _(out, x, diagonal=0): return lambda g: (tril(g, diagonal),)
@vjp(triu)
def _(out, x, diagonal=0): return lambda g: (triu(g, diagonal),)


# %% [markdown]
# ## Joining and splitting

# %%
#| export
@vjp(join)
def _(out, *parts, dim=0):
    dim = dim % out.ndim
    sizes = [0 if part.shape == (0,) else part.shape[dim] for part in parts]
    return lambda g: split_sizes(g, sizes, dim)
@vjp(split_sizes)
def _(out, x, sizes, dim=0): return lambda parts: (join(*parts, dim=dim),)
@vjp(stack_up)
def _(out, *parts, dim=0):
    dim = dim % out.ndim
    return lambda g: unbind_all(g, dim)
@vjp(unbind_all)
def _(out, x, dim): return lambda parts: (stack_up(*parts, dim=dim),)


# %% [markdown]
# ## Placing
#
# What was overwritten gets nothing, what was written or added gets the gradient of its place.

# %%
#| export
@vjp(place_along)
def _(out, x, dim, index, src):
    def of_src(g):
        plain = index.data if isinstance(index, Tensor) else index
        return last_at(g, ops.places_of(plain, dim)) if g.ndim else g

    return lambda g: (lambda: place_along(g, dim, index, 0.0), None, None, lambda: of_src(g))
@vjp(add_along)
def _(out, x, dim, index, src):
    plain = index.data if isinstance(index, Tensor) else index       # gather would look at its numbers
    return lambda g: (g, None, None, lambda: g[ops.places_of(plain, dim)])
@vjp(place_at)
def _(out, x, value, index): return lambda g: (lambda: place_at(g, 0.0, index), lambda: g[index])
@vjp(added_at)
def _(out, x, value, index): return lambda g: (g, lambda: g[index])


# %% [markdown]
# ## Another dtype, another device
#
# The walk gives each gradient the dtype of what it belongs to. A cast to integers ends the history.

# %%
#| export
@vjp(cast)
def _(out, x, dtype): return (lambda g: (g,)) if dtype.kind == "f" else None
@vjp(move)
def _(out, x, where):
    home = device_of(x.data if isinstance(x, Tensor) else x)
    return lambda g: (move(g, home),)
