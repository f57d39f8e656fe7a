# Generated from modules/04_losses/loss_parts_dev.py by tito export. Edit the lesson, not this file.
# source sha256 7ef94dc3b52fb1379df3c8bc1ccc3ef8a2787222cede47e4513a16ecd50a0174  body sha256 ece25e98e91bddbdf5471ece4d410d8c389eb21f3e5c3fa6ef00b9a4c3e65fc8  # noqa: E501
"""nn.loss_parts: built in module 04_losses."""

import functools
from numbers import Integral

from tinytorch.core.dtypes import float32, int64, result_type, uint8
from tinytorch.core.tensor import Tensor
from tinytorch.nn.activations import log_softmax
from tinytorch.nn.floats import in_float32, kind_of

__all__ = [
    "check_classes", "class_axis", "common_floats", "holds_probabilities", "reduction_of",
    "refuse_other_shape", "refuse_outside", "refuse_stretching", "refuse_unequal", "soft_losses",
    "sum_of_squares",
]


def common_floats(forward):
    """`forward(input, target, ...)` with both in their common dtype of floats; RuntimeError if it is none."""
    @functools.wraps(forward)
    def promoted(input, target, *args, **params):
        if getattr(input, "dtype", None) is float32 is getattr(target, "dtype", None):
            return forward(input, target, *args, **params)       # nearly always: out of here quickly
        name = forward.__name__
        kinds = kind_of(name, input), kind_of(name, target)
        if "f" not in kinds:
            raise RuntimeError(f"{name} of {input.dtype} and {target.dtype} numbers: a loss has fractions. "
                               "Convert them first: x.float().")
        dtype = result_type(input, target)
        return in_float32(forward, input.astype(dtype, copy=False), target.astype(dtype, copy=False),
                          *args, **params)
    return promoted


def refuse_unequal(name, input, target, error=ValueError):
    """RuntimeError if one of the two holds no floats, `error` if their shapes differ."""
    if kind_of(name, input) != "f" or kind_of(name, target) != "f":
        raise RuntimeError(f"{name} of {input.dtype} numbers and a target of {target.dtype}: both must be "
                           "floats. Convert them: x.float().")
    if input.shape != target.shape:
        raise error(f"{name} of {input.shape} and a target of {target.shape}: the shapes must be equal. "
                    "Give the target the shape of the input: target.reshape(input.shape).")


def refuse_outside(name, **arrays):
    """RuntimeError if one of the arrays holds anything but numbers from 0 to 1."""
    for which, x in arrays.items():
        if not ((x >= 0) & (x <= 1)).all():
            raise RuntimeError(f"{name}: the {which} holds {x.min()} to {x.max()}, it must lie "
                               "between 0 and 1. For logits there is binary_cross_entropy_with_logits.")


def refuse_stretching(name, weight, shape):
    """RuntimeError if a weight does not broadcast to `shape` without stretching it."""
    sizes = zip(reversed(weight.shape), reversed(shape))
    if weight.ndim > len(shape) or any(i not in (1, n) for i, n in sizes):
        raise RuntimeError(f"{name}: a weight of {weight.shape} does not fit losses of {shape}. It must "
                           "broadcast to them.")


def sum_of_squares(x):
    """The sum of the squares of all numbers in an array."""
    row = x.reshape(-1)
    return row @ row if row.size < 10_000 else (row * row).sum()


def class_axis(input):
    """Along which dimension the classes lie: 1, or 0 if there is no other."""
    return min(1, input.ndim - 1)


def check_classes(name, input, target, weight, ignore_index):
    """`target`, if it names one class for each row of `input`; else what PyTorch raises.

    input: (C,), (N, C) or (N, C, d1, ...) floats. target: the same without C, int64 or uint8, each 0 to
    C - 1 or ignore_index; (1,) is taken for () beside (C,). weight: (C,) of the input's dtype, or None.
    """
    _check_tensors(name, input, target, weight)
    if not isinstance(ignore_index, Integral):
        raise TypeError(f"{name}: ignore_index is {ignore_index!r}, it must be a whole number.")
    if input.dtype.kind != "f":
        raise RuntimeError(f"{name} of {input.dtype} numbers: scores are floats. Convert them: x.float().")
    if target.dtype not in (int64, uint8):
        raise RuntimeError(f"{name}: the target holds {target.dtype}, but it names classes: it must be int64 "
                           "(or uint8). Convert it: target.long().")
    if input.ndim == 1 and target.shape == (1,):
        target = target.reshape(())
    _check_shapes(name, input, target)
    _check_weight(name, input, weight)
    _check_range(name, target.data, input.shape[class_axis(input)], ignore_index)
    return target


def _check_tensors(name, input, target, weight):
    for what, x in ("input", input), ("target", target), ("weight", weight):
        if not isinstance(x, Tensor) and (x is not None or what != "weight"):
            raise TypeError(f"{name}: the {what} is a {type(x).__name__}, it must be a tensor.")


def _check_shapes(name, input, target):
    if input.ndim == 0:
        raise ValueError(f"{name} of a single number: it needs a dimension of classes.")
    wanted = input.shape[:1] + input.shape[2:] if input.ndim > 1 else ()
    if target.shape != wanted:
        batch = input.ndim == 1 or target.shape[:1] != wanted[:1]
        raise (ValueError if batch else RuntimeError)(
            f"{name} of {input.shape} and a target of {target.shape}: the target must be {wanted}, one class "
            f"for each row. The classes lie along dimension {class_axis(input)} of the input.")


def _check_weight(name, input, weight):
    classes = input.shape[class_axis(input)]
    if weight is not None and (weight.shape != (classes,) or weight.dtype != input.dtype):
        raise RuntimeError(f"{name}: a weight of {weight.dtype} {weight.shape} for {classes} classes. "
                           f"It must be {input.dtype} ({classes},): one number for each class.")


def _check_range(name, target, classes, ignore_index):
    """IndexError for a class that does not exist; most batches are settled by two looks."""
    if target.size and not (0 <= target.min() and target.max() < classes):
        wrong = target[(target != ignore_index) & ((target < 0) | (target >= classes))]
        if wrong.size:
            raise IndexError(f"{name}: target {wrong[0]} is out of bounds, there are the classes 0 to "
                             f"{classes - 1}. A row that is to be left out has ignore_index={ignore_index}.")


def holds_probabilities(name, input, target, weight, ignore_index, label_smoothing):
    """Whether `target` has the shape of the input, and so holds probabilities and no classes.

    Raises what PyTorch raises if it does and they are none, and for a label_smoothing that is no share.
    """
    _check_tensors(name, input, target, weight)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"{name}: label_smoothing is {label_smoothing}, it must lie between 0 and 1.")
    if target.shape != input.shape:
        return False
    if input.dtype.kind != "f" or target.dtype.kind != "f":
        raise RuntimeError(f"{name} of {input.dtype} scores and a target of {target.dtype} in their shape, "
                           f"{target.shape}: probabilities are floats. Convert them, or name classes: (N,).")
    if ignore_index >= 0:
        raise RuntimeError(f"{name}: ignore_index={ignore_index} is for a target that names classes, and "
                           "this one holds probabilities.")
    _check_weight(name, input, weight)
    return True


def soft_losses(input, target, weight=None, label_smoothing=0.0):
    """The surprise at each class times how much of the truth it is, summed over the classes."""
    dim = class_axis(input)
    classes = input.shape[dim]
    target = target * (1 - label_smoothing) + label_smoothing / classes
    parts = log_softmax(input, dim) * target
    if weight is not None:
        parts = parts * weight.reshape(classes, *[1] * (input.ndim - 1 - dim))
    return -parts.sum(dim)


def reduction_of(reduction, size_average=None, reduce=None):
    """`reduction`, unless one of the two old flags was given; ValueError for one that is not known."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if reduction not in ("none", "sum", "mean"):
        raise ValueError(f"reduction={reduction!r} is not known; it can be 'none', 'sum' or 'mean'.")
    return reduction


def refuse_other_shape(name, input, other, what="target", error=RuntimeError):
    """`error` if the target, or a weight for each number, has not the shape of the input."""
    if other.shape != input.shape:
        raise error(f"{name} of {input.shape} and a {what} of {other.shape}: the shapes must be equal. "
                    f"Reshape the {what}; broadcasting would compare each number with several.")
