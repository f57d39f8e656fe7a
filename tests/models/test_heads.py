"""The heads on BERT, their losses, and the best span."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.models import (
    BERTEncoder,
    BERTForMaskedLM,
    BERTForPreTraining,
    BERTForQuestionAnswering,
    BERTForSequenceClassification,
    BERTForTokenClassification,
    best_span,
    count_parameters,
    mask_tokens,
    pretraining_loss,
    span_loss,
    token_loss,
)
from tinytorch.nn import functional as F
from tinytorch.training import Trainer

IDS = torch.tensor([[1, 5, 6, 7, 2, 0], [1, 8, 9, 2, 0, 0]])
MASK = (IDS != 0).long()
TYPES = torch.tensor([[0, 0, 0, 1, 1, 0], [0, 0, 1, 1, 0, 0]])


def encoder(**options):
    torch.manual_seed(0)
    return BERTEncoder(20, 16, 2, 4, 32, 10, **options)


def near(x, y): np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-5, atol=1e-6)


def linear(x, layer): return x @ layer.weight.T + layer.bias


@pytest.fixture(autouse=True)
def same_numbers(): torch.manual_seed(0)


def test_words_are_scored_by_the_table_that_reads_them():
    """Layer, GELU, norm, then the table backwards, plus a bias for each word; the table is counted once"""
    bert = encoder(eps=1e-3)
    model = BERTForMaskedLM(bert).eval()
    head, table = model.predictions, bert.embedding.token_embedding.weight
    x = F.gelu(linear(bert(IDS, MASK, TYPES), head.dense))
    x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-3).sqrt()
    near(model(IDS, MASK, TYPES), x @ table.T + head.decoder.bias)
    assert head.decoder.weight is table
    head_alone = 16 * 16 + 16 + 2 * 16 + 20
    assert count_parameters(model) == count_parameters(bert) + head_alone


def test_a_head_leaves_the_encoder_as_it_was():
    """What was learned by masked words is still there for the task"""
    bert = encoder()
    before = {name: p.numpy().copy() for name, p in bert.state_dict().items()}
    for head in (BERTForMaskedLM, BERTForPreTraining, BERTForSequenceClassification,
                 BERTForTokenClassification, BERTForQuestionAnswering):
        model = head(bert)
        assert model.bert is bert
        for name, p in model.named_parameters():
            if not name.startswith("bert."):           # BERT's: N(0, 0.02²), no bias
                assert (p == 0).all() if name.endswith("bias") else p.ndim == 1 or 0.01 < p.std() < 0.03
    for name, p in bert.state_dict().items():
        assert (p.numpy() == before[name]).all()


def test_the_other_heads():
    """From [CLS] through the pooler, or from each token; for an answer two scores a token"""
    bert = encoder().eval()
    hidden, pooled = bert(IDS, MASK, TYPES), bert.pool(bert(IDS, MASK, TYPES))
    model = BERTForSequenceClassification(bert, 3).eval()
    near(model(IDS, MASK, TYPES), linear(pooled, model.classifier))
    model = BERTForTokenClassification(bert, 5).eval()
    near(model(IDS, MASK, TYPES), linear(hidden, model.classifier))
    model = BERTForQuestionAnswering(bert).eval()
    start, end = model(IDS, MASK, TYPES)
    near(torch.stack([start, end], -1), linear(hidden, model.qa_outputs))
    model = BERTForPreTraining(bert).eval()
    words, follows = model(IDS, MASK, TYPES)
    near(words, model.predictions(hidden))
    near(follows, linear(pooled, model.seq_relationship))
    assert not (pooled == torch.tanh(hidden[:, 0])).all()


def test_dropout_is_where_it_was():
    """Before a classifier, and nowhere else: the encoder here has none"""
    bert = encoder(dropout=0.0)
    for model, drops in ((BERTForSequenceClassification(bert, 3, dropout=0.5), True),
                         (BERTForTokenClassification(bert, 3, dropout=0.5), True),
                         (BERTForTokenClassification(bert, 3, dropout=0.0), False),
                         (BERTForQuestionAnswering(bert), False), (BERTForPreTraining(bert), False)):
        one, two = [x if isinstance(x, torch.Tensor) else x[0] for x in (model(IDS), model(IDS))]
        assert bool((one == two).all()) != drops


def test_an_encoder_without_a_pooler():
    """Reads all the same; who needs the vector of a text is told"""
    bert = encoder(pooler=False)
    assert not any("pooler" in name for name in bert.state_dict())
    assert BERTForMaskedLM(bert)(IDS).shape == (2, 6, 20)
    with pytest.raises(RuntimeError, match="no pooler.*pooler=True"):
        BERTForSequenceClassification(bert)(IDS)


def test_losses_of_two_parts():
    """Words plus next sentence; the mean of first and last token"""
    bert = encoder().eval()
    words, follows = BERTForPreTraining(bert).eval()(IDS, MASK)
    labels = IDS.masked_fill(IDS < 6, -100), torch.tensor([0, 1])
    want = token_loss(words, labels[0]) + F.cross_entropy(follows, labels[1])
    near(pretraining_loss((words, follows), labels), want)
    start, end = torch.randn(2, 6), torch.randn(2, 6)
    first, last = torch.tensor([1, 2]), torch.tensor([3, -100])
    near(span_loss((start, end), (first, last)),
         (F.cross_entropy(start, first) + F.cross_entropy(end[:1], last[:1])) / 2)


def test_both_objectives_are_learned():
    """With the Trainer: the loss falls far below that of guessing"""
    model = BERTForPreTraining(encoder(dropout=0.0))
    generator = torch.Generator().manual_seed(1)
    words, labels = mask_tokens(IDS, 3, 20, [0, 1, 2, 3], prob=0.5, generator=generator)
    batch = (words, MASK, TYPES, (labels, torch.tensor([0, 1])))
    trainer = Trainer(model, torch.optim.Adam(model.parameters(), 0.01), pretraining_loss, progress=False)
    losses = [row["loss"] for row in trainer.fit([batch], 30)]
    assert abs(losses[0] - np.log(20) - np.log(2)) < 0.3 and losses[-1] < 0.3


# ---- the best span ----

def by_hand(start, end, max_length, mask):
    """All pairs in turn."""
    places = [i for i in range(len(start)) if mask[i]]
    pairs = [(start[i] + end[j], i, j) for i in places for j in places if i <= j < i + max_length]
    return max(pairs)


def test_the_best_span_is_the_best_of_all_pairs():
    """First before last, no longer than allowed, only where the mask says"""
    rng = np.random.default_rng(0)
    start, end = rng.normal(size=(2, 8, 12)).astype("float32")
    mask = rng.random((8, 12)) < 0.7
    for longest, seen in (None, None), (1, None), (3, None), (None, mask), (4, mask), (99, mask):
        first, last, score = best_span(torch.tensor(start), torch.tensor(end), longest,
                                       None if seen is None else torch.tensor(seen).long())
        for row in range(8):
            want = by_hand(start[row], end[row], longest or 12, [True] * 12 if seen is None else seen[row])
            assert (score[row].item(), first[row].item(), last[row].item()) == pytest.approx(want)


def test_a_span_that_cannot_be():
    scores = torch.zeros(2, 3)
    for longest, mask in (0, None), (None, torch.tensor([[1, 0, 0], [0, 0, 0]])):
        with pytest.raises(ValueError, match="best_span"):
            best_span(scores, scores, longest, mask)
    with pytest.raises(ValueError, match="mask == 0"):           # a mask that is added to scores
        best_span(scores, scores, None, torch.tensor([[0., -1e4, 0.], [0., 0., 0.]]))
    for start, end, mask in ((scores[0], scores[0], None), (scores, scores[:, :2], None),
                             (scores, scores, torch.ones(3))):
        with pytest.raises(ValueError, match=r"best_span: .*They must be one, \(B, T\)"):
            best_span(start, end, None, mask)
