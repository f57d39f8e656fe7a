"""From dev files to the package: names, imports, order, bytes, and the way back."""

import ast
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tito.errors import TitoError
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

ROOT = Path(__file__).parents[2]


class Course:
    """A tiny course folder; lessons are given as their code cells."""

    def __init__(self, root):
        self.root = root
        self.write("tinytorch/__init__.py", "")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def lesson(self, *cells, name="01_one/one_dev.py"):
        text = "\n".join("# %%\n" + textwrap.dedent(cell).strip("\n") + "\n" for cell in cells)
        return self.write(f"modules/{name}", text)

    @property
    def workspace(self):
        return Workspace(self.root)

    def plan(self, module="1"):
        files = plan(self.workspace, self.workspace.module(module))
        return {p.relative_to(self.root / "tinytorch").as_posix(): t for p, t in files.items()}

    def export(self, module="1"):
        return export(self.workspace, self.workspace.module(module)).changed

    def fails(self, module="1"):
        with pytest.raises(TitoError) as error:
            self.plan(module)
        return error.value


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


def body(text):
    """What stands below the header, the docstring and `__all__`."""
    tree = ast.parse(text)
    kept = [n for n in tree.body[1:] if "__all__" not in ast.unparse(n).split("\n")[0]]
    return [ast.unparse(node) for node in kept]


def imports(text):
    return [line for line in body(text) if line.startswith(("import", "from"))]


def one(course, *cells):
    """The exported text of one target `a` with these cells."""
    course.lesson("#| default_exp a", *cells)
    return course.plan()["a.py"]


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


# ---- imports ----


def test_only_what_is_used_is_imported(course):
    text = one(
        course,
        "import os, sys as system\nimport numpy as np\nfrom math import pi, tau as turn, e",
        "#| export\nfrom functools import wraps, partial\nx = turn * system.maxsize\n"
        "y = partial(x)",
    )
    assert imports(text) == [
        "import sys as system",
        "from functools import partial",
        "from math import tau as turn",
    ]


def test_imports_are_taken_from_any_code_cell(course):
    text = one(course, "#| export\ndef f(): return np.pi", "import numpy as np\nprint(np.e)")
    assert imports(text) == ["import numpy as np"]


def test_a_dotted_import_comes_with_its_root(course):
    text = one(course, "import os.path\nimport os", "#| export\nx = os.path.sep")
    assert imports(text) == ["import os", "import os.path"]


def test_future_annotations_come_first_and_make_annotations_late(course):
    course.lesson(
        "from __future__ import annotations\n#| default_exp a".replace(
            "from __future__ import annotations\n#| default_exp a",
            "#| default_exp a\nfrom __future__ import annotations",
        ),
        "#| export\ndef f(x: Later) -> Later: return x",
        "#| export b\nclass Later(list): f = f",
    )
    files = course.plan()
    assert imports(files["a.py"])[0] == "from __future__ import annotations"
    assert files["a.py"].index("import Later  # at the end") > files["a.py"].index("def f")
    assert imports(files["b.py"]) == [
        "from __future__ import annotations",
        "from tinytorch.a import f",
    ]


def test_an_import_in_the_middle_of_a_cell_moves_to_the_top(course):
    text = one(course, "#| export\nx = 1\nfrom math import (\n    pi,\n)\ny = pi")
    assert body(text) == ["from math import pi", "x = 1", "y = pi"]


def test_an_import_cell_alone_is_no_empty_export(course):
    text = one(course, "#| export\nimport math", "#| export\nx = math.pi")
    assert body(text) == ["import math", "x = math.pi"]


def test_own_imports_win_over_those_of_other_cells(course):
    text = one(course, "from math import pi as x", "#| export\nfrom os import sep as x\ny = x")
    assert imports(text) == ["from os import sep as x"]


def test_ruff_has_nothing_to_say_about_an_exported_file(course, tmp_path):
    ruff = shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))
    if not Path(ruff).exists():
        pytest.skip("ruff is not installed")
    many = ", ".join(f"function_{c}" for c in "abcdefghijkl")
    lines = many.replace(", ", ",\n")
    one(
        course,
        f"import numpy as np, os.path, Xlib, abc\nfrom zlib import crc32, Z_FINISH\n"
        f"from tinytorch.x import {many}, CONST, Klass, a1 as b1, a1 as b0\n"
        "from numpy import array as ar, float32\nimport numpy.linalg as la\nimport os",
        "#| export\ndef f(): return (np, os, Xlib, abc, crc32, Z_FINISH, CONST, Klass, b1, b0,\n"
        f"ar, float32, la, {lines}, g)\nX = [f]",
        "#| export b\ndef g(): return f",
    )
    course.export()
    options = ["--isolated", "--no-cache", "--select", "I,E,F,W", "--line-length", "100"]
    done = subprocess.run(
        [ruff, "check", *options, "tinytorch"], cwd=course.root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


# ---- names ----


@pytest.mark.parametrize(
    "use",
    [
        "def f(x: np.ndarray): pass",
        "def f(x: 'np.ndarray | None'): pass",
        "def f() -> list['np.ndarray']: pass",
        "def f(x=np.pi): pass",
        "def f(*, x=np.pi): pass",
        "@np.vectorize\ndef f(): pass",
        "class A(np.ndarray): pass",
        "class A(metaclass=np.meta): pass",
        "class A:\n    np = np",
        "class A:\n    x: np.ndarray",
        "class A:\n    x = [np for i in range(3)]",
        "class A:\n    np = 1\n    def f(self): return np",
        "class A:\n    np = 1\n    x = [np for i in ()]",
        "class A:\n    np = 1\n    class B:\n        x = np",
        "x: np.ndarray = None",
        "x = [i for i in np.pi]",
        "x = {i: np for i in (1,)}",
        "x = [[np for j in i] for i in ()]",
        "x = lambda: np",
        "x = lambda a=np: a",
        "def f():\n    def g(): return np\n    return g",
        "def f():\n    global np\n    return np",
        "def f(x):\n    del x[np]",
        "def f():\n    try: pass\n    except np.error as e: pass",
        "def f():\n    with np.errstate() as e: pass",
        "def f(x):\n    match x:\n        case np.ndarray(): pass",
        "x = f'{np.pi:{np.e}}'",
        "x = 0\nx += np.pi",
        "async def f():\n    async for i in np.x: yield i",
        "def f(x):\n    x[np.newaxis] = 1",
        "def f(x):\n    for x[np.i] in (): pass",
        "x = (y := np.pi)",
        "if np.pi: pass",
    ],
)
def test_a_use_is_seen(course, use):
    text = one(course, "import numpy as np", f"#| export\n{use}\n_ = 0")
    assert imports(text) == ["import numpy as np"]


@pytest.mark.parametrize(
    "use",
    [
        "def f(np): return np",
        "def f(*np): return np",
        "def f(**np): return np",
        "def f():\n    np = 1\n    return np",
        "def f():\n    import other as np\n    return np",
        "def f():\n    for np in (): np",
        "def f():\n    with open('x') as np: np",
        "def f():\n    try: pass\n    except OSError as np: np",
        "def f(x):\n    match x:\n        case [np, *rest]: return np, rest\n"
        "        case {'a': 1, **np}: return np\n        case int() as np: return np",
        "def f():\n    if (np := 1): return np",
        "def f():\n    [np := i for i in ()]\n    return np",
        "def f():\n    def np(): pass\n    return np",
        "def f():\n    np = 1\n    def g():\n        nonlocal np\n        np += 1\n    return g",
        "def f():\n    class np: pass\n    return np",
        "x = [np for np in ()]",
        "x = {np: np for np, y in () if np}",
        "x = lambda np: np",
        "x = 'np'",
        "class A:\n    np = 1\n    y = np",
        "class A:\n    def np(self): pass\n    y = np",
        "class A:\n    class np: pass\n    class B(np): pass\n    def f(self, x: np): pass",
        "class A:\n    np = int\n    x: np = 1\n    y = [i for i in np]",
        "def f(x: \"Literal['np']\"): pass\nLiteral = 1",
        "def f(x: 'about np, in words'): pass",
        "x.np = 1\nx = 1",
        "def f(x): return x.np(np=1)",
    ],
)
def test_what_is_no_use_imports_nothing(course, use):
    text = one(course, "import numpy as np", f"#| export\n{use}\n_ = 0")
    assert imports(text) == []


UNSOLVED = """
    #| export
    def f(x):
        z = sqrt(x)
        ### BEGIN SOLUTION
        raise NotImplementedError("01_one: f is not written yet")
        ### END SOLUTION
        return soft / z
"""


def test_a_name_that_the_solution_will_define_is_no_error(course):
    text = one(course, "from math import sqrt", UNSOLVED)
    assert "return soft / z" in text and imports(text) == ["from math import sqrt"]


def test_outside_the_unsolved_function_it_is_one(course):
    other = "\n\n    def g(): return soft\n"
    course.lesson("#| default_exp a\nfrom math import sqrt", UNSOLVED.rstrip() + other)
    assert "one_dev.py:14: `soft` is used here" in course.fails().message
    begun = UNSOLVED.replace('raise NotImplementedError("01_one: f is not written yet")', "pass")
    course.lesson("#| default_exp a\nfrom math import sqrt", begun)
    assert "one_dev.py:12: `soft` is used here" in course.fails().message


def test_a_name_from_nowhere_is_an_error_with_its_line(course):
    course.lesson("#| default_exp a", "#| export\ndef f():\n    return foo + 1")
    error = course.fails()
    assert error.message == (
        "modules/01_one/one_dev.py:7: `foo` is used here but neither defined, imported nor "
        "exported."
    )


def test_a_name_of_a_plain_cell_is_an_error_that_says_where_it_is(course):
    course.lesson("#| default_exp a", "def helper(): pass", "#| export\nx = helper()")
    error = course.fails()
    assert error.message.startswith("modules/01_one/one_dev.py:9: `helper` is used here")
    assert "modules/01_one/one_dev.py:5" in error.hint and "#| export" in error.hint


def test_builtins_and_dunders_need_nothing(course):
    text = one(
        course,
        "#| export\nx = len(__name__), __file__, print\n"
        "class A:\n    def f(self): return __class__, super()",
    )
    assert imports(text) == []


# ---- targets that need each other ----


def late_course(course):
    course.lesson(
        "#| default_exp core.op",
        "#| export\nclass Op:\n    def __call__(self, x): return Tensor(x.data * 2)",
        "#| export core.ops\ndouble = Op()",
        "#| export core.tensor\nclass Tensor:\n    def __init__(self, data): self.data = data\n"
        "    def double(self): return double(self)",
    )
    return course.plan()


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


# ---- globals ----


def test_a_global_that_only_a_function_binds_is_defined(course):
    text = one(course, "#| export\ndef f():\n    global n\n    n = 1\ndef g(): return n")
    assert imports(text) == []


def test_a_global_of_another_target_is_an_error(course):
    course.lesson("#| export a\nn = 0", "#| export b\ndef f():\n    global n\n    n = 1")
    message = course.fails().message
    assert "one_dev.py:8: `global n` would not reach the `n` of a." in message


def test_importing_a_name_that_its_home_rebinds_is_an_error(course):
    course.lesson(
        "#| export a\nn = 0\ndef f():\n    global n\n    n = 1", "#| export b\ndef g(): return n"
    )
    message = course.fails().message
    assert "one_dev.py:10: `n` is rebound by `global` in a" in message


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
