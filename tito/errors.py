"""What tito says when something cannot be done."""


def sentence(text: str) -> str:
    """The text with one full stop at its end, unless it ends as a sentence already."""
    return text if text.endswith(("?", "!")) else text.rstrip(".") + "."


class TitoError(Exception):
    """A message for the user and, on a second line, what to do about it; never a traceback."""

    def __init__(self, message: str, hint: str = "", code: int = 2):
        super().__init__(message)
        self.message, self.hint = message, hint
        self.code = code  # the exit code: 1 tests failed, 2 it could not be done

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message
