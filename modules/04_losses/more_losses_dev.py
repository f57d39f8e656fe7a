# %% [markdown]
# # The relatives
#
# Given code: nothing to solve here. PyTorch's signatures for the losses of the lesson, and what is made of
# the same parts: l1, huber, smooth l1, and the divergence of two distributions. `size_average` and
# `reduce` are PyTorch's old names for `reduction`; they stand where they stand there.

# %%
#| default_exp nn.more_losses

# %%
from loss_parts_dev import reduction_of, refuse_other_shape, refuse_unequal
from losses_dev import binary_cross_entropy as binary_op
from losses_dev import binary_cross_entropy_with_logits as binary_from_logits
from losses_dev import cross_entropy as core_cross_entropy
from losses_dev import mse_loss as mse_op
from losses_dev import nll_loss as core_nll_loss
from losses_dev import reduce_loss

from tinytorch.core.math import abs, clamp, exp, xlogy
from tinytorch.nn.floats import kind_of, refuse_integers

# %% [markdown]
# ## From your hand

# %%
#| export
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


# %% [markdown]
# ## Losses of numbers
#
# The square makes a single outlier outweigh everything else. The absolute value does not, but has a corner
# at 0. Huber's loss is a square within `delta` and a straight line beyond, without a corner: with c the
# difference d clamped to ±delta it is c (d - c/2), which is d²/2 within and delta (|d| - delta/2) beyond.

# %%
#| export
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


# %% [markdown]
# ## Two distributions
#
# How many nats does it cost to believe q where p is true? The cross entropy of the two minus the entropy
# of p: the sum of p (log p - log q), Kullback and Leibler's divergence. Module 17 teaches a small model by
# it. PyTorch wants log q first and p second, and its "mean" divides by every number; "batchmean", by rows,
# is the one that has a meaning.

# %%
#| export
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
