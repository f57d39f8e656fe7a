"""1958, the perceptron: a machine that learns to tell two digits apart, without any calculus.

Frank Rosenblatt's rule: show a picture; if the answer is wrong, add the picture to the weights, or subtract
it. If some weights tell the two kinds apart, the rule finds such weights after finitely many mistakes
(F. Rosenblatt, "The Perceptron", Psychological Review 65, 1958; A. Novikoff's proof, 1962).

    python milestones/1958_perceptron.py        under a second
"""

import tinytorch as torch
from tinytorch.data import digits
from tinytorch.viz.curves import draw_curves
from tinytorch.viz.spatial import draw_filters

torch.manual_seed(0)


def two(train):
    """Pictures of zeros and ones, (N, 65) with a 1 at the end for the bias, and +1 or -1 for each."""
    images, labels = digits(train=train)
    rows = (labels <= 1).nonzero().flatten()
    x = images[rows].flatten(1)
    return torch.cat([x, torch.ones(len(x), 1)], 1), 2 * labels[rows] - 1


def accuracy(x, y): return (((x @ weights > 0) == (y > 0)).float().mean()).item()


(x, y), (held_x, held_y) = two(train=True), two(train=False)
weights = torch.zeros(65)
history = []
while not history or history[-1]["mistakes"]:
    mistakes = 0
    for i in torch.randperm(len(x)).tolist():
        if (x[i] @ weights).item() * y[i].item() <= 0:
            weights += y[i] * x[i]
            mistakes += 1
    history.append({"epoch": len(history) + 1, "mistakes": mistakes})
    print(f"pass {len(history)} over {len(x)} digits: {mistakes} mistakes")

seen, held_out = accuracy(x, y), accuracy(held_x, held_y)
print(f"zeros from ones: {seen:.1%} of those it learned from, {held_out:.1%} of {len(held_x)} others")
draw_curves(history, ["mistakes"]).figure.savefig("1958_mistakes.png")
draw_filters(weights[:64].reshape(1, 1, 8, 8), across=1)[0, 0].figure.savefig("1958_weights.png")
print("pictures: 1958_mistakes.png, 1958_weights.png (red speaks for a one, blue for a zero)")
if seen < 1 or held_out < 0.98:
    raise SystemExit("missed: 100 % of those it learned from and 98 % of the others")
