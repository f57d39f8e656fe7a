"""From items to a batch."""
import collections
import types

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.data import DataLoader, default_collate, default_convert

Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize("items, dtype", [
    ([1, 2], "int64"), ([1.5, 2], "float64"), ([1, 2.5], "float32"), ([True, False], "bool"),
    ([np.float32(1.5), np.float32(2)], "float32"), ([np.float64(1.5)], "float64"), ([np.int32(1)], "int32"),
    ([np.zeros(2, "float16")] * 2, "float16"), ([np.array(3)] * 2, "int64"),
    ([torch.tensor(1.)] * 3, "float32"),
    ([torch.zeros(2, dtype=torch.uint8)] * 2, "uint8")])
def test_dtypes(items, dtype):
    """PyTorch's: Python floats are float64, arrays and tensors keep what they are"""
    batch = default_collate(items)
    assert isinstance(batch, torch.Tensor) and batch.dtype == dtype
    assert batch.tolist() == [np.asarray(item).tolist() for item in items]


def test_containers():
    """A tuple becomes a list; named tuples, dictionaries and their kin stay what they are"""
    assert isinstance(default_collate([(1, 2)]), list) and isinstance(default_collate([[1, 2]]), list)
    batch = default_collate([Point(1, "a"), Point(2, "b")])
    assert isinstance(batch, Point) and batch.x.tolist() == [1, 2] and list(batch.y) == ["a", "b"]
    ordered = default_collate([collections.OrderedDict(b=1, a=2)] * 2)
    assert isinstance(ordered, collections.OrderedDict) and list(ordered) == ["b", "a"]
    default = collections.defaultdict(list, x=1)
    batch = default_collate([default, default])
    assert batch["x"].tolist() == [1, 1] and batch["missing"] == [] and dict(default) == {"x": 1}
    frozen = default_collate([types.MappingProxyType({"x": 1})] * 2)
    assert isinstance(frozen, types.MappingProxyType) and frozen["x"].tolist() == [1, 1]


def test_empty_containers():
    assert default_collate([{}, {}]) == {} and default_collate([(), ()]) == []
    assert default_collate([torch.zeros(0, 3)] * 2).shape == (2, 0, 3)


def test_texts_and_bytes():
    assert default_collate(["a", "b"]) == ["a", "b"] and default_collate([b"a"]) == [b"a"]


def test_gradients_go_through():
    x, y = torch.tensor([1., 2.], requires_grad=True), torch.tensor([3., 4.])
    default_collate([x, y]).sum().backward()
    assert x.grad.tolist() == [1., 1.]


def test_items_are_left_alone():
    items = [{"x": [1, 2]}, {"x": [3, 4]}]
    default_collate(items)
    assert items == [{"x": [1, 2]}, {"x": [3, 4]}]


def test_non_contiguous_and_mixed_dtypes():
    x = np.arange(6.).reshape(2, 3)
    assert default_collate([x.T, x.T]).tolist() == [x.T.tolist()] * 2
    assert default_collate([torch.tensor([1]), torch.tensor([0.5])]).dtype == "float32"


@pytest.mark.parametrize("items, says", [
    ([np.zeros(2), np.zeros(2), np.zeros(3)],
     r"item 2 .* array of shape \(3,\), item 0 is an array of shape \(2,\)"),
    ([torch.zeros(2), 3], "item 1 .* a number, item 0 is a tensor"),
    ([(1, 2), [1, 2]], "item 1 .* a list of 2"),
    ([(1, np.zeros(2)), (1, np.zeros((2, 1)))], r"item 1 .* \(2, 1\)"), ([1, "one"], "item 1 .* a str"),
    ([{"x": [1]}, {"x": [1, 2]}], "item 1 .* a list of 2")])
def test_ragged(items, says):
    with pytest.raises(RuntimeError, match=says):
        default_collate(items)


def test_the_loader_translates():
    """Of a ragged batch it names the items of the dataset, not only their places"""
    data = [np.zeros(2)] * 5 + [np.zeros(3)]
    with pytest.raises(RuntimeError, match=r"items \[4, 5\] of list: item 2 of the batch"):
        list(DataLoader(data, batch_sampler=[[4, 0, 5, 1]]))


@pytest.mark.parametrize("items, says", [
    ([None], "NoneType"), ([object()], "object"), ([np.array(["a"])], "tensors hold"), ([{1, 2}], "a set")])
def test_what_makes_no_batch(items, says):
    with pytest.raises(TypeError, match=says):
        default_collate(items)


def test_a_batch_of_nothing():
    with pytest.raises(ValueError, match="no items"):
        default_collate([])
    with pytest.raises(ValueError, match="no items"):
        list(DataLoader([1, 2], batch_sampler=[[]]))


def test_convert():
    """Without batches only arrays change"""
    item = default_convert({"x": np.arange(2), "y": (1, "a", np.float32(2)), "p": Point(np.zeros(1), None)})
    assert item["x"].tolist() == [0, 1] and item["y"][:2] == [1, "a"] and item["y"][2].dtype == "float32"
    assert isinstance(item["p"], Point) and isinstance(item["p"].x, torch.Tensor) and item["p"].y is None
    words = np.array(["a"])
    assert default_convert(words) is words and default_convert("text") == "text"
