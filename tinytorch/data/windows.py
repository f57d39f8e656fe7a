# Generated from modules/08_dataloader/windows_dev.py by tito export. Edit the lesson, not this file.
# source sha256 c763b63c356adbcab0c828f7aadc13e30d91b71a93ee750e58ce086db6f9e442  body sha256 87ea04ad8db983861bf83b88b0dffc50814801089e521ca6908314850af5322b  # noqa: E501
"""data.windows: built in module 08_dataloader."""

import operator

from tinytorch.core.backend import array_module
from tinytorch.core.creation import as_tensor
from tinytorch.data.dataset_base import Dataset, Rows
from tinytorch.data.sampler_base import check_count

__all__ = ["SequenceWindows"]


class SequenceWindows(Dataset):
    """Pairs (x, y), each (length,): a window of `tokens` (N,), and the same one place further.

    step: from the start of one window to that of the next; `length` unless given, so that none overlap.
    """
    def __init__(self, tokens, length, step=None):
        check_count("length", length)
        check_count("step", length if step is None else step)
        self.tokens, self.length, self.step = as_tensor(tokens), length, step or length
        if self.tokens.ndim != 1 or len(self.tokens) <= length:
            raise ValueError(f"SequenceWindows(length={length}) of tokens of shape {self.tokens.shape}: it "
                             f"takes one row of at least {length + 1}, a window and the token after it.")

    def __len__(self): return (len(self.tokens) - 1 - self.length) // self.step + 1

    def __getitem__(self, index):
        start = self._start(index)
        return (self.tokens[start:start + self.length], self.tokens[start + 1:start + self.length + 1])

    def __getitems__(self, indices):
        xp = array_module(self.tokens.data)
        starts = xp.asarray([self._start(index) for index in indices])
        block = self.tokens[starts[:, None] + xp.arange(self.length + 1)]      # (B, length + 1)
        return Rows((block[:, :-1], block[:, 1:]))

    def _start(self, index):
        place = operator.index(index)
        place += len(self) if place < 0 else 0
        if not 0 <= place < len(self):
            raise IndexError(f"SequenceWindows: there is no item {index} in {len(self)} items.")
        return place * self.step
