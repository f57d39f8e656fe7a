# Generated from modules/09_spatial/more_pooling_dev.py by tito export. Edit the lesson, not this file.
# source sha256 1f484c7206e16c61f9c1f8ec68819040b1b0dbb179f50b1a7e086d514e215518  body sha256 072cadab5d7d94bc5ef63e7c15ce84d28e17417a46a1df5660556e11d483bc02  # noqa: E501
"""nn.more_pooling: built in module 09_spatial."""

import math

from tinytorch.core.backend import array_module
from tinytorch.core.indexing import scatter
from tinytorch.core.ops import places_of
from tinytorch.core.tensor import Tensor
from tinytorch.nn.activations import relu
from tinytorch.nn.conv_parts import pair
from tinytorch.nn.more_spatial import beside, flat
from tinytorch.nn.pool_parts import adaptive_sizes
from tinytorch.nn.pooling import adaptive_avg_pool2d, avg_pool2d, max_pool2d
from tinytorch.nn.resize import covered

__all__ = [
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "adaptive_max_pool2d", "avg_pool1d", "lp_pool1d",
    "lp_pool2d", "lp_pooled", "max_pool1d", "max_unpool1d", "max_unpool2d", "step_of",
]


def step_of(stride): return stride if stride in (None, (), []) else beside(stride, 1, "stride")


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest number of each window of (N, C, L) or (C, L); with return_indices also where it stands."""
    out = max_pool2d(flat("max_pool1d", input), beside(kernel_size, 1, "kernel_size"), step_of(stride),
                     beside(padding, 0, "padding"), beside(dilation, 1, "dilation"), ceil_mode,
                     return_indices)
    return tuple([part.squeeze(-2) for part in out]) if return_indices else out.squeeze(-2)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of (N, C, L) or (C, L)."""
    return avg_pool2d(flat("avg_pool1d", input), beside(kernel_size, 1, "kernel_size"), step_of(stride),
                      beside(padding, 0, "padding"), ceil_mode, count_include_pad).squeeze(-2)


def adaptive_avg_pool1d(input, output_size):
    """The mean of each of `output_size` windows that cover the row (N, C, L) or (C, L)."""
    size = beside(output_size, 1, "output_size")
    return adaptive_avg_pool2d(flat("adaptive_avg_pool1d", input), size).squeeze(-2)


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The largest number of each of `output_size` windows that cover the row (N, C, L) or (C, L)."""
    size = beside(output_size, 1, "output_size")
    out = adaptive_max_pool2d(flat("adaptive_max_pool1d", input), size, return_indices)
    return tuple([part.squeeze(-2) for part in out]) if return_indices else out.squeeze(-2)


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest number of each of (H', W') windows that cover the picture (N, C, H, W) or (C, H, W).

    output_size: one number, or a pair; None keeps the input's size. With return_indices also where it
    stands, counted through the picture.
    """
    height, width = adaptive_sizes("adaptive_max_pool2d", input, output_size)
    x, xp, (lead, (h, w)) = input.data, array_module(input.data), (input.shape[:-2], input.shape[-2:])
    down, across = [covered(xp, n, size)[0].T for n, size in ((h, height), (w, width))]
    places = down[:, None, :, None] * w + across[:, None]                    # (H', W', down, across)
    places = places.reshape(height * width, down.shape[1] * across.shape[1])
    if not places.size or not x.size:
        index = xp.zeros((*lead, height * width), "int64")
    else:
        best = x.reshape(*lead, h * w)[..., places].argmax(-1)               # (..., H' W')
        index = places[xp.arange(height * width), best]
    out = input.reshape(*lead, h * w)[places_of(index, -1)].reshape(*lead, height, width)
    return (out, Tensor._of(index.reshape(out.shape))) if return_indices else out


def lp_pooled(avg_pool, max_pool, input, norm_type, kernel_size, numbers, stride, ceil_mode):
    if math.isinf(norm_type):
        sign = 1 if norm_type > 0 else -1
        return sign * max_pool(sign * abs(input), kernel_size, stride, 0, 1, ceil_mode)
    out = avg_pool(input ** norm_type, kernel_size, stride, 0, ceil_mode)
    return (out.sign() * relu(abs(out)) * numbers) ** (1 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(sum of x^p)^(1/p) of each window of (N, C, L) or (C, L)."""
    numbers = kernel_size if isinstance(kernel_size, int) else kernel_size[0]
    return lp_pooled(avg_pool1d, max_pool1d, input, norm_type, kernel_size, numbers, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(sum of x^p)^(1/p) of each window of (N, C, H, W) or (C, H, W)."""
    numbers = math.prod(pair(kernel_size, "kernel_size", 1))
    return lp_pooled(avg_pool2d, max_pool2d, input, norm_type, kernel_size, numbers, stride, ceil_mode)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """`input` (N, C, H, W) or (C, H, W) at its `indices`, in a picture of zeros of output_size.

    Without output_size it is the smallest that the pool could have seen. Raises RuntimeError if the
    indices do not fit, ValueError for an output_size that the pool cannot have seen.
    """
    kernel, padding = pair(kernel_size, "kernel_size", 1), pair(padding, "padding")
    stride = kernel if stride in (None, (), []) else pair(stride, "stride", 1)
    if input.ndim not in (3, 4) or indices.shape != input.shape or indices.dtype != "int64":
        raise RuntimeError(f"max_unpool2d of {input.shape} with indices {indices.shape} of "
                           f"{indices.dtype}: it takes (N, C, H, W) or (C, H, W), and an int64 index for "
                           "each number.")
    least = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-2:], stride, kernel, padding)]
    size = least if output_size is None else list(output_size)[-2:]
    if any(not n - s < m < n + s for m, n, s in zip(size, least, stride)) or min(size) < 0:
        raise ValueError(f"max_unpool2d: output_size {tuple(size)} must be less than stride {stride} away "
                         f"from {tuple(least)}.")
    if 0 in input.shape[-3:]:
        raise RuntimeError(f"max_unpool2d of {input.shape}: only the batch may be empty.")
    lead, n = input.shape[:-2], math.prod(input.shape[-2:])
    out = input.new_zeros(*lead, math.prod(size))
    return scatter(out, -1, indices.reshape(*lead, n), input.reshape(*lead, n)).reshape(*lead, *size)


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """max_unpool2d of rows: (N, C, L) or (C, L)."""
    size = output_size and (1, output_size[-1])
    return max_unpool2d(flat("max_unpool1d", input), indices.unsqueeze(-2),
                        beside(kernel_size, 1, "kernel_size"), step_of(stride), beside(padding, 0, "padding"),
                        size).squeeze(-2)
