"""Layers: PyTorch's module samples with PyTorch's weights; outputs, all gradients, names, repr."""
import pytest
import torch

from . import modules
from .frameworks import FRAMEWORK, PyTorch

JUDGE = PyTorch()
LAYERS = ["Identity", "Flatten", "Unflatten", "Linear", "ReLU", "LeakyReLU", "ELU", "ReLU6",
          "Hardswish", "Hardtanh", "Sigmoid", "LogSigmoid", "Softplus", "Tanh", "GELU", "SiLU",
          "Softmax", "LogSoftmax", "Conv1d", "Conv2d", "ConvTranspose1d", "ConvTranspose2d",
          "MaxPool1d", "MaxPool2d", "AvgPool1d", "AvgPool2d", "AdaptiveAvgPool1d",
          "AdaptiveAvgPool2d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "BatchNorm1d",
          "BatchNorm2d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "LayerNorm", "RMSNorm", "ZeroPad2d",
          "ConstantPad2d", "ReflectionPad2d", "ReplicationPad2d", "Upsample", "Unfold", "Fold",
          "MultiheadAttention", "RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell", "Embedding",
          "Transformer", "TransformerEncoder", "TransformerEncoderLayer", "TransformerDecoder",
          "TransformerDecoderLayer"]
OFFERED = [name for name in modules.offered(LAYERS) if not name.endswith("Loss")]


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", OFFERED)
def test_layers(name, dtype, training):
    "With PyTorch's weights a layer gives PyTorch's outputs, gradients and buffers"
    modules.run(name, dtype, training)


@pytest.mark.parametrize("name", OFFERED)
def test_repr(name):
    "A layer prints itself as PyTorch's does"
    for sample in modules.module_samples(name, torch.float32, training=False):
        if modules.excluded_module(name, sample) is None:
            ours, theirs = (repr(modules.built(f, name, sample, torch.float32))
                            for f in (FRAMEWORK, JUDGE))
            assert ours == theirs


@pytest.mark.parametrize("name", [name for name in OFFERED if modules.wrong_calls(name)])
def test_errors(name):
    "PyTorch's wrong calls of a layer raise PyTorch's class of error"
    modules.check_wrong_calls(name)


@pytest.mark.parametrize("shape", [(5,), (4, 6), (2, 3, 4)])
def test_dropout_in_eval(shape):
    "In eval dropout is the identity, and so is its gradient"
    x = FRAMEWORK.tensor(torch.randn(shape), requires_grad=True)
    out = FRAMEWORK.root.nn.Dropout(0.5).eval()(x)
    (out * 3).sum().backward()
    assert torch.equal(FRAMEWORK.judged(out), FRAMEWORK.judged(x))
    assert torch.equal(FRAMEWORK.judged(x.grad), torch.full(shape, 3.0))


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_dropout_in_training(p):
    "In training a share p of the numbers is dropped, the rest grows by 1/(1-p), the gradient alike"
    x = FRAMEWORK.tensor(torch.ones(200, 200), requires_grad=True)
    out = FRAMEWORK.root.nn.Dropout(p)(x)
    out.sum().backward()
    kept = FRAMEWORK.judged(out)
    scale = 1 / (1 - p) if p < 1 else 0.0
    assert ((kept == 0) | torch.isclose(kept, torch.tensor(scale))).all()
    assert abs((kept == 0).float().mean().item() - p) < 0.01        # 4 standard errors at p = 0.5
    assert torch.equal(FRAMEWORK.judged(x.grad), kept)


@pytest.mark.parametrize("p", [-0.1, 1.1])
def test_dropout_needs_a_probability(p):
    "A probability outside 0..1 is a ValueError"
    with pytest.raises(ValueError):
        FRAMEWORK.root.nn.Dropout(p)


@pytest.mark.parametrize("n_in, n_out", [(64, 500), (7, 3000)])
def test_linear_starts_where_pytorchs_does(n_in, n_out):
    "Weights and biases are uniform within 1/sqrt(in)"
    layer = FRAMEWORK.root.nn.Linear(n_in, n_out)
    bound = n_in ** -0.5
    for parameter in (layer.weight, layer.bias):
        drawn = FRAMEWORK.judged(parameter)
        assert drawn.abs().max() <= bound
        assert drawn.std().item() == pytest.approx(bound / 3 ** 0.5, rel=0.1)


def nested(framework):
    """A model with every kind of container, a shared layer, and a frozen parameter."""
    nn = framework.root.nn
    shared = nn.Linear(4, 4)
    model = nn.Sequential(
        nn.Linear(3, 4), nn.ReLU(), shared, nn.Sequential(nn.Tanh(), shared),
        nn.ModuleList([nn.Linear(4, 2), nn.Dropout(0.1)]),
        nn.ModuleDict({"last": nn.Linear(2, 1, bias=False)}))
    model[0].bias.requires_grad = False
    return model


@pytest.mark.parametrize("walk", [
    lambda m: [name for name, _ in m.named_parameters()],
    lambda m: [name for name, _ in m.named_modules()],
    lambda m: [name for name, _ in m.named_children()],
    lambda m: list(m.state_dict()),
    lambda m: [tuple(p.shape) for p in m.parameters() if p.requires_grad],
    lambda m: [type(x).__name__ for x in m.modules()],
    lambda m: [x.training for x in m.eval().modules()],
    lambda m: [x.training for x in m.eval()[3].train().modules()],
    lambda m: len(m), lambda m: len(m[4]), lambda m: list(m[5].keys()),
    lambda m: [type(x).__name__ for x in m[1:3]], lambda m: repr(m),
], ids=["named_parameters", "named_modules", "named_children", "state_dict", "parameters",
        "modules", "eval", "train", "len", "ModuleList", "ModuleDict", "slice", "repr"])
def test_tree(walk):
    "A nested model has PyTorch's names in PyTorch's order, shared layers once, and prints alike"
    assert walk(nested(FRAMEWORK)) == walk(nested(JUDGE))
