"""2020, scaling laws: what a larger model will reach, said before it is trained.

J. Kaplan et al., "Scaling Laws for Neural Language Models", arXiv:2001.08361. Six small GPTs read the same
letters of Shakespeare. Their losses lie on a curve, loss = c N^-a + what no size can mend; it says what a
seventh model, more than twice as large as the last, will reach. Then that one is trained.

    python milestones/2020_scaling.py      about a minute; with FULL = True, four times as much, five
"""

import tinytorch as torch
from tinytorch.data import DataLoader, SequenceWindows, shakespeare
from tinytorch.models import GPTDecoder, count_parameters, fit_power_law, flops_per_token, token_loss
from tinytorch.text import CharTokenizer
from tinytorch.training import Trainer
from tinytorch.viz.scaling import draw_power_law

FULL = False
WIDTHS, NEXT, LAYERS, LENGTH = [8, 12, 16, 24, 32, 40], 64, 2, 32
EPOCHS, STEP = (2, LENGTH) if FULL else (1, 2 * LENGTH)

text = shakespeare()
tokenizer = CharTokenizer().train(text)
letters = torch.tensor(tokenizer.encode(text))
last = len(letters) * 9 // 10                          # the last tenth is a play that no model reads
windows = SequenceWindows(letters[:last], LENGTH, STEP)
held_out = DataLoader(SequenceWindows(letters[last:last + 40_000], LENGTH), batch_size=128)
read = EPOCHS * len(windows) * LENGTH


def train(d_model):
    """(parameters without tables, loss on the play) of a GPT of this width that has read all windows."""
    torch.manual_seed(0)
    model = GPTDecoder(len(tokenizer), d_model, LAYERS, d_model // 8, 4 * d_model, LENGTH, dropout=0.0)
    batches = DataLoader(windows, batch_size=16, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.OneCycleLR(       # the wider, the more numbers move: each by less
        optimizer, 0.4 / d_model, EPOCHS * len(batches), pct_start=0.1)
    trainer = Trainer(model, optimizer, token_loss, scheduler=schedule, schedule="batch", clip_norm=1.0)
    trainer.fit(batches, EPOCHS)
    n, loss = count_parameters(model, embeddings=False), trainer.evaluate(held_out)["loss"]
    work = read * flops_per_token(n, LAYERS, d_model, LENGTH, training=True)
    print(f"{n:8,} parameters, {work:.1e} operations: loss {loss:.3f}")
    return n, loss


print(f"each model reads {read:,} letters")
sizes, losses = zip(*[train(width) for width in WIDTHS])
law = fit_power_law(sizes, losses, offset=None)
print(f"loss = {law}, R² {law.r2:.4f}")
size, reached = train(NEXT)
off = law(size) / reached - 1
print(f"{law(size):.3f} was predicted, {reached:.3f} reached: {off:+.1%}")
draw_power_law(sizes, losses, law, [(size, reached)]).figure.savefig("2020_scaling.png")
print("picture: 2020_scaling.png")
if abs(off) > 0.03 or law.r2 < 0.95:
    raise SystemExit("missed: a prediction within 3 %, R² 0.95")
