"""From dev files to the package: what each file says, writing it, checking it, and the way back
from a line of the package to the line of the lesson."""

import hashlib
import re
from dataclasses import dataclass
from difflib import unified_diff
from functools import lru_cache
from pathlib import Path

from tito.errors import TitoError
from tito.imports import WIDTH, block
from tito.resolve import Needs, resolve
from tito.stubs import builder
from tito.targets import Dev, Target, code_lines, read_dev, read_module, read_source
from tito.workspace import Module, Workspace, read_text, write_text

_HASHES = re.compile(r"# source sha256 ([0-9a-f]{64})  body sha256 ([0-9a-f]{64})")
_TARGET_LINE = re.compile(
    r"^# *\| *(?:default_exp|exporti?) *:? +(?:tinytorch\.)?([\w.]+) *$", re.MULTILINE
)
AT_END = "  # at the end: the two files need each other"

Line = tuple[str, int | None]  # a line of the package, and the line of the dev file it comes from


def plan(workspace: Workspace, module: Module) -> dict[Path, str]:
    """The package files of a module and what each one says."""
    return {path: _text(lines) for path, (_, lines) in _plan(workspace, module).items()}


@dataclass
class Exported:
    """What an export wrote, and where it kept files that somebody had edited by hand."""

    changed: list[Path]
    kept: list[Path]


def export(workspace: Workspace, module: Module) -> Exported:
    """Writes those of the module's package files that change. Runs no tests."""
    return write(workspace, changes(workspace, module))


def changes(workspace: Workspace, module: Module) -> dict[Path, str]:
    """The module's package files that an export would write."""
    files = plan(workspace, module)
    return {path: text for path, text in files.items() if not says(path, text)}


def write(workspace: Workspace, files: dict[Path, str]) -> Exported:
    """Writes these package files; an edited one is kept aside first."""
    kept = [copy for path in files if (copy := _keep_edits(workspace, path))]
    for path, text in files.items():
        write_text(path, text)
    return Exported(list(files), kept)


def _keep_edits(workspace: Workspace, path: Path) -> Path | None:
    """An exported file that somebody edited by hand is kept before it is written over."""
    if not edited(path):
        return None
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    kept = workspace.state / "edited" / f"{path.stem}.{digest}.py"
    write_text(kept, read_text(path))
    return kept


def edited(path: Path) -> bool:
    """Whether an exported file no longer says what the exporter wrote."""
    if not path.is_file() or not built_by(path):
        return False
    lines = read_text(path).split("\n", 2)
    found = _HASHES.match(lines[1]) if len(lines) == 3 else None
    return not found or _sha(lines[2]) != found.group(2)


def built_by(path: Path) -> str:
    """The module that an exported file says it comes from; "" for a stub and other files."""
    with open(path, encoding="utf-8", errors="replace") as file:
        found = builder(file.readline())
    return found.module if found and not found.stub else ""


def check(workspace: Workspace, modules: list[Module]) -> str:
    """What an export would change, as a unified diff; empty where the package is up to date."""
    parts = []
    for module in modules:
        for path, text in plan(workspace, module).items():
            if not says(path, text):
                old = read_text(path) if path.is_file() else ""
                parts.append(_diff(workspace, path, old, text))
    built = {module.name for module in modules}
    parts += [
        _diff(workspace, path, read_text(path), "")
        for path in stale(workspace)
        if built_by(path) in built or len(modules) == len(workspace.modules)
    ]
    return "".join(parts)


def _diff(workspace: Workspace, path: Path, old: str, new: str) -> str:
    name = workspace.relative(path)
    if not new:
        note = "\tno dev file exports it any more"
    else:
        note = "\tedited by hand" if edited(path) else "\tnot what the lesson says"
    after = f"{name}\tafter tito export" if new else "/dev/null"
    lines = unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), name + note, after, n=2
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def state(workspace: Workspace, module: Module) -> str:
    """"exported", "changed" (the lesson, since its export) or "open" (not exported yet)."""
    current = {_sha(read_source(workspace, path)[2]) for path in module.dev_files}
    names = [n for path in module.dev_files for n in _named_targets(path)]
    files = [workspace.target(name) for name in dict.fromkeys(names)]
    if not files or not all(path.is_file() and built_by(path) == module.name for path in files):
        return "open"
    recorded = {_recorded(path) for path in files}
    return "exported" if recorded <= current else "changed"


def _recorded(path: Path) -> str:
    """The hash of the dev file that an exported file was made from."""
    lines = read_text(path).split("\n", 2)
    found = _HASHES.match(lines[1]) if len(lines) > 1 else None
    return found.group(1) if found else ""


def stale(workspace: Workspace) -> list[Path]:
    """Generated files that no dev file exports any more."""
    named = {workspace.target(name) for name in _all_targets(workspace)}
    files = sorted(workspace.package.rglob("*.py"))
    return [path for path in files if path not in named and built_by(path)]


def remove_stale(workspace: Workspace) -> list[Path]:
    """Removes them; a hand-edited one is kept under .tito/edited."""
    found = stale(workspace)
    for path in found:
        _keep_edits(workspace, path)
        path.unlink()
    return found


def says(path: Path, text: str) -> bool:
    """Whether the file says this; Git may have given it other line ends."""
    return path.is_file() and path.read_bytes().replace(b"\r\n", b"\n") == text.encode("utf-8")


def _all_targets(workspace: Workspace) -> dict[str, list[tuple[Module, Path]]]:
    """Every target of the course with the dev files that name it; a scan, not a parse."""
    found: dict[str, list[tuple[Module, Path]]] = {}
    for module in workspace.modules:
        for path in module.dev_files:
            for name in dict.fromkeys(_named_targets(path)):
                found.setdefault(name, []).append((module, path))
    return found


def _named_targets(path: Path) -> list[str]:
    text = read_text(path)
    if path.suffix == ".ipynb":  # JSON: the lines of a cell are strings
        text = text.replace('"#', "\n#").replace("\\n", "\n")
    return _TARGET_LINE.findall(text)


# One target's text


def _plan(workspace: Workspace, module: Module) -> dict[Path, tuple[Dev, list[Line]]]:
    devs = read_module(workspace, module)
    everywhere = _all_targets(workspace)
    _one_source(workspace, devs, everywhere)
    later = {
        name: homes[0][0].name
        for name, homes in everywhere.items()
        if homes[0][0].number > module.number
    }
    needs = resolve(devs, later)
    return {
        workspace.target(name): (dev, _render(target, needs[name], module))
        for dev in devs
        for name, target in dev.targets.items()
    }


def _one_source(workspace: Workspace, devs: list[Dev], everywhere: dict) -> None:
    for dev in devs:
        for name, target in dev.targets.items():
            others = [path for _, path in everywhere.get(name, ()) if path.stem != dev.path.stem]
            for other in others:
                if not _really_exports(workspace, other, name):
                    continue
                raise TitoError(
                    f"{dev.at(target.line)}: {name} is also exported by "
                    f"{workspace.relative(other)}.",
                    "A package file has one source: give one of the two another target.",
                )


def _really_exports(workspace: Workspace, path: Path, name: str) -> bool:
    """The scan also finds directives in strings; the parse does not."""
    try:
        return name in read_dev(workspace, path).targets
    except TitoError:
        return True


def _render(target: Target, needs: Needs, module: Module) -> list[Line]:
    lines: list[Line] = [(f'"""{target.name}: built in module {module.name}."""', None)]
    imported = block(needs.top)
    lines += [("", None)] * bool(imported) + imported
    lines += [("", None)] + [(line, None) for line in _all_line(target.public)]
    for piece in target.pieces:
        code = code_lines(piece)
        if code:
            lines += [("", None), ("", None), *code]
    at_end = block(needs.end)
    if at_end:
        lines += [("", None), ("", None), *_at_end(at_end)]
    return _header(target, lines) + lines


def _header(target: Target, lines: list[Line]) -> list[Line]:
    source, body = _sha(target.dev.text), _sha(_text(lines))
    label = target.dev.label
    return [
        (f"# Generated from {label} by tito export. Edit the lesson, not this file.", None),
        (f"# source sha256 {source}  body sha256 {body}  # noqa: E501", None),
    ]


def _all_line(names: list[str]) -> list[str]:
    names = sorted(names)
    whole = "__all__ = [" + ", ".join(f'"{name}"' for name in names) + "]"
    if len(whole) <= WIDTH:
        return [whole]
    lines, row = [], "   "
    for name in names:
        if len(row) + len(name) + 4 > WIDTH:
            lines.append(row)
            row = "   "
        row += f' "{name}",'
    return ["__all__ = [", *lines, row, "]"]


def _at_end(lines: list[Line]) -> list[Line]:
    """The imports that close a circle; E402 asks for imports on top, which cannot be here."""
    return [
        (f"{text}{AT_END}  # noqa: E402" if text.startswith(("from", "import")) else text, line)
        for text, line in lines
    ]


def _text(lines: list[Line]) -> str:
    return "".join(f"{text}\n" for text, _ in lines)


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


# The way back


def map_line(workspace: Workspace, file: Path, line: int) -> tuple[Path, int] | None:
    """The place in the dev file that a line of the package comes from.

    None for lines that the exporter wrote, and for a file that is not what the lesson exports.
    """
    file = Path(file)
    if not file.is_file():
        return None
    name = built_by(file)
    module = next((m for m in workspace.modules if m.name == name), None)
    if module is None:
        return None
    try:
        texts = tuple(read_source(workspace, path)[2] for path in module.dev_files)
        dev, lines = _planned(workspace, module, texts).get(file, (None, []))
    except TitoError:
        return None  # the lesson has changed and cannot be exported now
    if dev is None or not says(file, _text(lines)) or not 0 < line <= len(lines):
        return None
    origin = lines[line - 1][1]
    return (dev.path, origin) if origin else None


@lru_cache(maxsize=32)
def _planned(workspace: Workspace, module: Module, texts: tuple[str, ...]):
    """The plan of these texts: a traceback asks for it at each of its lines."""
    return _plan(workspace, module)


_FRAME = re.compile(r'File "([^"\n]*[\\/]tinytorch[\\/][^"\n]*\.py)", line (\d+)')


def map_traceback(text: str, workspace: Workspace | None = None) -> str:
    """The traceback with the places of the package replaced by those of the lessons."""

    def place(match: re.Match) -> str:
        file, line = Path(match.group(1)), int(match.group(2))
        try:
            found = map_line(workspace or Workspace.find(file.parent), file, line)
        except (TitoError, OSError):
            found = None
        return _shown(*found) if found else match.group()

    return _FRAME.sub(place, text)


def _shown(path: Path, line: int) -> str:
    """A place as tracebacks write it; in a notebook lines are counted in their cell."""
    if path.suffix == ".ipynb":
        from tito.notebook import read_notebook

        cells = read_notebook(path.read_bytes(), f'File "{path}"')
        return [cell for cell in cells if cell.line <= line][-1].at(line)
    return f'File "{path}", line {line}'
