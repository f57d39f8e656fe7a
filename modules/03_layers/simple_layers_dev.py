# %% [markdown]
# # Layers that remember nothing, or nearly
#
# Given code: nothing to solve here. A function of module 02 becomes a layer in three lines, and can then be a
# link of a chain. Names, arguments, defaults and the way they print are PyTorch's.

# %%
#| default_exp nn.simple_layers

# %%
import warnings

from layers_dev import Dropout, Module
from parameter_dev import Parameter

from tinytorch.core.creation import full
from tinytorch.nn import activations, more_activations

# %% [markdown]
# ## Shapes, and nothing at all

# %%
#| export
class Identity(Module):
    """Hands on its input. It takes any arguments, so that it can stand in for any layer."""
    def __init__(self, *args, **kwargs): super().__init__()
    def forward(self, input): return input


class Unflatten(Module):
    """Makes several axes of one: Unflatten(1, (8, 8)) takes (B, 64) to (B, 8, 8). One size may be -1."""
    def __init__(self, dim, unflattened_size):
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(f"Unflatten to {unflattened_size!r}: expected a tuple of sizes, such as (8, 8).")
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input): return input.unflatten(self.dim, self.unflattened_size)
    def extra_repr(self): return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def dropout(input, p=0.5, training=True, inplace=False):
    """The layer `Dropout(p)` as a function; nothing is dropped unless `training`."""
    layer = Dropout(p, inplace)
    layer.training = training
    return layer(input)


# %% [markdown]
# ## Activations
#
# Each says which of its arguments it prints; `inplace` is printed only if it is true.

# %%
#| export
class Activation(Module):
    """A function as a layer: what is passed to the constructor is passed on at each call."""
    shown = ()                                         # the names of the arguments that are printed
    inplace = False

    def extra_repr(self):
        shown = [f"{name}={getattr(self, name)!r}" for name in self.shown]
        return ", ".join(shown + ["inplace=True"] * self.inplace)


class InPlace(Activation):
    """An activation whose only argument is `inplace`."""
    def __init__(self, inplace=False): self.inplace = inplace


class ReLU(InPlace):
    def forward(self, input):
        return more_activations.relu(input, inplace=True) if self.inplace else activations.relu(input)


class LeakyReLU(Activation):
    shown = "negative_slope",
    def __init__(self, negative_slope=0.01, inplace=False):
        self.negative_slope, self.inplace = negative_slope, inplace
    def forward(self, input):
        return more_activations.leaky_relu(input, self.negative_slope, inplace=self.inplace)


class PReLU(Activation):
    """A leaky relu whose slope is learned: one for all, or one for each channel."""
    shown = "num_parameters",
    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        self.num_parameters = num_parameters
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype, device=device))
    def forward(self, input): return more_activations.prelu(input, self.weight)


class Hardtanh(Activation):
    shown = "min_val", "max_val"
    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):
        if min_val >= max_val:
            raise ValueError(f"Hardtanh: min_val {min_val} must be below max_val {max_val}.")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace
    def forward(self, input):
        return more_activations.hardtanh(input, self.min_val, self.max_val, inplace=self.inplace)


class ReLU6(Hardtanh):
    shown = ()
    def __init__(self, inplace=False): super().__init__(0.0, 6.0, inplace)


class WithAlpha(Activation):
    shown = "alpha",
    def __init__(self, alpha=1.0, inplace=False): self.alpha, self.inplace = alpha, inplace


class ELU(WithAlpha):
    def forward(self, input): return more_activations.elu(input, self.alpha, inplace=self.inplace)


class CELU(WithAlpha):
    def forward(self, input): return more_activations.celu(input, self.alpha, inplace=self.inplace)


class SELU(InPlace):
    def forward(self, input): return more_activations.selu(input, inplace=self.inplace)


class SiLU(InPlace):
    def forward(self, input):
        return more_activations.silu(input, inplace=True) if self.inplace else activations.silu(input)


class Mish(InPlace):
    def forward(self, input): return more_activations.mish(input, inplace=self.inplace)


class Hardswish(InPlace):
    def forward(self, input): return more_activations.hardswish(input, inplace=self.inplace)
    def extra_repr(self): return ""                   # PyTorch does not print it here


class Hardsigmoid(InPlace):
    def forward(self, input): return more_activations.hardsigmoid(input, inplace=self.inplace)
    def extra_repr(self): return ""


class GELU(Activation):
    shown = "approximate",
    def __init__(self, approximate="none"): self.approximate = approximate
    def forward(self, input): return activations.gelu(input, self.approximate)


class Sigmoid(Activation):
    def forward(self, input): return activations.sigmoid(input)
class Tanh(Activation):
    def forward(self, input): return activations.tanh(input)
class LogSigmoid(Activation):
    def forward(self, input): return more_activations.logsigmoid(input)
class Softsign(Activation):
    def forward(self, input): return more_activations.softsign(input)
class Tanhshrink(Activation):
    def forward(self, input): return more_activations.tanhshrink(input)


class Softplus(Activation):
    shown = "beta", "threshold"
    def __init__(self, beta=1.0, threshold=20.0): self.beta, self.threshold = beta, threshold
    def forward(self, input): return activations.softplus(input, self.beta, self.threshold)


class WithLambda(Activation):
    def __init__(self, lambd=0.5): self.lambd = lambd
    def extra_repr(self): return str(self.lambd)


class Hardshrink(WithLambda):
    def forward(self, input): return more_activations.hardshrink(input, self.lambd)


class Softshrink(WithLambda):
    def forward(self, input): return more_activations.softshrink(input, self.lambd)


class Threshold(Activation):
    shown = "threshold", "value"
    def __init__(self, threshold, value, inplace=False):
        self.threshold, self.value, self.inplace = threshold, value, inplace
    def forward(self, input):
        return more_activations.threshold(input, self.threshold, self.value, inplace=self.inplace)


# %% [markdown]
# ## Along a dimension

# %%
#| export
class AlongDim(Activation):
    shown = "dim",
    def __init__(self, dim=None): self.dim = dim

    def dim_for(self, input):
        """The dim that was given; if none was, PyTorch's guess and a warning: it is rarely meant."""
        if self.dim is None:
            warnings.warn(f"{type(self).__name__} without dim: 0 is taken for 0, 1 or 3 dimensions, else 1. "
                          "Say which: dim=-1.", stacklevel=4)
            return 0 if input.ndim in (0, 1, 3) else 1
        return self.dim


class Softmax(AlongDim):
    def forward(self, input): return activations.softmax(input, self.dim_for(input))


class LogSoftmax(AlongDim):
    def forward(self, input): return activations.log_softmax(input, self.dim_for(input))


class Softmin(AlongDim):
    def forward(self, input): return more_activations.softmin(input, self.dim_for(input))


class GLU(AlongDim):
    """The first half of the input along `dim`, gated by the sigmoid of the second."""
    def __init__(self, dim=-1): self.dim = dim
    def forward(self, input): return more_activations.glu(input, self.dim)
