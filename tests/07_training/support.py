"""What the tests of this folder share: small models and trainers, batches that can go on."""
import numpy as np

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn.functional import cross_entropy
from tinytorch.training import Callback, Trainer


class Line(nn.Module):
    """x w, with one weight, 1 at first."""
    def __init__(self, w=1.0):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([w], dtype=torch.float64))

    def forward(self, x): return x * self.w


def pair(*numbers):
    """A batch of these numbers, with themselves as targets."""
    x = torch.tensor(numbers, dtype=torch.float64)
    return x, x


def mean_output(output, target): return output.mean()


def line_trainer(lr=0.1, w=1.0, **options):
    """A trainer whose loss is the mean of x w, so its gradient is the mean of x."""
    model = Line(w)
    return Trainer(model, torch.optim.SGD(model.parameters(), lr), mean_output, **options)


def examples(count=22, features=5, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    x = torch.tensor(rng.normal(size=(count, features)), dtype=torch.float32)
    return x, torch.tensor(rng.integers(0, classes, count))


def batches_of(x, y, size=4): return [(x[i:i + size], y[i:i + size]) for i in range(0, len(x), size)]


def network(seed=0, p=0.5, features=5, hidden=6, classes=3):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Dropout(p), nn.Linear(hidden, classes))


def trainer_of(seed=0, kind=torch.optim.Adam, schedule_of=None, schedule=None, loss_fn=cross_entropy,
               options=None, **more):
    """A trainer of a small network with dropout."""
    model = network(seed)
    optimizer = kind(model.parameters(), **(options or {"lr": 0.05}))
    return Trainer(model, optimizer, loss_fn, scheduler=schedule_of and schedule_of(optimizer),
                   schedule=schedule, **more)


def weights(trainer): return [p.detach().numpy().tolist() for p in trainer.model.parameters()]


class Own:
    """Resumable batches in a new order each epoch, drawn from a generator of their own."""
    def __init__(self, batches, seed=0):
        self.batches, self.random, self.done, self.loaded = batches, np.random.default_rng(seed), 0, False
        self.start = self.random.bit_generator.state

    def __len__(self): return len(self.batches)

    def __iter__(self):
        if not self.loaded:
            self.start, self.done = self.random.bit_generator.state, 0
        self.loaded = False
        self.random.bit_generator.state = self.start
        order = self.random.permutation(len(self.batches))
        for i in order[self.done:]:
            self.done += 1
            yield self.batches[i]
        self.start, self.done = self.random.bit_generator.state, 0

    def state_dict(self): return {"start": self.start, "done": self.done}

    def load_state_dict(self, state_dict):
        self.start, self.done, self.loaded = state_dict["start"], state_dict["done"], True


class Shuffled:
    """Batches in a new order each epoch, drawn by a function: `order(n)` gives n numbers."""
    def __init__(self, batches, order): self.batches, self.order = batches, order
    def __len__(self): return len(self.batches)

    def __iter__(self):
        for i in self.order(len(self.batches)):
            yield self.batches[int(i)]


class Cable(Callback):
    """An error after so many steps."""
    def __init__(self, after, error=ConnectionError): self.after, self.error = after, error

    def on_step_end(self, trainer, loss):
        if trainer.steps == self.after:
            raise self.error("the cable")
