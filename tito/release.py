"""A course folder made from the repository: lessons without solutions, stubs in the package."""

import ast
import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tito import export, stubs
from tito.errors import TitoError
from tito.source import SOLUTION, parse, read_percent, regions, strip
from tito.targets import read_dev, read_module
from tito.workspace import Module, Workspace, copy_over, read_text, write_text

TELLING = 20  # characters from which a line of a solution would give it away
_SAYS_LITTLE = re.compile(r"(raise|import|from|assert)\b|.*:$")  # a loop's head, an error
_LESSON_FILES = (".png", ".svg", ".jpg", ".gif", ".csv", ".txt", ".json", ".html")
_AUTHORS_FILES = ("equivalent_mutants.txt",)  # they quote solutions

IGNORED = """\
__pycache__/
.ipynb_checkpoints/
.pytest_cache/
.tito/*
!.tito/course.json
"""

README = """\
# My TinyTorch

In `modules/` are the lessons, in `tinytorch/` is the package that you build with them.
Each lesson says where to write: between `### BEGIN SOLUTION` and `### END SOLUTION`.

    tito list          what is done, and what comes next
    tito test {nn}       run a module's tests on your code
    tito export {nn}     put a finished module into tinytorch

The scripts in `milestones/` train something real with your package, up to 1998 after module 09 and the
others after 13: `python -m milestones.1998_lenet`, `python -m milestones.2018_gpt`, here in this folder.

Begin with `{lesson}`: open it in VS Code or JupyterLab, or run it with Python.
"""


@dataclass
class Solution:
    """The lines of one solution that would give it away."""

    place: str
    lines: set[str]


def make_course(source: Workspace, to: Path, start: int = 1) -> None:
    """Makes the course folder `to`, which must be new or empty, to begin at module `start`.

    Of the modules before it the package has the reference. Nothing is left behind if it fails.
    """
    to = Path(to).absolute()
    _must_be_new(to)
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tito-init-", dir=to.parent) as folder:
        course = Workspace(Path(folder))
        _fill(source, course, start)
        to.mkdir(exist_ok=True)
        for made in sorted(course.root.iterdir()):
            os.replace(made, to / made.name)


def _must_be_new(to: Path) -> None:
    if to.exists() and not to.is_dir():
        raise TitoError(f"{to} is a file.", "Name a folder that is not there yet: tito init DIR")
    if to.is_dir() and any(to.iterdir()):
        raise TitoError(
            f"{to} is not empty.",
            "Name a folder that is not there yet; tito never writes over your work.",
        )


def _fill(source: Workspace, course: Workspace, start: int) -> None:
    for module in source.modules:
        solutions = _module(source, course, module)
        _tests(source, course, module)
        _nothing_leaks(course, module, solutions)
    for name in ("conftest.py", "__init__.py"):
        copy_over(source.root / "tests" / name, course.root / "tests" / name)
    for name in ("datasets", "milestones"):
        copy_over(source.root / name, course.root / name)
    _package(source, course, start)
    first = next((m for m in source.modules if m.number >= start), None)
    if first is None:
        raise TitoError(
            f"There is no module {start} to begin at.", f"The last is {source.modules[-1].name}."
        )
    write_text(course.root / ".gitignore", IGNORED)
    lesson = source.relative(first.lesson)
    write_text(course.root / "README.md", README.format(nn=first.nn, lesson=lesson))
    made = {"version": 1, "start": start}
    write_text(course.state / "course.json", json.dumps(made, indent=2) + "\n")


# The lessons and their tests


def _module(source: Workspace, course: Workspace, module: Module) -> list[Solution]:
    """Copies a module's folder, stripped; answers the solutions that were in it."""
    to = course.modules_folder / module.name
    to.mkdir(parents=True)
    for path in sorted(module.folder.iterdir()):
        if path.name in _AUTHORS_FILES:
            continue
        if path.name in ("ABOUT.md", "HINTS.md") or path.suffix.lower() in _LESSON_FILES:
            copy_over(path, to / path.name)
    found: list[Solution] = []
    for path in module.dev_files:
        dev = read_dev(source, path)
        for cell in dev.cells:
            found += _solutions(cell)
        text = strip(dev.text, module.name, dev.label)
        _parses(text, dev.label)
        write_text(to / dev.path.name, _as_notebook(text) if dev.path.suffix == ".ipynb" else text)
    return found


def _as_notebook(text: str) -> str:
    from tito.notebook import write_notebook

    return write_notebook(read_percent(text))


def _solutions(cell) -> list[Solution]:
    found = []
    for region in regions(cell):
        inside = cell.lines[region.start - cell.line + 1 : region.end - cell.line]
        lines = {
            line
            for line in map(_bare, inside)
            if len(line) >= TELLING and not _SAYS_LITTLE.match(line)
        }
        if region.kind == SOLUTION and lines:
            found.append(Solution(cell.at(region.start), lines))
    return found


def _bare(line: str) -> str:
    """A line without its indentation and comment."""
    line = re.sub(r"\s{2,}#.*$", "", line).strip()
    return "" if line.startswith("#") else line


def _parses(text: str, label: str) -> None:
    for cell in read_percent(text, label):
        if cell.kind == "code":
            try:
                parse(cell)
            except TitoError as error:
                raise TitoError(
                    f"Without its solutions and hidden tests {label} is no Python: "
                    f"{error.message}",
                    "Close the region so that what is left around it is whole.",
                ) from None


def _tests(source: Workspace, course: Workspace, module: Module) -> None:
    folder = source.tests(module)
    files = sorted(folder.rglob("*")) if folder.is_dir() else []
    for path in files:
        inner = path.relative_to(folder)
        if not path.is_file() or any(p.startswith((".", "__pycache__")) for p in inner.parts):
            continue
        to = course.tests(module) / inner
        if path.suffix == ".py":
            label = source.relative(path)
            text = strip(read_text(path), module.name, label)
            _parses(text, label)
            write_text(to, text)
        else:
            copy_over(path, to)


# The package


def _package(source: Workspace, course: Workspace, start: int) -> None:
    """The faces as they are; each target as its reference (before `start`) or as a stub."""
    targets: set[Path] = set()
    for module in source.modules:
        given = module.number < start
        files = export.plan(source, module) if given else _stubs(source, module)
        for path, text in files.items():
            targets.add(path.relative_to(source.package))
            write_text(course.package / path.relative_to(source.package), text)
    for path in sorted(source.package.rglob("*")):
        inner = path.relative_to(source.package)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in inner.parts)
        if path.is_file() and inner not in targets and not hidden and not _is_built(path):
            copy_over(path, course.package / inner)


def _stubs(source: Workspace, module: Module) -> dict[Path, str]:
    return {
        source.target(name): stubs.text(
            name, stubs.Builder(module.name, module.number, dev.path.name, True)
        )
        for dev in read_module(source, module)
        for name in dev.targets
    }


def _is_built(path: Path) -> bool:
    """A left-over export holds solutions: it is not a face."""
    return path.suffix == ".py" and bool(export.built_by(path))


# Nothing leaks


def _nothing_leaks(course: Workspace, module: Module, solutions: list[Solution]) -> None:
    """No solution may stand in the code that students get with its module: neither left behind
    by the stripping nor written a second time by the author. Single lines that are alike happen;
    half of a solution's telling lines in one file is no accident."""
    folders = [course.modules_folder / module.name, course.tests(module)]
    for path in sorted(p for folder in folders if folder.is_dir() for p in folder.rglob("*")):
        if path.suffix not in (".py", ".ipynb"):
            continue
        places = {
            line: cell.at(n)
            for cell in _cells(course, path)
            for n, line in enumerate(_code_lines(cell), cell.line)
        }
        for solution in solutions:
            known = sorted(line for line in solution.lines if line in places)
            if 2 * len(known) > len(solution.lines):
                raise TitoError(
                    f"{places[known[0]]}: `{known[0]}` is a line of the solution at "
                    f"{solution.place}.",
                    "Students would see it: write one of the two differently, or move it.",
                )


def _cells(course: Workspace, path: Path):
    label = course.relative(path)
    if path.suffix == ".py":
        return [c for c in read_percent(read_text(path), label) if c.kind == "code"]
    from tito.notebook import read_notebook

    return [c for c in read_notebook(path.read_bytes(), label) if c.kind == "code"]


def _code_lines(cell) -> list[str]:
    """The lines of a cell, blank where they belong to a docstring."""
    lines = [_bare(line) for line in cell.lines]
    for node in ast.walk(parse(cell)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for n in range(node.lineno, node.end_lineno + 1):
                lines[n - cell.line] = ""
    return lines
