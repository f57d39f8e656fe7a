"""Recurrent layers, cells and packed sequences on a device: the CPU's numbers, and nothing crosses over."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from .alike import close, made
from .strict import assert_there, traffic

X = np.random.default_rng(4).normal(size=(5, 3, 6)).astype("float32")
LENGTHS = [2, 5, 3]
LAYERS = {
    "RNN": lambda: nn.RNN(6, 4, 2, bidirectional=True), "relu": lambda: nn.RNN(6, 4, nonlinearity="relu"),
    "LSTM": lambda: nn.LSTM(6, 4, 2, batch_first=True, bidirectional=True),
    "projected": lambda: nn.LSTM(6, 4, 2, bias=False, proj_size=2), "GRU": lambda: nn.GRU(6, 4, 2),
    "GRU without bias": lambda: nn.GRU(6, 4, bias=False),
}
CELLS = {"RNNCell": lambda: nn.RNNCell(6, 4), "LSTMCell": lambda: nn.LSTMCell(6, 4),
         "GRUCell": lambda: nn.GRUCell(6, 4)}


def first_of(state): return state if isinstance(state, tuple) else (state,)


def results(layer, x, out, last):
    """The outputs, and the gradients of input and parameters."""
    every = [out, *first_of(last)]
    sum((o * o).sum() for o in every).backward()
    return [*[o.detach() for o in every], x.grad, *[p.grad for p in layer.parameters()]]


@pytest.mark.parametrize("name", [*LAYERS, *CELLS])
def test_layer(name, device):
    """Outputs, states and gradients; the second call goes on from the first's state"""
    def run(where):
        layer, x = made({**LAYERS, **CELLS}[name], where), torch.tensor(X, device=where, requires_grad=True)
        traffic.clear()
        if name in CELLS:
            last = layer(x[1], layer(x[0]))
            out = first_of(last)[0]
        else:
            out, last = layer(x, layer(x)[1])
        return results(layer, x, out, last), traffic.counts()

    expected, _ = run("cpu")
    got, crossed = run(device)
    assert len(got) == len(expected) and crossed == (0, 0, 0)
    for g, e in zip(got, expected):
        close(g, e)


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "LSTM"])
def test_packed(name, device):
    """batch_sizes stay on the CPU, the rest lives there"""
    def run(where):
        layer, x = made(LAYERS[name], where), torch.tensor(X, device=where, requires_grad=True)
        out, last = layer(pack_padded_sequence(x, LENGTHS, enforce_sorted=False))
        assert out.batch_sizes.device == "cpu"
        assert_there(out.sorted_indices, where)
        padded, lengths = pad_packed_sequence(out)
        assert lengths.tolist() == LENGTHS and lengths.device == "cpu"
        return results(layer, x, padded, last)

    for g, e in zip(run(device), run("cpu"), strict=True):
        close(g, e)


def test_a_packed_sequence_moves(device):
    packed = pack_padded_sequence(torch.tensor(X), LENGTHS, enforce_sorted=False).cuda()
    assert packed.is_cuda and packed.batch_sizes.device == "cpu"
    assert_there(packed.unsorted_indices, device)
    back = packed.cpu()
    assert not back.is_cuda and back.sorted_indices.tolist() == [1, 2, 0]
    rows = [torch.tensor(X[:n, 0], device=device) for n in LENGTHS]
    close(pad_sequence(rows), pad_sequence([row.cpu() for row in rows]))
    with pytest.raises(ValueError, match="CPU"):
        type(packed)(packed.data, packed.batch_sizes.to(device))
