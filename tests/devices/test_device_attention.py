"""Attention on a device: masks, ops, both layers give the CPU's numbers, and nothing crosses over."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn import functional as F
from tinytorch.nn.attention import attend, attention, causal_mask, combine_masks, masked_softmax, padding_mask

from .alike import close, layer_alike
from .strict import traffic

rng = np.random.default_rng(12)
Q, K, V = [rng.normal(size=(2, 4, n, 6)).astype("float32") for n in (3, 5, 5)]
SEEN, BIAS = rng.random((3, 5)) > 0.3, rng.normal(size=(3, 5)).astype("float32")

CALLS = {
    "masked_softmax": lambda q, k, v, seen, bias: masked_softmax(q @ k.mT, seen) @ v,
    "masked_softmax, added": lambda q, k, v, seen, bias: masked_softmax(q @ k.mT, bias, 1) @ v,
    "attention": lambda q, k, v, seen, bias: attention(q, k, v),
    "bools": lambda q, k, v, seen, bias: F.scaled_dot_product_attention(q, k, v, seen),
    "added": lambda q, k, v, seen, bias: F.scaled_dot_product_attention(q, k, v, bias, scale=0.3),
    "causal": lambda q, k, v, seen, bias: F.scaled_dot_product_attention(q, k, v, bias, is_causal=True),
    "grouped": lambda q, k, v, seen, bias: F.scaled_dot_product_attention(
        q, k[:, :2], v[:, :2], seen, enable_gqa=True),
    "weights": lambda q, k, v, seen, bias: attend(q, k, v, seen, need_weights=True)[1] @ v,
    "all dropped": lambda q, k, v, seen, bias: F.scaled_dot_product_attention(q, k, v, dropout_p=1.),
}


@pytest.mark.parametrize("name", CALLS)
def test_function(name, device):
    """Result and gradients, of an added mask too"""
    def run(where):
        leaves = [torch.tensor(x, device=where, requires_grad=True) for x in (Q, K, V, BIAS)]
        seen = torch.tensor(SEEN, device=where)
        traffic.clear()
        out = CALLS[name](*leaves[:3], seen, leaves[3])
        (out * out + out).sum().backward()
        crossed = traffic.counts()
        return [out.detach(), *[x.grad for x in leaves if x.grad is not None]], crossed

    expected, _ = run("cpu")
    got, (to_host, to_device, _) = run(device)
    assert len(got) == len(expected) >= 4 and (to_host, to_device) == (0, 0)
    for g, e in zip(got, expected):
        close(g, e)


def hidden_later(x): return ~causal_mask(x.shape[1], device=x.device)


LAYERS = {
    "course": (lambda: nn.MultiHeadAttention(6, 2), lambda layer, x: layer(x)[0]),
    "course, masked": (lambda: nn.MultiHeadAttention(6, 2, num_kv_heads=1), lambda layer, x: layer(
        x, x, x, combine_masks(causal_mask(5, device=x.device), padding_mask(x[..., 0] > 0, False)))[0]),
    "PyTorch's": (lambda: nn.MultiheadAttention(6, 2, batch_first=True), lambda layer, x: layer(x, x, x)[0]),
    "PyTorch's, masked": (
        lambda: nn.MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True),
        lambda layer, x: layer(x, x, x, attn_mask=hidden_later(x), key_padding_mask=x[..., 0] * 0.5)[0]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, device):
    """Output and gradients of input and parameters"""
    make, call = LAYERS[name]
    layer_alike(make, rng.normal(size=(2, 5, 6)).astype("float32"), device, call)


def test_dropped_on_the_device(device):
    """What is dropped is drawn there"""
    q = torch.zeros(300, 2, device=device)
    k, v = torch.zeros(100, 2, device=device), torch.ones(100, 1, device=device)
    traffic.clear()
    out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.25)
    assert traffic.counts()[:2] == (0, 0)
    assert out.mean().item() == pytest.approx(1, abs=0.03)
