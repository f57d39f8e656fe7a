"""Packed sequences: worked numbers, errors, and a recurrent layer that never sees the padding."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn.utils.rnn import (
    PackedSequence,
    invert_permutation,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)

WORDS = [torch.tensor([1, 2]), torch.tensor([3, 4, 5]), torch.tensor([6])]


def drawn(*shape): return torch.tensor(np.random.default_rng(5).normal(size=shape).astype("float32"))
def states(state): return state if isinstance(state, tuple) else (state,)


def test_packed_by_hand():
    """The first words of all, longest sequence first; then the second words of those that have one"""
    packed = pack_sequence(WORDS, enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 6, 4, 2, 5] and packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2] == packed.unsorted_indices.tolist()
    assert packed.batch_sizes.dtype == "int64" and isinstance(packed, tuple) and len(packed) == 4
    assert [s.tolist() for s in unpack_sequence(packed)] == [[1, 2], [3, 4, 5], [6]]


def test_sorted_already():
    packed = pack_sequence([WORDS[1], WORDS[0]])
    assert packed.data.tolist() == [3, 1, 4, 2, 5] and packed[2:] == (None, None)
    again = pack_padded_sequence(torch.tensor([[3, 1], [4, 2], [5, 9]]), torch.tensor([3, 2]))
    assert again.data.tolist() == packed.data.tolist() and again.batch_sizes.tolist() == [2, 2, 1]


def test_equal_lengths_keep_their_order():
    packed = pack_padded_sequence(torch.arange(6).reshape(2, 3), [1, 2, 1], enforce_sorted=False)
    assert packed.sorted_indices.tolist() == [1, 0, 2] and packed.data.tolist() == [1, 0, 2, 4]


def test_padded_again():
    """In the first order, with any padding, in either layout, as long as wished"""
    packed = pack_sequence(WORDS, enforce_sorted=False)
    padded, lengths = pad_packed_sequence(packed, batch_first=True, padding_value=-1, total_length=4)
    assert padded.tolist() == [[1, 2, -1, -1], [3, 4, 5, -1], [6, -1, -1, -1]]
    assert lengths.tolist() == [2, 3, 1] and lengths.dtype == "int64" and padded.dtype == "int64"
    assert pad_packed_sequence(packed)[0].tolist() == [[1, 3, 6], [2, 4, 0], [0, 5, 0]]
    with pytest.raises(ValueError, match="total_length=2"):
        pad_packed_sequence(packed, total_length=2)


def test_the_longest_may_be_shorter_than_the_rectangle():
    packed = pack_padded_sequence(drawn(2, 5, 3), [2, 1], batch_first=True)
    assert packed.data.shape == (3, 3) and pad_packed_sequence(packed, True)[0].shape == (2, 2, 3)


def test_pad_sequence():
    assert pad_sequence(WORDS, batch_first=True).tolist() == [[1, 2, 0], [3, 4, 5], [6, 0, 0]]
    left = pad_sequence(WORDS, padding_value=9, padding_side="left")
    assert left.tolist() == [[9, 3, 9], [1, 4, 9], [2, 5, 6]]
    assert pad_sequence([drawn(2, 3), drawn(4, 3)]).shape == (4, 2, 3)
    first = pad_sequence([torch.tensor([1, 2]), torch.tensor([1.5])])
    assert first.dtype == "int64" and first.tolist() == [[1, 1], [2, 0]]
    assert [s.tolist() for s in unpad_sequence(pad_sequence(WORDS), torch.tensor([2, 3, 1]))] == [
        [1, 2], [3, 4, 5], [6]]


@pytest.mark.parametrize("call", [
    lambda: pad_sequence([]), lambda: pad_sequence(3), lambda: pad_sequence([torch.tensor(1.)]),
    lambda: pad_sequence([drawn(2), drawn(2, 3)]), lambda: pad_sequence(WORDS, padding_side="up"),
    lambda: pack_padded_sequence(drawn(3, 2), [2, 3]), lambda: pack_padded_sequence(drawn(3, 2), [3, 0]),
    lambda: pack_padded_sequence(drawn(3, 2), [4, 2]), lambda: pack_padded_sequence(drawn(3, 2), [3, 2, 1]),
    lambda: pack_padded_sequence(drawn(3, 0), []), lambda: pack_padded_sequence(drawn(3), [3]),
    lambda: pack_padded_sequence(drawn(3, 2), [[3, 1]]), lambda: pack_sequence(WORDS)])
def test_what_cannot_be_packed(call):
    with pytest.raises(RuntimeError, match="pad_sequence|pack_padded_sequence"):
        call()


def test_converted():
    """The numbers change their dtype, the sizes and orders stay; without a change it is itself"""
    packed = pack_sequence([drawn(2), drawn(3)], enforce_sorted=False)
    double = packed.double()
    assert double.data.dtype == "float64" and double.batch_sizes is packed.batch_sizes
    assert double.sorted_indices.tolist() == [1, 0] and isinstance(double, PackedSequence)
    assert packed.to("float32") is packed is packed.cpu() and not packed.is_cuda
    assert packed.half().float().data.dtype == "float32"
    assert invert_permutation(None) is None
    assert invert_permutation(torch.tensor([2, 0, 1])).tolist() == [1, 2, 0]


LENGTHS = [2, 5, 1, 5, 3]
LAYERS = {"RNN": lambda: nn.RNN(3, 4, 2, bidirectional=True),
          "GRU": lambda: nn.GRU(3, 4, 2, bidirectional=True),
          "LSTM": lambda: nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2), "one way": lambda: nn.LSTM(3, 4)}


def run(layer, x, hx, packed):
    """Outputs (T, B, ...), last states, and the gradients of x, hx and the weights."""
    x, hx = x.clone().requires_grad_(), [s.clone().requires_grad_() for s in hx]
    if packed:
        given = pack_padded_sequence(x, LENGTHS, enforce_sorted=False)
        out, last = layer(given, tuple(hx) if len(hx) == 2 else hx[0])
        assert isinstance(out, PackedSequence) and out.sorted_indices is given.sorted_indices
        out, last = pad_packed_sequence(out)[0], states(last)
    else:                                              # one by one, cut to length
        parts = []
        for b, length in enumerate(LENGTHS):
            first = [s[:, b] for s in hx]
            parts.append(layer(x[:length, b], tuple(first) if len(hx) == 2 else first[0]))
        out = pad_sequence([part[0] for part in parts])
        last = [torch.stack(every, 1) for every in zip(*[states(part[1]) for part in parts])]
    layer.zero_grad()
    ((out ** 2).sum() + sum((s ** 3).sum() for s in last)).backward()
    return [out.detach(), *[s.detach() for s in last], x.grad, *[s.grad for s in hx],
            *[p.grad for p in layer.parameters()]]


@pytest.mark.parametrize("name", LAYERS)
def test_packed_is_one_by_one(name):
    """Outputs, last states and all gradients are those of each sequence by itself, in the batch's order"""
    torch.manual_seed(0)
    layer = LAYERS[name]()
    hx = [s.detach() for s in states(layer(drawn(5, 5, 3))[1])]
    both = [run(layer, drawn(5, 5, 3), hx, packed) for packed in (True, False)]
    for got, expected in zip(*both, strict=True):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_padding_is_not_seen():
    """Not even nan: and its gradient is 0"""
    layer, x = nn.LSTM(3, 4, bidirectional=True), drawn(5, 5, 3)
    outside = torch.tensor(np.arange(5)[:, None, None] >= np.array(LENGTHS)[:, None])
    x = x.masked_fill(outside, float("nan")).requires_grad_()
    out, (h, _) = layer(pack_padded_sequence(x, LENGTHS, enforce_sorted=False))
    (out.data.sum() + h.sum()).backward()
    assert np.isfinite(out.data.detach().numpy()).all() and np.isfinite(x.grad.numpy()).all()
    assert (x.grad.numpy()[4, [0, 2, 4]] == 0).all() and (x.grad.numpy()[0] != 0).all()


def test_packed_data_that_do_not_fit():
    layer = nn.GRU(3, 4)
    for error, data in ((RuntimeError, drawn(3, 4)), (RuntimeError, drawn(3)), (RuntimeError, drawn(3, 1, 3)),
                        (ValueError, drawn(3, 3).double())):
        with pytest.raises(error, match="GRU"):
            layer(PackedSequence(data, torch.tensor([2, 1])))
    with pytest.raises(RuntimeError, match=r"\(1, 2, 4\)"):
        layer(PackedSequence(drawn(3, 3), torch.tensor([2, 1])), drawn(1, 3, 4))
