"""How the public faces hand on names: `tinytorch.relu` is `tinytorch.nn.activations.relu`.

A name is looked up when it is first asked for, so importing the package costs little, and a name whose
module is not finished says which module builds it.
"""

import sys
from importlib import import_module


def face(module, homes, parts=()):
    """The `__getattr__`, `__dir__` and `__all__` of the face `module`.

    homes: file below `tinytorch` -> the names it hands on, separated by blanks; `mul=multiply` hands on
    `multiply` under the name `mul`. parts: modules below this one that need no import of their own.
    """
    where = {}
    for home, names in homes.items():
        for name in names.split():
            public, _, inner = name.partition("=")
            where[public] = home, inner or public

    def __getattr__(name):
        if name in parts:
            return import_module(f"{module}.{name}")
        if name not in where:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, inner = where[name]
        value = getattr(import_module(f"tinytorch.{home}"), inner)
        setattr(sys.modules[module], name, value)
        return value

    def __dir__():
        return sorted({*vars(sys.modules[module]), *where, *parts})

    return __getattr__, __dir__, list(where)
