# %% [markdown]
# # What ops and tensors stand on
#
# Given code: nothing to solve here. Three things: the seam through which somebody may watch every op,
# the bookkeeping of an op (everything but the call itself, which is exercise 10), and the long tail of
# what a tensor promises beside arithmetic. Nothing here knows a single op: operators look them up by
# name in the table `METHODS`, which ops enter by `@op(method=True)`.

# %%
#| default_exp core.base

# %%
import functools
import inspect
import operator
import threading
import types
from copy import deepcopy

import numpy as np
from backend_dev import array_module, device_of, is_array, shares_memory, to_device, to_numpy, wrote
from dtypes_dev import CATEGORY, explained
from printing_dev import tensor_text

# %% [markdown]
# ## Who watches, and what is a method

# %%
#| export
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


# %% [markdown]
# ## The bookkeeping of an op

# %%
#| export
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


# %% [markdown]
# ## What a tensor promises beside arithmetic

# %%
#| export core.tensor_base
class TensorBase:
    """Everything of `Tensor` but its construction: names, operators, indexing, conversions."""
    # `node` and `origin` are for module 05: how the tensor was made, and what it is a view of
    __slots__ = ("data", "requires_grad", "grad", "node", "origin", "__weakref__")


    # What it is
    shape = property(operator.attrgetter("data.shape"))
    dtype = property(operator.attrgetter("data.dtype"))
    ndim = property(operator.attrgetter("data.ndim"))
    nbytes = property(operator.attrgetter("data.nbytes"))
    itemsize = property(operator.attrgetter("data.itemsize"))
    device = property(lambda self: device_of(self.data))
    is_cuda = property(lambda self: self.device.type == "cuda")
    is_leaf = property(lambda self: self.node is None)
    grad_fn = property(lambda self: self.node)
    mT = property(lambda self: METHODS["transpose"](self, -2, -1))
    T = property(lambda self: METHODS["permute"](self, *range(self.ndim - 1, -1, -1)))

    def size(self, dim=None): return self.shape if dim is None else self.shape[dim]
    def dim(self): return self.ndim
    def numel(self): return self.data.size
    nelement = numel
    def element_size(self): return self.itemsize
    def stride(self, dim=None):
        """How many elements lie between neighbours along each dimension."""
        steps = tuple([step // self.itemsize for step in self.data.strides])
        return steps if dim is None else steps[dim]
    def is_contiguous(self): return bool(self.data.flags.c_contiguous)
    def is_floating_point(self): return self.dtype.kind == "f"

    # Operators: each is an op
    def __add__(self, y): return METHODS["add"](self, y)
    def __radd__(self, x): return METHODS["add"](x, self)
    def __sub__(self, y): return METHODS["subtract"](self, y)
    def __rsub__(self, x): return METHODS["subtract"](x, self)
    def __mul__(self, y): return METHODS["multiply"](self, y)
    def __rmul__(self, x): return METHODS["multiply"](x, self)
    def __truediv__(self, y): return METHODS["divide"](self, y)
    def __rtruediv__(self, x): return METHODS["divide"](x, self)
    def __pow__(self, p): return METHODS["pow"](self, p)
    def __rpow__(self, x): return METHODS["pow"](x, self)
    def __matmul__(self, y): return METHODS["matmul"](self, y)
    def __rmatmul__(self, x): return METHODS["matmul"](x, self)
    def __neg__(self): return METHODS["negative"](self)
    def __eq__(self, y): return False if y is None else METHODS["eq"](self, y)
    def __ne__(self, y): return True if y is None else METHODS["ne"](self, y)
    def __lt__(self, y): return METHODS["lt"](self, y)
    def __le__(self, y): return METHODS["le"](self, y)
    def __gt__(self, y): return METHODS["gt"](self, y)
    def __ge__(self, y): return METHODS["ge"](self, y)
    __hash__ = object.__hash__     # == compares numbers, so in a dict or a set a tensor is itself
    def __pos__(self): return self
    def __floordiv__(self, y): return METHODS["floor_divide"](self, y)
    def __rfloordiv__(self, x): return METHODS["floor_divide"](x, self)
    def __mod__(self, y): return METHODS["remainder"](self, y)
    def __rmod__(self, x): return METHODS["remainder"](x, self)
    def __abs__(self): return METHODS["abs"](self)
    def __invert__(self): return METHODS["bitwise_not"](self)
    def __and__(self, y): return METHODS["bitwise_and"](self, y)
    def __or__(self, y): return METHODS["bitwise_or"](self, y)
    def __xor__(self, y): return METHODS["bitwise_xor"](self, y)
    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __iadd__(self, y): return self._take_over(METHODS["add"](self, y))
    def __isub__(self, y): return self._take_over(METHODS["subtract"](self, y))
    def __imul__(self, y): return self._in_place(METHODS["multiply"], y)
    def __itruediv__(self, y): return self._in_place(METHODS["divide"], y)
    def __ipow__(self, p): return self._in_place(METHODS["pow"], p)
    def __ifloordiv__(self, y): return self._in_place(METHODS["floor_divide"], y)
    def __imod__(self, y): return self._in_place(METHODS["remainder"], y)
    def __iand__(self, y): return self._in_place(METHODS["bitwise_and"], y)
    def __ior__(self, y): return self._in_place(METHODS["bitwise_or"], y)
    def __ixor__(self, y): return self._in_place(METHODS["bitwise_xor"], y)

    # Everything else: functions registered as methods, and `name_`, the same written in place
    def __getattr__(self, name):
        if name in METHODS:
            return types.MethodType(METHODS[name], self)
        plain = METHODS.get(name[:-1]) if name[-1] == "_" != name[0] else None
        if plain is None or getattr(plain, "view", False):
            raise AttributeError(f"'Tensor' object has no attribute {name!r}")
        return lambda *args, **kwargs: self._in_place(plain, *args, **kwargs)

    def __dir__(self): return sorted({*object.__dir__(self), *METHODS})

    def __array_ufunc__(self, ufunc, how, *inputs, **kwargs):
        """`np.exp(tensor)` and `array * tensor` are ops too, never a copy that forgets its history."""
        name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
        if how != "__call__" or kwargs or name not in METHODS:
            return NotImplemented
        return METHODS[name](*inputs)

    def __array_function__(self, function, types, args, kwargs):
        """Other NumPy functions work on the numbers; with a history to lose, that is an error."""
        return function(*_arrays_in(args), **_arrays_in(kwargs))

    # Reading and writing by index
    def __getitem__(self, index):
        index = _spelled_out(_plain(index), self.ndim)
        if isinstance(index, tuple) and _mixed(index):
            first, second = _in_two_steps(index)
            return METHODS["getitem"](METHODS["getitem"](self, first), second)
        return METHODS["getitem"](self, index)

    def __setitem__(self, index, value):
        index, node, wanted = _spelled_out(_plain(index), self.ndim), self.node, self.requires_grad
        if isinstance(index, tuple) and _mixed(index):
            first, second = _in_two_steps(index)
            METHODS["getitem"](self, first)[second] = value
            return
        if isinstance(value, TensorBase) and type(value.data) is not type(self.data):
            value = self._beside(value)
        number = value.data if isinstance(value, TensorBase) else value
        recorder = this_thread.recorder
        if recorder is not None:
            recorder(METHODS["write"], (self, value, index), (self.data, number, index), {}, self.data, self)
        try:
            if self.node is not node:
                self._refuse_leaf(node, wanted)
            METHODS["write"].forward(self.data, number, index)
        except Exception as error:
            self.node, self.requires_grad = node, wanted
            raise explained(error, "x[index] = value", [self.data, number]) from None
        self._rewritten(recorded=self.node is not node)

    def _beside(self, value):
        """`value` if it is on my device, or a number of the CPU moved here; else RuntimeError."""
        if value.device == self.device:
            return value
        if is_cpu_number(value.data):
            return number_to(value, self.device)
        raise explained(None, "x[index] = value", [self.data, value.data])

    def _in_place(self, plain, *args, **kwargs):
        """The op `plain`, written into this memory. If recorded, a gradient may need the old numbers."""
        old = self
        if any(isinstance(x, TensorBase) and x.requires_grad for x in (self, *args)):
            old = self._of(self.data.copy())
            old.requires_grad, old.node, old.origin = self.requires_grad, self.node, self.origin
        return self._take_over(plain(old, *[old if x is self else x for x in args], **kwargs))

    def _take_over(self, out):
        """Put the numbers of `out` into this memory and its history in place of mine: `add_`, `+=`."""
        if out.shape != self.shape:
            raise RuntimeError(f"in place: the result has shape {out.shape} and the tensor {self.shape}. "
                               "Memory cannot change its shape; use the op without the underscore.")
        if CATEGORY[out.dtype.kind] > CATEGORY[self.dtype.kind]:
            raise RuntimeError(f"in place: {out.dtype} numbers do not fit into a tensor of {self.dtype}. "
                               f"Convert it first: x = x.to({str(out.dtype)!r}).")
        if out.requires_grad:
            self._refuse_leaf(self.node, self.requires_grad)
        try:
            self.data[...] = out.data
        except ValueError as error:                # an expanded tensor: one number at many places
            raise RuntimeError(f"in place: {error}. Call clone() first.") from None
        except TypeError as error:                 # a number of the CPU cannot hold one of a GPU
            raise explained(error, "in place", [self.data, out.data]) from None
        if out.requires_grad:
            self.node, self.requires_grad = out.node, True
        self._rewritten(recorded=out.requires_grad)
        return self

    def _refuse_leaf(self, node, wanted):
        """A recorded write into a leaf is refused: its gradient would belong to numbers that are gone."""
        if self.origin == ():
            raise RuntimeError("a view that was taken under no_grad() cannot be written in place while it is "
                               "recorded: what it is a view of would not hear of it. Take it outside.")
        if self.origin:
            node, wanted = self.origin[0].node, self.origin[0].requires_grad
        if wanted and node is None:
            raise RuntimeError("a leaf that requires a gradient, or a view of one, cannot be written in "
                               "place while it is recorded. Write under no_grad(), or to a clone().")

    def _rewritten(self, recorded):
        """After a write: stamp the memory; a view hands its new history on to what it is a view of."""
        wrote(self.data)
        if recorded and self.origin:
            source, path, _ = self.origin
            self.origin = source, path, source.node              # what was written here is newer than that
            xp = array_module(source.data)
            places = retrace(path, xp.arange(source.data.size).reshape(source.shape))
            source[xp.unravel_index(places, source.shape)] = self

    # Gradients: module 05 says what a node is
    def backward(self, gradient=None, retain_graph=False, create_graph=False):
        """Add to `.grad` of every leaf below how fast this number changes with it.

        gradient: what to start from, of this tensor's shape; may be left out for a single number.
        Raises RuntimeError if nothing was recorded, or the graph was used up by an earlier call.
        """
        out = self * 1 if self.requires_grad and self.node is None else self        # a leaf is a result too
        if out.node is None:
            raise RuntimeError("backward(): nothing was recorded for this tensor. Was it computed from a "
                               "tensor with requires_grad=True, outside no_grad()?")
        out.node.backward(out, gradient, retain_graph, create_graph)

    def requires_grad_(self, requires_grad=True):
        """Ask for a gradient, or no longer; returns the tensor."""
        if requires_grad and self.dtype.kind != "f":
            raise RuntimeError(f"requires_grad: only tensors of floats have a gradient, this one is "
                               f"{self.dtype}. Convert it first: x.float().")
        if not requires_grad and self.node is not None:
            raise RuntimeError("requires_grad can be changed only for leaves. Use detach() for a tensor "
                               "with the same numbers and no history.")
        self.requires_grad = requires_grad
        return self

    def detach(self):
        """The same numbers in the same memory, without history."""
        return self._of(self.data)

    def __deepcopy__(self, memo):
        if self.node is not None:
            raise RuntimeError("deepcopy: this tensor has a history, and a copy of a history is of no use. "
                               "Copy detach() of it.")
        copy = object.__new__(type(self))
        copy.data, copy.requires_grad = self.data.copy(), self.requires_grad
        copy.grad, copy.node, copy.origin = deepcopy(self.grad, memo), None, None
        memo[id(self)] = copy
        return copy

    # Numbers out of it
    def item(self):
        """The one number in it, as a Python number."""
        if self.data.size != 1:
            raise RuntimeError(f"item(): a tensor of shape {self.shape} has {self.data.size} numbers, "
                               "not one. Use tolist(), or reduce it first.")
        return self.data.item()

    def tolist(self): return self.data.tolist()

    def numpy(self, force=False):
        """The array itself, not a copy. `force=True` also detaches and copies from a GPU."""
        if force:
            return to_numpy(self.data)
        if self.requires_grad:
            raise RuntimeError("numpy(): this tensor requires a gradient, and an array has no history. "
                               "Use x.detach().numpy().")
        if self.is_cuda:
            raise TypeError(f"numpy(): this tensor is on {self.device}. Use x.cpu().numpy().")
        return self.data

    def __array__(self, dtype=None, copy=None): return np.array(self.numpy(), dtype, copy=copy)
    def __dlpack__(self, **kwargs): return self.data.__dlpack__(**kwargs)
    def __dlpack_device__(self): return self.data.__dlpack_device__()
    def __bool__(self):
        if self.data.size != 1:
            raise RuntimeError(f"the truth of a tensor of shape {self.shape} is ambiguous: do you mean "
                               ".any() or .all()?")
        return bool(self.data.item())
    def __float__(self): return float(self.item())
    def __int__(self): return int(self.item())
    def __index__(self):
        if self.dtype.kind == "f":
            raise TypeError("only integer tensors of a single number can be an index")
        return operator.index(self.item())
    def __format__(self, spec): return format(self.item(), spec) if not self.ndim else str(self)
    def __len__(self):
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]
    def __iter__(self):
        if not self.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(len(self)))
    def __contains__(self, x): return bool((self.data == _plain(x)).any())
    def __repr__(self): return tensor_text(self)


_UFUNCS = {"power": "pow", "equal": "eq"}          # where NumPy's name means something else in PyTorch


def _plain(index):
    """An index without tensors in it."""
    if isinstance(index, (tuple, list)):
        return type(index)([_plain(i) for i in index])
    if isinstance(index, slice) and index.step is not None and index.step < 1:
        raise ValueError(f"a slice with step {index.step}: steps go forward, from 1 on. Use flip().")
    if isinstance(index, TensorBase):
        index = index.data
    return int(index) if is_array(index) and not index.ndim and index.dtype.kind in "iu" else index


def _spelled_out(index, ndim):
    """`index` with slices in place of a `...` beside arrays: where it stands for none, NumPy sees a gap."""
    if not isinstance(index, tuple) or not any(is_array(i) or isinstance(i, list) for i in index):
        return index
    dots = [place for place, i in enumerate(index) if i is ...]
    if len(dots) != 1:
        return index
    before, after = index[:dots[0]], index[dots[0] + 1:]
    missing = ndim - sum([_axes_of(i) for i in before + after])
    return before + (slice(None),) * missing + after


def _axes_of(i):
    """How many axes one entry of an index takes."""
    if is_array(i) and i.dtype.kind == "b":
        return i.ndim
    return 0 if i is None or isinstance(i, bool) else 1


def _mixed(index):
    """True for an index with numbers and arrays in it, about whose order NumPy and PyTorch disagree."""
    kinds = {type(i) for i in index}
    return int in kinds and any(is_array(i) or isinstance(i, list) for i in index)


def _in_two_steps(index):
    """`index` as PyTorch reads it: first the numbers, slices and None, then the arrays."""
    first, second = [], []
    for i in index:
        if is_array(i) or isinstance(i, list):
            mask = is_array(i) and i.dtype.kind == "b"
            first += [slice(None)] * (i.ndim if mask else 1)
            second.append(i)
        else:
            first.append(i)
            if not isinstance(i, int):
                second.append(i if i is ... else slice(None))
    return tuple(first), tuple(second)


def _arrays_in(arguments):
    """`arguments` of a NumPy function with arrays in place of tensors, also inside of lists."""
    if isinstance(arguments, dict):
        return {name: _arrays_in(value) for name, value in arguments.items()}
    if isinstance(arguments, (tuple, list)):
        return type(arguments)([_arrays_in(value) for value in arguments])
    return arguments.numpy() if isinstance(arguments, TensorBase) else arguments


def without_tensors(data):
    """`data` with the array in place of each tensor in it, lists searched too."""
    first = data
    while isinstance(first, (list, tuple)) and len(first):
        first = first[0]
    if not isinstance(first, TensorBase):
        return data
    return data.data if isinstance(data, TensorBase) else [without_tensors(item) for item in data]
