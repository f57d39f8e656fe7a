"""What the tests of losses share: comparing, drawing, and formulas in NumPy's float64."""
import math

import numpy as np
import pytest

import tinytorch as torch

inf, nan = math.inf, math.nan


def same(got, expected, dtype=None, rtol=2e-6, atol=2e-7):
    """`got` is a tensor of this dtype with these numbers in this shape; nan equals nan."""
    assert isinstance(got, torch.Tensor), f"expected a tensor, got {type(got).__name__}"
    expected = np.asarray(expected)
    assert got.shape == expected.shape, f"expected shape {expected.shape}, got {got.shape}"
    assert dtype is None or str(got.dtype) == dtype, f"expected {dtype}, got {got.dtype}"
    np.testing.assert_allclose(got.numpy(), expected, rtol, atol)


def drawn(*shape, seed=0, scale=2.0): return np.random.default_rng(seed).normal(size=shape) * scale
def shares(*shape, seed=0): return np.random.default_rng(seed).uniform(0.05, 0.95, shape)


def reduced(x, reduction, total=None):
    if reduction == "none":
        return x
    return x.sum() if reduction == "sum" else x.sum() / (x.size if total is None else total)


def log_shares(x, dim):
    x = x - x.max(dim, keepdims=True)
    return x - np.log(np.exp(x).sum(dim, keepdims=True))


REDUCTIONS = pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
