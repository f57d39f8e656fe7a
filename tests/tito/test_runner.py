"""Running lessons and tests folders: what the student's code does is told as what it is."""

import json

import pytest

from tito import export, progress, runner
from tito.errors import TitoError
from tito.results import ENDED, FAILED, PASSED, UNWRITTEN
from tito.testing import unfinished

SOLVED = "    return x * 2\n"
UNSOLVED = '    raise NotImplementedError("01_thing: double is not written yet")\n'


def states(outcome):
    return {check.label: check.state for check in outcome.checks}


# ---- a lesson ----


def test_a_solved_lesson_passes_with_every_check_named(small_course):
    outcome = runner.run_lesson(small_course.workspace, small_course.module)
    assert outcome.passed
    assert states(outcome) == {
        "TestDouble.test_three": PASSED,
        "TestDouble.test_minus": PASSED,
        "TestBox.test_holds": PASSED,
        "TestBoxGrow.test_grows": PASSED,
    }
    first = outcome.checks[0]
    assert (first.title, first.sentence) == ("Doubling", "Three becomes six")


def test_a_wrong_solution_fails_with_expected_got_and_the_line(small_course):
    small_course.change(SOLVED, "    return x * 3\n")
    outcome = runner.run_lesson(small_course.workspace, small_course.module)
    assert not outcome.passed
    check = outcome.failures[0]
    assert check.label == "TestDouble.test_three"
    assert check.detail == "expected 6\ngot      9\nfrom     double(3)"
    text = small_course.lesson.read_text().split("\n")
    file, line, _ = check.trace[-1]
    assert file == str(small_course.lesson)
    assert text[line - 1].strip() == "assert double(3) == 6"


def test_an_unsolved_exercise_is_told_from_a_wrong_one(small_course):
    small_course.change(SOLVED, UNSOLVED)
    outcome = runner.run_lesson(small_course.workspace, small_course.module)
    assert not outcome.passed
    assert states(outcome) == {
        "TestDouble.test_three": UNWRITTEN,
        "TestDouble.test_minus": UNWRITTEN,
        "TestBox.test_holds": PASSED,
        "TestBoxGrow.test_grows": UNWRITTEN,
    }


def test_a_statement_that_fails_does_not_keep_later_checks_from_running(small_course):
    small_course.change("class TestBox:", "1 / 0\n\nclass TestBox:")
    outcome = runner.run_lesson(small_course.workspace, small_course.module)
    assert [c.state for c in outcome.checks] == [PASSED] * 4
    assert not outcome.passed
    assert outcome.problem == "ZeroDivisionError: division by zero"


def test_a_lesson_whose_checks_were_deleted_does_not_pass(small_course):
    small_course.lesson.write_text(small_course.lesson.read_text().replace("Test", "Nothing"))
    outcome = runner.run_lesson(small_course.workspace, small_course.module)
    assert not outcome.passed
    assert "no checks" in outcome.problem


@pytest.mark.parametrize(
    "body, says",
    [
        ("import os; os._exit(0)", "ended by itself, with code 0"),
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("import os\n    while True: os.write(1, b'x' * 9999)", "printed more than"),
        ("while True: pass", "did not come to an end"),
    ],
)
def test_whatever_ends_the_process_is_never_a_pass(small_course, body, says):
    small_course.change(SOLVED, f"    {body}\n")
    outcome = runner.run_lesson(small_course.workspace, small_course.module, seconds=1)
    assert not outcome.passed
    assert says in outcome.problem
    assert states(outcome) == {"TestDouble.test_three": ENDED}


def test_an_endless_loop_is_found_at_its_line(small_course):
    small_course.change(SOLVED, "    while x:\n        x = x + 1\n")
    outcome = runner.run_lesson(small_course.workspace, small_course.module, seconds=1)
    file, line, name = outcome.checks[-1].trace[-1]
    assert (file, name) == (str(small_course.lesson), "double")
    assert small_course.lesson.read_text().split("\n")[line - 1].strip() in (
        "while x:", "x = x + 1")


def test_leaving_in_the_lesson_itself_is_no_pass(small_course):
    small_course.change("# # Things", "# # Things\n\n# %%\nimport os; os._exit(0)")
    outcome = runner.run_lesson(small_course.workspace, small_course.module)
    assert not outcome.passed
    assert outcome.checks == []


def test_sys_exit_in_a_check_fails_that_check_alone(small_course):
    small_course.change(SOLVED, "    import sys\n    sys.exit(0)\n")
    outcome = runner.run_lesson(small_course.workspace, small_course.module)
    assert states(outcome)["TestDouble.test_three"] == FAILED
    assert states(outcome)["TestBox.test_holds"] == PASSED


def test_what_the_student_prints_is_kept_with_the_check(small_course):
    small_course.change(SOLVED, "    print('x is', x)\n    return x\n")
    outcome = runner.run_lesson(small_course.workspace, small_course.module)
    assert outcome.failures[0].printed == "x is 3\n"
    assert outcome.failures[1].printed == "x is -1\n"


def test_a_lesson_sees_earlier_modules_only(small_course):
    small_course.write("modules/02_more/more_dev.py", '''\
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
    workspace = small_course.workspace
    export.export(workspace, workspace.module("01"))
    assert runner.run_lesson(workspace, workspace.module("02")).passed
    export.export(workspace, workspace.module("02"))
    small_course.change("import double\n", "import double\nfrom tinytorch.core.more import four\n",
                        workspace.module("02").lesson)
    outcome = runner.run_lesson(workspace, workspace.module("02"))
    assert not outcome.passed
    assert "02_more builds `four`" in outcome.problem


def test_the_notebook_form_of_a_lesson_runs_too(small_course):
    import nbformat

    from tito.source import read_percent

    cells = [nbformat.v4.new_code_cell(cell.text) if cell.kind == "code"
             else nbformat.v4.new_markdown_cell(cell.text)
             for cell in read_percent(small_course.lesson.read_text())]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), small_course.lesson.with_suffix(".ipynb"))
    small_course.lesson.unlink()
    outcome = runner.run_lesson(small_course.workspace, small_course.module)
    assert outcome.passed and len(outcome.checks) == 4


# ---- tests/NN_name/ ----


def test_the_tests_folder_runs_on_the_exported_code(small_course):
    export.export(small_course.workspace, small_course.module)
    outcome = runner.run_tests_folder(small_course.workspace, small_course.module)
    assert outcome.passed
    assert [(c.group, c.name, c.sentence) for c in outcome.checks] == [
        ("tests/01_thing/test_thing.py", "test_nothing", "Nothing stays nothing"),
        ("tests/01_thing/test_thing.py", "test_cannot_shrink", "cannot shrink"),
    ]


def test_leaving_in_a_test_is_no_pass(small_course):
    export.export(small_course.workspace, small_course.module)
    small_course.change("    assert double(0) == 0", "    import os\n    os._exit(0)",
                        small_course.tests)
    outcome = runner.run_tests_folder(small_course.workspace, small_course.module)
    assert not outcome.passed
    assert [(c.name, c.state) for c in outcome.checks] == [("test_nothing", ENDED)]


def test_tests_that_cannot_be_read_are_a_failure(small_course):
    export.export(small_course.workspace, small_course.module)
    small_course.change("import Box, double", "import Box, triple", small_course.tests)
    outcome = runner.run_tests_folder(small_course.workspace, small_course.module)
    assert not outcome.passed
    assert "triple" in outcome.failures[0].detail


@pytest.mark.parametrize("split", [0, 10**9])
def test_many_tests_run_in_two_processes_and_are_one_result(small_course, monkeypatch, split):
    monkeypatch.setattr(runner, "SPLIT", split)
    export.export(small_course.workspace, small_course.module)
    small_course.write("tests/01_thing/test_more.py", "def test_no(): assert 1 == 2\n")
    outcome = runner.run_tests_folder(small_course.workspace, small_course.module)
    assert [(c.group.rpartition("/")[2], c.name, c.state) for c in outcome.checks] == [
        ("test_more.py", "test_no", FAILED),
        ("test_thing.py", "test_nothing", PASSED),
        ("test_thing.py", "test_cannot_shrink", PASSED),
    ]
    assert not outcome.passed


def test_a_folder_without_tests_runs_no_others(small_course):
    small_course.tests.rename(small_course.root / "tests" / "test_elsewhere.py")
    outcome = runner.run_tests_folder(small_course.workspace, small_course.module)
    assert outcome.checks == []


def test_a_pytest_that_cannot_run_is_no_pass(small_course):
    export.export(small_course.workspace, small_course.module)
    small_course.write("tests/conftest.py", "def pytest_collection_finish(): 1 / 0\n")
    outcome = runner.run_tests_folder(small_course.workspace, small_course.module)
    assert not outcome.passed
    assert "pytest could not run" in outcome.problem and "ZeroDivisionError" in outcome.problem


def test_a_module_without_a_tests_folder_has_no_outcome(small_course):
    small_course.tests.unlink()
    small_course.tests.parent.rmdir()
    assert runner.run_tests_folder(small_course.workspace, small_course.module) is None


# ---- what is remembered ----


def test_a_pass_is_remembered_for_that_text_only(small_course, monkeypatch):
    workspace, module = small_course.workspace, small_course.module
    assert not unfinished(workspace, module)
    with monkeypatch.context() as patch:
        patch.setattr(runner, "run_lesson", lambda *a: pytest.fail("it ran again"))
        assert not unfinished(workspace, module)
    small_course.change(SOLVED, "    return x * 3\n")
    assert unfinished(workspace, module)
    small_course.change("    return x * 3\n", SOLVED)
    text = progress.digest(module)
    assert not progress.passed(workspace, module, text)  # the failure has replaced the pass
    assert not unfinished(workspace, module)


def test_a_given_sheet_counts_as_part_of_the_text(small_course):
    sheet = small_course.write("modules/01_thing/given_dev.py", "# %%\nONE = 1\n")
    before = progress.digest(small_course.module)
    sheet.write_text("# %%\nONE = 2\n")
    assert progress.digest(small_course.module) != before
    sheet.write_bytes(b"# %%\r\nONE = 1\r\n")
    assert progress.digest(small_course.module) == before


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"version": "x", "passed": {}}', b"\xff\xfe"])
def test_a_damaged_progress_file_is_named_and_kept(small_course, content):
    workspace = small_course.workspace
    file = progress.path(workspace)
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(TitoError) as error:
        unfinished(workspace, small_course.module)
    assert str(file) in error.value.message
    assert "progress.json.corrupt" in error.value.hint
    assert file.with_name("progress.json.corrupt").read_bytes() == content
    assert not unfinished(workspace, small_course.module)  # as the hint says
    assert json.loads(file.read_text())["version"] == progress.VERSION


def test_a_second_damaged_file_does_not_replace_the_first(small_course):
    file = progress.path(small_course.workspace)
    file.parent.mkdir()
    for content in ("one", "two"):
        file.write_text(content)
        with pytest.raises(TitoError):
            progress.load(small_course.workspace)
    kept = sorted(path.read_text() for path in file.parent.glob("*.corrupt*"))
    assert kept == ["one", "two"]


def test_a_newer_progress_file_is_left_alone(small_course):
    file = progress.path(small_course.workspace)
    file.parent.mkdir()
    file.write_text('{"version": 99, "passed": {}, "more": 1}')
    with pytest.raises(TitoError, match="newer"):
        progress.load(small_course.workspace)
    assert json.loads(file.read_text())["more"] == 1
