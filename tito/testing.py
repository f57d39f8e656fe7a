"""What `tito test` finds out about a module, exercise by exercise, and how it says it."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tito import console, export, progress, runner
from tito.errors import TitoError
from tito.results import ENDED, FAILED, PASSED, SKIPPED, UNWRITTEN, Check, Outcome, group_of
from tito.scratch import export_afresh, scratch_course
from tito.source import Exercise, exercises, unwritten
from tito.targets import read_cells
from tito.workspace import Module, Workspace

DONE, NOT_YET, WAITS, FAILING, NOT_RUN = "done", "not yet", "waits for", "failing", "not run"
NAMED = 3  # exercises that are named when a module is refused
_MISSING = re.compile(r"\d\d_\w+: (\S+) is not written yet")


@dataclass
class State:
    """How far an exercise is. `note`: what it waits for, how many of its checks hold."""

    exercise: Exercise
    state: str
    note: str = ""


@dataclass
class Failure:
    """The first thing to look at: what should hold, why it does not, and where."""

    label: str
    sentence: str
    detail: str
    places: list[str] = field(default_factory=list)  # file:line, the dev file's where there is one
    printed: str = ""

    def lines(self) -> Iterator[str]:
        yield self.sentence
        yield from (f"  {line}" for line in self.detail.split("\n"))
        yield from (f"  {place}" for place in self.places or [self.label] if place)
        if self.printed:
            yield "  It printed:"
            yield from (f"    {line}" for line in self.printed.rstrip().split("\n")[-10:])


@dataclass
class ModuleResult:
    """All of a module: its exercises, its lesson's run, and its tests folder's, where it ran."""

    module: Module
    lesson: str  # the dev file, from the course folder
    states: list[State]
    inline: Outcome
    failure: Failure | None
    tests: Outcome | None = None
    tests_failure: Failure | None = None
    tests_note: str = ""  # why the folder did not run

    @property
    def passed(self) -> bool:
        return self.inline.passed and (self.tests is None or self.tests.passed)

    @property
    def open(self) -> list[State]:
        return [state for state in self.states if state.state != DONE]

    @property
    def next(self) -> State | None:
        """What to do next: not what waits for another exercise, if there is something else."""
        return min(self.open, key=lambda state: state.state == WAITS, default=None)


def test_module(workspace: Workspace, module: Module, inline_only: bool = False) -> ModuleResult:
    """Runs a module's lesson and, at the same time, tests/NN_name/ on what it would export."""
    cells = read_cells(workspace, module.lesson)
    with ThreadPoolExecutor(2) as pool:
        folder = None if inline_only else pool.submit(_tests_folder, workspace, module)
        inline = runner.run_and_remember(workspace, module)
        tests, tests_failure, note = folder.result() if folder else (None, None, "")
    groups = list(dict.fromkeys(check.group for check in inline.checks))
    asked = _in_order(exercises(cells), groups)
    text = runner.lesson_text(workspace, module)
    stubs = {e.id for e in asked if unwritten(module.name, e.id) in text}
    states = [_state(exercise, inline, groups, stubs) for exercise in asked]
    return ModuleResult(module, workspace.relative(module.lesson), states, inline,
                        _first_failure(workspace, inline, workspace), tests, tests_failure, note)


def _in_order(asked: list[Exercise], groups: list[str]) -> list[Exercise]:
    """The exercises as their checks come in the lesson: a class written early may be the last."""
    place = {group: n for n, group in enumerate(groups)}
    return sorted(asked, key=lambda exercise: place.get(group_of(exercise.id, groups), len(groups)))


def unfinished(workspace: Workspace, module: Module) -> str:
    """What keeps a module's lesson from passing; "" where it passes, which is remembered for the
    very same text."""
    if progress.passed(workspace, module, progress.digest(module)):
        return ""
    result = test_module(workspace, module, inline_only=True)
    if result.passed:
        return ""
    words = [f"{state.exercise.id} ({_words(state)})" for state in result.open]
    if not words:
        return result.inline.problem or result.failure.label
    more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
    return ", ".join(words[:NAMED]) + more


def _tests_folder(workspace: Workspace, module: Module):
    """(outcome, first failure, why it did not run) of tests/NN_name/, on this student's code."""
    try:
        if all(export.says(path, text) for path, text in export.plan(workspace, module).items()):
            return _run_folder(workspace, workspace, module)
        with scratch_course(workspace, [module]) as course:  # not exported yet, or not lately
            copy = course.module(module.name)
            export_afresh(course, copy)
            return _run_folder(workspace, course, copy)
    except TitoError as error:
        failure = Failure("", "The lesson cannot be exported.", str(error))
        return Outcome(problem=str(error)), failure, ""


def _run_folder(workspace: Workspace, course: Workspace, module: Module):
    try:
        outcome = runner.run_tests_folder(course, module)
    except TitoError as error:  # there is no pytest
        return None, None, str(error)
    return outcome, outcome and _first_failure(workspace, outcome, course), ""


# ---- exercises ----


def _state(exercise: Exercise, outcome: Outcome, groups: list[str], stubs: set[str]) -> State:
    group = group_of(exercise.id, groups)
    checks = outcome.group(group) if group else []
    if not checks:
        return State(exercise, NOT_RUN, "" if outcome.problem else "the lesson has no checks of it")
    bad = [check for check in checks if check.state not in (PASSED, SKIPPED)]
    if not bad:
        return State(exercise, DONE)
    missing = [_missing(check) for check in bad]
    if exercise.id in stubs:
        return State(exercise, NOT_YET)
    if all(missing):
        return State(exercise, WAITS, missing[0])
    return State(exercise, FAILING, f"{len(bad)} of {len(checks)} checks")


def _missing(check: Check) -> str:
    """The exercise that is not written, where that is why a check fails."""
    found = _MISSING.search(check.detail) if check.state == UNWRITTEN else None
    return found.group(1) if found else ""


# ---- the first failure ----


def _first_failure(workspace: Workspace, outcome: Outcome, course: Workspace) -> Failure | None:
    """What to look at first; an exercise that is only not written yet is no failure."""
    for check in outcome.checks:
        if check.state in (FAILED, ENDED):
            return Failure(check.label, check.sentence, _mapped(workspace, check.detail),
                           places(workspace, check.trace, course), check.printed)
    if outcome.problem and not _MISSING.search(outcome.problem):
        return Failure("", "The lesson does not run to its end.", outcome.problem,
                       places(workspace, outcome.trace, course))
    return None


def _mapped(workspace: Workspace, detail: str) -> str:
    return export.map_traceback(detail, workspace) if 'File "' in detail else detail


def places(workspace: Workspace, trace, course: Workspace) -> list[str]:
    """Where the check stands and, under it, where in the student's code the error arose.

    `course` is where it ran: a scratch copy, maybe, in which earlier modules' lessons are not.
    """
    inside = [(Path(file).relative_to(course.root), line) for file, line, _ in trace
              if Path(file).is_relative_to(course.root)]
    found = []
    for file, line in inside[:1] + inside[-1:]:
        dev = (export.map_line(course, course.root / file, line)
               or export.map_line(workspace, workspace.root / file, line))
        found.append(f"{file.as_posix()}:{line}" if dev is None
                     else f"{dev[0].relative_to(dev[0].parents[2]).as_posix()}:{dev[1]}")
    return list(dict.fromkeys(found))


# ---- in words ----


def lines(result: ModuleResult) -> Iterator[str]:
    """The result as a student reads it."""
    yield console.styled(f"{result.module.name}: {result.module.title}", 1)
    if not result.states:
        yield "  The lesson has no exercises."
    width = max((len(s.exercise.id) for s in result.states), default=0)
    for state in result.states:
        yield f"  {_mark(state)} {state.exercise.id:{width}}  {_words(state)}".rstrip()
    if result.failure:
        yield ""
        yield from result.failure.lines()
    elif result.next and result.next.state != NOT_RUN:
        exercise = result.next.exercise
        hints = Path(result.lesson).with_name("HINTS.md").as_posix()
        there = f" (hints: {hints})" if (result.module.folder / "HINTS.md").is_file() else ""
        yield ""
        yield f"Next: {exercise.id}, {result.lesson}:{exercise.start}{there}"
    yield from _about_tests(result)


def _mark(state: State) -> str:
    sign = {DONE: console.mark(True), FAILING: console.mark(False)}.get(state.state, " ·")
    return sign if console.is_utf8() else f"{sign:<6}"


def _words(state: State) -> str:
    between = " " if state.state == WAITS else ": "
    return between.join(word for word in (state.state, state.note) if word)


def _about_tests(result: ModuleResult) -> Iterator[str]:
    folder = f"tests/{result.module.name}"
    if result.tests_note:
        yield ""
        yield f"{folder} did not run: {result.tests_note}"
    if result.tests is None:
        return
    yield ""
    fails = result.tests.problem or any(c.state != UNWRITTEN for c in result.tests.failures)
    passes = result.tests.passed and result.tests.checks
    mark = console.mark(not fails) if passes or fails else " ·"
    yield f"{mark} {folder}: {_counts(result.tests)}"
    if result.tests_failure:
        yield from (f"  {line}" for line in result.tests_failure.lines())


def _counts(outcome: Outcome) -> str:
    waiting = outcome.count(UNWRITTEN)
    counts = {"passed": outcome.count(PASSED), "failed": len(outcome.failures) - waiting,
              "not yet": waiting, "skipped": outcome.count(SKIPPED)}
    return ", ".join(f"{n} {word}" for word, n in counts.items() if n) or "no tests"


def as_dict(result: ModuleResult) -> dict:
    """The result as `--json` gives it."""
    first = result.failure or result.tests_failure
    return dict(
        module=result.module.name, passed=result.passed, problem=result.inline.problem,
        exercises=[dict(id=s.exercise.id, state=s.state, note=s.note, line=s.exercise.start)
                   for s in result.states],
        checks=[dict(group=c.group, check=c.name, sentence=c.sentence, state=c.state,
                     detail=c.detail) for c in result.inline.checks],
        tests=None if result.tests is None else dict(
            passed=result.tests.count(PASSED), failed=len(result.tests.failures),
            skipped=result.tests.count(SKIPPED), problem=result.tests.problem),
        tests_note=result.tests_note,
        first_failure=vars(first) if first else None)
