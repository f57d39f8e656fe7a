# Generated from modules/09_spatial/pool_parts_dev.py by tito export. Edit the lesson, not this file.
# source sha256 ceeafdba9b3f5896db173bd2eca4e8979e3be9e0bcb11b2b09cf57b19458d559  body sha256 36e51113e1bb2a276d7510f75a73c50e82ea2657c7291de82069cda81fac6d0c  # noqa: E501
"""nn.pool_parts: built in module 09_spatial."""

from tinytorch.core.activation_rules import through
from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module
from tinytorch.core.op import op
from tinytorch.nn.conv_parts import halves_in_float32, pair

__all__ = [
    "adaptive_sizes", "counted_places", "flat_places", "picked", "put_back", "window_spread",
    "window_sums", "winners",
]


@op
@halves_in_float32
def window_sums(x, grid):
    """The sum of each window of x (..., H, W); margins count as zeros."""
    x = grid.padded(x)
    out = array_module(x).zeros((*x.shape[:-2], *grid.size), x.dtype)
    for place in grid.places():
        out += x[place]
    return out


@op
@halves_in_float32
def window_spread(g, grid, height, width):
    """Each number of g (..., rows, columns) added to every place of its window: (..., height, width)."""
    out = grid.zeros(g, *g.shape[:-2], height, width)
    for place in grid.places():
        out[place] += g
    return grid.cropped(out, height, width)


@vjp(window_sums)
def _(out, x, grid):
    height, width = x.shape[-2:]
    return lambda g: (window_spread(g, grid, height, width),)
@vjp(window_spread)
def _(out, g, grid, height, width): return lambda h: (window_sums(h, grid),)


def counted_places(x, grid, border):
    """For a pool of x (..., H, W): a picture as large as x with its margins, of ones and zeros.

    Ones stand in the place of x, and of border = (rows above and below, columns left and right) around it.

    >>> import numpy as np
    >>> from tinytorch.nn.conv_parts import Grid
    >>> grid = Grid((2, 1), (2, 3), (1, 1), (1, 1), ((0, 1), (1, 1)))
    >>> counted_places(np.zeros((2, 1)), grid, (0, 1))
    array([[1., 1., 1.],
           [1., 1., 1.],
           [0., 0., 0.]])
    """
    (top, _), (left, _) = grid.margins
    (h, w), (down, across) = x.shape[-2:], border
    out = grid.zeros(x, h, w)
    out[top - down:top + h + down, left - across:left + w + across] = 1
    return out


def adaptive_sizes(name, input, output_size):
    """The wanted (height, width) of an adaptive pool; None keeps the size. Raises RuntimeError."""
    wanted = output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    if len(wanted) != 2:
        raise RuntimeError(f"{name}: output_size={output_size!r} must be one number, or a pair.")
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        kind = ValueError if wanted is output_size and input.ndim < 3 else RuntimeError      # as PyTorch
        raise kind(f"{name} got an input of shape {input.shape}: it must be (N, C, H, W) or (C, H, W), and "
                   "only the batch may be empty.")
    return pair([n if w is None else w for w, n in zip(wanted, input.shape[-2:])], "output_size")


def winners(x, largest, grid):
    """Which number of its window each of `largest` is: the first that equals it, or the last nan."""
    xp = array_module(x)
    which = xp.zeros(largest.shape, "uint8" if len(grid.places()) < 256 else "int32")
    missing = xp.ones(largest.shape, bool)
    padded, outside = grid.padded(x), grid.padded(xp.zeros(x.shape[-2:], bool), True)
    for place in grid.places():
        other = padded[place] != largest
        if padded is not x:                            # a 0 in the margin is no number
            other |= outside[place]
        missing &= other
        which += missing
    if missing.any():                                  # no number equals it: it is nan
        nans = grid.padded(x != x, False)
        for i, place in enumerate(grid.places()):
            which = xp.where(missing & nans[place], xp.asarray(i, which.dtype), which)
    return which


@op
def picked(x, which, grid):
    """From each window of x (..., H, W) the number that `which` names."""
    x = grid.padded(x)
    out = array_module(x).zeros(which.shape, x.dtype)
    for i, place in enumerate(grid.places()):
        out += through(x[place], which == i)
    return out


@op
def put_back(g, which, grid, height, width):
    """Each number of g (..., rows, columns) at the place of its window that `which` names, added up."""
    out = grid.zeros(g, *g.shape[:-2], height, width)
    apart = all([step > gap * (k - 1) for step, gap, k in zip(grid.stride, grid.dilation, grid.kernel)])
    for i, place in enumerate(grid.places()):
        if apart:                                      # no window shares a number with another
            out[place] = through(g, which == i)
        else:
            out[place] += through(g, which == i)
    return grid.cropped(out, height, width)


@vjp(picked)
def _(out, x, which, grid):
    height, width = x.shape[-2:]
    return lambda g: (put_back(g, which, grid, height, width), None)
@vjp(put_back)
def _(out, g, which, grid, height, width): return lambda h: (picked(h, which, grid), None)


def flat_places(which, grid, width):
    """For each window the place of the number that `which` names, counted through the picture."""
    xp = array_module(which)
    (top, _), (left, _) = grid.margins
    i, j = which // grid.kernel[1], which % grid.kernel[1]
    rows = xp.arange(grid.size[0])[:, None] * grid.stride[0] - top + i.astype("int64") * grid.dilation[0]
    columns = xp.arange(grid.size[1]) * grid.stride[1] - left + j.astype("int64") * grid.dilation[1]
    return rows * width + columns
