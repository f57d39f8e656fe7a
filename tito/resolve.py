"""Where each name that a target uses comes from: the imports its file gets."""

import ast
from dataclasses import dataclass, field

from tito import names
from tito.errors import TitoError
from tito.imports import Import
from tito.source import stubs
from tito.targets import Dev, Imported, Piece, Target


@dataclass
class Needs:
    """What a target's file imports, each with the line of the dev file that asks for it."""

    top: dict[Import, int] = field(default_factory=dict)
    end: dict[Import, int] = field(default_factory=dict)  # two files that need each other


@dataclass
class _Wanted:
    """One name of a target, resolved: the import, and whether only function bodies use it."""

    what: Import
    line: int  # of the import statement, or of the use where the exporter makes the import
    use: names.Use
    late: bool


def resolve(devs: list[Dev], later: dict[str, str]) -> dict[str, Needs]:
    """The imports of every target of a module.

    `later`: the targets of later modules, each with its module; nothing may import them.
    """
    targets = {name: target for dev in devs for name, target in dev.targets.items()}
    wanted = {name: _wanted(target, devs, later) for name, target in targets.items()}
    at_end = _at_end(targets, wanted)
    result = {}
    for name, target in targets.items():
        needs = Needs(top=dict(target.dev.future))
        for want in wanted[name]:
            block = needs.end if (name, _sibling(want, targets)) in at_end else needs.top
            block.setdefault(want.what, want.line)
        result[name] = needs
    return result


def _sibling(want: _Wanted, targets: dict[str, Target]) -> str:
    """The target of the same module that the import names; "" where it names none."""
    name = want.what.module.removeprefix("tinytorch.")
    return name if want.what.module.startswith("tinytorch.") and name in targets else ""


def _wanted(target: Target, devs: list[Dev], later: dict[str, str]) -> list[_Wanted]:
    _globals(target)
    lazy = any(i.name == "annotations" for i in target.dev.future)
    uses = [(use, piece) for piece in target.pieces for use in names.uses(piece.tree, lazy)]
    found: list[_Wanted] = []
    done: dict[str, list[_Wanted]] = {}
    for use, piece in uses:
        if use.name in target.bound:
            continue
        if use.name not in done:
            origin = _origin(use, piece.cell, target, devs)
            if origin is None and _is_unsolved(use, piece):
                continue  # what its solution will define
            if origin is None:
                raise _undefined(use, piece.cell, target.dev)
            done[use.name] = origin
            found += origin
        for want in done[use.name]:
            want.late = want.late and use.late
    _no_stale_globals(target, found, devs)
    _only_down(target, found, later)
    return found


def _globals(target: Target) -> None:
    """A function binds names of its own file through `global`, never those of another."""
    for name, line in target.rebound.items():
        homes = [t.name for t in target.dev.targets.values() if name in t.bound]
        if homes and target.name not in homes:
            raise TitoError(
                f"{target.dev.at(line)}: `global {name}` would not reach the `{name}` of "
                f"{homes[0]}.",
                "Export both cells to one target, or write it through a function there.",
            )
        target.bound.setdefault(name, line)  # only the function binds it


def _is_unsolved(use: names.Use, piece: Piece) -> bool:
    """Whether the innermost function around an exercise that is not written yet uses the name."""
    for line in stubs(piece.cell):
        around = [node for node in ast.walk(piece.tree) if isinstance(node, names.FUNCTIONS)
                  and node.lineno <= line <= node.end_lineno]
        inner = max(around, key=lambda node: node.lineno, default=None)
        if inner and inner.lineno <= use.line <= inner.end_lineno:
            return True
    return False


def _origin(use: names.Use, cell, target: Target, devs: list[Dev]) -> list[_Wanted] | None:
    """Own imports, then the lesson's other targets, then its other imports, then builtins.

    None where none of them has the name.
    """
    dev = target.dev
    own = [i for i in dev.imports if i.what.binds == use.name and i.target == target.name]
    other = [i for i in dev.imports if i.what.binds == use.name and i.target != target.name]
    homes = [t for t in dev.targets.values() if use.name in t.bound]
    if len(homes) > 1 and not own:
        raise TitoError(
            f"{cell.at(use.line)}: `{use.name}` is defined in {homes[0].name} and in "
            f"{homes[1].name}; which one is meant?",
            "Rename one of them.",
        )
    if homes and not own:
        what = Import(f"tinytorch.{homes[0].name}", use.name)
        return [_Wanted(what, use.line, use, True)]
    if own or other:
        return _imported(own or other, use, target, devs)
    if use.name in names.ALWAYS_THERE:
        return []
    return None


def _undefined(use: names.Use, cell, dev: Dev) -> TitoError:
    place = dev.unexported.get(use.name)
    hint = f"Define or import `{use.name}` in a cell of this file, or correct the name."
    if place:
        hint = f"It is defined in a cell that is not exported ({place}): put `#| export` there."
    return TitoError(
        f"{cell.at(use.line)}: `{use.name}` is used here but neither defined, imported nor "
        "exported.",
        hint,
    )


def _imported(found: list[Imported], use, target: Target, devs: list[Dev]) -> list[_Wanted]:
    kept: dict[Import, Imported] = {}
    for item in found:
        kept.setdefault(_translated(item, devs), item)
    several = len(kept) > 1 and not all(i.name == "" and not i.alias for i in kept)
    if several:
        places = " and ".join(item.cell.at(item.line) for item in list(kept.values())[:2])
        raise TitoError(
            f"`{use.name}` is imported from two places: {places}.",
            "Import it from one, or give one another name: import … as …",
        )
    return [_Wanted(what, item.line, use, True) for what, item in kept.items()]


def _translated(item: Imported, devs: list[Dev]) -> Import:
    """`from other_dev import name` names the target that the other dev file exports it to."""
    what, place = item.what, item.cell.at(item.line)
    root = what.module.split(".")[0]
    if root == "tito":
        raise TitoError(
            f"{place}: exported code uses `{what.binds}` from tito.",
            "tinytorch works without tito: use it only in cells that are not exported.",
        )
    if not root.endswith("_dev"):
        return what
    dev = next((d for d in devs if d.path.stem == root), None)
    if dev is None:
        raise TitoError(
            f"{place}: there is no {root}.py in this folder.",
            "What other modules built is imported from the package: from tinytorch.… import …",
        )
    if not what.name:
        raise TitoError(
            f"{place}: exported code cannot use a whole dev file.",
            f"Import the names: from {root} import …",
        )
    home = next((t for t in dev.targets.values() if what.name in t.bound), None)
    if home is None:
        raise TitoError(
            f"{place}: {root}.py exports no `{what.name}`.",
            "Put `#| export` on the cell that defines it, or import it from where it comes.",
        )
    return Import(f"tinytorch.{home.name}", what.name, what.alias)


def _no_stale_globals(target: Target, found: list[_Wanted], devs: list[Dev]) -> None:
    """A name that its home rebinds through `global` must not be imported: the copy goes stale."""
    homes = {f"tinytorch.{t.name}": t for dev in devs for t in dev.targets.values()}
    for want in found:
        home = homes.get(want.what.module)
        if home and want.what.name in home.rebound:
            raise TitoError(
                f"{target.dev.at(want.use.line)}: `{want.what.name}` is rebound by `global` in "
                f"{home.name}, so {target.name} would import a copy that goes stale.",
                "Read and write it through functions of its own file, or export both cells to "
                "one target.",
            )


def _only_down(target: Target, found: list[_Wanted], later: dict[str, str]) -> None:
    for want in found:
        module = want.what.module.removeprefix("tinytorch.")
        inside = f"{module}.{want.what.name}"
        builder = later.get(module) or later.get(inside)
        if builder and want.what.module.split(".")[0] == "tinytorch":
            raise TitoError(
                f"{target.dev.at(want.line)}: `{want.what.binds}` is built by {builder}, "
                "a later module.",
                "A module imports only what earlier ones export.",
            )


def _at_end(targets: dict[str, Target], wanted: dict[str, list[_Wanted]]) -> set[tuple[str, str]]:
    """The imports (who, from whom) that stand at the end of their file.

    A later target of the same lesson that only function bodies need goes there, and so does any
    other import between the module's files that would close a circle.
    """
    order = list(targets)
    firm: dict[tuple[str, str], _Wanted] = {}
    loose: dict[tuple[str, str], _Wanted] = {}
    for name in order:
        for want in wanted[name]:
            other = _sibling(want, targets)
            if other and other != name:
                (loose if want.late else firm).setdefault((name, other), want)
    graph: dict[str, set[str]] = {name: set() for name in order}
    for (name, other), want in firm.items():
        if name in _reach(graph, other):
            raise TitoError(
                f"{targets[name].dev.at(want.use.line)}: {name} needs `{want.what.name}` of "
                f"{other} when it is imported, and {other} needs {name}.",
                "Move one of the two definitions to the other's target.",
            )
        graph[name].add(other)
    at_end = set()
    for name, other in sorted(set(loose) - set(firm), key=lambda edge: _forward(edge, targets)):
        if _forward((name, other), targets) or name in _reach(graph, other):
            at_end.add((name, other))
        else:
            graph[name].add(other)
    return at_end


def _forward(edge: tuple[str, str], targets: dict[str, Target]) -> bool:
    """Whether the import points to a later target of the same lesson."""
    one, other = targets[edge[0]], targets[edge[1]]
    order = list(one.dev.targets.values())
    return one.dev is other.dev and order.index(other) > order.index(one)


def _reach(graph: dict[str, set[str]], start: str) -> set[str]:
    seen, todo = set(), [start]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += graph[name]
    return seen


