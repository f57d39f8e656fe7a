"""dtypes: every pair of them, as vectors, as 0-d tensors and as Python numbers."""
import operator

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from .compare import Differs, compare
from .frameworks import FRAMEWORK, PyTorch

DTYPES = [torch.float16, torch.float32, torch.float64, torch.int8, torch.int32, torch.int64,
          torch.uint8, torch.bool]
NUMBERS = [3, 2.5, True, -1]
OPERATORS = {name: getattr(operator, name) for name in (
    "add sub mul truediv floordiv mod pow lt le gt ge eq ne and_ or_ xor".split())}
FUNCTIONS = ["maximum", "minimum", "atan2", "fmod", "remainder", "logical_and", "matmul"]
IN_PLACE = {name: getattr(operator, name) for name in (
    "iadd isub imul itruediv ifloordiv ipow".split())}


def bools_of(args):
    return [isinstance(a, bool) or getattr(a, "dtype", None) is torch.bool for a in args]


def mixed(args): return len({a.dtype for a in args}) > 1 and all(a.dim() for a in args)


def half_meets_single(args):
    forms = {(a.dtype, a.dim() > 0) for a in args if isinstance(a, torch.Tensor)}
    return {(torch.float16, True), (torch.float32, False)} <= forms


def below_unsigned(args):
    return any(getattr(a, "dtype", None) is torch.uint8 for a in args) and any(
        type(a) is int and a < 0 for a in args)


# Where the library differs on purpose: names, which arguments, and why.
LEFT_OUT = [
    ("add sub mul truediv floordiv mod pow maximum minimum fmod remainder where", half_meets_single,
     "float16[n] with a 0-d float32 tensor is float32: a float32 result is taken as it is, and only "
     "a look at every input of every op would tell that PyTorch stays with the fewer digits."),
    ("add sub mul floordiv mod pow and_ or_ xor lt le gt ge iadd isub imul ifloordiv", below_unsigned,
     "A negative number does not fit into uint8: to add it is an error, to compare with it right "
     "(1 > -1). PyTorch first makes 255 of -1."),
    ("sub isub", lambda args: any(bools_of(args)),
     "True counts as 1 in a difference, as in a sum: to refuse bools as PyTorch does, every "
     "subtraction would have to look at both dtypes."),
    ("pow ipow", lambda args: all(bools_of(args)),
     "bool ** bool is int8, as in NumPy: the power of two truths is a number."),
    ("matmul", mixed,
     "A product of matrices promotes two dtypes like every other op, where PyTorch refuses them."),
    ("any all", lambda args: args[0].dtype is torch.uint8,
     "The answer to a question is a bool; PyTorch's uint8 is from before it had bools."),
    ("argmax", lambda args: args[0].dtype is torch.bool,
     "The first True is an answer; PyTorch refuses the question."),
]


def left_out(name, args):
    return any(name in names.split() and when(args) for names, when, _ in LEFT_OUT)


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


def all_agree(name, ours, theirs, pairs):
    wrong = [f"{shown(args)}: {what}" for args in pairs if not left_out(name, args)
             if (what := disagreement(ours, theirs, *args))]
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    "x op y has PyTorch's dtype and numbers, or raises as PyTorch does"
    all_agree(name, OPERATORS[name], OPERATORS[name], operands())


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operators(name):
    "x op= y keeps the dtype of x, or raises where it cannot hold the result"
    pairs = [(x, y) for x, y in operands() if isinstance(x, torch.Tensor)]
    all_agree(name, IN_PLACE[name], IN_PLACE[name], pairs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    "Functions of two tensors promote as PyTorch's do"
    pairs = [(x, y) for x, y in operands()
             if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)]
    all_agree(name, FRAMEWORK.find(name), getattr(torch, name), pairs)


def test_where():
    "where promotes its two branches, tensors and numbers"
    condition = torch.tensor([True, False, True])
    all_agree("where", FRAMEWORK.find("where"), torch.where,
              [(condition, *pair) for pair in operands()])


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_joined(name):
    "cat and stack promote what they join"
    pairs = [(vector(x), vector(y)) for x in DTYPES for y in DTYPES]
    all_agree(name, lambda a, b: FRAMEWORK.find(name)([a, b]),
              lambda a, b: getattr(torch, name)([a, b]), pairs)


@pytest.mark.parametrize("name", "exp sqrt sin sigmoid abs neg square floor round sign "
                                 "reciprocal isnan logical_not sum mean prod cumsum any all "
                                 "argmax amax var".split())
def test_of_one_tensor(name):
    "Functions of one tensor give PyTorch's dtype for each dtype, or raise"
    all_agree(name, FRAMEWORK.find(name), getattr(torch, name),
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
    assume(not left_out(name, args))
    assert disagreement(OPERATORS[name], OPERATORS[name], *args) is None


def both(name):
    """The function of that name in the library and in PyTorch."""
    operator_ = {**OPERATORS, **IN_PLACE}.get(name)
    return (operator_, operator_) if operator_ else (FRAMEWORK.find(name), getattr(torch, name))


def arguments(name):
    """What the tests above call the function of that name with."""
    if name in ("any", "all", "argmax"):
        return [(form(dtype),) for form in (vector, zero_d) for dtype in DTYPES]
    lead = (torch.tensor([True, False, True]),) if name == "where" else ()
    return [(*lead, *pair) for pair in operands() if name in OPERATORS or name in IN_PLACE
            or all(isinstance(a, torch.Tensor) for a in pair)]


@pytest.mark.skipif(isinstance(FRAMEWORK, PyTorch), reason="PyTorch agrees with itself")
@pytest.mark.parametrize("names, when", [row[:2] for row in LEFT_OUT],
                         ids=[row[0] for row in LEFT_OUT])
def test_left_out_differs(names, when):
    "A line of the table under which the two agree is a line too many"
    for name in names.split():
        assert any(when(args) and disagreement(*both(name), *args) for args in arguments(name))
