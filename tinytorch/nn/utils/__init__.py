"""Functions of all parameters at once: `torch.nn.utils`'s names."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "training.clipping": "clip_grad_norm_",
    "training.gradients": "clip_grad_value_ parameters_to_vector vector_to_parameters",
}, parts=("rnn",))
