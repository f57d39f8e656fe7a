"""A thread that loads ahead: its errors, its end, and that nobody waits for it."""
import gc
import threading
import time

import pytest

from tinytorch.data import DataLoader, IterableDataset, prefetch

from .support import Squares, becomes_true, numbers, settled


def threads(): return {thread for thread in threading.enumerate() if thread.is_alive()}


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = threads()
    yield
    gc.collect()
    assert becomes_true(lambda: threads() <= before), threads() - before


def test_not_here():
    """Items are loaded in one other thread, a daemon"""
    data = Squares()
    assert numbers(DataLoader(data, 5, prefetch=2)) == [[0, 1, 4, 9, 16], [25, 36, 49, 64, 81]]
    thread, = data.threads
    assert thread is not threading.current_thread() and thread.daemon


@pytest.mark.parametrize("ahead", [1, 3])
def test_ahead_and_no_further(ahead):
    """`ahead` batches wait, one more is in the thread's hands, one in ours"""
    data = Squares(100)
    batches = iter(DataLoader(data, 2, prefetch=ahead))
    next(batches)
    assert settled(data, 2 * (ahead + 2)) == 2 * (ahead + 2)
    next(batches)
    assert settled(data, 2 * (ahead + 3)) == 2 * (ahead + 3)


def test_nothing_before_the_first_batch():
    data = Squares()
    batches = iter(DataLoader(data, 2, prefetch=2))
    assert settled(data, 0) == 0
    del batches


def test_break():
    """The loop is left: the thread ends, whether it waits for room or loads"""
    for _ in range(20):
        for _ in DataLoader(Squares(1000), 2, prefetch=2):
            break


def test_an_iterator_that_is_forgotten():
    batches = iter(DataLoader(Squares(1000), 2, prefetch=2))
    next(batches)
    del batches


def test_an_error_in_the_loop():
    with pytest.raises(KeyError):
        for _ in DataLoader(Squares(1000), 2, prefetch=2):
            raise KeyError


def test_interrupted():
    """Ctrl-C in the loop"""
    with pytest.raises(KeyboardInterrupt):
        for _ in DataLoader(Squares(1000), 2, prefetch=2):
            raise KeyboardInterrupt


def test_closed_by_another_thread():
    batches = prefetch(iter(range(1000)), 2)
    next(batches)
    closer = threading.Thread(target=batches.close)
    closer.start()
    closer.join(5)
    assert not closer.is_alive()


class Broken(Squares):
    def __getitem__(self, index):
        if index == 5:
            raise IndexError("no such file")
        return super().__getitem__(index)


def test_an_error_in_the_thread():
    """The batches before it come first; then the error, with its class, the item and its cause"""
    batches, got = iter(DataLoader(Broken(), 2, prefetch=4)), []
    with pytest.raises(IndexError, match="item 5 of Broken: no such file") as raised:
        for batch in batches:
            got.append(batch.tolist())
    assert got == [[0, 1], [4, 9]] and str(raised.value.__cause__) == "no such file"
    assert next(batches, "over") == "over"


def test_the_next_epoch_after_an_error():
    loader = DataLoader(Broken(6), 2, prefetch=1)
    for _ in range(2):
        with pytest.raises(IndexError):
            list(loader)


def test_errors_of_a_stream_and_of_a_sampler():
    class Stream(IterableDataset):
        def __iter__(self):
            yield 1
            raise OSError("the line went dead")
    with pytest.raises(OSError, match="went dead"):
        list(DataLoader(Stream(), prefetch=1))

    def order():
        yield 0
        yield 1
        raise LookupError("no order")

    class Once:
        def __iter__(self): return order()
    with pytest.raises(LookupError, match="no order"):
        list(DataLoader(Squares(), sampler=Once(), prefetch=1))


def test_a_thread_that_exits():
    """SystemExit in an item ends the program, not just the thread"""
    class Quits(Squares):
        def __getitem__(self, index): raise SystemExit(3)
    with pytest.raises(SystemExit):
        list(DataLoader(Quits(), prefetch=1))


def test_never_two_threads_in_one_dataset():
    """After a break the old thread may be at an item still: the new one waits for it"""
    class Careful(Squares):
        inside = most = 0

        def __getitem__(self, index):
            Careful.inside += 1
            Careful.most = max(Careful.most, Careful.inside)
            time.sleep(0.002)
            Careful.inside -= 1
            return index
    loader = DataLoader(Careful(), 2, prefetch=1)
    for _ in range(5):
        for _ in loader:
            break
    assert numbers(loader)[0] == [0, 1] and Careful.most == 1


def test_the_loop_does_not_wait():
    """Slow items beside a slow step: as long as one of them, not as both"""
    class Slow(Squares):
        def __getitem__(self, index):
            time.sleep(0.02)
            return index

    def epoch(ahead):
        start = time.perf_counter()
        for _ in DataLoader(Slow(10), 1, prefetch=ahead):
            time.sleep(0.02)
        return time.perf_counter() - start
    serial = epoch(0)
    assert serial >= 0.4 and min(epoch(2) for _ in range(3)) < 0.8 * serial


def test_worker_init_fn():
    """Called once an epoch, in the thread, before its first batch; without a thread not at all"""
    data, called = Squares(2), []

    def init(worker): called.append((worker, len(data.asked), threading.current_thread()))
    list(DataLoader(data, worker_init_fn=init, prefetch=1))
    assert called == [(0, 0, data.threads.pop())]
    list(DataLoader(data, worker_init_fn=init))
    assert len(called) == 1


def test_a_program_that_ends_with_a_thread_waiting():
    """An iterator that is still there at the end does not keep the program from ending"""
    import subprocess
    import sys
    code = ("from tinytorch.data import DataLoader\n"
            "batches = iter(DataLoader(range(1000), 2, prefetch=2))\nprint(next(batches).tolist())")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[0, 1]", "")
