"""What the tests of activations share."""
import numpy as np

import tinytorch as torch


def same(got, expected, dtype=None, rtol=2e-6, atol=2e-7):
    """`got` is a tensor of this dtype with these numbers in this shape; nan equals nan."""
    assert isinstance(got, torch.Tensor), f"expected a tensor, got {type(got).__name__}"
    expected = np.asarray(expected)
    assert got.shape == expected.shape, f"expected shape {expected.shape}, got {got.shape}"
    assert dtype is None or str(got.dtype) == dtype, f"expected {dtype}, got {got.dtype}"
    np.testing.assert_allclose(got.numpy(), expected, rtol, atol)
