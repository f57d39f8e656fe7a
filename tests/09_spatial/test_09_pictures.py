"""What is drawn of convolutions."""
import pytest

import tinytorch as torch
from tinytorch.viz.spatial import draw_filters, window_text


def test_windows_as_text():
    """Dots for the padding, a mark for each number, a dash for a gap"""
    assert window_text(3, 2).split("\n") == ["0 1 2", "===", "  ==="]
    assert window_text(5, 2, 2, 1, 3).split("\n") == [". 0 1 2 3 4 .", "=-----=", "    =-----="]
    assert window_text(2, 3) == "0 1"


def test_drawn():
    """A small picture for each filter, of its first channel, with white for 0"""
    matplotlib = pytest.importorskip("matplotlib", reason="pip install -e '.[viz]' has matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    weight = torch.randn(10, 3, 5, 5)
    grid = draw_filters(weight)
    assert grid.shape == (2, 8) and sum(len(axes.images) for axes in grid.flat) == 10
    shown = grid[1, 1].images[0]
    low, high = shown.get_clim()
    assert shown.get_array().tolist() == weight[9, 0].tolist() and low == -high
    plt.close("all")
