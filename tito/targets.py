"""A module's dev files as the exporter sees them: what each cell gives to which target."""

import ast
from dataclasses import dataclass, field
from pathlib import Path

from tito import names
from tito.errors import TitoError
from tito.imports import Import
from tito.scan import tokens
from tito.source import (
    HIDDEN,
    Cell,
    Directive,
    directives,
    parse,
    read_percent,
    regions,
    write_percent,
)
from tito.workspace import Module, Workspace, read_text

_DEFINITIONS = (*names.FUNCTIONS, ast.ClassDef)


@dataclass
class Piece:
    """An exported cell: its syntax tree counts lines as the dev file does."""

    cell: Cell
    directive: Directive
    tree: ast.Module


@dataclass
class Target:
    """One file of the package, as the dev file describes it."""

    name: str
    dev: "Dev"
    line: int
    pieces: list[Piece] = field(default_factory=list)
    bound: dict[str, int] = field(default_factory=dict)
    public: list[str] = field(default_factory=list)
    rebound: dict[str, int] = field(default_factory=dict)


@dataclass
class Imported:
    """An import at the top level of some code cell."""

    what: Import
    line: int
    cell: Cell
    target: str | None  # the target of the cell; None where the cell is not exported


@dataclass
class Dev:
    """A dev file, read."""

    path: Path
    label: str  # its path from the course folder
    text: str
    cells: list[Cell]
    targets: dict[str, Target] = field(default_factory=dict)
    imports: list[Imported] = field(default_factory=list)
    future: dict[Import, int] = field(default_factory=dict)
    unexported: dict[str, str] = field(default_factory=dict)  # name: where a plain cell defines it

    def at(self, line: int) -> str:
        """The place of a line as messages name it."""
        inside = [cell for cell in self.cells if cell.line <= line]
        return (inside or self.cells)[-1 if inside else 0].at(line)


def read_module(workspace: Workspace, module: Module) -> list[Dev]:
    """Every dev file of the module, the lesson first."""
    return [read_dev(workspace, path) for path in module.dev_files]


def read_dev(workspace: Workspace, path: Path) -> Dev:
    return _dev(*read_source(workspace, path))


def read_cells(workspace: Workspace, path: Path) -> list[Cell]:
    """The cells of one dev file."""
    return read_source(workspace, path)[3]


def read_source(workspace: Workspace, path: Path) -> tuple[Path, str, str, list[Cell]]:
    """(path, label, text, cells) of a dev file, of the form that counts; nothing is checked."""
    text, notebook = path.with_suffix(".py"), path.with_suffix(".ipynb")
    both = text.is_file() and notebook.is_file()
    if both and workspace.prefer is None:
        _same(workspace, text, notebook)
    if (both and workspace.prefer == "ipynb") or not text.is_file():
        return notebook, workspace.relative(notebook), *_notebook(workspace, notebook)
    label = workspace.relative(text)
    content = read_text(text)
    return text, label, content, read_percent(content, label)


def _notebook(workspace, path):
    from tito.notebook import read_notebook

    cells = read_notebook(path.read_bytes(), workspace.relative(path))
    return write_percent(cells), cells  # outputs are no part of the source


def _same(workspace, text: Path, notebook: Path) -> None:
    label = workspace.relative(text)
    one = [(c.kind, c.text) for c in read_percent(read_text(text), label) if c.text]
    _, cells = _notebook(workspace, notebook)
    if one != [(c.kind, c.text) for c in cells if c.text]:
        raise TitoError(
            f"{label} and {notebook.name} are both there and differ.",
            "Say which one counts: --from py or --from ipynb (or remove the other).",
        )


def _dev(path: Path, label: str, text: str, cells: list[Cell]) -> Dev:
    dev = Dev(path, label, text, cells)
    found = [(cell, directives(cell)) for cell in cells]
    default = _default(found)
    for cell, given in found:
        if cell.kind != "code":
            continue
        regions(cell)  # an open or nested one is an error in every cell
        export = next((d for d in given if d.name != "default_exp"), None)
        if export:
            _export(dev, cell, export, default)
        else:
            _plain(dev, cell)
    if default and default.argument not in dev.targets:
        cell = next(c for c, given in found if default in given)
        raise TitoError(
            f"{cell.at(default.line)}: nothing is exported to {default.argument}.",
            "Put `#| export` on top of the cells that belong there.",
        )
    return dev


def _default(found: list[tuple[Cell, list[Directive]]]) -> Directive | None:
    default = None
    for cell, given in found:
        for directive in given:
            if directive.name == "default_exp":
                if default:
                    raise TitoError(
                        f"{cell.at(directive.line)}: a second `#| default_exp`.",
                        f"The first is at line {default.line}; "
                        f"write `#| export {directive.argument}` on the cells that go elsewhere.",
                    )
                default = directive
    return default


def _export(dev: Dev, cell: Cell, directive: Directive, default: Directive | None) -> None:
    name = directive.argument or (default.argument if default else "")
    if not name:
        raise TitoError(
            f"{cell.at(directive.line)}: `#| {directive.name}` has no target.",
            "Name it once in the file, `#| default_exp core.tensor`, or here, "
            f"`#| {directive.name} core.tensor`.",
        )
    tree = parse(cell)
    if not tree.body:
        raise TitoError(
            f"{cell.at(directive.line)}: this exported cell has no code.",
            f"Write the code under the directive, or remove `#| {directive.name}`.",
        )
    hidden = [r for r in regions(cell) if r.kind == HIDDEN]
    if hidden:
        raise TitoError(
            f"{cell.at(hidden[0].start)}: hidden tests in an exported cell.",
            "Tests stand in cells of their own, without `#| export`.",
        )
    target = dev.targets.setdefault(name, Target(name, dev, directive.line))
    _no_duplicates(target, cell, tree)
    target.pieces.append(Piece(cell, directive, tree))
    target.bound = names.bound(tree) | target.bound
    if "global" in cell.text:
        target.rebound = names.rebound(tree) | target.rebound
    if directive.name == "export":
        target.public += [n for n in names.public(tree) if n not in target.public]
    _imports(dev, cell, tree, name)


def _no_duplicates(target: Target, cell: Cell, tree: ast.Module) -> None:
    before = {n: (line, s) for p in target.pieces for n, line, s in names.definitions(p.tree.body)}
    for name, line, statement in names.definitions(tree.body):
        if name == "__all__":
            raise TitoError(
                f"{cell.at(line)}: `__all__` is written by the exporter.",
                "It holds the public names of the `#| export` cells; remove this one.",
            )
        first = before.setdefault(name, (line, statement))
        if first[1] is not statement and _defines_again(name, first[0], statement, cell):
            raise TitoError(
                f"{cell.at(line)}: `{name}` is defined twice in {target.name}; "
                f"the first is at {target.dev.at(first[0])}.",
                "Rename one, or send it to another target: `#| export other.target`.",
            )


def _defines_again(name: str, first: int, statement: ast.stmt, cell: Cell) -> bool:
    """`f = wrapped(f)` goes on with a name, and a cell may assign one twice; `_` is no name."""
    is_definition = isinstance(statement, _DEFINITIONS)
    parts = statement.decorator_list if is_definition else [statement]
    goes_on = any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for part in parts
        for node in ast.walk(part)
    )
    return name != "_" and not goes_on and (is_definition or first < cell.line)


def _plain(dev: Dev, cell: Cell) -> None:
    """A cell that is not exported still gives its imports, if Python can read it."""
    try:
        tree = parse(cell)
    except TitoError:
        return  # it is the tests' business
    _imports(dev, cell, tree, None)
    for name, line in names.bound(tree).items():
        dev.unexported.setdefault(name, cell.at(line))


def _imports(dev: Dev, cell: Cell, tree: ast.Module, target: str | None) -> None:
    for node in names.imports(tree):
        if isinstance(node, ast.Import):
            found = [Import(a.name, "", a.asname or "") for a in node.names]
        else:
            found = _from(node, cell, target)
        if any(i.module == "__future__" for i in found):
            dev.future |= {i: node.lineno for i in found}
        else:
            dev.imports += [Imported(i, node.lineno, cell, target) for i in found]


def _from(node: ast.ImportFrom, cell: Cell, target: str | None) -> list[Import]:
    if target and node.level:
        raise TitoError(
            f"{cell.at(node.lineno)}: a relative import cannot work in a lesson.",
            "Write the package's name: from tinytorch.core.op import op",
        )
    if target and node.names[0].name == "*":
        raise TitoError(
            f"{cell.at(node.lineno)}: `import *` hides which names are used.",
            "Name what you import.",
        )
    if node.level or node.names[0].name == "*":
        return []
    return [
        Import(node.module, a.name, "" if a.asname in (None, a.name) else a.asname)
        for a in node.names
    ]


def code_lines(piece: Piece) -> list[tuple[str, int]]:
    """The cell's text as it goes to the package, each line with its line in the dev file."""
    cell = piece.cell
    moved = names.imports(piece.tree)
    dropped = {line for node in moved for line in range(node.lineno, node.end_lineno + 1)}
    for node in piece.tree.body:
        if node not in moved and not dropped.isdisjoint((node.lineno, node.end_lineno)):
            raise TitoError(
                f"{cell.at(node.lineno)}: an import and other code share this line.",
                "Give the import a line of its own.",
            )
    dropped |= {d.line for d in directives(cell)}
    dropped |= {line for r in regions(cell) for line in (r.start, r.end)}
    inside = _lines_that_end_in_strings(cell)
    lines = [
        (text if n in inside else text.rstrip(), n)
        for n, text in enumerate(cell.lines, cell.line)
        if n not in dropped
    ]
    while lines and not lines[0][0]:
        lines.pop(0)
    while lines and not lines[-1][0]:
        lines.pop()
    return lines


def _lines_that_end_in_strings(cell: Cell) -> set[int]:
    found: set[int] = set()
    for token in tokens(cell.text):
        first = cell.line + token.line - 1
        found.update(range(first, first + token.text.count("\n")))
    return found
