"""Transforms for pictures."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.data import (
    CenterCrop,
    Compose,
    Lambda,
    Normalize,
    Pad,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    ToTensor,
    Transform,
)

X = torch.arange(24).reshape(2, 3, 4)


def draws(transform, x=X, count=200):
    torch.manual_seed(0)
    return [transform(x).tolist() for _ in range(count)]


# ---- normalise ----

def test_normalize():
    x = np.random.default_rng(0).random((2, 3, 5, 4), dtype="float32")
    out = Normalize([0.1, 0.2, 0.3], (0.5, 0.6, 0.7))(x)
    want = (x - np.array([0.1, 0.2, 0.3])[:, None, None]) / np.array([0.5, 0.6, 0.7])[:, None, None]
    assert out.dtype == "float32" and np.allclose(out.data, want, atol=1e-6)
    assert np.allclose(Normalize(torch.tensor([0.5]), 2)(x).data, (x - 0.5) / 2)
    assert Normalize(0.5, 0.5)(torch.zeros(0, 3, 2, 2)).shape == (0, 3, 2, 2)


def test_normalize_has_a_gradient():
    x = torch.ones(1, 2, 2, requires_grad=True)
    Normalize(0.5, 0.25)(x).sum().backward()
    assert x.grad.tolist() == [[[4., 4.], [4., 4.]]]


@pytest.mark.parametrize("make, x, kind, says", [
    (lambda: Normalize([0.5], [0.]), None, ValueError, "dividing by 0"),
    (lambda: Normalize([0.5, 0.5], [1., 1.]), torch.zeros(3, 2, 2), ValueError, r"\(3, 2, 2\).*C = 2"),
    (lambda: Normalize([0.5, 0.5], [1.]), torch.zeros(1, 2, 2), ValueError, "2 means and 1"),
    (lambda: Normalize([0.5], [1.]), torch.zeros(2, 2), ValueError, r"\(2, 2\)"),
    (lambda: Normalize([0.5], [1.]), torch.zeros(1, 2, 2, dtype=torch.uint8), TypeError, "uint8.*float"),
    (lambda: RandomCrop(5), X, ValueError, "5 by 5 does not fit into 3 by 4"),
    (lambda: RandomCrop(0), None, ValueError, "size=0"),
    (lambda: RandomCrop((2, 2, 2)), None, ValueError, "size"),
    (lambda: RandomCrop(2.5), None, ValueError, "size"), (lambda: Pad(-1), None, ValueError, "padding=-1"),
    (lambda: Pad((1, 2, 3)), None, ValueError, "padding"),
    (lambda: Pad(1, padding_mode="wrong"), X, ValueError, "wrong"),
    (lambda: RandomHorizontalFlip(1.5), None, ValueError, "p=1.5"),
    (lambda: RandomErasing(-1), None, ValueError, "p=-1"),
    (lambda: Lambda(3), None, TypeError, "int"), (lambda: Pad(1), torch.zeros(3), ValueError,
                                                  r"Pad got \(3,\)"),
    (lambda: Pad(1), [[1]], TypeError, "Pad got list"), (lambda: ToTensor(), np.zeros(3), ValueError,
                                                         r"\(3,\)"),
    (lambda: Transform(), X, NotImplementedError, "forward")])
def test_refused(make, x, kind, says):
    with pytest.raises(kind, match=says):
        make()(x)


# ---- crop, pad, flip ----

def test_pad():
    """One number, two (left and right, top and bottom), or four (left, top, right, bottom)"""
    assert Pad(1)(X).shape == (2, 5, 6) and Pad((1, 2))(X).shape == (2, 7, 6)
    out = Pad((1, 0, 2, 3), fill=9)(X)
    assert out.shape == (2, 6, 7) and out[0, 0].tolist() == [9, 0, 1, 2, 3, 9, 9] and out[1, 5, 0].item() == 9
    assert out.dtype == "int64" and Pad(0)(X).tolist() == X.tolist()


@pytest.mark.parametrize("mode, row", [("edge", [0, 0, 0, 1, 2, 3, 3, 3]),
                                       ("reflect", [2, 1, 0, 1, 2, 3, 2, 1]),
                                       ("symmetric", [1, 0, 0, 1, 2, 3, 3, 2])])
def test_pad_modes(mode, row):
    out = Pad(2, padding_mode=mode)(X)
    assert out[0, 2].tolist() == row
    assert out.tolist() == np.pad(X.data, ((0, 0), (2, 2), (2, 2)), mode).tolist()


def test_center_crop():
    assert CenterCrop((1, 2))(X)[0].tolist() == [[5, 6]]
    assert CenterCrop(2)(torch.arange(25).reshape(5, 5)).tolist() == [[12, 13], [17, 18]]
    assert CenterCrop(5)(torch.ones(2, 3)).tolist() == np.pad(np.ones((2, 3)), ((1, 2), (1, 1))).tolist()


def test_random_crop():
    """Every window comes, and nothing else; padding and what is missing are added before"""
    windows = [X[:, i:i + 2, j:j + 3].tolist() for i in range(2) for j in range(2)]
    seen = draws(RandomCrop((2, 3)))
    assert all(window in windows for window in seen) and all(window in seen for window in windows)
    assert len({str(window) for window in draws(RandomCrop((3, 4), padding=1), count=400)}) == 9
    assert RandomCrop(5, pad_if_needed=True, fill=7)(X).shape == (2, 5, 5)
    shapes = {np.shape(window) for window in draws(RandomCrop((3, 6), pad_if_needed=True,
                                                              padding_mode="edge"))}
    assert shapes == {(2, 3, 6)}


def test_flips():
    for transform, flipped in (RandomHorizontalFlip(0.5), X.flip(-1)), (RandomVerticalFlip(), X.flip(-2)):
        seen = draws(transform)
        count = seen.count(flipped.tolist())
        assert 60 < count < 140 and count + seen.count(X.tolist()) == 200
    assert RandomHorizontalFlip(1)(X).tolist() == X.flip(-1).tolist()
    assert all(draw == X.tolist() for draw in draws(RandomVerticalFlip(0)))


def test_erasing():
    """A rectangle of the asked size; the picture itself is left alone"""
    x = torch.ones(3, 20, 20)
    torch.manual_seed(0)
    for _ in range(50):
        out = RandomErasing(p=1, scale=(0.1, 0.2), ratio=(0.5, 2.), value=5)(x)
        rows, columns = (out[0].data == 5).nonzero()
        h, w = np.ptp(rows) + 1, np.ptp(columns) + 1
        assert len(rows) == h * w and 0.07 < h * w / 400 < 0.25 and 0.4 < h / w < 2.6
        assert (out.data[0] == out.data[1]).all()
    assert (x.data == 1).all()
    assert RandomErasing(p=0)(x) is x and RandomErasing(p=1, scale=(2, 3))(x) is x      # none fits


def test_arrays_and_batches():
    """An array will do; a batch gets one and the same window"""
    assert isinstance(Pad(1)(X.data), torch.Tensor)
    batch = torch.arange(2 * 24).reshape(2, 2, 3, 4)
    for transform in RandomCrop(2), RandomHorizontalFlip(), Pad(1), CenterCrop(2):
        torch.manual_seed(1)
        out = transform(batch)
        torch.manual_seed(1)
        assert out[1].tolist() == transform(batch[1]).tolist()


def test_the_picture_is_left_alone():
    before = X.tolist()
    for transform in RandomCrop(2, padding=1), RandomHorizontalFlip(1), Pad(1, fill=3), RandomErasing(1):
        transform(X)
    assert X.tolist() == before


def test_non_contiguous():
    x = X.transpose(1, 2)
    assert RandomCrop((4, 3))(x).tolist() == x.tolist() and Pad(1)(x)[:, 1:-1, 1:-1].tolist() == x.tolist()


# ---- together ----

def test_compose():
    both = Compose([Pad(1), Lambda(lambda x: x * 2), CenterCrop((3, 4))])
    assert both(X).tolist() == (X * 2).tolist() and Compose([])(3) == 3
    assert "Pad(padding=(1, 1, 1, 1)" in repr(both)
    assert repr(RandomHorizontalFlip(0.25)) == "RandomHorizontalFlip(p=0.25)"


def test_to_tensor():
    photograph = np.arange(24, dtype="uint8").reshape(2, 4, 3)
    out = ToTensor()(photograph)
    assert out.shape == (3, 2, 4) and out.dtype == "float32" and out[1, 1,
                                                                     3].item() == pytest.approx(22 / 255)
    assert ToTensor()(photograph[:, :, 0]).shape == (1, 2, 4)
    floats = ToTensor()(photograph.astype("float64"))
    assert floats.dtype == "float64" and floats.max().item() == 23
    assert ToTensor()(X) is X                          # MNIST's pictures are tensors from the beginning
