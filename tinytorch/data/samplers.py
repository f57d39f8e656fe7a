# Generated from modules/08_dataloader/dataloader_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2157eecb930d0116b6ee478b555c2e8cd4b7badab00d885f6bfe4a4c81b42b34  body sha256 47898e908ccd7e3e14421d6b5a59009604b4193b288a099c0df9ffb755131041  # noqa: E501
"""data.samplers: built in module 08_dataloader."""

from tinytorch.core.creation import randint, randperm
from tinytorch.data.sampler_base import Sampler, check_bool, check_count, own_generator

__all__ = ["BatchSampler", "RandomSampler"]


class RandomSampler(Sampler):
    """The numbers of all items in random order, a new one each time.

    replacement: draw each number by itself. num_samples: how many; as many as there are items unless given.
    """
    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement!r}.")
        self.data_source, self.replacement, self._num_samples = data_source, replacement, num_samples
        self.generator = own_generator(generator)
        check_count("num_samples", self.num_samples)

    @property
    def num_samples(self): return len(self.data_source) if self._num_samples is None else self._num_samples

    def __len__(self): return self.num_samples

    def __iter__(self):
        """Yields `self.num_samples` numbers from 0 to len(self.data_source) - 1, drawn from `self.generator`.

        >>> sampler = RandomSampler("abc", num_samples=6, generator=Generator().manual_seed(0))
        >>> order = list(sampler)
        >>> sorted(order[:3]), sorted(order[3:])
        ([0, 1, 2], [0, 1, 2])
        """
        n, count = len(self.data_source), self.num_samples
        if self.replacement:
            yield from randint(n, (count,), generator=self.generator).tolist()
        else:
            for done in range(0, count, n):
                yield from randperm(n, generator=self.generator).tolist()[:count - done]


class BatchSampler(Sampler):
    """Lists of `batch_size` numbers from `sampler`; a rest that is shorter is dropped if `drop_last`."""
    def __init__(self, sampler, batch_size, drop_last):
        check_count("batch_size", batch_size)
        check_bool("drop_last", drop_last)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __len__(self):
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def __iter__(self):
        """Yields lists of `self.batch_size` numbers, in the sampler's order, and the rest unless dropped.

        >>> list(BatchSampler(range(10), 4, False))
        [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        """
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch
