# Generated from modules/11_embeddings/pictures_dev.py by tito export. Edit the lesson, not this file.
# source sha256 ca4d2ac6b5b6d76a35b9d9f1e17d6f7265172ae5c179f5548f0d323571875413  body sha256 6fad98ac4da2dc9d0d255c4de2b7f7a082d4723ddb035d106c7b000922e2137d  # noqa: E501
"""viz.positions: built in module 11_embeddings."""

import numpy as np

from tinytorch.viz.graph import pyplot

__all__ = ["SHADES", "draw_by_distance", "draw_positions", "draw_waves", "heat_text"]


SHADES = " .:-=+*#%@"              # from -1 to 1


def heat_text(table):
    """A table (T, d) of numbers from -1 to 1 as text: a line for each position, a shade for each number.

    >>> print(heat_text([[0., 1.], [-1., .5]]))
    =@
     #
    """
    shade = ((np.asarray(table, "float64").clip(-1, 1) + 1) / 2 * (len(SHADES) - 1)).round().astype(int)
    return "\n".join(["".join([SHADES[i] for i in row]) for row in shade])


def _axes(axes):
    plt = pyplot()
    return plt.subplots()[1] if axes is None else axes


def draw_positions(table, axes=None):
    """Draw a table (T, d) as a heat map: positions down, dimensions across; returns the axes."""
    axes = _axes(axes)
    image = axes.imshow(np.asarray(table), cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto",
                        interpolation="nearest")
    axes.figure.colorbar(image, ax=axes)
    axes.set_xlabel("dimension")
    axes.set_ylabel("position")
    return axes


def draw_waves(table, dims=(0, 2, 8, 32), axes=None):
    """Draw some columns of a table (T, d) as curves over the position; returns the axes."""
    axes, table = _axes(axes), np.asarray(table)
    for dim in dims:
        axes.plot(table[:, dim], label=f"dimension {dim}")
    axes.set_xlabel("position")
    axes.legend()
    return axes


def draw_by_distance(scores, axes=None):
    """Draw {name: scores at the distances 0, 1, 2, ...}, a curve for each; returns the axes."""
    axes = _axes(axes)
    for name, values in scores.items():
        axes.plot(np.asarray(values), label=name)
    axes.set_xlabel("distance")
    axes.set_ylabel("score")
    axes.legend()
    return axes
