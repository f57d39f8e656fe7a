"""The tables are true: what is expected is there, and every exclusion excludes something."""
import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from .exclusions import EXCLUSIONS
from .frameworks import FRAMEWORK, PyTorch
from .samples import cases, samples
from .table import CALLS, EXPECTED, NO_VALUES, REFERENCE_INPUTS, TOLERANCES

CASES = cases(FRAMEWORK)


@pytest.mark.parametrize("name", EXPECTED)
def test_expected(name):
    "Every operation that the table promises is compared"
    assert name in {case.name for case in CASES}


def test_at_least_ninety_names():
    "At least 90 different operations are compared"
    assert len({case.info.name for case in CASES if case.main}) >= 90


def test_tables_name_operations():
    "No table names an operation that PyTorch's database does not know"
    known = {info.name for info in op_db}
    assert not (set(CALLS) | NO_VALUES | REFERENCE_INPUTS | set(TOLERANCES)) - known


def every_sample():
    """(case, aspects, sample) of everything the suite may leave out."""
    for case in CASES:
        for dtype in (torch.float64, torch.float32, torch.int64, torch.bool):
            if dtype in case.info.dtypes:
                aspects = ("values", "gradients", "differences", "second")
                yield from ((case, aspects, s) for s in samples(case, dtype, reference=True))
        if case.main and case.info.error_inputs_func is not None:
            for error_input in case.info.error_inputs("cpu"):
                yield case, ("errors",), error_input.sample_input


@pytest.mark.skipif(isinstance(FRAMEWORK, PyTorch), reason="PyTorch on itself runs a part of it")
def test_every_exclusion_excludes_something():
    "A line of the table that matches no sample is a line too many"
    unused = set(EXCLUSIONS)
    for case, aspects, sample in every_sample():
        unused -= {e for e in unused if any(e.covers(case, a, sample) for a in aspects)}
    assert not [(e.ops, e.why) for e in unused]
