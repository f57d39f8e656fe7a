# Generated from modules/12_attention/attention_parts_dev.py by tito export. Edit the lesson, not this file.
# source sha256 6aa388bffef1a5355e393b241fa38213c5fb175e8a1983beefaf0d9d96aaba86  body sha256 ffc52273493d9808e05455c4d33ad9f03bad0c7515e1b0114586201c7281f236  # noqa: E501
"""nn.attention_parts: built in module 12_attention."""

import functools
import math

import numpy as np

from tinytorch.core.creation import rand
from tinytorch.core.dtypes import float32
from tinytorch.core.ops import broadcast_shape
from tinytorch.core.threads import gathered, threads_of_blas

__all__ = [
    "BLOCK", "MANY", "attention_gradients", "by_block", "by_parts", "check_attention",
    "drawn_to_keep", "grouped", "merged_mask", "part_by_part", "refuse", "seen_by_blocks",
    "ungrouped",
]


def refuse(message): raise RuntimeError(f"attention: {message}")


def check_attention(query, key, value, mask, dropout_p=0.0):
    """RuntimeError if the three are no floats of one dtype or do not fit, or if the mask is of integers."""
    three = query, key, value
    sizes = f"query {query.shape}, key {key.shape}, value {value.shape}"
    if query.dtype.kind != "f" or not query.dtype == key.dtype == value.dtype:
        refuse(f"the dtypes are {query.dtype}, {key.dtype}, {value.dtype}; all three must be floats of one "
               "dtype. Convert them: x.float().")
    if min([x.ndim for x in three]) < 2:
        refuse(f"{sizes}: each needs places and features, (..., T, d). Add a dimension: x.unsqueeze(0).")
    if query.shape[-1] != key.shape[-1]:
        refuse(f"{sizes}: query and key are multiplied number by number, their last sizes must be equal.")
    if key.shape[-2] != value.shape[-2]:
        refuse(f"{sizes}: each key has a value, so they must be as many.")
    if mask is not None and mask.dtype.kind != "b" and mask.dtype not in (float32, query.dtype):
        refuse(f"the mask is of {mask.dtype}: it must be of bools (True: may be seen) or, to be added, of "
               f"float32 or the query's {query.dtype}. Convert it: mask.bool().")
    if not 0 <= dropout_p <= 1:
        refuse(f"dropout_p={dropout_p}: a probability lies between 0 and 1.")


def drawn_to_keep(p, query, key):
    """What dropout multiplies the weights (..., T, S) with: 0 with probability p, else 1 / (1 - p).

    None if p is 0.
    """
    if not p:
        return None
    lead = broadcast_shape(query.shape[:-2], key.shape[:-2])
    drawn = rand(*lead, query.shape[-2], key.shape[-2], device=query.device)
    return (drawn >= p).to(query.dtype) * (1 / (1 - p) if p < 1 else 0.0)


def merged_mask(mask, may):
    """`mask` (bools, or floats to be added), with False or -inf wherever the bools `may` are False.

    Each may be None: then it is the other.
    """
    if mask is None or may is None:
        return may if mask is None else mask
    return mask & may if mask.dtype.kind == "b" else mask.masked_fill(~may, -math.inf)


def grouped(query, key, value, mask):
    """The four with a dimension more, so that H/G heads of queries meet one head of keys and values."""
    heads, groups = query.shape[-3], key.shape[-3]
    if groups == 0 or value.shape[-3] != groups or heads % groups:
        refuse(f"{heads} heads of queries, {groups} of keys and {value.shape[-3]} of values: with enable_gqa "
               "the number of queries' heads must be a multiple of the others', which must be equal.")
    query = query.reshape(*query.shape[:-3], groups, heads // groups, *query.shape[-2:])
    if mask is not None and mask.ndim > 2:
        own = mask.shape[-3] != 1
        mask = mask.reshape(*mask.shape[:-3], *((groups, heads // groups) if own else (1, 1)),
                            *mask.shape[-2:])
    return query, key.unsqueeze(-3), value.unsqueeze(-3), mask


def ungrouped(x):
    """(..., G, H/G, T, d) as (..., H, T, d)."""
    return None if x is None else x.reshape(*x.shape[:-4], x.shape[-4] * x.shape[-3], *x.shape[-2:])


MANY = 1 << 19                         # scores: two megabytes of float32


def by_parts(f, inputs, scores):
    """f(*inputs), a tuple of arrays; along the first axes part by part if there are many `scores`.

    inputs: arrays, (n, ..., T, d) the first; those with one row, or without that axis, go with every part.
    They may be None. Arrays of NumPy alone: others, and tensors, go as they are, and so do inputs that do not
    fit each other.
    """
    n, ndim = len(inputs[0]), inputs[0].ndim
    size = MANY if scores <= MANY // 4 or threads_of_blas() == 1 else MANY // 4     # threads gain by less
    if (not isinstance(inputs[0], np.ndarray) or scores <= size or ndim < 3
            or any([x.ndim >= ndim and (x.ndim > ndim or len(x) not in (1, n))
                    for x in inputs if x is not None])):
        return f(*inputs)

    def cut(part):
        return [x if x is None or x.ndim < ndim else x[part if len(x) > 1 else 0] for x in inputs]

    if n == 1:                                         # a single sentence: some heads at a time
        return tuple([array[None] for array in by_parts(f, cut(0), scores)])

    def of_part(part): return by_parts(f, cut(part), scores * (part.stop - part.start) // n)
    return gathered(of_part, n, max(1, size * n // scores))


BLOCK = 128                            # queries


def seen_by_blocks(mask, queries, keys):
    """[(slice of queries, slice of the keys that these may see)]: blocks that see the same keys are one.

    A mask hides nothing here that is None, or of floats, or does not fit. Who sees nothing is given one key.
    """
    whole = [(slice(0, queries), slice(0, keys))]
    if not isinstance(mask, np.ndarray) or mask.dtype.kind != "b" or queries <= BLOCK:
        return whole
    may, found = np.atleast_2d(mask), []
    if may.shape[-2] not in (1, queries) or may.shape[-1] != keys:
        return whole
    may = may.any(tuple(range(may.ndim - 2)))
    for start in range(0, queries, BLOCK):
        rows = slice(start, min(start + BLOCK, queries))
        places = np.flatnonzero(may[rows if len(may) > 1 else slice(None)].any(0))
        seen = slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, min(1, keys))
        if found and found[-1][1] == seen:
            rows = slice(found.pop()[0].start, rows.stop)
        found.append((rows, seen))
    return found


def by_block(f, of_queries, of_keys, mask, *of_pairs):
    """f(*of_queries, *of_keys, mask, *of_pairs), a tuple of arrays, block by block of the queries.

    of_queries: (..., T, d), as is the first result; of_keys: (..., S, d), as are the others, which are sums
    over the queries. of_pairs: (..., T, S), the mask too; they may be None. A nan among keys that no query of
    a block sees does not reach it.
    """
    t, s = of_queries[0].shape[-2], of_keys[0].shape[-2]
    blocks = seen_by_blocks(mask, t, s)
    if blocks == [(slice(0, t), slice(0, s))]:
        return f(*of_queries, *of_keys, mask, *of_pairs)

    def cut(x, rows, seen):
        if x is None:
            return None
        x = np.atleast_2d(x)
        return x[..., rows if x.shape[-2] > 1 else slice(None), seen if x.shape[-1] > 1 else slice(None)]

    wholes = []
    for rows, seen in blocks:
        parts = f(*[x[..., rows, :] for x in of_queries], *[x[..., seen, :] for x in of_keys],
                  *[cut(x, rows, seen) for x in (mask, *of_pairs)])
        wholes = wholes or [np.zeros((*part.shape[:-2], s if i else t, part.shape[-1]), part.dtype)
                            for i, part in enumerate(parts)]
        for i, (whole, part) in enumerate(zip(wholes, parts)):
            whole[..., seen if i else rows, :] += part
    return tuple(wholes)


def part_by_part(forward):
    """`forward` of an attention op, (query, ..., keep, scale) to (output, weights), by parts and by block.

    The weights of many scores are None, if the inputs are arrays of NumPy.
    """
    @functools.wraps(forward)
    def in_parts(query, key, value, mask=None, keep=None, scale=None):
        scores = math.prod(query.shape[:-1]) * key.shape[-2]
        inputs = query, key, value, mask, keep

        def both(*inputs): return forward(*inputs, scale)
        if scores <= MANY or not isinstance(query, np.ndarray):
            return by_parts(both, inputs, scores)

        def output(q, k, v, *of_pairs): return by_block(lambda *x: both(*x)[:1], (q,), (k, v), *of_pairs)
        return *by_parts(output, inputs, scores), None
    return in_parts


def attention_gradients(g, weights, softmax, query, key, value, mask, keep, scale):
    """The gradients of attention's first five inputs, from that of the output, g (..., T, dv).

    weights: None if they were not kept; softmax(scores, mask) makes them again. The mask's gradient is that
    of the scores, a function to be called if it is wanted; that of `keep` is None.
    """
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale

    def of_scores(g, query, key, value, mask, keep, weights):
        if weights is None:
            weights = softmax(query @ key.swapaxes(-1, -2), mask)
        slope = g @ value.swapaxes(-1, -2)
        if keep is not None:
            slope *= keep
        slope -= np.einsum("...s,...s->...", slope, weights)[..., None]
        slope *= weights
        return slope, weights

    def of_block(g, query, key, value, mask, keep, weights):
        query = query * scale
        slope, weights = of_scores(g, query, key, value, mask, keep, weights)
        to_query = slope @ key
        to_query *= scale
        to_value = (weights if keep is None else weights * keep).swapaxes(-1, -2) @ g
        return to_query, slope.swapaxes(-1, -2) @ query, to_value

    def of_inputs(g, q, k, v, *of_pairs): return by_block(of_block, (g, q), (k, v), *of_pairs)
    def of_mask(g, q, *others): return of_scores(g, q * scale, *others)[:1]
    inputs, scores = (g, query, key, value, mask, keep, weights), math.prod(g.shape[:-1]) * key.shape[-2]
    return *by_parts(of_inputs, inputs, scores), lambda: by_parts(of_mask, inputs, scores)[0], None
