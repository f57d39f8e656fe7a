"""What lessons measure with: time, memory, and the data that come with the course."""

import os
import sys
from collections.abc import Callable
from time import perf_counter

from tito import console
from tito.checks import is_silent, is_unwritten, some_failed
from tito.errors import TitoError

SHORTEST = 1e-3  # seconds; a shorter call is repeated until the clock can see it


def timed(f: Callable, *args, repeat: int = 5) -> float:
    """Seconds that f(*args) takes: the median of `repeat` runs after one to warm up."""
    start = perf_counter()
    f(*args)
    calls = max(1, min(10_000, int(SHORTEST / max(perf_counter() - start, 1e-7))))
    taken = []
    for _ in range(max(1, repeat)):
        start = perf_counter()
        for _ in range(calls):
            f(*args)
        taken.append((perf_counter() - start) / calls)
    return sorted(taken)[len(taken) // 2]


def peak_bytes(f: Callable, *args) -> int:
    """The most memory that f(*args) holds at one time, in bytes above what was held before."""
    import gc
    import tracemalloc

    gc.collect()
    watched = tracemalloc.is_tracing()
    if not watched:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        f(*args)
        return max(0, tracemalloc.get_traced_memory()[1] - before)
    finally:
        if not watched:
            tracemalloc.stop()


def measure(function: Callable) -> Callable:
    """Runs the function at once where the lesson runs as a script or notebook; never in tests."""
    if not is_silent(sys._getframe(1)):
        try:
            function()
        except Exception as error:
            if is_unwritten(error):
                console.say(f"measured after the exercises are solved: {error}")
            elif some_failed():  # its cause was told where the check failed
                console.say(f"measured after the checks pass: {type(error).__name__}: {error}")
            else:
                raise
    return function


def dataset(name: str = "digits"):
    """Real data as NumPy arrays: "digits" gives images (1797, 64) float32 with values 0 to 16 and
    labels (1797,) int64."""
    import gzip

    import numpy as np

    if name != "digits":
        raise ValueError(f"dataset({name!r}): there is only dataset('digits').")
    with gzip.open(_file("digits.csv.gz"), "rt", encoding="ascii") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    return table[:, :64].copy(), table[:, 64].astype(np.int64)


def _file(name: str) -> str:
    from tito.lesson import course

    beside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # tito's own repository
    for root in (course(), beside):
        path = os.path.join(root or "", "datasets", name)
        if root and os.path.isfile(path):
            return path
    raise TitoError(
        f"datasets/{name} is not in this course folder.",
        "It comes with the course: copy it from there, or make a new folder with tito init.",
    )
