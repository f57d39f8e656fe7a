# Generated from modules/01_tensor/math_dev.py by tito export. Edit the lesson, not this file.
# source sha256 291cfdffa9b4a550e1785d7760360448406aebe3c87c286ff27f88722f0184c9  body sha256 00d1504692b54803c2d3cac5245ed10f8650018ebec19b2ac1864057a8dd820b  # noqa: E501
"""core.products: built in module 01_tensor."""

import math

from tinytorch.core import ops
from tinytorch.core.base import method
from tinytorch.core.math import nan_to_num

__all__ = [
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "contract", "dot", "einsum", "inner",
    "kron", "mm", "mv", "outer", "tensordot", "trace",
]


def _dims(name, x, y, nx, ny):
    """Refuse operands of other numbers of dimensions than the product `name` is for."""
    if x.ndim != nx or y.ndim != ny:
        raise RuntimeError(f"{name} of {x.shape} and {y.shape}: it takes {nx} and {ny} dimensions. "
                           "matmul takes any.")


@method
def mm(x, y):
    """The product of two matrices."""
    _dims("mm", x, y, 2, 2)
    return ops.matmul(x, y)


@method
def bmm(x, y):
    """The products of two stacks of matrices, without broadcasting."""
    _dims("bmm", x, y, 3, 3)
    if x.shape[0] != y.shape[0]:
        raise RuntimeError(f"bmm of {x.shape} and {y.shape}: both need as many matrices. "
                           "matmul broadcasts.")
    return ops.matmul(x, y)


@method
def mv(x, y):
    """A matrix times a vector."""
    _dims("mv", x, y, 2, 1)
    return ops.matmul(x, y)


@method
def dot(x, y):
    """The sum of the products of two vectors' numbers."""
    _dims("dot", x, y, 1, 1)
    return ops.matmul(x, y)


@method
def outer(x, y):
    """Every number of a vector times every number of another."""
    _dims("outer", x, y, 1, 1)
    return x.unsqueeze(1) * y


@method
def inner(x, y):
    """Products summed over the last dimensions of both."""
    return x * y if 0 in (x.ndim, y.ndim) else tensordot(x, y, ([-1], [-1]))


def _plus(x, product, beta, alpha):
    """beta * x + alpha * product, of the product's shape and dtype; beta 0 means that x is not looked at."""
    beta, alpha = [product.dtype.type(n).item() for n in (beta, alpha)]
    x, product = x.expand(product.shape), product if alpha == 1 else product * alpha
    return x + product if beta == 1 else (x if beta else nan_to_num(x, 0.0, 0.0, 0.0)) * beta + product


@method
def addmm(x, mat1, mat2, beta=1, alpha=1): return _plus(x, mm(mat1, mat2), beta, alpha)
@method
def addmv(x, mat, vec, beta=1, alpha=1): return _plus(x, mv(mat, vec), beta, alpha)
@method
def addbmm(x, batch1, batch2, beta=1, alpha=1): return _plus(x, bmm(batch1, batch2).sum(0), beta, alpha)
@method
def baddbmm(x, batch1, batch2, beta=1, alpha=1): return _plus(x, bmm(batch1, batch2), beta, alpha)
@method
def addr(x, vec1, vec2, beta=1, alpha=1): return _plus(x, outer(vec1, vec2), beta, alpha)


@method
def trace(x):
    """The sum of a matrix's diagonal."""
    if x.ndim != 2:
        raise RuntimeError(f"trace of {x.shape}: it takes a matrix. Use diagonal(dim1, dim2).sum(-1).")
    return x.diagonal().sum()


@method
def kron(x, y):
    """Kronecker's product: each number of x times the whole of y, in place of the number."""
    n = x.ndim if x.ndim > y.ndim else y.ndim
    a, b = (1,) * (n - x.ndim) + x.shape, (1,) * (n - y.ndim) + y.shape
    apart = x.reshape([m for size in a for m in (size, 1)]) * y.reshape([m for size in b for m in (1, size)])
    return apart.reshape([i * j for i, j in zip(a, b)])


def contract(x, xs, y, ys, out):
    """The product of x and y, summed to the names `out`; the lists xs and ys name their dimensions."""
    for name in set(xs) & set(ys):                    # of sizes 1 and n: the 1 is no dimension of its own
        if x.shape[xs.index(name)] != y.shape[ys.index(name)]:
            if x.shape[xs.index(name)] == 1:
                x, xs = x.squeeze(xs.index(name)), [n for n in xs if n != name]
            elif y.shape[ys.index(name)] == 1:
                y, ys = y.squeeze(ys.index(name)), [n for n in ys if n != name]
            else:
                raise RuntimeError(f"einsum or tensordot of {x.shape} and {y.shape}: dimension {name!r} has "
                                   "two sizes. They must be equal.")
    x, xs = _summed(x, xs, [*ys, *out])
    y, ys = _summed(y, ys, [*xs, *out])
    batch = [n for n in xs if n in ys and n in out]
    gone = [n for n in xs if n in ys and n not in out]
    left, right = [n for n in xs if n not in ys], [n for n in ys if n not in xs]
    size = {**dict(zip(xs, x.shape)), **dict(zip(ys, y.shape))}
    count = lambda names: math.prod([size[n] for n in names])                # noqa: E731
    x = _ordered(x, xs, batch + left + gone).reshape([*[size[n] for n in batch], count(left), count(gone)])
    y = _ordered(y, ys, batch + gone + right).reshape([*[size[n] for n in batch], count(gone), count(right)])
    return _ordered((x @ y).reshape([size[n] for n in batch + left + right]), batch + left + right, out)


def _ordered(x, names, out):
    """x with its named dimensions in another order."""
    return x if names == out else x.permute([names.index(n) for n in out])


def _summed(x, names, wanted):
    """x summed over the dimensions that nobody wants."""
    dims = [i for i, n in enumerate(names) if n not in wanted]
    return (x.sum(dims), [n for n in names if n in wanted]) if dims else (x, names)


@method
def tensordot(x, y, dims=2):
    """Products summed over the last `dims` dimensions of x and the first of y, or over two lists of them."""
    if isinstance(dims, int):
        dims = range(x.ndim - dims, x.ndim), range(dims)
    xs, ys = list(range(x.ndim)), [("y", i) for i in range(y.ndim)]
    for i, j in zip(*dims):
        ys[j] = xs[i]
    gone = [xs[i] for i in dims[0]]
    return contract(x, xs, y, ys, [n for n in [*xs, *ys] if n not in gone])


def einsum(equation, *operands):
    """Sums of products by letters: `einsum("bij,bjk->bik", x, y)` is a batch of matrix products.

    A letter that the right side lacks is summed; without `->` the right side is every letter that
    occurs once, in alphabetical order. `...` stands for any dimensions, which broadcast.
    """
    operands = list(operands[0]) if isinstance(operands[0], (list, tuple)) else list(operands)
    names, out = _letters(equation.replace(" ", ""), [x.ndim for x in operands])
    for i, x in enumerate(operands):
        for letter in [n for n in dict.fromkeys(names[i]) if names[i].count(n) > 1]:
            while names[i].count(letter) > 1:                                # "ii": the diagonal
                first, second = [d for d, n in enumerate(names[i]) if n == letter][:2]
                x = x.diagonal(0, first, second)
                names[i] = [n for d, n in enumerate(names[i]) if d not in (first, second)] + [letter]
        operands[i] = x
    x, xs = operands[0], names[0]
    for i, y in enumerate(operands[1:], 1):
        later = [n for other in names[i + 1:] for n in other]
        both = list(dict.fromkeys([n for n in [*xs, *names[i]] if n in out or n in later]))
        x, xs = contract(x, xs, y, names[i], both), both
    x, xs = _summed(x, xs, out)
    return _ordered(x, xs, out)


def _letters(equation, ndims):
    """A list of dimension names for each operand, and one for the result; `...` becomes numbers."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise RuntimeError(f"einsum({equation!r}): it names {len(terms)} operands and got {len(ndims)}.")
    names = [_spelled(term, n, equation) for term, n in zip(terms, ndims)]
    dots = {n for term in names for n in term if isinstance(n, int)}
    if arrow:
        out = _spelled(right, None, equation, sorted(dots))
        if len(set(out)) < len(out) or {*out} - {n for term in names for n in term}:
            raise RuntimeError(f"einsum({equation!r}): each letter on the right must be there once, and "
                               "must be on the left too.")
        return names, out
    letters = sorted([n for term in names for n in term if isinstance(n, str)])
    return names, sorted(dots) + [n for n in letters if letters.count(n) == 1]


def _spelled(term, ndim, equation, dots=None):
    """The names in a term; the dimensions under `...` count back from -1, so that they are aligned."""
    before, found, after = term.partition("...")
    if before + after and not (before + after).isalpha():
        raise RuntimeError(f"einsum({equation!r}): {term!r} must be letters, and at most one '...'.")
    if dots is None:
        rest = ndim - len(before + after)
        if rest < 0 or rest and not found:
            raise RuntimeError(f"einsum({equation!r}): {term!r} is for another number of dimensions than "
                               f"the operand's {ndim}.")
        dots = list(range(-rest, 0))
    return [*before, *(dots if found else []), *after]
