# %% [markdown]
# # What the blocks are given
#
# Given code: nothing to solve here. The bends a feed-forward network can have, and how the numbers of a
# transformer begin.

# %%
#| default_exp models.block_parts

# %%
import math

from tinytorch.nn.activations import gelu, relu, silu
from tinytorch.nn.attention import causal_mask
from tinytorch.nn.embedding_layers import Embedding
from tinytorch.nn.initializers import normal_, zeros_
from tinytorch.nn.layers import Dropout, Linear
from tinytorch.nn.module import Module
from tinytorch.nn.position_layers import SinusoidalPositionalEncoding
from tinytorch.nn.positions import LearnedPositionalEmbedding

# %% [markdown]
# GPT-2 has the GELU with tanh, BERT and ViT the exact one, the paper of 2017 ReLU. "swiglu" is a layer of its
# own, below.

# %%
#| export
ACTIVATIONS = {
    "relu": relu,
    "gelu": gelu,
    "gelu_tanh": lambda x: gelu(x, approximate="tanh"),
    "silu": silu,
}


def activation_named(name):
    """The function of this name. ValueError names those that are known."""
    if name not in ACTIVATIONS:
        raise ValueError(f"activation={name!r} is not known. There are: {', '.join(ACTIVATIONS)}, swiglu.")
    return ACTIVATIONS[name]


def check_norm(norm):
    """ValueError unless norm is "pre" or "post"."""
    if norm not in ("pre", "post"):
        raise ValueError(f"norm={norm!r}: it is 'pre' (before each sub-layer) or 'post' (after the sum).")


def create_causal_mask(seq_len, device=None):
    """(seq_len, seq_len) bools: place i may look at the places up to i."""
    return causal_mask(seq_len, device=device)


# %% [markdown]
# SwiGLU: a bend that is a layer, with a gate.

# %%
#| export
class SwiGLU(Module):
    """A feed-forward network with a gate: linear2(silu(gate(x)) · linear1(x)). Shazeer, arXiv:2002.05202."""
    def __init__(self, d_model, d_ff, dropout=0.1, bias=True):
        super().__init__()
        self.gate, self.linear1 = Linear(d_model, d_ff, bias), Linear(d_model, d_ff, bias)
        self.linear2, self.dropout = Linear(d_ff, d_model, bias), Dropout(dropout)

    def forward(self, x):
        """(..., d_model) to (..., d_model), place by place."""
        return self.linear2(self.dropout(silu(self.gate(x)) * self.linear1(x)))


# %% [markdown]
# Small weights, so that an untrained model's logits are all nearly 0, and its loss the logarithm of the
# number of words. GPT-2 also makes the last matrix of each sub-layer smaller: 2 L of them are added up.

# %%
#| export
def init_weights(model, std=0.02, residual_layers=0):
    """Draw the weights of every Linear and embedding of `model` from N(0, std²), biases 0; gives it back.

    residual_layers: if not 0, the matrices that write into the residual stream (`out_proj`, `linear2`) are
    drawn with std/√residual_layers: GPT-2 counts two a block. The vector of padding stays 0.
    """
    for name, p in model.named_parameters():
        if p.ndim < 2:
            if name.endswith("bias"):
                zeros_(p)
            continue
        last = residual_layers and name.endswith(("out_proj.weight", "linear2.weight"))
        normal_(p, 0.0, std / math.sqrt(residual_layers) if last else std)
    for part in model.modules():
        if isinstance(part, Embedding) and part.padding_idx is not None:
            part.weight.data[part.padding_idx] = 0
    return model


def tied(head, embedding):
    """The Linear `head` with the embedding's weight as its own: one matrix reads and writes words."""
    if head.weight.shape != embedding.weight.shape:
        raise ValueError(f"the head's weight {head.weight.shape} and the embedding's "
                         f"{embedding.weight.shape} cannot be one.")
    head.weight = embedding.weight
    return head


def word_head(d_model, vocab_size, embedding=None, bias=True):
    """A Linear from vectors to a score for each word; with `embedding`, by its own matrix."""
    head = Linear(d_model, vocab_size, bias)
    return head if embedding is None else tied(head, embedding)


# %% [markdown]
# Where a model says where a word stands: added to the words at the start, or (rotary) in each attention.

# %%
#| export
class NoPositions(Module):
    """Hands on x, whatever the offset: the places are told elsewhere."""
    def forward(self, x, offset=0): return x


def position_layer(positions, max_len, d_model, elsewhere):
    """The layer (x, offset) -> x with its places: "learned" or "sinusoidal"; "none" leaves x as it is.

    elsewhere: another kind, that the model itself tells in its attention, "rotary" or "relative".
    """
    if positions == "learned":
        return LearnedPositionalEmbedding(max_len, d_model)
    if positions == "sinusoidal":
        return SinusoidalPositionalEncoding(d_model, max_len, dropout=0.0)
    if positions in (elsewhere, "none"):
        return NoPositions()
    raise ValueError(f"positions={positions!r} is not known here. There are: learned, sinusoidal, "
                     f"{elsewhere}, none.")
