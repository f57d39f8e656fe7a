"""2020, ViT: a picture read as a sentence of patches.

A. Dosovitskiy and others, "An image is worth 16x16 words", arXiv:2010.11929. No layer knows which patches are
neighbours, so it takes many pictures to learn that; of MNIST's few each is shifted anew in each epoch.
Digits of 8 by 8, and 5,000 of MNIST (if they are not there, the script says how to get them).

    python milestones/2020_vit.py                     both, 3 minutes
    python milestones/2020_vit.py digits              15 seconds
"""
import argparse
import os

import tinytorch as torch
from tinytorch.data import DataLoader, RandomCrop, TensorDataset, default_collate, digits, mnist
from tinytorch.models import VisionTransformer, count_parameters
from tinytorch.models.block_parts import init_weights
from tinytorch.nn import CrossEntropyLoss
from tinytorch.training import Trainer, accuracy
from tinytorch.viz.spatial import draw_filters

# pictures, their side, a patch's, the furthest shift, dropout, epochs, wanted
SETS = {"digits": (digits, 8, 2, 0, 0.1, 15, 0.94), "mnist": (mnist, 28, 4, 2, 0.0, 30, 0.95)}
parser = argparse.ArgumentParser()
parser.add_argument("names", nargs="*", metavar="|".join(SETS), default=list(SETS))
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--checkpoint", help="how files begin where the runs are saved, and go on from")
args = parser.parse_args()


def train(name, dataset, side, patch, shift, dropout, epochs, needed):
    """Train a VisionTransformer; prints and checks its accuracy on pictures it has never seen; returns it."""
    torch.manual_seed(args.seed)
    crop = RandomCrop(side, padding=shift)
    batches = DataLoader(TensorDataset(*dataset(train=True)), batch_size=32, shuffle=True,
                         collate_fn=lambda items: default_collate([(crop(x), y) for x, y in items]))
    held_out = DataLoader(TensorDataset(*dataset(train=False)), batch_size=250)
    model = VisionTransformer(side, patch, 1, 10, d_model=64, num_layers=2, num_heads=4, dropout=dropout)
    init_weights(model, std=64 ** -0.5)                # its own 0.02 is meant for wide models
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, epochs * len(batches), pct_start=0.1)
    trainer = Trainer(model, optimizer, CrossEntropyLoss(), metrics=[accuracy], scheduler=schedule,
                      schedule="batch", clip_norm=1.0)
    checkpoint = args.checkpoint and f"{args.checkpoint}_{name}"
    if checkpoint and os.path.exists(checkpoint):
        trainer.resume(checkpoint)
    trainer.fit(batches, epochs, checkpoint=checkpoint)
    reached = trainer.evaluate(held_out)["accuracy"]
    print(f"{name}: {reached:.1%} of {len(held_out.dataset):,} digits it has never seen, "
          f"{count_parameters(model):,} parameters")
    if reached < needed:
        raise SystemExit(f"missed: {needed:.0%}")
    return model


def looks(model, images, patch):
    """Where [CLS] looks in the last block, the mean of its heads: maps as large as the images."""
    last, seen = model.encoder.blocks[-1], []
    last.norm1.register_forward_hook(lambda module, inputs, output: seen.append(output))
    with torch.no_grad():
        model.eval()(images)
        weights = last.attention(*seen * 3)[1].mean(1)[:, 0, 1:]               # (B, T)
    n, _, height, width = images.shape
    maps = (weights / weights.max()).reshape(n, 1, height // patch, width // patch)
    return maps.repeat_interleave(patch, 2).repeat_interleave(patch, 3)


for name in args.names:
    model, images = train(name, *SETS[name]), SETS[name][0](train=False)[0][:8]
    maps = looks(model, images, SETS[name][2])
    draw_filters(torch.cat([images, maps]), across=8)[0, 0].figure.savefig(f"2020_{name}.png")
    print(f"picture: 2020_{name}.png")
