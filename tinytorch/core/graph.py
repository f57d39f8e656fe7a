# Generated from modules/05_autograd/graph_dev.py by tito export. Edit the lesson, not this file.
# source sha256 5604717a66145c946e86d9d8ab935a57fa87dfa6a60869e42a1d011b920c7101  body sha256 03151f8bcf58b75aad27710d07a4adefa5c290c650a10679d5953058e318a3a5  # noqa: E501
"""core.graph: built in module 05_autograd."""

from tinytorch.core.backend import array_module, is_array, writes
from tinytorch.core.base import retrace
from tinytorch.core.tensor import Tensor

__all__ = ["Parts", "attach_outputs", "check_unwritten", "missing_rule", "refresh", "saved_in"]


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


def check_unwritten(node):
    """Raise if an array that the pullback of `node` needs was written in place after it was saved."""
    for saved in saved_in(node.pull):
        array = saved.data if isinstance(saved, Tensor) else saved
        if writes.since(array, node.order):
            raise RuntimeError(f"backward(): an array of shape {array.shape} that {node.op.name} needs for "
                               "its gradient was changed in place after it was used. Use the op without "
                               "the underscore (x = x + y, not x += y), or clone() first.")


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
            zeros = [Tensor._of(zero) for zero in zeros]
        return [self.parts.get(i, zero) for i, zero in enumerate(zeros)]


def attach_outputs(Node, op, edges, pull, outputs):
    """Nodes for an op with several outputs: a small one for each, all above one that they share."""
    shapes = [out.shape for out in outputs]
    shared = Node(op, edges, lambda parts: pull(parts.filled(shapes)), None, None)
    for i, out in enumerate(outputs):
        out.requires_grad = True
        out.node = Node(op, (shared,), lambda g, i=i: (Parts({i: g}),), out.shape, out.dtype)


def refresh(view):
    """Give a view the history of its source as it is now, if the source was written since."""
    source, path, node = view.origin
    if source.node is not node:
        fresh = retrace(path, source)
        view.node, view.requires_grad, view.origin = fresh.node, fresh.requires_grad, fresh.origin


def missing_rule(op, out):
    """For an op without a rule: results that are no floats have no gradient, for floats it is an error."""
    for tensor in out if op.outputs else [out]:
        if tensor.dtype.kind == "f":
            raise NotImplementedError(f"{op.name} has no gradient rule, and an input requires a gradient. "
                                      f"Write one with @vjp({op.name}), or compute it under no_grad().")
    return lambda *args, **params: None
