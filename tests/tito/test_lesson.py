"""Lessons run as scripts and under pytest: what the checks say, and when they are silent."""

import os
import subprocess
import sys

import pytest

from .lessons import CHECKED, ROOT, Course, python


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
        "    Something is None here: what a function without `return` gave, or an argument left out.",
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
    assert done.stdout.count("Something is None here") == 1


def test_an_error_inside_an_op_is_shown_at_its_line_in_the_op(course):
    """The op says it with the shapes of its inputs; what met, and where, only the first error knows"""
    done = course.run('''
        def op(x):
            try:
                return body(x)
            except ValueError:
                raise RuntimeError("op of shapes (2,): they do not fit.") from None
        def body(x):
            return int("seven") + x
        class TestOp:
            """An op"""
            def test_op(self):
                "It adds"
                op(1)
        run_tests(TestOp)
    ''')
    assert done.stdout.splitlines()[1:5] == [
        "❌ It adds",
        "    RuntimeError: op of shapes (2,): they do not fit.",
        "    Its cause: ValueError: invalid literal for int() with base 10: 'seven'",
        "    modules/05_five/five_dev.py:9: return int(\"seven\") + x",
    ]


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
