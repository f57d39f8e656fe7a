"""A course of one small module, for the tests of the tools that run lessons."""

import textwrap
from pathlib import Path

import pytest

LESSON = '''\
# %% [markdown]
# # Things

# %%
#| default_exp core.thing
from tito.lesson import run_tests

# %%
#| export
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return x * 2
    ### END SOLUTION

# %%
class TestDouble:
    """Doubling"""

    def test_three(self):
        "Three becomes six"
        assert double(3) == 6

    def test_minus(self):
        "Minus one becomes minus two"
        assert double(-1) == -2

run_tests(TestDouble)

# %%
#| export
class Box:
    def __init__(self, x):
        ### BEGIN SOLUTION
        self.x = x
        ### END SOLUTION

    def grow(self, by=1):
        ### BEGIN SOLUTION
        if by < 0:
            raise ValueError(f"by must be at least 0, got {by}")
        self.x = double(self.x) + by
        return self.x
        ### END SOLUTION

# %%
class TestBox:
    """The box"""

    def test_holds(self):
        "It holds what it got"
        assert Box(4).x == 4

class TestBoxGrow:
    """Growing"""

    def test_grows(self):
        "It grows to twice its size and one"
        box = Box(4)
        assert box.grow() == 9
        assert box.x == 9

run_tests(TestBox, TestBoxGrow)
'''

TESTS = '''\
import pytest

from tinytorch.core.thing import Box, double


def test_nothing():
    "Nothing stays nothing"
    assert double(0) == 0


def test_cannot_shrink():
    with pytest.raises(ValueError, match="at least 0"):
        Box(1).grow(-1)
'''

ABOUT = """\
---
title: Things
description: Doubling things.
difficulty: 1
time_estimate: 1 hour
prerequisites: []
next_steps: [02]
learning_objectives: [double a thing]
---
"""


def _hints(name: str) -> str:
    steps = ("What is it?", "Which operator?", "In which order?", "Fill in: __")
    return f"## {name}\n\n" + "".join(f"{n}. {s}\n" for n, s in enumerate(steps, 1)) + "\n"


HINTS = "".join(_hints(name) for name in ("double", "Box.__init__", "Box.grow"))
HINTS += "".join(f"## reflection-{n}\n\nIt names a thing.\n\n" for n in (1, 2, 3))


class SmallCourse:
    """The files of the course, and ways to change them."""

    def __init__(self, root: Path):
        self.root = root
        self.folder = root / "modules" / "01_thing"
        self.lesson = self.folder / "thing_dev.py"
        self.tests = root / "tests" / "01_thing" / "test_thing.py"
        self.write("tinytorch/__init__.py", "")
        self.write("tinytorch/core/__init__.py", "")
        self.write("modules/01_thing/thing_dev.py", LESSON)
        self.write("modules/01_thing/ABOUT.md", ABOUT)
        self.write("modules/01_thing/HINTS.md", HINTS)
        self.write("tests/01_thing/test_thing.py", TESTS)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def change(self, old: str, new: str, file: Path | None = None) -> None:
        file = file or self.lesson
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file.name}"
        file.write_text(text.replace(old, new), encoding="utf-8")

    @property
    def workspace(self):
        from tito.workspace import Workspace

        return Workspace(self.root)

    @property
    def module(self):
        return self.workspace.module("01")


@pytest.fixture
def small_course(tmp_path) -> SmallCourse:
    return SmallCourse(tmp_path.resolve())
