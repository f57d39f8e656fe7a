"""Gradients on demand, and how to record: `torch.autograd`'s names."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "core.autograd": "no_grad",
    "core.higher": """detect_anomaly enable_grad grad higher_order inference_mode is_grad_enabled
        set_grad_enabled""",
})
