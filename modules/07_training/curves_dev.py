# %% [markdown]
# # Curves
#
# Given code: nothing to solve here. How a run went, and which classes a model confuses, with matplotlib (the
# extra `viz`).

# %%
#| default_exp viz.curves

# %%
#| export
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
