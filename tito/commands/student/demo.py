"""tito demo: the whole way in two minutes."""

import click

from tito import console


@click.command("demo")
def command() -> int:
    """See the whole way: a stub fails, its solution passes, the package built trains a network.

    All of it happens in a temporary folder; nothing of yours is touched, nothing is downloaded.
    """
    import time

    from tito.demo import Steps, show
    from tito.testing import lines

    def module(result) -> None:
        for line in lines(result):
            console.say(f"   {line}".rstrip())

    began = time.perf_counter()
    reached = show(Steps(console.say, module))
    console.say(f"\n{time.perf_counter() - began:.0f} s. Your own course folder: tito init DIR")
    return 0 if reached else 1
