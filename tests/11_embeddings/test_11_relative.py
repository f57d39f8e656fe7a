"""Positions that only know distances: rotary embeddings, ALiBi, T5's buckets."""
import copy

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn.position_bias import alibi_slopes, relative_bucket
from tinytorch.nn.rotary import apply_rotary, rotary_angles

LAYOUTS = pytest.mark.parametrize("layout", ["halves", "pairs"])


def drawn(*shape, dtype="float32"):
    return torch.tensor(np.random.default_rng(5).normal(size=shape).astype(dtype))


def turned(x, angles, layout):
    """By complex numbers: pair a + ib times e^(i angle)"""
    half = x.shape[-1] // 2
    a, b = (x[..., :half], x[..., half:]) if layout == "halves" else (x[..., ::2], x[..., 1::2])
    z = (a + 1j * b) * np.exp(1j * angles)
    return (np.concatenate([z.real, z.imag], -1) if layout == "halves"
            else np.stack([z.real, z.imag], -1).reshape(x.shape))


@LAYOUTS
@pytest.mark.parametrize("base, offset", [(10000., 0), (100., 7), (5e5, 100_000)])
def test_turned(layout, base, offset):
    """As complex numbers are, with a batch and heads, any base and offset; float32 in and out"""
    x = drawn(2, 3, 4, 6)
    angles = np.arange(offset, offset + 4)[:, None] * base ** (-np.arange(0, 6, 2) / 6)
    out = nn.RotaryEmbedding(6, base, layout)(x, offset)
    assert out.dtype == "float32"
    np.testing.assert_allclose(out.numpy(), turned(x.numpy(), angles, layout), atol=1e-6)


@LAYOUTS
def test_a_score_depends_on_the_distance_only(layout):
    """q at i and k at j: the same score as at i + s and j + s, also far out"""
    rotary, both = nn.RotaryEmbedding(8, layout=layout), drawn(2, 8, dtype="float64")
    q, k = both[:1], both[1:]
    def score(i, j): return (rotary(q, i) * rotary(k, j)).sum().item()
    for distance in -5, 0, 1, 30:
        scores = [score(i + distance, i) for i in (5, 6, 50, 3000, 100_000)]
        assert scores == pytest.approx([scores[0]] * 5, abs=1e-9)
    assert abs(score(5, 5) - score(6, 5)) > 1e-3


@LAYOUTS
def test_a_cache_continues(layout):
    """Word by word with offset gives what the whole text gives"""
    rotary, x = nn.RotaryEmbedding(4, layout=layout), drawn(2, 1, 9, 4)
    whole, parts = rotary(x).numpy(), [nn.RotaryEmbedding(4, layout=layout)(x[:, :, i:i + 1], i).numpy()
                                       for i in range(9)]
    assert (whole == np.concatenate(parts, 2)).all()


@LAYOUTS
def test_turning_back(layout):
    """The gradient of a turn is the turn back: lengths stay"""
    x = torch.tensor(drawn(2, 5, 4).numpy(), requires_grad=True)
    out = nn.RotaryEmbedding(4, layout=layout)(x)
    (out * out).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy(), atol=1e-5)


def test_tables_follow_the_dtype():
    """float64 in float64's precision, float16 stays float16; nothing is saved; copies are made"""
    rotary, x = nn.RotaryEmbedding(4), drawn(3, 4, dtype="float64")
    angles = rotary_angles(np.arange(3), 4)
    rotary(x.float())
    np.testing.assert_allclose(rotary(x).numpy(), turned(x.numpy(), angles, "halves"), atol=1e-15)
    assert rotary(x.half()).dtype == "float16"
    assert list(rotary.state_dict()) == [] and list(rotary.parameters()) == []
    assert (copy.deepcopy(rotary)(x).numpy() == rotary(x).numpy()).all()


def test_non_contiguous_heads():
    """(B, T, H, d) seen as (B, H, T, d)"""
    x = drawn(2, 5, 3, 4)
    seen = x.transpose(1, 2)
    np.testing.assert_allclose(nn.RotaryEmbedding(4)(seen).numpy(),
                               nn.RotaryEmbedding(4)(seen.contiguous()).numpy(), atol=1e-6)
    assert nn.RotaryEmbedding(4)(torch.zeros(2, 0, 4)).shape == (2, 0, 4)


@pytest.mark.parametrize("make", [
    lambda: nn.RotaryEmbedding(5), lambda: nn.RotaryEmbedding(0), lambda: nn.RotaryEmbedding(-2),
    lambda: nn.RotaryEmbedding(4, layout="half"), lambda: rotary_angles(np.arange(2), 3)])
def test_sizes_and_layouts_that_are_none(make):
    with pytest.raises(ValueError):
        make()


@pytest.mark.parametrize("x, table, layout", [
    ((2, 3, 5), (3, 2), "pairs"), ((2, 3, 4), (2, 2), "pairs"), ((2, 3, 4), (3, 4), "halves"),
    ((4,), (1, 2), "halves"), ((3, 4), (3, 2), "quarters")])
def test_what_does_not_fit(x, table, layout):
    with pytest.raises(RuntimeError, match="apply_rotary"):
        apply_rotary(torch.zeros(*x), np.zeros(table), np.zeros(table), layout)


# ---- ALiBi ----

@pytest.mark.parametrize("heads", [1, 2, 8, 16, 128])
def test_slopes_of_a_power_of_two(heads):
    """A geometric row that starts with its ratio and ends at 1/256"""
    slopes = np.array(alibi_slopes(heads))
    assert len(slopes) == heads and slopes[-1] == 1 / 256
    np.testing.assert_allclose(slopes[1:] / slopes[:-1], slopes[0])


def test_slopes_of_other_numbers():
    """BLOOM's 112 heads: those of 64, then every second of those of 128"""
    slopes, many = alibi_slopes(112), alibi_slopes(128)
    assert slopes[:64] == alibi_slopes(64) and slopes[64:] == many[0:96:2] and len(set(slopes)) == 112
    assert len(alibi_slopes(65_536)) == 65_536
    for heads in 0, -1, 65_537:
        with pytest.raises(ValueError, match=str(heads)):
            alibi_slopes(heads)


def test_alibi():
    """Minus slope times distance; the queries are the last of the keys"""
    alibi = nn.ALiBi(2)                                # slopes 1/16, 1/256
    assert alibi(2, 3).tolist() == [[[-1 / 16, 0., -1 / 16], [-2 / 16, -1 / 16, 0.]],
                                    [[-1 / 256, 0., -1 / 256], [-2 / 256, -1 / 256, 0.]]]
    assert alibi(3).shape == (2, 3, 3) and alibi(3)[0, 0].tolist() == [0., -1 / 16, -2 / 16]
    assert alibi(1, 3, offset=0).tolist()[0] == [[0., -1 / 16, -2 / 16]]
    assert list(alibi.state_dict()) == [] and alibi(2).dtype == "float32" and repr(alibi) == "ALiBi(2)"
    assert alibi.double()(2).dtype == "float64"


# ---- T5's buckets ----

@pytest.mark.parametrize("both", [True, False])
def test_buckets_grow_and_cover(both):
    """From far back to here they fall, each is used, and beyond max_distance is one"""
    back = relative_bucket(-np.arange(3000), bidirectional=both)
    last = 15 if both else 31
    assert (np.diff(back) >= 0).all() and set(back) == set(range(last + 1)) and (back[128:] == last).all()
    ahead = relative_bucket(np.arange(3000), bidirectional=both)
    assert (ahead[1:] == (back[1:] + 16 if both else 0)).all() and ahead[0] == 0


def test_one_exact_bucket():
    """The distance 1 is where the logarithm begins, at 0"""
    assert relative_bucket(-np.arange(4), 6, 2).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("buckets, most, both, error", [
    (2, 128, True, True), (3, 128, True, True), (4, 2, True, False), (1, 128, False, True),
    (2, 2, False, False),
    (32, 8, True, True), (32, 16, False, True)])
def test_too_few_buckets(buckets, most, both, error):
    if error:
        with pytest.raises(ValueError, match="relative_bucket"):
            relative_bucket(np.arange(3), buckets, most, both)
        with pytest.raises(ValueError, match="relative_bucket"):
            nn.RelativePositionBias(2, buckets, most, both)
    else:
        assert relative_bucket(-np.arange(9), buckets, most, both).max() == buckets // (1 + both) - 1


def test_a_learned_bias():
    """The number of each head and bucket; its gradient counts how often a bucket occurs"""
    bias = nn.RelativePositionBias(2)
    out, w = bias(3, 4), bias.weight.detach().numpy()
    assert out.shape == (2, 3, 4) and list(bias.state_dict()) == ["weight"] and w.shape == (32, 2)
    want = w[[[1, 0, 17, 18], [2, 1, 0, 17], [3, 2, 1, 0]]]
    assert out.permute(1, 2, 0).tolist() == want.tolist()
    out.sum().backward()
    assert bias.weight.grad[:4, 1].tolist() == [3., 3., 2., 1.] and bias.weight.grad.sum().item() == 24


@pytest.mark.parametrize("make", [lambda: nn.ALiBi(4),
                                  lambda: nn.RelativePositionBias(4, bidirectional=False)])
def test_a_bias_continues(make):
    """One query against a cache is the last row of the whole"""
    bias = make()
    assert bias(1, 9).tolist() == bias(9)[:, 8:].tolist()
    assert bias(2, 9, offset=4).tolist() == bias(9)[:, 4:6].tolist()
    with pytest.raises(ValueError, match="offset"):
        bias(3, 2)
