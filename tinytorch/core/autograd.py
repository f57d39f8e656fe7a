# Generated from modules/05_autograd/autograd_dev.py by tito export. Edit the lesson, not this file.
# source sha256 95a8ca2e84cd59d44100d58063659dbdea3fe3695918310af49d1b614184b1c3  body sha256 fa3f8213c337398f4d05b535b60fad68cc76b81a8eb4a083418dd31de38cb4db  # noqa: E501
"""core.autograd: built in module 05_autograd."""

import math
import threading
import weakref
from contextlib import contextmanager
from heapq import heappop, heappush

import numpy as np

from tinytorch.core.backend import array_module, is_array, shares_memory, writes
from tinytorch.core.base import method, record_with, this_thread
from tinytorch.core.tensor import Tensor

__all__ = [
    "COMPOSITES", "Node", "Parts", "RULES", "attach_outputs", "check_unwritten", "composite",
    "detect_anomaly", "enable_grad", "fitted", "grad", "gradients", "higher_order",
    "inference_mode", "is_grad_enabled", "missing_rule", "newest_first", "no_grad", "record",
    "record_tensors", "refresh", "retain_grad", "saved_in", "set_grad_enabled", "unbroadcast",
    "vjp", "walk",
]


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


def newest_first(root):
    """Yield `root` and every node below it, each once, the youngest first.

    A node is older than whatever was computed from it, so all that flows into a node has been yielded
    before it.
    """
    heap, seen = [(root.order, root)], {root}
    while heap:
        node = heappop(heap)[1]
        yield node
        for edge in node.edges:
            if type(edge) is Node and edge not in seen:
                seen.add(edge)
                heappush(heap, (edge.order, edge))


def unbroadcast(g, shape):
    """Sum the gradient `g` back to the `shape` that was stretched to the shape of g.

    >>> unbroadcast(np.ones((2, 3)), (3,))
    array([2., 2., 2.])
    """
    extra = g.ndim - len(shape)
    if extra > 0 and g.shape[extra:] == shape:
        return g.sum(axis=tuple(range(extra)))
    stretched = tuple([extra + i for i, n in enumerate(shape) if n == 1 and g.shape[extra + i] != 1])
    return g.sum(axis=tuple(range(extra)) + stretched, keepdims=True).reshape(shape)


def fitted(g, edge):
    """`g` in the shape and dtype of what it is the gradient of."""
    if g.shape != edge.shape:
        same = math.prod(g.shape) == math.prod(edge.shape)       # only dimensions of size 1 differ
        g = g.reshape(edge.shape) if same else unbroadcast(g, edge.shape)
    return g if g.dtype is edge.dtype else g.astype(edge.dtype)


def walk(root, g, retain_graph=False):
    """Carry the gradient `g` from `root` down to the leaves; returns {leaf: gradient}.

    Raises RuntimeError at a node whose pullback was used up by an earlier walk, and if a rule gives
    None for an input that wants a gradient.
    """
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


def record(op, inputs, arrays, params, result, out):
    """The recorder: give `out` a node, if an input requires a gradient.

    Raises NotImplementedError for an op without a rule.
    """
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


def missing_rule(op, out):
    """For an op without a rule: results that are no floats have no gradient; for floats it is an error."""
    for tensor in out if op.outputs else [out]:
        if tensor.dtype.kind == "f":
            raise NotImplementedError(f"{op.name} has no gradient rule, and an input requires a gradient. "
                                      f"Write one with @vjp({op.name}), or compute it under no_grad().")
    return lambda *args, **params: None


@contextmanager
def no_grad():
    """Nothing is recorded inside: a context manager, and a decorator, for this thread only."""
    previous = record_with(None)
    try:
        yield
    finally:
        record_with(previous)


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
