# Generated from modules/09_spatial/spatial_dev.py by tito export. Edit the lesson, not this file.
# source sha256 b1eedd4760c023cd2abd94a642bc220e2b1210cc8dd4b6339ca7ce3f0c207033  body sha256 aee4a5b03cab4543d25f8e10c23d6b2cf1e588aa9e0b8bb8518e75702c7c493c  # noqa: E501
"""nn.pooling: built in module 09_spatial."""

import numpy as np

from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module
from tinytorch.core.joining import cat
from tinytorch.core.op import op
from tinytorch.core.tensor import Tensor
from tinytorch.nn.conv_parts import one_dtype, pair, pool_grid
from tinytorch.nn.floats import refuse_integers
from tinytorch.nn.pool_parts import (
    adaptive_sizes,
    counted_places,
    flat_places,
    put_back,
    window_sums,
    winners,
)

__all__ = ["adaptive_avg_pool2d", "adaptive_bounds", "avg_pool2d", "max_pool", "max_pool2d"]


@op
def max_pool(x, grid):
    """The largest number of each window: (..., rows, columns), with the dtype of x.

    x: (..., H, W), left as it was. grid: where the windows lie; grid.size is (rows, columns), and
    grid.padded(x, value) is x with its margins.
    """
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    out = array_module(x).full((*x.shape[:-2], *grid.size), lowest, x.dtype)
    x = grid.padded(x, lowest)
    for place in grid.places():
        np.maximum(out, x[place], out=out)
    return out


@vjp(max_pool)
def _(out, x, grid):
    numbers, largest = [a.data if isinstance(a, Tensor) else a for a in (x, out)]
    which, (height, width) = winners(numbers, largest, grid), x.shape[-2:]
    return lambda g: (put_back(g, which, grid, height, width),)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
               return_indices=False):
    """The largest number of each window of (N, C, H, W) or (C, H, W); PyTorch's arguments.

    stride: the kernel's size if None. ceil_mode: a last window may stick out. return_indices: also where the
    largest stood, counted row by row through the picture.
    """
    grid = pool_grid("max_pool2d", input.shape, kernel_size, stride, padding, dilation, ceil_mode)
    one_dtype("max_pool2d", input)
    out = max_pool(input, grid)
    if not return_indices:
        return out
    which = winners(input.data, out.data, grid)
    return out, Tensor._of(flat_places(which, grid, input.shape[-1]))


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
               divisor_override=None):
    """The mean of each window of (N, C, H, W) or (C, H, W); PyTorch's arguments.

    count_include_pad: whether the padding counts. divisor_override: a number to divide by instead.
    """
    grid = pool_grid("avg_pool2d", input.shape, kernel_size, stride, padding, 1, ceil_mode)
    one_dtype("avg_pool2d", input)
    if divisor_override == 0:
        raise RuntimeError("avg_pool2d: divisor_override=0, and nothing can be divided by 0.")
    x, padding, sums = input.data, pair(padding, "padding"), window_sums(input, grid)
    border = padding if count_include_pad else (0, 0)
    counts = window_sums(counted_places(x, grid, border), grid.bare())
    counts = divisor_override or counts
    return sums / counts if sums.dtype.kind == "f" else sums.div(counts, rounding_mode="trunc")


def adaptive_bounds(n, size):
    """[(start, end), ...] of `size` windows that cover n numbers; `end` is the first that is outside.

    >>> adaptive_bounds(5, 3)
    [(0, 2), (1, 4), (3, 5)]
    """
    return [(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]


def adaptive_avg_pool2d(input, output_size):
    """The mean of each of (H', W') windows that cover the picture (N, C, H, W) or (C, H, W).

    output_size: one number, or a pair; None keeps the input's size.
    """
    sizes = adaptive_sizes("adaptive_avg_pool2d", input, output_size)
    refuse_integers("adaptive_avg_pool2d", input)
    if sizes == (1, 1):
        return input.mean((-2, -1), True)
    for dim, size in zip((-2, -1), sizes):
        parts = [input.narrow(dim, start, end - start).mean(dim, True)
                 for start, end in adaptive_bounds(input.shape[dim], size)]
        input = cat(parts, dim) if parts else input.narrow(dim, 0, 0)
    return input
