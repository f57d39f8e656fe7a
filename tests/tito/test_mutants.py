"""Small wrong changes: which are made, which are killed, which survive and are said to."""

import ast
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from tito import runner
from tito.errors import TitoError
from tito.mutants import Marks, try_mutants
from tito.mutate import mutants
from tito.results import PASSED


def changes(*code):
    """The mutated lines of one region of code inside `def f`."""
    return [mutant.mutated for mutant in made(*code)[1]]


def made(*code):
    lines = ["def f(x, y):", "    ### BEGIN SOLUTION", *(f"    {line}" for line in code),
             "    ### END SOLUTION", ""]
    text = "\n".join(lines)
    return text, mutants(text, [SimpleNamespace(id="f", start=2, end=len(code) + 3)])


# ---- the changes ----


@pytest.mark.parametrize(
    "line, wanted",
    [
        ("z = x + y", ["z = x - y", "z = x", "z = y"]),
        ("z = x - y", ["z = x + y", "z = x", "z = -y"]),
        ("z = x * y", ["z = x / y"]),
        ("z = x // y", ["z = x / y"]),
        ("z = x ** y", ["z = x * y"]),
        ("z = x @ y", ["z = x * y"]),
        ("z = x % y", ["z = x * y"]),
        ("z = (x + y) * x", ["z = (x + y) / x", "z = (x - y) * x", "z = (x) * x", "z = (y) * x"]),
        ("z = x < y", ["z = x <= y", "z = x >= y"]),
        ("z = x == y", ["z = x != y"]),
        ("z = x is not y", ["z = x is y"]),
        ("z = x in y", ["z = x not in y"]),
        ("z = x and y or z", ["z = x or y or z", "z = x and y and z"]),
        ("z = not x", ["z = x"]),
        ("z = -x", ["z = x"]),
        ("z = 0", ["z = 1"]),
        ("z = 1", ["z = 0", "z = 2"]),
        ("z = 7", ["z = 8"]),
        ("z = 2.5", ["z = 2.75"]),
        ("z = True", ["z = False"]),
        ("z = x[-1]", ["z = x[0]", "z = x[-2]", "z = x[1]"]),
        ("z = x.sum(-1, keepdims=True)",
         ["z = x.mean(-1, keepdims=True)", "z = x.sum(0, keepdims=True)",
          "z = x.sum(-2, keepdims=True)", "z = x.sum(1, keepdims=True)",
          "z = x.sum(-1, keepdims=False)"]),
        ("z = g(x, y)", ["z = g(y, x)"]),
        ("z = g(x, dim=None)", ["z = g(x, dim=0)"]),
        ("z = exp(x)", ["z = log(x)"]),
        ("z = x if y else 3", ["z = x if True else 3", "z = x if False else 3",
                               "z = x if y else 4"]),
        ("return x, y", ["return y, x", "return -x, y", "return x, -y"]),
        ("return x.data", ["return -x.data", "return x"]),
        ("x += y", ["x -= y", "x = y"]),
        ("z = [i for i in x if i]", ["z = [i for i in x if True]"]),
        ("z = lambda g: (g, y)", ["z = lambda g: (y, g)", "z = lambda g: (-g, y)",
                                  "z = lambda g: (g, -y)"]),
    ],
)  # fmt: skip
def test_each_kind_of_change_is_made(line, wanted):
    assert sorted(changes(line)) == sorted([*wanted, "pass"])


def test_both_branches_are_forced_and_the_statement_inside_dropped():
    found = changes("if x > y:", "    x = g()", "return x")
    assert [change for change in found if change.startswith("if ")] == [
        "if False:", "if True:", "if x <= y:", "if x >= y:"]
    assert found.count("pass") == 2


def test_words_hints_and_docstrings_are_left_alone():
    text, found = made(
        "def g(n: int = 3) -> 4:", '    """Adds 1 + 2."""', "    return h",
        'raise ValueError(f"{x + 1} is not {2 + 2}")')
    assert [m.mutated for m in found] == ["def g(n: int = 4) -> 4:", "pass", "return -h", "pass"]


def test_a_maximum_has_no_order_to_exchange():
    assert sorted(changes("z = maximum(x, y)")) == ["pass", "z = minimum(x, y)"]


def test_a_mutant_is_the_text_with_that_line_changed():
    text, found = made("é = 'é' + x  # more", "z = (", "    é - y", ")", "return z")
    lines = text.split("\n")
    assert len(found) > 6
    for mutant in found:
        changed = mutant.apply(text)
        ast.parse(changed)
        assert changed != text
        assert lines[mutant.line - 1].strip() == mutant.original
        assert changed.split("\n")[mutant.line - 1].strip() == mutant.mutated
    assert {"é + y", "é", "-y"} <= {m.mutated for m in found if m.line == 5}


def test_no_two_mutants_mean_the_same():
    text, found = made("z = x + x", "return (z) + 0")
    meanings = [ast.dump(ast.parse(mutant.apply(text))) for mutant in found]
    assert len(set(meanings)) == len(meanings)
    assert ast.dump(ast.parse(text)) not in meanings


def test_a_region_that_is_no_block_is_named():
    text = "def f(x):\n    if x:\n    ### BEGIN SOLUTION\n        y = (\n    ### END SOLUTION\n"
    with pytest.raises(TitoError, match="line 4.*`f` cannot be read"):
        mutants(text, [SimpleNamespace(id="f", start=3, end=5)])


# ---- trying them ----


def test_what_the_tests_let_pass_survives_and_nothing_else(small_course):
    report = try_mutants(small_course.workspace, small_course.module)
    assert sorted(mutant.mutated for mutant in report.survivors) == ["if by < 1:", "if by <= 0:"]
    assert {m.original for m in report.survivors} == {"if by < 0:"}
    assert report.killed == report.total - 2 > 10
    line = small_course.lesson.read_text().split("\n").index("        if by < 0:") + 1
    assert report.as_dict()["survivors"][0] == dict(
        exercise="Box.grow", file="modules/01_thing/thing_dev.py", line=line,
        original="if by < 0:", mutated=report.survivors[0].mutated)


def test_the_tests_folder_kills_what_the_lessons_checks_do_not(small_course):
    small_course.change("    with pytest.raises(ValueError, match=\"at least 0\"):\n"
                        "        Box(1).grow(-1)", "    pass", small_course.tests)
    report = try_mutants(small_course.workspace, small_course.module)
    assert {"if False:", "pass"} <= {mutant.mutated for mutant in report.survivors}


def test_nothing_of_the_course_is_written(small_course):
    files = {path: path.read_bytes() for path in small_course.root.rglob("*") if path.is_file()}
    try_mutants(small_course.workspace, small_course.module, at_most=4)
    assert {p: p.read_bytes() for p in small_course.root.rglob("*") if p.is_file()} == files


def test_a_mutant_that_loops_for_ever_is_killed_in_seconds(small_course):
    small_course.change("    return x * 2\n", "    n = 2\n    out = 0\n    while n > 0:\n"
                        "        n -= 1\n        out += x\n    return out\n")
    began = time.perf_counter()
    report = try_mutants(small_course.workspace, small_course.module)
    assert time.perf_counter() - began < 60
    assert "n += 1" not in {mutant.mutated for mutant in report.survivors}
    assert report.total > 20


def test_at_most_so_many_spread_over_the_lesson(small_course):
    every = try_mutants(small_course.workspace, small_course.module)
    few = try_mutants(small_course.workspace, small_course.module, at_most=5)
    assert few.total == 5 < every.total


def test_a_solution_that_fails_its_own_checks_is_refused(small_course):
    small_course.change("    return x * 2\n", "    return x * 3\n")
    with pytest.raises(TitoError, match="fails its own checks.*TestDouble.test_three"):
        try_mutants(small_course.workspace, small_course.module)


def test_a_solution_that_fails_its_tests_folder_is_refused(small_course):
    small_course.change("assert double(0) == 0", "assert double(0) == 1", small_course.tests)
    with pytest.raises(TitoError, match="fails tests/01_thing/.*test_nothing"):
        try_mutants(small_course.workspace, small_course.module)


# ---- mutants that no test can tell ----


def mark(course, *entries):
    course.write("modules/01_thing/equivalent_mutants.txt", "".join(f"{e}\n" for e in entries))
    return try_mutants(course.workspace, course.module)


def test_an_equivalent_mutant_with_a_reason_does_not_count(small_course):
    before = try_mutants(small_course.workspace, small_course.module)
    report = mark(small_course, "# those that no test can tell", "",
                  "Box.grow | if by < 0: | if by < 1: | between 0 and 1 there is no integer")
    assert [mutant.mutated for mutant in report.survivors] == ["if by <= 0:"]
    assert (report.total, report.equivalent) == (before.total - 1, 1)
    assert not report.wrong_marks and report.passed


@pytest.mark.parametrize(
    "entry, says",
    [
        ("Box.grow | if by < 0: | if by < 1: |", ":1: the reason is missing"),
        ("Box.grow | if by < 0: | if by < 1:", ":1: the reason is missing"),
        ("Box.grow | if by < 5: | if by < 6: | no", ":1: no mutant is like this any more"),
        ("double | if by < 0: | if by < 1: | no", ":1: no mutant is like this any more"),
        ("double | return x * 2 | return x / 2 | no", "so it is not equivalent"),
    ],
)
def test_a_mark_that_says_no_truth_is_an_error(small_course, entry, says):
    report = mark(small_course, entry)
    assert len(report.wrong_marks) == 1 and says in report.wrong_marks[0]
    assert not report.passed


def test_a_line_with_a_bar_in_it_can_be_marked(tmp_path):
    _, found = made("z = x | (y + 1)")
    wanted = next(m for m in found if m.mutated == "z = x | (y - 1)")
    file = tmp_path / "equivalent_mutants.txt"
    file.write_text(f"f | {wanted.original} | {wanted.mutated} | both | the same\n")
    marks = Marks(file, found)
    assert [m for m in found if m in marks] == [wanted] and not marks.unmatched


# ---- where the system cannot fork ----


def test_without_a_fork_each_variant_gets_a_process_of_its_own(small_course, monkeypatch):
    monkeypatch.setattr(runner, "FORKS", False)
    workspace, module = small_course.workspace, small_course.module
    text = small_course.lesson.read_text()
    with runner.Variants(workspace, module) as variants:
        assert variants.run(text).passed
        first = variants.process
        assert not variants.run(text.replace("x * 2", "x * 3"), first=True).passed
        assert first is variants.process is None
    told = runner.forked(lambda tell: tell("check", state=PASSED), seconds=1)
    assert told == {"events": [{"event": "check", "state": PASSED}], "code": 0}


@pytest.mark.skipif(not runner.FORKS, reason="this system does not fork")
def test_a_fork_ends_in_time_also_if_nobody_is_left_to_end_it():
    """Whoever kills tito while a mutant loops for ever leaves nothing that runs on"""
    code = """if True:
        from tito import runner
        def loop(tell):
            print("running", flush=True)
            while True: pass
        runner.forked(loop, seconds=0.5)
        """
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "running\n"
        parent.kill()
        began = time.monotonic()
        assert parent.stdout.read() == ""              # until the last one that holds the pipe is gone
    assert time.monotonic() - began < 10


def test_variants_of_the_same_length_and_second_are_not_mixed_up(small_course):
    """Python takes a compiled file for valid if length and second of the source agree."""
    text = small_course.lesson.read_text()
    wrong = text.replace("be at least 0", "be at least 9")
    with runner.Variants(small_course.workspace, small_course.module) as variants:
        passed = [variants.run(one, [], tests=True).passed for one in (text, wrong) * 3]
    assert passed == [True, False] * 3


def test_a_variant_that_leaves_is_no_pass_and_harms_no_other(small_course):
    text = small_course.lesson.read_text()
    with runner.Variants(small_course.workspace, small_course.module) as variants:
        assert variants.run(text).passed
        left = variants.run(text.replace("return x * 2", "import os; os._exit(0)"))
        assert not left.passed and "ended with code 0" in left.problem
        hung = variants.run(text.replace("return x * 2", "while True: pass"), seconds=1)
        assert not hung.passed and "did not end within 1 s" in hung.problem
        greedy = variants.run(text.replace("return x * 2", "return bytes(2**36)"))
        assert greedy.failures[0].detail.startswith("MemoryError")
        assert variants.run(text).passed
