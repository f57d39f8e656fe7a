"""The author's own check (`tito dev check`): is the course right, from an empty package up?"""

import ast
import re
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tito import export, runner
from tito.errors import TitoError
from tito.results import UNWRITTEN, Outcome, group_of
from tito.scratch import as_script, export_afresh, scratch_course
from tito.source import Exercise, exercises, strip, unwritten
from tito.stubs import builder
from tito.stubs import text as stub_text
from tito.targets import read_dev
from tito.testing import places
from tito.workspace import Module, Workspace, read_text, write_text

WORKERS = 2
LINES = range(400, 1001)  # a lesson's length, its inline tests not counted
DETAIL = 6  # lines that are shown of why something fails
HINTS = 4  # from a nudge to nearly the answer
FRONT_MATTER = ("title", "description", "difficulty", "time_estimate", "prerequisites",
                "next_steps", "learning_objectives")


@dataclass
class Report:
    """What was found wrong with a module; the numbers say how much was looked at."""

    module: str
    exercises: int = 0
    checks: int = 0
    tests: int = 0
    findings: list[str] = field(default_factory=list)


def check(workspace: Workspace, modules: list[Module],
          done: Callable[[Report], None] = lambda report: None) -> list[Report]:
    """Checks these modules; `done` hears of each, in order."""
    last = max(module.number for module in modules)
    with scratch_course(workspace, [m for m in workspace.modules if m.number <= last]) as built:
        broken = _build(built, last)
        with ThreadPoolExecutor(WORKERS) as pool:
            started = [pool.submit(_check_module, workspace, built, module, broken.get(module.name))
                       for module in modules]
            reports = []
            try:
                for future in started:
                    reports.append(future.result())
                    done(reports[-1])
            finally:
                pool.shutdown(cancel_futures=True)  # at Ctrl-C no further module is begun
    return reports


def _build(course: Workspace, last: int) -> dict[str, str]:
    """Exports every module into an empty package; module name -> why it could not be."""
    _forget(course, 1)
    broken = {}
    for module in course.modules:
        try:
            export_afresh(course, module)
        except TitoError as error:
            broken[module.name] = str(error)
    return broken


def _forget(course: Workspace, number: int) -> None:
    """Puts stubs in the place of what module `number` and the later ones have built."""
    for path in course.package.rglob("*.py"):
        by = builder(read_text(path).partition("\n")[0])
        if by and by.number >= number:
            target = ".".join(path.relative_to(course.package).with_suffix("").parts)
            write_text(path, stub_text(target, by))


def _check_module(workspace: Workspace, built: Workspace, module: Module,
                  broken: str | None) -> Report:
    report = Report(module.name)
    try:
        dev = read_dev(workspace, module.lesson)
        asked = exercises(dev.cells)
        report.exercises = len(asked)
        report.findings += _papers(module, dev.text, asked)
        if broken:
            raise TitoError(f"it cannot be exported: {broken}")
        with scratch_course(built, [module]) as course:
            copy = course.module(module.name)
            _forget(course, module.number)
            as_script(copy, dev.text)
            _solve_and_unsolve(report, built, course, copy, dev.text, asked)
            export_afresh(course, copy)
            _tests_folder(report, built, course, copy)
        if export.check(workspace, [module]):
            report.findings.append("the package is not what the lesson exports: "
                                   f"tito export {module.nn}")
    except TitoError as error:
        report.findings.append(str(error))
    return report


# ---- running it ----


def _solve_and_unsolve(report: Report, built: Workspace, course: Workspace, module: Module,
                       text: str, asked: list[Exercise]) -> None:
    """Solved, everything passes; unsolved, the exercise's own group fails, each also alone."""
    with runner.Variants(course, module) as variants:
        solved = variants.run(text)
        report.checks = len(solved.checks)
        report.findings += [f"solved, {line}" for line in _failures(built, course, solved)]
        groups = {check.group for check in solved.checks}
        tested = {e.id: group_of(e.id, groups) for e in asked}
        report.findings += [f"{id} has no group of checks (a class like Test{_camel(id)})"
                            for id, group in tested.items() if group is None]
        nothing = variants.run(strip(text, module.name))
        for exercise in asked:
            group = tested[exercise.id]
            if group is None:
                continue
            if not any(c.state == UNWRITTEN for c in nothing.group(group)):
                report.findings.append(f"with nothing solved, {group} does not fail by "
                                       f"NotImplementedError")
            alone = variants.run(without(text, exercise, module.name), [group], first=True)
            if alone.passed or not alone.failures and not alone.problem:
                report.findings.append(f"{group} passes although {exercise.id} is not written")


def without(text: str, exercise: Exercise, module_name: str) -> str:
    """The lesson with this one exercise unsolved."""
    lines = text.split("\n")
    indent = re.match(r"\s*", lines[exercise.start - 1]).group()
    stub = f'{indent}raise NotImplementedError("{unwritten(module_name, exercise.id)}")'
    return "\n".join([*lines[:exercise.start], stub, *lines[exercise.end - 1:]])


def _tests_folder(report: Report, built: Workspace, course: Workspace, module: Module) -> None:
    outcome = runner.run_tests_folder(course, module)
    if outcome is None:
        report.findings.append(f"there is no tests/{module.name}/")
        return
    report.tests = len(outcome.checks)
    if not outcome.checks and not outcome.problem:
        report.findings.append(f"tests/{module.name}/ has no tests")
    report.findings += _failures(built, course, outcome)


def _failures(built: Workspace, course: Workspace, outcome: Outcome) -> Iterator[str]:
    if outcome.problem:
        yield f"the run broke: {outcome.problem}"
    for failure in outcome.failures:
        detail = "\n    ".join(failure.detail.split("\n")[:DETAIL])
        where = "".join(f"\n    {place}" for place in places(built, failure.trace, course))
        yield f"{failure.label} fails: {detail}{where}"


def _camel(id: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[\W_]+", id))


# ---- what is written beside the code ----


def _test_lines(text: str) -> int:
    """How many lines of a lesson stand in its test groups."""
    groups = [node for node in ast.parse(text).body
              if isinstance(node, ast.ClassDef) and node.name.startswith("Test")]
    return sum(node.end_lineno - node.lineno + 1 for node in groups)


def _papers(module: Module, text: str, asked: list[Exercise]) -> Iterator[str]:
    length = text.count("\n") - _test_lines(text)
    if length not in LINES:
        yield f"the lesson has {length} lines without its tests; {LINES.start} to {LINES.stop - 1} are wanted"
    if not asked:
        yield "the lesson asks for nothing: it has no solution region"
    missing = [name for name in FRONT_MATTER if module.about.get(name) in (None, "")]
    if missing:
        yield f"ABOUT.md's front matter lacks {', '.join(missing)}"
    hints = read_hints(module)
    for exercise in asked:
        steps = hints.get(exercise.id)
        if steps is None:
            yield f"HINTS.md has no heading `## {exercise.id}`"
            continue
        if _count(steps) < HINTS:
            yield (f"HINTS.md: {exercise.id} has {_count(steps)} numbered hints, "
                   f"{HINTS} are wanted")
        if _bare(solution(text, exercise)) in _bare(steps):
            yield f"HINTS.md: the hints of {exercise.id} give the whole solution away"
    for name in ("reflection-1", "reflection-2", "reflection-3"):
        if not hints.get(name, "").strip():
            yield f"HINTS.md has nothing under `## {name}`"
    for name in hints:
        if name not in {e.id for e in asked} and not name.startswith("reflection-"):
            yield f"HINTS.md: there is no exercise `{name}`"


def read_hints(module: Module) -> dict[str, str]:
    """The text under each `## heading` of HINTS.md."""
    file = module.folder / "HINTS.md"
    text = read_text(file) if file.is_file() else ""
    parts = re.split(r"^## +(.+?) *$", text, flags=re.M)
    return {name.strip("`"): body for name, body in zip(parts[1::2], parts[2::2])}


def _count(steps: str) -> int:
    return len(re.findall(r"^\d+[.)] ", steps, re.M))


def solution(text: str, exercise: Exercise) -> str:
    """The code of a region, without its comments."""
    code = textwrap.dedent("\n".join(text.split("\n")[exercise.start:exercise.end - 1]))
    try:
        return ast.unparse(ast.parse(code))
    except SyntaxError:
        return code


def _bare(code: str) -> str:
    """Code without spaces, and one kind of quotes: as little as two writers would agree on."""
    return re.sub(r"\s", "", code).replace("'", '"')
