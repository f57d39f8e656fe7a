"""Who listens to a run: early stopping, the history, the bar."""
import io
import json
import math
import sys
import warnings

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.training import Callback, EarlyStopping, History, load

from .support import Line, batches_of, examples, line_trainer, pair, trainer_of, weights

X, Y = examples()


class Values(Callback):
    """Puts numbers of its own into the rows, to be watched."""
    def __init__(self, *values): self.values = values
    def on_epoch_end(self, trainer, row): row["value"] = self.values[row["epoch"] - 1]


def stopped(*values, epochs=None, **options):
    stopping = EarlyStopping("value", **options)
    trainer = line_trainer(callbacks=[Values(*values), stopping])      # w falls by 0.1 an epoch
    trainer.fit([pair(1.)], epochs or len(values))
    return trainer, stopping


# ---- early stopping ----

def test_the_best_weights_come_back():
    """Best at epoch 2, patience 3: epoch 5 is the last, and w is that of epoch 2"""
    trainer, stopping = stopped(5., 1., 2., 3., 4., 0., patience=3)
    assert trainer.epoch == 5 and trainer.stopped and stopping.best_epoch == 2 and stopping.best == 1.
    assert trainer.model.w.item() == pytest.approx(0.8)


def test_without_a_stop_too():
    """Also where all epochs were used"""
    trainer, stopping = stopped(5., 1., 2., patience=3)
    assert trainer.epoch == 3 and not trainer.stopped and trainer.model.w.item() == pytest.approx(0.8)


def test_restore_best_off():
    trainer, stopping = stopped(5., 1., 2., patience=3, restore_best=False)
    assert trainer.model.w.item() == pytest.approx(0.7)
    assert stopping.best_state is None and stopping.best_epoch == 2


def test_max():
    trainer, stopping = stopped(0.1, 0.5, 0.3, 0.5, 0.9, mode="max", patience=2)
    assert trainer.epoch == 4 and stopping.best_epoch == 2


def test_never_a_number():
    """Only nan: it stops, and there are no best weights to go back to"""
    trainer, stopping = stopped(math.nan, math.nan, math.nan, patience=2)
    assert trainer.epoch == 2 and stopping.best_epoch is None and trainer.model.w.item() == pytest.approx(0.8)


def test_a_stopped_run_stays_stopped():
    """It says so, and that it can be made to go on; where no epoch is left there is nothing to say"""
    trainer, _ = stopped(1., 2., 0., 0., epochs=4, patience=1)
    with pytest.warns(UserWarning, match="after epoch 2.*'stopped'") as warned:
        trainer.fit([pair(1.)], 9)
    assert trainer.epoch == 2 and warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer.fit([pair(1.)], 2)
        trainer.position["stopped"] = False
        trainer.fit([pair(1.)], 3)
    assert trainer.epoch == 3


def test_the_file_of_a_stopped_run(tmp_path):
    """It holds the last weights, to go on from; a fit that finds the run ended gives the best again"""
    path, values = tmp_path / "run", (1., 2., 3.)
    def made(): return line_trainer(callbacks=[Values(*values), EarlyStopping("value", patience=2)])
    made().fit([pair(1.)], 3, checkpoint=path)
    assert load(path)["model"]["w"].item() == pytest.approx(0.7)
    again = made()
    again.resume(path)
    assert again.model.w.item() == pytest.approx(0.7)
    again.fit([pair(1.)], 3)
    assert again.model.w.item() == pytest.approx(0.9) and again.epoch == 3


def test_an_unknown_number():
    with pytest.raises(KeyError, match="val_loss.*validation"):
        line_trainer(callbacks=[EarlyStopping()]).fit([pair(1.)], 2)


@pytest.mark.parametrize("options", [dict(patience=0), dict(patience=1.5), dict(min_delta=-1),
                                     dict(mode="less")])
def test_wrong_options(options):
    with pytest.raises(ValueError, match="EarlyStopping"):
        EarlyStopping(**options)


def test_on_real_curves():
    """It ends before the held-out loss has risen for long, at the lowest one"""
    trainer = trainer_of(options={"lr": 0.2}, callbacks=[EarlyStopping(patience=4)])
    trainer.model[2].p = 0.0
    held_out = [examples(seed=1)]
    history = trainer.fit(batches_of(X, Y), 200, validation=held_out)
    losses = history.column("val_loss")
    assert len(history) < 60 and len(history) == np.argmin(losses) + 1 + 4
    assert trainer.evaluate(held_out)["loss"] == min(losses)


# ---- moments ----

def test_order_and_errors():
    """Callbacks are told in order; after an error nobody hears of an end"""
    told = []

    class Named(Callback):
        def __init__(self, name): self.name = name
        def on_epoch_end(self, trainer, row): told.append((self.name, len(trainer.history), trainer.epoch))
        def on_fit_end(self, trainer): told.append((self.name, "end"))
        def on_step_end(self, trainer, loss):
            if trainer.steps == 2: raise KeyError("on purpose")

    trainer = line_trainer(callbacks=[Named("a"), Named("b")])
    with pytest.raises(KeyError, match="on purpose"):
        trainer.fit([pair(1.)], 3)
    assert told == [("a", 1, 1), ("b", 1, 1)]


def test_a_loss_of_each_step():
    """A tensor without history, the mean of the step's batches"""
    class Losses(Callback):
        def on_step_end(self, trainer, loss): seen.append((loss.item(), loss.node))
    seen = []
    line_trainer(callbacks=[Losses()], accumulate=2).fit([pair(1.), pair(3.), pair(4.)], 1)
    assert seen == [(2., None), (pytest.approx(4 * 0.8), None)]


# ---- the history ----

def test_plain_numbers():
    """It can be written as JSON and read again"""
    trainer = trainer_of(metrics={"half": lambda output, target: output.mean() / 2})
    history = trainer.fit(batches_of(X, Y), 2, validation=[(X, Y)])
    assert json.loads(json.dumps(history)) == list(history)
    assert list(history[0]) == ["epoch", "lr", "loss", "val_loss", "val_half"]
    assert history.column("epoch") == [1, 2] and type(history) is History
    with pytest.raises(KeyError):
        history.column("gone")


def test_plot_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="Pictures need matplotlib: pip install"):
        History().plot()


# ---- the bar ----

class Terminal(io.StringIO):
    def isatty(self): return True


@pytest.mark.parametrize("screen, progress", [(io.StringIO, True), (Terminal, False)])
def test_silent_in_a_pipe(monkeypatch, screen, progress):
    monkeypatch.setattr(sys, "stderr", screen())
    line_trainer(progress=progress).fit([pair(1.)] * 3, 2)
    assert sys.stderr.getvalue() == ""


def test_on_a_terminal(monkeypatch):
    """A bar for each epoch: which one, how many steps, the loss, the rate"""
    monkeypatch.setattr(sys, "stderr", Terminal())
    line_trainer(accumulate=2).fit([pair(1.)] * 3, 2, validation=[pair(1.)])
    said = sys.stderr.getvalue()
    for part in "epoch 1/2", "epoch 2/2", "2/2 [", "lr=0.1", "loss=0.7667", "val_loss=0.6":
        assert part in said, (part, said)
    assert said.count("\n") == 2


def test_no_length(monkeypatch):
    """Batches whose number nobody knows"""
    monkeypatch.setattr(sys, "stderr", Terminal())
    line_trainer().fit((pair(1.) for _ in range(3)), 1)
    assert "3step" in sys.stderr.getvalue()


def test_ended_by_an_error(monkeypatch):
    """The bar is closed, so that the error begins on a line of its own"""
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(RuntimeError):
        line_trainer().fit([pair(1.), pair(math.nan)], 1)
    assert sys.stderr.getvalue().endswith("\n")


def test_the_model_is_watched_not_changed():
    """Callbacks, bar and history change no weight"""
    stopping = EarlyStopping("loss", 9, restore_best=False)
    plain, watched = trainer_of(), trainer_of(callbacks=[stopping, Callback()])
    for trainer in plain, watched:
        torch.manual_seed(1)
        trainer.fit(batches_of(X, Y), 2)
    assert weights(plain) == weights(watched)


def test_state_of_early_stopping():
    """Half way saved and taken over, it stops at the same epoch"""
    one = EarlyStopping("loss", patience=2)
    model = Line()
    for value in 3., 2., 2.5:
        one.update(value, model)
    other = EarlyStopping("loss", patience=2)
    other.load_state_dict(one.state_dict())
    assert (other.best, other.waited) == (2., 1) and other.update(2.1) is True
    assert other.best_state["w"].item() == 1.
