# %% [markdown]
# # Recording in other ways
#
# Given code: nothing to solve here. The same rules, handed tensors in place of arrays, are recorded
# themselves: that gives gradients of gradients. And a few ways to watch or stop the recorder.

# %%
#| default_exp core.higher

# %%
import math
import weakref
from contextlib import contextmanager

import numpy as np

from tinytorch.core.autograd import COMPOSITES, gradients, no_grad, record
from tinytorch.core.backend import is_array
from tinytorch.core.base import method, record_with, this_thread
from tinytorch.core.tensor import Tensor

# %% [markdown]
# ## Gradients of gradients

# %%
#| export
def record_tensors(op, inputs, arrays, params, result, out):
    """The recorder inside higher_order(): rules get tensors, so what they compute is recorded too.

    What a fused op keeps has no history, so its plain form is recorded in its place.
    """
    tensors = [Tensor._of(x) if is_array(x) else x for x in inputs]
    wanted = any(isinstance(x, Tensor) and x.requires_grad for x in inputs)
    if wanted and op in COMPOSITES:
        plain = COMPOSITES[op](*tensors, **params)
        out.requires_grad, out.node = plain.requires_grad, plain.node
        return
    saved = out
    if op.keeps:
        kept = [Tensor(k) if is_array(k) or isinstance(k, np.generic) else k for k in result[1:]]
        if wanted and any(isinstance(k, Tensor) and k.dtype.kind == "f" for k in kept):
            raise NotImplementedError(f"{op.name} has no second derivative: what it keeps has no history. "
                                      f"Give it a plain form with @composite({op.name}).")
        saved = out, *kept
    record(op, inputs, tensors, params, saved, out)


@contextmanager
def higher_order():
    """Record so that gradients have a history: `backward(create_graph=True)` and `grad` work inside."""
    previous = record_with(record_tensors)
    try:
        yield
    finally:
        record_with(previous)


# %%
#| export
def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False):
    """The gradients of the sum of `outputs` with respect to `inputs`, a tuple; no `.grad` changes.

    inputs: leaves, or tensors computed on the way. One that was not used is an error, or None if
    `allow_unused`. With create_graph, inside higher_order(), the gradients have a history.
    """
    outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    starts = [grad_outputs] if isinstance(grad_outputs, Tensor) else grad_outputs or [None] * len(outputs)
    keep = create_graph if retain_graph is None else retain_graph
    found = {}

    def add(x, g): found[x] = found[x] + g if x in found else g

    for x in inputs:
        if x.node is not None:
            watch(x.node, lambda g, x=x: add(x, g))
    ages = [math.inf if x.node is None else x.node.order for x in inputs]
    for i, (out, start) in enumerate(zip(outputs, starts)):
        if out.node is None:
            raise RuntimeError("grad(): nothing was recorded for an output. Was it computed from a tensor "
                               "with requires_grad=True, outside no_grad()?")
        more = i + 1 < len(outputs)
        for leaf, g in gradients(out, start, keep or more, create_graph, oldest=max(ages)).items():
            add(leaf, g)
    unused = [i for i, x in enumerate(inputs) if x not in found]
    if unused and not allow_unused:
        raise RuntimeError(f"grad(): input {unused[0]} was not used to compute the outputs. If that is "
                           "intended, pass allow_unused=True.")
    return tuple([_tensor(found.get(x)) for x in inputs])


def _tensor(g):
    if isinstance(g, np.generic):                      # NumPy's 0-d results
        g = np.asarray(g)
    return g if g is None or isinstance(g, Tensor) else Tensor._of(g)


# %% [markdown]
# ## Watching gradients as they pass

# %%
#| export
def watch(node, heard):
    """Call `heard(g)` when a gradient arrives at `node`; what it returns, if not None, goes on instead."""
    pull = node.pull

    def watched(g):
        other = heard(g)
        return pull(g if other is None else other)

    if pull is not None:
        node.pull = watched


@method
def retain_grad(x):
    """Keep the gradient of a tensor that is no leaf in its `.grad` too."""
    tensor = weakref.ref(x)            # the node must not keep its own output alive

    def keep(g):
        x = tensor()
        if x is not None:
            x.grad = _tensor(g) if x.grad is None else x.grad + _tensor(g)

    if x.node is not None:
        watch(x.node, keep)


@method
def register_hook(x, hook):
    """Call `hook(gradient)` when the gradient of the non-leaf `x` is known; it may return another one."""
    if x.node is None:
        raise RuntimeError("register_hook: this tensor was not computed by a recorded op. Read the .grad "
                           "of a leaf after backward().")

    def heard(g):
        other = hook(_tensor(g))
        return other if other is None or isinstance(g, Tensor) else other.data

    watch(x.node, heard)


# %% [markdown]
# ## Recording on, off, and with a magnifying glass

# %%
#| export
@contextmanager
def enable_grad():
    """Record inside, also within no_grad()."""
    previous = record_with(record)
    try:
        yield
    finally:
        record_with(previous)


def set_grad_enabled(mode):
    """`enable_grad()` if mode is true, else `no_grad()`."""
    return enable_grad() if mode else no_grad()


def is_grad_enabled():
    """True where ops are recorded."""
    return this_thread.recorder is not None


inference_mode = no_grad


@contextmanager
def detect_anomaly():
    """Inside, the op that makes the first nan raises at once and is named, forward or backward."""
    inner = this_thread.recorder

    def watched(op, inputs, arrays, params, result, out):
        outputs = out if op.outputs else [out]
        if any(_has_nan(t) for t in outputs) and not any(_has_nan(x) for x in inputs):
            shapes = [a.shape for a in arrays if is_array(a)]
            raise RuntimeError(f"{op.name} made nan of numbers, from inputs of shapes {shapes}.")
        if inner is not None:
            inner(op, inputs, arrays, params, result, out)
            for tensor in outputs:
                if tensor.node is not None:
                    watch(tensor.node, lambda g: refuse(op, g))

    def refuse(op, g):
        if _has_nan(_tensor(g)):
            raise RuntimeError(f"a gradient that arrives at {op.name} holds nan.")

    previous = record_with(watched)
    try:
        yield
    finally:
        record_with(previous)


def _has_nan(x):
    array = x.data if isinstance(x, Tensor) else x
    return is_array(array) and array.dtype.kind == "f" and bool((array != array).any())
