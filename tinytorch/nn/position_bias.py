# Generated from modules/11_embeddings/embeddings_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a3ccf52751dd41b2f34b41f4cd62c34bc18776de5be34d6dd7d192fddbb4e2b0  body sha256 18054cacd40abd0dfc5b173608f5e64e40bc0daa3921a3e072a1308b97567d8b  # noqa: E501
"""nn.position_bias: built in module 11_embeddings."""

import math

import numpy as np

from tinytorch.core.backend import array_module

__all__ = ["alibi_slopes", "relative_bucket"]


def alibi_slopes(num_heads):
    """The slope of each head, a list of num_heads numbers. Raises ValueError unless there are 1 to 65,536.

    >>> alibi_slopes(4), alibi_slopes(3)
    ([0.25, 0.0625, 0.015625, 0.00390625], [0.0625, 0.00390625, 0.25])
    """
    if not 1 <= num_heads <= 65_536:
        raise ValueError(f"alibi_slopes({num_heads}): there must be 1 to 65,536 heads. Did a call ask for "
                         "twice as many, and that one again? For a power of two, n is all.")
    n = 1 << (num_heads.bit_length() - 1)              # the largest power of two that is not above num_heads
    slopes = [2 ** (-8 * i / n) for i in range(1, n + 1)]
    return slopes if n == num_heads else slopes + alibi_slopes(2 * n)[::2][:num_heads - n]


def relative_bucket(distance, num_buckets=32, max_distance=128, bidirectional=True):
    """The bucket, 0 to num_buckets - 1, of each distance key - query: an array of integers, int64.

    Raises ValueError if there are too few buckets, or if max_distance is below those that are exact.

    >>> relative_bucket(np.array([-7, -8, -16, -500, 1, 8]))
    array([ 7,  8, 10, 15, 17, 24])
    """
    xp = array_module(distance)
    n = num_buckets // 2 if bidirectional else num_buckets
    exact = n // 2
    if exact < 1 or max_distance <= exact:
        raise ValueError(f"relative_bucket with num_buckets={num_buckets} and max_distance={max_distance}: "
                         f"{exact} buckets are for exact distances; it must be at least 1, and max_distance "
                         "above it.")
    def log(x): return np.log(x.astype("float32"))     # of an array of positive numbers
    away = abs(distance) if bidirectional else np.maximum(-distance, 0)
    share = log(np.maximum(away, 1) / exact) / math.log(max_distance / exact)
    far = np.minimum(exact + (share * (n - exact)).astype("int64"), n - 1)
    side = n * (distance > 0) if bidirectional else 0
    return xp.where(away < exact, away, far) + side
