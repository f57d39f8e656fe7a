# Generated from modules/08_dataloader/dataloader_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2157eecb930d0116b6ee478b555c2e8cd4b7badab00d885f6bfe4a4c81b42b34  body sha256 e195b9e6db2a16ec11c033927dc459fe2550d6375f06aff8ed510aaa3abe3b10  # noqa: E501
"""data.loader: built in module 08_dataloader."""

import threading

from tinytorch.data.collate import default_collate
from tinytorch.data.collate_parts import default_convert
from tinytorch.data.loader_base import LoaderBase, with_random
from tinytorch.data.prefetching import prefetch
from tinytorch.data.sampler_base import SequentialSampler, own_generator
from tinytorch.data.samplers import BatchSampler, RandomSampler

__all__ = ["DataLoader"]


class DataLoader(LoaderBase):
    """Batches of a dataset, epoch by epoch: `for x, y in DataLoader(dataset, 32, shuffle=True)`.

    sampler yields numbers of items, batch_sampler lists of them; shuffle=True is a RandomSampler.
    batch_size=None hands out single items. prefetch: how many batches one thread loads ahead, 0 for none;
    num_workers=n is PyTorch's way to ask for 2 n (or prefetch_factor n). generator: where the order and the
    random numbers of transforms come from; by default one is made. worker_init_fn(0) is called in the
    thread, before its first batch. The others are about processes, and change nothing.
    """
    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch=0, prefetch_factor=None,
                 persistent_workers=False, pin_memory_device="", in_order=True):
        self.check(dataset, batch_size, shuffle, sampler, batch_sampler, drop_last, num_workers, timeout,
                   prefetch, prefetch_factor)
        self.dataset, self.generator, self.lock = dataset, own_generator(generator), threading.Lock()
        if self.is_stream:
            sampler = dataset                          # the items themselves, in groups
        elif sampler is None:
            sampler = (RandomSampler(dataset, generator=self.generator) if shuffle
                       else SequentialSampler(dataset))
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.order = sampler if batch_sampler is None else batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.num_workers, self.worker_init_fn, self.pin_memory = num_workers, worker_init_fn, pin_memory
        self.prefetch = prefetch or num_workers * (2 if prefetch_factor is None else prefetch_factor)

    @property
    def takes_rows(self): return self.collate_fn is default_collate

    def batches(self, order):
        """Yields a batch for each list of numbers in `order`; loads it when it is asked for.

        >>> list(DataLoader("abcde", collate_fn="".join).batches([[3, 0], [4, 1], [2]]))
        ['da', 'eb', 'c']
        """
        for indices in order:
            yield self.put_together(self.items(indices), indices)

    def __iter__(self):
        order, randoms, record = self.begin()
        batches = map(self.single, order) if self.batch_sampler is None else self.batches(order)
        batches = with_random(batches, randoms, self.lock)
        if self.prefetch:
            batches = prefetch(self.in_thread(batches), self.prefetch)
        return self.handed_out(batches, record)

    def load_state_dict(self, state):
        """Go on where a loader was that gave this `state_dict()`: the next epoch is the rest of its epoch.

        Raises ValueError if that loader had another plan: other data, batches or order.
        """
        if state["plan"] != self.plan():
            raise ValueError(f"load_state_dict: the state is of a loader with {state['plan']}, this one has "
                             f"{self.plan()}. Make it as that one was made.")
        self.generator.set_state(state["generator"])
        self.load_sampler(state)
        self.position, self.skip = None, state["batches"]
