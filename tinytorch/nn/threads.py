# Generated from modules/09_spatial/threads_dev.py by tito export. Edit the lesson, not this file.
# source sha256 3759486e6080c38d29599c8cb4c62079b9dde597efb21e270ef3a27075359aa9  body sha256 069313111554cc1a21b30ad47f189e7c0ebdc633a97fac52cb79ef74d51fb872  # noqa: E501
"""nn.threads: built in module 09_spatial."""

import functools
import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait

__all__ = ["blas", "helpers", "threads_of_blas", "together"]


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
        others = [helpers(count - 1).submit(share, first) for first in range(1, count)]
        try:
            shares = [share(0)]
        finally:
            wait(others)                               # nobody works on when an error leaves
        shares += [other.result() for other in others]
    return [shares[i % count][i // count] for i in range(len(parts))]
