"""Whether arrays can live on a CUDA device here, `torch.cuda`'s names."""

from tinytorch.core.backend import cuda_available as is_available
from tinytorch.core.backend import cuda_problem

__all__ = ["cuda_problem", "is_available"]
