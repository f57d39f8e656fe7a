"""Training: the loop, early stopping, metrics, and checkpoints that survive."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "training.trainer": "Trainer",
    "training.metrics": "accuracy",
    "training.more_metrics": "confusion_matrix",
    "training.stopping": "EarlyStopping",
    "training.callbacks": "Callback History",
    "training.resuming": "Resumable seed_everything",
    "training.saving": "load save",
    "training.clipping": "clip_grad_norm_",
    "training.gradients": "clip_grad_value_",
})
