# %% [markdown]
# # Loss against size, and what happens on the way up
#
# Given code: nothing to solve here. With matplotlib (the extra `viz`): the points of a sweep and the law
# through them, on axes where a power of N is a straight line; and numbers of each layer as curves.

# %%
#| default_exp viz.scaling

# %%
import numpy as np

from tinytorch.viz.graph import pyplot


# %%
#| export
def draw_power_law(sizes, losses, law, tested=(), axes=None):
    """Draw losses over sizes, both as logarithms, and the PowerLaw through them; returns the axes.

    tested: (size, loss) of models that the law has not seen; the curve goes on to them, dashed beyond the
    points. A dotted line is the law's offset, if it has one.
    """
    plt = pyplot()
    axes = axes or plt.subplots(figsize=(6, 4))[1]
    seen, end = max(sizes), max([*sizes, *[size for size, _ in tested]])
    axes.plot(sizes, losses, "o", color="C0", label="trained")
    inside = np.geomspace(min(sizes), seen, 100)
    axes.plot(inside, law(inside), color="C0", label=str(law))
    if end > seen:
        beyond = np.geomspace(seen, end, 100)
        axes.plot(beyond, law(beyond), "--", color="C0", label="predicted")
    for size, loss in tested:
        axes.plot([size], [loss], "*", color="C3", markersize=12, label="then trained")
    if law.offset:
        axes.axhline(law.offset, linestyle=":", color="#888888", label=f"where it ends: {law.offset:.3g}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:.3g}")
    axes.yaxis.set_minor_formatter("{x:.3g}")
    axes.set_xlabel("parameters N")
    axes.set_ylabel("loss")
    axes.legend()
    return axes


def draw_by_depth(curves, ylabel, log=False, axes=None):
    """Draw a number of each layer, from the first to the last; returns the axes.

    curves: {name: its numbers, one for each layer}. log: numbers far apart, such as norms of gradients.
    """
    plt = pyplot()
    axes = axes or plt.subplots(figsize=(6, 4))[1]
    for name, values in curves.items():
        axes.plot(range(1, len(values) + 1), values, marker=".", label=name)
    if log:
        axes.set_yscale("log")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("layer")
    axes.set_ylabel(ylabel)
    axes.legend()
    return axes
