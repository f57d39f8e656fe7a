# %% [markdown]
# # What else a run depends on
#
# Given code: nothing to solve here. Weights and moments are not all that decides what the next step does:
# also the random numbers that come next, and which batch is next. And a run that is stopped with Ctrl-C
# must not stop in the middle of a step.

# %%
#| default_exp training.resuming

# %%
import random
import signal
import threading
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import numpy as np

from tinytorch.core.backend import default_generator, manual_seed

# %% [markdown]
# ## Where the data are
#
# A source of batches that knows its own position says so by two methods; module 08's DataLoader will be one.
# Any other iterable is read from the start of the epoch again, with the random numbers of that time, and
# the batches that were done are thrown away.

# %%
#| export
@runtime_checkable
class Resumable(Protocol):
    """Batches that can go on in the middle of an epoch.

    Each `iter()` begins an epoch, except the first one after `load_state_dict(state)`: that one goes on
    with the batch after those that had been handed out when `state_dict()` was called, in the same order.
    Asked after the last batch, the state is the beginning of the next epoch. It is made of plain numbers,
    strings, lists, dictionaries and tensors. Random numbers come from a generator of its own.
    """
    def state_dict(self) -> dict: ...
    def load_state_dict(self, state_dict: dict) -> None: ...


# %% [markdown]
# ## Random numbers
#
# Three sources that a model or its data may draw from: ours, Python's, and NumPy's old global one.

# %%
#| export
def seed_everything(seed):
    """Start the generators of tinytorch, of `random` and of `numpy.random` from one number."""
    random.seed(seed)
    np.random.seed(seed % 2 ** 32)
    manual_seed(seed)


def random_state(devices=()):
    """What `set_random_state` needs: the state of those three.

    devices: GPUs whose generators are in use. CuPy does not show their state, so they start anew from a
    number drawn here, and a run that goes on from this state starts them from the same number.
    """
    seeds = {str(place): int(default_generator().random.integers(2 ** 63)) for place in devices}
    state = {"tinytorch": default_generator().get_state(), "python": random.getstate(),
             "numpy": np.random.get_state(legacy=False), "devices": seeds}
    _seed_devices(devices, seeds)
    return state


def set_random_state(state, devices=()):
    """Go on with the random numbers that came after `random_state()`."""
    default_generator().set_state(state["tinytorch"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    _seed_devices(devices, state["devices"])


def _seed_devices(devices, seeds):
    for place in devices:
        if str(place) in seeds:
            default_generator(place).manual_seed(seeds[str(place)])


# %% [markdown]
# ## Ctrl-C

# %%
#| export
class Interrupt:
    """Whether Ctrl-C was pressed since it was made."""
    pressed = False


@contextmanager
def whole_steps():
    """Ctrl-C sets `pressed` of what this hands out, for its user to end at a good moment; a second one
    raises KeyboardInterrupt at once. Outside the main thread, which alone may ask for it, it does nothing.
    """
    interrupt = Interrupt()

    def press(number, frame):
        if interrupt.pressed:
            raise KeyboardInterrupt
        interrupt.pressed = True

    if threading.current_thread() is not threading.main_thread() or (
            signal.getsignal(signal.SIGINT) is not signal.default_int_handler):    # somebody else's business
        yield interrupt
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
