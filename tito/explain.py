"""A failed assert in words: what was expected, what was got.

Python forgets the values of a failed assert, so its parts are evaluated once more, in the frame
where it failed. Runs inside the child process, beside the student's code, and needs nothing of it.
"""

import ast
import linecache
import re
import traceback
from types import FrameType, TracebackType

from tito.compare import NO_RETURN

WIDTH, HEIGHT = 400, 12  # what is shown of one value

_LIKE_EQUAL = ("allclose", "array_equal", "isclose", "equal", "assert_allclose")
_WORDS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.NotEq: "!=", ast.Is: "is",
          ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}


_HYPOTHESIS = ("Failing test case:", "Falsifying example:", "Falsifying explicit example:")


def explain(error: BaseException) -> str:
    """What an exception means to the one whose code raised it, in a few lines."""
    said = "\n".join([str(error).strip(), *_notes(error), *_about_none(error)]).strip()
    if not isinstance(error, AssertionError):
        first = behind(error)
        if first and str(first) not in said:
            said += f"\nIts cause: {type(first).__name__}: {first}"
        return f"{type(error).__name__}: {said}" if said else type(error).__name__
    found = _failed_assert(error.__traceback__)
    if found is None:
        return said or "The check does not hold."
    values = _compared(*found)
    return f"{said}\n{values}" if said else values


def behind(error: BaseException) -> BaseException | None:
    """The array library's error that an op put into its own words: it knows the line in the op, and
    which arrays met there."""
    told_anew = isinstance(error, RuntimeError) and error.__suppress_context__ and not error.__cause__
    return error.__context__ if told_anew else None


def frames_of(error: BaseException) -> list[traceback.FrameSummary]:
    """Where an exception came from, innermost last; through an op to the line in it that failed."""
    first = behind(error)
    inner = traceback.extract_tb(first.__traceback__) if first else []
    return [*traceback.extract_tb(error.__traceback__), *inner]


def _notes(error: BaseException) -> list[str]:
    """The notes of an exception; those of Hypothesis down to the values that it failed with."""
    notes = getattr(error, "__notes__", [])
    if not any(note.startswith(_HYPOTHESIS) for note in notes):
        return notes
    values = []
    for note in notes:
        note = re.sub(r"  # or any other generated value$", "", note, flags=re.M)
        drawn = re.match(r"Draw \d+(?: \(.*?\))?: ", note)
        if drawn:
            values.append(note[drawn.end():])
        elif note.startswith(_HYPOTHESIS):
            found = re.findall(r"^    (\w+=.*),$", note, re.M)
            values += [value for value in found if not value.endswith("=data(...)")]
    return ["It failed with " + "; ".join(" ".join(value.split()) for value in values)]


def _about_none(error: BaseException) -> list[str]:
    """What most often lies behind "'NoneType' object has no attribute ..."."""
    error = error.__cause__ or error  # of "expected TypeError, got ..."
    if not isinstance(error, AttributeError | TypeError) or "NoneType" not in str(error):
        return []
    frames = list(traceback.walk_tb(error.__traceback__))
    op = frames[-1][0].f_locals.get("self") if frames else None
    function = getattr(getattr(op, "forward", None), "__name__", None)
    if function and function == getattr(op, "name", None):  # an op, which looked at its result
        return [f"Did {function} return None? Then a `return` is missing."]
    return ["Something is None here: what a function without `return` gave, or an argument left out."]


def _failed_assert(trace: TracebackType | None) -> tuple[ast.expr, dict] | None:
    """The condition of the assert that failed and the names it sees."""
    if trace is None:
        return None
    frame, line = list(traceback.walk_tb(trace))[-1]
    node = _assert_at(frame, line)
    return None if node is None else (node.test, {**frame.f_globals, **frame.f_locals})


def _assert_at(frame: FrameType, line: int) -> ast.Assert | None:
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    asserts = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    return next((a for a in asserts if a.lineno <= line <= a.end_lineno), None)


def _compared(node: ast.expr, names: dict) -> str:
    """The two sides of a comparison; for anything else the condition itself."""
    try:
        if _value(node, names):
            return f"`{ast.unparse(node)}` did not hold, though it holds now: is it random?"
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            return _compared(next(v for v in node.values if not _value(v, names)), names)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return _sides(node.left, node.comparators[0], node.ops[0], names)
        if isinstance(node, ast.Call):
            return _call(node, names)
    except Exception:  # the values cannot be had twice: an iterator, a changed state
        pass
    return f"`{ast.unparse(node)}` does not hold."


def _value(node: ast.expr, names: dict):
    """The value of an expression. It ran a moment ago in the same frame: nothing new is run."""
    return eval(compile(ast.Expression(node), "<assert>", "eval"), names)


def _call(node: ast.Call, names: dict) -> str:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    inner = node.args[0] if node.args else getattr(node.func, "value", None)
    if name in _LIKE_EQUAL and len(node.args) >= 2:
        return _sides(node.args[0], node.args[1], ast.Eq(), names)
    if name in ("all", "bool") and isinstance(inner, ast.Compare | ast.Call):
        if isinstance(inner, ast.Call):
            return _call(inner, names)
        return _sides(inner.left, inner.comparators[0], inner.ops[0], names)
    return f"`{ast.unparse(node)}` is {show(_value(node, names))}"


def _sides(left: ast.expr, right: ast.expr, op: ast.cmpop, names: dict) -> str:
    got, wanted = _value(left, names), _value(right, names)
    shapes = [getattr(value, "shape", None) for value in (got, wanted)]
    apart = None not in shapes and tuple(shapes[0]) != tuple(shapes[1])
    got, wanted = ((f"shape {tuple(value.shape)}: " if apart else "") + show(value)
                   for value in (got, wanted))
    name = ast.unparse(left)
    if isinstance(op, ast.Eq):
        none = f"\n{NO_RETURN}" if got == "None" != wanted else ""
        return f"expected {wanted}\ngot      {got}\nfrom     {name}{none}"
    return f"expected {name} {_WORDS[type(op)]} {wanted}\ngot      {got}"


def show(value) -> str:
    """A value in a few lines, continued lines under its first."""
    lines = repr(value).splitlines() or [""]
    text = "\n         ".join(lines[:HEIGHT])
    return text if len(text) <= WIDTH and len(lines) <= HEIGHT else text[:WIDTH] + " ..."
