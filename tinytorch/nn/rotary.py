# Generated from modules/11_embeddings/embeddings_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a3ccf52751dd41b2f34b41f4cd62c34bc18776de5be34d6dd7d192fddbb4e2b0  body sha256 c4584126dc43addf14a60996f80e64c8c5690d98760cc1d6a4300ee47cd5ae6c  # noqa: E501
"""nn.rotary: built in module 11_embeddings."""

from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module
from tinytorch.core.op import op
from tinytorch.nn.embedding_parts import check_rotary, even

__all__ = ["apply_rotary", "rotary_angles"]


def rotary_angles(positions, dim, base=10000.0):
    """By which angle each pair of `dim` features is turned at the positions (...): (..., dim/2), float64.

    >>> rotary_angles(np.array([1, 3]), 4, base=100.0)
    array([[1. , 0.1],
           [3. , 0.3]])
    """
    even("rotary_angles", dim)
    xp = array_module(positions)
    pairs = xp.arange(dim // 2)
    return positions[..., None] * base ** (-2 * pairs / dim)


@op(promote=False)
def apply_rotary(x, cos, sin, layout="halves"):
    """x (..., T, d) with its pairs of features turned by the angles of these cos and sin, (T, d/2) each.

    layout: "halves" pairs feature i with i + d/2, "pairs" pairs 2i with 2i + 1. x is left as it was.

    >>> apply_rotary(np.array([[1., 2., 3., 4.]]), np.zeros((1, 2)), np.ones((1, 2)), "pairs")
    array([[-2.,  1., -4.,  3.]])
    """
    check_rotary(x, cos, sin, layout)
    out = array_module(x).empty(x.shape, x.dtype)
    half = x.shape[-1] // 2
    first, second = slice(0, None, 2), slice(1, None, 2)
    if layout == "halves":
        first, second = slice(half), slice(half, None)
    a, b = x[..., first], x[..., second]
    out[..., first] = a * cos - b * sin
    out[..., second] = a * sin + b * cos
    return out


@vjp(apply_rotary)
def _(out, x, cos, sin, layout="halves"):
    return lambda g: (apply_rotary(g, cos, -sin, layout), None, None)
