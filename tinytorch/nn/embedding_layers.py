# Generated from modules/11_embeddings/embedding_layers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 06c53c34b7da414392d8fb62641e430563bda2e8e8f7f1f31884b7c834ebf29a  body sha256 1d2d02d18a8710953065af121bb2a9c50eb516c149a3e9639e3623fe42be0675  # noqa: E501
"""nn.embedding_layers: built in module 11_embeddings."""

import numpy as np

from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module, wrote
from tinytorch.core.creation import empty
from tinytorch.core.op import op
from tinytorch.nn.embedding_parts import check_lookup
from tinytorch.nn.embeddings import embedding as lookup
from tinytorch.nn.initializers import normal_
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter, overwrite

__all__ = ["Embedding", "divided_gradient", "embedding", "how_often", "row_of", "shorten"]


def row_of(padding_idx, rows, error):
    """padding_idx counted from 0, or None; raises `error` if there is no such row."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise error(f"embedding: padding_idx={padding_idx} is no row of a table with {rows}: it goes from "
                    f"{-rows} to {rows - 1}.")
    return padding_idx % rows


def shorten(weight, ids, max_norm, norm_type=2.0):
    """Scale the rows of the array `weight` that `ids` names and that are longer than max_norm, in place.

    norm_type: the p of the norm. A row that is not named stays as it is, however long.
    """
    ids = ids.reshape(-1)
    rows = weight[ids]
    if norm_type == float("inf"):
        norms = abs(rows).max(1, keepdims=True)
    else:
        norms = (abs(rows) ** norm_type).sum(1, keepdims=True) ** (1 / norm_type)
    xp = array_module(weight)
    weight[ids] = rows * xp.where(norms > max_norm, max_norm / (norms + 1e-7), 1).astype(weight.dtype)
    wrote(weight)


def how_often(ids, rows):
    """For each of the ids how often it occurs among them, in their shape."""
    return array_module(ids).bincount(ids.reshape(-1), minlength=rows)[ids]


@op(promote=False)
def divided_gradient(x, counts):
    """x itself; its gradient is divided by counts, (...) for x (..., d)."""
    return x.copy()
@vjp(divided_gradient)
def _(out, x, counts):
    return lambda g: (g / counts[..., None], None)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
              sparse=False):
    """The rows of weight (V, d) with the ids `input` (...), int64 or int32: (..., d).

    padding_idx: an id, which may count from the end, whose row gets no gradient. max_norm: rows that are
    looked up and longer than that are shortened first, in place and for good. scale_grad_by_freq: a row's
    gradient is divided by how often it was looked up. Raises IndexError for an id that is no row.
    """
    if sparse:
        raise NotImplementedError("embedding(sparse=True): there are no sparse gradients here. Leave it out: "
                                  "the gradient is a dense table with the same numbers.")
    check_lookup(input, weight)
    padding_idx = row_of(padding_idx, len(weight), RuntimeError)
    if max_norm is not None:
        lookup(input, weight.detach())                 # IndexError before anything is written
        shorten(weight.data, input.data, max_norm, norm_type)
    out = lookup(input, weight, padding_idx)
    return divided_gradient(out, how_often(input.data, len(weight))) if scale_grad_by_freq else out


class Embedding(Module):
    """A table of vectors to be learned, `weight` (num_embeddings, embedding_dim): ids (...) to (..., d).

    The vectors are drawn from N(0, 1); that of padding_idx is 0, and stays so. The other arguments are
    those of the function `embedding`. Raises ValueError for a padding_idx that is no row.

    >>> Embedding(10, 3)(tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
    (2, 4, 3)
    """
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False, device=None,
                 dtype=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = row_of(padding_idx, num_embeddings, ValueError)
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.sparse = sparse
        if _weight is not None and _weight.shape != (num_embeddings, embedding_dim):
            raise ValueError(f"Embedding: the weight has shape {_weight.shape}, and must be "
                             f"{(num_embeddings, embedding_dim)}, num_embeddings and embedding_dim.")
        drawn = _weight is None
        self.weight = Parameter(empty(num_embeddings, embedding_dim, dtype=dtype, device=device) if drawn
                                else _weight, requires_grad=not _freeze)
        if drawn:
            self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0,
                        scale_grad_by_freq=False, sparse=False):
        """A layer around the table `embeddings` (V, d), whose memory it shares; learned unless `freeze`."""
        if embeddings.ndim != 2:
            raise ValueError(f"Embedding.from_pretrained of {embeddings.shape}: a table has two dimensions, "
                             "(num_embeddings, embedding_dim).")
        return cls(*embeddings.shape, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
                   _weight=embeddings, _freeze=freeze)

    def reset_parameters(self):
        """Draw the numbers anew, as the constructor did."""
        normal_(self.weight)
        if self.padding_idx is not None:
            overwrite(self.weight.detach()[self.padding_idx], np.zeros(self.embedding_dim))

    def forward(self, input):
        return embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                         self.scale_grad_by_freq, self.sparse)

    def extra_repr(self):
        shown = [f"{self.num_embeddings}, {self.embedding_dim}"]
        for name, usual in ("padding_idx", None), ("max_norm", None), ("norm_type", 2), (
                "scale_grad_by_freq", False):
            if getattr(self, name) != usual:
                shown.append(f"{name}={getattr(self, name)}")
        return ", ".join(shown + ["sparse=True"] * self.sparse)
