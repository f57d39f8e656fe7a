"""Tools around training: `tinytorch.utils.data`, where PyTorch has them."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {}, parts=("data",))
