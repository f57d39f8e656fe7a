# Generated from modules/07_training/curves_dev.py by tito export. Edit the lesson, not this file.
# source sha256 216a2bfea5b551302b97921918b6f247fa5ee5aecc2cab09681a76d1d0b87a7a  body sha256 f72a639b4c0bb349c71016ba5251995181fe1c0e8fa2b4987b755580cfc04911  # noqa: E501
"""viz.curves: built in module 07_training."""

from tinytorch.core.autograd import no_grad
from tinytorch.core.creation import linspace
from tinytorch.core.joining import meshgrid, stack
from tinytorch.viz.graph import pyplot

__all__ = ["draw_boundary", "draw_confusion", "draw_curves"]


def draw_curves(rows, names=None, stop=None, axes=None):
    """Draw numbers of a history over its epochs; returns the matplotlib axes.

    rows: a list of dictionaries with an "epoch" each. names: what to draw, by default every loss in them.
    A row that lacks a name has a gap there. stop: an epoch, for a line where the run should have ended.
    """
    plt = pyplot()
    axes = axes or plt.subplots(figsize=(6, 4))[1]
    every = list(dict.fromkeys(name for row in rows for name in row))
    for name in names or [name for name in every if name.endswith("loss")]:
        if name not in every:
            raise KeyError(f"draw_curves: no row has {name!r}; there are {', '.join(every)}.")
        axes.plot([row["epoch"] for row in rows], [row.get(name, float("nan")) for row in rows],
                  label=name.replace("_", " "))
    if stop is not None:
        axes.axvline(stop, color="#888888", linestyle="--", label=f"best: epoch {stop}")
    axes.set_xlabel("epoch")
    axes.xaxis.get_major_locator().set_params(integer=True)
    if axes.lines:
        axes.legend()
    return axes


def draw_confusion(matrix, labels=None, axes=None):
    """Draw a confusion matrix, dark where there are many; returns the matplotlib axes.

    matrix: (C, C), rows are the true classes. labels: a name for each class, by default its number.
    """
    plt = pyplot()
    counts = matrix.tolist()
    labels = labels or range(len(counts))
    axes = axes or plt.subplots(figsize=(0.5 * len(counts) + 2, 0.5 * len(counts) + 1.5))[1]
    axes.imshow(counts, cmap="Blues")
    most = max(max(row) for row in counts)
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            axes.text(j, i, str(count), ha="center", va="center", color="w" if 2 * count > most else "k")
    long = max(len(str(label)) for label in labels) > 3
    axes.set_xticks(range(len(counts)), labels, rotation=45 * long, ha="right" if long else "center")
    axes.set_yticks(range(len(counts)), labels)
    axes.figure.set_layout_engine("tight")
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    return axes


def draw_boundary(model, x, y, title="", axes=None):
    """Draw where a model of two numbers answers which class, and the points; returns the matplotlib axes.

    model: from points (N, 2) to scores (N, C). x: points (N, 2) with their classes y (N,).
    """
    plt = pyplot()
    axes = axes or plt.subplots(figsize=(4, 4))[1]
    sides = [1.1 * x[:, i].abs().max().item() for i in (0, 1)]
    across, up = [linspace(-side, side, 200) for side in sides]
    points = stack(meshgrid(across, up, indexing="xy"), -1)        # (200, 200, 2), a line for each height
    with no_grad():
        answers = model(points.reshape(-1, 2)).argmax(1).reshape(200, 200)
    most = max(1, int(y.max()))
    colours = dict(cmap="coolwarm", vmin=0, vmax=most)
    axes.pcolormesh(across.numpy(), up.numpy(), answers.numpy(), alpha=0.3, **colours)
    axes.scatter(*x.T.numpy(), c=y.numpy(), s=8, **colours)
    axes.set_title(title)
    return axes
