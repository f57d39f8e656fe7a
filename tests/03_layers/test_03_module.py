"""The tree: attributes, walks, modes, moving, saving and loading."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.core.backend import writes
from tinytorch.core.base import record_with


class Block(nn.Module):
    """A layer, a buffer that is saved, one that is not, and a parameter"""
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.register_buffer("mean", torch.tensor([1., 2.]))
        self.register_buffer("mask", torch.tensor([1, 0]), persistent=False)
        self.register_buffer("nothing", None)
        self.scale = nn.Parameter(torch.tensor([5.]))
        self.plain = torch.tensor([7.])
        self.constant = 3


class Model(nn.Module):
    """Blocks in a list, one of them twice, and a tied weight"""
    def __init__(self):
        super().__init__()
        self.first = Block()
        self.more = [Block(), (nn.Linear(1, 1), [self.first])]
        self.tied = self.first.layer.weight
        self.table = {"not": nn.Linear(9, 9)}


def names(pairs): return [name for name, _ in pairs]


# ---- parameters and buffers ----

def test_parameter():
    """A tensor of its own type that asks for a gradient and shares the memory of a tensor"""
    source = torch.tensor([1., 2.])
    parameter = nn.Parameter(source)
    assert isinstance(parameter, torch.Tensor) and parameter.requires_grad and not source.requires_grad
    source[0] = 9.
    assert parameter.tolist() == [9., 2.]
    assert repr(parameter) == "Parameter containing:\ntensor([9., 2.], requires_grad=True)"
    assert not nn.Parameter(torch.tensor([1]), requires_grad=False).requires_grad
    assert nn.Parameter([[1., 2.]]).shape == (1, 2) and nn.Parameter().shape == (0,)
    assert type(parameter.detach()) is torch.Tensor
    with pytest.raises(RuntimeError, match="int64"):
        nn.Parameter(torch.tensor([1]))


def test_parameter_of_a_result():
    """Of a parameter only the numbers are taken, so that the new one is a leaf"""
    parameter = nn.Parameter(nn.Parameter(torch.tensor([3.])))
    assert parameter.is_leaf and parameter.requires_grad


def test_named_parameters():
    """Own ones first, then the children's; lists in lists opened, shared ones once, plain tensors never"""
    assert names(Model().named_parameters()) == [
        "tied", "first.scale", "first.layer.bias", "more.0.scale", "more.0.layer.weight", "more.0.layer.bias",
        "more.1.0.weight", "more.1.0.bias"]


def test_named_parameters_without_removing():
    """Every path to every parameter"""
    found = dict(Model().named_parameters("m", remove_duplicate=False))
    assert len(found) == 12
    assert found["m.tied"] is found["m.first.layer.weight"] is found["m.more.1.1.0.layer.weight"]
    layer = nn.Linear(1, 1, bias=False)
    layer.again = layer.weight
    assert names(layer.named_parameters()) == ["weight"]
    assert names(layer.named_parameters(remove_duplicate=False)) == ["weight", "again"]
    assert names(nn.Sequential(layer).named_parameters(remove_duplicate=False)) == ["0.weight", "0.again"]


def test_parameters_in_lists():
    """Parameters may stand in a list too"""
    module = nn.Module()
    module.weights = [nn.Parameter(torch.ones(1)), [nn.Parameter(torch.ones(2))]]
    assert names(module.named_parameters()) == ["weights.0", "weights.1.0"]
    assert len(list(nn.Sequential(module).parameters())) == 2 and list(module.parameters(recurse=False))


def test_named_buffers():
    """Buffers by name, saved or not; None is none"""
    assert names(Block().named_buffers()) == ["mean", "mask"]
    assert names(Block().named_buffers("b", saved_only=True)) == ["b.mean"]
    assert names(Model().named_buffers()) == ["first.mean", "first.mask", "more.0.mean", "more.0.mask"]
    assert len(list(Model().named_buffers(remove_duplicate=False))) == 6
    assert list(Model().buffers(recurse=False)) == [] and len(list(Model().buffers())) == 4


def test_named_modules():
    """Each module once, this one first, under its path; children are those directly below"""
    model = Model()
    assert names(model.named_modules()) == ["", "first", "first.layer", "more.0", "more.0.layer", "more.1.0"]
    assert names(model.named_children()) == ["first", "more.0", "more.1.0"]
    assert names(model.named_modules(prefix="m", remove_duplicate=False))[-2:] == [
        "m.more.1.1.0", "m.more.1.1.0.layer"]
    assert next(model.modules()) is model and list(model.children())[0] is model.first


def test_by_path():
    """get_submodule, get_parameter and get_buffer take dotted paths, through lists as well"""
    model = Model()
    assert model.get_submodule("") is model and model.get_submodule("more.0.layer") is model.more[0].layer
    assert model.get_parameter("more.1.0.bias") is model.more[1][0].bias
    assert model.get_buffer("first.mean") is model.first.mean
    for get, path in [(model.get_submodule, "first.scale"), (model.get_submodule, "more.7"),
                      (model.get_submodule, "last"), (model.get_submodule, "more.x"),
                      (model.get_parameter, "first"), (model.get_parameter, "first.mean"),
                      (model.get_buffer, "first.plain")]:
        with pytest.raises(AttributeError, match=path):
            get(path)


def test_set_submodule():
    """A module is exchanged by its path, in an attribute, a chain or a list"""
    model, new = Model(), nn.Identity()
    model.chain = nn.Sequential(nn.Linear(1, 1))
    for path in ("first.layer", "more.0", "chain.0"):
        model.set_submodule(path, new)
        assert model.get_submodule(path) is new
    with pytest.raises(AttributeError):
        model.set_submodule("first.other", new)
    with pytest.raises(AttributeError):
        model.set_submodule("more.1.0", new)


# ---- attributes ----

def test_assigning():
    """A parameter stays a parameter or becomes None or a module; a tensor in its place is a TypeError"""
    layer = nn.Linear(2, 3)
    for value in (torch.ones(3, 2), 5, "text"):
        with pytest.raises(TypeError, match="weight"):
            layer.weight = value
    layer.weight = nn.Parameter(torch.ones(1, 2))
    layer.bias = None
    assert names(layer.named_parameters()) == ["weight"] and layer(torch.ones(2)).tolist() == [2.]
    model = nn.Sequential(layer)
    model.layer = layer
    with pytest.raises(TypeError, match="layer"):
        model.layer = 5
    model.layer = None
    assert names(model.named_children()) == ["0"]


def test_assigning_buffers():
    """A buffer's name takes tensors and None and remains a buffer; a parameter ends that"""
    block = Block()
    block.mean = torch.tensor([8.])
    assert names(block.named_buffers()) == ["mean", "mask"]
    with pytest.raises(TypeError, match="mean"):
        block.mean = 8.
    block.mean = None
    block.nothing = torch.tensor([1.])
    assert names(block.named_buffers()) == ["mask", "nothing"]
    block.mask = nn.Parameter(torch.ones(1))
    assert names(block.named_buffers()) == ["nothing"] and "mask" in names(block.named_parameters())


def test_deleting():
    """What is deleted is gone from every walk"""
    block = Block()
    del block.mean, block.layer, block.scale
    assert names(block.named_buffers()) == ["mask"]
    assert not list(block.parameters()) and not list(block.children())
    with pytest.raises(AttributeError):
        block.mean  # noqa: B018


def test_registering():
    """The three ways by name, and what they refuse"""
    module = nn.Module()
    module.register_parameter("weight", nn.Parameter(torch.ones(1)))
    module.register_parameter("bias", None)
    module.add_module("child", nn.Identity())
    module.register_module("none", None)
    module.register_buffer("buffer", torch.ones(1))
    module.register_buffer("buffer", torch.zeros(1), persistent=False)
    assert list(module.state_dict()) == ["weight"] and module.bias is None and module.buffer.item() == 0.
    for register, name, value, error in [
            (module.register_buffer, "weight", torch.ones(1), KeyError),
            (module.register_buffer, "a.b", None, KeyError), (module.register_buffer, "", None, KeyError),
            (module.register_buffer, 3, None, TypeError), (module.register_buffer, "x", 3, TypeError),
            (module.register_parameter, "x", torch.ones(1), TypeError),
            (module.register_parameter, "child", None, KeyError), (module.add_module, "x", 3, TypeError),
            (module.add_module, "weight", nn.Identity(), KeyError),
            (module.add_module, "train", nn.Identity(), KeyError)]:
        with pytest.raises(error):
            register(name, value)
    assert "x" not in vars(module)


def test_without_super():
    """A module that forgets super().__init__() works all the same, and shares nothing with others"""
    class Forgetful(nn.Module):
        def __init__(self): self.layer = nn.Linear(1, 1)
        def forward(self, x): return self.layer(x)

    one, other = Forgetful(), Forgetful()
    one.register_buffer("mean", torch.ones(1))
    one.register_forward_hook(lambda *_: None)
    one.eval()
    assert one(torch.ones(1)).shape == (1,)
    assert list(other.buffers()) == [] and other.training and not other._hooks
    assert len(list(one.state_dict())) == 3


# ---- all of it at once ----

def test_modes():
    """train and eval reach every module, return the model, and can be applied to a part"""
    model = Model()
    assert model.training and model.eval() is model and not any(m.training for m in model.modules())
    assert model.first.train() is model.first
    assert [m.training for m in model.modules()] == [False, True, True, False, False, False]
    assert model.train() is model and all(m.training for m in model.modules())
    for mode in (1, "eval", None):
        with pytest.raises(ValueError):
            model.train(mode)


def test_apply():
    """Children first, each once, then the module; returns it"""
    chain, seen = nn.Sequential(nn.Identity(), nn.Sequential(nn.Flatten())), []
    assert chain.apply(lambda m: seen.append(type(m).__name__)) is chain
    assert seen == ["Identity", "Flatten", "Sequential", "Sequential"]


def test_freezing():
    """requires_grad_ reaches every parameter and returns the module"""
    model = Model()
    assert model.requires_grad_(False) is model and not any(p.requires_grad for p in model.parameters())
    assert all(p.requires_grad for p in model.requires_grad_().parameters())


def test_zero_grad():
    """To None, or to zeros where there is a gradient"""
    layer = nn.Linear(1, 1)
    for to_none in (False, True):
        layer.weight.grad = torch.ones(1, 1)
        layer.zero_grad(set_to_none=to_none)
        assert layer.bias.grad is None
        assert layer.weight.grad is None if to_none else layer.weight.grad.tolist() == [[0.]]


def test_casting():
    """Floats change their dtype, integers do not, and the parameters stay the same objects"""
    model = Model()
    weight = model.first.layer.weight
    weight.grad = torch.ones(3, 2)
    assert model.double() is model and model.tied is weight is model.first.layer.weight
    assert weight.dtype == weight.grad.dtype == model.more[0].mean.dtype == torch.float64
    assert weight.requires_grad
    assert model.first.mask.dtype == torch.int64
    assert model.half().tied.dtype == torch.float16 and model.float().tied.dtype == torch.float32
    assert model.to(torch.float64).tied.dtype == torch.float64 and model.to("cpu").cpu().tied.device == "cpu"
    assert model.to("cpu", torch.float32).tied.dtype == torch.float32
    assert model.to(torch.ones(1, dtype=torch.float64)).tied.dtype == torch.float64
    with pytest.raises(TypeError, match="int64"):
        model.to(torch.int64)


# ---- saving and loading ----

def test_state_dict():
    """Module by module: parameters, then saved buffers; shared ones under every name"""
    assert list(Model().state_dict(prefix="m/")) == [f"m/{name}" for name in (
        "tied", "first.scale", "first.mean", "first.layer.weight", "first.layer.bias",
        "more.0.scale", "more.0.mean", "more.0.layer.weight", "more.0.layer.bias", "more.1.0.weight",
        "more.1.0.bias", "more.1.1.0.scale", "more.1.1.0.mean", "more.1.1.0.layer.weight",
        "more.1.1.0.layer.bias")]
    module = Block()
    module.register_buffer("again", module.mean)
    module.other = module.scale
    assert list(module.state_dict())[:4] == ["scale", "other", "mean", "again"]


def test_state_dict_copies():
    """Plain tensors, with memory of their own; keep_vars gives the real ones"""
    block = Block()
    state, live = block.state_dict(), block.state_dict(keep_vars=True)
    assert {type(t) for t in state.values()} == {torch.Tensor}
    assert not any(t.requires_grad for t in state.values())
    assert live["scale"] is block.scale and live["mean"] is block.mean
    block.scale.detach().zero_()
    block.mean += 1
    assert state["scale"].tolist() == [5.] and state["mean"].tolist() == [1., 2.]
    state["mean"][0] = 50.
    assert block.mean.tolist() == [2., 3.]


def test_saving_and_loading_are_no_computation():
    """No op is called with a tensor that asks for a gradient: copies begin without a history"""
    model, heard = Model(), []
    before = record_with(lambda op, inputs, *event: heard.extend(inputs))
    try:
        model.load_state_dict(model.state_dict())
    finally:
        record_with(before)
    assert not any(isinstance(x, torch.Tensor) and x.requires_grad for x in heard)


def test_load_state_dict():
    """Numbers go into the tensors that are there, and the memory's readers are told"""
    one, other = Model(), Model()
    arrays = {name: p.data for name, p in other.named_parameters()}
    for tensor in other.state_dict(keep_vars=True).values():
        tensor.detach().fill_(7.)
    before = writes.last
    result = one.load_state_dict(other.state_dict())
    assert writes.last < before and repr(result) == "<All keys matched successfully>" and result == ([], [])
    assert all((t.data == 7.).all() for t in one.state_dict().values()) and one.tied is one.first.layer.weight
    assert all(p.data is arrays[name] for name, p in other.named_parameters())
    state = {"weight": np.array([[1, 2]]), "bias": np.array([0.5])}
    layer = nn.Linear(2, 1)
    layer.load_state_dict(state)
    assert layer(torch.ones(2)).tolist() == [3.5] and layer.weight.dtype == torch.float32
    state["weight"][:] = 100
    assert layer.weight.tolist() == [[1., 2.]]


def test_load_state_dict_of_numbers():
    """A 0-d parameter, an empty one, and a model without any"""
    module = nn.Module()
    module.number, module.none = nn.Parameter(torch.tensor(3.)), nn.Parameter(torch.zeros(0, 2))
    module.load_state_dict({"number": torch.tensor(4.), "none": torch.zeros(0, 2)})
    assert module.number.item() == 4.
    assert nn.Identity().load_state_dict({}) == ([], [])


def test_load_state_dict_complains_once():
    """Missing, unexpected and misshapen names in one error, and nothing was written"""
    chain = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    before = chain[1].bias.tolist()
    state = {"1.bias": torch.tensor([9.]), "0.weight": torch.ones(3, 3), "2.weight": torch.ones(1),
             "1.weight": torch.ones(1)}
    for strict in (True, False):
        with pytest.raises(RuntimeError, match="Sequential") as error:
            chain.load_state_dict(state, strict=strict)
        for words in ("0.weight", "(3, 3)", "(3, 2)", "1.weight"):
            assert words in str(error.value)
        assert all((name in str(error.value)) is strict for name in ("0.bias", "2.weight"))
        assert chain[1].bias.tolist() == before


def test_load_state_dict_not_strict():
    """What fits is loaded, and both lists come back"""
    layer = nn.Linear(1, 1)
    result = layer.load_state_dict({"weight": torch.tensor([[3.]]), "old": torch.ones(1)}, strict=False)
    assert result.missing_keys == ["bias"] and result.unexpected_keys == ["old"] and layer.weight.item() == 3.
    assert "old" in repr(result)
    more = {**layer.state_dict(), "old": torch.ones(1)}
    for state, name in ({"weight": torch.ones(1, 1)}, "bias"), (more, "old"):
        with pytest.raises(RuntimeError, match=name):
            layer.load_state_dict(state)
