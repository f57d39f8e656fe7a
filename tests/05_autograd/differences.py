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


def moved(f, arrays, i, step):
    return plain_value(f, [a + step if j == i else a for j, a in enumerate(arrays)])


def slope(f, arrays, i, direction, h=1e-6):
    """How fast f changes when its input i moves along the direction."""
    return (moved(f, arrays, i, h * direction) - moved(f, arrays, i, -h * direction)) / (2 * h)


def recorded(f, arrays):
    """What backward says: a gradient for each input; whatever it raises passes through."""
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    loss = f(*leaves)
    assert loss.item() == pytest.approx(plain_value(f, arrays), rel=1e-12), "a number has changed"
    loss.backward()
    return [np.zeros(a.shape) if leaf.grad is None else leaf.grad.numpy()
            for a, leaf in zip(arrays, leaves)]


def compared(f, arrays, found):
    """Along one random direction for each input; where that is wrong, number by number."""
    rng = np.random.default_rng(0)
    for i, (a, g) in enumerate(zip(arrays, found)):
        direction = rng.normal(size=a.shape)
        judge = slope(f, arrays, i, direction)
        if not abs((g * direction).sum() - judge) <= 1e-6 + 1e-5 * abs(judge):
            places = np.eye(a.size).reshape(-1, *a.shape)
            expected = np.reshape([slope(f, arrays, i, place) for place in places], a.shape)
            raise AssertionError(f"gradient of input {i}: expected\n{expected}\ngot\n{g}")


def right(f, *arrays): compared(f, arrays, recorded(f, arrays))


def right_or_error(f, *arrays):
    """True if it was right; False for the RuntimeError that a gradient would have been wrong."""
    try:
        found = recorded(f, arrays)
    except RuntimeError:
        return False
    compared(f, arrays, found)
    return True


def squares(*tensors):
    """A loss that weighs every number differently."""
    total = 0.
    for n, t in enumerate(tensors):
        weights = torch.arange(1., t.numel() + 1, dtype=torch.float64).reshape(t.shape)
        total = total + (t * t * (weights + n)).sum()
    return total
