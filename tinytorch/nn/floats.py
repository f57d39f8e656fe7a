# Generated from modules/02_activations/floats_dev.py by tito export. Edit the lesson, not this file.
# source sha256 e4548a8d5ef9a43beca5c1ffcaccde34142cc1df45aaa04e9b7ac78cc1a79aa1  body sha256 bb04c2bd156cf26c5ea542617f7bb0a264b204a2302dfd73facfe01328a76b44  # noqa: E501
"""nn.floats: built in module 02_activations."""

import functools

import numpy as np

from tinytorch.core.dtypes import float16, float32, float64

__all__ = [
    "along_dim", "any_numbers", "floats_only", "in_float32", "kind_of", "refuse_bools",
    "refuse_integers",
]


def kind_of(name, x):
    """NumPy's letter for the kind of numbers in x: f, i, u or b. TypeError if x is no tensor."""
    if getattr(x, "dtype", None) is None:
        raise TypeError(f"{name} of a {type(x).__name__}: it takes a tensor. Make one of it: tensor(...).")
    return x.dtype.kind


def refuse_bools(name, x):
    """Raise RuntimeError if x holds bools."""
    if kind_of(name, x) == "b":
        raise RuntimeError(f"{name} of bools: True and False are neither above nor below anything. "
                           "Convert them first: x.float().")


def refuse_integers(name, x):
    """Raise RuntimeError if x holds integers or bools."""
    if kind_of(name, x) != "f":
        raise RuntimeError(f"{name} of {x.dtype} numbers: its results have fractions, {x.dtype} has none. "
                           "Convert them first: x.float().")


def in_float32(forward, x, *args, **params):
    """What `forward` makes of x: a float16 x is computed in float32, and the result is float16 again."""
    if x.dtype != float16:
        return forward(x, *args, **params)
    result = forward(x.astype(float32), *args, **params)
    if isinstance(result, tuple):                    # an op that keeps: only its output is rounded
        return result[0].astype(float16), *result[1:]
    return result.astype(float16)


def floats_only(forward):
    """`forward` for floats: integers and bools are refused, float16 is computed in float32."""
    @functools.wraps(forward)
    def checked(x, *args, **params):
        dtype = getattr(x, "dtype", None)
        if dtype is float32 or dtype is float64:     # nearly always: out of here quickly
            return forward(x, *args, **params)
        refuse_integers(forward.__name__, x)
        return in_float32(forward, x, *args, **params)
    return checked


def any_numbers(forward):
    """`forward` for numbers of any kind: integers and bools become float32 first."""
    @functools.wraps(forward)
    def converted(x, *args, **params):
        if kind_of(forward.__name__, x) != "f":
            x = x.astype(float32)
        return in_float32(forward, x, *args, **params)
    return converted


def along_dim(forward):
    """`forward(x, dim)` for floats, with PyTorch's `dtype=`: what x is converted to first.

    A tensor of shape () counts as one of shape (1,), and an empty one stays empty.
    """
    @functools.wraps(forward)
    def along(x, dim, dtype=None):
        name = forward.__name__
        if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)):
            raise TypeError(f"{name}: dim is {dim!r}, it must be one whole number. Name the dimension along "
                            "which the results belong together; the last one is -1.")
        if kind_of(name, x) and dtype is not None:
            x = x.astype(dtype, copy=False)
        refuse_integers(name, x)
        if x.ndim == 0:
            return in_float32(forward, x.reshape(1), dim).reshape(())
        if x.size == 0:
            return x + x.sum(dim, keepdims=True)     # IndexError if there is no such dim
        return in_float32(forward, x, dim)
    return along
