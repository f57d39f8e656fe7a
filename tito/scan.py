"""Comments and string literals, found without parsing: also in code that is half written. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\''''
    r'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\#[^\n]*''',
    re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """A comment or a string literal."""

    text: str
    line: int
    column: int
    first: bool  # nothing but spaces before it on its line


def tokens(text: str) -> Iterator[Token]:
    """Comments and string literals in order, also in text that does not parse."""
    line, start = 1, 0  # start: where the line begins
    seen = 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", seen, match.start())
        start = text.rfind("\n", 0, match.start()) + 1
        seen = match.start()
        before = text[start : match.start()]
        yield Token(match.group(), line, match.start() - start, not before.strip())


def comments(text: str) -> Iterator[Token]:
    """The comments alone: what looks like one inside a string is none."""
    return (token for token in tokens(text) if token.text.startswith("#"))
