"""tito export: put finished modules into the package."""

import click

from tito import console, export
from tito.errors import TitoError, sentence
from tito.workspace import Module, Workspace


@click.command("export")
@click.argument("modules", nargs=-1, metavar="[MODULE]...")
@click.option("--all", "everything", is_flag=True, help="Every module, in order.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if anything would change.")
@click.option("--force", is_flag=True, help="Also a module that fails its own tests.")
@click.option(
    "--from", "prefer", type=click.Choice(["py", "ipynb"]),
    help="Which file counts where a lesson is there as both.",
)  # fmt: skip
def command(modules, everything, check, force, prefer):
    """Put MODULE into tinytorch. A module that fails its own tests is refused."""
    workspace = Workspace.find(prefer=prefer)
    if not modules and not everything and not check:
        raise click.UsageError("Which module? `tito export 05`, or all of them: --all")
    chosen = [workspace.module(name) for name in modules]
    if not chosen:
        chosen = [module for module in workspace.modules if not workspace.is_given(module)]
    if check:
        return _check(workspace, chosen)
    for module in chosen:
        _export(workspace, module, force)
    for path in export.remove_stale(workspace) if everything else ():
        console.say(f"{workspace.relative(path)} removed: no lesson exports it any more")


def _check(workspace: Workspace, modules: list[Module]) -> int:
    diff = export.check(workspace, modules)
    console.say(diff.rstrip("\n") or "The package says what the lessons say.")
    return 1 if diff else 0


def _export(workspace: Workspace, module: Module, force: bool) -> None:
    changed = export.changes(workspace, module)
    if not changed:
        console.say(f"{module.name}: up to date")
        return
    if not force:
        _must_pass(workspace, module)
    for kept in export.write(workspace, changed).kept:
        console.say(f"An exported file was edited by hand; it is kept: {workspace.relative(kept)}")
    names = ", ".join(workspace.relative(path) for path in changed)
    console.say(f"{module.name}: exported to {names}")


def _must_pass(workspace: Workspace, module: Module) -> None:
    from tito.testing import unfinished

    why = unfinished(workspace, module)
    if why:
        raise TitoError(
            sentence(f"{module.name} fails its own tests, so it was not exported: {why}"),
            f"See what fails: tito test {module.nn} (or export it as it is: --force).",
            code=1,
        )
