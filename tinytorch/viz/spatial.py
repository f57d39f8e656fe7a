# Generated from modules/09_spatial/spatial_pictures_dev.py by tito export. Edit the lesson, not this file.
# source sha256 bfc96843f5f4d1cbadd378bc811d2d1faca23345e5ab87f8165acc475a3aaa7a  body sha256 0bd248859db09a092ffd1811bb54cd486c20c40c0908a0ebc55db420e0506850  # noqa: E501
"""viz.spatial: built in module 09_spatial."""

from tinytorch.viz.graph import pyplot

__all__ = ["draw_filters", "window_text"]


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
