# Generated from modules/13_transformers/transformers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a5c7744f386e6392034314b3bd6edbc52b80a88fcaeb624fb48fbd864a49f5d4  body sha256 f9531e0e9d467ef8148a40f36c1120e9d2122ffa8a1639b17932fe5025de251c  # noqa: E501
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


@op(keeps=True)
@floats_only
def rms_norm(x, weight=None, eps=1e-5):
    """Each vector (..., d) of x by the root of its mean square; times weight (d,). arXiv:1910.07467."""
    scale = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    normal = x * scale
    return normal if weight is None else normal * weight, normal, scale


@vjp(rms_norm)
def _(kept, x, weight=None, eps=1e-5):
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
        eps = float(np.finfo(x.dtype).eps) if self.eps is None else self.eps
        return over_last(rms_norm, x, self.normalized_shape, (self.weight,), eps)
