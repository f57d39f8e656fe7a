"""Schedules: tables computed by hand, what a schedule is, errors, momentum."""
import math
import warnings

import pytest

import tinytorch as torch
from tinytorch.optim import SGD, Adam, lr_scheduler
from tinytorch.optim.lr_scheduler import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    OneCycleLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)

from .support import TABLES, course, momenta, optimizer_of, rates


@pytest.mark.parametrize("name", TABLES)
def test_tables(name):
    make, expected = TABLES[name]
    assert course(make, len(expected)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", TABLES)
def test_groups_keep_their_proportion(name):
    """Each group from its own rate (OneCycleLR is told the largest instead)"""
    make, expected = TABLES[name]
    optimizer = optimizer_of(1.0, 1.0)
    schedule = make(optimizer)
    for lr in expected:
        assert rates(optimizer) == pytest.approx([lr, lr], abs=1e-6)
        optimizer.step()
        schedule.step()


def test_public_names():
    """PyTorch's, but for CyclicLR; all of them are schedules"""
    assert set(lr_scheduler.__all__) == set("""LRScheduler ChainedScheduler ConstantLR CosineAnnealingLR
        CosineAnnealingWarmRestarts ExponentialLR LambdaLR LinearLR MultiplicativeLR MultiStepLR OneCycleLR
        PolynomialLR ReduceLROnPlateau SequentialLR StepLR""".split())
    assert all(issubclass(getattr(lr_scheduler, name), LRScheduler) for name in lr_scheduler.__all__)


# ---- what a schedule is ----

def test_attributes():
    """PyTorch's: base_lrs, last_epoch, get_last_lr, and initial_lr in the groups"""
    optimizer = optimizer_of(1.0, 0.2)
    schedule = ExponentialLR(optimizer, 0.5)
    assert (schedule.base_lrs, schedule.last_epoch, schedule.get_last_lr()) == ([1.0, 0.2], 0, [1.0, 0.2])
    optimizer.step()
    schedule.step()
    assert (schedule.base_lrs, schedule.last_epoch, schedule.get_last_lr()) == ([1.0, 0.2], 1, [0.5, 0.1])
    assert [group["initial_lr"] for group in optimizer.param_groups] == [1.0, 0.2]
    assert schedule.optimizer is optimizer


def test_asking_changes_nothing():
    optimizer = optimizer_of(1.0)
    schedule = CosineAnnealingLR(optimizer, 4)
    optimizer.step()
    schedule.step()
    assert schedule.get_lr() == schedule.get_lr() == rates(optimizer)


def test_needs_an_optimizer():
    for make in (lambda x: StepLR(x, 2), lambda x: OneCycleLR(x, 1.0, 10), ReduceLROnPlateau):
        with pytest.raises(TypeError, match="list is not an Optimizer"):
            make([])


def test_own_schedule():
    """A class of one's own needs get_lr, which may look at the rate of the moment"""
    class Halving(LRScheduler):
        def get_lr(self):
            return [group["lr"] / (1 if self.last_epoch == 0 else 2) for group in self.optimizer.param_groups]

    assert course(Halving, 4) == [1, 0.5, 0.25, 0.125]
    with pytest.raises(NotImplementedError, match="get_lr"):
        LRScheduler(optimizer_of(1.0))


def test_order():
    """schedule.step() before optimizer.step() skips the first rate: one warning, as in PyTorch"""
    optimizer = optimizer_of(1.0)
    schedule = StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match="opposite order"):
        schedule.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
        optimizer = optimizer_of(1.0)
        schedule = StepLR(optimizer, 2)
        optimizer.step()
        schedule.step()


def test_order_with_a_step_of_ones_own():
    """An optimizer that overrides step() cannot be watched, so nothing is said"""
    class Own(SGD):
        def step(self, closure=None): pass

    schedule = StepLR(optimizer_of(1.0, kind=Own), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()


def test_the_rate_reaches_the_step():
    """Three steps at 0.1, 0.05 and 0.025 along a slope of 1"""
    w = torch.ones(1, requires_grad=True)
    optimizer = SGD([w], lr=0.1)
    schedule = ExponentialLR(optimizer, 0.5)
    for _ in range(3):
        w.grad = torch.ones(1)
        optimizer.step()
        schedule.step()
    assert w.item() == pytest.approx(1 - 0.175)


def test_step_to_an_epoch():
    """As older programs do: step(5) is the rate of epoch 5, and the next one that of 6"""
    optimizer = optimizer_of(1.0)
    schedule = ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step(5)
    assert rates(optimizer) == [0.5 ** 5]
    schedule.step()
    assert rates(optimizer) == [0.5 ** 6]


def test_restarts_in_fractions_of_an_epoch():
    optimizer = optimizer_of(1.0)
    schedule = CosineAnnealingWarmRestarts(optimizer, 2, 2)
    optimizer.step()
    for epoch, share, length in (0.5, 0.25, 2), (2.0, 0.0, 4), (3.5, 0.375, 4), (6.0, 0.0, 8), (1, 0.5, 2):
        schedule.step(epoch)
        assert rates(optimizer) == pytest.approx([(1 + math.cos(math.pi * share)) / 2])
        assert schedule.T_i == length and schedule.last_epoch == math.floor(epoch)
    with pytest.raises(ValueError, match="-1"):
        schedule.step(-1)


# ---- errors ----

@pytest.mark.parametrize("make, words", [
    (lambda o: ConstantLR(o, 1.5), "factor"), (lambda o: ConstantLR(o, -0.1), "factor"),
    (lambda o: LinearLR(o, 0.0), "start_factor"), (lambda o: LinearLR(o, 1.1), "start_factor"),
    (lambda o: LinearLR(o, 0.5, 1.1), "factors"), (lambda o: LinearLR(o, 0.5, -0.1), "factors"),
    (lambda o: LinearLR(o, total_iters=0), "total_iters"),
    (lambda o: CosineAnnealingWarmRestarts(o, 0), "T_0"),
    (lambda o: CosineAnnealingWarmRestarts(o, 2, 1.5), "T_mult"),
    (lambda o: OneCycleLR(o, 1.0), "total_steps"), (lambda o: OneCycleLR(o, 1.0, 0), "total_steps"),
    (lambda o: OneCycleLR(o, 1.0, 2.5), "total_steps"), (lambda o: OneCycleLR(o, 1.0, epochs=3), "epochs"),
    (lambda o: OneCycleLR(o, 1.0, epochs=3, steps_per_epoch=-1), "steps_per_epoch"),
    (lambda o: OneCycleLR(o, 1.0, 10, pct_start=1.5), "pct_start"),
    (lambda o: OneCycleLR(o, 1.0, 10, pct_start=1), "pct_start"),
    (lambda o: OneCycleLR(o, 1.0, 10, anneal_strategy="exp"), "'exp'"),
    (lambda o: OneCycleLR(o, [1.0, 2.0, 3.0], 10), "3 values"),
    (lambda o: OneCycleLR(o, 1.0, 10, base_momentum=[0.1]), "base_momentum"),
    (lambda o: LambdaLR(o, [lambda epoch: 1]), "1 values"),
    (lambda o: SequentialLR(o, [], []), "at least one"), (lambda o: ChainedScheduler([], o), "at least one"),
    (lambda o: SequentialLR(o, [StepLR(o, 1)], [3]), "milestones"),
    (lambda o: SequentialLR(o, [ReduceLROnPlateau(o)], []), "ReduceLROnPlateau"),
    (lambda o: SequentialLR(o, [StepLR(optimizer_of(1.0), 1)], []), "another optimizer"),
    (lambda o: ChainedScheduler([StepLR(o, 1), StepLR(optimizer_of(1.0), 1)]), "another optimizer"),
    (lambda o: ReduceLROnPlateau(o, "least"), "'least'"),
    (lambda o: ReduceLROnPlateau(o, factor=1.0), "factor"),
    (lambda o: ReduceLROnPlateau(o, threshold_mode="both"), "'both'"),
    (lambda o: ReduceLROnPlateau(o, min_lr=[0.1]), "1 values"),
])
def test_wrong_options(make, words):
    with pytest.raises(ValueError, match=words):
        make(optimizer_of(1.0, 1.0))


def test_wrong_kinds():
    o = optimizer_of(1.0)
    with pytest.raises(TypeError, match="float"):
        LambdaLR(o, 0.5)
    with pytest.raises(TypeError, match="int"):
        SequentialLR(o, [3], [])
    with pytest.raises(KeyError, match="initial_lr"):
        StepLR(optimizer_of(1.0), 3, last_epoch=5)


def test_one_cycle_ends():
    """One step beyond the run is still allowed, two are not"""
    optimizer = optimizer_of(1.0)
    schedule = OneCycleLR(optimizer, 1.0, 3, cycle_momentum=False)
    optimizer.step()
    for _ in range(3):
        schedule.step()
    with pytest.raises(ValueError, match="4 times.*total_steps = 3"):
        schedule.step()


# ---- momentum ----

@pytest.mark.parametrize("kind", [SGD, Adam])
def test_momentum_cycles(kind):
    """Against the rate: from 0.95 down to 0.85 at the top, and up again; with Adam it is beta1"""
    optimizer = optimizer_of(1.0, 1.0, kind=kind, **({"momentum": 0.9} if kind is SGD else {}))
    schedule = OneCycleLR(optimizer, 1.0, 6, pct_start=0.5, anneal_strategy="linear",
                          max_momentum=[0.95, 0.9], base_momentum=[0.85, 0.6])
    seen = []
    for _ in range(6):
        seen.append(momenta(optimizer))
        optimizer.step()
        schedule.step()
    assert [m[0] for m in seen] == pytest.approx([0.95, 0.9, 0.85, 0.85 + 0.1 / 3, 0.85 + 0.2 / 3, 0.95])
    assert [m[1] for m in seen][:3] == pytest.approx([0.9, 0.75, 0.6])
    if kind is Adam:
        assert optimizer.param_groups[0]["betas"][1] == 0.999


def test_momentum_in_three_phases():
    """Down, up, and then it stays"""
    optimizer = optimizer_of(1.0, momentum=0.9)
    schedule, seen = OneCycleLR(optimizer, 1.0, 10, three_phase=True, anneal_strategy="linear"), []
    for _ in range(9):
        seen.append(momenta(optimizer)[0])
        optimizer.step()
        schedule.step()
    assert seen == pytest.approx([0.95, 0.9, 0.85, 0.9, 0.95, 0.95, 0.95, 0.95, 0.95])


def test_nothing_to_cycle():
    class Plain(SGD):
        def __init__(self, params):
            super().__init__(params)
            del self.defaults["momentum"]

    with pytest.raises(ValueError, match="cycle_momentum"):
        OneCycleLR(Plain([torch.ones(1, requires_grad=True)]), 1.0, 10)


@pytest.mark.parametrize("base", [LRScheduler, CosineAnnealingLR])
def test_get_lr_gives_a_list(base):
    """One number is no answer for several groups, and the error names the class and the number"""
    class Flat(base):
        def get_lr(self): return 0.25

    options = {"T_max": 4} if base is CosineAnnealingLR else {}
    with pytest.raises(TypeError, match=r"Flat\.get_lr must give a list.*0\.25"):
        Flat(optimizer_of(1.0), **options)
