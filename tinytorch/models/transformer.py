# Generated from modules/13_transformers/transformers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a518c33cdebd19caee24350cd6e8bbbe9b7982b084512206b8ef9f3b3e69ad26  body sha256 7827cc0e43225518d04546c4500cc0d239fef7dae6836c5aa7ce327b9eac836c  # noqa: E501
"""models.transformer: built in module 13_transformers."""

from tinytorch.models.block_parts import SwiGLU, activation_named, check_norm
from tinytorch.nn.attention import MultiHeadAttention, causal_mask
from tinytorch.nn.containers import ModuleList
from tinytorch.nn.layers import Dropout, Linear
from tinytorch.nn.module import Module
from tinytorch.nn.normalization import LayerNorm
from tinytorch.nn.simple_layers import Identity

__all__ = [
    "FeedForward", "TransformerBlock", "TransformerDecoderBlock", "TransformerEncoder",
    "feed_forward", "residual",
]


class FeedForward(Module):
    """A network for each place alone: d_model numbers become d_ff, go through a bend, and come back.

    activation: "relu", "gelu", "gelu_tanh" or "silu".
    """
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu", bias=True):
        super().__init__()
        self.linear1, self.linear2 = Linear(d_model, d_ff, bias), Linear(d_ff, d_model, bias)
        self.activation, self.dropout = activation_named(activation), Dropout(dropout)

    def forward(self, x):
        """(..., d_model) to (..., d_model), place by place; dropout behind the bend."""
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


def feed_forward(d_model, d_ff, dropout, activation, bias):
    """The feed-forward network with this activation: SwiGLU for "swiglu"."""
    if activation == "swiglu":
        return SwiGLU(d_model, d_ff, dropout, bias)
    return FeedForward(d_model, d_ff, dropout, activation, bias)


def residual(x, sublayer, norm, dropout, pre=True):
    """x plus what the sub-layer makes of it: normalised before it goes in (pre), or the sum after (post).

    sublayer, norm, dropout: functions of a tensor (..., d_model) that keep its shape. dropout is applied to
    what the sub-layer gives.
    """
    if pre:
        return x + dropout(sublayer(norm(x)))
    return norm(x + dropout(sublayer(x)))


class TransformerBlock(Module):
    """Attention among the places, then a feed-forward network at each: (B, T, d_model) stays its shape.

    norm: "pre" (before each sub-layer) or "post" (after each sum, as in the paper of 2017). activation: see
    FeedForward, or "swiglu". norm_layer: LayerNorm or RMSNorm. num_kv_heads, head_dim, rotary: see
    MultiHeadAttention. Vaswani et al., arXiv:1706.03762; pre-norm: Xiong et al., arXiv:2002.04745.
    """
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, *, norm="pre", activation="relu", eps=1e-5,
                 bias=True, norm_layer=LayerNorm, num_kv_heads=None, head_dim=None, rotary=None):
        super().__init__()
        check_norm(norm)
        self.pre = norm == "pre"
        self.attention = MultiHeadAttention(d_model, num_heads, dropout, bias, head_dim, num_kv_heads, rotary)
        self.norm1, self.dropout1 = norm_layer(d_model, eps), Dropout(dropout)
        self.feedforward = feed_forward(d_model, d_ff, dropout, activation, bias)
        self.norm2, self.dropout2 = norm_layer(d_model, eps), Dropout(dropout)

    def forward(self, x, mask=None, cache=None, layer=0, bias=None):
        """x (B, T, d_model) to the same shape.

        mask: who may look at whom, bools that broadcast to (B, H, T, T). bias: floats added to the scores.
        cache, layer: see `AttentionCache` of module 12.
        """
        def attend(x):
            return self.attention(x, x, x, mask, cache, layer, bias, need_weights=False)[0]
        x = residual(x, attend, self.norm1, self.dropout1, self.pre)
        return residual(x, self.feedforward, self.norm2, self.dropout2, self.pre)


class TransformerEncoder(Module):
    """num_layers blocks, and behind pre-norm ones a last norm: (B, T, d_model) stays its shape."""
    def __init__(self, num_layers, d_model, num_heads, d_ff, dropout=0.1, *, norm="pre", eps=1e-5,
                 norm_layer=LayerNorm, **block):
        super().__init__()
        self.blocks = ModuleList([
            TransformerBlock(d_model, num_heads, d_ff, dropout, norm=norm, eps=eps, norm_layer=norm_layer,
                             **block) for _ in range(num_layers)])
        self.norm = norm_layer(d_model, eps) if norm == "pre" else Identity()

    def forward(self, x, mask=None, bias=None):
        """x (B, T, d_model); mask and bias as in TransformerBlock, the same for each block."""
        out = x
        for each in self.blocks:
            out = each(out, mask, bias=bias)
        return self.norm(out)


class TransformerDecoderBlock(Module):
    """Masked self-attention, attention to another sequence, feed-forward: a block that writes while it reads.

    Options as in TransformerBlock, without the last three. x is (B, T, d_model), memory (B, S, d_model).
    """
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, *, norm="pre", activation="relu", eps=1e-5,
                 bias=True, norm_layer=LayerNorm):
        super().__init__()
        check_norm(norm)
        self.pre = norm == "pre"
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout, bias)
        self.norm1, self.dropout1 = norm_layer(d_model, eps), Dropout(dropout)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout, bias)
        self.norm2, self.dropout2 = norm_layer(d_model, eps), Dropout(dropout)
        self.feedforward = feed_forward(d_model, d_ff, dropout, activation, bias)
        self.norm3, self.dropout3 = norm_layer(d_model, eps), Dropout(dropout)

    def forward(self, x, memory, mask=None, memory_mask=None, cache=None, layer=0, bias=None,
                need_weights=True):
        """(x of the same shape, the weights of the attention to memory (B, H, T, S), None unless needed).

        mask: who of the T may look at whom, causal if not given. memory_mask: who of the T may look at which
        of the S. bias: floats added to the scores of self-attention.
        """
        if mask is None:
            offset = 0 if cache is None else cache.length(layer)
            mask = causal_mask(x.shape[1], offset=offset, device=x.device)

        def attend(x):
            return self.self_attention(x, x, x, mask, cache, layer, bias, need_weights=False)[0]
        weights = None

        def look_up(x):
            nonlocal weights
            out, weights = self.cross_attention(x, memory, memory, memory_mask, cache, layer,
                                                need_weights=need_weights)
            return out

        x = residual(x, attend, self.norm1, self.dropout1, self.pre)
        x = residual(x, look_up, self.norm2, self.dropout2, self.pre)
        x = residual(x, self.feedforward, self.norm3, self.dropout3, self.pre)
        return x, weights
