"""Which package a lesson sees, as a script, as a notebook and in tests: the modules before it."""

import json
import os

import pytest

from .lessons import CHECKED, HEAD, ROOT, Course, python


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path.resolve())


SEES = """
import importlib
import tinytorch
print(tinytorch.__file__)
for name in ("one", "five", "six"):
    try:
        print(name, importlib.import_module("tinytorch." + name).x)
    except ImportError as error:
        print(error)
"""


def fill(course):
    course.package("one", "01_one", "x = 1\n")
    course.package("five", "05_five", "x = 5\n")
    course.package("six", "06_six", "x = 6\n")


def test_a_lesson_sees_the_modules_before_its_own(course, tmp_path):
    fill(course)
    done = course.run(SEES, cwd="/")
    assert done.stdout.splitlines() == [
        str(course.root / "tinytorch/__init__.py"),
        "one 1",
        "05_five builds `x`: solve modules/05_five/five_dev.py, then `tito export 05`",
        "06_six builds `x`: solve modules/06_six/six_dev.py, then `tito export 06`",
    ], done.stderr


def test_the_course_of_the_lesson_wins_over_an_installed_one(course, tmp_path):
    fill(course)
    other = tmp_path / "elsewhere"
    (other / "tinytorch").mkdir(parents=True)
    (other / "tinytorch/__init__.py").write_text("where = 'other'\n")
    path = course.lesson(SEES)
    env = {"PYTHONPATH": f"{other}{os.pathsep}{ROOT}"}
    done = python([str(path)], other, **env)
    assert done.stdout.startswith(str(course.root / "tinytorch")), done.stderr
    done = python(["-c", f"import tinytorch; exec(compile(open({str(path)!r}).read(), "
                   f"{str(path)!r}, 'exec'))"], other, **env)  # fmt: skip
    assert done.stdout.startswith(str(course.root / "tinytorch")), done.stderr


def test_stubs_are_seen_as_what_they_are(course):
    from tito import stubs

    by = stubs.builder("# Stub: built by modules/01_one/one_dev.py\n")
    course.write("tinytorch/one.py", stubs.text("one", by))
    done = course.run(SEES)
    message = "01_one builds `x`: solve modules/01_one/one_dev.py, then `tito export 01`"
    assert message in done.stdout.splitlines()
    code = "import tinytorch.one as s\nprint(hasattr(s, '__x__'))\nfrom tinytorch.one import x"
    done = python(["-c", code], course.root)
    assert done.stdout == "False\n" and done.stderr.endswith(f"ImportError: {message}\n")


def test_a_lesson_sees_its_sheets_but_not_those_of_another_module(course):
    course.write("modules/05_five/given_dev.py", "x = 5\n")
    course.write("modules/12_twelve/given_dev.py", "x = 12\n")
    five = course.lesson("from given_dev import x\nprint(x)")
    twelve = course.lesson("from given_dev import x\nprint(x)", "12_twelve")
    both = "".join(
        f"exec(compile(open({str(p)!r}).read(), {str(p)!r}, 'exec'), {{}})\n"
        for p in (five, twelve, five)
    )
    done = python(["-c", both], course.root)
    assert done.stdout.split() == ["5", "12", "5"], done.stderr


def test_each_lesson_of_one_process_sees_its_own_part(course):
    fill(course)
    five, six = course.lesson(SEES), course.lesson(SEES, "06_six")
    both = "".join(
        f"exec(compile(open({str(p)!r}).read(), {str(p)!r}, 'exec'), {{}})\n" for p in (six, five)
    )
    lines = python(["-c", both], course.root).stdout.splitlines()
    assert lines[2] == "five 5" and lines[3].startswith("06_six builds")
    assert lines[6].startswith("05_five builds") and lines[7].startswith("06_six builds")


def test_hide_from_does_the_same_for_tests(course):
    fill(course)
    course.lesson("")
    code = "from tito.lesson import hide_from\nhide_from(6)\n" + SEES
    lines = python(["-c", code], course.root).stdout.splitlines()
    assert lines[1:3] == ["one 1", "five 5"] and lines[3].startswith("06_six builds")


def test_a_notebook_finds_its_course_from_the_current_folder(course):
    pytest.importorskip("ipykernel")
    pytest.importorskip("nbclient")
    fill(course)
    from tito.notebook import write_notebook
    from tito.source import read_percent

    text = f"# %%\n{HEAD}{SEES}\n# %%\n{CHECKED}"
    path = course.write("modules/05_five/five_dev.ipynb", write_notebook(read_percent(text)))
    run = (
        "import nbclient, nbformat, sys\n"
        f"nb = nbformat.read({str(path)!r}, 4)\n"
        "nbclient.NotebookClient(nb, kernel_name='python3').execute()\n"
        "print(''.join(o['text'] for c in nb.cells if c.cell_type == 'code' "
        "for o in c.outputs if o.output_type == 'stream'))"
    )
    done = python(["-c", run], path.parent)
    assert "05_five builds `x`" in done.stdout, done.stderr
    assert "Unit Test: The f..." in done.stdout and "❌ bad" in done.stdout
    assert "expected 2" in done.stdout and "measured\n" in done.stdout


def test_tito_itself_never_imports_tinytorch():
    code = "import sys, tito.cli, tito.lesson, tito.checks, tito.measuring, tito.release\n" \
        "from tito.lesson import dataset; dataset()\n" \
        "print([m for m in sys.modules if m.split('.')[0] == 'tinytorch'])"  # fmt: skip
    assert python(["-c", code], "/").stdout == "[]\n"


def test_stub_text_says_what_the_lesson_s_finder_says(tmp_path):
    from tito import stubs

    by = stubs.builder("# Stub: built by modules/05_autograd/autograd_dev.py\n")
    names = {}
    exec(compile(stubs.text("core.autograd", by), "stub", "exec"), names)
    with pytest.raises(ImportError) as error:
        names["__getattr__"]("no_grad")
    assert str(error.value) == stubs.message("no_grad", by) == (
        "05_autograd builds `no_grad`: solve modules/05_autograd/autograd_dev.py, "
        "then `tito export 05`"
    )
    with pytest.raises(AttributeError):
        names["__getattr__"]("__path__")
    assert json.dumps(by)
