# %% [markdown]
# # RMSNorm: layer norm without the mean
#
# Given code: nothing to solve here. It divides by the root of the mean square, and leaves the mean where it
# is. Llama has it. The rule is layer norm's (in the lesson) without the term of the mean.

# %%
#| default_exp nn.rms_norm

# %%
import numpy as np
from norm_parts_dev import NormLayer, over_last, slope_of_weight, slope_of_x

from tinytorch.core.autograd import composite, vjp
from tinytorch.core.op import op
from tinytorch.nn.floats import floats_only


# %%
#| export
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

    return lambda g: (lambda: slope_of_x(g, normal, scale, weight, centred=False),
                      None if weight is None else lambda: slope_of_weight(g, normal))


@composite(rms_norm)
def _(*inputs, **params): return rms_norm.forward(*inputs, **params)[0]


class RMSNorm(NormLayer):
    """Each vector by the root of its mean square, times `weight`, that is learned: no mean, no bias."""
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__(normalized_shape, eps, elementwise_affine, False, device, dtype)

    def forward(self, x):
        """x (..., d), normalised: the same shape. eps=None is the dtype's own."""
        return over_last(rms_norm, x, self.normalized_shape, (self.weight,), self.eps, mixed=True)
