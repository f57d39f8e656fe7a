"""The checks inside a lesson: a class is a group, a method a check, its docstring the sentence."""

import atexit
import os
import sys
from collections import Counter

from tito import console
from tito.explain import explain, frames_of
from tito.lesson import in_notebook

_failed = False  # a group of the script that runs has failed


def run_tests(*groups: type) -> None:
    """Runs each check of each group and says how it went; silent under pytest and in tito's own
    processes, which collect the classes themselves."""
    frame = sys._getframe(1)
    if is_silent(frame):
        return
    passed = [_run_group(group) for group in groups]
    if not all(passed) and frame.f_globals.get("__name__") == "__main__" and not in_notebook():
        global _failed
        _failed = True


def is_silent(frame) -> bool:
    """Whether the lesson is being imported, by pytest or another, rather than run."""
    if os.environ.get("TITO_SILENT") == "1":
        return True
    at_top = frame.f_code.co_name == "<module>"
    return at_top and frame.f_globals.get("__name__") != "__main__"


def some_failed() -> bool:
    """Whether a check of the script that runs has failed so far."""
    return _failed


def _leave() -> None:
    """A script whose checks failed exits with 1. An exit handler cannot set the code, so the
    process ends here: this handler was registered first and runs last."""
    if _failed:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


atexit.register(_leave)


def _run_group(group: type) -> bool:
    title = first_line(group.__doc__) or group.__name__
    console.say(f"Unit Test: {title}...")
    methods = methods_of(group)
    waiting, ended = Counter(), Counter()  # what an error says -> how many checks end with it
    passed = sum(_run_check(group, name, methods[name], waiting, ended) for name in methods)
    for message, count in waiting.items():
        every = "all" if count == len(methods) else f"{count} of the {len(methods)}"
        console.say(f"{console.mark(False)} {message}: {every} checks wait for it")
    for message, count in ended.items():
        if count > 1:
            more = "1 more check ends" if count == 2 else f"{count - 1} more checks end"
            console.say(f"{console.mark(False)} {message.splitlines()[0]}: {more} like this")
    whole = passed == len(methods)
    if not methods:
        console.say(f"    {group.__name__} has no method whose name begins with test_")
        whole = False
    console.say(f"Progress: {title} {'✓' if whole else f'{passed}/{len(methods)}'}")
    return whole


def sentence_of(name: str, doc: str | None) -> str:
    """What a check says: its docstring, or its name in words."""
    return first_line(doc) or name.removeprefix("test_").replace("_", " ")


def methods_of(group: type) -> dict:
    return {
        name: value
        for base in reversed(group.__mro__)
        for name, value in vars(base).items()
        if name.startswith("test") and callable(value)
    }


def _run_check(group: type, name: str, method, waiting: Counter, ended: Counter) -> bool:
    sentence = sentence_of(name, method.__doc__)
    try:
        instance = group()
        if hasattr(instance, "setup_method"):
            instance.setup_method()
        getattr(instance, name)()
    except (Exception, SystemExit) as error:
        stub = unwritten_behind(error)
        if stub:  # said once for the group, not once a check
            waiting[str(stub)] += 1
        elif _is_first(error, ended):
            console.say(f"{console.mark(False)} {sentence}")
            _say_why(error, method)
        return False
    console.say(f"{console.mark(True)} {sentence}")
    return True


def _is_first(error: BaseException, ended: Counter) -> bool:
    """Whether no check before it ended with this error: one mistake is told once for the group.

    What an assert says is told each time, unless an error that was told is behind it.
    """
    text = explain(error.__cause__ or error)  # the cause of "expected TypeError, got ..."
    if isinstance(error, AssertionError) and text not in ended:
        return True
    ended[text] += 1
    return ended[text] == 1


def is_unwritten(error: BaseException) -> bool:
    return isinstance(error, NotImplementedError) and "is not written yet" in str(error)


def unwritten_behind(error: BaseException | None) -> BaseException | None:
    """The exercise that is not written yet, where that is why `error` was raised."""
    while error is not None and not is_unwritten(error):
        error = error.__cause__ or error.__context__
    return error


def _say_why(error: BaseException, method) -> None:
    for line in explain(error).splitlines():
        console.say(f"    {line}")
    place = _place(error, method)
    if place:
        console.say(f"    {place}")


def _place(error: BaseException, method) -> str:
    """file:line and the line itself: the innermost in the lesson, else outside tito."""
    frames = frames_of(error)
    here = os.path.dirname(os.path.abspath(__file__))
    lesson = getattr(getattr(method, "__code__", None), "co_filename", None)
    inside = [f for f in frames if f.filename == lesson]
    outside = [f for f in frames if os.path.dirname(os.path.abspath(f.filename)) != here]
    for frame in (inside or outside)[-1:]:
        at = f"{_shown(frame.filename)}:{frame.lineno}"
        return f"{at}: {frame.line}" if frame.line else at
    return ""


def _shown(file: str) -> str:
    """The path from the course folder: modules/03_layers/layers_dev.py."""
    parts = os.path.abspath(file).split(os.sep)
    return "/".join(parts[-3:]) if parts[-3:-2] == ["modules"] else os.path.relpath(file)


def first_line(doc: str | None) -> str:
    return " ".join((doc or "").split("\n\n")[0].split())


# What a check says


def expect(got, want, tol: float = 1e-6, why: str = "") -> None:
    """Fails unless `got` is `want`: the same shape, and every value within `tol` (relative above
    1). Tensors, arrays, numbers and nested lists compare by value, whatever their dtype; all else
    with `==`. `why` is what the reader should think of when it fails."""
    from tito.compare import difference

    problem = difference(got, want, tol)
    if problem:
        raise AssertionError(f"{problem}\n{why}" if why else problem)


def expect_error(kind: type[BaseException], function, *args, says=(), why: str = "", **kwargs):
    """Fails unless the call raises `kind` and the message has every part of `says` in it.
    Answers the exception."""
    call = f"{getattr(function, '__qualname__', function)}(...)"
    call = "this" if "<lambda>" in call else call
    parts = [says] if isinstance(says, str) else list(says)
    tail = f"\n{why}" if why else ""
    try:
        got = function(*args, **kwargs)
    except BaseException as error:
        if is_unwritten(error) or not isinstance(error, Exception):
            raise
        # NotImplementedError and RecursionError are RuntimeErrors, but never what is meant
        unmeant = (NotImplementedError, RecursionError)
        if not isinstance(error, kind) or (isinstance(error, unmeant) and kind not in unmeant):
            raise AssertionError(
                f"expected {kind.__name__}, got {type(error).__name__}: {error}{tail}"
            ) from error
        missing = [part for part in parts if str(part) not in str(error)]
        if missing:
            wanted = ", ".join(repr(str(part)) for part in missing)
            raise AssertionError(
                f"{kind.__name__} is right, but its message does not name {wanted}:\n{error}{tail}"
            ) from error
        return error
    from tito.compare import show

    raise AssertionError(
        f"expected {call} to raise {kind.__name__}, got {show(got)}{tail}"
    )
