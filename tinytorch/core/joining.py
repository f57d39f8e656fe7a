# Generated from modules/01_tensor/shape_dev.py by tito export. Edit the lesson, not this file.
# source sha256 f70b903cdea50726c6269ce0af77927db5f329b8738c0995a9e031a49440a6b4  body sha256 b1779ae8dfc72a37b543487c408199b43d584795c8677eab063ba43260f1235d  # noqa: E501
"""core.joining: built in module 01_tensor."""

import numpy as np

from tinytorch.core.backend import array_module, is_array
from tinytorch.core.base import method, spelled
from tinytorch.core.op import op
from tinytorch.core.shape import broadcast_tensors, place
from tinytorch.core.tensor import Tensor

__all__ = [
    "atleast", "cat", "chunk", "column_stack", "concat", "concatenate", "dstack", "hstack", "join",
    "meshgrid", "row_stack", "split", "split_sizes", "stack", "stack_up", "tensor_split", "unbind",
    "unbind_all", "vstack",
]


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


concat = concatenate = cat
row_stack = vstack
