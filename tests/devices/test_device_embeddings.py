"""Module 11 on a device: every op and layer gives the CPU's numbers, and nothing crosses over."""
import importlib

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn import functional as F

from .alike import close, layer_alike, made, op_alike
from .strict import traffic

samples = importlib.import_module("..11_embeddings.samples", __package__)
OPS = samples.all_ops()
rng = np.random.default_rng(4)


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_op(name, device):
    """Results and first and second derivatives stay there and are the CPU's"""
    op_alike(OPS[name], samples.SAMPLES[name], device)


TOKENS = (2, 5, 4)
LAYERS = {
    "waves": (lambda: nn.SinusoidalPositionalEncoding(4, 3).eval(), TOKENS),
    "learned": (lambda: nn.LearnedPositionalEmbedding(8, 4), TOKENS),
    "rotary": (lambda: nn.RotaryEmbedding(4), TOKENS),
    "rotary pairs": (lambda: nn.RotaryEmbedding(4, layout="pairs"), TOKENS),
    "patches": (lambda: nn.PatchEmbedding(8, 4, 3, 6), (2, 3, 8, 12)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, device):
    """Output and gradients of input and parameters; tables are made where x is"""
    make, shape = LAYERS[name]
    layer_alike(make, rng.normal(size=shape).astype("float32"), device)


HOW = [dict(), dict(padding_idx=1), dict(scale_grad_by_freq=True), dict(max_norm=0.5),
       dict(max_norm=0.5, norm_type=float("inf"))]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_embedding(how, device):
    """Rows, the table after it, and its gradient"""
    table, ids = rng.normal(size=(6, 3)).astype("float32"), np.array([[1, 4], [4, 0], [1, 1]])

    def run(where):
        w, i = torch.tensor(table, device=where, requires_grad=True), torch.tensor(ids, device=where)
        traffic.clear()
        out = F.embedding(i, w, **how)
        (out * out).sum().backward()
        assert traffic.counts()[:2] == (0, 0)
        return out.detach(), w.detach(), w.grad

    for g, e in zip(run(device), run("cpu")):
        close(g, e)


@pytest.mark.parametrize("make", [lambda: nn.ALiBi(6), lambda: nn.RelativePositionBias(3)])
def test_bias(make, device):
    close(made(make, device)(3, 5).detach(), made(make, "cpu")(3, 5).detach())


def test_a_wrong_id_is_found_there(device):
    with pytest.raises(IndexError, match="id 7 .* 0 to 5"):
        F.embedding(torch.tensor([1, 7], device=device), torch.zeros(6, 3, device=device))


def test_an_embedding_draws_there(device):
    layer = nn.Embedding(5, 3, padding_idx=2, device=device)
    close(layer.weight.detach()[2], torch.zeros(3))
    assert (layer.weight.detach()[0] != 0).all()
