"""What is drawn; apart from the modules' own tests, because matplotlib is slow to load."""
import pytest

import tinytorch as torch
from tinytorch.viz.graph import draw_graph

matplotlib = pytest.importorskip("matplotlib", reason="pip install -e '.[viz]' has matplotlib")


def test_the_graph():
    """A box for each node and leaf, an arrow for each edge"""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    x = torch.ones(2, 3, requires_grad=True)
    axes = draw_graph((x * x).sum())
    written = [text.get_text() for text in axes.texts]
    assert [written.count(name) for name in ("sum", "multiply", "leaf\n(2, 3)")] == [1, 1, 1]
    assert sum(bool(getattr(text, "arrowprops", None)) for text in axes.texts) == 3
    plt.close("all")
    with pytest.raises(RuntimeError, match="requires_grad"):
        draw_graph(torch.ones(2))
