# Generated from modules/01_tensor/shape_dev.py by tito export. Edit the lesson, not this file.
# source sha256 f70b903cdea50726c6269ce0af77927db5f329b8738c0995a9e031a49440a6b4  body sha256 dc62ae9aed884260e4f47be076ca9b0ee5b3a08bd8f19a03321fb6528aaff5b9  # noqa: E501
"""core.casts: built in module 01_tensor."""

import functools

import numpy as np

from tinytorch.core.backend import device, device_of, to_device
from tinytorch.core.base import METHODS, method
from tinytorch.core.dtypes import bool_, float16, float32, float64, int8, int32, int64, uint8
from tinytorch.core.op import op
from tinytorch.core.shape import clone
from tinytorch.core.tensor import Tensor

__all__ = [
    "DTYPES", "cast", "copy_", "cpu", "cuda", "fill_", "move", "to", "type", "type_as", "zero_",
]


DTYPES = {"half": float16, "float": float32, "double": float64, "char": int8, "int": int32, "long": int64,
          "byte": uint8, "bool": bool_}


@op(promote=False)
def cast(x, dtype): return x.astype(dtype)
METHODS["astype"] = cast                               # the walk of module 05 asks arrays and tensors alike
@op(promote=False)
def move(x, where): return to_device(x, where)


@method
def to(x, *args, dtype=None, device=None, non_blocking=False, copy=False):
    """x in another dtype, on another device, or as another tensor is; x itself if nothing changes."""
    for arg in args:
        if isinstance(arg, Tensor):
            dtype, device = arg.dtype, arg.device
        elif isinstance(arg, bool):                    # to(device, non_blocking, copy)
            copy = arg
        elif _is_place(arg):
            device = arg
        elif arg is not None:
            dtype = np.dtype(arg)
    out = x if device is None or device_of(x.data) == device else move(x, device)
    if dtype is not None and x.dtype != np.dtype(dtype):
        return cast(out, np.dtype(dtype))
    return clone(x) if copy and out is x else out


def _is_place(arg): return isinstance(arg, device) or isinstance(arg, str) and arg[:4] in ("cpu", "cuda")


@method
def type_as(x, y): return to(x, y.dtype)
@method
def type(x, dtype=None):
    """x in another dtype; without one, PyTorch's name of x's type."""
    if dtype is not None:
        return to(x, dtype)
    name = next(name for name, known in DTYPES.items() if known == x.dtype)
    return f"torch.{name.capitalize()}Tensor"
@method
def cpu(x): return to(x, "cpu")
@method
def cuda(x, device="cuda"): return to(x, f"cuda:{device}" if isinstance(device, int) else device)


for _name, _dtype in DTYPES.items():                   # x.float(), x.long(), ...
    METHODS[_name] = functools.partial(to, dtype=_dtype)


@method
def fill_(x, value):
    x[...] = value
    return x
@method
def zero_(x): return fill_(x, 0)
@method
def copy_(x, src, non_blocking=False):
    """Write the numbers of `src`, which broadcasts, into x."""
    return fill_(x, src.to(x.device))
