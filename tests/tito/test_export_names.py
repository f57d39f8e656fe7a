"""Which names an exported file uses, and the imports it gets."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .exporting import Course, body, imports, one


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


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
