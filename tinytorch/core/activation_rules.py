# Generated from modules/05_autograd/activation_rules_dev.py by tito export. Edit the lesson, not this file.
# source sha256 999e38ce3d551c752b58b19c89535aff1e821c8d477415d73c6e1be7e4db0ec8  body sha256 289a081f30215d82529fac48e1bd15068fd667bb5c68d18997009ea894bf5761  # noqa: E501
"""core.activation_rules: built in module 05_autograd."""

import math

import numpy as np

from tinytorch.core.autograd import composite, vjp
from tinytorch.core.math import erf, sum
from tinytorch.core.op import op
from tinytorch.core.threads import in_pieces
from tinytorch.nn.activations import (
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
)
from tinytorch.nn.more_activations import hardsigmoid_op, hardtanh_op

__all__ = ["BITS", "gelu_slope", "through"]


BITS = {size: np.dtype(f"i{size}") for size in (2, 4, 8)}           # integers of a float's size


@op
def through(g, mask):
    """g where `mask` is true, else 0, also of inf and nan."""
    return (g.view(BITS[g.itemsize]) * mask).view(g.dtype)


@vjp(through)
def _(out, g, mask): return lambda h: (through(h, mask),)
@vjp(relu)
def _(out, x): return lambda g: (through(g, out != 0),)            # out is positive, 0 or nan
@vjp(hardtanh_op)
def _(out, x, min_val=-1.0, max_val=1.0):
    inside = ~((x <= min_val) | (x >= max_val))                     # as PyTorch: nan is inside
    return lambda g: (through(g, inside),)
@vjp(hardsigmoid_op)
def _(out, x):
    inside = (x > -3) & (x < 3)                                     # as PyTorch: nan is outside
    return lambda g: (through(g / 6, inside),)
@vjp(leaky_relu)
def _(out, x, negative_slope=0.01):
    positive = x > 0
    return lambda g: (through(g, positive) + through(g * negative_slope, ~positive),)


@vjp(sigmoid)
def _(out, x): return lambda g: (g * (out * (1 - out)),)
@vjp(tanh)
def _(out, x): return lambda g: (g * (1 - out * out),)
@vjp(softplus)
def _(out, x, beta=1.0, threshold=20.0):       # above the threshold the slope is 1: True in the maximum
    return lambda g: (g * np.maximum(sigmoid(x * beta), x * beta > threshold),)
@vjp(silu)
def _(out, x):
    def pull(g):
        gate = sigmoid(x)
        return (g * (gate * (1 + x * (1 - gate))),)
    return pull


@op
@in_pieces
def gelu_slope(x, gate, approximate):
    """The derivative of gelu at x, from the gate that its forward kept."""
    x = x.astype(gate.dtype, copy=False)             # float16: the gate is float32
    if approximate == "none":
        slope = np.exp(x * x * -0.5)
        slope *= 1 / math.sqrt(2 * math.pi)
    else:
        c = 2 * math.sqrt(2 / math.pi)
        slope = x * x
        slope *= 3 * 0.044715 * c
        slope += c
        slope *= gate
        slope *= 1 - gate
    slope *= x
    slope += gate
    return slope


@vjp(gelu)
def _(kept, x, approximate="none"):
    slope = gelu_slope.forward(x, kept[1], approximate, into=kept[1])
    return lambda g: (g * slope,)
@composite(gelu)
def _(x, approximate="none"):
    if approximate == "none":
        return x * (0.5 * (1 + erf(x * math.sqrt(0.5))))
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))


@vjp(softmax)
def _(out, x, dim, dtype=None): return lambda g: (out * (g - sum(g * out, dim, True)),)
@vjp(log_softmax)
def _(out, x, dim, dtype=None): return lambda g: (g - np.exp(out) * sum(g, dim, True),)
