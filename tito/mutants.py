"""How many small wrong changes to a module's solutions do its tests see? (`tito dev mutants`)"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tito.errors import TitoError
from tito.mutate import Mutant, mutants
from tito.results import Outcome, group_of
from tito.runner import Variants
from tito.scratch import as_script, scratch_course
from tito.source import exercises
from tito.targets import read_dev
from tito.workspace import Module, Workspace, read_text

WORKERS = 2
ENOUGH = 90  # percent of the mutants that a module's tests must kill


@dataclass
class Report:
    """What became of a module's mutants. Those marked as equivalent are none of the `total`."""

    module: str
    lesson: str
    total: int = 0
    killed: int = 0
    survivors: list[Mutant] = field(default_factory=list)
    equivalent: int = 0
    wrong_marks: list[str] = field(default_factory=list)  # entries of the file that say no truth

    @property
    def percent(self) -> float:
        return 100 * self.killed / self.total if self.total else 100.0

    @property
    def passed(self) -> bool:
        return self.percent >= ENOUGH and not self.wrong_marks

    def as_dict(self) -> dict:
        return dict(
            module=self.module, mutants=self.total, killed=self.killed,
            percent=round(self.percent, 2), equivalent=self.equivalent,
            wrong_marks=self.wrong_marks, passed=self.passed,
            survivors=[dict(exercise=m.exercise, file=self.lesson, line=m.line,
                            original=m.original, mutated=m.mutated) for m in self.survivors])


def try_mutants(workspace: Workspace, module: Module, at_most: int | None = None,
                tick: Callable[[int], None] = lambda total: None) -> Report:
    """Runs the module's checks and tests on its mutants; `tick(total)` is called after each."""
    dev = read_dev(workspace, module.lesson)
    found = mutants(dev.text, exercises(dev.cells))
    marks = Marks(module.folder / "equivalent_mutants.txt", found)
    chosen = _spread(found, at_most)
    with ThreadPoolExecutor(WORKERS) as pool:
        stop = threading.Event()

        def go_on() -> bool:
            tick(len(chosen))
            return not stop.is_set()

        parts = [pool.submit(_try_each, workspace, module, dev.text, chosen[i::WORKERS], go_on)
                 for i in range(WORKERS)]
        try:
            killed = {mutant for part in parts for mutant in part.result()}
        finally:
            stop.set()  # also at Ctrl-C, or where one worker fails
    marked = {mutant for mutant in chosen if mutant in marks}
    report = Report(module.name, workspace.relative(dev.path), len(chosen) - len(marked))
    report.killed = len(killed - marked)
    report.survivors = [m for m in chosen if m not in killed and m not in marked]
    report.equivalent = len(marked)
    report.wrong_marks = marks.unmatched + [
        f"{marks.file.name}:{marks.line(m)}: the tests tell this mutant from the solution, "
        f"so it is not equivalent" for m in chosen if m in marked and m in killed]
    return report


def _spread(found: list[Mutant], at_most: int | None) -> list[Mutant]:
    """At most that many, evenly over all of them."""
    if at_most is None or at_most >= len(found):
        return found
    return [found[i * len(found) // at_most] for i in range(at_most)]


def _try_each(workspace, module, text: str, some: list[Mutant], go_on: Callable) -> set[Mutant]:
    """Those of `some` that are killed: first the exercise's own checks try, last tests/NN_name/."""
    killed = set()
    if not some:
        return killed
    with scratch_course(workspace, [module]) as course:
        copy = course.module(module.name)
        as_script(copy, text)
        with Variants(course, copy) as variants:
            inline = _reference(variants, text, "its own checks")
            tests = _reference(variants, text, f"tests/{module.name}/", groups=[], tests=True)
            names = list(dict.fromkeys(check.group for check in inline.checks))
            for mutant in some:
                own = group_of(mutant.exercise, names)
                order = sorted(names, key=lambda name, own=own: name != own)
                changed = mutant.apply(text)
                if not (variants.run(changed, order, first=True, seconds=_limit(inline)).passed
                        and variants.run(changed, [], first=True, tests=True,
                                         seconds=_limit(tests)).passed):
                    killed.add(mutant)
                if not go_on():
                    break
    return killed


def _reference(variants: Variants, text: str, what: str, **how) -> Outcome:
    """The outcome for the solution itself, which must pass: else every mutant would seem killed."""
    variants.run(text, [], seconds=60)  # once for nothing, so that imports don't count below
    outcome = variants.run(text, seconds=300, **how)
    if not outcome.passed:
        failure = outcome.failures[0].label if outcome.failures else "the lesson"
        detail = outcome.problem or outcome.failures[0].detail
        raise TitoError(f"The unchanged solution fails {what} ({failure}: {detail}).",
                        "Mutants say nothing before it passes: tito test")
    return outcome


def _limit(reference: Outcome) -> float:
    return 2 + 5 * reference.seconds


class Marks:
    """equivalent_mutants.txt: the mutants that no test can tell from the solution, with reasons.

    One a line: `exercise id | original line | mutated line | reason`; `#` begins a comment.
    """

    def __init__(self, file: Path, found: list[Mutant]):
        self.file, self.lines, self.unmatched = file, {}, []
        entries = read_text(file).split("\n") if file.is_file() else []
        for number, entry in enumerate(map(str.strip, entries), 1):
            if entry and not entry.startswith("#"):
                self._enter(number, entry, found)

    def _enter(self, number: int, entry: str, found: list[Mutant]) -> None:
        keys = {m: f"{m.exercise} | {m.original} | {m.mutated}" for m in found}
        named = [m for m, key in keys.items() if entry == key or entry.startswith(f"{key} |")]
        longest = max((len(keys[m]) for m in named), default=0)  # a line may hold a | itself
        reason = entry[longest:].strip(" |")
        if not named:
            self.unmatched.append(f"{self.file.name}:{number}: no mutant is like this any more: "
                                  f"{entry}")
        elif not reason:
            self.unmatched.append(f"{self.file.name}:{number}: the reason is missing")
        else:
            self.lines.update({m: number for m in named if len(keys[m]) == longest})

    def __contains__(self, mutant: Mutant) -> bool:
        return mutant in self.lines

    def line(self, mutant: Mutant) -> int:
        return self.lines[mutant]
