# %% [markdown]
# # Only some of the keys
#
# Given code: nothing to solve here. Attention in which a query sees its neighbours, a few chosen tokens
# that all see, and perhaps some at random. Scores are computed for those pairs only, so time and memory
# grow with T.

# %%
#| default_exp nn.sparse_attention

# %%
import numpy as np
from attention_dev import masked_softmax, scaled_dot_product_attention
from attention_parts_dev import check_attention

from tinytorch.core.backend import library_on, to_device
from tinytorch.core.tensor import Tensor
from tinytorch.nn.padding import pad


# %%
#| export
def check_alike(name, query, key, value, **sizes):
    """RuntimeError if these are not queries, keys and values of the same places, or a size is negative."""
    check_attention(query, key, value, None)
    if query.shape[-2] != key.shape[-2]:
        raise RuntimeError(f"{name} got {query.shape[-2]} queries and {key.shape[-2]} keys: who is near "
                           "whom is known only if both are of the same places.")
    for size, (n, least) in sizes.items():
        if not isinstance(n, (int, np.integer)) or n < least:
            raise RuntimeError(f"{name}: {size}={n!r}: it must be a whole number of at least {least}.")


# %% [markdown]
# Queries that stand together are a block, and all of a block look into the same short list of keys: those
# that at least one of them may see. A mask says which. Queries 4 to 7, with a window of 2 to each side,
# have the list 2 to 9: eight keys and not T.

# %%
#| export
def attend_in_blocks(query, key, value, block, columns, mask, scale):
    """Attention in which each `block` of queries looks into its own list of keys: (..., T, v).

    query, key: (..., T, d), value: (..., T, v). columns: (n, c), the places of the keys for each of n blocks.
    mask: (n, block or 1, c), True where a query may look. Both are arrays on the device of the tensors.
    """
    t, n = query.shape[-2], len(columns)
    scale = max(query.shape[-1], 1) ** -0.5 if scale is None else scale
    query = pad(query * scale, (0, 0, 0, n * block - t))               # the last block may be too long
    query = query.reshape(*query.shape[:-2], n, block, query.shape[-1])
    key, value = key[..., columns, :], value[..., columns, :]          # (..., n, c, d)
    out = masked_softmax(query @ key.swapaxes(-1, -2), mask, -1) @ value
    return out.reshape(*out.shape[:-3], n * block, out.shape[-1])[..., :t, :]


def with_rows(out, rows, query, key, value, mask, scale):
    """`out` with its rows number `rows` replaced: those queries look at all keys the mask lets through."""
    whole = scaled_dot_product_attention(query[..., rows, :], key, value, mask, scale=scale)
    return out.index_copy(-2, Tensor._of(rows), whole)


# %% [markdown]
# ## A window, and tokens that all see
#
# With blocks as long as the window, a query's window lies in its own block, the one before it and the one
# after it. The global tokens' keys come behind those three; where they lie in the window too, they are
# hidden there, or they would count twice.
#
# ```
# T = 6, window 1, token 0 global          1 1 . . . .      a global token sees all
#                                          1 1 1 . . .
#                                          1 1 1 1 . .
#                                          1 . 1 1 1 .      and is seen by all
#                                          1 . . 1 1 1
#                                          1 . . . 1 1
# ```

# %%
#| export
def sliding_window_attention(query, key, value, window, global_tokens=(), is_causal=False, scale=None):
    """Each query sees the keys at most `window` places away, in time and memory O(T * window): (..., T, v).

    query, key: (..., T, d), value: (..., T, v). global_tokens: a list of places, which see all, and which all
    see. is_causal: nobody sees what comes later. The same numbers as attention with `sliding_window_mask`.
    Beltagy et al., Longformer, arXiv:2004.05150.
    """
    check_alike("sliding_window_attention", query, key, value, window=(window, 0))
    t, block, xp = query.shape[-2], max(1, window), library_on(query.device)
    chosen = xp.asarray(places(t, global_tokens), dtype="int64")
    n = -(-t // block)
    starts = xp.arange(n)[:, None, None] * block                       # (n, 1, 1)
    i = starts + xp.arange(block)[:, None]                             # (n, block, 1): places of the queries
    j = starts + xp.arange(-block, block if is_causal else 2 * block)  # (n, 1, c): of the keys
    is_global = (j[..., None] == chosen).any(-1)
    near = (abs(i - j) <= window) & (j >= 0) & (j < t) & ~is_global
    ones = xp.ones((n, block, len(chosen)), dtype=bool)
    columns = xp.concatenate([j[:, 0].clip(0, max(t - 1, 0)), xp.broadcast_to(chosen, (n, len(chosen)))], 1)
    mask = xp.concatenate([near, ones], 2)
    if is_causal:
        mask &= columns[:, None] <= i
    out = attend_in_blocks(query, key, value, block, columns, mask, scale)
    if not len(chosen):
        return out
    before = Tensor._of(xp.arange(t) <= chosen[:, None]) if is_causal else None
    return with_rows(out, chosen, query, key, value, before, scale)


def places(t, tokens):
    """Places of T as a sorted list without repetitions, negative ones counted from the end."""
    wrong = [p for p in tokens if not -t <= p < t]
    if wrong:
        raise IndexError(f"global_tokens={wrong} of a sequence of {t}: the places are {-t} to {t - 1}.")
    return sorted({int(p) % t for p in tokens})


def sliding_window_mask(t, window, global_tokens=(), is_causal=False):
    """Who may see whom in `sliding_window_attention`: (T, T) bools, True where query i may look at key j.

    >>> sliding_window_mask(4, 1, global_tokens=[3]).int().tolist()
    [[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]]
    """
    i, j, chosen = np.arange(t)[:, None], np.arange(t), places(t, global_tokens)
    mask = (abs(i - j) <= window) | np.isin(i, chosen) | np.isin(j, chosen)
    return Tensor(mask & (j <= i) if is_causal else mask)


# %% [markdown]
# ## And some at random
#
# Here everything goes by blocks: a block of queries sees the blocks beside it, the first ones, and a few
# that were drawn. By way of those, any token reaches any other in a few layers: a graph with random edges
# is a small world.

# %%
#| export
def bigbird_blocks(n, window, global_blocks, random_blocks, seed):
    """For each of n blocks the blocks it sees, (n, c) integers; -1 where there are fewer.

    >>> bigbird_blocks(4, window=1, global_blocks=1, random_blocks=0, seed=0).tolist()
    [[0, 1, -1, -1], [0, 1, 2, -1], [0, 1, 2, 3], [0, 2, 3, -1]]
    """
    rng, rows = np.random.default_rng(seed), []
    for i in range(n):
        seen = {*range(min(global_blocks, n)), *range(max(0, i - window), min(n, i + window + 1))}
        others = [j for j in range(n) if j not in seen]
        rows.append([*sorted(seen), *rng.permutation(others)[:random_blocks].astype(int)])
    most = max(map(len, rows), default=0)
    return np.array([row + [-1] * (most - len(row)) for row in rows], dtype="int64").reshape(n, most)


def bigbird_attention(query, key, value, block=64, window=1, global_blocks=1, random_blocks=3, seed=0,
                      scale=None):
    """Each block of queries sees `window` blocks to each side, the first ones, some at random: (..., T, v).

    query, key: (..., T, d), value: (..., T, v). block: how many places a block has. The first `global_blocks`
    see all places. seed: of the drawing; a layer keeps its own. The same numbers as attention with
    `bigbird_mask`. Zaheer et al., Big Bird, arXiv:2007.14062.
    """
    check_alike("bigbird_attention", query, key, value, block=(block, 1), window=(window, 0),
                global_blocks=(global_blocks, 0), random_blocks=(random_blocks, 0))
    t = query.shape[-2]
    blocks = bigbird_blocks(-(-t // block), window, global_blocks, random_blocks, seed)
    columns = (blocks[:, :, None] * block + np.arange(block)).reshape(len(blocks), blocks.shape[1] * block)
    mask = ((columns >= 0) & (columns < t))[:, None]
    columns, mask = [to_device(x, query.device) for x in (columns.clip(0, max(t - 1, 0)), mask)]
    out = attend_in_blocks(query, key, value, block, columns, mask, scale)
    rows = library_on(query.device).arange(min(t, global_blocks * block))
    return with_rows(out, rows, query, key, value, None, scale) if len(rows) else out


def bigbird_mask(t, block=64, window=1, global_blocks=1, random_blocks=3, seed=0):
    """Who may see whom in `bigbird_attention`: (T, T) bools, True where query i may look at key j.

    >>> bigbird_mask(5, 1, 1, 1, 1).int().sum(1).tolist()      # all; beside it, the first, a drawn one
    [5, 4, 5, 5, 4]
    """
    blocks = bigbird_blocks(-(-t // block), window, global_blocks, random_blocks, seed)
    mask = (blocks[:, :, None] == np.arange(len(blocks))).any(1)
    mask[:global_blocks] = True
    return Tensor(mask.repeat(block, 0).repeat(block, 1)[:t, :t])
