"""Training on a device: the CPU's numbers, nothing that waits, and checkpoints that go on."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn, optim
from tinytorch.nn.utils import clip_grad_norm_, clip_grad_value_, parameters_to_vector
from tinytorch.training import Callback, EarlyStopping, Trainer, accuracy, confusion_matrix, load, save

from .strict import assert_there, same, traffic

rng = np.random.default_rng(3)
X, Y = rng.normal(size=(12, 6)).astype("float32"), rng.integers(0, 3, 12)


def trainer_of(where, p=0.0, **options):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(p), nn.Linear(8, 3)).to(where)
    return Trainer(model, optim.Adam(model.parameters(), lr=0.05), nn.CrossEntropyLoss(), **options)


def batches_on(where):
    x, y = torch.tensor(X, device=where), torch.tensor(Y, device=where)
    return [(x[i:i + 4], y[i:i + 4]) for i in (0, 4, 8)]


def numbers(trainer): return parameters_to_vector(trainer.model.parameters()).numpy(force=True)


def test_a_run(device):
    """Clipping, accumulation, early stopping, metrics: as on the CPU"""
    def run(where):
        trainer = trainer_of(where, clip_norm=0.5, clip_value=0.2, accumulate=2, metrics=[accuracy],
                             callbacks=[EarlyStopping(patience=9)])
        history = trainer.fit(batches_on(where), 3, validation=batches_on(where))
        assert_there(trainer.model[0].weight, where)
        return numbers(trainer), [list(row.values()) for row in history]

    (got, rows), (expected, expected_rows) = run(device), run("cpu")
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(rows, expected_rows, rtol=2e-5)


def test_a_step_waits_for_nothing(stand_in):
    """Nothing is read from the device after the loss; that, and the count of examples, look at targets"""
    seen, batches = [], batches_on("cuda")
    loss = nn.CrossEntropyLoss()

    def counted(output, target):
        out = loss(output, target)
        traffic.clear()                                # what the loss looked at does not count
        return out

    class Look(Callback):
        def on_step_end(self, trainer, loss): seen.append(traffic.counts())

    trainer = trainer_of("cuda", clip_norm=0.5, clip_value=0.1, callbacks=[Look()])
    trainer.loss_fn = counted
    trainer.fit(batches, 2)
    assert seen == [(0, 0, 0)] * 6


def test_a_loss_that_is_nan_is_seen(device):
    trainer, (x, y) = trainer_of(device), batches_on(device)[0]
    with pytest.raises(RuntimeError, match="epoch 1, batch 2: the loss is nan"):
        trainer.fit([(x, y), (x * float("nan"), y)], 1)


def test_batches_are_moved_if_asked(device):
    """device= moves them; without it the error names both devices"""
    moved, there = trainer_of(device, device=device), trainer_of(device)
    moved.fit(batches_on("cpu"), 1)
    there.fit(batches_on(device), 1)
    assert np.array_equal(numbers(moved), numbers(there))
    with pytest.raises(RuntimeError, match="cpu.*cuda|cuda.*cpu"):
        there.fit(batches_on("cpu"), 2)


def test_resumed(device, tmp_path):
    """Dropout on a device, whose generator has no state to be saved: the same bits all the same"""
    path = tmp_path / "run"

    class Cable(Callback):
        def __init__(self, after=None): self.after = after
        def on_step_end(self, trainer, loss):
            if trainer.steps == self.after: raise ConnectionError

    def made(after=None): return trainer_of(device, p=0.5, callbacks=[Cable(after)])
    def fit(trainer): trainer.fit(batches_on(device), 3, checkpoint=path, save_every=2)

    whole = made()
    fit(whole)
    with pytest.raises(ConnectionError):
        fit(made(after=5))
    again = made()
    torch.manual_seed(9)
    again.resume(path)
    assert again.steps == 4
    fit(again)
    assert np.array_equal(numbers(again), numbers(whole))


def test_files(device, tmp_path):
    """Saved from a device, loaded to the CPU or to it"""
    path, model = tmp_path / "w", nn.Linear(3, 2).to(device)
    save(model.state_dict(), path)
    assert load(path)["weight"].device == "cpu"
    assert_there(load(path, device=device)["weight"], device)
    other = nn.Linear(3, 2).to(device)
    other.load_state_dict(load(path))
    assert np.array_equal(other.weight.numpy(force=True), model.weight.numpy(force=True))


@pytest.mark.parametrize("p", [1.0, 2.0, float("inf")])
def test_clipping(device, p):
    def run(where):
        w = torch.zeros(4, 3, device=where, requires_grad=True)
        w.grad = torch.tensor(X[:4, :3], device=where)
        total = clip_grad_norm_([w], 0.7, p)
        clip_grad_value_([w], 0.1)
        return total, w.grad
    for got, expected in zip(run(device), run("cpu")):
        same(got, expected.numpy())


def test_confusion(device):
    target = torch.tensor(Y, device=device)
    got = confusion_matrix(torch.tensor(X[:, :3], device=device), target)
    assert_there(got, device)
    assert got.tolist() == confusion_matrix(torch.tensor(X[:, :3]), torch.tensor(Y)).tolist()
