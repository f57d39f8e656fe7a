"""Networks that learn: all of modules 01 to 06 together."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.nn.layers import Linear
from tinytorch.nn.losses import cross_entropy
from tinytorch.optim import SGD, Adam, AdamW
from tinytorch.optim.lr_scheduler import OneCycleLR

WAYS = {
    "SGD": (lambda p: SGD(p, lr=0.5), 300),
    "momentum": (lambda p: SGD(p, lr=0.1, momentum=0.9), 200),
    "nesterov": (lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True), 200),
    "Adam": (lambda p: Adam(p, lr=0.03), 200),
    "AMSGrad": (lambda p: Adam(p, lr=0.03, amsgrad=True), 200),
    "AdamW": (lambda p: AdamW(p, lr=0.03), 200),
}


def two_moons(count=200, seed=0):
    """Two half circles that reach into each other, and which of the two each point belongs to."""
    rng = np.random.default_rng(seed)
    angle, which = rng.uniform(0, np.pi, count), np.arange(count) % 2
    x = np.stack([np.cos(angle), np.sin(angle)], 1)
    x[which == 1] = [1, 0.5] - x[which == 1]
    return torch.tensor(x + rng.normal(size=x.shape) * 0.05, dtype=torch.float32), torch.tensor(which)


class Network:
    def __init__(self, seed, hidden=16):
        torch.manual_seed(seed)
        self.layers = [Linear(2, hidden), Linear(hidden, 2)] if hidden else [Linear(2, 2)]

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return self.layers[-1](x)

    def parameters(self): return [p for layer in self.layers for p in layer.parameters()]
    def right(self, x, y): return int((self(x).argmax(1) == y).sum().item())


def fit(model, make, steps, x, y, schedule=None):
    """Train on everything at once; the losses before each step."""
    optimizer, losses = make(model.parameters()), []
    schedule = schedule and schedule(optimizer)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if schedule:
            schedule.step()
    return losses


@pytest.mark.parametrize("name", WAYS)
def test_two_moons(name):
    """Every optimizer separates them without a mistake, and new points of them too"""
    make, steps = WAYS[name]
    model, (x, y) = Network(seed=1), two_moons()
    losses = fit(model, make, steps, x, y)
    assert losses[-1] < 0.1 < 0.5 < losses[0]
    assert model.right(x, y) == 200
    assert model.right(*two_moons(seed=7)) >= 198


def test_a_line_does_not_do():
    """Without a hidden layer one in ten stays on the wrong side"""
    model, (x, y) = Network(seed=1, hidden=0), two_moons()
    fit(model, WAYS["Adam"][0], 300, x, y)
    assert 150 < model.right(x, y) < 195


def test_one_cycle():
    """With its rate going up and down a third of the steps is enough"""
    model, (x, y) = Network(seed=1), two_moons()
    fit(model, lambda p: SGD(p, lr=0.1, momentum=0.9), 60, x, y, lambda o: OneCycleLR(o, 1.0, total_steps=60))
    assert model.right(x, y) == 200


def test_decay_keeps_weights_small():
    """AdamW with a strong decay ends with smaller weights, and still separates them"""
    size, (x, y) = [], two_moons()
    for decay in 0.0, 0.3:
        model = Network(seed=1)
        fit(model, lambda p, decay=decay: AdamW(p, lr=0.03, weight_decay=decay), 300, x, y)
        size.append(sum((p * p).sum().item() for p in model.parameters()))
        assert model.right(x, y) == 200
    assert size[1] < 0.7 * size[0]


def test_forgotten_gradients():
    """Without zero_grad nothing fails; the sum of all gradients is momentum 1, and it never comes to rest"""
    x = torch.tensor([10., 1.], requires_grad=True)
    optimizer, heights = SGD([x], lr=0.01), []
    for _ in range(200):
        height = (x[0] ** 2 + 100 * x[1] ** 2) / 2
        height.backward()
        optimizer.step()
        heights.append(height.item())
    assert max(heights[-100:]) > 50
