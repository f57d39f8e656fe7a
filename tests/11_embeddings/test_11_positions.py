"""Positions that are added: waves, learned rows, and pictures as sentences."""
import copy

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn.positions import sinusoidal_positions


def drawn(*shape, dtype="float32"):
    return torch.tensor(np.random.default_rng(5).normal(size=shape).astype(dtype))


def plain(x): return x.detach().numpy()


# ---- waves ----

@pytest.mark.parametrize("d", [1, 2, 3, 8, 33])
def test_the_formula(d):
    """Number by number"""
    pe = sinusoidal_positions(np.arange(40), d)
    for p, j in [(0, 0), (1, d - 1), (17, d // 2), (39, 0), (39, d - 1)]:
        angle = p / 10000 ** (2 * (j // 2) / d)
        assert pe[p, j] == pytest.approx(np.cos(angle) if j % 2 else np.sin(angle), abs=1e-12)


def test_products_depend_on_the_distance():
    pe = sinusoidal_positions(np.arange(3000), 64)
    near = [pe[p] @ pe[p + 5] for p in (0, 17, 400, 2990)]
    assert near == pytest.approx([near[0]] * 4, abs=1e-9) and pe[3] @ pe[3] == pytest.approx(32)


def encoding(*args): return nn.SinusoidalPositionalEncoding(*args).eval()


@pytest.mark.parametrize("d", [1, 5, 8])
def test_added_to_the_tokens(d):
    """In a batch, alone, and from an offset on"""
    layer, x, pe = encoding(d), drawn(2, 6, d), sinusoidal_positions(np.arange(20), d)
    np.testing.assert_allclose(plain(layer(x)), plain(x) + pe[:6], atol=1e-6)
    np.testing.assert_allclose(plain(layer(x[0])), plain(x[0]) + pe[:6], atol=1e-6)
    np.testing.assert_allclose(plain(layer(x, offset=9)), plain(x) + pe[9:15], atol=1e-6)


def test_a_longer_text_makes_the_table_longer():
    """The numbers are those of the formula, also far out, and what was there stays"""
    layer, x = encoding(4, 3), torch.zeros(1, 5, 4)
    first = plain(layer.pe)
    assert layer.pe.shape == (1, 3, 4)
    np.testing.assert_allclose(plain(layer(x))[0], sinusoidal_positions(np.arange(5), 4), atol=1e-6)
    assert layer.pe.shape[1] >= 5 and (plain(layer.pe)[:, :3] == first).all()
    far = plain(layer(x, 100_000))[0]
    np.testing.assert_allclose(far, sinusoidal_positions(np.arange(100_000, 100_005), 4), atol=1e-6)
    assert encoding(4, 0)(x).shape == x.shape


def test_the_table_is_not_saved_and_moves():
    """It can be computed again, and a grown one would not load"""
    layer = encoding(6, 10)
    assert list(layer.state_dict()) == [] and [name for name, _ in layer.named_buffers()] == ["pe"]
    assert layer.double().pe.dtype == "float64" and layer(drawn(1, 12, 6, dtype="float64")).dtype == "float64"
    assert layer.pe.dtype == "float64" and not layer.pe.requires_grad
    assert copy.deepcopy(layer).pe.tolist() == layer.pe.tolist()


def test_dropout_in_training():
    layer = nn.SinusoidalPositionalEncoding(8, dropout=1.)
    assert plain(layer(drawn(1, 4, 8))).any() == 0 and plain(layer.eval()(drawn(1, 4, 8))).all()
    assert nn.SinusoidalPositionalEncoding(8).dropout.p == 0.1


# ---- learned ----

def test_learned():
    """Rows of one table, with offset; gradients reach only those that were used"""
    layer, x = nn.LearnedPositionalEmbedding(6, 3), drawn(2, 4, 3)
    w = plain(layer.weight)
    assert list(layer.state_dict()) == ["weight"] and w.shape == (6, 3)
    np.testing.assert_allclose(plain(layer(x, offset=2)), plain(x) + w[2:6], atol=1e-6)
    assert layer(2, offset=3).tolist() == w[3:5].tolist()
    layer(x).sum().backward()
    assert layer.weight.grad[:, 0].tolist() == [2., 2., 2., 2., 0., 0.]
    assert repr(layer) == "LearnedPositionalEmbedding(6, 3)"


@pytest.mark.parametrize("x, offset", [(torch.zeros(1, 7, 3), 0), (torch.zeros(2, 3), 5), (7, 0), (1, -1)])
def test_learned_past_the_end(x, offset):
    """The error names what was asked for, and how many there are"""
    length = x if isinstance(x, int) else x.shape[-2]
    with pytest.raises(IndexError, match=f"{offset} to {offset + length - 1}, and 6 were learned"):
        nn.LearnedPositionalEmbedding(6, 3)(x, offset)


@pytest.mark.parametrize("make", [lambda: encoding(4), lambda: nn.LearnedPositionalEmbedding(6, 4),
                                  lambda: nn.RotaryEmbedding(4)])
@pytest.mark.parametrize("shape", [(2, 3, 1), (2, 3, 5), (4,), ()])
def test_tokens_of_another_size(make, shape):
    """Also those that would broadcast"""
    with pytest.raises(ValueError, match=r"\(\.\.\., T, 4\)"):
        make()(torch.zeros(*shape))


@pytest.mark.parametrize("layer", [encoding(4), nn.RotaryEmbedding(4)])
def test_a_position_before_the_first(layer):
    with pytest.raises(ValueError, match="offset=-1"):
        layer(torch.zeros(1, 3, 4), offset=-1)


# ---- patches ----

def test_patches_are_read_row_by_row():
    """Each patch is a matrix times its pixels"""
    layer, x = nn.PatchEmbedding((6, 4), (2, 2), 3, 5), drawn(2, 3, 6, 4)
    out, w = plain(layer(x)), plain(layer.projection.weight).reshape(5, -1)
    assert layer.n_patches == 6 and out.shape == (2, 6, 5)
    for t, (row, column) in enumerate([(0, 0), (0, 2), (2, 0), (2, 2), (4, 0), (4, 2)]):
        patch = plain(x)[:, :, row:row + 2, column:column + 2].reshape(2, -1)
        np.testing.assert_allclose(out[:, t], patch @ w.T + plain(layer.projection.bias), atol=1e-5)


def test_vits_sizes():
    """The defaults are ViT-Base's; d_model has two names"""
    layer = nn.PatchEmbedding()
    assert layer.n_patches == 196 and layer.projection.weight.shape == (768, 3, 16, 16)
    assert nn.PatchEmbedding(8, 4, embed_dim=6)(torch.zeros(1, 3, 12, 8)).shape == (1, 6, 6)
    assert list(layer.state_dict()) == ["projection.weight", "projection.bias"]


@pytest.mark.parametrize("shape", [(1, 3, 9, 8), (1, 3, 8, 9), (1, 1, 8, 8), (3, 8, 8)])
def test_pictures_that_do_not_fit(shape):
    with pytest.raises(ValueError, match="PatchEmbedding"):
        nn.PatchEmbedding(8, 4, 3, 6)(torch.zeros(*shape))
    with pytest.raises(ValueError, match="patch"):
        nn.PatchEmbedding(9, 4)
