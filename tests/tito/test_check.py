"""The author's check: what can be wrong with a module is found, and a good one passes."""

import pytest

from tito import export
from tito.check import check
from tito.runner import run_python

TITO = ["-c", "from tito.cli import main; main()"]


@pytest.fixture
def good_course(small_course):
    """The small course with nothing to find: long enough, and exported."""
    text = small_course.lesson.read_text()
    prose = "".join(f"# Line {n} of the text.\n" for n in range(440 - text.count("\n")))
    small_course.lesson.write_text(text.replace("# # Things\n", f"# # Things\n{prose}"))
    export.export(small_course.workspace, small_course.module)
    return small_course


def findings(course, again=True):
    """What is found, after an export of the lesson as it is now."""
    if again:
        export.export(course.workspace, course.module)
    [report] = check(course.workspace, [course.module])
    return report.findings


def test_a_good_module_has_no_findings(good_course):
    seen = []
    [report] = check(good_course.workspace, [good_course.module], seen.append)
    assert report.findings == []
    assert (report.module, report.exercises, report.checks, report.tests) == ("01_thing", 3, 4, 2)
    assert seen == [report]


def test_a_wrong_solution(good_course):
    good_course.change("    return x * 2\n", "    return x * 3\n")
    found = findings(good_course)
    assert "solved, TestDouble.test_three fails: expected 6" in found[0]
    assert any("TestBoxGrow.test_grows" in line for line in found)


def test_a_group_that_passes_although_its_exercise_is_not_written(good_course):
    good_course.change("        assert Box(4).x == 4", "        assert Box")
    assert findings(good_course) == [
        "with nothing solved, TestBox does not fail by NotImplementedError",
        "TestBox passes although Box.__init__ is not written",
    ]


def test_a_group_that_fails_only_because_of_another_exercise(good_course):
    good_course.change("        assert box.grow() == 9\n        assert box.x == 9",
                       "        assert double(box.x) == 8")
    assert findings(good_course) == ["TestBoxGrow passes although Box.grow is not written"]


def test_an_exercise_without_a_group(good_course):
    text = good_course.lesson.read_text()
    good_course.lesson.write_text(text.replace("TestBoxGrow", "TestGrowth"))
    assert findings(good_course) == [
        "Box.grow has no group of checks (a class like TestBoxGrow)"]


def test_a_package_that_is_not_what_the_lesson_exports(good_course):
    good_course.change('"""Twice x."""', '"""Two times x."""')
    assert findings(good_course, again=False) == [
        "the package is not what the lesson exports: tito export 01"]
    good_course.change('"""Two times x."""', '"""Twice x."""')
    file = good_course.root / "tinytorch/core/thing.py"
    file.write_text(file.read_text().replace("x * 2", "x + x"))
    assert findings(good_course, again=False) == [
        "the package is not what the lesson exports: tito export 01"]


def test_a_lesson_that_cannot_be_exported(good_course):
    good_course.change("#| export\ndef double", "#| exprt\ndef double")
    [found] = findings(good_course, again=False)
    assert "`#| exprt` is no directive" in found


def test_tests_that_fail_or_use_what_is_built_later(good_course):
    good_course.write("modules/02_more/more_dev.py", '''\
        # %%
        #| default_exp core.more
        #| export
        ONE = 1
        ''')
    export.export(good_course.workspace, good_course.workspace.module("02"))
    good_course.change("assert double(0) == 0", "from tinytorch.core.more import ONE\n"
                       "    assert double(0) == ONE", good_course.tests)
    [found] = findings(good_course)
    assert "test_nothing fails: ImportError: 02_more builds `ONE`" in found


def test_a_module_without_tests(good_course):
    good_course.tests.unlink()
    assert findings(good_course) == ["tests/01_thing/ has no tests"]
    good_course.tests.parent.rmdir()
    assert findings(good_course) == ["there is no tests/01_thing/"]


@pytest.mark.parametrize(
    "file, old, new, says",
    [
        ("ABOUT.md", "difficulty: 1\n", "", "ABOUT.md's front matter lacks difficulty"),
        ("ABOUT.md", "---\ntitle", "title", "lacks title, description, difficulty"),
        ("HINTS.md", "## Box.grow\n", "## Box.growth\n", "has no heading `## Box.grow`"),
        ("HINTS.md", "## double\n\n1. What is it?\n", "## double\n\n",
         "double has 3 numbered hints, 4 are wanted"),
        ("HINTS.md", "## reflection-2\n\nIt names a thing.\n", "", "under `## reflection-2`"),
        ("HINTS.md", "## double\n\n1. What is it?", "## double\n\n1. `return x*2`",
         "the hints of double give the whole solution away"),
    ],
)
def test_what_stands_beside_the_lesson(good_course, file, old, new, says):
    good_course.change(old, new, good_course.folder / file)
    found = findings(good_course)
    assert says in found[0]


def test_hints_for_an_exercise_that_is_not_there(good_course):
    hints = good_course.folder / "HINTS.md"
    hints.write_text(hints.read_text() + "## treble\n\n1. Thrice.\n")
    assert findings(good_course) == ["HINTS.md: there is no exercise `treble`"]


def test_a_lesson_that_is_too_short_or_too_long(small_course, good_course):
    text = good_course.lesson.read_text()
    good_course.lesson.write_text(text.replace("# Line 0", 700 * "# More\n" + "# Line 0"))
    assert findings(good_course) == ["the lesson has 1116 lines without its tests; 400 to 1000 are wanted"]


def test_modules_are_built_in_order_from_an_empty_package(good_course):
    """Module 02 uses 01's export of now, not what stands in the package."""
    good_course.write("modules/02_more/more_dev.py", '''\
        # %%
        #| default_exp core.more
        from tito.lesson import run_tests
        from tinytorch.core.thing import double

        # %%
        #| export
        def four(x):
            """Four times x."""
            ### BEGIN SOLUTION
            return double(double(x))
            ### END SOLUTION

        # %%
        class TestFour:
            """Four times"""

            def test_two(self):
                "Two becomes eight"
                assert four(2) == 8
        ''')
    workspace = good_course.workspace
    export.export(workspace, workspace.module("02"))
    good_course.change("    return x * 2\n", "    return x * 1\n")  # not exported
    one, two = check(workspace, workspace.modules)
    assert any(line.startswith("solved, TestFour.test_two fails") for line in two.findings)
    assert any(line.startswith("solved, TestDouble") for line in one.findings)


def test_the_commands_exit_codes_and_lines(good_course):
    code, shown = run_python([*TITO, "dev", "check"], good_course.root)
    assert (code, shown.split()) == (
        0, "✅ 01_thing 3 exercises 4 checks 2 tests ok".split())
    good_course.change("x * 2", "x * 3")
    code, shown = run_python([*TITO, "dev", "check", "01"], good_course.root)
    assert code == 1
    assert "01_thing: solved, TestDouble.test_three fails" in shown
    code, shown = run_python([*TITO, "dev", "check", "07"], good_course.root)
    assert code == 2
    code, shown = run_python([*TITO, "dev", "mutants", "01"], good_course.root)
    assert code == 2 and "fails its own checks" in shown
    good_course.change("x * 3", "x * 2")
    code, shown = run_python([*TITO, "dev", "mutants", "01"], good_course.root)
    assert code == 1  # 16 of 18 is 88.9 %
    assert "+ if by <= 0:" in shown and "16 of 18 mutants killed, 88.9 %" in shown
