# Generated from modules/12_attention/multihead_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a6ca421fb14b51a2eb4cc0bd493d5b7be0c236b11d6051d38258c8f7e00720c7  body sha256 6b4d463fa27739983ac12e550c5c438b1e0d24562ef3172c8dacaefcabd473bc  # noqa: E501
"""nn.multihead: built in module 12_attention."""

import math

from tinytorch.core.creation import empty, ones, zeros
from tinytorch.core.joining import cat
from tinytorch.nn.attention import attend, join_heads, split_heads
from tinytorch.nn.initializers import xavier_normal_, xavier_uniform_, zeros_
from tinytorch.nn.layers import Linear, linear
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter

__all__ = [
    "MultiheadAttention", "NonDynamicallyQuantizableLinear", "added", "both_masks", "check_sizes",
    "multi_head_attention_forward", "refuse", "seen", "widened",
]


def refuse(message): raise RuntimeError(f"MultiheadAttention: {message}")


def seen(mask, name, shapes):
    """A mask of PyTorch's layer as one for `attend`: bools are turned around. shapes: {given: wanted}."""
    if mask is None:
        return None
    if mask.dtype.kind not in "bf":
        refuse(f"{name} is of {mask.dtype}; it must be of bools (True: hidden) or floats. "
               "Convert it: mask.bool().")
    if mask.shape not in shapes:
        refuse(f"{name} has the shape {mask.shape}; it must be {' or '.join([str(s) for s in shapes])}.")
    mask = mask.reshape(shapes[mask.shape])
    return ~mask if mask.dtype.kind == "b" else mask


def added(mask, dtype):
    """A mask to be added: 0 for what may be seen, else -inf."""
    if mask.dtype.kind != "b":
        return mask
    return zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)


def both_masks(one, other, dtype):
    """One mask that does what both do."""
    if one is None or other is None:
        return other if one is None else one
    if one.dtype.kind == other.dtype.kind == "b":
        return one & other
    return added(one, dtype) + added(other, dtype)


def widened(mask, n):
    """The mask for n keys more, at the end, which all may see."""
    if mask is None or not n:
        return mask
    make = ones if mask.dtype.kind == "b" else zeros
    return cat([mask, make(*mask.shape[:-1], n, dtype=mask.dtype, device=mask.device)], -1)


def check_sizes(query, key, value, embed_dim, num_heads):
    """RuntimeError unless (T, N, E), (S, N, ...) and (S, N, ...) fit, or all three without N."""
    sizes = f"query {query.shape}, key {key.shape}, value {value.shape}"
    if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
        refuse(f"{sizes}: all three must have 3 dimensions, or without a batch 2.")
    if query.shape[-1] != embed_dim or embed_dim % num_heads:
        refuse(f"{sizes}: the query's last size must be embed_dim, {embed_dim}, and that a multiple of "
               f"num_heads, {num_heads}.")
    if key.shape[:-1] != value.shape[:-1] or key.shape[1:-1] != query.shape[1:-1]:
        refuse(f"{sizes}: there must be as many values as keys, and one batch size.")


def multi_head_attention_forward(
        query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v,
        add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None,
        need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None,
        k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True,
        is_causal=False):
    """What the layer computes: (output (T, N, E), weights (N, T, S), or (N, H, T, S) not averaged, or None).

    query: (T, N, E), key and value: (S, N, ...), or all without N. Raises RuntimeError if sizes do not fit.
    """
    if static_k is not None or static_v is not None:
        refuse("static_k and static_v are not known. Give key and value.")
    if is_causal and attn_mask is None:
        refuse("is_causal=True says that attn_mask is causal, but there is none. Give it.")
    check_sizes(query, key, value, embed_dim_to_check, num_heads)
    alone = query.ndim == 2
    if alone:
        query, key, value = [x.unsqueeze(1) for x in (query, key, value)]
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    (t, n, e), s = query.shape, len(key)
    mask = both_masks(
        seen(attn_mask, "attn_mask", {(n * num_heads, t, s): (n, num_heads, t, s), (t, s): (1, 1, t, s)}),
        seen(key_padding_mask, "key_padding_mask", {(n, s): (n, 1, 1, s)}), query.dtype)
    weights = in_proj_weight.chunk(3) if not use_separate_proj_weight else (
        q_proj_weight, k_proj_weight, v_proj_weight)
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    q, k, v = [linear(x.transpose(0, 1), w, b) for x, w, b in zip((query, key, value), weights, biases)]
    if bias_k is not None:
        k, v = [cat([x, b.expand(n, 1, e)], 1) for x, b in ((k, bias_k), (v, bias_v))]
    if add_zero_attn:
        k, v = [cat([x, zeros(n, 1, e, dtype=x.dtype, device=x.device)], 1) for x in (k, v)]
    q, k, v = [split_heads(x, num_heads) for x in (q, k, v)]
    out, weights = attend(q, k, v, widened(mask, k.shape[-2] - s), dropout_p if training else 0.0,
                          need_weights=need_weights)
    out = linear(join_heads(out).transpose(0, 1), out_proj_weight, out_proj_bias)
    if need_weights and average_attn_weights:
        weights = weights.mean(1)
    return (out.squeeze(1), weights.squeeze(0) if need_weights else None) if alone else (out, weights)


class NonDynamicallyQuantizableLinear(Linear):
    """PyTorch's name for the last projection."""


class MultiheadAttention(Module):
    """Attention in num_heads heads, with PyTorch's names; "Attention Is All You Need", arXiv:1706.03762.

    kdim, vdim: the last sizes of key and value, if not embed_dim. add_bias_kv: a learned key and value at the
    end; add_zero_attn: one of zeros. batch_first: (N, T, E) and not (T, N, E). Raises ValueError if num_heads
    does not divide embed_dim.

    >>> out, weights = MultiheadAttention(8, 2)(ones(5, 3, 8), zeros(6, 3, 8), zeros(6, 3, 8))
    >>> out.shape, weights.shape
    ((5, 3, 8), (3, 5, 6))
    """
    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False,
                 kdim=None, vdim=None, batch_first=False, device=None, dtype=None):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(f"MultiheadAttention({embed_dim}, {num_heads}): both must be positive, and "
                             "embed_dim a multiple of num_heads.")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn

        def made(*shape): return Parameter(empty(*shape, dtype=dtype, device=device))

        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = self.in_proj_weight = None
        if self._qkv_same_embed_dim:
            self.in_proj_weight = made(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = made(embed_dim, embed_dim)
            self.k_proj_weight, self.v_proj_weight = made(embed_dim, self.kdim), made(embed_dim, self.vdim)
        self.in_proj_bias = made(3 * embed_dim) if bias else None
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.bias_k = made(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = made(1, 1, embed_dim) if add_bias_kv else None
        self._reset_parameters()

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                zeros_(bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                xavier_normal_(bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        """(output, weights): see the class, and `multi_head_attention_forward`.

        key_padding_mask (N, S) and attn_mask (T, S) or (N H, T, S): True hides a key, floats are added. A
        query that may see nothing has the weights 0 (PyTorch's are nan if they are needed, and 0 if not).
        is_causal: a hint that attn_mask is causal.
        """
        turned = self.batch_first and query.ndim == 3
        if turned:
            query, key, value = [x.transpose(0, 1) for x in (query, key, value)]
        out, weights = multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias,
            self.bias_k, self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight,
            self.out_proj.bias, self.training, key_padding_mask, need_weights, attn_mask,
            not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal)
        return out.transpose(0, 1) if turned else out, weights
