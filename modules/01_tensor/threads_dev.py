# %% [markdown]
# # Piece by piece, on every core
#
# Given code: nothing to solve here. Two things make long computations of NumPy slower than they need be.
#
# It uses one core for everything but matrix products, and a product of small matrices gains little from a
# second one: the threads of BLAS wait for each other at every product. The pictures of a batch do not wait
# for each other. So where BLAS may use several threads, it is left one for a while, and the parts of the
# batch are shared among as many threads of Python. NumPy lets others run while it copies, adds or multiplies.
#
# And each step of a formula reads and writes a whole array. A large one does not stay in the processor's
# cache from one step to the next, and memory is several times slower. So large arrays are cut: all the steps
# with one piece, then with the next.

# %%
#| default_exp core.threads

# %%
import contextvars
import functools
import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np

# %%
#| export
@functools.cache
def blas():
    """The BLAS libraries that are loaded (threadpoolctl); asked for once."""
    from threadpoolctl import ThreadpoolController
    return ThreadpoolController().select(user_api="blas")


def threads_of_blas():
    """How many threads a matrix product may use, by OMP_NUM_THREADS and the like."""
    return max([library.num_threads for library in blas().lib_controllers], default=1)


@functools.cache
def helpers(count):
    """So many threads that wait for work."""
    return ThreadPoolExecutor(count, thread_name_prefix="tinytorch")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=helpers.cache_clear)        # a fork has none of its parent's threads


def together(work, parts):
    """[work(part) for part in parts], done in as many threads as a matrix product may use.

    Called from another thread than the main one, by whoever shares work himself, it uses only that one:
    OpenBLAS takes orders from the main thread alone.

    >>> together(lambda n: 10 * n, [1, 2, 3])
    [10, 20, 30]
    """
    count = min(threads_of_blas(), len(parts))
    if count < 2 or threading.current_thread() is not threading.main_thread():
        return [work(part) for part in parts]

    def share(first): return [work(part) for part in parts[first::count]]

    with blas().limit(limits=1):
        others = [helpers(count - 1).submit(contextvars.copy_context().run, share, first)   # with np.errstate
                  for first in range(1, count)]
        try:
            shares = [share(0)]
        finally:
            wait(others)                               # nobody works on when an error leaves
        shares += [other.result() for other in others]
    return [shares[i % count][i // count] for i in range(len(parts))]


# %% [markdown]
# What the pieces give is put together as it comes: while a piece is still in the cache.

# %%
#| export
def gathered(f, n, size, into=None):
    """What f makes of the pieces of range(n), slices of up to `size`, done `together`: put together, n rows.

    f(piece) gives an array with a row for each number of the piece, or a tuple of such arrays. n: at least 1.
    into: an array of n rows to write to, if f gives one.

    >>> gathered(lambda piece: 10 * np.arange(5)[piece], 5, size=2)
    array([ 0, 10, 20, 30, 40])
    """
    count, threads = math.ceil(n / size), threads_of_blas()
    if count > threads:
        count = min(n, math.ceil(count / threads) * threads)           # for each thread as many
    edges = [n * i // count for i in range(count + 1)]
    wholes, allocating = [] if into is None else [into], threading.Lock()

    def put(piece):
        results = f(piece)
        arrays = results if isinstance(results, tuple) else (results,)
        with allocating:
            if not wholes:
                wholes.extend([np.empty((n, *array.shape[1:]), array.dtype) for array in arrays])
        for whole, array in zip(wholes, arrays):
            whole[piece] = array
        return isinstance(results, tuple)

    several = together(put, [slice(*two) for two in zip(edges, edges[1:])])
    return tuple(wholes) if several[0] else wholes[0]


def in_pieces(forward, size=1 << 18):
    """`forward` for functions of each number alone: what it makes of a large array is made piece by piece.

    forward(x, *others): takes arrays of one shape, then what else it likes; gives such an array, or several.
    into: a contiguous array, which may be one of the inputs, that a large result is written to.
    """
    @functools.wraps(forward)
    def pieced(x, *others, into=None, **params):
        if not isinstance(x, np.ndarray) or x.size <= 4 * size:        # to copy few costs more than it gains
            return forward(x, *others, **params)
        flat = [a.reshape(-1) if isinstance(a, np.ndarray) else a for a in (x, *others)]

        def f(piece): return forward(*[a[piece] if isinstance(a, np.ndarray) else a for a in flat], **params)

        made = gathered(f, x.size, size, None if into is None else into.reshape(-1))
        return tuple([a.reshape(x.shape) for a in made]) if isinstance(made, tuple) else made.reshape(x.shape)
    return pieced
