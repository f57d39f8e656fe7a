"""A course folder for a moment: a copy in which a run may write what it likes."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import cache_from_source
from pathlib import Path

from tito import export
from tito.workspace import Module, Workspace, copy_over, write_text


@contextmanager
def scratch_course(workspace: Workspace, modules: Iterable[Module]) -> Iterator[Workspace]:
    """A copy of the course with its package and these modules, their tests and the data."""
    with tempfile.TemporaryDirectory(prefix="tito-", ignore_cleanup_errors=True) as folder:
        copy = replace(workspace, root=Path(folder).resolve())
        shutil.copytree(workspace.package, copy.package)  # compiled files too: it starts sooner
        for module in modules:
            copy_over(module.folder, copy.modules_folder / module.name)
            copy_over(workspace.tests(module), copy.root / "tests" / module.name)
        for shared in ("conftest.py", "__init__.py"):
            copy_over(workspace.root / "tests" / shared, copy.root / "tests" / shared)
        copy_over(workspace.root / "datasets", copy.root / "datasets")
        yield copy


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
