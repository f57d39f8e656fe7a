# Generated from modules/06_optimizers/scheduler_base_dev.py by tito export. Edit the lesson, not this file.
# source sha256 8c5c2699a9b53c7a80f860b3d4a05c8aab752eba17cca6949e89a9184de1d181  body sha256 478be2ef1f8b67932f2b14814598b76bce24a5308bb2059f6b862ecffbd02769  # noqa: E501
"""optim.scheduler_base: built in module 06_optimizers."""

import math
import warnings

from tinytorch.optim.optimizer_base import OptimizerBase

__all__ = [
    "LRScheduler", "MOMENTA", "OneCycleBase", "PlannedLR", "RATES", "count_steps", "for_each_group",
    "moved",
]


class LRScheduler:
    """Sets the learning rates of an optimizer's groups; call `step()` after `optimizer.step()`.

    A subclass defines `get_lr()`, which gives a rate for each group at the time `self.last_epoch`.
    `base_lrs` are the rates that the groups began with. last_epoch: the last one that is over, when a run
    goes on whose groups were loaded; -1 for a new run.
    """
    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, OptimizerBase):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer: a schedule needs one.")
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", float(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}]. With last_epoch "
                               "the run goes on: load the optimizer's state first.")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self._initial_step()

    def get_lr(self):
        """The learning rate of each group at `self.last_epoch`, as a list."""
        raise NotImplementedError(f"{type(self).__name__} must define get_lr().")

    def get_last_lr(self):
        """The learning rates that were set last, as a list."""
        return self._last_lr

    def step(self, epoch=None):
        """Set the rates for the next epoch, or, as older programs do, for the epoch given."""
        if self._step_count == 1 and not self._optimizer_was_stepped():
            warnings.warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`: the first "
                          "learning rate was not used. Call them in the opposite order.", stacklevel=2)
        self._step_count += 1
        self._update_lr(epoch)

    def _optimizer_was_stepped(self):
        return self.optimizer.stepped or type(self.optimizer).step is not OptimizerBase.step

    def _initial_step(self):
        self._step_count = 0
        self.step()

    def _update_lr(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._set(self._asked())

    def _asked(self):
        """What `get_lr` gives, which must be a list."""
        rates = self.get_lr()
        if not isinstance(rates, (list, tuple)):
            raise TypeError(f"{type(self).__name__}.get_lr must give a list with one rate for each group, "
                            f"and gave {rates!r}.")
        return rates

    def _set(self, rates):
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = lr
        self._last_lr = list(rates)

    def _undo(self):
        """Take back the first step, for a schedule that begins later."""
        self.last_epoch -= 1

    def state_dict(self):
        """Everything of the schedule but the optimizer."""
        return {name: value for name, value in vars(self).items() if name != "optimizer"}

    def load_state_dict(self, state_dict):
        """Go on where another schedule of this kind was. Load the optimizer's state too: it has the rates."""
        vars(self).update(state_dict)


class PlannedLR(LRScheduler):
    """A schedule whose `get_lr()` is a formula of `base_lrs` and `last_epoch` alone."""
    eta_min = 0.0                  # where a plan stops falling; proportions are taken above it

    def _initial_step(self):
        if self.last_epoch == -1:
            return super()._initial_step()
        self.last_epoch, self._step_count = self.last_epoch + 1, 1         # the loaded rates hold
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def _update_lr(self, epoch=None):
        if epoch is not None:
            return super()._update_lr(epoch)
        groups = self.optimizer.param_groups
        for group in groups[len(self.base_lrs):]:                          # added since
            self.base_lrs = [*self.base_lrs, group.setdefault("initial_lr", float(group["lr"]))]
        before = self.base_lrs if self.last_epoch < 0 else self._asked()
        self.last_epoch += 1
        self._set([moved(float(group["lr"]), old, new, self.eta_min)
                   for group, old, new in zip(groups, before, self._asked())])


def moved(lr, before, after, floor):
    """A rate after its plan went from `before` to `after`: `after`, or its like if others changed it too.

    >>> moved(1.0, 1.0, 0.5, 0.0), moved(4.0, 1.0, 0.5, 0.0)
    (0.5, 2.0)
    """
    if lr == before:
        return after
    if before == floor:
        return lr + after - before
    return floor + (lr - floor) * (after - floor) / (before - floor)


RATES = "initial_lr", "max_lr", "min_lr"
MOMENTA = "max_momentum", "base_momentum", "max_momentum"


class OneCycleBase(LRScheduler):
    """Everything of `OneCycleLR` but its curve.

    `phases` is a list of (last step of the phase, where it begins, where it ends); 0, 1 and 2 stand for
    the first, the largest and the last rate.
    """
    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95,
                 div_factor=25.0, final_div_factor=1e4, three_phase=False, last_epoch=-1):
        if not isinstance(optimizer, OptimizerBase):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer: a schedule needs one.")
        self.total_steps = count_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError("pct_start is the share of steps that go up: a float between 0 and 1, "
                             f"not {pct_start}.")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}.")
        self._anneal, self.cycle_momentum = anneal_strategy, cycle_momentum
        top, end = pct_start * self.total_steps - 1, self.total_steps - 1
        phases = [(top, 0, 1), (end, 1, 2)]
        if three_phase:
            phases = [(top, 0, 1), (2 * top, 1, 0), (end, 0, 2)]
        begins = [0, *[phase[0] for phase in phases]]
        self.phases = [phase for phase, begin in zip(phases, begins) if phase[0] != begin] or phases
        if last_epoch == -1:
            for group, peak in zip(optimizer.param_groups, for_each_group(optimizer, "max_lr", max_lr)):
                group["initial_lr"], group["max_lr"] = peak / div_factor, peak
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._note_momenta(optimizer, base_momentum, max_momentum, new=last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def _note_momenta(self, optimizer, base, largest, new):
        if not {"momentum", "betas"}.intersection(optimizer.defaults):
            raise ValueError("cycle_momentum=True: optimizer must support momentum or betas. "
                             "Pass cycle_momentum=False.")
        lows = for_each_group(optimizer, "base_momentum", base)
        for group, low, high in zip(optimizer.param_groups, lows,
                                    for_each_group(optimizer, "max_momentum", largest)):
            if new:
                group["base_momentum"], group["max_momentum"] = low, high

    def anneal(self, start, end, share):
        """The value on the way from `start` (share 0) to `end` (share 1): a half cosine, or a line."""
        if self._anneal == "linear":
            return start + (end - start) * share
        return end + (start - end) * (1 + math.cos(math.pi * share)) / 2

    def _update_lr(self, epoch=None):
        super()._update_lr(epoch)
        if self.cycle_momentum:
            for group, momentum in zip(self.optimizer.param_groups, self.get_lr(MOMENTA)):
                if "betas" in group:
                    group["betas"] = (momentum, *group["betas"][1:])
                else:
                    group["momentum"] = momentum


def count_steps(total_steps, epochs, steps_per_epoch):
    """The number of steps of a run: `total_steps`, or else epochs times steps_per_epoch."""
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("OneCycleLR must know the length of the run: give total_steps, or epochs and "
                         "steps_per_epoch.")
    parts = {"total_steps": total_steps} if total_steps is not None else {
        "epochs": epochs, "steps_per_epoch": steps_per_epoch}
    for name, value in parts.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}.")
    return math.prod(parts.values())


def for_each_group(optimizer, name, value):
    """`value` once for each group; a list must have that length already."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{name} has {len(value)} values, and the optimizer has {count} param_groups: "
                         "give one value, or one for each group.")
    return list(value)
