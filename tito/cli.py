"""The command `tito`: finds the command, shows errors, sets the exit code. Nothing else."""

import os
import sys
from importlib import import_module

import click

from tito import console
from tito.errors import TitoError, sentence

# name: (where it is, what it does); a command is imported when it is called
COMMANDS = {
    "init": ("tito.commands.student.init:command", "Make a course folder of your own."),
    "list": ("tito.commands.student.list:command", "What is done, and what comes next."),
    "status": ("tito.commands.student.list:command", "The same as list."),
    "test": ("tito.commands.student.test:command", "Run a module's tests on your code."),
    "export": ("tito.commands.student.export:command", "Put a finished module into tinytorch."),
    "demo": ("tito.commands.student.demo:command", "See what your package can do by now."),
    "dev": ("tito.cli:dev", "For authors: check the lessons, and their tests."),
}
DEV_COMMANDS = {
    "check": (
        "tito.commands.dev.check:command",
        "Solve the course from an empty package, module by module.",
    ),
    "mutants": (
        "tito.commands.dev.mutants:command",
        "Make small mistakes in the solutions: do the tests notice?",
    ),
}


class Lazy(click.Group):
    """A group that imports a command when it is called, not for the list of commands."""

    def __init__(self, *args, table: dict[str, tuple[str, str]], **kwargs):
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, context) -> list[str]:
        return list(self.table)

    def get_command(self, context, name: str) -> click.Command | None:
        if name not in self.table:
            return None
        module, _, attribute = self.table[name][0].partition(":")
        return getattr(import_module(module), attribute)

    def resolve_command(self, context, args):
        try:
            return super().resolve_command(context, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            close = get_close_matches(args[0], self.table, 1)
            if close:
                error.message += f" Did you mean `{close[0]}`?"
            raise

    def format_commands(self, context, formatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self.table.items()])


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Lazy, table=COMMANDS, context_settings=_SETTINGS)
@click.version_option(package_name="tinytorch", prog_name="tito")
def cli():
    """Build TinyTorch, module by module.

    A module is named by number, folder or part of its name: 5, 05_autograd, autograd.
    """


@click.group("dev", cls=Lazy, table=DEV_COMMANDS)
def dev():
    """For the authors of lessons."""


def main() -> None:
    """Exit codes: 0 done, 1 tests failed, 2 it could not be done."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not where a test put another stream
            stream.reconfigure(errors="replace")
    try:
        result = cli.main(standalone_mode=False, prog_name="tito")
        sys.stdout.flush()
        code = result if type(result) is int else 0
    except TitoError as error:
        console.show_error(error)
        code = error.code
    except click.ClickException as error:
        error.show()
        code = 2
    except (click.Abort, KeyboardInterrupt):
        console.say("Stopped.", error=True)
        code = 130
    except BrokenPipeError:  # `tito list | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        console.show_error(TitoError(f"{place}{error.strerror or error}.", _about(error)))
        code = 2
    except Exception as error:
        if os.environ.get("TITO_DEBUG"):
            raise
        what = sentence(f"{type(error).__name__}: {error}".strip().rstrip(":"))
        console.show_error(
            TitoError(
                f"This is a mistake in tito, not yours: {what}",
                "Please report it with what TITO_DEBUG=1 makes the same command print.",
            )
        )
        code = 2
    sys.exit(code)


def _about(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "You may not read or write there: check the owner and the permissions."
    if isinstance(error, FileNotFoundError):
        return "Check the name."
    return "Check that the disk has room and that the folder can be written."


if __name__ == "__main__":
    main()
