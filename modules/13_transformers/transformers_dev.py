# %% [markdown]
# # Module 13: Transformers, the block and what it became

# %%
#| default_exp models.transformer
from tito.lesson import expect, expect_error, measure, peak_bytes, run_tests, timed

# %%
import math

import numpy as np
from block_parts_dev import activation_named, check_norm, init_weights, position_layer, word_head
from generation_dev import Writing, beams_of, check_room, evaluating, generator_of, unread
from masking_parts_dev import is_any_of, ordinary_tokens
from norm_parts_dev import NormLayer, over_last
from vit_parts_dev import places_for

from tinytorch.core.autograd import composite, vjp
from tinytorch.core.creation import multinomial, rand, randint, zeros, zeros_like
from tinytorch.core.joining import cat
from tinytorch.core.math import where
from tinytorch.core.op import op
from tinytorch.core.tensor import Tensor
from tinytorch.nn.activations import silu, softmax, tanh
from tinytorch.nn.attention import MultiHeadAttention, causal_mask, combine_masks
from tinytorch.nn.containers import ModuleList
from tinytorch.nn.embedding_layers import Embedding
from tinytorch.nn.floats import floats_only
from tinytorch.nn.layers import Dropout, Linear
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter
from tinytorch.nn.patches import PatchEmbedding
from tinytorch.nn.position_layers import RotaryEmbedding
from tinytorch.nn.positions import LearnedPositionalEmbedding
from tinytorch.nn.simple_layers import Identity

# %% [markdown]
# ## Exercise 1: layer norm

# %%
#| export nn.normalization
@op(keeps=True)
@floats_only
def layer_norm(x, weight=None, bias=None, eps=1e-5):
    """Each vector (..., d) of x with mean 0 and variance 1; times weight (d,), plus bias (d,), if given.

    The variance is the mean of the squares, eps is added to it under the root. Ba et al., arXiv:1607.06450.

    >>> layer_norm(np.array([1., 2., 3., 4.])).round(4)
    array([-1.3416, -0.4472,  0.4472,  1.3416])
    """
    ### BEGIN SOLUTION
    centred = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + eps)
    normal = centred * scale
    ### END SOLUTION
    out = normal if weight is None else normal * weight
    return out if bias is None else out + bias, normal, scale


# %%
#| export nn.normalization
@vjp(layer_norm)
def _(kept, x, weight=None, bias=None, eps=1e-5):
    out, normal, scale = kept

    def pull(g):
        def to_x():
            h = g if weight is None else g * weight
            return scale * (h - h.mean(-1, keepdims=True) - normal * (h * normal).mean(-1, keepdims=True))
        return to_x, None if weight is None else lambda: g * normal, g

    return pull


@composite(layer_norm)
def _(*inputs, **params): return layer_norm.forward(*inputs, **params)[0]


class LayerNorm(NormLayer):
    """Each vector with mean 0 and variance 1, times `weight`, plus `bias`, that are learned.

    normalized_shape: d, or several last sizes. Ba et al., arXiv:1607.06450.
    """
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None,
                 dtype=None):
        super().__init__(normalized_shape, eps, elementwise_affine, bias, device, dtype)

    def forward(self, x):
        """x (..., d), normalised: the same shape. RuntimeError if its last size is not d."""
        return over_last(layer_norm, x, self.normalized_shape, (self.weight, self.bias), self.eps)


# %%
#| export nn.normalization
@op(keeps=True)
@floats_only
def rms_norm(x, weight=None, eps=1e-5):
    """Each vector (..., d) of x by the root of its mean square; times weight (d,). arXiv:1910.07467."""
    scale = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    normal = x * scale
    return normal if weight is None else normal * weight, normal, scale


@vjp(rms_norm)
def _(kept, x, weight=None, eps=1e-5):
    out, normal, scale = kept

    def pull(g):
        def to_x():
            h = g if weight is None else g * weight
            return scale * (h - normal * (h * normal).mean(-1, keepdims=True))
        return to_x, None if weight is None else lambda: g * normal

    return pull


@composite(rms_norm)
def _(*inputs, **params): return rms_norm.forward(*inputs, **params)[0]


class RMSNorm(NormLayer):
    """Each vector by the root of its mean square, times `weight`, that is learned: no mean, no bias."""
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__(normalized_shape, eps, elementwise_affine, False, device, dtype)

    def forward(self, x):
        """x (..., d), normalised: the same shape. eps=None is the dtype's own."""
        eps = float(np.finfo(x.dtype).eps) if self.eps is None else self.eps
        return over_last(rms_norm, x, self.normalized_shape, (self.weight,), eps)


# %%
#| export
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
        ### BEGIN SOLUTION
        return self.linear2(self.dropout(self.activation(self.linear1(x))))
        ### END SOLUTION


class SwiGLU(Module):
    """A feed-forward network with a door: linear2(silu(gate(x)) · linear1(x)). Shazeer, arXiv:2002.05202."""
    def __init__(self, d_model, d_ff, dropout=0.1, bias=True):
        super().__init__()
        self.gate, self.linear1 = Linear(d_model, d_ff, bias), Linear(d_model, d_ff, bias)
        self.linear2, self.dropout = Linear(d_ff, d_model, bias), Dropout(dropout)

    def forward(self, x):
        """(..., d_model) to (..., d_model), place by place."""
        return self.linear2(self.dropout(silu(self.gate(x)) * self.linear1(x)))


def feed_forward(d_model, d_ff, dropout, activation, bias):
    """The feed-forward network with this activation: SwiGLU for "swiglu"."""
    if activation == "swiglu":
        return SwiGLU(d_model, d_ff, dropout, bias)
    return FeedForward(d_model, d_ff, dropout, activation, bias)


# %%
#| export
def residual(x, sublayer, norm, dropout, pre=True):
    """x plus what the sub-layer makes of it: normalised before it goes in (pre), or the sum after (post).

    sublayer, norm, dropout: functions of a tensor (..., d_model) that keep its shape. dropout is applied to
    what the sub-layer gives.
    """
    ### BEGIN SOLUTION
    if pre:
        return x + dropout(sublayer(norm(x)))
    return norm(x + dropout(sublayer(x)))
    ### END SOLUTION


# %%
#| export
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
        ### BEGIN SOLUTION
        x = residual(x, attend, self.norm1, self.dropout1, self.pre)
        return residual(x, self.feedforward, self.norm2, self.dropout2, self.pre)
        ### END SOLUTION


# %%
#| export
def create_causal_mask(seq_len, device=None):
    """(seq_len, seq_len) bools: place i may look at the places up to i."""
    return causal_mask(seq_len, device=device)


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
        for block in self.blocks:
            x = block(x, mask, bias=bias)
        return self.norm(x)


# %%
#| export models.gpt
def filter_logits(logits, temperature=1.0, top_k=None, top_p=None):
    """The scores (B, V), divided by the temperature, with -inf for what must not be drawn.

    top_k: the k largest stay (and those equal to the k-th). top_p: of the most probable, as few as have a
    probability of top_p together stay; the one that reaches it does, too. Holtzman et al., arXiv:1904.09751.

    >>> softmax(filter_logits(Tensor([[.5, .25, .15, .1]]).log(), top_p=.7), -1)
    tensor([[0.6667, 0.3333, 0.0000, 0.0000]])
    """
    if temperature <= 0 or top_k is not None and top_k < 1 or top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"filter_logits: temperature={temperature}, top_k={top_k}, top_p={top_p}: the first "
                         "must be above 0, the second at least 1, the third above 0 and at most 1.")
    ### BEGIN SOLUTION
    logits = logits / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        least = logits.topk(top_k)[0][:, -1:]                                  # (B, 1)
        logits = logits.masked_fill(logits < least, -math.inf)
    if top_p is not None:
        order = logits.argsort(-1, descending=True)
        shares = softmax(logits.gather(-1, order), -1)
        before = shares.cumsum(-1) - shares                                    # of those in front of it
        drop = zeros(*logits.shape, device=logits.device).bool().scatter(-1, order, before >= top_p)
        logits = logits.masked_fill(drop, -math.inf)
    return logits
    ### END SOLUTION


# %%
#| export models.gpt
def next_token(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """One token (B,) by the scores (B, V): drawn from those that `filter_logits` leaves; the likeliest if
    the temperature is 0."""
    if temperature == 0:
        return logits.argmax(-1)
    shares = softmax(filter_logits(logits, temperature, top_k, top_p), -1)
    return multinomial(shares, 1, generator=generator)[:, 0]


# %%
#| export models.gpt
class GPTDecoder(Module):
    """A language model: at each place a score for each word that may come next. GPT-2's shape by default.

    positions: "learned", "sinusoidal" or "rotary". tie_weights: the last matrix is the table of words.
    block: options of TransformerBlock. Radford et al., "Language models are unsupervised multitask
    learners" (2019).
    """
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len, dropout=0.1, *,
                 positions="learned", tie_weights=False, head_bias=False, rotary_base=10000.0,
                 norm_layer=LayerNorm, eps=1e-5, head_dim=None, activation="gelu_tanh", **block):
        super().__init__()
        self.max_len = max_len
        rotary = (RotaryEmbedding(head_dim or d_model // num_heads, rotary_base) if positions == "rotary"
                  else None)
        self.token_embedding = Embedding(vocab_size, d_model)
        self.position_embedding = position_layer(positions, max_len, d_model)
        self.dropout = Dropout(dropout)
        self.blocks = ModuleList([
            TransformerBlock(d_model, num_heads, d_ff, dropout, norm_layer=norm_layer, eps=eps,
                             head_dim=head_dim, activation=activation, rotary=rotary, **block)
            for _ in range(num_layers)])
        self.norm = norm_layer(d_model, eps)
        self.output_proj = word_head(d_model, vocab_size, self.token_embedding if tie_weights else None,
                                     head_bias)
        init_weights(self, residual_layers=2 * num_layers)

    def forward(self, token_ids, cache=None):
        """token_ids (B, T) to the scores of the next word at each place, (B, T, vocab_size).

        cache: see `AttentionCache` of module 12; the ids are then those that come after what it holds.
        """
        offset = 0 if cache is None else cache.length()
        ### BEGIN SOLUTION
        t = token_ids.shape[1]
        x = self.dropout(self.position_embedding(self.token_embedding(token_ids), offset))
        mask = causal_mask(t, offset=offset, device=token_ids.device)
        for layer, block in enumerate(self.blocks):
            x = block(x, mask, cache, layer)
        return self.output_proj(self.norm(x))
        ### END SOLUTION

    def generate(self, start_tokens, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos=None,
                 seed=None, num_beams=1, length_penalty=1.0, cache=None):
        """start_tokens and up to max_new_tokens more, each drawn from the scores of the last place.

        start_tokens: (B, T) gives (B, T + new); a list of prompts of any lengths gives a list of tensors.
        temperature 0 takes the likeliest. top_k, top_p: see `filter_logits`. eos: a row that wrote it is
        filled up with it; all done, it ends. seed: what is drawn then depends on nothing else. num_beams: a
        beam search in place of drawing. A text longer than max_len is read from its last max_len tokens,
        without a cache; with one it is a ValueError.
        """
        check_room(self, start_tokens, max_new_tokens, cache)
        if num_beams > 1:
            return beams_of(self, start_tokens, max_new_tokens, num_beams, eos, length_penalty, cache)
        text = Writing(start_tokens, max_new_tokens, eos, self.token_embedding.weight.device)
        generator = generator_of(seed, text.ids.device)
        with evaluating(self):
            while not text.finished:
                ids = unread(text.ids, cache)
                ### BEGIN SOLUTION
                logits = self(ids[:, -self.max_len:], cache)[:, -1]                # (B, V)
                text.append(next_token(logits, temperature, top_k, top_p, generator))
                ### END SOLUTION
        return text.result()


# %%
#| export models.masking
def mask_tokens(token_ids, mask_id, vocab_size, special_ids=(), prob=0.15, generator=None):
    """(inputs, labels) for masked language modelling, (B, T) each; token_ids is left as it was.

    Each token that is not special is chosen with probability prob. labels: the token where one was chosen,
    else -100. inputs: of the chosen 80 % are mask_id, 10 % any ordinary token, 10 % as they were.
    special_ids: never chosen, and never drawn. Devlin et al., arXiv:1810.04805, section 3.1.
    """
    ordinary = ordinary_tokens(vocab_size, {mask_id, *special_ids}, token_ids.device)
    special = is_any_of(token_ids, special_ids)
    ### BEGIN SOLUTION
    chosen = (rand(*token_ids.shape, generator=generator, device=token_ids.device) < prob) & ~special
    labels = token_ids.masked_fill(~chosen, -100)
    lot = rand(*token_ids.shape, generator=generator, device=token_ids.device)
    drawn = ordinary[randint(0, len(ordinary), token_ids.shape, generator=generator,
                             device=token_ids.device)]
    inputs = where(chosen & (lot < 0.8), mask_id, token_ids)
    inputs = where(chosen & (lot >= 0.9), drawn, inputs)
    return inputs, labels
    ### END SOLUTION


# %%
#| export models.bert
class BERTEmbedding(Module):
    """Word + place + segment, normalised, then dropout: BERT's input, (B, T) ids to (B, T, d_model).

    padding_idx: the word whose vector gets no gradient, or None. type_vocab_size: how many segments.
    """
    def __init__(self, vocab_size, d_model, max_len, type_vocab_size=2, dropout=0.1, padding_idx=0,
                 eps=1e-12):
        super().__init__()
        self.token_embedding = Embedding(vocab_size, d_model, padding_idx=padding_idx)
        self.position_embedding = LearnedPositionalEmbedding(max_len, d_model)
        self.token_type_embedding = Embedding(type_vocab_size, d_model)
        self.norm, self.dropout = LayerNorm(d_model, eps), Dropout(dropout)

    def forward(self, token_ids, token_types=None):
        """token_types: (B, T) integers below type_vocab_size; all 0 if not given."""
        token_types = zeros_like(token_ids) if token_types is None else token_types
        x = self.token_embedding(token_ids) + self.token_type_embedding(token_types)
        return self.dropout(self.norm(self.position_embedding(x)))


# %%
#| export models.bert
class BERTEncoder(Module):
    """Reads a text both ways: each word's vector knows all the others, (B, T) ids to (B, T, d_model).

    block: options of TransformerBlock. Devlin et al., arXiv:1810.04805.
    """
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len, dropout=0.1, *,
                 type_vocab_size=2, padding_idx=0, norm="post", activation="gelu", eps=1e-12, **block):
        super().__init__()
        self.d_model, self.max_len = d_model, max_len
        self.embedding = BERTEmbedding(vocab_size, d_model, max_len, type_vocab_size, dropout, padding_idx,
                                       eps)
        self.blocks = ModuleList([
            TransformerBlock(d_model, num_heads, d_ff, dropout, norm=norm, activation=activation, eps=eps,
                             **block) for _ in range(num_layers)])
        self.norm = LayerNorm(d_model, eps) if norm == "pre" else Identity()
        self.pooler = Linear(d_model, d_model)
        init_weights(self)

    def forward(self, token_ids, attention_mask=None, token_types=None):
        """token_ids (B, T) to vectors (B, T, d_model).

        attention_mask: (B, T), True or 1 for words, False or 0 for padding, at which nobody looks.
        token_types: (B, T), 0 for the first sentence, 1 for the second.
        """
        ### BEGIN SOLUTION
        mask = None if attention_mask is None else combine_masks(padding=attention_mask != 0)
        x = self.embedding(token_ids, token_types)
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)
        ### END SOLUTION

    def pool(self, hidden):
        """A vector (B, d_model) for each text, from that of its first token, [CLS]."""
        return tanh(self.pooler(hidden[:, 0]))


# %%
#| export
class TransformerDecoderBlock(Module):
    """Masked self-attention, attention to another sequence, feed-forward: a block that writes while it reads.

    Options as in TransformerBlock. Called with x (B, T, d_model) and memory (B, S, d_model).
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
        ### BEGIN SOLUTION
        weights = None

        def attend(x):
            return self.self_attention(x, x, x, mask, cache, layer, bias, need_weights=False)[0]

        def look_up(x):
            nonlocal weights
            out, weights = self.cross_attention(x, memory, memory, memory_mask, cache, layer,
                                                need_weights=need_weights)
            return out

        x = residual(x, attend, self.norm1, self.dropout1, self.pre)
        x = residual(x, look_up, self.norm2, self.dropout2, self.pre)
        x = residual(x, self.feedforward, self.norm3, self.dropout3, self.pre)
        return x, weights
        ### END SOLUTION


# %%
#| export
class TransformerDecoder(Module):
    """num_layers decoder blocks, and behind pre-norm ones a last norm."""
    def __init__(self, num_layers, d_model, num_heads, d_ff, dropout=0.1, *, norm="pre", eps=1e-5,
                 norm_layer=LayerNorm, **block):
        super().__init__()
        self.blocks = ModuleList([
            TransformerDecoderBlock(d_model, num_heads, d_ff, dropout, norm=norm, eps=eps,
                                    norm_layer=norm_layer, **block) for _ in range(num_layers)])
        self.norm = norm_layer(d_model, eps) if norm == "pre" else Identity()

    def forward(self, x, memory, mask=None, memory_mask=None, cache=None, bias=None):
        """x (B, T, d_model), memory (B, S, d_model): as in TransformerDecoderBlock; gives (B, T, d_model)."""
        for layer, block in enumerate(self.blocks):
            x, _ = block(x, memory, mask, memory_mask, cache, layer, bias, need_weights=False)
        return self.norm(x)


# %%
#| export models.vit
class VisionTransformer(Module):
    """A picture as a sentence of patches, with [CLS] in front: (B, C, H, W) to (B, num_classes) scores.

    img_size, patch_size: a number or (height, width). d_ff: 4 d_model if None. num_classes=0: no head, the
    vector of [CLS] itself. block: options of TransformerBlock. Dosovitskiy et al., arXiv:2010.11929.
    """
    def __init__(self, img_size=224, patch_size=16, in_channels=3, num_classes=1000, d_model=768,
                 num_layers=12, num_heads=12, d_ff=None, dropout=0.0, *, norm="pre", activation="gelu",
                 eps=1e-6, **block):
        super().__init__()
        self.patch_embed = PatchEmbedding(img_size, patch_size, in_channels, d_model)
        self.cls_token = Parameter(zeros(1, 1, d_model))
        self.pos_embed = Parameter(zeros(1, 1 + self.patch_embed.n_patches, d_model))
        self.dropout = Dropout(dropout)
        self.encoder = TransformerEncoder(num_layers, d_model, num_heads, d_ff or 4 * d_model, dropout,
                                          norm=norm, activation=activation, eps=eps, **block)
        self.head = Linear(d_model, num_classes) if num_classes else Identity()
        init_weights(self)

    def forward_features(self, x):
        """The vectors of [CLS] and of each patch, (B, 1 + T, d_model). Also for pictures of another size."""
        pos_embed = places_for(self, x.shape[2:])
        ### BEGIN SOLUTION
        x = self.patch_embed(x)                                                # (B, T, d_model)
        first = self.cls_token.expand(len(x), -1, -1)
        x = self.dropout(cat([first, x], 1) + pos_embed)
        return self.encoder(x)
        ### END SOLUTION

    def forward(self, x):
        """Pictures (B, C, H, W) to a score for each class, (B, num_classes)."""
        return self.head(self.forward_features(x)[:, 0])
