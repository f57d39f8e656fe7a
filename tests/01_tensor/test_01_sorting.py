"""Sorting, counting and finding, by hand."""
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core import indexing

from .support import same

nan = math.nan

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
