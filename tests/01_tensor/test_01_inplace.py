"""Writing in place: what changes, what else sees it, and what is refused. No gradients here."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.backend import writes

from .support import same


def test_operators_write_into_the_same_memory():
    x = torch.tensor([1., 2., 4.])
    array, before = x.data, id(x)
    x += 1
    same(x, [2., 3., 5.])
    x -= torch.tensor([1., 1., 1.])
    x *= 3
    same(x, [3., 6., 12.])
    x /= 2
    x **= 2
    same(x, [2.25, 9., 36.])
    x //= 2
    x %= 4
    same(x, [1., 0., 2.])
    assert x.data is array and id(x) == before
    bits = torch.tensor([12, 10])
    array = bits.data
    bits &= 14
    bits |= 1
    bits ^= torch.tensor([1, 0])
    same(bits, [12, 11])
    assert bits.data is array


@pytest.mark.parametrize("name, args, expected", [
    ("add_", (10,), [11., 8., 14.]), ("sub_", (1,), [0., -3., 3.]), ("mul_", (2,), [2., -4., 8.]),
    ("div_", (2,), [0.5, -1., 2.]), ("pow_", (2,), [1., 4., 16.]), ("neg_", (), [-1., 2., -4.]),
    ("abs_", (), [1., 2., 4.]), ("exp_", (), np.exp([1., -2., 4.])),
    ("clamp_", (0, 2), [1., 0., 2.]),
    ("clamp_min_", (0,), [1., 0., 4.]), ("floor_divide_", (2,), [0., -1., 2.]),
    ("remainder_", (3,), [1., 1., 1.]), ("square_", (), [1., 4., 16.]),
    ("sign_", (), [1., -1., 1.]),
    ("masked_fill_", (torch.tensor([True, False, True]), 7.), [7., -2., 7.]),
    ("fill_", (3,), [3.] * 3),
    ("zero_", (), [0.] * 3), ("copy_", (torch.tensor([5, 6, 7]),), [5., 6., 7.]),
    ("copy_", (torch.tensor(5),), [5.] * 3),
    ("lerp_", (torch.tensor([2., 0., 4.]), 0.5), [1.5, -1., 4.]),
    ("addcmul_", (torch.tensor([1., 2., 3.]), torch.tensor(2.)), [3., 2., 10.]),
    ("index_add_", (0, torch.tensor([0, 0]), torch.tensor([1., 2.])), [4., -2., 4.]),
    ("scatter_", (0, torch.tensor([2]), torch.tensor([9.])), [1., -2., 9.]),
    ("scatter_add_", (0, torch.tensor([2, 2]), torch.tensor([9., 1.])), [1., -2., 14.]),
    ("index_fill_", (0, torch.tensor([1]), 0.), [1., 0., 4.]), ("cumsum_", (0,), [1., -1., 3.]),
    ("index_copy_", (0, torch.tensor([1]), torch.tensor([8.])), [1., 8., 4.])], ids=str)
def test_methods_with_an_underscore(name, args, expected):
    """They return the tensor itself, and a view taken before sees the new numbers"""
    x = torch.tensor([1., -2., 4.])
    view, array = x[:2], x.data
    assert getattr(x, name)(*args) is x
    same(x, expected, "float32")
    assert x.data is array
    same(view, expected[:2])


def test_a_shape_cannot_change():
    x = torch.zeros(3)
    for attempt in (lambda: x.add_(torch.zeros(2, 3)), lambda: x.sum_(0),
                    lambda: x.__iadd__(torch.zeros(2, 1))):
        with pytest.raises((RuntimeError, AttributeError)):
            attempt()
    assert x.shape == (3,)
    with pytest.raises(RuntimeError, match=r"\(2, 3\).*\(3,\)"):
        x += torch.zeros(2, 3)


def test_a_smaller_operand_broadcasts():
    x = torch.zeros(2, 3)
    x += torch.tensor([1., 2., 3.])
    x[0] += 10
    same(x, [[11., 12., 13.], [1., 2., 3.]])


def test_a_dtype_cannot_widen():
    """int += 0.5 would be rounded silently: an error. float32 += float64 is fine"""
    x = torch.tensor([1, 2])
    for attempt in (lambda: x.add_(0.5), lambda: x.div_(2),
                    lambda: x.__imul__(torch.tensor([0.5, 1.])),
                    lambda: torch.tensor([True]).add_(1)):
        with pytest.raises(RuntimeError, match="int64|bool"):
            attempt()
    same(x, [1, 2], "int64")
    y = torch.tensor([1., 2.])
    y += torch.tensor([1., 1.], dtype=torch.float64)
    same(y, [2., 3.], "float32")
    z = torch.tensor([1, 2], dtype=torch.int8)
    z += torch.tensor([1, 1])
    same(z, [2, 3], "int8")
    assert torch.tensor([1., 2.], dtype=torch.float16).add_(1.5).dtype == torch.float16


def test_an_expanded_tensor_cannot_be_written():
    """One number at many places: PyTorch refuses, and so do we"""
    x = torch.zeros(1).expand(3)
    for attempt in (lambda: x.add_(1), lambda: x.__setitem__(0, 1.)):
        with pytest.raises(RuntimeError, match="clone|read-only|memory"):
            attempt()
    same(x, [0., 0., 0.])


def test_names_without_an_in_place_form():
    for name in ("reshape_", "expand_", "getitem_", "matmul__", "__"):
        with pytest.raises(AttributeError):
            getattr(torch.zeros(2), name)


def test_random_fills():
    torch.manual_seed(0)
    x = torch.zeros(2000)
    array = x.data
    assert x.normal_(5, 2) is x and x.data is array
    assert abs(x.mean().item() - 5) < 0.2 and abs(x.std().item() - 2) < 0.2
    x.uniform_(-3, -1)
    assert -3 <= x.min().item() < -2.9 and -1.1 < x.max().item() <= -1
    x.bernoulli_(0.25)
    assert set(x.tolist()) == {0., 1.} and 0.2 < x.mean().item() < 0.3
    x.exponential_(2.)
    assert x.min().item() >= 0 and 0.45 < x.mean().item() < 0.55


@pytest.mark.parametrize("write", [
    lambda x: x.__setitem__(0, 5.), lambda x: x.add_(1), lambda x: x.__imul__(2),
    lambda x: x[1:].zero_(),
    lambda x: x.mT.fill_(1.), lambda x: x.normal_(), lambda x: x.view(-1).__setitem__(0, 3.),
    lambda x: x.copy_(torch.zeros(2, 2)), lambda x: x.split(1)[1].add_(1)],
    ids=["item", "add_", "*=", "slice", "mT", "normal_", "view", "copy_", "split"])
def test_every_write_is_noted(write):
    """The write log knows the memory's owner, also through views, and only that memory"""
    x, y = torch.zeros(2, 2), torch.zeros(2, 2)
    time = writes.tick()
    assert not writes.since(x.data, time)
    write(x)
    assert writes.since(x.data, time) and writes.since(x[0].data, time)
    assert not writes.since(y.data, time) and not writes.since(x.data, writes.tick())
    assert writes.last < time


def test_reading_is_not_writing():
    x = torch.zeros(2, 2)
    time = writes.last
    x + 1, x[0], x.clone(), x.sum(), x.tolist(), x.masked_fill(x > 0, 1.), x.scatter(0, x.long(), x)
    assert writes.last == time
