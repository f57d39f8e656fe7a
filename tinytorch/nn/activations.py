# Generated from modules/02_activations/activations_dev.py by tito export. Edit the lesson, not this file.
# source sha256 99cd54752907b59b5c14f9f14c0eacfdff274f19d690da173bb27b988b499555  body sha256 51442482d9229fd6d1ed277f8cf9b0e79a29c7e6d39ac81bb22bfa6565546046  # noqa: E501
"""nn.activations: built in module 02_activations."""

import math

import numpy as np

from tinytorch.core.math import erf, floats
from tinytorch.core.op import op
from tinytorch.core.threads import in_pieces
from tinytorch.nn.floats import along_dim, any_numbers, floats_only, refuse_bools

__all__ = [
    "gelu", "leaky_relu", "log_softmax", "relu", "sigmoid", "silu", "softmax", "softplus", "tanh",
]


@op(method=True)
def relu(x):
    """x where it is positive, else 0; nan stays nan. Keeps the dtype, also of integers.

    Raises RuntimeError for bools.

    >>> relu(Tensor([-4., 0., 2.5]))
    tensor([0.0000, 0.0000, 2.5000])
    """
    refuse_bools("relu", x)
    return np.maximum(x, 0)


@op
@floats_only
def leaky_relu(x, negative_slope=0.01):
    """x where it is positive, else x times `negative_slope`, which may be any number.

    Raises RuntimeError for integers and bools.

    >>> leaky_relu(Tensor([-2., 3.]), 0.1)
    tensor([-0.2000,  3.0000])
    """
    return np.maximum(x, 0) + negative_slope * np.minimum(x, 0)


@op(method=True)
@any_numbers
def sigmoid(x):
    """1 / (1 + e^-x), between 0 and 1, without overflow for any x. Integers give float32.

    >>> sigmoid(Tensor([0., 2., -1000.]))
    tensor([0.5000, 0.8808, 0.0000])
    """
    small = np.exp(-abs(x))                          # e^-|x|, never above 1
    return np.maximum(x >= 0, small) / (1 + small)   # above the line: 1 (True) where x >= 0, else small


@op(method=True)
def tanh(x):
    """The hyperbolic tangent, between -1 and 1. Integers give float32."""
    return np.tanh(floats(x))


@op
@floats_only
def softplus(x, beta=1.0, threshold=20.0):
    """log(1 + e^(beta x)) / beta, without overflow; x itself where beta x is above `threshold`.

    Raises RuntimeError for integers and bools.

    >>> softplus(Tensor([-2., 0., 2.]))
    tensor([0.1269, 0.6931, 2.1269])
    """
    z = x * beta
    soft = np.maximum(z, 0) + np.log1p(np.exp(-abs(z)))
    return np.where(z > threshold, x, soft / beta)


@op
@floats_only
def silu(x):
    """x times sigmoid(x). Raises RuntimeError for integers and bools.

    >>> silu(Tensor([-1., 2.]))
    tensor([-0.2689,  1.7616])
    """
    return x * sigmoid(x)


@op(keeps=True)
@floats_only
@in_pieces
def gelu(x, approximate="none"):
    """x times the probability that a normally distributed number is smaller than x.

    approximate: "none" for the exact probability, "tanh" for the substitute that GPT-2 uses. Raises
    RuntimeError for another one, and for integers and bools. Hendrycks and Gimpel, arXiv:1606.08415.

    >>> gelu(Tensor([-1., 2.]))
    tensor([-0.1587,  1.9545])
    """
    if approximate == "none":
        gate = 0.5 * (1 + erf(x * math.sqrt(0.5)))
    elif approximate == "tanh":
        gate = 0.5 * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    else:
        raise RuntimeError(f"gelu: approximate={approximate!r} is not known; it can be 'none' or 'tanh'.")
    return x * gate, gate


@op(method=True, promote=False)
@along_dim
def softmax(x, dim, dtype=None):
    """Shares between 0 and 1 that sum to 1 along `dim`, from scores x of any shape, without overflow.

    dtype: what x is converted to first (`along_dim` does that). Raises RuntimeError for integers unless
    a dtype of floats is given, IndexError if there is no such dim.

    >>> softmax(Tensor([[1., 2., 3.], [1003., 1001., 1000.]]), dim=1)
    tensor([[0.0900, 0.2447, 0.6652],
            [0.8438, 0.1142, 0.0420]])
    """
    shares = x - x.max(dim, keepdims=True)
    np.exp(shares, out=shares)                       # in place from here on: this array is ours
    shares /= shares.sum(dim, keepdims=True)
    return shares


@op(method=True, promote=False)
@along_dim
def log_softmax(x, dim, dtype=None):
    """The logarithms of the shares that softmax gives along `dim`, also of those too small for a float.

    dtype: what x is converted to first. Raises RuntimeError for integers unless a dtype of floats is
    given, IndexError if there is no such dim.

    >>> log_softmax(Tensor([0., -200.]), dim=0)
    tensor([   0., -200.])
    """
    x = x - x.max(dim, keepdims=True)
    x -= np.log(np.exp(x).sum(dim, keepdims=True))
    return x
