"""What is drawn; apart from the modules' own tests, because matplotlib is slow to load."""
import pytest

import tinytorch as torch
from tinytorch.models import PowerLaw
from tinytorch.training import History
from tinytorch.viz.curves import draw_boundary, draw_confusion, draw_curves
from tinytorch.viz.graph import draw_graph
from tinytorch.viz.scaling import draw_by_depth, draw_power_law

matplotlib = pytest.importorskip("matplotlib", reason="pip install -e '.[viz]' has matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


def test_the_graph():
    """A box for each node and leaf, an arrow for each edge"""
    x = torch.ones(2, 3, requires_grad=True)
    axes = draw_graph((x * x).sum())
    written = [text.get_text() for text in axes.texts]
    assert [written.count(name) for name in ("sum", "multiply", "leaf\n(2, 3)")] == [1, 1, 1]
    assert sum(bool(getattr(text, "arrowprops", None)) for text in axes.texts) == 3
    plt.close("all")
    with pytest.raises(RuntimeError, match="requires_grad"):
        draw_graph(torch.ones(2))


ROWS = [{"epoch": 1, "lr": 0.1, "loss": 2.0, "val_loss": 2.5}, {"epoch": 2, "lr": 0.1, "loss": 1.0},
        {"epoch": 3, "lr": 0.1, "loss": 0.5, "val_loss": 1.5}]


def test_the_curves():
    """A line for each loss with its name, a gap where a row has none, and one where the run should end"""
    axes = History(ROWS).plot(stop=2)
    train, held_out, stop = axes.lines
    assert train.get_xydata().tolist() == [[1, 2.0], [2, 1.0], [3, 0.5]]
    assert str(held_out.get_ydata().tolist()) == "[2.5, nan, 1.5]"
    assert list(stop.get_xdata()) == [2, 2] and axes.get_xlabel() == "epoch"
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["loss", "val loss", "best: epoch 2"]
    assert draw_curves(ROWS, ["lr"], axes=axes) is axes and axes.lines[-1].get_ydata().tolist() == [0.1] * 3
    assert len(draw_curves([]).lines) == 0
    with pytest.raises(KeyError, match="no row has 'gone'"):
        draw_curves(ROWS, ["gone"])
    plt.close("all")


def test_the_confusion_matrix():
    """Every count in its cell: the row is the true class"""
    axes = draw_confusion(torch.tensor([[5, 0], [1, 2]]), ["cat", "dog"])
    places = {text.get_position(): text.get_text() for text in axes.texts}
    assert places == {(0, 0): "5", (1, 0): "0", (0, 1): "1", (1, 1): "2"}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted", "true")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["cat", "dog"]
    assert axes.images[0].get_array().tolist() == [[5, 0], [1, 2]]
    plt.close("all")


def test_the_boundary():
    """Each place has the colour of the model's answer there, and each point that of its class"""
    x, y = torch.tensor([[-1., 0.5], [1., -2.]]), torch.tensor([0, 1])
    axes = draw_boundary(lambda points: torch.stack([-points[:, 0], points[:, 0]], 1), x, y, "by x")
    answers = axes.collections[0].get_array().reshape(200, 200)
    assert (answers[:, :100] == 0).all() and (answers[:, 100:] == 1).all()
    points = axes.collections[1]
    assert points.get_offsets().tolist() == x.tolist() and points.get_array().tolist() == [0, 1]
    assert axes.get_title() == "by x"
    plt.close("all")


def test_the_power_law():
    """The points, the law on through a model that it has not seen, and its end; both axes are logarithms"""
    law = PowerLaw(20.0, 0.3, 1.5, 1.0)
    sizes = [1e3, 1e4, 1e5]
    losses = [float(law(size)) for size in sizes]
    axes = draw_power_law(sizes, losses, law, [(1e6, 1.9)])
    points, inside, beyond, tested, end = axes.lines
    assert points.get_xydata().tolist() == [list(pair) for pair in zip(sizes, losses)]
    assert inside.get_label() == "20 · N^-0.3 + 1.5" and beyond.get_linestyle() == "--"
    for line, first, last in (inside, 1e3, 1e5), (beyond, 1e5, 1e6):
        x, y = line.get_data()
        assert (x[0], x[-1]) == pytest.approx((first, last)) and y == pytest.approx(law(x))
    assert tested.get_xydata().tolist() == [[1e6, 1.9]] and list(end.get_ydata()) == [1.5, 1.5]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    straight = PowerLaw(20.0, 0.3, 0.0, 1.0)
    axes = draw_power_law(sizes, straight(sizes), straight)
    assert len(axes.lines) == 2 and axes.lines[1].get_label() == "20 · N^-0.3"     # no offset, nothing beyond
    plt.close("all")


def test_numbers_by_depth():
    """A curve for each name, the first layer at 1"""
    axes = draw_by_depth({"pre": [3.0, 2.0, 1.0], "post": [1e-3, 1e-2, 1.0]}, "gradient norm", log=True)
    assert axes.lines[1].get_xydata().tolist() == [[1, 1e-3], [2, 1e-2], [3, 1.0]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["pre", "post"]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()) == ("layer", "gradient norm", "log")
    plt.close("all")
