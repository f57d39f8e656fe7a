"""Functions of functions, `torch.func`'s names: gradients, products with Jacobians, Hessians."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "core.func": "grad grad_and_value hessian jacrev jvp vjp",
})
