# Generated from modules/01_tensor/backend_dev.py by tito export. Edit the lesson, not this file.
# source sha256 0c0d65193eff1b8391b5569b0d67d023aa3a5a85179efdbbb2a571549ecd374b  body sha256 c930eb351407cf78f39ada5979935bfd2292e0ba4a487b29b115d19bf6f4f748  # noqa: E501
"""core.backend: built in module 01_tensor."""

import ctypes
import itertools
import os
import sys
import threading
import weakref
from contextlib import contextmanager

import numpy as np

__all__ = [
    "CPU", "Generator", "OnDevice", "WriteLog", "array_module", "cuda_available", "cuda_problem",
    "default_generator", "device", "device_of", "drawing_from", "is_array", "keep_freed_memory",
    "library_on", "manual_seed", "shares_memory", "to_device", "to_numpy", "usable_cupy", "writes",
    "wrote",
]


def array_module(x):
    """The library that made the array `x` (numpy or cupy); numpy for plain Python numbers."""
    if isinstance(x, np.ndarray):
        return np
    cupy = sys.modules.get("cupy")
    return cupy if cupy is not None and isinstance(x, cupy.ndarray) else np


def is_array(x):
    """True for an array of either library, also a 0-d one; False for numbers and lists."""
    return isinstance(x, np.ndarray) or array_module(x) is not np


class device:
    """A place for arrays: `device("cpu")`, `device("cuda")` or `device("cuda:1")`, as in PyTorch.

    Equal to another device, or to a string, that names the same place.
    """
    def __init__(self, name="cpu", index=None):
        kind, _, number = str(name).partition(":")
        if kind not in ("cpu", "cuda") or (number and not number.isdigit()):
            raise RuntimeError(f"device({str(name)!r}): no such device. "
                               "There are 'cpu', 'cuda' and 'cuda:0', 'cuda:1', ...")
        self.type = kind
        self.index = int(number) if number else index

    def __str__(self): return self.type if self.index is None else f"{self.type}:{self.index}"
    def __repr__(self):
        return f"device(type={self.type!r}" + (f", index={self.index})" if self.index is not None else ")")
    def __eq__(self, other):
        if isinstance(other, str):
            other = device(other)
        return (isinstance(other, device) and self.type == other.type
                and (self.index or 0) == (other.index or 0))
    def __hash__(self): return hash((self.type, self.index or 0))


CPU = device("cpu")


def device_of(array):
    """The device that holds `array`."""
    if isinstance(array, np.ndarray) or array_module(array) is np:
        return CPU
    return device("cuda", array.device.id)


_why_no_cuda = None                # the reason CUDA cannot be used, found once, shown when asked


def cuda_problem():
    """Why CUDA cannot be used here, in a sentence; an empty string if it can."""
    global _why_no_cuda
    if _why_no_cuda is None:
        try:
            import cupy
            _why_no_cuda = "" if cupy.cuda.is_available() else "CuPy finds no usable CUDA device"
        except Exception as error:         # a broken CUDA install raises errors of many classes
            _why_no_cuda = f"CuPy cannot be imported ({type(error).__name__}: {error})"
    return _why_no_cuda


def cuda_available():
    """True if arrays can live on a CUDA device here."""
    return not cuda_problem()


def usable_cupy(where):
    """CuPy, for arrays on the device `where`; raises RuntimeError with the reason if it cannot be used."""
    if cuda_problem():
        raise RuntimeError(f"device {str(where)!r}: {cuda_problem()}. Install the extra [gpu] on a machine "
                           "with an NVIDIA GPU, or stay on 'cpu'.")
    import cupy
    return cupy


def to_device(array, where):
    """`array` on the device `where`, itself if it is there already."""
    where = where if isinstance(where, device) else device(where)
    if device_of(array) == where:
        return array
    return to_numpy(array) if where.type == "cpu" else library_on(where).asarray(array)


def library_on(where):
    """The array library of the device `where`: what its functions make is made there."""
    where = where if isinstance(where, device) else device(where)
    return np if where.type == "cpu" else OnDevice(usable_cupy(where), where)


class OnDevice:
    """CuPy, or a generator of it, with each of its functions called on one device."""
    def __init__(self, what, where): self._what, self._index = what, where.index or 0

    def __getattr__(self, name):
        function = getattr(self._what, name)

        def there(*args, **kwargs):
            with sys.modules["cupy"].cuda.Device(self._index):
                return function(*args, **kwargs)

        return there


def to_numpy(array):
    """A NumPy array with the numbers of `array`; no copy if it is one."""
    return array if isinstance(array, np.ndarray) else array.get()


def shares_memory(x, y):
    """True if a write into one array may be seen in the other."""
    return array_module(x).may_share_memory(x, y)


class WriteLog:
    """When each piece of memory was last written in place, on the clock that also numbers nodes.

    The clock runs down, so that the newest has the smallest number. `last` is the latest write of
    all: whoever is newer than that need not look further.
    """
    def __init__(self):
        self.tick, self.last, self._written = itertools.count(0, -1).__next__, 1, {}

    def note(self, array):
        """`array` was written just now."""
        memory = _memory(array)
        if len(self._written) > 10_000:
            self._written = {k: v for k, v in self._written.items() if v[1]() is not None}
        self.last = self.tick()
        self._written[id(memory)] = self.last, weakref.ref(memory)

    def since(self, array, order):
        """True if the memory of `array` was written after the time `order`."""
        memory = _memory(array)
        time, written = self._written.get(id(memory), (order, None))
        return time < order and written() is memory


def _memory(array):
    """The array that owns the memory which `array` looks at."""
    while array.base is not None and is_array(array.base):
        array = array.base
    return array


writes = WriteLog()
wrote = writes.note


class Generator:
    """A source of random numbers on one device, with PyTorch's `manual_seed` and `initial_seed`."""
    def __init__(self, device="cpu"):
        self.device = device if not isinstance(device, str) else globals()["device"](device)
        self.manual_seed(int.from_bytes(os.urandom(7), "little"))

    def manual_seed(self, seed):
        """Start again from `seed`; returns the generator."""
        self._seed = seed
        if self.device.type == "cpu":
            self.random = np.random.default_rng(abs(seed))
        else:
            random = OnDevice(usable_cupy(self.device).random, self.device).default_rng(abs(seed))
            self.random = OnDevice(random, self.device)
        return self

    def seed(self):
        """Start from a seed nobody chose; returns it."""
        return self.manual_seed(int.from_bytes(os.urandom(7), "little"))._seed

    def initial_seed(self): return self._seed

    def get_state(self):
        """What `set_state` needs to go on from here: a dictionary of plain numbers and strings."""
        return self._bits().state

    def set_state(self, state): self._bits().state = state

    def _bits(self):
        if self.device.type != "cpu":
            raise NotImplementedError(f"the state of a generator on {self.device}: CuPy does not show "
                                      "it. Start again from a seed: generator.manual_seed(seed).")
        return self.random.bit_generator

    def permutation(self, n):
        """0 to n - 1 in random order."""
        if self.device.type == "cpu":
            return self.random.permutation(n)
        return self.random.random(n).argsort()         # CuPy's generators know no permutation


class _PerThreadGenerators(threading.local):
    def __init__(self): self.by_device, self.seed = {}, None


_generators = _PerThreadGenerators()
_process_seed = None               # what manual_seed was last called with
_streams = 0                       # threads that have drawn since then: each gets a number
_streams_lock = threading.Lock()


def default_generator(where=CPU):
    """This thread's generator on the device `where`."""
    global _streams
    mine = _generators
    if where not in mine.by_device:
        generator = Generator(where)
        if _process_seed is not None:
            if mine.seed is None:
                with _streams_lock:
                    _streams += 1
                    mine.seed = _process_seed + 2 ** 32 * _streams
            generator.manual_seed(mine.seed)
        mine.by_device[where] = generator
    return mine.by_device[where]


def manual_seed(seed):
    """Seed every generator of this thread; threads that start later get streams derived from it.

    Returns this thread's CPU generator.
    """
    global _process_seed, _streams
    with _streams_lock:
        _process_seed, _streams = seed, 0
    _generators.seed = seed
    for generator in _generators.by_device.values():
        generator.manual_seed(seed)
    return default_generator()


@contextmanager
def drawing_from(generator):
    """Inside, `generator` is this thread's default generator on the CPU; whatever was, is so again after."""
    mine = _generators.by_device                       # default_generator() would count a new thread's stream
    kept, mine[CPU] = mine.get(CPU), generator
    try:
        yield
    finally:
        if kept is None:
            del mine[CPU]
        else:
            mine[CPU] = kept


def keep_freed_memory():
    """Ask glibc to keep what arrays free; True if it agreed. `TINYTORCH_MALLOC=0` turns it off.

    Peak memory does not change. On other C libraries nothing happens.
    """
    if os.environ.get("TINYTORCH_MALLOC") == "0":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3              # malloc.h
    return bool(mallopt(M_MMAP_THRESHOLD, 1 << 30) or mallopt(M_MMAP_THRESHOLD, 1 << 25)) and bool(
        mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1))


keep_freed_memory()
