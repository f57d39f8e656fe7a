"""Schedules together: several at once, one after the other, going on, and one that looks at the loss."""

import pytest

import tinytorch as torch
from tinytorch.optim.lr_scheduler import (
    ChainedScheduler,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    OneCycleLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)

from .support import TABLES, course, momenta, optimizer_of, rates

# ---- several at once ----


def both(*makes):
    def make(optimizer): return ChainedScheduler([one(optimizer) for one in makes])
    return make


def test_schedules_multiply():
    """Warm-up and decay at once, in both orders: the product of the two plans"""
    expected = [min(1, 0.25 + 0.25 * t) * 0.5 ** t for t in range(8)]
    up, down = lambda o: LinearLR(o, 0.25, total_iters=3), lambda o: ExponentialLR(o, 0.5)
    assert course(both(up, down), 8) == pytest.approx(expected)
    assert course(both(down, up), 8) == pytest.approx(expected)


def test_through_zero():
    """A cosine that reached 0 comes back, although another schedule takes part"""
    seen = course(both(lambda o: CosineAnnealingLR(o, 2), lambda o: StepLR(o, 100)), 5)
    assert seen == pytest.approx([1, 0.5, 0, 0.5, 1])


def test_above_a_floor():
    """With a floor, proportions are taken above it: 0.2 + (lr - 0.2) times the plan's ratio"""
    seen = course(both(lambda o: CosineAnnealingLR(o, 2, 0.2), lambda o: ExponentialLR(o, 0.5)), 2)
    assert seen == pytest.approx([1, 0.6 * 0.5])


def change_at_2(optimizer, i):
    if i == 2:
        optimizer.param_groups[0]["lr"] = 8.0


@pytest.mark.parametrize("make, expected", [
    (lambda o: StepLR(o, 3, 0.5), [1, 1, 8, 4, 4, 4, 2]),
    (lambda o: ExponentialLR(o, 0.5), [1, 0.5, 8, 4, 2]),
    (lambda o: LambdaLR(o, lambda epoch: 0.5 ** epoch), [1, 0.5, 8, 0.125]),
    (lambda o: MultiplicativeLR(o, lambda epoch: 0.5), [1, 0.5, 8, 4, 2]),
])
def test_the_user_takes_part(make, expected):
    """A rate written by hand is where the plan goes on from; LambdaLR writes its own, as in PyTorch"""
    assert course(make, len(expected), meddle=change_at_2) == pytest.approx(expected)


def test_group_added_on_the_way():
    """It takes part from then on, from its own rate"""
    optimizer = optimizer_of(1.0)
    schedule = ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step()
    optimizer.add_param_group({"params": [torch.ones(1, requires_grad=True)], "lr": 3.0})
    schedule.step()
    assert rates(optimizer) == pytest.approx([0.25, 1.5]) == schedule.get_last_lr()
    schedule.step()
    assert rates(optimizer) == pytest.approx([0.125, 0.75])


# ---- one after the other ----

def warm(o, n=2): return LinearLR(o, 0.5, total_iters=n)


def test_sequence():
    """Each begins at its own epoch 0, at its milestone, from the rate of the start"""
    seen = course(lambda o: SequentialLR(o, [warm(o), ExponentialLR(o, 0.5), StepLR(o, 2, 0.1)], [2, 5]), 9)
    assert seen == pytest.approx([0.5, 0.75, 1, 0.5, 0.25, 1, 1, 0.1, 0.1])


def test_sequence_of_one_and_of_nothing():
    assert course(lambda o: SequentialLR(o, [warm(o)], []), 4) == pytest.approx([0.5, 0.75, 1, 1])
    assert course(lambda o: SequentialLR(o, [warm(o), ExponentialLR(o, 0.5)], [0]), 3) == pytest.approx(
        [1, 0.5, 0.25])


def test_sequence_of_others():
    """Schedules that look at the rate of the moment, that restart, and that know their own largest rate"""
    def halved(o): return MultiplicativeLR(o, lambda epoch: 0.5)
    seen = course(lambda o: SequentialLR(o, [ExponentialLR(o, 0.5), halved(o)], [2]), 5)
    assert seen == pytest.approx([1, 0.5, 0.25, 0.125, 0.0625])
    seen = course(lambda o: SequentialLR(o, [warm(o), CosineAnnealingWarmRestarts(o, 2)], [2]), 6)
    assert seen == pytest.approx([0.5, 0.75, 1, 0.5, 1, 0.5])


def test_nested():
    """A sequence in a sequence, and schedules at once in a sequence, first and second"""
    def inner(o): return SequentialLR(o, [warm(o), StepLR(o, 9)], [2])
    step = [1, 1, 0.1]
    seen = course(lambda o: SequentialLR(o, [inner(o), StepLR(o, 2)], [4]), 7)
    assert seen == pytest.approx([0.5, 0.75, 1, 1, *step])
    seen = course(lambda o: SequentialLR(o, [StepLR(o, 2), inner(o)], [3]), 7)
    assert seen == pytest.approx([*step, 0.5, 0.75, 1, 1])
    chained, product = both(warm, lambda o: ExponentialLR(o, 0.5)), [0.5, 0.375, 0.25, 0.125]
    seen = course(lambda o: SequentialLR(o, [chained(o), StepLR(o, 2)], [4]), 7)
    assert seen == pytest.approx([*product, *step])
    seen = course(lambda o: SequentialLR(o, [StepLR(o, 2), chained(o)], [3]), 7)
    assert seen == pytest.approx([*step, *product])


# ---- going on ----

GOING_ON = {
    **{name: make for name, (make, _) in TABLES.items()},
    "SequentialLR": lambda o: SequentialLR(o, [warm(o), CosineAnnealingLR(o, 5)], [2]),
    "ChainedScheduler": both(warm, lambda o: ExponentialLR(o, 0.9)),
    "OneCycleLR, momentum": lambda o: OneCycleLR(o, 1.0, 8),
}


@pytest.mark.parametrize("name", GOING_ON)
def test_state_dict(name):
    """A schedule made anew, given both states, goes on as if it had never stopped"""
    def run(stop):
        optimizer = optimizer_of(1.0, 1.0, momentum=0.5)
        schedule, seen = GOING_ON[name](optimizer), []
        for i in range(3 if "up only" in name else 5):
            if i == stop:
                saved = schedule.state_dict(), optimizer.state_dict()
                assert "optimizer" not in saved[0]
                optimizer = optimizer_of(1.0, 1.0, momentum=0.5)
                schedule = GOING_ON[name](optimizer)
                optimizer.load_state_dict(saved[1])
                schedule.load_state_dict(saved[0])
                assert schedule.get_last_lr() == rates(optimizer)
            seen += rates(optimizer) + momenta(optimizer)
            optimizer.step()
            schedule.step()
        return seen
    assert run(stop=2) == run(stop=None)


@pytest.mark.parametrize("make", [
    lambda o, last: StepLR(o, 2, 0.5, last_epoch=last), lambda o, last: LinearLR(o, 0.1, last_epoch=last),
    lambda o, last: CosineAnnealingLR(o, 6, last_epoch=last), lambda o, last: ExponentialLR(o, 0.5, last),
    lambda o, last: LambdaLR(o, lambda epoch: 0.5 ** epoch, last),
    lambda o, last: MultiplicativeLR(o, lambda epoch: 0.5, last),
    lambda o, last: OneCycleLR(o, 1.0, 9, last_epoch=last, cycle_momentum=False),
    lambda o, last: CosineAnnealingWarmRestarts(o, 4, last_epoch=last),
])
def test_last_epoch(make):
    """Or with the optimizer's state alone, and the number of the epoch that is over"""
    optimizer = optimizer_of(1.0)
    schedule = make(optimizer, -1)
    for _ in range(4):
        optimizer.step()
        schedule.step()
    other = optimizer_of(7.0)
    other.load_state_dict(optimizer.state_dict())
    again = make(other, schedule.last_epoch - 1)
    assert rates(other) == pytest.approx(rates(optimizer)) and again.last_epoch == schedule.last_epoch
    for _ in range(3):
        for o, s in (optimizer, schedule), (other, again):
            o.step()
            s.step()
        assert rates(other) == pytest.approx(rates(optimizer))


def test_functions_are_not_saved_but_objects_are():
    class Power:
        def __init__(self, base): self.base = base
        def __call__(self, epoch): return self.base ** epoch

    assert LambdaLR(optimizer_of(1.0), lambda epoch: 1.0).state_dict()["lr_lambdas"] == [None]
    saved = LambdaLR(optimizer_of(1.0), Power(0.25)).state_dict()
    assert saved["lr_lambdas"] == [{"base": 0.25}]
    optimizer = optimizer_of(1.0)
    other = LambdaLR(optimizer, Power(0.5))
    other.load_state_dict(saved)
    optimizer.step()
    other.step()
    assert rates(optimizer) == [0.25]


# ---- by the loss ----

def plateau(losses, *start, **options):
    optimizer = optimizer_of(*start)
    schedule, seen = ReduceLROnPlateau(optimizer, **options), []
    for loss in losses:
        schedule.step(loss)
        seen.append(rates(optimizer)[-1])
        assert schedule.get_last_lr() == rates(optimizer)
    return seen


def test_patience():
    """Reduced at the third epoch without progress, if two are forgiven"""
    assert plateau([5, 4, 4, 4, 4, 3, 3, 3, 3], patience=2, factor=0.5) == [
        1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25]


def test_mode_and_threshold():
    """Better by a share of the best, or by a number; or larger is better"""
    assert plateau([100, 95, 91, 80], patience=0, factor=0.5, threshold=0.1) == [1, 0.5, 0.25, 0.25]
    assert plateau([9, 8.5, 7.9], patience=0, factor=0.5, threshold=1, threshold_mode="abs") == [1, 0.5, 0.5]
    assert plateau([50, 54, 56, 61.7], patience=0, factor=0.5, threshold=0.1, mode="max") == [
        1, 0.5, 0.5, 0.5]
    assert plateau([5, 5.5, 6.1], patience=0, factor=0.5, threshold=1, threshold_mode="abs", mode="max") == [
        1, 0.5, 0.5]


def test_cooldown():
    """After a reduction, epochs that do not count"""
    assert plateau([1] * 6, patience=0, factor=0.5, cooldown=2) == [1, 0.5, 0.5, 0.5, 0.25, 0.25]


def test_least_rate():
    assert plateau([1] * 4, patience=0, factor=0.5, min_lr=0.3) == [1, 0.5, 0.3, 0.3]
    assert plateau([1] * 3, 1.0, 4.0, patience=0, factor=0.5, min_lr=[0.0, 3.0]) == [4, 3, 3]
    assert plateau([1] * 3, patience=0, factor=0.5, eps=0.6) == [1, 1, 1], "a change below eps is left out"


def test_loss_as_tensor_and_state():
    """A 0-d tensor is a loss; saved and loaded it still knows the best"""
    optimizer = optimizer_of(1.0)
    schedule = ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
    for loss in 3.0, 4.0:
        schedule.step(torch.tensor(loss))
    saved = schedule.state_dict()
    assert saved["best"] == 3.0 and type(saved["best"]) is float and saved["num_bad_epochs"] == 1
    other = ReduceLROnPlateau(optimizer, patience=7)
    other.load_state_dict(saved)
    other.step(3.5)
    assert rates(optimizer) == [0.5]
