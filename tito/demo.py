"""The whole course in three minutes (`tito demo`): a stub, its solution, the export, the network, a GPT.

The GPT is the milestone of 2018, run with the package that the repository has; `--quick` leaves it out.
"""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tito import export
from tito.errors import TitoError
from tito.release import make_course
from tito.runner import run_python
from tito.testing import ModuleResult, test_module
from tito.workspace import HOME, Module, Workspace, is_course, read_text, write_text

SHOWN = 5  # the module that is shown in full
LAST = 6  # with it the package can train
WANTED = 96.5  # percent of the held-out digits
TRAINING = Path(__file__).with_name("demo_digits.py")
GPT_SECONDS = 1800  # two minutes where nothing else runs


@dataclass
class Steps:
    """What the demo tells while it happens."""

    say: Callable[[str], None]
    module: Callable[[ModuleResult], None]  # shows a module's exercises and first failure


def source() -> Workspace:
    """The repository with the solutions."""
    if not is_course(HOME):
        raise TitoError("This tito was installed without the course, so it has nothing to show.",
                        "Clone the repository and `pip install -e .` there.")
    return Workspace(HOME)


def build(reference: Workspace, course: Workspace, steps: Steps) -> bool:
    """Solves the course module by module, as a student would in weeks; False: a test said no."""
    for module in [m for m in course.modules if m.number <= LAST]:
        full = module.number == SHOWN
        stub = test_module(course, module, inline_only=True)
        if full:
            steps.say(f"\n2. {module.name} before anything is solved: tito test {module.nn}\n")
            steps.module(stub)
        _solve(reference, course, module)
        solved = test_module(course, module, inline_only=True)
        if full:
            steps.say(f"\n3. The same module solved: tito test {module.nn}\n")
            steps.module(solved)
        if stub.passed or not solved.passed:
            steps.say(f"{module.name}: the stub must fail and the solution pass.")
            steps.module(stub if stub.passed else solved)
            return False
        written = [course.relative(path) for path in export.plan(course, module)]
        export.export(course, module)
        if full:
            steps.say(f"\n4. Exported: tito export {module.nn}\n   " + "\n   ".join(written))
        else:
            steps.say(f"   {module.name:<16} {len(stub.states)} exercises unsolved: fails   "
                      f"solved: {len(solved.inline.checks)} checks pass   exported")
    return True


def _solve(reference: Workspace, course: Workspace, module: Module) -> None:
    """Writes the solutions into the course's lesson: the student's part of the work."""
    solved = reference.module(module.name).lesson
    write_text(module.folder / solved.name, read_text(solved))


def train(course: Workspace, seed: int = 0) -> dict:
    """What the two networks reach, trained by the course's package in a process of its own."""
    data = course.root / "datasets" / "digits.csv.gz"
    code, printed = run_python([str(TRAINING), str(data), str(seed)], course.root,
                               show_errors=True)
    if code:
        raise TitoError(f"The training ended with code {code}.\n{printed}".rstrip(),
                        "What it said stands above; the lessons' own tests say more: tito test")
    return json.loads(printed.splitlines()[-1])


def write(size: str = "quick") -> tuple[bool, str]:
    """What module 13 leads to: a GPT trained on Shakespeare; whether it learned enough, and its text."""
    script = source().root / "milestones" / "2018_gpt.py"
    with tempfile.TemporaryDirectory(prefix="tito-demo-", ignore_cleanup_errors=True) as folder:
        code, printed = run_python([str(script), size, "--picture", ""], Path(folder), GPT_SECONDS,
                                   show_errors=True)
    return code == 0, printed.rstrip()


def show(steps: Steps) -> bool:
    """The demo from begin to end; whether it reached what it should."""
    reference = source()
    with tempfile.TemporaryDirectory(prefix="tito-demo-", ignore_cleanup_errors=True) as folder:
        course = Workspace(Path(folder).resolve() / "course")
        steps.say("1. A new course folder, the solutions taken out: tito init course")
        make_course(reference, course.root)
        if not build(reference, course, steps):
            return False
        steps.say("\n5. The package that was just built learns to read handwritten digits\n")
        reached = train(course)
    for name, what in (("linear", "a linear model"), ("network", "your network")):
        one = reached[name]
        steps.say(f"   {what:<15} {one['accuracy']:5.1f} % of {reached['held_out']} digits it has "
                  f"never seen   ({one['parameters']:,} parameters, {one['seconds']:.1f} s)")
    enough = reached["network"]["accuracy"] >= WANTED
    better = reached["network"]["accuracy"] > reached["linear"]["accuracy"]
    steps.say(f"   wanted: {WANTED} %, and more than the linear model: "
              f"{'reached' if enough and better else 'missed'}")
    return enough and better
