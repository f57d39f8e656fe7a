"""Layers, losses and functions, with PyTorch's names."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "nn.parameter": "Parameter",
    "nn.module": "Module Sequential",
    "nn.layers": "Dropout Flatten Linear",
    "nn.containers": "ModuleDict ModuleList ParameterDict ParameterList",
    "nn.simple_layers": """CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh Identity
        LeakyReLU LogSigmoid LogSoftmax Mish PReLU ReLU ReLU6 SELU Sigmoid SiLU Softmax Softmin
        Softplus Softshrink Softsign Tanh Tanhshrink Threshold Unflatten""",
}, parts=("functional", "init", "utils"))
