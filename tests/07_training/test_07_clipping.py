"""Gradients made shorter, and all parameters as one vector."""
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn.utils import clip_grad_norm_, clip_grad_value_, parameters_to_vector, vector_to_parameters


def leaf(gradient, dtype="float64"):
    p = torch.zeros(np.shape(gradient), dtype=np.dtype(dtype), requires_grad=True)
    p.grad = torch.tensor(gradient, dtype=np.dtype(dtype))
    return p


def grads(*parameters): return [p.grad.tolist() for p in parameters]


def test_one_norm_over_all():
    a, b = leaf([3., 4.]), leaf([[12.]])
    total = clip_grad_norm_((p for p in (a, b)), 6.5)
    assert total.item() == 13. and total.shape == () and total.node is None
    assert grads(a, b) == [pytest.approx([1.5, 2.]), [pytest.approx([6.])]]


@pytest.mark.parametrize("p", [1, 2, 2.5, 3, math.inf, "inf"])
def test_norm_types(p):
    """The norm of one long vector, and the clipped gradients have norm max_norm"""
    parts = [np.array([1., -2., 0.5]), np.array([[3.], [-4.]])]
    size = np.linalg.norm(np.concatenate([x.ravel() for x in parts]), float(p))
    a, b = map(leaf, parts)
    assert clip_grad_norm_([a, b], 0.5, float(p)).item() == pytest.approx(size)
    flat = np.concatenate([p.grad.numpy().ravel() for p in (a, b)])
    assert np.linalg.norm(flat, float(p)) == pytest.approx(0.5, rel=1e-4)
    assert flat / flat[0] == pytest.approx([1, -2, 0.5, 3, -4])


def test_left_alone():
    """What is short enough, to the bit; a parameter without gradient; and no parameters at all"""
    a, b = leaf([0.1, 0.7], "float32"), torch.ones(2, requires_grad=True)
    before = grads(a)
    assert clip_grad_norm_([a, b], 1.0).item() == pytest.approx(math.sqrt(0.5))
    assert grads(a) == before and b.grad is None and a.grad.dtype == torch.float32
    assert clip_grad_norm_([b], 1.0).item() == 0. == clip_grad_norm_([], 1.0).item()


def test_not_finite():
    a, b = leaf([math.nan, 1.]), leaf([2.])
    with pytest.raises(RuntimeError, match="nan"):
        clip_grad_norm_([a, b], 1.0, error_if_nonfinite=True)
    assert grads(b) == [[2.]]
    assert math.isnan(clip_grad_norm_([a, b], 1.0).item()) and math.isnan(b.grad.item())


def test_a_write_is_noted():
    """A graph that still needs the gradient's numbers notices that they were changed"""
    w = torch.tensor([2.], requires_grad=True)
    w.grad = torch.tensor([10.])
    out = (w * w.grad).sum()
    clip_grad_norm_(w, 1.0)
    with pytest.raises(RuntimeError, match="in place|in-place|written"):
        out.backward()


def test_values():
    a, b = leaf([3., -4.]), leaf([[0.5], [math.inf]])
    memory = a.grad
    assert clip_grad_value_([a, b, torch.ones(1, requires_grad=True)], 1) is None
    assert grads(a, b) == [[1., -1.], [[0.5], [1.]]] and memory.tolist() == [1., -1.]
    clip_grad_value_(a, 0.25)
    assert grads(a) == [[0.25, -0.25]]


def test_one_vector():
    model = nn.Linear(3, 2)
    vector = parameters_to_vector(model.parameters())
    assert vector.tolist() == [*model.weight.reshape(-1).tolist(), *model.bias.tolist()]
    (vector * vector).sum().backward()
    assert np.array_equal(model.weight.grad.numpy(), 2 * model.weight.detach().numpy())
    memory = model.weight.data
    vector_to_parameters(torch.arange(8.), model.parameters())
    assert model.weight.tolist() == [[0., 1., 2.], [3., 4., 5.]] and model.bias.tolist() == [6., 7.]
    assert model.weight.data is memory and model.weight.requires_grad


@pytest.mark.parametrize("vector, error", [(torch.zeros(7), ValueError), (torch.zeros(9), ValueError),
                                           (torch.zeros(8, 1), ValueError), ([0.] * 8, TypeError)])
def test_wrong_vectors(vector, error):
    model = nn.Linear(3, 2)
    before = parameters_to_vector(model.parameters()).tolist()
    with pytest.raises(error):
        vector_to_parameters(vector, model.parameters())
    assert parameters_to_vector(model.parameters()).tolist() == before
