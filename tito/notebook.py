"""A Jupyter notebook as cells, and cells as a notebook. Reads what students send: old formats,
missing metadata, ids that come twice. Needs nothing but json."""

import hashlib
import json
import re
from dataclasses import replace

from tito.errors import TitoError
from tito.source import Cell, block, first_line

_MAGIC = re.compile(r"\s*(%{1,2}[A-Za-z]|!|\?|[\w.]+\?{1,2}$)")
_COMMENTED = re.compile(r"# (%{1,2}[A-Za-z].*|!.*)$")
_KEY = re.compile(r"([A-Za-z_][\w.-]*)=")
_VERSION = {"nbformat": 4, "nbformat_minor": 5}


def read_notebook(data: bytes, label: str) -> list[Cell]:
    """The cells of an .ipynb file, of format 3 or 4. `label` is its name in messages."""
    content = _json(_decoded(data, label), label)
    return _placed([_cell(raw, n, label) for n, raw in enumerate(_raw_cells(content, label), 1)])


def _decoded(data: bytes, label: str) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    else:
        encoding = "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _unreadable(
            label, f"is not UTF-8 (byte {error.start})", "Save it again from Jupyter."
        ) from None


def _json(text: str, label: str):
    start = text.lstrip()[:200]
    again = "Save it again from Jupyter, or get the file itself and not the page that shows it."
    if not start:
        raise _unreadable(label, "is empty", "Save the notebook again.")
    if start.startswith("<") and not start.startswith("<<<<<<<"):
        raise _unreadable(label, "is a web page (HTML) and no notebook", again)
    if start.startswith("version https://git-lfs"):
        raise _unreadable(label, "is a Git LFS pointer, not the notebook", "Run: git lfs pull")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _no_json(label, text, error) from None
    except RecursionError:
        raise _unreadable(label, "is JSON nested too deeply for a notebook", again) from None


def _no_json(label: str, text: str, error: json.JSONDecodeError) -> TitoError:
    if re.search(r"^(<<<<<<<|>>>>>>>) ", text, re.M):
        return _unreadable(label, "has Git's conflict marks in it", "Resolve the merge first.")
    if not text.lstrip().startswith(("{", "[")):
        return _unreadable(
            label, "is text and no notebook", "If it is Python, its name should end in .py."
        )
    if text.count("{") > text.count("}") or error.pos >= len(text.rstrip()):
        line = text.rstrip().count("\n") + 1
        what = f"is cut off: its JSON ends in the middle, at line {line}"
        return _unreadable(label, what, "Download or save it again.")
    return _unreadable(
        label, f"is broken JSON at line {error.lineno}: {error.msg}", "Save it again from Jupyter."
    )


def _raw_cells(content, label: str) -> list:
    again = "It should have the cells of a Jupyter notebook."
    if not isinstance(content, dict):
        raise _unreadable(label, f"is JSON, but a {_json_name(content)} and no notebook", again)
    version = content.get("nbformat", 4)
    if version not in (3, 4):
        raise _unreadable(
            label, f"has the notebook format {version}", "tito reads 3 and 4: save it as 4."
        )
    sheets = content.get("worksheets")
    if isinstance(sheets, list) and "cells" not in content:
        cells = [c for s in sheets if isinstance(s, dict) for c in s.get("cells") or ()]
    else:
        cells = content.get("cells")
    if not isinstance(cells, list):
        raise _unreadable(label, "is JSON, but no notebook: it has no cells", again)
    return cells


def _json_name(content) -> str:
    return {list: "list", str: "string", type(None): "null"}.get(type(content), "number")


def _unreadable(label: str, what: str, hint: str) -> TitoError:
    return TitoError(f"{label} {what}.", hint)


def _cell(raw, number: int, label: str) -> Cell:
    kind = raw.get("cell_type") if isinstance(raw, dict) else None
    text = raw.get("source", raw.get("input", "")) if isinstance(raw, dict) else None
    if isinstance(text, list) and all(isinstance(part, str) for part in text):
        text = "".join(text)
    if kind not in ("code", "markdown", "raw", "heading", "html") or not isinstance(text, str):
        raise TitoError(
            f"{label}, cell {number}: this is no notebook cell.",
            "A cell has a type (code or markdown) and a source; delete it and write it again.",
        )
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if kind == "heading":  # format 3
        text = "#" * int(raw.get("level") or 1) + " " + text
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    if kind == "code":
        lines = _without_magics(lines)
    kind = {"heading": "markdown", "html": "markdown"}.get(kind, kind)
    return Cell(kind, "\n".join(lines), 1, _header(raw, kind), label, number)


def _without_magics(lines: list[str]) -> list[str]:
    """IPython's own lines as comments, so that the rest is Python."""
    if lines and lines[0].startswith("%%"):
        return [f"# {line}".rstrip() for line in lines]
    if not any(_MAGIC.match(line) for line in lines) or _is_python("\n".join(lines)):
        return lines  # a line that begins with % may continue an expression, or stand in a string
    return [re.sub(r"^(\s*)", r"\1# ", line) if _MAGIC.match(line) else line for line in lines]


def _is_python(text: str) -> bool:
    import ast

    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _placed(cells: list[Cell]) -> list[Cell]:
    """The cells with the line each has in the percent form of the notebook."""
    placed, line = [], 1
    for cell in cells:
        placed.append(replace(cell, line=line + first_line(cell)))
        line += block(cell).count("\n") + 2
    return placed


# Metadata: `# %% Title [markdown] key=json` in a dev file, a dict in a notebook


def _header(raw: dict, kind: str) -> str:
    metadata = raw.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    parts = [str(metadata.pop("title", ""))]
    parts += [f"[{kind}]"] if kind != "code" else []
    for name in ("collapsed", "scrolled", "trusted", "ExecuteTime", "execution", "jupyter"):
        metadata.pop(name, None)  # what editors leave behind
    keys = [key for key in metadata if re.fullmatch(r"[A-Za-z_][\w.-]*", key)]
    parts += [f"{key}={json.dumps(metadata[key], ensure_ascii=False)}" for key in keys]
    return " ".join(part for part in parts if part)


def _metadata(header: str) -> dict:
    found: dict = {}
    keys = list(_KEY.finditer(header))
    title = header[: keys[0].start()] if keys else header
    title = re.sub(r"\[(markdown|md|raw)\]", "", title).strip()
    if title:
        found["title"] = title
    done = 0
    for key in keys:
        if key.start() < done:
            continue  # it stands inside the value before
        try:
            found[key[1]], size = json.JSONDecoder().raw_decode(header[key.end() :])
            done = key.end() + size
        except json.JSONDecodeError:
            continue
    return found


# Writing


def write_notebook(cells: list[Cell]) -> str:
    """The notebook with these cells, format 4.5: without outputs, the same bytes each time."""
    content = {
        "cells": [_raw(cell, n) for n, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        **_VERSION,
    }
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _raw(cell: Cell, number: int) -> dict:
    text = cell.text
    if cell.kind == "code":
        text = "\n".join(_COMMENTED.sub(r"\1", line) for line in cell.lines)
    id = hashlib.sha256(f"{number}\0{cell.kind}\0{cell.text}".encode()).hexdigest()[:12]
    raw = {
        "cell_type": cell.kind,
        "id": id,
        "metadata": _metadata(cell.header),
        "source": text.splitlines(keepends=True),
    }
    return raw | {"execution_count": None, "outputs": []} if cell.kind == "code" else raw
