# %%
#| default_exp core.autograd
from tito.lesson import expect, expect_error, measure, peak_bytes, run_tests, timed

# %%
import math
import threading
import weakref
from contextlib import contextmanager
from heapq import heappop, heappush

import numpy as np

from tinytorch.core import math as math_ops
from tinytorch.core import ops
from tinytorch.core.backend import array_module, is_array, shares_memory, writes
from tinytorch.core.base import method, record_with, this_thread
from tinytorch.core.op import op
from tinytorch.core.tensor import Tensor


# %%
#| export
RULES = {}                         # op -> its rule
COMPOSITES = {}                    # fused op -> the same function in plain ops


def vjp(op):
    """Register a rule: given the op's result and inputs, it returns the pullback.

    rule(out, *inputs, **params) -> pull;  pull(g) -> one gradient for each input, in order. A gradient
    that costs something is given as a function without arguments, and only computed if wanted; None
    stands for an input that has none. For an op that keeps, `out` is (out, *kept). A rule that
    returns None says that the result has no history (a cast to integers).
    """
    def register(rule):
        RULES[op] = rule
        return rule
    return register


def composite(op):
    """Register the plain form of a fused op: what it means, and where its second derivative comes from.

    What an op keeps has no history of its own, so its rule cannot be differentiated again.
    """
    def register(plain_form):
        COMPOSITES[op] = plain_form
        return plain_form
    return register


# %%
#| export
class Node:
    """One recorded op: where gradients go next, and how they get there.

    op: what was computed. edges: for each input the node that made it, the leaf itself, or None.
    pull: the pullback; None once it was used. shape, dtype: of the output, so of its gradient.
    order: its number on the clock; smaller is younger.
    """
    __slots__ = ("op", "edges", "pull", "shape", "dtype", "order", "__weakref__")

    def __init__(self, op, edges, pull, shape, dtype):
        self.op, self.edges, self.pull, self.shape, self.dtype = op, edges, pull, shape, dtype
        self.order = next(writes.clock)

    @property
    def name(self):
        """PyTorch's way of naming it: AddBackward0."""
        return "".join([word.capitalize() for word in self.op.name.split("_")]) + "Backward0"

    @property
    def next_functions(self): return tuple([(edge, 0) for edge in self.edges])

    def __repr__(self): return f"<{self.name}>"

    def backward(self, out, gradient=None, retain_graph=False, create_graph=False):
        """What `Tensor.backward` calls: walk the graph below, and add to `.grad` of its leaves."""
        found = gradients(out, gradient, retain_graph, create_graph)
        with _accumulating:            # two threads may meet at one parameter
            while found:
                leaf, g = found.popitem()
                if not create_graph:
                    g = Tensor._of(g.copy() if leaf.grad is None else leaf.grad.data + g)
                elif leaf.grad is not None:
                    g = leaf.grad + g
                leaf.grad = g


_accumulating = threading.Lock()


def gradients(out, gradient=None, retain_graph=False, create_graph=False):
    """{leaf: gradient} of everything below `out`: arrays, or tensors with a history if create_graph."""
    if gradient is None:
        if out.numel() != 1:
            raise RuntimeError(f"backward() of a tensor of shape {out.shape}: only a single number has a "
                               "gradient of its own. Reduce it (.sum(), .mean()), or pass a gradient.")
        gradient = array_module(out.data).ones(out.shape, out.dtype)
    gradient = gradient if isinstance(gradient, Tensor) else Tensor._of(np.asarray(gradient))
    if gradient.shape != out.shape:
        raise RuntimeError(f"backward(): the gradient has shape {gradient.shape}, the tensor {out.shape}. "
                           "They must be equal.")
    if create_graph:
        for node in newest_first(out.node):
            if any(a.dtype.kind == "f" for a in saved_in(node.pull) if is_array(a)):
                raise RuntimeError(f"create_graph: {node} was recorded outside higher_order(), where rules "
                                   "save numbers without history. Run the forward inside `with "
                                   "higher_order():`, or use func.grad.")
        return walk(out.node, gradient, retain_graph=True)
    with no_grad():
        return walk(out.node, gradient.data, retain_graph)


# %%
#| export
class Parts:
    """Gradients of an op with several outputs, some of which may be missing; they add up part by part.

    To the walk it looks like any gradient.
    """
    shape = dtype = None

    def __init__(self, parts): self.parts = parts

    def __add__(self, other):
        both = dict(self.parts)
        for i, g in other.parts.items():
            both[i] = both[i] + g if i in both else g
        return Parts(both)

    def filled(self, shapes):
        """One gradient for each output, zeros where none arrived."""
        some = next(iter(self.parts.values()))
        xp = array_module(some.data if isinstance(some, Tensor) else some)
        zeros = [xp.broadcast_to(xp.zeros((), some.dtype), shape) for shape in shapes]
        if isinstance(some, Tensor):
            zeros = [Tensor._of(z) for z in zeros]
        return [self.parts.get(i, zero) for i, zero in enumerate(zeros)]


def attach_outputs(op, edges, pull, outputs):
    """Nodes for an op with several outputs: a small one for each, above one that they share."""
    shapes = [out.shape for out in outputs]
    shared = Node(op, edges, lambda parts: pull(parts.filled(shapes)), None, None)
    for i, out in enumerate(outputs):
        out.requires_grad = True
        out.node = Node(op, (shared,), lambda g, i=i: (Parts({i: g}),), out.shape, out.dtype)


def refresh(view):
    """Give a view the history of its source as it is now, if the source was written since."""
    source, again, node = view.origin
    if source.origin is not None:
        refresh(source)
    if source.node is not node:
        if shares_memory(view.data, source.data):
            fresh = again(source)
            view.node, view.requires_grad, view.origin = fresh.node, fresh.requires_grad, fresh.origin
        else:
            view.origin = None


# %%
#| export
def check_unwritten(node):
    """Raise if an array that the pullback of `node` needs was written in place after it was saved."""
    for array in saved_in(node.pull):
        array = array.data if isinstance(array, Tensor) else array
        if writes.since(array, node.order):
            raise RuntimeError(f"backward(): an array of shape {array.shape} that {node.op.name} needs for "
                               "its gradient was changed in place after it was used. Use the op without "
                               "the underscore (x = x + y for x += y), or clone() first.")


def saved_in(what):
    """The arrays and tensors that a pullback keeps alive: in its closure, and in tuples there."""
    if isinstance(what, Tensor) or is_array(what):
        yield what
    elif isinstance(what, (tuple, list)):
        for item in what:
            yield from saved_in(item)
    elif isinstance(what, type(saved_in)):
        for cell in what.__closure__ or ():
            yield from saved_in(cell.cell_contents)


# %%
#| export
def newest_first(root):
    """Yield `root` and every node below it, each once, the youngest first.

    A node is older than whatever was computed from it, so all that flows into a node has been yielded
    before it.
    """
    ### BEGIN SOLUTION
    heap, seen = [(root.order, root)], {root}
    while heap:
        node = heappop(heap)[1]
        yield node
        for edge in node.edges:
            if type(edge) is Node and edge not in seen:
                seen.add(edge)
                heappush(heap, (edge.order, edge))
    ### END SOLUTION


# %%
#| export
def unbroadcast(g, shape):
    """Sum the gradient `g` back to the `shape` that was stretched to the shape of g.

    >>> unbroadcast(np.ones((2, 3)), (3,))
    array([2., 2., 2.])
    """
    ### BEGIN SOLUTION
    extra = g.ndim - len(shape)
    if extra > 0 and g.shape[extra:] == shape:
        return g.sum(axis=tuple(range(extra)))
    stretched = tuple([extra + i for i, n in enumerate(shape) if n == 1 and g.shape[extra + i] != 1])
    return g.sum(axis=tuple(range(extra)) + stretched, keepdims=True).reshape(shape)
    ### END SOLUTION


def fitted(g, edge):
    """`g` in the shape and dtype of what it is the gradient of."""
    if g.shape != edge.shape:
        same = math.prod(g.shape) == math.prod(edge.shape)       # only dimensions of size 1 differ
        g = g.reshape(edge.shape) if same else unbroadcast(g, edge.shape)
    return g if g.dtype is edge.dtype else g.astype(edge.dtype)


# %%
#| export
def walk(root, g, retain_graph=False):
    """Carry the gradient `g` from `root` down to the leaves; returns {leaf: gradient}.

    Raises RuntimeError at a node whose pullback was used up by an earlier walk, and if a rule gives
    None for an input that wants a gradient.
    """
    ### BEGIN SOLUTION
    arrived, leaves = {root: g}, {}
    for node in newest_first(root):
        pull = node.pull
        if pull is None:
            raise RuntimeError("backward() a second time: the graph was used up by the first, to free its "
                               "memory. Call the first with retain_graph=True, or run the forward again.")
        if node.order > writes.last:                   # the clock runs down: something was written since
            check_unwritten(node)
        if not retain_graph:
            node.pull = None
        for edge, part in zip(node.edges, pull(arrived.pop(node))):
            if edge is None:
                continue
            if callable(part):                         # it costs something, and is wanted
                part = part()
            if part is None:
                raise RuntimeError(f"the rule of {node.op.name} gave None for an input that requires a "
                                   "gradient. If it has none, detach() it; otherwise mend the rule.")
            if part.shape != edge.shape or part.dtype is not edge.dtype:
                part = fitted(part, edge)
            to = arrived if type(edge) is Node else leaves
            to[edge] = to.pop(edge) + part if edge in to else part     # never in place: it may be shared
        del pull
    return leaves
    ### END SOLUTION


# %%
#| export
def record(op, inputs, arrays, params, result, out):
    """The recorder: give `out` a node, if an input requires a gradient.

    Raises NotImplementedError for an op without a rule.
    """
    ### BEGIN SOLUTION
    edges, wanted = [], False
    for x in inputs:
        edge = None
        if isinstance(x, Tensor):
            if x.origin is not None:
                refresh(x)
            if x.requires_grad:
                edge, wanted = x if x.node is None else x.node, True
        edges.append(edge)
    if not wanted:
        return
    rule = RULES.get(op) or missing_rule(op, out)
    pull = rule(result, *arrays, **params)
    if pull is None:
        return
    if op.outputs:
        attach_outputs(op, edges, pull, out)
    else:
        out.requires_grad, out.node = True, Node(op, edges, pull, out.data.shape, out.data.dtype)
    ### END SOLUTION


def missing_rule(op, out):
    """For an op without a rule: results that are no floats have no gradient; for floats it is an error."""
    for tensor in out if op.outputs else [out]:
        if tensor.dtype.kind == "f":
            raise NotImplementedError(f"{op.name} has no gradient rule, and an input requires a gradient. "
                                      f"Write one with @vjp({op.name}), or compute it under no_grad().")
    return lambda *args, **params: None


# %%
#| export
@contextmanager
def no_grad():
    """Nothing is recorded inside: a context manager, and a decorator, for this thread only."""
    ### BEGIN SOLUTION
    previous = record_with(None)
    try:
        yield
    finally:
        record_with(previous)
    ### END SOLUTION


@contextmanager
def enable_grad():
    """Record inside, also within no_grad()."""
    previous = record_with(record)
    try:
        yield
    finally:
        record_with(previous)


@contextmanager
def set_grad_enabled(mode):
    """`enable_grad()` if mode, else `no_grad()`."""
    with enable_grad() if mode else no_grad():
        yield


inference_mode = no_grad


def is_grad_enabled():
    """True where ops are recorded."""
    return this_thread.recorder is not None


# %%
#| export
def record_tensors(op, inputs, arrays, params, result, out):
    """The recorder inside higher_order(): rules get tensors, so what they compute is recorded too."""
    tensors = [Tensor._of(x) if is_array(x) else x for x in inputs]
    wanted = any(isinstance(x, Tensor) and x.requires_grad for x in inputs)
    if wanted and op in COMPOSITES:
        plain = COMPOSITES[op](*tensors, **params)
        out.requires_grad, out.node = plain.requires_grad, plain.node
        return
    saved = out
    if op.keeps:
        if wanted and any(kept.dtype.kind == "f" for kept in result[1:] if is_array(kept)):
            raise NotImplementedError(f"{op.name} has no second derivative: what it keeps has no history. "
                                      f"Give it a plain form with @composite({op.name}).")
        saved = out, *[Tensor._of(kept) if is_array(kept) else kept for kept in result[1:]]
    record(op, inputs, tensors, params, saved, out)


@contextmanager
def higher_order():
    """Record so that gradients can be differentiated again: `backward(create_graph=True)` works inside."""
    previous = record_with(record_tensors)
    try:
        yield
    finally:
        record_with(previous)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False):
    """The gradients of the sum of `outputs` with respect to `inputs`, as a tuple; no `.grad` changes.

    inputs: leaves, or tensors computed on the way. An input that was not used is an error, or None
    if `allow_unused`.
    """
    outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    starts = [grad_outputs] if isinstance(grad_outputs, Tensor) else grad_outputs or [None] * len(outputs)
    keep = create_graph if retain_graph is None else retain_graph
    total, seen = {}, {}
    for x in inputs:
        if x.node is not None:
            _watch(x.node, lambda g, x=x: seen.update({x: seen[x] + g if x in seen else g}))
    for i, (out, start) in enumerate(zip(outputs, starts)):
        if out.node is None:
            raise RuntimeError("grad(): nothing was recorded for an output. Was it computed from a tensor "
                               "with requires_grad=True, outside no_grad()?")
        for leaf, g in gradients(out, start, keep or i + 1 < len(outputs), create_graph).items():
            total[leaf] = total[leaf] + g if leaf in total else g
    found = [seen.get(x) if x.node is not None else total.get(x) for x in inputs]
    if not allow_unused and any(g is None for g in found):
        raise RuntimeError(f"grad(): input {[g is None for g in found].index(True)} was not used in the "
                           "outputs. Is that intended? Then pass allow_unused=True.")
    return tuple([g if g is None or isinstance(g, Tensor) else Tensor._of(g) for g in found])


def _watch(node, heard):
    """Call `heard(g)` when a gradient arrives at `node`; what it returns, if not None, goes on instead."""
    pull = node.pull

    def watched(g):
        other = heard(g)
        return pull(g if other is None else other)

    node.pull = watched


@method
def retain_grad(x):
    """Keep the gradient of a tensor that is no leaf in its `.grad` too."""
    if x.node is None:
        return
    tensor = weakref.ref(x)            # the node must not keep its output alive

    def keep(g):
        x = tensor()
        if x is not None:
            g = g if isinstance(g, Tensor) else Tensor._of(g.copy())
            x.grad = g if x.grad is None else x.grad + g

    _watch(x.node, keep)


@contextmanager
def detect_anomaly():
    """Inside, an op that makes nan out of numbers raises at once, forward or backward, and is named."""
    inner = this_thread.recorder

    def watched(op, inputs, arrays, params, result, out):
        outputs = out if op.outputs else [out]
        if any(has_nan(t.data) for t in outputs) and not any(has_nan(a) for a in arrays if is_array(a)):
            raise RuntimeError(f"{op.name} made nan of numbers, from inputs of shapes "
                               f"{[a.shape for a in arrays if is_array(a)]}.")
        if inner is not None:
            inner(op, inputs, arrays, params, result, out)
            for tensor in outputs:
                if tensor.node is not None:
                    _watch(tensor.node, lambda g: refuse_nan(op, g))

    def refuse_nan(op, g):
        if has_nan(g.data if isinstance(g, Tensor) else g):
            raise RuntimeError(f"the gradient that reaches {op.name} holds nan.")

    def has_nan(array):
        return array.dtype.kind == "f" and bool((array != array).any())

    previous = record_with(watched)
    try:
        yield
    finally:
        record_with(previous)


# %%
#| export core.rules
@vjp(ops.add)
def add_rule(out, x, y, alpha=1):
    return lambda g: (g, g if alpha == 1 else g * alpha)


# %%
#| export core.rules
@vjp(ops.multiply)
def multiply_rule(out, x, y):
    """The pullback of x * y."""
    ### BEGIN SOLUTION
    return lambda g: (lambda: g * y, lambda: g * x)
    ### END SOLUTION


# %%
#| export core.rules
@op
def spread(x, shape):
    """x stretched to `shape`, without a copy."""
    return array_module(x).broadcast_to(x, shape)


def kept_shape(shape, dim):
    """The shape that a reduction of an array of `shape` over `dim` has with keepdim."""
    dim = ops.axes(dim)
    dims = range(len(shape)) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    dims = [d % len(shape) if shape else d for d in dims]
    return tuple([1 if i in dims else n for i, n in enumerate(shape)])


@vjp(math_ops.sum)
def sum_rule(out, x, dim=None, keepdim=False, dtype=None):
    """The pullback of a sum."""
    ### BEGIN SOLUTION
    shape, once = x.shape, kept_shape(x.shape, dim)
    return lambda g: (spread(g.reshape(once), shape),)
    ### END SOLUTION


# %%
#| export core.rules
def vector_rule(x, y):
    """The pullback of a matrix product with a vector on one side or on both: one row, one column."""
    rows, columns = x.reshape(1, -1) if x.ndim == 1 else x, y.reshape(-1, 1) if y.ndim == 1 else y

    def pull(g):
        g = g.reshape(g.shape[:g.ndim - (y.ndim > 1)] + (1,) * (x.ndim == 1) + g.shape[g.ndim - (y.ndim > 1):]
                      + (1,) * (y.ndim == 1))
        dx, dy = g @ columns.swapaxes(-1, -2), rows.swapaxes(-1, -2) @ g
        return (dx.reshape(dx.shape[:-2] + dx.shape[-1:]) if x.ndim == 1 else dx,
                dy.reshape(dy.shape[:-1]) if y.ndim == 1 else dy)

    return pull


@vjp(ops.matmul)
def matmul_rule(out, x, y):
    """The pullback of x @ y, on the last two axes."""
    if x.ndim == 1 or y.ndim == 1:
        return vector_rule(x, y)
    ### BEGIN SOLUTION
    if x.ndim > 2 and y.ndim == 2:                     # one large product instead of many small ones
        return lambda g: (lambda: g @ y.swapaxes(0, 1),
                          lambda: as_rows(x).swapaxes(0, 1) @ as_rows(g))
    return lambda g: (lambda: g @ y.swapaxes(-1, -2), lambda: x.swapaxes(-1, -2) @ g)
    ### END SOLUTION


def as_rows(x):
    """x (..., d) as one matrix (n, d)."""
    return x if x.ndim == 2 else x.reshape(-1, x.shape[-1])


# %%
#| export core.rules
@op
def put(g, index, shape):
    """Zeros of `shape` with g added at `index`: the transpose of x[index]. Repeated places add up."""
    xp = array_module(g)
    out = xp.zeros(shape, g.dtype)
    parts = index if isinstance(index, tuple) else (index,)
    if any(is_array(i) and i.dtype.kind in "iu" or isinstance(i, list) for i in parts):
        if xp is np:
            np.add.at(out, index, g)
        else:
            import cupyx
            cupyx.scatter_add(out, index, g)
    else:
        out[index] = g
    return out
@op
def zero_at(g, index):
    """A copy of g with zeros at `index`."""
    out = g.copy()
    out[index] = 0
    return out


@vjp(ops.subtract)
def _(out, x, y, alpha=1): return lambda g: (g, lambda: -g if alpha == 1 else g * -alpha)
@vjp(ops.negative)
def _(out, x): return lambda g: (-g,)
@vjp(ops.divide)
def _(out, x, y): return lambda g: (lambda: g / y, lambda: -g * out / y)
@vjp(ops.pow)
def _(out, x, p):
    base = lambda g: g * p * x ** (p - 1)                                    # noqa: E731
    if isinstance(p, (int, float)):
        return lambda g: (base(g) if p else g * 0, None)
    return lambda g: (lambda: ops.masked_fill(base(g), p == 0, 0.0),
                      lambda: g * ops.masked_fill(out * np.log(x), (x == 0) & (p >= 0), 0.0))
@vjp(ops.mean)
def _(out, x, dim=None, keepdim=False):
    shape, once, n = x.shape, kept_shape(x.shape, dim), ops.counted(x.shape, ops.axes(dim))
    return lambda g: (spread(g.reshape(once) * (1 / n), shape),)
@vjp(ops.var)
def _(out, x, dim=None, correction=1, keepdim=False):
    once, n = kept_shape(x.shape, dim), ops.counted(x.shape, ops.axes(dim)) - correction
    return lambda g: (g.reshape(once) * (2 / n) * (x - ops.mean(x, dim, True)),)
@vjp(ops.reshape_to)
def _(out, x, shape):
    shape = x.shape
    return lambda g: (g.reshape(shape),)
@vjp(ops.transpose)
def _(out, x, dim0, dim1): return lambda g: (g.swapaxes(dim0, dim1),)
@vjp(spread)
def _(out, x, shape): return lambda g: (g,)                                  # the walk sums it back
@vjp(ops.getitem)
def _(out, x, index):
    shape = x.shape
    return lambda g: (put(g, index, shape),)
@vjp(put)
def _(out, g, index, shape): return lambda h: (h[index],)
@vjp(ops.write)
def _(out, x, value, index): return lambda g: (zero_at(g, index), lambda: g[index])
@vjp(zero_at)
def _(out, g, index): return lambda h: (zero_at(h, index),)
@vjp(ops.masked_fill)
def _(out, x, mask, value):
    return lambda g: (lambda: ops.masked_fill(g, mask, 0.0), None,
                      lambda: ops.masked_fill(g, ~mask, 0.0).sum())
@vjp(ops.gather)
def _(out, x, dim, index):
    shape, places = x.shape, ops.places_of(index, dim)
    return lambda g: (put(g, places, shape),)


# %%
#| export core.rules
record_with(record, everywhere=True)
