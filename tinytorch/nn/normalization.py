# Generated from modules/13_transformers/transformers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a518c33cdebd19caee24350cd6e8bbbe9b7982b084512206b8ef9f3b3e69ad26  body sha256 ac21058eb72ab39f5cdde4f4746a55ba26d2996b474e3c52e4c23dc0df4c1f14  # noqa: E501
"""nn.normalization: built in module 13_transformers."""

import numpy as np

from tinytorch.core.autograd import composite, vjp
from tinytorch.core.op import op
from tinytorch.nn.floats import floats_only
from tinytorch.nn.norm_parts import NormLayer, over_last, slope_of_weight, slope_of_x

__all__ = ["LayerNorm", "layer_norm"]


@op(keeps=True)
@floats_only
def layer_norm(x, weight=None, bias=None, eps=1e-5):
    """Each vector (..., d) of x with mean 0 and variance 1; times weight (d,), plus bias (d,), if given.

    The variance is the mean of the squares, eps is added to it under the root. Ba et al., arXiv:1607.06450.

    >>> layer_norm(np.array([1., 2., 3., 4.])).round(4)
    array([-1.3416, -0.4472,  0.4472,  1.3416])
    """
    centred = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + eps)
    normal = centred * scale
    out = normal if weight is None else normal * weight
    return out if bias is None else out + bias, normal, scale


@vjp(layer_norm)
def _(kept, x, weight=None, bias=None, eps=1e-5):
    out, normal, scale = kept

    return lambda g: (lambda: slope_of_x(g, normal, scale, weight),
                      None if weight is None else lambda: slope_of_weight(g, normal), g)


@composite(layer_norm)
def _(*inputs, **params): return layer_norm.forward(*inputs, **params)[0]


class LayerNorm(NormLayer):
    """Each vector with mean 0 and variance 1, times `weight`, plus `bias`, that are learned.

    normalized_shape: d, or several last sizes. Ba et al., arXiv:1607.06450.
    """
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None,
                 dtype=None):
        super().__init__(normalized_shape, eps, elementwise_affine, bias, device, dtype)

    def forward(self, x):
        """x (..., d), normalised: the same shape. RuntimeError if its last size is not d."""
        return over_last(layer_norm, x, self.normalized_shape, (self.weight, self.bias), self.eps)

    def extra_repr(self): return f"{super().extra_repr()}, bias={self.bias is not None}"
