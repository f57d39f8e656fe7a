"""Schedules for the learning rate: `torch.optim.lr_scheduler`'s names."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "optim.schedulers": "CosineAnnealingLR LinearLR OneCycleLR",
    "optim.scheduler_base": "LRScheduler",
    "optim.more_schedulers": """ChainedScheduler ConstantLR CosineAnnealingWarmRestarts ExponentialLR
        LambdaLR MultiplicativeLR MultiStepLR PolynomialLR ReduceLROnPlateau SequentialLR StepLR""",
})
