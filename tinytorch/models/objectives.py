# Generated from modules/13_transformers/objectives_dev.py by tito export. Edit the lesson, not this file.
# source sha256 35832b87ddaca79f59110ace8c7f629d4af9266dbb4a15183983ce9fed6966cd  body sha256 a0ae40a8e091fd9394da10a6cb4a2ee6649130cc9fa2b56a227ddfc47d0ea42a  # noqa: E501
"""models.objectives: built in module 13_transformers."""

import re

from tinytorch.core.creation import as_tensor, rand, randperm, tensor
from tinytorch.core.dtypes import int64
from tinytorch.core.joining import stack
from tinytorch.models.masking_parts import as_bools
from tinytorch.nn.losses import cross_entropy
from tinytorch.text.batching import fitted, pad_batch

__all__ = [
    "TASKS", "next_sentence_pairs", "next_token_pairs", "random_parts", "random_spans",
    "sentence_elsewhere", "span_corruption", "target_text", "text_to_text", "token_loss",
]


def next_token_pairs(token_ids, attention_mask=None):
    """(inputs, labels), (B, T - 1) each: at every place, the token that comes after it.

    token_ids: (B, T), or (T,), also as lists. attention_mask: the same shape, False or 0 for padding: its
    label is -100. ValueError if T is below 2, or the mask holds other numbers than 0 and 1; RuntimeError if
    it has another shape.

    >>> inputs, labels = next_token_pairs(Tensor([[5, 6, 7, 0]]), Tensor([[1, 1, 1, 0]]))
    >>> inputs.tolist(), labels.tolist()
    ([[5, 6, 7]], [[6, 7, -100]])
    """
    token_ids = as_tensor(token_ids)
    if token_ids.ndim == 0 or token_ids.shape[-1] < 2:
        raise ValueError(f"next_token_pairs: ids of shape {token_ids.shape}. A text needs at least 2 tokens: "
                         "one to read, one to guess.")
    labels = token_ids[..., 1:]
    if attention_mask is not None:
        labels = labels.masked_fill(~as_bools(attention_mask, token_ids)[..., 1:], -100)
    return token_ids[..., :-1], labels


def token_loss(logits, labels):
    """The mean cross-entropy of all places with a label: logits (B, T, V), labels (B, T), -100 for none.

    ValueError if the shapes do not fit.
    """
    if labels.shape != logits.shape[:-1]:
        raise ValueError(f"token_loss: logits {logits.shape} and labels {labels.shape}. They must be "
                         "(B, T, V) and (B, T), a label for each place.")
    return cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def next_sentence_pairs(documents, cls, sep, max_len, pad=0, generator=None):
    """(token_ids, attention_mask, token_types, labels) for next-sentence prediction: (N, T), labels (N,).

    documents: lists of sentences, which are lists of ids. cls, sep, pad: the ids of [CLS], [SEP] and padding.
    A pair longer than max_len is cut, the longer sentence first; T is the longest row. Labels: 0 if the
    second sentence follows the first, 1 if it is from another document, with a chance of a half each.
    ValueError if there are fewer than two documents, or one without sentences, or nothing follows anything.
    Devlin et al., arXiv:1810.04805, appendix A.1.
    """
    count = sum([len(document) - 1 for document in documents])
    if len(documents) < 2 or not all(map(len, documents)) or not count:
        raise ValueError(f"next_sentence_pairs: documents of {list(map(len, documents))} sentences. There "
                         "must be two, none empty, and one with a sentence that follows another.")
    rows, types, labels = [], [], []
    lots = iter(rand(count, 3, generator=generator).tolist())
    for i, document in enumerate(documents):
        for first, following in zip(document, document[1:]):
            coin, which, where = next(lots)
            labels.append(int(coin < 0.5))
            second = sentence_elsewhere(documents, i, which, where) if labels[-1] else following
            a, b = fitted(list(first), list(second), max_len, 3)
            rows.append([cls, *a, sep, *b, sep])
            types.append([0] * (len(a) + 2) + [1] * (len(b) + 1))
    token_ids, attention_mask = pad_batch(rows, pad)
    return token_ids, attention_mask, pad_batch(types, 0)[0], tensor(labels)


def sentence_elsewhere(documents, i, which, where):
    """A sentence of any document but the i-th; which, where: two lots from 0 to 1."""
    others = int(which * (len(documents) - 1))
    document = documents[others + (others >= i)]
    return document[int(where * len(document))]


def random_parts(n, parts, generator=None):
    """`parts` positive numbers whose sum is n; each way to write it is equally likely."""
    cuts = sorted((randperm(n - 1, generator=generator)[:parts - 1] + 1).tolist())
    return [end - start for start, end in zip([0, *cuts], [*cuts, n])]


def random_spans(length, density=0.15, mean_span=3.0, generator=None):
    """[(tokens that stay, tokens that go), ...] for a text of `length` tokens, both at least 1.

    T5's rule: round(length · density) tokens go, at least 1 and not all, in spans of mean_span on average.
    ValueError for a text of fewer than 2 tokens, and for a density or mean_span that cannot be.

    >>> random_spans(10, density=0.2, mean_span=2.0)
    [(8, 2)]
    """
    if length < 2 or not 0 < density < 1 or not mean_span >= 1:
        raise ValueError(f"random_spans: length={length}, density={density}, mean_span={mean_span}. A text "
                         "has 2 tokens or more, a share between 0 and 1 goes, in spans of at least 1.")
    gone = min(max(round(length * density), 1), length - 1)
    spans = min(max(round(gone / mean_span), 1), length - gone)
    return list(zip(random_parts(length - gone, spans, generator), random_parts(gone, spans, generator)))


def span_corruption(token_ids, sentinel, density=0.15, mean_span=3.0, eos=None, generator=None):
    """(inputs, targets) of T5: spans of tokens go from the inputs to the targets; (T',) and (T'',).

    token_ids: (T,), or (B, T) without padding: each row has its own spans, and all results one length.
    sentinel: the id of the first; the others are sentinel - 1, sentinel - 2, ... eos: an id to end both with.
    ValueError if the text has a sentinel in it, or there are too few below `sentinel`.
    Raffel et al., arXiv:1910.10683, section 3.1.4.

    >>> inputs, targets = span_corruption(Tensor([5, 6, 7, 8]), 99, density=0.5, mean_span=2)
    >>> inputs.tolist(), targets.tolist()
    ([5, 6, 99], [99, 7, 8, 98])
    """
    token_ids = as_tensor(token_ids)
    if token_ids.ndim == 2:
        pairs = [span_corruption(row, sentinel, density, mean_span, eos, generator) for row in token_ids]
        return tuple([stack(rows) for rows in zip(*pairs)])
    ids, inputs, targets, at = token_ids.tolist(), [], [], 0
    spans = random_spans(len(ids), density, mean_span, generator)
    last = sentinel - len(spans)
    if last < 0 or any([last <= token <= sentinel for token in ids]):
        raise ValueError(f"span_corruption: {len(spans)} spans take the ids {last} to {sentinel} as "
                         "sentinels: none may be below 0, none may stand in the text. Give the vocabulary "
                         "more words at its end, as T5 has 100.")
    for i, (stay, go) in enumerate(spans):
        inputs += [*ids[at:at + stay], sentinel - i]
        targets += [sentinel - i, *ids[at + stay:at + stay + go]]
        at += stay + go
    end = [] if eos is None else [eos]
    return [tensor(row + end, dtype=int64, device=token_ids.device) for row in (inputs, [*targets, last])]


TASKS = {                                              # name: (fields in the prompt, words of the labels)
    "cola": ("sentence", "unacceptable acceptable"),
    "sst2": ("sentence", "negative positive"),
    "mrpc": ("sentence1 sentence2", "not_equivalent equivalent"),
    "qqp": ("question1 question2", "not_duplicate duplicate"),
    "stsb": ("sentence1 sentence2", None),
    "mnli": ("hypothesis premise", "entailment neutral contradiction"),
    "qnli": ("question sentence", "entailment not_entailment"),
    "rte": ("sentence1 sentence2", "entailment not_entailment"),
    "squad": ("question context", None),
    "summarize": ("text", None),
}


def text_to_text(task, target=None, **fields):
    """(prompt, target) of T5, both text; without a target its text is None.

    task: one of TASKS, or "translate English to German" with any two languages. target: the number of the
    class; for stsb a number from 0 to 5, written to the nearest 0.2; for the others a text. fields: what
    the task is asked about, `text` for summarize and translations. ValueError for an unknown task, for other
    fields, for a class that there is not.

    >>> text_to_text("mnli", 0, premise="I hate pigeons.", hypothesis="I dislike a bird.")
    ('mnli hypothesis: I dislike a bird. premise: I hate pigeons.', 'entailment')
    >>> text_to_text("translate English to German", "Das ist gut.", text="That is good.")
    ('translate English to German: That is good.', 'Das ist gut.')
    """
    translates = re.fullmatch(r"translate \w+ to \w+", task)
    if task not in TASKS and not translates:
        raise ValueError(f"text_to_text: the task {task!r} is not known. There are {', '.join(TASKS)}, and "
                         "'translate English to German', with any two languages.")
    names, words = ("text", None) if translates else TASKS[task]
    if sorted(names.split()) != sorted(fields):
        raise ValueError(f"text_to_text: {task} is asked about {', '.join(names.split())}, and not about "
                         f"{', '.join(fields) or 'nothing'}.")
    if names == "text":
        prompt = f"{task}: {fields['text']}"
    else:
        prompt = " ".join([f"{name}: {fields[name]}" for name in names.split()])
        prompt = prompt if task == "squad" else f"{task} {prompt}"
    return prompt, None if target is None else target_text(task, target, words)


def target_text(task, target, words):
    """What the model should write. words: those of the labels, with blanks between, or None."""
    if task == "stsb":
        return f"{round(target * 5) / 5:.1f}"
    if words is None:
        return target
    words = words.split()
    if target not in range(len(words)):
        raise ValueError(f"text_to_text: {task} has the classes 0 to {len(words) - 1} ({', '.join(words)}), "
                         f"and {target!r} is none of them.")
    return words[int(target)]
