# %% [markdown]
# # Containers
#
# Given code: nothing to solve here. Modules and parameters by number or by name. The items are attributes of
# the container, so every walk finds them.

# %%
#| default_exp nn.containers

# %%
from layers_dev import Module
from module_base_dev import Numbered
from parameter_dev import Parameter

from tinytorch.core.tensor import Tensor

# %% [markdown]
# ## Modules

# %%
#| export
class ModuleList(Numbered, Module):
    """Modules by number, to be called as `forward` of its owner likes."""
    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules or ())

    def _slice(self, index): return type(self)(list(self)[index])

    def _repr_children(self):
        """Neighbours that print alike share a line: (0-11): 12 x Block(...)."""
        lines, runs = super()._repr_children(), []
        for i, line in enumerate(lines):
            text = line.partition("): ")[2]
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        return [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}"
                for a, b, text in runs]


class Named:
    """What a dictionary of modules or parameters can do; the items are attributes."""
    _kind = Module

    def _items(self):
        return {name: item for name, item in vars(self).items() if isinstance(item, self._kind)}

    def __getitem__(self, key):
        if key not in self:
            raise KeyError(f"{key!r}: this {type(self).__name__} has {', '.join(self) or 'nothing'}.")
        return vars(self)[key]

    def __delitem__(self, key):
        self[key]                                      # a KeyError if there is none
        delattr(self, key)

    def __contains__(self, key): return key in self._items()
    def __len__(self): return len(self._items())
    def __iter__(self): return iter(self._items())
    def keys(self): return self._items().keys()
    def values(self): return self._items().values()
    def items(self): return self._items().items()

    def pop(self, key):
        item = self[key]
        del self[key]
        return item

    def clear(self):
        for key in self._items():
            delattr(self, key)

    def update(self, other):
        """Take over the items of a dictionary, or of (name, item) pairs."""
        for key, item in other.items() if isinstance(other, (dict, Named)) else other:
            self[key] = item


class ModuleDict(Named, Module):
    """Modules by name."""
    def __init__(self, modules=None):
        super().__init__()
        self.update(modules or ())

    def __setitem__(self, key, module): self.add_module(key, module)


# %% [markdown]
# ## Parameters
#
# Tensors that are put in become parameters.

# %%
#| export
class ParameterList(Module):
    """Parameters by number."""
    def __init__(self, values=None):
        super().__init__()
        self.extend(values or ())

    def _items(self):
        return [item for item in vars(self).values() if isinstance(item, Parameter)]

    def _at(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range: this ParameterList has {len(self)} parameters.")
        return str(index % len(self))

    def __len__(self): return len(self._items())
    def __iter__(self): return iter(self._items())

    def __getitem__(self, index):
        items = self._items()
        return type(self)(items[index]) if isinstance(index, slice) else vars(self)[self._at(index)]

    def __setitem__(self, index, value): self.register_parameter(self._at(index), as_parameter(value))

    def append(self, value):
        """Add a parameter at the end; returns self."""
        self.register_parameter(str(len(self)), as_parameter(value))
        return self

    def extend(self, values):
        """Add several at the end; returns self."""
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values): return self.extend(values)
    def extra_repr(self): return "\n".join([f"  ({i}): {described(p)}" for i, p in enumerate(self)])


class ParameterDict(Named, Module):
    """Parameters by name."""
    _kind = Parameter

    def __init__(self, parameters=None):
        super().__init__()
        self.update(parameters or ())

    def __setitem__(self, key, value): self.register_parameter(key, as_parameter(value))
    def extra_repr(self): return "\n".join([f"  ({name}): {described(p)}" for name, p in self.items()])


def as_parameter(value):
    """`value` itself if it is a parameter, a parameter with its memory if it is another tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"expected a tensor, got {type(value).__name__}. Wrap it: Parameter(value).")
    return value if isinstance(value, Parameter) else Parameter(value)


def described(parameter):
    size = "x".join([str(n) for n in parameter.shape])
    return f"Parameter containing: [torch.{parameter.dtype} of size {size}]"
