# Generated from modules/12_attention/attention_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2d8f237fcde1e52b3d9085ae6d73c3629a37a72c1662cebc37a3d5d85c7a6a50  body sha256 3d58d8f4d58e39e6e095cd591536cd02d40ce7208f52f9b8f838a154d59654a5  # noqa: E501
"""nn.recurrent: built in module 12_attention."""

from tinytorch.nn.activations import relu, sigmoid, tanh
from tinytorch.nn.layers import linear

__all__ = ["lstm_step", "rnn_step"]


def rnn_step(x, h, w_ih, w_hh, b_ih=None, b_hh=None, nonlinearity="tanh"):
    """The next state (B, H) of a recurrent network that has the state h and reads x (B, I).

    w_ih: (H, I), w_hh: (H, H), b_ih and b_hh: (H,) or None. nonlinearity: "tanh" or "relu"; ValueError for
    another. Elman, "Finding structure in time" (1990).

    >>> rnn_step(Tensor([[0.]]), Tensor([[0.7616]]), Tensor([[1.]]), Tensor([[0.5]]))
    tensor([[0.3634]])
    """
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"rnn_step: nonlinearity={nonlinearity!r} is not known; it can be 'tanh' or 'relu'.")
    z = linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh)
    return tanh(z) if nonlinearity == "tanh" else relu(z)


def lstm_step(x, h, c, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next (h, c), each (B, H), of a long short-term memory that reads x (B, I).

    w_ih: (4 H, I), w_hh: (4 H, H), b_ih and b_hh: (4 H,) or None, their rows in the order i, f, g, o.
    Hochreiter and Schmidhuber (1997); the door f is by Gers and others (1999).
    """
    i, f, g, o = (linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh)).chunk(4, -1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c
