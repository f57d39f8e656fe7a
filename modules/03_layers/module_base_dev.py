# %% [markdown]
# # What every module can do
#
# Given code: nothing to solve here. The rules for attributes, the walks that follow from one helper
# (`members`), and printing. The four methods that the lesson asks for stand in its class `Module`, which
# inherits all of this.

# %%
#| default_exp nn.module_base

# %%
from typing import NamedTuple

from hooks_dev import CallBase
from parameter_dev import Parameter

from tinytorch.core.casts import to
from tinytorch.core.dtypes import float16, float32, float64
from tinytorch.core.tensor import Tensor

# %% [markdown]
# ## What a module consists of
#
# A module keeps everything as plain attributes, so `vars(module)` is all there is to search. Lists and
# tuples are opened, at any depth; dictionaries are not: `ModuleDict` is there for that.

# %%
#| export
def members(module):
    """Yield (name, value) for each attribute; for a list `layers` yield ("layers.0", its first item), ..."""
    for name, value in vars(module).items():
        yield from opened(name, value)


def opened(name, value):
    """Yield (name, value) itself, or the items of a list or tuple under their dotted names."""
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from opened(f"{name}.{i}", item)
    else:
        yield name, value


def dotted(prefix, name):
    """`name` below `prefix`: "block" and "weight" make "block.weight", "" and "weight" make "weight"."""
    return f"{prefix}.{name}" if prefix else name


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` found too little and too much."""
    missing_keys: list
    unexpected_keys: list

    def __repr__(self):
        if not any(self):
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


# %% [markdown]
# ## The module
#
# `training` and `_persistent` are class attributes until somebody changes them (so is `_hooks` in
# `hooks_dev.py`), so a module works without a call of `super().__init__()`.

# %%
#| export
class ModuleBase(CallBase):
    """Everything of `Module` but the walk over its parameters, training mode, saving and loading."""
    training = True
    _persistent = {}                   # buffer -> whether state_dict saves it; replaced, never changed

    # Attributes: what was a parameter, a module or a buffer stays one
    def __setattr__(self, name, value):
        if isinstance(value, (Parameter, ModuleBase)):
            self._forget_buffer(name)
        elif name in self.__dict__ and value is not None:
            self._check_kind(name, value)
        object.__setattr__(self, name, value)

    def _check_kind(self, name, value):
        """Refuse a value that would make something else of a parameter, a module or a buffer."""
        old, buffer = vars(self)[name], name in self._persistent
        if not isinstance(old, (Parameter, ModuleBase)) and not (buffer and not isinstance(value, Tensor)):
            return
        kind = "Tensor" if buffer else "Parameter" if isinstance(old, Parameter) else "Module"
        raise TypeError(f"cannot assign {type(value).__name__} to {name!r} of {type(self).__name__}, which "
                        f"is a {kind}: it must be another one, or None. To change the numbers of a "
                        f"parameter, write into it: {name}.detach().copy_(values).")

    def __delattr__(self, name):
        object.__delattr__(self, name)
        self._forget_buffer(name)

    def _forget_buffer(self, name):
        if name in self._persistent:
            self._persistent = {k: v for k, v in self._persistent.items() if k != name}

    def register_buffer(self, name, tensor, persistent=True):
        """Keep a tensor that moves with the module but is not learned; saved if `persistent`."""
        self._check_name("buffer", name, taken=name not in self._persistent)
        if not isinstance(tensor, (Tensor, type(None))):
            raise TypeError(f"buffer {name!r}: expected a Tensor or None, got {type(tensor).__name__}.")
        self._persistent = {**self._persistent, name: persistent}
        object.__setattr__(self, name, tensor)

    def register_parameter(self, name, param):
        """Keep a parameter under a name, as `self.name = param` does."""
        self._check_name("parameter", name, not isinstance(vars(self).get(name), Parameter))
        if not isinstance(param, (Parameter, type(None))):
            raise TypeError(f"parameter {name!r}: expected a Parameter or None, got {type(param).__name__}.")
        setattr(self, name, param)

    def add_module(self, name, module):
        """Keep a child under a name, as `self.name = module` does."""
        self._check_name("module", name, not isinstance(vars(self).get(name), ModuleBase))
        if not isinstance(module, (ModuleBase, type(None))):
            raise TypeError(f"module {name!r}: expected a Module or None, got {type(module).__name__}.")
        setattr(self, name, module)

    register_module = add_module

    def _check_name(self, kind, name, taken):
        if not isinstance(name, str):
            raise TypeError(f"{kind} name: expected a string, got {type(name).__name__}.")
        if "." in name or not name:
            raise KeyError(f"{kind} name {name!r}: it must not be empty or contain a dot.")
        if taken and name in dir(self):
            raise KeyError(f"{kind} name {name!r}: {type(self).__name__} already has an attribute of it.")

    # Walks
    def parameters(self, recurse=True):
        """Yield every parameter once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_children(self):
        """Yield (name, module) for the modules directly below, each once."""
        seen = set()
        for name, child in members(self):
            if isinstance(child, ModuleBase) and child not in seen:
                seen.add(child)
                yield name, child

    def children(self):
        for _, child in self.named_children():
            yield child

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Yield (path, module) for this module, whose path is `prefix`, and for all below it."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in members(self):
            if isinstance(child, ModuleBase):
                yield from child.named_modules(memo, dotted(prefix, name), remove_duplicate)

    def modules(self):
        for _, module in self.named_modules():
            yield module

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True, saved_only=False):
        """Yield (name, buffer) for every buffer, or for those that state_dict saves."""
        seen = set()
        walk = self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]
        for path, module in walk:
            for name, persistent in module._persistent.items():
                buffer = vars(module)[name]
                if buffer is not None and (persistent or not saved_only) and (
                        buffer not in seen or not remove_duplicate):
                    seen.add(buffer)
                    yield dotted(path, name), buffer

    def buffers(self, recurse=True):
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target):
        """The module at a dotted path: `model.get_submodule("blocks.0.attention")`."""
        return self._get(target, ModuleBase, "a module")

    def get_parameter(self, target): return self._get(target, Parameter, "a parameter")

    def get_buffer(self, target):
        path, _, name = target.rpartition(".")
        if name not in self.get_submodule(path)._persistent:
            raise AttributeError(f"{target!r} of {type(self).__name__} is not a buffer.")
        return self._get(target, Tensor, "a buffer")

    def _get(self, target, kind, what):
        found = self
        for name in target.split(".") if target else ():
            try:
                found = found[int(name)] if isinstance(found, (list, tuple)) else getattr(found, name)
            except (AttributeError, IndexError, ValueError):
                raise AttributeError(f"{type(self).__name__} has nothing at {target!r}: "
                                     f"{type(found).__name__} has no {name!r}.") from None
        if not isinstance(found, kind):
            raise AttributeError(f"{target!r} of {type(self).__name__} is not {what}.")
        return found

    def set_submodule(self, target, module):
        """Put `module` in the place of the one at a dotted path."""
        self.get_submodule(target)                     # an error if there is none
        path, _, name = target.rpartition(".")
        parent = self._get(path, (ModuleBase, list), "a module or a list, which can be changed")
        if isinstance(parent, list):
            parent[int(name)] = module
        else:
            setattr(parent, name, module)

    # All of it at once
    def eval(self):
        """Evaluation mode, here and below: `train(False)`."""
        return self.train(False)

    def apply(self, fn):
        """Call fn(module) for every module below and then for this one; returns self."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def requires_grad_(self, requires_grad=True):
        """Freeze (False) or release every parameter; returns self."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forget the gradients of every parameter, or set them to zero."""
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad.detach().zero_()

    def to(self, *args, **kwargs):
        """Move or cast every parameter and buffer: `to("cuda")`, `to(float64)`, `to(device, dtype)`.

        The tensors stay the same objects, so an optimiser that holds them need not be told. Integers
        keep their dtype. Raises TypeError for a dtype that is not a float.
        """
        for tensor in {*self.parameters(), *self.buffers()}:
            tensor.data = _moved(tensor.detach(), args, kwargs).data
            if tensor.grad is not None:
                tensor.grad = _moved(tensor.grad.detach(), args, kwargs)
        return self

    def float(self): return self.to(float32)
    def double(self): return self.to(float64)
    def half(self): return self.to(float16)
    def cpu(self): return self.to("cpu")
    def cuda(self, device="cuda"): return self.to(f"cuda:{device}" if isinstance(device, int) else device)

    # Printing
    def extra_repr(self):
        """What stands between the brackets when the module is printed; for a layer to override."""
        return ""

    def __repr__(self):
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        children = self._repr_children()
        if len(extra) < 2 and not children:
            return f"{type(self).__name__}({''.join(extra)})"
        return "\n  ".join([f"{type(self).__name__}(", *extra, *children]) + "\n)"

    def _repr_children(self):
        return [f"({name}): {_indented(child)}" for name, child in members(self)
                if isinstance(child, ModuleBase)]


def _indented(module): return repr(module).replace("\n", "\n  ")


def _moved(tensor, args, kwargs):
    asked = to(tensor, *args, **kwargs)
    if not tensor.is_floating_point():
        return to(tensor, asked.device)
    if not asked.is_floating_point():
        raise TypeError(f"Module.to({asked.dtype}): parameters are floats and stay floats. "
                        "Ask for float16, float32 or float64.")
    return asked


# %% [markdown]
# ## Children with numbers for names
#
# `Sequential` and `ModuleList` keep their modules under the names "0", "1", ...: attributes like any other,
# so no walk needs to know about them. Which attributes these are is asked at every call of a chain, so the
# answer is kept, in a dictionary (which no walk opens), until an attribute changes.

# %%
#| export
class Numbered:
    """What a sequence of modules can do: indexing, slicing, len, iteration, append, insert, +."""
    def _named(self):
        """The modules by name, in order; not to be changed."""
        links = vars(self).get("_links")
        if links is None:
            links = {name: child for name, child in vars(self).items() if isinstance(child, ModuleBase)}
            vars(self)["_links"] = links
        return links

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        vars(self).pop("_links", None)

    def __delattr__(self, name):
        super().__delattr__(name)
        vars(self).pop("_links", None)

    def _name_at(self, index):
        names = list(self._named())
        if not -len(names) <= index < len(names):
            raise IndexError(f"index {index} is out of range: this {type(self).__name__} has {len(names)} "
                             "modules.")
        return names[index]

    def _refill(self, modules):
        modules = list(modules)
        for name in self._named():
            delattr(self, name)
        return self.extend(modules)

    def _slice(self, index):
        part = type(self)()
        for name, module in list(self._named().items())[index]:
            part.add_module(name, module)
        return part

    def __len__(self): return len(self._named())
    def __iter__(self): return iter(self._named().values())
    def __dir__(self): return [name for name in super().__dir__() if not name.isdigit()]

    def __getitem__(self, index):
        return self._slice(index) if isinstance(index, slice) else vars(self)[self._name_at(index)]

    def __setitem__(self, index, module): setattr(self, self._name_at(index), module)

    def __delitem__(self, index):
        modules = list(self)
        del modules[index]
        self._refill(modules)

    def append(self, module):
        """Add a module at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Add several modules at the end; returns self."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index, module):
        """Put a module before the one at `index`; those behind it get new numbers."""
        modules = list(self)
        modules.insert(index, module)
        return self._refill(modules)

    def pop(self, index=-1):
        """Take out a module and return it."""
        module = self[index]
        del self[index]
        return module

    def __add__(self, other): return type(self)().extend(self).extend(other)
    def __iadd__(self, other): return self.extend(other)
