"""tito dev mutants: would the tests notice a small mistake?"""

import click

from tito import console
from tito.workspace import Workspace


@click.command("mutants")
@click.argument("module")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--max", "at_most", type=click.IntRange(min=1), help="Try at most so many.")
def command(module: str, as_json: bool, at_most: int | None) -> int:
    """Change each solution of MODULE in small wrong ways, and list what its tests let pass.

    Mutants that no test can tell from the solution stand in the module's equivalent_mutants.txt,
    one a line: exercise id | original line | mutated line | reason.
    """
    from tqdm import tqdm

    from tito.mutants import ENOUGH, try_mutants

    workspace = Workspace.find(installed=True)
    with tqdm(desc="mutants", disable=True if as_json else None, leave=False) as bar:
        def tick(total: int) -> None:
            bar.total = total
            bar.update()

        report = try_mutants(workspace, workspace.module(module), at_most, tick)
    if as_json:
        import json

        console.say(json.dumps(report.as_dict(), indent=2))
    else:
        for mutant in report.survivors:
            console.say(f"{report.lesson}:{mutant.line}  {mutant.exercise}\n"
                        f"  - {mutant.original}\n  + {mutant.mutated}")
        for mark in report.wrong_marks:
            console.say(mark)
        console.say(f"{report.module}: {report.killed} of {report.total} mutants killed, "
                    f"{report.percent:.1f} % ({ENOUGH} % wanted; "
                    f"{report.equivalent} more are marked as equivalent)")
    return 0 if report.passed else 1
