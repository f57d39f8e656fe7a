# Generated from modules/09_spatial/spatial_dev.py by tito export. Edit the lesson, not this file.
# source sha256 b1eedd4760c023cd2abd94a642bc220e2b1210cc8dd4b6339ca7ce3f0c207033  body sha256 af63cdd31f105a6bd465c227da9accf70e920f6beb5a0d67cc4e928110523d70  # noqa: E501
"""nn.batch_norm: built in module 09_spatial."""

import math

from tinytorch.core.dtypes import float16
from tinytorch.nn.batch_norm_parts import batch_normalized, normalized_by, overwrite
from tinytorch.nn.conv_parts import check_batch_norm

__all__ = ["batch_norm"]


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1,
               eps=1e-5):
    """Each channel of (N, C, ...) with mean 0 and variance 1, times weight, plus bias: (C,) each, or None.

    In training by the statistics of the batch; running_mean and running_var, (C,) or both None, are then
    brought up to date in place, by the share `momentum` of the batch's mean and unbiased variance. Otherwise
    by the running ones. Raises ValueError for one number a channel in training.
    """
    check_batch_norm(input, running_mean, running_var, weight, bias, training, eps)
    if input.dtype == float16:                         # three digits are not enough for a variance
        weight, bias = [None if p is None else p.float() for p in (weight, bias)]
        out = batch_norm(input.float(), running_mean, running_var, weight, bias, training, momentum, eps)
        return out.half()
    dims, n = (0, *range(2, input.ndim)), len(input) * math.prod(input.shape[2:])
    if not n:                                          # a batch of none has no statistics
        return input * 1
    if not training:
        return normalized_by(input, weight, bias, running_mean, running_var, eps)
    mean, var = input.data.mean(dims), input.data.var(dims)
    if running_mean is not None:
        overwrite(running_mean, (1 - momentum) * running_mean.data + momentum * mean)
        overwrite(running_var, (1 - momentum) * running_var.data + momentum * var * (n / (n - 1)))
    return batch_normalized(input, weight, bias, mean, var, eps)
