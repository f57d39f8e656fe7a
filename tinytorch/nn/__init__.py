"""Layers, losses and functions, with PyTorch's names."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "nn.module": "Module Parameter",
}, parts=("functional", "init", "utils"))
