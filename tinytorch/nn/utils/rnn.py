"""Sequences of different lengths: `torch.nn.utils.rnn`'s names."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "nn.packed": """PackedSequence invert_permutation pack_padded_sequence pack_sequence pad_packed_sequence
        pad_sequence unpack_sequence unpad_sequence""",
})
