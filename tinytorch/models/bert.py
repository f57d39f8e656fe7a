# Generated from modules/13_transformers/transformers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a518c33cdebd19caee24350cd6e8bbbe9b7982b084512206b8ef9f3b3e69ad26  body sha256 0dc2314ebbecc56cc249eaf2790e5f86b20d6fcaa69770d134c0f575ff1042c7  # noqa: E501
"""models.bert: built in module 13_transformers."""

from tinytorch.core.creation import zeros_like
from tinytorch.models.block_parts import init_weights
from tinytorch.models.masking_parts import as_bools
from tinytorch.models.transformer import TransformerBlock
from tinytorch.nn.activations import tanh
from tinytorch.nn.attention import combine_masks
from tinytorch.nn.containers import ModuleList
from tinytorch.nn.embedding_layers import Embedding
from tinytorch.nn.layers import Dropout, Linear
from tinytorch.nn.module import Module
from tinytorch.nn.normalization import LayerNorm
from tinytorch.nn.positions import LearnedPositionalEmbedding
from tinytorch.nn.simple_layers import Identity

__all__ = ["BERTEmbedding", "BERTEncoder"]


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


class BERTEncoder(Module):
    """Reads a text both ways: each word's vector knows all the others, (B, T) ids to (B, T, d_model).

    pooler: with the layer that `pool` needs. block: options of TransformerBlock. Devlin et al.,
    arXiv:1810.04805.
    """
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len, dropout=0.1, *,
                 type_vocab_size=2, padding_idx=0, norm="post", activation="gelu", eps=1e-12, pooler=True,
                 **block):
        super().__init__()
        self.d_model, self.max_len = d_model, max_len
        self.embedding = BERTEmbedding(vocab_size, d_model, max_len, type_vocab_size, dropout, padding_idx,
                                       eps)
        self.blocks = ModuleList([
            TransformerBlock(d_model, num_heads, d_ff, dropout, norm=norm, activation=activation, eps=eps,
                             **block) for _ in range(num_layers)])
        self.norm = LayerNorm(d_model, eps) if norm == "pre" else Identity()
        self.pooler = Linear(d_model, d_model) if pooler else None
        init_weights(self)

    def forward(self, token_ids, attention_mask=None, token_types=None):
        """token_ids (B, T) to vectors (B, T, d_model).

        attention_mask: (B, T), True or 1 for words, False or 0 for padding, at which nobody looks.
        token_types: (B, T), 0 for the first sentence, 1 for the second.
        """
        attention_mask = as_bools(attention_mask, token_ids)
        mask = combine_masks(padding=attention_mask)
        x = self.embedding(token_ids, token_types)
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)

    def pool(self, hidden):
        """A vector (B, d_model) for each text, from that of its first token, [CLS].

        RuntimeError without a pooler.
        """
        if self.pooler is None:
            raise RuntimeError("pool: this BERTEncoder has no pooler. Make it with pooler=True, or use the "
                               "vector of [CLS] itself: hidden[:, 0].")
        return tanh(self.pooler(hidden[:, 0]))
