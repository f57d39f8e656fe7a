# %% [markdown]
# # The same as functions
#
# Given code: nothing to solve here. PyTorch's `layer_norm` and `rms_norm` take the sizes to normalise over,
# as its layers do; the ops of the lesson take the last one.

# %%
#| default_exp nn.norm_functions

# %%
from norm_parts_dev import over_last

from tinytorch.nn import normalization
from tinytorch.nn import rms_norm as rms


# %%
#| export
def several(name, normalized_shape):
    """`normalized_shape`, if it is a list or tuple, and else a TypeError."""
    if not isinstance(normalized_shape, (list, tuple)):
        raise TypeError(f"{name}: normalized_shape is {normalized_shape!r}; it must be a list or tuple of "
                        "sizes, such as (d,).")
    return normalized_shape


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """The last sizes of input, `normalized_shape`, with mean 0 and variance 1; times weight, plus bias.

    weight, bias: of normalized_shape. TypeError if that is no list or tuple, RuntimeError if shapes or dtypes
    do not fit. Ba et al., arXiv:1607.06450.
    """
    shape = several("layer_norm", normalized_shape)
    return over_last(normalization.layer_norm, input, shape, (weight, bias), eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """The last sizes of input, `normalized_shape`, by the root of their mean square; times weight.

    eps: added to the mean square; None is the dtype's own (of float16, float32's). Errors as of layer_norm,
    but a weight may be of another dtype. Zhang and Sennrich, arXiv:1910.07467.
    """
    return over_last(rms.rms_norm, input, several("rms_norm", normalized_shape), (weight,), eps,
                     mixed=True)
