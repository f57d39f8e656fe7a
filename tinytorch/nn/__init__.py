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
    "nn.spatial_layers": """AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveMaxPool1d AdaptiveMaxPool2d AvgPool1d
        AvgPool2d Conv1d Conv2d ConvTranspose1d ConvTranspose2d Dropout1d Dropout2d Dropout3d Fold LPPool1d
        LPPool2d MaxPool1d MaxPool2d MaxUnpool1d MaxUnpool2d Unfold""",
    "nn.normalizing": """BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm InstanceNorm1d InstanceNorm2d
        InstanceNorm3d""",
    "nn.normalization": "LayerNorm",
    "nn.rms_norm": "RMSNorm",
    "nn.padding": """CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d
        ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d
        ZeroPad1d ZeroPad2d ZeroPad3d""",
    "nn.resize": "PixelShuffle PixelUnshuffle Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    "nn.recurrent_layers": "GRU LSTM RNN",
    "nn.recurrent_cells": "GRUCell LSTMCell RNNCell",
    "nn.attention": "MultiHeadAttention causal_mask combine_masks padding_mask",
    "nn.multihead": "MultiheadAttention",
    "nn.transformer_layers": """Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
        TransformerEncoderLayer""",
    "nn.embedding_layers": "Embedding",
    "nn.positions": "LearnedPositionalEmbedding",
    "nn.position_layers": "ALiBi RelativePositionBias RotaryEmbedding SinusoidalPositionalEncoding",
    "nn.patches": "PatchEmbedding",
    "nn.loss_layers": """BCELoss BCEWithLogitsLoss CrossEntropyLoss HuberLoss KLDivLoss L1Loss MSELoss NLLLoss
        SmoothL1Loss""",
}, parts=("functional", "init", "utils"))
