# %% [markdown]
# # What stands around the loop of a loader
#
# Given code: nothing to solve here. The lesson's `DataLoader` goes through an epoch; this is what makes
# the epoch reproducible, and lets it go on in the middle.

# %%
#| default_exp data.loader_base

# %%
import itertools
import threading
from copy import deepcopy

import numpy as np
from dataset_base_dev import IterableDataset, Rows, item_at, items_at, raise_named
from sampler_base_dev import check_bool, check_iterable

from tinytorch.core.backend import Generator, drawing_from

# %% [markdown]
# ## Random numbers while a batch is loaded
#
# A random crop draws from the default generator of the thread that it runs in. In a prefetching thread
# that is another one than here, and the numbers would differ. So while a batch is loaded, the thread is
# lent another one, whose seed is made of the epoch's seed and the number of the batch. The same batch
# then has the same crops, in whichever thread, and also when a run goes on in the middle of an epoch
# without loading what came before.

# %%
#| export
def with_random(steps, randoms, lock):
    """What `steps` yields; each step is made while random numbers come from the next of `randoms`.

    The lock keeps two threads from loading at once, as after a `break`, when a new epoch begins.
    """
    end, lent = object(), Generator()
    for random in randoms:
        lent.random = random
        with lock, drawing_from(lent):
            step = next(steps, end)
        if step is end:
            return
        yield step


def epoch_randoms(seed, first):
    """Random numbers (NumPy's Generators) for each batch of an epoch, from batch number `first` on."""
    return (np.random.default_rng([seed, b + 1]) for b in itertools.count(first))


def get_worker_info():
    """None, as in PyTorch's main process: there are no worker processes here."""
    return None


# %% [markdown]
# ## The rest of a loader
#
# `position` tells where the epoch that is under way began and how many of its batches were handed out, or
# is None. What a prefetching thread has loaded ahead does not count. `skip` is how many batches the next
# epoch leaves out, because an earlier run had them.

# %%
#| export
class LoaderBase:
    """Everything of `DataLoader` but its loops."""
    position, skip = None, 0

    def check(self, dataset, batch_size, shuffle, sampler, batch_sampler, drop_last, num_workers, timeout,
              prefetch, prefetch_factor):
        """Raise ValueError or TypeError for options that do not go together."""
        self.is_stream = isinstance(dataset, IterableDataset)
        for name, value in ("num_workers", num_workers), ("prefetch", prefetch), ("timeout", timeout):
            if value < 0:
                raise ValueError(f"{name} should be non-negative, but got {name}={value!r}.")
        if timeout:
            raise ValueError("timeout is for worker processes; here one thread loads. Leave it at 0.")
        if prefetch_factor is not None and (num_workers == 0 or prefetch_factor < 0):
            raise ValueError(f"prefetch_factor={prefetch_factor!r}: how many batches each of num_workers, 1 "
                             "or more, loads ahead. Or give prefetch=, the number of batches.")
        check_bool("drop_last", drop_last)
        if self.is_stream and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("an IterableDataset has its order: leave out shuffle, sampler, batch_sampler.")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle.")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                             "and drop_last.")
        if batch_size is None and drop_last:
            raise ValueError("batch_size=None makes no batches: there is no last one to drop (drop_last).")
        for name, value in ("sampler", sampler), ("batch_sampler", batch_sampler):
            if value is not None:
                check_iterable(name, value)
        if not self.is_stream:
            self._check_items(dataset)

    def _check_items(self, dataset):
        try:
            n = len(dataset)
        except TypeError:
            raise TypeError(f"DataLoader: {type(dataset).__name__} has no length. A dataset defines __len__ "
                            "and __getitem__; a stream is an IterableDataset.") from None
        if n == 0:
            raise ValueError(f"DataLoader: {type(dataset).__name__} is empty, num_samples=0. Was it filtered "
                             "or split until nothing was left?")

    def __len__(self):
        """How many batches an epoch has; TypeError if nobody can know."""
        return len(self.order)

    def items(self, indices):
        """The items of the dataset with these numbers, as a list; an error says which item it was."""
        if self.is_stream:
            return indices                             # they are the items
        items = items_at(self.dataset, indices)
        return list(items) if isinstance(items, Rows) and not self.takes_rows else items

    def put_together(self, items, indices):
        """`collate_fn(items)`; an error says which items of the dataset they were."""
        try:
            return self.collate_fn(items)
        except Exception as error:
            if self.is_stream:
                raise
            at, name = getattr(error, "position", None), type(self.dataset).__name__
            which = indices if at is None else [indices[0], indices[at]]
            raise_named(error, f"items {list(which)} of {name}")

    def single(self, index):
        """One item without a batch around it, for batch_size=None."""
        return self.collate_fn(index if self.is_stream else item_at(self.dataset, index))

    def in_thread(self, batches):
        """The batches, after `worker_init_fn`: this runs in the thread that prefetches."""
        if self.worker_init_fn is not None:
            self.worker_init_fn(0)
        yield from batches

    # An epoch
    def begin(self):
        """A new epoch: its order, random numbers for each batch, and its record.

        The generator's state of this moment is noted; then a seed is drawn, then the sampler draws.
        """
        self.position = record = {**self._states(), "batches": self.skip}
        first, self.skip = self.skip, 0
        seed = int(self.generator.random.integers(2 ** 62))
        steps = with_random(self._steps(), itertools.repeat(np.random.default_rng([seed])), threading.Lock())
        order = itertools.islice(steps, first, None)
        if not self.is_stream:
            order = itertools.chain(list(itertools.islice(order, 1)), order)     # draws now, in this thread
        return order, epoch_randoms(seed, first), record

    def _steps(self): yield from self.order

    def handed_out(self, batches, record):
        """The batches, counted as they leave."""
        for batch in batches:
            record["batches"] += 1
            yield batch
        if self.position is record:                    # the epoch is over, and no other has begun since
            self.position = None

    # Saving
    def state_dict(self):
        """Where the loader is: for an epoch that is under way its beginning, and the batches handed out.

        Plain numbers and strings. Not in it: what a sampler of yours draws, unless it has `state_dict` and
        `load_state_dict`, or draws from the default generator; and where a stream is in its source: it is
        read again from its start, and the batches that were handed out are thrown away.
        """
        return deepcopy({"plan": self.plan(), **(self.position or {**self._states(), "batches": self.skip})})

    def plan(self):
        """What must be the same for a state to fit."""
        inner = getattr(self.order, "sampler", None)
        return {"items": None if self.is_stream else len(self.dataset), "batch_size": self.batch_size,
                "drop_last": self.drop_last, "order": type(self.order if inner is None else inner).__name__}

    def _states(self):
        state = {"generator": self.generator.get_state()}
        if callable(getattr(self.order, "state_dict", None)):
            state["sampler"] = self.order.state_dict()
        return state

    def load_sampler(self, state):
        """Give the sampler back what it had in `state`, if it had anything."""
        if "sampler" in state:
            self.order.load_state_dict(state["sampler"])
