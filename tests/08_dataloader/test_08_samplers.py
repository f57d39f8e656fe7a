"""Samplers: in which order."""
import pytest

import tinytorch as torch
from tinytorch.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from .support import Squares, numbers, seeded


def test_sequential():
    assert list(SequentialSampler("abc")) == [0, 1, 2] and len(SequentialSampler("abc")) == 3


def test_subset_random():
    sampler = SubsetRandomSampler([5, 7, 9, 11], seeded())
    orders = [list(sampler) for _ in range(5)]
    assert all(sorted(order) == [5, 7, 9, 11] for order in orders) and len(set(map(tuple, orders))) > 1
    assert len(sampler) == 4


def test_weighted():
    """As often as the weights say; without replacement no item twice"""
    order = list(WeightedRandomSampler([0., 1., 3.], 2000, generator=seeded()))
    assert order.count(0) == 0 and 0.7 < order.count(2) / 2000 < 0.8
    for seed in range(5):
        assert sorted(WeightedRandomSampler([0.1, 5., 1.], 3, False, seeded(seed))) == [0, 1, 2]


@pytest.mark.parametrize("make", [
    lambda: WeightedRandomSampler([1., 2.], 0), lambda: WeightedRandomSampler([[1.]], 1),
    lambda: WeightedRandomSampler([1.], 1, replacement=1), lambda: RandomSampler([]),
    lambda: RandomSampler("ab", num_samples=0), lambda: RandomSampler("ab", num_samples=1.5),
    lambda: BatchSampler([1], 0, False), lambda: BatchSampler([1], True, False),
    lambda: BatchSampler([1], 2.0, False),
    lambda: BatchSampler([1], 2, None)])
def test_refused(make):
    with pytest.raises(ValueError, match="should be|one weight"):
        make()


def test_refused_types():
    with pytest.raises(TypeError, match="replacement"):
        RandomSampler("ab", replacement=1)
    with pytest.raises(TypeError, match="Generator on the CPU"):
        RandomSampler("ab", generator=3)


def test_the_dataset_may_grow():
    """How many there are is asked for at each epoch"""
    items = [1, 2]
    sampler = RandomSampler(items, generator=seeded())
    items.append(3)
    assert sorted(sampler) == [0, 1, 2] and len(sampler) == 3


@pytest.mark.parametrize("make", [
    lambda seed: RandomSampler(range(20), generator=seeded(seed)),
    lambda seed: SubsetRandomSampler(range(20), seeded(seed)),
    lambda seed: WeightedRandomSampler(torch.ones(20), 10, generator=seeded(seed)),
    lambda seed: BatchSampler(RandomSampler(range(20), generator=seeded(seed)), 3, False)])
def test_states(make):
    """What a sampler draws next can be saved and restored"""
    sampler, other = make(0), make(1)
    list(sampler)
    other.load_state_dict(sampler.state_dict())
    assert list(other) == list(sampler) and list(other) == list(sampler)


def test_samplers_without_random_numbers_have_an_empty_state():
    assert SequentialSampler("abc").state_dict() == {} == BatchSampler([1, 2], 2, False).state_dict()


def test_own_samplers_and_orders():
    """Any iterable is an order; numbers may be negative, come twice, or be tensors"""
    class Backwards(Sampler):
        def __init__(self, data): self.data = data
        def __iter__(self): return iter(range(len(self.data) - 1, -1, -1))
        def __len__(self): return len(self.data)
    data = Squares(4)
    assert numbers(DataLoader(data, 3, sampler=Backwards(data))) == [[9, 4, 1], [0]]
    assert numbers(DataLoader(data, 3, sampler=[-1, 2, 2])) == [[1, 4, 4]]
    assert numbers(DataLoader(data, batch_sampler=[[1], [2, 3]])) == [[1], [4, 9]]
    assert numbers(DataLoader([10, 11], 2, sampler=torch.tensor([1, 0]))) == [[11, 10]]
    with pytest.raises(NotImplementedError, match="must define __iter__"):
        iter(Sampler())
