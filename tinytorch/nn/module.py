# Generated from modules/03_layers/layers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 82b998d80c89b026c5e85ffa28e10cccd9f7d0aec7037878de400e6cdd913338  body sha256 ca34b57065a6132b938493fe2c0db0f65d17f49af61217fb2224ceeecce9b32f  # noqa: E501
"""nn.module: built in module 03_layers."""

from tinytorch.core.tensor import Tensor
from tinytorch.nn.module_base import IncompatibleKeys, ModuleBase, Numbered, dotted, members
from tinytorch.nn.parameter import Parameter, overwrite

__all__ = ["Module", "Sequential"]


class Module(ModuleBase):
    """A layer, or a model made of layers: assign parameters and modules, write `forward`.

    >>> class Scale(Module):
    ...     def __init__(self): self.factor = Parameter([2.])
    ...     def forward(self, x): return x * self.factor
    >>> Scale()(Tensor([3.])).tolist()
    [6.0]
    """
    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Yield (name, parameter): the module's own parameters first, then those of its children.

        The name is the path to it below `prefix`. A parameter that is reached twice comes once, under
        its first name, unless `remove_duplicate` is False. With recurse=False: only its own.

        >>> chain = Sequential(Linear(3, 2), Sequential(Linear(2, 1)))
        >>> [name for name, parameter in chain.named_parameters()]
        ['0.weight', '0.bias', '1.0.weight', '1.0.bias']
        """
        found = [(dotted(prefix, name), p) for name, p in members(self) if isinstance(p, Parameter)]
        for name, child in members(self):
            if recurse and isinstance(child, Module):
                found += child.named_parameters(dotted(prefix, name), True, remove_duplicate)
        seen = set()
        for name, parameter in found:
            if parameter not in seen or not remove_duplicate:
                seen.add(parameter)
                yield name, parameter

    def train(self, mode=True):
        """Set `training` to mode here and in every module below; returns self.

        A module that overrides `train` is asked, not overruled. Raises ValueError if mode is no bool.

        >>> Sequential(Dropout(0.1)).train(False)[0].training
        False
        """
        if not isinstance(mode, bool):
            raise ValueError(f"train({mode!r}): True is for training, False for evaluation.")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def state_dict(self, *, prefix="", keep_vars=False):
        """{name: tensor} of what must be saved: each module's parameters, then persistent buffers.

        The tensors are copies without history: training goes on and does not change them. (PyTorch
        hands out its live memory, and a saved "best" state is overwritten by the next step.) With
        `keep_vars` they are the parameters and buffers themselves. One that has two names comes
        under both. `prefix` is put in front of every name as it is: "net." makes "net.weight".

        >>> {name: tensor.shape for name, tensor in Linear(3, 2).state_dict().items()}
        {'weight': (2, 3), 'bias': (2,)}
        """
        state, every = {}, dict(recurse=False, remove_duplicate=False)
        for path, module in self.named_modules(remove_duplicate=False):
            state.update(module.named_parameters(path, **every))
            state.update(module.named_buffers(path, saved_only=True, **every))
        return {prefix + name: t if keep_vars else Tensor(t) for name, t in state.items()}

    def load_state_dict(self, state_dict, strict=True):
        """Write the numbers of `state_dict` (tensors or arrays by name) into the tensors so named.

        Returns (missing_keys, unexpected_keys): names that only the model has, and that only the
        state_dict has. Raises RuntimeError if a shape differs and, if strict, for such names. The
        error lists every name that is wrong, and then nothing has been written.

        >>> Linear(3, 2).load_state_dict(Linear(3, 2).state_dict())
        <All keys matched successfully>
        """
        mine = self.state_dict(keep_vars=True)
        missing = [name for name in mine if name not in state_dict]
        unexpected = [name for name in state_dict if name not in mine]
        common = [name for name in mine if name in state_dict]
        wrong = [f"{name} is {state_dict[name].shape} and must be {mine[name].shape}"
                 for name in common if state_dict[name].shape != mine[name].shape]
        if strict:
            wrong += [f"{n} is missing" for n in missing] + [f"{n} is unexpected" for n in unexpected]
        if wrong:
            raise RuntimeError(f"load_state_dict of {type(self).__name__}: {'; '.join(wrong)}. "
                               "Is it the state of another model?")
        for name in common:
            overwrite(mine[name], state_dict[name])
        return IncompatibleKeys(missing, unexpected)


class Sequential(Numbered, Module):
    """A chain of modules: the output of one is the input of the next.

    modules: the links in order, or one dictionary {name: module}.
    """
    def __init__(self, *modules):
        super().__init__()
        named = modules[0] if len(modules) == 1 and isinstance(modules[0], dict) else None
        for name, module in named.items() if named is not None else enumerate(modules):
            self.add_module(str(name), module)

    def forward(self, input):
        """What comes out of the last module when `input` goes into the first; without any, `input`."""
        for layer in self:
            input = layer(input)
        return input
