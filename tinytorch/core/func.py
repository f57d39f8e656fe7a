# Generated from modules/05_autograd/func_dev.py by tito export. Edit the lesson, not this file.
# source sha256 602027d4d088b9e46b7e826e337e00f2a521929bb00646e1844b5223eebb9300  body sha256 969dde1e4c5a460262cff0d9618e5312f6afa4c6fb590797390af62ed94c1e8e  # noqa: E501
"""core.func: built in module 05_autograd."""

import functools

from tinytorch.core import creation, joining
from tinytorch.core.autograd import newest_first
from tinytorch.core.higher import grad as gradients_of
from tinytorch.core.higher import higher_order
from tinytorch.core.tensor import Tensor

__all__ = ["grad", "grad_and_value", "hessian", "jacrev", "jvp", "vjp"]


def _leaf(x):
    """x as something to differentiate by: itself if it has a history or wants one, else a new leaf."""
    return x if x.requires_grad else x.detach().requires_grad_()


def _released(x, own):
    """x without its history, if that leads to nothing but the leaves made here: nobody can ask for it."""
    if x.node is None:
        return x
    made = [leaf for leaf in own.values() if leaf.node is None]
    leaves = [edge for node in newest_first(x.node) for edge in node.edges if isinstance(edge, Tensor)]
    return x.detach() if all(any(leaf is m for m in made) for leaf in leaves) else x


def _slopes(out, inputs, cotangent=None):
    """The gradients of `out`, with a history; zeros for an input that it does not depend on."""
    if not out.requires_grad:
        return [creation.zeros_like(x) for x in inputs]
    found = gradients_of(out, inputs, cotangent, create_graph=True, allow_unused=True)
    return [creation.zeros_like(x) if g is None else g for x, g in zip(inputs, found)]


def grad_and_value(f, argnums=0):
    """A function that returns (gradient, value) of f, which must return a single number.

    argnums: which argument to differentiate by, or a tuple of several.
    """
    many = isinstance(argnums, tuple)
    places = argnums if many else (argnums,)

    @functools.wraps(f)
    def both(*args, **kwargs):
        with higher_order():
            own = {i: _leaf(args[i]) for i in places}
            args = [own[i] * 1 if i in places else x for i, x in enumerate(args)]
            value = f(*args, **kwargs)
            if value.numel() != 1:
                raise RuntimeError(f"grad: the function returned shape {value.shape}, and only a single "
                                   "number has a gradient. Use vjp, or reduce it.")
            found = _slopes(value, [args[i] for i in places])
        found = [_released(g, own) for g in found]
        return (tuple(found) if many else found[0]), value

    return both


def grad(f, argnums=0):
    """A function that returns the gradient of f, in the shape of its argument `argnums`."""
    both = grad_and_value(f, argnums)

    @functools.wraps(f)
    def gradient(*args, **kwargs): return both(*args, **kwargs)[0]

    return gradient


def vjp(f, *primals):
    """(f(*primals), pull): pull(cotangent) returns the products of it with the Jacobian of each input."""
    with higher_order():
        primals = [_leaf(x) * 1 for x in primals]
        out = f(*primals)

    def pull(cotangent):
        with higher_order():
            return tuple(_slopes(out, primals, cotangent))

    return out, pull


def jvp(f, primals, tangents):
    """(f(*primals), Jacobian times tangents): how f changes when its inputs move along `tangents`.

    The pullback is linear in its cotangent, and differentiating it by that gives the forward product.
    """
    with higher_order():
        out, pull = vjp(f, *primals)
        u = creation.zeros_like(out).requires_grad_()
        total = sum([(g * t).sum() for g, t in zip(pull(u), tangents)])
        return out, _slopes(total, [u])[0]


def jacrev(f, argnums=0):
    """A function that returns the Jacobian: shape of the output, then shape of the argument."""
    @functools.wraps(f)
    def jacobian(*args):
        x = args[argnums]
        out, pull = vjp(lambda x: f(*args[:argnums], x, *args[argnums + 1:]), x)
        rows = [pull(row.reshape(out.shape))[0] for row in creation.eye(out.numel(), dtype=out.dtype)]
        return joining.stack(rows).reshape(*out.shape, *x.shape)

    return jacobian


def hessian(f, argnums=0):
    """A function that returns the matrix of second derivatives of f, which returns a single number."""
    return jacrev(grad(f, argnums), argnums)
