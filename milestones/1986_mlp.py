"""1986, back-propagation: a hidden layer learns its own features, and reads handwriting.

D. Rumelhart, G. Hinton and R. Williams, "Learning representations by back-propagating errors", Nature 323.
Digits of 8 by 8, with a linear model beside it, and MNIST's of 28 by 28 (5,000 of them; if they are not
there, the script says how to get them).

    python milestones/1986_mlp.py        a few seconds
"""

import tinytorch as torch
import tinytorch.nn as nn
from tinytorch.data import DataLoader, TensorDataset, digits, mnist
from tinytorch.training import Trainer, accuracy


def train(name, model, dataset, epochs, needed):
    """Train on a part of the data, print and check the accuracy on the other; returns it and the history."""
    train_part, held_out = [DataLoader(TensorDataset(*dataset(train=part)), batch_size=32, shuffle=part)
                            for part in (True, False)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    steps = epochs * len(train_part)
    trainer = Trainer(model, optimizer, nn.CrossEntropyLoss(), metrics={"accuracy": accuracy},
                      scheduler=torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, steps), schedule="batch")
    history = trainer.fit(train_part, epochs, validation=held_out)
    reached = history[-1]["val_accuracy"]
    print(f"{name}: {reached:.1%} of {len(held_out.dataset):,} digits it has never seen")
    if reached < needed:
        raise SystemExit(f"missed: {needed:.0%}")
    return reached, history


def mlp(inputs, hidden):
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, hidden), nn.ReLU(), nn.Dropout(0.2),
                         nn.Linear(hidden, 10))


torch.manual_seed(0)
linear, _ = train("digits, linear model", nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), digits, 40, 0.90)
hidden, history = train("digits, one hidden layer", mlp(64, 128), digits, 40, 0.97)
if hidden <= linear:
    raise SystemExit("missed: the hidden layer must beat the linear model")
train("MNIST, 5,000 digits", mlp(784, 256), mnist, 12, 0.93)
history.plot().figure.savefig("1986_digits.png")
print("picture: 1986_digits.png")
