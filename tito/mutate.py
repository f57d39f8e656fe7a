"""Small wrong changes to a lesson's solution regions. Pure: text in, mutants out.

A change is an edit of the source text, so a mutant reads as its author would have written it, and
can be shown as one line before and after. Only edits that parse, to another tree, are kept.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tito.errors import TitoError


@dataclass(frozen=True)
class Mutant:
    """One wrong change: `original` and `mutated` are the source line before and after, stripped."""

    exercise: str
    line: int
    original: str
    mutated: str
    span: tuple[int, int]  # the characters of the lesson's text that `words` takes the place of
    words: str

    def apply(self, text: str) -> str:
        return text[:self.span[0]] + self.words + text[self.span[1]:]


def mutants(text: str, exercises: Iterable) -> list[Mutant]:
    """Every small wrong change to every region of `text`, in the order of the lines."""
    return [mutant for exercise in exercises for mutant in _Region(text, exercise).mutants()]


class _Region:
    """The lines between two markers as a block of Python; positions in bytes, as ast counts."""

    def __init__(self, text: str, exercise):
        lines = text.splitlines(keepends=True)
        body = lines[exercise.start:exercise.end - 1]
        code = next((line for line in body if line.strip() and line.strip()[0] != "#"), "")
        self.exercise = exercise.id
        self.head = "if 1:\n" if code[:1].isspace() else ""  # makes an indented block parse
        self.first = exercise.start + 1 - bool(self.head)    # the file's line of the block's first
        self.offset = sum(map(len, lines[:exercise.start])) - len(self.head)
        self.block = (self.head + "".join(body)).encode()
        self.starts = [0]
        for line in self.block.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        try:
            self.tree = ast.parse(self.block)
        except SyntaxError as error:
            raise TitoError(
                f"line {self.first + (error.lineno or 1) - 1}: the solution of `{exercise.id}` "
                f"cannot be read by itself: {error.msg}",
                "a region holds whole statements, all of one block") from None

    def mutants(self) -> list[Mutant]:
        body = self.tree.body[0].body if self.head else self.tree.body
        nodes = (node for statement in body for node in [statement, *_nodes(statement)])
        edits = sorted({edit for node in nodes for edit in _edits(node, self)})
        seen = {ast.dump(self.tree)}
        return [mutant for edit in edits if (mutant := self._mutant(edit, seen))]

    def _mutant(self, edit: tuple[int, int, str], seen: set[str]) -> Mutant | None:
        start, end, words = edit
        block = self.block[:start] + words.encode() + self.block[end:]
        try:
            meaning = ast.dump(ast.parse(block))
        except (SyntaxError, ValueError):
            return None
        if meaning in seen:
            return None
        seen.add(meaning)
        row = self.block[:start].count(b"\n")
        span = tuple(self.offset + len(self.block[:at].decode()) for at in (start, end))
        before, after = (b.decode().split("\n")[row].strip() for b in (self.block, block))
        return Mutant(self.exercise, self.first + row, before, after, span, words)

    def span(self, node: ast.AST) -> tuple[int, int]:
        return (self.starts[node.lineno - 1] + node.col_offset,
                self.starts[node.end_lineno - 1] + node.end_col_offset)

    def text(self, start: int, end: int) -> str:
        return self.block[start:end].decode()

    def find(self, words: str, left: ast.AST, right: ast.AST) -> tuple[int, int] | None:
        """Where an operator stands between two operands."""
        start, end = self.span(left)[1], self.span(right)[0]
        at = self.block.find(words.encode(), start, end)
        return None if at < 0 else (at, at + len(words.encode()))


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node below `tree` that a test could see: no type hints, messages, docstrings."""
    if isinstance(tree, ast.Raise | ast.JoinedStr) or _is_text(tree) or _is_literal(tree):
        return
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                yield from _nodes(child)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_literal(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


# ---- the edits: (start, end, words), positions in the region's bytes ----

_BINARY = {ast.Add: "+-", ast.Sub: "-+", ast.Mult: "*/", ast.Div: "/*", ast.Mod: "%*",
           ast.MatMult: "@*", ast.FloorDiv: ("//", "/"), ast.Pow: ("**", "*")}
_COMPARE = {ast.Lt: ("<", "<=", ">="), ast.LtE: ("<=", "<", ">"), ast.Gt: (">", ">=", "<="),
            ast.GtE: (">=", ">", "<"), ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
            ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
            ast.NotIn: ("not in", "in")}
_SWAPS = dict(max="min", sum="mean", exp="log", argmax="argmin", maximum="minimum", zeros="ones",
              zeros_like="ones_like", ceil="floor", any="all", sin="cos", sqrt="square",
              logical_and="logical_or", triu="tril", cumsum="cumprod", add="subtract",
              multiply="divide", amax="amin", greater="less", append="appendleft")
_SWAPS |= {there: here for here, there in _SWAPS.items()}
_EITHER_WAY = {"max", "min", "maximum", "minimum", "add", "multiply", "logical_and", "logical_or",
               "allclose", "array_equal", "broadcast_shapes", "result_type", "swapaxes", "hypot"}
_NUMBERS = (ast.Name, ast.Call, ast.BinOp, ast.Attribute, ast.Subscript)  # may be one


def _edits(node: ast.AST, region: _Region) -> Iterator[tuple[int, int, str]]:
    for kinds, change in _CHANGES:
        if isinstance(node, kinds):
            yield from change(node, region)


def _binary(node: ast.BinOp, region: _Region):
    symbol, *others = _BINARY.get(type(node.op), ("",))
    place = region.find(symbol, node.left, node.right) if symbol else None
    if place is None:
        return
    start, end = region.span(node)
    yield from ((*place, other) for other in others)
    if symbol in "+-":  # a term dropped
        yield start, end, region.text(start, place[0]).rstrip()
        yield start, end, symbol.replace("+", "") + region.text(place[1], end).lstrip()


def _comparison(node: ast.Compare, region: _Region):
    operands = [node.left, *node.comparators]
    for left, op, right in zip(operands, node.ops, operands[1:]):
        symbol, *others = _COMPARE[type(op)]
        place = region.find(symbol, left, right)
        yield from ((*place, other) for other in others if place)


def _boolean(node: ast.BoolOp, region: _Region):
    symbol, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:]):
        if place := region.find(symbol, left, right):
            yield *place, other


def _unary(node: ast.UnaryOp, region: _Region):
    start, end = region.span(node)
    symbol = {ast.Not: "not", ast.USub: "-"}.get(type(node.op))
    if symbol:
        yield start, end, region.text(start + len(symbol), end).lstrip()
    if symbol == "-" and _is_literal(node) and isinstance(node.operand.value, int):
        value = -node.operand.value
        yield start, end, "0" if value == -1 else str(value + 1)  # the last axis, the first
        yield start, end, str(value - 1)


def _constant(node: ast.Constant, region: _Region):
    value, place = node.value, region.span(node)
    if isinstance(value, bool):
        yield *place, str(not value)
    elif isinstance(value, int):
        yield from ((*place, str(n)) for n in {0: (1,), 1: (0, 2)}.get(value, (value + 1,)))
    elif isinstance(value, float):
        yield *place, repr(float(f"{value * 1.1:.6g}")) if value else "1.0"


def _default(node: ast.arguments, region: _Region):
    yield from _zero_for_none([*node.defaults, *node.kw_defaults], region)


def _call(node: ast.Call, region: _Region):
    yield from _zero_for_none([k.value for k in node.keywords], region)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in _SWAPS:
        end = region.span(node.func)[1]
        yield end - len(name), end, _SWAPS[name]
    if name not in _EITHER_WAY:
        yield from _exchanged(node.args, region)


def _zero_for_none(values: list[ast.expr | None], region: _Region):
    for value in values:
        if isinstance(value, ast.Constant) and value.value is None:
            yield *region.span(value), "0"


def _exchanged(items: list[ast.expr], region: _Region):
    for left, right in zip(items, items[1:]):
        if not isinstance(left, ast.Starred) and not isinstance(right, ast.Starred):
            (start, low), (high, end) = region.span(left), region.span(right)
            yield start, end, region.text(high, end) + region.text(low, high) + region.text(
                start, low)


def _branch(node: ast.If | ast.IfExp | ast.While, region: _Region):
    for value in ("False",) if isinstance(node, ast.While) else ("True", "False"):
        yield *region.span(node.test), value  # a loop without end would only be waited for


def _filter(node: ast.comprehension, region: _Region):
    yield from ((*region.span(test), "True") for test in node.ifs)


def _result(node: ast.Return | ast.Lambda, region: _Region):
    """What is handed back: negated, its parts exchanged, an attribute's owner in its place."""
    value = node.value if isinstance(node, ast.Return) else node.body
    if isinstance(value, ast.Tuple):
        yield from _exchanged(value.elts, region)
    for part in value.elts if isinstance(value, ast.Tuple) else [value]:
        if isinstance(part, _NUMBERS):
            start, end = region.span(part)
            text = region.text(start, end)
            yield start, end, f"-({text})" if isinstance(part, ast.BinOp) else f"-{text}"
    if isinstance(value, ast.Attribute):
        yield *region.span(value), region.text(*region.span(value.value))


def _augmented(node: ast.AugAssign, region: _Region):
    symbol, *others = _BINARY.get(type(node.op), ("",))
    place = region.find(symbol + "=", node.target, node.value) if symbol else None
    if place:
        yield from ((*place, other + "=") for other in (*others, ""))  # "": forgets what was there


def _dropped(node: ast.stmt, region: _Region):
    if not _is_text(node):
        yield *region.span(node), "pass"


_PLAIN = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Delete,
          ast.For, ast.Continue, ast.Break)
_CHANGES = [(ast.BinOp, _binary), (ast.Compare, _comparison), (ast.BoolOp, _boolean),
            (ast.UnaryOp, _unary), (ast.Constant, _constant), (ast.arguments, _default),
            (ast.Call, _call), ((ast.If, ast.IfExp, ast.While), _branch),
            (ast.comprehension, _filter), ((ast.Return, ast.Lambda), _result),
            (ast.AugAssign, _augmented), (_PLAIN, _dropped)]
