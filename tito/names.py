"""Which names a piece of code defines at its top level, and which it uses from outside. Pure."""

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar,
    ast.ExceptHandler, ast.Match, ast.match_case,
)  # fmt: skip
ALWAYS_THERE = frozenset(dir(builtins)) | {
    "__file__", "__path__", "__class__", "__module__", "__qualname__", "__annotations__",
}  # fmt: skip


@dataclass(frozen=True)
class Use:
    """A global name that is read. `late`: only when a function is called, not when it is made."""

    name: str
    line: int
    late: bool


def bound(tree: ast.Module) -> dict[str, int]:
    """Names that the code binds where it stands, each with its first line. Import statements at
    top level do not count, as the exporter moves them; those in a `try` or `if` do."""
    found: dict[str, int] = {}
    for statement in tree.body:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            for name, line in _bindings(statement):
                found.setdefault(name, line)
    return found


def public(tree: ast.Module) -> list[str]:
    """What the code offers: its functions, classes and assigned names without underscore."""
    return [name for name, _, _ in definitions(tree.body) if not name.startswith("_")]


def definitions(body: Iterable[ast.stmt]) -> Iterator[tuple[str, int, ast.stmt]]:
    """(name, line, statement) of each function, class and assignment at top level."""
    for node in body:
        if isinstance(node, FUNCTIONS + (ast.ClassDef,)):
            yield node.name, node.lineno, node
        elif isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for part in (p for target in targets for p in ast.walk(target)):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    yield part.id, part.lineno, node
        elif type(node).__name__ == "TypeAlias":  # Python 3.12: type Shape = tuple[int, ...]
            yield node.name.id, node.lineno, node
        elif isinstance(node, ast.If | ast.Try | ast.With):
            inner = [*node.body, *getattr(node, "orelse", ()), *getattr(node, "finalbody", ())]
            inner += [s for handler in getattr(node, "handlers", ()) for s in handler.body]
            yield from definitions(inner)


def rebound(tree: ast.Module) -> dict[str, int]:
    """Names that a function assigns through `global`, with the line of that statement."""
    found = {}
    for function in (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)):
        assigned = {name for statement in function.body for name, _ in _bindings(statement)}
        for node in _own_statements(function.body):
            if isinstance(node, ast.Global):
                found |= {name: node.lineno for name in node.names if name in assigned}
    return found


def _bindings(node: ast.AST) -> Iterator[tuple[str, int]]:
    """(name, line) for what a statement binds in the scope it stands in."""
    if isinstance(node, FUNCTIONS + (ast.ClassDef,)):
        yield node.name, node.lineno
        outside = [*node.decorator_list, *_outside(node)]
        for child in outside:  # a walrus in a default binds out here
            yield from _bindings(child)
        return
    if isinstance(node, ast.Lambda):
        for child in _outside(node):
            yield from _bindings(child)
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0], node.lineno
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        yield node.id, node.lineno
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name, node.lineno
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest, node.lineno
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.comprehension):
            yield from (b for part in (child.iter, *child.ifs) for b in _bindings(part))
        else:
            yield from _bindings(child)


def _outside(node: ast.AST) -> list[ast.expr]:
    """The expressions of a definition that are evaluated where it stands."""
    if isinstance(node, ast.ClassDef):
        return [*node.bases, *(k.value for k in node.keywords)]
    return [d for d in (*node.args.defaults, *node.args.kw_defaults) if d]


def uses(tree: ast.Module, lazy_annotations: bool = False) -> list[Use]:
    """Every read of a name that no scope inside the code binds, in order of lines.

    `lazy_annotations`: the file says `from __future__ import annotations`.
    """
    reader = _Reader(lazy_annotations)
    for statement in tree.body:
        reader.visit(statement)
    return sorted(set(reader.found), key=lambda use: (use.line, use.name, use.late))


class _Scope:
    def __init__(self, names: Iterable[str] = (), outer: Iterable[str] = (), kind="function"):
        self.names = set(names)
        self.outer = set(outer)  # declared `global`
        self.kind = kind  # "function", "class" (not seen from functions inside) or "types"


class _Reader(ast.NodeVisitor):
    """Walks the code in the order it runs, with the stack of scopes around each name."""

    def __init__(self, lazy_annotations: bool):
        self.found: list[Use] = []
        self.scopes: list[_Scope] = []
        self.late = 0  # how many function bodies are around us
        self.lazy_annotations = lazy_annotations

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._read(node.id, node.lineno)
        else:
            self._bind(node.id)

    def _read(self, name: str, line: int) -> None:
        near = True  # no function lies between the name and the scope
        for scope in reversed(self.scopes):
            if name in scope.outer:
                break
            if name in scope.names and (near or scope.kind != "class"):
                return
            near = near and scope.kind == "types"
        self.found.append(Use(name, line, self.late > 0))

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):  # it is read before it is written
            self._read(node.target.id, node.lineno)
        self.visit(node.value)
        self.visit(node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)
        in_function = bool(self.scopes) and self.scopes[-1].kind == "function"
        self._annotation(node.annotation, late=in_function)
        self.visit(node.target)

    def visit_For(self, node) -> None:
        for part in (node.iter, node.target, *node.body, *node.orelse):
            self.visit(part)

    visit_AsyncFor = visit_For

    # Definitions

    def visit_FunctionDef(self, node) -> None:
        for part in (*node.decorator_list, *_outside(node)):
            self.visit(part)
        with _Inside(self, _type_names(node), kind="types"):
            for argument in _arguments(node.args):
                self._annotation(argument.annotation)
            self._annotation(node.returns)
            self._type_parameters(node)
        self._bind(node.name)
        names, outer = _locals(node)
        self.late += 1
        with _Inside(self, names | _type_names(node), outer):
            for statement in node.body:
                self.visit(statement)
        self.late -= 1

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for part in _outside(node):
            self.visit(part)
        self.late += 1
        with _Inside(self, (a.arg for a in _arguments(node.args))):
            self.visit(node.body)
        self.late -= 1

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in node.decorator_list:
            self.visit(part)
        with _Inside(self, _type_names(node), kind="types"):
            self._type_parameters(node)
            for part in _outside(node):
                self.visit(part)
            with _Inside(self, kind="class"):
                for statement in node.body:
                    self.visit(statement)
        self._bind(node.name)

    def visit_Import(self, node) -> None:
        for name, _ in _bindings(node):
            self._bind(name)

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._bind(node.name)
        self.generic_visit(node)

    def _bind(self, name: str) -> None:
        """A class body knows a name from the line on that binds it."""
        if self.scopes and self.scopes[-1].kind == "class":
            self.scopes[-1].names.add(name)

    def _type_parameters(self, node) -> None:
        for parameter in getattr(node, "type_params", ()):  # Python 3.12: def f[T: Tensor](x: T)
            if getattr(parameter, "bound", None):
                self._annotation(parameter.bound, late=True)

    def visit_TypeAlias(self, node) -> None:
        with _Inside(self, _type_names(node), kind="types"):
            self._annotation(node.value, late=True)

    def _comprehension(self, node) -> None:
        first = node.generators[0]
        self.visit(first.iter)  # evaluated in the scope around
        names = {
            name.id
            for generator in node.generators
            for name in ast.walk(generator.target)
            if isinstance(name, ast.Name)
        }
        with _Inside(self, names):
            for generator in node.generators:
                if generator is not first:
                    self.visit(generator.iter)
                for condition in generator.ifs:
                    self.visit(condition)
                self.visit(generator.target)  # an index in a target is read: `for a[i] in ...`
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            for part in parts:
                self.visit(part)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # Annotations

    def _annotation(self, node: ast.expr | None, late: bool = False) -> None:
        """Reads the names of an annotation, also of one written as a string."""
        if node is None:
            return
        self.late += late or self.lazy_annotations
        self._annotation_part(node)
        self.late -= late or self.lazy_annotations

    def _annotation_part(self, node: ast.expr) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self._quoted(node)
        elif isinstance(node, ast.Subscript) and _last_name(node.value) in ("Literal", "Annotated"):
            self.visit(node.value)  # what stands in Literal["mean"] is no name
            if _last_name(node.value) == "Annotated" and isinstance(node.slice, ast.Tuple):
                self._annotation_part(node.slice.elts[0])
                for extra in node.slice.elts[1:]:
                    self.visit(extra)
        elif isinstance(node, ast.Name | ast.Lambda):
            self.visit(node)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._annotation_part(child)

    def _quoted(self, node: ast.Constant) -> None:
        try:
            inner = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            return  # prose, not a type
        for part in ast.walk(inner):
            if hasattr(part, "lineno"):
                part.lineno = node.lineno
        self.late += 1
        self._annotation_part(inner)
        self.late -= 1


class _Inside:
    """`with` this scope on the reader's stack."""

    def __init__(self, reader: _Reader, names=(), outer=(), kind="function"):
        self.reader, self.scope = reader, _Scope(names, outer, kind)

    def __enter__(self):
        self.reader.scopes.append(self.scope)

    def __exit__(self, *failure):
        self.reader.scopes.pop()


def _arguments(args: ast.arguments) -> list[ast.arg]:
    several = [args.vararg, args.kwarg]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *(a for a in several if a)]


def _type_names(node: ast.AST) -> set[str]:
    return {parameter.name for parameter in getattr(node, "type_params", ())}


def _last_name(node: ast.expr) -> str:
    return getattr(node, "id", None) or getattr(node, "attr", "")


def _locals(node) -> tuple[set[str], set[str]]:
    """The local names of a function, and those it declares `global`."""
    bound = {name for statement in node.body for name, _ in _bindings(statement)}
    inner = list(_own_statements(node.body))
    outer = {name for s in inner if isinstance(s, ast.Global) for name in s.names}
    outside = {name for s in inner if isinstance(s, ast.Nonlocal) for name in s.names}
    arguments = {argument.arg for argument in _arguments(node.args)}
    return (bound | arguments) - outer - outside, outer


def _own_statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """These statements and those inside them, without those of definitions inside."""
    for node in body:
        yield node
        if isinstance(node, _BLOCKS):
            inner = ast.iter_child_nodes(node)
            yield from _own_statements(n for n in inner if not isinstance(n, ast.expr))


def imports(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """The import statements at top level."""
    return [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
