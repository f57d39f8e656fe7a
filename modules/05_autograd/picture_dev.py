# %% [markdown]
# # The graph as a picture
#
# Given code. `graph_text` draws what was recorded below a tensor, youngest first, in plain text;
# `draw_graph` draws it with matplotlib (the extra `viz`): ops as boxes, leaves as ovals, the shapes of
# what flows on the arrows.

# %%
#| default_exp viz.graph

# %%
from tinytorch.core.autograd import newest_first
from tinytorch.core.tensor import Tensor

# %%
#| export
def graph_text(tensor):
    """The recorded graph below `tensor`, a line for each node: its number, its op, where gradients go.

    >>> from tinytorch.core.creation import tensor
    >>> x = tensor(2., requires_grad=True)
    >>> print(graph_text(x * x + x))
    0 add () -> 1, leaf ()
    1 multiply () -> leaf (), leaf ()
    """
    if tensor.node is None:
        return "leaf " + str(tensor.shape) if tensor.requires_grad else "no history"
    nodes = list(newest_first(tensor.node))
    numbers = {node: i for i, node in enumerate(nodes)}

    def name(edge): return f"leaf {edge.shape}" if isinstance(edge, Tensor) else str(numbers[edge])

    return "\n".join([f"{i} {node.op.name} {node.shape or '()'} -> "
                      + ", ".join([name(edge) for edge in node.edges if edge is not None])
                      for i, node in enumerate(nodes)])


def layers_of(root):
    """{node or leaf: how many steps below `root` at most}: rows for a picture without upward arrows."""
    depth = {root: 0}
    for node in newest_first(root):
        for edge in node.edges:
            if edge is not None:
                depth[edge] = max(depth.get(edge, 0), depth[node] + 1)
    return depth


def pyplot():
    """matplotlib's pyplot; ImportError with the way out where there is none."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("Pictures need matplotlib: pip install matplotlib (the extra [viz]).") from None
    return plt


def draw_graph(tensor, axes=None):
    """Draw the recorded graph below `tensor`, the result on top; returns the matplotlib axes.

    Raises RuntimeError for a tensor without history.
    """
    plt = pyplot()
    if tensor.node is None:
        raise RuntimeError("draw_graph: nothing was recorded for this tensor. Compute it from a tensor with "
                           "requires_grad=True, outside no_grad().")
    depth = layers_of(tensor.node)
    rows = {}
    for item, level in depth.items():
        rows.setdefault(level, []).append(item)
    place = {item: ((i + 1) / (len(row) + 1), -level) for level, row in rows.items()
             for i, item in enumerate(row)}
    axes = axes or plt.subplots(figsize=(1.6 * max(map(len, rows.values())) + 2, 0.9 * len(rows) + 1))[1]
    for item, (x, y) in place.items():
        leaf = isinstance(item, Tensor)
        shape, color = ("round4", "#fff3c4") if leaf else ("square", "#dbe9f6")
        axes.text(x, y, f"leaf\n{item.shape}" if leaf else item.op.name, ha="center", va="center",
                  bbox={"boxstyle": shape, "facecolor": color, "edgecolor": "#555555"})
        for edge in () if leaf else [e for e in item.edges if e is not None]:
            axes.annotate("", xy=place[edge], xytext=(x, y), zorder=0,
                          arrowprops={"arrowstyle": "->", "color": "#888888", "shrinkA": 12, "shrinkB": 14})
            middle = [(a + b) / 2 for a, b in zip((x, y), place[edge])]
            axes.text(*middle, str(edge.shape), fontsize=7, color="#555555", ha="left", va="center")
    axes.set_xlim(0, 1)
    axes.set_ylim(-max(rows) - 0.6, 0.6)
    axes.axis("off")
    return axes
