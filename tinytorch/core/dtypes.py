# Generated from modules/01_tensor/dtypes_dev.py by tito export. Edit the lesson, not this file.
# source sha256 cdd6d948cdc04e314b702d30ca0e9d90d8f1b1b7f47b1be790fa2e6dc9f3cbff  body sha256 947acef34428126c8f20e8b95f591ac21e93d1812ba7b621250b483dd135c27e  # noqa: E501
"""core.dtypes: built in module 01_tensor."""

import functools

import numpy as np

from tinytorch.core.backend import device_of, is_array

__all__ = [
    "CATEGORY", "bool_", "explained", "float16", "float32", "float64", "int32", "int64", "int8",
    "promote_types", "result_type", "settle", "uint8", "whole_power",
]


float16, float32, float64 = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")
int8, int32, int64 = np.dtype("int8"), np.dtype("int32"), np.dtype("int64")
uint8, bool_ = np.dtype("uint8"), np.dtype("bool")

CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2}       # a wider category wins: bool < integer < float


def promote_types(a, b):
    """PyTorch's common dtype of two: like NumPy's, but an integer never widens a float."""
    if "f" in (a.kind, b.kind) and a.kind != b.kind:
        return a if a.kind == "f" else b
    return np.promote_types(a, b)


def result_type(*inputs):
    """The dtype of arithmetic between arrays and numbers, as in PyTorch.

    Arrays with dimensions decide. 0-d arrays, and after them Python numbers, have a say only if
    they are of a higher category (bool < integer < float).
    """
    groups = [], [], []                             # with dimensions, 0-d, Python numbers
    for x in inputs:
        if isinstance(x, bool): groups[2].append(bool_)
        elif isinstance(x, int): groups[2].append(int64)
        elif isinstance(x, float): groups[2].append(float32)
        elif isinstance(x, np.generic): groups[2].append(float32 if x.dtype.kind == "f" else x.dtype)
        elif is_array(x): groups[0 if x.ndim else 1].append(x.dtype)
    dtype = bool_
    for group in groups:
        if group:
            wider = functools.reduce(promote_types, group)
            if dtype is bool_ or CATEGORY[wider.kind] > CATEGORY[dtype.kind]:
                dtype = wider
    return dtype


def whole_power(x, p):
    """Integers x to powers of which some are negative: the fraction is cut off, so 0, or ±1 of ±1."""
    odd_or_even = np.where(p < 0, p & 1, p)           # all that counts for ±1
    return x ** odd_or_even * ((p >= 0) | (x == 1) | (x == -1))


def settle(array, arrays, promote=True):
    """The result of an op as PyTorch would have it: its dtype, and an array where NumPy gives a scalar."""
    if promote:
        dtype = result_type(*arrays)
        if array.dtype.kind == "f":
            array = array.astype(dtype if dtype.kind == "f" else float32, copy=False)
        elif len({a.ndim == 0 for a in arrays if is_array(a)}) == 2 and array.dtype.kind == "i":
            array = array.astype(dtype, copy=False)          # int8 array + 0-d int64 array
    return np.asarray(array) if isinstance(array, np.generic) else array


def explained(error, name, arrays):
    """The error that PyTorch would raise in place of the array library's `error` in op `name`."""
    typed = [a for a in arrays if is_array(a)]
    shapes = " and ".join([str(a.shape) for a in typed])
    devices = sorted({str(device_of(a)) for a in typed})
    if len(devices) > 1:
        return RuntimeError(f"{name} got tensors on {' and '.join(devices)}: they must be on one device. "
                            f"Move one of them: x.to({devices[0]!r}).")
    if isinstance(error, np.exceptions.AxisError):
        return IndexError(f"{name} of shape {shapes}: dimension out of range ({error}).")
    if isinstance(error, ValueError) and "broadcast" in str(error):
        return RuntimeError(f"{name} of shapes {shapes}: they do not fit. Aligned from the right, two sizes "
                            "must be equal, or one of them 1.")
    if isinstance(error, (ValueError, OverflowError)):
        return RuntimeError(f"{name} of shapes {shapes}: {str(error).rstrip('.')}.")
    if isinstance(error, TypeError) and ("ufunc" in str(error) or "boolean" in str(error)):
        return RuntimeError(f"{name} is not defined for {' and '.join([str(a.dtype) for a in typed])}: "
                            f"{error}.")
    return error
