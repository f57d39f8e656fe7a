"""Every op and function on a device: the same numbers as on the CPU, and nothing crosses over."""
import importlib

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.autograd import grad, higher_order
from tinytorch.core import backend

from .strict import same, traffic

samples = importlib.import_module("..05_autograd.samples", __package__)
OPS = samples.all_ops()
SAMPLED = [name for name, calls in samples.SAMPLES.items() if name in OPS and calls
           and name != "move"]

# Ops that must look at a number before they can go on: is an index too large, is a divisor 0?
LOOKS = {"gather", "binary_cross_entropy"}


def there(x, device):
    """x on the device, if it is an array; indices in a tuple as arrays of it."""
    if type(x) is tuple:
        return tuple([backend.to_device(i, device) if isinstance(i, np.ndarray) else i for i in x])
    return torch.tensor(x, device=device) if isinstance(x, np.ndarray) else x


# ---- every op ----

def first_order(op, call, where):
    """The results, the gradients, and what crossed on the way."""
    leaves = [torch.tensor(call.inputs[i], device=where, requires_grad=True) for i in call.floats()]
    inputs = [there(x, where) for x in call.replaced(leaves)]
    traffic.clear()
    out = op(*inputs, **call.params)
    outs = list(out) if op.outputs else [out]
    total = sum((o * o + o).sum() for o in outs if o.dtype.kind == "f")
    if recorded(total):
        total.backward()
    return outs, [leaf.grad for leaf in leaves], traffic.counts()


def second_order(op, call, where):
    """Gradients of the squared gradients."""
    with higher_order():
        leaves = [torch.tensor(call.inputs[i], device=where, requires_grad=True)
                  for i in call.floats()]
        out = op(*[there(x, where) for x in call.replaced(leaves)], **call.params)
        total = sum((o * o).sum() for o in (out if op.outputs else [out]) if o.dtype.kind == "f")
        for last in (False, True):
            if not recorded(total):
                return []
            found = grad(total, leaves, create_graph=not last, allow_unused=True)
            total = sum((g * g).sum() for g in found if g is not None)
    return found


def recorded(total): return isinstance(total, torch.Tensor) and total.node is not None


def all_same(got, expected):
    assert len(got) == len(expected)
    for g, e in zip(got, expected):
        assert (g is None) == (e is None)
        if e is not None:
            same(g.detach(), e)


@pytest.mark.parametrize("name", SAMPLED)
def test_op(name, device):
    """Results and first and second derivatives stay there and are the CPU's; nothing crosses"""
    for call in samples.SAMPLES[name]:
        expected, expected_grads, _ = first_order(OPS[name], call, "cpu")
        outs, grads, (to_host, to_device, looked) = first_order(OPS[name], call, device)
        all_same(outs, expected)
        all_same(grads, expected_grads)
        assert to_host == 0, "a copy to the host that nobody asked for"
        given = any(isinstance(x, (list, tuple)) for x in call.inputs)
        assert to_device == 0 or given, "host numbers moved in"
        assert looked == 0 or name in LOOKS, "the op waits for a number of the device"
        all_same(second_order(OPS[name], call, device), second_order(OPS[name], call, "cpu"))


# ---- functions that are no ops ----

X = np.array([[3., -1., 2.], [0.5, 4., -2.]], "float32")
FUNCTIONS = {
    "max": lambda x: x.max(1), "min": lambda x: x.min(0),
    "sort": lambda x: x.sort(1, descending=True),
    "argsort": lambda x: x.argsort(0), "topk": lambda x: x.topk(2),
    "kthvalue": lambda x: x.kthvalue(2),
    "median": lambda x: x.median(1),
    "unique": lambda x: x.unique(return_inverse=True, return_counts=True),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x), "kron": lambda x: torch.kron(x, x),
    "tensordot": lambda x: torch.tensordot(x, x, ([1], [1])),
    "outer": lambda x: torch.outer(x[0], x[1]),
    "norms": lambda x: (x.norm(), x.norm(1, dim=1), torch.linalg.matrix_norm(x, 1)),
    "chunk": lambda x: x.chunk(2, 1), "stack": lambda x: torch.stack([x, x * 2], 1),
    "repeat": lambda x: (x.repeat(2, 1), x.repeat_interleave(2, 0), x.tile(2)),
    "repeat_interleave": lambda x: x.repeat_interleave(torch.tensor([2, 0, 1], device=x.device), 1),
    "flip": lambda x: (x.flip(0), x.roll(1, 1), torch.rot90(x)),
    "meshgrid": lambda x: torch.meshgrid(
        x[0], x[1], indexing="ij"), "unfold": lambda x: x.unfold(1, 2, 1),
    "scatter": lambda x: (x.scatter(1, (x > 0).long(), 9.), x.scatter_add(1, (x > 0).long(), x)),
    "index": lambda x: (x[(x[:, 0] > 1)], x[x > 0], x[:, torch.tensor([2, 0], device=x.device)],
                        x[[1, 0]]),
    "index_add": lambda x: x.index_add(0, torch.tensor([1, 1], device=x.device), x),
    "integers added at places": lambda x: x.long().index_add(
        0, torch.tensor([1, 1], device=x.device), x.long()),
    "index_fill": lambda x: x.index_fill(1, torch.tensor([1], device=x.device), 5.),
    "index_put": lambda x: x.index_put((torch.tensor([1], device=x.device),), x[0] * 2,
                                       accumulate=True),
    "nonzero": lambda x: (x > 0).nonzero(), "where": lambda x: torch.where(x > 0),
    "triu": lambda x: x.triu(1),
    "masked_select": lambda x: x.masked_select(x > 0),
    "diag": lambda x: (torch.diag(x[0]), x.diag()),
    "searchsorted": lambda x: torch.searchsorted(x[0].sort().values, x),
    "bincount": lambda x: torch.bincount(
        (x[1] + 2).long(), minlength=9),
        "one_hot": lambda x: torch.nn.functional.one_hot((x > 0).long()),
    "casts": lambda x: (x.double(), x.half().float(), x.int(), x.bool(), x.to(torch.int8)),
    "integer division": lambda x: x.int() // 2, "close": lambda x: torch.isclose(x, x + 1e-9),
    "nan_to_num": lambda x: torch.nan_to_num(x / 0), "std": lambda x: (x.std(1), x.var()),
    "likes": lambda x: (torch.zeros_like(x), torch.full_like(x, 2), x.new_ones(3),
                        x.new_tensor([1., 2.])),
    "split": lambda x: x.split([1, 2], 1),
    "take": lambda x: torch.take(x, torch.tensor([5, 0], device=x.device)),
    "contiguous": lambda x: x.mT.contiguous().view(6),
    "expand": lambda x: x[:, :1].expand(2, 4) + 0,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name, device):
    """The same numbers as on the CPU, all of them there"""
    expected, got = [FUNCTIONS[name](torch.tensor(X, device=where)) for where in ("cpu", device)]
    expected, got = [list(t) if isinstance(t, tuple) else [t] for t in (expected, got)]
    assert len(got) == len(expected)
    for g, e in zip(got, expected):
        same(g, e)


def test_comparing_whole_tensors(device):
    x = torch.tensor(X, device=device)
    assert torch.equal(x, x.clone()) is True and torch.allclose(x, x + 1) is False
    assert x.sum().item() == 6.5 and float(x[0, 0]) == 3. and bool(x[0, 0] > 0) is True and 4. in x
