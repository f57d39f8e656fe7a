"""Embedding: lookups, gradients of rows, padding, rows kept short, errors."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn import functional as F
from tinytorch.nn.embeddings import embedding_grad


def tens(grad=False):
    return torch.tensor([[0., 0.], [1., 10.], [2., 20.], [3., 30.]], requires_grad=grad)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("ids", [[1, 3, 1], [[0, 1], [3, 3]], 2, [], [[[1]]]])
def test_rows(ids, dtype):
    """NumPy's rows, for ids of any shape"""
    ids = np.array(ids, dtype)
    out = F.embedding(torch.tensor(ids), tens())
    assert out.shape == (*ids.shape, 2) and out.tolist() == tens().numpy()[ids].tolist()


def test_rows_of_a_transposed_table():
    """Tied weights: the table may be a view"""
    w = torch.tensor(np.arange(6.).reshape(2, 3), requires_grad=True)
    out = F.embedding(torch.tensor([2, 0, 2]), w.T)
    out.sum().backward()
    assert out.tolist() == [[2., 5.], [0., 3.], [2., 5.]] and w.grad.tolist() == [[1., 0., 2.]] * 2


def test_a_row_is_a_copy():
    weight = tens()
    F.embedding(torch.tensor(1), weight).zero_()
    F.embedding(torch.tensor([1]), weight).zero_()
    assert weight[1].tolist() == [1., 10.]


@pytest.mark.parametrize("bad", [4, -1, 10 ** 12])
def test_an_id_that_is_no_row(bad):
    with pytest.raises(IndexError, match=f"id {bad} .* 0 to 3"):
        F.embedding(torch.tensor([[0, bad]]), tens())


def test_an_empty_table():
    assert F.embedding(torch.zeros(0, dtype=torch.int64), torch.zeros(0, 3)).shape == (0, 3)
    with pytest.raises(IndexError, match="id 0"):
        F.embedding(torch.tensor([0]), torch.zeros(0, 3))


@pytest.mark.parametrize("ids, weight, error", [
    (torch.tensor([1.]), tens(), RuntimeError), (torch.tensor([True]), tens(), RuntimeError),
    (torch.tensor([1], dtype=torch.uint8), tens(), RuntimeError), ([1], tens(), TypeError),
    (torch.tensor([1]), tens()[0], RuntimeError), (torch.tensor([1]), torch.zeros(1, 2, 3), RuntimeError)])
def test_what_is_no_lookup(ids, weight, error):
    with pytest.raises(error, match="embedding"):
        F.embedding(ids, weight)


@pytest.mark.parametrize("n, rows", [(1, 1), (5, 3), (200, 7), (40, 1000)])
def test_gradients_add_up(n, rows):
    """As one addition after the other; twice in a row the same bits"""
    rng = np.random.default_rng(n)
    g, ids, want = rng.normal(size=(n, 3)).astype("float32"), rng.integers(0, rows, n), np.zeros((rows, 3))
    np.add.at(want, ids, g)
    out = embedding_grad(g, ids, rows)
    assert out.dtype == "float32" and (out == embedding_grad(g, ids, rows)).all()
    np.testing.assert_allclose(out, want, atol=1e-5)


def test_gradient_of_few_numbers():
    """Integers and int32 ids, a non-contiguous g"""
    g = np.arange(12).reshape(3, 4).T[:, ::2]
    assert embedding_grad(g, np.array([2, 2, 0, 2], "int32"), 3).tolist() == [[2, 10], [0, 0], [4, 28]]


@pytest.mark.parametrize("padding, row", [(1, 1), (-1, 3), (0, 0), (-4, 0)])
def test_padding_gets_no_gradient(padding, row):
    """Counted from the end as well; the lookup is the same"""
    w = tens(grad=True)
    out = F.embedding(torch.tensor([[0, 1], [3, 1]]), w, padding_idx=padding)
    out.sum().backward()
    want = [[1., 1.], [2., 2.], [0., 0.], [1., 1.]]
    want[row] = [0., 0.]
    assert w.grad.tolist() == want and out[1, 1].tolist() == [1., 10.]


@pytest.mark.parametrize("padding", [4, -5])
def test_padding_that_is_no_row(padding):
    with pytest.raises(RuntimeError, match="padding_idx"):
        F.embedding(torch.tensor([0]), tens(), padding_idx=padding)
    with pytest.raises(ValueError, match="padding_idx"):
        nn.Embedding(4, 2, padding_idx=padding)


def test_gradient_by_frequency():
    """Divided by how often the id occurs, so that it is a mean"""
    w = tens(grad=True)
    out = F.embedding(torch.tensor([1, 3, 1, 0]), w, padding_idx=0, scale_grad_by_freq=True)
    (out * torch.tensor([[1.], [2.], [4.], [8.]])).sum().backward()
    assert w.grad.tolist() == [[0., 0.], [2.5, 2.5], [0., 0.], [2., 2.]]
    assert out.tolist() == F.embedding(torch.tensor([1, 3, 1, 0]), w).tolist()


def test_sparse_is_refused():
    with pytest.raises(NotImplementedError, match="sparse"):
        nn.Embedding(4, 2, sparse=True)(torch.tensor([1]))


# ---- max_norm ----

@pytest.mark.parametrize("p, row", [(2., [0.6, 0.8]), (1., [3 / 7, 4 / 7]), (float("inf"), [0.75, 1.])])
def test_long_rows_become_short(p, row):
    """Only those that are looked up, for good, and in any norm"""
    w = torch.tensor([[3., 4.], [0.3, 0.4], [30., 40.]], requires_grad=True)
    out = F.embedding(torch.tensor([0, 1, 0]), w, max_norm=1., norm_type=p)
    want = [row, [0.3, 0.4], [30., 40.]]
    np.testing.assert_allclose(w.detach().numpy(), want, rtol=1e-6)
    assert out.tolist() == w.detach()[torch.tensor([0, 1, 0])].tolist()
    out.sum().backward()
    assert w.grad.tolist() == [[2., 2.], [1., 1.], [0., 0.]]


def test_a_short_row_keeps_its_bits():
    w = torch.tensor(np.random.default_rng(0).uniform(-0.3, 0.3, (5, 3)).astype("float32"))
    before = w.tolist()
    F.embedding(torch.arange(5), w, max_norm=1.)
    assert w.tolist() == before


def test_shortening_is_a_write_that_backward_sees():
    """What saved the old numbers is stopped, not wrong"""
    w = torch.tensor([[3., 4.]], requires_grad=True)
    loss = (w * w).sum()
    F.embedding(torch.tensor([0]), w, max_norm=1.)
    with pytest.raises(RuntimeError, match="multiply .* changed in place"):
        loss.backward()


def test_a_wrong_id_writes_nothing():
    w = torch.tensor([[3., 4.]])
    with pytest.raises(IndexError):
        F.embedding(torch.tensor([0, 1]), w, max_norm=1.)
    assert w.tolist() == [[3., 4.]]


# ---- the layer ----

def test_the_layer_draws_normal_numbers_and_a_padding_of_zeros():
    torch.manual_seed(0)
    layer = nn.Embedding(300, 50, padding_idx=-1)
    w = layer.weight.detach().numpy().copy()
    assert layer.padding_idx == 299 and (w[299] == 0).all() and list(layer.state_dict()) == ["weight"]
    assert abs(w[:299].mean()) < 0.03 and abs(w[:299].std() - 1) < 0.03 and w.dtype == "float32"
    layer.reset_parameters()
    again = layer.weight.detach().numpy()
    assert (again[:299] != w[:299]).any() and (again[299] == 0).all()


def test_the_layer_is_the_function():
    layer = nn.Embedding(4, 2, 1, 5., 2., True, dtype=torch.float64)
    layer.load_state_dict({"weight": tens()})
    ids = torch.tensor([[1, 3], [2, 1]])
    other = layer.weight.detach().clone()
    assert layer(ids).tolist() == F.embedding(ids, other, 1, 5., 2., True).tolist()
    assert layer.weight.tolist() == other.tolist() and layer.weight.dtype == "float64"


def test_from_pretrained():
    """It shares the table's memory, and is frozen unless told otherwise"""
    table = tens()
    frozen = nn.Embedding.from_pretrained(table, padding_idx=1)
    assert not frozen.weight.requires_grad and frozen.padding_idx == 1 and repr(frozen) == \
        "Embedding(4, 2, padding_idx=1)"
    table[2] = 7.
    assert frozen(torch.tensor([2, 1])).tolist() == [[7., 7.], [1., 10.]]
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad
    with pytest.raises(ValueError, match=r"\(4,\)"):
        nn.Embedding.from_pretrained(torch.zeros(4))
    with pytest.raises(ValueError, match="weight"):
        nn.Embedding(3, 2, _weight=table)


def test_the_layer_prints_what_is_unusual():
    assert repr(nn.Embedding(10, 3)) == "Embedding(10, 3)"
    assert repr(nn.Embedding(5, 3, 1, 2., 3., True, True)) == (
        "Embedding(5, 3, padding_idx=1, max_norm=2.0, norm_type=3.0, scale_grad_by_freq=True, sparse=True)")


def test_tied_tables():
    """In and out with one table: the gradient comes from both sides"""
    layer, head = nn.Embedding(3, 2), nn.Linear(2, 3, bias=False)
    head.weight = layer.weight
    model = nn.ModuleList([layer, head])
    assert len(list(model.parameters())) == 1
    scores = head(layer(torch.tensor([1, 1])))                                # (2, 3)
    scores.sum().backward()
    w = layer.weight.detach().numpy()
    want = np.tile(2 * w[1], (3, 1))                                          # as the head
    want[1] += 2 * w.sum(0)                                                   # looked up twice
    np.testing.assert_allclose(layer.weight.grad.numpy(), want, rtol=1e-5)
