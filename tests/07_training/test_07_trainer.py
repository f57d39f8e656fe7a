"""The trainer's options, batches and steps, and what it says to wrong ones."""
import math
import threading

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn.functional import cross_entropy, mse_loss
from tinytorch.optim.lr_scheduler import ExponentialLR, OneCycleLR, ReduceLROnPlateau, StepLR
from tinytorch.training import Trainer, accuracy

from .support import Line, batches_of, examples, line_trainer, mean_output, network, pair, trainer_of, weights

X, Y = examples()


def close(a, b): return all(np.allclose(x, y, rtol=1e-5, atol=1e-6) for x, y in zip(a, b, strict=True))


# ---- a step ----

def test_the_plain_loop():
    """fit does what a loop by hand does, to the bit"""
    trainer, model = trainer_of(), network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    torch.manual_seed(3)
    losses = []
    for x, y in batches_of(X, Y) * 2:
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append((loss.item(), len(y)))
    torch.manual_seed(3)
    history = trainer.fit(batches_of(X, Y), 2)
    assert [p.tolist() for p in model.parameters()] == weights(trainer)
    for row, part in zip(history, (losses[:6], losses[6:])):
        assert row["loss"] == pytest.approx(sum(loss * n for loss, n in part) / 22)


@pytest.mark.parametrize("size", [1, 3, 8])
def test_accumulated_is_one_batch(size):
    """A step by small batches is a step by their sum, whatever their sizes; without dropout"""
    whole, parts = trainer_of(), trainer_of(accumulate=100)
    for trainer in whole, parts:
        trainer.model[2].p = 0.0
    one, other = whole.fit([(X, Y)], 3), parts.fit(batches_of(X, Y, size), 3)
    assert close(weights(whole), weights(parts)) and whole.steps == parts.steps == 3
    assert one.column("loss") == pytest.approx(other.column("loss"))


def test_clipping():
    """By norm over the whole model, then by value; after all micro-batches"""
    trainer = line_trainer(clip_norm=2.0, clip_value=0.5, accumulate=2)
    trainer.fit([pair(30.), pair(10.)], 1)
    assert trainer.model.w.item() == 0.95


def test_not_finite():
    """The error says where, and the weights and the last checkpoint are those before"""
    trainer = line_trainer()
    with pytest.raises(RuntimeError, match="epoch 1, batch 2: the loss is nan"):
        trainer.fit([pair(1.), pair(math.nan)], 1)
    assert trainer.model.w.item() == 0.9 and trainer.steps == 1
    with pytest.raises(RuntimeError, match="the loss is inf"):      # also from a step of somebody else
        line_trainer(step=lambda trainer, batches: math.inf).fit([pair(1.)], 1)


def test_a_given_step():
    """It gets the trainer and the batches of one step, and may use train_step"""
    seen = []

    def step(trainer, batches):
        seen.append([len(x) for x, _ in batches])
        return trainer.train_step(batches)

    trainer = line_trainer(accumulate=2, step=step)
    trainer.fit([pair(1., 2.), pair(3.), pair(4.)], 1)
    assert seen == [[2, 1], [1]] and trainer.model.w.item() == pytest.approx(1 - 0.2 - 0.4)


def test_a_loop_of_ones_own():
    """Steps that are not noted are an error that names note, not an epoch without batches"""
    trainer = line_trainer()
    with trainer.running([pair(1.)] * 2, 1), pytest.raises(RuntimeError, match=r"self.note\(loss, group\)"):
        for group in trainer.groups([pair(1.)] * 2):
            trainer.train_step(group)


# ---- batches ----

class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(5, 3)

    def forward(self, x, scale=1.0, shift=0.0): return self.fc(x) * scale + shift


S = torch.full((22, 1), 2.0)
KINDS = {"named": ({"x": X, "scale": S}, Y), "positions": (X, S, Y), "list": [X, S, Y],
         "dictionary": {"x": X, "scale": S, "target": Y}, "arrays": (X.numpy(), S.numpy(), Y.numpy())}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_batches(kind):
    torch.manual_seed(0)
    model = Named()
    trainer = Trainer(model, torch.optim.SGD(model.parameters(), 0.1), cross_entropy, metrics=[accuracy])
    want = cross_entropy(model(X, S), Y).item()
    assert trainer.evaluate([KINDS[kind]])["loss"] == pytest.approx(want)
    assert trainer.fit([KINDS[kind]], 1)[0]["loss"] == pytest.approx(want)


def test_targets_in_a_dictionary():
    """A target may be a dictionary; its first tensor says how many examples there are"""
    def loss(output, target): return mse_loss(output, target["a"]) + 0 * target["b"].sum()
    model = Line()
    trainer = Trainer(model, torch.optim.SGD(model.parameters()), loss)
    def doubles(*numbers): return torch.tensor(numbers, dtype=torch.float64)
    batches = [(doubles(1., 1., 1.), {"a": doubles(0., 0., 0.), "b": torch.ones(7)}),
               (doubles(2.), {"a": doubles(0.), "b": S})]
    assert trainer.evaluate(batches)["loss"] == pytest.approx((3 * 1 + 4) / 4)


IGNORING = torch.tensor([0, 1, 1, -100, -100, 0])
LABELS = {"tensors": (IGNORING, (6, 2)), "arrays": (IGNORING.numpy(), (6, 2)),
          "each place of a row": (torch.stack([IGNORING, IGNORING.flip(0)], 1), (6, 2, 2))}


@pytest.mark.parametrize("kind", LABELS)
def test_ignored_targets(kind):
    """Means over batches with ignored targets, in evaluation and step, are those over all data at once"""
    y, shape = LABELS[kind]
    x = torch.tensor(np.random.default_rng(0).normal(size=shape), dtype=torch.float32)
    batches = [(x[:2], y[:2]), (x[2:5], y[2:5]), (x[5:], y[5:])]

    class Turned(nn.Linear):
        def forward(self, x): return super().forward(x.transpose(1, -1)).transpose(1, -1)

    def run(batches, **options):
        torch.manual_seed(0)
        model = Turned(2, 2)
        trainer = Trainer(model, torch.optim.SGD(model.parameters(), 0.5), cross_entropy, metrics=[accuracy],
                          **options)
        before = trainer.evaluate(batches)
        history = trainer.fit(batches, 1)
        return [*before.values(), history[0]["loss"], *sum(weights(trainer)[0], [])]

    assert run(batches, accumulate=3) == pytest.approx(run([(x, y)]), rel=1e-5)
    rows = run(batches, accumulate=3, count=lambda batch: len(batch[0]))
    assert rows[0] != pytest.approx(run([(x, y)])[0], rel=1e-3)    # count= replaces that


@pytest.mark.parametrize("target, size", [
    (torch.tensor([1., -100.]), 2), (torch.tensor([[1., 2.]]), 1), (torch.tensor([[1, -100], [-100, 3]]), 2),
    (torch.tensor(3), 1), (np.array([1, 2, 255], "uint8"), 3), (np.array([True, False]), 2), (4, 1),
    ({"a": torch.ones(3), "b": torch.ones(7)}, 3), ([np.array([1, -100]), torch.ones(5)], 1)])
def test_how_many_examples(target, size):
    assert line_trainer().size_of((torch.ones(2), target)) == size


def test_nothing_counts():
    """A batch of which every target is ignored has no mean: an error that says so, not nan for all"""
    batch = X, torch.full((22,), -100)
    for run in (lambda t: t.fit([(X, Y), batch], 1)), (lambda t: t.evaluate([(X, Y), batch])):
        with pytest.raises(ValueError, match="0 examples that count.*not -100"):
            run(trainer_of())


@pytest.mark.parametrize("batch, error", [
    (X, TypeError), ((X,), TypeError), ({"x": X}, TypeError), ("text", TypeError),
    ((X[:0], Y[:0]), ValueError)])
def test_wrong_batches(batch, error):
    for run in (lambda t: t.fit([batch], 1)), (lambda t: t.evaluate([batch])):
        with pytest.raises(error, match="batch"):
            run(trainer_of())


def test_a_loss_that_is_none():
    for wrong in (lambda output, target: output), (lambda output, target: 3.0):
        with pytest.raises(ValueError, match="one number"):
            trainer_of(loss_fn=wrong).fit(batches_of(X, Y), 1)


def test_read_only_once():
    """An iterator is refused for two epochs and good for one; a used one is an error, not an empty epoch"""
    batches = batches_of(X, Y)
    for wrong in dict(batches=iter(batches)), dict(batches=batches, validation=iter([(X, Y)])):
        with pytest.raises(ValueError, match="iterator.*only once"):
            trainer_of().fit(epochs=2, **wrong)
    source = iter(batches_of(X, Y))
    assert len(trainer_of().fit(source, 1)) == 1
    for empty in source, []:
        with pytest.raises(ValueError, match="no batch"):
            trainer_of().fit(empty, 1)


# ---- schedules ----

def test_by_epoch_and_by_batch():
    def rates(schedule):
        trainer = line_trainer(accumulate=2)
        trainer.scheduler, trainer.schedule = ExponentialLR(trainer.optimizer, 0.5), schedule
        return trainer.fit([pair(0.)] * 3, 3).column("lr")
    assert rates("epoch") == pytest.approx([0.1, 0.05, 0.025])
    assert rates("batch") == pytest.approx([0.1 / 4, 0.1 / 16, 0.1 / 64])     # two steps an epoch


def test_one_cycle_fits_the_run():
    """A cycle of exactly as many steps as there are"""
    trainer = trainer_of(schedule_of=lambda o: OneCycleLR(o, 0.1, total_steps=18), schedule="batch")
    trainer.fit(batches_of(X, Y), 3)
    assert trainer.steps == 18
    with pytest.raises(ValueError, match="18"):
        trainer.fit(batches_of(X, Y), 4)


def test_plateau():
    """It looks at the held-out loss, and without one at the loss"""
    for validation, factor in ((None, 1), ([pair(1.)], 0.5)):
        trainer = line_trainer(w=-1.0)                 # the loss -x w falls; held out, w x = w rises
        trainer.loss_fn = lambda output, target: output.mean() if len(output) == 1 else -output.mean()
        trainer.scheduler = ReduceLROnPlateau(trainer.optimizer, factor=0.5, patience=0)
        trainer.schedule = "epoch"
        trainer.fit([pair(1., 1.)], 2, validation=validation)
        assert trainer.optimizer.param_groups[0]["lr"] == 0.1 * factor


# ---- wrong options ----

MODEL = Line()
SGD = torch.optim.SGD(MODEL.parameters(), 0.1)
OTHER = torch.optim.SGD(Line().parameters(), 0.1)


@pytest.mark.parametrize("options, says", [
    (dict(scheduler=StepLR(SGD, 1)), "schedule='epoch'"), (dict(schedule="epoch"), "scheduler"),
    (dict(scheduler=StepLR(SGD, 1), schedule="step"), "schedule='batch'"),
    (dict(scheduler=StepLR(OTHER, 1), schedule="epoch"), "another optimizer"),
    (dict(scheduler=ReduceLROnPlateau(SGD), schedule="batch"), "ReduceLROnPlateau"),
    (dict(clip_norm=0.0), "clip_norm"), (dict(clip_norm=math.nan), "clip_norm"),
    (dict(clip_value=-1), "clip_value"),
    (dict(accumulate=0), "accumulate"), (dict(accumulate=1.5), "accumulate"),
    (dict(metrics={"loss": accuracy}), "loss"), (dict(metrics={"x": 1}), "metrics")])
def test_wrong_options(options, says):
    with pytest.raises(ValueError, match=says):
        Trainer(MODEL, SGD, mean_output, **options)


def test_wrong_parts():
    for parts in (MODEL, mean_output, SGD), (SGD, MODEL, mean_output), (MODEL, SGD, 3):
        with pytest.raises(TypeError):
            Trainer(*parts)
    with pytest.raises(TypeError, match="Callback"):
        Trainer(MODEL, SGD, mean_output, callbacks=[print])


@pytest.mark.parametrize("options", [dict(epochs=-1), dict(epochs=1.5), dict(epochs=1, save_every=3),
                                     dict(epochs=1, save_every=0, checkpoint="x")])
def test_wrong_runs(options):
    trainer = line_trainer()
    with pytest.raises(ValueError):
        trainer.fit([pair(1.)], **options)
    assert trainer.model.w.item() == 1.


def test_no_folder_is_found_early(tmp_path):
    """Not after the first epoch, which may have taken a day"""
    trainer = line_trainer()
    with pytest.raises(FileNotFoundError, match="no folder"):
        trainer.fit([pair(1.)], 1, checkpoint=tmp_path / "no" / "run")
    assert trainer.steps == 0


# ---- evaluation ----

def test_evaluation_leaves_no_trace():
    """No random number is drawn, no gradient made, no weight changed"""
    trainer = trainer_of(metrics=[accuracy])
    before, state = weights(trainer), torch.default_generator().get_state()
    first = trainer.evaluate(batches_of(X, Y))
    assert first == trainer.evaluate(batches_of(X, Y)) and weights(trainer) == before
    assert torch.default_generator().get_state() == state
    assert all(p.grad is None for p in trainer.model.parameters())


def test_seed():
    """A run begins at its seed, whatever was drawn before, and also when the data draw from elsewhere"""
    def run(seed):
        trainer = trainer_of(seed=4)
        trainer.seed = seed
        np.random.seed(np.random.randint(1000))
        trainer.fit([(X, Y)], 2)
        return weights(trainer), np.random.rand()
    assert run(5) == run(5) and run(5) != run(6)


def test_in_a_thread():
    """Outside the main thread there is no Ctrl-C to wait for"""
    trainer = line_trainer()
    thread = threading.Thread(target=lambda: trainer.fit([pair(1.)], 2))
    thread.start()
    thread.join()
    assert trainer.epoch == 2
