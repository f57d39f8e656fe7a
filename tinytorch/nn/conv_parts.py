# Generated from modules/09_spatial/conv_parts_dev.py by tito export. Edit the lesson, not this file.
# source sha256 acc79fab161dfa6605e99bc5b687a2338d78d22f45dc88e7a7a7b01cc539e31c  body sha256 e317008212604f23eb0d095f448d23071752175269b1fabbb506ae7b4d196215  # noqa: E501
"""nn.conv_parts: built in module 09_spatial."""

import functools
import math
from typing import NamedTuple

import numpy as np

from tinytorch.core.backend import array_module
from tinytorch.core.dtypes import float16, float32

__all__ = [
    "Grid", "batched", "check_batch_norm", "check_bias", "check_conv", "check_gradient_size",
    "conv_grid", "fit", "halves_in_float32", "margins_of", "one_dtype", "padded", "pair", "places",
    "pool_grid", "whole",
]


def whole(value, name):
    """`value` as an int; TypeError if it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} got {value!r}, a {type(value).__name__}: it must be a whole number.")
    return int(value)


def pair(value, name, least=0):
    """`value` for height and width: 3 is (3, 3). RuntimeError if it is no such thing, or below `least`.

    >>> pair(3, "stride"), pair((1, 2), "stride")
    ((3, 3), (1, 2))
    """
    values = [whole(v, name) for v in (value if isinstance(value, (tuple, list)) else [value])]
    if len(values) not in (1, 2):
        raise RuntimeError(f"{name}={value!r}: it must be one number, or a pair, for height and width.")
    if min(values) < least:
        raise RuntimeError(f"{name}={value!r}: it must be at least {least}.")
    return (values[0], values[-1])


def batched(x): return x[None] if x.ndim == 3 else x           # (C, H, W) is a batch of one


def padded(x, margins, value=0):
    """x (..., H, W) with margins ((top, bottom), (left, right)) of `value`; x itself if there are none.

    >>> padded(np.ones((1, 1)), ((0, 1), (2, 0)))
    array([[0., 0., 1.],
           [0., 0., 0.]])
    """
    (top, bottom), (left, right) = margins
    if not (top or bottom or left or right):
        return x
    h, w = x.shape[-2:]
    out = array_module(x).full(x.shape[:-2] + (top + h + bottom, left + w + right), value, x.dtype)
    out[..., top:top + h, left:left + w] = x
    return out


def places(i, j, size, stride, dilation):
    """Where all windows have their number (i, j), as an index; size: how many windows (down, across).

    >>> np.arange(5)[None][places(0, 1, (1, 2), (1, 2), (1, 1))]
    array([[1, 3]])
    """
    rows, columns = [slice(at * gap, at * gap + step * (n - 1) + 1, step)
                     for at, n, step, gap in zip((i, j), size, stride, dilation)]
    return ..., rows, columns


class Grid(NamedTuple):
    """Where the windows of a picture lie; every field is (for the height, for the width).

    size: how many windows. kernel, stride, dilation: as in conv2d. margins: ((top, bottom), (left, right)).
    """
    size: tuple
    kernel: tuple
    stride: tuple
    dilation: tuple
    margins: tuple

    def padded(self, x, value=0): return padded(x, self.margins, value)

    def places(self):
        """For each place in a window, row by row, an index: where all windows have their number."""
        return [places(i, j, self.size, self.stride, self.dilation)
                for i in range(self.kernel[0]) for j in range(self.kernel[1])]

    def zeros(self, like, *shape):
        """Zeros for a picture of `shape` with its margins, of the kind of the array `like`."""
        h, w = [n + sum(margin) for n, margin in zip(shape[-2:], self.margins)]
        return array_module(like).zeros((*shape[:-2], h, w), like.dtype)

    def bare(self):
        """The same windows on a picture that has its margins already."""
        return self._replace(margins=((0, 0), (0, 0)))

    def cropped(self, x, *size):
        """x (..., H + margins, W + margins) without its margins; size: (H, W)."""
        (top, _), (left, _) = self.margins
        return x[..., top:top + size[0], left:left + size[1]]


def margins_of(padding, kernel, stride, dilation, same_padding):
    """((top, bottom), (left, right)) for a padding as conv2d takes it: number, pair, "same" or "valid".

    same_padding: what gives (before, after) for a kernel and a dilation.
    """
    if not isinstance(padding, str):
        top, left = pair(padding, "padding")
        return (top, top), (left, left)
    if padding == "valid":
        return (0, 0), (0, 0)
    if padding != "same":
        raise RuntimeError(f"padding={padding!r}: it must be a number, a pair, 'valid' or 'same'.")
    if stride != (1, 1):
        raise RuntimeError(f"padding='same' with stride={stride}: with a stride the output is smaller than "
                           "the input. Say in numbers how much padding you want.")
    return tuple([same_padding(k, d) for k, d in zip(kernel, dilation)])


def check_conv(input_size, weight_size, groups):
    """Raise RuntimeError for shapes that do not fit each other."""
    if len(input_size) not in (3, 4):
        raise RuntimeError(f"conv2d got an input of shape {tuple(input_size)}: it must be a batch "
                           "(N, C, H, W) or one picture (C, H, W).")
    if len(weight_size) != 4:
        raise RuntimeError(f"conv2d got a weight of shape {tuple(weight_size)}: it must be "
                           "(channels out, channels in / groups, kernel height, kernel width).")
    c, o, per_group = input_size[-3], weight_size[0], weight_size[1]
    if whole(groups, "groups") < 1:
        raise RuntimeError(f"conv2d got groups={groups}: it must be at least 1.")
    if o < 1 or o % groups:
        raise RuntimeError(f"conv2d with groups={groups} got a weight of shape {tuple(weight_size)}: its "
                           f"first size must be a multiple of {groups}, the same for each group.")
    if c != per_group * groups:
        raise RuntimeError(f"conv2d with groups={groups} and a weight of shape {tuple(weight_size)} got an "
                           f"input of shape {tuple(input_size)}: it must have {per_group * groups} channels, "
                           f"and has {c}.")


def check_bias(weight, bias):
    """Raise RuntimeError if the bias is not one number for each channel out."""
    if bias is not None and bias.shape != (len(weight),):
        raise RuntimeError(f"conv2d with a weight of shape {weight.shape} got a bias of shape "
                           f"{bias.shape}: it must be ({len(weight)},), a number for each channel out.")


def check_gradient_size(g, *size):
    """Raise RuntimeError if g, a gradient of conv2d's result, has not the size of that result."""
    if g.shape != size:
        raise RuntimeError(f"the gradient of a conv2d with a result of shape {size} has shape {g.shape}: "
                           "they must be equal.")


def one_dtype(name, *arrays):
    """Raise RuntimeError if the arrays have several dtypes, NotImplementedError for bools."""
    dtypes = [x.dtype for x in arrays if x is not None]
    if any([dtype != dtypes[0] for dtype in dtypes]):
        raise RuntimeError(f"{name} got {' and '.join([str(d) for d in dtypes])}: all must have one dtype. "
                           "Convert: x.to(...).")
    if dtypes[0].kind == "b":
        raise NotImplementedError(f"{name} is not defined for bools. Convert them first: x.float().")


def fit(n, margin, extent, step):
    """How many windows of `extent` fit into n numbers with this margin, `step` apart."""
    return (n + sum(margin) - extent) // step + 1


def conv_grid(input_size, kernel, stride, dilation, margins):
    """The Grid of a convolution; RuntimeError if not one window fits."""
    extent = [gap * (k - 1) + 1 for k, gap in zip(kernel, dilation)]
    size = tuple(map(fit, input_size[-2:], margins, extent, stride))
    if min(kernel) < 1 or 0 in input_size[-2:]:
        raise RuntimeError(f"conv2d of shape {tuple(input_size)} with a kernel of {tuple(kernel)}: only the "
                           "batch and the channels may be empty.")
    if min(size) < 1:
        height, width = [n + sum(margin) for n, margin in zip(input_size[-2:], margins)]
        raise RuntimeError(f"conv2d of a padded input of ({height}, {width}) with a kernel that covers "
                           f"{tuple(extent)}: the kernel cannot be larger than the input. Pad more, or use a "
                           "smaller one.")
    return Grid(size, tuple(kernel), stride, dilation, margins)


def halves_in_float32(forward):
    """`forward` with arrays of float16 computed in float32, and its result float16 again."""
    @functools.wraps(forward)
    def rounded_once(*args, **params):
        if not any([getattr(x, "dtype", None) == float16 for x in args]):
            return forward(*args, **params)
        args = [x.astype(float32) if getattr(x, "dtype", None) == float16 else x for x in args]
        return forward(*args, **params).astype(float16)
    return rounded_once


def pool_grid(name, input_size, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The Grid of a pool. With ceil_mode the last window may stick out; RuntimeError if none fits."""
    if len(input_size) not in (3, 4) or 0 in input_size[-3:]:
        raise RuntimeError(f"{name} got an input of shape {tuple(input_size)}: it must be (N, C, H, W) or "
                           "(C, H, W), and only the batch may be empty.")
    kernel = pair(kernel_size, "kernel_size", 1)
    stride = kernel if stride is None or stride in ((), []) else pair(stride, "stride", 1)
    pads, dilation = pair(padding, "padding"), pair(dilation, "dilation", 1)
    extent = [gap * (k - 1) + 1 for k, gap in zip(kernel, dilation)]
    if any([2 * p > e for p, e in zip(pads, extent)]):
        raise RuntimeError(f"{name}: padding={padding} with kernel_size={kernel_size}: it can be at most "
                           "half of the kernel, or a window would see nothing of the picture.")
    size, margins = [], []
    for n, e, step, p in zip(input_size[-2:], extent, stride, pads):
        count = fit(n, (p, p), e, step)
        if ceil_mode and count * step < n + p and (n + 2 * p - e) % step:   # one more that begins inside
            count += 1
        size.append(count)
        margins.append((p, max(p, (count - 1) * step + e - n - p)))
    if min(size) < 1:
        raise RuntimeError(f"{name} of shape {tuple(input_size)} with windows of {tuple(extent)} and "
                           f"padding={padding}: not one window fits. Use a smaller kernel.")
    return Grid(tuple(size), kernel, stride, dilation, tuple(margins))


def check_batch_norm(input, running_mean, running_var, weight, bias, training, eps):
    """Raise what PyTorch raises for inputs of batch_norm that do not fit each other."""
    if input.ndim < 2:
        raise RuntimeError(f"batch_norm got an input of shape {input.shape}: it must be (N, C, ...).")
    if input.dtype.kind != "f":
        raise NotImplementedError(f"batch_norm of {input.dtype} numbers: its results have fractions. Convert "
                                  "them first: x.float().")
    if eps < 0 or training and eps == 0:
        raise ValueError(f"batch_norm got eps={eps}: it must be positive, or a variance of 0 is divided by.")
    if (running_mean is None) != (running_var is None):
        raise ValueError("batch_norm got only one of running_mean and running_var: give both, or neither.")
    if not training and running_mean is None:
        raise RuntimeError("batch_norm with training=False needs running_mean and running_var: there is no "
                           "batch to take them from.")
    c = input.shape[1]
    for name, x in dict(running_mean=running_mean, running_var=running_var, weight=weight, bias=bias).items():
        if x is not None and x.shape != (c,):
            raise RuntimeError(f"batch_norm of shape {input.shape} got a {name} of shape {x.shape}: it "
                               f"must be ({c},), a number for each channel.")
    if training and math.prod(input.shape) // max(c, 1) == 1:
        raise ValueError(f"batch_norm expected more than 1 value per channel when training, got "
                         f"{input.shape}: one number has no variance. Use a larger batch, or eval().")
