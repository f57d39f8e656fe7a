"""Shapes and places: views, reading by index, joining, picking, sorting."""
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

import tinytorch as torch
from tinytorch.core import indexing, joining, shape

from .support import same

nan = math.nan
X = np.arange(24.).reshape(2, 3, 4)


def x24(): return torch.tensor(X)
def shares(a, b): return np.shares_memory(a.data, b.data)


# ---- reading by index ----

@pytest.mark.parametrize("index", [
    1, -1, slice(1, None), slice(None, None, 2), None, ..., (0, 1), (0, 1, 2), (slice(None), 1),
    (..., 1), (..., None), (None, 1), (0, ..., slice(1, 3)), (slice(None), slice(2), slice(1, None)),
    ([1, 0],), ([0, 1], [2, 0]), (slice(None), [2, 0]), ([0, 1], slice(None), [3, 0]),
    (np.array([True, False]),), ((X[:, :, 0] > 5),), (X > 11,), (0, [1, 1]), (1, slice(None), 2), (),
], ids=str)
def test_reading_is_numpys(index):
    """Ints, slices, None, ..., masks and lists give what NumPy gives; a scalar has the shape ()"""
    same(x24()[index], X[index])


def test_reading_with_tensors():
    x = x24()
    same(x[torch.tensor([1, 0])], X[[1, 0]])
    same(x[torch.tensor([[0, 1], [1, 1]])], X[[[0, 1], [1, 1]]])
    same(x[torch.tensor([0, 1]), torch.tensor([2, 0])], X[[0, 1], [2, 0]])
    same(x[:, torch.tensor([2, 0]), 1], X[:, [2, 0], 1])
    same(x[x > 11], X[X > 11])
    same(x[torch.tensor(1)], X[1])
    same(x[torch.tensor(1), torch.tensor(2, dtype=torch.int32), 0], X[1, 2, 0])
    same(x[torch.tensor([True, False])], X[[True, False]])
    same(x[[torch.tensor(1), torch.tensor(0)]], X[[1, 0]])
    same(torch.tensor([5, 6, 7])[torch.tensor([0, 2], dtype=torch.uint8).long()], [5, 7])


def test_a_basic_index_is_a_view_and_a_list_is_a_copy():
    x = x24()
    for index in (0, slice(1), (0, 1, 2), (..., None), (slice(None), 1)):
        assert shares(x[index], x), index
    for index in ([0, 1], torch.tensor([0]), x > 3):
        assert not shares(x[index], x), index


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_basic_index(data):
    shape_ = data.draw(array_shapes(min_dims=1, max_dims=4, max_side=4))
    index = data.draw(basic_indices(shape_, allow_newaxis=True))
    x = np.arange(math.prod(shape_)).reshape(shape_)
    same(torch.tensor(x)[index], x[index], "int64")


@pytest.mark.parametrize("index", [2, -3, (0, 3), ([0, 2],), (0, 0, 0, 0), torch.tensor([5]), 1.5],
                         ids=str)
def test_places_that_are_not_there(index):
    """IndexError, as in Python"""
    with pytest.raises(IndexError):
        x24()[index]


def test_iteration_and_membership():
    x = torch.tensor([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]] and len(x) == 2
    assert 3 in x and 5 not in x
    assert all(shares(row, x) for row in x)
    first, second = x
    same(second, [3, 4])
    for attempt in (lambda: len(torch.tensor(1)), lambda: list(torch.tensor(1))):
        with pytest.raises(TypeError, match="0-d"):
            attempt()


# ---- assignment ----

@pytest.mark.parametrize("index", [
    1, (slice(None), 1), (..., 2), (0, 1, 2), None, ([1, 0], [2, 2]), X > 11, (0, [1, 2]), slice(1, 2)],
    ids=str)
def test_writing_a_number(index):
    x, expected = x24(), X.copy()
    x[index] = -7.5
    expected[index] = -7.5
    same(x, expected)


def test_writing_arrays():
    """The value broadcasts; leading ones are allowed, as in PyTorch"""
    x, expected = x24(), X.copy()
    x[0] = torch.tensor([1., 2., 3., 4.])
    expected[0] = [1, 2, 3, 4]
    x[:, 1:2] = torch.tensor([[[9.]], [[8.]]])
    expected[:, 1:2] = [[[9]], [[8]]]
    x[1, 2] = torch.ones(1, 1, 4)
    expected[1, 2] = 1
    x[0, 0, 0] = torch.tensor([5.])
    expected[0, 0, 0] = 5
    same(x, expected)
    x[x > 10] = torch.tensor(0)
    same(x, np.where(expected > 10, 0, expected))
    x[torch.tensor([0, 1]), torch.tensor([1, 1])] = torch.zeros(4, dtype=torch.int64)
    same(x[:, 1], np.zeros((2, 4)))


def test_writing_keeps_the_dtype():
    x = torch.tensor([1, 2, 3])
    x[0] = 7.9
    same(x, [7, 2, 3], "int64")
    x[1:] = torch.tensor([True, False])
    same(x, [7, 1, 0], "int64")


def test_writing_what_does_not_fit():
    """RuntimeError with the shapes, and nothing is written"""
    x = torch.zeros(2, 3)
    with pytest.raises(RuntimeError, match=r"\(2, 3\).*\(2,\)"):
        x[:] = torch.ones(2)
    with pytest.raises(IndexError):
        x[5] = 1.
    same(x, np.zeros((2, 3)))


def test_writing_through_a_view():
    x = torch.zeros(2, 3)
    x.mT[0] = 5.
    x[1][2] = 7.
    x.view(6)[1] = 3.
    same(x, [[5., 3., 0.], [5., 0., 7.]])


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
    lambda x: x.expand(2, 3, 5), lambda x: x.expand(-1, 2, 3, 4), lambda x: x.t(), lambda x: x.permute(0, 1),
    lambda x: x.permute(0, 0, 1), lambda x: x.movedim((0, 1), (1,)), lambda x: x.narrow(0, 1, 2),
    lambda x: x.split([1, 2]), lambda x: x.split(0), lambda x: x.chunk(0), lambda x: x.repeat(2),
    lambda x: torch.cat([]), lambda x: torch.cat([x, x[:, 1:]]), lambda x: torch.stack([x, x[0]]),
    lambda x: x.topk(5), lambda x: x.gather(0, torch.zeros(2, dtype=torch.int64)), lambda x: x[0, 0].tril(),
    lambda x: torch.diag(x), lambda x: x.masked_select(x.long()), lambda x: x.unfold(0, 3, 1),
    lambda x: torch.broadcast_tensors(x, x[:, :2])],
    ids=lambda f: str(f.__code__.co_firstlineno) if callable(f) else None)
def test_shapes_that_are_refused(attempt):
    """RuntimeError, whatever the array library would have said"""
    with pytest.raises(RuntimeError):
        attempt(x24())


@pytest.mark.parametrize("attempt", [
    lambda x: x.transpose(0, 3), lambda x: x.unsqueeze(5), lambda x: x.squeeze(3), lambda x: x.flatten(3),
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


# ---- picking and placing ----

T = np.array([[10, 20, 30], [40, 50, 60]])


def test_gather():
    x = torch.tensor(T)
    same(x.gather(1, torch.tensor([[2, 2], [0, 1]])), [[30, 30], [40, 50]])
    same(torch.gather(x, 0, torch.tensor([[1, 0, 1]])), [[40, 20, 60]])
    same(torch.gather(x, -1, torch.tensor([[1]])), [[20]])
    for index in ([[3]], [[-1]]):
        with pytest.raises(RuntimeError, match=r"\(2, 3\)"):
            x.gather(1, torch.tensor(index))


def test_masked_fill():
    x = torch.tensor([[5., 3.], [1., 2.]])
    same(x.masked_fill(x > 2, -math.inf), [[-math.inf, -math.inf], [1., 2.]])
    same(torch.masked_fill(x, torch.tensor([True, False]), torch.tensor(9)), [[9., 3.], [9., 2.]])
    same(torch.tensor([1, 2]).masked_fill(torch.tensor([True, False]), 7), [7, 2], "int64")
    with pytest.raises(RuntimeError, match="bool"):
        x.masked_fill(torch.tensor([1, 0]), 0.)


def test_index_select_and_take():
    x = torch.tensor(T)
    same(x.index_select(1, torch.tensor([2, 0])), [[30, 10], [60, 40]])
    same(torch.index_select(x, 0, torch.tensor([1, 1])), [[40, 50, 60]] * 2)
    same(torch.take(x, torch.tensor([[0, 5], [-1, 2]])), [[10, 60], [60, 30]])
    same(torch.take_along_dim(x, torch.tensor([[2], [0]]), 1), [[30], [40]])
    same(torch.take_along_dim(x, torch.tensor([5, 0])), [60, 10])
    same(torch.masked_select(x, x > 20), [30, 40, 50, 60])
    same(x.masked_select(torch.tensor([True, False, True])), [10, 30, 40, 60])


def test_scatter():
    x, index = torch.zeros(2, 3), torch.tensor([[2, 0], [1, 1]])
    source = torch.tensor([[1., 2.], [3., 4.]])
    same(x.scatter(1, torch.tensor([[2, 0], [1, 0]]), source), [[2., 0., 1.], [4., 3., 0.]])
    same(torch.scatter(x, 0, torch.tensor([[1, 0, 1]]), 5.), [[0., 5., 0.], [5., 0., 5.]])
    same(x.scatter(1, index, value=7), [[7., 0., 7.], [0., 7., 0.]])
    same(x.scatter_add(1, index, source), [[2., 0., 1.], [0., 7., 0.]])
    same((x + 10).scatter(1, index, source, reduce="add"), [[12., 10., 11.], [10., 17., 10.]])
    same(x, np.zeros((2, 3)))
    with pytest.raises(RuntimeError, match="mean"):
        x.scatter(1, index, source, reduce="mean")
    with pytest.raises(RuntimeError, match="0 to 2"):
        x.scatter(1, index + 2, source)
    with pytest.raises(RuntimeError, match="int64"):
        x.scatter_add(1, index, index)


def test_index_add_copy_fill_put():
    x = torch.zeros(3, 2)
    y = torch.tensor([[1., 2.], [3., 4.], [5., 6.]])
    same(x.index_add(0, torch.tensor([0, 2, 0]), y), [[6., 8.], [0., 0.], [3., 4.]])
    same(torch.index_add(x, 0, torch.tensor([0, 2, 0]), y, alpha=-1), [[-6., -8.], [0., 0.], [-3., -4.]])
    same(torch.index_copy(x, 0, torch.tensor([2, 0, 1]), y), [[3., 4.], [5., 6.], [1., 2.]])
    same(torch.index_fill(x, 1, torch.tensor([1]), 7.), [[0., 7.]] * 3)
    places = torch.tensor([0, 0]), torch.tensor([1, 1])
    same(x.index_put(places, torch.tensor([2., 3.]), accumulate=True), [[0., 5.], [0., 0.], [0., 0.]])
    same(x.index_put((torch.tensor([1]),), torch.tensor(4.)), [[0., 0.], [4., 4.], [0., 0.]])
    same(x, np.zeros((3, 2)))


def test_nonzero():
    x = torch.tensor([[0., 2.], [3., 0.]])
    same(x.nonzero(), [[0, 1], [1, 0]], "int64")
    rows, columns = torch.nonzero(x, as_tuple=True)
    same(rows, [0, 1])
    same(columns, [1, 0])
    same(torch.argwhere(x), [[0, 1], [1, 0]])
    assert torch.zeros(3).nonzero().shape == (0, 1)
    assert torch.tensor(5.).nonzero().shape == (1, 0)


# ---- sorting, counting, finding ----

def test_sorting():
    x = torch.tensor([[3., 1., 2.], [1., nan, 0.]])
    values, indices = x.sort()
    same(values, [[1., 2., 3.], [0., 1., nan]])
    same(indices, [[1, 2, 0], [2, 0, 1]])
    found = torch.sort(x, dim=0, descending=True)
    same(found.values, [[3., nan, 2.], [1., 1., 0.]])
    same(found.indices, [[0, 1, 0], [1, 0, 1]])
    same(x[0].argsort(descending=True), [0, 2, 1])
    same(torch.argsort(torch.tensor([1, 0, 1, 0]), stable=True), [1, 3, 0, 2])
    same(torch.tensor([1, 0, 1, 0]).sort(descending=True, stable=True).indices, [0, 2, 1, 3])
    same(torch.tensor(3.).sort().indices, 0)
    same(torch.tensor([True, False]).sort().values, [False, True], "bool")


def test_topk():
    x = torch.tensor([[3., 1., 2., 5.], [1., 7., 0., 7.]])
    values, indices = x.topk(2)
    same(values, [[5., 3.], [7., 7.]])
    same(indices[0], [3, 0])
    assert sorted(indices[1].tolist()) == [1, 3]
    same(torch.topk(x, 1, dim=0).values, [[3., 7., 2., 7.]])
    same(x.topk(2, largest=False).values, [[1., 2.], [0., 1.]])
    assert x.topk(0).values.shape == (2, 0)
    many = np.random.default_rng(0).permutation(1000).astype("float32")
    values, indices = torch.tensor(many).topk(5)
    same(values, [999., 998., 997., 996., 995.])
    assert many[indices.numpy()].tolist() == values.tolist()
    same(torch.tensor(many).topk(3, largest=False).values, [0., 1., 2.])


def test_kthvalue():
    x = torch.tensor([[3., 1., 2.], [9., 8., 7.]])
    values, indices = x.kthvalue(2)
    same(values, [2., 8.])
    same(indices, [2, 1])
    same(torch.kthvalue(x, 1, dim=0, keepdim=True).values, [[3., 1., 2.]])
    with pytest.raises(RuntimeError, match="k=4"):
        x.kthvalue(4)


def test_unique():
    x = torch.tensor([[3, 1], [1, 7]])
    same(x.unique(), [1, 3, 7])
    values, places, counts = torch.unique(x, return_inverse=True, return_counts=True)
    same(values[places], [[3, 1], [1, 7]])
    same(counts, [2, 1, 1])
    same(torch.unique(torch.tensor([[1, 2], [1, 2], [0, 5]]), dim=0), [[0, 5], [1, 2]])


def test_finding():
    edges = torch.tensor([1., 3., 5.])
    same(torch.searchsorted(edges, torch.tensor([0., 3., 4., 9.])), [0, 1, 2, 3], "int64")
    same(torch.searchsorted(edges, torch.tensor([3.]), right=True), [2])
    same(torch.searchsorted(edges, 3., side="right"), 2)
    same(torch.searchsorted(torch.tensor([[1, 2], [5, 6]]), torch.tensor([[2, 9], [2, 6]])),
         [[1, 2], [0, 1]])
    same(torch.bucketize(torch.tensor([[0., 4.]]), edges), [[0, 2]])
    same(torch.bucketize(torch.tensor([3.]), edges, right=True, out_int32=True), [2], "int32")


def test_counting():
    same(torch.bincount(torch.tensor([0, 2, 2])), [1, 0, 2], "int64")
    same(torch.bincount(torch.tensor([1]), minlength=3), [0, 1, 0])
    same(torch.bincount(torch.tensor([0, 1, 1]), torch.tensor([0.5, 1., 2.])), [0.5, 3.], "float32")
    with pytest.raises(RuntimeError, match="bincount"):
        torch.bincount(torch.tensor([-1]))
    same(indexing.one_hot(torch.tensor([[0, 2]])), [[[1, 0, 0], [0, 0, 1]]], "int64")
    same(indexing.one_hot(torch.tensor([1]), 4), [[0, 1, 0, 0]])
    with pytest.raises(RuntimeError, match="num_classes"):
        indexing.one_hot(torch.tensor([4]), 4)


# ---- the helpers that ops share ----

def test_listed_and_place():
    assert shape.listed((2, 3)) == shape.listed(((2, 3),)) == shape.listed(([2, 3],)) == (2, 3)
    assert shape.place(torch.zeros(2, 3), -1) == 1 and shape.place(torch.zeros(2, 3), 2, extra=1) == 2
    with pytest.raises(IndexError, match=r"\(2, 3\)"):
        shape.place(torch.zeros(2, 3), 2)
