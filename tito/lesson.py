"""What a lesson imports first: `from tito.lesson import run_tests`.

The import itself matters. It puts the course folder that the lesson stands in first on the path,
and hides what later modules build, so that `python autograd_dev.py`, a notebook and pytest all run
the student's own code, and lesson NN sees modules 01 to NN-1 only.
"""

import builtins
import os
import re
import sys
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

from tito.stubs import builder, message

if TYPE_CHECKING:
    from tito.checks import expect, expect_error, run_tests
    from tito.measuring import dataset, measure, peak_bytes, timed

__all__ = [
    "dataset", "expect", "expect_error", "hide_from", "measure", "peak_bytes", "run_tests", "timed",
]  # fmt: skip

_HOME = {
    "run_tests": "checks", "expect": "checks", "expect_error": "checks", "dataset": "measuring",
    "measure": "measuring", "peak_bytes": "measuring", "timed": "measuring",
}  # fmt: skip
_FOLDER = re.compile(r"(\d\d)_\w+$")
_TITO = os.path.dirname(os.path.abspath(__file__))

_now: "_Place | None" = None  # where the lesson that runs stands


def __getattr__(name: str):
    """Runs at each `from tito.lesson import ...`, also when another lesson did it before."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = _place_of(sys._getframe(1))
    if place:
        _enter(place)
    from importlib import import_module

    return getattr(import_module(f"tito.{_HOME[name]}"), name)


def hide_from(number: int, root: str | None = None) -> None:
    """Hides what modules `number` and later build, as a lesson of that number sees the package."""
    folder = os.path.abspath(root or os.getcwd())
    found = next((f for f in [*_upward(folder), *sys.path] if _is_course(f)), None)
    if found:
        _enter(_Place(os.path.abspath(found), int(number), ""))


def course() -> str | None:
    """The folder of the course that runs."""
    return _now.root if _now else next((f for f in _upward(os.getcwd()) if _is_course(f)), None)


class _Place:
    """A course folder, the first hidden module, and the lesson's folder ("" for none)."""

    def __init__(self, root: str, number: int, folder: str):
        self.root, self.number, self.folder = root, number, folder

    def __eq__(self, other) -> bool:
        return isinstance(other, _Place) and vars(self) == vars(other)


def _place_of(frame) -> _Place | None:
    """The lesson's place: from the file that imports, in a notebook from the current folder."""
    while frame:
        file = frame.f_code.co_filename
        if not file.startswith("<") and os.path.dirname(os.path.abspath(file)) != _TITO:
            place = _place(os.path.dirname(os.path.abspath(file)))
            if place:
                return place
        frame = frame.f_back
    if not in_notebook():
        return None
    for folder in _upward(os.getcwd()):
        if _place(folder):
            return _place(folder)
        if _is_course(folder):
            return _Place(folder, 100, "")
    return None


def _place(folder: str) -> _Place | None:
    modules, name = os.path.split(folder)
    number = _FOLDER.match(name)
    if number and os.path.basename(modules) == "modules":
        return _Place(os.path.dirname(modules), int(number.group(1)), folder)
    return None


def in_notebook() -> bool:
    return bool(getattr(builtins, "__IPYTHON__", False))


def _upward(folder: str) -> list[str]:
    found = [os.path.abspath(folder)]
    while os.path.dirname(found[-1]) != found[-1]:
        found.append(os.path.dirname(found[-1]))
    return found


def _is_course(folder: str) -> bool:
    return all(os.path.isdir(os.path.join(folder, name)) for name in ("modules", "tinytorch"))


def _enter(place: _Place) -> None:
    global _now
    if place == _now:
        return
    if _now:
        _forget_lesson(_now)
    for folder in (place.folder, place.root):  # the root comes first, then the lesson's siblings
        if folder:
            sys.path[:] = [folder] + [p for p in sys.path if os.path.abspath(p or ".") != folder]
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _Later)]
    sys.meta_path.insert(0, _Later(place))
    for name in [n for n in sys.modules if n.split(".")[0] == "tinytorch"]:
        del sys.modules[name]
    _now = place


def _forget_lesson(place: _Place) -> None:
    """Two modules may have sheets of the same name: given_dev of 12 is not given_dev of 03."""
    if not place.folder:
        return
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != place.folder]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if name.endswith("_dev") and os.path.dirname(os.path.abspath(file)) == place.folder:
            del sys.modules[name]


class _Later:
    """Finds `tinytorch.X` that this lesson may not see, and answers with a stub."""

    def __init__(self, place: _Place):
        self.package, self.number = os.path.join(place.root, "tinytorch"), place.number

    def find_spec(self, name: str, path=None, target=None) -> ModuleSpec | None:
        if not name.startswith("tinytorch."):
            return None
        file = os.path.join(self.package, *name.split(".")[1:]) + ".py"
        try:
            with open(file, encoding="utf-8", errors="replace") as text:
                by = builder(text.readline())
        except OSError:
            return None
        if by is None or by.number < self.number:
            return None
        return ModuleSpec(name, _Stub(by), origin=file)


class _Stub:
    """Loads a module without names: whoever asks for one hears who builds it."""

    def __init__(self, by):
        self.by = by

    def create_module(self, spec):
        return None

    def exec_module(self, module) -> None:
        def missing(name: str):
            if name.startswith("__"):
                raise AttributeError(name)
            raise ImportError(message(name, self.by))

        module.__getattr__ = missing
