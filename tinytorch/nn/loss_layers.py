# Generated from modules/04_losses/loss_layers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 32d1d548a04410df7719d0ab455c9ec8b2fc762f8237ce3e2f0fd30a6fef0e00  body sha256 de0effcc07c606e9d316eb41bb40a65088089103674737c3d0c051e205c4c863  # noqa: E501
"""nn.loss_layers: built in module 04_losses."""

from tinytorch.nn.loss_parts import reduction_of
from tinytorch.nn.module import Module
from tinytorch.nn.more_losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss", "HuberLoss", "KLDivLoss", "L1Loss", "Loss",
    "MSELoss", "NLLLoss", "SmoothL1Loss", "WeightedLoss",
]


class Loss(Module):
    """What all losses have: a reduction, "mean", "sum" or "none"."""
    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = reduction_of(reduction, size_average, reduce) if old else reduction


class WeightedLoss(Loss):
    """A loss with a weight, one for each class or element: a buffer."""
    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class MSELoss(Loss):
    """`mse_loss`: squared differences."""
    def forward(self, input, target): return mse_loss(input, target, reduction=self.reduction)


class L1Loss(Loss):
    """`l1_loss`: absolute differences."""
    def forward(self, input, target): return l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(Loss):
    """`smooth_l1_loss`: a square up to `beta`, then absolute differences."""
    def __init__(self, size_average=None, reduce=None, reduction="mean", beta=1.0):
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input, target):
        return smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(Loss):
    """`huber_loss`: half a square up to `delta`, then a straight line. TypeError if delta is no number."""
    def __init__(self, reduction="mean", delta=1.0):
        super().__init__(reduction=reduction)
        if not isinstance(delta, (int, float)):
            raise TypeError(f"HuberLoss: delta must be a float or int, got {type(delta).__name__}.")
        self.delta = delta

    def forward(self, input, target): return huber_loss(input, target, self.reduction, self.delta)


class BCELoss(WeightedLoss):
    """`binary_cross_entropy` of probabilities; weight: for each element, or broadcast to them."""
    def forward(self, input, target):
        return binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(WeightedLoss):
    """`binary_cross_entropy_with_logits`; pos_weight: how much the positive ones count, by class."""
    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input, target):
        return binary_cross_entropy_with_logits(input, target, self.weight, reduction=self.reduction,
                                                pos_weight=self.pos_weight)


class NLLLoss(WeightedLoss):
    """`nll_loss` of log probabilities; weight: one number for each class."""
    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input, target):
        return nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(WeightedLoss):
    """`cross_entropy` of logits; weight: one number for each class."""
    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                 label_smoothing=0.0):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input, target):
        return cross_entropy(input, target, self.weight, ignore_index=self.ignore_index,
                             reduction=self.reduction, label_smoothing=self.label_smoothing)


class KLDivLoss(Loss):
    """`kl_div` of log probabilities; reduction may be "batchmean" too."""
    def __init__(self, size_average=None, reduce=None, reduction="mean", log_target=False):
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input, target):
        return kl_div(input, target, reduction=self.reduction, log_target=self.log_target)
