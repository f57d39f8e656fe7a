"""Targets of one lesson that need each other, and the order of their imports."""

import subprocess
import sys

import pytest

from .exporting import Course, imports, late_course, one


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


def test_a_later_target_that_only_bodies_need_is_imported_at_the_end(course):
    files = late_course(course)
    assert imports(files["core/tensor.py"]) == ["from tinytorch.core.ops import double"]
    assert imports(files["core/ops.py"]) == ["from tinytorch.core.op import Op"]
    last = files["core/op.py"].rstrip("\n").split("\n")[-1]
    assert last.startswith(
        "from tinytorch.core.tensor import Tensor  # at the end: the two files need each other"
    )
    course.export()
    done = subprocess.run(
        [sys.executable, "-c", "import tinytorch.core.op, tinytorch.core.tensor as t\n"
         "print(t.Tensor(21).double().data)"],
        cwd=course.root, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "42\n", done.stderr


def test_a_circle_at_import_time_is_an_error(course):
    course.lesson(
        "#| export a\ndef f(): pass\n",
        "#| export b\nclass B: f = f",
        "#| export a\nx = B()",
    )
    error = course.fails()
    assert error.message.startswith("modules/01_one/one_dev.py:")
    assert "when it is imported" in error.message


def test_a_circle_of_two_dev_files_is_broken_at_the_end(course):
    course.lesson(
        "#| default_exp tensor\nfrom printing_dev import show",
        "#| export\nclass Tensor:\n    def __repr__(self): return show(self)",
    )
    course.lesson(
        "#| default_exp printing\nfrom tinytorch.tensor import Tensor",
        "#| export\ndef show(x): return isinstance(x, Tensor)",
        name="01_one/printing_dev.py",
    )
    files = course.plan()
    ends = [name for name, text in files.items() if "# at the end" in text]
    assert len(ends) == 1
    course.export()
    other = {"tensor.py": "printing", "printing.py": "tensor"}
    first = ends[0].removesuffix(".py")
    for code in (f"import tinytorch.{first}, tinytorch.{other[ends[0]]} as _",):
        done = subprocess.run([sys.executable, "-c", code], cwd=course.root, capture_output=True)
        assert done.returncode == 0, done.stderr


def test_a_name_of_a_sibling_dev_file_becomes_one_of_its_target(course):
    course.lesson(
        "#| default_exp core.tensor\nfrom backend_dev import array_module as am, CPU",
        "#| export\ndef f(x): return am(x), CPU",
    )
    course.lesson(
        "#| default_exp core.backend",
        "#| export\ndef array_module(x): pass",
        "#| export core.device\nCPU = 'cpu'",
        name="01_one/backend_dev.py",
    )
    assert imports(course.plan()["core/tensor.py"]) == [
        "from tinytorch.core.backend import array_module as am",
        "from tinytorch.core.device import CPU",
    ]


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("from other_dev import f", "there is no other_dev.py in this folder", "from the package"),
        ("from side_dev import f", "side_dev.py exports no `f`", "#| export"),
        ("import side_dev as f", "exported code cannot use a whole dev file", "from side_dev imp"),
        ("from tito.lesson import timed as f", "exported code uses `f` from tito", "not exported"),
        ("import tito.lesson as f", "exported code uses `f` from tito", "not exported"),
    ],
)
def test_an_import_that_cannot_be_exported(course, line, message, hint):
    course.lesson(f"#| default_exp a\n{line}", "#| export\nx = f")
    course.lesson("#| default_exp b", "f = 1", "#| export\ng = 1", name="01_one/side_dev.py")
    error = course.fails()
    assert error.message.startswith("modules/01_one/one_dev.py:3: ")
    assert message in error.message and hint in error.hint


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("from . import x", "3: a relative import"),
        ("from math import *", "3: `import *`"),
        ("x = 1; import math", "3: an import and other code share this line"),
        ("__all__ = ['x']", "3: `__all__` is written by the exporter"),
        ("x = (", "3: Python cannot read this cell"),
        ("# only a comment", "2: this exported cell has no code"),
        ("", "2: this exported cell has no code"),
        ("def f():\n    ### BEGIN HIDDEN TESTS\n    pass\n    ### END HIDDEN TESTS", "4: hidden"),
    ],
)
def test_a_cell_that_cannot_be_exported(course, cell, message):
    course.lesson(f"#| export a\n{cell}")
    assert course.fails().message.startswith(f"modules/01_one/one_dev.py:{message}")


def test_one_name_imported_from_two_places_is_an_error_where_it_is_used(course):
    course.lesson("#| default_exp a", "from math import pi", "from cmath import pi",
                  "#| export\nx = pi")  # fmt: skip
    message = course.fails().message
    assert "`pi` is imported from two places" in message
    assert "one_dev.py:5" in message and "one_dev.py:8" in message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("def f(): pass", "def f(): pass"),
        ("class f: pass", "def f(): pass"),
        ("f = 1", "f = 2"),
        ("f = 1", "def f(): pass"),
        ("def f(): pass", "def f(): return f()"),
    ],
)
def test_a_duplicate_definition_is_an_error_with_both_lines(course, first, second):
    course.lesson(f"#| export a\n{first}", f"#| export a\n{second}")
    message = course.fails().message
    assert message.startswith("modules/01_one/one_dev.py:7: `f` is defined twice in a; the first")
    assert message.endswith("modules/01_one/one_dev.py:3.")


def test_a_duplicate_in_one_cell_is_an_error_too(course):
    course.lesson("#| export a\ndef f(): pass\ndef f(): pass")
    assert course.fails().message.startswith("modules/01_one/one_dev.py:4: `f` is defined twice")


def test_what_is_no_duplicate(course):
    one(
        course,
        "#| export\ndef f(): pass\nf = staticmethod(f)\nx = 1\nx = x + 1",
        "#| export\n@print\ndef _(): pass",
        "#| export\n@print\ndef _(): pass",
        "#| export b\ndef f(): pass",
        "def f(): pass",
    )


def test_nothing_exported_to_the_default_target_is_an_error(course):
    course.lesson("#| default_exp a", "x = 1")
    assert "one_dev.py:2: nothing is exported to a." in course.fails().message


def test_an_export_without_target_is_an_error(course):
    course.lesson("#| export\nx = 1")
    assert "one_dev.py:2: `#| export` has no target." in course.fails().message


def test_a_second_default_target_is_an_error(course):
    course.lesson("#| default_exp a\n#| export\nx = 1", "#| default_exp b")
    error = course.fails()
    assert "one_dev.py:7: a second `#| default_exp`" in error.message and "line 2" in error.hint


def test_two_sources_for_one_target_are_an_error(course):
    course.lesson("#| export a\nx = 1")
    course.lesson("#| export a\ny = 1", name="02_two/two_dev.py")
    for module in ("1", "2"):
        message = course.fails(module).message
        assert "a is also exported by modules/0" in message and "_dev.py:2: a is" in message
    course.lesson("#| export b\ny = '''\n#| export a\n'''", name="02_two/two_dev.py")
    assert list(course.plan("1")) == ["a.py"]  # a directive in a string is none


def test_open_regions_are_errors_in_every_cell(course):
    course.lesson("#| export a\nx = 1", "def f():\n    ### BEGIN SOLUTION\n    pass")
    assert "one_dev.py:7: this SOLUTION region is not closed" in course.fails().message


def test_nothing_may_import_what_a_later_module_builds(course):
    course.lesson("from tinytorch.b import y", "#| export a\nx = y")
    course.lesson("#| export b\ny = 1", name="02_two/two_dev.py")
    error = course.fails()
    assert error.message.startswith("modules/01_one/one_dev.py:2: `y` is built by 02_two")
