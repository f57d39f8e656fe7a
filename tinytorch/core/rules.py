# Generated from modules/05_autograd/autograd_dev.py by tito export. Edit the lesson, not this file.
# source sha256 1706122be39dfb96503994e7313530a4db4aba276fd04cb0504d3b4296e676a9  body sha256 806b5f23e561200c0a28faf86bd2081bcc603b139de820b26993d39825816217  # noqa: E501
"""core.rules: built in module 05_autograd."""

import math

from tinytorch.core import math as math_ops
from tinytorch.core import ops
from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module
from tinytorch.core.op import op
from tinytorch.nn.losses import cross_entropy_rows

__all__ = [
    "add_rule", "as_rows", "both", "cross_entropy_rule", "kept_shape", "matmul_rule",
    "multiply_rule", "spread", "sum_rule", "vector_rule",
]


def both(g): return g, g               # it names nothing, so one function serves all additions


@vjp(ops.add)
def add_rule(out, x, y, alpha=1):
    """The pullback of x + alpha * y (alpha is PyTorch's: x.add(y, alpha=2))."""
    return both if alpha == 1 else lambda g: (g, lambda: g * alpha)


@vjp(ops.multiply)
def multiply_rule(out, x, y):
    """The pullback of x * y: from the gradient of the product to those of x and y.

    >>> x, y, g = np.array(2.), np.array(3.), np.array(16.)
    >>> dx, dy = multiply_rule(x * y, x, y)(g)
    >>> float(dx()), float(dy())
    (48.0, 32.0)
    """
    if isinstance(y, (int, float)): return lambda g: (g * y, None)
    if isinstance(x, (int, float)): return lambda g: (None, g * x)
    return lambda g: (lambda: g * y, lambda: g * x)


@op
def spread(x, shape):
    """x stretched to `shape`, without a copy."""
    return array_module(x).broadcast_to(x, shape)


def kept_shape(shape, dim):
    """The shape that a reduction of an array of `shape` over `dim` has with keepdim.

    >>> kept_shape((2, 3), 1)
    (2, 1)
    """
    dim = ops.axes(dim)
    dims = range(len(shape)) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    return tuple([1 if i in dims or i - len(shape) in dims else n for i, n in enumerate(shape)])


@vjp(math_ops.sum)
def sum_rule(out, x, dim=None, keepdim=False, dtype=None):
    """The pullback of x.sum(dim, keepdim)."""
    shape, once = x.shape, kept_shape(x.shape, dim)
    return lambda g: (spread(g.reshape(once), shape),)


def as_rows(x):
    """x (..., d) as one matrix (n, d)."""
    return x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def vector_rule(x, y):
    """The pullback of a product with a vector: a row on the left, a column on the right."""
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    columns = y.reshape(-1, 1) if y.ndim == 1 else y

    def pull(g):
        if x.ndim == 1:
            g = g.reshape(g.shape[:-1] + (1,) + g.shape[-1:] if y.ndim > 1 else (1,))
        if y.ndim == 1:
            g = g.reshape(g.shape + (1,))
        dx, dy = g @ columns.swapaxes(-1, -2), rows.swapaxes(-1, -2) @ g
        return (dx.reshape(dx.shape[:-2] + dx.shape[-1:]) if x.ndim == 1 else dx,
                dy.reshape(dy.shape[:-1]) if y.ndim == 1 else dy)

    return pull


@vjp(ops.matmul)
def matmul_rule(out, x, y):
    """The pullback of x @ y; x: (..., m, k), y: (..., k, n)."""
    if x.ndim == 1 or y.ndim == 1:
        return vector_rule(x, y)
    if x.ndim > 2 and y.ndim == 2:                     # one large product, not one for each batch element
        return lambda g: (lambda: g @ y.swapaxes(0, 1), lambda: as_rows(x).swapaxes(0, 1) @ as_rows(g))
    return lambda g: (lambda: g @ y.swapaxes(-1, -2), lambda: x.swapaxes(-1, -2) @ g)


@vjp(cross_entropy_rows)
def cross_entropy_rule(kept, logits, target, ignore_index=-100):
    """The pullback of the cross entropy of each row.

    kept: (losses (N,), probabilities (N, C)). target: (N,) integers. Gives a gradient (N, C) for the
    logits and None for the target.
    """
    losses, p = kept
    def pull(g):
        counts = target != ignore_index
        rows = counts.nonzero()[0]
        slope = p * g[:, None]
        slope[rows, target[rows]] -= g[rows]
        slope[~counts] = 0                             # not slope * counts: g may be inf, and inf * 0 is nan
        return slope, None

    return pull
