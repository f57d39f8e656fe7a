"""What transformers are trained on: pairs of tokens, of sentences, spans, prompts."""
from itertools import product

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.models import next_sentence_pairs, next_token_pairs, span_corruption, text_to_text, token_loss
from tinytorch.models.objectives import TASKS, random_parts, random_spans
from tinytorch.nn import functional as F


def seeded(seed=0): return torch.Generator().manual_seed(seed)


# ---- the next token ----

def test_each_place_asks_for_the_token_after_it():
    """Padding is asked for nowhere; one row without a batch will do, and a list"""
    ids = torch.tensor([[5, 6, 7, 8], [9, 3, 0, 0]])
    with pytest.raises(ValueError, match="mask == 0"):           # a mask that is added to scores
        next_token_pairs(ids, torch.where(ids == 0, -1e4, 0.0))
    inputs, labels = next_token_pairs(ids, ids != 0)
    assert inputs.tolist() == [[5, 6, 7], [9, 3, 0]]
    assert labels.tolist() == [[6, 7, 8], [3, -100, -100]]
    for row in ids[0], ids[0].tolist():
        assert [x.tolist() for x in next_token_pairs(row)] == [[5, 6, 7], [6, 7, 8]]
    for few, shape in (ids[:, :1], r"\(2, 1\)"), (ids[0, 0], r"\(\)"):
        with pytest.raises(ValueError, match=f"{shape}.*at least 2"):
            next_token_pairs(few)


def test_the_loss_of_tokens_is_the_mean_over_those_with_a_label():
    """(B, T, V) scores: the same number as place by place"""
    scores = torch.randn(2, 3, 5, generator=seeded())
    labels = torch.tensor([[1, -100, 4], [-100, -100, 0]])
    logp = F.log_softmax(scores, -1)
    want = -(logp[0, 0, 1] + logp[0, 2, 4] + logp[1, 2, 0]) / 3
    np.testing.assert_allclose(token_loss(scores, labels).item(), want.item(), rtol=1e-6)
    with pytest.raises(ValueError, match="a label for each place"):
        token_loss(scores, labels.T)                   # as many, and at other places


# ---- the next sentence ----

CLS, SEP = 1, 2
DOCUMENTS = [[[100 * d + 10 * s + 3 + i for i in range(s + 1)] for s in range(n)]
             for d, n in enumerate((4, 1, 6))]


def halves(row, types, mask):
    """The two sentences in a row, by the types; checks what stands around them."""
    row, types = row[mask == 1].tolist(), types[mask == 1].tolist()
    second = types.index(1)
    assert types == [0] * second + [1] * (len(row) - second)
    assert row[0] == CLS and row[second - 1] == SEP and row[-1] == SEP
    return row[1:second - 1], row[second:-1]


def test_pairs_of_sentences():
    """Each sentence once, in order, with the next one (0) or one of another document (1)"""
    pairs = [next_sentence_pairs(DOCUMENTS, CLS, SEP, 32, generator=seeded(i)) for i in range(40)]
    follows = {tuple(a): b for document in DOCUMENTS for a, b in zip(document, document[1:])}
    home = {tuple(sentence): d for d, document in enumerate(DOCUMENTS) for sentence in document}
    elsewhere = set()
    for ids, mask, types, labels in pairs:
        assert ids.shape == mask.shape == types.shape and len(ids) == len(labels) == 8
        assert (ids[mask == 0] == 0).all() and (types[mask == 0] == 0).all()
        found = [halves(*row) for row in zip(ids, types, mask)]
        assert [a for a, _ in found] == [a for document in DOCUMENTS for a in document[:-1]]
        for (a, b), label in zip(found, labels.tolist()):
            if label == 0:
                assert b == follows[tuple(a)]
            else:
                assert home[tuple(b)] != home[tuple(a)]
                elsewhere.add(tuple(b))
    assert elsewhere == set(home)                      # the lone sentence, first and last ones: all are drawn
    share = np.mean([labels.numpy() for *_, labels in pairs])
    assert abs(share - 0.5) < 0.1                      # 320 coins: 3.6 standard deviations


def test_pairs_of_sentences_are_cut_and_repeat():
    """At most max_len tokens, the longer sentence first; the same generator, the same pairs"""
    documents = [[[5] * 9, [6] * 2], [[7] * 9, [8] * 9]]
    ids, mask, types, labels = next_sentence_pairs(documents, CLS, SEP, 10, pad=4, generator=seeded(3))
    assert ids.shape[1] <= 10 and (ids[mask == 0] == 4).all()
    again = next_sentence_pairs(documents, CLS, SEP, 10, pad=4, generator=seeded(3))
    assert all((x == y).all() for x, y in zip((ids, mask, types, labels), again))
    cut = {tuple(next_sentence_pairs(documents, CLS, SEP, 10, generator=seeded(i))[0][0].tolist())
           for i in range(20)}
    assert (1, 5, 5, 5, 5, 5, 2, 6, 6, 2) in cut and (1, 5, 5, 5, 2, 8, 8, 8, 8, 2) in cut


@pytest.mark.parametrize("documents", [[[[5], [6]]], [[[5], [6]], []], [[[5]], [[6]]]])
def test_documents_that_make_no_pairs(documents):
    with pytest.raises(ValueError, match="next_sentence_pairs.*two"):
        next_sentence_pairs(documents, CLS, SEP, 16)


# ---- spans ----

def test_the_spans_follow_t5s_rule():
    """15 % of 512 tokens in 26 spans; few tokens, and densities at the ends, leave something of each kind"""
    for length, density, mean, gone, spans in (
            (512, .15, 3., 77, 26), (100, .15, 3., 15, 5), (100, .5, 2.5, 50, 20), (2, .15, 3., 1, 1),
            (3, .99, 3., 2, 1), (10, .01, 9., 1, 1), (10, .9, 1., 9, 1)):
        found = random_spans(length, density, mean, seeded())
        stay, go = zip(*found)
        assert (len(found), sum(go), sum(stay)) == (spans, gone, length - gone)
        assert min(stay) >= 1 and min(go) >= 1
    for wrong in (1,), (10, 0.0), (10, 1.0), (10, 0.15, 0.5):
        with pytest.raises(ValueError, match="at least"):
            random_spans(*wrong)


def test_each_division_is_as_likely_as_the_others():
    """5 in 3 parts: 6 ways"""
    generator = seeded()
    found = [tuple(random_parts(5, 3, generator)) for _ in range(1200)]
    ways = [way for way in product(range(1, 4), repeat=3) if sum(way) == 5]
    counts = [found.count(way) for way in ways]
    assert sum(counts) == 1200 and min(counts) > 150   # 200 each; 50 is 3.9 standard deviations


@pytest.mark.parametrize("length", [2, 3, 10, 57, 512])
def test_inputs_and_targets_hold_every_token_once(length):
    """Each sentinel of the inputs, replaced by what the targets say of it, gives the text again"""
    for seed, density in product(range(5), (0.15, 0.5)):
        text = torch.arange(length) + 10
        inputs, targets = span_corruption(text, 9999, density, generator=seeded(seed))
        said, sentinels = {}, []
        for token in targets.tolist():
            if token > 9000:
                sentinels.append(token)
                said[token] = []
            else:
                said[sentinels[-1]].append(token)
        assert sentinels == list(range(9999, 9999 - len(sentinels), -1)) and said[sentinels[-1]] == []
        assert [token for token in inputs.tolist() if token > 9000] == sentinels[:-1]
        whole = [part for token in inputs.tolist() for part in said.get(token, [token])]
        assert whole == text.tolist()


def test_rows_of_a_batch_have_spans_of_their_own():
    """One length for all; eos ends both; the text stays as it was"""
    text = (torch.arange(40) + 10).expand(6, 40)
    inputs, targets = span_corruption(text, 99, eos=1, generator=seeded())
    assert inputs.shape == (6, 40 - 6 + 2 + 1) and targets.shape == (6, 6 + 3 + 1)
    assert (inputs[:, -1] == 1).all() and (targets[:, -1] == 1).all() and (targets[:, -2] == 97).all()
    assert len({tuple(row) for row in inputs.tolist()}) > 1
    again = span_corruption(text, 99, eos=1, generator=seeded())[0]
    assert (again == inputs).all() and (text[0] == torch.arange(40) + 10).all()


def test_sentinels_must_be_free():
    for text, sentinel in (torch.arange(100), 99), (torch.arange(20) + 50, 0):
        with pytest.raises(ValueError, match="sentinels"):
            span_corruption(text, sentinel)


# ---- text to text ----

PAIR = {"sentence1": "A b.", "sentence2": "C d."}


@pytest.mark.parametrize("task, label, fields, prompt, target", [
    ("cola", 1, {"sentence": "A b."}, "cola sentence: A b.", "acceptable"),
    ("cola", None, {"sentence": "A b."}, "cola sentence: A b.", None),
    ("sst2", 0, {"sentence": "A b."}, "sst2 sentence: A b.", "negative"),
    ("mrpc", 1, PAIR, "mrpc sentence1: A b. sentence2: C d.", "equivalent"),
    ("rte", 1, PAIR, "rte sentence1: A b. sentence2: C d.", "not_entailment"),
    ("qqp", 0, {"question2": "B?", "question1": "A?"}, "qqp question1: A? question2: B?", "not_duplicate"),
    ("qnli", 0, {"question": "A?", "sentence": "B."}, "qnli question: A? sentence: B.", "entailment"),
    ("mnli", 2, {"premise": "A.", "hypothesis": "B."}, "mnli hypothesis: B. premise: A.", "contradiction"),
    ("squad", "B", {"context": "A B", "question": "C?"}, "question: C? context: A B", "B"),
    ("summarize", "short", {"text": "A long one."}, "summarize: A long one.", "short"),
    ("translate English to French", "Oui.", {"text": "Yes."}, "translate English to French: Yes.", "Oui."),
    ("stsb", 0, PAIR, "stsb sentence1: A b. sentence2: C d.", "0.0"),
    ("stsb", 2.57, PAIR, "stsb sentence1: A b. sentence2: C d.", "2.6"),
    ("stsb", 3.25, PAIR, "stsb sentence1: A b. sentence2: C d.", "3.2"),
    ("stsb", 4.71, PAIR, "stsb sentence1: A b. sentence2: C d.", "4.8")])
def test_the_papers_prompts(task, label, fields, prompt, target):
    """Appendix D: the words of the prompt in their order, the class written out, a number to 0.2"""
    assert text_to_text(task, label, **fields) == (prompt, target)


def test_labels_and_fields_that_are_none():
    assert len(TASKS) == 10
    with pytest.raises(ValueError, match="'cloa' is not known.*cola, sst2"):
        text_to_text("cloa", 0, sentence="a")
    with pytest.raises(ValueError, match="mnli is asked about hypothesis, premise, and not about sentence"):
        text_to_text("mnli", 0, sentence="a")
    for label in 2, -1, "positive", 0.5:
        with pytest.raises(ValueError, match="sst2 has the classes 0 to 1"):
            text_to_text("sst2", label, sentence="a")
