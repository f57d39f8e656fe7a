# Generated from modules/06_optimizers/optimizers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2bee1b70eab52952aadb3bbfe07d3769c3e84d8cd9e81cdd80406c5dccc9ae2b  body sha256 5f38decd38c175e022118f5a4caa8dfe89f93823479db41c5793eefd5faa3b89  # noqa: E501
"""optim.schedulers: built in module 06_optimizers."""

import math

from tinytorch.optim.scheduler_base import RATES, OneCycleBase, PlannedLR

__all__ = ["CosineAnnealingLR", "LinearLR", "OneCycleLR"]


class CosineAnnealingLR(PlannedLR):
    """Half a cosine from the rate at the start down to `eta_min` in `T_max` epochs, then up again.

    Loshchilov and Hutter, 2017.
    """
    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rate of each group at `self.last_epoch`, as a list.

        >>> schedule = CosineAnnealingLR(SGD([Tensor([1.])], lr=0.1), T_max=4)
        >>> schedule.last_epoch = 1
        >>> round(schedule.get_lr()[0], 4)
        0.0854
        """
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (lr - self.eta_min) * share for lr in self.base_lrs]


class LinearLR(PlannedLR):
    """The rate times a factor that goes in a straight line from `start_factor` to `end_factor`, and stays.

    total_iters: how many epochs that takes.
    """
    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: the factors must be at most 1 and not negative, start_factor not 0; "
                             f"got {start_factor} and {end_factor}.")
        if total_iters < 1:
            raise ValueError(f"LinearLR: total_iters must be at least 1, got {total_iters}.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rate of each group at `self.last_epoch`, as a list.

        >>> schedule = LinearLR(SGD([Tensor([1.])], lr=0.1), start_factor=0.25, total_iters=3)
        >>> schedule.last_epoch = 2
        >>> round(schedule.get_lr()[0], 4)
        0.075
        """
        done = min(1, self.last_epoch / self.total_iters)
        factor = self.start_factor + (self.end_factor - self.start_factor) * done
        return [lr * factor for lr in self.base_lrs]


class OneCycleLR(OneCycleBase):
    """Up to `max_lr`, then down far below the start; call `step()` after each batch (Smith, 2018).

    max_lr: a number, or one for each group. total_steps, or epochs and steps_per_epoch: the length of the
    run. pct_start: the share of it that goes up. cycle_momentum: momentum (or beta1) goes the other way,
    from `max_momentum` to `base_momentum` and back. three_phase: down to the first rate as fast as up.
    """
    def get_lr(self, names=RATES):
        """The rate of each group at `self.last_epoch`, as a list; or another value, by the names of three.

        Raises ValueError after the end of the run.
        """
        t, begin = self.last_epoch, 0
        if t > self.total_steps:
            raise ValueError(f"Tried to step {t} times. The run has total_steps = {self.total_steps}: "
                             "is step() called once for each batch?")
        for phase in self.phases:
            end, first, last = phase
            if t <= end or phase == self.phases[-1]:
                break
            begin = end
        share = (t - begin) / (end - begin)
        return [self.anneal(group[names[first]], group[names[last]], share)
                for group in self.optimizer.param_groups]
