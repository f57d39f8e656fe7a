# Generated from modules/12_attention/heads_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2d83a1c796baabb7967d7d7c5ff2f2354d550512136cbb1c4ffc0e538ae70cf9  body sha256 91523605fc2835d2afa6eeee5be5830383f0accdf729fffe79bc21f23fe2df08  # noqa: E501
"""nn.heads: built in module 12_attention."""

from typing import Protocol

from tinytorch.nn.attention_parts import merged_mask
from tinytorch.nn.layers import Linear
from tinytorch.nn.module import Module

__all__ = ["AttentionCache", "HeadsBase", "meant", "sorted_out"]


def meant(mask):
    """The mask as bools if it holds integers, or only the floats 0 and 1, and both; else as it is.

    One that requires a gradient stays as it is.
    """
    if mask.dtype.kind in "iu":
        return mask != 0
    if mask.dtype.kind != "f" or mask.requires_grad:
        return mask
    zero, one = mask == 0, mask == 1
    return one if ((zero | one).all() & zero.any() & one.any()).item() else mask


def sorted_out(query, key, value, mask, bias=None):
    """(query, key, value, mask) of a layer's call: what was left out, and a mask for (B, H, T, S)."""
    if value is None:
        if mask is not None and key is not None:
            raise ValueError("MultiHeadAttention got a key and a mask, and no value. Give key and value, or "
                             "neither.")
        key, value, mask = query, query, mask if key is None else key
    key = query if key is None else key
    for name, x in ("query", query), ("key", key), ("value", value):
        if x.ndim != 3:
            raise RuntimeError(f"MultiHeadAttention: {name} has the shape {x.shape}; it must be "
                               "(B, T, d_model). A single sequence is a batch of one: x.unsqueeze(0).")
    if mask is not None:
        mask = meant(mask.unsqueeze(1) if mask.ndim == 3 else mask)
    if bias is not None:
        mask = bias + mask if mask is not None and mask.dtype.kind == "f" else merged_mask(bias, mask)
    return query, key, value, mask


class AttentionCache(Protocol):
    """Keys and values of the places seen so far, for each layer of a model."""
    def length(self, layer=0):
        """How many places are held for this layer: the offset of the next one."""
    def update(self, layer, key, value):
        """Add those of new places, (B, heads, T, head_dim); returns (key, value) of all places so far."""
    def cross(self, layer, make):
        """The (key, value) that `make()` gave at the first call for this layer: those of another sequence."""
    def reorder(self, index):
        """Row i of the batch becomes what row index[i] was, in every layer: beams are kept or dropped."""


class HeadsBase(Module):
    """The four projections of attention in heads, and queries, keys and values in heads by them."""
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True, head_dim=None, num_kv_heads=None,
                 rotary=None, device=None, dtype=None):
        super().__init__()
        groups = num_heads if num_kv_heads is None else num_kv_heads
        if num_heads < 1 or groups < 1 or num_heads % groups or head_dim is None and d_model % num_heads:
            raise ValueError(f"MultiHeadAttention(d_model={d_model}, num_heads={num_heads}, num_kv_heads="
                             f"{groups}): d_model must be a multiple of num_heads (or give head_dim), and "
                             "num_heads one of num_kv_heads.")
        self.d_model, self.num_heads, self.num_kv_heads = d_model, num_heads, groups
        self.head_dim = d_model // num_heads if head_dim is None else head_dim
        self.dropout, self.rotary = dropout, rotary
        self.q_proj = Linear(d_model, num_heads * self.head_dim, bias, device, dtype)
        self.k_proj = Linear(d_model, groups * self.head_dim, bias, device, dtype)
        self.v_proj = Linear(d_model, groups * self.head_dim, bias, device, dtype)
        self.out_proj = Linear(num_heads * self.head_dim, d_model, bias, device, dtype)

    def heads(self, query, key, value, cache=None, layer=0):
        """(q, k, v) for `attend`, with all places that the cache knows: see `AttentionCache`."""
        def keys_and_values():
            return (self.split(self.k_proj(key), self.num_kv_heads),
                    self.split(self.v_proj(value), self.num_kv_heads))

        q = self.split(self.q_proj(query), self.num_heads)
        if key is not query:                           # another sequence: it is all there, and has no offset
            k, v = keys_and_values() if cache is None else cache.cross(layer, keys_and_values)
            return q, k, v
        k, v = keys_and_values()
        if self.rotary is not None:
            offset = 0 if cache is None else cache.length(layer)
            q, k = self.rotary(q, offset), self.rotary(k, offset)
        if cache is not None:
            k, v = cache.update(layer, k, v)
        return q, k, v

    def extra_repr(self):
        return f"num_heads={self.num_heads}, head_dim={self.head_dim}, dropout={self.dropout}"
