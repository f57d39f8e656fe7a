"""Tensor, ops and autograd."""

import tinytorch.core.op  # noqa: F401   the files need each other, and load in this order
