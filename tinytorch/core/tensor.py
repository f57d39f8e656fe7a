# Generated from modules/01_tensor/tensor_dev.py by tito export. Edit the lesson, not this file.
# source sha256 5d89683f5dabb2a81d8638c7262c521fa5b5d05f0c628d93a789aab60287b7a4  body sha256 254a93e41bd4d25f4dbeeb3aef14c3799db0691992154773926ae60376ced589  # noqa: E501
"""core.tensor: built in module 01_tensor."""

import numpy as np

from tinytorch.core.backend import array_module, is_array, to_device
from tinytorch.core.dtypes import float32
from tinytorch.core.tensor_base import TensorBase, without_tensors

__all__ = ["Tensor", "as_array"]


def as_array(data, dtype=None):
    """A new array with the numbers of `data`, in PyTorch's default dtype unless `dtype` is given.

    data: a number, nested lists, an array or a tensor. Raises TypeError for what holds no numbers and
    ValueError for lists of unequal lengths.

    >>> as_array([1, 2.5])
    array([1. , 2.5], dtype=float32)
    """
    data = without_tensors(data)
    try:
        array = array_module(data).array(data)
    except ValueError:
        raise ValueError(f"tensor of {data!r:.60}: lists at one depth need the same length.") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"tensor of {data!r:.60}: this holds {array.dtype}, and a tensor holds floats, "
                        "integers or bools.")
    typed = is_array(data) or isinstance(data, np.generic)
    if dtype is None and array.dtype == "float64" and not typed:
        dtype = float32
    return array if dtype is None else array.astype(dtype)


class Tensor(TensorBase):
    """An array with a shape, a dtype, a device, and a place for a gradient.

    >>> x = Tensor([[1., 2.], [3., 5.]])
    >>> x - x.mean(0)
    tensor([[-1.0000, -1.5000],
            [ 1.0000,  1.5000]])

    data: nested lists or numbers, a NumPy or CuPy array, or a tensor; the numbers are copied.
    Floats become float32 and integers int64, unless an array or `dtype` says otherwise.
    Raises TypeError for what holds no numbers, ValueError for lists of unequal lengths.
    """
    __slots__ = ()

    def __init__(self, data, dtype=None, device=None, requires_grad=False):
        array = as_array(data, dtype)
        self.data = array if device is None else to_device(array, device)
        self.requires_grad, self.grad, self.node, self.origin = False, None, None, None
        self.requires_grad_(requires_grad)

    @staticmethod
    def _of(array):
        """A tensor around `array` itself, unchecked and without a copy: what ops use."""
        tensor = object.__new__(Tensor)
        tensor.data, tensor.requires_grad = array, False
        tensor.grad = tensor.node = tensor.origin = None
        return tensor
