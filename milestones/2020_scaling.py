"""2020, scaling laws: what a larger model will reach, said before it is trained.

J. Kaplan et al., "Scaling Laws for Neural Language Models", arXiv:2001.08361. Six small GPTs read the same letters
of Shakespeare, once. Their losses lie on a curve, loss = c N^-a + the rest; it says what a seventh, three times
as large, will reach. Then that one is trained.

    python milestones/2020_scaling.py      about a minute; with FULL = True four times the text, six minutes
"""

import tinytorch as torch
from tinytorch.data import DataLoader, SequenceWindows, shakespeare
from tinytorch.models import GPTDecoder, count_parameters, fit_power_law, flops_per_token, token_loss
from tinytorch.text import CharTokenizer
from tinytorch.training import Trainer
from tinytorch.viz.scaling import draw_power_law

FULL = False
SHAPES = [(8, 1), (12, 1), (16, 1), (24, 1), (24, 2), (40, 2)]         # d_model, layers
NEXT = (64, 3)
LENGTH = 32

text = shakespeare()
tokenizer = CharTokenizer().train(text)
letters = torch.tensor(tokenizer.encode(text))
last = len(letters) * 9 // 10                          # the last tenth is a play that no model reads
windows = SequenceWindows(letters[:last], LENGTH, step=LENGTH if FULL else 4 * LENGTH)
held_out = DataLoader(SequenceWindows(letters[last:last + 40_000], LENGTH), batch_size=128)


def train(d_model, layers):
    """(parameters without tables, loss on the play) of a GPT that has read every window once."""
    torch.manual_seed(0)
    model = GPTDecoder(len(tokenizer), d_model, layers, d_model // 8 if d_model < 64 else 4, 4 * d_model, LENGTH, 0.0)
    batches = DataLoader(windows, batch_size=16, shuffle=True)
    rate = 0.4 / d_model                               # wider: each step moves more numbers, so less of each
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, len(batches), pct_start=0.1)
    trainer = Trainer(model, optimizer, token_loss, scheduler=schedule, schedule="batch", clip_norm=1.0)
    trainer.fit(batches, 1)
    n, loss = count_parameters(model, embeddings=False), trainer.evaluate(held_out)["loss"]
    work = flops_per_token(n, layers, d_model, LENGTH, training=True) * len(windows) * LENGTH
    print(f"{n:8,} parameters, {work:8.1e} operations: loss {loss:.3f}")
    return n, loss


print(f"{len(windows) * LENGTH:,} letters")
points = [train(*shape) for shape in SHAPES]
sizes, losses = zip(*points)
law = fit_power_law(sizes, losses, offset=None)
print(f"loss = {law}, R² {law.r2:.4f}")
size, reached = train(*NEXT)
predicted = float(law(size))
print(f"predicted {predicted:.3f}, reached {reached:.3f}: {abs(predicted / reached - 1):.1%} off")
draw_power_law(sizes, losses, law, [(size, reached)]).figure.savefig("2020_scaling.png")
print("picture: 2020_scaling.png")
if abs(predicted / reached - 1) > 0.03 or law.r2 < 0.95:
    raise SystemExit("missed: a prediction within 3 %, R² 0.95")
