# Generated from modules/07_training/trainer_base_dev.py by tito export. Edit the lesson, not this file.
# source sha256 1150e5a2a3124a09471fdcf95d6a9c227156febfc1b0adc5a47afdf050560a86  body sha256 d82de5ddc22298285c874db1402f11451bea3069f2be655073cabb812265b57c  # noqa: E501
"""training.trainer_base: built in module 07_training."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from tinytorch.core.backend import CPU, is_array
from tinytorch.core.creation import as_tensor
from tinytorch.core.tensor import Tensor
from tinytorch.nn.module_base import ModuleBase
from tinytorch.optim.more_schedulers import ReduceLROnPlateau
from tinytorch.optim.optimizer_base import OptimizerBase
from tinytorch.training.callbacks import Bar, Callback, History, steps_in
from tinytorch.training.packing import name_beside, remove_leftovers
from tinytorch.training.resuming import (
    Resumable,
    random_state,
    seed_everything,
    set_random_state,
    whole_steps,
)

__all__ = [
    "IGNORED", "START", "TrainerBase", "check_finite", "check_run", "check_schedule", "examples_in",
    "group_sizes", "named_metrics", "not_finite", "scheduler_kind", "split_batch", "tensors_in",
]


def split_batch(batch):
    """(inputs, named inputs, target) of a batch.

    A batch is (*inputs, target), where a single input may be a dictionary of named ones; or a dictionary
    with the key "target".

    >>> split_batch((1, 2, 3)), split_batch({"x": 1, "target": 3})
    (([1, 2], {}, 3), ([], {'x': 1}, 3))
    """
    if isinstance(batch, dict):
        if "target" not in batch:
            raise TypeError(f"a batch with the keys {', '.join(map(str, batch))}: one must be 'target'.")
        return [], {name: x for name, x in batch.items() if name != "target"}, batch["target"]
    if not isinstance(batch, (tuple, list)) or len(batch) < 2:
        what = f"{type(batch).__name__} of {len(batch)}" if isinstance(batch, (tuple, list)) else type(batch)
        raise TypeError(f"a batch must be (inputs, target), or a dictionary with 'target', and is {what}. "
                        "For a model without targets, pass the inputs as target too.")
    *inputs, target = batch
    if len(inputs) == 1 and isinstance(inputs[0], dict):
        return [], inputs[0], target
    return inputs, {}, target


def tensors_in(x, device=None):
    """x, a tensor, an array or a nesting of them, as tensors; on `device` if one is named."""
    if is_array(x) or isinstance(x, Tensor):
        x = as_tensor(x)
        return x if device is None else x.to(device)
    if isinstance(x, dict):
        return {name: tensors_in(part, device) for name, part in x.items()}
    if type(x) in (list, tuple):
        return type(x)(tensors_in(part, device) for part in x)
    return x


IGNORED = -100                     # the target that cross_entropy and accuracy do not count


def examples_in(target):
    """How many examples the first array in a target is for: its rows; of classes, all that are not ignored.

    >>> examples_in(Tensor([[0.5], [1.5]])), examples_in({"classes": Tensor([2, -100, 0])})
    (2, 2)
    """
    while isinstance(target, (dict, list, tuple)) and target:
        target = next(iter(target.values())) if isinstance(target, dict) else target[0]
    array = target.data if isinstance(target, Tensor) else target
    if is_array(array) and array.dtype.kind == "i":
        return int((array != IGNORED).sum())
    shape = getattr(array, "shape", ())
    return shape[0] if shape else 1


def check_finite(loss, where):
    """Raise if the loss is not a single finite number. A GPU is not asked: that would make it wait."""
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        what = f"a tensor of shape {loss.shape}" if isinstance(loss, Tensor) else type(loss).__name__
        raise ValueError(f"loss_fn(output, target) gave {what}: it must give a tensor with one number, the "
                         "mean over the batch.")
    if loss.device == CPU and not math.isfinite(loss.item()):
        raise not_finite(loss.item(), where)
    return loss


def not_finite(value, where):
    return RuntimeError(f"{where}: the loss is {value}. Lower the rate, clip gradients (clip_norm=1.0), "
                        "look for wrong numbers in the batch, or find the op with autograd.detect_anomaly().")


START = {"epoch": 0, "batch": 0, "step": 0, "loss": 0.0, "examples": 0, "stopped": False, "data": None,
         "random": None}


class TrainerBase:
    """Everything of `Trainer` but `train_step`, `evaluate`, `fit` and `resume`; its options stand there."""
    def __init__(self, model, optimizer, loss_fn, *, scheduler=None, schedule=None, metrics=(),
                 clip_norm=None, clip_value=None, accumulate=1, callbacks=(), step=None, count=None,
                 device=None, seed=None, progress=True):
        if not isinstance(model, ModuleBase) or not isinstance(optimizer, OptimizerBase):
            raise TypeError("Trainer(model, optimizer, loss_fn) needs a Module and an Optimizer, and got "
                            f"{type(model).__name__} and {type(optimizer).__name__}.")
        if not callable(loss_fn):
            raise TypeError(f"loss_fn is a function of output and target, not {type(loss_fn).__name__}.")
        check_schedule(optimizer, scheduler, schedule)
        for name, limit in (("clip_norm", clip_norm), ("clip_value", clip_value)):
            if limit is not None and not limit > 0:
                raise ValueError(f"{name} must be above 0, got {limit}.")
        if not isinstance(accumulate, int) or accumulate < 1:
            raise ValueError(f"accumulate is a number of batches, at least 1, not {accumulate!r}.")
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.scheduler, self.schedule, self.metrics = scheduler, schedule, named_metrics(metrics)
        self.clip_norm, self.clip_value, self.accumulate = clip_norm, clip_value, accumulate
        self.callbacks, self.custom_step, self.count = list(callbacks), step, count
        self.device, self.seed, self.progress = device, seed, progress
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(f"a callback must be a Callback, not {type(callback).__name__}.")
        self.history = History()
        self.go_on_at(START)

    epoch = property(lambda self: self.position["epoch"])          # epochs that are over
    steps = property(lambda self: self.position["step"])           # steps of the optimizer
    stopped = property(lambda self: self.position["stopped"])

    def stop(self):
        """End the run after this epoch; for callbacks."""
        self.position["stopped"] = True

    # Batches
    def output_of(self, batch):
        """(what the model makes of a batch's inputs, its target)."""
        inputs, named, target = split_batch(tensors_in(batch, self.device))
        return self.model(*inputs, **named), target

    def size_of(self, batch):
        """How many examples a batch has; ValueError if none. Classes on a GPU are counted there: it waits."""
        size = examples_in(split_batch(batch)[2]) if self.count is None else self.count(batch)
        if not size > 0:
            raise ValueError(f"a batch has {size} examples that count: there must be at least one, with a "
                             f"target that is not {IGNORED}. Leave such batches out.")
        return size

    def checked(self, loss):
        """`loss`, if it is a single finite number; RuntimeError or ValueError if not."""
        return check_finite(loss, self._where())

    def _where(self): return f"epoch {self.epoch + 1}, batch {self.position['batch'] + 1}"

    def groups(self, batches):
        """Yield lists of `accumulate` batches until the epoch is over; the last list may be shorter.

        In the middle of an epoch, after `resume`, it goes on with the next one.
        """
        iterator = self._begin(batches)
        while group := list(islice(iterator, self.accumulate)):    # never reads ahead of a step
            self._size, before = sum(map(self.size_of, group)), self.steps
            yield group
            if self.steps == before:
                raise RuntimeError("a group of batches was used, and no step noted: call self.note(loss, "
                                   "group) after each step.")
        if not self.position["batch"]:
            raise ValueError(f"epoch {self.epoch + 1}: there was no batch. An iterator can be read only "
                             "once: pass a list, or an object whose __iter__ begins anew.")

    def _begin(self, batches):
        """An iterator over what is left of this epoch."""
        position = self.position
        if isinstance(batches, Resumable):
            if position["data"] is not None and (self._resumed or position["batch"]):
                batches.load_state_dict(position["data"])
            elif position["batch"]:
                raise ValueError("the run was left in the middle of an epoch of other batches, which were "
                                 "not Resumable: go on with the same ones.")
            return iter(batches)
        if position["data"] is not None and position["batch"]:
            raise ValueError("the run was left in the middle of an epoch of Resumable batches: go on with "
                             "the same ones.")
        if not position["batch"]:
            position["random"] = random_state()
            return iter(batches)
        now = random_state()
        set_random_state(position["random"])           # so that a shuffle gives the same order again
        iterator = iter(batches)
        if sum(1 for _ in islice(iterator, position["batch"])) < position["batch"]:
            raise ValueError(f"{position['batch']} batches of this epoch were done, and there are fewer now: "
                             "go on with the same ones.")
        set_random_state(now)
        return iterator

    # A step and what follows it
    def one_step(self, group):
        """Train on a list of batches, by `train_step` or what was given as `step`; returns the loss."""
        return self.train_step(group) if self.custom_step is None else self.custom_step(self, group)

    def note(self, loss, group):
        """A step is over: count it and its loss, step a schedule by batches, tell the callbacks, save."""
        loss = as_tensor(loss)
        self._unread.append((loss, self._size, self._where()))
        self.position["examples"] += self._size
        self.position["batch"] += len(group)
        self.position["step"] += 1
        if loss.device == CPU or len(self._unread) > 50:           # now and then, so that none is missed
            self._read()
        if self.schedule == "batch":
            self.scheduler.step()
        self.note_data()
        self.tell("on_step_end", loss)
        self._bar.step(lambda: {"loss": self.mean_loss(), "lr": self.lr()})
        if self._save_every and self.steps % self._save_every == 0:
            self._save()
        if self._interrupt.pressed:
            self._save()
            raise KeyboardInterrupt

    def note_data(self):
        """Write down where the batches are."""
        self._resumed = False
        self.position["data"] = self._batches.state_dict() if isinstance(self._batches, Resumable) else None

    def go_on_at(self, position):
        """Take over the position of a saved run; `fit` will go on there, also with its batches."""
        self.position, self._unread, self._resumed = {**START, **position}, [], True
        if self.steps:
            self.optimizer.stepped = True              # a schedule need not warn that it comes first

    def _save(self):
        if self._checkpoint is not None:
            self.save_checkpoint(self._checkpoint)

    def _read(self):
        for loss, size, where in self._unread:
            value = loss.item()
            if not math.isfinite(value):
                raise not_finite(value, where)
            self.position["loss"] += value * size
        self._unread = []

    def mean_loss(self):
        """The mean over the examples of this epoch so far."""
        self._read()
        return self.position["loss"] / self.position["examples"]

    def lr(self):
        """The learning rate of the first group."""
        return float(self.optimizer.param_groups[0]["lr"])

    def tell(self, moment, *what):
        """Call the method named `moment` of each callback, in their order."""
        for callback in self.callbacks:
            getattr(callback, moment)(self, *what)

    def begin_epoch(self):
        """Show a bar, and tell the callbacks."""
        done = math.ceil(self.position["batch"] / self.accumulate)
        self._bar.start(self.epoch + 1, done, steps_in(self._batches, self.accumulate))
        self.tell("on_epoch_start")

    def step_schedule(self, row):
        """After an epoch with this row: a step of a schedule by epochs. ReduceLROnPlateau gets "val_loss",
        or "loss" if there is none.
        """
        if self.schedule == "epoch":
            by_loss = isinstance(self.scheduler, ReduceLROnPlateau)
            self.scheduler.step(*[row.get("val_loss", row["loss"])] * by_loss)

    def end_epoch(self, row):
        """Add the row to the history, set the position to the next epoch, tell the callbacks, save."""
        self.history.append(row)
        self.note_data()
        self.position.update({"epoch": self.epoch + 1, "batch": 0, "loss": 0.0, "examples": 0})
        self._bar.end(row)
        self.tell("on_epoch_end", row)
        self._save()
        if self._interrupt.pressed:
            raise KeyboardInterrupt

    # The run as a whole
    @contextmanager
    def running(self, batches, epochs, validation=None, checkpoint=None, save_every=None):
        """What `fit` needs around its loop: checks, seed, training mode, the bar, and no half steps."""
        if not isinstance(epochs, int) or epochs < 0:
            raise ValueError(f"epochs is how many there are to be in the end, at least 0, not {epochs!r}.")
        check_run(batches, epochs - self.epoch, validation, checkpoint, save_every)
        if self.stopped and self.epoch < epochs:
            warnings.warn(f"a callback ended this run after epoch {self.epoch}, so fit trains no further. To "
                          "go on all the same: trainer.position['stopped'] = False.", stacklevel=4)
        if checkpoint is not None:
            name_beside(checkpoint)
            remove_leftovers(checkpoint)
        if self.seed is not None and not self.steps:
            seed_everything(self.seed)
        self._batches, self._checkpoint, self._save_every = batches, checkpoint, save_every
        self._bar = Bar(self.progress, epochs)
        self.model.train()
        try:
            with whole_steps() as self._interrupt:
                yield
        finally:
            self._bar.end()

    def _devices(self):
        """The GPUs that hold parameters."""
        return sorted({p.device for p in self.model.parameters()} - {CPU}, key=str)

    def restore_random(self, state):
        """Let the random numbers go on that came after `state` was saved."""
        set_random_state(state, self._devices())

    # State
    def state_dict(self):
        """All that the rest of the run depends on, for `save`; only between two steps."""
        self._read()
        return {"version": 1, "classes": self._classes(), "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler and self.scheduler.state_dict(),
                "callbacks": [callback.state_dict() for callback in self.callbacks],
                "history": list(self.history), "position": dict(self.position),
                "random": random_state(self._devices())}

    def _classes(self):
        return {"optimizer": type(self.optimizer).__name__, "scheduler": scheduler_kind(self.scheduler),
                "callbacks": [type(callback).__name__ for callback in self.callbacks]}

    def check_saved(self, saved, path):
        """Raise ValueError if `saved` is not the state of a trainer made like this one."""
        if not isinstance(saved, dict) or "position" not in saved or "classes" not in saved:
            raise ValueError(f"resume: {path} is no checkpoint of a Trainer. If it holds weights: "
                             "model.load_state_dict(load(path)).")
        if saved["version"] != 1:
            raise ValueError(f"resume: {path} has version {saved['version']}; this program reads version 1.")
        pairs = [(what, saved["classes"][what], mine) for what, mine in self._classes().items()]
        if saved["model"].keys() == self.model.state_dict(keep_vars=True).keys():  # else the model says which
            pairs.append(("groups of parameters of sizes", group_sizes(saved["optimizer"]["param_groups"]),
                          group_sizes(self.optimizer.param_groups)))
        for what, theirs, mine in pairs:
            if theirs != mine:
                raise ValueError(f"resume: {path} was saved with {what} {theirs}, and this trainer has "
                                 f"{mine}. Make it as the first one was made.")


def scheduler_kind(scheduler):
    """The class of a schedule, with those of its parts: "SequentialLR(LinearLR, StepLR)"; None for None."""
    parts = ", ".join(map(scheduler_kind, getattr(scheduler, "_schedulers", ())))
    return scheduler and type(scheduler).__name__ + f"({parts})" * bool(parts)


def group_sizes(groups): return [len(group["params"]) for group in groups]


def check_schedule(optimizer, scheduler, schedule):
    if scheduler is None and schedule is None:
        return
    if scheduler is None or schedule not in ("epoch", "batch"):
        raise ValueError("a scheduler takes its step after each epoch or after each batch, and only you know "
                         "which: pass scheduler=... together with schedule='epoch' or schedule='batch'.")
    if scheduler.optimizer is not optimizer:
        raise ValueError("the scheduler belongs to another optimizer than the trainer's.")
    if isinstance(scheduler, ReduceLROnPlateau) and schedule == "batch":
        raise ValueError("ReduceLROnPlateau looks at the loss of an epoch: schedule='epoch'.")


def named_metrics(metrics):
    """{name: function} of such a dictionary, or of a list of functions."""
    named = metrics if isinstance(metrics, dict) else {f.__name__: f for f in metrics or ()}
    if "loss" in named or not all(callable(f) for f in named.values()):
        raise ValueError("metrics is {name: function(output, target)}; the name 'loss' is taken.")
    return dict(named)


def check_run(batches, epochs, validation, checkpoint, save_every):
    for what, source in (("batches", batches), ("validation", validation)):
        if isinstance(source, Iterator) and epochs > 1:
            raise ValueError(f"{what} is an iterator ({type(source).__name__}), which can be read only once, "
                             f"and there are {epochs} epochs. Pass a list, or an object whose __iter__ "
                             "begins anew.")
    if save_every is not None and (checkpoint is None or not isinstance(save_every, int) or save_every < 1):
        raise ValueError("save_every is a number of steps, at least 1, and needs a path: checkpoint=...")
