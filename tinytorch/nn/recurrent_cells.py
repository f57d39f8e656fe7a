# Generated from modules/12_attention/recurrent_cells_dev.py by tito export. Edit the lesson, not this file.
# source sha256 940f350040fe885d57b07c483c29fd85e5bd0f5f8e11be404511dcca78944b6f  body sha256 0838893388e5e6aa2050848c993977084a7e3f530b2c6ab56a563d6543bfe97b  # noqa: E501
"""nn.recurrent_cells: built in module 12_attention."""

import math

from tinytorch.core.creation import empty, zeros
from tinytorch.core.tensor import Tensor
from tinytorch.nn.activations import sigmoid, tanh
from tinytorch.nn.initializers import uniform_
from tinytorch.nn.layers import linear
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter
from tinytorch.nn.recurrent import lstm_step, rnn_step
from tinytorch.nn.recurrent_layers import states_given

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase", "gru_step"]


def gru_step(x, h, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next state (B, H) of a GRU from an input x (B, D) and a state h (B, H).

    w_ih: (3H, D), w_hh: (3H, H), the biases (3H,) or None; the gates stand in the order r z n. r and z are
    shares, n = tanh(x's part + r · h's part), and h' = (1 - z) n + z h. Cho et al., arXiv:1406.1078.

    With z = 1/2 the state moves half of the way from h to n = tanh(2):

    >>> w = Tensor([[0.], [0.], [2.]])
    >>> gru_step(Tensor([[1.]]), Tensor([[3.]]), w, w * 0)
    tensor([[1.9820]])
    """
    x_r, x_z, x_n = linear(x, w_ih, b_ih).chunk(3, -1)
    h_r, h_z, h_n = linear(h, w_hh, b_hh).chunk(3, -1)
    n = tanh(x_n + sigmoid(x_r + h_r) * h_n)
    return n + sigmoid(x_z + h_z) * (h - n)


class RNNCellBase(Module):
    """What the cells share: weights for `gates` gates, and the checks."""
    gates = carried = 1

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias

        def made(*shape): return Parameter(empty(*shape, dtype=dtype, device=device))
        rows = self.gates * hidden_size
        self.weight_ih, self.weight_hh = made(rows, input_size), made(rows, hidden_size)
        self.bias_ih, self.bias_hh = (made(rows), made(rows)) if bias else (None, None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw every number evenly between ±1/√hidden_size."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0
        for parameter in self.parameters():
            uniform_(parameter, -bound, bound)

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ", bias=False" * (not self.bias)

    def forward(self, input, hx=None):
        """The next state (B, hidden_size), for an LSTMCell a tuple (h, c); without a batch without B.

        input: (B, input_size) or (input_size,). hx: the state before, 0 unless given.
        """
        states = self._states(input, hx)
        if input.ndim == 1:
            input, states = input.unsqueeze(0), [state.unsqueeze(0) for state in states]
            out = self.step(input, *states, *self._weights())
            return out.squeeze(0) if isinstance(out, Tensor) else tuple([state.squeeze(0) for state in out])
        return self.step(input, *states, *self._weights())

    def _weights(self): return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def step(self, x, h, w_ih, w_hh, b_ih, b_hh):
        """One step, as `rnn_step` is called."""
        raise NotImplementedError(f"{type(self).__name__}.step is not written. RNNCell, LSTMCell and GRUCell "
                                  "have one.")

    def _states(self, input, hx):
        """The states of hx in a list, checked; zeros if it is None."""
        name, shape = type(self).__name__, input.shape[:-1] + (self.hidden_size,)
        if input.ndim not in (1, 2):
            raise ValueError(f"{name} of {input.shape}: it takes (B, {self.input_size}), or without a batch "
                             f"({self.input_size},).")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"{name} of {input.shape}: the last size must be input_size "
                               f"{self.input_size}.")
        if hx is None:
            return [zeros(*shape, dtype=input.dtype, device=input.device) for _ in range(self.carried)]
        given = states_given(name, hx, self.carried)
        for state in given:
            if state.shape != shape:
                kind = RuntimeError if state.ndim in (1, 2) else ValueError              # as PyTorch
                raise kind(f"{name}: a state in hx is {state.shape}, and beside an input {input.shape} it "
                           f"must be {shape}.")
        return given


class RNNCell(RNNCellBase):
    """`rnn_step` with weight_ih (hidden_size, input_size), weight_hh and two biases, or none.

    nonlinearity: "tanh" or "relu". Raises RuntimeError for another one when it is called.

    >>> RNNCell(10, 20)(zeros(3, 10)).shape
    (3, 20)
    """
    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def step(self, *numbers):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"RNNCell: nonlinearity={self.nonlinearity!r} is not known, it is 'tanh' or "
                               "'relu'.")
        return rnn_step(*numbers, self.nonlinearity)

    def extra_repr(self):
        usual = self.nonlinearity == "tanh"
        return super().extra_repr() + ("" if usual else f", nonlinearity={self.nonlinearity}")


class LSTMCell(RNNCellBase):
    """`lstm_step` with the gates i f g o below each other in weight_ih (4 * hidden_size, input_size).

    >>> h, c = LSTMCell(10, 20)(zeros(3, 10))
    >>> h.shape, c.shape
    ((3, 20), (3, 20))
    """
    gates, carried = 4, 2
    def step(self, *numbers): return lstm_step(*numbers)


class GRUCell(RNNCellBase):
    """`gru_step` with the gates r z n below each other in weight_ih (3 * hidden_size, input_size)."""
    gates = 3
    def step(self, *numbers): return gru_step(*numbers)
