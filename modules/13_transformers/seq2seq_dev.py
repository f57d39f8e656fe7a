# %% [markdown]
# # Encoder and decoder
#
# Given code: nothing to solve here. The transformer of 2017: one stack reads the source both ways, another
# writes the target word by word, and looks into what the first made of the source at each step.

# %%
#| default_exp models.seq2seq

# %%
import math

from tinytorch.core.creation import full
from tinytorch.core.dtypes import int64
from tinytorch.core.tensor import Tensor
from tinytorch.models.block_parts import init_weights, position_layer, word_head
from tinytorch.models.generation import (
    Writing,
    beam_search,
    check_task,
    evaluating,
    generator_of,
    rows_of,
    unread,
)
from tinytorch.models.gpt import next_token
from tinytorch.models.transformer import TransformerDecoderBlock, TransformerEncoder
from tinytorch.nn.attention import padding_mask
from tinytorch.nn.containers import ModuleList
from tinytorch.nn.embedding_layers import Embedding
from tinytorch.nn.layers import Dropout
from tinytorch.nn.module import Module
from tinytorch.nn.normalization import LayerNorm
from tinytorch.nn.packed import pad_sequence
from tinytorch.nn.position_layers import RelativePositionBias
from tinytorch.nn.positions import LearnedPositionalEmbedding
from tinytorch.nn.simple_layers import Identity


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
        out = x
        for i, each in enumerate(self.blocks):
            out, _ = each(out, memory, mask, memory_mask, cache, i, bias, need_weights=False)
        return self.norm(out)


# %%
#| export
class SequenceEmbedding(Module):
    """Ids (B, T) as vectors (B, T, d_model): word (times √d_model if scaled) + place, norm, dropout."""
    def __init__(self, table, positions, max_len, dropout, scaled, norm):
        super().__init__()
        d_model = table.embedding_dim
        self.token_embedding, self.scale = table, math.sqrt(d_model) if scaled else 1.0
        self.position_embedding = position_layer(positions, max_len, d_model, "relative")
        self.norm, self.dropout = LayerNorm(d_model) if norm else Identity(), Dropout(dropout)

    def forward(self, ids, offset=0):
        x = self.token_embedding(ids)
        x = x * self.scale if self.scale != 1 else x
        return self.dropout(self.norm(self.position_embedding(x, offset)))


def padded_batch(source, pad, device):
    """source (B, S) as it is; a list of B sources of any lengths as one, filled up with `pad`."""
    if isinstance(source, Tensor):
        return source
    return pad_sequence(rows_of(source, device), batch_first=True, padding_value=0 if pad is None else pad)


def check_places(layer, n):
    """ValueError if n new tokens need more places than were learned: [BOS] has the first."""
    if isinstance(layer, LearnedPositionalEmbedding) and n > layer.max_len:
        raise ValueError(f"generate: max_new_tokens={n}, and max_len={layer.max_len} places were learned. "
                         "Ask for fewer, or take positions='sinusoidal'.")


class Seq2SeqTransformer(Module):
    """Reads a source, writes a target: (B, S) and (B, T) ids to the next word's scores, (B, T, tgt_vocab).

    positions: "sinusoidal" (2017), "learned", or "relative", T5's bias for each distance, learned once for
    all layers of a stack. pad: the id of padding, at which nobody looks, or None. share_embeddings: one
    table for source and target; tie_weights: the last matrix is the target's table. scale_embeddings: words
    times √d_model; embedding_norm: a LayerNorm behind words and places (BART). block: options of
    TransformerDecoderBlock. Vaswani et al., arXiv:1706.03762; relative: Raffel et al., arXiv:1910.10683.
    """
    def __init__(self, src_vocab, tgt_vocab, d_model=512, num_heads=8, num_encoder_layers=6,
                 num_decoder_layers=6, d_ff=2048, max_len=512, dropout=0.1, *, positions="sinusoidal", pad=0,
                 norm="post", share_embeddings=False, tie_weights=False, head_bias=True,
                 scale_embeddings=True, embedding_norm=False, **block):
        super().__init__()
        if share_embeddings and src_vocab != tgt_vocab:
            raise ValueError(f"share_embeddings with {src_vocab} words in the source and {tgt_vocab} in the "
                             "target: one table has one number of words.")
        self.pad, self.max_len = pad, max_len
        source = Embedding(src_vocab, d_model, padding_idx=pad)
        target = source if share_embeddings else Embedding(tgt_vocab, d_model, padding_idx=pad)
        self.source_embedding, self.target_embedding = [
            SequenceEmbedding(table, positions, max_len, dropout, scale_embeddings, embedding_norm)
            for table in (source, target)]
        self.encoder = TransformerEncoder(num_encoder_layers, d_model, num_heads, d_ff, dropout, norm=norm,
                                          **block)
        self.decoder = TransformerDecoder(num_decoder_layers, d_model, num_heads, d_ff, dropout, norm=norm,
                                          **block)
        relative = positions == "relative"
        self.encoder_bias = RelativePositionBias(num_heads) if relative else None
        self.decoder_bias = RelativePositionBias(num_heads, bidirectional=False) if relative else None
        self.output_proj = word_head(d_model, tgt_vocab, target if tie_weights else None, head_bias)
        init_weights(self, std=d_model ** -0.5)

    def source_mask(self, source):
        """(B, 1, 1, S): False at the source's padding; None if there is no such id."""
        return None if self.pad is None else padding_mask(source, self.pad).unsqueeze(1).unsqueeze(1)

    def encode(self, source):
        """source (B, S) ids to vectors (B, S, d_model)."""
        bias = None if self.encoder_bias is None else self.encoder_bias(source.shape[-1])
        return self.encoder(self.source_embedding(source), self.source_mask(source), bias)

    def decode(self, target, memory, memory_mask=None, cache=None):
        """target (B, T) ids and memory (B, S, d_model) to vectors (B, T, d_model); causal.

        memory_mask: (B, 1, 1, S), False at padding. cache: see `AttentionCache`; the ids are then those that
        come after what it holds. Padding in the target needs no mask: it comes last, and who comes before it
        does not see it.
        """
        offset = 0 if cache is None else cache.length()
        t = target.shape[-1]
        bias = None if self.decoder_bias is None else self.decoder_bias(t, offset + t)
        return self.decoder(self.target_embedding(target, offset), memory, None, memory_mask, cache, bias)

    def forward(self, source, target):
        """Teacher forcing: the scores of the word after each of the target's, given the true ones before it.

        target begins with [BOS]; the labels are the target one place further.
        """
        return self.output_proj(self.decode(target, self.encode(source), self.source_mask(source)))

    def generate(self, source, max_new_tokens, bos, eos, num_beams=1, temperature=0.0, top_k=None,
                 top_p=None, seed=None, length_penalty=1.0, cache=None):
        """A target for each source, (B, S) or a list of B sources: (B, 1 + new) ids, from bos to eos.

        temperature 0 takes the likeliest word at each step; num_beams > 1 searches (see `beam_search`);
        otherwise it draws, as GPTDecoder.generate does. eos: an id, or several; rows that end early are
        filled up with the first. ValueError if learned positions end before max_new_tokens.
        """
        source = padded_batch(source, self.pad, self.output_proj.weight.device)
        check_places(self.target_embedding.position_embedding, max_new_tokens)
        start = full((len(source), 1), bos, dtype=int64, device=source.device)
        check_task(start, max_new_tokens, num_beams, cache)
        with evaluating(self):
            memory, mask = self.encode(source), self.source_mask(source)
            if num_beams > 1:
                memory, mask = [x if x is None else x.repeat_interleave(num_beams, 0) for x in (memory, mask)]

            def logits_of(ids):
                return self.output_proj(self.decode(unread(ids, cache), memory, mask, cache)[:, -1])

            if num_beams > 1:
                return beam_search(logits_of, start, max_new_tokens, num_beams, eos, length_penalty,
                                   None if cache is None else cache.reorder)
            text, generator = Writing(start, max_new_tokens, eos), generator_of(seed, source.device)
            for _ in text.turns():
                text.append(next_token(logits_of(text.ids), temperature, top_k, top_p, generator))
        return text.result()
