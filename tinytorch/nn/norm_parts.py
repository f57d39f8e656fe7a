# Generated from modules/13_transformers/norm_parts_dev.py by tito export. Edit the lesson, not this file.
# source sha256 e8b136d3cccd14ff4dc9cf2fa60a31219625cc6a08a2dfc335d582357452a3eb  body sha256 2c942379ebc4a7e2e3bf489ecfbad9b669603c35201bc5049e5649c230f3844b  # noqa: E501
"""nn.norm_parts: built in module 13_transformers."""

import math

from tinytorch.core.creation import empty
from tinytorch.nn.initializers import ones_, zeros_
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter

__all__ = ["NormLayer", "over_last", "sizes"]


def sizes(normalized_shape):
    """The last sizes to be normalised over, a tuple: (d,) for a number d. ValueError if there are none."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape:
        raise ValueError("normalized_shape is empty: name at least the last size.")
    return shape


def over_last(f, x, normalized_shape, params, eps):
    """f(x, *params, eps) with the axes of `normalized_shape` as one, the last; in x's shape again.

    params: tensors of normalized_shape, or None. RuntimeError if x does not end with these sizes.
    """
    shape = sizes(normalized_shape)
    if x.shape[-len(shape):] != shape:
        raise RuntimeError(f"{f.forward.__name__} over {shape} got {x.shape}: its last sizes must be "
                           f"{shape}.")
    for p in params:
        if p is not None and p.shape != shape:
            raise RuntimeError(f"{f.forward.__name__} over {shape}: weight and bias must have this shape, "
                               f"one has {p.shape}.")
    if len(shape) == 1:
        return f(x, *params, eps)
    flat = [None if p is None else p.reshape(-1) for p in params]
    return f(x.reshape(*x.shape[:-len(shape)], math.prod(shape)), *flat, eps).reshape(x.shape)


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
