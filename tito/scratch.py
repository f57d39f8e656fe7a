"""A course folder for a moment: a copy in which a run may write what it likes."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import cache_from_source
from pathlib import Path

from tito import export
from tito.workspace import Module, Workspace, write_text

_CACHES = shutil.ignore_patterns("__pycache__", ".*_cache", ".hypothesis", ".ipynb_checkpoints")


@contextmanager
def scratch_course(workspace: Workspace, modules: Iterable[Module]) -> Iterator[Workspace]:
    """A copy of the course with its package and these modules, their tests and the data."""
    with tempfile.TemporaryDirectory(prefix="tito-", ignore_cleanup_errors=True) as folder:
        copy = replace(workspace, root=Path(folder).resolve())
        shutil.copytree(workspace.package, copy.package)  # compiled files too: it starts sooner
        for module in modules:
            _copy(module.folder, copy.modules_folder / module.name)
            _copy(workspace.tests(module), copy.root / "tests" / module.name)
        for shared in ("conftest.py", "__init__.py"):
            _copy(workspace.root / "tests" / shared, copy.root / "tests" / shared)
        _copy(workspace.root / "datasets", copy.root / "datasets")
        yield copy


def _copy(source: Path, to: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, to, ignore=_CACHES)
    elif source.is_file():
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, to)


def export_afresh(course: Workspace, module: Module) -> None:
    """Exports a module. No compiled file of before is left, as Python would take it for valid if
    the new text has the same length and the same second."""
    for path in export.export(course, module).changed:
        Path(cache_from_source(path)).unlink(missing_ok=True)


def as_script(module: Module, text: str) -> None:
    """Gives the lesson this text, as a .py file also where it was a notebook."""
    lesson = module.lesson
    write_text(lesson.with_suffix(".py"), text)
    if lesson.suffix == ".ipynb":
        lesson.unlink()
