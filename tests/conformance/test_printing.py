"""repr: letter for letter what PyTorch prints."""
import pytest
import torch

from .frameworks import FRAMEWORK, PyTorch

inf, nan = float("inf"), float("nan")

TENSORS = {
    "0-d float": torch.tensor(1.5),
    "0-d whole float": torch.tensor(3.0),
    "0-d int": torch.tensor(7),
    "0-d bool": torch.tensor(True),
    "0-d nan": torch.tensor(nan),
    "0-d infinity": torch.tensor(-inf),
    "0-d float64": torch.tensor(0.1, dtype=torch.float64),
    "whole floats": torch.tensor([1.0, -2.0, 30.0]),
    "floats": torch.tensor([1.0, 2.5, -3.25]),
    "four digits are shown": torch.tensor([0.123456789, 2 / 3]),
    "large whole floats": torch.tensor([1e6, 12345678.0]),
    "large floats": torch.tensor([123456.75, 0.5]),
    "small floats": torch.tensor([1e-5, 2e-7]),
    "wide range": torch.tensor([1e-5, 1.0, 1e5]),
    "one above 1e8": torch.tensor([1.0, 1e9]),
    "one above 1e8, not whole": torch.tensor([1.5, 1e9]),
    "one below 1e-4": torch.tensor([1e-5, 0.5]),
    "ratio above 1000": torch.tensor([0.0011, 2.0]),
    "zeros": torch.zeros(2, 3),
    "negative zero": torch.tensor([-0.0, 0.0]),
    "nan among floats": torch.tensor([1.5, nan, -inf]),
    "nan among whole floats": torch.tensor([1.0, nan, inf]),
    "only nan": torch.tensor([nan, nan]),
    "ints": torch.tensor([1, -20, 300]),
    "int64 limits": torch.tensor([2 ** 63 - 1, -2 ** 63]),
    "bools": torch.tensor([[True, False], [False, True]]),
    "int8": torch.tensor([1, -2], dtype=torch.int8),
    "int32": torch.tensor([1, 2], dtype=torch.int32),
    "uint8": torch.tensor([1, 255], dtype=torch.uint8),
    "float16": torch.tensor([1.5, 65504.0], dtype=torch.float16),
    "float64": torch.tensor([1.5, 2.5], dtype=torch.float64),
    "matrix": torch.arange(6.0).reshape(2, 3) / 4,
    "columns align": torch.tensor([[1, 1000], [-10, 5]]),
    "3-d": torch.arange(12).reshape(2, 2, 3),
    "4-d": torch.arange(16.0).reshape(2, 2, 2, 2),
    "wrapped lines": torch.arange(40.0),
    "wrapped lines of fractions": torch.arange(40.0) / 7,
    "wrapped matrix": torch.arange(60).reshape(2, 30) * 1000,
    "exactly 1000 elements": torch.arange(1000),
    "more than 1000 elements": torch.arange(1001),
    "more than 1000 floats": torch.arange(2000.0) / 3,
    "large matrix": torch.arange(2500.0).reshape(50, 50),
    "tall matrix": torch.arange(2002).reshape(1001, 2),
    "wide matrix": torch.arange(2002).reshape(2, 1001),
    "large 3-d": torch.arange(8000).reshape(20, 20, 20),
    "many bools": torch.arange(1200) % 2 == 0,
    "what is not shown widens nothing": torch.where(torch.arange(1201) == 600, 1e9, 1.0),
    "empty": torch.tensor([]),
    "empty int": torch.tensor([], dtype=torch.int64),
    "empty matrix": torch.zeros(0, 3),
    "empty middle": torch.zeros(2, 0, dtype=torch.int32),
    "requires a gradient": torch.tensor([1.0, 2.0], requires_grad=True),
    "0-d requires a gradient": torch.tensor(2.5, dtype=torch.float64, requires_grad=True),
    "long suffixes": torch.arange(12.0, dtype=torch.float64).requires_grad_(),
    "transposed": torch.arange(6).reshape(2, 3).T,
    "expanded": torch.tensor([1.5]).expand(2, 3),
}


@pytest.mark.parametrize("name", TENSORS)
def test_repr(name):
    "repr(tensor) and str(tensor) are PyTorch's"
    theirs = TENSORS[name]
    ours = FRAMEWORK.tensor(theirs, theirs.requires_grad)
    assert repr(ours) == repr(theirs)
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("make", [
    lambda x: x * 2, lambda x: x.detach(), lambda x: (x * 2).detach(), lambda x: x > 1,
    lambda x: x.argmax()], ids=["recorded", "detached", "detached result", "mask", "argmax"])
def test_repr_of_results(make):
    "A result says whether it was recorded, as PyTorch's does"
    start = torch.tensor([1.0, 2.0], requires_grad=True)
    ours, theirs = (repr(make(f.tensor(start, True))) for f in (FRAMEWORK, PyTorch()))
    assert ours.split("grad_fn")[0] == theirs.split("grad_fn")[0]


@pytest.mark.parametrize("value", [1.5, 3.0, 7, True, nan, -inf, 1e-9])
def test_formatting(value):
    "An f-string formats a 0-d tensor like its number"
    theirs = torch.tensor(value)
    ours = FRAMEWORK.tensor(theirs)
    assert f"{ours}" == f"{theirs}" and f"{ours:.3f}" == f"{theirs:.3f}"
