"""2018, GPT: asked for nothing but the next letter, a network learns words, verses, and who speaks.

A. Radford and others, "Improving language understanding by generative pre-training", 2018; with the rotary
places of arXiv:2104.09864. The text is Shakespeare, of datasets/; its last tenth, Twelfth Night, is held out.

    python milestones/2018_gpt.py                     0.8 million parameters, 10 minutes
    python milestones/2018_gpt.py quick               the same model, an epoch: 2 minutes
    python milestones/2018_gpt.py --text FOLDER       all plays (datasets/README.md), or a file of yours
"""
import argparse
import os
from importlib.util import find_spec

import tinytorch as torch
from tinytorch.data import DataLoader, SequenceWindows, shakespeare
from tinytorch.models import GPTDecoder, count_parameters, create_causal_mask, token_loss
from tinytorch.text import CharTokenizer
from tinytorch.training import Trainer
from tinytorch.viz.attention import draw_attention

SIZES = {"full": (128, 64, 5, 1.75), "quick": (128, 64, 1, 1.95), "test": (64, 256, 1, 2.35)}
parser = argparse.ArgumentParser()
parser.add_argument("size", nargs="?", choices=SIZES, default="full")
parser.add_argument("--text", help="a file, or a folder with files named *_gut.txt")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--picture", default="2018_gpt.png", help="where it goes; '' for none")
parser.add_argument("--checkpoint", help="a file: where the run is saved, and goes on from")
args = parser.parse_args()
d_model, step, epochs, needed = SIZES[args.size]
torch.manual_seed(args.seed)
text, length = shakespeare(args.text), 64
letters = CharTokenizer().train(text)
ids = torch.tensor(letters.encode(text))
train, held_out = ids.split(int(0.9 * len(ids)) + 1)
batches = DataLoader(SequenceWindows(train, length, step), batch_size=16, shuffle=True)
unseen = DataLoader(SequenceWindows(held_out, length), batch_size=64)

model = GPTDecoder(len(letters), d_model, 4, 4, 4 * d_model, length, dropout=0.0, positions="rotary")
optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.99), weight_decay=0.1)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, epochs * len(batches), pct_start=0.05)
trainer = Trainer(model, optimizer, token_loss, scheduler=schedule, schedule="batch", clip_norm=1.0)
if args.checkpoint and os.path.exists(args.checkpoint):
    trainer.resume(args.checkpoint)
history = trainer.fit(batches, epochs, validation=unseen, checkpoint=args.checkpoint)
loss = history[-1]["val_loss"]
written = model.generate([letters.encode("\n\nVIOLA.\n")], 500, temperature=0.7, seed=args.seed)
print(letters.decode(written[0]).strip())
print(f"\n{count_parameters(model):,} parameters, {trainer.steps * 16 * length:,} letters read; on "
      f"{len(held_out):,} letters never seen: {loss:.3f} nats a letter")

if args.picture and find_spec("matplotlib"):           # where the heads of the last block look
    line, last, seen = "Make me a willow cabin", model.blocks[-1], []
    last.norm1.register_forward_hook(lambda module, inputs, output: seen.append(output))
    with torch.no_grad():
        model.eval()(torch.tensor([letters.encode(line)]))
        weights = last.attention(*seen * 3, create_causal_mask(len(line)))[1]
    draw_attention(weights[0], [*line]).flat[0].figure.savefig(args.picture, bbox_inches="tight")
    print("picture:", args.picture)
if loss > needed:
    raise SystemExit(f"missed: {needed} nats")
