# Generated from modules/12_attention/attention_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2d8f237fcde1e52b3d9085ae6d73c3629a37a72c1662cebc37a3d5d85c7a6a50  body sha256 4e58e005ecd243f64d87133fa0449180922a2725c1484c0b216d188be472fac7  # noqa: E501
"""nn.efficient_attention: built in module 12_attention."""

import numpy as np

from tinytorch.core.autograd import composite, vjp
from tinytorch.core.creation import ones_like
from tinytorch.core.indexing import tril
from tinytorch.core.joining import cat
from tinytorch.core.op import op
from tinytorch.nn.attention import scaled_dot_product_attention
from tinytorch.nn.attention_parts import check_attention
from tinytorch.nn.more_activations import elu
from tinytorch.nn.tiles import Part, Tiling, part_of, tiled_gradients

__all__ = ["elu_plus_one", "linear_attention", "merge_blocks", "tiled_attention"]


def merge_blocks(one, two):
    """The Part of all keys together, from the Parts of some keys and of the others.

    >>> both = merge_blocks(Part(3., 1.1353, 2.1353), Part(5., 1.0498, 4.1494))
    >>> [round(float(x), 3) for x in both]
    [5.0, 1.203, 4.438]
    """
    top = np.maximum(one.top, two.top)
    first, second = np.exp(one.top - top), np.exp(two.top - top)
    return Part(top, first * one.total + second * two.total, first * one.summed + second * two.summed)


@op(keeps=True)
def tiled_attention(query, key, value, mask=None, is_causal=False, scale=None, block=None):
    """Attention tile by tile, (..., T, v): the same numbers, in memory that does not grow with T times S.

    query: (..., T, d), key: (..., S, d), value: (..., S, v). mask: (..., T, S), True where a query may look,
    or floats to add to the scores; it gets no gradient. is_causal: query i sees keys 0 to i. A query that
    sees nothing gets zeros. block: how many queries and keys a tile has, a number or a pair.
    Raises RuntimeError if sizes or dtypes do not fit. Dao, FlashAttention-2, arXiv:2307.08691.

    >>> query, key = np.array([[1.]]), np.array([[1.], [3.], [2.], [5.]])
    >>> tiled_attention(query, key, np.array([[1.], [2.], [3.], [4.]]), block=2).round(3)
    array([[3.688]])
    """
    t = Tiling(query, key, value, mask, is_causal, scale, block)
    out, top, total = t.empty(value.shape[-1], query.dtype), t.empty(1), t.empty(1)
    for at in t.rows():
        part = t.nothing
        for where, scores in t.tiles(at):
            part = merge_blocks(part, part_of(scores, t.value[where]))
        top[at], total[at] = part.top, part.total + (part.total == 0)
        out[at] = part.summed / total[at]
    return out, top, total


@vjp(tiled_attention)
def _(kept, query, key, value, mask=None, is_causal=False, scale=None, block=None):
    tiling = Tiling(query, key, value, mask, is_causal, scale, block)
    return lambda g: (*tiled_gradients(tiling, *kept, g), None)


@composite(tiled_attention)
def _(query, key, value, mask=None, is_causal=False, scale=None, block=None):
    return scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal, scale=scale)


def elu_plus_one(x):
    """x + 1 above 0, e^x below: never negative, and its slope is nowhere 0."""
    return elu(x) + 1


def linear_attention(query, key, value, is_causal=False, feature=elu_plus_one, eps=1e-6, block=64):
    """Each query's mean of the values, weighted by feature(q) · feature(k): (..., T, v), in time O(T).

    query: (..., T, d), key: (..., S, d), value: (..., S, v), tensors. feature: a function that keeps the
    shape and is never negative. eps is added to the sum of the weights. is_causal: query i sees keys 0 to i,
    and it goes by blocks of so many places. Katharopoulos et al., Transformers are RNNs, arXiv:2006.16236.

    >>> linear_attention(tensor([[1.]]), tensor([[0.], [2.]]), tensor([[10.], [20.]]), eps=0)
    tensor([[17.5000]])
    """
    check_attention(query, key, value, None)
    if is_causal and query.shape[-2] != key.shape[-2]:
        raise RuntimeError(f"linear_attention got {query.shape[-2]} queries and {key.shape[-2]} keys: "
                           "causal, they must be of the same places.")
    q, k, v = feature(query), feature(key), cat([value, ones_like(value[..., :1])], -1)
    blocks = zip(*[x.split(block, -2) for x in (q, k, v)])
    seen = k[..., :0, :].swapaxes(-1, -2) @ v[..., :0, :]
    if not is_causal:
        out = q @ (k.swapaxes(-1, -2) @ v)
    else:
        parts = []
        for some_q, some_k, some_v in blocks:
            near = tril(some_q @ some_k.swapaxes(-1, -2))
            parts.append(near @ some_v + some_q @ seen)
            seen = seen + some_k.swapaxes(-1, -2) @ some_v
        out = cat(parts, -2)
    return out[..., :-1] / (out[..., -1:] + eps)
