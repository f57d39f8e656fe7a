"""Reading and writing by index, and indices that are data."""
import itertools
import math

import numpy as np
import pytest

import tinytorch as torch

from .support import same

nan = math.nan
X = np.arange(24.).reshape(2, 3, 4)


def x24(): return torch.tensor(X)
def shares(a, b): return np.shares_memory(a.data, b.data)


# ---- reading by index ----

@pytest.mark.parametrize("index", [
    1, -1, slice(1, None), slice(None, None, 2), None, ..., (0, 1), (0, 1, 2), (slice(None), 1),
    (..., 1), (..., None), (None, 1), (0, ..., slice(1, 3)),
    (slice(None), slice(2), slice(1, None)),
    ([1, 0],), ([0, 1], [2, 0]), (slice(None), [2, 0]), ([0, 1], slice(None), [3, 0]),
    (np.array([True, False]),), ((X[:, :, 0] > 5),), (X > 11,), (0, [1, 1]), (1, slice(None), 2),
    (),
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


def test_any_basic_index():
    """All indices of up to three parts that NumPy takes, and IndexError for those it refuses"""
    parts = [0, -1, 2, slice(None), slice(1, None), slice(0, 0), slice(-1, 9, 2), None, ...]
    x, taken = x24(), 0
    for index in (i for n in range(4) for i in itertools.product(parts, repeat=n)):
        try:
            expected = X[index]
        except IndexError:
            with pytest.raises(IndexError):
                x[index]
        else:
            got = x[index].data
            assert got.shape == expected.shape and np.array_equal(got, expected), index
            taken += 1
    assert taken > 400


@pytest.mark.parametrize("index", [2, -3, (0, 3), ([0, 2],), (0, 0, 0, 0), torch.tensor([5]), 1.5],
                         ids=str)
def test_places_that_are_not_there(index):
    """IndexError, as in Python"""
    with pytest.raises(IndexError):
        x24()[index]


def test_a_slice_goes_forward():
    """PyTorch has no negative steps: ValueError that names flip"""
    for index in (slice(None, None, -1), (0, slice(2, None, -2)), slice(None, None, 0)):
        with pytest.raises(ValueError):
            x24()[index]
    with pytest.raises(ValueError, match="flip"):
        x24()[::-1]


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
    1, (slice(None), 1), (..., 2), (0, 1, 2), None, ([1, 0], [2, 2]), X > 11, (0, [1, 2]),
    slice(1, 2)],
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
    same(torch.index_add(x, 0, torch.tensor([0, 2, 0]), y, alpha=-1),
         [[-6., -8.], [0., 0.], [-3., -4.]])
    same(torch.index_copy(x, 0, torch.tensor([2, 0, 1]), y), [[3., 4.], [5., 6.], [1., 2.]])
    same(torch.index_fill(x, 1, torch.tensor([1]), 7.), [[0., 7.]] * 3)
    places = torch.tensor([0, 0]), torch.tensor([1, 1])
    same(x.index_put(places, torch.tensor([2., 3.]), accumulate=True),
         [[0., 5.], [0., 0.], [0., 0.]])
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
