"""Data on a device: batches and transforms stay there."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.data import (
    CenterCrop,
    DataLoader,
    Normalize,
    Pad,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    SequenceWindows,
    TensorDataset,
    default_collate,
)

from .strict import assert_there, same


def test_batches(device):
    """Fetched at once and one by one, with and without a thread"""
    x, y = torch.arange(10.).to(device), torch.arange(10).to(device)
    for data in TensorDataset(x, y), [(a, b) for a, b in zip(x, y)]:
        for prefetch in 0, 2:
            batches = list(DataLoader(data, 4, shuffle=True, prefetch=prefetch))
            for a, b in batches:
                assert_there(a, device)
                assert_there(b, device)
            assert sorted(torch.cat([a for a, _ in batches]).cpu().tolist()) == list(range(10))


def test_collate_and_windows(device):
    assert_there(default_collate([{"x": torch.ones(2).to(device)}] * 2)["x"], device)
    x, y = next(iter(DataLoader(SequenceWindows(torch.arange(9).to(device), 3), 2)))
    assert_there(x, device)
    assert y.cpu().tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("transform", [
    Normalize([0.5, 0.1], [2., 3.]), RandomCrop(2, padding=1),
    RandomCrop(5, pad_if_needed=True, padding_mode="edge"),
    Pad((1, 2), fill=3), Pad(1, padding_mode="reflect"), CenterCrop(2), RandomHorizontalFlip(1),
    RandomErasing(1)],
    ids=str)
def test_transforms(device, transform):
    """The same numbers as on the CPU"""
    x = torch.tensor(np.arange(32, dtype="float32").reshape(2, 4, 4))
    torch.manual_seed(0)
    want = transform(x)
    torch.manual_seed(0)
    same(transform(x.to(device)), want)
