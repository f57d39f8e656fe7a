# %% [markdown]
# # Positions, to look at
#
# Given code: nothing to solve here. A table of positions as plain text; and with matplotlib (the extra `viz`)
# as a heat map, its columns as waves, and how a score falls with distance.

# %%
#| default_exp viz.positions

# %%
import numpy as np

# %%
from tinytorch.viz.graph import pyplot


# %%
#| export
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
