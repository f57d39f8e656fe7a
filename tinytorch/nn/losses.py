# Generated from modules/04_losses/losses_dev.py by tito export. Edit the lesson, not this file.
# source sha256 b3e4d219b7e545bf4f7aacfe7dfeae757b6509a517b34c0633a461327d15ef4c  body sha256 76bc3369044ca2b3bbfd3b2cbca4d470a87ec789a73adc156cad8a514a775e94  # noqa: E501
"""nn.losses: built in module 04_losses."""

import numpy as np

from tinytorch.core.backend import array_module
from tinytorch.core.op import op
from tinytorch.core.ops import gather
from tinytorch.nn.activations import log_softmax, softplus
from tinytorch.nn.floats import floats_only
from tinytorch.nn.loss_parts import (
    check_classes,
    class_axis,
    common_floats,
    holds_probabilities,
    refuse_outside,
    refuse_stretching,
    refuse_unequal,
    soft_losses,
    sum_of_squares,
)

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "class_weights", "cross_entropy",
    "cross_entropy_rows", "mse_loss", "nll_loss", "reduce_loss", "smoothed_cross_entropy",
    "weigh_and_reduce",
]


def reduce_loss(losses, reduction="mean", total=None):
    """One number made of many losses, or the losses themselves if reduction is "none".

    losses: a tensor or an array of any shape. reduction: "none", "sum" or "mean". total: what the mean
    divides by, if not the number of losses. Raises ValueError for another reduction. The mean of no
    losses is nan.

    >>> reduce_loss(Tensor([0.4170, 2.3170, 0.]), total=2)
    tensor(1.3670)
    """
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
    """The squared differences of input and target, reduced to one number: their mean, sum or "none".

    input, target: floats of one shape. Raises RuntimeError, naming both shapes, if they differ, also
    where they would broadcast; for another reduction; and (`common_floats`) if neither holds floats.

    >>> mse_loss(Tensor([1., 2., 4.]), Tensor([1., 4., 1.]))
    tensor(4.3333)
    """
    if input.shape != target.shape:
        raise RuntimeError(f"mse_loss of {input.shape} and a target of {target.shape}: the shapes must be "
                           "equal. Reshape one of them; broadcasting would compare each with several.")
    difference = input - target
    if reduction == "mean":
        loss = sum_of_squares(difference) / difference.size   # quicker, and every step of training asks
    else:
        loss = reduce_loss(difference * difference, reduction)
    return loss, difference


@op(promote=False)
@floats_only
def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    """The surprise at what happened, if `input` was the probability of yes and `target` is 1 for yes.

    input, target: floats of one shape, 0 to 1 (else RuntimeError). weight: what each loss is multiplied
    by, broadcast to them. Logarithms stop at -100, so a loss is at most 100.

    >>> binary_cross_entropy(Tensor([0.8807971, 0.8807971]), Tensor([1., 0.]), reduction="none")
    tensor([0.1269, 2.1269])
    """
    refuse_unequal("binary_cross_entropy", input, target, RuntimeError)
    refuse_outside("binary_cross_entropy", input=input, target=target)
    yes = np.maximum(np.log(input), -100)
    no = np.maximum(np.log1p(-input), -100)
    losses = -(target * yes + (1 - target) * no)
    return weigh_and_reduce(losses, weight, reduction)


def weigh_and_reduce(losses, weight, reduction):
    """The losses, times `weight` if there is one, reduced. Raises RuntimeError for one that does not fit."""
    if weight is not None:
        refuse_stretching("binary cross entropy", weight, losses.shape)
        losses = losses * weight
    return reduce_loss(losses, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, *, reduction="mean", pos_weight=None):
    """binary_cross_entropy of sigmoid(input), for scores of any size.

    input, target: floats of one shape (else ValueError). weight: what each loss is multiplied by.
    pos_weight: what the part of the target that is yes is multiplied by; both broadcast.

    >>> binary_cross_entropy_with_logits(Tensor([2., 800.]), Tensor([1., 0.]), reduction="none")
    tensor([1.2693e-01, 8.0000e+02])
    """
    refuse_unequal("binary_cross_entropy_with_logits", input, target)
    yes = target if pos_weight is None else target * pos_weight
    losses = yes * softplus(-input) + (1 - target) * softplus(input)
    return weigh_and_reduce(losses, weight, reduction)


def class_weights(target, weight, ignore_index):
    """What each target counts: the weight of its class, 1 without weights, and 0 if it is ignored."""
    counts = target != ignore_index
    return counts if weight is None else weight[target * counts] * counts


def nll_loss(input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    """Minus the log probability of the right class: how surprising each target was.

    input: log probabilities (C,), (N, C) or (N, C, d1, ...). target: the same without C, int64, each 0 to
    C - 1 (else IndexError) or ignore_index, which counts nothing. weight: (C,), how much a class counts.
    The mean divides by the weights of the targets.

    >>> log_p = Tensor([[-0.4170, -1.4170, -2.3170], [-0.4170, -1.4170, -2.3170]])
    >>> nll_loss(log_p, Tensor([0, 2]))
    tensor(1.3670)
    """
    target = check_classes("nll_loss", input, target, weight, ignore_index)
    dim, ignored = class_axis(input), target == ignore_index
    index = target.masked_fill(ignored, 0).unsqueeze(dim)            # any class will do
    surprise = (-gather(input, dim, index)).squeeze(dim).masked_fill(ignored, 0.)
    weights = class_weights(target, weight, ignore_index)
    return reduce_loss(surprise * weights, reduction, weights.sum())


@op(keeps=True, promote=False)
@floats_only
def cross_entropy_rows(logits, target, ignore_index=-100):
    """The surprise at each row's target, from scores: nll_loss of log_softmax, in one op.

    logits: (N, C) floats. target: (N,) integers, 0 to C - 1, or ignore_index for a row whose loss is 0.
    Gives (N,), and keeps the probabilities (N, C) for the gradient.

    >>> cross_entropy_rows(Tensor([[2., 1., 0.1], [2., 1., 0.1]]), Tensor([0, 2]))
    tensor([0.4170, 2.3170])
    """
    counts = target != ignore_index
    p = logits - logits.max(1, keepdims=True)
    score = p[array_module(p).arange(len(p)), target * counts]       # class 0 where ignored
    np.exp(p, out=p)                                                 # in place from here on: p is ours
    total = p.sum(1)
    p /= total[:, None]
    losses = np.log(total) - score
    losses[~counts] = 0
    return losses, p


def smoothed_cross_entropy(logits, target, label_smoothing, weight=None, ignore_index=-100):
    """The cross entropy of each row with a share of its target spread evenly over all classes.

    logits: (N, C), target: (N,) classes or ignore_index, whose loss is 0. label_smoothing: the share.
    weight: (C,), what the surprise at each class is multiplied by. Gives (N,).

    >>> smoothed_cross_entropy(Tensor([[2., 1., 0.1]]), Tensor([0]), 0.1)
    tensor([0.5137])
    """
    log_p = log_softmax(logits, 1)
    right = nll_loss(log_p, target, weight, ignore_index=ignore_index, reduction="none")
    everywhere = -(log_p if weight is None else log_p * weight).mean(1)
    losses = (1 - label_smoothing) * right + label_smoothing * everywhere
    return losses.masked_fill(target == ignore_index, 0.)


def cross_entropy(input, target, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """The surprise at the right class, from scores: nll_loss of log_softmax along the class axis.

    input: (C,), (N, C) or (N, C, d1, ...) floats. target: the same without C, int64, each 0 to C - 1 (else
    IndexError) or ignore_index; or probabilities, floats in the shape of the input. weight: (C,), how
    much a class counts; the mean divides by the weights of the targets. label_smoothing: the share of
    the target that is spread over all classes, 0 to 1 (else RuntimeError).

    >>> cross_entropy(Tensor([[2., 1., 0.1], [2., 1., 0.1]]), Tensor([0, 2]))
    tensor(1.3670)
    """
    if holds_probabilities("cross_entropy", input, target, weight, ignore_index, label_smoothing):
        return reduce_loss(soft_losses(input, target, weight, label_smoothing), reduction)
    target = check_classes("cross_entropy", input, target, weight, ignore_index)
    dim, flat = class_axis(input), input.ndim == 2                   # flat: these are rows already
    rows = input if flat else input.movedim(dim, -1).reshape(-1, input.shape[dim])
    wanted = target if flat else target.reshape(-1)
    weights = class_weights(wanted, weight, ignore_index)
    if label_smoothing:
        losses = smoothed_cross_entropy(rows, wanted, label_smoothing, weight, ignore_index)
    else:
        losses = cross_entropy_rows(rows, wanted, ignore_index)
        losses = losses if weight is None else losses * weights
    return reduce_loss(losses if flat else losses.reshape(target.shape), reduction, weights.sum())
