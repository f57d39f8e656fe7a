"""Optimizers as objects: groups, options, steps, memory, saving."""
import copy
import warnings

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.nn.layers import Linear
from tinytorch.nn.parameter import Parameter
from tinytorch.optim import SGD, Adam, AdamW, Optimizer, optimizers

KINDS = [SGD, Adam, AdamW]


def leaf(numbers, gradient=None, dtype="float64"):
    p = torch.tensor(numbers, dtype=np.dtype(dtype), requires_grad=True)
    p.grad = None if gradient is None else torch.tensor(gradient, dtype=np.dtype(dtype))
    return p


def numbers(*tensors): return [t.detach().numpy().tolist() for t in tensors]


# ---- the parameters ----

def test_kinds_of_params():
    """A generator, a list, pairs of name and tensor, groups, one tensor as a group"""
    layer = Linear(2, 3)
    for params in (layer.parameters(), list(layer.parameters()), layer.named_parameters(),
                   [{"params": layer.parameters()}], [{"params": layer.weight}, {"params": [layer.bias]}]):
        groups = SGD(params, lr=0.1).param_groups
        found = [p for group in groups for p in group["params"]]
        assert len(found) == 2 and found[0] is layer.weight and found[1] is layer.bias


def test_names():
    """Names are kept beside the parameters, in the state as well"""
    optimizer = SGD(Linear(2, 3).named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="with/without names"):
        optimizer.add_param_group({"params": [leaf([1.])]})
    with pytest.raises(ValueError, match="names"):
        SGD([("a", leaf([1.])), leaf([1.])])


def test_wrong_params():
    w = leaf([1.])
    with pytest.raises(ValueError, match="empty"):
        SGD([])
    with pytest.raises(ValueError, match="empty"):
        generator = iter([w])
        list(generator)
        SGD(generator)
    with pytest.raises(TypeError, match="one tensor"):
        SGD(w)
    with pytest.raises(TypeError, match="order"):
        SGD([{"params": {w}}])
    with pytest.raises(TypeError, match="int"):
        SGD([w, 3])
    with pytest.raises(TypeError, match="dictionary"):
        SGD([w]).add_param_group([w])
    with pytest.raises(KeyError):
        SGD([{"lr": 0.1}])


def test_computed_tensor():
    """What was computed has no memory of its own to keep: a ValueError that says so"""
    with pytest.raises(ValueError, match="non-leaf"):
        Adam([leaf([1., 2.]) * 2])
    SGD([leaf([1., 2.]).detach()])                     # a plain tensor is a leaf


def test_twice():
    """In two groups: an error. Twice in one: a warning, as in PyTorch"""
    w = leaf([1.])
    with pytest.raises(ValueError, match="more than one parameter group"):
        SGD([{"params": [w]}, {"params": [leaf([2.]), w]}])
    with pytest.warns(UserWarning, match="duplicate"):
        SGD([w, w])


# ---- options ----

def test_defaults():
    """What a group leaves out comes from the call; the dictionaries given are left alone"""
    given = {"params": [leaf([1.])], "lr": 0.5, "note": "mine"}
    optimizer = SGD([given, {"params": [leaf([1.])]}], lr=0.1, momentum=0.9)
    first, second = optimizer.param_groups
    assert (first["lr"], first["momentum"], first["note"]) == (0.5, 0.9, "mine")
    assert (second["lr"], second["nesterov"], "note" in second) == (0.1, False, False)
    assert optimizer.defaults["lr"] == 0.1 and list(given) == ["params", "lr", "note"]


@pytest.mark.parametrize("kind, options", [
    (SGD, {"lr": -0.1}), (SGD, {"momentum": -1}), (SGD, {"weight_decay": -1}), (SGD, {"lr": float("nan")}),
    (SGD, {"nesterov": True}), (SGD, {"nesterov": True, "momentum": 0.9, "dampening": 0.1}),
    (Adam, {"lr": -0.1}), (Adam, {"eps": -1e-9}),
    (Adam, {"betas": (1.0, 0.9)}), (Adam, {"betas": (0.9, -0.1)}),
    (AdamW, {"weight_decay": -1}), (Adam, {"betas": (0.9, "0.9")}),
])
def test_wrong_options(kind, options):
    """ValueError, for the call, for a group, and before any parameter is looked at"""
    with pytest.raises(ValueError):
        kind([leaf([1.])], **options)
    with pytest.raises(ValueError):
        kind([], **options)
    if "nesterov" not in options:
        optimizer = kind([leaf([1.])])
        with pytest.raises(ValueError):
            optimizer.add_param_group({"params": [leaf([1.])], **options})
        assert len(optimizer.param_groups) == 1


def test_messages_name_the_value():
    with pytest.raises(ValueError, match=r"lr: -0\.1"):
        SGD([leaf([1.])], lr=-0.1)
    with pytest.raises(ValueError, match=r"index 1: 1\.5"):
        Adam([leaf([1.])], betas=(0.9, 1.5))
    with pytest.raises(ValueError, match="one element, not 2"):
        SGD([leaf([1.])], lr=torch.tensor([0.1, 0.2]))


def test_how_it_is_computed():
    """foreach, fused and capturable change no number; differentiable would"""
    for kind, more in (SGD, {}), (Adam, {"capturable": True}), (AdamW, {"capturable": True}):
        w, plain = leaf([1., 2.], [3., -1.]), leaf([1., 2.], [3., -1.])
        kind([w], lr=0.1, foreach=True, fused=False, **more).step()
        kind([plain], lr=0.1).step()
        assert numbers(w) == numbers(plain)
        with pytest.raises(NotImplementedError, match="differentiable"):
            kind([w], differentiable=True)


@pytest.mark.parametrize("kind", KINDS)
def test_numpy_and_tensor_rates(kind):
    """A rate from np.logspace, or in a tensor, is a number like any other: float32 stays float32"""
    for lr in np.float64(0.25), np.float32(0.25), torch.tensor(0.25):
        w = leaf([1., 1.], [1., 1.], "float32")
        optimizer = kind([w], lr=lr, weight_decay=np.float64(0.0))
        optimizer.step()
        assert numbers(w)[0] == pytest.approx([0.75, 0.75]) and w.data.dtype == "float32"
        assert all(t.dtype == "float32" for t in optimizer.state[w].values() if isinstance(t, torch.Tensor))


def test_rate_of_the_moment():
    """A step reads the options at its own time: what a schedule or a user wrote counts"""
    w = leaf([1.], [1.])
    optimizer = SGD([w], lr=0.5)
    optimizer.param_groups[0]["lr"] = 0.25
    optimizer.step()
    assert numbers(w) == [[0.75]]


def test_repr():
    """PyTorch's text"""
    text = repr(SGD([{"params": [leaf([1.])]}, {"params": [leaf([1.])], "lr": 0.5}], lr=0.1))
    assert text == ("SGD (\nParameter Group 0\n    dampening: 0\n    lr: 0.1\n    maximize: False\n"
                    "    momentum: 0\n    nesterov: False\n    weight_decay: 0\nParameter Group 1\n"
                    "    dampening: 0\n    lr: 0.5\n    maximize: False\n    momentum: 0\n"
                    "    nesterov: False\n    weight_decay: 0\n)")


# ---- steps ----

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
    from tinytorch.core.base import record_with
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


# ---- saving ----

def trained(kind, steps=3, **options):
    w, b, unused = leaf([[1., 2.], [3., 4.]]), leaf([0.5, -0.5]), leaf([7.])
    optimizer = kind([{"params": [w, unused]}, {"params": [b], "lr": 0.05}], lr=0.1, **options)
    for _ in range(steps):
        one_step(optimizer, w, b)
    return optimizer, w, b


def one_step(optimizer, w, b):
    optimizer.zero_grad()
    ((w * w).sum(1) * b + b * b).sum().backward()
    optimizer.step()


CONFIGURED = [(SGD, {}), (SGD, {"momentum": 0.9, "nesterov": True}), (Adam, {}), (Adam, {"amsgrad": True}),
              (AdamW, {"weight_decay": 0.3})]


def test_state_dict_shape():
    """PyTorch's: numbers through the groups, options as they are, nothing for what had no gradient"""
    optimizer, w, b = trained(Adam, amsgrad=True)
    saved = optimizer.state_dict()
    assert list(saved) == ["state", "param_groups"] and list(saved["state"]) == [0, 2]
    assert [group["params"] for group in saved["param_groups"]] == [[0, 1], [2]]
    assert saved["param_groups"][1]["lr"] == 0.05
    assert list(saved["state"][0]) == ["step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"]
    assert saved["state"][0]["step"] == 3
    assert saved["state"][0]["exp_avg"].shape == (2, 2) and saved["state"][2]["exp_avg"].shape == (2,)
    assert list(trained(SGD, momentum=0.9)[0].state_dict()["state"][2]) == ["momentum_buffer"]
    assert trained(SGD)[0].state_dict()["state"] == {}


@pytest.mark.parametrize("kind, options", CONFIGURED)
def test_state_dict_is_a_copy(kind, options):
    """Later steps leave it alone"""
    optimizer, w, b = trained(kind, **options)
    saved = optimizer.state_dict()
    before = copy.deepcopy(saved)
    one_step(optimizer, w, b)
    optimizer.param_groups[0]["lr"] = 77.
    for number, memory in saved["state"].items():
        for name, value in memory.items():
            assert np.array_equal(np.asarray(value), np.asarray(before["state"][number][name])), name
    assert saved["param_groups"] == before["param_groups"]


@pytest.mark.parametrize("kind, options", CONFIGURED)
def test_resumed(kind, options):
    """A fresh optimizer, given the weights and the state, goes on to the same bits"""
    whole, w, b = trained(kind, steps=9, **options)
    half, w2, b2 = trained(kind, steps=4, **options)
    fresh_w, fresh_b, unused = (leaf(t.detach().numpy().copy()) for t in (w2, b2, leaf([7.])))
    fresh = kind([{"params": [fresh_w, unused]}, {"params": [fresh_b]}], lr=99.)
    fresh.load_state_dict(half.state_dict())
    for _ in range(5):
        one_step(fresh, fresh_w, fresh_b)
    assert np.array_equal(fresh_w.data, w.data) and np.array_equal(fresh_b.data, b.data)
    assert fresh.state[fresh_w].get("step") == whole.state[w].get("step")


def test_pytorchs_state():
    """A state saved by PyTorch, its count of steps in a tensor: taken over, with options we do not have"""
    w = leaf([1.], [3.])
    optimizer = Adam([w])
    optimizer.load_state_dict({
        "state": {0: {"step": torch.tensor(1.), "exp_avg": torch.tensor([0.1]),
                      "exp_avg_sq": torch.tensor([0.001])}},
        "param_groups": [{"lr": 0.1, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0, "amsgrad": False,
                          "maximize": False, "foreach": None, "params": [0]}]})
    optimizer.step()
    assert numbers(w)[0] == pytest.approx([1 - 0.0917778], abs=1e-6)
    assert optimizer.state[w]["step"] == 2 and type(optimizer.state[w]["step"]) is int
    assert optimizer.state[w]["exp_avg"].dtype == "float64"
    assert optimizer.param_groups[0]["foreach"] is None


def test_wrong_state():
    """Other sizes are an error that names both, and nothing changed"""
    optimizer, w, b = trained(Adam)
    saved = Adam([leaf([1.]), leaf([1.]), leaf([1.])], lr=3.).state_dict()
    with pytest.raises(ValueError, match=r"\[3\].*\[2, 1\]"):
        optimizer.load_state_dict(saved)
    assert optimizer.state[w]["step"] == 3 and optimizer.param_groups[0]["lr"] == 0.1


def test_deepcopy():
    """A copy has parameters and memory of its own"""
    optimizer, w, b = trained(Adam)
    other = copy.deepcopy(optimizer)
    its_w = other.param_groups[0]["params"][0]
    assert its_w is not w and other.state[its_w]["step"] == 3
    one_step(optimizer, w, b)
    assert other.state[its_w]["step"] == 3 and not np.array_equal(its_w.data, w.data)


def test_added_group():
    """A group added on the way starts with fresh memory and its own options"""
    optimizer, w, b = trained(Adam)
    late = leaf([1.], [5.])
    optimizer.add_param_group({"params": late, "lr": 0.25, "eps": 0.0})
    optimizer.step()
    assert numbers(late)[0] == pytest.approx([0.75])
    assert optimizer.state[late]["step"] == 1 and optimizer.state[w]["step"] == 4


def test_parameter_class():
    """Adam is the class AdamW comes from, and Adam can do what AdamW does"""
    assert issubclass(AdamW, Adam) and issubclass(Adam, Optimizer) and optimizers.SGD is SGD
    w, v = Parameter(torch.tensor([2.])), Parameter(torch.tensor([2.]))
    w.grad, v.grad = torch.tensor([1.]), torch.tensor([1.])
    AdamW([w], lr=0.1, weight_decay=0.5).step()
    Adam([v], lr=0.1, weight_decay=0.5, decoupled_weight_decay=True).step()
    assert numbers(w) == numbers(v) and numbers(w)[0] == pytest.approx([1.8])


def test_no_warning_in_an_ordinary_run():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind, options in CONFIGURED:
            trained(kind, **options)
