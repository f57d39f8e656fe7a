# Generated from modules/13_transformers/transformers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a518c33cdebd19caee24350cd6e8bbbe9b7982b084512206b8ef9f3b3e69ad26  body sha256 19f446db6c3546ce4488c7b265bf5012fedc30d25c4738553712e3a6f3285a37  # noqa: E501
"""models.gpt: built in module 13_transformers."""

import math

from tinytorch.core.creation import multinomial
from tinytorch.models.block_parts import init_weights, position_layer, word_head
from tinytorch.models.generation import (
    Writing,
    beams_of,
    check_room,
    evaluating,
    generator_of,
    unread,
)
from tinytorch.models.transformer import TransformerBlock
from tinytorch.nn.activations import softmax
from tinytorch.nn.attention import causal_mask
from tinytorch.nn.containers import ModuleList
from tinytorch.nn.embedding_layers import Embedding
from tinytorch.nn.layers import Dropout
from tinytorch.nn.module import Module
from tinytorch.nn.normalization import LayerNorm
from tinytorch.nn.position_layers import RotaryEmbedding

__all__ = ["GPTDecoder", "filter_logits", "next_token", "top_k_logits", "top_p_logits"]


def top_k_logits(logits, k):
    """The scores (B, V), with -inf for all but the k largest of each row and those equal to the k-th.

    >>> top_k_logits(Tensor([[3., 1., 2.]]), 2)
    tensor([[3., -inf, 2.]])
    """
    least = logits.topk(min(k, logits.shape[-1]))[0][:, -1:]                   # (B, 1)
    return logits.masked_fill(logits < least, -math.inf)


def top_p_logits(logits, p):
    """The scores (B, V), with -inf for each word that has p or more of the shares in front of it, 0 < p < 1.

    In front of it stand those with larger scores, of equal ones any. Holtzman et al., arXiv:1904.09751.

    >>> softmax(top_p_logits(Tensor([[.15, .5, .1, .25]]).log(), .7), -1)
    tensor([[0.0000, 0.6667, 0.0000, 0.3333]])
    """
    order = logits.argsort(-1, descending=True)
    shares = softmax(logits.gather(-1, order), -1)                             # the largest first
    out = shares.cumsum(-1) - shares >= p
    return logits.masked_fill(out.gather(-1, order.argsort(-1)), -math.inf)


def filter_logits(logits, temperature=1.0, top_k=None, top_p=None):
    """The scores (B, V), divided by the temperature, with -inf for what must not be drawn.

    top_k: the k largest stay (and those equal to the k-th). top_p: then of these, the most probable first,
    each that has less than top_p in front of it; 1 leaves all.
    """
    if not temperature > 0 or top_k is not None and top_k < 1 or top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"filter_logits: temperature={temperature}, top_k={top_k}, top_p={top_p}: the first "
                         "must be above 0, the second at least 1, the third above 0 and at most 1.")
    logits = logits / temperature
    if top_k is not None:
        logits = top_k_logits(logits, top_k)
    if top_p is not None and top_p < 1:                     # at 1 no share is too small for a sum to show
        logits = top_p_logits(logits, top_p)
    return logits


def next_token(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """One token (B,) by the scores (B, V): drawn from those that `filter_logits` leaves; the likeliest if
    the temperature is 0."""
    if logits.ndim != 2:
        raise ValueError(f"next_token: scores {logits.shape}: they must be (B, V), those of one place; of "
                         "(B, T, V) the last one's, [:, -1].")
    if temperature == 0:
        return logits.argmax(-1)
    shares = softmax(filter_logits(logits, temperature, top_k, top_p), -1)
    return multinomial(shares, 1, generator=generator)[:, 0]


class GPTDecoder(Module):
    """A language model: at each place a score for each word that may come next. GPT-2's shape by default.

    positions: "learned", "sinusoidal", "rotary" or "none". tie_weights: the last matrix is the table of
    words. block: options of TransformerBlock. Radford et al., "Language models are unsupervised multitask
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
        self.position_embedding = position_layer(positions, max_len, d_model, "rotary")
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
        t = token_ids.shape[-1]
        x = self.dropout(self.position_embedding(self.token_embedding(token_ids), offset))
        mask = causal_mask(t, offset=offset, device=token_ids.device)
        for layer, block in enumerate(self.blocks):
            x = block(x, mask, cache, layer)
        return self.output_proj(self.norm(x))

    def generate(self, start_tokens, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos=None,
                 seed=None, num_beams=1, length_penalty=1.0, cache=None):
        """start_tokens and up to max_new_tokens more, each drawn from the scores of the last place.

        start_tokens: (B, T) gives (B, T + new); a list of prompts of any lengths gives a list of tensors.
        temperature 0 takes the likeliest. top_k, top_p: see `filter_logits`. eos: an id, or several; a row
        that wrote one is filled up with the first; all done, it ends. seed: what is drawn then depends on
        nothing else. num_beams: a beam search in place of drawing. A text longer than max_len is read from
        its last max_len tokens, without a cache; with one it is a ValueError.
        """
        check_room(self, start_tokens, max_new_tokens, num_beams, cache)
        if num_beams > 1:
            return beams_of(self, start_tokens, max_new_tokens, num_beams, eos, length_penalty, cache)
        text = Writing(start_tokens, max_new_tokens, eos, self.token_embedding.weight.device)
        generator = generator_of(seed, text.ids.device)
        with evaluating(self):
            for _ in text.turns():
                ids = unread(text.ids, cache)
                logits = self(ids[:, -self.max_len:], cache)[:, -1]                # (B, V)
                text.append(next_token(logits, temperature, top_k, top_p, generator))
        return text.result()
