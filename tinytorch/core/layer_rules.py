# Generated from modules/05_autograd/layer_rules_dev.py by tito export. Edit the lesson, not this file.
# source sha256 cb73d18f97320c1ea28f1079b1ae8e1f6c048b3dc9c23cf9399c9c1589f51005  body sha256 025a25a897ff5a8c869b2fa748fc8cf88e2220e3eb93b6c41d06ccc4ac28569b  # noqa: E501
"""core.layer_rules: built in module 05_autograd."""

from tinytorch.core.autograd import vjp
from tinytorch.core.backend import is_array
from tinytorch.core.ops import flat_product
from tinytorch.core.rules import as_rows, vector_rule
from tinytorch.nn.layers import linear, scaled_mask

__all__ = []


@vjp(linear)
def _(out, x, weight, bias=None):
    if weight.ndim == 1:                                           # one unit without a dimension of its own
        pull = vector_rule(x, weight)
        return lambda g: (*pull(g), g)
    if x.ndim == 2 and is_array(x):                                # the commonest case, without ado
        return lambda g: (lambda: g.dot(weight), lambda: g.T.dot(x), lambda: g.sum(0))
    return lambda g: (lambda: flat_product(g, weight),
                      lambda: flat_product(as_rows(g).swapaxes(0, 1), as_rows(x)),
                      lambda: as_rows(g).sum(0))


@vjp(scaled_mask)
def _(out, x, mask, scale): return lambda g: (scaled_mask(g, mask, scale), None, None)
