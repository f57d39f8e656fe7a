# Generated from modules/13_transformers/norm_parts_dev.py by tito export. Edit the lesson, not this file.
# source sha256 55ee9e6b16d3449a75c36fdd7945ce1675fd24647f7388e2f5040042d067bff4  body sha256 01e7269d17be8d31f1ead78eee02992cc0719f84986684e11ab9efe3f1a342a4  # noqa: E501
"""nn.norm_parts: built in module 13_transformers."""

import math
from numbers import Integral

import numpy as np

from tinytorch.core.creation import empty
from tinytorch.core.dtypes import float16, float32
from tinytorch.core.rules import as_rows
from tinytorch.nn.floats import refuse_integers
from tinytorch.nn.initializers import ones_, zeros_
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter

__all__ = ["NormLayer", "over_last", "sizes", "slope_of_weight", "slope_of_x"]


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


def slope_of_x(g, normal, scale, weight=None, centred=True):
    """The gradient of x (..., d) from that of the output, g: scale (h - mean(h) - normal mean(h normal)).

    h: g times the weight (d,), if given. centred: if not, no mean was taken off, and mean(h) is left out.
    """
    slope = g.copy() if weight is None else g * weight
    along = np.einsum("...d,...d->...", slope, normal)[..., None] / normal.shape[-1]
    if centred:
        slope -= slope.mean(-1, keepdims=True)         # in place: this array is ours
    slope -= normal * along
    slope *= scale
    return slope


def slope_of_weight(g, normal):
    """The gradient of the weight (d,): g times normal, summed over all vectors."""
    return np.einsum("nd,nd->d", as_rows(g), as_rows(normal))


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
