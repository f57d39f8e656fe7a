# %% [markdown]
# # Shapes: views, joining and splitting, picking, sorting
#
# Given code: nothing to solve here. A formula sheet like `math_dev.py`. An op that only looks at the
# same memory in another way is marked as a view; what can be said with views, `gather` and `getitem`
# is a plain function on top of them and needs no gradient rule of its own.

# %%
#| default_exp core.shape

# %%
import functools
import math

import numpy as np

from tinytorch.core import ops
from tinytorch.core.backend import array_module, device, device_of, is_array, shares_memory, to_device
from tinytorch.core.base import METHODS, method, spelled
from tinytorch.core.dtypes import bool_, float16, float32, float64, int8, int32, int64, uint8
from tinytorch.core.op import op
from tinytorch.core.reductions import found
from tinytorch.core.tensor import Tensor

# %% [markdown]
# ## Views
#
# `view` refuses where `reshape` would have to copy: after a transpose the elements are out of order.
# `expand` repeats without memory: NumPy gives the new dimension a stride of 0, and forbids to write there.

# %%
#| export
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


# %% [markdown]
# ## Copies in another order
#
# `repeat` is an `expand` of new dimensions, folded into the old ones. Turned and rolled arrays are copies,
# as in PyTorch: a write into them is not seen in the source.

# %%
#| export
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


# %% [markdown]
# ## Joining and splitting
#
# Parts of a split are views. They come from one op with several outputs, so that all their gradients
# are joined once.

# %%
#| export core.joining
@op
def join(*parts, dim=0):
    parts = [part for part in parts if part.shape != (0,)] or parts[:1]      # an empty list joins anything
    return array_module(parts[0]).concatenate(parts, dim)


@spelled
def cat(tensors, dim=0):
    """Tensors one after the other along a dimension that is there; the other sizes must agree."""
    return join(*_tensors("cat", tensors), dim=dim)


def _tensors(name, tensors):
    """The list that joining ops take, unless it is empty or holds something else."""
    if not tensors:
        raise ValueError(f"{name}: got no tensors. Give at least one.")
    for x in tensors:
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}: got a {x.__class__.__name__} among the tensors.")
    return tensors


@op
def stack_up(*parts, dim=0): return array_module(parts[0]).stack(parts, dim)


@spelled
def stack(tensors, dim=0):
    """Tensors of one shape, one beside the other along a new dimension."""
    if not tensors:
        raise RuntimeError("stack: got no tensors. Give at least one.")
    return stack_up(*_tensors("stack", tensors), dim=dim)


def atleast(x, n):
    """x with leading dimensions of size 1 so that it has n of them; the third comes last, as in NumPy."""
    if x.ndim >= n:
        return x
    shape = (1,) * (min(n, 2) - x.ndim) + x.shape
    return x.reshape(shape + (1,) * (n - len(shape)))


def _join_along(dim, tensors, n):
    """Joined along `dim` (vectors along 0), once all have n dimensions."""
    if not tensors:
        raise RuntimeError("got no tensors to stack. Give at least one.")
    tensors = [atleast(x, n) for x in tensors]
    return cat(tensors, dim if tensors[0].ndim > 1 else 0)


def hstack(tensors): return _join_along(1, tensors, 1)
def vstack(tensors): return _join_along(0, tensors, 2)
def dstack(tensors): return _join_along(2, tensors, 3)
def column_stack(tensors):
    return hstack([x.reshape(-1, 1) if x.ndim < 2 else x for x in tensors])


@op(outputs=True, view=True)
def split_sizes(x, sizes, dim=0):
    """x cut along `dim` into parts of these sizes."""
    ends = [0, *np.cumsum(sizes).tolist()]
    return tuple([x[(slice(None),) * dim + (slice(i, j),)] for i, j in zip(ends, ends[1:])])


@op(outputs=True, view=True)
def unbind_all(x, dim):
    return tuple([x[(slice(None),) * dim + (i, ...)] for i in range(x.shape[dim])])


join.name, stack_up.name = "cat", "stack"             # what errors and graphs call them
split_sizes.name, unbind_all.name = "split", "unbind"


@method
def split(x, split_size, dim=0):
    """Views of x along `dim`: parts of one size, the last one smaller, or of the sizes in a list."""
    dim = place(x, dim)
    if x.ndim == 0:
        raise RuntimeError("split of a tensor of shape (): it has no dimension to split. Use reshape(1).")
    n = x.shape[dim]
    if isinstance(split_size, int):
        if split_size < 0 or split_size == 0 and n:
            raise RuntimeError(f"split: the size {split_size} of the parts must be positive.")
        whole, rest = divmod(n, split_size or 1)
        split_size = [split_size] * whole + [rest] * (rest > 0) or [0]
    if sum(split_size) != n or min(split_size) < 0:
        raise RuntimeError(f"split of {x.shape} along dim {dim}: the sizes {list(split_size)} must be 0 or "
                           f"more and add up to {n}.")
    return split_sizes(x, tuple(split_size), dim)


@method
def chunk(x, chunks, dim=0):
    """At most `chunks` views of equal size along `dim`; the last may be smaller."""
    if chunks < 1:
        raise RuntimeError(f"chunk: the number of chunks, {chunks}, must be positive.")
    if x.ndim == 0:
        raise RuntimeError("chunk of a tensor of shape (): it has no dimension to split. Use reshape(1).")
    n = x.shape[place(x, dim)]
    return split(x, -(-n // chunks), dim) if n else split(x, [0] * chunks, dim)


@method
def tensor_split(x, indices_or_sections, dim=0):
    """Exactly so many views, sizes differing by at most 1; or cut before each index of a list."""
    dim = place(x, dim)
    if x.ndim == 0:
        raise RuntimeError("tensor_split of a tensor of shape (): it has no dimension. Use reshape(1).")
    cuts = getattr(indices_or_sections, "data", indices_or_sections)
    cuts = cuts.tolist() if is_array(cuts) else cuts
    if isinstance(cuts, int):
        if cuts < 1:
            raise RuntimeError(f"tensor_split: the number of sections, {cuts}, must be positive.")
        size, larger = divmod(x.shape[dim], cuts)
        return split_sizes(x, (size + 1,) * larger + (size,) * (cuts - larger), dim)
    ends = [None, *cuts, None]
    return tuple([x[(slice(None),) * dim + (slice(i, j),)] for i, j in zip(ends, ends[1:])])


@method
def unbind(x, dim=0):
    """The slices along `dim`, one by one, as a tuple of views."""
    if x.ndim == 0:
        raise IndexError("unbind of a tensor of shape (): it has no dimension to take apart.")
    return unbind_all(x, place(x, dim))


def meshgrid(*tensors, indexing="ij"):
    """For vectors of n and m numbers two (n, m) tensors: the coordinates of a grid; (m, n) with "xy"."""
    tensors = list(tensors[0] if isinstance(tensors[0], (tuple, list)) else tensors)
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f"meshgrid: indexing={indexing!r}; it can be 'ij' (rows first) or 'xy'.")
    if any(x.ndim > 1 for x in tensors) or len({x.dtype for x in tensors}) > 1:
        raise RuntimeError("meshgrid: the tensors must be vectors or numbers of one dtype.")
    n, swap = len(tensors), indexing == "xy" and len(tensors) > 1
    places = [1, 0, *range(2, n)] if swap else range(n)
    columns = [x.reshape((1,) * i + (-1,) + (1,) * (n - 1 - i)) for i, x in zip(places, tensors)]
    return broadcast_tensors(*columns)


# %% [markdown]
# ## Picking and placing
#
# `gather` (in the lesson) picks; `scatter` is its counterpart and places. Where an index repeats,
# `scatter_add` adds, and `scatter` keeps one of the numbers.

# %%
#| export core.indexing
def around(dim, index): return (slice(None),) * dim + (index,)


# CUDA adds numbers of few dtypes in place; through these the same bits come out
_ADDED_AS = {int64: np.dtype("uint64"), int8: int32, uint8: int32, bool_: int32}


def add_at(out, places, values):
    """Add `values` into the new array `out`; places that repeat add up."""
    if array_module(out) is np:
        np.add.at(out, places, values)
        return out
    import cupyx
    other = _ADDED_AS.get(out.dtype)
    if other is None:
        cupyx.scatter_add(out, places, values)
        return out
    whole = out.astype(other)
    cupyx.scatter_add(whole, places, array_module(out).asarray(values).astype(other))
    return whole.astype(out.dtype)


@method
def index_select(x, dim, index):
    """The slices of x along `dim` that the vector `index` names."""
    dim = place(x, dim)
    if index.ndim > 1 or index.dtype.kind not in "iu":
        raise IndexError(f"index_select: the index must be a vector of integers, got {index.dtype} of shape "
                         f"{index.shape}.")
    if x.ndim == 0:
        return x.reshape(1)[index.reshape(-1)].reshape(())
    return x[around(dim, index.reshape(-1))]


@method
def repeat_interleave(x, repeats, dim=None, output_size=None):
    """Each slice along `dim` repeated next to itself; `repeats` is a number, or one for each slice."""
    if dim is None:
        x, dim = x.reshape(-1), 0
    xp, counts = array_module(x.data), getattr(repeats, "data", repeats)
    n = x.shape[dim] if x.ndim else 1
    if is_array(counts) and (counts.ndim > 1 or counts.size not in (1, n) or counts.dtype.kind == "f"):
        raise RuntimeError(f"repeat_interleave: {repeats} must be one integer, or {n} of them.")
    if (counts < 0).any() if is_array(counts) else counts < 0:
        raise RuntimeError("repeat_interleave: a slice cannot be repeated a negative number of times.")
    counts = xp.broadcast_to(xp.asarray(counts), n)
    return index_select(x, dim, Tensor._of(xp.repeat(xp.arange(n), counts)))


@op(promote=False)
def place_along(x, dim, index, src):
    """A copy of x with the numbers of `src` where `gather` would find them."""
    out = x.copy()
    out[ops.places_of(index, dim)] = src
    return out


@op(promote=False)
def add_along(x, dim, index, src):
    """A copy of x with the numbers of `src` added where `gather` would find them."""
    return add_at(x.copy(), ops.places_of(index, dim), src)


place_along.name, add_along.name = "scatter", "scatter_add"   # what errors and graphs call them


def _scattered(name, x, dim, index, src):
    """x, dim, index and src as scatter takes them: of one number of dimensions, src as large as the index."""
    dim = place(x, dim)
    if not isinstance(src, Tensor):
        src = Tensor._of(array_module(x.data).full(index.shape, src, x.dtype))
    if index.dtype.kind not in "iu" or src.dtype != x.dtype:
        raise RuntimeError(f"{name}: the index ({index.dtype}) must hold integers, and src ({src.dtype}) the "
                           f"same numbers as x ({x.dtype}).")
    shape = index.shape or (1,)
    x1, src = x if x.ndim else x.reshape(1), src if src.ndim else src.reshape(1)
    if not (x1.ndim == len(shape) == src.ndim) or index.numel() and (
            any(i > n for i, n in zip(shape, src.shape))
            or any(i > n for d, (i, n) in enumerate(zip(shape, x1.shape)) if d != dim)):
        raise RuntimeError(f"{name} into {x.shape} along dim {dim}: an index of {index.shape} must fit into "
                           f"src, {src.shape}, and except along dim into x.")
    n = x1.shape[dim]
    if index.numel() and not (0 <= index.data.min() and index.data.max() < n):
        raise RuntimeError(f"{name} into {x.shape} along dim {dim}: the index holds {index.data.min()} to "
                           f"{index.data.max()}, allowed are 0 to {n - 1}.")
    if src.shape != shape:
        src = src[tuple([slice(n) for n in shape])]
    return x1, dim, index.reshape(shape), src


@method
def scatter(x, dim, index, src=None, value=None, reduce=None):
    """A copy of x in which out[index[i][j]][j] (for dim 0) is src[i][j], or the one number `src`.

    reduce="add" adds to what is there, as scatter_add.
    """
    if reduce not in (None, "add"):
        raise RuntimeError(f"scatter: reduce={reduce!r} is not to be had here; it can be 'add'.")
    parts = _scattered("scatter", x, dim, index, value if src is None else src)
    return (add_along if reduce else place_along)(*parts).reshape(x.shape)


@method
def scatter_add(x, dim, index, src):
    """A copy of x in which src[i][j] was added at out[index[i][j]][j] (for dim 0)."""
    return add_along(*_scattered("scatter_add", x, dim, index, src)).reshape(x.shape)


@op(promote=False)
def place_at(x, value, index):
    """A copy of x with x[index] = value."""
    out = x.copy()
    out[index] = value
    return out


@op(promote=False)
def added_at(x, value, index):
    """A copy of x with `value` added at x[index]; places that repeat add up."""
    return add_at(x.copy(), index, value)


place_at.name, added_at.name = "index_put", "index_add"


def _sliced(name, x, dim, index, source=None):
    """The place of `index` along dim, for index_add and its kin."""
    dim, index = place(x, dim), index.reshape(-1)
    shape = x.shape[:dim] + (index.numel(),) + x.shape[dim + 1:]
    if index.dtype.kind not in "iu" or source is not None and source.dtype != x.dtype:
        raise RuntimeError(f"{name}: the index must hold integers, and source the same dtype as x.")
    if source is not None and source.shape != shape and x.ndim:
        raise RuntimeError(f"{name} into {x.shape} along dim {dim}: source has shape {source.shape}, needed "
                           f"is {shape}.")
    return around(dim, index.data)


@method
def index_add(x, dim, index, source, alpha=1):
    """A copy of x in which alpha times the slices of `source` were added at `index` along dim."""
    places = _sliced("index_add", x, dim, index, source)
    source = source if alpha == 1 else source * alpha
    return added_at(x if x.ndim else x.reshape(1), source, places).reshape(x.shape)


@method
def index_copy(x, dim, index, source):
    """A copy of x in which the slices at `index` along dim are those of `source`."""
    places = _sliced("index_copy", x, dim, index, source)
    return place_at(x if x.ndim else x.reshape(1), source, places).reshape(x.shape)


@method
def index_fill(x, dim, index, value):
    """A copy of x in which the slices at `index` along dim hold `value`."""
    dim, xp = place(x, dim), array_module(x.data)
    mask = xp.zeros(x.shape[dim:dim + 1] or 1, bool)
    mask[_sliced("index_fill", x, dim, index)[dim]] = True
    mask = Tensor._of(mask.reshape((-1,) + (1,) * (x.ndim - 1 - dim)))
    return ops.masked_fill(x, mask, value).reshape(x.shape)


@method
def index_put(x, indices, values, accumulate=False):
    """A copy of x with x[indices] = values, or += if `accumulate`."""
    places = tuple([i.data if isinstance(i, Tensor) else i for i in indices])
    return (added_at if accumulate else place_at)(x, values, places)


@method
def take_along_dim(x, indices, dim=None):
    """The numbers of x at `indices` along dim; both broadcast. Without dim x is one long row."""
    if dim is None:
        return ops.gather(x.reshape(-1), 0, indices.reshape(-1))
    if x.ndim != indices.ndim:
        raise RuntimeError(f"take_along_dim of {x.shape} by {indices.shape}: both need the same number of "
                           "dimensions.")
    dim = place(x, dim)
    indices = indices + x.shape[dim] * (indices < 0)                         # -1 is the last one
    shape = list(ops.broadcast_shape(x.shape[:dim] + (1,) + x.shape[dim + 1:],
                                     indices.shape[:dim] + (1,) + indices.shape[dim + 1:]))
    fit = lambda t: expand(t, *shape[:dim], t.shape[dim], *shape[dim + 1:])              # noqa: E731
    return ops.gather(fit(x), dim, fit(indices))


@method
def take(x, index):
    """The numbers at `index` of x as one long row, in the shape of the index."""
    return x.reshape(-1)[index]


@method
def masked_select(x, mask):
    """The numbers where the mask is true, as a vector."""
    if mask.dtype != bool_:
        raise RuntimeError(f"masked_select: the mask holds {mask.dtype}, it must hold bools.")
    x, mask = broadcast_tensors(x, mask)
    return x[mask]


@method
def nonzero(x, as_tuple=False):
    """The indices of all numbers that are not 0: one row each, or a tuple with one vector a dimension."""
    found = (x.data.reshape(x.shape or (1,))).nonzero()
    if as_tuple:
        return tuple([Tensor._of(i) for i in found])
    return Tensor._of(array_module(x.data).stack(found, 1)[:, :x.ndim])


def argwhere(x): return nonzero(x)
METHODS["argwhere"] = argwhere


# %% [markdown]
# ## Diagonals and triangles

# %%
#| export core.indexing
@op(method=True, promote=False)
def tril(x, diagonal=0):
    """What lies on and below a diagonal of the last two dimensions; 0 above."""
    return array_module(x).tril(_matrices("tril", x), diagonal)
@op(method=True, promote=False)
def triu(x, diagonal=0):
    """What lies on and above a diagonal of the last two dimensions; 0 below."""
    return array_module(x).triu(_matrices("triu", x), diagonal)


def _matrices(name, x):
    if x.ndim < 2:
        raise RuntimeError(f"{name} of {x.shape}: it takes matrices, at least 2 dimensions.")
    return x


@op(promote=False)
def on_diagonal(x, shape, offset, dim1, dim2):
    """Zeros of `shape` with x on a diagonal: the transpose of `diagonal`."""
    out = array_module(x).zeros(shape, x.dtype)
    diagonal.forward(out, offset, dim1, dim2)[...] = x
    return out


@method
def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last dimension of x on a diagonal, in two new dimensions."""
    dim1, dim2 = place(x, dim1, 1), place(x, dim2, 1)
    if dim1 == dim2:
        raise RuntimeError(f"diag_embed: dim1 and dim2 are both {dim1}. A matrix needs two dimensions.")
    shape, n = list(x.shape[:-1]), x.shape[-1] + abs(offset)
    for dim in sorted((dim1, dim2)):
        shape.insert(dim, n)
    return on_diagonal(x, tuple(shape), offset, dim1, dim2)


@method
def diag(x, diagonal=0):
    """The diagonal of a matrix, or a matrix with a vector on its diagonal."""
    if x.ndim not in (1, 2):
        raise RuntimeError(f"diag of {x.shape}: it takes a vector or a matrix. Use diagonal or diag_embed.")
    return diag_embed(x, diagonal) if x.ndim == 1 else x.diagonal(diagonal).clone()


# %% [markdown]
# ## Sorting
#
# Only the *order* is computed; the sorted numbers are picked by `gather`, which has a gradient. nan
# counts as the largest number. Falling order is rising order from behind, so equal numbers stay in order.

# %%
#| export core.indexing
@op
def order(x, dim=-1, descending=False):
    """The indices that would sort x along `dim`; equal numbers keep their order."""
    if x.ndim == 0:
        return array_module(x).zeros((), int64)
    if not descending:
        return x.argsort(axis=dim, kind="stable")
    flip = array_module(x).flip
    return x.shape[dim] - 1 - flip(flip(x, dim).argsort(axis=dim, kind="stable"), dim)


@method
def argsort(x, dim=-1, descending=False, stable=False): return order(x, place(x, dim), descending)
@method
def sort(x, dim=-1, descending=False, stable=False):
    """The numbers along `dim` in rising (or falling) order, and where they stood."""
    return found(x, argsort(x, dim, descending), dim)


@op
def top_order(x, k, dim, largest):
    """The indices of the k largest (or smallest) along the last dimension, best first."""
    if not 0 < 8 * k <= x.shape[dim]:
        index = order(x, dim, largest)
    else:                                             # a few of many: no need to sort the rest
        n, xp = x.shape[dim], array_module(x)
        index = x.argpartition(n - k if largest else k - 1, axis=dim)
        index = index.take(xp.arange(n - k, n) if largest else xp.arange(k), axis=dim)
        best = order(xp.take_along_axis(x, index, dim), dim, largest)
        index = xp.take_along_axis(index, best, dim)
    return index[around(dim, slice(k))]


@method
def topk(x, k, dim=-1, largest=True, sorted=True):
    """The k largest numbers along `dim`, falling (or the smallest, rising), and where they stood."""
    dim, n = place(x, dim), x.shape[dim] if x.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError(f"topk of {x.shape} along dim {dim}: k={k} must lie between 0 and {n}.")
    if x.ndim == 0:
        return found(x, order(x), 0)
    return found(x, top_order(x, k, dim, largest), dim)


@method
def kthvalue(x, k, dim=-1, keepdim=False):
    """The k-th smallest number along `dim` (k = 1 is the smallest), and where it stood."""
    dim, n = place(x, dim), x.shape[dim] if x.ndim else 1
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue of {x.shape} along dim {dim}: k={k} must lie between 1 and {n}.")
    index = order(x, dim)
    return found(x, index[around(dim, slice(k - 1, k))] if x.ndim else index, dim, keepdim)


@method
def unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different numbers (or slices along `dim`), rising; with where each went, and their counts."""
    out = array_module(x.data).unique(x.data, axis=dim, return_inverse=return_inverse,
                                      return_counts=return_counts)
    parts = list(out) if isinstance(out, tuple) else [out]
    if return_inverse:
        parts[1] = parts[1].reshape(x.shape if dim is None else (-1,))
    parts = [Tensor._of(part) for part in parts]
    return parts[0] if len(parts) == 1 else tuple(parts)


# %% [markdown]
# ## Counting and finding

# %%
#| export core.indexing
def searchsorted(sorted_sequence, values, right=False, side=None, sorter=None, out_int32=False):
    """Where each of `values` belongs in a rising sequence; rows of sequences take rows of values.

    sorter: the indices that sort the sequence, if it is not sorted.
    """
    side = side or ("right" if right else "left")
    sequence, xp = sorted_sequence.data, array_module(sorted_sequence.data)
    sequence = sequence if sorter is None else xp.take_along_axis(sequence, sorter.data, -1)
    numbers = xp.asarray(values.data if isinstance(values, Tensor) else values)
    if sequence.ndim == 1:
        out = xp.searchsorted(sequence, numbers, side=side)
    elif sequence.shape[:-1] != numbers.shape[:-1]:
        raise RuntimeError(f"searchsorted of {numbers.shape} in {sequence.shape}: all sizes but the last "
                           "must agree.")
    else:
        out = xp.empty(numbers.shape, int64)
        for row in np.ndindex(numbers.shape[:-1]):
            out[row] = xp.searchsorted(sequence[row], numbers[row], side=side)
    return Tensor._of(xp.asarray(out, int32 if out_int32 else int64))


def bucketize(x, boundaries, right=False, out_int32=False):
    """The number of the bucket between `boundaries` that each number falls into."""
    return searchsorted(boundaries, x, right, out_int32=out_int32)


@method
def bincount(x, weights=None, minlength=0):
    """How often 0, 1, 2, ... are among the integers of a vector; or the sums of their weights."""
    if x.ndim != 1 or x.dtype.kind not in "iu" or x.numel() and x.data.min() < 0:
        raise RuntimeError(f"bincount: it takes a vector of integers, 0 or more; got {x.dtype} of {x.shape}.")
    weights = None if weights is None else weights.data
    out = array_module(x.data).bincount(x.data, weights, minlength)
    return Tensor._of(out if weights is None or weights.dtype != float32 else out.astype(float32))


def one_hot(x, num_classes=-1):
    """For each integer a row with a 1 in its place and 0 elsewhere."""
    if x.dtype.kind not in "iu" or x.numel() and x.data.min() < 0:
        raise RuntimeError(f"one_hot: class numbers must be integers, 0 or more; got {x.dtype}.")
    most = int(x.data.max()) + 1 if x.numel() else 0
    if num_classes != -1 and num_classes < most or num_classes == -1 and not most:
        raise RuntimeError(f"one_hot: num_classes={num_classes}, and the classes go up to {most - 1}.")
    classes = array_module(x.data).arange(most if num_classes == -1 else num_classes)
    return Tensor._of((x.data[..., None] == classes).astype(int64))


# %% [markdown]
# ## Another dtype, another device
#
# Casts between floats have a gradient; a cast to integers ends the history.

# %%
#| export core.casts
DTYPES = {"half": float16, "float": float32, "double": float64, "char": int8, "int": int32, "long": int64,
          "byte": uint8, "bool": bool_}


@op(promote=False)
def cast(x, dtype): return x.astype(dtype)
METHODS["astype"] = cast                               # the walk of module 05 asks arrays and tensors alike
@op(promote=False)
def move(x, where): return to_device(x, where)


@method
def to(x, *args, dtype=None, device=None, non_blocking=False, copy=False):
    """x in another dtype, on another device, or as another tensor is; x itself if nothing changes."""
    for arg in args:
        if isinstance(arg, Tensor):
            dtype, device = arg.dtype, arg.device
        elif isinstance(arg, bool):                    # to(device, non_blocking, copy)
            copy = arg
        elif _is_place(arg):
            device = arg
        elif arg is not None:
            dtype = np.dtype(arg)
    out = x if device is None or device_of(x.data) == device else move(x, device)
    if dtype is not None and x.dtype != np.dtype(dtype):
        return cast(out, np.dtype(dtype))
    return clone(x) if copy and out is x else out


def _is_place(arg): return isinstance(arg, device) or isinstance(arg, str) and arg[:4] in ("cpu", "cuda")


@method
def type_as(x, y): return to(x, y.dtype)
@method
def type(x, dtype=None):
    """x in another dtype; without one, PyTorch's name of x's type."""
    if dtype is not None:
        return to(x, dtype)
    name = next(name for name, known in DTYPES.items() if known == x.dtype)
    return f"torch.{name.capitalize()}Tensor"
@method
def cpu(x): return to(x, "cpu")
@method
def cuda(x, device="cuda"): return to(x, f"cuda:{device}" if isinstance(device, int) else device)


for _name, _dtype in DTYPES.items():                   # x.float(), x.long(), ...
    METHODS[_name] = functools.partial(to, dtype=_dtype)


# %% [markdown]
# ## Writing in place
#
# `add_`, `masked_fill_` and the like come from the ops of that name; here are those that have no such op.

# %%
#| export core.casts
@method
def fill_(x, value):
    x[...] = value
    return x
@method
def zero_(x): return fill_(x, 0)
@method
def copy_(x, src, non_blocking=False):
    """Write the numbers of `src`, which broadcasts, into x."""
    return fill_(x, src.to(x.device))


# %% [markdown]
# ## Other names

# %%
#| export
swapaxes = METHODS["swapaxes"] = ops.transpose
swapdims = METHODS["swapdims"] = ops.transpose
moveaxis = METHODS["moveaxis"] = movedim
ravel = METHODS["ravel"] = flatten

# %%
#| export core.joining
concat = concatenate = cat
row_stack = vstack
