# Generated from modules/12_attention/attention_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2d8f237fcde1e52b3d9085ae6d73c3629a37a72c1662cebc37a3d5d85c7a6a50  body sha256 225529646fce023581e2d62b76335ec3288320ff66d548ddc07d8b9db46f873d  # noqa: E501
"""nn.attention: built in module 12_attention."""

import numpy as np

from tinytorch.core.autograd import composite, vjp
from tinytorch.core.creation import arange
from tinytorch.core.math import sum
from tinytorch.core.op import op
from tinytorch.nn.attention_parts import (
    attention_gradients,
    check_attention,
    drawn_to_keep,
    grouped,
    merged_mask,
    part_by_part,
    ungrouped,
)
from tinytorch.nn.floats import floats_only
from tinytorch.nn.heads import HeadsBase, sorted_out

__all__ = [
    "MultiHeadAttention", "attend", "attention", "causal_mask", "combine_masks", "join_heads",
    "masked_softmax", "padding_mask", "scaled_dot_product_attention", "split_heads",
]


def causal_mask(queries, keys=None, offset=0, device=None):
    """Who may look at whom: (queries, keys) bools. Query i is at place i + offset and sees keys up to it.

    keys: how many there are, queries + offset if not given. device: where the tensor lies.

    >>> causal_mask(2, offset=1)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    keys = queries + offset if keys is None else keys
    return arange(keys, device=device) <= arange(queries, device=device).reshape(queries, 1) + offset


def padding_mask(ids, pad=0):
    """True where ids, (B, S) integers, are real words: (B, S) bools."""
    return ids != pad


def combine_masks(mask=None, padding=None):
    """One mask for (B, H, T, S), where both are True: (B, 1, T, S), or (1, 1, T, S), or (B, 1, 1, S).

    mask: (T, S) bools, the same for all sentences, or None. padding: (B, S) bools, True for real words, or
    None. Returns None if both are.

    >>> combine_masks(causal_mask(2), Tensor([[True, True], [False, True]]))[1, 0]
    tensor([[False, False],
            [False,  True]])
    """
    if mask is not None:
        mask = mask.reshape(1, 1, *mask.shape)
    if padding is not None:
        padding = padding.reshape(len(padding), 1, 1, padding.shape[1])
    if mask is None or padding is None:
        return padding if mask is None else mask
    return mask & padding


@op(promote=False)
@floats_only
def masked_softmax(scores, mask=None, dim=-1):
    """Shares that sum to 1 along `dim`, of what the mask lets through; zeros if that is nothing.

    mask: None, bools (True: may be seen), or floats to be added; it broadcasts to the shape of scores. Keeps
    the dtype of scores and leaves them as they are. Raises RuntimeError for integers.

    >>> masked_softmax(np.array([0.7071, 0., 0.7071]), np.array([True, True, False])).round(4)
    array([0.6698, 0.3302, 0.    ])
    """
    if not scores.size:
        return scores * 1
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    shares = scores - np.maximum(scores.max(dim, keepdims=True), np.finfo(scores.dtype).min)
    np.exp(shares, out=shares)                         # in place from here on: this array is ours
    shares /= np.maximum(shares.sum(dim, keepdims=True), 1)
    return shares


@vjp(masked_softmax)
def _(out, scores, mask=None, dim=-1):
    def pull(g):
        slope = out * (g - sum(g * out, dim, True))
        return slope, slope                            # of a mask that is added, too
    return pull


@op(keeps=True)
@part_by_part
def attention(query, key, value, mask=None, keep=None, scale=None):
    """For each query the mean of the values, by likeness of the keys: (output, weights).

    query: (..., T, d), key: (..., S, d), value: (..., S, e). output: (..., T, e), weights: (..., T, S), or
    None if they are many. mask: as in masked_softmax. keep: None, or what the weights are multiplied with in
    the end. scale: 1/√d if None. Who calls the op gets the output alone.
    "Attention Is All You Need", arXiv:1706.03762, equation 1.

    >>> query, key = np.array([[1., 0.]]), np.array([[1., 0.], [0., 1.], [1., 1.]])
    >>> attention(query, key, np.array([[10.], [20.], [60.]])).round(2)
    array([[32.03]])
    """
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    weights = masked_softmax((query * scale) @ key.swapaxes(-1, -2), mask)
    return (weights if keep is None else weights * keep) @ value, weights


@vjp(attention)
def _(kept, query, key, value, mask=None, keep=None, scale=None):
    weights = kept[1]
    return lambda g: attention_gradients(g, weights, masked_softmax, query, key, value, mask, keep, scale)


@composite(attention)                                  # the same lines, with tensors: see module 05
def _(*inputs, **params): return attention.forward(*inputs, **params)[0]


def attend(query, key, value, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False,
           need_weights=False):
    """(output, weights, or None unless needed): see scaled_dot_product_attention.

    The weights are those before dropout. They have a history: for it the op's lines are run with tensors.
    """
    check_attention(query, key, value, mask, dropout_p)
    mask = mask.to(query.dtype) if mask is not None and mask.dtype.kind == "f" else mask
    if is_causal:
        mask = merged_mask(mask, causal_mask(query.shape[-2], key.shape[-2], device=query.device))
    gqa = enable_gqa and query.shape[-3] != key.shape[-3]
    q, k, v, mask = grouped(query, key, value, mask) if gqa else (query, key, value, mask)
    inputs = q, k, v, mask, drawn_to_keep(dropout_p, q, k)
    scale = scale if q.shape[-1] else 0.0              # vectors of no numbers are all alike
    found = (attention.forward(*inputs, scale=scale) if need_weights
             else (attention(*inputs, scale=scale), None))
    return tuple([ungrouped(x) for x in found]) if gqa else found


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False,
                                 scale=None, enable_gqa=False):
    """For each query the mean of the values, by likeness of the keys: softmax(Q Kᵀ scale + mask) V.

    query: (..., H, T, d), key: (..., H, S, d), value: (..., H, S, e), floats; gives (..., H, T, e).
    attn_mask: bools (True: may be seen) or floats to be added, broadcast to (..., H, T, S). is_causal: query
    i sees keys 0 to i. scale: 1/√d if None. enable_gqa: keys and values have G heads, H/G heads of queries
    share one. A query that may see nothing gets zeros. Raises RuntimeError if sizes or dtypes do not fit.
    """
    return attend(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)[0]


def split_heads(x, heads):
    """x, (B, T, heads * d), as (B, heads, T, d).

    >>> split_heads(Tensor([[[0, 1, 2, 3], [4, 5, 6, 7]]]), 2)[0, 1]
    tensor([[2, 3],
            [6, 7]])
    """
    b, t, c = x.shape
    return x.reshape(b, t, heads, c // heads).transpose(1, 2)


def join_heads(x):
    """x, (B, H, T, d), as (B, T, H * d): what `split_heads` did, undone."""
    b, h, t, d = x.shape
    return x.transpose(1, 2).reshape(b, t, h * d)


class MultiHeadAttention(HeadsBase):
    """Attention in num_heads heads: called with (query, key, value, mask), gives (output, weights).

    d_model: how long the vectors are. head_dim: how long a head's are, d_model / num_heads if not given.
    num_kv_heads: how many heads keys and values have, if fewer. rotary: called as rotary(x, place of the
    first) on queries and keys, or None. ValueError if the numbers do not fit. arXiv:1706.03762, 2305.13245.

    >>> out, weights = MultiHeadAttention(d_model=8, num_heads=2)(randn(3, 5, 8), causal_mask(5))
    >>> out.shape, weights.shape
    ((3, 5, 8), (3, 2, 5, 5))
    """
    split = staticmethod(split_heads)                  # for `heads`

    def forward(self, query, key=None, value=None, mask=None, cache=None, layer=0, bias=None,
                need_weights=True):
        """(output (B, T, d_model), weights (B, H, T, S), or None unless needed).

        query: (B, T, d_model); key, value: (B, S, d_model), the query if not given. mask: (T, S), (B, T, S)
        or what broadcasts to (B, H, T, S); True, or a number other than 0 where all are 0 or 1, where a query
        may look at a key; other floats are added. With two arguments the second is the mask. bias: floats
        that are always added. cache, layer: see `AttentionCache`.
        """
        query, key, value, mask = sorted_out(query, key, value, mask, bias)
        q, k, v = self.heads(query, key, value, cache, layer)
        out, weights = attend(q, k, v, mask, self.dropout if self.training else 0.0, enable_gqa=True,
                              need_weights=need_weights)
        return self.out_proj(join_heads(out)), weights
