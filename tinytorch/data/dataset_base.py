# Generated from modules/08_dataloader/dataset_base_dev.py by tito export. Edit the lesson, not this file.
# source sha256 eebace4bc6bf2ec14deb755a162d40ba18331cb1ff1c20749ee7344ff6c99922  body sha256 58bd05d28394e2d1800c170cfc8d528b9ce29469fb518540c93b56e8ea9a7b3e  # noqa: E501
"""data.dataset_base: built in module 08_dataloader."""

import bisect
import itertools
import math
import warnings
from collections.abc import Sequence

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "Rows", "StackDataset", "Subset",
    "fetches_together", "item_at", "items_at", "part_sizes", "raise_named",
]


class Dataset:
    """Items by number: a subclass defines `__getitem__(index)` and `__len__()`.

    It may define `__getitems__(indices)` too, where many items at once cost less than one by one. A loader
    that prefetches calls these methods from a thread of its own.
    """
    def __class_getitem__(cls, item): return cls       # `Dataset[int]`, in code that names types

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__(index).")

    def __add__(self, other): return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Items one after the other: a subclass defines `__iter__()`."""
    def __iter__(self): raise NotImplementedError(f"{type(self).__name__} must define __iter__().")
    def __add__(self, other): return ChainDataset([self, other])


def item_at(dataset, index):
    """`dataset[index]`; an error says which item it was."""
    try:
        return dataset[index]
    except Exception as error:
        raise_named(error, f"item {index} of {type(dataset).__name__}")


def items_at(dataset, indices):
    """The items with these numbers, as a sequence; an error says which item, or which ones, it was.

    A dataset that has `__getitems__` is asked once for all of them.
    """
    if not fetches_together(type(dataset)):
        return [item_at(dataset, index) for index in indices]
    try:
        items = dataset.__getitems__(indices)
    except Exception as error:
        raise_named(error, f"items {list(indices)} of {type(dataset).__name__}")
    if len(items) != len(indices):
        raise ValueError(f"{type(dataset).__name__}.__getitems__ was asked for {len(indices)} items and gave "
                         f"{len(items)}. It must give one for each index.")
    return items


def fetches_together(kind):
    """True for a class with `__getitems__`, unless a subclass changed `__getitem__` alone since then."""
    for cls in kind.__mro__:
        if "__getitems__" in vars(cls):
            return cls.__getitems__ is not None
        if "__getitem__" in vars(cls):
            return False
    return False


def raise_named(error, where):
    """Raise `error` once more, of the same class where that is possible, with `where` in its message."""
    if getattr(error, "where", None):                  # it knows already
        raise error
    again = RuntimeError(f"{where}: {type(error).__name__}: {error}")
    if not isinstance(error, StopIteration):           # which would end somebody's loop
        try:
            same = type(error)(f"{where}: {error}")
            again = same if where in str(same) else again
        except Exception:                              # a class that is not made from one text
            pass
    again.where = where
    raise again from error


class Rows(Sequence):
    """Items of a batch that is made already: item i is row i of every tensor."""
    def __init__(self, tensors): self.tensors = tensors          # each (B, ...)
    def __len__(self): return len(self.tensors[0])
    def __getitem__(self, i):
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        return tuple([t[i] for t in self.tensors])


class Subset(Dataset):
    """The items of `dataset` with these numbers, in this order."""
    def __init__(self, dataset, indices): self.dataset, self.indices = dataset, indices
    def __len__(self): return len(self.indices)

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices): return items_at(self.dataset, [self.indices[i] for i in indices])


class ConcatDataset(Dataset):
    """The items of several datasets, one after the other."""
    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: no datasets. Give a list with at least one.")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise TypeError("ConcatDataset: an IterableDataset has no numbers. Use ChainDataset for streams.")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self): return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"ConcatDataset: there is no item {index} in {len(self)} items.")
        which = bisect.bisect_right(self.cumulative_sizes, place)
        return self.datasets[which][place - (self.cumulative_sizes[which - 1] if which else 0)]


class StackDataset(Dataset):
    """Datasets side by side: item i is the tuple of their items i, or with keywords a dictionary."""
    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset: give datasets, or datasets with names; not both, not none.")
        self.datasets = kwargs or args
        sizes = [len(d) for d in (kwargs.values() or args)]
        if len(set(sizes)) > 1:
            raise ValueError(f"StackDataset: datasets of {sizes} items. They must have the same number.")
        self._length = sizes[0]

    def __len__(self): return self._length

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple([d[index] for d in self.datasets])


class ChainDataset(IterableDataset):
    """Streams, one after the other."""
    def __init__(self, datasets): self.datasets = list(datasets)
    def __iter__(self): return itertools.chain.from_iterable(self.datasets)
    def __len__(self): return sum(map(len, self.datasets))


def part_sizes(lengths, n):
    """`lengths` as sizes that add up to n: they are sizes already, or shares that add up to 1.

    >>> part_sizes([0.5, 0.5], 5), part_sizes([4, 1], 5)
    ([3, 2], [4, 1])
    """
    lengths = list(lengths)
    if any(length < 0 for length in lengths):
        raise ValueError(f"lengths {lengths}: each part must have 0 items or more.")
    if lengths and math.isclose(sum(lengths), 1) and sum(lengths) != n:
        sizes = [math.floor(n * share) for share in lengths]
        for i in range(n - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i, size in enumerate(sizes):
            if not size:
                warnings.warn(f"random_split: part {i} is empty, {lengths[i]} of {n} items.", stacklevel=3)
        lengths = sizes
    if sum(lengths) != n or any(length != int(length) for length in lengths):
        raise ValueError(f"lengths {lengths} of a dataset with {n} items: they must be whole numbers that "
                         f"add up to {n}, or shares that add up to 1.")
    return [int(length) for length in lengths]
