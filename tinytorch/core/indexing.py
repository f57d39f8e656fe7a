# Generated from modules/01_tensor/shape_dev.py by tito export. Edit the lesson, not this file.
# source sha256 f70b903cdea50726c6269ce0af77927db5f329b8738c0995a9e031a49440a6b4  body sha256 f3de652db93b39228b27ec81d7a7e616fc5521e23d161352367f6a07a993a8c1  # noqa: E501
"""core.indexing: built in module 01_tensor."""

import numpy as np

from tinytorch.core import ops
from tinytorch.core.backend import array_module, is_array
from tinytorch.core.base import METHODS, method
from tinytorch.core.dtypes import bool_, float32, int8, int32, int64, uint8
from tinytorch.core.op import op
from tinytorch.core.reductions import found
from tinytorch.core.shape import broadcast_tensors, diagonal, expand, place
from tinytorch.core.tensor import Tensor

__all__ = [
    "add_along", "add_at", "added_at", "argsort", "argwhere", "around", "bincount", "bucketize",
    "diag", "diag_embed", "index_add", "index_copy", "index_fill", "index_put", "index_select",
    "kthvalue", "masked_select", "nonzero", "on_diagonal", "one_hot", "order", "place_along",
    "place_at", "repeat_interleave", "scatter", "scatter_add", "searchsorted", "sort", "take",
    "take_along_dim", "top_order", "topk", "tril", "triu", "unique",
]


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
