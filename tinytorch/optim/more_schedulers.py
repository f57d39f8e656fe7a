# Generated from modules/06_optimizers/more_schedulers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 ced3076c46b71c34f83179961145b1a19e0bf1392bd035ee701af96db0b1204c  body sha256 5fa1ed3c94c5aa06eccdc46ef533150d578265fc59f4cf08b9e01fd07508f823  # noqa: E501
"""optim.more_schedulers: built in module 06_optimizers."""

import math
import types
from bisect import bisect_right

from tinytorch.optim.optimizer_base import OptimizerBase
from tinytorch.optim.scheduler_base import LRScheduler, PlannedLR, for_each_group

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingWarmRestarts", "ExponentialLR", "LambdaLR",
    "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
    "StepLR",
]


class StepLR(PlannedLR):
    """The rate times `gamma` after every `step_size` epochs."""
    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self): return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(PlannedLR):
    """The rate times `gamma` at each of the `milestones`; one that is listed twice counts twice."""
    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [lr * self.gamma ** bisect_right(self.milestones, self.last_epoch) for lr in self.base_lrs]


class ConstantLR(PlannedLR):
    """The rate times `factor` for `total_iters` epochs, then the rate itself."""
    def __init__(self, optimizer, factor=1 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: factor must be between 0 and 1, got {factor}.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [lr * (self.factor if self.last_epoch < self.total_iters else 1) for lr in self.base_lrs]


class ExponentialLR(PlannedLR):
    """The rate times `gamma` after every epoch."""
    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self): return [lr * self.gamma ** self.last_epoch for lr in self.base_lrs]


class PolynomialLR(PlannedLR):
    """The rate times (1 - t/total_iters) to the power of `power`: for 1 a straight line down to 0."""
    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        left = 1 - min(self.last_epoch, self.total_iters) / self.total_iters
        return [lr * left ** self.power for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """A half cosine in `T_0` epochs, then again from the top in `T_mult` times as many, and so on
    (Loshchilov and Hutter, 2017). `step(epoch)` takes fractions of epochs too.
    """
    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"Expected positive integer {name}, but got {value}.")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (lr - self.eta_min) * share for lr in self.base_lrs]

    def _update_lr(self, epoch=None):
        epoch = self.last_epoch + 1 if epoch is None else epoch
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}.")
        self.T_cur, self.T_i = epoch, self.T_0
        while self.T_cur >= self.T_i:                  # whole cycles are over
            self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())


class _ByFunction(LRScheduler):
    """A schedule by one function of the epoch, or by a list with one for each group."""
    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = for_each_group(optimizer, "lr_lambda", lr_lambda)
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}.")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """Functions are not saved; of callable objects, their attributes are."""
        saved = [None if isinstance(f, types.FunctionType) else dict(vars(f)) for f in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": saved}

    def load_state_dict(self, state_dict):
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if saved is not None:
                vars(function).update(saved)
        super().load_state_dict({**state_dict, "lr_lambdas": self.lr_lambdas})


class LambdaLR(_ByFunction):
    """The first rate times lr_lambda(epoch)."""
    def get_lr(self): return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(_ByFunction):
    """The rate times lr_lambda(epoch), again after every epoch."""
    _first = False

    def _initial_step(self):
        self._first = True
        super()._initial_step()
        self._first = False

    def get_lr(self):
        now = [group["lr"] for group in self.optimizer.param_groups]
        return now if self._first else [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, now)]


class _OfSeveral(LRScheduler):
    """A schedule that is made of others, all for one optimizer."""
    def _check(self, optimizer, schedulers):
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler.")
        for i, scheduler in enumerate(schedulers):
            if not isinstance(scheduler, LRScheduler):
                raise TypeError(f"{type(self).__name__}: number {i} is a {type(scheduler).__name__}, "
                                "not a scheduler.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(f"{type(self).__name__}: number {i} is a ReduceLROnPlateau, whose step() "
                                 "needs a loss. Call it by itself.")
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"{type(self).__name__}: number {i} belongs to another optimizer.")
        self._schedulers, self.optimizer = list(schedulers), optimizer

    def state_dict(self):
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict):
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(saved)
        super().load_state_dict({**state_dict, "_schedulers": self._schedulers})


class SequentialLR(_OfSeveral):
    """One schedule after the other: number i + 1 begins, at its own epoch 0, at `milestones[i]`."""
    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"SequentialLR: {len(schedulers)} schedulers need {len(schedulers) - 1} "
                             f"milestones between them, got {len(milestones)}.")
        self._milestones, self.last_epoch = milestones, last_epoch + 1
        for group in optimizer.param_groups:           # each schedule has set its own first rate
            group["lr"] = group["initial_lr"]
        for scheduler in schedulers:
            scheduler._undo()
        self._initial_step()

    def _current(self): return self._schedulers[bisect_right(self._milestones, self.last_epoch)]

    def step(self):
        """Set the rates for the next epoch."""
        self.last_epoch += 1
        if self.last_epoch in self._milestones:
            self._current()._update_lr(0)
        else:
            self._current().step()
        self._last_lr = self._current().get_last_lr()

    # As a part of another one
    def _undo(self): self._current()._undo()

    def _initial_step(self):
        self._current()._initial_step()
        self._last_lr = self._current().get_last_lr()

    def _update_lr(self, epoch=None):
        self.last_epoch = epoch
        self._current()._update_lr(epoch)
        self._last_lr = self._current().get_last_lr()


class ChainedScheduler(_OfSeveral):
    """Several schedules at once: each step is a step of all of them, in order."""
    def __init__(self, schedulers, optimizer=None):
        schedulers = list(schedulers)
        if optimizer is None and schedulers:
            optimizer = getattr(schedulers[0], "optimizer", None)
        self._check(optimizer, schedulers)
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def step(self):
        """Step each schedule."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    # As a part of a SequentialLR
    def _undo(self):
        for scheduler in self._schedulers:
            scheduler._undo()

    def _initial_step(self):
        for scheduler in self._schedulers:
            scheduler._initial_step()
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def _update_lr(self, epoch=None):
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        self._initial_step()


class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` once a loss has not become better for more than `patience` epochs.

    Call `step(loss)`. mode: "min" or "max", which is better. threshold: by how much it must be better,
    as a share (threshold_mode "rel") or as a number ("abs"). cooldown: epochs after a reduction that do
    not count. min_lr: a rate, or one for each group, below which none goes. eps: smaller changes of the
    rate are left out.
    """
    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel",
                 cooldown=0, min_lr=0, eps=1e-8):
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau: factor should be < 1.0, got {factor}.")
        if not isinstance(optimizer, OptimizerBase):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer: a schedule needs one.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode!r} is unknown: it is 'min' or 'max'.")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode!r} is unknown: it is 'rel' or 'abs'.")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps, self.last_epoch = cooldown, eps, 0
        self.min_lrs = for_each_group(optimizer, "min_lr", min_lr)
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def step(self, metrics, epoch=None):
        """Look at the loss of an epoch, and reduce the rates if it is time."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(float(metrics)):
            self.best, self.num_bad_epochs = float(metrics), 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    @property
    def in_cooldown(self): return self.cooldown_counter > 0

    def _is_better(self, loss):
        """Whether `loss` beats the best so far by more than the threshold."""
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return sign * loss > sign * self.best + self.threshold
        return sign * loss > sign * self.best * (1 + sign * self.threshold)

    def _reduce(self):
        groups = self.optimizer.param_groups
        if len(groups) > len(self.min_lrs):            # added since
            self.min_lrs = self.min_lrs + [min(self.min_lrs)] * (len(groups) - len(self.min_lrs))
        for group, least in zip(groups, self.min_lrs):
            lr = max(group["lr"] * self.factor, least)
            if group["lr"] - lr > self.eps:
                group["lr"] = lr
