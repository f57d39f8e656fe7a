"""Indexing with random mixtures of everything an index may hold, read and written."""
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from .compare import compare, compare_tensors
from .frameworks import FRAMEWORK, PyTorch, convert

JUDGE = PyTorch()
often = settings(deadline=None, derandomize=True, max_examples=400)


@st.composite
def slices(draw, size):
    bound = st.one_of(st.none(), st.integers(-size - 1, size + 1))
    return slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, 3])))


@st.composite
def integers(draw, size, shape):
    """An integer tensor of this shape; negative indices and repeated ones among them."""
    n = int(torch.Size(shape).numel())
    numbers = draw(st.lists(st.integers(-size, size - 1), min_size=n, max_size=n))
    return torch.tensor(numbers, dtype=torch.int64).reshape(shape)


@st.composite
def masks(draw, shape):
    n = int(torch.Size(shape).numel())
    return torch.tensor(draw(st.lists(st.booleans(), min_size=n, max_size=n))).reshape(shape).bool()


@st.composite
def indexed(draw):
    """(shape, index): any legal index, and some that are not (two ..., masks that do not fit)."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    together = draw(st.sampled_from([(2,), (3,), (2, 3), (1,), ()]))     # integer tensors broadcast
    index, axis = [], 0
    stop = draw(st.integers(0, len(shape)))
    kinds = st.sampled_from("int slice slice none ellipsis list tensor tensor mask".split())
    while axis < stop:
        kind = draw(kinds)
        if kind == "none":
            index.append(None)
            continue
        if kind == "ellipsis":
            if Ellipsis not in [i for i in index if i is Ellipsis]:
                index.append(Ellipsis)
            continue
        size = shape[axis]
        axis += 1
        if kind == "int":
            index.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            index.append(draw(slices(size)))
        elif kind == "list":
            index.append(draw(integers(size, together[-1:] or (1,))).tolist())
        elif kind == "tensor":
            index.append(draw(integers(size, together)))
        else:
            index.append(draw(masks((size,))))
    return tuple(shape), index[0] if len(index) == 1 and draw(st.booleans()) else tuple(index)


def numbered(shape, requires_grad=False):
    n = int(torch.Size(shape).numel())
    x = torch.arange(1.0, n + 1, dtype=torch.float64).reshape(shape)
    return x.requires_grad_(requires_grad)


def translated(framework, index):
    """The index with its tensors as the framework's."""
    return convert(index, lambda i: framework.tensor(i) if isinstance(i, torch.Tensor) else i)


def expected(act):
    """What PyTorch does: `(result, None)` or `(None, class of error)`."""
    try:
        return act(JUDGE), None
    except (IndexError, RuntimeError, ValueError, TypeError) as error:
        return None, type(error)


def agree(case, act, check):
    """`act(framework)` gives what PyTorch gives, or raises what it raises."""
    theirs, error = expected(act)
    if error is not None:
        with pytest.raises(error):
            act(FRAMEWORK)
        return
    try:
        ours = act(FRAMEWORK)
    except IndexError:
        shape, index = case        # PyTorch checks no bounds where an axis chosen is empty
        assume(numbered(shape)[index].numel())
        raise
    check(ours, theirs)


@often
@given(indexed())
def test_reading(case):
    "x[index] has PyTorch's numbers and shape"
    shape, index = case
    agree(case, lambda f: f.tensor(numbered(shape))[translated(f, index)],
          lambda ours, theirs: compare(FRAMEWORK, ours, theirs))


@often
@given(indexed())
def test_gradient(case):
    "The gradient goes back to where each number came from; repeated indices add up"
    shape, index = case

    def gradient(f):
        x = f.tensor(numbered(shape), requires_grad=True)
        out = x[translated(f, index)]
        (out * out).sum().backward()
        return x.grad
    agree(case, gradient, lambda ours, theirs: compare(FRAMEWORK, ours, theirs))


@often
@given(indexed(), st.booleans())
def test_writing_a_number(case, boolean):
    "x[index] = number writes there and nowhere else"
    shape, index = case

    def write(f):
        x = f.tensor(numbered(shape).detach().clone())
        x[translated(f, index)] = True if boolean else -0.5
        return x
    agree(case, write, lambda ours, theirs: compare(FRAMEWORK, ours, theirs))


@often
@given(indexed(), st.data())
def test_writing_a_tensor(case, data):
    "x[index] = tensor broadcasts the tensor, and both get their gradients"
    shape, index = case
    try:
        target = numbered(shape)[index].shape
    except (IndexError, RuntimeError, ValueError, TypeError):
        target = torch.Size()
    keep = data.draw(st.integers(0, len(target)))
    ones = data.draw(st.lists(st.booleans(), min_size=keep, max_size=keep))
    value = numbered([1 if one else n for one, n in zip(ones, target[len(target) - keep:])])

    def write(f):
        x = f.tensor(numbered(shape), requires_grad=True)
        v = f.tensor(-value, requires_grad=True)
        y = x * 2
        y[translated(f, index)] = v
        (y * y).sum().backward()
        return [y, x.grad, v.grad]

    def check(ours, theirs):
        if repeats(shape, index):          # which of several values stays is not defined
            return
        if ours[2] is None:                # nothing was written, so v has no part in the result:
            assert not numbered(shape)[index].numel()      # no gradient, where PyTorch has zeros
            ours, theirs = ours[:2], theirs[:2]
        for our, their in zip(ours, theirs):
            compare_tensors(FRAMEWORK.judged(our), their.detach(), True, "written, gradients")
    agree(case, write, check)


def repeats(shape, index):
    """Whether the index names an element twice."""
    chosen = numbered(shape)[index].flatten().tolist()
    return len(set(chosen)) < len(chosen)
