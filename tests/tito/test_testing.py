"""What `tito test` says of a module: its exercises, the first failure, tests/NN_name/."""

import json

import pytest

from tito import export, runner
from tito.results import group_of
from tito.testing import as_dict, lines, test_module, unfinished

test_module.__test__ = False  # a function of tito's, no test

SOLVED = "    return x * 2\n"
UNSOLVED = '    raise NotImplementedError("01_thing: double is not written yet")\n'


def state_words(result):
    return {s.exercise.id: f"{s.state} {s.note}".strip() for s in result.states}


def test_it_tests_the_students_code_without_writing_into_the_package(small_course):
    small_course.change(SOLVED, "    return x + 7\n")
    before = sorted(small_course.root.joinpath("tinytorch").rglob("*.py"))
    result = test_module(small_course.workspace, small_course.module)
    assert not result.passed
    assert result.tests_failure.detail == "expected 0\ngot      7\nfrom     double(0)"
    assert sorted(small_course.root.joinpath("tinytorch").rglob("*.py")) == before


def test_a_stale_export_is_not_what_is_tested(small_course):
    export.export(small_course.workspace, small_course.module)
    small_course.change(SOLVED, "    return x * 1000 + 1\n")
    result = test_module(small_course.workspace, small_course.module)
    assert result.tests_failure.detail.startswith("expected 0\ngot      1\n")
    assert "x * 2" in (small_course.root / "tinytorch/core/thing.py").read_text()


def test_exercises_are_done_not_yet_waiting_or_failing(small_course):
    small_course.change(SOLVED, UNSOLVED)
    result = test_module(small_course.workspace, small_course.module)
    assert state_words(result) == {
        "double": "not yet", "Box.__init__": "done", "Box.grow": "waits for double"}
    assert result.failure is None  # nothing is wrong, there is only something to do
    shown = "\n".join(lines(result))
    assert ("Next: double, modules/01_thing/thing_dev.py:12 (hints: modules/01_thing/HINTS.md)"
            in shown)
    assert " · tests/01_thing: 1 passed, 1 not yet" in shown  # and no cross: nothing failed

    small_course.change(UNSOLVED, "    return x * 2 if x > 0 else x\n")
    result = test_module(small_course.workspace, small_course.module, inline_only=True)
    assert state_words(result) == {
        "double": "failing 1 of 2 checks", "Box.__init__": "done", "Box.grow": "done"}
    assert result.tests is None
    assert result.failure.sentence == "Minus one becomes minus two"


def test_exercises_come_in_the_order_of_their_checks(small_course):
    text = small_course.lesson.read_text()
    small_course.lesson.write_text(text.replace("TestDouble", "TestA").replace("TestBox:", "TestB:")
                                   .replace("TestB:", "TestDouble:").replace("TestA", "TestBox"))
    result = test_module(small_course.workspace, small_course.module, inline_only=True)
    assert [s.exercise.id for s in result.states] == ["Box.__init__", "double", "Box.grow"]


def test_what_waits_for_another_exercise_is_not_next(small_course):
    small_course.change(SOLVED, "    return Box(x).double()\n")
    small_course.change("        self.x = x\n", """\
        self.x = x
        ### END SOLUTION

    def double(self):
        ### BEGIN SOLUTION
        raise NotImplementedError("01_thing: Box.double is not written yet")
""")
    result = test_module(small_course.workspace, small_course.module, inline_only=True)
    assert state_words(result)["double"] == "waits for Box.double"
    assert result.next.exercise.id == "Box.double"


def test_what_keeps_a_module_from_its_export_is_named(small_course):
    small_course.change(SOLVED, "    return x\n")
    small_course.change("        self.x = x\n",
                        '        raise NotImplementedError("01_thing: Box.__init__ is not written '
                        'yet")\n')
    assert unfinished(small_course.workspace, small_course.module) == (
        "double (failing: 2 of 2 checks), Box.__init__ (not yet), Box.grow (waits for "
        "Box.__init__)")


def test_a_test_that_catches_what_is_not_written_has_not_failed(small_course):
    small_course.change("        if by < 0:", """\
        raise NotImplementedError("01_thing: Box.grow is not written yet")
        if by < 0:""")
    small_course.change("pytest.raises(ValueError, ", "pytest.raises(RuntimeError, ",
                        small_course.tests)
    result = test_module(small_course.workspace, small_course.module)
    assert " · tests/01_thing: 1 passed, 1 not yet" in "\n".join(lines(result))


def test_of_hypothesis_only_the_values_are_told(small_course):
    small_course.write("tests/01_thing/test_thing.py", """\
        from hypothesis import given, strategies as st
        from hypothesis.extra.numpy import arrays
        from tinytorch.core.thing import double

        @given(st.integers(7, 9), st.data())
        def test_double(x, data):
            y = data.draw(arrays("float64", (2,), elements=st.just(1.0)))
            assert double(x) == len(y)
        """)
    result = test_module(small_course.workspace, small_course.module)
    assert result.tests_failure.detail == (
        "It failed with x=7; array([1., 1.])\nexpected 2\ngot      14\nfrom     double(x)")


def test_an_error_in_the_package_is_shown_at_the_line_of_the_lesson(small_course):
    small_course.change("        if by < 0:\n", "        if by < None:\n")
    result = test_module(small_course.workspace, small_course.module)
    line = small_course.lesson.read_text().split("\n").index("        if by < None:") + 1
    assert result.tests_failure.places == [
        f"tests/01_thing/test_thing.py:{small_course.tests.read_text().split(chr(10)).index('        Box(1).grow(-1)') + 1}",  # noqa: E501
        f"modules/01_thing/thing_dev.py:{line}"]


def test_a_lesson_that_cannot_be_exported_still_has_its_own_checks(small_course):
    small_course.change("#| export\ndef double", "#| export\nfrom math import *\ndef double")
    result = test_module(small_course.workspace, small_course.module)
    assert result.inline.passed
    assert not result.passed
    assert result.tests_failure.sentence == "The lesson cannot be exported."
    assert "import *" in result.tests_failure.detail


def test_the_json_says_the_same(small_course):
    small_course.change(SOLVED, "    return x\n")
    given = as_dict(test_module(small_course.workspace, small_course.module))
    given = json.loads(json.dumps(given))
    assert given["passed"] is False
    assert [(e["id"], e["state"]) for e in given["exercises"]] == [
        ("double", "failing"), ("Box.__init__", "done"), ("Box.grow", "failing")]
    assert given["first_failure"]["places"] == ["modules/01_thing/thing_dev.py:22"]
    assert given["tests"] == {"passed": 2, "failed": 0, "skipped": 0, "problem": ""}


def test_the_command_in_a_pipe(small_course):
    tito = ["-c", "from tito.cli import main; main()", "test"]
    code, shown = runner.run_python([*tito, "01"], small_course.root)
    assert code == 0
    assert "✅ double" in shown and "\033" not in shown
    small_course.change(SOLVED, "    return x\n")
    code, shown = runner.run_python([*tito, "01"], small_course.root)
    assert code == 1
    assert "❌ double        failing: 2 of 2 checks" in shown
    code, shown = runner.run_python([*tito, "99"], small_course.root)
    assert code == 2
    assert "There is no module `99`" in shown


# ---- which checks belong to an exercise ----


@pytest.mark.parametrize(
    "exercise, classes, group",
    [
        ("masked_fill", ["TestMaskedFill"], "TestMaskedFill"),
        ("Module.named_parameters", ["TestModule", "TestModuleNamedParameters"],
         "TestModuleNamedParameters"),
        ("Op.__call__", ["TestOp"], "TestOp"),
        ("Op.__call__", ["TestOp", "TestOpCall"], "TestOpCall"),
        ("Linear.__init__", ["TestLinear"], "TestLinear"),
        ("Linear.forward", ["TestLinearForward", "TestLinear"], "TestLinearForward"),
        ("Node.backward", ["TestNode"], None),
    ],
)
def test_the_group_of_an_exercise(exercise, classes, group):
    assert group_of(exercise, classes) == group
