"""Optimisers and schedules: the same paths as PyTorch's, step by step."""
import copy
import warnings

import pytest
import torch
from torch.testing._internal.common_optimizers import optim_db

from .compare import compare_tensors
from .frameworks import FRAMEWORK, PyTorch
from .report import REPORT

JUDGE = PyTorch()
STEPS = 15
INFOS = {info.optim_cls.__name__: info for info in optim_db if info.optim_cls in
         (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW)}

OPTIONS = {
    "SGD": [{"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01},
            {"lr": 0.1, "momentum": 0.9, "nesterov": True},
            {"lr": 0.05, "momentum": 0.5, "maximize": True}],
    "Adam": [{"lr": 0.05, "betas": (0.8, 0.9)}, {"lr": 0.05, "eps": 1e-2},
             {"lr": 0.05, "betas": (0.0, 0.5), "amsgrad": True, "maximize": True}],
    "AdamW": [{"lr": 0.05, "betas": (0.8, 0.9)}, {"lr": 0.05, "weight_decay": 0.0},
              {"lr": 0.05, "weight_decay": 0.3, "amsgrad": True}],
}


def configurations():
    """Each optimiser with PyTorch's own test options and some more."""
    for name, info in INFOS.items():
        theirs = [i.kwargs for i in info.optim_inputs_func("cpu")]
        for kwargs in theirs + OPTIONS[name]:
            if any(isinstance(v, torch.Tensor) for v in kwargs.values()):
                continue           # a learning rate that is a tensor is there for torch.compile
            yield pytest.param(name, kwargs, id=name + ("-" if kwargs else "") + "-".join(
                f"{k}={v}" for k, v in kwargs.items()).replace(" ", ""))


class Problem:
    """A small smooth loss of a matrix, a vector and a 0-d parameter; one more is never used."""
    def __init__(self, framework, dtype=torch.float64):
        generator = torch.Generator().manual_seed(3)

        def draw(*shape):
            return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
        self.framework = framework
        self.x, self.y = framework.tensor(draw(8, 3)), framework.tensor(draw(8, 2))
        start = [draw(2, 3), draw(2), draw(), draw(4)]
        self.params = [framework.tensor(t.clone(), requires_grad=True) for t in start]

    def loss(self):
        weight, bias, scale, _ = self.params
        out = (self.x @ weight.T + bias).tanh() * scale - self.y
        return (out * out).mean()

    def step(self, optimizer):
        optimizer.zero_grad()
        self.loss().backward()
        optimizer.step()
        return [self.framework.judged(p).clone() for p in self.params]


def path(framework, name, make_groups, kwargs, dtype=torch.float64, steps=STEPS):
    """The parameters after each step."""
    problem = Problem(framework, dtype)
    optimizer = framework.find(f"optim.{name}")(make_groups(problem.params), **kwargs)
    return [problem.step(optimizer) for _ in range(steps)]


def same_paths(ours, theirs, **tolerance):
    for i, (step, judged) in enumerate(zip(ours, theirs)):
        for j, (our, their) in enumerate(zip(step, judged)):
            compare_tensors(our, their, True, f"parameter {j} after step {i + 1}", **tolerance)


def agree(name, kwargs, dtype, **tolerance):
    ours, theirs = (path(f, name, list, kwargs, dtype) for f in (FRAMEWORK, JUDGE))
    same_paths(ours, theirs, **tolerance)
    REPORT.passed["optimizer steps"][name] += STEPS


@pytest.mark.parametrize("name, kwargs", list(configurations()))
def test_paths(name, kwargs):
    "In float64 every parameter follows PyTorch's path to twelve digits"
    agree(name, kwargs, torch.float64, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name, kwargs", list(configurations()))
def test_paths_float32(name, kwargs):
    "In float32 every parameter follows PyTorch's path and stays float32"
    agree(name, kwargs, torch.float32, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", INFOS)
def test_groups(name):
    "Groups have options of their own; what a group leaves out comes from the call"
    def groups(params):
        return [{"params": params[:1], "lr": 0.2}, {"params": params[1:], "weight_decay": 0.1}]
    same_paths(*(path(f, name, groups, {"lr": 0.03}) for f in (FRAMEWORK, JUDGE)),
               rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", INFOS)
def test_added_group(name):
    "A group added on the way starts with fresh state"
    def run(framework):
        problem = Problem(framework)
        optimizer = framework.find(f"optim.{name}")(problem.params[:2], lr=0.05)
        before = [problem.step(optimizer) for _ in range(4)]
        optimizer.add_param_group({"params": problem.params[2:], "lr": 0.1})
        return before + [problem.step(optimizer) for _ in range(6)]
    same_paths(run(FRAMEWORK), run(JUDGE), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", INFOS)
def test_resumed(name):
    "state_dict carries everything: a fresh optimiser goes on as if nothing had happened"
    kwargs = {"lr": 0.05, **({"momentum": 0.9} if name == "SGD" else {"amsgrad": True})}
    problem = Problem(FRAMEWORK)
    optimizer = FRAMEWORK.find(f"optim.{name}")(problem.params, **kwargs)
    first = [problem.step(optimizer) for _ in range(5)]
    state = copy.deepcopy(optimizer.state_dict())
    optimizer = FRAMEWORK.find(f"optim.{name}")(problem.params, lr=99.0)
    optimizer.load_state_dict(state)
    resumed = first + [problem.step(optimizer) for _ in range(STEPS - 5)]
    same_paths(resumed, path(JUDGE, name, list, kwargs), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", INFOS)
def test_options_are_pytorchs(name):
    "param_groups hold PyTorch's options and defaults, save those about how it is computed"
    # decoupled_weight_decay is how PyTorch's AdamW is an Adam with a switch
    how = {"foreach", "fused", "capturable", "differentiable", "decoupled_weight_decay", "params"}
    groups = [f.find(f"optim.{name}")(Problem(f).params, lr=0.01).param_groups[0]
              for f in (FRAMEWORK, JUDGE)]
    ours, theirs = ({k: v for k, v in group.items() if k not in how} for group in groups)
    assert ours == theirs


def test_closure():
    "step(closure) computes the loss and returns it"
    losses = []
    for framework in (FRAMEWORK, JUDGE):
        problem = Problem(framework)
        optimizer = framework.find("optim.SGD")(problem.params, lr=0.1)

        def closure(problem=problem, optimizer=optimizer):
            optimizer.zero_grad()
            loss = problem.loss()
            loss.backward()
            return loss
        losses.append([optimizer.step(closure).item() for _ in range(5)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)


def wrong_calls():
    """PyTorch's own wrong calls, without the warning and what is about names and tensor rates."""
    for name, info in INFOS.items():
        for wrong in info.optim_error_inputs_func("cpu", torch.float64):
            call = wrong.optimizer_error_input
            other = any(isinstance(v, (torch.Tensor, bool)) for v in call.kwargs.values()) \
                or issubclass(wrong.error_type, Warning) or "names" in call.desc
            if not other:
                yield pytest.param(name, call, wrong.error_type, id=f"{name}-{call.desc}")


@pytest.mark.parametrize("name, call, error", list(wrong_calls()))
def test_wrong_options(name, call, error):
    "Options outside their range raise PyTorch's class of error"
    def ours(value):
        if isinstance(value, list):
            return [ours(v) for v in value]
        if isinstance(value, dict):
            return {k: ours(v) for k, v in value.items()}
        return made.setdefault(id(value), FRAMEWORK.tensor(value, True)) \
            if isinstance(value, torch.Tensor) else value
    made = {}
    params = Problem(FRAMEWORK).params if call.params is None else ours(call.params)
    with pytest.raises(error):
        FRAMEWORK.find(f"optim.{name}")(params, **call.kwargs)


# ------------------------------------------------------------------------------------- schedules
SCHEDULES = {
    "StepLR": [{"step_size": 3}, {"step_size": 4, "gamma": 0.5}],
    "MultiStepLR": [{"milestones": [2, 5, 11], "gamma": 0.3}],
    "ConstantLR": [{}, {"factor": 0.5, "total_iters": 4}],
    "ExponentialLR": [{"gamma": 0.9}],
    "LambdaLR": [{"lr_lambda": lambda epoch: 1 / (epoch + 1)}],
    "LinearLR": [{}, {"start_factor": 0.1, "end_factor": 0.8, "total_iters": 7}],
    "PolynomialLR": [{"total_iters": 9, "power": 2.0}],
    "CosineAnnealingLR": [{"T_max": 10}, {"T_max": 5, "eta_min": 0.001}],
    "CosineAnnealingWarmRestarts": [{"T_0": 4, "T_mult": 2}],
    "OneCycleLR": [{"max_lr": 0.5, "total_steps": 20},
                   {"max_lr": [0.5, 0.2], "total_steps": 20, "pct_start": 0.4,
                    "anneal_strategy": "linear", "div_factor": 10.0, "final_div_factor": 100.0},
                   {"max_lr": 0.5, "epochs": 4, "steps_per_epoch": 5, "three_phase": True,
                    "cycle_momentum": False}],
}
EXPECTED_SCHEDULES = {"StepLR", "ExponentialLR", "LambdaLR", "LinearLR", "CosineAnnealingLR",
                      "OneCycleLR", "SequentialLR"}
OFFERED = [name for name in [*SCHEDULES, "SequentialLR"]
           if name in EXPECTED_SCHEDULES or FRAMEWORK.find(f"optim.lr_scheduler.{name}")]


def two_groups(framework):
    params = Problem(framework).params
    return framework.find("optim.SGD")(
        [{"params": params[:1]}, {"params": params[1:], "lr": 0.02}], lr=0.1, momentum=0.9)


def rates(framework, make, steps=20, resume_at=None):
    """The learning rates and momenta before each step, from the optimiser and from the schedule."""
    optimizer = two_groups(framework)
    schedule, seen = make(framework, optimizer), []
    for step in range(steps):
        if step == resume_at:
            state, groups = copy.deepcopy((schedule.state_dict(), optimizer.state_dict()))
            optimizer = two_groups(framework)
            schedule = make(framework, optimizer)
            optimizer.load_state_dict(groups)
            schedule.load_state_dict(state)
        seen.append([(g["lr"], g["momentum"]) for g in optimizer.param_groups])
        assert list(schedule.get_last_lr()) == [lr for lr, _ in seen[-1]]
        optimizer.step()
        schedule.step() if step < steps - 1 else None
    return torch.tensor(seen, dtype=torch.float64)


def schedules():
    for name in OFFERED:
        for i, kwargs in enumerate(SCHEDULES.get(name, [])):
            def make(framework, optimizer, name=name, kwargs=kwargs):
                return framework.find(f"optim.lr_scheduler.{name}")(optimizer, **kwargs)
            yield pytest.param(make, id=f"{name}-{i}")
    if "SequentialLR" in OFFERED:
        yield pytest.param(warm_up_then_decay, id="SequentialLR")


def warm_up_then_decay(framework, optimizer):
    lr_scheduler = framework.find("optim.lr_scheduler")
    parts = [lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=4),
             lr_scheduler.CosineAnnealingLR(optimizer, T_max=9, eta_min=0.001),
             lr_scheduler.ExponentialLR(optimizer, gamma=0.8)]
    return lr_scheduler.SequentialLR(optimizer, parts, milestones=[4, 13])


@pytest.mark.parametrize("make", list(schedules()))
def test_schedules(make):
    "Twenty learning rates of two groups are PyTorch's"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.testing.assert_close(rates(FRAMEWORK, make), rates(JUDGE, make),
                                   rtol=1e-12, atol=1e-15)
    REPORT.passed["schedule steps"][make.__qualname__] += 20


@pytest.mark.parametrize("make", list(schedules()))
def test_resumed_schedules(make):
    "A schedule restored from its state_dict goes on where it was"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.testing.assert_close(rates(FRAMEWORK, make, resume_at=7), rates(JUDGE, make),
                                   rtol=1e-12, atol=1e-15)
