"""Attention: TinyTorch beside PyTorch eager (see race.py).

    python benchmarks/attention.py --threads 1 2 [--rounds 15]
"""

import math
from importlib import import_module

import race


def block(torch, b=8, t=256, d=384, heads=6, causal=False):
    """A function that runs an attention block forward and backward: qkv linear, attention, projection."""
    nn = torch.nn
    qkv, projection = nn.Linear(d, 3 * d), nn.Linear(d, d)
    x, gradient = torch.randn(b, t, d, requires_grad=True), torch.randn(b, t, d)

    def both_ways():
        q, k, v = [part.reshape(b, t, heads, d // heads).transpose(1, 2) for part in qkv(x).chunk(3, -1)]
        out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        projection(out.transpose(1, 2).reshape(b, t, d)).backward(gradient)

    return both_ways


def layer(torch, b=8, t=256, d=384, heads=6):
    """A function that runs nn.MultiheadAttention forward and backward."""
    attend = torch.nn.MultiheadAttention(d, heads, batch_first=True)
    x, gradient = torch.randn(b, t, d, requires_grad=True), torch.randn(b, t, d)
    return lambda: attend(x, x, x, need_weights=False)[0].backward(gradient)


def long_and_causal(torch, t=4096, heads=8, d=64):
    """A function: causal attention without gradients, in tiles; PyTorch's in four eager steps, not fused."""
    q, k, v = [torch.randn(1, heads, t, d) for _ in range(3)]
    if torch.__name__ == "tinytorch":
        tiled_attention = import_module("tinytorch.nn.efficient_attention").tiled_attention
        return lambda: tiled_attention(q, k, v, is_causal=True)
    hidden = torch.ones(t, t, dtype=torch.bool).triu(1)

    def four_steps():
        scores = q @ k.transpose(-1, -2) / math.sqrt(d)
        return scores.masked_fill(hidden, -math.inf).softmax(-1) @ v

    return four_steps


def measures(torch):
    """(name, function) of each line of the table."""
    torch.manual_seed(0)
    yield "attention block (8, 256, 384), 6 heads, both ways", block(torch)
    yield "the same, causal", block(torch, causal=True)
    yield "nn.MultiheadAttention, the same sizes", layer(torch)
    yield "(1, 8, 4096, 64), causal, forward: tiles, four steps", long_and_causal(torch)


if __name__ == "__main__":
    race.main(__file__, measures, "attention")
