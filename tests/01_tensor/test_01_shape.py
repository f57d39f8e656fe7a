"""Shapes: views, copies in another order, joining and splitting."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core import joining, shape

from .support import same

X = np.arange(24.).reshape(2, 3, 4)


def x24(): return torch.tensor(X)
def shares(a, b): return np.shares_memory(a.data, b.data)


# ---- views ----

def test_transposes():
    x = x24()
    same(x.transpose(0, 2), X.swapaxes(0, 2))
    same(torch.transpose(x, -1, -2), X.swapaxes(1, 2))
    same(x.mT, X.swapaxes(1, 2))
    same(x.T, X.T)
    same(x.permute(2, 0, 1), X.transpose(2, 0, 1))
    same(torch.permute(x, (1, -1, 0)), X.transpose(1, 2, 0))
    same(x.swapaxes(0, 1), X.swapaxes(0, 1))
    same(x.swapdims(0, 1), X.swapaxes(0, 1))
    same(x[0].t(), X[0].T)
    same(torch.t(torch.tensor([1., 2.])), [1., 2.])
    same(x.movedim(0, -1), np.moveaxis(X, 0, -1))
    same(torch.movedim(x, (0, 1), (1, 2)), np.moveaxis(X, (0, 1), (1, 2)))
    same(torch.moveaxis(x, 2, 0), np.moveaxis(X, 2, 0))
    for view in (x.transpose(0, 1), x.permute(2, 1, 0), x.T, x.mT, x.movedim(0, 1)):
        assert shares(view, x)


def test_reshapes():
    x = x24()
    for got, expected in [
            (x.reshape(4, 6), (4, 6)), (x.reshape((3, -1)), (3, 8)), (x.reshape([24]), (24,)),
            (x.view(2, 12), (2, 12)), (torch.reshape(x, (-1, 2)), (12, 2)), (x.flatten(), (24,)),
            (x.flatten(1), (2, 12)), (x.flatten(0, 1), (6, 4)), (torch.flatten(x, -2), (2, 12)),
            (x.ravel(), (24,)), (x.unflatten(2, (2, 2)), (2, 3, 2, 2)),
            (torch.unflatten(x, 0, (-1, 2)), (1, 2, 3, 4)), (x.unsqueeze(0), (1, 2, 3, 4)),
            (x.unsqueeze(-1), (2, 3, 4, 1)), (torch.unsqueeze(x, 2), (2, 3, 1, 4)),
            (x.view_as(torch.zeros(6, 4)), (6, 4)), (x.reshape_as(torch.zeros(8, 3)), (8, 3))]:
        same(got, X.reshape(expected))
        assert shares(got, x)
    same(torch.tensor(3.).reshape(1, 1), [[3.]])
    same(torch.tensor(3.).flatten(), [3.])
    same(torch.tensor([3.]).reshape(()), 3.)
    same(torch.zeros(0, 3).reshape(-1, 3), np.zeros((0, 3)))


def test_squeeze():
    x = torch.zeros(1, 2, 1, 3)
    assert x.squeeze().shape == (2, 3)
    assert x.squeeze(0).shape == (2, 1, 3)
    assert torch.squeeze(x, -2).shape == (1, 2, 3)
    assert x.squeeze(1).shape == (1, 2, 1, 3)
    assert x.squeeze((0, 2)).shape == (2, 3)


def test_view_refuses_to_copy():
    """After a transpose the elements are out of order: view is an error, reshape copies"""
    x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(RuntimeError, match=r"(?s)\(3, 2\).*reshape"):
        x.mT.view(6)
    flat = x.mT.reshape(6)
    same(flat, [1, 4, 2, 5, 3, 6])
    assert not shares(flat, x)
    same(x.mT.contiguous().view(6), [1, 4, 2, 5, 3, 6])
    same(x.mT.view(3, 2, 1), [[[1], [4]], [[2], [5]], [[3], [6]]])


@pytest.mark.parametrize("attempt", [
    lambda x: x.reshape(5, 5), lambda x: x.reshape(5, -1), lambda x: x.view(-1, -1),
    lambda x: x.flatten(2, 1), lambda x: x.unflatten(0, (3, 3)), lambda x: x.expand(3),
    lambda x: x.expand(2, 3, 5), lambda x: x.expand(-1, 2, 3, 4), lambda x: x.t(),
    lambda x: x.permute(0, 1),
    lambda x: x.permute(0, 0, 1), lambda x: x.movedim((0, 1), (1,)), lambda x: x.narrow(0, 1, 2),
    lambda x: x.split([1, 2]), lambda x: x.split(0), lambda x: x.chunk(0), lambda x: x.repeat(2),
    lambda x: torch.cat([x, x[:, 1:]]), lambda x: torch.stack([x, x[0]]),
    lambda x: x.topk(5), lambda x: x.gather(0, torch.zeros(2, dtype=torch.int64)),
    lambda x: x[0, 0].tril(),
    lambda x: torch.diag(x), lambda x: x.masked_select(x.long()), lambda x: x.unfold(0, 3, 1),
    lambda x: torch.broadcast_tensors(x, x[:, :2])],
    ids=lambda f: str(f.__code__.co_firstlineno) if callable(f) else None)
def test_shapes_that_are_refused(attempt):
    """RuntimeError, whatever the array library would have said"""
    with pytest.raises(RuntimeError):
        attempt(x24())


@pytest.mark.parametrize("attempt", [
    lambda x: x.transpose(0, 3), lambda x: x.unsqueeze(5), lambda x: x.squeeze(3),
    lambda x: x.flatten(3),
    lambda x: x.select(0, 2), lambda x: x.sort(3), lambda x: x.split(1, 3), lambda x: x.unbind(-4),
    lambda x: x.index_select(0, torch.tensor([2])), lambda x: x.index_select(0, torch.tensor([0.])),
    lambda x: torch.stack([x], 5), lambda x: x.movedim(0, 4), lambda x: torch.cat([x, x], 3),
    lambda x: x.flip(4), lambda x: x.roll(1, 5), lambda x: x.permute(0, 1, 3)],
    ids=lambda f: str(f.__code__.co_firstlineno) if callable(f) else None)
def test_dimensions_that_are_not_there(attempt):
    """IndexError"""
    with pytest.raises(IndexError):
        attempt(x24())


def test_expand_takes_no_memory():
    x = torch.tensor([[1.], [2.]])
    wide = x.expand(2, 3)
    same(wide, [[1., 1., 1.], [2., 2., 2.]])
    assert shares(wide, x) and wide.stride() == (1, 0)
    assert x.expand(4, -1, 3).shape == (4, 2, 3)
    same(x.expand_as(torch.zeros(2, 2)), [[1., 1.], [2., 2.]])
    same(x.broadcast_to((3, 2, 1)), np.broadcast_to([[1.], [2.]], (3, 2, 1)))
    a, b = torch.broadcast_tensors(x, torch.tensor([10., 20., 30.]))
    same(a, [[1., 1., 1.], [2., 2., 2.]])
    same(b, [[10., 20., 30.]] * 2)
    assert torch.broadcast_shapes((2, 1), (3,), 1) == (2, 3)


def test_slices_of_a_dimension():
    x = x24()
    same(x.narrow(2, 1, 2), X[:, :, 1:3])
    same(torch.narrow(x, 1, -2, 2), X[:, -2:])
    same(x.select(1, 2), X[:, 2])
    same(torch.select(x, -1, -1), X[..., -1])
    assert shares(x.narrow(0, 0, 1), x) and shares(x.select(0, 0), x)


def test_diagonals():
    x = x24()
    same(x.diagonal(), X.diagonal())
    same(torch.diagonal(x, 1, 1, 2), X.diagonal(1, 1, 2))
    same(x[0].diagonal(-1), [4., 9.])
    square = torch.zeros(3, 3)
    square.diagonal()[:] = 5.
    same(square, 5 * np.eye(3))
    same(torch.diag(torch.tensor([1., 2.]), 1), [[0., 1., 0.], [0., 0., 2.], [0., 0., 0.]])
    same(torch.diag(x[0], -1), [4., 9.])
    same(x[:, :2, 0].diag_embed(), [[[0., 0.], [0., 4.]], [[12., 0.], [0., 16.]]])
    same(torch.tensor([3.]).diag_embed(-1), [[0., 0.], [3., 0.]])
    same(x[0].tril(), np.tril(X[0]))
    same(torch.triu(x, 1), np.triu(X, 1))
    same(torch.tril(x, -1), np.tril(X, -1))
    same(torch.tensor([[1, 2], [3, 4]]).triu(), [[1, 2], [0, 4]], "int64")
    same(torch.tensor([[True, True], [True, True]]).tril(), [[True, False], [True, True]], "bool")


def test_unfold():
    x = torch.arange(7)
    same(x.unfold(0, 3, 2), [[0, 1, 2], [2, 3, 4], [4, 5, 6]])
    same(torch.tensor([[1, 2, 3], [4, 5, 6]]).unfold(1, 2, 1), [[[1, 2], [2, 3]], [[4, 5], [5, 6]]])


# ---- copies in another order ----

def test_copies():
    x = x24()
    for copy in (x.clone(), torch.clone(x), x.mT.contiguous().mT):
        same(copy, X)
        assert not shares(copy, x)
    assert x.contiguous() is x and x.is_contiguous() and not x.mT.is_contiguous()
    assert x.mT.contiguous().is_contiguous()


def test_flip_roll_turn():
    x = x24()
    same(x.flip(0, 2), np.flip(X, (0, 2)))
    same(torch.flip(x, (1,)), np.flip(X, 1))
    same(torch.fliplr(x), np.fliplr(X))
    same(torch.flipud(x), np.flipud(X))
    same(x.roll(1), np.roll(X, 1))
    same(torch.roll(x, (1, -1), (0, 2)), np.roll(X, (1, -1), (0, 2)))
    same(torch.roll(x, 5, 1), np.roll(X, 5, 1))
    for k in range(-1, 5):
        same(torch.rot90(x, k, (1, 2)), np.rot90(X, k, (1, 2)))
    assert not shares(x.flip(0), x)


def test_repeats():
    x = torch.tensor([[1, 2], [3, 4]])
    same(x.repeat(2, 3), np.tile([[1, 2], [3, 4]], (2, 3)))
    same(x.repeat(2, 1, 1), [[[1, 2], [3, 4]]] * 2)
    same(x.tile(2), [[1, 2, 1, 2], [3, 4, 3, 4]])
    same(torch.tile(x, (2, 1)), [[1, 2], [3, 4], [1, 2], [3, 4]])
    assert x.repeat(0, 1).shape == (0, 2)
    same(x.repeat_interleave(2), [1, 1, 2, 2, 3, 3, 4, 4])
    same(torch.repeat_interleave(x, 2, dim=1), [[1, 1, 2, 2], [3, 3, 4, 4]])
    same(x.repeat_interleave(torch.tensor([1, 2]), dim=0), [[1, 2], [3, 4], [3, 4]])


# ---- joining and splitting ----

def test_joining():
    x, y = torch.tensor([[1., 2.]]), torch.tensor([[3., 4.], [5., 6.]])
    same(torch.cat([x, y]), [[1., 2.], [3., 4.], [5., 6.]])
    same(torch.cat((y, y), dim=-1), [[3., 4., 3., 4.], [5., 6., 5., 6.]])
    same(torch.concat([x, x]), [[1., 2.], [1., 2.]])
    same(torch.concatenate([x, x], 1), [[1., 2., 1., 2.]])
    same(torch.cat([torch.tensor([1, 2]), torch.tensor([0.5])]), [1., 2., 0.5], "float32")
    same(torch.cat([torch.zeros(0), y]), [[3., 4.], [5., 6.]])
    same(torch.stack([y, y]), [[[3., 4.], [5., 6.]]] * 2)
    same(torch.stack([x[0], y[0]], 1), [[1., 3.], [2., 4.]])
    same(torch.stack([torch.tensor(1), torch.tensor(2)], -1), [1, 2])
    same(torch.hstack([torch.tensor([1.]), torch.tensor([2., 3.])]), [1., 2., 3.])
    same(torch.hstack([y, y[:, :1]]), [[3., 4., 3.], [5., 6., 5.]])
    same(torch.vstack([torch.tensor([1., 2.]), y]), [[1., 2.], [3., 4.], [5., 6.]])
    same(torch.row_stack([x, y]), [[1., 2.], [3., 4.], [5., 6.]])
    same(torch.dstack([x, x]), [[[1., 1.], [2., 2.]]])
    same(torch.column_stack([torch.tensor([1., 2.]), y]), [[1., 3., 4.], [2., 5., 6.]])


def test_nothing_to_join():
    with pytest.raises((ValueError, RuntimeError), match="cat"):
        torch.cat([])


def test_splitting():
    x = x24()
    def shapes(parts): return [p.shape for p in parts]
    assert shapes(x.split(2, 2)) == [(2, 3, 2), (2, 3, 2)]
    assert shapes(torch.split(x, 2, dim=1)) == [(2, 2, 4), (2, 1, 4)]
    assert shapes(x.split([1, 0, 3], -1)) == [(2, 3, 1), (2, 3, 0), (2, 3, 3)]
    assert shapes(x.chunk(3, 2)) == [(2, 3, 2), (2, 3, 2)]
    assert shapes(torch.chunk(x, 2, 1)) == [(2, 2, 4), (2, 1, 4)]
    assert shapes(torch.tensor_split(x, 3, 2)) == [(2, 3, 2), (2, 3, 1), (2, 3, 1)]
    assert shapes(x.tensor_split([1, 3], 2)) == [(2, 3, 1), (2, 3, 2), (2, 3, 1)]
    assert shapes(torch.zeros(0, 2).chunk(2)) == [(0, 2), (0, 2)]
    parts = x.split([1, 3], 2)
    same(parts[1], X[:, :, 1:])
    assert type(parts) is tuple and all(shares(p, x) for p in parts)
    same(torch.cat(x.tensor_split(3, 2), 2), X)
    rows = x.unbind(1)
    same(rows[2], X[:, 2])
    assert len(rows) == 3 and shares(rows[0], x)
    assert [t.item() for t in torch.unbind(torch.tensor([1, 2]))] == [1, 2]


def test_meshgrid():
    a, b = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([10, 20, 30]), indexing="ij")
    same(a, [[1, 1, 1], [2, 2, 2]])
    same(b, [[10, 20, 30], [10, 20, 30]])
    a, b = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([10, 20, 30]), indexing="xy")
    same(a, [[1, 2], [1, 2], [1, 2]])
    same(b, [[10, 10], [20, 20], [30, 30]])
    with pytest.raises(RuntimeError, match="ij"):
        torch.meshgrid(torch.tensor([1]), indexing="zz")


def test_atleast():
    assert joining.atleast(torch.tensor(1.), 1).shape == (1,)
    assert joining.atleast(torch.tensor([1., 2.]), 2).shape == (1, 2)
    assert joining.atleast(torch.tensor([1., 2.]), 3).shape == (1, 2, 1)
    x = torch.zeros(2, 3)
    assert joining.atleast(x, 2) is x


# ---- the helpers that ops share ----

def test_listed_and_place():
    assert shape.listed((2, 3)) == shape.listed(((2, 3),)) == shape.listed(([2, 3],)) == (2, 3)
    assert shape.place(torch.zeros(2, 3), -1) == 1
    assert shape.place(torch.zeros(2, 3), 2, extra=1) == 2
    with pytest.raises(IndexError, match=r"\(2, 3\)"):
        shape.place(torch.zeros(2, 3), 2)
