# Generated from modules/13_transformers/rms_norm_dev.py by tito export. Edit the lesson, not this file.
# source sha256 5fa8815ca8d4b90418f2eb937d44a199c78de8aa0d6c3cf1e277543222746706  body sha256 1979edc51e3c9fbe2efd5540411001b8a506e76917d8f025a166c19d60904f33  # noqa: E501
"""nn.rms_norm: built in module 13_transformers."""

import numpy as np

from tinytorch.core.autograd import composite, vjp
from tinytorch.core.op import op
from tinytorch.nn.floats import floats_only
from tinytorch.nn.norm_parts import NormLayer, over_last, slope_of_weight

__all__ = ["RMSNorm", "rms_norm"]


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
        return to_x, None if weight is None else lambda: slope_of_weight(g, normal)

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
