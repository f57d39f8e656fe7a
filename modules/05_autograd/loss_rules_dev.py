# %% [markdown]
# # Rules for the losses of module 04
#
# Given: a formula sheet. Most losses are made of other ops and need no rule. Three are ops: the cross
# entropy of rows, whose rule is an exercise of this module, and the two below. What an op keeps has no
# history, so an op that keeps floats has a plain form too, from which second derivatives are made.

# %%
#| default_exp core.loss_rules

# %%
import math

import numpy as np

from tinytorch.core.autograd import composite, vjp
from tinytorch.core.ops import gather
from tinytorch.nn.activations import log_softmax
from tinytorch.nn.losses import binary_cross_entropy, cross_entropy_rows, mse_loss, reduce_loss


# %%
#| export
@vjp(mse_loss)
def _(kept, input, target, reduction="mean"):
    difference = kept[1]
    n = difference.size if reduction == "mean" else 1

    def pull(g):
        g = g.astype(difference.dtype, copy=False)     # of a float16 loss: 2 / n may be too small for it
        slope = difference * (2 * g / n)
        return slope, lambda: -slope
    return pull
@composite(mse_loss)
def _(input, target, reduction="mean"):
    difference = input - target
    return reduce_loss(difference * difference, reduction)


@composite(cross_entropy_rows)
def _(logits, target, ignore_index=-100):
    ignored = target == ignore_index
    index = target.masked_fill(ignored, 0).unsqueeze(1)
    return -gather(log_softmax(logits, 1), 1, index).squeeze(1).masked_fill(ignored, 0.0)


# %% [markdown]
# At p the slope is (p - y) / (p (1 - p)). At 0 and 1 that is 0/0 or infinite; PyTorch stops the divisor at
# 1e-12, and so do we. Together with the slope of a sigmoid, p (1 - p), only p - y is left, which is why
# one trains on logits.

# %%
#| export
@vjp(binary_cross_entropy)
def _(out, input, target, weight=None, reduction="mean"):
    n = math.prod(input.shape) if reduction == "mean" else 1

    def pull(g):
        g = g / n if weight is None else g * weight / n
        return (lambda: g * ((input - target) / np.maximum(input * (1 - input), 1e-12)),
                lambda: g * (np.log1p(-input) - np.log(input)))
    return pull
