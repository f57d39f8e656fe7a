# %% [markdown]
# # Tiles
#
# Given code: nothing to solve here. Which queries and keys meet in a tile, their scores, and the way back,
# tile by tile. The lesson's `tiled_attention` and its rule use it.

# %%
#| default_exp nn.tiles

# %%
from typing import NamedTuple

import numpy as np
from attention_parts_dev import check_attention

from tinytorch.core.backend import array_module
from tinytorch.core.dtypes import float16, float32

# %% [markdown]
# ## One tile
#
# Scores [1, 3] and values 1 and 2: the largest score is 3, so the powers are e⁻² and e⁰. Their sum is 1.1353,
# and e⁻² times 1 plus e⁰ times 2 is 2.1353. Nothing is divided yet: 2.1353 / 1.1353 is the attention over
# these two keys alone.

# %%
#| export
class Part(NamedTuple):
    """Attention over some of the keys, not yet divided: summed / total is what it comes to, as such.

    top: (..., T, 1), each query's largest score. total: (..., T, 1), the sum of exp(score - top).
    summed: (..., T, v), the sum of exp(score - top) times value. A query that sees none of the keys has
    the lowest number that there is as top, and zeros.
    """
    top: object
    total: object
    summed: object


def part_of(scores, value):
    """The Part of these keys. scores: (..., T, S), overwritten; value: (..., S, v).

    >>> part_of(np.array([[1., 3.]]), np.array([[1.], [2.]]))
    Part(top=array([[3.]]), total=array([[1.13533528]]), summed=array([[2.13533528]]))
    """
    xp = array_module(scores)
    top = np.maximum(scores.max(-1, keepdims=True), lowest(scores.dtype))      # no -inf: -inf - -inf is nan
    scores -= top
    xp.exp(scores, out=scores)
    ones = xp.ones((scores.shape[-1], 1), scores.dtype)
    return Part(top, scores @ ones, scores @ value)    # a sum as a product: faster than scores.sum(-1)


def lowest(dtype): return float(np.finfo(dtype).min)


# %% [markdown]
# ## All tiles

# %%
#| export
# Queries and keys of a tile, and scores at once: what stays in a CPU's cache; what keeps a GPU busy
BLOCK, BLOCK_OF_GPU = ((256, 512), 1 << 17), ((2048, 2048), 1 << 26)


def sides(block):
    """How many queries and keys a tile has: one number, or two."""
    sizes = tuple(block) if isinstance(block, (tuple, list)) else (block, block)
    if len(sizes) != 2 or not all([isinstance(n, int) and n > 0 for n in sizes]):
        raise RuntimeError(f"tiled_attention: block={block!r}: it must be a whole number of at least 1, or a "
                           "pair of them, for queries and keys.")
    return sizes


class Tiling:
    """Attention cut into tiles: some queries of some heads, against some keys.

    query: (..., T, d), key: (..., S, d), value: (..., S, v), arrays. mask: (..., T, S), True where a query
    may look, or numbers to add to the scores. is_causal: query i may look at keys 0 to i. block: how many
    queries and keys a tile has, a number or two; None: as many as suit the processor.
    """
    def __init__(self, query, key, value, mask=None, is_causal=False, scale=None, block=None):
        check_attention(query, key, value, mask)
        xp, arrays = array_module(query), [query, key, value]
        default, cache = BLOCK if xp is np else BLOCK_OF_GPU
        self.rows_at_once, self.keys_at_once = default if block is None else sides(block)
        self.heads_at_once = max(1, cache // (self.rows_at_once * self.keys_at_once))
        self.leading = np.broadcast_shapes(*[x.shape[:-2] for x in (*arrays, mask) if x is not None])
        wide = float32 if query.dtype == float16 else query.dtype
        self.query, self.key, self.value = [
            xp.broadcast_to(x, self.leading + x.shape[-2:]).astype(wide, copy=False) for x in arrays]
        self.queries, self.keys = query.shape[-2], key.shape[-2]
        self.mask = None if mask is None else xp.broadcast_to(mask, (*self.leading, self.queries, self.keys))
        self.is_causal, self.nothing = is_causal, Part(lowest(wide), 0., 0.)
        self.scale = max(query.shape[-1], 1) ** -0.5 if scale is None else scale

    def empty(self, size, dtype=None):
        """Memory for `size` numbers a query, (..., T, size); the heads of a query lie side by side."""
        xp, heads = array_module(self.query), self.leading[-1:]
        memory = xp.empty((*self.leading[:-1], self.queries, *heads, size), dtype or self.query.dtype)
        return memory.swapaxes(-3, -2) if heads else memory

    def rows(self):
        """Where the queries of each row of tiles lie: an index of arrays (..., T, anything)."""
        heads = range(0, self.leading[-1], self.heads_at_once) if self.leading else [None]
        for outer in np.ndindex(self.leading[:-1]):
            for head in heads:
                some = () if head is None else (slice(head, head + self.heads_at_once),)
                for start in range(0, self.queries, self.rows_at_once):
                    yield *outer, *some, slice(start, min(start + self.rows_at_once, self.queries))

    def tiles(self, at):
        """The tiles of the queries at `at`: (where the keys lie, the scores), with -inf for what is hidden.

        Where no query may look, because all these keys come later, there is no tile.
        """
        query = self.scaled(at)
        stop = min(at[-1].stop, self.keys) if self.is_causal else self.keys
        for start in range(0, stop, self.keys_at_once):
            where = *at[:-1], slice(start, min(start + self.keys_at_once, stop))
            scores = query @ self.key[where].swapaxes(-1, -2)
            yield where, self.hidden(scores, at, where[-1])

    def scaled(self, at): return self.query[at] * self.scale

    def hidden(self, scores, at, keys):
        """The scores with -inf for the keys that a query may not see, and with a mask of numbers added."""
        xp = array_module(scores)
        if self.mask is not None:
            mask = self.mask[(*at, keys)]
            scores = xp.where(mask, scores, -np.inf) if mask.dtype.kind == "b" else scores + mask
        if self.is_causal and keys.stop > at[-1].start + 1:
            i, j = [xp.arange(x.start, x.stop) for x in (at[-1], keys)]
            scores = xp.where(j <= i[:, None], scores, -np.inf)
        return scores


# %% [markdown]
# ## The way back
#
# Let P be the weights, out = P V. Module 05's rule of a product gives dV = Pᵀ g and dP = g Vᵀ, and the
# softmax's rule, row by row, dS = P (dP - Σ P dP). That sum is over all keys, and a tile has only some. But
# Σⱼ Pⱼ dPⱼ = Σⱼ Pⱼ (g · Vⱼ) = g · out, and that is known for each query. So every tile can be done for
# itself: compute its scores again, and from them, with the top and the total that were kept, its P.
# (Dividing g by the total once is less work than dividing every P.)

# %%
#| export
def tiled_gradients(tiling, out, top, total, g):
    """The gradients of tiled attention's query, key and value: g, (..., T, v), is that of its result."""
    dtype, xp = tiling.query.dtype, array_module(g)
    dq, dk, dv = [xp.zeros(x.shape, dtype) for x in (tiling.query, tiling.key, tiling.value)]
    for at in tiling.rows():
        query, g_rows = tiling.scaled(at), g[at].astype(dtype, copy=False) / total[at]
        both = (g_rows * out[at]).sum(-1, keepdims=True)
        for where, scores in tiling.tiles(at):
            scores -= top[at]
            xp.exp(scores, out=scores)
            dv[where] += scores.swapaxes(-1, -2) @ g_rows
            slope = g_rows @ tiling.value[where].swapaxes(-1, -2)
            slope -= both
            slope *= scores
            dq[at] += slope @ tiling.key[where]
            dk[where] += slope.swapaxes(-1, -2) @ query
        dq[at] *= tiling.scale
    return dq, dk, dv
