# Generated from modules/07_training/gradients_dev.py by tito export. Edit the lesson, not this file.
# source sha256 358b9d7db07841616664089f16a3f6df29ee0c600c7864d090f3cad270e397f4  body sha256 78f73ca3d82ce1516282328ac798cc831c1f6771639cccc7460eb3532d7ab975  # noqa: E501
"""training.gradients: built in module 07_training."""

from tinytorch.core.autograd import no_grad
from tinytorch.core.joining import cat
from tinytorch.core.tensor import Tensor
from tinytorch.nn.parameter import overwrite

__all__ = ["clip_grad_value_", "gradients_of", "parameters_to_vector", "vector_to_parameters"]


def gradients_of(parameters):
    """The gradients of the parameters that have one, a list; `parameters` is one tensor or an iterable.

    They are the tensors in `.grad` without their history: who writes into them writes into `.grad`.
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad.detach() for p in parameters if p.grad is not None]


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Cut every element of every gradient to the range from -clip_value to clip_value, in place."""
    limit = float(clip_value)
    for g in gradients_of(parameters):
        g.clamp_(-limit, limit)


def parameters_to_vector(parameters):
    """All parameters in one vector, in order; gradients flow back through it."""
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Write the numbers of `vec` into the parameters, in order: the reverse of `parameters_to_vector`.

    Raises TypeError if vec is no tensor, ValueError if it has another length than they have together.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected a Tensor, but got {type(vec).__name__}.")
    parameters, start = list(parameters), 0
    size = sum(p.numel() for p in parameters)
    if vec.shape != (size,):
        raise ValueError(f"vector_to_parameters: a vector of shape {vec.shape} for parameters with "
                         f"{size} numbers: it must be ({size},).")
    for p in parameters:
        overwrite(p, vec.detach()[start:start + p.numel()].reshape(p.shape))
        start += p.numel()
