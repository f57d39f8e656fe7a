# Generated from modules/07_training/training_dev.py by tito export. Edit the lesson, not this file.
# source sha256 0e6bb021ce37f05d8de46d39a3d0307c2a38f3d46c1f8aac71214c222618fa79  body sha256 c0ae007a6781eaa690ae96f1b862cc8ab92565c9c6f9c56ca2e72fa01320dc91  # noqa: E501
"""training.clipping: built in module 07_training."""

from tinytorch.core.autograd import no_grad
from tinytorch.core.joining import stack
from tinytorch.core.reductions import norm
from tinytorch.core.tensor import Tensor
from tinytorch.training.gradients import gradients_of

__all__ = ["clip_grad_norm_"]


@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Shorten the gradients, in place and by one factor, so that their common norm is at most max_norm.

    parameters: an iterable of tensors, or one; those without a gradient are left out. norm_type: p, also
    inf. Returns the norm before, a tensor with one number. Raises RuntimeError, and changes nothing, if
    that is inf or nan and error_if_nonfinite is set. foreach is PyTorch's and changes nothing.
    (Pascanu et al., 2013)

    >>> w = Tensor([0., 0.], requires_grad=True); w.grad = Tensor([3., 4.])
    >>> clip_grad_norm_(w, 1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    gradients = gradients_of(parameters)
    if not gradients:
        return Tensor(0.0)
    total = norm(stack([norm(g, norm_type) for g in gradients]), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(f"clip_grad_norm_: the norm of the gradients is {total.item()}, so they cannot be "
                           "clipped.")
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for g in gradients:
        g.mul_(factor)
    return total
