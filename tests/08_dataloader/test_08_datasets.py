"""Datasets: items by number, datasets of datasets, splits, and windows of a text."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.data import (
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    SequenceWindows,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from tinytorch.data.dataset_base import Rows, item_at, items_at, part_sizes

from .support import Squares, numbers, seeded

# ---- tensors ----


def test_tensor_dataset():
    """Memory is shared, and iterating goes through all items"""
    x, y = torch.arange(6).reshape(3, 2), torch.arange(3)
    data = TensorDataset(x, y)
    assert len(data) == 3 and [label.item() for _, label in data] == [0, 1, 2]
    x[1, 0] = 77
    assert data[1][0].tolist() == [77, 3]


def test_tensor_dataset_of_arrays():
    data = TensorDataset(np.arange(4.), torch.arange(4))
    assert all(isinstance(part, torch.Tensor) for part in data[0])


@pytest.mark.parametrize("tensors, says", [
    ([torch.zeros(3), torch.zeros(2)], r"\[3, 2\]"), ([torch.zeros(3), torch.tensor(1.)], r"\(3,\), \(\)"),
    ([], "first axis")])
def test_tensor_dataset_refuses(tensors, says):
    with pytest.raises(ValueError, match=says):
        TensorDataset(*tensors)


def test_rows_are_items():
    """A batch fetched at once is, as a sequence, the list of its items"""
    rows = TensorDataset(torch.arange(6).reshape(3, 2), torch.arange(3)).__getitems__([2, 0])
    assert isinstance(rows, Rows) and len(rows) == 2
    assert [(x.tolist(), y.item()) for x, y in rows] == [([4, 5], 2), ([0, 1], 0)]
    assert [y.item() for _, y in rows[:1]] == [2] and rows[-1][1].item() == 0
    with pytest.raises(IndexError):
        rows[2]


def test_a_subclass_that_changes_items():
    """Its own __getitem__ is asked, item by item, although the class above fetches a batch at once"""
    class Doubled(TensorDataset):
        def __getitem__(self, index): return super().__getitem__(index)[0] * 2

    class Tripled(Subset):
        def __getitem__(self, index): return super().__getitem__(index) * 3
    doubled = Doubled(torch.arange(4))
    assert numbers(DataLoader(doubled, 4)) == [[0, 2, 4, 6]]
    assert numbers(DataLoader(Tripled(doubled, [3, 1]), 2)) == [[18, 6]]


# ---- datasets of datasets ----

def test_subset():
    data = Subset(Squares(), [3, 1, 4])
    assert len(data) == 3 and [data[i] for i in range(3)] == [9, 1, 16] and data[-1] == 16
    assert Subset(data, [2, 0])[0] == 16
    with pytest.raises(IndexError):
        data[3]


def test_subset_of_tensors():
    """A batch is fetched at once through subsets; a list of numbers, or a tensor of them"""
    data = Subset(Subset(TensorDataset(torch.arange(10)), range(9, -1, -1)), torch.tensor([0, 5]))
    assert isinstance(items_at(data, [1, 0]), Rows)
    assert [x.item() for x, in items_at(data, [1, 0])] == [4, 9]
    assert data[[1, 0]][0].tolist() == [4, 9]


def test_concat():
    data = Squares(3) + Squares(2)
    assert isinstance(data, ConcatDataset) and data.cumulative_sizes == [3, 5]
    assert list(data) == [0, 1, 4, 0, 1] and data[-1] == 1 and data[-5] == 0
    for index in 5, -6:
        with pytest.raises(IndexError, match=str(index)):
            data[index]
    assert numbers(DataLoader(data, 3)) == [[0, 1, 4], [0, 1]]
    with pytest.raises(ValueError, match="at least one"):
        ConcatDataset([])


def test_stack():
    assert StackDataset(Squares(3), "abc")[2] == (4, "c")
    data = StackDataset(x=Squares(3), name="abc")
    assert data[1] == {"x": 1, "name": "b"} and len(data) == 3
    batch, = DataLoader(data, 3)
    assert batch["x"].tolist() == [0, 1, 4] and list(batch["name"]) == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"\[3, 2\]"):
        StackDataset("abc", "ab")
    with pytest.raises(ValueError, match="not both"):
        StackDataset("abc", x="abc")


class Countdown(IterableDataset):
    def __init__(self, n): self.n = n
    def __iter__(self): return iter(range(self.n, 0, -1))


def test_streams():
    chain = Countdown(2) + Countdown(3)
    assert isinstance(chain, ChainDataset) and list(chain) == list(chain) == [2, 1, 3, 2, 1]
    assert numbers(DataLoader(chain, 2)) == [[2, 1], [3, 2], [1]]
    assert numbers(DataLoader(chain, 2, drop_last=True, prefetch=2)) == [[2, 1], [3, 2]]
    assert list(DataLoader(chain, batch_size=None)) == [2, 1, 3, 2, 1]
    with pytest.raises(TypeError, match="ChainDataset"):
        ConcatDataset([Countdown(2)])


def test_a_dataset_must_say_what_it_has():
    with pytest.raises(NotImplementedError, match="Mine must define __getitem__"):
        class Mine(Dataset[int]): pass
        Mine()[0]
    with pytest.raises(NotImplementedError, match="__iter__"):
        iter(IterableDataset())


# ---- errors that name the item ----

class Odd(ValueError):
    def __init__(self, one, two): super().__init__(one, two)


@pytest.mark.parametrize("error, kind", [
    (ValueError("bad"), ValueError), (KeyError("name"), KeyError), (IndexError("far"), IndexError),
    (ZeroDivisionError("0"), ZeroDivisionError), (FileNotFoundError(2, "No such file", "a.png"),
                                                  FileNotFoundError),
    (Odd(1, 2), RuntimeError), (StopIteration("end"), RuntimeError),
    (UnicodeDecodeError("utf-8", b"x", 0, 1, "why"), RuntimeError)])
def test_the_class_is_kept(error, kind):
    """The item is named; the class is the same where one can be made of a text; the original is the cause"""
    class Broken(Squares):
        def __getitem__(self, index): raise error
    with pytest.raises(kind, match="item 7 of Broken") as raised:
        item_at(Broken(), 7)
    assert raised.value.__cause__ is error and str(error) in str(raised.value).replace("\\", "")


def test_the_innermost_names_it():
    """Through a Subset the error names the item of the dataset that failed, once"""
    class Broken(Squares):
        def __getitem__(self, index): return 1 // (index - 5)
    with pytest.raises(ZeroDivisionError) as raised:
        list(DataLoader(Subset(Broken(), [3, 5, 4]), 3))
    assert str(raised.value).startswith("item 5 of Broken: ") and str(raised.value).count("Broken") == 1


def test_batches_that_fail_as_a_whole():
    with pytest.raises(IndexError, match=r"items \[0, 7\] of TensorDataset"):
        items_at(TensorDataset(torch.arange(3)), [0, 7])

    class Short(Squares):
        def __getitems__(self, indices): return [1]
    with pytest.raises(ValueError, match="asked for 2 items and gave 1"):
        items_at(Short(), [0, 1])


# ---- splits ----

@pytest.mark.parametrize("lengths, n, sizes", [
    ([0.8, 0.2], 10, [8, 2]), ([0.5, 0.5], 5, [3, 2]), ([0.3, 0.3, 0.4], 10, [3, 3, 4]), ([1.0], 7, [7]),
    ([0.1] * 10, 23, [3, 3, 3, 2, 2, 2, 2, 2, 2, 2]), ([3, 0, 1], 4, [3, 0, 1]), ([1], 1, [1]),
    ([1, 0], 1, [1, 0]),
    ([0.7, 0.2, 0.1], 10, [7, 2, 1]), ([], 0, [])])
def test_sizes(lengths, n, sizes):
    """Shares are rounded down, and the rest goes from the first part on, as in PyTorch"""
    assert part_sizes(lengths, n) == sizes


@pytest.mark.parametrize("lengths, n", [([0.5, 0.4], 10), ([6, 3], 10), ([-1, 11], 10), ([4.5, 5.5], 10),
                                        ([1.5, -0.5], 10), ([], 3)])
def test_wrong_sizes(lengths, n):
    with pytest.raises(ValueError, match="lengths"):
        part_sizes(lengths, n)


def test_an_empty_part_is_said():
    with pytest.warns(UserWarning, match="part 1 is empty"):
        assert [len(part) for part in random_split("ab", [0.9, 0.1])] == [2, 0]


def test_a_split_is_a_partition():
    for n in 1, 2, 17, 100:
        parts = random_split(Squares(n), [0.6, 0.4] if n > 2 else [n, 0], seeded(n))
        assert sorted(i for part in parts for i in part.indices) == list(range(n))


# ---- windows ----

def test_windows():
    data = SequenceWindows(torch.tensor([5, 1, 7, 2, 9, 4]), 3, step=2)
    assert [[part.tolist() for part in item] for item in data] == [[[5, 1, 7], [1, 7, 2]],
                                                                   [[7, 2, 9], [2, 9, 4]]]
    assert [part.tolist() for part in data[-1]] == [[7, 2, 9], [2, 9, 4]]
    x, y = next(iter(DataLoader(data, 2)))
    assert x.tolist() == [[5, 1, 7], [7, 2, 9]] and y.tolist() == [[1, 7, 2], [2, 9, 4]]


@pytest.mark.parametrize("n, length, step, count", [(6, 5, None, 1), (7, 3, None, 2), (7, 3, 1, 4),
                                                    (8, 3, 3, 2)])
def test_how_many_windows(n, length, step, count):
    """No token twice as a question, unless the step is shorter; the last window has its answer"""
    data = SequenceWindows(np.arange(n), length, step)
    assert len(data) == len(list(data)) == count
    assert all(y.tolist() == [t + 1 for t in x.tolist()] and len(y) == length for x, y in data)
    for index in count, -count - 1:
        with pytest.raises(IndexError, match=str(index)):
            data[index]


@pytest.mark.parametrize("tokens, length, step", [(np.arange(5), 5, None), (np.zeros((3, 3)), 2, None),
                                                  (np.arange(5), 0, None), (np.arange(5), 2, 0),
                                                  (np.arange(5), 2.5, 1)])
def test_windows_refuse(tokens, length, step):
    with pytest.raises(ValueError):
        SequenceWindows(tokens, length, step)
