"""The harness sees what it is there to see: PyTorch passes, and PyTorch with a fault does not."""
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from . import checks
from .compare import Differs, compare
from .exclusions import excluded
from .frameworks import PyTorch
from .samples import Case, cases, describe, plain_sample, samples, specials, wrong_samples
from .table import CALLS

OPS = {case.id: case for case in cases(PyTorch()) if case.main}


def case_with(name, call):
    """The case `name`, its function replaced by a faulty one."""
    return Case(name, OPS[name].info, call, main=True)


def fails(check, case, dtype=torch.float64, requires_grad=True):
    """Whether any sample of the case shows a difference."""
    def differs(sample):
        try:
            check(case, PyTorch(), sample)
        except Differs:
            return True
    return any(differs(sample) for sample in samples(case, dtype, requires_grad)
               if excluded(case, check.__name__, sample) is None)


class Gradient(torch.autograd.Function):
    """x, with a gradient that is `factor` times what it should be."""
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx, g): return g * ctx.factor, None


FAULTS = {
    "a number off by a millionth": (checks.values, "exp", lambda x: torch.exp(x) * (1 + 1e-6)),
    "float32 for float64": (checks.values, "sum", lambda *a, **k: torch.sum(*a, **k).float()),
    "a kept axis": (checks.values, "amax", lambda x, dim=(), **k: torch.amax(x, dim, True)),
    "a list for a tuple": (checks.values, "unbind", lambda *a: list(torch.unbind(*a))),
    "one part too few": (checks.values, "chunk", lambda *a: torch.chunk(*a)[:-1]),
    "no field names": (checks.values, "sort", lambda *a, **k: tuple(torch.sort(*a, **k))),
    "an input changed": (checks.values, "neg", lambda x: torch.neg(x).add(x.zero_())),
    "a gradient wrong by half a percent": (
        checks.gradients, "sin", lambda x: torch.sin(Gradient.apply(x, 1.005))),
    "a gradient wrong by one percent, by differences": (
        checks.differences, "matmul", lambda x, y: torch.matmul(Gradient.apply(x, 1.01), y)),
    "a silent detach": (checks.gradients, "mul", lambda x, y: torch.mul(x.detach(), y)),
    "no record at all": (checks.gradients, "mul", lambda x, y: torch.mul(x, y).detach()),
    "a constant where a second derivative is": (
        checks.second, "square", lambda x: x * (x.detach() * 2) - x.detach() ** 2),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_seen(fault):
    "A fault of this kind is a difference; without it there is none"
    check, name, call = FAULTS[fault]
    assert fails(check, case_with(name, call))
    assert not fails(check, OPS[name])


def test_error_class_matters():
    "An error of another class, or none, is a difference"
    case = OPS["cat"]
    wrong = wrong_samples(case)[0]

    def raises(*args, **kwargs): raise KeyError("cat")
    for call in (raises, lambda *args, **kwargs: args[0][0]):
        with pytest.raises(Differs):
            checks.errors(case_with("cat", call), PyTorch(), wrong)
    assert checks.errors(case, PyTorch(), wrong) is None


def test_kink_is_no_difference():
    "Where PyTorch's own gradient is no limit of differences, nothing is compared"
    x = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    assert checks.differences(OPS["nn.functional.relu"], PyTorch(), plain_sample(x)) == checks.KINK


def test_ties_may_be_ordered_either_way():
    "Indices of equal elements may differ from PyTorch's; stable=True and wrong indices may not"
    x = torch.tensor([2, 1, 2, 2, 0])

    def other_order(x, *args, stable=False, **kwargs):
        return torch.return_types.sort([x.sort().values, torch.tensor([4, 1, 3, 2, 0])])
    checks.values(case_with("sort", other_order), PyTorch(), plain_sample(x))
    with pytest.raises(Differs):
        checks.values(case_with("sort", other_order), PyTorch(), plain_sample(x, stable=True))
    with pytest.raises(Differs):
        checks.values(case_with("sort", other_order), PyTorch(), plain_sample(x.flip(0)))


def test_specials_have_infinities():
    "Samples of unary and binary functions hold nan, infinities and both zeros"
    (x,) = specials(OPS["exp"], torch.float32)
    assert x.input.isnan().any() and x.input.isinf().sum() == 2 and (x.input == 0).sum() == 2
    (xy,) = specials(OPS["maximum"], torch.float32)
    pairs = set(zip(xy.input.tolist(), xy.args[0].tolist()))
    assert {(float("inf"), 0.0), (0.0, float("-inf")), (-1.0, 0.5)} < pairs


def test_numbers_of_other_types_differ():
    "True is not 1, and 1 is not 1.0"
    for ours, theirs in ((True, 1), (1, 1.0), (2.0, 3.0)):
        with pytest.raises(Differs):
            compare(PyTorch(), ours, theirs)
    compare(PyTorch(), float("nan"), float("nan"))


def test_description_is_short():
    "A sample is described by shapes and dtypes, one-element tensors by their number"
    x = torch.ones(2, 3)
    assert describe(plain_sample(x, [x.T, 2], dim=None)) == \
        "<float32 (2, 3)>, [<float32 (3, 2) strided>, 2], dim=None"


@pytest.mark.parametrize("name", [name for name in CALLS if name in OPS])
def test_calls_are_pytorchs(name):
    "An entry of CALLS, given PyTorch, is what PyTorch's database calls"
    assert not fails(checks.values, OPS[name], requires_grad=False)


def test_skips_without_pytorch():
    "Where PyTorch is missing the whole folder is skipped, in a sentence"
    flags = ["-rs", "-q", "-p", "no:cacheprovider", str(Path(__file__).parent)]
    code = ("import importlib.metadata as m, sys, pytest; real = m.version\n"
            "def version(name):\n"
            "    if name == 'torch': raise m.PackageNotFoundError(name)\n"
            "    return real(name)\n"
            "m.version = version; sys.modules['torch'] = None\n"
            f"sys.exit(pytest.main({flags}))")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8",
                         cwd=Path(__file__).parents[2], timeout=120)
    assert "torch is not installed" in ran.stdout and "error" not in ran.stdout
