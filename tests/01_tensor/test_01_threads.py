"""Parts of one piece of work in several threads, with one BLAS thread each."""
import os
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from tinytorch.core.threads import gathered, in_pieces, threads_of_blas, together


def names(part): return part, threading.current_thread().name, threads_of_blas()


@pytest.mark.parametrize("allowed", [1, 2, 3])
def test_order_and_threads(allowed):
    """Results in the order of the parts, from as many threads as BLAS may use; BLAS has one in each"""
    with threadpool_limits(allowed, "blas"):
        if threads_of_blas() != allowed:
            pytest.skip("this BLAS cannot be told how many threads to use")
        done = together(names, list(range(7)))
        assert threads_of_blas() == allowed
    parts, who, blas = zip(*done)
    assert parts == tuple(range(7)) and set(blas) == {1}
    assert len(set(who)) <= allowed and threading.current_thread().name in who
    assert together(names, []) == []


def test_an_error_in_any_part_is_raised_here():
    """When the others are done, and BLAS has its threads again"""
    with threadpool_limits(2, "blas"):
        before, done = threads_of_blas(), []

        def work(part):
            if part == bad:
                raise KeyError(part)
            done.append(part)

        for bad in 0, 1:
            done.clear()
            with pytest.raises(KeyError, match=str(bad)):
                together(work, [0, 1, 2, 3])
            assert {0, 1} - {bad} <= set(done) and threads_of_blas() == before


def test_within_itself_and_from_another_thread():
    """Work that shares its own work, and work in a thread of the user's, stay in their thread"""
    with threadpool_limits(2, "blas"):
        inner = together(lambda part: together(names, [0, 1]), [0, 1])
        assert all(len({name for _, name, _ in done}) == 1 for done in inner)
        found = []
        thread = threading.Thread(target=lambda: found.append(together(names, [0, 1])), name="mine")
        thread.start()
        thread.join(10)
        assert [name for _, name, _ in found[0]] == ["mine", "mine"]


def test_a_setting_of_the_caller_holds_in_every_thread():
    """np.errstate: an overflow is an error in whichever thread it happens"""
    large = np.full(1000, 1e30, "float32")
    with threadpool_limits(2, "blas"), np.errstate(over="raise"):
        for work in ([1, large], [large, 1]):
            with pytest.raises(FloatingPointError):
                together(lambda x: x * x, work)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_has_threads_of_its_own():
    """The parent's threads are not there in the child, which must not wait for them"""
    with threadpool_limits(2, "blas"):
        together(names, [0, 1])
        child = os.fork()
        if not child:
            os._exit(0 if [part for part, *_ in together(names, [0, 1, 2])] == [0, 1, 2] else 1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("allowed", [1, 2])
@pytest.mark.parametrize("n, size", [(1, 1), (3, 1), (7, 3), (8, 2), (5, 100)])
def test_pieces_are_put_together(n, size, allowed):
    """Each row is made once, in pieces of at most `size`; one array or several, with sizes of their own"""
    rows, seen = np.arange(n), []

    def f(piece):
        seen.append(piece)
        return np.stack([rows[piece]] * 4, 1), -rows[piece].astype("float32")

    with threadpool_limits(allowed, "blas"):
        wide, negative = gathered(f, n, size)
        into = np.zeros(n)
        assert gathered(lambda piece: 10 * rows[piece], n, size, into) is into
        with pytest.raises(KeyError):
            gathered(lambda piece: {}[piece.start], n, size)
    np.testing.assert_array_equal(wide, np.stack([rows] * 4, 1))
    np.testing.assert_array_equal(negative, -rows)
    np.testing.assert_array_equal(into, 10 * rows)
    assert negative.dtype == np.float32
    assert sorted([i for piece in seen for i in range(n)[piece]]) == list(range(n))
    assert max([len(range(n)[piece]) for piece in seen]) <= size


def test_in_pieces():
    """Arrays of one shape are cut alike, whatever their strides; small ones are handed on as they are"""
    lengths = []

    def f(x, y, factor, offset=0):
        lengths.append(np.size(x))
        return x * factor + y + offset, x - y

    x, y = np.arange(600.).reshape(20, 30), np.arange(600.).reshape(30, 20).T
    for size in 100, 150:
        for got, want in zip(in_pieces(f, size)(x, y, 2, offset=1), f(x, y, 2, 1)):
            np.testing.assert_array_equal(got, want)
        if size == 100:
            assert max(lengths[:-1]) <= 100
        else:
            assert lengths == [600, 600]
        lengths.clear()
    in_pieces(lambda x: -x, 100)(x, into=x)
    assert x[0, 1] == -1 and x[19, 29] == -599
    assert in_pieces(f, 1)(2, 3, 4) == (11, -1)
