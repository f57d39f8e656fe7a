# Generated from modules/03_layers/layers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 82b998d80c89b026c5e85ffa28e10cccd9f7d0aec7037878de400e6cdd913338  body sha256 27e53757fc2b388a85640ff90b9a6cb3ac19e8d00c6b94c196b9a83a32e5eab8  # noqa: E501
"""nn.layers: built in module 03_layers."""

import math

from tinytorch.core.creation import empty, rand_like
from tinytorch.core.op import op
from tinytorch.core.ops import flat_product
from tinytorch.nn.initializers import uniform_
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter

__all__ = ["Dropout", "Flatten", "Linear", "linear", "scaled_mask"]


@op
def linear(x, weight, bias=None):
    """x Wᵀ + b: for each row of x as many sums as the weight has rows.

    x: (..., in), weight: (out, in), bias: (out,) or None; gives (..., out). A weight (in,) is one unit
    and gives (...). Raises RuntimeError if the last sizes of x and weight differ, if x is a single
    number, or if the dtypes differ.

    >>> weight = np.array([[1., 0., -1.], [2., 1., 0.]])
    >>> linear.forward(np.array([1., 2., 3.]), weight, np.array([0.5, -1.]))
    array([-1.5,  3. ])
    """
    if x.dtype != weight.dtype or bias is not None and bias.dtype != weight.dtype:
        raise RuntimeError(f"linear of {x.dtype} numbers with a weight of {weight.dtype}: x, weight and "
                           "bias must be of one dtype. Convert x, or the layer.")
    if x.ndim == 0 or x.shape[-1] != weight.shape[-1]:
        raise RuntimeError(f"linear of {x.shape} with a weight of {weight.shape}: the last size of x "
                           f"must be {weight.shape[-1]}, the weight's. Is x transposed, or not flat?")
    out = flat_product(x, weight.T)
    if bias is not None:
        out += bias
    return out


class Linear(Module):
    """The layer y = x Wᵀ + b, with weight (out_features, in_features) and bias (out_features,) or None.

    Both are drawn evenly from -1/√in_features to 1/√in_features.

    >>> layer = Linear(3, 2)
    >>> layer.weight.shape, layer(Tensor([[1., 2., 3.]])).shape
    ((2, 3), (1, 2))
    """
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bound = 1 / math.sqrt(in_features) if in_features > 0 else 0.0

        def drawn(*shape):
            return Parameter(uniform_(empty(*shape, dtype=dtype, device=device), -bound, bound))

        self.weight = drawn(out_features, in_features)
        self.bias = drawn(out_features) if bias else None

    def forward(self, input): return linear(input, self.weight, self.bias)

    def reset_parameters(self):
        """Draw the numbers anew, as the constructor did."""
        fresh = Linear(self.in_features, self.out_features, self.bias is not None)
        self.load_state_dict(fresh.state_dict())

    def extra_repr(self):
        bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={bias}"


class Flatten(Module):
    """Makes one axis of all from start_dim to end_dim (included).

    >>> Flatten()(zeros(5, 1, 8, 8)).shape
    (5, 64)
    """
    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        """`input` with the sizes from start_dim to end_dim replaced by their product.

        Raises IndexError for a dimension that is not there, RuntimeError if start_dim comes after end_dim.
        """
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self): return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


@op
def scaled_mask(x, mask, scale):
    """x times scale where `mask` (bools) is true, 0 elsewhere."""
    out = x * mask
    out *= scale
    return out


class Dropout(Module):
    """In training sets each number to 0 with probability p and divides the others by 1 - p; in
    evaluation hands x on. Raises ValueError if p is no probability.
    """
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout(p={p}): a probability lies between 0 and 1.")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        """`input` with those elements dropped whose drawn number is below p; see the class."""
        if self.inplace and self.training:             # PyTorch's option, given:
            return input._take_over(Dropout(self.p)(input.clone()))    # `input` becomes the result
        if not self.training or self.p == 0:
            return input
        scale = 1 / (1 - self.p) if self.p < 1 else 0.0
        return scaled_mask(input, rand_like(input) >= self.p, scale)

    def extra_repr(self): return f"p={self.p}, inplace={self.inplace}"
