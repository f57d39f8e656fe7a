"""Norms, `torch.linalg`'s names."""

from tinytorch._faces import face

__getattr__, __dir__ = face(__name__, {
    "core.math": "norm=linalg_norm matrix_norm vector_norm",
})
