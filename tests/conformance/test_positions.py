"""Positions against the formulas that models are trained with, written down in PyTorch, and options of
`embedding` that PyTorch's samples leave out.
"""
import math

import pytest
import torch

import tinytorch
from tinytorch import nn
from tinytorch.nn.position_bias import relative_bucket


def theirs(x): return torch.tensor(x.detach().numpy())
def ours(x): return tinytorch.tensor(x.detach().numpy())


@pytest.mark.parametrize("d", [2, 8, 128])
def test_waves(d):
    """Vaswani et al.'s, as every tutorial computes it in float32"""
    position, pe = torch.arange(50).unsqueeze(1), torch.zeros(50, d)
    speed = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    pe[:, 0::2], pe[:, 1::2] = torch.sin(position * speed), torch.cos(position * speed)
    torch.testing.assert_close(theirs(nn.SinusoidalPositionalEncoding(d, 50).pe[0]), pe, rtol=0, atol=1e-5)


def half_turned(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


@pytest.mark.parametrize("d, base", [(4, 10000.0), (64, 500000.0)])
def test_rotary_halves(d, base):
    """Llama's: x cos + (half turned x) sin, both tables doubled; values and gradients"""
    x = torch.randn(2, 3, 10, d, requires_grad=True, generator=torch.Generator().manual_seed(0))
    angles = torch.outer(torch.arange(5, 15).float(), 1 / base ** (torch.arange(0, d, 2) / d))
    both = torch.cat([angles, angles], -1)
    expected = x * both.cos() + half_turned(x) * both.sin()
    (expected ** 3).sum().backward()
    leaf = ours(x).requires_grad_()
    out = nn.RotaryEmbedding(d, base)(leaf, offset=5)
    (out ** 3).sum().backward()
    torch.testing.assert_close(theirs(out), expected.detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(theirs(leaf.grad), x.grad, rtol=1e-4, atol=1e-4)


def test_rotary_pairs():
    """The first Llama's: neighbours as complex numbers"""
    x = torch.randn(2, 10, 8, generator=torch.Generator().manual_seed(0))
    angles = torch.outer(torch.arange(10).float(), 10000.0 ** (-torch.arange(0, 8, 2) / 8))
    z = torch.view_as_complex(x.reshape(2, 10, 4, 2)) * torch.polar(torch.ones_like(angles), angles)
    out = nn.RotaryEmbedding(8, layout="pairs")(ours(x))
    torch.testing.assert_close(theirs(out), torch.view_as_real(z).flatten(2), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("buckets, most", [(32, 128), (64, 256), (20, 100), (32, 127), (12, 1000)])
def test_buckets(buckets, most, both):
    """T5's, computed in float32 by PyTorch: also where a distance lies on a border"""
    distance = torch.arange(-3000, 3000)
    n = buckets // 2 if both else buckets
    away = distance.abs() if both else -distance.clamp(max=0)
    e = n // 2
    far = e + (torch.log(away.float() / e) / math.log(most / e) * (n - e)).to(torch.long)
    expected = torch.where(away < e, away, far.clamp(max=n - 1)) + (distance > 0) * n * both
    found = relative_bucket(distance.numpy(), buckets, most, both)
    assert torch.equal(torch.tensor(found), expected)


@pytest.mark.parametrize("how", [
    dict(padding_idx=1), dict(padding_idx=-2), dict(max_norm=0.8), dict(max_norm=0.8, norm_type=1.0),
    dict(max_norm=0.5, norm_type=float("inf")), dict(scale_grad_by_freq=True),
    dict(padding_idx=3, scale_grad_by_freq=True, max_norm=1.1)], ids=str)
@pytest.mark.parametrize("ids", [[[1, 3, 1, 0], [4, 3, 3, 3]], 3, []], ids=str)
def test_embedding(ids, how):
    """Rows, the table afterwards, and its gradient"""
    weight = torch.randn(6, 4, requires_grad=True, generator=torch.Generator().manual_seed(0))
    leaf, ids = ours(weight).requires_grad_(), torch.tensor(ids, dtype=torch.int64)
    out = nn.functional.embedding(ours(ids), leaf, **how)
    expected = torch.nn.functional.embedding(ids, weight, **how)
    (out ** 2).sum().backward()
    (expected ** 2).sum().backward()
    torch.testing.assert_close(theirs(out), expected.detach())
    torch.testing.assert_close(theirs(leaf), weight.detach())
    torch.testing.assert_close(theirs(leaf.grad), weight.grad)
