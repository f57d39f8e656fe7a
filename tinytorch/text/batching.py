# Generated from modules/10_tokenization/tokenization_dev.py by tito export. Edit the lesson, not this file.
# source sha256 5d93c2a0fcd1ae1274e6643b49001fdad67fb032a1fa354702257d3a9ec42b81  body sha256 e81f1c054213181cfc5456a87648d976f147649348af61b7154c4083d30d1017  # noqa: E501
"""text.batching: built in module 10_tokenization."""

import numpy as np

from tinytorch.core.creation import as_tensor
from tinytorch.text.base import TokenizerBase

__all__ = ["Tokenizer", "fitted", "pad_batch"]


class Tokenizer(TokenizerBase):
    """TokenizerBase, with the functions that cut texts and make batches of them."""
    def fit(self, first, second, max_length, specials): return fitted(first, second, max_length, specials)
    def pad(self, rows, pad_id, length, side): return pad_batch(rows, pad_id, length, side)


def fitted(first, second, max_length, specials):
    """(first, second), lists of ids, cut so that with `specials` more tokens they are at most `max_length`.

    The shorter one keeps at most half of the room, rounded down; the longer one (`second`, if both are
    equally long) at most the rest. ValueError if the specials alone are too many.

    >>> fitted([1, 2, 3, 4, 5], [6, 7], 9, 3), fitted([1, 2, 3, 4], [], 4, 2)
    (([1, 2, 3, 4], [6, 7]), ([1, 2], []))
    """
    room = max_length - specials
    if room < 0:
        raise ValueError(f"max_length={max_length} has no room for the {specials} special tokens alone.")
    short = min(len(first), len(second), room // 2)
    if len(first) > len(second):
        return first[:room - short], second[:short]
    return first[:short], second[:room - short]


def pad_batch(rows, pad_id, length=None, side="right"):
    """(ids, mask), tensors (B, T) of int64: `rows`, lists of ids, filled up with `pad_id` on one side.

    T: `length`, or that of the longest row. In the mask 1 is a token and 0 is padding. ValueError for a row
    longer than `length`, and for a side that is not "right" or "left".

    >>> ids, mask = pad_batch([[5, 6, 7], [8]], 0)
    >>> ids.tolist(), mask.tolist()
    ([[5, 6, 7], [8, 0, 0]], [[1, 1, 1], [1, 0, 0]])
    """
    if side not in ("right", "left"):
        raise ValueError(f"pad_batch: side={side!r}. Padding is put on the 'right' or on the 'left'.")
    longest = max(map(len, rows), default=0)
    width = longest if length is None else length
    if longest > width:
        raise ValueError(f"pad_batch: a row has {longest} tokens, but length={length}. Cut it first.")
    ids = np.full((len(rows), width), pad_id, dtype="int64")
    mask = np.zeros((len(rows), width), dtype="int64")
    for i, row in enumerate(rows):
        places = slice(0, len(row)) if side == "right" else slice(width - len(row), width)
        ids[i, places], mask[i, places] = row, 1
    return as_tensor(ids), as_tensor(mask)
