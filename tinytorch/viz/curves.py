# Generated from modules/07_training/curves_dev.py by tito export. Edit the lesson, not this file.
# source sha256 5425b33861382b3fae65e7f226d458ce411d613428b444d67d464d8ba8dc1e9c  body sha256 9631b8122db26c248c46d1200bdfde86837b233e7643d589b09fd83b03340580  # noqa: E501
"""viz.curves: built in module 07_training."""

__all__ = ["draw_confusion", "draw_curves"]


def draw_curves(rows, names=None, stop=None, axes=None):
    """Draw numbers of a history over its epochs; returns the matplotlib axes.

    rows: a list of dictionaries with an "epoch" each. names: what to draw, by default every loss in them.
    A row that lacks a name has a gap there. stop: an epoch, for a line where the run should have ended.
    """
    import matplotlib.pyplot as plt
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
    if axes.lines:
        axes.legend()
    return axes


def draw_confusion(matrix, labels=None, axes=None):
    """Draw a confusion matrix, dark where there are many; returns the matplotlib axes.

    matrix: (C, C), rows are the true classes. labels: a name for each class, by default its number.
    """
    import matplotlib.pyplot as plt
    counts = matrix.tolist()
    labels = labels or range(len(counts))
    axes = axes or plt.subplots(figsize=(0.5 * len(counts) + 2, 0.5 * len(counts) + 1.5))[1]
    axes.imshow(counts, cmap="Blues")
    most = max(max(row) for row in counts)
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            axes.text(j, i, str(count), ha="center", va="center", color="w" if 2 * count > most else "k")
    axes.set_xticks(range(len(counts)), labels)
    axes.set_yticks(range(len(counts)), labels)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    return axes
