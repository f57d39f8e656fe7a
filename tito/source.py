"""A dev file as text and as cells: markers, directives, exercise regions. Pure, no files."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tito.errors import TitoError, sentence
from tito.scan import comments

DIRECTIVES = ("default_exp", "export", "exporti")
SOLUTION, HIDDEN = "SOLUTION", "HIDDEN TESTS"

_MARKER = re.compile(r"#\s*%%+(?:\s+(.*))?$")
_KIND = re.compile(r"\[(markdown|md|raw)\]")
_DIRECTIVE = re.compile(r"#\s*\|\s*([A-Za-z_]\w*)\s*:?\s*(\S*)\s*$")
_REGION = re.compile(r"#+\s*(BEGIN|END)\s+(SOLUTION|HIDDEN TESTS)\s*$")
_ALMOST_REGION = re.compile(r"#+\s*(begin|end)\s+(solution|hidden)|###\s*(begin|end)\b", re.I)
_TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")


@dataclass(frozen=True)
class Cell:
    """One cell. `line` is the line of its first text line, 1-based, in the file's percent form."""

    kind: str  # "code", "markdown" or "raw"
    text: str
    line: int = 1
    header: str = ""  # what stands after `# %%`, kept as it was written
    source: str = ""  # the file's name, for messages
    number: int = 0  # the cell's number in a notebook; 0 in a text file

    def at(self, line: int) -> str:
        """The place of a line of the file, as a message names it."""
        if self.number:
            return f"{self.source}, cell {self.number}, line {line - self.line + 1}"
        return f"{self.source}:{line}" if self.source else f"line {line}"

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")


@dataclass(frozen=True)
class Directive:
    name: str
    argument: str
    line: int


@dataclass(frozen=True)
class Region:
    kind: str  # SOLUTION or HIDDEN
    start: int  # the line of the BEGIN marker
    end: int  # the line of the END marker


@dataclass(frozen=True)
class Exercise:
    """What a student writes: `id` is the qualified name, `start` and `end` the markers' lines."""

    id: str
    start: int
    end: int


# Text to cells and back


def read_percent(text: str, source: str = "") -> list[Cell]:
    """The cells of a py:percent file. Text before the first `# %%` is a code cell of its own."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    marks = [(0, "")] if not _has_yaml(lines) else [(_yaml_end(lines), "")]
    for token in comments(text):
        found = _MARKER.match(token.text)
        if not found or not token.first:
            continue
        if token.column:
            place = f"{source}:{token.line}" if source else f"line {token.line}"
            raise TitoError(
                f"{place}: an indented `# %%` would cut the code around it in two.",
                "Move it to the first column, or write the comment without `%%`.",
            )
        marks.append((token.line, (found.group(1) or "").strip()))
    ends = [line - 1 for line, _ in marks[1:]] + [len(lines)]
    cells = [
        _cell(lines[begin:end], begin + 1, header, source)
        for (begin, header), end in zip(marks, ends, strict=True)
    ]
    return cells if cells[0].text else cells[1:]


def _has_yaml(lines: list[str]) -> bool:
    return lines[0].rstrip() == "# ---" and _yaml_end(lines) > 0


def _yaml_end(lines: list[str]) -> int:
    """How many lines jupytext's header takes; 0 where there is none."""
    for i, line in enumerate(lines[1:], 1):
        if line.rstrip() == "# ---":
            return i + 1
        if not line.startswith("#"):
            return 0
    return 0


def _cell(lines: list[str], line: int, header: str, source: str) -> Cell:
    kind = _KIND.search(header)
    if kind:
        lines, skipped = _uncomment(lines)
        line += skipped
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    while lines and not lines[0].strip():
        lines, line = lines[1:], line + 1
    name = {"md": "markdown"}.get(kind.group(1), kind.group(1)) if kind else "code"
    return Cell(name, "\n".join(lines), line, header, source)


def _uncomment(lines: list[str]) -> tuple[list[str], int]:
    """The text of a markdown cell, and how many lines were cut from its top."""
    body = "\n".join(lines).strip()
    quoted = re.fullmatch(r"[rR]?(\"\"\"|''')(.*)\1", body, re.DOTALL)
    if quoted:
        above = next(i for i, line in enumerate(lines) if line.strip())
        inner = quoted.group(2).split("\n")
        return inner, above
    return [re.sub(r"^# ?", "", line) for line in lines], 0


def write_percent(cells: list[Cell]) -> str:
    """The py:percent file of these cells; read_percent gives the same cells back."""
    return "\n\n".join(block(cell) for cell in cells) + "\n"


def block(cell: Cell) -> str:
    """One cell of a py:percent file, without the empty line after it."""
    header = cell.header
    if cell.kind != "code" and not _KIND.search(header):
        header = f"[{cell.kind}] {header}".rstrip()
    mark = f"# %% {header}".rstrip()
    if not cell.text:
        return mark
    if cell.kind == "code":
        return f"{mark}\n{cell.text}"
    if _is_quoted(cell):
        return f'{mark}\nr"""\n{cell.text}\n"""'
    return "\n".join([mark, *(f"# {line}".rstrip() for line in cell.lines)])


def first_line(cell: Cell) -> int:
    """How many lines of its block stand above a cell's text."""
    return 2 if _is_quoted(cell) else 1


def _is_quoted(cell: Cell) -> bool:
    """Whether the text must be a string: as a comment it would be read as a cell marker."""
    return cell.kind != "code" and re.search(r"^%%", cell.text, re.MULTILINE) is not None


# Directives


def directives(cell: Cell) -> list[Directive]:
    """The `#|` lines on top of a code cell. An unknown or misplaced one is an error."""
    if cell.kind != "code":
        return []
    found, head = [], True
    leading = _leading(cell)
    for token in comments(cell.text):
        line = cell.line + token.line - 1
        match = _DIRECTIVE.match(token.text)
        head = token.line <= leading and token.column == 0
        if match and head:
            found.append(_directive(match, cell, line))
        elif token.text.startswith("#|") or (match and match.group(1) in DIRECTIVES):
            raise TitoError(
                f"{cell.at(line)}: `{token.text.strip()}` is out of place.",
                "Directives stand on the first lines of a cell, before any code, like `#| export`.",
            )
    _one_of_each(found, cell)
    return found


def _leading(cell: Cell) -> int:
    """How many lines at the top of a cell are blank or directives."""
    for i, line in enumerate(cell.lines):
        if line.strip() and not _DIRECTIVE.match(line):
            return i
    return len(cell.lines)


def _directive(match: re.Match, cell: Cell, line: int) -> Directive:
    name, argument = match.groups()
    if name not in DIRECTIVES:
        raise TitoError(f"{cell.at(line)}: `#| {name}` is no directive.", _did_you_mean(name))
    if name == "default_exp" and not argument:
        raise TitoError(
            f"{cell.at(line)}: `#| default_exp` names no target.",
            "Write where the code goes: `#| default_exp core.tensor`.",
        )
    if argument and not _TARGET.match(argument):
        raise TitoError(
            f"{cell.at(line)}: `{argument}` is no target.",
            "A target is a dotted name inside tinytorch, like `core.tensor`.",
        )
    return Directive(name, argument.removeprefix("tinytorch."), line)


def _did_you_mean(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, DIRECTIVES, 1, 0.6)
    known = ", ".join(f"`#| {d}`" for d in DIRECTIVES)
    return f"Did you mean `#| {close[0]}`? There are {known}." if close else f"There are {known}."


def _one_of_each(found: list[Directive], cell: Cell) -> None:
    exports = [d for d in found if d.name != "default_exp"]
    defaults = [d for d in found if d.name == "default_exp"]
    for group in (exports, defaults):
        if len(group) > 1:
            raise TitoError(
                f"{cell.at(group[1].line)}: a second `#| {group[1].name}` in one cell.",
                "A cell goes to one place; split it in two.",
            )


# Regions and exercises


def regions(cell: Cell) -> list[Region]:
    """The solution and hidden-test regions of a code cell, in order."""
    found: list[Region] = []
    opened: tuple[str, int] | None = None
    if cell.kind != "code":
        return found
    for token in comments(cell.text):
        if not _ALMOST_REGION.match(token.text):
            continue
        line = cell.line + token.line - 1
        match = _REGION.match(token.text)
        if not match or not token.first:
            raise TitoError(
                f"{cell.at(line)}: `{token.text.strip()}` marks no region.",
                "A marker is a line of its own: ### BEGIN SOLUTION, ### END SOLUTION, "
                "### BEGIN HIDDEN TESTS or ### END HIDDEN TESTS.",
            )
        opened = _step(match.group(1), match.group(2), line, opened, cell, found)
    if opened:
        raise TitoError(
            f"{cell.at(opened[1])}: this {opened[0]} region is not closed in its cell.",
            f"Write `### END {opened[0]}` where it ends.",
        )
    return found


def _step(word, kind, line, opened, cell, found):
    """Takes one marker in; answers the region that is then open."""
    if word == "BEGIN":
        if opened:
            raise TitoError(
                f"{cell.at(line)}: a {kind} region inside the one opened at line "
                f"{_relative(cell, opened[1])}.",
                "Regions do not nest: close the first one before.",
            )
        return kind, line
    if not opened or opened[0] != kind:
        inside = f"; the open region is {opened[0]}" if opened else ""
        raise TitoError(
            f"{cell.at(line)}: `### END {kind}` closes nothing{inside}.",
            f"Write `### BEGIN {kind}` before it, or remove it.",
        )
    found.append(Region(kind, opened[1], line))
    return None


def _relative(cell: Cell, line: int) -> int:
    return line - cell.line + 1 if cell.number else line


def exercises(cells: list[Cell]) -> list[Exercise]:
    """What is asked of the student, in order: one for each solution region."""
    found: list[Exercise] = []
    for cell in cells:
        solutions = [r for r in regions(cell) if r.kind == SOLUTION]
        if not solutions:
            continue
        tree = parse(cell)
        for region in solutions:
            id = _qualified_name(tree, cell, region)
            if any(e.id == id for e in found):
                raise TitoError(
                    f"{cell.at(region.start)}: a second solution region for `{id}`.",
                    "An exercise is one region in one definition: merge the two, or rename.",
                )
            found.append(Exercise(id, region.start, region.end))
    return found


def unsolved(cells: list[Cell]) -> tuple[int, int]:
    """How many exercises there are, and how many of them nobody has begun."""
    asked = left = 0
    for cell in cells:
        raising = stubs(cell)
        for region in regions(cell):
            if region.kind == SOLUTION:
                asked += 1
                left += any(region.start < line < region.end for line in raising)
    return asked, left


def stubs(cell: Cell) -> list[int]:
    """The lines of a cell at which an exercise that nobody has solved yet raises."""
    return [
        line
        for region in regions(cell)
        for line in range(region.start + 1, region.end)
        if region.kind == SOLUTION and _is_stub(cell.lines[line - cell.line])
    ]


def _is_stub(line: str) -> bool:
    return line.strip().startswith("raise NotImplementedError(") and "not written yet" in line


def parse(cell: Cell) -> ast.Module:
    """The cell's syntax tree, its lines numbered as in the file."""
    try:
        return ast.parse("\n" * (cell.line - 1) + cell.text)
    except (SyntaxError, ValueError) as error:  # ValueError: a null byte
        line = getattr(error, "lineno", None) or cell.line
        reason = getattr(error, "msg", None) or str(error)
        raise TitoError(
            f"{cell.at(line)}: Python cannot read this cell: {sentence(reason)}",
            "Correct the line (or the one above it), then try again.",
        ) from None


def _qualified_name(tree: ast.Module, cell: Cell, region: Region) -> str:
    names, body = [], tree.body
    while True:
        inner = [
            node
            for statement in body
            for node in _definitions(statement)
            if node.lineno <= region.start <= node.end_lineno
        ]
        if not inner:
            break
        names.append(inner[0].name)
        body = inner[0].body
    if not names:
        raise TitoError(
            f"{cell.at(region.start)}: this solution region stands in no function or class.",
            "An exercise takes its name from the definition around it.",
        )
    return ".".join(names)


def _definitions(node: ast.AST) -> Iterator[ast.AST]:
    """The definitions in a statement that are not inside another definition."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _definitions(child)


# What a student gets


def strip(text: str, module_name: str, source: str = "") -> str:
    """The file without solutions (a stub raises in their place) and hidden tests.

    The markers of a solution stay: they show where to write, and name the exercise.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    cells = read_percent(text, source)
    ids = {e.start: e.id for e in exercises(cells)}
    for cell in reversed(cells):
        for region in reversed(regions(cell)):
            if region.kind == HIDDEN:
                lines[region.start - 1 : region.end] = []
            else:
                indent = re.match(r"\s*", lines[region.start - 1]).group()
                stub = f'raise NotImplementedError("{unwritten(module_name, ids[region.start])}")'
                lines[region.start : region.end - 1] = [indent + stub]
    return "\n".join(lines)


def unwritten(module_name: str, id: str) -> str:
    """The message of an exercise that nobody has solved yet."""
    return f"{module_name}: {id} is not written yet"
