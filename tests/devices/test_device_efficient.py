"""Attention in tiles, windows, blocks, and linear, on a device: the CPU's numbers, nothing crosses over."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.nn.efficient_attention import linear_attention, tiled_attention
from tinytorch.nn.sparse_attention import bigbird_attention, sliding_window_attention

from .strict import traffic

SEEN = np.random.default_rng(2).random((9, 9)) < 0.6
KINDS = {
    "tiled": lambda q, k, v, mask: tiled_attention(q, k, v, block=(4, 3)),
    "tiled, causal": lambda q, k, v, mask: tiled_attention(q, k, v, is_causal=True, block=4),
    "tiled, with a mask": lambda q, k, v, mask: tiled_attention(q, k, v, mask),
    "linear": lambda q, k, v, mask: linear_attention(q, k, v),
    "linear, causal": lambda q, k, v, mask: linear_attention(q, k, v, True, block=4),
    "window": lambda q, k, v, mask: sliding_window_attention(q, k, v, 2, [1]),
    "window, causal": lambda q, k, v, mask: sliding_window_attention(q, k, v, 2, [1], True),
    "blocks": lambda q, k, v, mask: bigbird_attention(q, k, v, 2)}


@pytest.mark.parametrize("name", KINDS)
def test_the_numbers_of_the_cpu(name, device):
    """Results and gradients stay on the device and are the CPU's"""
    arrays, found = np.random.default_rng(1).normal(size=(3, 2, 9, 4)), []
    for where in "cpu", device:
        inputs = [torch.tensor(x, device=where, requires_grad=True) for x in arrays]
        mask = torch.tensor(SEEN, device=where)
        traffic.clear()
        out = KINDS[name](*inputs, mask)
        (out * out).sum().backward()
        assert traffic.to_host == 0
        assert {str(x.device) for x in (out, *[x.grad for x in inputs])} == {str(inputs[0].device)}
        found.append([x.detach().cpu().numpy() for x in (out, *[x.grad for x in inputs])])
    for ours, cpu in zip(*found):
        np.testing.assert_allclose(ours, cpu, rtol=1e-9, atol=1e-12)
