# Generated from modules/04_losses/losses_dev.py by tito export. Edit the lesson, not this file.
# source sha256 4feb6044bc5aaa6728397b7bc224c3ac4efd01e155fc37afe48384d46b2b7514  body sha256 70105f757494301cee42b22ab536e370982fc5baadf5e568b859382cc1ad78a9  # noqa: E501
"""nn.losses: built in module 04_losses."""

import numpy as np

from tinytorch.core.backend import array_module
from tinytorch.core.op import op
from tinytorch.core.ops import gather
from tinytorch.nn.activations import log_softmax, softplus
from tinytorch.nn.floats import floats_only
from tinytorch.nn.loss_checks import (
    check_classes,
    check_shares,
    check_smoothing,
    class_axis,
    common_floats,
    refuse_outside,
    refuse_stretching,
    refuse_unequal,
)

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "class_weights", "cross_entropy",
    "cross_entropy_rows", "mse_loss", "nll_loss", "reduce_loss", "smoothed_cross_entropy",
    "soft_cross_entropy", "weighted_binary",
]


def reduce_loss(losses, reduction="mean", total=None):
    """"""
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction == "mean":
        return losses.mean() if total is None else losses.sum() / total
    raise ValueError(f"reduction={reduction!r} is not known; it can be 'none', 'sum' or 'mean'.")


@op(keeps=True, promote=False)
@common_floats
def mse_loss(input, target, reduction="mean"):
    """"""
    if input.shape != target.shape:
        raise RuntimeError(f"mse_loss of {input.shape} and a target of {target.shape}: the shapes must be "
                           "equal. Broadcasting would compare each with every other; reshape one of them.")
    difference = input - target
    if reduction == "mean":                            # in one pass, without an array of squares
        flat = difference.reshape(-1)
        loss = flat @ flat / flat.size
    else:
        loss = reduce_loss(difference * difference, reduction)
    return loss, difference


@op(promote=False)
@floats_only
def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    """"""
    refuse_outside("binary_cross_entropy", input=input, target=target)
    yes, no = np.maximum(np.log(input), -100), np.maximum(np.log1p(-input), -100)
    losses = -(target * yes + (1 - target) * no)
    return weighted_binary(losses, weight, reduction)


def weighted_binary(losses, weight, reduction):
    """"""
    if weight is not None:
        refuse_stretching("binary_cross_entropy", weight, losses.shape)
        losses = losses * weight
    return reduce_loss(losses, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, *, reduction="mean", pos_weight=None):
    """"""
    refuse_unequal("binary_cross_entropy_with_logits", input, target)
    yes = target if pos_weight is None else target * pos_weight
    losses = yes * softplus(-input) + (1 - target) * softplus(input)
    return weighted_binary(losses, weight, reduction)


def class_weights(target, weight, ignore_index):
    """What each target counts: the weight of its class, 1 without weights, and 0 if it is ignored."""
    counts = target != ignore_index
    return counts if weight is None else weight[target * counts] * counts


def nll_loss(input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    """"""
    target = check_classes("nll_loss", input, target, weight, ignore_index)
    dim, ignored = class_axis(input), target == ignore_index
    index = target.masked_fill(ignored, 0).unsqueeze(dim)
    picked = gather(input, dim, index).squeeze(dim).masked_fill(ignored, 0.)
    weights = class_weights(target, weight, ignore_index)
    return reduce_loss(-picked * weights, reduction, weights.sum())


@op(keeps=True, promote=False)
@floats_only
def cross_entropy_rows(logits, target, ignore_index=-100):
    """The cross entropy of each row: minus the log of the probability of its right class.

    logits: (N, C) floats. target: (N,) integers, 0 to C - 1, or ignore_index for a row whose loss is 0.
    Gives (N,), and keeps the probabilities (N, C) for the gradient.
    """
    counts = target != ignore_index
    p = logits - logits.max(1, keepdims=True)
    score = p[array_module(p).arange(len(p)), target * counts]     # class 0 where ignored
    np.exp(p, out=p)
    total = p.sum(1)
    p /= total[:, None]
    losses = np.log(total) - score
    losses[~counts] = 0
    return losses, p


def soft_cross_entropy(input, target, weight=None, *, reduction="mean", label_smoothing=0.0):
    """"""
    dim = class_axis(input)
    classes = input.shape[dim]
    target = target * (1 - label_smoothing) + label_smoothing / classes
    parts = log_softmax(input, dim) * target
    if weight is not None:
        parts = parts * weight.reshape(classes, *[1] * (input.ndim - 1 - dim))
    return reduce_loss(-parts.sum(dim), reduction)


def cross_entropy(input, target, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """"""
    check_smoothing("cross_entropy", label_smoothing)
    if target.shape == input.shape:
        check_shares("cross_entropy", input, target, weight, ignore_index)
        return soft_cross_entropy(input, target, weight, reduction=reduction, label_smoothing=label_smoothing)
    target = check_classes("cross_entropy", input, target, weight, ignore_index)
    dim = class_axis(input)
    rows = input if input.ndim == 2 else input.movedim(dim, -1).reshape(-1, input.shape[dim])
    wanted = target.reshape(-1)
    weights = class_weights(wanted, weight, ignore_index)
    if label_smoothing:
        losses = smoothed_cross_entropy(rows, wanted, label_smoothing, weight, ignore_index)
    else:
        losses = cross_entropy_rows(rows, wanted, ignore_index)
        losses = losses if weight is None else losses * weights
    return reduce_loss(losses.reshape(target.shape), reduction, weights.sum())


def smoothed_cross_entropy(logits, target, label_smoothing, weight=None, ignore_index=-100):
    """"""
    log_p = log_softmax(logits, 1)
    right = nll_loss(log_p, target, weight, ignore_index=ignore_index, reduction="none")
    anywhere = -(log_p if weight is None else log_p * weight).mean(1)
    losses = (1 - label_smoothing) * right + label_smoothing * anywhere
    return losses.masked_fill(target == ignore_index, 0.)
