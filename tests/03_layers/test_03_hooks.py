"""Calling a module, and who hears of it."""
import pytest

import tinytorch as torch
from tinytorch import nn


class Weighted(nn.Module):
    """x times a number, times another one that comes by keyword"""
    def __init__(self, factor=2.):
        super().__init__()
        self.factor = factor

    def forward(self, x, extra=1.): return x * self.factor * extra


def test_forward_hook_is_told():
    """After each call: the module, the tuple of arguments, the result"""
    layer, heard = Weighted(), []
    layer.register_forward_hook(lambda *told: heard.append(told))
    x = torch.tensor([3.])
    out = layer(x)
    assert len(heard) == 1 and heard[0][0] is layer and heard[0][1][0] is x and heard[0][2] is out


def test_forward_hook_replaces():
    """What it returns, unless None, is the result, and the next hook gets that"""
    layer = Weighted()
    layer.register_forward_hook(lambda module, args, out: out + 1)
    layer.register_forward_hook(lambda module, args, out: None)
    layer.register_forward_hook(lambda module, args, out: out * 10)
    assert layer(torch.tensor([3.])).item() == 70.


def test_pre_hook_replaces():
    """Before each call: what it returns, unless None, is the argument, or the tuple of arguments"""
    layer = Weighted()
    layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    layer.register_forward_pre_hook(lambda module, args: None)
    assert layer(torch.tensor([3.])).item() == 8.
    layer.register_forward_pre_hook(lambda module, args: (args[0], 5.))
    assert layer(torch.tensor([3.])).item() == 40.


def test_with_kwargs():
    """Hooks that ask for it see the keywords, and pre-hooks may change them"""
    layer, heard = Weighted(), []
    layer.register_forward_pre_hook(lambda module, args, kwargs: (args, {"extra": kwargs["extra"] * 2}),
                                    with_kwargs=True)
    layer.register_forward_hook(lambda module, args, kwargs, out: heard.append(kwargs), with_kwargs=True)
    assert layer(torch.tensor([3.]), extra=5.).item() == 60. and heard == [{"extra": 10.}]
    layer.register_forward_pre_hook(lambda module, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match="args"):
        layer(torch.tensor([3.]), extra=5.)


def test_keywords_without_hooks():
    """They reach forward as they are"""
    assert Weighted()(torch.tensor([3.]), extra=5.).item() == 30.
    assert Weighted()(extra=2., x=torch.tensor([1.])).item() == 4.
    with pytest.raises(TypeError, match="other"):
        Weighted()(torch.tensor([3.]), other=1.)


def test_order():
    """In the order of registration, pre-hooks before forward; prepend jumps the queue"""
    layer, order = Weighted(), []
    layer.register_forward_hook(lambda *_: order.append("after"))
    layer.register_forward_hook(lambda *_: order.append("after, first"), prepend=True)
    layer.register_forward_pre_hook(lambda *_: order.append("before"))
    layer.register_forward_pre_hook(lambda *_: order.append("before, first"), prepend=True)
    layer(torch.tensor([3.]))
    assert order == ["before, first", "before", "after, first", "after"]


def test_remove():
    """remove() ends it, twice does no harm, and the other hooks stay"""
    layer, heard = Weighted(), []

    def hook(*_): heard.append(1)

    first, second = layer.register_forward_hook(hook), layer.register_forward_hook(hook)
    first.remove()
    first.remove()
    layer(torch.tensor([3.]))
    assert heard == [1]
    with second:
        layer(torch.tensor([3.]))
    layer(torch.tensor([3.]))
    assert heard == [1, 1]


def test_removing_inside():
    """A hook may remove itself while it runs"""
    layer, heard = Weighted(), []
    handle = layer.register_forward_hook(lambda *_: (heard.append(1), handle.remove())[1])
    layer.register_forward_hook(lambda *_: heard.append(2))
    layer(torch.tensor([3.]))
    layer(torch.tensor([3.]))
    assert heard == [1, 2, 2]


def test_a_hook_belongs_to_one_module():
    """Not to its class, and not to its children"""
    chain, heard = nn.Sequential(Weighted(), Weighted()), []
    chain[0].register_forward_hook(lambda *_: heard.append(1))
    Weighted()(torch.tensor([3.]))
    chain[1](torch.tensor([3.]))
    assert heard == []
    chain(torch.tensor([3.]))
    assert heard == [1]


def test_a_module_as_a_hook_is_no_child():
    """Listening does not make one a part of the model"""
    class Listener(nn.Module):
        def forward(self, module, args, out): return out + 1

    layer = Weighted()
    layer.register_forward_hook(Listener())
    assert list(layer.children()) == [] and layer(torch.tensor([3.])).item() == 7.


def test_no_forward():
    """A module without forward says which one, when it is called"""
    class Empty(nn.Module):
        pass

    with pytest.raises(NotImplementedError, match="Empty"):
        Empty()(torch.tensor([3.]))
