"""Ways to fill a tensor before training, `torch.nn.init`'s names."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "nn.initializers": """calculate_gain constant_ eye_ kaiming_uniform_ normal_ ones_ orthogonal_
        trunc_normal_ uniform_ xavier_normal_ xavier_uniform_ zeros_""",
    "nn.kaiming": "kaiming_normal_",
})
