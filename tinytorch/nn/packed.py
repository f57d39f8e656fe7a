# Generated from modules/12_attention/packed_dev.py by tito export. Edit the lesson, not this file.
# source sha256 df8bfab8e21938d67587d34b75486cea255e20de2242ad052ec1f285e663388c  body sha256 5e7fa3257e162ff9aee7f4041456d04f5d86863eaff209a04e6c6d8645e7e9df  # noqa: E501
"""nn.packed: built in module 12_attention."""

from typing import NamedTuple

import numpy as np

from tinytorch.core.creation import from_numpy
from tinytorch.core.indexing import index_select
from tinytorch.core.joining import stack
from tinytorch.core.tensor import Tensor
from tinytorch.nn.padding import pad

__all__ = [
    "PackedRows", "PackedSequence", "invert_permutation", "lengths_of", "on_device_of",
    "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence", "row_at",
    "rows_of", "unpack_sequence", "unpad_sequence",
]


class PackedRows(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedRows):
    """Sequences of different lengths without padding. `pack_sequence` and `pack_padded_sequence` make one.

    data: (all words, ...), step by step. batch_sizes: (T,) on the CPU, how many of the sequences have a word
    at each step. sorted_indices, unsorted_indices: where the packed sequences stood in the batch, and where
    those of the batch are now; None if nothing was moved.
    """
    def __new__(cls, data, batch_sizes, sorted_indices=None, unsorted_indices=None):
        if batch_sizes.device != "cpu":
            raise ValueError(f"PackedSequence: batch_sizes are on {batch_sizes.device}, and belong on the "
                             "CPU. pack_sequence and pack_padded_sequence make a packed sequence.")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The same with `data` converted or moved as by `Tensor.to`; the indices go where the data is."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        orders = [None if order is None else order.to(data.device) for order in self[2:]]
        return PackedSequence(data, self.batch_sizes, *orders)

    def cpu(self): return self.to("cpu")
    def cuda(self): return self.to("cuda")
    def float(self): return self.to("float32")
    def double(self): return self.to("float64")
    def half(self): return self.to("float16")

    @property
    def is_cuda(self): return self.data.is_cuda


def invert_permutation(permutation):
    """Where each place went: the order that undoes `permutation`; None for None."""
    return None if permutation is None else permutation.argsort()


def rows_of(batch_sizes):
    """(t, b) of each row, two NumPy arrays. batch_sizes: a list.

    >>> [which.tolist() for which in rows_of([2, 1])]
    [[0, 0, 1], [0, 1, 0]]
    """
    return np.repeat(np.arange(len(batch_sizes)), batch_sizes), np.concatenate([*map(np.arange, batch_sizes)])


def row_at(batch_sizes, t):
    """The row of word t[..., b] of each sequence b."""
    first = np.cumsum([0, *batch_sizes[:-1]])
    return first[t] + np.arange(batch_sizes[0])


def lengths_of(batch_sizes):
    """The length of each sequence, longest first.

    >>> lengths_of([3, 3, 2, 1]).tolist()
    [4, 3, 2]
    """
    return (np.array(batch_sizes)[:, None] > np.arange(batch_sizes[0])).sum(0)


def on_device_of(x, index):
    """A NumPy array of indices as a tensor beside x."""
    return from_numpy(index).to(x.device)


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """The first lengths[b] steps of each sequence b of `input` (T, B, ...), or (B, T, ...), packed.

    lengths: a list or tensor of B whole numbers from 1 to T, falling; or in any order if enforce_sorted is
    False. Raises RuntimeError for other lengths.

    >>> packed = pack_padded_sequence(Tensor([[1, 2, 3], [4, 5, 0]]), [3, 2], batch_first=True)
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """
    lengths = np.array(lengths.tolist() if isinstance(lengths, Tensor) else lengths, "int64")
    if batch_first:
        input = input.transpose(0, 1)
    _check_lengths(input, lengths, enforce_sorted)
    order = None
    if not enforce_sorted:
        by_length = np.argsort(-lengths, kind="stable")
        lengths, order = lengths[by_length], on_device_of(input, by_length)
        input = index_select(input, 1, order)
    sizes = (lengths > np.arange(lengths[0])[:, None]).sum(1)
    t, b = [on_device_of(input, index) for index in rows_of(sizes)]
    return PackedSequence(input[t, b], from_numpy(sizes), order)


def _check_lengths(input, lengths, enforce_sorted):
    said = f"pack_padded_sequence of {input.shape} with lengths {lengths.tolist()}: "
    if lengths.ndim != 1 or input.ndim < 2 or not lengths.size or len(lengths) != input.shape[1]:
        raise RuntimeError(said + "there must be one length for each sequence, and one sequence or more.")
    if lengths.min() < 1 or lengths.max() > len(input):
        raise RuntimeError(said + f"a length must lie between 1 and {len(input)}, the number of steps.")
    if enforce_sorted and (lengths[1:] > lengths[:-1]).any():
        raise RuntimeError(said + "the longest must come first. enforce_sorted=False takes any order.")


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """(padded, lengths): the sequences in their first order, padded at the end, and how long each is.

    padded: (T, B, ...) or (B, T, ...), where T is the longest length, or total_length. lengths: (B,). Raises
    ValueError if total_length is shorter.
    """
    sizes = sequence.batch_sizes.tolist()
    steps, lengths = total_length or len(sizes), lengths_of(sizes)
    if steps < len(sizes):
        raise ValueError(f"pad_packed_sequence: total_length={steps}, but the longest sequence has "
                         f"{len(sizes)} steps.")
    t, data = np.arange(steps)[:, None], sequence.data
    padded = data[on_device_of(data, row_at(sizes, np.minimum(t, lengths - 1)))]           # (T, B, ...)
    outside = (t >= lengths).reshape(steps, len(lengths), *[1] * (data.ndim - 1))
    padded, lengths = padded.masked_fill(on_device_of(data, outside), padding_value), from_numpy(lengths)
    if sequence.unsorted_indices is not None:
        padded = index_select(padded, 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Tensors (length, ...) as one: (T, B, ...) or (B, T, ...), where T is the longest length.

    Raises RuntimeError if there are none, if more than the first size differs, or for a side that is neither
    "left" nor "right".

    >>> pad_sequence([Tensor([1, 2, 3]), Tensor([4])], batch_first=True, padding_value=9)
    tensor([[1, 2, 3],
            [4, 9, 9]])
    """
    try:
        sequences = list(sequences)
    except TypeError:
        sequences = []
    if not sequences or not all(isinstance(s, Tensor) and s.ndim for s in sequences):
        raise RuntimeError("pad_sequence: expected one tensor or more with one dimension or more. Give a "
                           "list of tensors (length, ...).")
    if len({s.shape[1:] for s in sequences}) > 1 or padding_side not in ("left", "right"):
        raise RuntimeError(f"pad_sequence of {[s.shape for s in sequences]}, padding_side={padding_side!r}: "
                           "all sizes but the first must agree, and the side is 'left' or 'right'.")
    longest, out = max(map(len, sequences)), []
    for s in sequences:
        missing = longest - len(s)
        both = (missing, 0) if padding_side == "left" else (0, missing)
        out.append(pad(s, [0, 0] * (s.ndim - 1) + [*both], value=padding_value).to(sequences[0].dtype))
    return stack(out, 0 if batch_first else 1)


def pack_sequence(sequences, enforce_sorted=True):
    """Tensors (length, ...) packed: the longest first, or in any order if enforce_sorted is False."""
    return pack_padded_sequence(pad_sequence(sequences), [len(s) for s in sequences],
                                enforce_sorted=enforce_sorted)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences (length, ...) of a padded batch (T, B, ...) or (B, T, ...), in a list."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    lengths = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    return [row[:length] for row, length in zip(rows, lengths, strict=True)]


def unpack_sequence(packed_sequences):
    """The sequences (length, ...) of a packed sequence, in a list, in their first order."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)
