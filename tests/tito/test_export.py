"""From dev files to the package: order, bytes, notebooks, and the way back."""

import ast
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tito.export import (
    check,
    edited,
    export,
    map_line,
    map_traceback,
    plan,
    remove_stale,
    stale,
    state,
)
from tito.workspace import Workspace

from .exporting import Course, body, late_course, one

ROOT = Path(__file__).parents[2]


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


# ---- what a file says ----


def test_a_file_in_full(course):
    course.lesson(
        "#| default_exp core.ops\nfrom tito.lesson import run_tests",
        "import numpy as np\nimport math\nfrom os import path, sep",
        '''
        #| export
        def area(r):
            """Of a circle."""
            ### BEGIN SOLUTION
            return math.pi * np.square(r)\x20\x20
            ### END SOLUTION

        _hidden = 1
        ''',
        "run_tests()",
        "#| exporti\nHELPER = sep\n\n\n",
        "#| export\nsize: int = 3",
    )  # fmt: skip
    text = course.plan()["core/ops.py"]
    first, second, rest = text.split("\n", 2)
    label = "modules/01_one/one_dev.py"
    assert first == f"# Generated from {label} by tito export. Edit the lesson, not this file."
    source = (course.root / label).read_text()
    assert second.startswith(f"# source sha256 {sha(source)}  body sha256 {sha(rest)}")
    assert rest == textwrap.dedent('''\
        """core.ops: built in module 01_one."""

        import math
        from os import sep

        import numpy as np

        __all__ = ["area", "size"]


        def area(r):
            """Of a circle."""
            return math.pi * np.square(r)

        _hidden = 1


        HELPER = sep


        size: int = 3
        ''')


def sha(text):
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


def test_trailing_space_inside_a_string_stays(course):
    text = one(course, '#| export\nX = """a  \nb"""  ')
    assert 'X = """a  \nb"""\n' in text


def test_cells_of_several_targets_go_to_theirs_in_order(course):
    course.lesson(
        "#| default_exp a",
        "#| export\ndef f(): pass",
        "#| export b.c\ndef g(): pass",
        "#| export\ndef h(): pass",
    )
    files = course.plan()
    assert list(files) == ["a.py", "b/c.py"]
    assert body(files["a.py"]) == ["def f():\n    pass", "def h():\n    pass"]


def test_public_names(course):
    text = one(
        course,
        """
        #| export
        import math
        from os import sep
        A, (B, _c) = 1, (2, 3)
        d: float = math.pi
        e: float
        for loop in range(3): pass
        if A:
            inside = sep
        class K: attribute = 1
        @staticmethod
        def f(): local = 1
        try:
            import json
        except ImportError:
            json = None
        """,
        "#| exporti\ninternal = 1",
    )
    names = ast.literal_eval(text.split("__all__ = ")[1].split("]")[0] + "]")
    assert names == ["A", "B", "K", "d", "f", "inside", "json"]


def test_many_public_names_are_wrapped(course):
    text = one(course, "#| export\n" + "\n".join(f"name_number_{i:02d} = {i}" for i in range(30)))
    lines = text.split("__all__ = [")[1].split("]")[0].split("\n")
    assert len(lines) > 3 and max(map(len, lines)) <= 100


# ---- writing ----


def test_export_is_a_fixed_point_and_rewrites_nothing(course):
    late_course(course)
    assert len(course.export()) == 3
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in course.root.rglob("*.py")}
    assert course.export() == []
    assert before == {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in course.root.rglob("*.py")}
    assert not [p for p in course.root.rglob("*.tmp")]


def test_only_the_target_that_changed_is_written_when_the_header_says_so(course):
    course.lesson("#| export a\nx = 1", "#| export b\ny = 1")
    course.export()
    course.lesson("#| export a\nx = 1", "#| export b\ny = 2")
    assert {p.name for p in course.export()} == {"a.py", "b.py"}  # both headers name the source


def test_windows_line_ends_give_the_same_bytes(course):
    path = course.lesson("#| export a\nx = '''1\n2'''")
    text = course.plan()["a.py"]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert course.plan()["a.py"] == text
    course.export()
    exported = course.root / "tinytorch/a.py"
    exported.write_bytes(exported.read_bytes().replace(b"\n", b"\r\n"))
    assert course.export() == [] and not edited(exported)


def test_check_shows_what_an_export_would_change(course):
    course.lesson("#| export a\nx = 1")
    workspace, module = course.workspace, course.workspace.module("1")
    assert "+x = 1" in check(workspace, [module])
    course.export()
    assert check(workspace, [module]) == ""
    course.lesson("#| export a\nx = 2")
    diff = check(workspace, [module])
    assert "--- tinytorch/a.py\tnot what the lesson says" in diff
    assert "-x = 1\n+x = 2\n" in diff
    assert (course.root / "tinytorch/a.py").read_text().endswith("x = 1\n")


def test_a_file_edited_by_hand_is_told_and_kept(course):
    course.lesson("#| export a\nx = 1")
    course.export()
    path = course.root / "tinytorch/a.py"
    path.write_text(path.read_text() + "mine = 1\n")
    assert edited(path)
    assert "edited by hand" in check(course.workspace, course.workspace.modules)
    result = export(course.workspace, course.workspace.module("1"))
    assert "mine" not in path.read_text()
    assert len(result.kept) == 1 and result.kept[0].read_text().endswith("mine = 1\n")


def test_a_target_that_no_lesson_has_any_more_is_stale(course):
    course.lesson("#| export a\nx = 1", "#| export b\ny = 1")
    course.export()
    course.write("tinytorch/face.py", "by_hand = 1\n")
    assert stale(course.workspace) == []
    course.lesson("#| export a\nx = 1")
    gone = course.root / "tinytorch/b.py"
    assert stale(course.workspace) == [gone]
    assert "--- tinytorch/b.py\tno dev file exports it" in check(
        course.workspace, course.workspace.modules
    )
    assert remove_stale(course.workspace) == [gone] and not gone.exists()
    assert (course.root / "tinytorch/face.py").exists()


def test_the_state_of_a_module(course):
    module = course.workspace.module
    course.lesson("#| default_exp a\n#| export\nx = 1")
    assert state(course.workspace, module("1")) == "open"
    course.export()
    assert state(course.workspace, module("1")) == "exported"
    course.lesson("#| default_exp a\n#| export\nx = 2")
    assert state(course.workspace, module("1")) == "changed"


# ---- notebooks as the source ----


def as_notebook(course, text):
    from tito.notebook import write_notebook
    from tito.source import read_percent

    return course.write("modules/01_one/one_dev.ipynb", write_notebook(read_percent(text)))


def test_a_notebook_alone_is_the_source(course):
    course.write("modules/01_one/x", "")
    as_notebook(course, "# %%\n#| export a\nx = 1\n")
    text = course.plan()["a.py"]
    assert text.startswith("# Generated from modules/01_one/one_dev.ipynb by tito export.")
    assert text.endswith("x = 1\n")


def test_two_sources_that_differ_are_refused_until_one_is_picked(course):
    course.lesson("#| export a\nx = 1")
    as_notebook(course, "# %%\n#| export a\nx = 1\n")
    assert course.plan()["a.py"].endswith("x = 1\n")  # the same cells: no question
    as_notebook(course, "# %%\n#| export a\nx = 2\n")
    error = course.fails()
    assert "one_dev.py and one_dev.ipynb are both there and differ" in error.message
    assert "--from py or --from ipynb" in error.hint
    for prefer, value in (("py", 1), ("ipynb", 2)):
        workspace = Workspace(course.root, prefer)
        (text,) = plan(workspace, workspace.module("1")).values()
        assert text.endswith(f"x = {value}\n")


def test_an_error_in_a_notebook_names_cell_and_line(course):
    as_notebook(course, "# %%\nimport math\n\n# %%\n#| export a\nx = 1\ny = foo\n")
    shutil.rmtree(course.root / "modules" / "x", ignore_errors=True)
    message = course.fails().message
    assert message.startswith("modules/01_one/one_dev.ipynb, cell 2, line 3: `foo` is used here")


# ---- the way back ----


def test_every_exported_line_knows_its_line_in_the_lesson(course):
    path = course.lesson(
        "#| default_exp a", "import math", "x = 0",
        "#| export\n\nimport os\n\ndef f():\n    ### BEGIN SOLUTION\n    return math.pi\n"
        "    ### END SOLUTION",
        "#| export b\nY = os.sep, f",
    )  # fmt: skip
    course.export()
    lesson = path.read_text().split("\n")
    for name, mapped in (("a.py", 3), ("b.py", 3)):
        file = course.root / "tinytorch" / name
        found = 0
        for n, line in enumerate(file.read_text().split("\n"), 1):
            place = map_line(course.workspace, file, n)
            if place and not line.startswith(("from tinytorch", "import")):
                assert place[0] == path and lesson[place[1] - 1] == line
            found += place is not None
        assert found >= mapped
    assert map_line(course.workspace, file, 1) is None
    assert map_line(course.workspace, file, 10_000) is None


def test_a_file_that_is_not_what_the_lesson_says_is_not_mapped(course):
    course.lesson("#| export a\nx = 1")
    course.export()
    course.lesson("y = 0", "#| export a\nx = 1")
    assert map_line(course.workspace, course.root / "tinytorch/a.py", 8) is None


def test_a_traceback_of_the_package_names_the_lesson(course):
    path = course.lesson("#| export a\ndef f(x):\n    return 1 / x")
    course.export()
    done = subprocess.run(
        [sys.executable, "-c", "import tinytorch.a as a; a.f(0)"],
        cwd=course.root, capture_output=True, text=True,
    )  # fmt: skip
    text = map_traceback(done.stderr)
    assert f'File "{path}", line 4, in f' in text
    assert text.endswith("ZeroDivisionError: division by zero\n")
    assert 'File "<string>", line 1, in <module>' in text


def test_in_a_notebook_the_traceback_names_cell_and_line(course):
    cell = "#| export a\ndef f(x):\n    return 1 / x\n"
    path = as_notebook(course, f"# %%\nx = 1\n\n# %%\n{cell}")
    course.export()
    text = map_traceback('File "' + str(course.root / "tinytorch/a.py") + '", line 9, in f')
    assert text == f'File "{path}", cell 2, line 3, in f'


# ---- the real course ----


def test_the_package_of_this_repository_compiles_and_is_read_back():
    """Every module that is there can be planned, and what it says is Python with its names."""
    workspace = Workspace(ROOT)
    for module in workspace.modules:
        for path, text in plan(workspace, module).items():
            names = ast.literal_eval(
                next(n for n in ast.parse(text, str(path)).body if isinstance(n, ast.Assign)).value
            )
            assert names == sorted(set(names))
