# Generated from modules/05_autograd/loss_rules_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2470eda63c2a1f23b48dd8e8deb23c53fbd7562323c8e3c996cae4b8405b40fe  body sha256 9798a48d97038078f1ef40ab4658755b5ee2878e18b79409c32d391d3482b4ba  # noqa: E501
"""core.loss_rules: built in module 05_autograd."""

import math

import numpy as np

from tinytorch.core.autograd import composite, vjp
from tinytorch.core.ops import gather
from tinytorch.nn.activations import log_softmax
from tinytorch.nn.losses import binary_cross_entropy, cross_entropy_rows, mse_loss, reduce_loss

__all__ = []


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


@vjp(binary_cross_entropy)
def _(out, input, target, weight=None, reduction="mean"):
    n = math.prod(input.shape) if reduction == "mean" else 1

    def pull(g):
        g = g / n if weight is None else g * weight / n
        return (lambda: g * ((input - target) / np.maximum(input * (1 - input), 1e-12)),
                lambda: g * (np.log1p(-input) - np.log(input)))
    return pull
