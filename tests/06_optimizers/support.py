"""What the tests of this folder share: parameters, and schedules with their tables."""
import math

import numpy as np

import tinytorch as torch
from tinytorch.optim import SGD
from tinytorch.optim.lr_scheduler import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    StepLR,
)


def leaf(numbers, gradient=None, dtype="float64"):
    """A parameter of these numbers, with this gradient."""
    p = torch.tensor(numbers, dtype=np.dtype(dtype), requires_grad=True)
    p.grad = None if gradient is None else torch.tensor(gradient, dtype=np.dtype(dtype))
    return p


def numbers(*tensors): return [t.detach().numpy().tolist() for t in tensors]


def optimizer_of(*rates, kind=SGD, **options):
    groups = [{"params": [torch.ones(1, requires_grad=True)], "lr": lr} for lr in rates or (1.0,)]
    return kind(groups, **options)


def rates(optimizer): return [group["lr"] for group in optimizer.param_groups]


def course(make, steps, *start, meddle=lambda optimizer, i: None):
    """The first group's rate before each step; `meddle(optimizer, i)` may change something before it."""
    optimizer = optimizer_of(*start)
    schedule, seen = make(optimizer), []
    for i in range(steps):
        meddle(optimizer, i)
        seen.append(rates(optimizer)[0])
        optimizer.step()
        schedule.step()
        assert schedule.get_last_lr() == rates(optimizer)
    return seen


half, root = 0.5, math.sqrt(0.5)
TABLES = {
    "StepLR": (lambda o: StepLR(o, 2, 0.5), [1, 1, half, half, 0.25, 0.25]),
    "StepLR, default": (lambda o: StepLR(o, 1), [1, 0.1, 0.01]),
    "MultiStepLR": (lambda o: MultiStepLR(o, [1, 3, 3], 0.5), [1, half, half, 0.125, 0.125]),
    "ConstantLR": (lambda o: ConstantLR(o, 0.25, 2), [0.25, 0.25, 1, 1]),
    "ConstantLR, default": (ConstantLR, [1 / 3] * 5 + [1, 1]),
    "ConstantLR, nothing first": (lambda o: ConstantLR(o, 0.0, 1), [0, 1, 1]),
    "LinearLR": (lambda o: LinearLR(o, 0.2, 0.6, 2), [0.2, 0.4, 0.6, 0.6]),
    "LinearLR, default": (LinearLR, [5 / 15, 7 / 15, 9 / 15, 11 / 15, 13 / 15, 1, 1]),
    "ExponentialLR": (lambda o: ExponentialLR(o, 0.5), [1, half, 0.25, 0.125]),
    "PolynomialLR": (lambda o: PolynomialLR(o, 4, 2.0), [1, 9 / 16, 4 / 16, 1 / 16, 0, 0]),
    "PolynomialLR, default": (PolynomialLR, [1, 0.8, 0.6, 0.4, 0.2, 0, 0]),
    "CosineAnnealingLR": (lambda o: CosineAnnealingLR(o, 4, 0.2),
                          [1, 0.6 + 0.4 * root, 0.6, 0.6 - 0.4 * root, 0.2, 0.6 - 0.4 * root, 0.6]),
    "CosineAnnealingWarmRestarts": (lambda o: CosineAnnealingWarmRestarts(o, 2, 2),
                                    [1, half, 1, half + root / 2, half, half - root / 2, 1]),
    "CosineAnnealingWarmRestarts, floor": (lambda o: CosineAnnealingWarmRestarts(o, 2, eta_min=0.5),
                                           [1, 0.75, 1, 0.75, 1]),
    "LambdaLR": (lambda o: LambdaLR(o, lambda epoch: 1 / (1 + epoch)), [1, half, 1 / 3, 0.25]),
    "MultiplicativeLR": (lambda o: MultiplicativeLR(o, lambda epoch: 1 / epoch), [1, 1, half, 1 / 6]),
    "OneCycleLR": (lambda o: OneCycleLR(o, 4.0, 8, pct_start=0.25, anneal_strategy="linear", div_factor=4,
                                        final_div_factor=1e3, cycle_momentum=False),
                   [1, 4, *np.linspace(4, 0.001, 7)[1:]]),
    "OneCycleLR, by epochs": (lambda o: OneCycleLR(o, 4.0, epochs=3, steps_per_epoch=2, pct_start=0.5,
                                                   cycle_momentum=False),
                              [0.16, 2.08, 4, 3 + 0.000004, 1 + 0.000012, 0.000016]),
    "OneCycleLR, three phases": (lambda o: OneCycleLR(o, 4.0, 10, three_phase=True, div_factor=4,
                                                      anneal_strategy="linear", cycle_momentum=False),
                                 [1, 2.5, 4, 2.5, 1, *np.linspace(1, 0.0001, 6)[1:]]),
    "OneCycleLR, at the top at once": (lambda o: OneCycleLR(o, 1.0, 5, pct_start=0.2, cycle_momentum=False,
                                                            anneal_strategy="linear", final_div_factor=1.0),
                                       [1, 0.76, 0.52, 0.28, 0.04]),
    "OneCycleLR, up only": (lambda o: OneCycleLR(o, 1.0, 3, pct_start=1.0, cycle_momentum=False,
                                                 anneal_strategy="linear"), [0.04, 0.52, 1.0]),
}


def momenta(optimizer):
    return [group["betas"][0] if "betas" in group else group["momentum"] for group in optimizer.param_groups]
