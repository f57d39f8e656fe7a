"""A loader that goes on in the middle of an epoch, in another process if need be."""
import copy
import json

import pytest

import tinytorch as torch
from tinytorch.data import (
    BatchSampler,
    Compose,
    DataLoader,
    IterableDataset,
    RandomCrop,
    RandomHorizontalFlip,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
)

from .support import Noisy, Squares, numbers, seeded


class Pictures(Squares):
    """Cropped and flipped by chance."""
    transform = Compose([RandomCrop(4, padding=1), RandomHorizontalFlip()])
    def __getitem__(self, index):
        super().__getitem__(index)
        return self.transform(torch.arange(16.).reshape(1, 4, 4) + 100 * index)


def own_sampler(seed): return {"sampler": RandomSampler(range(10), generator=seeded(seed + 10))}
def own_batches(seed):
    return {"batch_sampler": BatchSampler(SubsetRandomSampler(range(10), seeded(seed + 10)), 3, False)}


KINDS = {
    "shuffled": lambda seed: dict(batch_size=3, shuffle=True),
    "stored order": lambda seed: dict(batch_size=3),
    "rest dropped": lambda seed: dict(batch_size=3, shuffle=True, drop_last=True),
    "prefetched": lambda seed: dict(batch_size=3, shuffle=True, prefetch=2),
    "single items": lambda seed: dict(batch_size=None, shuffle=True),
    "own sampler": lambda seed: dict(batch_size=3, **own_sampler(seed)),
    "own batches": own_batches,
}


def loader_of(kind, data=Pictures, seed=0): return DataLoader(data(), generator=seeded(seed),
                                                              **KINDS[kind](seed))


@pytest.mark.parametrize("kind", KINDS)
def test_from_everywhere(kind):
    """From each batch of the second epoch, through JSON, in a loader of another seed, to the same bits"""
    for taken in range(len(loader_of(kind)) + 1):
        loader = loader_of(kind)
        list(loader)
        epoch = iter(loader)
        for _ in range(taken):
            next(epoch)
        state = json.loads(json.dumps(loader.state_dict()))
        rest, following = numbers(epoch), numbers(loader)
        other = loader_of(kind, seed=5)
        other.load_state_dict(state)
        assert (numbers(other), numbers(other)) == (rest, following), taken


def test_skipped_batches_are_not_loaded():
    loader = loader_of("shuffled")
    epoch = iter(loader)
    next(epoch), next(epoch)
    other = loader_of("shuffled")
    other.load_state_dict(loader.state_dict())
    list(other)
    assert len(other.dataset.asked) == 4


def test_with_a_thread_here_and_without_there():
    """Loading ahead is no part of the plan"""
    loader = loader_of("prefetched")
    epoch = iter(loader)
    next(epoch)
    other = loader_of("shuffled", seed=3)
    other.load_state_dict(loader.state_dict())
    assert numbers(other) == numbers(epoch)


def test_the_state():
    """Where an epoch began and what was handed out; a copy, which later batches do not change"""
    loader = loader_of("shuffled")
    fresh = loader.state_dict()
    assert fresh["batches"] == 0 and fresh == loader.state_dict()
    assert fresh["plan"] == {"items": 10, "batch_size": 3, "drop_last": False, "order": "RandomSampler"}
    epoch = iter(loader)
    for taken in 0, 1, 2:
        state = loader.state_dict()
        kept = copy.deepcopy(state)
        assert state["batches"] == taken and state["generator"] == fresh["generator"]
        next(epoch)
        assert state == kept
    list(epoch)
    after = loader.state_dict()
    assert after["batches"] == 0 and after["generator"] != fresh["generator"]


def test_the_last_batch_without_the_end():
    """All batches were handed out, but nobody has asked for the end yet: nothing is left of this epoch"""
    loader = loader_of("shuffled")
    epoch = iter(loader)
    for _ in range(len(loader)):
        next(epoch)
    other = loader_of("shuffled")
    other.load_state_dict(loader.state_dict())
    assert list(other) == []
    assert numbers(other) == (list(epoch), numbers(loader))[1]


def test_saved_again_before_going_on():
    """And saved once more in the middle of the rest"""
    loader = loader_of("shuffled")
    epoch = iter(loader)
    next(epoch)
    state = loader.state_dict()
    other = loader_of("shuffled", seed=2)
    other.load_state_dict(state)
    assert other.state_dict() == state
    rest = iter(other)
    next(rest)
    third = loader_of("shuffled", seed=3)
    third.load_state_dict(other.state_dict())
    assert other.state_dict()["batches"] == 2 and numbers(third) == numbers(rest)


def test_after_a_break():
    """The loader at hand begins anew; its state, saved after the break, is where the loop was left"""
    loader = loader_of("shuffled")
    for _ in loader:
        break
    state = loader.state_dict()
    assert state["batches"] == 1
    assert len(list(loader)) == 4


def test_an_old_iterator_does_not_count():
    loader = loader_of("shuffled")
    old, new = iter(loader), iter(loader)
    next(new)
    list(old)
    assert loader.state_dict()["batches"] == 1
    loader.load_state_dict(state := loader_of("shuffled").state_dict())
    next(new)
    assert loader.state_dict() == state


@pytest.mark.parametrize("options", [dict(n=11), dict(batch_size=4), dict(shuffle=False),
                                     dict(drop_last=True)])
def test_another_plan(options):
    """An error that names both plans; nothing has changed"""
    def make(n=10, **options):
        return DataLoader(Squares(n), generator=seeded(), **{"batch_size": 3, "shuffle": True, **options})
    loader = make(**options)
    before = loader.state_dict()
    with pytest.raises(ValueError, match="the state is of a loader with .*'items': 10.* this one has"):
        loader.load_state_dict(make().state_dict())
    assert loader.state_dict() == before


def test_streams_are_read_again():
    """What was handed out is read and thrown away; what comes is the same"""
    class Stream(IterableDataset):
        read = 0
        def __iter__(self):
            for i in range(7):
                Stream.read += 1
                yield i, torch.rand(1).item()

    def batches(epoch): return [(i.tolist(), noise.tolist()) for i, noise in epoch]
    loader = DataLoader(Stream(), 2, generator=seeded())
    epoch = iter(loader)
    next(epoch)
    state, rest = loader.state_dict(), batches(epoch)
    other = DataLoader(Stream(), 2, generator=seeded(4), prefetch=1)
    other.load_state_dict(state)
    Stream.read = 0
    assert batches(other) == rest and Stream.read == 7


def test_random_order_of_a_sampler_that_draws_as_it_goes():
    """From the default generator: the draws of the skipped batches are made, their items are not loaded"""
    class Mine:
        def __len__(self): return 10
        def __iter__(self):
            for _ in range(10):
                yield torch.randint(10, (1,)).item()

    def make(seed): return DataLoader(Noisy(), 3, sampler=Mine(), generator=seeded(seed))
    loader = make(0)
    epoch = iter(loader)
    next(epoch)
    other = make(1)
    other.load_state_dict(loader.state_dict())
    assert [x.tolist() for pair in other for x in pair] == [x.tolist() for pair in epoch for x in pair]


def test_tensors_bit_by_bit():
    x = torch.randn(50, 3, generator=seeded())
    loader = DataLoader(TensorDataset(x), 8, shuffle=True, generator=seeded(1))
    epoch = iter(loader)
    next(epoch)
    other = DataLoader(TensorDataset(x), 8, shuffle=True, generator=seeded(2))
    other.load_state_dict(loader.state_dict())
    assert all((a.data == b.data).all() for (a,), (b,) in zip(epoch, other, strict=True))
