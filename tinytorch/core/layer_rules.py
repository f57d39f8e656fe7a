# Generated from modules/05_autograd/layer_rules_dev.py by tito export. Edit the lesson, not this file.
# source sha256 8f1c219b21bf61d79799e07504e7a57e76a271f2afadfe97440b4671979c177e  body sha256 a6e6f72ea5c28566ff7557b45a793291821c0cebcc28f0844651749ab10c927e  # noqa: E501
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
                      lambda: flat_product(as_rows(g).swapaxes(0, 1), as_rows(x)), g)


@vjp(scaled_mask)
def _(out, x, mask, scale): return lambda g: (scaled_mask(g, mask, scale), None, None)
