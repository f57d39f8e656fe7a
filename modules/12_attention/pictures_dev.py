# %% [markdown]
# # Masks and attention, to look at
#
# Given code: nothing to solve here. A mask as a grid of characters; and with matplotlib (the extra `viz`)
# the weights of each head as a picture.

# %%
#| default_exp viz.attention

# %%
from tinytorch.viz.graph import pyplot


# %%
#| export
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
