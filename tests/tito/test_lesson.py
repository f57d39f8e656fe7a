"""Lessons run as scripts, notebooks and under pytest; what the checks say; what is hidden."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from tito.checks import expect, expect_error
from tito.compare import difference
from tito.measuring import peak_bytes, timed

ROOT = Path(__file__).parents[2]
HEAD = "from tito.lesson import (dataset, expect, expect_error, measure, run_tests)\n"


class Course:
    def __init__(self, root):
        self.root = root
        self.write("tinytorch/__init__.py", "")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def package(self, target, module, text, stub=False):
        word = "Stub: built by" if stub else "Generated from"
        dev = f"modules/{module}/{module[3:]}_dev.py"
        return self.write(f"tinytorch/{target}.py", f"# {word} {dev} by tito export.\n{text}")

    def lesson(self, text, module="05_five"):
        return self.write(f"modules/{module}/{module[3:]}_dev.py", HEAD + textwrap.dedent(text))

    def run(self, text, module="05_five", cwd=None, **environment):
        path = self.lesson(text, module)
        return python([str(path)], cwd or self.root, **environment)


def python(arguments, cwd, **environment):
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"} | environment
    env.pop("TITO_SILENT", None) if "TITO_SILENT" not in environment else None
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, encoding="utf-8",
        timeout=60,
    )  # fmt: skip


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path.resolve())


# ---- what a group prints ----


def test_a_group_that_passes_prints_exactly_this(course):
    done = course.run('''
        class TestFeedForward:
            """Feedforward network"""
            def test_shapes(self):
                "Expands to d_ff and contracts back"
                assert 1 == 1
        run_tests(TestFeedForward)
    ''')
    assert done.stdout == (
        "Unit Test: Feedforward network...\n"
        "✅ Expands to d_ff and contracts back\n"
        "Progress: Feedforward network ✓\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_failing_group_says_why_and_where_and_the_script_exits_with_1(course):
    done = course.run('''
        def double(x):
            return [x, x, x]
        class TestA:
            """Doubling"""
            def test_bare(self):
                "Two become four"
                x = 2
                assert double(x)[0] == 4
            def test_message(self):
                "A message is shown"
                assert False, "because of this\\nand that"
            def test_error(self):
                "An error is named"
                double(1)[7]
            def test_good(self):
                "This one is right"
            def test_fixture(self, tmp_path):
                "No fixtures"
        class TestB:
            def test_fine_thing(self): pass
        run_tests(TestA, TestB)
        print("the end")
    ''')
    lesson = "modules/05_five/five_dev.py"
    assert done.stdout.splitlines() == [
        "Unit Test: Doubling...",
        "❌ Two become four",
        "    expected 4",
        "    got      2",
        "    from     double(x)[0]",
        f"    {lesson}:10: assert double(x)[0] == 4",
        "❌ A message is shown",
        "    because of this",
        "    and that",
        "    `False` does not hold.",
        f"    {lesson}:13: assert False, \"because of this\\nand that\"",
        "❌ An error is named",
        "    IndexError: list index out of range",
        f"    {lesson}:16: double(1)[7]",
        "✅ This one is right",
        "❌ No fixtures",
        "    TypeError: TestA.test_fixture() missing 1 required positional argument: 'tmp_path'",
        "Progress: Doubling 1/5",
        "Unit Test: TestB...",
        "✅ fine thing",
        "Progress: TestB ✓",
        "the end",
    ]
    assert done.returncode == 1


def test_an_unsolved_exercise_is_said_once_for_the_group(course):
    done = course.run('''
        def f():
            raise NotImplementedError("05_five: f is not written yet")
        class TestF:
            """The f"""
            def test_one(self):
                "One"
                f()
            def test_two(self):
                "Two"
                expect_error(RuntimeError, f)
            def test_three(self):
                "Three"
            def test_four(self):
                "Another error on the way to it"
                try:
                    f()
                except NotImplementedError:
                    assert False, "pytest.raises(match=...) does that"
        run_tests(TestF)
    ''')
    assert done.stdout.splitlines() == [
        "Unit Test: The f...",
        "✅ Three",
        "❌ 05_five: f is not written yet: 3 of the 4 checks wait for it",
        "Progress: The f 1/4",
    ]
    assert done.returncode == 1


def test_one_mistake_is_said_once_for_the_group(course):
    done = course.run('''
        def f(x):
            return x.shape
        class TestF:
            """The f"""
            def test_one(self):
                "One"
                f(None)
            def test_two(self):
                "Two"
                expect(f(2), 3)
            def test_three(self):
                "Three"
                expect_error(ValueError, f, None)
            def test_four(self):
                "Four"
                expect(f(None), 3)
            def test_five(self):
                "Five"
                expect(None, 3)
        run_tests(TestF)
    ''')
    none = "A function without `return` gives None: is one missing?"
    assert done.stdout.splitlines() == [
        "Unit Test: The f...",
        "❌ One",
        "    AttributeError: 'NoneType' object has no attribute 'shape'",
        f"    {none}",
        "    modules/05_five/five_dev.py:4: return x.shape",
        "❌ Two",
        "    AttributeError: 'int' object has no attribute 'shape'",
        "    modules/05_five/five_dev.py:4: return x.shape",
        "❌ Five",
        "    expected 3, got None",
        f"    {none}",
        "    modules/05_five/five_dev.py:21: expect(None, 3)",
        "❌ AttributeError: 'NoneType' object has no attribute 'shape': 2 more checks end like this",
        "Progress: The f 0/5",
    ]


def test_an_op_that_returns_nothing_is_named(course):
    done = course.run('''
        class Op:
            def __init__(self, forward):
                self.forward, self.name = forward, forward.__name__
            def __call__(self, x):
                return self.forward(x).dtype
        class Layer(Op):
            def forward(self, x): return x + self.bias
            name, bias = "layer", None
            def __init__(self): pass
        @Op
        def relu(x): x
        class TestRelu:
            def test_one(self): expect(relu(1), 1)
            def test_two(self): Layer().forward(1)
        run_tests(TestRelu)
    ''')
    assert "    Did relu return None? Then a `return` is missing." in done.stdout.splitlines()
    assert done.stdout.count("A function without `return` gives None") == 1


def test_each_check_has_its_own_instance_and_setup(course):
    done = course.run('''
        class TestBase:
            def test_inherited(self): assert self.x == 1
        class TestF(TestBase):
            def setup_method(self): self.x = 1
            def test_one(self): self.x += 1
            def test_two(self): assert self.x == 1
        run_tests(TestF)
    ''')
    assert done.stdout.splitlines()[-1] == "Progress: TestF ✓"
    assert "✅ inherited" in done.stdout


def test_a_group_without_checks_fails(course):
    done = course.run("class TestF: pass\nrun_tests(TestF)")
    assert "no method whose name begins with test" in done.stdout and done.returncode == 1


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_old_code_pages_get_ascii_marks(course, encoding):
    path = course.lesson('''
        class TestF:
            """Tensor × 2 → 4"""
            def test_one(self): "✓ fine …"
            def test_two(self): assert 0, "größer"
        run_tests(TestF)
    ''')
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, str(path)], env=env, capture_output=True, timeout=60)
    text = done.stdout.decode(encoding)
    assert "[ok] ok fine ..." in text and "[FAIL] two" in text, done.stderr
    assert "Progress:" in text and done.returncode == 1


def test_exit_handlers_still_run_and_nothing_printed_is_lost(course):
    done = course.run('''
        import atexit, sys
        atexit.register(lambda: print("goodbye"))
        class TestF:
            def test_one(self): assert 0
        run_tests(TestF)
        sys.stdout.write("no newline")
    ''')
    assert done.stdout.endswith("no newlinegoodbye\n") and done.returncode == 1


def test_a_script_that_fails_itself_keeps_its_traceback(course):
    done = course.run('''
        class TestF:
            def test_one(self): pass
        run_tests(TestF)
        raise KeyError("x")
    ''')
    assert done.returncode == 1 and "KeyError: 'x'" in done.stderr


# ---- when it is silent ----

CHECKED = '''
print("imported as", __name__)
class TestF:
    """The f"""
    def test_one(self):
        "One"
        assert 1 == 1
    def test_bad(self):
        assert 1 == 2
run_tests(TestF)
@measure
def measured(): print("measured")
'''


def test_tito_silent(course):
    done = course.run(CHECKED, TITO_SILENT="1")
    assert done.stdout == "imported as __main__\n" and done.returncode == 0


def test_under_pytest_the_classes_are_collected_and_run_tests_is_silent(course):
    path = course.lesson(CHECKED)
    options = ["-q", "-s", "-p", "no:cacheprovider", "--import-mode=importlib"]
    done = python(["-m", "pytest", *options, str(path)], course.root)
    assert "1 failed, 1 passed" in done.stdout
    assert "Unit Test" not in done.stdout and "measured\n" not in done.stdout


def test_a_lesson_that_another_file_imports_is_silent(course):
    course.lesson(CHECKED)
    done = python(["-c", "import five_dev"], course.root / "modules/05_five")
    assert done.stdout == "imported as five_dev\n", done.stderr


# ---- which package a lesson sees ----

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


# ---- measuring ----


def test_measure_runs_in_a_script_and_waits_for_the_exercises(course):
    done = course.run('''
        @measure
        def one(): print("one")
        @measure
        def two(): raise NotImplementedError("05_five: f is not written yet")
        one()
    ''')
    assert done.stdout.splitlines() == [
        "one",
        "measured after the exercises are solved: 05_five: f is not written yet",
        "one",
    ]
    assert done.returncode == 0


def test_a_measurement_whose_exercise_is_wrong_says_so_in_a_line(course):
    text = '''
        class TestF:
            def test_one(self): assert 1 == 0
        run_tests(TestF)
        @measure
        def one(): None.shape
        print("the end")
    '''
    done = course.run(text)
    assert done.stdout.splitlines()[-2:] == [
        "measured after the checks pass: AttributeError: 'NoneType' object has no attribute "
        "'shape'",
        "the end",
    ]
    assert (done.returncode, done.stderr) == (1, "")
    done = course.run(text.replace("1 == 0", "1 == 1"))  # then it is a mistake of the lesson
    assert "AttributeError" in done.stderr and "the end" not in done.stdout


def test_timed_is_about_right():
    from time import sleep

    assert 0.004 < timed(sleep, 0.005, repeat=3) < 0.05
    calls = []
    timed(calls.append, 1, repeat=3)
    assert len(calls) > 10  # what is too short for the clock is repeated


def test_peak_bytes_is_the_most_held_at_one_time():
    def keep():
        a = np.ones(1_000_000)
        b = a + 1
        return (a + b).sum()

    assert 24e6 <= peak_bytes(keep) < 24.1e6
    assert peak_bytes(lambda: None) < 1000


def test_the_digits_are_the_digits(course):
    done = course.run('''
        images, labels = dataset("digits")
        print(images.shape, images.dtype, images.min(), images.max())
        print(labels.shape, labels.dtype, labels[:3].tolist(), images[0, :4].tolist())
        import numpy as np; print(np.bincount(labels).tolist())
    ''')
    assert done.stdout.splitlines() == [
        "(1797, 64) float32 0.0 16.0",
        "(1797,) int64 [0, 1, 2] [0.0, 0.0, 5.0, 13.0]",
        "[178, 182, 177, 183, 181, 182, 181, 179, 174, 180]",
    ], done.stderr


def test_the_checksum_in_the_readme_is_the_file_s():
    import hashlib

    digest = hashlib.sha256((ROOT / "datasets/digits.csv.gz").read_bytes()).hexdigest()
    assert f"sha256: `{digest}`" in (ROOT / "datasets/README.md").read_text(encoding="utf-8")


# ---- expect ----


class Tensor:
    def __init__(self, data):
        self.data = np.asarray(data)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (Tensor([1.0, 2.0]), [1, 2]),
        ([Tensor(1.0), Tensor(2.0)], np.array([1, 2])),
        (np.float32(0.1), 0.1),
        (np.array([1e8 + 1], "float32"), [1e8]),
        (np.array(True), True),
        ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]], "int8")),
        ((2, 3), (2, 3)),
        ("text", "text"),
        (None, None),
        ({"a": 1}, {"a": 1}),
        ([np.nan, np.inf], [np.nan, np.inf]),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        ([[1, 2], [3]], [[1, 2], [3]]),
        (1 + 2j, 1 + 2j),
        ([], []),
    ],
)
def test_what_is_the_same(got, want):
    expect(got, want)


@pytest.mark.parametrize(
    ("got", "want", "message"),
    [
        (Tensor([1.5, 2.5]), [[1, 2, 3], [4, 5, 6]],
         "expected [[1, 2, 3], [4, 5, 6]] (2, 3), got [1.5, 2.5] (2,)\nThe shapes differ."),
        ([1.0, 2.0, 3.5], [1, 2, 3],
         "expected [1, 2, 3] (3,), got [1., 2., 3.5] (3,)\n"
         "1 of 3 values differ, the most at [2]: expected 3, got 3.5."),
        (3.0000041, 3, "expected 3, got 3.000004"),
        ((2, 3), (2, 4), "expected (2, 4), got (2, 3)"),
        ((2, 3), (2, 3, 1), "expected (2, 3, 1), got (2, 3)"),
        (None, [1, 2], "expected [1, 2] (2,), got None"),
        (None, 3, "expected 3, got None"),
        ("a", 3, "expected 3, got 'a'"),
        ("a", "b", "expected 'b', got 'a'"),
        (1, None, "expected None, got 1"),
        ([np.nan, 1.0], [0, 1],
         "expected [0, 1] (2,), got [nan, 1.] (2,)\n"
         "1 of 2 values differ, the most at [0]: expected 0, got nan.\n"
         "1 of the values are nan (0/0, 0 * inf, inf - inf or log(-1))."),
        ([1.0, 0.0], [1, 2],
         "expected [1, 2] (2,), got [1., 0.] (2,)\n"
         "1 of 2 values differ, the most at [1]: expected 2, got 0.\nThink"),
        ([[1, 3], [2, 4]], [[1, 2], [3, 4]], "They are the right values, transposed."),
        ([-1.0, 2.0], [1, -2], "The sign is reversed."),
        ([2.0, 4.0, 6.0], [1, 2, 3], "Every value is 2. times what it should be."),
        ([1 / 3, 2 / 3, -1], [1, 2, -3], "Every value is 0.3333333 times what it should be."),
        ([2.0, 4.0, 8.0], [1, 3, 7], "Every value is off by 1."),
        ([0.0, 0.0], [1, 3], "Every value got is 0."),
        (np.ones((2, 3)), np.ones((3, 2)), "got is turned on its side."),
        (np.ones((1, 3)), np.ones(3), "though the number of values is the same."),
        (np.inf, 1.0, "expected 1., got inf"),
        (True, False, "expected False, got True"),
    ],
)  # fmt: skip
def test_what_differs_is_said(got, want, message):
    with pytest.raises(AssertionError) as error:
        expect(got, want, why="Think of the axis.")
    text = str(error.value)
    assert message in text and text.endswith("\nThink of the axis.")
    if "\n" in message or message.startswith("expected"):
        assert text.startswith(message)


@pytest.mark.parametrize(("got", "want"), [
    ([2.0, 4.0], [1, 2]),  # two values, or one and a 0: some number times those that are wanted
    ([0.0, 2.0, 2.0], [0, 1, 1]),
    ([3.0, 5.0], [1, 3]),
    ([1.1036163, 2.2072326, 3.3108489], [1, 2, 3]),  # no slip makes a number like this
    ([0.9565951, 1.9565951, 2.9565951], [1, 2, 3]),
])
def test_a_coincidence_is_not_told_as_a_finding(got, want):
    assert "Every" not in difference(got, want)


def test_the_tolerance_is_relative_above_one():
    assert difference(1000.0005, 1000, 1e-6) == ""
    assert difference([0.1 + 1e-9, 1, 2, 4], [0.1, 1, 2, 4], 1e-12).splitlines()[1:] == [
        "1 of 4 values differ, the most at [0]: expected 0.1, got 0.100000001."]
    assert difference(1000.002, 1000, 1e-6) != ""
    assert difference(0.0005, 0, 1e-3) == "" and difference(0.002, 0, 1e-3) != ""


def test_large_arrays_are_shortened():
    message = difference(np.arange(10_000.0), np.arange(10_000.0) + (np.arange(10_000) == 77))
    assert len(message) < 300 and "[77]: expected 78., got 77." in message


def test_expect_error_wants_the_kind_and_the_words():
    def fail(x):
        raise ValueError(f"got (2, {x})")

    assert str(expect_error(ValueError, fail, 3, says=["(2, 3)", "got"])) == "got (2, 3)"
    expect_error(ValueError, fail, 3, says="got")
    for kind, says, message in (
        (TypeError, [], "expected TypeError, got ValueError: got (2, 3)\nWhy"),
        (ValueError, ["(2, 4)"], "ValueError is right, but its message does not name '(2, 4)':"),
    ):
        with pytest.raises(AssertionError) as error:
            expect_error(kind, fail, 3, says=says, why="Why")
        assert str(error.value).startswith(message)
    with pytest.raises(AssertionError, match="to raise ValueError, got 4"):
        expect_error(ValueError, len, "four")


def test_an_unsolved_exercise_is_not_taken_for_the_error_that_is_asked_for():
    def unsolved():
        raise NotImplementedError("05_five: f is not written yet")

    def deep():
        raise RecursionError("maximum")

    with pytest.raises(NotImplementedError):
        expect_error(RuntimeError, unsolved)
    with pytest.raises(AssertionError, match="expected RuntimeError, got RecursionError"):
        expect_error(RuntimeError, deep)


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
