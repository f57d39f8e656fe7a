"""2018, BERT: who has guessed the hidden words of a text needs few examples of a task.

J. Devlin and others, arXiv:1810.04805. Shakespeare's sentences are read with their mark, . ? or !, in front,
and some words and marks are hidden, to be guessed. Then 500 labels have to do: is it a question? Each stands
against a statement of as many words. "Is it so" and "it is so" are one bag of words; and who has guessed
marks has met the task before it had labels. The Tempest and Twelfth Night are held out of everything.

    python milestones/2018_bert.py                    3 minutes
"""
import argparse
import os
from collections import Counter

import tinytorch as torch
import tinytorch.nn as nn
from tinytorch.data import DataLoader, TensorDataset, default_collate, questions, sentences, shakespeare
from tinytorch.models import BERTEncoder, BERTForMaskedLM, BERTForSequenceClassification, mask_tokens
from tinytorch.models.block_parts import init_weights
from tinytorch.models.objectives import token_loss
from tinytorch.text import WordPieceTokenizer
from tinytorch.text.bert_words import bert_words
from tinytorch.training import Trainer, accuracy
from tinytorch.viz.curves import draw_curves

# how often the text is read; wanted: nats (5.2 by the frequencies alone), accuracy, lead over the other two
SIZES = {"full": (12, 3.9, 0.83, 0.04), "test": (2, 4.8, 0.7, -0.1)}
parser = argparse.ArgumentParser()
parser.add_argument("size", nargs="?", choices=SIZES, default="full")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--checkpoint", help="a file: where the first training is saved, and goes on from")
args = parser.parse_args()
reads, nats, needed, gain = SIZES[args.size]

train, held_out = shakespeare().split("\n\n\nTHE TEMPEST\n")
common = [word for word, _ in Counter(bert_words(train)).most_common(1000)]
frame = {"single": [("$A", 0), ("[SEP]", 0)]}          # the mark stands first, in the place of [CLS]
words = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *common], template=frame)


def batches(texts, labels=None):
    """Batches (ids, mask, labels); without labels some words are hidden, and are the labels."""
    def collate(items):
        ids, mask, labels = default_collate(items)
        ids, mask = [x[:, :int(mask.sum(1).max())] for x in (ids, mask)]
        if hide:
            ids, labels = mask_tokens(ids, words.mask_id, len(words), words.all_special_ids, prob=0.3)
        return ids, mask, labels

    hide, labels = labels is None, labels or [0] * len(texts)
    read = words(texts, padding=True, truncation=True, max_length=24, return_tensors="pt")
    return DataLoader(TensorDataset(read.input_ids, read.attention_mask, torch.tensor(labels)), batch_size=32,
                      shuffle=True, collate_fn=collate)


def fit(model, loss, data, epochs, rate, validation=None, checkpoint=None):
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, epochs * len(data), pct_start=0.1)
    trainer = Trainer(model, optimizer, loss, scheduler=schedule, schedule="batch", clip_norm=1.0,
                      metrics=[accuracy])
    if checkpoint and os.path.exists(checkpoint):
        trainer.resume(checkpoint)
    return trainer.fit(data, epochs, validation, checkpoint)


class BagOfWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(len(words), 2, padding_idx=words.pad_id)
        nn.init.zeros_(self.table.weight)

    def forward(self, ids, mask): return self.table(ids).sum(1)


def bert():
    torch.manual_seed(args.seed)
    model = BERTEncoder(len(words), 64, 2, 4, 256, max_len=24, norm="pre")
    return init_weights(model, std=64 ** -0.5)         # its own 0.02 is meant for wide models


reader, found = bert(), sentences(train)
hidden = batches([f"{mark} {text}" for text, mark in found])
history = fit(BERTForMaskedLM(reader), token_loss, hidden, reads, 4e-3, checkpoint=args.checkpoint)
print(f"{len(found):,} sentences read {reads} times: {history[-1]['loss']:.2f} nats a hidden word")
texts, labels = questions(train)
few = torch.randperm(len(texts))[:500].tolist()
task = batches([f"[MASK] {texts[i]}" for i in few], [labels[i] for i in few])
unseen, labels = questions(held_out)
test = batches([f"[MASK] {text}" for text in unseen], labels)
models = {"bag of words": (BagOfWords(), 1e-2), "from scratch": (BERTForSequenceClassification(bert()), 1e-3),
          "pre-trained": (BERTForSequenceClassification(reader), 3e-4)}
rows = [{"epoch": epoch} for epoch in range(1, 11)]
for name, (model, rate) in models.items():
    for row, trained in zip(rows, fit(model, nn.CrossEntropyLoss(), task, len(rows), rate, test)):
        row[name] = trained["val_accuracy"]
    print(f"{name}: {row[name]:.1%} of {len(unseen)} sentences it has never seen")
draw_curves(rows, list(models)).figure.savefig("2018_bert.png")
print("picture: 2018_bert.png")
others = max(row["bag of words"], row["from scratch"])
if history[-1]["loss"] > nats or row["pre-trained"] < max(needed, others + gain):
    raise SystemExit(f"missed: {nats} nats, {needed:.0%}, and {gain:.0%} more than the other two")
