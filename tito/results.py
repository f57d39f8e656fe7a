"""What a run found, as plain data: told by the process that runs, read by the one that judges."""

import re
from dataclasses import dataclass, field

PASSED, FAILED, UNWRITTEN, SKIPPED, ENDED = "passed", "failed", "unwritten", "skipped", "ended"

Trace = tuple[tuple[str, int, str], ...]  # (file, line, function), innermost last


@dataclass(frozen=True)
class Check:
    """One test: a method of a lesson's Test class, or a test of tests/NN_name/."""

    group: str  # the class, or the test file
    name: str
    state: str  # PASSED, FAILED, UNWRITTEN (a solution is missing), SKIPPED, ENDED (with the run)
    title: str = ""  # the group's docstring: what it is about
    sentence: str = ""  # the test's docstring: the fact it states
    detail: str = ""  # why it failed: expected against got
    trace: Trace = ()
    printed: str = ""  # what the student's code printed meanwhile

    @property
    def label(self) -> str:
        return f"{self.group}.{self.name}" if self.name else self.group


@dataclass(frozen=True)
class Outcome:
    """All checks of one run, and what kept it from its end, if anything did."""

    checks: list[Check] = field(default_factory=list)
    problem: str = ""  # one sentence: the file cannot be read, a crash, a timeout, a flood
    trace: Trace = ()  # where the problem arose
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.problem and all(c.state in (PASSED, SKIPPED) for c in self.checks)

    @property
    def failures(self) -> list[Check]:
        return [check for check in self.checks if check.state not in (PASSED, SKIPPED)]

    def group(self, name: str) -> list[Check]:
        return [check for check in self.checks if check.group == name]

    def count(self, state: str) -> int:
        return sum(check.state == state for check in self.checks)


def group_names(exercise: str) -> set[str]:
    """The names, lower case and bare, that the test class of an exercise may have."""
    bare = {exercise}
    for tail in (".forward", ".__init__", ".__call__"):
        bare.add(exercise.removesuffix(tail))
    return {"test" + re.sub(r"[\W_]", "", name).lower() for name in bare}


def group_of(exercise: str, classes) -> str | None:
    """The class with an exercise's checks: TestMaskedFill for `masked_fill`.

    TestLinear will do for `Linear.forward`, if there is no TestLinearForward.
    """
    bare = {re.sub(r"[\W_]", "", name).lower(): name for name in classes}
    names = sorted(group_names(exercise), key=len, reverse=True)
    return next((bare[name] for name in names if name in bare), None)
