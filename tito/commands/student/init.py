"""tito init: a course folder of one's own."""

from pathlib import Path

import click

from tito import console
from tito.errors import TitoError
from tito.workspace import HOME, Workspace, is_course


@click.command("init")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--from", "start", default="1", metavar="MODULE",
              help="Begin at this module; the earlier ones are given.")  # fmt: skip
@click.option("--course", type=click.Path(path_type=Path, exists=True, file_okay=False),
              help="The repository to make it from (default: the one of this tito).")  # fmt: skip
def command(folder, start, course):
    """Make the course folder DIR: the lessons without solutions, ready to work in."""
    from tito.release import make_course

    source = _source(course)
    first = source.module(start)
    make_course(source, folder, first.number)
    lesson = source.relative(first.lesson)
    console.say(f"{folder} is ready. Begin with {lesson}:")
    console.say(f"    cd {folder}\n    tito list\n    tito test {first.nn}")


def _source(course: Path | None) -> Workspace:
    """The repository with the solutions: the one named, the one we are in, or tito's own."""
    if course:
        return Workspace.find(course)
    try:
        here = Workspace.find()
        if not here.made:  # a student's course folder is no source: it has no solutions
            return here
    except TitoError:
        pass
    if is_course(HOME):
        return Workspace(HOME)
    raise TitoError(
        "This tito was installed without the course.",
        "Clone the repository and `pip install -e .` there, or name it: --course FOLDER",
    )
