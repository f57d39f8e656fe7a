# %% [markdown]
# # New tensors, and random numbers
#
# Given code: nothing to solve here. PyTorch's creation functions with PyTorch's keywords: `dtype`,
# `device`, `requires_grad`, and `generator` where numbers are drawn.

# %%
#| default_exp core.creation

# %%
import math
import operator

import numpy as np

from tinytorch.core.backend import (
    CPU,
    array_module,
    default_generator,
    device,
    is_array,
    library_on,
    to_device,
)
from tinytorch.core.base import method
from tinytorch.core.casts import to
from tinytorch.core.dtypes import bool_, float16, float32, float64, int64
from tinytorch.core.op import op
from tinytorch.core.shape import listed
from tinytorch.core.tensor import Tensor, as_array

# %% [markdown]
# ## From what is there
#
# `tensor` copies; `as_tensor` and `from_numpy` share the memory of an array where they can.

# %%
#| export
def library(where): return np if where is None else library_on(where)


def wrap(array, device=None, requires_grad=False):
    """A tensor around `array`, moved to the device."""
    return Tensor._of(array if device is None else to_device(array, device)).requires_grad_(requires_grad)


def tensor(data, dtype=None, device=None, requires_grad=False):
    """A new tensor with the numbers of `data`: a number, nested lists, an array or a tensor."""
    return Tensor(data, dtype, device, requires_grad)


def from_numpy(array):
    """A tensor that shares the memory of a NumPy array."""
    if not is_array(array):
        raise TypeError(f"from_numpy: expected an array, got {array.__class__.__name__}. Use tensor().")
    if str(array.dtype) not in _DTYPES:
        raise TypeError(f"from_numpy: tensors hold {', '.join(_DTYPES)}; this array holds {array.dtype}. "
                        "Convert it first: array.astype('float32').")
    return Tensor._of(array)


_DTYPES = "float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"


def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, without a copy if it is one already, or an array."""
    if isinstance(data, Tensor) or is_array(data):
        return to(data if isinstance(data, Tensor) else from_numpy(data), dtype=dtype, device=device)
    return Tensor(data, dtype, device)


def asarray(data, dtype=None, device=None, copy=None, requires_grad=False):
    out = Tensor(data, dtype, device) if copy else as_tensor(data, dtype, device)
    return out.requires_grad_(requires_grad) if requires_grad else out
def from_dlpack(source):
    """A tensor in the memory of another library's array."""
    if source.__dlpack_device__()[0] == 1:             # DLPack's number for the CPU
        return from_numpy(np.from_dlpack(source))
    return from_numpy(library("cuda").from_dlpack(source))


def is_tensor(x): return isinstance(x, Tensor)


# %% [markdown]
# ## Filled, counted, spaced
#
# Sizes may be given as `zeros(2, 3)` or `zeros((2, 3))`. A number says which dtype its tensor has: float32
# for floats, int64 for integers, bool for True and False.

# %%
#| export
def _dtype_of(*numbers):
    """The dtype that a tensor made of these numbers has."""
    kinds = {as_array(n).dtype.kind for n in numbers}
    return float32 if "f" in kinds else bool_ if kinds == {"b"} else int64


def zeros(*size, dtype=None, device=None, requires_grad=False, **named):
    return wrap(library(device).zeros(_size(size, named), dtype or float32), device, requires_grad)
def ones(*size, dtype=None, device=None, requires_grad=False, **named):
    return wrap(library(device).ones(_size(size, named), dtype or float32), device, requires_grad)
def empty(*size, dtype=None, device=None, requires_grad=False, **named):
    """A tensor of whatever numbers its memory holds."""
    return wrap(library(device).empty(_size(size, named), dtype or float32), device, requires_grad)
def full(size, fill_value, dtype=None, device=None, requires_grad=False):
    """A tensor filled with one number."""
    number = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    return wrap(library(device).full(_size((size,), {}), number, dtype or _dtype_of(fill_value)), device,
                requires_grad)


def _size(size, named):
    """The shape from `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`."""
    sizes = listed((named.pop("size"),) if "size" in named else size)
    if named:
        raise TypeError(f"unexpected keyword {next(iter(named))!r}.")
    if sizes and min(sizes) < 0:
        raise RuntimeError(f"a tensor of shape {sizes}: sizes must be 0 or more.")
    return sizes


def zeros_like(x, dtype=None, device=None, requires_grad=False):
    return full_like(x, 0, dtype, device, requires_grad)
def ones_like(x, dtype=None, device=None, requires_grad=False):
    return full_like(x, 1, dtype, device, requires_grad)
def empty_like(x, dtype=None, device=None, requires_grad=False):
    return empty(x.shape, **_like(x, dtype, device), requires_grad=requires_grad)
def full_like(x, fill_value, dtype=None, device=None, requires_grad=False):
    return full(x.shape, fill_value, **_like(x, dtype, device), requires_grad=requires_grad)


def _like(x, dtype, device): return {"dtype": dtype or x.dtype, "device": device or x.device}


@method
def new_zeros(x, *size, dtype=None, device=None, requires_grad=False, **named):
    return zeros(*size, **_like(x, dtype, device), requires_grad=requires_grad, **named)
@method
def new_ones(x, *size, dtype=None, device=None, requires_grad=False, **named):
    return ones(*size, **_like(x, dtype, device), requires_grad=requires_grad, **named)
@method
def new_empty(x, *size, dtype=None, device=None, requires_grad=False, **named):
    return empty(*size, **_like(x, dtype, device), requires_grad=requires_grad, **named)
@method
def new_full(x, size, fill_value, dtype=None, device=None, requires_grad=False):
    return full(size, fill_value, **_like(x, dtype, device), requires_grad=requires_grad)
@method
def new_tensor(x, data, dtype=None, device=None, requires_grad=False):
    return Tensor(data, **_like(x, dtype, device), requires_grad=requires_grad)


def arange(start, end=None, step=1, dtype=None, device=None, requires_grad=False):
    """start, start + step, ... as long as it is below `end`; arange(n) counts from 0."""
    start, end = (0, start) if end is None else (start, end)
    start, end, step = _numbers(dtype, start, end, step)
    if step == 0 or (end - start) / step < 0 or not math.isfinite((end - start) / step):
        raise RuntimeError(f"arange({start}, {end}, {step}): the step must not be 0, and must lead from "
                           "start to end.")
    places = library(device).arange(math.ceil((end - start) / step))
    return wrap((start + places * step).astype(dtype or _dtype_of(start, end, step)), device, requires_grad)


def _numbers(dtype, *numbers):
    """Python numbers from numbers and tensors; whole ones if `dtype` is of integers."""
    numbers = [n.item() if isinstance(n, Tensor) else n for n in numbers]
    return [int(n) for n in numbers] if dtype is not None and np.dtype(dtype).kind in "iu" else numbers


def _spaced(start, end, steps, device):
    """`steps` float64 numbers from start to end, counted from the nearer of the two."""
    if operator.index(steps) < 0:                      # a float is a TypeError
        raise RuntimeError(f"the number of steps, {steps}, must be 0 or more.")
    places, step = library(device).arange(steps), (end - start) / (steps - 1 if steps > 1 else 1)
    return array_module(places).where(places < (steps + 1) // 2, start + step * places,
                                      end - step * (steps - 1 - places))


def linspace(start, end, steps, dtype=None, device=None, requires_grad=False):
    """`steps` numbers with equal distances, from start to end (included)."""
    numbers = _spaced(*_numbers(dtype, start, end), steps, device)
    return wrap(numbers.astype(dtype or float32), device, requires_grad)


def logspace(start, end, steps, base=10.0, dtype=None, device=None, requires_grad=False):
    """`base` to the powers that `linspace` gives."""
    powers = float(base) ** _spaced(*_numbers(dtype, start, end), steps, device)
    return wrap(powers.astype(dtype or float32), device, requires_grad)


def eye(n, m=None, dtype=None, device=None, requires_grad=False):
    """Ones on the diagonal of an n by m matrix, zeros elsewhere."""
    if n < 0 or m is not None and m < 0:
        raise RuntimeError(f"eye({n}, {m}): sizes must be 0 or more.")
    return wrap(library(device).eye(n, m, dtype=dtype or float32), device, requires_grad)


def tril_indices(row, col, offset=0, dtype=None, device=None):
    """Rows and columns of the places on and below a diagonal, as a (2, n) tensor."""
    return _places(library(device).tri(row, col, offset, bool), dtype, device)
def triu_indices(row, col, offset=0, dtype=None, device=None):
    """Rows and columns of the places on and above a diagonal, as a (2, n) tensor."""
    return _places(~library(device).tri(row, col, offset - 1, bool), dtype, device)
def _places(mask, dtype, device):
    return wrap(array_module(mask).stack(mask.nonzero()).astype(dtype or int64), device)


# %% [markdown]
# ## Drawn at random
#
# Each thread and device has a generator of its own; `manual_seed` seeds it. float16 is drawn as float32.

# %%
#| export
def _draw(how, size, named, dtype, device, generator, requires_grad):
    """A tensor from `how(random, size, dtype)`, drawn on its device."""
    random, dtype = _generator(device, generator).random, np.dtype(dtype or float32)
    drawn = how(random, _size(size, named), float32 if dtype == float16 else dtype)
    return wrap(drawn.astype(dtype, copy=False), device, requires_grad)


def _generator(where, generator):
    return generator or default_generator(CPU if where is None else device(str(where)))


def rand(*size, generator=None, dtype=None, device=None, requires_grad=False, **named):
    """Uniformly distributed between 0 (included) and 1."""
    return _draw(_uniform, size, named, dtype, device, generator, requires_grad)
def randn(*size, generator=None, dtype=None, device=None, requires_grad=False, **named):
    """Normally distributed: mean 0, deviation 1."""
    return _draw(_normal, size, named, dtype, device, generator, requires_grad)
def _uniform(random, size, dtype): return random.random(size, dtype)
def _normal(random, size, dtype): return random.standard_normal(size, dtype)


def randint(low, high=None, size=None, generator=None, dtype=None, device=None, requires_grad=False):
    """Integers from low (included) to high (not included); randint(high, size) starts at 0."""
    if size is None:
        low, high, size = 0, low, high
    if low >= high:
        raise RuntimeError(f"randint from {low} to {high}: there must be an integer from low up to, not "
                           "including, high.")
    drawn = _generator(device, generator).random.integers(low, high, _size((size,), {}))
    return wrap(drawn.astype(dtype or int64), device, requires_grad)


def randperm(n, generator=None, dtype=None, device=None, requires_grad=False):
    """The numbers from 0 to n - 1 in random order."""
    drawn = _generator(device, generator).permutation(n)
    return wrap(drawn.astype(dtype or int64), device, requires_grad)


def rand_like(x, generator=None, dtype=None, device=None, requires_grad=False):
    return rand(x.shape, generator=generator, **_like(x, dtype, device), requires_grad=requires_grad)
def randn_like(x, generator=None, dtype=None, device=None, requires_grad=False):
    return randn(x.shape, generator=generator, **_like(x, dtype, device), requires_grad=requires_grad)
def randint_like(x, low, high=None, generator=None, dtype=None, device=None, requires_grad=False):
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, x.shape, generator, **_like(x, dtype, device), requires_grad=requires_grad)


def normal(mean=0.0, std=1.0, size=None, generator=None, dtype=None, device=None, requires_grad=False):
    """Normally distributed with this mean and deviation: numbers, with a size, or tensors."""
    some = next((x for x in (mean, std) if isinstance(x, Tensor)), None)
    if some is not None:
        size = np.broadcast_shapes(getattr(mean, "shape", ()), getattr(std, "shape", ()))
        dtype, device = some.dtype, some.device
    mean, std = [x.data if isinstance(x, Tensor) else x for x in (mean, std)]
    if (std < 0 if not is_array(std) else (std < 0).any()):
        raise RuntimeError(f"normal: the deviation must be 0 or more, got {std}.")
    drawn = randn(size, generator=generator, dtype=dtype, device=device)
    return wrap((mean + std * drawn.data).astype(drawn.dtype), None, requires_grad)


@op
def drawn_below(x, u):
    """1 where the number u, drawn between 0 and 1, lies below the probability x, else 0."""
    return (u < x).astype(x.dtype)


@method
def bernoulli(x, p=None, generator=None):
    """1 with the probability that stands in x (or with p everywhere), else 0."""
    if p is not None:
        return drawn_below(full_like(x, p), rand_like(x, generator))
    if x.dtype.kind != "f" or x.numel() and not (0 <= x.data.min() and x.data.max() <= 1):
        raise RuntimeError("bernoulli: probabilities must be floats between 0 and 1.")
    return drawn_below(x, rand_like(x, generator))


@method
def multinomial(x, num_samples, replacement=False, generator=None):
    """Indices drawn from each row of x, whose numbers are weights: how likely each index is."""
    weights = x.data.reshape(-1, x.shape[-1]).astype(float64) if x.ndim in (1, 2) else None
    if weights is None or x.dtype.kind != "f":
        raise RuntimeError(f"multinomial from {x.dtype} of {x.shape}: it takes a row of floats, or rows.")
    rows, n = weights.shape
    if num_samples < 1 or num_samples > n and not replacement:
        raise RuntimeError(f"multinomial: {num_samples} samples from {n} without replacement. Draw at least "
                           "1 and at most as many as there are, or set replacement=True.")
    xp, totals = array_module(weights), weights.sum(1)
    if not (np.isfinite(totals).all() and (weights >= 0).all() and (totals > 0).all()):
        raise RuntimeError("multinomial: the weights must be finite, 0 or more, and not all 0.")
    random = _generator(x.device, generator).random
    if replacement:                                    # where a uniform number falls among the partial sums
        steps = weights.cumsum(1) / totals[:, None] + xp.arange(rows)[:, None]
        at = random.random((rows, num_samples)) + xp.arange(rows)[:, None]
        drawn = xp.searchsorted(steps.ravel(), at, side="right") - n * xp.arange(rows)[:, None]
    else:                                              # the first arrivals: exponential waiting times
        waiting = -np.log1p(-random.random((rows, n))) / xp.where(weights > 0, weights, 1e-300)
        drawn = xp.argsort(waiting, axis=1)[:, :num_samples]
        if ((weights > 0).sum(1) < num_samples).any():
            raise RuntimeError(f"multinomial: fewer than {num_samples} weights are above 0. Set "
                               "replacement=True.")
    return Tensor._of(drawn.reshape(x.shape[:-1] + (num_samples,)))


# %% [markdown]
# In place, for initialising: under `no_grad()` if x is a leaf that requires a gradient.

# %%
#| export
@method
def normal_(x, mean=0.0, std=1.0, generator=None):
    x[...] = randn_like(x, generator).data * std + mean
    return x
@method
def uniform_(x, low=0.0, high=1.0, generator=None):
    """Draw every number of x anew, uniformly distributed from low to high."""
    x[...] = rand_like(x, generator).data * (high - low) + low
    return x
@method
def bernoulli_(x, p=0.5, generator=None):
    x[...] = (rand(x.shape, generator=generator, device=x.device).data < p).astype(x.dtype)
    return x
@method
def exponential_(x, lambd=1.0, generator=None):
    x[...] = -np.log1p(-rand_like(x, generator).data) / lambd
    return x
