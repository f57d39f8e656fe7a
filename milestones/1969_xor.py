"""1969, XOR: what one layer cannot learn, and two can.

A point is of class 1 if exactly one of its two numbers is positive. No straight line parts the classes, and
one layer can draw no other (M. Minsky and S. Papert, "Perceptrons", 1969).

    python milestones/1969_xor.py        a few seconds
"""

import tinytorch as torch
import tinytorch.nn as nn
from tinytorch.training import Trainer, accuracy
from tinytorch.viz.curves import draw_boundary

torch.manual_seed(0)
x = 2 * torch.rand(500, 2) - 1
y = ((x[:, 0] > 0) != (x[:, 1] > 0)).long()
batches = list(zip(x.split(50), y.split(50)))

reached, axes = {}, None
for name, model in {
    "one layer": nn.Linear(2, 2),
    "two layers": nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2)),
}.items():
    trainer = Trainer(model, torch.optim.Adam(model.parameters(), lr=0.02), nn.CrossEntropyLoss(),
                      metrics={"accuracy": accuracy})
    trainer.fit(batches, epochs=150)
    reached[name] = trainer.evaluate(batches)["accuracy"]
    print(f"{name}: {reached[name]:.1%} of 500 points")
    draw_boundary(model, x, y, title=f"{name}: {reached[name]:.1%}").figure.savefig(
        f"1969_{name.replace(' ', '_')}.png")

print("pictures: 1969_one_layer.png, 1969_two_layers.png")
if reached["one layer"] > 0.8 or reached["two layers"] < 0.97:
    raise SystemExit("missed: one layer at most 80 %, two layers at least 97 %")
