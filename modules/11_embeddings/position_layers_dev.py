# %% [markdown]
# # Positions as layers
#
# Given code: nothing to solve here. What the functions of the lesson compute is kept in tables, which grow
# when a longer text comes. `offset` is the position of the first token: with a cache (module 15), how many
# came before. Tables are computed in float64, since a frequency times a position of 100,000 leaves float32
# two digits after the point; only the sines and cosines are rounded. They can be computed again at any time,
# so no table is saved with a model.

# %%
#| default_exp nn.position_layers

# %%
import numpy as np
from embedding_parts_dev import check_features, check_offset, even
from embeddings_dev import (
    alibi_slopes,
    apply_rotary,
    embedding,
    relative_bucket,
    rotary_angles,
    sinusoidal_positions,
)

from tinytorch.core.backend import device_of, library_on
from tinytorch.core.creation import empty
from tinytorch.core.tensor import Tensor
from tinytorch.nn.initializers import normal_
from tinytorch.nn.layers import Dropout
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter

# %% [markdown]
# ## Added to the tokens, or turned into them

# %%
#| export
class SinusoidalPositionalEncoding(Module):
    """x (B, T, d_model) plus sines and cosines of each position, then dropout (Vaswani et al., 2017).

    `pe` (1, max_len, d_model) is the table; a longer text makes it grow. Any d_model, odd ones too.
    """
    def __init__(self, d_model, max_len=5000, dropout=0.1):
        super().__init__()
        self.d_model, self.dropout = d_model, Dropout(dropout)
        self.register_buffer("pe", empty(1, 0, d_model), persistent=False)
        self._grow(max_len)

    def _grow(self, n):
        xp = library_on(device_of(self.pe.data))
        table = sinusoidal_positions(xp.arange(n), self.d_model)
        self.pe = Tensor._of(table.astype(self.pe.dtype)[None])

    def forward(self, x, offset=0):
        """The tokens x (..., T, d_model) stand at the positions offset, offset + 1, ..."""
        check_features("SinusoidalPositionalEncoding", x, self.d_model)
        check_offset("SinusoidalPositionalEncoding", offset)
        end = offset + x.shape[-2]
        if end > self.pe.shape[1]:
            self._grow(max(end, 2 * self.pe.shape[1]))
        return self.dropout(x + self.pe[0, offset:end])

    def extra_repr(self): return f"d_model={self.d_model}"


class RotaryEmbedding(Module):
    """Turns queries and keys (B, H, T, dim) by angles that grow with the position (Su et al., 2021).

    The product of a query and a key then depends on how far they are apart, not on where they stand.
    layout: "halves" pairs feature i with i + dim/2 (Llama, GPT-NeoX), "pairs" 2i with 2i + 1 (the paper,
    GPT-J); weights trained with one do not work with the other. Values are not turned.
    """
    def __init__(self, dim, base=10000.0, layout="halves"):
        super().__init__()
        if layout not in ("halves", "pairs"):
            raise ValueError(f"RotaryEmbedding: layout={layout!r}. There are 'halves' and 'pairs'.")
        self.dim, self.base, self.layout = even("RotaryEmbedding", dim), base, layout
        self._tables = {}                              # (dtype, device) -> cos and sin, (T, dim/2) each

    def tables(self, n, x):
        """(cos, sin) of at least n positions: arrays of x's dtype, where x is."""
        where = device_of(x.data)
        tables = self._tables.get((x.dtype, where))
        if tables is None or len(tables[0]) < n:
            n = n if tables is None else max(n, 2 * len(tables[0]))
            angles = rotary_angles(library_on(where).arange(n), self.dim, self.base)
            tables = self._tables[x.dtype, where] = [f(angles).astype(x.dtype) for f in (np.cos, np.sin)]
        return tables

    def forward(self, x, offset=0):
        """x (..., T, dim), whose tokens stand at the positions offset, offset + 1, ..., turned."""
        check_features("RotaryEmbedding", x, self.dim)
        check_offset("RotaryEmbedding", offset)
        end = offset + x.shape[-2]
        cos, sin = [table[offset:end] for table in self.tables(end, x)]
        return apply_rotary(x, cos, sin, self.layout)

    def extra_repr(self): return f"{self.dim}, base={self.base}, layout={self.layout!r}"


# %% [markdown]
# ## Added to the scores

# %%
#| export
class ScoreBias(Module):
    """A bias for each head, query and key: `bias(q_len, k_len)` is (H, q_len, k_len), to be added to scores.

    The keys stand at 0 to k_len - 1, the queries from `offset` on; unless given, they are the last q_len.
    """
    def distances(self, q_len, k_len, offset, like):
        """key - query, (q_len, k_len), where the tensor `like` is."""
        k_len = q_len if k_len is None else k_len
        offset = k_len - q_len if offset is None else offset
        check_offset(type(self).__name__, offset)
        xp = library_on(device_of(like.data))
        return xp.arange(k_len)[None] - (offset + xp.arange(q_len))[:, None]


class ALiBi(ScoreBias):
    """Minus slope times distance, with a slope for each head; nothing is learned (Press et al., 2021)."""
    def __init__(self, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.register_buffer("slopes", Tensor(alibi_slopes(num_heads), dtype="float32"), persistent=False)

    def forward(self, q_len, k_len=None, offset=None):
        away = abs(self.distances(q_len, k_len, offset, self.slopes)).astype(self.slopes.dtype)
        return Tensor._of(-self.slopes.data[:, None, None] * away)

    def extra_repr(self): return f"{self.num_heads}"


class RelativePositionBias(ScoreBias):
    """A learned number for each head and bucket of distances, `weight` (num_buckets, num_heads); T5's.

    bidirectional: half of the buckets are for keys after the query. Without, those share the bucket of
    distance 0. Raffel et al., arXiv:1910.10683.
    """
    def __init__(self, num_heads, num_buckets=32, max_distance=128, bidirectional=True):
        super().__init__()
        self.num_heads, self.num_buckets, self.max_distance = num_heads, num_buckets, max_distance
        self.bidirectional = bidirectional
        relative_bucket(np.arange(0), num_buckets, max_distance, bidirectional)  # or ValueError
        self.weight = Parameter(normal_(empty(num_buckets, num_heads)))

    def forward(self, q_len, k_len=None, offset=None):
        away = self.distances(q_len, k_len, offset, self.weight)
        buckets = relative_bucket(away, self.num_buckets, self.max_distance, self.bidirectional)
        return embedding(buckets, self.weight).permute(2, 0, 1)                    # (H, q, k)

    def extra_repr(self):
        return (f"{self.num_heads}, num_buckets={self.num_buckets}, max_distance={self.max_distance}, "
                f"bidirectional={self.bidirectional}")
