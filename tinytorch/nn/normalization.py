# Generated from modules/13_transformers/transformers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 05fdc8330da0c9077e7b24fab84611248d7509312f73cb6cdee925ce10215bff  body sha256 b55ab8dd4110a8dcf590f72d5f2f87a4b26a4b68bb5c07cf5706bb006d1537a2  # noqa: E501
"""nn.normalization: built in module 13_transformers."""

import numpy as np

from tinytorch.core.autograd import composite, vjp
from tinytorch.core.op import op
from tinytorch.nn.floats import floats_only
from tinytorch.nn.norm_parts import NormLayer, over_last

__all__ = ["LayerNorm", "RMSNorm", "layer_norm", "rms_norm"]


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

    def pull(g):
        def to_x():
            h = g if weight is None else g * weight
            return scale * (h - h.mean(-1, keepdims=True) - normal * (h * normal).mean(-1, keepdims=True))
        return to_x, None if weight is None else lambda: g * normal, g

    return pull


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


@op(keeps=True)
@floats_only
def rms_norm(x, weight=None, eps=None):
    """Each vector (..., d) of x by the root of its mean square; times weight (d,). arXiv:1910.07467.

    eps: added to the mean square; if None, the dtype's own, the distance from 1 to the next number.
    """
    eps = float(np.finfo(x.dtype).eps) if eps is None else eps
    scale = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    normal = x * scale
    return normal if weight is None else normal * weight, normal, scale


@vjp(rms_norm)
def _(kept, x, weight=None, eps=None):
    out, normal, scale = kept

    def pull(g):
        def to_x():
            h = g if weight is None else g * weight
            return scale * (h - normal * (h * normal).mean(-1, keepdims=True))
        return to_x, None if weight is None else lambda: g * normal

    return pull


@composite(rms_norm)
def _(*inputs, **params): return rms_norm.forward(*inputs, **params)[0]


class RMSNorm(NormLayer):
    """Each vector by the root of its mean square, times `weight`, that is learned: no mean, no bias."""
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__(normalized_shape, eps, elementwise_affine, False, device, dtype)

    def forward(self, x):
        """x (..., d), normalised: the same shape. eps=None is the dtype's own."""
        return over_last(rms_norm, x, self.normalized_shape, (self.weight,), self.eps, mixed=True)
