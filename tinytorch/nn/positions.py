# Generated from modules/11_embeddings/embeddings_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a3ccf52751dd41b2f34b41f4cd62c34bc18776de5be34d6dd7d192fddbb4e2b0  body sha256 5e92b8f669d818f88b5cbe2f3dfe118bf295f3f78b5f9e068b17e7d42a3401e7  # noqa: E501
"""nn.positions: built in module 11_embeddings."""

import numpy as np

from tinytorch.core.backend import array_module
from tinytorch.core.creation import empty
from tinytorch.nn.embedding_parts import check_features
from tinytorch.nn.initializers import normal_
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter

__all__ = ["LearnedPositionalEmbedding", "sinusoidal_positions"]


def sinusoidal_positions(positions, d_model, base=10000.0):
    """Sines and cosines of the `positions` (...), an array: (..., d_model) float64, fast waves first.

    >>> sinusoidal_positions(np.array([0, 2]), 4).round(4)
    array([[ 0.    ,  1.    ,  0.    ,  1.    ],
           [ 0.9093, -0.4161,  0.02  ,  0.9998]])
    """
    xp = array_module(positions)                       # NumPy, or CuPy on a GPU: it makes the arrays
    out = xp.empty((*positions.shape, d_model))
    waves = xp.arange(0, d_model, 2)                   # 2i
    angles = positions[..., None] * base ** (-waves / d_model)
    out[..., 0::2] = np.sin(angles)
    out[..., 1::2] = np.cos(angles[..., :d_model // 2])
    return out


class LearnedPositionalEmbedding(Module):
    """A learned vector for each of max_len positions, `weight` (max_len, d_model), added to the tokens."""
    def __init__(self, max_len, d_model):
        super().__init__()
        self.max_len, self.d_model = max_len, d_model
        self.weight = Parameter(normal_(empty(max_len, d_model)))

    def forward(self, x, offset=0):
        """x (..., T, d_model) plus the rows offset to offset + T - 1; or, for a length x, those rows alone.

        Raises IndexError for positions below 0 or past the end.
        """
        if not isinstance(x, int):
            check_features("LearnedPositionalEmbedding", x, self.d_model)
        end = offset + (x if isinstance(x, int) else x.shape[-2])
        if offset < 0 or end > self.max_len:
            raise IndexError(f"LearnedPositionalEmbedding: asked for the positions {offset} to {end - 1}, "
                             f"and {self.max_len} were learned, from 0 on. Cut the text, or learn more.")
        rows = self.weight[offset:end]
        return rows if isinstance(x, int) else x + rows

    def extra_repr(self): return f"{self.max_len}, {self.d_model}"
