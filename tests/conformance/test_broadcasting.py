"""Shapes: random pairs that broadcast, and pairs that do not; values and gradients."""
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes

from .compare import compare, compare_tensors
from .frameworks import FRAMEWORK, PyTorch

JUDGE = PyTorch()
ELEMENTWISE = ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "atan2"]
quick = settings(deadline=None, derandomize=True, max_examples=150)


def draws(shape, seed, low=0.5):
    """Numbers in [low, low + 1), so that every function here is smooth at them."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(shape, generator=generator, dtype=torch.float64) + low).requires_grad_()


def same(name, *tensors, **kwargs):
    """The function's value and its gradients are PyTorch's."""
    results = []
    for framework in (FRAMEWORK, JUDGE):
        args = [framework.tensor(t, requires_grad=True) for t in tensors]
        out = framework.find(name)(*args, **kwargs)
        weights = framework.tensor(torch.linspace(1, 2, math.prod(out.shape), dtype=torch.float64)
                                   .reshape(tuple(out.shape)))
        results.append((out, framework.backward([out], [weights], args)))
    (ours, our_grads), (theirs, their_grads) = results
    compare(FRAMEWORK, ours, theirs)
    for i, (our, their) in enumerate(zip(our_grads, their_grads)):
        compare_tensors(FRAMEWORK.judged(our), their, True, f"gradient {i}")


@quick
@given(name=st.sampled_from(ELEMENTWISE), seed=st.integers(0, 99),
       shapes=mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=4, max_dims=4))
def test_two_tensors(name, seed, shapes):
    "Any two shapes that broadcast give PyTorch's shape, numbers and gradients"
    x, y = shapes.input_shapes
    same(name, draws(x, seed), draws(y, seed + 1, low=1.6))


@quick
@given(seed=st.integers(0, 99),
       shapes=mutually_broadcastable_shapes(num_shapes=3, min_side=0, max_side=3, max_dims=3))
def test_three_tensors(seed, shapes):
    "addcmul and lerp broadcast all three"
    x, y, z = (draws(shape, seed + i) for i, shape in enumerate(shapes.input_shapes))
    same("addcmul", x, y, z, value=0.5)
    same("lerp", x, y, z)


@quick
@given(seed=st.integers(0, 99), shapes=mutually_broadcastable_shapes(
    signature="(n?,k),(k,m?)->(n?,m?)", min_side=1, max_side=3, max_dims=2))
def test_matmul(seed, shapes):
    "Batches of matrices and single vectors multiply as in PyTorch"
    x, y = shapes.input_shapes
    same("matmul", draws(x, seed), draws(y, seed + 1))


@quick
@given(seed=st.integers(0, 99), shapes=mutually_broadcastable_shapes(
    num_shapes=1, base_shape=(2, 3, 4), min_side=1, max_dims=3))
def test_broadcast_to(seed, shapes):
    "What was repeated is summed on the way back"
    same("broadcast_to", draws(shapes.input_shapes[0], seed), size=(2, 3, 4))


@quick
@given(x=array_shapes(max_dims=3, max_side=4), y=array_shapes(max_dims=3, max_side=4),
       name=st.sampled_from(ELEMENTWISE))
def test_shapes_that_do_not_broadcast(x, y, name):
    "Shapes that do not broadcast raise RuntimeError, as in PyTorch"
    try:
        torch.broadcast_shapes(x, y)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            FRAMEWORK.find(name)(*(FRAMEWORK.tensor(torch.ones(s)) for s in (x, y)))
