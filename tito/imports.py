"""The import block of an exported file: sorted as ruff sorts it. Pure."""

import re
import sys
from dataclasses import dataclass

WIDTH = 100


@dataclass(frozen=True)
class Import:
    """`import module [as alias]`, or with a name `from module import name [as alias]`."""

    module: str
    name: str = ""
    alias: str = ""

    @property
    def binds(self) -> str:
        return self.alias or self.name or self.module.split(".")[0]


def block(wanted: dict[Import, int]) -> list[tuple[str, int | None]]:
    """The lines of the block, each with the line of the dev file that it comes from."""
    sections: dict[int, list[tuple[str, int | None]]] = {}
    for statement, line in _statements(wanted):
        module = statement.split()[1]
        sections.setdefault(_section(module), []).extend(
            (text, line) for text in statement.split("\n")
        )
    lines: list[tuple[str, int | None]] = []
    for _, section in sorted(sections.items()):
        lines += [("", None)] * bool(lines) + section
    return lines


def _section(module: str) -> int:
    root = module.split(".")[0]
    if root == "__future__":
        return 0
    if root in sys.stdlib_module_names:
        return 1
    return 3 if root == "tinytorch" else 2


def _statements(wanted: dict[Import, int]) -> list[tuple[str, int]]:
    plain = [i for i in wanted if not i.name]
    plain.sort(key=lambda i: (_module_key(i.module), i.alias))
    found = [(f"import {i.module}" + _as(i), wanted[i]) for i in plain]
    groups: dict[tuple, list[Import]] = {}
    for item in wanted:
        if item.name:  # an alias has a line of its own, the others of a module share one
            own = (item.name, item.alias) if item.alias else ()
            groups.setdefault((item.module, own), []).append(item)
    for items in groups.values():
        items.sort(key=_member_key)
    for items in sorted(groups.values(), key=_first_key):
        line = min(wanted[i] for i in items)
        found.append((_from(items[0].module, [i.name + _as(i) for i in items]), line))
    return found


def _first_key(items: list[Import]) -> tuple:
    return (_module_key(items[0].module), _member_key(items[0]))


def _as(item: Import) -> str:
    return f" as {item.alias}" if item.alias else ""


def _from(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


def _module_key(module: str) -> tuple:
    return (_natural(module.lower()), _natural(module))


def _natural(name: str) -> list:
    """conv2 comes before conv10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _member_key(item: Import) -> tuple:
    """Constants, then classes, then functions, as isort has them."""
    name = item.name
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return (kind, _natural(name.lower()), _natural(name), item.alias)
