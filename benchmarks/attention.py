"""Attention: TinyTorch beside PyTorch eager (see race.py).

    python benchmarks/attention.py --threads 1 2 [--rounds 15]
"""

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


def measures(torch):
    """(name, function) of each line of the table."""
    torch.manual_seed(0)
    yield "attention block (8, 256, 384), 6 heads, both ways", block(torch)
    yield "the same, causal", block(torch, causal=True)
    yield "nn.MultiheadAttention, the same sizes", layer(torch)


if __name__ == "__main__":
    race.main(__file__, measures, "attention")
