# Generated from modules/07_training/callbacks_dev.py by tito export. Edit the lesson, not this file.
# source sha256 c70a5a2b6f8ff2f03b8f589da11f8e6ff6b19dedd93ee76aebb772ba5b6ff4e3  body sha256 b13ca14047b05f13f71034ca46e3fe9cabe8ab2a7ee5dfc6343d4864e897c7c6  # noqa: E501
"""training.callbacks: built in module 07_training."""

import math
import sys

from tinytorch.viz.curves import draw_curves

__all__ = ["Bar", "Callback", "History", "steps_in"]


class History(list):
    """A list with a row, {"epoch": 1, "lr": 0.1, "loss": 0.5, ...}, for each epoch; plain numbers only.

    >>> History([{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}]).column("loss")
    [0.5, 0.25]
    """
    def column(self, name):
        """The numbers of that name, an epoch after the other; KeyError if an epoch does not have one."""
        return [row[name] for row in self]

    def plot(self, names=None, stop=None, axes=None):
        """Draw the losses (see viz.curves.draw_curves); ImportError says what is missing."""
        return draw_curves(self, names, stop, axes)


class Callback:
    """Is told by a Trainer what happened; a subclass defines the methods that it cares for.

    Several are told in the order in which they were given. `trainer.stop()` ends the run after this epoch.
    """
    def on_fit_start(self, trainer):
        """Training begins, or goes on."""

    def on_epoch_start(self, trainer):
        """`trainer.epoch` epochs are over, and the next begins, or goes on in the middle."""

    def on_step_end(self, trainer, loss):
        """The optimizer, and a schedule by batches, took a step. loss: a tensor with one number; reading it
        makes a GPU wait."""

    def on_epoch_end(self, trainer, row):
        """The epoch's row is in the history, and a schedule by epochs took its step; nothing is saved yet."""

    def on_fit_end(self, trainer):
        """The last epoch is over and saved. Not called when the run ended by an error or by Ctrl-C."""

    def state_dict(self):
        """What must be in a checkpoint, for the run to go on as if it had never stopped."""
        return {}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` gave."""


class Bar:
    """A progress bar for each epoch, on stderr; nothing if that is neither a terminal nor a notebook."""
    def __init__(self, wanted, epochs):
        self.epochs, self.bar = epochs, None
        self.wanted = wanted and (sys.stderr.isatty() or "ipykernel" in sys.modules)

    def start(self, epoch, done, steps):
        """A bar for one epoch, of whose `steps` (None: nobody knows) `done` are over."""
        if self.wanted:
            from tqdm import tqdm
            self.bar = tqdm(total=steps, initial=done, desc=f"epoch {epoch}/{self.epochs}", unit="step",
                            file=sys.stderr)

    def step(self, numbers):
        """One step more; `numbers()` gives what to show beside it, and is asked only when it is shown."""
        if self.bar is not None and self.bar.update():
            self.bar.set_postfix({name: f"{x:.4g}" for name, x in numbers().items()}, refresh=False)

    def end(self, row=()):
        """The epoch is over, with this row of the history; or the run."""
        if self.bar is not None:
            self.bar.set_postfix({name: f"{x:.4g}" for name, x in dict(row).items() if name != "epoch"})
            self.bar.close()
            self.bar = None


def steps_in(batches, accumulate):
    """How many steps an epoch has, or None if `batches` does not know its length."""
    try:
        return math.ceil(len(batches) / accumulate)
    except TypeError:
        return None
