"""Optimizers as objects: parameters, groups, options."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.nn.layers import Linear
from tinytorch.optim import SGD, Adam, AdamW

from .support import leaf, numbers

KINDS = [SGD, Adam, AdamW]


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
