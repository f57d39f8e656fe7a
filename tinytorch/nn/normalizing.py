# Generated from modules/09_spatial/normalizing_dev.py by tito export. Edit the lesson, not this file.
# source sha256 8bfbc08d403654372ceb548ce645719415979bc759d321b8f7c2b74a5373f1aa  body sha256 af0fdcc454d11183b76f10e3dbf0e079b66fe6afac2c3bc60fa404570027a7c7  # noqa: E501
"""nn.normalizing: built in module 09_spatial."""

import math
import warnings

from tinytorch.core.creation import empty, ones, tensor, zeros
from tinytorch.core.dtypes import float16
from tinytorch.nn.batch_norm import batch_norm
from tinytorch.nn.batch_norm_parts import batch_normalized, per_channel
from tinytorch.nn.initializers import ones_, zeros_
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter

__all__ = [
    "BatchNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm",
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "NormBase", "group_norm", "instance_norm",
    "scaled",
]


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Each group of channels of each picture with mean 0 and variance 1; then times weight, plus bias.

    input: (N, C, ...), weight and bias: (C,). Wu and He, arXiv:1803.08494. Raises RuntimeError for shapes
    that do not fit, ValueError if there is only one number to take a variance of.
    """
    if input.ndim < 2 or num_groups < 1 or input.shape[1] % num_groups:
        raise RuntimeError(f"group_norm of {input.shape} with {num_groups} groups: it takes (N, C, ...), "
                           "and C must be a multiple of the groups.")
    n, c = input.shape[:2]
    for name, x in ("weight", weight), ("bias", bias):
        if x is not None and x.shape != (c,):
            raise RuntimeError(f"group_norm of {input.shape}: {name} has shape {x.shape}, it must be "
                               f"({c},).")
    if n * c // num_groups * math.prod(input.shape[2:]) == 1:
        raise ValueError(f"group_norm of {input.shape} with {num_groups} groups: one number has no "
                         "variance.")
    if input.dtype.kind != "f":
        raise NotImplementedError(f"group_norm of {input.dtype} numbers: its results have fractions. "
                                  "Convert them first: x.float().")
    if input.dtype == float16:                         # rounded once, at the end
        more = [x if x is None else x.float() for x in (weight, bias)]
        return group_norm(input.float(), num_groups, *more, eps).half()
    if not input.numel():
        return scaled(input + 0, weight, bias)
    groups = input.reshape(1, n * num_groups, -1)
    mean, var = groups.data.mean((0, 2)), groups.data.var((0, 2))
    return scaled(batch_normalized(groups, None, None, mean, var, eps).reshape(input.shape), weight, bias)


def scaled(x, weight, bias):
    """x (N, C, ...) times weight plus bias (C,), where they are given."""
    x = x if weight is None else x * per_channel(weight, x.ndim)
    return x if bias is None else x + per_channel(bias, x.ndim)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
                  momentum=0.1, eps=1e-5):
    """Each channel of each picture with mean 0 and variance 1; then times weight, plus bias.

    input: (N, C, ...), the others (C,). Running statistics are those of the batch's pictures on average; they
    are used where use_input_stats is False. Raises ValueError for pictures of one number.
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if math.prod(input.shape[2:]) == 1:                # also of (N, C), and of less
        raise ValueError(f"instance_norm of {input.shape}: it takes (N, C, ...), and one number for each "
                         "channel has no variance.")
    n, c = input.shape[:2]
    running = [None if r is None else r.detach().repeat(n).clone() for r in (running_mean, running_var)]
    out = batch_norm(input.reshape(1, n * c, *input.shape[2:]), *running, None, None, True, momentum, eps)
    for mine, theirs in zip((running_mean, running_var), running):
        if mine is not None:
            mine.detach().copy_(theirs.reshape(n, c).mean(0))
    return scaled(out.reshape(input.shape), weight, bias)


class NormBase(Module):
    """What batch and instance norm share: weight and bias if affine, running statistics if tracked."""
    dims = ()                                          # how many dimensions an input may have

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
                 device=None, dtype=None, *, bias=True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        like = dict(dtype=dtype, device=device)
        self.weight = Parameter(empty(num_features, **like)) if affine else None
        self.bias = Parameter(empty(num_features, **like)) if affine and bias else None
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **like) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **like) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Forget every batch."""
        if self.track_running_stats:
            zeros_(self.running_mean)
            ones_(self.running_var)
            zeros_(self.num_batches_tracked)

    def reset_parameters(self):
        """Start again: weight 1, bias 0, no batch seen."""
        self.reset_running_stats()
        if self.weight is not None:
            ones_(self.weight)
        if self.bias is not None:
            zeros_(self.bias)

    def check(self, input):
        if input.ndim not in self.dims:
            raise ValueError(f"{type(self).__name__} got an input of shape {input.shape}: it takes "
                             f"{' or '.join([str(n) for n in self.dims])} dimensions.")

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")


class BatchNorm(NormBase):
    """`batch_norm`: by the batch in training, by the running statistics in evaluation.

    momentum: the share of a new batch in them; None makes them the plain mean of all batches. Without
    track_running_stats the batch decides always. Ioffe and Szegedy, arXiv:1502.03167.
    """
    def forward(self, input):
        self.check(input)
        share, tracks = self.momentum, self.training and self.track_running_stats
        if tracks:
            self.num_batches_tracked += 1
            share = 1 / self.num_batches_tracked.item() if share is None else share
        running = self.running_mean, self.running_var
        by_batch = self.training or running == (None, None)
        if self.training and not tracks:
            running = None, None
        return batch_norm(input, *running, self.weight, self.bias, by_batch, share or 0.0, self.eps)


class BatchNorm1d(BatchNorm):
    """`batch_norm` of (N, C) or (N, C, L)."""
    dims = 2, 3


class BatchNorm2d(BatchNorm):
    """`batch_norm` of (N, C, H, W)."""
    dims = 4,


class BatchNorm3d(BatchNorm):
    """`batch_norm` of (N, C, D, H, W)."""
    dims = 5,


class InstanceNorm(NormBase):
    """`instance_norm`, with or without a batch. Unless affine there are no weights. arXiv:1607.08022."""
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False,
                 device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input):
        self.check(input)
        alone = input.ndim == self.dims[0]             # no batch
        channels = input.shape[0 if alone else 1]
        if channels != self.num_features:
            words = (f"{type(self).__name__}({self.num_features}) got an input of shape {input.shape}, with "
                     f"{channels} channels")
            if self.affine:
                raise ValueError(f"{words}: it has weights for {self.num_features}.")
            warnings.warn(f"{words}; without weights that is no error.", stacklevel=2)
        out = instance_norm(input[None] if alone else input, self.running_mean, self.running_var, self.weight,
                            self.bias, self.training or not self.track_running_stats, self.momentum or 0.0,
                            self.eps)
        return out[0] if alone else out


class InstanceNorm1d(InstanceNorm):
    """`instance_norm` of (N, C, L) or (C, L)."""
    dims = 2, 3


class InstanceNorm2d(InstanceNorm):
    """`instance_norm` of (N, C, H, W) or (C, H, W)."""
    dims = 3, 4


class InstanceNorm3d(InstanceNorm):
    """`instance_norm` of (N, C, D, H, W) or (C, D, H, W)."""
    dims = 4, 5


class GroupNorm(Module):
    """`group_norm` with a weight and a bias for each channel, unless affine is False."""
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *,
                 bias=True):
        super().__init__()
        if num_groups < 1 or num_channels % num_groups:
            raise ValueError(f"GroupNorm: {num_channels} channels must be a multiple of {num_groups} "
                             "groups.")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        like = dict(dtype=dtype, device=device)
        self.weight = Parameter(ones(num_channels, **like)) if affine else None
        self.bias = Parameter(zeros(num_channels, **like)) if affine and bias else None

    def forward(self, input): return group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
                f"bias={self.bias is not None}")
