# Generated from modules/01_tensor/shape_dev.py by tito export. Edit the lesson, not this file.
# source sha256 f70b903cdea50726c6269ce0af77927db5f329b8738c0995a9e031a49440a6b4  body sha256 26a106c059af29a5f5e55d277591aebc98a47233e64f36b927cac093ccafb157  # noqa: E501
"""core.shape: built in module 01_tensor."""

import functools
import math

import numpy as np

from tinytorch.core import ops
from tinytorch.core.backend import array_module, shares_memory
from tinytorch.core.base import METHODS, method
from tinytorch.core.dtypes import bool_
from tinytorch.core.op import op

__all__ = [
    "broadcast_shapes", "broadcast_tensors", "broadcast_to", "clone", "contiguous", "diagonal",
    "expand", "expand_as", "flatten", "flip", "flip_all", "fliplr", "flipud", "listed", "moveaxis",
    "movedim", "narrow", "permute", "permute_to", "place", "ravel", "repeat", "reshape_as", "roll",
    "roll_by", "rot90", "select", "spread_to", "squeeze", "swapaxes", "swapdims", "t", "tile",
    "unflatten", "unfold", "unsqueeze", "view", "view_as",
]


def listed(sizes, named=None):
    """What was given as `f(2, 3)`, as `f((2, 3))` or by name, as a tuple of ints."""
    many = sizes if named is None else (named,)
    many = many[0] if len(many) == 1 and isinstance(many[0], (tuple, list)) else many
    return tuple([int(n) for n in many])


def place(x, dim, extra=0):
    """`dim` counted from the front; IndexError unless x has it. A tensor of shape () has dim 0."""
    n = x.ndim + extra or 1
    if not -n <= dim < n:
        raise IndexError(f"dim {dim} of shape {x.shape}: dimension out of range, allowed are {-n} to "
                         f"{n - 1}.")
    return dim % n


@method
def view(x, *shape):
    """The same memory in another shape. Raises RuntimeError where that would need a copy."""
    if len(shape) == 1 and isinstance(shape[0], np.dtype):
        raise NotImplementedError("view(dtype): bits are not read as another dtype here. Use to(dtype).")
    out = ops.reshape_to(x, listed(shape))
    if x.numel() and not shares_memory(out.data, x.data):
        raise RuntimeError(f"view of shape {x.shape} as {out.shape}: the elements are not in this order in "
                           "memory (strides " f"{x.stride()}). Use reshape(), which copies, or contiguous().")
    return out


@method
def view_as(x, y): return view(x, *y.shape)
@method
def reshape_as(x, y): return ops.reshape_to(x, y.shape)


@op(view=True, promote=False)
def permute_to(x, dims): return x.transpose(dims)


@method
def permute(x, *order, dims=None):
    """The dimensions in another order: `x.permute(2, 0, 1)` puts the last one first."""
    return permute_to(x, listed(order, dims))


@method
def t(x):
    """A matrix transposed; a vector as it is."""
    if x.ndim > 2:
        raise RuntimeError(f"t() of {x.shape}: it takes at most 2 dimensions. Use transpose(dim0, dim1).")
    return permute_to(x, tuple(range(x.ndim))[::-1])


@method
def movedim(x, source, destination):
    """Dimensions moved to other places; the rest keep their order."""
    source, destination = [(d,) if isinstance(d, int) else tuple(d) for d in (source, destination)]
    source = [place(x, d) for d in source]
    destination = [place(x, d) for d in destination]
    if len(source) != len(destination) or len(set(source)) < len(source) or len(
            set(destination)) < len(destination):
        raise RuntimeError(f"movedim from {source} to {destination}: both must name as many dimensions, "
                           "each once.")
    order = [d for d in range(x.ndim) if d not in source]
    for to, dim in sorted(zip(destination, source)):
        order.insert(to, dim)
    return permute_to(x, tuple(order))


@method
def flatten(x, start_dim=0, end_dim=-1):
    """The dimensions from start to end (included) as one."""
    start, end = place(x, start_dim), place(x, end_dim)
    if start > end:
        raise RuntimeError(f"flatten of {x.shape}: start_dim {start_dim} comes after end_dim {end_dim}.")
    return ops.reshape_to(x, x.shape[:start] + (math.prod(x.shape[start:end + 1]),) + x.shape[end + 1:])


@method
def unflatten(x, dim, sizes):
    """One dimension as several."""
    dim = place(x, dim)
    return ops.reshape_to(x, x.shape[:dim] + ops.infer_shape(tuple(sizes), x.shape[dim]) + x.shape[dim + 1:])


@method
def squeeze(x, dim=None):
    """Without the dimensions of size 1: all of them, or those of `dim` that have it."""
    dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = [place(x, d) for d in dims]
    return ops.reshape_to(x, tuple([n for i, n in enumerate(x.shape) if n != 1 or i not in dims]))


@method
def unsqueeze(x, dim):
    """With a dimension of size 1 put in at `dim`."""
    dim = place(x, dim, extra=1)
    return ops.reshape_to(x, x.shape[:dim] + (1,) + x.shape[dim:])


@op(view=True, promote=False)
def spread_to(x, shape): return array_module(x).broadcast_to(x, shape)


@method
def expand(x, *sizes, size=None):
    """Dimensions of size 1 stretched without a copy; -1 leaves a size as it is."""
    sizes = listed(sizes, size)
    new = len(sizes) - x.ndim
    if new < 0 or -1 in sizes[:new]:
        raise RuntimeError(f"expand of {x.shape} to {sizes}: give a size for each dimension, and -1 only for "
                           "one that is there already.")
    shape = tuple([x.shape[i - new] if n == -1 else n for i, n in enumerate(sizes)])
    if any(n != m and m != 1 for n, m in zip(shape[new:], x.shape)):
        raise RuntimeError(f"expand of {x.shape} to {sizes}: only sizes of 1 can be stretched. Use repeat() "
                           "to lay out copies.")
    return spread_to(x, shape)


@method
def broadcast_to(x, size): return expand(x, *size)
@method
def expand_as(x, y): return expand(x, *y.shape)


def broadcast_tensors(*tensors):
    """All of them stretched to the shape that they have together."""
    tensors = tensors[0] if isinstance(tensors[0], (tuple, list)) else tensors
    shape = broadcast_shapes(*[x.shape for x in tensors])
    return tuple([expand(x, *shape) for x in tensors])
def broadcast_shapes(*shapes):
    shapes = [(n,) if isinstance(n, int) else tuple(n) for n in shapes]
    return functools.reduce(ops.broadcast_shape, shapes, ())


@method
def narrow(x, dim, start, length):
    """`length` places along dim, from `start` on."""
    dim = place(x, dim)
    if x.ndim and not -x.shape[dim] <= start <= x.shape[dim]:
        raise IndexError(f"narrow of {x.shape} along dim {dim}: it does not have a start {start}.")
    if x.ndim == 0 or length < 0 or start > x.shape[dim] - length or getattr(start, "dtype", None) == bool_:
        raise RuntimeError(f"narrow of {x.shape} along dim {dim}: start {start} and length {length} do not "
                           "fit into it.")
    start = int(start) % x.shape[dim] if start < 0 else int(start)
    return x[(slice(None),) * dim + (slice(start, start + length),)]


@method
def select(x, dim, index):
    """The slice at one index of a dimension, which goes away."""
    if x.ndim == 0:
        raise IndexError("select from a tensor of shape (): it has no dimension to select from.")
    return x[(slice(None),) * place(x, dim) + (int(index),)]


@op(view=True, promote=False, method=True)
def diagonal(x, offset=0, dim1=0, dim2=1):
    """The diagonal of the matrices in two dimensions, as a last dimension; offset > 0 lies above it."""
    out = x.diagonal(offset, dim1, dim2)
    if array_module(x) is np and x.flags.writeable:
        out.flags.writeable = True                    # NumPy is more careful than PyTorch here
    return out


@method
def unfold(x, dimension, size, step):
    """Windows of `size` along a dimension, one each `step`; they lie in a new last dimension."""
    dim, n = place(x, dimension), x.shape[dimension] if x.ndim else 1
    if not 0 <= size <= n or step < 1:
        raise RuntimeError(f"unfold of {x.shape}: size {size} must fit into {n}, and step {step} be 1 or "
                           "more.")
    first = array_module(x.data).arange(0, n - size + 1, step)
    places = first[:, None] + array_module(x.data).arange(size)
    windows = (x if x.ndim else x.reshape(1))[(slice(None),) * dim + (places,)]
    return movedim(windows, dim + 1, -1) if x.ndim else windows.reshape(-1)


permute_to.name, spread_to.name = "permute", "expand"  # what errors and graphs call them
for _function in (ops.reshape, view, view_as, reshape_as, permute, t, movedim, flatten, unflatten, squeeze,
                  unsqueeze, expand, expand_as, broadcast_to, narrow, select):
    _function.view = True                             # so that there is no `squeeze_`: memory keeps its shape


@op(method=True, promote=False)
def clone(x): return x.copy()


@method
def contiguous(x):
    """x itself if its elements lie in order in memory, else a copy in which they do."""
    return x if x.is_contiguous() else clone(x)


@op(promote=False)
def flip_all(x, dims): return array_module(x).flip(x, dims).copy()
@op(promote=False)
def roll_by(x, shifts, dims): return array_module(x).roll(x, shifts, dims)


flip_all.name, roll_by.name = "flip", "roll"          # what errors and graphs call them


@method
def flip(x, *along, dims=None):
    """The order reversed along each of `dims`."""
    return flip_all(x, listed(along, dims))


@method
def roll(x, shifts, dims=None):
    """Moved on by `shifts` places, what falls out comes in again; without dims as one long row."""
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else dims and tuple(dims)
    if len(shifts) != len(dims or (None,)):
        raise RuntimeError(f"roll: {len(shifts)} shifts for dims {dims}. Give one shift for each dimension.")
    return roll_by(x, shifts, dims or None) if dims else roll_by(x, shifts[0], None)


def _flip_only(x, dim, name):
    if x.ndim <= dim:
        raise RuntimeError(f"{name} of {x.shape}: it takes at least {dim + 1} dimensions. Use flip(dim).")
    return flip(x, dim)


@method
def fliplr(x): return _flip_only(x, 1, "fliplr")
@method
def flipud(x): return _flip_only(x, 0, "flipud")


@method
def rot90(x, k=1, dims=(0, 1)):
    """Turned k times by 90 degrees, from the first of the two dims towards the second."""
    if len(dims) != 2 or x.ndim < 2 or dims[0] % x.ndim == dims[1] % x.ndim:
        raise RuntimeError(f"rot90 of {x.shape} in dims {dims}: two different dimensions make the plane.")
    k, turned = k % 4, x.transpose(*dims) if k % 2 else x
    return flip(turned, *{0: (), 1: dims[:1], 2: dims, 3: dims[1:]}[k])


@method
def repeat(x, *sizes, repeats=None):
    """x laid out `sizes` times along each dimension; more sizes than dimensions add some on the left."""
    sizes = listed(sizes, repeats)
    new = len(sizes) - x.ndim
    if new < 0 or any(n < 0 for n in sizes):
        raise RuntimeError(f"repeat of {x.shape} by {sizes}: give a count, 0 or more, for each dimension.")
    shape = (1,) * new + x.shape
    apart = x.reshape([m for n in shape for m in (1, n)])
    apart = expand(apart, *[m for pair in zip(sizes, shape) for m in pair])
    return apart.reshape([n * m for n, m in zip(sizes, shape)])


@method
def tile(x, *sizes, dims=None):
    """As `repeat`, but missing counts on the left are 1."""
    dims = listed(sizes, dims)
    return repeat(x, *(1,) * (x.ndim - len(dims)), *dims)


swapaxes = METHODS["swapaxes"] = ops.transpose
swapdims = METHODS["swapdims"] = ops.transpose
moveaxis = METHODS["moveaxis"] = movedim
ravel = METHODS["ravel"] = flatten
