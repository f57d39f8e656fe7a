"""Steps: what moves and what does not, in place, unrecorded; and forgetting."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.base import record_with
from tinytorch.nn.layers import Linear
from tinytorch.optim import SGD, Adam, AdamW, Optimizer

from .support import leaf, numbers

KINDS = [SGD, Adam, AdamW]


def test_without_gradient():
    """A parameter without a gradient stays, with momentum and decay too, and nothing is remembered of it"""
    for kind, options in (SGD, {"momentum": 0.9}), (Adam, {}), (AdamW, {}):
        w, used = leaf([1.]), leaf([1.], [1.])
        optimizer = kind([w, used], lr=0.1, weight_decay=0.5, **options)
        optimizer.step()
        assert numbers(w) == [[1.]] and w not in optimizer.state and used in optimizer.state


def test_zero_gradient_is_a_gradient():
    """After set_to_none=False momentum goes on: 0.9 times the last step"""
    w = leaf([1.], [1.])
    optimizer = SGD([w], lr=0.1, momentum=0.9)
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    assert numbers(w.grad) == [[0.]]
    optimizer.step()
    assert numbers(w)[0] == pytest.approx([0.9 - 0.09])


def test_first_gradient_is_whole():
    """Dampening does not apply to the first gradient, as in PyTorch: 1, then 0.9 + 0.5 * 2"""
    w = leaf([1.], [1.])
    optimizer = SGD([w], lr=0.1, momentum=0.9, dampening=0.5)
    optimizer.step()
    w.grad = torch.tensor([2.], dtype=torch.float64)
    optimizer.step()
    assert numbers(optimizer.state[w]["momentum_buffer"])[0] == pytest.approx([1.9])
    assert numbers(w)[0] == pytest.approx([1 - 0.1 - 0.19])


@pytest.mark.parametrize("kind, options, expected", [
    (SGD, {"weight_decay": 0.5}, 2 + 0.1 * (3 - 1)), (SGD, {"momentum": 0.9}, 2.3), (Adam, {}, 2.1),
    (AdamW, {"weight_decay": 0.5}, 2 * 0.95 + 0.1),
])
def test_maximize(kind, options, expected):
    """Uphill; the decay still pulls to 0, and the gradient itself is left as it was"""
    w = leaf([2.], [3.])
    kind([w], lr=0.1, maximize=True, **options).step()
    assert numbers(w)[0] == pytest.approx([expected])
    assert numbers(w.grad) == [[3.]]


@pytest.mark.parametrize("kind", KINDS)
def test_single_numbers(kind):
    """0-d parameters keep their array, in every variant"""
    for options in ({}, {"maximize": True}, {"weight_decay": 0.1},
                    {"momentum": 0.9, "nesterov": True} if kind is SGD else {"amsgrad": True}):
        w = leaf(2., 1.)
        array, optimizer = w.data, kind([w], lr=0.1, **options)
        for _ in range(3):
            optimizer.step()
        assert w.data is array and array.shape == () and float(array) != 2.
        for value in optimizer.state[w].values():
            assert not isinstance(value, torch.Tensor) or type(value.data) is np.ndarray


@pytest.mark.parametrize("kind", KINDS)
def test_empty(kind):
    w = leaf(np.zeros((0, 3)), np.zeros((0, 3)))
    kind([w], lr=0.1).step()
    assert w.shape == (0, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_in_place(kind):
    """The array stays the same one: a tied weight, a view and the model all see the step"""
    w = leaf([[1., 2.], [3., 4.]], [[1., 1.], [1., 1.]])
    array, row = w.data, w.detach()[0]
    kind([w], lr=0.5, weight_decay=0.0).step()
    assert w.data is array
    assert numbers(row)[0] == pytest.approx([0.5, 1.5])


@pytest.mark.parametrize("kind", KINDS)
def test_not_recorded(kind):
    """Nobody hears of a step, and the weight has no history after it"""
    w, heard = leaf([1.], [1.]), []
    optimizer = kind([w], lr=0.1, weight_decay=0.1)
    optimizer.step()                                   # memory is made
    before = record_with(lambda *event: heard.append(event))
    try:
        optimizer.step()
    finally:
        record_with(before)
    assert heard == [] and w.node is None and w.requires_grad


@pytest.mark.parametrize("kind", KINDS)
def test_stale_graph(kind):
    """A graph that needs the numbers of before the step raises; one made after it does not"""
    w = leaf([3.], [1.])
    optimizer = kind([w], lr=0.1)
    stale = (w * w).sum()
    optimizer.step()
    with pytest.raises(RuntimeError, match="in place"):
        stale.backward()
    optimizer.zero_grad()
    (w * w).sum().backward()
    assert numbers(w.grad)[0] == pytest.approx([2 * w.item()])


def test_wrong_shape():
    """A gradient of another shape was assigned by hand: an error, also where it would broadcast"""
    w = leaf([1., 2.])
    w.grad = torch.tensor([1.], dtype=torch.float64)
    with pytest.raises(RuntimeError, match=r"\(2,\).*\(1,\)"):
        SGD([w], lr=0.1).step()
    assert numbers(w) == [[1., 2.]]


def test_closure():
    """The closure's loss comes back, and it is computed with gradients even under no_grad"""
    w = leaf([3.])
    optimizer = SGD([w], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 9.
    assert numbers(w)[0] == pytest.approx([3 - 0.6])
    assert optimizer.step() is None


def test_hooks():
    """Before and after each step, until they are removed"""
    w, heard = leaf([1.], [1.]), []
    optimizer = SGD([w], lr=0.5)
    before = optimizer.register_step_pre_hook(
        lambda o, args, kwargs: heard.append((o is optimizer, w.item())))
    after = optimizer.register_step_post_hook(lambda o, args, kwargs: heard.append(w.item()))
    optimizer.step()
    before.remove()
    optimizer.step()
    after.remove()
    optimizer.step()
    assert heard == [(True, 1.), 0.5, 0.]
    optimizer.register_step_pre_hook(lambda *event: ((), {}))
    with pytest.raises(RuntimeError, match="None"):
        optimizer.step()


def test_own_optimizer():
    """A class of one's own, as PyTorch programs write it: a step() of its own, and all the rest inherited"""
    class Sign(Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            with torch.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is not None:
                            self.state[p]["count"] = self.state[p].get("count", 0) + 1
                            p.add_(p.grad.sign(), alpha=-group["lr"])

    w = leaf([1., 1.], [3., -0.5])
    optimizer = Sign([w])
    optimizer.step()
    assert numbers(w)[0] == pytest.approx([0.9, 1.1])
    assert optimizer.state_dict()["state"] == {0: {"count": 1}}
    with pytest.raises(NotImplementedError, match="update_group"):
        Optimizer([w], {}).step()


def test_moved_model():
    """A model cast to float64 keeps its parameters, so the optimizer goes on with them"""
    layer = Linear(2, 1)
    optimizer = SGD(layer.parameters(), lr=0.1)
    layer.double()
    layer(torch.ones(1, 2, dtype=torch.float64)).sum().backward()
    before = layer.bias.item()
    optimizer.step()
    assert layer.bias.item() == pytest.approx(before - 0.1)


def test_tied_weight():
    """A weight in two places is stepped once, by the sum of both gradients"""
    layer = Linear(1, 1, bias=False)
    layer.weight.detach().fill_(2.)
    layer(layer(torch.ones(1, 1))).backward(torch.ones(1, 1))
    SGD(layer.parameters(), lr=0.1).step()
    assert layer.weight.item() == pytest.approx(2 - 0.1 * 4)


# ---- forgetting ----

def test_zero_grad_with_history():
    """A gradient with a history loses it"""
    w = leaf([3.])
    w.grad = leaf([2.]) * 3.
    SGD([w]).zero_grad(set_to_none=False)
    assert w.grad.node is None and not w.grad.requires_grad and numbers(w.grad) == [[0.]]


def test_zero_grad_writes_into_the_memory():
    """Whoever looks at the old gradient sees zeros, as in PyTorch"""
    w = leaf([3.], [2.])
    old = w.grad
    SGD([w]).zero_grad(set_to_none=False)
    assert numbers(old) == [[0.]]


def test_zero_grad_of_any_gradient():
    """What a step would refuse, or turn around, can be forgotten"""
    w = leaf([1., 2.], [3.])
    optimizer = SGD([w], maximize=True)
    optimizer.zero_grad(set_to_none=False)
    assert numbers(w.grad) == [[0.]]
    optimizer.zero_grad()
    assert w.grad is None
