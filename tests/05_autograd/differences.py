"""Compares gradients with central differences of the same function, run without a recorder.

A case is a function of float64 tensors; without a recorder only memory counts, so what is written
in place is judged by what it does to the numbers.
"""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.base import record_with

Y, W, S = np.array([[1.5, -2., 0.7], [0.3, 4., -1.1]]), np.array([0.9, -1.3, 2.1]), np.array(1.7)


def plain_value(f, arrays):
    before = record_with(None)
    try:
        return f(*[torch.tensor(a) for a in arrays]).item()
    finally:
        record_with(before)


def differences(f, arrays, i, h=1e-6):
    """The gradient of f by its input i, number by number."""
    out = np.zeros_like(arrays[i])
    for place in np.ndindex(out.shape):
        up, down = [[a.copy() for a in arrays] for _ in range(2)]
        up[i][place] += h
        down[i][place] -= h
        out[place] = (plain_value(f, up) - plain_value(f, down)) / (2 * h)
    return out


def recorded(f, arrays):
    """What backward says: a gradient for each input; whatever it raises passes through."""
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    loss = f(*leaves)
    assert loss.item() == pytest.approx(plain_value(f, arrays),
                                        rel=1e-12), "recording changed a number"
    loss.backward()
    return [np.zeros(a.shape) if leaf.grad is None else leaf.grad.numpy()
            for a, leaf in zip(arrays, leaves)]


def right(f, *arrays):
    for i, g in enumerate(recorded(f, arrays)):
        np.testing.assert_allclose(g, differences(f, arrays, i), rtol=1e-5, atol=1e-6,
                                   err_msg=f"the gradient of input {i}")


def right_or_error(f, *arrays):
    """True if it was right; False for the RuntimeError that a gradient would have been wrong."""
    try:
        found = recorded(f, arrays)
    except RuntimeError:
        return False
    for i, g in enumerate(found):
        np.testing.assert_allclose(g, differences(f, arrays, i), rtol=1e-5, atol=1e-6,
                                   err_msg=f"the gradient of input {i}")
    return True


def squares(*tensors):
    """A loss that weighs every number differently."""
    total = 0.
    for n, t in enumerate(tensors):
        weights = torch.arange(1., t.numel() + 1, dtype=torch.float64).reshape(t.shape)
        total = total + (t * t * (weights + n)).sum()
    return total
