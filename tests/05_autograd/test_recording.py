"""What is kept and freed, recording on and off, and gradients on demand."""
import gc
import weakref

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.autograd import vjp
from tinytorch.core.base import record_with, this_thread
from tinytorch.core.graph import saved_in
from tinytorch.core.op import op


def leaf(*numbers):
    return torch.tensor(list(numbers) if len(numbers) > 1 else numbers[0], dtype=torch.float64,
                        requires_grad=True)


# ---- what is kept, and freed ----

def test_nothing_is_left_in_cycles():
    """After a step every object is freed by counting: the garbage collector finds nothing"""
    x = torch.arange(1., 7.).reshape(2, 3)
    w = torch.ones(3, 2, requires_grad=True)

    def step():
        a, b = (x @ w).softmax(-1).split(1, dim=1)
        h = torch.cat([a, b], 1).clone()
        h[0] *= 2
        h.view(-1)[1:].add_(w.sum())
        (h.log() * h.max(1, keepdim=True).values).sum().backward()
        w.grad = None

    step()
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            step()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_result_is_freed_when_its_last_user_lets_go():
    """x + y needs neither input nor output later, x * y only the inputs, exp only the output"""
    x = leaf(1., 2.)
    for compute, kept in [(lambda y: y + 1, False), (lambda y: y * x, True),
                          (lambda y: y.sum(), False),
                          (lambda y: y.exp(), False), (lambda y: -y, False),
                          (lambda y: y * 2, False)]:
        y = x * 1
        array = weakref.ref(y.data)
        out = compute(y)
        del y
        assert (array() is not None) is kept, out.node
    out = x.exp()
    array = weakref.ref(out.data)
    out = out.sum()
    assert array() is not None
    out.backward()
    assert array() is None


def test_memory_is_freed_as_the_walk_passes():
    """When the walk reaches an op, what later ops had kept is free already"""
    alive, arrays = [], []

    @op
    def witness(x): return x + 0

    @vjp(witness)
    def _(out, x):
        def pull(g):
            alive.append(sum(ref() is not None for ref in arrays))
            return (g,)
        return pull

    y = leaf(1., 2.)
    for _ in range(8):
        y = witness(y * y)
        arrays.append(weakref.ref(y.data))
    loss = y.sum()
    del y
    loss.backward()
    assert alive == sorted(alive, reverse=True) and alive[0] >= 7 and alive[-1] <= 1, alive


def test_a_picked_part_does_not_keep_the_whole():
    """big[[0, 1]] is a copy: when big goes, its memory goes"""
    for pick in (lambda t: t[[0, 1]], lambda t: t[t > 0.5],
                 lambda t: t.reshape(2, 50).mT.reshape(-1)):
        big = torch.ones(100)
        array = weakref.ref(big.data)
        small = pick(big)
        del big
        assert array() is None, small.shape


def test_the_graph_without_backward_is_freed():
    y = leaf(1.) * 1
    array = weakref.ref(y.data)
    for _ in range(100):
        y = y * y
    del y
    assert array() is None


def test_saved_in_finds_what_a_closure_keeps():
    x, y = np.ones(2), torch.ones(3)

    def outer():
        several = [(x, 5), "text"]
        def inner(): return y
        return lambda g: (inner, several)

    assert [a.shape for a in saved_in(outer())] in ([(3,), (2,)], [(2,), (3,)])
    assert list(saved_in((np.add, 3, None))) == []


# ---- recording on and off ----

def records(): return (leaf(1.) * 2).requires_grad


def test_no_grad():
    """A block, nested blocks, an error inside, a decorator, a decorated generator's caller"""
    with torch.no_grad():
        assert not records() and not torch.is_grad_enabled()
        with torch.no_grad():
            assert not records()
        assert not records()
        with torch.enable_grad():
            assert records() and torch.is_grad_enabled()
        assert not records()
    assert records()
    with pytest.raises(KeyError):
        with torch.no_grad():
            raise KeyError
    assert records()

    @torch.no_grad()
    def quiet(depth): return records() or (depth and quiet(depth - 1))

    assert not quiet(3) and not quiet(0) and records()

    @torch.enable_grad()
    def loud(): return records()

    with torch.no_grad():
        assert loud() and not records()


def test_set_grad_enabled_and_inference_mode():
    with torch.set_grad_enabled(False):
        assert not records()
        with torch.set_grad_enabled(True):
            assert records()
    with torch.inference_mode():
        assert not records()
    assert records()


def test_no_grad_leaves_other_recorders_in_place():
    """What was there before comes back, not a default"""
    events = []
    before = record_with(lambda *event: events.append(event[0].name))
    try:
        with torch.no_grad():
            leaf(1.) * 2
        assert events == []
        leaf(1.) * 2
        assert events == ["multiply"]
    finally:
        record_with(before)
    assert this_thread.recorder is before


def test_no_grad_costs_no_memory():
    x = torch.ones(1000, requires_grad=True)
    with torch.no_grad():
        y = x * 2
        array = weakref.ref(y.data)
        y = y * y
    assert array() is None


# ---- gradients on demand ----

def test_grad_leaves_grad_alone():
    x, y = leaf(2.), leaf(3.)
    dx, dy = torch.autograd.grad(x * x * y, [x, y])
    assert (dx.item(), dy.item()) == (12., 4.) and x.grad is None and y.grad is None


def test_grad_of_what_lies_between():
    """Inputs may be computed tensors, too"""
    x = leaf(2.)
    middle = x * x
    out = middle * middle * x
    d_middle, dx = torch.autograd.grad(out, (middle, x))
    assert d_middle.item() == 2 * 4 * 2 and dx.item() == 5 * 2 ** 4


def test_grad_of_several_outputs():
    x = leaf(1., 2.)
    (dx,) = torch.autograd.grad([x * 2, (x * x).sum()], x,
                                [torch.tensor([10., 100.]), torch.tensor(1.)])
    assert dx.tolist() == [22., 204.]


def test_grad_of_what_was_not_used():
    x, y = leaf(2.), leaf(3.)
    with pytest.raises(RuntimeError, match="allow_unused"):
        torch.autograd.grad(x * 2, [x, y])
    dx, dy = torch.autograd.grad(x * 2, [x, y], allow_unused=True)
    assert dx.item() == 2. and dy is None
    with pytest.raises(RuntimeError, match="no_grad"):
        torch.autograd.grad(torch.tensor(1.), x)


def test_grad_frees_the_graph_unless_told():
    x = leaf(2.)
    y = x * x
    torch.autograd.grad(y, x, retain_graph=True)
    torch.autograd.grad(y, x)
    with pytest.raises(RuntimeError, match="retain_graph"):
        torch.autograd.grad(y, x)


def test_retain_grad():
    x = leaf(2., 3.)
    y = x * x
    y.retain_grad()
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5., 5.] and x.grad.tolist() == [20., 30.]


def test_hooks():
    """A hook sees the gradient, and may replace it"""
    x, seen = leaf(2., 3.), []
    y = x * x
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 10)
    (y * torch.tensor([1., 2.])).sum().backward()
    assert seen in ([[1., 2.]], [[10., 20.]]) and x.grad.tolist() == [40., 120.]
