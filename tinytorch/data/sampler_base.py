# Generated from modules/08_dataloader/sampler_base_dev.py by tito export. Edit the lesson, not this file.
# source sha256 f6984a42a1b0358a565fc7441253510ca2deeb1d3c275bd8f96ac85bc1965338  body sha256 1006280a5e828aaf99c4d6f873ee1f8fcd2d2ece092b0351796a0c169f636788  # noqa: E501
"""data.sampler_base: built in module 08_dataloader."""

from collections.abc import Iterable

from tinytorch.core.backend import CPU, Generator, default_generator
from tinytorch.core.creation import multinomial, randperm
from tinytorch.core.dtypes import float64
from tinytorch.core.tensor import Tensor

__all__ = [
    "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler", "check_bool",
    "check_count", "check_iterable", "own_generator",
]


def own_generator(generator=None):
    """The generator given, or a new one whose seed is drawn from this thread's default generator."""
    if generator is None:
        return Generator().manual_seed(int(default_generator().random.integers(2 ** 62)))
    if not isinstance(generator, Generator) or generator.device != CPU:
        raise TypeError(f"generator must be a Generator on the CPU, not {generator!r}: "
                        "Generator().manual_seed(0).")
    return generator


class Sampler:
    """An order of items: a subclass defines `__iter__()`, which yields their numbers, and `__len__()`."""
    generator = sampler = None

    def __class_getitem__(cls, item): return cls
    def __iter__(self): raise NotImplementedError(f"{type(self).__name__} must define __iter__().")

    def state_dict(self):
        """What decides the orders to come: the state of the generator, and of a sampler inside."""
        state = {}
        if isinstance(self.generator, Generator):
            state["generator"] = self.generator.get_state()
        if callable(getattr(self.sampler, "state_dict", None)):
            state["sampler"] = self.sampler.state_dict()
        return state

    def load_state_dict(self, state):
        if "generator" in state:
            self.generator.set_state(state["generator"])
        if "sampler" in state:
            self.sampler.load_state_dict(state["sampler"])


class SequentialSampler(Sampler):
    """0, 1, 2, ... in this order."""
    def __init__(self, data_source): self.data_source = data_source
    def __iter__(self): return iter(range(len(self.data_source)))
    def __len__(self): return len(self.data_source)


class SubsetRandomSampler(Sampler):
    """The numbers given, in a new random order each time."""
    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, own_generator(generator)

    def __iter__(self):
        return iter([self.indices[i] for i in randperm(len(self.indices), generator=self.generator).tolist()])

    def __len__(self): return len(self.indices)


class WeightedRandomSampler(Sampler):
    """`num_samples` numbers below len(weights), each as likely as its weight says.

    For classes of very different sizes: give each item one over the size of its class.
    """
    def __init__(self, weights, num_samples, replacement=True, generator=None):
        check_count("num_samples", num_samples)
        check_bool("replacement", replacement)
        self.weights = Tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(f"weights of shape {self.weights.shape}: one weight for each item, in a row.")
        self.num_samples, self.replacement = num_samples, replacement
        self.generator = own_generator(generator)

    def __iter__(self):
        return iter(multinomial(self.weights, self.num_samples, self.replacement, self.generator).tolist())

    def __len__(self): return self.num_samples


def check_count(name, value):
    """ValueError unless `value` is a whole number from 1 on."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value!r}.")


def check_bool(name, value):
    if not isinstance(value, bool):
        raise ValueError(f"{name} should be a boolean value, but got {name}={value!r}.")


def check_iterable(name, value):
    if not isinstance(value, Iterable) and not callable(getattr(value, "__getitem__", None)):
        raise TypeError(f"{name} must yield numbers of items, and {type(value).__name__} cannot be iterated.")
