# %% [markdown]
# # RNN, LSTM and GRU
#
# Given code: nothing to solve here. A layer keeps weights and puts them to the ops of `recurrent_ops_dev.py`,
# layer on layer, and from both ends if it is bidirectional. The classes that take one step, `RNNCell` and its
# kin, are in `recurrent_cells_dev.py` and use your functions.

# %%
#| default_exp nn.recurrent_layers

# %%
import math
import warnings

import numpy as np
from packed_dev import PackedSequence, lengths_of, on_device_of, row_at, rows_of
from recurrent_ops_dev import gru_steps, lstm_steps, rnn_steps

from tinytorch.core.creation import empty, zeros
from tinytorch.core.indexing import index_select
from tinytorch.core.joining import cat, stack
from tinytorch.core.tensor import Tensor
from tinytorch.nn.initializers import uniform_
from tinytorch.nn.layers import linear
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter
from tinytorch.nn.simple_layers import dropout

# %% [markdown]
# ## The order of the steps
#
# The ops walk from row 0 on, all sequences side by side. What comes in is laid out for that, and what comes
# out is put back. For sequences that are equally long there is nothing to do, or their order is reversed.
# Packed sequences are laid out as a rectangle (T, B, ...), where a sequence that has ended repeats its last
# word: nobody looks at what comes of it. Backwards each starts at its own end.

# %%
#| export
class Steps:
    """A batch x (T, B, D) of sequences that are equally long."""
    def laid_out(self, x, backwards): return x.flip(0) if backwards else x
    put_back = laid_out
    def last(self, states): return states[-1]


class PackedSteps:
    """Packed sequences: rows (n, D) to (T, B, D) and back. sizes: the batch_sizes in a list."""
    def __init__(self, sizes, like):
        t, lengths, batch = np.arange(len(sizes))[:, None], lengths_of(sizes), np.arange(sizes[0])
        rows_t, rows_b = rows_of(sizes)
        self.there = [on_device_of(like, row_at(sizes, which)) for which in (
            np.minimum(t, lengths - 1), np.maximum(lengths - 1 - t, 0))]
        self.back = [on_device_of(like, when * len(batch) + rows_b) for when in (
            rows_t, lengths[rows_b] - 1 - rows_t)]
        self.end = on_device_of(like, (lengths - 1) * len(batch) + batch)

    def laid_out(self, x, backwards): return x[self.there[backwards]]
    def put_back(self, states, backwards): return states.flatten(0, 1)[self.back[backwards]]
    def last(self, states): return states.flatten(0, 1)[self.end]


# %% [markdown]
# ## The layers

# %%
#| export
class RNNBase(Module):
    """What RNN, LSTM and GRU share: weights, checks, and the walk over layers and directions.

    gates: how many there are. carried: how many states go from step to step.
    """
    gates = carried = 1

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__()
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = dropout, bidirectional, proj_size
        self._check_numbers()
        self._all_weights = []
        state, gates = proj_size or hidden_size, self.gates * hidden_size
        for layer in range(num_layers):
            size = input_size if layer == 0 else state * self.directions
            for suffix in ("", "_reverse")[:self.directions]:
                shapes = {"weight_ih": (gates, size), "weight_hh": (gates, state)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = proj_size, hidden_size
                for name, shape in shapes.items():
                    made = Parameter(empty(*shape, dtype=dtype, device=device))
                    setattr(self, f"{name}_l{layer}{suffix}", made)
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in shapes])
        self.reset_parameters()

    @property
    def directions(self): return 2 if self.bidirectional else 1

    @property
    def all_weights(self):
        """The parameters in lists: one for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def _check_numbers(self):
        name = type(self).__name__
        for what, kind in (("input_size", int), ("hidden_size", int), ("num_layers", int), ("bias", bool),
                           ("batch_first", bool)):
            value = getattr(self, what)
            if not isinstance(value, kind):
                raise TypeError(f"{name}: {what}={value!r} is a {type(value).__name__}, it must be "
                                f"{'a whole number' if kind is int else 'True or False'}.")
            if kind is int and value < 1:
                raise ValueError(f"{name}: {what}={value}, it must be greater than zero.")
        p, size = self.dropout, self.proj_size
        if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p <= 1:
            raise ValueError(f"{name}: dropout={p!r}, a probability is a number between 0 and 1.")
        if not isinstance(size, int) or not 0 <= size < self.hidden_size:
            raise ValueError(f"{name}: proj_size={size!r} must be smaller than hidden_size "
                             f"{self.hidden_size}, or 0 for no projection.")
        if p and self.num_layers == 1:
            warnings.warn(f"{name}: dropout={p} acts between layers, and with num_layers=1 there is no "
                          "between. Give more layers, or a Dropout of its own.", stacklevel=4)

    def reset_parameters(self):
        """Draw every number evenly between ±1/√hidden_size."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            uniform_(parameter, -bound, bound)

    def flatten_parameters(self):
        """Nothing: PyTorch lays the weights out for cuDNN here, and programs call it."""

    def extra_repr(self):
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0,
                 "bidirectional": False}
        said = [f"{name}={getattr(self, name)}" for name in usual if getattr(self, name) != usual[name]]
        return ", ".join([str(self.input_size), str(self.hidden_size), *said])

    def forward(self, input, hx=None):
        """(output, state): the last layer's states of all steps, and every layer's last one.

        input: (T, B, input_size), with batch_first (B, T, input_size), without a batch (T, input_size), or
        a PackedSequence; the output is of the same kind, with (2 *) hidden_size, or proj_size, in the last
        place. hx, state: (num_layers (* 2), B, hidden_size), for an LSTM a tuple (h, c) of them, without a
        batch without B; hx is 0 unless given.
        """
        packed = isinstance(input, PackedSequence)
        x = input.data if packed else input
        self._check_input(x, packed)
        batched = packed or x.ndim == 3
        if not batched:
            x = x.unsqueeze(1)
        elif self.batch_first and not packed:
            x = x.transpose(0, 1)
        steps = PackedSteps(input.batch_sizes.tolist(), x) if packed else Steps()
        states = self._first_states(hx, x, len(steps.end) if packed else x.shape[1], batched)
        if packed and input.sorted_indices is not None:
            states = [index_select(state, 1, input.sorted_indices) for state in states]
        out, states = self._through_layers(x, states, steps)
        if packed:
            out = PackedSequence(out, *input[1:])
            if input.unsorted_indices is not None:
                states = [index_select(state, 1, input.unsorted_indices) for state in states]
        elif not batched:
            out, states = out.squeeze(1), [state.squeeze(1) for state in states]
        elif self.batch_first:
            out = out.transpose(0, 1)
        return out, tuple(states) if self.carried == 2 else states[0]

    def _through_layers(self, x, states, steps):
        """The output, and a list of the last states (num_layers * directions, B, size)."""
        ends, weights = [], self.all_weights
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = dropout(x, self.dropout, self.training)
            sides = []
            for side in range(self.directions):
                i = layer * self.directions + side
                every = self.run(steps.laid_out(x, side), [state[i] for state in states], *weights[i])
                sides.append(steps.put_back(every[0], side))
                ends.append([steps.last(sequence) for sequence in every])
            x = cat(sides, -1) if len(sides) > 1 else sides[0]
        return x, [stack(each) for each in zip(*ends)]

    def run(self, x, states, w_ih, w_hh, *rest):
        """One layer in one direction: for each carried state the sequence (T, B, size) of it."""
        raise NotImplementedError(f"{type(self).__name__}.run is not written. RNN, LSTM and GRU have one.")

    # What is refused
    def _check_input(self, x, packed):
        name, dtype = type(self).__name__, self.weight_ih_l0.dtype
        if not packed and x.ndim not in (2, 3):
            raise ValueError(f"{name} of {x.shape}: it takes (T, B, {self.input_size}), with batch_first "
                             f"(B, T, {self.input_size}), or without a batch (T, {self.input_size}).")
        if x.dtype != dtype:
            raise ValueError(f"{name}: the input's dtype {x.dtype} is not the weights' {dtype}. Convert the "
                             f"input, input.to({str(dtype)!r}), or the layer.")
        if packed and x.ndim != 2 or x.shape[-1] != self.input_size:
            raise RuntimeError(f"{name} of {x.shape}: the last size must be input_size {self.input_size}"
                               + ", and packed data has two dimensions." * packed)
        if not x.shape[1 if self.batch_first and x.ndim == 3 else 0]:
            raise RuntimeError(f"{name} of {x.shape}: a sequence has at least one step.")

    def _first_states(self, hx, x, batch, batched):
        """The first states (num_layers * directions, B, size) in a list, zeros if hx is None."""
        n, name = self.num_layers * self.directions, type(self).__name__
        sizes = [self.proj_size or self.hidden_size, self.hidden_size][:self.carried]
        if hx is None:
            return [zeros(n, batch, size, dtype=x.dtype, device=x.device) for size in sizes]
        given = states_given(name, hx, self.carried)
        for state, size in zip(given, sizes):
            expected = (n, batch, size) if batched else (n, size)
            if state.shape != expected or state.dtype != x.dtype:
                raise RuntimeError(f"{name}: a state in hx is {state.shape} of {state.dtype}, for this input "
                                   f"it must be {expected} of {x.dtype}: one for each layer and direction.")
        return given if batched else [state.unsqueeze(1) for state in given]


def states_given(name, hx, carried):
    """hx in a list of `carried` tensors. Raises TypeError if it is something else."""
    given = hx if carried == 2 else (hx,)
    if not isinstance(given, (tuple, list)) or len(given) != carried or not all(
            isinstance(state, Tensor) for state in given):
        raise TypeError(f"{name}: hx is a {type(hx).__name__}, it must be "
                        + ("a tensor h." if carried == 1 else "a tuple of two tensors, (h, c)."))
    return [*given]


# %%
#| export
class RNN(RNNBase):
    """h' = tanh(x W_ihᵀ + b_ih + h W_hhᵀ + b_hh), or relu, at each step. Elman, 1990.

    weight_ih_l0: (hidden_size, input_size), weight_hh_l0: (hidden_size, hidden_size); the next layers l1 ...,
    and "_reverse" behind those that read from the end. dropout acts on the output of all layers but the last.

    >>> output, h = RNN(10, 20, num_layers=2)(zeros(5, 3, 10))
    >>> output.shape, h.shape
    ((5, 3, 20), (2, 3, 20))
    """
    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True,
                 batch_first=False, dropout=0.0, bidirectional=False, device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity={nonlinearity!r} is not known, it is 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias,
                         batch_first, dropout, bidirectional, 0, device, dtype)

    def run(self, x, states, w_ih, w_hh, b_ih=None, b_hh=None):
        return rnn_steps(together(x, w_ih, b_ih, b_hh), *states, w_hh, nonlinearity=self.nonlinearity),


def together(x, w_ih, b_ih, b_hh):
    """The inputs of all steps, and both biases, in one product."""
    return linear(x, w_ih, None if b_ih is None else b_ih + b_hh)


class LSTM(RNNBase):
    """Gates i f g o; c' = f c + i g and h' = o tanh(c'). Hochreiter and Schmidhuber, 1997.

    The four stand below each other in weight_ih_l0 (4 * hidden_size, input_size) and weight_hh_l0; the names
    are RNN's. With proj_size the state is weight_hr_l0 @ h', of that size (Sak et al., arXiv:1402.1128).

    >>> output, (h, c) = LSTM(10, 20, bidirectional=True, batch_first=True)(zeros(3, 5, 10))
    >>> output.shape, h.shape, c.shape
    ((3, 5, 40), (2, 3, 20), (2, 3, 20))
    """
    gates, carried = 4, 2

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, proj_size, device, dtype)

    def run(self, x, states, w_ih, w_hh, *rest):
        b_ih, b_hh = rest[:2] if self.bias else (None, None)
        w_hr = rest[-1] if self.proj_size else None
        return lstm_steps(together(x, w_ih, b_ih, b_hh), *states, w_hh, w_hr)[:2]


class GRU(RNNBase):
    """Gates r z n; n = tanh(x W_n + b + r (h W_n + b)) and h' = (1 - z) n + z h. Cho et al., arXiv:1406.1078.

    The three stand below each other in weight_ih_l0 (3 * hidden_size, input_size) and weight_hh_l0; the
    names are RNN's.

    >>> output, h = GRU(10, 20)(zeros(5, 10))
    >>> output.shape, h.shape
    ((5, 20), (1, 20))
    """
    gates = 3

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, 0, device, dtype)

    def run(self, x, states, w_ih, w_hh, b_ih=None, b_hh=None):
        return gru_steps(linear(x, w_ih, b_ih), *states, w_hh, b_hh)[:1]
