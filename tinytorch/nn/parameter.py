# Generated from modules/03_layers/parameter_dev.py by tito export. Edit the lesson, not this file.
# source sha256 fbb50fdc3b2047daff6684f6f39bf983f0a3152a741391aaa82446bc051c178c  body sha256 d5e0f62e6037831d253f16a14961b134dc523db96064f421663e7a9237f207cb  # noqa: E501
"""nn.parameter: built in module 03_layers."""

from tinytorch.core.creation import as_tensor
from tinytorch.core.tensor import Tensor

__all__ = ["Parameter", "overwrite"]


class Parameter(Tensor):
    """A tensor that belongs to a module and is to be learned: it asks for a gradient unless told otherwise.

    data: a tensor, whose memory is shared, as in PyTorch; or what `Tensor` takes, which is copied.
    """
    __slots__ = ()

    def __init__(self, data=(), requires_grad=True):
        super().__init__(())
        self.data = (data if isinstance(data, Tensor) else Tensor(data)).data
        self.requires_grad_(requires_grad)

    def __repr__(self): return "Parameter containing:\n" + super().__repr__()


def overwrite(tensor, values):
    """Write `values`, a tensor or an array, into the memory of `tensor`; returns the tensor.

    The write is no part of a computation, so it is also allowed where a gradient is required.
    """
    tensor.detach().copy_(as_tensor(values))           # the same memory, without history
    return tensor
