# Generated from modules/05_autograd/layer_rules_dev.py by tito export. Edit the lesson, not this file.
# source sha256 1efdda9a81a7337301ed6afd0d8554882ba8a26b555dd81b58f2461b370bf0ae  body sha256 e9f66e580e87953f0a71724ae01e556b6136e070b4a8b9f13c592a0224ca56e2  # noqa: E501
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
                      lambda: as_rows(g).swapaxes(0, 1) @ as_rows(x), g)


@vjp(scaled_mask)
def _(out, x, mask, scale): return lambda g: (scaled_mask(g, mask, scale), None, None)
