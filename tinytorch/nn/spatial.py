# Generated from modules/09_spatial/spatial_dev.py by tito export. Edit the lesson, not this file.
# source sha256 b1eedd4760c023cd2abd94a642bc220e2b1210cc8dd4b6339ca7ce3f0c207033  body sha256 5f96a9101bbfbfd928c8af58c9dae54404ab1b4c438c715010a712470152d6ed  # noqa: E501
"""nn.spatial: built in module 09_spatial."""

import math

import numpy as np

from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module
from tinytorch.core.op import op
from tinytorch.nn.conv_parts import (
    batched,
    check_bias,
    check_conv,
    check_gradient_size,
    conv_grid,
    halves_in_float32,
    margins_of,
    one_dtype,
    pair,
)
from tinytorch.nn.unrolling import LongRows, Unrolling, channel_sums, in_parts

__all__ = [
    "Windows", "conv2d", "conv2d_input", "conv2d_loops", "conv2d_weight", "conv_part", "grid_of",
    "output_size", "plan_of", "same_padding", "weight_part", "windows",
]


def output_size(n, kernel, stride=1, padding=0, dilation=1):
    """How many windows of `kernel` numbers there are in n numbers with `padding` zeros at both ends.

    stride: how far the windows are apart. dilation: how far the numbers of a window are apart. An int.

    >>> output_size(28, 3, stride=2, padding=1)
    14
    """
    return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def same_padding(kernel, dilation=1):
    """(before, after): how many zeros keep a row's size. If they are odd in number, `after` gets one more.

    >>> same_padding(3), same_padding(3, dilation=2)
    ((1, 1), (2, 2))
    """
    total = dilation * (kernel - 1)
    return total // 2, total - total // 2


def conv2d_loops(x, weight, stride=1):
    """The sum of each window times each filter, number by number, to know what is meant.

    x: (N, C, H, W), weight: (O, C, kh, kw), arrays. Returns (N, O, rows, columns), float64.

    >>> conv2d_loops(np.arange(1, 17).reshape(1, 1, 4, 4), np.array([[[[0, 1], [0, 0]]]]), stride=2)
    array([[[[ 2.,  4.],
             [10., 12.]]]])
    """
    n, c, h, w = x.shape
    o, _, kh, kw = weight.shape
    out = np.zeros((n, o, output_size(h, kh, stride), output_size(w, kw, stride)))
    for at in np.ndindex(out.shape):                   # picture, filter, row, column
        for k in np.ndindex(c, kh, kw):                # channel, row and column in the window
            out[at] += x[at[0], k[0], stride * at[2] + k[1], stride * at[3] + k[2]] * weight[at[1]][k]
    return out


def windows(x, kernel, stride=(1, 1), dilation=(1, 1)):
    """All windows of x (N, C, H, W), as a view: (N, C, rows, columns, kernel height, kernel width).

    kernel, stride, dilation: pairs, for height and width.

    >>> windows(np.arange(16.).reshape(1, 1, 4, 4), (2, 2))[0, 0, 1, 2]
    array([[ 6.,  7.],
           [10., 11.]])
    """
    as_strided = array_module(x).lib.stride_tricks.as_strided
    to_picture, to_channel, down, right = x.strides    # bytes to the next picture, channel, row, number
    rows = output_size(x.shape[2], kernel[0], stride[0], 0, dilation[0])
    columns = output_size(x.shape[3], kernel[1], stride[1], 0, dilation[1])
    return as_strided(x, (*x.shape[:2], rows, columns, *kernel), (
        to_picture, to_channel, stride[0] * down, stride[1] * right, dilation[0] * down, dilation[1] * right))


class Windows(Unrolling):
    """The windows of pictures as columns of matrices, and back."""
    def rows(self, x):
        """The windows of x (n, C, H, W), which has its margins already, as columns: (n, G, K, L).

        K counts channel, row and column in the window, in this order; L the windows, row by row.
        """
        found = windows(x, self.grid.kernel, self.grid.stride, self.grid.dilation)
        n, c, rows, columns, kh, kw = found.shape
        found = found.transpose(0, 1, 4, 5, 2, 3)                              # (n, C, kh, kw, rows, columns)
        return found.reshape(n, self.groups, c // self.groups * kh * kw, rows * columns)

    def add_back(self, dx, matrix, g):
        """Exercise 8. Add matrix @ g, (n, G, K, L), to dx in place: each number where `rows` took it from.

        dx: (n, C, H, W), with margins. matrix: (G, K, O/G). g: (n, G, O/G, L). K and L count as in `rows`.
        """
        places = self.grid.places()
        cols = (matrix @ g).reshape(*dx.shape[:2], len(places), *self.grid.size)
        for i, place in enumerate(places):
            dx[place] += cols[:, :, i]


def grid_of(input_size, weight_size, stride=1, padding=0, dilation=1):
    """Where the windows of a convolution lie, from what conv2d is asked with."""
    kernel, stride = tuple(weight_size[2:]), pair(stride, "stride", 1)
    dilation = pair(dilation, "dilation", 1)
    return conv_grid(input_size, kernel, stride, dilation,
                     margins_of(padding, kernel, stride, dilation, same_padding))


def plan_of(input_size, weight_size, stride, padding, dilation, groups):
    """(grid, u, numbers) for a convolution: where windows lie, what unrolls them, how much that is."""
    check_conv(input_size, weight_size, groups)
    grid = grid_of(input_size, weight_size, stride, padding, dilation)
    u = (LongRows if grid.stride == (1, 1) else Windows)(grid, groups, input_size[-2:])
    return grid, u, math.prod(weight_size[1:]) * groups * math.prod(grid.size)


def conv_part(u, matrix, x):
    """Exercise 6. Windows of pictures x (n, C, H, W) times filters (G, O/G, K): (n, O, rows, columns)."""
    return u.picture(matrix @ u.rows(x))


@op
@halves_in_float32
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The sum of each window times each filter, plus bias: (N, O, rows, columns), PyTorch's arguments.

    input: (N, C, H, W) or (C, H, W), weight: (O, C/groups, kh, kw), bias: (O,). Numbers, or pairs for height
    and width; padding may also be "same" or "valid". Raises RuntimeError if sizes or dtypes do not fit.

    >>> conv2d(np.arange(1, 17).reshape(1, 4, 4), np.array([[[[1, 0], [0, -1]]]]), stride=2)
    array([[[-5, -5],
            [-5, -5]]])
    """
    grid, u, numbers = plan_of(input.shape, weight.shape, stride, padding, dilation, groups)
    check_bias(weight, bias)
    one_dtype("conv2d", input, weight, bias)
    x, matrix = u.padded(batched(input)), u.matrix(weight)
    out = array_module(x).empty((len(x), len(weight), *grid.size), x.dtype)

    def fill(part):
        out[part] = conv_part(u, matrix, x[part])
        if bias is not None:
            out[part] += bias.reshape(len(weight), 1, 1)
    in_parts(fill, x, numbers)
    return out if input.ndim == 4 else out[0]


def weight_part(u, x, g):
    """Exercise 7. Windows of x (n, C, H, W) times their g (n, O, rows, columns), summed: (G, K, O/G)."""
    return (u.rows(x) @ u.line(g).swapaxes(2, 3)).sum(0)


@op
@halves_in_float32
def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv2d's weight, of shape `weight_size`.

    input: (N, C, H, W), grad_output: (N, O, rows, columns), the gradient of the result; or both without N.

    >>> g = np.array([[[1, 0, 0], [0, 2, 0], [0, 0, 0]]])
    >>> conv2d_weight(np.arange(1, 17).reshape(1, 4, 4), (1, 1, 2, 2), g)
    array([[[[13, 16],
             [25, 28]]]])
    """
    grid, u, numbers = plan_of(input.shape, weight_size, stride, padding, dilation, groups)
    x, g, o, k = u.padded(batched(input)), batched(grad_output), weight_size[0], math.prod(weight_size[1:])
    check_gradient_size(g, len(x), o, *grid.size)

    total = array_module(x).zeros((groups, k, o // groups), x.dtype)
    for some in in_parts(lambda part: weight_part(u, x[part], g[part]), x, numbers):
        total += some
    return u.weight(total.swapaxes(1, 2), weight_size)


@op
@halves_in_float32
def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv2d's input, of shape `input_size`: each window's g times the filter, put back.

    input_size: (N, C, H, W). weight: (O, C/groups, kh, kw). grad_output: (N, O, rows, columns). Or without N.

    >>> conv2d_input((1, 1, 3), np.array([[[[1, 10]]]]), np.array([[[2, 3]]]))
    array([[[ 2, 23, 30]]])
    """
    grid, u, numbers = plan_of(input_size, weight.shape, stride, padding, dilation, groups)
    g, matrix = batched(grad_output), u.matrix(weight).swapaxes(1, 2)
    check_gradient_size(g, *(input_size[:-3] or (1,)), len(weight), *grid.size)
    dx = u.zeros(g, len(g), input_size[-3])
    in_parts(lambda part: u.add_back(dx[part], matrix, u.line(g[part])), g, numbers)
    return grid.cropped(dx, *input_size[-2:]).reshape(input_size)


@vjp(conv2d)
def _(out, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    how = stride, padding, dilation, groups
    return lambda g: (lambda: conv2d_input(input.shape, weight, g, *how),
                      lambda: conv2d_weight(input, weight.shape, g, *how),
                      lambda: channel_sums(g))
@vjp(conv2d_weight)
def _(out, input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    how = stride, padding, dilation, groups
    return lambda h: (lambda: conv2d_input(input.shape, h, grad_output, *how), None,
                      lambda: conv2d(input, h, None, *how))
@vjp(conv2d_input)
def _(out, input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    how = stride, padding, dilation, groups
    return lambda h: (None, lambda: conv2d_weight(h, weight.shape, grad_output, *how),
                      lambda: conv2d(h, weight, None, *how))
