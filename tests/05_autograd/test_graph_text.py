"""The graph as text, and its rows for a picture."""
import tinytorch as torch
from tinytorch.viz.graph import graph_text, layers_of


def test_the_graph_as_text():
    """Youngest first, a line for each node; numbers and constants are left out"""
    x = torch.tensor([2., 3.], requires_grad=True)
    b = x * 5 + x
    assert graph_text((b * b).sum()).split("\n") == [
        "0 sum () -> 1", "1 multiply (2,) -> 2, 2", "2 add (2,) -> 3, leaf (2,)",
        "3 multiply (2,) -> leaf (2,)"]
    assert graph_text(x) == "leaf (2,)" and graph_text(torch.ones(2)) == "no history"


def test_rows_never_point_upwards():
    """Each node lies below all that were computed from it, at the longest way from the top"""
    x = torch.tensor(2., requires_grad=True)
    a = x * x
    b = a.exp()
    depth = layers_of((a + b).node)
    assert [depth[t] for t in (b.node, a.node, x)] == [1, 2, 3]
