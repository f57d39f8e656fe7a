"""tito test: does it work?"""

import click

from tito import console
from tito.workspace import Workspace


@click.command("test")
@click.argument("modules", nargs=-1, metavar="[MODULE]...")
@click.option("--all", "every", is_flag=True, help="Test every module.")
@click.option("--inline", is_flag=True, help="Only the checks in the lesson, not tests/NN_name/.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("--from", "prefer", type=click.Choice(["py", "ipynb"]),
              help="Which file counts where a lesson is there as both.")
def command(modules: tuple[str, ...], every: bool, inline: bool, as_json: bool,
            prefer: str | None) -> int:
    """Test a module: the lesson's own checks, then tests/NN_name/, on your code.

    MODULE is a number, a folder or a part of its name: 5, 05_autograd, autograd.
    """
    from tito.testing import as_dict, lines, test_module

    workspace = Workspace.find(installed=True, prefer=prefer)
    chosen = [workspace.module(name) for name in modules]
    if every:
        chosen = [module for module in workspace.modules if not workspace.is_given(module)]
    if not chosen:
        raise click.UsageError("Name a module (tito test 05), or give --all.")
    results = []
    for module in chosen:
        results.append(test_module(workspace, module, inline_only=inline))
        if not as_json:
            if len(results) > 1:
                console.say()
            for line in lines(results[-1]):
                console.say(line)
    if as_json:
        import json

        console.say(json.dumps([as_dict(result) for result in results], indent=2))
    return 0 if all(result.passed for result in results) else 1
