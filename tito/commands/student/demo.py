"""tito demo: the whole way in two minutes."""

import click

from tito import console


@click.command("demo")
@click.option("--gpt", is_flag=True, help="What module 13 leads to: a GPT learns to write like Shakespeare.")
def command(gpt: bool) -> int:
    """See the whole way: a stub fails, its solution passes, the package built trains a network.

    All of it happens in a temporary folder; nothing of yours is touched, nothing is downloaded.
    """
    import time

    from tito.demo import Steps, show, write
    from tito.testing import lines

    def module(result) -> None:
        for line in lines(result):
            console.say(f"   {line}".rstrip())

    began = time.perf_counter()
    if gpt:
        console.say("A GPT reads a million letters of Shakespeare, in two minutes. Then it writes.\n")
        reached, written = write()
        console.say(written)
    else:
        reached = show(Steps(console.say, module))
    after = "Your own course folder: tito init DIR" if gpt else \
        "Two minutes more, for a GPT: tito demo --gpt. Your own course folder: tito init DIR"
    console.say(f"\n{time.perf_counter() - began:.0f} s. {after}")
    return 0 if reached else 1
