# Generated from modules/07_training/resuming_dev.py by tito export. Edit the lesson, not this file.
# source sha256 e6372dd1968f7083574df7893538b79b067e0f67c037361d1d3f80aa032c2ee0  body sha256 2d4ea8cea179b415af685bc03ed0a4702ac29244a18ed5b062848a96f9e801e8  # noqa: E501
"""training.resuming: built in module 07_training."""

import random
import signal
import threading
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import numpy as np

from tinytorch.core.backend import default_generator, manual_seed

__all__ = [
    "Interrupt", "Resumable", "random_state", "seed_everything", "set_random_state", "whole_steps",
]


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
