# Generated from modules/13_transformers/norm_functions_dev.py by tito export. Edit the lesson, not this file.
# source sha256 9821d68743d14b48e4950037e4e806a495199465d66a0a6311201d785a58d485  body sha256 74bc60a6917ba98aebe51f4568b00aa17e136b8bed9e29808fded1db065d72fc  # noqa: E501
"""nn.norm_functions: built in module 13_transformers."""

from tinytorch.nn import normalization
from tinytorch.nn import rms_norm as rms
from tinytorch.nn.norm_parts import over_last

__all__ = ["layer_norm", "rms_norm", "several"]


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
