# Generated from modules/01_tensor/math_dev.py by tito export. Edit the lesson, not this file.
# source sha256 291cfdffa9b4a550e1785d7760360448406aebe3c87c286ff27f88722f0184c9  body sha256 88219aad66458c5c9abb6b0d528bccda8ce9e63c560cad6e93b39e992fb20359  # noqa: E501
"""core.reductions: built in module 01_tensor."""

import math
from typing import NamedTuple

import numpy as np

from tinytorch.core import ops
from tinytorch.core.backend import array_module
from tinytorch.core.base import method, spelled
from tinytorch.core.math import amax, amin, argmax, argmin, floats, maximum, minimum, over
from tinytorch.core.op import op
from tinytorch.core.tensor import Tensor

__all__ = [
    "Found", "deviation", "dist", "found", "linalg_norm", "logsumexp", "matrix_norm", "max",
    "median", "median_index", "min", "norm", "std", "std_mean", "var", "var_mean", "vector_norm",
]


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
