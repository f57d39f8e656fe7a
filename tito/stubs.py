"""What stands in for a part of the package that is not built yet. Pure, and cheap: lessons use it
at every import of tinytorch."""

import re
from typing import NamedTuple

_FIRST_LINE = re.compile(
    r"# (Generated from|Stub: built by) modules/((\d\d)_\w+)/(\w+\.(?:py|ipynb))"
)


class Builder(NamedTuple):
    """Who builds a file of the package."""

    module: str  # "05_autograd"
    number: int
    dev: str  # "autograd_dev.py"
    stub: bool  # nobody has built it yet


def builder(first_line: str) -> Builder | None:
    """What the first line of a package file says; None for a file written by hand."""
    found = _FIRST_LINE.match(first_line)
    if not found:
        return None
    return Builder(found[2], int(found[3]), found[4], found[1].startswith("Stub"))


def message(name: str, by: Builder) -> str:
    """What the use of a missing name says."""
    return (
        f"{by.module} builds `{name}`: solve modules/{by.module}/{by.dev}, "
        f"then `tito export {by.number:02d}`"
    )


def text(target: str, by: Builder) -> str:
    """The file that stands at the target's path until the student exports the module."""
    before, after = message("\0", by).split("\0")
    return f'''\
# Stub: built by modules/{by.module}/{by.dev}
"""{target}: not built yet."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(
        f"{before}{{name}}{after.split(", ")[0]}, "
        "{after.split(", ")[1]}"
    )
'''
