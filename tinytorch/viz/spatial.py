# Generated from modules/09_spatial/spatial_pictures_dev.py by tito export. Edit the lesson, not this file.
# source sha256 062b9caba828b7b0e8ca51262afc32702bb6467c46f36dc78b0a93d490638976  body sha256 a11aa9fef108b20e61b95cc02bc7aba700ea27885d4eb5b8eb76f5b9d366d64b  # noqa: E501
"""viz.spatial: built in module 09_spatial."""

import numpy as np

from tinytorch.core.tensor import Tensor

__all__ = ["confusion_matrix", "draw_confusion", "draw_filters", "plain", "window_text"]


def window_text(n, kernel, stride=1, padding=0, dilation=1):
    """A row of n numbers, padded with dots, and below it each window: where it looks.

    >>> print(window_text(4, 2, stride=2, padding=1))
    . 0 1 2 3 .
    ===
        ===
            ===
    """
    row = ["."] * padding + [str(i % 10) for i in range(n)] + ["."] * padding
    lines, span = [" ".join(row)], dilation * (kernel - 1) + 1
    for start in range(0, len(row) - span + 1, stride):
        marks = ("-" * (2 * dilation - 1)).join("=" * kernel) if dilation > 1 else "=" * (2 * kernel - 1)
        lines.append("  " * start + marks)
    return "\n".join(lines)


def plain(x): return x.numpy(force=True) if isinstance(x, Tensor) else np.asarray(x)


def confusion_matrix(predicted, truth, classes):
    """counts[t, p]: how often an example of class t was taken for p. predicted, truth: (N,) integers.

    >>> confusion_matrix([1, 1, 0], [1, 0, 0], 2).tolist()
    [[1, 1], [0, 1]]
    """
    both = plain(truth) * classes + plain(predicted)
    return np.bincount(both.astype(int), minlength=classes * classes).reshape(classes, classes)


def draw_filters(weight, across=8):
    """Draw the filters of a convolution, (O, C, kh, kw), the first channel of each; returns the axes.

    Blue is negative, red positive, white 0, on one scale for all.
    """
    import matplotlib.pyplot as plt
    filters = plain(weight)[:, 0]
    rows = -(-len(filters) // across)
    _, grid = plt.subplots(rows, across, figsize=(across, rows), squeeze=False)
    most = abs(filters).max(initial=1e-12)
    for i, axes in enumerate(grid.flat):
        axes.axis("off")
        if i < len(filters):
            axes.imshow(filters[i], cmap="bwr", vmin=-most, vmax=most)
    return grid


def draw_confusion(counts, names=None, axes=None):
    """Draw what `confusion_matrix` counted: the truth downwards, the answer across; returns the axes."""
    import matplotlib.pyplot as plt
    counts = plain(counts)
    axes = axes or plt.subplots(figsize=(0.5 * len(counts) + 1.5,) * 2)[1]
    mistakes = counts * ~np.eye(len(counts), dtype=bool)
    axes.imshow(mistakes, cmap="Reds", vmin=0, vmax=max(1, mistakes.max()))
    for (t, p), count in np.ndenumerate(counts):
        if count:
            axes.text(p, t, str(count), ha="center", va="center", fontsize=8,
                      color="#999999" if t == p else "black")
    axes.set_xticks(range(len(counts)), names)
    axes.set_yticks(range(len(counts)), names)
    axes.set_xlabel("answer")
    axes.set_ylabel("truth")
    return axes
