"""ModuleList, ModuleDict, ParameterList, ParameterDict."""
import pytest

import tinytorch as torch
from tinytorch import nn


def names(pairs): return [name for name, _ in pairs]


def test_module_list():
    """Modules by number: everything a list can do, and seen by every walk"""
    layers = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])
    layers.append(nn.Tanh()).extend([nn.Sigmoid()])
    layers.insert(1, nn.GELU())
    assert [type(m).__name__ for m in layers] == ["Linear", "GELU", "ReLU", "Tanh", "Sigmoid"]
    assert len(layers) == 5
    assert names(layers.named_parameters()) == ["0.weight", "0.bias"] and layers[-1] is layers[4]
    tail = layers[2:]
    assert type(tail) is nn.ModuleList and tail[0] is layers[2]
    assert names(tail.named_children()) == ["0", "1", "2"]
    assert len(layers + tail) == 8 and len(layers) == 5
    del layers[0]
    assert type(layers.pop(0)) is nn.GELU and names(layers.named_children()) == ["0", "1", "2"]
    layers[0] = nn.Identity()
    assert type(layers[0]) is nn.Identity and len(nn.ModuleList()) == 0


def test_module_list_refuses():
    """It is not called, and holds modules only"""
    layers = nn.ModuleList([nn.ReLU()])
    with pytest.raises(NotImplementedError):
        layers(torch.ones(1))
    with pytest.raises(TypeError):
        layers.append(torch.ones(1))
    with pytest.raises(IndexError):
        layers[1]
    with pytest.raises(IndexError):
        layers[-2] = nn.ReLU()


def test_module_list_prints_runs():
    """Equal neighbours share a line"""
    layers = nn.ModuleList([nn.Linear(1, 2), nn.Linear(1, 2), nn.ReLU(), nn.Linear(1, 2)])
    assert repr(layers) == """\
ModuleList(
  (0-1): 2 x Linear(in_features=1, out_features=2, bias=True)
  (2): ReLU()
  (3): Linear(in_features=1, out_features=2, bias=True)
)"""
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict():
    """Modules by name, in order"""
    heads = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
    heads["c"] = nn.Tanh()
    heads.update([("b", nn.GELU())])
    heads.update(nn.ModuleDict({"d": nn.ReLU()}))
    assert list(heads) == list(heads.keys()) == ["a", "b", "c", "d"] and "a" in heads and "x" not in heads
    assert type(heads["b"]) is nn.GELU and heads.a is heads["a"] and len(heads) == 4
    assert names(heads.named_parameters()) == ["a.weight", "a.bias"]
    assert [type(m).__name__ for m in heads.values()] == ["Linear", "GELU", "Tanh", "ReLU"]
    assert heads.pop("d") not in heads.values() and names(heads.items()) == ["a", "b", "c"]
    del heads["a"]
    heads.clear()
    assert len(heads) == 0 and list(heads.children()) == []


def test_module_dict_refuses():
    """Unknown names, names of attributes, values that are no modules"""
    heads = nn.ModuleDict({"a": nn.ReLU()})
    for act, error in [(lambda: heads["x"], KeyError), (lambda: heads.pop("x"), KeyError),
                       (lambda: heads.__delitem__("training"), KeyError),
                       (lambda: heads.__setitem__("train", nn.ReLU()), KeyError),
                       (lambda: heads.__setitem__("b", 3), TypeError),
                       (lambda: nn.ModuleDict({1: nn.ReLU()}), TypeError)]:
        with pytest.raises(error):
            act()


def test_parameter_list():
    """Tensors that are put in become parameters, with names 0, 1, ..."""
    weight = nn.Parameter(torch.ones(2, 3))
    weights = nn.ParameterList([weight, torch.ones(2)])
    weights.append(torch.ones(1)).extend([torch.zeros(1)])
    weights += [torch.ones(4)]
    assert names(weights.named_parameters()) == ["0", "1", "2", "3", "4"] and weights[0] is weight
    assert all(isinstance(p, nn.Parameter) for p in weights)
    assert len(weights) == 5 and weights[-1].shape == (4,)
    assert [p.shape for p in weights[1:3]] == [(2,), (1,)] and type(weights[1:3]) is nn.ParameterList
    weights[0] = torch.zeros(7)
    assert weights[0].shape == (7,) and weights[0].requires_grad
    for index in (5, -6):
        with pytest.raises(IndexError):
            weights[index]
    with pytest.raises(TypeError):
        weights.append(3)
    assert repr(nn.ParameterList([weight, torch.ones(2)])) == (
        "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 2x3]\n"
        "    (1): Parameter containing: [torch.float32 of size 2]\n)")


def test_parameter_dict():
    """Parameters by name"""
    weights = nn.ParameterDict({"a": torch.ones(2), "b": nn.Parameter(torch.ones(3))})
    weights["c"] = torch.zeros(1)
    assert list(weights) == names(weights.named_parameters()) == ["a", "b", "c"]
    assert weights["c"].requires_grad
    assert weights.pop("a").shape == (2,) and len(weights) == 2
    with pytest.raises(KeyError):
        weights["a"]
    with pytest.raises(TypeError):
        weights["d"] = 3.
    assert repr(nn.ParameterDict({"a": torch.ones(2)})) == (
        "ParameterDict(  (a): Parameter containing: [torch.float32 of size 2])")


def test_containers_in_a_model():
    """Their modules and parameters have names below the container's"""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(1, 1, bias=False)])
            self.heads = nn.ModuleDict({"x": nn.Linear(1, 1, bias=False)})
            self.scales = nn.ParameterList([torch.ones(1)])
            self.biases = nn.ParameterDict({"y": torch.ones(1)})

    assert list(Model().state_dict()) == ["layers.0.weight", "heads.x.weight", "scales.0", "biases.y"]
