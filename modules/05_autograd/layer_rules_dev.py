# %% [markdown]
# # Rules for the ops of module 03
#
# Given. `linear` is a matrix product, so its rule is that of `matmul` with one large product in each
# direction; the bias was added to every row, and gets the sum of all rows of g. `scaled_mask` multiplies
# by constants, so its pullback is the same op, applied to g.

# %%
#| default_exp core.layer_rules

# %%
from tinytorch.core.autograd import vjp
from tinytorch.core.backend import is_array
from tinytorch.core.ops import flat_product
from tinytorch.core.rules import as_rows, vector_rule
from tinytorch.nn.layers import linear, scaled_mask


# %%
#| export
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
