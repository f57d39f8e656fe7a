# %% [markdown]
# # PyTorch's transformer
#
# Given code: nothing to solve here. `nn.Transformer` and its parts, so that programs written for PyTorch run
# and its weights can be loaded: the lesson's `residual` around PyTorch's `MultiheadAttention`. Sequences come
# first and batches second unless told otherwise, the norm comes after each sum unless told otherwise, and in
# masks of bools True means *hidden*.

# %%
#| default_exp nn.transformer_layers

# %%
import math
from copy import deepcopy

from transformers_dev import LayerNorm, residual

from tinytorch.core.creation import full
from tinytorch.core.indexing import triu
from tinytorch.nn.activations import gelu, relu
from tinytorch.nn.containers import ModuleList
from tinytorch.nn.initializers import xavier_uniform_
from tinytorch.nn.layers import Dropout, Linear
from tinytorch.nn.module import Module
from tinytorch.nn.multihead import MultiheadAttention

# %% [markdown]
# ## One layer
#
# Encoder layers attend to themselves, decoder layers also to a memory. Around each attention and around the
# feed-forward network stands a norm and a dropout, numbered from 1.

# %%
#| export
def named_activation(activation):
    """relu or gelu for their names; any other function is itself. RuntimeError for another name."""
    known = {"relu": relu, "gelu": gelu}
    if isinstance(activation, str) and activation not in known:
        raise RuntimeError(f"activation={activation!r}: it must be 'relu', 'gelu' or a function of a tensor.")
    return known[activation] if isinstance(activation, str) else activation


class TransformerLayer(Module):
    """What both layers have: the attentions of these names, a feed-forward network, norms and dropouts."""
    def __init__(self, attentions, d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                 batch_first, norm_first, bias, device, dtype):
        super().__init__()
        where = dict(device=device, dtype=dtype)
        for name in attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first,
                                                   **where))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **where)
        self.norm_first, numbers = norm_first, range(1, len(attentions) + 2)
        for n in numbers:
            setattr(self, f"norm{n}", LayerNorm(d_model, layer_norm_eps, bias=bias, **where))
        for n in numbers:
            setattr(self, f"dropout{n}", Dropout(dropout))
        self.activation = named_activation(activation)

    def sublayer(self, n, x, f):
        """x and what f makes of it, with norm n and dropout n."""
        return residual(x, f, getattr(self, f"norm{n}"), getattr(self, f"dropout{n}"), self.norm_first)

    def attend(self, n, attention, x, memory, mask, padding, is_causal):
        """Sub-layer n, an attention to `memory`, or where that is None to x itself."""
        def look(x):
            to = x if memory is None else memory
            return attention(x, to, to, padding, False, mask, is_causal=is_causal)[0]
        return self.sublayer(n, x, look)

    def feed(self, n, x):
        """Sub-layer n, the feed-forward network."""
        return self.sublayer(n, x, lambda x: self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(TransformerLayer):
    """Attention and a feed-forward network, with PyTorch's names; arXiv:1706.03762.

    activation: "relu", "gelu" or a function. batch_first: (N, S, E) and not (S, N, E); (S, E) without a batch
    may always come. norm_first: norms before the sub-layers, and not after the sums.
    """
    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu",
                 layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None,
                 dtype=None):
        super().__init__(["self_attn"], d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                         batch_first, norm_first, bias, device, dtype)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        """src to the same shape. Masks and is_causal: see `MultiheadAttention.forward`."""
        x = self.attend(1, self.self_attn, src, None, src_mask, src_key_padding_mask, is_causal)
        return self.feed(2, x)


class TransformerDecoderLayer(TransformerLayer):
    """Attention to itself, attention to a memory, and a feed-forward network. See TransformerEncoderLayer."""
    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu",
                 layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None,
                 dtype=None):
        super().__init__(["self_attn", "multihead_attn"], d_model, nhead, dim_feedforward, dropout,
                         activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=False, memory_is_causal=False):
        """tgt to the same shape. Masks and hints: see `MultiheadAttention.forward`.

        Without a tgt_mask each place sees all of tgt.
        """
        x = self.attend(1, self.self_attn, tgt, None, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        x = self.attend(2, self.multihead_attn, x, memory, memory_mask, memory_key_padding_mask,
                        memory_is_causal)
        return self.feed(3, x)


# %% [markdown]
# ## Stacks
#
# A stack is given one layer and copies it, so all its layers begin with the same numbers, as PyTorch's do
# (`Transformer` draws them anew). PyTorch leaves padding out of the computation in evaluation, and then gives
# 0 for it; here padding is computed like everything else, and it is for the caller not to look at it.

# %%
#| export
class TransformerStack(Module):
    """num_layers copies of a layer, and a norm behind the last or None."""
    def __init__(self, layer, num_layers, norm):
        super().__init__()
        self.layers = ModuleList([deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def through(self, x, *memory, **how):
        """x through all layers, each called with the same other arguments, and the norm."""
        for layer in self.layers:
            x = layer(x, *memory, **how)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(TransformerStack):
    """num_layers copies of `encoder_layer`, and behind them `norm`, if one is given.

    enable_nested_tensor, mask_check: PyTorch's; there are no nested tensors here, and both do nothing. What
    comes out where padding is, is of no use (PyTorch's is 0 there in evaluation).
    """
    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__(encoder_layer, num_layers, norm)

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        """src to the same shape. is_causal: a hint that `mask` is causal; it is not looked for."""
        return self.through(src, src_mask=mask, is_causal=bool(is_causal),
                            src_key_padding_mask=src_key_padding_mask)


class TransformerDecoder(TransformerStack):
    """num_layers copies of `decoder_layer`, and behind them `norm`, if one is given."""
    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=None, memory_is_causal=False):
        """tgt to the same shape; memory is what the encoder made. See TransformerDecoderLayer.forward."""
        return self.through(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=bool(tgt_is_causal), memory_is_causal=memory_is_causal)


# %% [markdown]
# ## The whole

# %%
#| export
class Transformer(Module):
    """The encoder-decoder of "Attention Is All You Need", arXiv:1706.03762: vectors in, vectors out.

    custom_encoder, custom_decoder: take the place of the stacks. The others: see TransformerEncoderLayer.
    Behind each stack stands a norm, also without norm_first.

    >>> Transformer(8, 2, 1, 1, 16)(full((5, 3, 8), 0.1), full((4, 3, 8), 0.2)).shape
    (4, 3, 8)
    """
    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048,
                 dropout=0.1, activation="relu", custom_encoder=None, custom_decoder=None,
                 layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None,
                 dtype=None):
        super().__init__()
        how = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first,
               bias, device, dtype)

        def norm(): return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder if custom_encoder is not None else TransformerEncoder(
            TransformerEncoderLayer(*how), num_encoder_layers, norm())
        self.decoder = custom_decoder if custom_decoder is not None else TransformerDecoder(
            TransformerDecoderLayer(*how), num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self):
        for p in self.parameters():
            if p.ndim > 1:
                xavier_uniform_(p)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None,
                tgt_is_causal=None, memory_is_causal=False):
        """src (S, N, E) and tgt (T, N, E), or as batch_first says, or without N, to tgt's shape.

        Nothing is masked by itself: give tgt_mask, such as `generate_square_subsequent_mask(T)`. RuntimeError
        if sizes do not fit.
        """
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(f"Transformer: src {src.shape} and tgt {tgt.shape} have different batches in "
                               f"dimension {batch} (batch_first={self.batch_first}).")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(f"Transformer: src {src.shape} and tgt {tgt.shape} must end with d_model, "
                               f"{self.d_model}.")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask,
                              is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """(sz, sz) to be added: 0 for the places up to one's own, -inf for those to come.

        >>> Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return triu(full((sz, sz), -math.inf, dtype=dtype, device=device), 1)
