"""torch.utils.data: what becomes of items, how parts are cut, how many batches there are."""
import collections
import math

import numpy as np
import pytest

import tinytorch
from tinytorch.utils import data as ours

torch = pytest.importorskip("torch", reason="pip install -e '.[conformance]' has the judge")
theirs = torch.utils.data

Point = collections.namedtuple("Point", "x y")
BATCHES = [
    [1, 2], [1.5, 2.5], [1, 2.5], [1.5, 2], [True, False], [np.float32(1.5)], [np.float64(1), np.float64(2)],
    [np.int32(4)], [np.array(3)], [np.zeros((2, 3), "float16")] * 2, [np.arange(3)] * 2, ["a", "b"],
    [b"a", b"b"],
    [(1, "a"), (2, "b")], [[1, 2.5], [3, 4.5]], [{"x": 1, "y": (2, 3)}] * 2, [Point(1, [2]), Point(3, [4])],
    [({"a": [np.zeros(2)]}, "t")] * 3, [()] * 2, [collections.OrderedDict(b=1, a=2)] * 2,
]


def plain(x):
    """Types, dtypes, shapes and values in words that both libraries share."""
    if isinstance(x, (torch.Tensor, tinytorch.Tensor)):
        return "tensor", str(x.dtype).removeprefix("torch."), tuple(x.shape), x.tolist()
    if isinstance(x, dict):
        return type(x).__name__, [(key, plain(value)) for key, value in x.items()]
    if isinstance(x, (tuple, list)):
        return type(x).__name__, [plain(value) for value in x]
    return x


@pytest.mark.parametrize("items", BATCHES, ids=str)
def test_collate(items):
    assert plain(ours.default_collate(items)) == plain(theirs.default_collate(items))


@pytest.mark.parametrize("item", [batch[0] for batch in BATCHES], ids=str)
def test_convert(item):
    assert plain(ours.default_convert(item)) == plain(theirs.default_convert(item))


@pytest.mark.parametrize("items, kind", [([(1, 2), (3,)], RuntimeError), ([None], TypeError),
                                         ([object()], TypeError),
                                         ([np.zeros(2), np.zeros(3)], RuntimeError)])
def test_collate_refuses(items, kind):
    for library in ours, theirs:
        with pytest.raises(kind):
            library.default_collate(items)


@pytest.mark.filterwarnings("ignore:.*empty")
@pytest.mark.parametrize("lengths, n", [([0.5, 0.5], 5), ([0.8, 0.1, 0.1], 17), ([0.1] * 10, 23),
                                        ([1 / 3] * 3, 10),
                                        ([1], 1), ([1, 0], 1), ([4, 2], 6), ([0.9, 0.1], 2)])
def test_split_sizes(lengths, n):
    assert math.isclose(sum(lengths), 1) or sum(lengths) == n
    assert [len(part) for part in ours.random_split(range(n), lengths)] == [
        len(part) for part in theirs.random_split(range(n), lengths)]


@pytest.mark.parametrize("n, size, drop", [(10, 4, False), (10, 4, True), (8, 4, True), (3, 4, True),
                                           (1, 1, False)])
def test_batches(n, size, drop):
    x = np.arange(n, dtype="float32")
    mine = ours.DataLoader(ours.TensorDataset(tinytorch.tensor(x)), size, drop_last=drop)
    judge = theirs.DataLoader(theirs.TensorDataset(torch.tensor(x)), size, drop_last=drop)
    assert len(mine) == len(judge) and plain(list(mine)) == plain(list(judge))


@pytest.mark.parametrize("options, kind", [
    ({"batch_size": 0}, ValueError), ({"num_workers": -1}, ValueError),
    ({"sampler": [0], "shuffle": True}, ValueError),
    ({"batch_sampler": [[0]], "batch_size": 2}, ValueError),
    ({"batch_size": None, "drop_last": True}, ValueError),
    ({"prefetch_factor": 2}, ValueError), ({"timeout": -1}, ValueError), ({"drop_last": 3}, ValueError)])
def test_loader_refuses(options, kind):
    for library in ours, theirs:
        with pytest.raises(kind):
            library.DataLoader(range(4), **options)


def test_samplers_and_lists():
    """What depends on no random numbers: single items, orders of one's own, datasets of datasets"""
    def seen(library):
        data = library.ConcatDataset([range(3), library.Subset(range(10, 20), [7, 2])])
        return plain([list(library.DataLoader(data, 2)), list(library.DataLoader(data, batch_size=None)),
                      list(library.DataLoader(data, batch_sampler=[[4], [0, 3]])),
                      list(library.BatchSampler(library.SequentialSampler(data), 2, True)),
                      list(library.DataLoader(library.StackDataset(data, data), 3)), data[-1], len(data)])
    assert seen(ours) == seen(theirs)


def test_every_name_is_pytorchs():
    assert set(ours.__all__) <= set(theirs.__all__), set(ours.__all__) - set(theirs.__all__)
