# Generated from modules/10_tokenization/pieces_dev.py by tito export. Edit the lesson, not this file.
# source sha256 4a52c3aa2e1b36841e0d40edaac122306107d679d7d041b4eebff8a7006ab573  body sha256 bc0cca78140c5f0f8f5c91e4b1762f6f648547089a81a6a9d068fb4121d864d9  # noqa: E501
"""viz.tokens: built in module 10_tokenization."""

from tinytorch.viz.graph import pyplot

__all__ = ["COLOURS", "cut_text", "draw_pieces"]


COLOURS = ("#cfe2f3", "#fce5cd", "#d9ead3", "#f4cccc", "#d9d2e9", "#fff2cc")


def cut_text(pieces):
    """The pieces in a row with a line between them, white space as ␣ and ⏎.

    >>> print(cut_text(["The", " un", "believ", "able", "\\n"]))
    The|␣un|believ|able|⏎
    """
    return "|".join(pieces).replace(" ", "␣").replace("\n", "⏎")


def draw_pieces(rows, across=64):
    """Draw rows (name, pieces), each piece in a box as wide as its letters; returns the matplotlib axes."""
    plt = pyplot()
    _, axes = plt.subplots(figsize=(across / 6, 0.6 * len(rows) + 0.4))
    for y, (name, pieces) in enumerate(rows):
        axes.text(-1, -y, name, ha="right", va="center")
        x = 0
        for i, piece in enumerate(pieces):
            width = max(len(piece), 1)
            axes.barh(-y, width - 0.15, left=x, height=0.7, color=COLOURS[i % len(COLOURS)])
            axes.text(x + width / 2, -y, cut_text([piece]), ha="center", va="center", family="monospace")
            x += width
    axes.set(xlim=(0, across), ylim=(0.5 - len(rows), 0.5))
    axes.axis("off")
    return axes
