"""interpolate and its kin: worked numbers, and what holds for any picture."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn import functional as F

ROW = [[[0., 8., 4.]]]


def resized(row, **how): return F.interpolate(torch.tensor(row, dtype=torch.float64), **how).tolist()[0][0]


@pytest.mark.parametrize("how, expected", [
    (dict(size=6), [0., 0., 8., 8., 4., 4.]),
    (dict(size=2), [0., 8.]), (dict(size=2, mode="nearest-exact"), [0., 4.]),
    (dict(scale_factor=2, mode="linear"), [0., 2., 6., 7., 5., 4.]),
    (dict(size=5, mode="linear", align_corners=True), [0., 4., 8., 6., 4.]),
    (dict(size=1, mode="linear"), [8.]), (dict(size=1, mode="linear", align_corners=True), [0.]),
    (dict(size=2, mode="area"), [4., 6.]), (dict(size=1, mode="area"), [4.]),
])
def test_a_row(how, expected):
    """0 8 4 in each mode, by hand"""
    assert resized(ROW, **how) == pytest.approx(expected)


def test_cubic_by_hand():
    """Half way between 0 and 8, of 0 0 8 0: the shares are -3/32, 19/32, 19/32, -3/32"""
    x = torch.tensor([[[[0., 0., 8., 0.]]]], dtype=torch.float64)
    out = F.interpolate(x, size=(1, 7), mode="bicubic", align_corners=True)
    assert out[0, 0, 0, 3].item() == pytest.approx(8 * 19 / 32)
    assert out[0, 0, 0, ::2].tolist() == pytest.approx([0., 0., 8., 0.])


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "area", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(1, 1), (3, 9), (11, 2)])
def test_a_constant_stays(mode, size):
    """The shares of each new pixel sum to 1, smaller or larger, smoothed or not"""
    x = torch.full((1, 2, 5, 4), 3., dtype=torch.float64)
    for antialias in {False, mode in ("bilinear", "bicubic")}:
        out = F.interpolate(x, size, mode=mode, antialias=antialias)
        assert out.shape == (1, 2, *size) and np.allclose(out.numpy(), 3.)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_the_same_size_is_the_same_picture(mode):
    x = torch.randn(2, 3, 5, 4)
    assert np.allclose(F.interpolate(x, (5, 4), mode=mode).numpy(), x.numpy(), atol=1e-6)


def test_linear_is_exact_on_a_ramp():
    """Away from the border pixels stand where their positions say: (i + 0.5) / 2 - 0.5"""
    ramp = torch.arange(8., dtype=torch.float64).reshape(1, 1, 8)
    out = F.interpolate(ramp, scale_factor=2, mode="linear")
    assert out[0, 0, 1:15].tolist() == pytest.approx([(i + 0.5) / 2 - 0.5 for i in range(1, 15)])


def test_antialias_mixes_all_pixels():
    """Of 8 pixels one is bright. Made 2, the plain mode may not see it at all"""
    x = torch.zeros(1, 1, 1, 8)
    x[0, 0, 0, 0] = 8.
    plain, smooth = [F.interpolate(x, (1, 2), mode="bilinear", antialias=a) for a in (False, True)]
    assert plain.sum().item() == 0 and smooth[0, 0, 0, 0].item() > 1


def test_recompute_scale_factor():
    """5 times 1.5 is 7.5, so 7: the step between pixels is 1 / 1.5, or 5 / 7 if it is computed anew"""
    x = torch.arange(5.).reshape(1, 1, 5)
    given = F.interpolate(x, scale_factor=1.5, mode="linear")
    anew = F.interpolate(x, scale_factor=1.5, mode="linear", recompute_scale_factor=True)
    assert given.shape == anew.shape == (1, 1, 7)
    assert given[0, 0, 3].item() == pytest.approx(3.5 / 1.5 - 0.5)
    assert anew[0, 0, 3].item() == pytest.approx(3.5 * 5 / 7 - 0.5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes(dtype):
    x = torch.ones(1, 1, 4, dtype=np.dtype(dtype))
    assert all(F.interpolate(x, 6, mode=mode).dtype == dtype for mode in ("nearest", "linear", "area"))


@pytest.mark.parametrize("mode, shape", [
    ("nearest", (1, 2, 4)), ("linear", (1, 2, 4)), ("area", (1, 1, 3, 4)), ("bilinear", (1, 1, 3, 4)),
    ("bicubic", (1, 1, 3, 4)), ("trilinear", (1, 1, 2, 3, 2)), ("area", (1, 1, 2, 3, 2))])
def test_the_gradient_is_the_transpose(mode, shape):
    """<resize(x), g> = <x, gradient for g>: the resize is linear"""
    x = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    out = F.interpolate(x, 5, mode=mode)
    g = torch.randn(*out.shape, dtype=torch.float64)
    out.backward(g)
    assert (out * g).sum().item() == pytest.approx((x * x.grad).sum().item())


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_a_long_row(mode):
    """Where a matrix of all shares would be large, the gradient is added up place by place"""
    x = torch.randn(1, 1, 40_000, dtype=torch.float64, requires_grad=True)
    out = F.interpolate(x, 60_001, mode=mode)
    g = torch.randn(*out.shape, dtype=torch.float64)
    out.backward(g)
    assert (out * g).sum().item() == pytest.approx((x * x.grad).sum().item())


def test_nan_stays_near():
    """A nan makes nan of the pixels around it, not of the whole row"""
    x = torch.zeros(1, 1, 8)
    x[0, 0, 2] = float("nan")
    assert torch.isnan(F.interpolate(x, 16, mode="linear")).sum().item() == 4


@pytest.mark.parametrize("shape, how, error", [
    ((1, 1, 4), dict(), ValueError), ((1, 1, 4), dict(size=2, scale_factor=2.), ValueError),
    ((1, 1, 4), dict(size=(2, 2)), ValueError),
    ((1, 1, 4), dict(size=2, align_corners=True), ValueError),
    ((1, 1, 4), dict(size=2, recompute_scale_factor=True), ValueError),
    ((1, 1, 4), dict(size=2, mode="linear", antialias=True), ValueError),
    ((1, 1, 4), dict(size=2, mode="bilinear"), NotImplementedError),
    ((1, 4), dict(size=2), NotImplementedError), ((1, 1, 4), dict(size=2, mode="lin"), NotImplementedError),
    ((1, 1, 4), dict(size=0), RuntimeError), ((1, 1, 4), dict(scale_factor=0.1), RuntimeError),
    ((1, 1, 0), dict(size=2), RuntimeError),
])
def test_what_cannot_be_resized(shape, how, error):
    with pytest.raises(error, match="interpolate"):
        F.interpolate(torch.ones(*shape), **how)


def test_integers_have_no_mixtures():
    """The nearest pixel of integers is one of them; a mixture is refused"""
    x = torch.tensor([[[1, 2]]])
    assert F.interpolate(x, 4).tolist() == [[[1, 1, 2, 2]]]
    with pytest.raises(RuntimeError, match="int64"):
        F.interpolate(x, 4, mode="linear")


# ---- channels for pixels ----

def test_pixel_shuffle():
    """Four channels of one pixel are one channel of 2 x 2; unshuffle is the way back"""
    x = torch.arange(4).reshape(1, 4, 1, 1)
    assert F.pixel_shuffle(x, 2).tolist() == [[[[0, 1], [2, 3]]]]
    x = torch.arange(2 * 18 * 2 * 3).reshape(2, 18, 2, 3)
    assert F.pixel_unshuffle(F.pixel_shuffle(x, 3), 3).tolist() == x.tolist()
    assert nn.PixelShuffle(3)(x).shape == (2, 2, 6, 9)
    assert nn.PixelUnshuffle(2)(torch.ones(3, 4, 6)).shape == (12, 2, 3)


@pytest.mark.parametrize("call", [
    lambda: F.pixel_shuffle(torch.ones(1, 3, 2, 2), 2), lambda: F.pixel_shuffle(torch.ones(2, 2), 1),
    lambda: F.pixel_unshuffle(torch.ones(1, 3, 3, 4), 2), lambda: F.pixel_unshuffle(torch.ones(4, 4, 4), 0)])
def test_what_cannot_be_shuffled(call):
    with pytest.raises(RuntimeError, match="pixel_"):
        call()


# ---- layers ----

def test_upsample():
    """interpolate with what the layer keeps, printed as PyTorch prints it"""
    x = torch.randn(1, 2, 3, 3)
    layer = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
    assert layer(x).tolist() == nn.UpsamplingBilinear2d((6, 6))(x).tolist()
    assert nn.UpsamplingNearest2d(scale_factor=2)(x).tolist() == x.repeat_interleave(2, 2).repeat_interleave(
        2, 3).tolist()
    assert repr(layer) == "Upsample(scale_factor=2.0, mode='bilinear')"
    assert repr(nn.Upsample([4, 5])) == "Upsample(size=(4, 5), mode='nearest')"
