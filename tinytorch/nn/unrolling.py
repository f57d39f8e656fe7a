# Generated from modules/09_spatial/unrolling_dev.py by tito export. Edit the lesson, not this file.
# source sha256 cd53b96bd55bc82bce93a045064779e5cbd8fe3e70fed129e2ab582b54b6853c  body sha256 6e79b629bcf52df2216251d74f299b10d9ef19b1fa8a863246499c87489c07e6  # noqa: E501
"""nn.unrolling: built in module 09_spatial."""

import math

import numpy as np

from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module
from tinytorch.core.op import op
from tinytorch.core.rules import spread
from tinytorch.core.threads import threads_of_blas, together

__all__ = ["CACHE", "LongRows", "SMALL", "Unrolling", "channel_sums", "in_parts", "parts"]


class Unrolling:
    """Pictures as matrices: (n, G, K, L), with K = C/G * kh * kw numbers in each of L windows.

    grid: where the windows lie. groups: G. size: (H, W) of the pictures without their margins.
    """
    def __init__(self, grid, groups, size):
        self.grid, self.groups = grid, groups
        self.height, self.width = [n + sum(margin) for n, margin in zip(size, grid.margins)]

    def zeros(self, like, n, c):
        """n pictures of zeros with their margins, (n, c, height, width), of the kind of the array `like`."""
        return array_module(like).zeros((n, c, self.height, self.width), like.dtype)

    def padded(self, x): return self.grid.padded(x)

    def matrix(self, weight):
        """weight (O, C/G, kh, kw) as matrices (G, O/G, K)."""
        return weight.reshape(self.groups, len(weight) // self.groups, -1)

    def weight(self, matrix, size):
        """The inverse of `matrix`; size: (O, C/G, kh, kw)."""
        return matrix.reshape(size)

    def line(self, g):
        """One number for each window, g (n, O, rows, columns), as (n, G, O/G, L)."""
        n, o, rows, columns = g.shape
        return g.reshape(n, self.groups, o // self.groups, rows * columns)

    def picture(self, sums):
        """The inverse of `line`."""
        n, groups, o, _ = sums.shape
        return sums.reshape(n, groups * o, *self.grid.size)


class LongRows(Unrolling):
    """For stride 1. K counts in the order kh, kw, C/G; L = rows * width, the windows over the edge too.

    In the gradients an inf or nan, times a dropped window's 0, is nan, and may reach neighbouring pixels.
    """
    def zeros(self, like, n, c):
        (kh, kw), (down, across) = self.grid.kernel, self.grid.dilation
        size = n * c * self.height * self.width
        behind = (kh - 1) * down * self.width + (kw - 1) * across
        memory = array_module(like).zeros(size + behind, like.dtype)
        return memory[:size].reshape(n, c, self.height, self.width)

    def padded(self, x):
        out = self.zeros(x, *x.shape[:2])
        self.grid.cropped(out, *x.shape[2:])[...] = x
        return out

    def matrix(self, weight): return super().matrix(weight.transpose(0, 2, 3, 1))

    def weight(self, matrix, size):
        o, c, kh, kw = size
        return matrix.reshape(o, kh, kw, c).transpose(0, 3, 1, 2)

    def long(self, x):
        """For each place in a window one long row, a view of x: (n, G, kh, kw, C/G * height * width)."""
        (kh, kw), (down, across) = self.grid.kernel, self.grid.dilation
        whole, channel, line, step = x.strides
        c = x.shape[1] // self.groups
        shape = len(x), self.groups, kh, kw, c * self.height * self.width
        strides = whole, c * channel, down * line, across * step, step
        return array_module(x).lib.stride_tricks.as_strided(x, shape, strides)

    def rows(self, x):
        """The windows of the padded pictures x (n, C, height, width): (n, G, K, L)."""
        rows = self.long(x).reshape(len(x), self.groups, -1, self.height * self.width)
        return rows[..., :self.grid.size[0] * self.width]

    def add_back(self, dx, matrix, g):
        """Add matrix @ g, (n, G, K, L), to dx (n, C, height, width): each number where `rows` took it."""
        xp, length = array_module(dx), g.shape[-1]
        rows = xp.empty((len(dx), self.groups, matrix.shape[-2], self.height * self.width), dx.dtype)
        xp.matmul(matrix, g, out=rows[..., :length])
        rows[..., length:] = 0
        there = self.long(dx)
        rows = rows.reshape(there.shape)
        for i in range(there.shape[2]):
            for j in range(there.shape[3]):
                there[:, :, i, j] += rows[:, :, i, j]

    def line(self, g):
        n, o, rows, columns = g.shape
        wide = array_module(g).zeros((n, self.groups, o // self.groups, rows, self.width), g.dtype)
        wide[..., :columns] = g.reshape(n, self.groups, o // self.groups, rows, columns)
        return wide.reshape(n, self.groups, o // self.groups, rows * self.width)

    def picture(self, sums):
        n, groups, o, _ = sums.shape
        rows, columns = self.grid.size
        return sums.reshape(n, groups * o, rows, self.width)[..., :columns]


CACHE = 1 << 19            # numbers at a time: few enough to be in a cache when the product reads them
SMALL = 1 << 21            # of up to so many in a batch, a second thread costs what it saves


def parts(n, numbers, threads=1):
    """Slices over n pictures: a few at a time, so that their windows, `numbers` each, stay in a cache.

    There are as many for each of the `threads`, unless all is small.

    >>> parts(5, 200_000)
    [slice(0, 3, None), slice(3, 6, None)]
    """
    if n * numbers <= SMALL:
        threads = 1
    count = max(1, math.ceil(n * numbers / CACHE / threads)) * threads
    step = max(1, math.ceil(n / count))
    return [slice(start, start + step) for start in range(0, n, step)]


def in_parts(work, x, numbers):
    """[work(part), ...] for slices over the pictures x, whose windows have `numbers` numbers each."""
    if array_module(x) is not np:
        return [work(part) for part in parts(len(x), numbers)]     # a GPU has its own ways to share work
    return together(work, parts(len(x), numbers, threads_of_blas()))


@op
def channel_sums(g):
    """The sum of each channel of g (N, O, rows, columns) or (O, rows, columns): (O,), by a matrix product."""
    o, rows, columns = g.shape[-3:]
    n, ones = math.prod(g.shape[:-3]), array_module(g).ones(rows * columns, g.dtype)
    return (g.reshape(n * o, rows * columns) @ ones).reshape(n, o).sum(0)


@vjp(channel_sums)
def _(out, g):
    shape = g.shape
    return lambda h: (spread(h.reshape(-1, 1, 1), shape),)
