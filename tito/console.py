"""Everything that tito prints goes through here: terminals, pipes and old code pages."""

import os
import sys

_ASCII = {"✅": "[ok]", "❌": "[FAIL]", "✓": "ok", "…": "...", "→": "->", "×": "x", "·": "-"}


def say(text: str = "", error: bool = False) -> None:
    """Prints a line; what the stream's encoding cannot show is written in ASCII."""
    stream = sys.stderr if error else sys.stdout
    if not is_utf8(stream):
        encoding = getattr(stream, "encoding", None) or "ascii"
        for mark, plain in _ASCII.items():
            text = text.replace(mark, plain)
        text = text.encode(encoding, "replace").decode(encoding)
    print(text, file=stream, flush=True)


def is_utf8(stream=None) -> bool:
    encoding = getattr(stream or sys.stdout, "encoding", None) or ""
    return encoding.lower().replace("-", "").replace("_", "") == "utf8"


def mark(passed: bool) -> str:
    """✅ or ❌; [ok] or [FAIL] where standard output is not UTF-8."""
    sign = "✅" if passed else "❌"
    return sign if is_utf8() else _ASCII[sign]


def coloured(stream=None) -> bool:
    """Whether colour is wanted: a terminal, and neither NO_COLOR nor a dumb one."""
    stream = stream or sys.stdout
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and stream.isatty()


def styled(text: str, *codes: int, stream=None) -> str:
    """The text in ANSI colours (31 red, 32 green, 1 bold ...) where they are wanted."""
    if not coloured(stream):
        return text
    return f"\033[{';'.join(map(str, codes))}m{text}\033[0m"


def show_error(error) -> None:
    """A TitoError: what happened, and on the next line what to do."""
    say(styled(error.message, 31, stream=sys.stderr), error=True)
    if error.hint:
        say(error.hint, error=True)
