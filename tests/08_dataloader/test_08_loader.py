"""The loader: options, epochs, and where random numbers come from."""
import gc
import threading
import weakref

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.backend import default_generator
from tinytorch.data import BatchSampler, DataLoader, IterableDataset, RandomSampler, TensorDataset

from .support import Noisy, Squares, numbers, seeded

# ---- batches ----


@pytest.mark.parametrize("n, size, drop, sizes", [
    (10, 4, False, [4, 4, 2]), (10, 4, True, [4, 4]), (8, 4, True, [4, 4]), (3, 4, True, []),
    (3, 4, False, [3]),
    (3, 1, False, [1, 1, 1])])
@pytest.mark.parametrize("prefetch", [0, 2])
def test_sizes(n, size, drop, sizes, prefetch):
    loader = DataLoader(Squares(n), size, shuffle=True, drop_last=drop, prefetch=prefetch)
    for _ in range(2):
        assert [len(batch) for batch in loader] == sizes and len(loader) == len(sizes)


def test_defaults():
    """As in PyTorch: batches of one item, in the stored order"""
    assert numbers(DataLoader([7, 8])) == [[7], [8]]
    assert numbers(DataLoader("abc", 2, collate_fn=lambda items: torch.tensor([ord(i) for i in items]))) == [
        [97, 98], [99]]


def test_single_items():
    """batch_size=None hands out items, arrays as tensors"""
    loader = DataLoader([np.arange(2), np.arange(3)], batch_size=None)
    assert [type(item).__name__ for item in loader] == ["Tensor"] * 2 and len(loader) == 2
    assert sorted(DataLoader(Squares(4), None, shuffle=True, collate_fn=str)) == ["0", "1", "4", "9"]
    with pytest.raises(IndexError, match="item 5 of list"):
        list(DataLoader([1], None, sampler=[0, 5]))


def test_collate_fn_gets_lists():
    """Also of a dataset that fetches a batch at once"""
    seen = []
    list(DataLoader(TensorDataset(torch.arange(3)), 2, collate_fn=seen.append))
    assert [type(items) for items in seen] == [list, list]
    assert [[x.item() for x, in items] for items in seen] == [[0, 1], [2]]


@pytest.mark.parametrize("options, says", [
    ({"batch_size": 0}, "batch_size"), ({"batch_size": 2.0}, "batch_size"),
    ({"num_workers": -1}, "num_workers"),
    ({"prefetch": -1}, "prefetch"), ({"prefetch_factor": 2}, "prefetch_factor"), ({"timeout": 3}, "timeout"),
    ({"timeout": -1}, "timeout"), ({"drop_last": None}, "drop_last"),
    ({"sampler": [1], "shuffle": True}, "mutually exclusive"),
    ({"batch_sampler": [[1]], "batch_size": 4}, "mutually exclusive"),
    ({"batch_sampler": [[1]], "sampler": [1]}, "mutually exclusive"),
    ({"batch_sampler": [[1]], "drop_last": True}, "mutually exclusive"),
    ({"batch_size": None, "drop_last": True}, "drop_last")])
def test_options_that_do_not_go_together(options, says):
    with pytest.raises(ValueError, match=says):
        DataLoader(Squares(), **options)


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}])
def test_a_stream_has_its_order(options):
    class Stream(IterableDataset):
        def __iter__(self): return iter([1])
    with pytest.raises(ValueError, match="IterableDataset"):
        DataLoader(Stream(), **options)
    with pytest.raises(TypeError):
        len(DataLoader(Stream()))


def test_wrong_things():
    with pytest.raises(ValueError, match="Squares is empty"):
        DataLoader(Squares(0))
    with pytest.raises(TypeError, match="no length.*IterableDataset"):
        DataLoader(iter([1, 2]))
    with pytest.raises(TypeError, match="sampler must yield"):
        DataLoader(Squares(), sampler=3)
    with pytest.raises(TypeError, match="Generator on the CPU"):
        DataLoader(Squares(), generator=np.random.default_rng(0))


def test_pytorchs_words():
    """A lesson written for PyTorch runs: num_workers asks for a thread"""
    loader = DataLoader(Squares(), batch_size=4, shuffle=False, num_workers=2, pin_memory=True,
                        persistent_workers=True, pin_memory_device="cuda", in_order=True)
    assert loader.prefetch == 4 and numbers(loader)[0] == [0, 1, 4, 9]
    assert DataLoader(Squares(), num_workers=2, prefetch_factor=3).prefetch == 6
    from tinytorch.utils.data import get_worker_info
    assert get_worker_info() is None


# ---- random numbers ----

def epochs(count=2, *, data=None, seed=0, **options):
    loader = DataLoader(data or Noisy(), **{"batch_size": 4, "shuffle": True, "generator": seeded(seed),
                                            **options})
    return [[(i.tolist(), noise.tolist()) for i, noise in loader] for _ in range(count)]


def test_epochs_differ_and_runs_do_not():
    one, two = epochs()
    assert one != two and [one, two] == epochs() and epochs(seed=1)[0] != one


def test_items_have_other_numbers_in_each_epoch():
    """Also in the stored order, and in each batch"""
    drawn = [noise for epoch in epochs(3, shuffle=False) for _, batch in epoch for noise in batch]
    assert len(set(drawn)) == 30


@pytest.mark.parametrize("options", [{"prefetch": 1}, {"prefetch": 7}, {"num_workers": 3}])
def test_a_thread_changes_no_number(options):
    assert epochs(**options) == epochs()


def test_the_default_generator_is_left_alone():
    """Drawn from once, when a loader without a generator is made; then it decides everything"""
    torch.manual_seed(3)
    loader = DataLoader(Noisy(), 4, shuffle=True)
    state = default_generator().get_state()
    first = [i.tolist() for i, _ in loader]
    assert default_generator().get_state() == state
    torch.manual_seed(3)
    assert [i.tolist() for i, _ in DataLoader(Noisy(), 4, shuffle=True, prefetch=2)] == first


def test_the_default_generator_is_put_back_after_an_error():
    class Broken(Noisy):
        def __getitem__(self, index):
            torch.rand(1)
            raise ValueError
    state, seed = default_generator().get_state(), default_generator().initial_seed()
    with pytest.raises(ValueError):
        list(DataLoader(Broken(), generator=seeded()))
    assert default_generator().get_state() == state and default_generator().initial_seed() == seed


def test_other_threads_draw_the_same():
    """A prefetching thread takes no stream of random numbers that another thread would have got"""
    def drawn_elsewhere(prefetch):
        torch.manual_seed(4)
        list(DataLoader(Noisy(), 4, prefetch=prefetch))
        found = []
        thread = threading.Thread(target=lambda: found.append(torch.rand(1).item()))
        thread.start()
        thread.join()
        return found
    assert drawn_elsewhere(2) == drawn_elsewhere(0)


def test_a_model_that_draws_changes_no_order():
    """Between the batches the loop has the default generator for itself"""
    loader, seen = DataLoader(Noisy(), 4, shuffle=True, generator=seeded()), []
    torch.manual_seed(5)
    undisturbed = [torch.rand(1).item() for _ in range(3)]
    torch.manual_seed(5)
    for batch in loader:
        seen.append((batch[0].tolist(), batch[1].tolist()))
        assert torch.rand(1).item() == undisturbed[len(seen) - 1]
    assert seen == epochs(1)[0]


def test_a_sampler_that_draws_from_the_default_generator():
    """It is lent a stream too, so its order does not depend on who loads, nor on what else is drawn"""
    class Mine:
        def __len__(self): return 10
        def __iter__(self):
            for _ in range(10):
                yield torch.randint(10, (1,)).item()
    assert epochs(sampler=Mine(), shuffle=None) == epochs(sampler=Mine(), shuffle=None, prefetch=3)


def test_two_iterators_at_once():
    """Each is an epoch of its own"""
    loader = DataLoader(Squares(), 5, shuffle=True, generator=seeded(), prefetch=2)
    pairs = list(zip(loader, loader))
    for side in zip(*pairs):
        assert sorted(sum(numbers(side), [])) == [i * i for i in range(10)]


def test_a_loader_is_let_go():
    loader = DataLoader(Squares(), 2, prefetch=1)
    alive = weakref.ref(loader)
    for _ in loader:
        break
    list(loader)
    del loader
    gc.collect()
    from .support import becomes_true
    assert becomes_true(lambda: alive() is None)


# ---- speed ----

def test_tensors_are_fetched_at_once():
    """An epoch of 60,000 items asks for each batch with one index"""
    class Counted(TensorDataset):
        calls = 0

        def __getitems__(self, indices):
            Counted.calls += 1
            return super().__getitems__(indices)
    x = torch.arange(60_000)
    total = sum(batch.sum().item() for batch, in DataLoader(Counted(x), 1000, shuffle=True))
    assert total == 60_000 * 59_999 // 2 and Counted.calls == 60


def test_batch_sampler_of_random_sampler():
    data = Squares(6)
    order = BatchSampler(RandomSampler(data, generator=seeded()), 4, True)
    loader = DataLoader(data, batch_sampler=order)
    assert len(loader) == 1 and loader.batch_size is None and len(numbers(loader)[0]) == 4
