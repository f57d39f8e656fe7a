"""What an optimizer remembers: saved, taken over, copied."""
import copy
import warnings

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.nn.parameter import Parameter
from tinytorch.optim import SGD, Adam, AdamW, Optimizer, optimizers

from .support import leaf, numbers

KINDS = [SGD, Adam, AdamW]


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
