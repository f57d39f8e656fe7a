"""tito dev check: is the course right?"""

import click

from tito import console
from tito.workspace import Workspace


@click.command("check")
@click.argument("modules", nargs=-1, metavar="[MODULE]...")
def command(modules: tuple[str, ...]) -> int:
    """Check the course as its author: every exercise fails unsolved, every solution passes."""
    from tito.check import Report, check

    def done(report: Report) -> None:
        wrong = f"{len(report.findings)} findings" if report.findings else "ok"
        console.say(f"{console.mark(not report.findings)} {report.module:<18} "
                    f"{report.exercises:3} exercises {report.checks:4} checks "
                    f"{report.tests:4} tests  {wrong}")

    workspace = Workspace.find(installed=True)
    chosen = [workspace.module(name) for name in modules] or workspace.modules
    reports = check(workspace, sorted(chosen, key=lambda module: module.number), done)
    for report in reports:
        for finding in report.findings:
            console.say(f"{report.module}: {finding}")
    return 1 if any(report.findings for report in reports) else 0
