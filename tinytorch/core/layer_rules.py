# Generated from modules/05_autograd/layer_rules_dev.py by tito export. Edit the lesson, not this file.
# source sha256 f54e8ffe47d5c9d13dcfd02bf5ffce56797ae669b96e6ae8103b6d13dfec4e43  body sha256 6f5368d947c0c70dfa325c75744dca4d213412d39ffec4f7c28cfbf59dd8d47a  # noqa: E501
"""core.layer_rules: built in module 05_autograd."""

from tinytorch.core.autograd import vjp
from tinytorch.core.ops import flat_product
from tinytorch.core.rules import as_rows, vector_rule
from tinytorch.nn.layers import linear, scaled_mask

__all__ = []


@vjp(linear)
def _(out, x, weight, bias=None):
    if weight.ndim == 1:                                           # one unit without a dimension of its own
        pull = vector_rule(x, weight)
        return lambda g: (*pull(g), g)
    return lambda g: (lambda: flat_product(g, weight),
                      lambda: flat_product(as_rows(g).swapaxes(0, 1), as_rows(x)),
                      lambda: as_rows(g).sum(0))


@vjp(scaled_mask)
def _(out, x, mask, scale): return lambda g: (scaled_mask(g, mask, scale), None, None)
