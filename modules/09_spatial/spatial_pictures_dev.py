# %% [markdown]
# # Windows and filters, to look at
#
# Given code: nothing to solve here. Where the windows of a row lie, in plain text; and with matplotlib (the
# extra `viz`) the filters of a convolution as small pictures.

# %%
#| default_exp viz.spatial

# %%
from tinytorch.viz.graph import pyplot


# %%
#| export
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


def draw_filters(weight, across=8):
    """Draw the filters of a convolution, (O, C, kh, kw), the first channel of each; returns the axes in rows.

    Blue is negative, red positive, white 0, on one scale for all.
    """
    plt = pyplot()
    filters = weight.numpy(force=True)[:, 0]
    rows = -(-len(filters) // across)
    _, grid = plt.subplots(rows, across, figsize=(1.5 * across, 1.5 * rows), squeeze=False)
    most = abs(filters).max(initial=1e-12)
    for i, axes in enumerate(grid.flat):
        axes.axis("off")
        if i < len(filters):
            axes.imshow(filters[i], cmap="bwr", vmin=-most, vmax=most)
    return grid
