"""What is drawn of attention."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.nn.attention import causal_mask
from tinytorch.viz.attention import draw_attention, mask_text


def test_masks_as_text():
    """A row for each query; of tensors, arrays and lists"""
    assert mask_text(causal_mask(3)).split("\n") == ["x . .", "x x .", "x x x"]
    assert mask_text(np.array([[True, False]])) == "x ."


def test_drawn():
    """A picture for each head, on one scale, with the words beside it"""
    matplotlib = pytest.importorskip("matplotlib", reason="pip install -e '.[viz]' has matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    weights = torch.rand(5, 2, 3)
    grid = draw_attention(weights, ["a", "b"], ["x", "y", "z"])
    assert grid.shape == (2, 4) and sum(len(axes.images) for axes in grid.flat) == 5
    shown = grid[1, 0]
    np.testing.assert_allclose(shown.images[0].get_array(), weights[4].numpy())
    assert shown.images[0].get_clim() == (0, 1)
    assert [t.get_text() for t in shown.get_xticklabels()] == ["x", "y", "z"]
    alone = draw_attention(torch.rand(2, 2), ["a", "b"])[0, 0]
    assert [t.get_text() for t in alone.get_xticklabels()] == ["a", "b"]
    plt.close("all")
