# %% [markdown]
# # Parameters
#
# Given code: nothing to solve here. A parameter is nothing but a tensor of another type. The type is how a
# module knows that this one is to be learned.

# %%
#| default_exp nn.parameter

# %%
from tinytorch.core.creation import as_tensor
from tinytorch.core.tensor import Tensor


# %%
#| export
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
