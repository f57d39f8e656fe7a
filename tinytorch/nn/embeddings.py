# Generated from modules/11_embeddings/embeddings_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a3ccf52751dd41b2f34b41f4cd62c34bc18776de5be34d6dd7d192fddbb4e2b0  body sha256 1904d1decff3fde585e3cdbd2895c1e95677a72c5c047272001af9a9834b1f72  # noqa: E501
"""nn.embeddings: built in module 11_embeddings."""

import numpy as np

from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module
from tinytorch.core.indexing import add_at
from tinytorch.core.op import op
from tinytorch.core.ops import masked_fill
from tinytorch.nn.embedding_parts import check_lookup

__all__ = ["embedding", "embedding_grad", "embedding_rule"]


@op(promote=False)
def embedding(ids, weight, padding_idx=None):
    """The rows of weight (V, d) with these ids (...): (..., d), a copy, of the dtype of weight.

    Raises IndexError for an id below 0 or from V on; it names the id and the largest allowed.

    >>> embedding(np.array([1, 3, 1]), np.array([[0., 0.], [1., 10.], [2., 20.], [3., 30.]]))
    array([[ 1., 10.],
           [ 3., 30.],
           [ 1., 10.]])
    """
    check_lookup(ids, weight)
    wrong = (ids < 0) | (ids >= len(weight))
    if wrong.any():
        bad = int(ids[wrong][0])
        raise IndexError(f"embedding: id {bad} is no row of the table: ids go from 0 to {len(weight) - 1}.")
    return weight[ids]


@op(promote=False)
def embedding_grad(g, ids, rows):
    """A table (rows, d) of zeros, with each vector of g (..., d) added to the row of its id, ids (...).

    >>> embedding_grad(np.array([[1., 10.], [2., 20.], [4., 40.]]), np.array([1, 3, 1]), 4)
    array([[ 0.,  0.],
           [ 5., 50.],
           [ 0.,  0.],
           [ 2., 20.]])
    """
    ids, g = ids.reshape(-1), g.reshape(ids.size, g.shape[-1])                 # (N,) and (N, d)
    out = array_module(g).zeros((rows, g.shape[-1]), g.dtype)
    if array_module(g) is not np:
        return add_at(out, ids, g)                     # a GPU adds all at once
    order = ids.argsort(kind="stable")
    found = ids[order]
    starts = np.flatnonzero(np.diff(found, prepend=-1))
    out[found[starts]] = np.add.reduceat(g[order], starts)
    return out


@vjp(embedding_grad)
def _(out, g, ids, rows): return lambda h: (embedding(ids, h), None)           # for second derivatives


@vjp(embedding)
def embedding_rule(out, ids, weight, padding_idx=None):
    """The pullback of `embedding`: None for the ids, and the gradient (V, d) of the table.

    The row padding_idx, if there is one, gets zeros.
    """
    rows = len(weight)
    def pull(g):
        if padding_idx is not None:
            g = masked_fill(g, (ids == padding_idx)[..., None], 0.0)
        return None, embedding_grad(g, ids, rows)
    return pull
