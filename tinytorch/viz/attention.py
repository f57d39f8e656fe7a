# Generated from modules/12_attention/pictures_dev.py by tito export. Edit the lesson, not this file.
# source sha256 0310836471120036a033c9f4a530e6e9673462bea75a591c7904fde5abdb4009  body sha256 88864ef7de5ddd0b75e49bfb444b2812ed1dbcffb3773996ed23992ebf6d3902  # noqa: E501
"""viz.attention: built in module 12_attention."""

from tinytorch.viz.graph import pyplot

__all__ = ["draw_attention", "mask_text"]


def mask_text(mask):
    """A mask (T, S) as text: a row for each query, x where it may see the key, . where not.

    >>> print(mask_text([[True, False], [True, True]]))
    x .
    x x
    """
    return "\n".join([" ".join(["x" if may else "." for may in row]) for row in mask])


def draw_attention(weights, queries=None, keys=None, across=4):
    """Draw the weights (H, T, S) of each head, or (T, S), as pictures; returns the axes in rows.

    queries, keys: words to write beside the rows and below the columns; keys are those of the queries if not
    given. Dark is 1, white 0, on one scale for all.
    """
    plt = pyplot()
    heads = weights.numpy(force=True)
    heads = heads.reshape(-1, *heads.shape[-2:])
    keys = queries if keys is None else keys
    across = min(across, len(heads))
    rows = -(-len(heads) // across)
    side = max(3, 0.17 * max(heads.shape[1:]))         # inches: a word has room beside each row
    _, grid = plt.subplots(rows, across, figsize=(side * across, side * rows), squeeze=False)
    for i, axes in enumerate(grid.flat):
        if i >= len(heads):
            axes.axis("off")
            continue
        axes.imshow(heads[i], cmap="Greys", vmin=0, vmax=1)
        axes.set_title(f"head {i}")
        if queries is not None:
            axes.set_yticks(range(len(queries)), queries)
        if keys is not None:
            axes.set_xticks(range(len(keys)), keys, rotation=90)
    return grid
