"""What is drawn of convolutions."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.viz.spatial import confusion_matrix, draw_confusion, draw_filters, window_text


def test_windows_as_text():
    """Dots for the padding, a mark for each number, a dash for a gap"""
    assert window_text(3, 2).split("\n") == ["0 1 2", "===", "  ==="]
    assert window_text(5, 2, 2, 1, 3).split("\n") == [". 0 1 2 3 4 .", "=-----=", "    =-----="]
    assert window_text(2, 3) == "0 1"


def test_confusion_matrix():
    """Truth downwards, answers across; tensors, arrays and lists"""
    counts = confusion_matrix(torch.tensor([1, 1, 2]), np.array([1, 0, 2]), 3)
    assert counts.tolist() == [[0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert confusion_matrix([], [], 2).tolist() == [[0, 0], [0, 0]]


def test_drawn():
    """A small picture for each filter, a number for each pair that occurs"""
    matplotlib = pytest.importorskip("matplotlib", reason="pip install -e '.[viz]' has matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    weight = torch.randn(10, 3, 5, 5)
    grid = draw_filters(weight)
    assert grid.shape == (2, 8) and sum(len(axes.images) for axes in grid.flat) == 10
    axes = draw_confusion([[3, 1], [0, 2]], names=["cat", "dog"])
    assert sorted(text.get_text() for text in axes.texts) == ["1", "2", "3"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["cat", "dog"]
    plt.close("all")
