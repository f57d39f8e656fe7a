"""Runs student code, each time in a process of its own: the only place that starts processes.

The child (inside.py) writes each event to a file as it happens. Only a run whose last event is
`end` is whole; whatever else it came to, a crash, an endless loop, a flood of output, is told as
that and is never a pass.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from tito import progress
from tito.errors import TitoError
from tito.results import ENDED, Check, Outcome, Trace
from tito.source import write_percent
from tito.targets import read_cells
from tito.workspace import read_text

CHECK_SECONDS = 10  # for one check, and for the lesson's own statements
RUN_SECONDS = 120  # for a whole run
START_SECONDS = 60  # until a process for variants has imported everything
FLOOD = 4 * 2**20  # bytes a run may print past its checks
SPLIT = 20_000  # bytes of test files from which two processes are faster than one
FORKS = hasattr(os, "fork")


def run_lesson(workspace, module, seconds: float = CHECK_SECONDS) -> Outcome:
    """Runs the module's lesson with this course's package, and all its groups of checks."""
    outcome = _run(_job("lesson", workspace, module, seconds=seconds))
    if outcome.passed and not outcome.checks and "BEGIN SOLUTION" in read_text(module.lesson):
        return replace(outcome, problem="The lesson has no checks: nothing was tested.")
    return outcome


def run_tests_folder(workspace, module, seconds: float = CHECK_SECONDS) -> Outcome | None:
    """Runs tests/NN_name/ on the course's package, later modules hidden; None: there are none."""
    if not workspace.tests(module).is_dir():
        return None
    if find_spec("pytest") is None:
        raise TitoError(f"tests/{module.name}/ needs pytest, which is not installed.",
                        "pip install pytest hypothesis")
    job = _job("tests", workspace, module, seconds=seconds)
    parts = _parts(sorted(workspace.tests(module).rglob("test_*.py")))
    if not parts[0]:
        return Outcome()
    with ThreadPoolExecutor(len(parts)) as pool:
        done = list(pool.map(lambda files: _run(job | dict(files=files)), parts))
    checks = sorted((c for outcome in done for c in outcome.checks), key=lambda c: c.group)
    broken = next((outcome for outcome in done if outcome.problem), done[0])
    return replace(broken, checks=checks, seconds=max(outcome.seconds for outcome in done))


def _parts(files: list[Path]) -> list[list[str]]:
    """The test files in two parts of about the same size, one a core; few are not worth two."""
    if sum(file.stat().st_size for file in files) < SPLIT:
        return [[str(file) for file in files]]
    parts: list[list[Path]] = [[], []]
    for file in sorted(files, key=lambda file: -file.stat().st_size):
        min(parts, key=lambda part: sum(f.stat().st_size for f in part)).append(file)
    return [[str(file) for file in sorted(part)] for part in parts if part]


def run_and_remember(workspace, module) -> Outcome:
    """Runs the lesson and remembers whether this text of it passes."""
    text = progress.digest(module)  # of before the run: the file may be saved meanwhile
    outcome = run_lesson(workspace, module)
    progress.record(workspace, module, text, outcome.passed)
    return outcome


def run_python(arguments: list[str], course: Path, seconds: float = RUN_SECONDS,
               show_errors: bool = False) -> tuple[int, str]:
    """Runs Python in a course, its package first on the path: (exit code, what it printed).

    With `show_errors` what goes to stderr, a progress bar say, is seen as it comes.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-P", *arguments], cwd=course, env=_environment(course),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8", errors="replace",
            stderr=None if show_errors else subprocess.STDOUT, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise TitoError(f"{arguments[0]} did not end within {seconds:.0f} s.",
                        "Is the machine very busy? Try again.") from None
    return done.returncode, done.stdout


def _job(kind: str, workspace, module, **more) -> dict:
    tests = workspace.tests(module)
    return dict(kind=kind, root=str(workspace.root), folder=str(module.folder),
                lesson=str(module.lesson.with_suffix(".py")),  # a notebook runs as its percent form
                text=lesson_text(workspace, module),
                files=[str(tests)] if tests.is_dir() else [], number=module.number, **more)


def lesson_text(workspace, module) -> str:
    """The lesson as one text, also where it is a notebook."""
    if module.lesson.suffix == ".py":
        return read_text(module.lesson)
    return write_percent(read_cells(workspace, module.lesson))


def _environment(first: Path | None = None) -> dict[str, str]:
    home = str(Path(__file__).resolve().parents[1])  # where tito is, also when it isn't installed
    paths = [str(first or home), home, os.environ.get("PYTHONPATH", "")]
    return dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, paths)), PYTHONUTF8="1",
                TITO_SILENT="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")


def _start(job: dict, **pipes) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-P", "-m", "tito.inside"], cwd=job["folder"],
                            env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            start_new_session=True, **pipes)


def _kill(process: subprocess.Popen) -> None:
    """Ends a child that still runs, and what it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
    process.wait()


# ---- one run ----


def _run(job: dict) -> Outcome:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="tito-", ignore_cleanup_errors=True) as scratch:
        job["scratch"] = scratch
        process = _start(job, stderr=subprocess.STDOUT)
        talk = _Talk(process, json.dumps(job))
        try:
            ended = talk.wait(RUN_SECONDS)
        finally:
            _kill(process)
        events = [json.loads(line) for line in _complete_lines(Path(scratch, "events"))]
        stack = Path(scratch, "stack")
        stuck = stack.read_text(encoding="utf-8", errors="replace") if stack.exists() else ""
    whole = events[-1:] == [{"event": "end"}]
    broken = "" if whole else _why_it_ended(ended, stuck, talk)
    outcome = _outcome(events, broken, _stuck_at(stuck, job))
    return replace(outcome, seconds=time.perf_counter() - began)


class _Talk:
    """Hands a child its job and reads what it prints, in a thread, up to a limit."""

    def __init__(self, process: subprocess.Popen, job: str):
        self.process, self.job, self.printed, self.flooded = process, job, b"", False
        self.thread = threading.Thread(target=self._talk, daemon=True)
        self.thread.start()

    def _talk(self) -> None:
        try:
            self.process.stdin.write(self.job.encode() + b"\n")
            self.process.stdin.close()
        except OSError:
            pass  # it died before it could listen: the exit code says so
        size = 0
        with self.process.stdout as pipe:
            while chunk := pipe.read1(2**16):
                size += len(chunk)
                self.printed = (self.printed + chunk)[-5000:]
                if size > FLOOD:
                    self.flooded = True
                    return _kill(self.process)

    def wait(self, seconds: float) -> int | None:
        """The exit code, None after a timeout."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self.thread.join(1)  # a grandchild may hold the pipe open
        return code

    @property
    def last_words(self) -> str:
        return self.printed.decode("utf-8", "replace").strip()


def _complete_lines(file: Path) -> list[str]:
    """The lines of the events file; a last line without its end was cut off by a kill."""
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    return text.split("\n")[:-1]


def _outcome(events: list[dict], broken: str = "", stuck: Trace = ()) -> Outcome:
    """What the events say. `broken`: why the run did not come to its end, with where it was."""
    checks, running, problem, trace = [], None, broken, stuck
    for event in events:
        kind = event.pop("event")
        if kind == "start":
            running = event
        elif kind == "check":
            checks.append(_check(event))
            running = None
        elif kind == "statement" and not problem:
            problem, trace = event["detail"], _trace(event)
    if running and broken:
        checks.append(_check(running | dict(state=ENDED, detail=broken, trace=stuck)))
    return Outcome(checks, problem, trace)


def _check(event: dict) -> Check:
    return Check(**{**event, "trace": _trace(event)})


def _trace(event: dict) -> Trace:
    return tuple(tuple(frame) for frame in event.get("trace", ()))


def _why_it_ended(code: int | None, stuck: str, talk: _Talk) -> str:
    if stuck or code is None:
        return "It did not come to an end in time and was stopped: is there an endless loop?"
    if talk.flooded:
        return f"It printed more than {FLOOD // 2**20} MB and was stopped."
    if code < 0:
        name = signal.Signals(-code).name if -code in list(signal.Signals) else f"signal {-code}"
        return f"The process crashed ({name})."
    words = f"\n{talk.last_words[-1500:]}" if talk.last_words else ""
    return f"The process ended by itself, with code {code}, before its checks were done.{words}"


def _stuck_at(stuck: str, job: dict) -> Trace:
    """The frames of the course in faulthandler's stack of a run that hung, innermost last."""
    frames = re.findall(r'File "(.+?)", line (\d+) in (.+)', stuck)
    mine = [(file, int(line), name) for file, line, name in frames if file.startswith(job["root"])]
    return tuple(reversed(mine))


# ---- variants of a lesson, for the author's checks ----


class Variants:
    """A child with everything imported, which runs variants of one lesson, each in a fork.

    The workspace is a scratch course: a variant's tests overwrite its lesson and package.
    """

    def __init__(self, workspace, module):
        self.scratch = tempfile.TemporaryDirectory(prefix="tito-", ignore_cleanup_errors=True)
        self.job = _job("variants", workspace, module, scratch=self.scratch.name)
        self.process = None

    def __enter__(self) -> "Variants":
        return self

    def __exit__(self, *failure) -> None:
        self._stop()
        self.scratch.cleanup()

    def _stop(self) -> None:
        if self.process:
            _kill(self.process)
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None

    def run(self, text: str, groups: list[str] | None = None, first: bool = False,
            tests: bool = False, seconds: float = 60) -> Outcome:
        """The outcome of the lesson with this text: of `groups`, up to the `first` failure."""
        request = dict(text=text, groups=groups, first=first, tests=tests, seconds=seconds)
        began = time.perf_counter()
        answer = self._ask(request, seconds + START_SECONDS)
        if answer is None:
            return Outcome(problem="The process that runs the variants broke down.")
        problem = "" if answer["events"][-1:] == [{"event": "end"}] else (
            f"It did not end within {seconds:.3g} s." if answer["code"] is None else
            f"The process ended with code {answer['code']}.")
        return replace(_outcome(answer["events"], problem), seconds=time.perf_counter() - began)

    def _ask(self, request: dict, seconds: float) -> dict | None:
        if self.process is None:
            self.process = _start(self.job, stderr=subprocess.DEVNULL)
            self._send(self.job)
        watch = threading.Timer(seconds, _kill, [self.process])
        watch.start()
        try:
            self._send(request)
            answer = self.process.stdout.readline()
        except OSError:
            answer = b""
        finally:
            watch.cancel()
        if not answer or not FORKS:  # without a fork, a process is good for one variant
            self._stop()
        return json.loads(answer) if answer else None

    def _send(self, what: dict) -> None:
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()


def forked(work: Callable[[Callable], None], seconds: float) -> dict:
    """Does `work(tell)` in a fork: {"events": what it told, "code": its exit code, None: too slow}.

    Where the system cannot fork it is done right here, and whoever asked starts a new process.
    """
    if not FORKS:
        events: list[dict] = []
        work(lambda event, **about: events.append({"event": event, **about}))
        return dict(events=events, code=0)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        # The parent ends it in time, unless somebody ends the parent
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds + 1)
        _work_and_die(work, writing)
    os.close(writing)
    data, in_time = _read_until(reading, time.monotonic() + seconds)
    if not in_time:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    lines = data.decode("utf-8", "replace").split("\n")[:-1]
    return dict(events=[json.loads(line) for line in lines],
                code=os.waitstatus_to_exitcode(status) if in_time else None)


def _work_and_die(work: Callable, writing: int) -> None:
    """The child's side: it leaves without the parent's clean-up, whatever the work does."""
    code = 1
    try:
        with os.fdopen(writing, "w", encoding="utf-8") as pipe:
            work(lambda event, **about: print(json.dumps({"event": event, **about}), file=pipe,
                                              flush=True))
        code = 0
    finally:
        os._exit(code)


def _read_until(pipe: int, deadline: float) -> tuple[bytes, bool]:
    """What comes through the pipe until its other end is closed; False: not by the deadline."""
    data = b""
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while select.select([file], [], [], max(0, deadline - time.monotonic()))[0]:
            chunk = file.read(2**16)
            if not chunk:
                return data, True
            data += chunk
    return data, False
