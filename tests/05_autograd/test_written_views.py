"""A view and its base, one of them written: both have the new numbers, and their history."""
import pytest

import tinytorch as torch

from .differences import S, W, Y, right, squares

VIEWS = {
    "row": lambda y: y[0], "element": lambda y: y[1, 2], "slice": lambda y: y[:, ::2],
    "mT": lambda y: y.mT,
    "T": lambda y: y.T, "transpose": lambda y: y.transpose(0, 1),
    "permute": lambda y: y.permute(1, 0),
    "reshape": lambda y: y.reshape(-1), "view": lambda y: y.view(3, 2),
    "flatten": lambda y: y.flatten(),
    "unsqueeze": lambda y: y.unsqueeze(1), "squeeze": lambda y: y.unsqueeze(1).squeeze(),
    "narrow": lambda y: y.narrow(1, 1, 2), "select": lambda y: y.select(1, -1),
    "diagonal": lambda y: y.diagonal(),
    "unflatten": lambda y: y.unflatten(1, (3, 1)), "movedim": lambda y: y.movedim(0, 1),
    "t": lambda y: y.t(),
    "of a view": lambda y: y[:, 1:][1],
    "of a view of a view": lambda y: y.mT[1:].reshape(2, 2)[0][1:],
    "chained": lambda y: y.reshape(3, 2).mT.unsqueeze(0)[0].mT[2],
    "swapaxes": lambda y: y.swapaxes(0, 1)[2],
    "view_as": lambda y: y.view_as(torch.zeros(6)), "ellipsis": lambda y: y[..., 1],
    "new axis": lambda y: y[None],
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("of_base, of_view", [(1, 0), (0, 1), (1, 1)])
def test_a_written_view_tells_its_base(name, of_base, of_view):
    """v = view of y; v += s: the loss of y, of v, and of both"""
    def f(y, w, s):
        y = y * 1
        v = VIEWS[name](y)
        v += s
        return squares(y) * of_base + squares(v) * of_view
    right(f, Y, W, S)


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("write", [
    lambda y, s: y.add_(s), lambda y, s: y.__setitem__(1, s), lambda y, s: y[:, 2].copy_(s * s)],
    ids=["add_", "item", "through a view"])
def test_a_written_base_tells_its_views(name, write):
    """A view taken before the base was written sees the new numbers, with their history"""
    def f(y, w, s):
        y = y * 1
        v = VIEWS[name](y)
        write(y, s)
        return squares(v) + squares(y)
    right(f, Y, W, S)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_written_by_assignment(name):
    def f(y, w, s):
        y = y * 1
        v = VIEWS[name](y)
        v[...] = s
        return squares(y)
    right(f, Y, W, S)


def overlapping(y, w, s):
    y = y.reshape(-1) * 1
    a, b = y[0:4], y[2:6]
    a += s
    b[0] = s * s
    a[3] += 1
    return squares(a, b, y)
def old_view_after_new_one(y, w, s):
    y = y * 1
    old = y[0]
    new = y[0, 1:]
    new += s
    return squares(old)
def view_of_an_old_view(y, w, s):
    y = y * 1
    old = y[0]
    y[0, 1] = s
    v = old[1:]
    v += w[0]
    return squares(y, old, v)
def base_is_gone(y, w, s):
    v = (y * 1)[0]
    v += w
    return squares(v)
def twice_through_views(y, w, s):
    y = y * 1
    y.mT[1] += s
    y[0] += w
    y.reshape(-1)[::2] += s
    return squares(y)
def read_between(y, w, s):
    y = y * 1
    before = y.sum() * 2
    y[0] += w
    after = y.sum(0) + 1
    y[1] += s
    return squares(after, y) + before
def plain_buffer(y, w, s):
    out = torch.zeros(2, 3, dtype=torch.float64)
    out[0] = w
    out[1] = y[1] * s
    return squares(out)
def views_of_a_plain_buffer(y, w, s):
    out = torch.zeros(2, 3, dtype=torch.float64)
    early, other = out[0], out.mT
    early += w
    out[1, 1] = s
    return squares(other, early, out)
def loop(y, w, s):
    h = torch.zeros(4, dtype=torch.float64)
    for t in range(1, 4):
        h[t] = h[t - 1].clone() * s + w[t - 1]
    return squares(h)
def written_twice_by_the_same(y, w, s):
    y = y * 1
    v = y[0]
    v += w
    v += w
    y += y.flip(0)
    return squares(y)
def swapped(y, w, s):
    y = y * 1
    first = y[0].clone()
    y[0] = y[1]
    y[1] = first
    return squares(y)
def nested_write(y, w, s):
    y = y * 1
    v = y[:, 1:]
    u = v[0]
    u[1] = s
    v[1] = w[:2]
    y[0, 0] = s * w[0]
    return squares(u, v, y)


@pytest.mark.parametrize("case", [
    overlapping, old_view_after_new_one, view_of_an_old_view, base_is_gone, twice_through_views,
    read_between, plain_buffer, views_of_a_plain_buffer, loop, written_twice_by_the_same, swapped,
    nested_write], ids=lambda f: f.__name__)
def test_views_together(case):
    right(case, Y, W, S)


def test_a_reshape_that_copied_is_no_view():
    """A write into the copy is not seen in the source, and has a gradient of its own"""
    def f(y, w, s):
        y = y * 1
        copy = y.mT.reshape(-1)
        copy += s
        picked = y[[0, 1]]
        picked *= 3
        return squares(y, copy, picked)
    right(f, Y, W, S)


def test_a_base_written_after_the_reshape_that_copied():
    def f(y, w, s):
        y = y * 1
        copy = y.mT.reshape(-1)
        y += s
        return squares(copy)
    right(f, Y, W, S)


def test_many_writes_into_one_tensor():
    """A thousand writes through views: right, and no recursion"""
    x = torch.tensor([1., 2., 3.], dtype=torch.float64, requires_grad=True)
    y = x * 1
    for i in range(1000):
        v = y[i % 3]
        v += x[(i + 1) % 3]
    (y * torch.tensor([1., 10., 100.])).sum().backward()
    assert x.grad.tolist() == [1 + 333 * 100., 10 + 334., 100 + 333 * 10.]
