# Generated from modules/13_transformers/norm_parts_dev.py by tito export. Edit the lesson, not this file.
# source sha256 f4fde11e7bd8a6cedebea78639a5c16cbd773197fd7b3e90fe80a7075069211a  body sha256 8b792193b69a32d8767fe746878c3692989c0853bdd26a6da5d6b3ea82f62a7d  # noqa: E501
"""nn.norm_parts: built in module 13_transformers."""

import math
from numbers import Integral

from tinytorch.core.creation import empty
from tinytorch.core.dtypes import float16, float32
from tinytorch.nn.floats import refuse_integers
from tinytorch.nn.initializers import ones_, zeros_
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter

__all__ = ["NormLayer", "over_last", "sizes"]


def sizes(normalized_shape):
    """The last sizes to be normalised over, a tuple: (d,) for a number d. RuntimeError if there are none."""
    shape = (normalized_shape,) if isinstance(normalized_shape, Integral) else tuple(normalized_shape)
    if not shape:
        raise RuntimeError("normalized_shape is empty: name at least the last size.")
    return shape


def over_last(f, x, normalized_shape, params, eps, mixed=False):
    """f(x, *params, eps) with the axes of `normalized_shape` as one, the last; in x's shape again.

    params: tensors of normalized_shape and x's dtype (float16: or float32), or None; mixed: of any, they are
    converted. RuntimeError if x does not end with these sizes, or is not of floats.
    """
    shape, name = sizes(normalized_shape), f.forward.__name__
    refuse_integers(name, x)
    if x.shape[-len(shape):] != shape:
        raise RuntimeError(f"{name} over {shape} got {x.shape}: its last sizes must be {shape}.")
    for p in params:
        if p is not None and p.shape != shape:
            raise RuntimeError(f"{name} over {shape}: weight and bias must have this shape, one has "
                               f"{p.shape}.")
    wide = float32 if x.dtype == float16 else x.dtype    # rounded once, at the end
    dtypes = {p.dtype for p in params if p is not None}
    if not mixed and not dtypes <= {x.dtype, wide}:
        raise RuntimeError(f"{name} of {x.dtype} numbers: weight and bias must be of this dtype, too, and "
                           f"are of {', '.join(map(str, dtypes))}. Convert them: layer.to(x.dtype).")
    if len(shape) == 1 and dtypes | {x.dtype} == {wide}:
        return f(x, *params, eps)
    params = [None if p is None else p.to(wide).reshape(-1) for p in params]
    out = f(x.to(wide).reshape(*x.shape[:x.ndim - len(shape)], math.prod(shape)), *params, eps)
    return out.reshape(x.shape).to(x.dtype)


class NormLayer(Module):
    """A weight of ones and a bias of zeros, of normalized_shape; either may be left out."""
    def __init__(self, normalized_shape, eps, elementwise_affine, bias, device, dtype):
        super().__init__()
        self.normalized_shape, self.eps = sizes(normalized_shape), eps
        self.elementwise_affine = elementwise_affine

        def made(): return Parameter(empty(*self.normalized_shape, dtype=dtype, device=device))

        self.weight = made() if elementwise_affine else None
        self.bias = made() if elementwise_affine and bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Start again: weight 1, bias 0."""
        if self.weight is not None:
            ones_(self.weight)
        if self.bias is not None:
            zeros_(self.bias)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
