"""Layers, losses and functions, with PyTorch's names."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "nn.module": "Module Sequential",
    "nn.parameter": "Parameter",
    "nn.containers": "ModuleDict ModuleList ParameterDict ParameterList",
    "nn.layers": "Dropout Flatten Linear",
    "nn.simple_layers": """CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU
        LogSigmoid LogSoftmax Mish PReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmin Softplus Softshrink
        Softsign Tanh Tanhshrink Threshold Unflatten""",
    "nn.loss_layers": """BCELoss BCEWithLogitsLoss CrossEntropyLoss HuberLoss KLDivLoss L1Loss MSELoss NLLLoss
        SmoothL1Loss""",
}, parts=("functional", "init"))
