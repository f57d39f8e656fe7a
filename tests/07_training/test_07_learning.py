"""All of modules 01 to 07 together, on real digits."""
import gzip
from pathlib import Path

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn, optim
from tinytorch.training import Trainer, accuracy, confusion_matrix

FILE = Path(__file__).parents[2] / "datasets" / "digits.csv.gz"


@pytest.fixture(scope="module")
def digits():
    """(batches of 32 to learn from, 360 others), in an order drawn at random."""
    with gzip.open(FILE, "rt", encoding="ascii") as file:
        table = np.loadtxt(file, delimiter=",", dtype="float32")
    table = table[np.random.default_rng(0).permutation(len(table))]
    x, y = torch.tensor(table[:, :64] / 16), torch.tensor(table[:, 64].astype("int64"))
    return [(x[i:i + 32], y[i:i + 32]) for i in range(0, 1437, 32)], (x[1437:], y[1437:])


def trainer_of(seed=0, **options):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    return Trainer(model, optim.SGD(model.parameters(), lr=0.1), nn.CrossEntropyLoss(),
                   metrics=[accuracy], **options)


def without_forgetting(trainer, batches):
    """A step as one writes it who forgets zero_grad."""
    output, target = trainer.output_of(batches[0])
    loss = trainer.loss_fn(output, target)
    loss.backward()
    trainer.optimizer.step()
    return loss.detach()


def test_forgetting_gradients(digits):
    """Five epochs read nine of ten digits with zero_grad, and hardly any more than half without"""
    batches, others = digits
    right = [trainer_of(step=step).fit(batches, 5, validation=[others])[-1]["val_accuracy"]
             for step in (None, without_forgetting)]
    assert right[0] > 0.88 and right[1] < 0.7, right


def test_who_is_taken_for_whom(digits):
    """The confusion matrix counts every held-out digit once, most of them on its diagonal"""
    batches, (x, y) = digits
    trainer = trainer_of()
    share = trainer.fit(batches, 5, validation=[(x, y)])[-1]["val_accuracy"]
    matrix = confusion_matrix(trainer.model(x), y)
    assert matrix.sum(1).tolist() == np.bincount(y.numpy(), minlength=10).tolist()
    assert matrix.trace().item() / len(y) == pytest.approx(share)
