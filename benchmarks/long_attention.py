"""Attention at growing length: the time of TinyTorch's kinds, and their memory, forward and backward.

    python benchmarks/long_attention.py [--lengths 1024 2048 4096 8192] [--kinds tiled linear]

Set OPENBLAS_NUM_THREADS=1 for one thread. Memory is the peak above what the inputs take (tracemalloc).
"""

import argparse
import tracemalloc

import race

import tinytorch as torch
from tinytorch.nn.attention import scaled_dot_product_attention
from tinytorch.nn.efficient_attention import linear_attention, tiled_attention
from tinytorch.nn.sparse_attention import bigbird_attention, sliding_window_attention

KINDS = {
    "dense": scaled_dot_product_attention,
    "tiled": tiled_attention,
    "dense, causal": lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True),
    "tiled, causal": lambda q, k, v: tiled_attention(q, k, v, is_causal=True),
    "window 64": lambda q, k, v: sliding_window_attention(q, k, v, 64),
    "window 64, global 0": lambda q, k, v: sliding_window_attention(q, k, v, 64, [0]),
    "bigbird, blocks of 64": bigbird_attention,
    "linear": linear_attention,
    "linear, causal": lambda q, k, v: linear_attention(q, k, v, is_causal=True),
}
DENSE_UP_TO = 2048                 # eight heads' scores at 8,192 are 2 GB, several times


def both_ways(attend, t, heads=8, d=64):
    """A function that runs it forward and backward."""
    q, k, v = [torch.randn(1, heads, t, d, requires_grad=True) for _ in range(3)]
    gradient = torch.randn(1, heads, t, d)
    return lambda: attend(q, k, v).backward(gradient)


def peak(f):
    """The most bytes that f holds at one time."""
    tracemalloc.start()
    f()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="*", default=[1024, 2048, 4096, 8192])
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    options = parser.parse_args()
    print(f"{'ms / MB at the peak':24}" + "".join([f"{t:18,}" for t in options.lengths]))
    for name in options.kinds:
        print(f"{name:24}", end="", flush=True)
        for t in options.lengths:
            if name.startswith("dense") and t > DENSE_UP_TO:
                continue
            megabytes = peak(both_ways(KINDS[name], t)) / 1e6
            milliseconds = race.seconds(both_ways(KINDS[name], t)) * 1e3
            print(f"{milliseconds:9,.0f} /{megabytes:7,.0f}", end="", flush=True)
        print()
