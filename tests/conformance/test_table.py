"""The tables are true: what is expected is there, and every exclusion excludes something."""
import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from .exclusions import EXCLUSIONS
from .frameworks import FRAMEWORK, PyTorch
from .samples import cases, samples, wrong_samples
from .table import CALLS, EXPECTED, NO_VALUES, TIES, TOLERANCES

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
    assert not (set(CALLS) | NO_VALUES | set(TIES) | set(TOLERANCES)) - known


def samples_named(exclusion):
    """The samples of every case that the exclusion names: wrong ones first, they are few."""
    named = [c for c in CASES if exclusion.names(c.id) or exclusion.names(c.info.name)]
    if exclusion.aspect in ("*", "errors"):
        for case in named:
            if case.main:
                yield from ((case, "errors", e.sample_input) for e in wrong_samples(case))
    if exclusion.aspect != "errors":
        aspect = exclusion.aspect.replace("*", "values")
        for case in named:
            for dtype in {torch.float64, torch.float32, torch.int64, torch.bool} & case.info.dtypes:
                yield from ((case, aspect, s) for s in samples(case, dtype, reference=True))


@pytest.mark.skipif(isinstance(FRAMEWORK, PyTorch), reason="PyTorch on itself runs a part of it")
@pytest.mark.parametrize("exclusion", EXCLUSIONS, ids=lambda e: f"{e.ops}-{e.aspect}")
def test_exclusion_excludes_something(exclusion):
    "A line of the table that matches no sample is a line too many"
    assert any(exclusion.covers(*found) for found in samples_named(exclusion))
