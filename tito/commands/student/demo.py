"""tito demo: the whole way in three minutes."""

import click

from tito import console


@click.command("demo")
@click.option("--quick", is_flag=True, help="Leave out the GPT: ten seconds in place of three minutes.")
def command(quick: bool) -> int:
    """See the whole way: a stub fails, its solution passes, the package built trains a network.

    At the end a GPT of module 13 learns to write like Shakespeare. All of it happens in a temporary
    folder; nothing of yours is touched, nothing is downloaded.
    """
    import time

    from tito.demo import Steps, show, write
    from tito.testing import lines

    def module(result) -> None:
        for line in lines(result):
            console.say(f"   {line}".rstrip())

    began = time.perf_counter()
    reached = show(Steps(console.say, module))
    if reached and not quick:
        console.say("\n6. What it leads to: a GPT reads a million letters of Shakespeare, in two minutes\n")
        reached, written = write()
        console.say(written)
    console.say(f"\n{time.perf_counter() - began:.0f} s. Your own course folder: tito init DIR")
    return 0 if reached else 1
