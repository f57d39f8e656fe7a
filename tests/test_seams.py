"""Nothing is patched, and who watches changes nothing."""
import ast
import importlib
import inspect
import re
import types

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.base import record_with

from .test_layering import BUILT, ROOT, files, module_of, parsed, relative

samples = importlib.import_module(".05_autograd.samples", __package__)
OPS = samples.all_ops()
CASES = [(name, call) for name, calls in samples.SAMPLES.items() if name in OPS for call in calls]


# ---- nothing is patched ----

def imported_names(tree):
    """The names that a file has from other files of the package."""
    return {alias.asname or alias.name.split(".")[0] for node in ast.walk(tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            and (getattr(node, "module", None) or node.names[0].name).startswith("tinytorch")
            for alias in node.names}


def root_of(node):
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def targets(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            yield node.target
        elif isinstance(node, ast.Delete):
            yield from node.targets


@pytest.mark.parametrize("path", files("tinytorch"), ids=relative)
def test_no_attribute_of_another_file_is_set(path):
    """No `Tensor.backward = ...`, no `ops.add = ...`, no setattr(Tensor, ...)"""
    tree = parsed(path)
    theirs = imported_names(tree)
    written = [f"line {t.lineno}: {ast.unparse(t)}" for t in targets(tree)
               if isinstance(t, ast.Attribute) and root_of(t) in theirs]
    calls = [f"line {node.lineno}: {ast.unparse(node)}" for node in ast.walk(tree)
             if isinstance(node, ast.Call)
             and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr")
             and node.args and root_of(node.args[0]) in theirs]
    assert written + calls == []


def classes():
    """Every class of the built files, with the name of its file."""
    for path in BUILT:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, type) and value.__module__ == name:
                yield value


@pytest.mark.parametrize("cls", classes(), ids=lambda c: f"{c.__module__}.{c.__name__}")
def test_a_class_has_only_what_its_own_file_gave_it(cls):
    """After everything is imported, each method still comes from the file of its class"""
    for name, value in vars(cls).items():
        if (cls.__name__, name) == ("PerThread", "recorder"):
            continue                           # the declared seam: what 05 hands to record_with
        value = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
        if not isinstance(value, types.FunctionType):
            continue
        home = inspect.unwrap(value).__module__ or ""
        if not re.match("typing|dataclasses|collections|namedtuple_", home):
            assert home == cls.__module__, f"{cls.__name__}.{name} comes from {home}"


def test_the_table_of_methods_hides_nothing_of_the_class():
    """A function in METHODS with the name of a real attribute would never be called"""
    from tinytorch.core.base import METHODS
    assert [name for name in METHODS
            if name in dir(type("T", (torch.Tensor,), {"__slots__": ()}))] == []


# ---- who watches changes nothing ----

def computed(call, op):
    """The results of a call, with and without anybody who watches."""
    def run():
        inputs = [torch.tensor(x, requires_grad=i in call.floats()) if isinstance(x, np.ndarray)
                  else x
                  for i, x in enumerate(call.inputs)]
        out = op(*inputs, **call.params)
        return list(out) if op.outputs else [out]
    watched = run()
    before = record_with(None)
    try:
        return watched, run()
    finally:
        record_with(before)


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _ in CASES))
def test_an_op_is_the_same_watched_or_not(name):
    """To the last bit, in dtype and in strides; and only the watched one has a history"""
    for call in samples.SAMPLES[name]:
        for a, b in zip(*computed(call, OPS[name])):
            assert a.dtype == b.dtype and a.data.strides == b.data.strides
            np.testing.assert_array_equal(a.data, b.data)
            assert b.node is None and b.requires_grad is False


def test_arrays_alone_are_never_told():
    heard = []
    before = record_with(lambda *event: heard.append(event))
    try:
        for name, call in CASES:
            if name != "move":
                OPS[name](*[x.copy() if isinstance(x, np.ndarray) else x for x in call.inputs],
                          **call.params)
    finally:
        record_with(before)
    assert heard == []


def network(seed=0):
    """Something of every module up to 04: a network, a loss, and their numbers."""
    from tinytorch import nn
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.25), nn.Linear(8, 8), nn.GELU(),
                          nn.Linear(8, 3))
    x, y = torch.randn(5, 6), torch.tensor([0, 2, 1, 1, 0])
    out = model(x)
    return [*model.parameters(), out, nn.CrossEntropyLoss()(out, y),
            nn.MSELoss()(out.softmax(-1), torch.ones(5, 3)),
            out.sort(-1).values.cumsum(0).tanh()]


def test_a_network_is_the_same_watched_or_not():
    """Layers, activations and losses of modules 01 to 04, with the recorder and without"""
    watched = network()
    before = record_with(None)
    try:
        quiet = network()
    finally:
        record_with(before)
    assert len(watched) == len(quiet) == 10
    for a, b in zip(watched, quiet):
        np.testing.assert_array_equal(a.data, b.data)
    assert watched[-1].node is not None and quiet[-1].node is None


def test_modules_are_numbered_in_order():
    assert {module_of(p) for p in BUILT if p.parent.name == "core"} == {1, 5}
