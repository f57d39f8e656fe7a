# Generated from modules/13_transformers/scaling_dev.py by tito export. Edit the lesson, not this file.
# source sha256 3f05442d65daf4fd8f5a1687d752f88d1e163bc24c1d7abd713d6268eacc5f22  body sha256 afd8f49e4cf552f6da55a20eed5d310056c8a2c78e276233a4c95cadab9795fe  # noqa: E501
"""models.scaling: built in module 13_transformers."""

import math
from typing import NamedTuple

import numpy as np

from tinytorch.nn.attention_parts import MANY
from tinytorch.nn.embedding_layers import Embedding
from tinytorch.nn.embedding_parts import sides
from tinytorch.nn.position_layers import RelativePositionBias
from tinytorch.nn.positions import LearnedPositionalEmbedding

__all__ = [
    "PowerLaw", "STATES", "activation_bytes", "bert_parameters", "best_line", "block_parameters",
    "chinchilla_optimal_tokens", "compute_optimal", "count_parameters", "fit_power_law",
    "flops_per_token", "gpt_parameters", "line_through", "memory", "misses", "norm_parameters",
    "seq2seq_parameters", "vit_parameters",
]


def count_parameters(model, embeddings=True):
    """How many numbers a model learns; one that stands in two layers counts once.

    embeddings=False: without the tables that are looked up (words, places, segments), as scaling laws count;
    a last matrix that is the table of words is such a table, too. Kaplan et al., arXiv:2001.08361.
    """
    layers = (Embedding, LearnedPositionalEmbedding, RelativePositionBias)
    tables = {id(p) for module in model.modules() if isinstance(module, layers) for p in module.parameters()}
    return sum([p.numel() for p in model.parameters() if embeddings or id(p) not in tables])


def block_parameters(d_model, d_ff=None, *, cross=False, bias=True, gated=False, kv_dim=None, norm_bias=True):
    """The parameters of a TransformerBlock; with cross=True of a TransformerDecoderBlock.

    d_ff: 4 d_model if None. gated: SwiGLU. kv_dim: num_kv_heads · head_dim, if fewer heads have keys. bias:
    of the matrices. norm_bias: False for RMSNorm.

    >>> block_parameters(768)
    7087872
    """
    d, d_ff, kv_dim = d_model, 4 * d_model if d_ff is None else d_ff, d_model if kv_dim is None else kv_dim
    attention = 2 * d * (d + kv_dim) + (2 * d + 2 * kv_dim) * bias
    feedforward = (2 + gated) * d * d_ff + ((1 + gated) * d_ff + d) * bias
    return (1 + cross) * attention + feedforward + (2 + cross) * norm_parameters(d, norm_bias)


def norm_parameters(d_model, bias=True): return d_model * (1 + bias)


def gpt_parameters(vocab_size, d_model, num_layers, d_ff=None, max_len=0, tie_weights=True, **block):
    """The parameters of a GPTDecoder. max_len=0: its positions are not learned. block: see block_parameters.

    >>> gpt_parameters(50257, 768, 12, max_len=1024)                               # GPT-2 small
    124439808
    """
    return ((vocab_size * (2 - tie_weights) + max_len) * d_model
            + num_layers * block_parameters(d_model, d_ff, **block)
            + norm_parameters(d_model, block.get("norm_bias", True)))


def bert_parameters(vocab_size, d_model, num_layers, d_ff=None, max_len=512, type_vocab_size=2, pooler=True):
    """The parameters of a BERTEncoder (post-norm, as the paper's).

    >>> bert_parameters(30522, 768, 12)                                            # BERT-base
    109482240
    """
    return ((vocab_size + max_len + type_vocab_size) * d_model + norm_parameters(d_model)
            + num_layers * block_parameters(d_model, d_ff) + (d_model ** 2 + d_model) * pooler)


def vit_parameters(img_size=224, patch_size=16, in_channels=3, num_classes=1000, d_model=768, num_layers=12,
                   d_ff=None):
    """The parameters of a VisionTransformer.

    >>> vit_parameters()                                                           # ViT-B/16
    86567656
    """
    (height, width), (rows, columns) = sides(img_size), sides(patch_size)
    patches = (height // rows) * (width // columns)
    return ((in_channels * rows * columns + 1) * d_model + (patches + 2) * d_model      # [CLS], its place
            + num_layers * block_parameters(d_model, d_ff) + norm_parameters(d_model)
            + (d_model + 1) * num_classes)


def seq2seq_parameters(src_vocab, tgt_vocab, d_model, num_encoder_layers, num_decoder_layers, d_ff=None,
                       max_len=0, *, norm="post", share_embeddings=False, tie_weights=False, head_bias=True):
    """The parameters of a Seq2SeqTransformer. max_len=0: its positions are sines.

    >>> seq2seq_parameters(37000, 37000, 512, 6, 6, share_embeddings=True, tie_weights=True, head_bias=False)
    63082496
    """
    tables = tgt_vocab * (2 - tie_weights) + src_vocab * (not share_embeddings) + 2 * max_len
    return (tables * d_model + tgt_vocab * head_bias
            + num_encoder_layers * block_parameters(d_model, d_ff)
            + num_decoder_layers * block_parameters(d_model, d_ff, cross=True)
            + 2 * norm_parameters(d_model) * (norm == "pre"))


STATES = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}


def memory(num_params, optimizer="adam", dtype="float32", activations=0):
    """{what for: bytes} while a model is trained: weights, gradients, optimizer, activations, total.

    optimizer: "sgd", "momentum", "adam", "adamw", or None for a model that is only used. dtype: of weights
    and gradients; for one of 2 bytes the optimizer holds the weights in float32, too. activations: bytes, see
    `activation_bytes`. ValueError for another optimizer.

    >>> memory(124_439_808)["total"]                                               # GPT-2 small
    1991036928
    """
    if optimizer is not None and optimizer not in STATES:
        raise ValueError(f"memory: optimizer={optimizer!r} is not one of {', '.join(STATES)}, None.")
    size = np.dtype(dtype).itemsize
    states = 0 if optimizer is None else (STATES[optimizer] + (size < 4)) * max(size, 4)
    parts = {"weights": num_params * size, "gradients": 0 if optimizer is None else num_params * size,
             "optimizer": num_params * states, "activations": activations}
    return {**parts, "total": sum(parts.values())}


def activation_bytes(batch, length, d_model, num_layers, num_heads, d_ff=None, vocab_size=0, dropout=True,
                     dtype="float32"):
    """What a GPTDecoder keeps from its forward to its backward pass for (batch, length) tokens, in bytes.

    vocab_size: the loss keeps a probability for each word. dropout: whether there is any.
    """
    d_ff, size = 4 * d_model if d_ff is None else d_ff, np.dtype(dtype).itemsize
    kept = batch * num_heads * length ** 2 <= MANY
    scores, masks = num_heads * length * (kept + dropout), (2 * d_model + d_ff) * dropout
    block = size * (8 * d_model + 2 * d_ff + scores) + masks               # a mask is a byte a number
    return batch * length * (num_layers * block + size * (2 * d_model + vocab_size))


def flops_per_token(num_params, num_layers=0, d_model=0, length=0, training=False):
    """Multiplications and additions for one token: 2 N + 4 L T d; three times that in training.

    num_params: those in matrices, so without tables, but with the last matrix, tied or not. length: how many
    places a token looks at. Kaplan et al., arXiv:2001.08361, section 2.1; Chowdhery et al., arXiv:2204.02311,
    appendix B.

    >>> flops_per_token(124e6, 12, 768, 1024)                                      # GPT-2 small
    285748736.0
    """
    return (2 * num_params + 4 * num_layers * length * d_model) * (3 if training else 1)


def chinchilla_optimal_tokens(num_params):
    """How many tokens to train a model on so that its compute is best spent: 20 for each parameter.

    Hoffmann et al., arXiv:2203.15556.

    >>> chinchilla_optimal_tokens(70e9)                                            # Chinchilla: 1.4 T
    1400000000000.0
    """
    return 20 * num_params


def compute_optimal(flops):
    """(parameters, tokens) to spend a budget of training on: flops = 6 N D, with D = 20 N.

    >>> [f"{x:.3g}" for x in compute_optimal(5.88e23)]                             # Chinchilla's budget
    ['7e+10', '1.4e+12']
    """
    num_params = math.sqrt(flops / (6 * 20))
    return num_params, chinchilla_optimal_tokens(num_params)


class PowerLaw(NamedTuple):
    """y = scale · x^-exponent + offset, and how much of the spread of log y it explains; call it with x."""
    scale: float
    exponent: float
    offset: float
    r2: float

    def __call__(self, x): return self.scale * np.asarray(x, float) ** -self.exponent + self.offset

    def __str__(self):
        rest = f" + {self.offset:.3g}" if self.offset else ""
        return f"{self.scale:.3g} · N^-{self.exponent:.3g}{rest}"


def fit_power_law(x, y, offset=0.0):
    """The PowerLaw through the points (x, y): a line by least squares through log x and log(y - offset).

    offset: what y comes down to in the end; None to search for it between 0 and the least y. ValueError for
    numbers that are not positive (y: above the offset), and for fewer different x than the law has numbers.

    >>> print(fit_power_law([1e3, 1e4, 1e5], [3.0, 2.4, 1.92]))
    5.86 · N^-0.0969
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    needed, least = 3 if offset is None else 2, offset or 0.0
    if x.shape != y.shape or x.ndim != 1 or len(np.unique(x)) < needed or not ((x > 0) & (y > least)).all():
        raise ValueError(f"fit_power_law: x of shape {x.shape}, y of shape {y.shape}. It needs one row each, "
                         f"of {needed} different x or more, with x above 0 and y above {least:g}.")
    return line_through(x, y, offset) if offset is not None else best_line(x, y)


def line_through(x, y, offset):
    """The PowerLaw with this offset."""
    slope, start = np.polyfit(np.log(x), np.log(y - offset), 1)
    law = PowerLaw(float(np.exp(start)), float(-slope), float(offset), 0.0)
    spread = ((np.log(y) - np.log(y).mean()) ** 2).sum()
    return law._replace(r2=float(1 - misses(law, x, y) / spread))


def misses(law, x, y):
    """The sum of the squares by which the law misses log y."""
    return ((np.log(law(x)) - np.log(y)) ** 2).sum()


def best_line(x, y):
    """The PowerLaw with the offset that misses least: 40 are tried, then 40 around the best, and so on."""
    low, high = 0.0, y.min()
    for _ in range(8):
        offsets = np.linspace(low, high, 41)[:-1]
        laws = [line_through(x, y, offset) for offset in offsets]
        best = int(np.argmin([misses(law, x, y) for law in laws]))
        low, high = offsets[max(best - 1, 0)], np.append(offsets, high)[best + 1]
    return laws[best]
