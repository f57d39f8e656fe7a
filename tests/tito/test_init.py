"""`tito init`: what a student gets, and what a student must not get."""

import ast
import json
import subprocess
import sys

import pytest

from tito.errors import TitoError
from tito.export import export, plan, state
from tito.release import make_course
from tito.source import exercises, read_percent, unsolved
from tito.workspace import Workspace

ONE = '''\
# %% [markdown]
# # One

# %%
#| default_exp core.one
from tito.lesson import run_tests

# %%
#| export
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    secret_result_of_doubling = x * 2
    return secret_result_of_doubling
    ### END SOLUTION


# %%
class TestDouble:
    """Doubling"""
    def test_two(self):
        "Two becomes four"
        assert double(2) == 4

    ### BEGIN HIDDEN TESTS
    def test_hidden_case(self):
        assert double(-1) == -2
    ### END HIDDEN TESTS

run_tests(TestDouble)
'''
TWO = '''\
# %%
#| default_exp core.two
from tinytorch.core.one import double

# %%
#| export
def four_times(x):
    ### BEGIN SOLUTION
    return double(double(x)) + 0 * len("a telling line")
    ### END SOLUTION
'''
TESTS = '''\
from tinytorch.core.one import double


def test_shown():
    assert double(3) == 6


### BEGIN HIDDEN TESTS
def test_hidden():
    assert double(0) == 0
### END HIDDEN TESTS
'''


@pytest.fixture
def source(tmp_path):
    root = tmp_path.resolve() / "repo"
    files = {
        "modules/01_one/one_dev.py": ONE,
        "modules/01_one/given_dev.py": "# %%\n#| export core.given\nGIVEN = 1\n",
        "modules/01_one/ABOUT.md": "---\ntitle: One\n---\n",
        "modules/01_one/HINTS.md": "## double\n\n1. What is twice?\n",
        "modules/01_one/picture.png": "png",
        "modules/01_one/probes.py": "SEED = 1\n",
        "modules/01_one/solutions.md": "x * 2\n",
        "modules/01_one/equivalent_mutants.txt": "double | secret_result_of_doubling = x * 2\n",
        "modules/01_one/.ipynb_checkpoints/one_dev.py": ONE,
        "modules/02_two/two_dev.py": TWO,
        "tests/01_one/test_one.py": TESTS,
        "tests/01_one/data/numbers.csv": "1,2\n",
        "tests/conftest.py": "",
        "tests/tito/test_tito.py": "",
        "datasets/digits.csv.gz": "data",
        "datasets/README.md": "licence",
        "milestones/1958_one.py": "import tinytorch\n",
        "tinytorch/__init__.py": "from tinytorch import face\n",
        "tinytorch/face.py": "by_hand = 1\n",
        "tinytorch/core/__init__.py": "",
        "README.md": "the repository",
        "pyproject.toml": "",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    workspace = Workspace(root)
    for module in workspace.modules:
        export(workspace, module)
    (root / "tinytorch/core/left_over.py").write_text((root / "tinytorch/core/one.py").read_text())
    return workspace


def made(source, tmp_path, start=1):
    make_course(source, tmp_path / "mine", start)
    return Workspace(tmp_path / "mine")


def test_the_files_of_a_course(source, tmp_path):
    course = made(source, tmp_path)
    assert sorted(p.relative_to(course.root).as_posix() for p in course.root.rglob("*.*")
                  if p.is_file()) == [
        ".gitignore",
        ".tito/course.json",
        "README.md",
        "datasets/README.md",
        "datasets/digits.csv.gz",
        "milestones/1958_one.py",
        "modules/01_one/ABOUT.md",
        "modules/01_one/HINTS.md",
        "modules/01_one/given_dev.py",
        "modules/01_one/one_dev.py",
        "modules/01_one/picture.png",
        "modules/02_two/two_dev.py",
        "tests/01_one/data/numbers.csv",
        "tests/01_one/test_one.py",
        "tests/conftest.py",
        "tinytorch/__init__.py",
        "tinytorch/core/__init__.py",
        "tinytorch/core/given.py",
        "tinytorch/core/one.py",
        "tinytorch/core/two.py",
        "tinytorch/face.py",
    ]  # fmt: skip
    readme = (course.root / "README.md").read_text(encoding="utf-8")
    for line in ("tito list", "tito test 01", "tito export 01", "modules/01_one/one_dev.py"):
        assert line in readme
    ignored = (course.root / ".gitignore").read_text()
    assert ".tito/*" in ignored and "!.tito/course.json" in ignored


def test_nothing_of_a_solution_or_a_hidden_test_is_anywhere(source, tmp_path):
    course = made(source, tmp_path)
    for path in course.root.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            for secret in ("secret_result", "test_hidden", "double(double(x))", "SEED"):
                assert secret not in text, path


def test_the_lessons_are_python_and_raise_what_is_not_written(source, tmp_path):
    course = made(source, tmp_path)
    text = (course.modules_folder / "01_one/one_dev.py").read_text(encoding="utf-8")
    ast.parse(text)
    cells = read_percent(text)
    assert [e.id for e in exercises(cells)] == ["double"] and unsolved(cells) == (1, 1)
    assert 'raise NotImplementedError("01_one: double is not written yet")' in text
    assert "Two becomes four" in text


def test_the_package_is_faces_and_stubs(source, tmp_path):
    course = made(source, tmp_path)
    assert (course.package / "face.py").read_text() == "by_hand = 1\n"
    stub = (course.package / "core/one.py").read_text(encoding="utf-8")
    assert stub.startswith("# Stub: built by modules/01_one/one_dev.py\n")
    done = subprocess.run(
        [sys.executable, "-c", "from tinytorch.core.one import double"],
        cwd=course.root, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.stderr.endswith(
        "ImportError: 01_one builds `double`: solve modules/01_one/one_dev.py, "
        "then `tito export 01`\n"
    )
    assert [state(course, m) for m in course.modules] == ["open", "open"]


def test_solved_and_exported_it_is_the_reference_again(source, tmp_path):
    course = made(source, tmp_path)
    lesson = course.modules_folder / "01_one/one_dev.py"
    text = lesson.read_text(encoding="utf-8")
    stub = 'raise NotImplementedError("01_one: double is not written yet")'
    solution = "secret_result_of_doubling = x * 2\n    return secret_result_of_doubling"
    lesson.write_text(text.replace(stub, solution), encoding="utf-8")
    export(course, course.module("1"))
    below = [p.read_text().split("\n", 2)[2] for p in (course.package / "core/one.py",
                                                       source.package / "core/one.py")]
    assert below[0] == below[1]


def test_from_a_later_module_the_earlier_ones_are_given(source, tmp_path):
    course = made(source, tmp_path, start=2)
    one, two = (course.package / f"core/{name}.py" for name in ("one", "two"))
    assert one.read_text() == (source.package / "core/one.py").read_text()
    assert two.read_text().startswith("# Stub: built by modules/02_two/")
    lesson = (course.modules_folder / "01_one/one_dev.py").read_text(encoding="utf-8")
    assert "secret" not in lesson and "not written yet" in lesson
    assert json.loads((course.state / "course.json").read_text()) == {"version": 1, "start": 2}
    assert [course.is_given(m) for m in course.modules] == [True, False]
    assert "tito test 02" in (course.root / "README.md").read_text()


def test_a_stale_reference_is_made_new(source, tmp_path):
    (source.package / "core/one.py").write_text("# Generated from modules/01_one/one_dev.py\nold")
    course = made(source, tmp_path, start=2)
    want = plan(source, source.module("1"))[source.package / "core/one.py"]
    assert (course.package / "core/one.py").read_text() == want


def test_a_folder_with_something_in_it_is_refused_and_untouched(source, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "work.txt").write_text("mine")
    with pytest.raises(TitoError, match="mine is not empty") as error:
        make_course(source, mine)
    assert "tito never writes over your work" in error.value.hint
    assert [p.name for p in mine.iterdir()] == ["work.txt"]
    with pytest.raises(TitoError, match="is a file"):
        make_course(source, mine / "work.txt")


def test_an_empty_folder_is_filled(source, tmp_path):
    (tmp_path / "mine").mkdir()
    assert made(source, tmp_path).modules


@pytest.mark.parametrize("where", ["lesson", "tests"])
def test_a_solution_that_also_stands_elsewhere_is_refused(source, tmp_path, where):
    line = 'return double(double(x)) + 0 * len("a telling line")'
    if where == "lesson":
        path = source.modules_folder / "02_two/two_dev.py"
        path.write_text(TWO + f"\n# %%\ndef again(x):\n    {line}  # the same\n")
        place = "modules/02_two/two_dev.py:14"
    else:
        path = source.root / "tests/02_two/test_two.py"
        path.parent.mkdir()
        path.write_text(f"def want(x):\n    {line}\n")
        place = "tests/02_two/test_two.py:2"
    with pytest.raises(TitoError) as error:
        made(source, tmp_path)
    assert error.value.message.startswith(f"{place}: `return double(double(x))")
    assert "the solution at modules/02_two/two_dev.py:8" in error.value.message
    assert not (tmp_path / "mine").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["repo"]


def test_what_is_no_python_without_its_solution_is_refused(source, tmp_path):
    text = ONE.replace("    ### BEGIN HIDDEN", "    def test_x(self):\n    ### BEGIN HIDDEN")
    (source.modules_folder / "01_one/one_dev.py").write_text(text)
    with pytest.raises(TitoError) as error:
        made(source, tmp_path)
    assert "Without its solutions and hidden tests modules/01_one/one_dev.py" in str(error.value)
    assert not (tmp_path / "mine").exists()


def test_a_notebook_stays_a_notebook_without_outputs(source, tmp_path):
    from tito.notebook import write_notebook

    lesson = source.modules_folder / "02_two/two_dev.py"
    text = write_notebook(read_percent(TWO)).replace('"outputs": []', '"outputs": ["secret_out"]')
    lesson.with_suffix(".ipynb").write_text(text)
    lesson.unlink()
    course = made(source, tmp_path)
    made_text = (course.modules_folder / "02_two/two_dev.ipynb").read_text(encoding="utf-8")
    assert "secret_out" not in made_text and "double(double" not in made_text
    assert "02_two: four_times is not written yet" in made_text
    assert (course.package / "core/two.py").read_text().startswith(
        "# Stub: built by modules/02_two/two_dev.ipynb"
    )


def test_there_is_no_such_module_to_begin_at(source, tmp_path):
    with pytest.raises(TitoError, match="no module 9"):
        made(source, tmp_path, start=9)
    assert not (tmp_path / "mine").exists()
