# Generated from modules/07_training/training_dev.py by tito export. Edit the lesson, not this file.
# source sha256 0e6bb021ce37f05d8de46d39a3d0307c2a38f3d46c1f8aac71214c222618fa79  body sha256 b4144302cf4d4008262cf406d74a7f17fca90a8a2821f1c429d62db02428f7cc  # noqa: E501
"""training.stopping: built in module 07_training."""

import math

from tinytorch.training.callbacks import Callback

__all__ = ["EarlyStopping"]


class EarlyStopping(Callback):
    """Ends a run once a number of its history has not become better for `patience` epochs.

    monitor: its name. min_delta: by how much better counts. mode: "min" or "max" is better.
    restore_best: when `fit` ends the model gets the weights of the best epoch. (A checkpoint holds the last
    ones, to go on from; `save(model.state_dict(), path)` after `fit` makes a file of the best ones.)
    `best`, `best_epoch`, `best_state` are what it found. (Prechelt, 1998)
    """
    def __init__(self, monitor="val_loss", patience=5, min_delta=0.0, mode="min", restore_best=True):
        if not isinstance(patience, int) or patience < 1 or not min_delta >= 0 or mode not in ("min", "max"):
            raise ValueError(f"EarlyStopping(patience={patience!r}, min_delta={min_delta!r}, mode={mode!r}): "
                             "patience is at least 1, min_delta at least 0, mode 'min' or 'max'.")
        self.monitor, self.patience, self.min_delta = monitor, patience, min_delta
        self.mode, self.restore_best = mode, restore_best
        self.best = math.inf if mode == "min" else -math.inf
        self.waited, self.best_epoch, self.best_state = 0, None, None

    def update(self, value, model=None):
        """Look at the value of one more epoch; True if it is time to stop.

        One that is better than `best` by more than min_delta becomes the best, sets `waited` to 0, and, if
        a model is given, `best_state` to a copy of its state. Any other adds 1 to `waited`. It is time
        once that is `patience`.

        >>> stopping = EarlyStopping(patience=2)
        >>> [stopping.update(loss) for loss in (3., 2., 2.5, 2.)]
        [False, False, False, True]
        """
        sign = 1 if self.mode == "max" else -1
        if sign * value > sign * self.best + self.min_delta:
            self.best, self.waited = value, 0
            if model is not None:
                self.best_state = model.state_dict()
        else:
            self.waited += 1
        return self.waited >= self.patience

    def on_epoch_end(self, trainer, row):
        if self.monitor not in row:
            raise KeyError(f"EarlyStopping watches {self.monitor!r}, and an epoch has {', '.join(row)}. "
                           "val_... needs fit(..., validation=...).")
        stop = self.update(row[self.monitor], trainer.model if self.restore_best else None)
        if self.waited == 0:
            self.best_epoch = row["epoch"]
        if stop:
            trainer.stop()

    def on_fit_end(self, trainer):
        if self.best_state is not None:
            trainer.model.load_state_dict(self.best_state)

    def state_dict(self):
        return {name: getattr(self, name) for name in ("best", "waited", "best_epoch", "best_state")}

    def load_state_dict(self, state_dict):
        vars(self).update(state_dict)
