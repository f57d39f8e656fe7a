# Generated from modules/09_spatial/batch_norm_parts_dev.py by tito export. Edit the lesson, not this file.
# source sha256 5a1b95839a5e3c223caf54cf9535eff738b40611833efaac67c51ac938cd309c  body sha256 ad50976fa58413b0b55401bee1e34f53d06256e6c0aaaa2cd648cd283234ffb5  # noqa: E501
"""nn.batch_norm_parts: built in module 09_spatial."""

import math

import numpy as np

from tinytorch.core.autograd import composite, vjp
from tinytorch.core.backend import wrote
from tinytorch.core.op import op

__all__ = ["batch_normalized", "normalized_by", "overwrite", "per_channel"]


def per_channel(x, ndim): return x.reshape(-1, *[1] * (ndim - 2))      # (C,) beside (N, C, ...)


@op
def batch_normalized(x, weight, bias, mean, var, eps):
    """(x - mean) / sqrt(var + eps) * weight + bias, channel by channel. x: (N, C, ...), the others (C,).

    mean and var are those of x, so they are no inputs of their own: the gradient of x has their part in it.
    """
    if mean.shape != x.shape[1:2] or var.shape != x.shape[1:2]:
        raise RuntimeError(f"batch norm of {x.shape} with a mean of {mean.shape} and a variance of "
                           f"{var.shape}: both must be {x.shape[1:2]}, a number for each channel.")
    scale = (var + eps) ** -0.5
    if weight is not None:
        scale = scale * weight
    out = x * per_channel(scale, x.ndim)
    out += per_channel(-mean * scale if bias is None else bias - mean * scale, x.ndim)
    return out


def normalized_by(input, weight, bias, mean, var, eps):
    """The same with mean and var that have nothing to do with the input."""
    scale = (var + eps) ** -0.5
    if weight is not None:
        scale = weight * scale
    shift = -mean * scale if bias is None else bias - mean * scale
    return input * per_channel(scale, input.ndim) + per_channel(shift, input.ndim)


def overwrite(tensor, numbers):
    """Write an array into the memory of a tensor, and note that it was written."""
    tensor.data[...] = numbers
    wrote(tensor.data)


@vjp(batch_normalized)
def _(out, x, weight, bias, mean, var, eps):
    shape, rows = x.shape, (*x.shape[:2], math.prod(x.shape[2:]))              # (N, C, L)
    n = rows[0] * rows[2]

    def pull(g):
        g, away = g.reshape(rows), x.reshape(rows) - mean[:, None]
        sum_g, sum_away = g.sum((0, 2)), np.einsum("ncl,ncl->c", g, away)
        rstd = (var + eps) ** -0.5
        scale = rstd if weight is None else rstd * weight
        away *= (scale * rstd * rstd * sum_away / n)[:, None]
        away += (scale * sum_g / n)[:, None]
        return (g * scale[:, None] - away).reshape(shape), sum_away * rstd, sum_g, None, None, None
    return pull


@composite(batch_normalized)
def _(x, weight, bias, mean, var, eps):
    dims = (0, *range(2, x.ndim))
    away = x - x.mean(dims, True)
    out = away * ((away * away).mean(dims, True) + eps) ** -0.5
    if weight is not None:
        out = out * per_channel(weight, x.ndim)
    return out if bias is None else out + per_channel(bias, x.ndim)
