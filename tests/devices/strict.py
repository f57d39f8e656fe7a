"""A stand-in for CuPy on a machine without a GPU: arrays on a pretended device, strict ones.

`install(monkeypatch)` puts it in the place of CuPy. Its arrays hold NumPy's in secret; they have
the methods, keywords and functions that CuPy 14 has and no others, refuse to meet a NumPy array,
and whatever crosses between device and host is counted. So a copy to the host that nobody asked
for, or a call that CuPy does not know, is caught here, on any machine.
"""
import functools
import math
import sys
import threading
import types

import numpy as np

import tinytorch as torch
from tinytorch.core import backend

SCALARS = (bool, int, float, np.generic)


class Traffic:
    """What crossed: arrays to the host, arrays to the device, single numbers looked at."""
    def __init__(self): self.clear()
    def clear(self): self.to_host = self.to_device = self.looked = 0
    def counts(self): return self.to_host, self.to_device, self.looked


traffic = Traffic()


class Device:
    """cupy.cuda.Device: a number, and a block in which new arrays are made there."""
    current = threading.local()

    def __init__(self, id=None): self.id = Device.now() if id is None else int(id)
    @staticmethod
    def now(): return getattr(Device.current, "id", 0)
    def __enter__(self): self.before, Device.current.id = Device.now(), self.id
    def __exit__(self, *error): Device.current.id = self.before
    def __eq__(self, other): return isinstance(other, Device) and self.id == other.id
    def __hash__(self): return hash(self.id)


def refuse(x): raise TypeError(f"Unsupported type {type(x)}")


def hosts(x):
    """x with the secret NumPy array in the place of each array of the device, also in lists."""
    if isinstance(x, ndarray):
        return x._host
    if isinstance(x, np.ndarray):
        refuse(x)
    if isinstance(x, (tuple, list)):
        return type(x)([hosts(item) for item in x])
    if isinstance(x, dict):
        return {name: hosts(item) for name, item in x.items()}
    return x


def arrays_in(x):
    """The arrays of the device among x, lists searched too."""
    if isinstance(x, ndarray):
        return [x]
    if isinstance(x, (tuple, list, dict)):
        return [a for item in (x.values() if isinstance(x, dict) else x) for a in arrays_in(item)]
    return []


def one_device(x):
    """The number of the device on which all arrays in x lie."""
    found = {a.device.id for a in arrays_in(x)}
    if len(found) > 1:
        raise ValueError(f"Array device must be same as the current device: {sorted(found)}")
    return found.pop() if found else Device.now()


def wrapped(result, device, sources=()):
    """NumPy's answer as the device's: scalars are arrays of shape (), views know their base."""
    if isinstance(result, (tuple, list)):
        return tuple([wrapped(item, device, sources) for item in result])
    if not isinstance(result, (np.ndarray, np.generic)):
        return result
    for source in sources:
        if result is source._host:
            return source
        if isinstance(result, np.ndarray) and np.may_share_memory(result, source._host):
            return ndarray(result, device, source if source.base is None else source.base)
    return ndarray(np.asarray(result), device)


# Methods of cupy.ndarray with the keywords they take
METHODS = {
    "all": "axis out keepdims", "any": "axis out keepdims", "argmax": "axis out dtype keepdims",
    "argmin": "axis out dtype keepdims", "argpartition": "kth axis", "argsort": "axis kind",
    "astype": "dtype order casting subok copy", "clip": "min max out", "copy": "order",
    "cumprod": "axis dtype out", "cumsum": "axis dtype out", "diagonal": "offset axis1 axis2",
    "dot": "b out",
    "fill": "value", "flatten": "order", "max": "axis out keepdims",
    "mean": "axis dtype out keepdims",
    "min": "axis out keepdims", "nonzero": "", "prod": "axis dtype out keepdims", "ravel": "order",
    "repeat": "repeats axis", "reshape": "order", "round": "decimals out", "sort": "axis kind",
    "squeeze": "axis", "std": "axis dtype out ddof keepdims", "sum": "axis dtype out keepdims",
    "swapaxes": "axis1 axis2", "take": "indices axis out", "trace": "offset axis1 axis2 dtype out",
    "transpose": "", "var": "axis dtype out ddof keepdims", "view": "dtype",
}

OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "pow": np.power,
    "floordiv": np.floor_divide, "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "matmul": np.matmul, "lshift": np.left_shift, "rshift": np.right_shift,
}

COMPARISONS = {"lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal,
               "gt": np.greater,
               "ge": np.greater_equal}

FUNCTIONS = """
    absolute add all amax amin any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh
    argmax argmin argpartition argsort argwhere around bitwise_and bitwise_not bitwise_or
    bitwise_xor broadcast_arrays broadcast_to cbrt ceil clip concatenate copysign cos cosh
    count_nonzero cumprod cumsum diag diagonal diff divide dot einsum equal exp exp2 expand_dims
    expm1 fabs flip float_power floor floor_divide fmax fmin fmod greater greater_equal
    heaviside hypot invert isclose isfinite isinf isnan kron left_shift less less_equal log
    log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor matmul
    max maximum mean min minimum moveaxis multiply nan_to_num negative nonzero not_equal
    ones_like outer partition positive power prod put_along_axis ravel reciprocal remainder
    repeat reshape right_shift rint roll rollaxis rot90 sign signbit sin sinh sort split sqrt
    square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh tensordot tile
    trace transpose tril triu true_divide trunc unique unravel_index var vdot where zeros_like
    empty_like full_like bincount searchsorted
""".split()

CREATION = "zeros ones empty full arange eye tri linspace identity".split()


class ndarray:
    """cupy.ndarray, pretended."""
    __array_priority__ = 100

    def __init__(self, host, device, base=None):
        self._host, self._device, self.base = host, device, base

    shape = property(lambda self: self._host.shape)
    dtype = property(lambda self: self._host.dtype)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    itemsize = property(lambda self: self._host.itemsize)
    nbytes = property(lambda self: self._host.nbytes)
    strides = property(lambda self: self._host.strides)
    device = property(lambda self: Device(self._device))
    T = property(lambda self: self.transpose())

    @property
    def flags(self):
        """CuPy has these three and no `writeable`."""
        return types.SimpleNamespace(c_contiguous=self._host.flags.c_contiguous,
                                     f_contiguous=self._host.flags.f_contiguous,
                                     owndata=self.base is None)

    # To the host: only when asked, and always counted
    def get(self):
        traffic.to_host += 1
        return self._host.copy()
    def tolist(self): return self.get().tolist()
    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. "
                        "Please use `.get()` to construct a NumPy array explicitly.")
    def _look(self):
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous.")
        traffic.looked += 1
        return self._host.item()
    def item(self): return self._look()
    def __bool__(self): return bool(self._look())
    def __int__(self): return int(self._look())
    def __float__(self): return float(self._look())
    def __repr__(self): return f"<on device {self._device}: {self._host!r}>"

    # Indexing
    def __len__(self):
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]
    def __iter__(self): return (self[i] for i in range(len(self)))

    def __getitem__(self, index):
        index = hosts(index)
        parts = index if isinstance(index, tuple) else (index,)
        if all(isinstance(i, (int, np.integer, slice)) or i is None for i in parts):
            index = (*parts, ...)                      # a number is a view of shape (), too
        return wrapped(self._host[index], self._device, [self])

    def __setitem__(self, index, value):
        one_device([self, index, value])
        value = hosts(value)
        while isinstance(value, np.ndarray) and value.ndim and value.shape[0] == 1:
            value = value[0]                           # CuPy drops leading sizes of 1
        self._host[hosts(index)] = value

    # NumPy's protocols
    def __array_ufunc__(self, ufunc, how, *inputs, out=None, **kwargs):
        if how != "__call__" or ufunc.__name__ not in _names:
            return NotImplemented
        everything = [*inputs, *(out or ())]
        for x in everything:
            if isinstance(x, np.ndarray):
                refuse(x)
            if not isinstance(x, (ndarray, *SCALARS)):
                return NotImplemented
        device = one_device(everything)
        if out is not None:
            ufunc(*hosts(inputs), out=out[0]._host, **hosts(kwargs))
            return out[0]
        return wrapped(ufunc(*hosts(inputs), **hosts(kwargs)), device)

    def __array_function__(self, function, kinds, args, kwargs):
        module = functools.reduce(lambda m, name: getattr(m, name, None),
                                  function.__module__.split(".")[1:],
                                  sys.modules["cupy"])
        ours = getattr(module, function.__name__, None)
        return NotImplemented if ours is None else ours(*args, **kwargs)


def _method(name, keywords):
    def call(self, *args, **kwargs):
        unknown = set(kwargs) - set(keywords.split())
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument {unknown.pop()!r}")
        device = one_device([self, args, kwargs])
        result = getattr(self._host, name)(*hosts(args), **hosts(kwargs))
        if name == "diagonal":
            result.flags.writeable = True              # CuPy's views all are
        return wrapped(result, device, [self])
    return call


def _left(ufunc):
    def operate(self, other):
        if not isinstance(other, ndarray) and getattr(other, "__array_ufunc__", 0) is None:
            return NotImplemented
        return ufunc(self, other)
    return operate


def _right(ufunc): return lambda self, other: ufunc(other, self)
def _in_place(ufunc): return lambda self, other: ufunc(self, other, out=self)


for _name, _keywords in METHODS.items():
    setattr(ndarray, _name, _method(_name, _keywords))
for _name, _ufunc in OPERATORS.items():
    setattr(ndarray, f"__{_name}__", _left(_ufunc))
    setattr(ndarray, f"__r{_name}__", _right(_ufunc))
    setattr(ndarray, f"__i{_name}__", _in_place(_ufunc))
for _name, _ufunc in COMPARISONS.items():
    setattr(ndarray, f"__{_name}__", _left(_ufunc))
for _name, _ufunc in {"neg": np.negative, "abs": np.absolute, "invert": np.invert}.items():
    setattr(ndarray, f"__{_name}__", lambda self, ufunc=_ufunc: ufunc(self))
ndarray.__pos__ = lambda self: self
ndarray.__hash__ = None


# ---- the module ----

def _function(f):
    """A function of the module: arrays of one device in, arrays of it out."""
    @functools.wraps(f)
    def call(*args, **kwargs):
        device = one_device([args, kwargs])
        return wrapped(f(*hosts(args), **hosts(kwargs)), device, arrays_in([args, kwargs]))
    return call


def _created(f):
    return lambda *args, **kwargs: ndarray(f(*hosts(args), **hosts(kwargs)), Device.now())


def array(data, dtype=None, copy=True):
    """On the current device; arrays and lists that come from the host are counted."""
    if isinstance(data, ndarray):
        return ndarray(np.array(data._host, dtype), Device.now())
    parts = arrays_in(data)
    if not parts and not isinstance(data, SCALARS):
        traffic.to_device += 1
    if isinstance(data, (list, tuple)) and parts:
        data = hosts(list(data))
    return ndarray(np.array(data, dtype), one_device(parts))


def asarray(data, dtype=None):
    here = isinstance(data, ndarray) and data._device == Device.now()
    return data if here and dtype in (None, data.dtype) else array(data, dtype)


def indices(dimensions, dtype=int):
    """CuPy's has no `sparse`."""
    return ndarray(np.indices(dimensions, dtype), Device.now())


def searchsorted(a, v, side="left", sorter=None):
    if not isinstance(v, (ndarray, int, float)):
        raise NotImplementedError("Only python scalars or ndarrays are supported for v")
    return _function(np.searchsorted)(a, v, side, sorter)


def scatter_add(a, slices, value):
    """atomicAdd knows few types, where the places are an array of integers."""
    many = any(place.dtype.kind in "iu" for place in arrays_in(slices))
    if many and a.dtype not in ("int32", "uint32", "uint64", "float16", "float32", "float64"):
        raise TypeError("scatter_add only supports int32, float16, float32, float64, uint32, ...")
    one_device([a, slices, value])
    np.add.at(a._host, hosts(slices), hosts(value))


class Generator:
    """cupy.random.Generator: no `permutation`, and no state that could be read."""
    def __init__(self, seed):
        self._random, self.bit_generator = np.random.default_rng(seed), object()

    def _drawn(self, name, *args):
        return ndarray(np.asarray(getattr(self._random, name)(*args)), Device.now())
    def random(self, size=None, dtype=float): return self._drawn("random", size, np.dtype(dtype))
    def standard_normal(self, size=None, dtype=float):
        return self._drawn("standard_normal", size, np.dtype(dtype))
    def standard_exponential(self, size=None, dtype=float):
        return self._drawn("standard_exponential", size, np.dtype(dtype))
    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        low, high = int(low), None if high is None else int(high)
        return self._drawn("integers", low, high, size, dtype, endpoint)


def _module(name, **contents):
    module = types.ModuleType(name)
    vars(module).update(contents)
    return module


_names = {*FUNCTIONS, "conjugate", "deg2rad", "rad2deg", "ldexp", "nextafter", "modf"}


def install(monkeypatch):
    """Put the stand-in where `import cupy` finds it, for one test."""
    functions = {name: _function(getattr(np, name)) for name in FUNCTIONS}
    created = {name: _created(getattr(np, name)) for name in CREATION}
    linalg = _module("cupy.linalg", qr=_function(np.linalg.qr), norm=_function(np.linalg.norm))
    tricks = _module("cupy.lib.stride_tricks", as_strided=_function(
        lambda x, shape=None, strides=None: np.lib.stride_tricks.as_strided(x, shape, strides)))
    cupy = _module("cupy", **functions | created | dict(
        ndarray=ndarray, array=array, asarray=asarray, indices=indices, searchsorted=searchsorted,
        may_share_memory=lambda a, b: bool(np.may_share_memory(a._host, b._host)), newaxis=None,
        lib=_module("cupy.lib", stride_tricks=tricks), linalg=linalg,
        random=_module("cupy.random", default_rng=Generator),
        cuda=_module("cupy.cuda", Device=Device, is_available=lambda: True)))
    special = _module("cupyx.scipy.special", erf=_function(
        lambda x: np.vectorize(math.erf, otypes=[x.dtype])(x) if x.size else x.copy()))
    fakes = [cupy, linalg, cupy.random, cupy.cuda, special, _module("cupyx.scipy", special=special),
             _module("cupyx", scatter_add=scatter_add)]
    for fake in fakes:
        monkeypatch.setitem(sys.modules, fake.__name__, fake)
    monkeypatch.setattr(backend, "_why_no_cuda", None)
    monkeypatch.setattr(backend, "_generators", type(backend._generators)())
    traffic.clear()
    return cupy


# ---- what the tests ask ----

def assert_there(tensor, device): assert tensor.device == device, f"it came to {tensor.device}"


def same(got, expected, device="cuda"):
    """`got` lies on the device and holds the numbers of `expected`, a tensor or array."""
    assert_there(got, device)
    expected = expected.detach().numpy() if isinstance(expected, torch.Tensor) else expected
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_allclose(got.numpy(force=True), expected, rtol=1e-6, atol=1e-9)
