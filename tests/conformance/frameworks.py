"""The two sides of a comparison: what the harness asks of a library, for PyTorch and for TinyTorch.

The names are PyTorch's on both sides, so a side is little more than its root module. Every check
takes the side under test as an argument; handing it PyTorch tests the harness itself.
"""
import importlib
import os

import numpy as np
import torch

torch.set_num_threads(1)           # the arrays are small: more threads only get in each other's way

# Keywords that say where and how numbers lie, not which numbers they are.
NEUTRAL = {"device", "layout", "memory_format", "pin_memory"}


def convert(value, leaf):
    """`value` with `leaf` applied to everything in it that is no list, tuple or dictionary."""
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(convert(v, leaf) for v in value)
    if isinstance(value, dict):
        return {name: convert(v, leaf) for name, v in value.items()}
    return leaf(value)


class Framework:
    """A library under test: `root` is what a lesson calls torch."""
    def __init__(self, root):
        self.root, self.Tensor = root, root.Tensor

    def arguments(self, sample, requires_grad=True):
        """The sample's `(args, kwargs, leaves)` as this library's; leaves want a gradient.

        A tensor that stands twice in the sample is one tensor here too.
        """
        leaves = []

        def make(t):
            made = self.tensor(t, requires_grad and t.requires_grad)
            if made.requires_grad:
                leaves.append(made)
            return made

        return *self.translated(sample, make), leaves

    def refilled(self, sample, leaves):
        """The sample's `(args, kwargs)` with these tensors in the place of its leaves."""
        leaves = iter(leaves)

        def make(t): return next(leaves) if t.requires_grad else self.tensor(t)
        return self.translated(sample, make)

    def translated(self, sample, make):
        made = {}

        def leaf(value):
            if not isinstance(value, torch.Tensor):
                return self.plain(value)
            if id(value) not in made:
                made[id(value)] = make(value)
            return made[id(value)]

        kwargs = {name: v for name, v in sample.kwargs.items() if name not in NEUTRAL}
        return convert((sample.input, *sample.args), leaf), convert(kwargs, leaf)

    def find(self, dotted):
        """What the library calls `dotted`, or None where it has no such name (or not yet).

        "Tensor.add" is looked for on a tensor: methods may come from a table, not from the class.
        """
        found, parts = self.root, dotted.split(".")
        if parts[0] == "Tensor":
            found, parts = self.tensor(torch.ones(2, 2)), parts[1:]
        for part in parts:
            try:
                found = getattr(found, part)
            except (AttributeError, ImportError):
                return None
        return found

    def backward(self, outputs, cotangents, leaves):
        """The leaves' `.grad` after the outputs have been handed their cotangents."""
        if len(outputs) == 1:
            outputs[0].backward(cotangents[0])
        else:
            sum((out * g).sum() for out, g in zip(outputs, cotangents)).backward()
        return [leaf.grad for leaf in leaves]


class PyTorch(Framework):
    """The judge, and the harness's own test subject."""
    def __init__(self, root=torch): super().__init__(root)
    def plain(self, value): return value

    def tensor(self, t, requires_grad=False):
        return t.detach().requires_grad_() if requires_grad else t.detach()

    def judged(self, tensor): return tensor.detach()


class TinyTorch(Framework):
    """The library under test; its tensors lie in PyTorch's memory, strides and all."""
    def __init__(self): super().__init__(importlib.import_module("tinytorch"))

    def plain(self, value):
        if isinstance(value, torch.dtype):
            return np.dtype(str(value).removeprefix("torch."))
        if isinstance(value, torch.nn.Module):
            return self.module(value)
        name = getattr(value, "__name__", "")
        if name and value is getattr(torch.nn.functional, name, None):
            return self.find(f"nn.functional.{name}")
        return value

    def module(self, theirs):
        """A norm or a transformer's layer like PyTorch's, for a stack that is given one."""
        made = getattr(self.root.nn, type(theirs).__name__)
        if isinstance(theirs, torch.nn.LayerNorm):
            return made(theirs.normalized_shape, theirs.eps)
        attention = theirs.self_attn
        return made(attention.embed_dim, attention.num_heads, theirs.linear1.out_features, theirs.dropout.p,
                    self.plain(theirs.activation), theirs.norm1.eps, attention.batch_first,
                    theirs.norm_first, theirs.linear1.bias is not None)

    def tensor(self, t, requires_grad=False):
        made = self.root.from_numpy(t.detach().numpy())
        made.requires_grad = requires_grad
        return made

    def judged(self, tensor):
        """The tensor's numbers as a PyTorch tensor, for comparing."""
        return torch.from_numpy(np.array(tensor.detach().numpy()))


# CONFORMANCE_SUBJECT=torch runs the whole suite on PyTorch itself: it must find no difference.
FRAMEWORK = PyTorch() if os.environ.get("CONFORMANCE_SUBJECT") == "torch" else TinyTorch()
