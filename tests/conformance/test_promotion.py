"""dtypes: every pair of them, as vectors, as 0-d tensors and as Python numbers."""
import operator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from .compare import Differs, compare
from .frameworks import FRAMEWORK

DTYPES = [torch.float16, torch.float32, torch.float64, torch.int8, torch.int32, torch.int64,
          torch.uint8, torch.bool]
NUMBERS = [3, 2.5, True]
OPERATORS = {name: getattr(operator, name) for name in (
    "add sub mul truediv floordiv mod pow lt le gt ge eq ne and_ or_ xor".split())}
FUNCTIONS = ["maximum", "minimum", "atan2", "fmod", "remainder", "logical_and", "matmul"]
IN_PLACE = {name: getattr(operator, name) for name in (
    "iadd isub imul itruediv ifloordiv ipow".split())}


def vector(dtype): return torch.tensor([1, 2, 3], dtype=dtype)
def zero_d(dtype): return torch.tensor(2, dtype=dtype)


def operands():
    """Every pair of dtypes in every pair of forms, and every dtype beside every Python number."""
    for left in (vector, zero_d):
        for x in DTYPES:
            for number in NUMBERS:
                yield left(x), number
                yield number, left(x)
            for right in (vector, zero_d):
                yield from ((left(x), right(y)) for y in DTYPES)


def outcome(function, *args):
    """What the call gives: a result, the class of its error, or None for a kernel not written."""
    try:
        return function(*args)
    except (RuntimeError, TypeError, ValueError) as error:
        return None if "not implemented for" in str(error) else type(error)


def disagreement(ours, theirs, *args):
    """In what the two functions differ for these arguments, or None."""
    expected = outcome(theirs, *(a.clone() if isinstance(a, torch.Tensor) else a for a in args))
    got = outcome(ours, *(FRAMEWORK.tensor(a.clone()) if isinstance(a, torch.Tensor) else a
                          for a in args))
    if expected is None:
        return None                # PyTorch has no kernel for the dtype: no rule to follow
    if isinstance(expected, type):
        wrong = None if isinstance(got, type) and issubclass(got, expected) else f"{got!r}"
        return wrong and f"{wrong}, PyTorch raises {expected.__name__}"
    if isinstance(got, type):
        return f"raises {got.__name__}, PyTorch gives {expected!r}"
    try:
        return compare(FRAMEWORK, got, expected)
    except Differs as error:
        return str(error)


def shown(args):
    return ", ".join(f"{str(a.dtype)[6:]}{list(a.shape)}" if isinstance(a, torch.Tensor)
                     else repr(a) for a in args)


def all_agree(ours, theirs, pairs):
    wrong = [f"{shown(args)}: {what}" for args in pairs
             if (what := disagreement(ours, theirs, *args))]
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    "x op y has PyTorch's dtype and numbers, or raises as PyTorch does"
    all_agree(OPERATORS[name], OPERATORS[name], operands())


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operators(name):
    "x op= y keeps the dtype of x, or raises where it cannot hold the result"
    pairs = [(x, y) for x, y in operands() if isinstance(x, torch.Tensor)]
    all_agree(IN_PLACE[name], IN_PLACE[name], pairs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    "Functions of two tensors promote as PyTorch's do"
    pairs = [(x, y) for x, y in operands()
             if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)]
    all_agree(FRAMEWORK.find(name), getattr(torch, name), pairs)


def test_where():
    "where promotes its two branches, tensors and numbers"
    condition = torch.tensor([True, False, True])
    all_agree(FRAMEWORK.find("where"), torch.where, [(condition, *pair) for pair in operands()])


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_joined(name):
    "cat and stack promote what they join"
    pairs = [(vector(x), vector(y)) for x in DTYPES for y in DTYPES]
    all_agree(lambda a, b: FRAMEWORK.find(name)([a, b]),
              lambda a, b: getattr(torch, name)([a, b]), pairs)


@pytest.mark.parametrize("name", "exp sqrt sin sigmoid abs neg square floor round sign "
                                 "reciprocal isnan logical_not sum mean prod cumsum any all "
                                 "argmax amax var".split())
def test_of_one_tensor(name):
    "Functions of one tensor give PyTorch's dtype for each dtype, or raise"
    all_agree(FRAMEWORK.find(name), getattr(torch, name),
              [(form(dtype),) for form in (vector, zero_d) for dtype in DTYPES])


numbers = st.one_of(st.integers(-100, 100), st.booleans(),
                    st.floats(-100, 100, width=16, allow_subnormal=False))
values = st.lists(st.integers(0, 100), min_size=1, max_size=3)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(name=st.sampled_from(sorted(OPERATORS)), dtype=st.sampled_from(DTYPES), values=values,
       number=numbers, mirrored=st.booleans())
def test_numbers_never_widen(name, dtype, values, number, mirrored):
    "A Python number of any size leaves the tensor's dtype what PyTorch makes of it"
    x = torch.tensor(values).to(dtype)
    args = (number, x) if mirrored else (x, number)
    assert disagreement(OPERATORS[name], OPERATORS[name], *args) is None
