# Generated from modules/09_spatial/places_dev.py by tito export. Edit the lesson, not this file.
# source sha256 231eb258d55cfc237b0f98ccc8533c7926f37e88ea82638832acf16db7985a52  body sha256 e8d6799917f1d7725f788c89b522d10e0b622f7a7bb316d7203ce109db142668  # noqa: E501
"""nn.places: built in module 09_spatial."""

import math

from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module
from tinytorch.core.indexing import add_at, around
from tinytorch.core.op import op
from tinytorch.core.ops import flat_product

__all__ = ["given_back", "mixed", "mixing_matrix", "shared", "taken"]


def shared(x, shares, i, dim):
    """x times shares[i] along dim; x itself if there are no shares."""
    return x if shares is None else x * shares[i].reshape((-1,) + (1,) * (x.ndim - dim % x.ndim - 1))


@op(promote=False)
def taken(x, dim, places, shares=None):
    """For each new place along dim, the numbers of x at some old places, times their shares, summed.

    places: (k, new) integers; shares: (k, new), or None for the numbers as they are.

    >>> places, shares = np.array([[0, 1], [1, 2]]), np.array([[0.5, 1.], [0.5, 0.]])
    >>> taken.forward(np.array([10., 20., 30.]), 0, places, shares)
    array([15., 20.])
    """
    parts = [shared(x.take(place, dim), shares, i, dim) for i, place in enumerate(places)]
    out = parts[0]
    for part in parts[1:]:
        out += part
    return out


@op(promote=False)
def given_back(g, dim, places, shares, n):
    """g (new along dim) put back to the n old places of `taken`, and added: its transpose."""
    if n * places.shape[1] <= 2 ** 22:
        return mixed(g, mixing_matrix(g, places, shares, n), dim)
    out = array_module(g).zeros(g.shape[:dim] + (n,) + g.shape[dim + 1:], g.dtype)
    for i, place in enumerate(places):
        add_at(out, around(dim, place), shared(g, shares, i, dim))
    return out


def mixing_matrix(like, places, shares, n):
    """(new, n): the share of each old place in each new one. Of both ways to add it is the quicker one."""
    xp, new = array_module(like), places.shape[1]
    matrix, rows = xp.zeros((new, n), like.dtype), xp.arange(new)
    for i, place in enumerate(places):
        matrix[rows, place] += 1 if shares is None else shares[i]
    return matrix


def mixed(g, matrix, dim):
    """g with the numbers along dim times a matrix (new, old)."""
    if dim == g.ndim - 1:
        return flat_product(g, matrix)
    rows = g.reshape(g.shape[:dim + 1] + (math.prod(g.shape[dim + 1:]),))
    return (matrix.T @ rows).reshape(g.shape[:dim] + matrix.shape[1:] + g.shape[dim + 1:])


@vjp(taken)
def _(out, x, dim, places, shares=None):
    n = x.shape[dim]
    return lambda g: (given_back(g, dim, places, shares, n),)
@vjp(given_back)
def _(out, g, dim, places, shares, n): return lambda h: (taken(h, dim, places, shares),)


taken.name, given_back.name = "take", "take's transpose"     # what errors and graphs call them
