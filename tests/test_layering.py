"""Who may import whom, read from the source: numbers only look down."""
import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GENERATED = re.compile(r"# Generated from modules/(\d\d)_\w+/")
IN_A_CHILD = {"tito/demo_digits.py"}       # scripts that tito runs in a process of their own
SPEAKING = {f"tito/{name}.py" for name in ("console", "inside", "runner", "measuring", "checks")}


@functools.cache
def parsed(path): return ast.parse(path.read_text(encoding="utf-8"), str(path))
def files(*folders): return [p for folder in folders for p in sorted((ROOT / folder).rglob("*.py"))]
def relative(path): return path.relative_to(ROOT).as_posix()


@functools.cache
def module_of(path):
    """The number of the module that built the file, or None for a face."""
    found = GENERATED.match(path.read_text(encoding="utf-8")[:80])
    return int(found.group(1)) if found else None


@functools.cache
def imports(path): return tuple(imported(path))


def imported(path):
    """Every module that the file imports, by its full name, also inside of functions."""
    package = [*path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[:len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *(node.module.split(".") if node.module else [])])
            inner = [f"{base}.{alias.name}" for alias in node.names]
            yield from [name for name in inner if is_module(name)] or [base]


@functools.cache
def is_module(name):
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def file_of(name):
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"


BUILT = [path for path in files("tinytorch") if module_of(path) is not None]


def test_the_package_is_there():
    """The checks below would pass on an empty folder"""
    assert {module_of(path) for path in BUILT} >= {1, 2, 3, 4, 5}
    assert "tinytorch/core/autograd.py" in map(relative, BUILT)


@pytest.mark.parametrize("path", files("tinytorch"), ids=relative)
def test_the_package_does_not_know_tito(path):
    assert [name for name in imports(path) if name.split(".")[0] == "tito"] == []


@pytest.mark.parametrize("path", files("tito"), ids=relative)
def test_tito_runs_the_package_in_a_child(path):
    """Student code never runs in tito's own process"""
    if relative(path) not in IN_A_CHILD:
        assert [name for name in imports(path) if name.split(".")[0] == "tinytorch"] == []
    assert [name for name in imports(path) if relative(file_of(name)) in IN_A_CHILD] == []


@pytest.mark.parametrize("path", BUILT, ids=relative)
def test_numbers_only_look_down(path):
    """What module N exports imports what modules up to N export, and never a face"""
    number = module_of(path)
    for name in imports(path):
        if name.split(".")[0] == "tinytorch":
            other = module_of(file_of(name))
            assert other is not None, f"{name} is a face: it hands on what later modules build"
            assert other <= number, f"module {number:02} imports {name} of module {other:02}"


@pytest.mark.parametrize("path", BUILT, ids=relative)
def test_what_the_package_may_depend_on(path):
    """NumPy and the standard library; CuPy and matplotlib only inside of the function in need"""
    allowed = {"tinytorch", "numpy", "cupy", "cupyx", "safetensors", "threadpoolctl", "tqdm", "matplotlib"}
    outside = {name.split(".")[0] for name in imports(path)} - allowed
    assert outside <= set(__import__("sys").stdlib_module_names), outside
    top = [name for node in parsed(path).body if isinstance(node, (ast.Import, ast.ImportFrom))
           for name in ([a.name for a in node.names] if isinstance(node, ast.Import)
                        else [node.module or ""])]
    heavy = ("cupy", "safetensors", "tqdm", "matplotlib")
    assert not [name for name in top if name.startswith(heavy)]


@pytest.mark.parametrize("path", [p for p in files("modules") if p.name.endswith("_dev.py")],
                         ids=relative)
def test_lessons_look_down_too(path):
    """A lesson imports its siblings by file name, and of the package what earlier modules built"""
    number = int(path.parent.name[:2])
    for name in imports(path):
        if name.startswith("tinytorch."):
            other = module_of(file_of(name))
            assert other is not None and other <= number, f"module {number:02} imports {name}"


def test_commands_never_import_each_other():
    for path in files("tito/commands"):
        assert [n for n in imports(path) if n.startswith("tito.commands.")
                and file_of(n) != path] == [], path


def test_one_place_starts_processes():
    users = {relative(path) for path in files("tito") if "subprocess" in imports(path)}
    assert users == {"tito/runner.py"}


@pytest.mark.parametrize("path",
                         files("tinytorch", "tito", "tests", "milestones", "benchmarks", "docs"),
                         ids=relative)
def test_files_are_short(path):
    """Under 400 lines, so that a file can be read"""
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines < 400


@pytest.mark.parametrize("path", files("tinytorch", "tito", "modules"), ids=relative)
def test_no_prints_in_the_package(path):
    """A library is silent: only lessons, the console and what runs in a child print"""
    prints = [node.lineno for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)
              and isinstance(node.func, ast.Name) and node.func.id == "print"]
    speaks = path.name.endswith("_dev.py") or relative(path) in IN_A_CHILD | SPEAKING
    assert speaks or prints == []
