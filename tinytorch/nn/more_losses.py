# Generated from modules/04_losses/more_losses_dev.py by tito export. Edit the lesson, not this file.
# source sha256 d94cb1987fe59d9b6aa9179c34eedd8460995ddb17daed7adb91bf34e4e619a9  body sha256 10023e4376bee4aedc8d93fe5bf743fb18519efdb6170a1ea84d42aa26d1527c  # noqa: E501
"""nn.more_losses: built in module 04_losses."""

from tinytorch.core.math import abs, clamp, exp, xlogy
from tinytorch.nn.floats import kind_of, refuse_integers
from tinytorch.nn.loss_parts import reduction_of, refuse_other_shape, refuse_unequal
from tinytorch.nn.losses import binary_cross_entropy as binary_op
from tinytorch.nn.losses import binary_cross_entropy_with_logits as binary_from_logits
from tinytorch.nn.losses import cross_entropy as core_cross_entropy
from tinytorch.nn.losses import mse_loss as mse_op
from tinytorch.nn.losses import nll_loss as core_nll_loss
from tinytorch.nn.losses import reduce_loss

__all__ = [
    "bent", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy",
    "huber_loss", "kl_div", "l1_loss", "mse_loss", "nll_loss", "smooth_l1_loss",
]


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The squared differences of two tensors of one shape; with `weight`, one for each, a weighted mean."""
    reduction = reduction_of(reduction, size_average, reduce)
    if weight is None:
        return mse_op(input, target, reduction)
    refuse_other_shape("mse_loss", input, weight, "weight", ValueError)
    return reduce_loss(mse_op(input, target, "none") * weight, reduction, weight.sum())


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Minus the log of the probability of what happened; input: probabilities, target: 0 to 1.

    weight: one number for each, or what broadcasts to them. Raises ValueError if the shapes differ.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    refuse_unequal("binary_cross_entropy", input, target)
    if input.dtype != target.dtype:
        raise RuntimeError(f"binary_cross_entropy of {input.dtype} and a target of {target.dtype}: they must "
                           "have one dtype. Convert the target: target.to(input.dtype).")
    if weight is not None:
        weight = weight.to(dtype=input.dtype)
    return binary_op(input, target, weight, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None,
                                     reduction="mean", pos_weight=None):
    """binary_cross_entropy of sigmoid(input), for logits of any size; `pos_weight` multiplies the target."""
    reduction = reduction_of(reduction, size_average, reduce)
    return binary_from_logits(input, target, weight, reduction=reduction, pos_weight=pos_weight)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
             reduction="mean"):
    """Minus the log probability of the right class; input: log probabilities, target: classes."""
    reduction = reduction_of(reduction, size_average, reduce)
    return core_nll_loss(input, target, weight, ignore_index=ignore_index, reduction=reduction)


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
                  reduction="mean", label_smoothing=0.0):
    """nll_loss of log_softmax(input); target: classes, or probabilities in the shape of the input."""
    return core_cross_entropy(input, target, weight, ignore_index=ignore_index,
                              reduction=reduction_of(reduction, size_average, reduce),
                              label_smoothing=label_smoothing)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The absolute differences of two tensors of one shape; with `weight`, one for each, a weighted mean."""
    reduction = reduction_of(reduction, size_average, reduce)
    refuse_other_shape("l1_loss", input, target)
    losses = abs(input - target)
    if weight is None:
        return reduce_loss(losses, reduction)
    refuse_other_shape("l1_loss", input, weight, "weight", ValueError)
    return reduce_loss(losses * weight, reduction, weight.sum())


def bent(name, input, target, delta):
    """Half the squared difference up to `delta`, a straight line beyond it; one for each number."""
    refuse_other_shape(name, input, target)
    difference = input - target
    refuse_integers(name, difference)
    inner = clamp(difference, -delta, delta)
    return inner * (difference - 0.5 * inner)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half the square up to `delta`, then a straight line. Huber, Annals of Mathematical Statistics 1964.

    weight: one for each number; the mean still divides by how many there are.
    """
    if delta <= 0:
        raise RuntimeError(f"huber_loss: delta is {delta}, it must be above 0.")
    refuse_integers("huber_loss", input)
    losses = bent("huber_loss", input, target.to(dtype=input.dtype), delta)
    if weight is not None:
        refuse_other_shape("huber_loss", input, weight, "weight", ValueError)
        losses = losses * weight
    return reduce_loss(losses, reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """huber_loss divided by its delta, here `beta`: it becomes l1_loss as beta goes to 0."""
    reduction = reduction_of(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss: beta is {beta}, it must not be negative.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return reduce_loss(bent("smooth_l1_loss", input, target, beta) / beta, reduction)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target (log target - input) for each number: how far exp(input) is from being the target.

    input: log probabilities. target: probabilities, or their logs if `log_target`. reduction: "batchmean"
    divides the sum by the first size: the divergence. "mean" divides by the number of elements, as PyTorch.
    """
    for x in input, target:
        if kind_of("kl_div", x) != "f":
            raise RuntimeError(f"kl_div of {input.dtype} and {target.dtype} numbers: probabilities are "
                               "floats. Convert them: x.float().")
    losses = exp(target) * (target - input) if log_target else xlogy(target, target) - target * input
    if reduction == "batchmean" and size_average is None and reduce is None:
        return losses.sum() / (input.shape[0] if input.ndim else 1)
    return reduce_loss(losses, reduction_of(reduction, size_average, reduce))
