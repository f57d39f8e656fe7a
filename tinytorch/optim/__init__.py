"""Optimizers and, in `lr_scheduler`, schedules, with PyTorch's names."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "optim.optimizers": "Adam AdamW Optimizer SGD",
}, parts=("lr_scheduler",))
