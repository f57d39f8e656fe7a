# Generated from modules/12_attention/pictures_dev.py by tito export. Edit the lesson, not this file.
# source sha256 94f52f54ed7bddd99a32e2938bde755cfa73575925970ede1e35b0ee4e2bf371  body sha256 d646474fca8172848a01c51966ccac284535b03e876297f65028d668b31b27cc  # noqa: E501
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
    _, grid = plt.subplots(rows, across, figsize=(3 * across, 3 * rows), squeeze=False)
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
