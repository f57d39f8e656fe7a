"""What a course folder remembers between commands: `.tito/progress.json`.

    {"version": 1, "passed": {"05_autograd": "<sha256 of the module's dev files>"}}

A pass is remembered for the text that passed, never for the module: one changed character and the
tests run again.
"""

import hashlib
import json
import os
from pathlib import Path

from tito.errors import TitoError
from tito.workspace import Module, Workspace, read_text, write_text

VERSION = 1


def path(workspace: Workspace) -> Path:
    return workspace.state / "progress.json"


def digest(module: Module) -> str:
    """The content hash of a module's dev files and their names; line ends don't count."""
    files = {file.name: read_text(file) for file in module.dev_files}
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def load(workspace: Workspace) -> dict:
    """What was saved. A file that cannot be read is moved aside, never overwritten."""
    file = path(workspace)
    try:
        saved = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(saved["version"], int) or not isinstance(saved["passed"], dict):
            raise ValueError("it is no progress file")
    except FileNotFoundError:
        return {"version": VERSION, "passed": {}}
    except OSError as error:
        raise TitoError(f"{file} cannot be read: {error.strerror}",
                        "make it readable, or move it away") from None
    except (ValueError, KeyError, TypeError):  # not JSON, not UTF-8, or not ours
        kept = _aside(file)
        raise TitoError(f"{file} is damaged, so what it remembered is lost",
                        f"it is kept as {kept.name}; run the command again, it starts a new one"
                        ) from None
    if saved["version"] > VERSION:
        raise TitoError(f"{file} was written by a newer tito (version {saved['version']})",
                        "update tito, or move the file away to start a new one")
    return saved


def _aside(file: Path) -> Path:
    """Keeps a damaged file beside the new one, and an earlier damaged one too."""
    kept, n = file.with_name(file.name + ".corrupt"), 1
    while kept.exists():
        kept, n = file.with_name(f"{file.name}.corrupt.{n}"), n + 1
    os.replace(file, kept)
    return kept


def passed(workspace: Workspace, module: Module, text: str) -> bool:
    """Whether exactly this text of the module (its digest) is known to pass its own tests."""
    return load(workspace)["passed"].get(module.name) == text


def record(workspace: Workspace, module: Module, text: str, passes: bool) -> None:
    """Remembers that the text with this digest passes; forgets the module where it does not."""
    progress = load(workspace)
    before = progress["passed"].pop(module.name, None)
    if passes:
        progress["passed"][module.name] = text
    if before != progress["passed"].get(module.name):
        write_text(path(workspace), json.dumps(progress, indent=2, sort_keys=True) + "\n")
