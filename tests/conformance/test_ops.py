"""Every operation the library shares with PyTorch, on PyTorch's own samples."""
import pytest
import torch

from . import checks
from .compare import Differs
from .exclusions import excluded
from .frameworks import FRAMEWORK
from .report import REPORT
from .samples import (
    cases,
    describe,
    has_wrong_samples,
    in_place,
    samples,
    specials,
    wrong_samples,
)
from .table import NO_VALUES

pytestmark = pytest.mark.filterwarnings("ignore")      # PyTorch's own, about its samples

CASES = cases(FRAMEWORK)
MAIN = [case for case in CASES if case.main]
OTHER = [case for case in CASES if not case.main]
DTYPES = [torch.float64, torch.float32, torch.int64, torch.bool]


def each(chosen, dtypes=(torch.float64,), when=lambda case: True):
    """Parametrise by case and dtype, where the operation knows the dtype."""
    return pytest.mark.parametrize("case, dtype", [
        pytest.param(case, dtype, id=f"{case.id}-{str(dtype).removeprefix('torch.')}")
        for case in chosen for dtype in dtypes if dtype in case.info.dtypes and when(case)])


def run(check, case, found, aspect=None):
    """Check every sample, report each, and fail with all that differ."""
    aspect, different = aspect or check.__name__, []
    for sample in found:
        shown = sample.sample_input if aspect == "errors" else sample
        why = excluded(case, aspect, shown)
        if why is None:
            try:
                why = check(case, FRAMEWORK, sample)
                REPORT.passed[aspect][case.id] += why is None
            except Differs as error:
                different.append((describe(shown), str(error)))
            except Exception as error:
                different.append((describe(shown), located(error)))
        if why:
            REPORT.left_out[why][case.id] += 1
    REPORT.failed[aspect] += [(case.id, sample, what) for sample, what in different]
    if different:
        pytest.fail("\n".join(f"{case.name}({sample}): {what}" for sample, what in different),
                    pytrace=False)


def located(error):
    """An unforeseen error with the place that raised it."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename.rpartition("/")[2]
    return f"{type(error).__name__}: {error} [{file}:{trace.tb_lineno}]"


@each(MAIN, DTYPES)
def test_values(case, dtype):
    "Numbers, shapes, dtypes and structure are PyTorch's"
    run(checks.values, case, samples(case, dtype, reference=True))


@each(OTHER)
def test_other_names(case, dtype):
    "Aliases and methods give what the function gives"
    run(checks.values, case, samples(case, dtype))


@each(MAIN, [torch.float64, torch.float32])
def test_specials(case, dtype):
    "Infinities, nan, zeros and the borders of domains give what PyTorch gives"
    run(checks.values, case, specials(case, dtype), aspect="specials")


def differentiable(case):
    return case.info.supports_autograd and case.info.name not in NO_VALUES


@each(MAIN, when=differentiable)
def test_specials_gradients(case, dtype):
    "So do gradients there: 0, infinite or nan where PyTorch's are"
    run(checks.gradients, case, specials(case, dtype, True), aspect="specials' gradients")


@each(in_place(FRAMEWORK), [torch.float64, torch.float32, torch.int64])
def test_in_place(case, dtype):
    "Methods that end in _ write what the function gives, pass gradients on, or refuse"
    wants = case.info.supports_autograd and dtype.is_floating_point
    run(checks.in_place, case, samples(case, dtype, wants))


@each(MAIN, [torch.float64, torch.float32], when=differentiable)
def test_gradients(case, dtype):
    "Gradients are PyTorch's for random cotangents"
    run(checks.gradients, case, samples(case, dtype, requires_grad=True))


@each(MAIN, when=differentiable)
def test_differences(case, dtype):
    "Gradients are the limit of central differences, at gradcheck's tolerances"
    run(checks.differences, case, samples(case, dtype, requires_grad=True))


@each(MAIN, when=lambda case: differentiable(case) and case.info.supports_gradgrad)
def test_second_derivatives(case, dtype):
    "A gradient's gradient is PyTorch's"
    run(checks.second, case, samples(case, dtype, requires_grad=True))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in MAIN
                                  if has_wrong_samples(case)])
def test_errors(case):
    "Wrong inputs raise PyTorch's class of error"
    run(checks.errors, case, wrong_samples(case))
