"""Stopped anywhere and resumed: the same bits; and what is said where that cannot be."""
import json
import os
import random
import signal

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.optim import SGD, Adam, AdamW
from tinytorch.optim import lr_scheduler as S
from tinytorch.training import (
    Callback,
    EarlyStopping,
    Resumable,
    Trainer,
    accuracy,
    load,
    save,
    seed_everything,
)

from .support import (
    Cable,
    Own,
    Shuffled,
    batches_of,
    examples,
    line_trainer,
    network,
    pair,
    trainer_of,
    weights,
)

BATCHES = batches_of(*examples())                      # six, the last one smaller
STEPS = 4 * 3                                          # four epochs of three steps, two batches each
SOURCES = {
    "list": lambda: BATCHES,
    "resumable": lambda: Own(BATCHES),
    "default generator": lambda: Shuffled(BATCHES, lambda n: torch.randperm(n).tolist()),
    "numpy": lambda: Shuffled(BATCHES, lambda n: np.random.permutation(n)),
    "python": lambda: Shuffled(BATCHES, lambda n: random.sample(range(n), n)),
}


@pytest.fixture
def path(tmp_path): return tmp_path / "run.safetensors"


def compared(make, source, path, stops, epochs=4, save_every=1, **run):
    """For each stop: killed after that step, resumed by a new trainer with new batches; like a whole run."""
    seed_everything(7)
    whole = make()
    whole.fit(source(), epochs, **run)
    for stop in stops:
        seed_everything(7)
        cut = make()
        cut.callbacks.append(Cable(stop))
        with pytest.raises(ConnectionError):
            cut.fit(source(), epochs, checkpoint=path, save_every=save_every, **run)
        seed_everything(8)
        again = make()
        for p in again.model.parameters():
            p.detach().zero_()
        again.callbacks.append(Cable(None))
        again.resume(path)
        again.fit(source(), epochs, **run)
        assert weights(again) == weights(whole), stop
        assert again.history == whole.history and again.steps == whole.steps, stop
        os.unlink(path)
    return whole


@pytest.mark.parametrize("source", SOURCES)
def test_every_step(source, path):
    """Dropout, momentum, accumulation, shuffled batches of every kind"""
    def make(): return trainer_of(kind=SGD, options={"lr": 0.1, "momentum": 0.9}, accumulate=2)
    compared(make, SOURCES[source], path, range(2, STEPS + 1))


@pytest.mark.parametrize("source", ["resumable", "numpy"])
def test_saved_seldom(source, path):
    """What was done since the last file is done again"""
    compared(lambda: trainer_of(accumulate=2), SOURCES[source], path, [5, 8, 12], save_every=2)


OPTIMIZERS = {"SGD": (SGD, {"lr": 0.1}), "nesterov": (SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
              "Adam": (Adam, {"lr": 0.05, "amsgrad": True}),
              "AdamW": (AdamW, {"lr": 0.05, "weight_decay": 0.1})}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, path):
    kind, options = OPTIMIZERS[name]
    compared(lambda: trainer_of(kind=kind, options=options), lambda: BATCHES, path, [5, 13], epochs=3)


SCHEDULES = {
    "StepLR": lambda o: S.StepLR(o, 2, 0.5), "MultiStepLR": lambda o: S.MultiStepLR(o, [2, 5]),
    "CosineAnnealingLR": lambda o: S.CosineAnnealingLR(o, 9), "LinearLR": lambda o: S.LinearLR(o, 0.1),
    "CosineAnnealingWarmRestarts": lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2),
    "LambdaLR": lambda o: S.LambdaLR(o, lambda t: 0.9 ** t), "PolynomialLR": lambda o: S.PolynomialLR(o, 9),
    "MultiplicativeLR": lambda o: S.MultiplicativeLR(o, lambda t: 0.9),
    "OneCycleLR": lambda o: S.OneCycleLR(o, 0.1, total_steps=20),
    "SequentialLR": lambda o: S.SequentialLR(o, [S.LinearLR(o), S.ExponentialLR(o, 0.9)], [3]),
    "ChainedScheduler": lambda o: S.ChainedScheduler([S.LinearLR(o), S.StepLR(o, 2)]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name, path):
    """Each by batches, stopped in its course"""
    def make(): return trainer_of(schedule_of=SCHEDULES[name], schedule="batch")
    compared(make, lambda: BATCHES, path, [2, 9], epochs=3)


def test_plateau_and_stopping(path):
    """What looks at the loss: a plateau, and early stopping with its best weights; by held-out numbers"""
    def make():
        return trainer_of(options={"lr": 0.2}, schedule_of=lambda o: S.ReduceLROnPlateau(o, patience=0),
                          schedule="epoch", callbacks=[EarlyStopping("val_accuracy", 3, mode="max")],
                          metrics=[accuracy])
    whole = compared(make, lambda: Own(BATCHES), path, [4, 10, 19], epochs=9, validation=[examples(seed=1)])
    assert whole.stopped and whole.optimizer.param_groups[0]["lr"] < 0.2


def test_after_the_end(path):
    """A finished run is finished; with more epochs it goes on, from the end of the last one"""
    seed_everything(7)
    whole = trainer_of()
    whole.fit(Own(BATCHES), 3)
    seed_everything(7)
    trainer_of().fit(Own(BATCHES), 2, checkpoint=path)
    again = trainer_of(seed=5)
    again.resume(path)
    source = Own(BATCHES, seed=99)
    assert len(again.fit(source, 2)) == 2 and again.steps == 12
    again.fit(source, 3)
    assert weights(again) == weights(whole)


def test_other_batches_in_the_same_process():
    """After a whole epoch a run may go on with other batches, and they begin where they are"""
    trainer, other = line_trainer(), Own([pair(1.), pair(2.)])
    trainer.fit(Own([pair(1.)] * 5), 1)
    before = other.state_dict()
    iterations = []
    other.load_state_dict = iterations.append
    trainer.fit(other, 2)
    assert iterations == [] and other.state_dict() != before


def test_on_after_an_error():
    """A run that ended by an error in the middle of an epoch goes on in the same process"""
    for source in SOURCES.values():
        seed_everything(7)
        whole = trainer_of()
        whole.fit(source(), 2)
        seed_everything(7)
        trainer, batches, cable = trainer_of(), source(), Cable(4)
        trainer.callbacks.append(cable)
        with pytest.raises(ConnectionError):
            trainer.fit(batches, 2)
        trainer.fit(batches, 2)
        assert weights(trainer) == weights(whole)


def test_the_seed_counts_only_at_the_start(path):
    def make():
        trainer = trainer_of()
        trainer.seed = 3
        return trainer
    compared(make, SOURCES["numpy"], path, [2, 9], epochs=2)


# ---- Ctrl-C ----

class Press(Callback):
    """Ctrl-C in the middle of a step, so often."""
    def __init__(self, at, times=1): self.at, self.times = at, times

    def on_step_end(self, trainer, loss):
        if trainer.steps == self.at:
            for _ in range(self.times):
                signal.raise_signal(signal.SIGINT)


def test_ctrl_c(path):
    """The step is finished, a checkpoint written; resumed, the bits are the same"""
    seed_everything(7)
    whole = trainer_of()
    whole.fit(Own(BATCHES), 3)
    seed_everything(7)
    cut = trainer_of(callbacks=[Press(8)])
    with pytest.raises(KeyboardInterrupt):
        cut.fit(Own(BATCHES), 3, checkpoint=path)
    assert cut.steps == 8 and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    again = trainer_of(seed=5, callbacks=[Press(None)])
    again.resume(path)
    assert again.steps == 8
    again.fit(Own(BATCHES), 3)
    assert weights(again) == weights(whole)


def test_ctrl_c_at_an_epochs_end():
    class AtTheEnd(Callback):
        def on_epoch_end(self, trainer, row): signal.raise_signal(signal.SIGINT)
    trainer = line_trainer(callbacks=[AtTheEnd()])
    with pytest.raises(KeyboardInterrupt):
        trainer.fit([pair(1.)], 3)
    assert trainer.epoch == 1 and trainer.position["batch"] == 0


def test_ctrl_c_twice():
    """The second one does not wait"""
    trainer = line_trainer(callbacks=[Press(2, times=2)])
    with pytest.raises(KeyboardInterrupt):
        trainer.fit([pair(1.)], 3)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# ---- files ----

def test_what_a_checkpoint_is(path):
    """One file, numbers in safetensors, the rest JSON"""
    trainer_of().fit(BATCHES, 1, checkpoint=path)
    saved = load(path)
    assert set(saved) == {"version", "classes", "model", "optimizer", "scheduler", "callbacks", "history",
                          "position", "random"}
    assert saved["position"]["epoch"] == 1 and saved["position"]["batch"] == 0
    assert json.dumps(saved["history"]) and saved["scheduler"] is None
    assert os.listdir(path.parent) == [path.name]


def test_leftovers(path):
    """What killed runs left beside the checkpoint is removed; other files are not touched"""
    others = [path.name + ".old", path.name + ".mine.tmp", "other.123-4.tmp"]
    for name in path.name + ".123-4.tmp", *others:
        (path.parent / name).write_bytes(b"half")
    line_trainer().fit([pair(1.)], 1, checkpoint=path)
    assert sorted(os.listdir(path.parent)) == sorted([path.name, *others])


@pytest.mark.parametrize("change, error, says", [
    (dict(model=nn.Linear(5, 3)), RuntimeError, "weight is missing.*0.weight is unexpected"),
    (dict(kind=SGD), ValueError, "Adam.*SGD"), (dict(callbacks=[]), ValueError, "EarlyStopping"),
    (dict(schedule_of=None, schedule=None), ValueError, "StepLR")])
def test_another_trainer(path, change, error, says):
    """An error that says what differs, and nothing has changed"""
    options = dict(kind=Adam, schedule_of=lambda o: S.StepLR(o, 1), schedule="epoch",
                   callbacks=[EarlyStopping("loss")])
    trainer_of(**options).fit(BATCHES, 1, checkpoint=path)
    if "model" in change:
        model = change["model"]
        optimizer = Adam(model.parameters())
        other = Trainer(model, optimizer, torch.nn.functional.cross_entropy, scheduler=S.StepLR(optimizer, 1),
                        schedule="epoch", callbacks=[EarlyStopping("loss")])
    else:
        other = trainer_of(**{**options, **change})
    before = weights(other)
    with pytest.raises(error, match=says):
        other.resume(path)
    assert weights(other) == before and other.epoch == 0 and other.history == []


@pytest.mark.parametrize("change", ["groups", "parts of a schedule", "order of groups"])
def test_other_parts(path, change):
    """Groups of other sizes, a schedule of other parts: nothing has changed, not even the model"""
    def made(sizes, parts):
        model = network()
        tensors = list(model.parameters())
        groups = [{"params": tensors[:sizes]}, {"params": tensors[sizes:]}] if sizes else tensors
        optimizer = Adam(groups, lr=0.05)
        scheduler = S.ChainedScheduler([kind(optimizer) for kind in parts])
        return Trainer(model, optimizer, torch.nn.functional.cross_entropy, scheduler=scheduler,
                       schedule="batch")
    parts = [S.LinearLR, lambda o: S.StepLR(o, 2)]
    made(1, parts).fit(BATCHES, 1, checkpoint=path)
    other = {"groups": lambda: made(0, parts), "order of groups": lambda: made(3, parts),
             "parts of a schedule": lambda: made(1, parts[:1])}[change]()
    before, state = weights(other), repr(other.optimizer.state_dict())
    with pytest.raises(ValueError, match=r"sizes \[1, 3\]|ChainedScheduler\(LinearLR, StepLR\)"):
        other.resume(path)
    assert weights(other) == before and repr(other.optimizer.state_dict()) == state and other.history == []


def test_back_in_the_same_process(path):
    """A trainer that has run on is taken back to its checkpoint, with batches that know their position"""
    for source in SOURCES.values():
        seed_everything(7)
        trainer, batches = trainer_of(), source()
        trainer.fit(batches, 1, checkpoint=path)
        trainer.fit(batches, 3)
        want = weights(trainer)
        trainer.resume(path)
        trainer.fit(batches, 3)
        assert weights(trainer) == want and trainer.epoch == 3


def test_no_checkpoint(path):
    for obj in network().state_dict(), {"epoch": 3}, [1]:
        save(obj, path)
        with pytest.raises(ValueError, match="run.safetensors is no checkpoint"):
            trainer_of().resume(path)
    with pytest.raises(FileNotFoundError):
        trainer_of().resume(path.parent / "gone")
    state = line_trainer().state_dict()
    save({**state, "version": 9}, path)
    with pytest.raises(ValueError, match="version 9"):
        line_trainer().resume(path)


@pytest.mark.parametrize("first, then, says", [
    (lambda: Own(BATCHES), lambda: BATCHES, "Resumable"),
    (lambda: BATCHES, lambda: Own(BATCHES), "Resumable"),
    (lambda: BATCHES, lambda: BATCHES[:2], "fewer")])
def test_other_batches(path, first, then, says):
    """In the middle of an epoch only the same batches can go on"""
    with pytest.raises(ConnectionError):
        trainer_of(callbacks=[Cable(5)]).fit(first(), 1, checkpoint=path, save_every=1)
    again = trainer_of(callbacks=[Cable(None)])
    again.resume(path)
    with pytest.raises(ValueError, match=says):
        again.fit(then(), 1)


def test_the_protocol():
    assert isinstance(Own([]), Resumable) and not isinstance([], Resumable)
    assert not isinstance(Shuffled([], list), Resumable)
