"""What is drawn of positions."""
import numpy as np
import pytest

from tinytorch.viz.positions import draw_by_distance, draw_positions, draw_waves, heat_text

TABLE = np.array([[0., 1., -1.], [0.5, -0.5, 0.25]])


def test_a_table_as_text():
    """A line for each position, blank at -1, = at 0, @ at 1 and beyond; the nearest shade"""
    assert heat_text(TABLE) == "=@ \n#:*" and heat_text([[5., -5., 0.9, 0.01]]) == "@ @+"


def test_drawn():
    """The table itself, its columns as curves, and a curve for each name"""
    matplotlib = pytest.importorskip("matplotlib", reason="pip install -e '.[viz]' has matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    axes = draw_positions(TABLE)
    assert axes.images[0].get_array().tolist() == TABLE.tolist() and axes.images[0].get_clim() == (-1, 1)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("dimension", "position")
    axes = draw_waves(TABLE, (0, 2))
    assert [line.get_ydata().tolist() for line in axes.lines] == [[0., 0.5], [-1., 0.25]]
    assert draw_by_distance({"near": [3., 2., 1.]}, axes) is axes
    assert axes.lines[2].get_ydata().tolist() == [3., 2., 1.] and axes.lines[2].get_label() == "near"
    plt.close("all")
