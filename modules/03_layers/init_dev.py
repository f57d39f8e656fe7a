# %% [markdown]
# # First values
#
# Given code: nothing to solve here. `kaiming_normal_` is an exercise of the lesson; these are its sisters.
# Each fills a tensor in place and returns it. PyTorch's names: the underscore says "in place".

# %%
#| default_exp nn.initializers

# %%
import math

import numpy as np
from parameter_dev import overwrite

from tinytorch.core.backend import array_module
from tinytorch.core.creation import eye, full_like, rand_like, randn_like
from tinytorch.core.tensor import Tensor

# %% [markdown]
# ## Numbers from one distribution

# %%
#| export
def constant_(tensor, val): return overwrite(tensor, full_like(tensor, val))
def ones_(tensor): return constant_(tensor, 1)
def zeros_(tensor): return constant_(tensor, 0)


def eye_(tensor):
    """Ones on the diagonal of a matrix, zeros elsewhere: a layer that hands on what it gets."""
    if tensor.ndim != 2:
        raise ValueError(f"eye_ of {tensor.shape}: only a matrix has a diagonal of this kind.")
    return overwrite(tensor, eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Every number between a and b equally often."""
    return overwrite(tensor, rand_like(tensor, generator).data * (b - a) + a)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normally distributed, with this mean and standard deviation."""
    return overwrite(tensor, randn_like(tensor, generator).data * std + mean)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normally distributed, but drawn again where the number is outside of a to b."""
    xp, likely = array_module(tensor.data), min(max(mean, a), b)
    low, high = max(a, likely - 6 * std), min(b, likely + 6 * std)      # beyond six deviations: never
    out = xp.empty(tensor.numel(), tensor.dtype)
    todo = xp.arange(tensor.numel())
    while todo.size:                                   # propose evenly, accept as often as the curve is high
        shape = Tensor._of(out[todo])
        x = rand_like(shape, generator).data * (high - low) + low
        height = np.exp(((likely - mean) ** 2 - (x - mean) ** 2) / (2 * std * std))
        accepted = rand_like(shape, generator).data < height
        out[todo[accepted]] = x[accepted]
        todo = todo[~accepted]
    return overwrite(tensor, out.reshape(tensor.shape))


# %% [markdown]
# ## By the size of the layer
#
# A unit sums over `fan_in` inputs; its own value goes to `fan_out` units. For a convolution each input
# channel counts once per element of the kernel.

# %%
#| export
def fans(tensor):
    """(fan_in, fan_out) of a weight (out, in, *kernel). A size of 0 counts as 1: there is nothing to fill.

    Raises ValueError for fewer than two dimensions, where neither is defined.
    """
    if tensor.ndim < 2:
        raise ValueError(f"fan in and fan out of {tensor.shape}: a weight has at least two dimensions, (out, "
                         "in). For a bias use zeros_ or uniform_.")
    kernel = math.prod(tensor.shape[2:])
    return max(tensor.shape[1] * kernel, 1), max(tensor.shape[0] * kernel, 1)


def calculate_gain(nonlinearity, param=None):
    """By how much a layer's numbers must grow to make up for what the activation after it takes away.

    Raises ValueError for a name that has none.

    >>> calculate_gain("relu")
    1.4142135623730951
    """
    slope = 0.01 if param is None else param
    gains = {"linear": 1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "sigmoid": 1, "tanh": 5 / 3,
             "relu": math.sqrt(2), "leaky_relu": math.sqrt(2 / (1 + slope ** 2)), "selu": 3 / 4}
    if nonlinearity not in gains:
        raise ValueError(f"calculate_gain({nonlinearity!r}): known are {', '.join(gains)}.")
    return gains[nonlinearity]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform with variance 2 gain² / (fan_in + fan_out) (Glorot and Bengio, 2010): a compromise between
    keeping the size of the signal forward and of the gradient backward."""
    bound = gain * math.sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal with variance 2 gain² / (fan_in + fan_out)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans(tensor))), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform with the same variance as `kaiming_normal_`."""
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"kaiming_uniform_: mode is 'fan_in' or 'fan_out', got {mode!r}.")
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3 / fans(tensor)[mode == "fan_out"])
    return uniform_(tensor, -bound, bound, generator)


def orthogonal_(tensor, gain=1, generator=None):
    """Rows (or columns, if there are fewer of them) of length `gain` and at right angles (Saxe et al., 2013).

    More than two dimensions are read as (first, all others).
    """
    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_ of {tensor.shape}: only a matrix has rows and columns.")
    if not tensor.numel():
        return tensor
    xp, rows = array_module(tensor.data), tensor.shape[0]
    drawn = randn_like(tensor, generator).data.reshape(rows, -1).astype("float64")
    q, r = xp.linalg.qr(drawn if rows >= drawn.shape[1] else drawn.T)
    q = q * np.sign(xp.diag(r))                        # makes all rotations equally likely
    q = q if rows >= drawn.shape[1] else q.T
    return overwrite(tensor, (gain * q).reshape(tensor.shape))
