# Generated from modules/02_activations/more_activations_dev.py by tito export. Edit the lesson, not this file.
# source sha256 dec7780631ed47c89932e29aeb1f0f9a3f6e7e0e7a2416f3c1e59353c9435ef0  body sha256 07d731294b2346ee09e26e9b802044b0c5f905f47e11e296ab86a71d5fb7cf28  # noqa: E501
"""nn.more_activations: built in module 02_activations."""

import functools
import inspect
import math

import numpy as np

from tinytorch.core.math import choose, clamp, expm1
from tinytorch.core.op import op
from tinytorch.core.ops import masked_fill
from tinytorch.nn.activations import leaky_relu as leaky_relu_op
from tinytorch.nn.activations import relu as relu_op
from tinytorch.nn.activations import sigmoid, softmax, softplus, tanh
from tinytorch.nn.activations import silu as silu_op
from tinytorch.nn.floats import kind_of, refuse_bools, refuse_integers

__all__ = [
    "bent_below", "celu", "elu", "glu", "hardshrink", "hardsigmoid", "hardsigmoid_op", "hardswish",
    "hardtanh", "hardtanh_op", "leaky_relu", "logsigmoid", "may_write", "mish", "prelu", "relu",
    "relu6", "selu", "silu", "softmin", "softshrink", "softsign", "tanhshrink", "threshold",
]


def may_write(function):
    """`function(input, ...)` with `inplace=False` as its last argument: True writes into `input`."""
    count = len(inspect.signature(getattr(function, "forward", function)).parameters)

    @functools.wraps(function)
    def writing(input, *args, inplace=False, **params):
        if len(args) == count:                       # inplace was given by position
            *args, inplace = args
        if inplace:
            return input._take_over(function(input.clone(), *args, **params))
        return function(input, *args, **params)
    return writing


relu = may_write(relu_op)
leaky_relu = may_write(leaky_relu_op)
silu = may_write(silu_op)


@op
def hardtanh_op(x, min_val=-1.0, max_val=1.0):
    """x, but at least min_val and at most max_val, in x's own dtype."""
    refuse_bools("hardtanh", x)
    if x.dtype.kind == "u" and min_val < 0:
        raise RuntimeError(f"hardtanh of {x.dtype} numbers: they have no sign, and min_val is {min_val}. "
                           "Convert them first: x.float().")
    low, high = x.dtype.type(min_val), x.dtype.type(max_val)
    return np.minimum(np.maximum(x, low), high)


@may_write
def hardtanh(input, min_val=-1.0, max_val=1.0):
    """input, but at least `min_val` and at most `max_val`: a tanh made of three straight lines."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val {min_val} is above max_val {max_val}. Exchange them.")
    kind_of("hardtanh", input)
    return hardtanh_op(input, min_val, max_val)


@may_write
def relu6(input):
    """relu that ends at 6: small enough for 8-bit numbers. Howard et al., arXiv:1704.04861."""
    kind_of("relu6", input)
    return hardtanh_op(input, 0.0, 6.0)


@op
def hardsigmoid_op(x):
    """A sigmoid made of three straight lines: 0 below -3, 1 above 3."""
    refuse_integers("hardsigmoid", x)
    return np.minimum(np.maximum(x + 3, 0), 6) / 6


hardsigmoid = may_write(hardsigmoid_op)


@may_write
def hardswish(input):
    """input times hardsigmoid(input): silu without an exponential. Howard et al., arXiv:1905.02244."""
    refuse_integers("hardswish", input)
    return input * relu6(input + 3) / 6


def prelu(input, weight):
    """leaky_relu with learned slopes: one for all, or one for each channel (dim 1). He et al., 2015."""
    kind_of("prelu", input)
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.ndim > 1 or math.prod(weight.shape) not in (1, channels):
        raise RuntimeError(f"prelu: weight has shape {weight.shape}, the input {input.shape}. It needs one "
                           f"slope, or one for each of the {channels} channels.")
    one = math.prod(weight.shape) == 1
    weight = weight.reshape(() if one else (channels, *[1] * (input.ndim - 2)))
    return choose(input > 0, input, input * weight)


@may_write
def threshold(input, threshold, value):
    """`value` where input is at most `threshold`, elsewhere input."""
    refuse_bools("threshold", input)
    return choose(input <= threshold, value, input)


def hardshrink(input, lambd=0.5):
    """0 where |input| is at most `lambd`, elsewhere input."""
    refuse_integers("hardshrink", input)
    return masked_fill(input, abs(input) <= lambd, 0.0)


def softshrink(input, lambd=0.5):
    """input, moved towards 0 by `lambd`, and 0 where it would pass it."""
    refuse_integers("softshrink", input)
    if lambd < 0:
        raise RuntimeError(f"softshrink: lambd is {lambd}, it must be 0 or more.")
    return input - clamp(input, -lambd, lambd)


def bent_below(name, input, alpha, scale, steepness):
    """scale * input above 0, and scale * alpha * (e^(steepness * input) - 1) below."""
    refuse_integers(name, input)
    below = expm1(clamp(input * steepness, max=0.0)) * (alpha * scale)
    return choose(input <= 0, below, input if scale == 1 else input * scale)


@may_write
def elu(input, alpha=1.0):
    """input above 0, alpha (e^input - 1) below. Clevert et al., arXiv:1511.07289."""
    return bent_below("elu", input, alpha, 1.0, 1.0)


@may_write
def selu(input):
    """elu with the two numbers that keep mean 0 and variance 1. Klambauer et al., arXiv:1706.02515."""
    return bent_below("selu", input, 1.6732632423543772, 1.0507009873554805, 1.0)


@may_write
def celu(input, alpha=1.0):
    """elu whose slope has no corner for any alpha. Barron, arXiv:1704.07483."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: celu divides by alpha, and alpha is 0.")
    return bent_below("celu", input, alpha, 1.0, 1 / alpha)


@may_write
def mish(input):
    """input times tanh(softplus(input)). Misra, arXiv:1908.08681."""
    refuse_integers("mish", input)
    return input * tanh(softplus(input, threshold=math.inf))


def logsigmoid(input):
    """log(sigmoid(input)), also where the sigmoid is too small for a float."""
    refuse_integers("logsigmoid", input)
    return -softplus(-input, threshold=math.inf)


def softsign(input):
    """input / (1 + |input|): a tanh that takes its time."""
    refuse_bools("softsign", input)
    return input / (1 + abs(input))


def tanhshrink(input):
    """input - tanh(input)."""
    refuse_bools("tanhshrink", input)
    return input - tanh(input)


def softmin(input, dim, dtype=None):
    """Shares that sum to 1 along `dim`, the largest for the smallest score."""
    refuse_bools("softmin", input)
    return softmax(-input, dim, dtype)


def glu(input, dim=-1):
    """The first half of `input` along `dim`, gated by the sigmoid of the second. arXiv:1612.08083."""
    refuse_integers("glu", input)
    if input.ndim == 0:
        raise RuntimeError("glu of a single number: it has no two halves.")
    if not -input.ndim <= dim < input.ndim:
        raise IndexError(f"glu of shape {input.shape}: there is no dim {dim}.")
    size = input.shape[dim]
    if size % 2:
        raise RuntimeError(f"glu of shape {input.shape}: dim {dim} has size {size}, it must be even.")
    before = (slice(None),) * (dim % input.ndim)
    value, gate = input[before + (slice(size // 2),)], input[before + (slice(size // 2, None),)]
    return value * sigmoid(gate)
