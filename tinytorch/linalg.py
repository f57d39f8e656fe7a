"""Norms, `torch.linalg`'s names."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "core.reductions": "matrix_norm norm=linalg_norm vector_norm",
})
