"""Recurrent layers on sequences of some length, and packed ones, beside PyTorch's with the same weights."""
import numpy as np
import pytest
import torch
from torch.nn.utils import rnn as theirs

from .frameworks import FRAMEWORK

ours = FRAMEWORK.find("nn.utils.rnn")
LENGTHS = [7, 20, 1, 13, 20, 2]
LAYERS = {
    "RNN": ("RNN", (5, 16, 2, "relu"), {"bidirectional": True}),
    "LSTM": ("LSTM", (5, 16, 2), {"batch_first": True}),
    "projected": ("LSTM", (5, 16, 2), {"proj_size": 3, "bidirectional": True}),
    "GRU": ("GRU", (5, 16, 2), {"bidirectional": True, "bias": False}), "one layer": ("GRU", (5, 16), {}),
}


def gradients(root, packing, name, dtype, packed, tensor):
    """Outputs, states and gradients as PyTorch tensors; weights, inputs and cotangents drawn by PyTorch."""
    kind, arguments, options = LAYERS[name]
    torch.manual_seed(0)
    judge, x = getattr(torch.nn, kind)(*arguments, **options).to(dtype), torch.randn(20, 6, 5, dtype=dtype)
    first = options.get("batch_first", False)
    layer = judge
    if root is not torch:
        layer = getattr(root.nn, kind)(*arguments, **options, dtype=str(dtype).removeprefix("torch."))
        layer.load_state_dict({key: tensor(t.clone()) for key, t in judge.state_dict().items()})
    leaf = tensor(x.transpose(0, 1).contiguous() if first else x)
    leaf.requires_grad = True
    given = packing.pack_padded_sequence(leaf, LENGTHS, first, enforce_sorted=False) if packed else leaf
    out, last = layer(given)
    if packed:
        out, lengths = packing.pad_packed_sequence(out, first, total_length=22)
        assert lengths.tolist() == LENGTHS
    every = [out, *(last if isinstance(last, tuple) else (last,))]
    sum((o * tensor(torch.randn(tuple(o.shape), dtype=dtype))).sum() for o in every).backward()
    found = [*[o.detach() for o in every], leaf.grad, *[p.grad for p in layer.parameters()]]
    return [t if root is torch else FRAMEWORK.judged(t) for t in found]


@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
@pytest.mark.parametrize("dtype, digits", [(torch.float64, 1e-10), (torch.float32, 1e-4)],
                         ids=["float64", "float32"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, dtype, digits, packed):
    "Outputs, last states and every gradient, relative to the largest number among them"
    expected = gradients(torch, theirs, name, dtype, packed, lambda t: t.detach())
    found = gradients(FRAMEWORK.root, ours, name, dtype, packed, FRAMEWORK.tensor)
    assert len(found) == len(expected)
    for got, want in zip(found, expected):
        assert got.dtype == want.dtype and got.shape == want.shape
        assert (got - want).abs().max() <= digits * want.abs().max()


def same(got, want):
    if want is None or isinstance(want, (int, float)):
        assert got == want
    elif isinstance(want, torch.Tensor):
        got = FRAMEWORK.judged(got)
        assert got.dtype == want.dtype and torch.equal(got, want)
    else:
        assert type(got).__name__ == type(want).__name__ and len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)


ROWS = [np.arange(6.).reshape(3, 2), np.arange(2.).reshape(1, 2), np.arange(8.).reshape(4, 2)]
FUNCTIONS = {
    "pack": lambda rnn, rows: rnn.pack_sequence(rows, enforce_sorted=False),
    "pack sorted": lambda rnn, rows: rnn.pack_sequence([rows[2], rows[0], rows[1]]),
    "pad": lambda rnn, rows: rnn.pad_sequence(rows),
    "pad left": lambda rnn, rows: rnn.pad_sequence(rows, True, -1.0, "left"),
    "pack padded": lambda rnn, rows: rnn.pack_padded_sequence(rnn.pad_sequence(rows), [2, 1, 3],
                                                              enforce_sorted=False),
    "pack a matrix": lambda rnn, rows: rnn.pack_padded_sequence(rows[2], [4, 1]),
    "and back": lambda rnn, rows: rnn.pad_packed_sequence(rnn.pack_sequence(rows, False), True, 9.0, 6),
    "unpack": lambda rnn, rows: rnn.unpack_sequence(rnn.pack_sequence(rows, False)),
    "invert": lambda rnn, rows: rnn.invert_permutation(rnn.pack_sequence(rows, False).sorted_indices),
    "convert": lambda rnn, rows: rnn.pack_sequence(rows, False).float(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_packing(name):
    "The same rows, sizes and orders"
    rows = [torch.tensor(row) for row in ROWS]
    same(FUNCTIONS[name](ours, [FRAMEWORK.tensor(row) for row in rows]), FUNCTIONS[name](theirs, rows))
