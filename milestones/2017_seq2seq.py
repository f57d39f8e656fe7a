"""2017, encoder and decoder: one stack reads, another writes, and looks into what the first has read.

A. Vaswani and others, "Attention is all you need", arXiv:1706.03762. Letter by letter, dates as people write
them become 2024-07-04, or English number words French ones. No day and no number of the test was trained on.

    python milestones/2017_seq2seq.py                     dates, 2 minutes
    python milestones/2017_seq2seq.py --task numbers      numbers, 7 minutes
"""
import argparse
import os

import tinytorch as torch
from tinytorch.data import DataLoader, Subset, TensorDataset, dates, number_words
from tinytorch.models import Seq2SeqTransformer, next_token_pairs, token_loss
from tinytorch.text import CharTokenizer
from tinytorch.training import Trainer
from tinytorch.viz.attention import draw_attention

SIZES = {"full": (64, 2, 6, 0.98), "test": (48, 1, 3, 0.6)}
parser = argparse.ArgumentParser()
parser.add_argument("size", nargs="?", choices=SIZES, default="full")
parser.add_argument("--task", choices=("dates", "numbers"), default="dates")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--checkpoint", help="a file: where the run is saved, and goes on from")
args = parser.parse_args()
torch.manual_seed(args.seed)
d_model, layers, epochs, needed = SIZES[args.size]

pairs, test = (dates if args.task == "dates" else number_words)(16_500, args.seed), 500
frame = {"single": [("[BOS]", 0), ("$A", 0), ("[EOS]", 0)]}
letters = CharTokenizer(bos_token="[BOS]", eos_token="[EOS]", template=frame)
letters.train([text for pair in pairs for text in pair])
read, write = [letters(texts, padding=True, return_tensors="pt") for texts in map(list, zip(*pairs))]
sources, targets = read.input_ids, write.input_ids
examples = TensorDataset(sources, *next_token_pairs(targets, write.attention_mask))
batches = DataLoader(Subset(examples, range(test, len(pairs))), batch_size=64, shuffle=True)

size = len(letters)
model = Seq2SeqTransformer(size, size, d_model, 4, layers, layers, 4 * d_model, 96, dropout=0.0, norm="pre",
                           pad=letters.pad_id)
optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98))
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, epochs * len(batches), pct_start=0.1)
trainer = Trainer(model, optimizer, token_loss, scheduler=schedule, schedule="batch", clip_norm=1.0)
if args.checkpoint and os.path.exists(args.checkpoint):
    trainer.resume(args.checkpoint)
trainer.fit(batches, epochs, checkpoint=args.checkpoint)

written = model.generate(sources[:test], targets.shape[1], letters.bos_id, letters.eos_id)
answers = letters.batch_decode(written, skip_special_tokens=True)
right = sum([answer == truth for answer, (_, truth) in zip(answers, pairs)]) / test
for answer, (text, _) in list(zip(answers, pairs))[:6]:
    print(f"{text}  ->  {answer}")
print(f"{args.task}: {right:.1%} of {test} never seen are right to the letter")

last, seen = model.decoder.blocks[-1], []              # where the last block looks while it writes the first
last.norm2.register_forward_hook(lambda module, inputs, output: seen.append(output))
with torch.no_grad():
    memory = model.eval().encode(sources[:1])
    model.decode(targets[:1], memory)
    weights = last.cross_attention(seen[0], memory, memory)[1]                 # (1, H, T, S)
n, m = len(pairs[0][0]) + 2, len(pairs[0][1]) + 1
axes = draw_attention(weights[0, :, :m, :n], [*pairs[0][1], "end"], ["start", *pairs[0][0], "end"])
axes.flat[0].figure.savefig("2017_attention.png", bbox_inches="tight")
print("picture: 2017_attention.png")
if right < needed:
    raise SystemExit(f"missed: {needed:.0%}")
