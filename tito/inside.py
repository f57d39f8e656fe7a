"""What happens inside a child process: a lesson or tests/NN_name/ runs, and tells what it sees.

Started by runner.py, never part of tito's own process. Student code runs here and may do anything:
end the process, loop, print without end. So every event is written down as it happens, and only
the last one, `end`, says that the run is whole.
"""

import ast
import codeop
import contextlib
import faulthandler
import importlib
import io
import json
import linecache
import os
import sys
import time
import types
from collections.abc import Callable, Iterable
from pathlib import Path

from tito.checks import first_line, methods_of, sentence_of, unwritten_behind
from tito.explain import explain, frames_of
from tito.results import FAILED, PASSED, SKIPPED, UNWRITTEN

PRINT_LIMIT = 10_000  # characters kept of what one check prints
FILE_LIMIT = 256 * 2**20  # bytes of the largest file that a run may write
MEMORY_LIMIT = 3 * 2**30  # bytes that a variant may take on top
FRAMES = 10  # kept of each end of a traceback

Tell = Callable[..., None]


# ---- a lesson ----


def run_lesson(text: str, file: str, tell: Tell, alarm: Callable, only: Iterable[str] | None = None,
               first: bool = False) -> None:
    """Runs a lesson's statements, then its groups of checks: all, or `only` those, in that order.

    A statement that fails ends nothing: what does not need it is still checked.
    With `first`, the run is over at the first thing that fails.
    """
    module = types.ModuleType(Path(file).stem)
    module.__file__ = file
    sys.modules[module.__name__] = module  # dataclasses and pickle look there
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    if not _statements(text, file, module, tell, alarm) and first:
        return
    classes = {name: cls for name, cls in vars(module).items() if name.startswith("Test")
               and isinstance(cls, type) and cls.__module__ == module.__name__}
    for name in classes if only is None else [name for name in only if name in classes]:
        if not _group(classes[name], tell, alarm) and first:
            return


def _statements(text: str, file: str, module, tell: Tell, alarm: Callable) -> bool:
    try:
        body = ast.parse(text, file).body
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        tell("statement", line=line, state=FAILED, detail=explain(error), trace=[(file, line, "")])
        return False
    whole, compiler = True, codeop.Compile()  # keeps `from __future__` between statements
    alarm()
    for statement in body:
        with _watched() as seen:
            exec(compiler(ast.Module([statement], []), file, "exec"), vars(module))
        if seen.error is not None:
            whole = False
            tell("statement", line=statement.lineno, **_account(seen))
    return whole


def _group(cls: type, tell: Tell, alarm: Callable) -> bool:
    whole = True
    for name, method in methods_of(cls).items():
        about = dict(group=cls.__name__, name=name,
                     title=first_line(cls.__doc__) or cls.__name__,
                     sentence=sentence_of(name, method.__doc__))
        tell("start", **about)
        alarm()
        with _watched() as seen:
            instance = cls()
            getattr(instance, "setup_method", lambda: None)()
            getattr(instance, name)()
        tell("check", **about, **_account(seen))
        whole = whole and seen.error is None
    return whole


@contextlib.contextmanager
def _watched():
    """Catches what the block raises, whatever it is, and keeps what it prints."""
    seen, paper = types.SimpleNamespace(error=None), _Paper()
    with contextlib.redirect_stdout(paper):
        try:
            yield seen
        except BaseException as error:  # sys.exit() in a lesson is a failure, not an end
            seen.error = error
    seen.printed = paper.getvalue()


class _Paper(io.StringIO):
    def write(self, text: str) -> int:
        return len(text) if self.tell() > PRINT_LIMIT else super().write(text[:PRINT_LIMIT])


def _account(seen) -> dict:
    if seen.error is None:
        return dict(state=PASSED)
    stub = unwritten_behind(seen.error)
    return dict(state=UNWRITTEN if stub else FAILED, detail=explain(stub or seen.error),
                trace=_frames(seen.error), printed=seen.printed)


def _frames(error: BaseException) -> list[tuple[str, int, str]]:
    """Where an exception came from, innermost last, without tito's own lines."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return [(error.filename, error.lineno, "")]
    frames = [(frame.filename, frame.lineno, frame.name) for frame in frames_of(error)]
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
    frames = [frame for frame in frames if not frame[0].startswith(here)]
    return frames[:FRAMES] + frames[FRAMES:][-FRAMES:]  # an endless recursion has a thousand


# ---- tests/NN_name/ ----


def run_tests(job: dict, tell: Tell, alarm: Callable, first: bool = False) -> None:
    """Runs test files or folders with pytest; the package they see ends at the job's module."""
    import pytest

    from tito.lesson import hide_from

    root, ini = job["root"], str(Path(job["scratch"], "pytest.ini"))
    Path(ini).touch()  # an empty one: no setting of a folder around has a say
    hide_from(job["number"] + 1, root)
    os.chdir(root)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # others' plugins: slow, and none is needed
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(Path(job["scratch"], "hypothesis"))
    options = ["--assert=plain", "--import-mode=importlib", "--continue-on-collection-errors",
               "--rootdir", root, "-c", ini, "-o", "python_files=test_*.py",
               "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    with contextlib.redirect_stdout(_Paper()) as paper:
        code = pytest.main([*options, *(["-x"] if first else []), *job["files"]],
                           plugins=[_Reporter(root, tell, alarm)])
    if code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        raise RuntimeError(f"pytest could not run:\n{paper.getvalue()[-700:]}")  # no `end` is told


class _Reporter:
    """The pytest plugin that tells each test's result as an event."""

    def __init__(self, root: str, tell: Tell, alarm: Callable):
        self.root, self.tell, self.alarm = root, tell, alarm
        self.about, self.errors = {}, {}

    def pytest_collection_modifyitems(self, items) -> None:
        for item in items:
            about = dict(group=os.path.relpath(item.path, self.root).replace(os.sep, "/"),
                         name=item.nodeid.partition("::")[2])
            doc = getattr(getattr(item, "function", None), "__doc__", None)
            sentence = sentence_of(about["name"].rpartition("::")[2], doc)
            self.about[item.nodeid] = about | dict(sentence=sentence)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.tell("start", **self.about[nodeid])
        self.alarm()

    def pytest_runtest_makereport(self, item, call) -> None:
        if call.excinfo:
            self.errors[item.nodeid] = call.excinfo.value

    def pytest_runtest_logreport(self, report) -> None:
        if report.skipped or report.failed or report.when == "call":
            self.tell("check", **self.about[report.nodeid], **self._account(report))

    def pytest_collectreport(self, report) -> None:
        if report.failed:
            self.tell("check", group=report.nodeid, name="", sentence="the tests can be read",
                      **self._account(report))

    def _account(self, report) -> dict:
        error = self.errors.get(report.nodeid)
        if report.passed or report.skipped:
            return dict(state=PASSED if report.passed else SKIPPED)
        if error is None:
            return dict(state=FAILED, detail=str(report.longrepr))
        return _account(types.SimpleNamespace(error=error, printed=report.capstdout))


# ---- variants of one lesson: mutants, exercises taken out ----


def serve_variants(job: dict, requests, answers) -> None:
    """Answers each request (one line of JSON) with the events of one variant of the lesson.

    All is imported beforehand, and each variant runs in a fork: nothing it does reaches the next.
    """
    from tito.runner import forked

    _warm(job)
    sys.dont_write_bytecode = True  # it is valid for a second: a mutant could run the last one's
    for line in requests:
        request = json.loads(line)
        answer = forked(lambda told, r=request: _variant(job, r, told), request["seconds"])
        print(json.dumps(answer), file=answers, flush=True)


def _variant(job: dict, request: dict, tell: Tell) -> None:
    failed = []
    limit_memory()

    def noted(event: str, **about) -> None:
        if about.get("state") in (FAILED, UNWRITTEN):
            failed.append(about)
        tell(event, **about)

    run_lesson(request["text"], job["lesson"], noted, _no_alarm, request["groups"],
               request["first"])
    if request["tests"] and not failed:
        _export(job, request["text"])
        run_tests(job, noted, _no_alarm, first=True)
    tell("end")


def _export(job: dict, text: str) -> None:
    """Makes the variant a part of the scratch course's package."""
    from tito.scratch import export_afresh
    from tito.workspace import Workspace

    Path(job["lesson"]).write_text(text, encoding="utf-8", newline="\n")
    workspace = Workspace(Path(job["root"]))
    export_afresh(workspace, workspace.module(str(job["number"])))


def _warm(job: dict) -> None:
    """Imports what the lesson and its tests import, so that no fork has to."""
    names = {"__name__": "warm", "__file__": job["lesson"]}
    for statement in ast.parse(job["text"]).body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            with _watched():
                exec(compile(ast.Module([statement], []), job["lesson"], "exec"), names)
    for file in (file for folder in job["files"] for file in Path(folder).glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for name in _imported(node):
                if name.split(".")[0] not in ("tinytorch", "tests", "conftest"):
                    with contextlib.suppress(Exception):
                        importlib.import_module(name)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module] if node.module and not node.level else []
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


# ---- the process ----


def _no_alarm() -> None:
    """For variants: the one who forked watches the clock."""


def limit_memory() -> None:
    """A mutant that asks for all the memory there is gets a MemoryError, where /proc is known."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_LIMIT, resource.RLIM_INFINITY))


def limit_files() -> None:
    """A flood of output that pytest keeps in a file does not fill the disk."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))


def main() -> None:
    """Does the job that stands, as JSON, on the first line of stdin."""
    job = json.loads(sys.stdin.readline())
    sys.path[:0] = [job["root"], job["folder"]]
    limit_files()
    if job["kind"] == "variants":
        answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1), os.dup2(silence, 2)
        return serve_variants(job, sys.stdin, answers)
    scratch = Path(job["scratch"])
    with open(scratch / "events", "w", encoding="utf-8") as events, \
            open(scratch / "stack", "w", encoding="utf-8") as stack:
        def tell(event: str, **about) -> None:
            print(json.dumps({"event": event, **about}), file=events, flush=True)

        armed = -float("inf")

        def alarm() -> None:
            """From now on there are so many seconds, or a tenth less: it starts a thread, which
            takes longer than many a check."""
            nonlocal armed
            if time.monotonic() - armed > job["seconds"] / 10:
                armed = time.monotonic()
                faulthandler.dump_traceback_later(job["seconds"], exit=True, file=stack)

        if job["kind"] == "lesson":
            run_lesson(job["text"], job["lesson"], tell, alarm)
        else:
            run_tests(job, tell, alarm)
        faulthandler.cancel_dump_traceback_later()
        tell("end")


if __name__ == "__main__":
    main()
