# %% [markdown]
# # Heads on BERT
#
# Given code: nothing to solve here. One encoder reads a text; what is asked of it is decided by the few
# numbers on top. A head takes the vector of every token (a word, a tag, the ends of an answer) or that of
# [CLS] alone (a class, does the second sentence follow the first). The names are those of the transformers
# library.

# %%
#| default_exp models.bert_heads

# %%
from masking_parts_dev import as_bools

from tinytorch.core.creation import arange
from tinytorch.models.block_parts import activation_named, init_weights, tied
from tinytorch.models.objectives import token_loss
from tinytorch.nn.layers import Dropout, Linear
from tinytorch.nn.losses import cross_entropy
from tinytorch.nn.module import Module
from tinytorch.nn.normalization import LayerNorm

# %% [markdown]
# All take an encoder that is there already, so that one that has learned by masked words can go on to a
# task:
#
#     bert = BERTEncoder(...)
#     learner = BERTForMaskedLM(bert)                       # train it on `mask_tokens`, then
#     classifier = BERTForSequenceClassification(bert, 2)   # has the same bert, and knows the language
#
# They give scores, without a loss: it is a function of scores and labels, as everywhere.

# %%
#| export
class MaskedWords(Module):
    """A score for each word at each place: one more layer, and then the table of words read backwards."""
    def __init__(self, bert, activation="gelu"):
        super().__init__()
        table, norm = bert.embedding.token_embedding, bert.embedding.norm
        self.dense, self.activation = Linear(bert.d_model, bert.d_model), activation_named(activation)
        self.norm = LayerNorm(bert.d_model, norm.eps)
        self.decoder = Linear(bert.d_model, table.num_embeddings)
        init_weights(self)
        tied(self.decoder, table)

    def forward(self, hidden):
        """hidden (B, T, d_model) to scores (B, T, vocab_size)."""
        return self.decoder(self.norm(self.activation(self.dense(hidden))))


class BERTForMaskedLM(Module):
    """Which word stands at each place, also where [MASK] does: what BERT is trained by. arXiv:1810.04805."""
    def __init__(self, bert, activation="gelu"):
        super().__init__()
        self.bert, self.predictions = bert, MaskedWords(bert, activation)

    def forward(self, token_ids, attention_mask=None, token_types=None):
        """(B, T) ids to scores (B, T, vocab_size); loss: `token_loss` with the labels of `mask_tokens`."""
        return self.predictions(self.bert(token_ids, attention_mask, token_types))


class BERTForPreTraining(BERTForMaskedLM):
    """The masked words, and whether the second sentence follows the first: both objectives of the paper."""
    def __init__(self, bert, activation="gelu"):
        super().__init__(bert, activation)
        self.seq_relationship = init_weights(Linear(bert.d_model, 2))

    def forward(self, token_ids, attention_mask=None, token_types=None):
        """(scores (B, T, vocab_size), scores (B, 2): class 0 if it follows); loss: `pretraining_loss`."""
        hidden = self.bert(token_ids, attention_mask, token_types)
        return self.predictions(hidden), self.seq_relationship(self.bert.pool(hidden))


class BERTForSequenceClassification(Module):
    """A class for each text. num_classes=1: a number for each, as for `mse_loss`."""
    def __init__(self, bert, num_classes=2, dropout=0.1):
        super().__init__()
        self.bert, self.dropout = bert, Dropout(dropout)
        self.classifier = init_weights(Linear(bert.d_model, num_classes))

    def forward(self, token_ids, attention_mask=None, token_types=None):
        """(B, T) ids to scores (B, num_classes); loss: `cross_entropy`."""
        pooled = self.bert.pool(self.bert(token_ids, attention_mask, token_types))
        return self.classifier(self.dropout(pooled))


class BERTForTokenClassification(Module):
    """A class for each token: the kind of word, or whether it is part of a name."""
    def __init__(self, bert, num_classes=2, dropout=0.1):
        super().__init__()
        self.bert, self.dropout = bert, Dropout(dropout)
        self.classifier = init_weights(Linear(bert.d_model, num_classes))

    def forward(self, token_ids, attention_mask=None, token_types=None):
        """(B, T) ids to scores (B, T, num_classes); loss: `token_loss`, with -100 where no label is."""
        return self.classifier(self.dropout(self.bert(token_ids, attention_mask, token_types)))


class BERTForQuestionAnswering(Module):
    """Where in the text the answer begins, and where it ends."""
    def __init__(self, bert):
        super().__init__()
        self.bert, self.qa_outputs = bert, init_weights(Linear(bert.d_model, 2))

    def forward(self, token_ids, attention_mask=None, token_types=None):
        """(scores of the first token (B, T), scores of the last (B, T)); loss: `span_loss`; see `best_span`.
        """
        return self.qa_outputs(self.bert(token_ids, attention_mask, token_types)).unbind(-1)


# %% [markdown]
# Two losses that are sums, in the form that `Trainer(model, optimizer, loss_fn)` takes.

# %%
#| export
def pretraining_loss(scores, labels):
    """The loss of the masked words plus that of the next sentence, for BERTForPreTraining.

    scores: ((B, T, vocab_size), (B, 2)). labels: ((B, T), -100 where no word is asked for; (B,)).
    """
    return token_loss(scores[0], labels[0]) + cross_entropy(scores[1], labels[1])


def span_loss(scores, places):
    """The mean of the losses of the answer's first and last token, for BERTForQuestionAnswering.

    scores: two (B, T). places: two (B,), -100 for a text without the answer.
    """
    return (cross_entropy(scores[0], places[0]) + cross_entropy(scores[1], places[1])) / 2


# %% [markdown]
# The likeliest first token and the likeliest last one, each for itself, may be the wrong way round. So all
# pairs are looked at.

# %%
#| export
def best_span(start, end, max_length=None, mask=None):
    """(first, last, score), (B,) each: the span with the highest start[first] + end[last], first <= last.

    start, end: (B, T) scores. max_length: at most so many tokens. mask: (B, T), True or 1 where an answer may
    lie: not in the question, not in padding. ValueError if no place is left, or shapes differ, or the mask
    holds other numbers than 0 and 1.

    >>> best_span(Tensor([[0., 1., 3.]]), Tensor([[5., 2., 1.]]))
    (tensor([0]), tensor([0]), tensor([5.]))
    """
    shapes = [x.shape for x in (start, end, mask) if x is not None]
    if start.ndim != 2 or set(shapes) != {start.shape}:
        raise ValueError(f"best_span: start, end and mask (if given) have the shapes "
                         f"{', '.join(map(str, shapes))}. They must be one, (B, T).")
    t = start.shape[1]
    mask = as_bools(mask, start)
    if max_length is not None and max_length < 1 or mask is not None and not mask.any(1).all():
        raise ValueError(f"best_span: max_length={max_length} must be at least 1, and the mask must have a "
                         "place for an answer in each row.")
    first, last = arange(t, device=start.device).unsqueeze(1), arange(t, device=start.device)
    allowed = (first <= last) & (last - first < (t if max_length is None else max_length))        # (T, T)
    if mask is not None:
        allowed = allowed & mask.unsqueeze(2) & mask.unsqueeze(1)                                 # (B, T, T)
    pairs = (start.unsqueeze(2) + end.unsqueeze(1)).masked_fill(~allowed, float("-inf")).flatten(1)
    score, place = pairs.max(1)
    return place // t, place % t, score
