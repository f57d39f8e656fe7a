# Generated from modules/05_autograd/autograd_dev.py by tito export. Edit the lesson, not this file.
# source sha256 1706122be39dfb96503994e7313530a4db4aba276fd04cb0504d3b4296e676a9  body sha256 8b7a9b48cbf3a0d19e1358136d5fcdb617fd93fbf2f5b45118b3baf8ef70d5c3  # noqa: E501
"""core.autograd: built in module 05_autograd."""

import math
import threading
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import takewhile, zip_longest

from tinytorch.core.backend import array_module, is_array, writes
from tinytorch.core.base import record_with
from tinytorch.core.graph import attach_outputs, check_unwritten, missing_rule, refresh, saved_in
from tinytorch.core.tensor import Tensor

__all__ = [
    "COMPOSITES", "Node", "RULES", "add_to_leaves", "central_difference", "composite", "fitted",
    "gradients", "newest_first", "no_grad", "record", "tick", "unbroadcast", "vjp", "walk",
]


def central_difference(f, x, direction, h=1e-6):
    """The slope of f at the array x along `direction`: how fast f(x + t * direction) changes with t.

    f: takes an array of the shape of x and returns a number. x: a float64 array, left as it was.

    >>> round(central_difference(lambda x: float(x ** 3), np.array(2.), np.array(1.), h=0.1), 4)
    12.01
    """
    return (f(x + h * direction) - f(x - h * direction)) / (2 * h)


RULES = {}                         # op -> its rule
COMPOSITES = {}                    # fused op -> the same function in plain ops


def vjp(op):
    """Register a rule: from an op's result and inputs to its pullback.

    rule(out, *inputs, **params) returns pull; pull(g) returns a tuple, a gradient for each input, in
    order. One that costs something may be a function without arguments, called only if it is wanted.
    None stands for an input that has no gradient. For an op that keeps, `out` is (out, *kept). A rule
    that returns None says that the result has no history.
    """
    def register(rule):
        RULES[op] = rule
        return rule
    return register


def composite(op):
    """Register the plain form of a fused op: its definition, and the source of its second derivative."""
    def register(plain_form):
        COMPOSITES[op] = plain_form
        return plain_form
    return register


tick = writes.tick                     # the next, smaller, number of the clock


class Node:
    """One recorded op: where gradients go next, and how they get there.

    op: what was computed. edges: for each input the node that made it, the leaf itself, or None.
    pull: the pullback; None once it was used. shape, dtype: of the output, and so of its gradient.
    order: when it was made; smaller is younger.
    """
    __slots__ = ("op", "edges", "pull", "shape", "dtype", "order")

    def __init__(self, op, edges, pull, shape, dtype):
        self.op, self.edges, self.pull, self.shape, self.dtype = op, edges, pull, shape, dtype
        self.order = tick()

    @property
    def name(self): return "".join([w.capitalize() for w in self.op.name.split("_")]) + "Backward0"

    @property
    def next_functions(self): return tuple([(edge, 0) for edge in self.edges])

    def __repr__(self): return f"<{self.name}>"

    def backward(self, out, gradient=None, retain_graph=False, create_graph=False):
        """What `Tensor.backward` calls: walk the graph, and add to `.grad` of its leaves."""
        add_to_leaves(gradients(out, gradient, retain_graph, create_graph), create_graph)


def newest_first(root):
    """Yield `root` and every node below it, each once, the youngest (smallest order) first.

    >>> older = Node(ops.negative, (None,), None, (), None)
    >>> [node is older for node in newest_first(Node(ops.add, (older, older), None, (), None))]
    [False, True]
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
    """The gradient g summed back to `shape`, which had been stretched to the shape of g.

    >>> unbroadcast(np.ones((2, 3)), (3,))
    array([2., 2., 2.])
    """
    added = g.ndim - len(shape)
    if added == 1 and g.shape[1:] == shape:            # a bias: the commonest case, and the shortest way
        return g.sum(0)
    stretched = [added + i for i, n in enumerate(shape) if n == 1 and g.shape[added + i] != 1]
    return g.sum(axis=(*range(added), *stretched), keepdims=True).reshape(shape)


def fitted(g, edge):
    """g in the shape and dtype of what it is the gradient of."""
    if g.shape != edge.shape:                          # fewer dimensions: x[0] = a value of shape (1, 3)
        g = g.reshape(edge.shape) if g.ndim < len(edge.shape) else unbroadcast(g, edge.shape)
    return g if g.dtype is edge.dtype else g.astype(edge.dtype)


def walk(nodes, root, g, retain_graph=False):
    """Carry the gradient g from `root` down to the leaves; returns {leaf: gradient}.

    nodes: those to visit, youngest first, as `newest_first(root)` yields them.

    Raises RuntimeError at a node that an earlier walk has used up ("a second time", "retain_graph"), and,
    naming the op, if a rule gives None, or nothing, where a gradient is wanted.
    """
    arrived, leaves = {root: g}, {}
    for node in nodes:
        pull = node.pull
        if pull is None:
            raise RuntimeError("backward() a second time: the graph was used up by the first, to free its "
                               "memory. Call the first with retain_graph=True, or run the forward again.")
        if node.order > writes.last:                   # the clock runs down: written after the node
            check_unwritten(node)
        if not retain_graph:
            node.pull = None
        for edge, part in zip_longest(node.edges, pull(arrived.pop(node))):
            if edge is None:
                continue
            if callable(part):
                part = part()
            if part is None:
                raise RuntimeError(f"the rule of {node.op.name} gave None for an input that requires a "
                                   "gradient. Mend the rule, or detach() the input.")
            if part.shape != edge.shape or part.dtype is not edge.dtype:
                part = fitted(part, edge)
            to = arrived if type(edge) is Node else leaves
            to[edge] = to.pop(edge) + part if edge in to else part
        del pull                                       # frees what only the pullback kept alive
    return leaves


@contextmanager
def no_grad():
    """Nothing is recorded inside, in this thread: `with no_grad(): ...`, or `@no_grad()` on a function."""
    previous = record_with(None)
    try:
        yield
    finally:
        record_with(previous)


def gradients(out, gradient=None, retain_graph=False, create_graph=False, oldest=math.inf):
    """{leaf: gradient} of all leaves below `out`: arrays, or with create_graph tensors with a history.

    Nodes older than `oldest` are left alone.
    """
    if gradient is None:
        if out.numel() != 1:
            raise RuntimeError(f"backward() of a tensor of shape {out.shape}: only a single number has a "
                               "gradient of its own. Reduce it (.sum(), .mean()), or pass a gradient.")
        gradient = array_module(out.data).ones(out.shape, out.dtype)
    gradient = gradient if isinstance(gradient, Tensor) else Tensor._of(gradient)
    if gradient.shape != out.shape:
        raise RuntimeError(f"backward(): the gradient has shape {gradient.shape} and the tensor {out.shape}. "
                           "They must be equal.")
    nodes = newest_first(out.node)
    if oldest < math.inf:
        nodes = takewhile(lambda node: node.order <= oldest, nodes)
    if not create_graph:
        with no_grad():
            return walk(nodes, out.node, gradient.data, retain_graph)
    nodes = list(nodes)
    for node in nodes:
        if any(is_array(saved) and saved.dtype.kind == "f" for saved in saved_in(node.pull)):
            raise RuntimeError(f"create_graph: {node} was recorded outside higher_order(), and saved numbers "
                               "without history. Run the forward inside `with higher_order():`.")
    return walk(nodes, out.node, gradient, retain_graph=True)


_accumulating = threading.Lock()


def add_to_leaves(found, create_graph=False):
    """Add the gradients of {leaf: gradient} to the leaves' `.grad`; two threads may meet at one leaf."""
    with _accumulating:
        while found:
            leaf, g = found.popitem()
            if create_graph:
                leaf.grad = g if leaf.grad is None else leaf.grad + g
                continue
            if isinstance(g, Tensor):                      # recorded in higher_order(): drop the history
                g = g.data
            g = g if leaf.grad is None else leaf.grad.data + g
            leaf.grad = Tensor._of(g.copy() if g.ndim else array_module(g).array(g))   # g may be shared


def record(op, inputs, arrays, params, result, out):
    """Give `out` a node, if one of the inputs requires a gradient.

    Raises NotImplementedError for an op of floats without a rule.
    """
    edges, wanted = [], False
    for x in inputs:
        edge = None
        if isinstance(x, Tensor):
            if x.origin:
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
        attach_outputs(Node, op, edges, pull, out)
    else:
        out.requires_grad, out.node = True, Node(op, edges, pull, out.data.shape, out.data.dtype)


record_with(record, everywhere=True)
