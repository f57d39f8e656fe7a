"""tito list, tito status: what is done, and what comes next."""

import json

import click

from tito import console, export
from tito.errors import TitoError
from tito.source import unsolved
from tito.targets import read_cells
from tito.workspace import Module, Workspace

_WORDS = {
    "exported": "done",
    "changed": "changed since its export",
    "given": "given",
    "open": "not begun",
}


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def command(as_json):
    """What is done, and what comes next."""
    workspace = Workspace.find()
    rows = [_row(workspace, module) for module in workspace.modules]
    following = next((row for row in rows if row["state"] not in ("exported", "given")), None)
    if as_json:
        content = {"version": 1, "modules": rows, "next": following and following["name"]}
        console.say(json.dumps(content, indent=2, ensure_ascii=False))
        return
    for row in rows:
        here = "  <- next" if row is following else ""
        console.say(f"{row['name']:<22}{_about(row)}{here}".rstrip())
    done = sum(row["state"] in ("exported", "given") for row in rows)
    console.say(f"\n{done} of {len(rows)} modules are in your tinytorch.")
    if following:
        console.say(_next(following))


def _row(workspace: Workspace, module: Module) -> dict:
    row = {"number": module.number, "name": module.name, "title": "", "state": "unreadable",
           "exercises": 0, "unwritten": 0, "lesson": "", "problem": ""}  # fmt: skip
    try:
        row["lesson"], row["title"] = workspace.relative(module.lesson), module.title
        row["exercises"], row["unwritten"] = unsolved(read_cells(workspace, module.lesson))
        row["state"] = export.state(workspace, module)
    except TitoError as error:  # one broken lesson must not hide the others
        row["problem"] = error.message
    if row["state"] in ("open", "changed") and workspace.is_given(module):
        row["state"] = "given"
    return row


def _next(row: dict) -> str:
    nn = f"{row['number']:02d}"
    if not row["problem"] and not row["unwritten"]:
        return f"Every exercise of {row['name']} is written: tito export {nn}"
    return f"Open {row['lesson']}, then: tito test {nn}, tito export {nn}"


def _about(row: dict) -> str:
    if row["problem"]:
        return row["problem"]
    asked, left = row["exercises"], row["unwritten"]
    if row["state"] == "open" and left < asked:
        return f"{asked - left} of {asked} exercises written"
    return _WORDS[row["state"]]
