# Generated from modules/09_spatial/spatial_pictures_dev.py by tito export. Edit the lesson, not this file.
# source sha256 90f4b902c55e40d099762691b58bc8ea36f62e1df65df094ef1e4a9e914fa7d2  body sha256 211f402175928b1a4656ef1abc823159996baad91c439d249688d3fff5adf5cd  # noqa: E501
"""viz.spatial: built in module 09_spatial."""

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
    import matplotlib.pyplot as plt
    filters = weight.numpy(force=True)[:, 0]
    rows = -(-len(filters) // across)
    _, grid = plt.subplots(rows, across, figsize=(1.5 * across, 1.5 * rows), squeeze=False)
    most = abs(filters).max(initial=1e-12)
    for i, axes in enumerate(grid.flat):
        axes.axis("off")
        if i < len(filters):
            axes.imshow(filters[i], cmap="bwr", vmin=-most, vmax=most)
    return grid
