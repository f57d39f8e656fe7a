# Generated from modules/01_tensor/base_dev.py by tito export. Edit the lesson, not this file.
# source sha256 3a30fe03e523bdc9ff48364af920aad2919e610055ac93788e8386f7cb8bfb06  body sha256 55645c8bfe8faa909f462bcda672d28fd905e2aa55e85cbc5fbd630825353984  # noqa: E501
"""core.base: built in module 01_tensor."""

import functools
import inspect
import threading

import numpy as np

from tinytorch.core.backend import device_of, is_array, shares_memory, to_device
from tinytorch.core.dtypes import explained

__all__ = [
    "METHODS", "OpBase", "PerThread", "is_cpu_number", "method", "number_to", "record_with",
    "retrace", "spelled", "this_thread",
]


class PerThread(threading.local):
    recorder = None                # the class attribute is what every new thread starts with


this_thread = PerThread()


def record_with(recorder, everywhere=False):
    """Let `recorder(op, inputs, arrays, params, result, out)` hear of every op of this thread.

    Returns the recorder before it, so that it can be put back. With `everywhere=True` it is for this
    thread and for all others that have none of their own.
    """
    previous = this_thread.recorder
    if everywhere:
        PerThread.recorder = staticmethod(recorder)   # a bare function here would become a method
        vars(this_thread).clear()
    else:
        this_thread.recorder = recorder
    return previous


METHODS = {}                       # functions that tensors have as methods too, by name


def retrace(path, x):
    """x through the steps by which a view was taken: path is (the path before, the last step) or None."""
    steps = []
    while path:
        path, step = path
        steps.append(step)
    for step in reversed(steps):
        x = step(x)
    return x


_SPELLINGS = {"axis": "dim", "keepdims": "keepdim"}


def method(function):
    """Offer `function(tensor, ...)` also as `tensor.function(...)`."""
    METHODS[function.__name__] = function = spelled(function)
    return function


def spelled(function):
    """`function`, which knows `dim` and `keepdim`, with NumPy's words for them understood as well."""
    code = function.__code__                          # inspect.signature is slow, and this runs at import
    names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    if not {"dim", "keepdim"}.intersection(names):
        return function
    spellings = {**dict(zip(("input", "other"), names)), **_SPELLINGS}

    @functools.wraps(function)
    def understood(*args, **kwargs):
        return function(*args, **{spellings.get(name, name): value for name, value in kwargs.items()})
    return understood


class OpBase:
    """A function on arrays that can be called with tensors. Called with arrays alone, it gives arrays.

    keeps=True: the forward returns (out, *what a gradient will want later); callers get `out`.
    outputs=True: the forward returns a tuple, and callers get a tuple of tensors.
    view=True: the result may share memory with the first input.
    promote=False: the result's dtype is the forward's business (casts, indices, sums of integers).
    """
    def __init__(self, forward, keeps=False, outputs=False, view=False, promote=True):
        functools.update_wrapper(self, forward)
        self.name, self.forward, self.kernels = forward.__name__, forward, {}
        self.keeps, self.outputs, self.view, self.promote = keeps, outputs, view, promote

    @functools.cached_property
    def signature(self): return inspect.signature(self.forward)      # slow, so looked at only once

    def bind(self, inputs, params):
        """NumPy's keywords become PyTorch's; a tensor given by keyword takes its position."""
        params = {_SPELLINGS.get(name, name): value for name, value in params.items()}
        if "input" in params or "other" in params or any(
                isinstance(value, TensorBase) for value in params.values()):
            spelled = dict(zip(("input", "other"), self.signature.parameters))
            bound = self.signature.bind(
                *inputs, **{spelled.get(name, name): value for name, value in params.items()})
            bound.apply_defaults()
            return bound.args, bound.kwargs
        return inputs, params

    def retry(self, error, inputs, params):
        """A number of the CPU may meet tensors of a GPU: it is moved there. Other errors are explained."""
        arrays = [x.data if isinstance(x, TensorBase) else x for x in inputs]
        homes = {str(device_of(a)) for a in arrays if is_array(a)}
        there = {str(device_of(a)) for a in arrays if is_array(a) and not is_cpu_number(a)}
        if len(there) != 1 or there == homes:
            raise explained(error, self.name, arrays) from None
        where = there.pop()
        inputs = [number_to(x, where) if is_cpu_number(a) else x for x, a in zip(inputs, arrays)]
        return self(*inputs, **params)

    def remember(self, inputs, params, out):
        """Note in each view of what memory's first tensor it is a view, how it was taken, and when.

        "When" is the node the first tensor had: if it has another one later, it was written since. A view
        that was taken while nobody watched gets the origin ().
        """
        source = inputs[0]
        if this_thread.recorder is None or source.origin == ():
            for view in out if self.outputs else [out]:
                view.origin = ()
            return
        first, path, node = source.origin or (source, None, source.node)
        for i, view in enumerate(out if self.outputs else [out]):
            if shares_memory(source.data, view.data):            # a reshape may have had to copy
                def step(x, i=i):
                    taken = self(x, *inputs[1:], **params)
                    return taken[i] if self.outputs else taken
                view.origin = first, (path, step), node

    def kernel(self, array_type):
        """Register a faster forward for one type of array: `@gelu.kernel(numpy.ndarray)`."""
        def register(fast):
            self.kernels[array_type] = fast
            return fast
        return register

    def __repr__(self): return f"<op {self.name}>"
    def __reduce__(self): return self.__qualname__     # a copy is the op itself: it finds its rule


def is_cpu_number(array): return isinstance(array, np.ndarray) and array.ndim == 0


def number_to(x, where):
    """A number of the CPU on a GPU; of a tensor by an op, so that its gradient comes home again."""
    return METHODS["to"](x, where) if isinstance(x, TensorBase) else to_device(x, where)


from tinytorch.core.tensor_base import TensorBase  # at the end: the two files need each other  # noqa: E402
