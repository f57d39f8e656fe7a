"""What the tests of this folder share: one comparison."""
import numpy as np

import tinytorch as torch


def same(got, expected, dtype=None, rtol=1e-6, atol=1e-7):
    """`got` is a tensor of this dtype with these numbers in this shape; nan equals nan."""
    assert isinstance(got, torch.Tensor), f"expected a tensor, got {type(got).__name__}"
    expected = np.asarray(expected)
    assert got.shape == expected.shape, f"expected shape {expected.shape}, got {got.shape}: {got}"
    assert dtype is None or str(got.dtype) == dtype, f"expected {dtype}, got {got.dtype}"
    np.testing.assert_allclose(got.numpy(), expected, rtol, atol)
