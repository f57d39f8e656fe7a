# %% [markdown]
# # Module 08: Data, what the model sees and when
#
# A network for the digits of module 06: 64 inputs, 32 hidden units, 10 outputs. 1,437 pictures in batches
# of 16, and 360 more that it is asked about afterwards. Only one thing differs between the two rows, the
# order: all zeros first, then all ones, and so on up to the nines; or shuffled anew for each epoch.
#
# ```
#                       right after 1 epoch     after 20 epochs
#   sorted by digit            11 %                  11 %
#   shuffled               78 to 95 %            93 to 99 %           (eight seeds)
# ```
#
# A guess without looking is right in about 10 % of the cases, so the first row is no better, and twenty
# times as much work does not help. **Why?** Run the cells below.

# %%
#| default_exp data.loader
from tito.lesson import dataset, expect, expect_error, measure, run_tests, timed

# %%
import queue
import threading
import time
from collections.abc import Mapping

import numpy as np
from collate_parts_dev import default_convert, outline, ragged, rebuilt, stacked
from dataset_base_dev import Dataset, Rows, Subset, part_sizes
from loader_base_dev import LoaderBase, with_random
from more_transforms_dev import Transform, check_channels, enlarged, pair
from sampler_base_dev import Sampler, SequentialSampler, check_bool, check_count, own_generator

from tinytorch.core.creation import as_tensor, randint, randperm
from tinytorch.core.tensor import Tensor

# %% [markdown]
# Those were for your code. These are for tests and measurements.

# %%
from collections import namedtuple
from contextlib import closing
from types import MappingProxyType
from unittest.mock import patch

from tinytorch.core.backend import Generator, default_generator, manual_seed
from tinytorch.nn.layers import Linear
from tinytorch.nn.losses import cross_entropy
from tinytorch.optim.optimizers import SGD


# %%
def digits():
    "1,437 digits (N, 64) to learn from, and their labels; then 360 others, and theirs"
    pictures, labels = dataset("digits")
    mixed = np.random.default_rng(0).permutation(len(pictures))      # the file goes writer by writer
    pictures, labels = pictures[mixed] / 16, labels[mixed]
    return [Tensor(part) for part in (pictures[:1437], labels[:1437], pictures[1437:], labels[1437:])]


def learn(epochs, seed=0):
    "The answers for the 360 pictures after going through `epochs`, a list of lists of batches (x, y)"
    manual_seed(seed)
    layers = [Linear(64, 32), Linear(32, 10)]
    def scores(x): return layers[1](layers[0](x).relu())
    optimizer = SGD([p for layer in layers for p in layer.parameters()], lr=0.5)
    for batches in epochs:
        for x, y in batches:
            optimizer.zero_grad()
            cross_entropy(scores(x), y).backward()
            optimizer.step()
    return scores(digits()[2]).argmax(1).numpy()


def in_batches(order):
    "The pictures and labels in this order, by 16"
    x, y, _, _ = digits()
    return [(x[rows], y[rows]) for rows in np.split(order, range(16, 1437, 16))]


@measure
def sorted_or_shuffled():
    _, y, _, truth = digits()
    order, rng = y.numpy().argsort(kind="stable"), np.random.default_rng(0)
    for name in "sorted", "shuffled":
        for epochs in 1, 20:
            orders = [order if name == "sorted" else rng.permutation(order) for _ in range(epochs)]
            right = (learn([in_batches(order) for order in orders]) == truth.numpy()).mean()
            print(f"{name:8} {epochs:2} epochs: {right:4.0%} right")


# %% [markdown]
# Has the sorted network learned nothing? Ask it about the 360 pictures on its way through the first epoch:

# %%
@measure
def along_a_sorted_epoch():
    batches = in_batches(digits()[1].numpy().argsort(kind="stable"))
    for seen in 9, 18, 54, 72, 80, 86, 90:
        answers = np.bincount(learn([batches[:seen]]), minlength=10).tolist()
        print(f"after {seen:2} of 90 batches, among the {batches[seen - 1][1][0].item()}s: how often it "
              f"answers 0 to 9: {answers}")


# %% [markdown]
# It learns the zeros, and then unlearns them. A step of training looks at one batch and goes where *that
# batch* wants to, and a batch of nines wants one thing: say nine. What the nine other classes need is not
# in it, and is overwritten within a few steps. A batch is meant to be a small sample of everything, so
# that its gradient points where the gradient of all the data would. **What the model sees, and in which
# order, is a part of the algorithm.**
#
# So this module is about bringing data to a model:
#
# ```
#  dataset            sampler             batch sampler          collate            loader
#  item number i      3 0 4 1 2 ...       [3 0] [4 1] [2]        items -> tensors   all of it, in time
# ```
#
# * **Exercises 1-2** number the items and split them honestly. **3-4** decide about the order.
# * **5** makes a batch of items. **6-7** change pictures on their way: normalise them, crop them at
#   random.
# * **8** loads the next batch while the model still works on this one. **9** puts everything together.
#   **10** goes on in the middle of an epoch.
#
# What carries no idea is given, in the other files of this folder; you need not read them now.

# %% [markdown]
# ## Exercise 1: item number i
#
# A dataset answers `len(dataset)` and `dataset[i]`. The simplest one has everything in memory: a tensor
# with all pictures, and one with all labels. Item i is picture i together with label i:
#
# ```
# pictures (3, 2)   [[1, 2], [3, 4], [5, 6]]       labels (3,)   [7, 8, 9]
# item 1            ([3, 4], 8)                    item -1   ([5, 6], 9)
# ```
#
# The first axis counts the items, so all tensors must have the same number of rows. That is checked when
# the dataset is made (given), not at row 1,500 of the run. Item i is always a **tuple**, also where there
# is only one tensor. An index may be negative, and a list of indices gives those rows of every tensor, as
# with tensors; one that is too large raises IndexError, which a tensor does by itself.

# %%
#| export data.datasets
class TensorDataset(Dataset):
    """Item i is the tuple of row i of each tensor; all have the same number of rows. Arrays will do, too."""
    def __init__(self, *tensors):
        self.tensors = tuple([as_tensor(t) for t in tensors])
        if not tensors or any(t.ndim == 0 for t in self.tensors):
            raise ValueError(f"TensorDataset of {[t.shape for t in self.tensors]}: it takes tensors whose "
                             "first axis counts the items.")
        if len({len(t) for t in self.tensors}) > 1:
            raise ValueError(f"TensorDataset: size mismatch, tensors of {[len(t) for t in self.tensors]} "
                             "rows. Item i is row i of each, so they must have the same number.")

    def __len__(self): return len(self.tensors[0])

    def __getitem__(self, index):
        """Row `index` of every tensor, as a tuple; a list of indices gives those rows of every tensor.

        >>> TensorDataset(Tensor([[1, 2], [3, 4]]), Tensor([7, 8]))[1]
        (tensor([3, 4]), tensor(8))
        """
        ### BEGIN SOLUTION
        return tuple([t[index] for t in self.tensors])
        ### END SOLUTION

    def __getitems__(self, indices): return Rows(self[list(indices)])


# %%
class TestTensorDatasetGetitem:
    """Item number i"""
    def three(self): return TensorDataset(Tensor([[1, 2], [3, 4], [5, 6]]), Tensor([7, 8, 9]))

    def test_by_hand(self):
        "Item 1 is picture 1 with label 1: ([3, 4], 8)"
        item = self.three()[1]
        expect(type(item).__name__, "tuple", why="an item is a tuple, one part for each tensor")
        expect(item[0], [3, 4])
        expect(item[1], 8, why="the label must be of the same item as the picture")
        expect([type(part).__name__ for part in item], ["Tensor", "Tensor"],
               why="index the tensors themselves, not the NumPy arrays in them (t.data)")

    def test_one_tensor(self):
        "With one tensor, an item is a tuple of one"
        item = TensorDataset(Tensor([4., 5.]))[0]
        expect((type(item).__name__, len(item)), ("tuple", 1), why="never the bare tensor")
        expect(item[0], 4.)

    def test_three_tensors(self):
        "With three tensors it is a tuple of three"
        item = TensorDataset(Tensor([[1.], [2.]]), Tensor([3, 4]), Tensor([[[5]], [[6]]]))[1]
        expect([part.shape for part in item], [(1,), (), (1, 1)])

    def test_negative(self):
        "Item -1 is the last one"
        expect(self.three()[-1][1], 9)

    def test_out_of_range(self):
        "There is no item 3 and no item -4 in a dataset of three"
        for index in 3, -4:
            expect_error(IndexError, self.three().__getitem__, index)

    def test_many(self):
        "A list of indices gives those rows of every tensor"
        pictures, labels = self.three()[[2, 0]]
        expect(pictures, [[5, 6], [1, 2]])
        expect(labels, [9, 7])


run_tests(TestTensorDatasetGetitem)

# %% [markdown]
# ## Exercise 2: an honest split
#
# What a model was trained on says nothing about what it can do. So some items are put aside, **before**
# anything is looked at, and at random, since a file often has an order (the digits come writer by
# writer). Seven items, 4 to train, 2 to choose by, 1 to report:
#
# ```
# one permutation      5 2 0 6 3 1 4
# cut it               5 2 0 6 | 3 1 | 4          every item once, in one part only
# ```
#
# Draw one permutation of all numbers and cut it. Drawing each part by itself would put some items into
# two parts, and leave others out; so would a cut that is off by one. A model that is tested on what it
# has seen looks better than it is, and no error message ever tells.
#
# `part_sizes(lengths, n)` (given) turns shares such as 0.8 and 0.2 into sizes that add up to n, and
# raises ValueError if they do not. `randperm(n, generator=generator)` is a tensor with the numbers below
# n in random order; with `generator=None` it draws from the default generator. `Subset(dataset, indices)`
# (given) is a dataset of those items; its `indices` should be a plain list of numbers: `.tolist()`.

# %%
#| export data.datasets
def random_split(dataset, lengths, generator=None):
    """The dataset in parts that have no item in common, as a list of Subsets, drawn at random.

    lengths: the sizes of the parts, which add up to the number of items, or shares that add up to 1.
    Raises ValueError if they do not.

    >>> parts = random_split(range(10), [0.7, 0.3], Generator().manual_seed(0))
    >>> [len(part) for part in parts], sorted([*parts[0], *parts[1]]) == list(range(10))
    ([7, 3], True)
    """
    ### BEGIN SOLUTION
    sizes = part_sizes(lengths, len(dataset))
    order, parts = randperm(len(dataset), generator=generator).tolist(), []
    for size in sizes:
        parts.append(Subset(dataset, order[:size]))
        order = order[size:]
    return parts
    ### END SOLUTION


# %%
class TestRandomSplit:
    """An honest split"""
    def seeded(self): return Generator().manual_seed(1)

    def test_sizes(self):
        "Seven items by 4, 2, 1: a list of three Subsets of those sizes"
        parts = random_split("abcdefg", [4, 2, 1], self.seeded())
        expect(type(parts).__name__, "list")
        expect([type(part).__name__ for part in parts], ["Subset"] * 3,
               why="a part is Subset(dataset, some numbers): it holds numbers, not items")
        expect([len(part) for part in parts], [4, 2, 1])

    def test_every_item_once(self):
        "Every item is in exactly one part"
        parts = random_split("abcdefg", [4, 2, 1], self.seeded())
        found = "".join(sorted(item for part in parts for item in [part[i] for i in range(len(part))]))
        expect(found, "abcdefg", why="a letter twice: two parts overlap; a letter missing: no part has it")

    def test_shares(self):
        "0.8 and 0.2 of ten are 8 and 2; a half and a half of five are 3 and 2"
        for n, lengths, sizes in (10, [0.8, 0.2], [8, 2]), (5, [0.5, 0.5], [3, 2]):
            expect([len(part) for part in random_split(range(n), lengths)], sizes)

    def test_random(self):
        "The parts are drawn from all items: none is a block of the dataset, and two seeds give two splits"
        one, other = [random_split(range(50), [25, 25], Generator().manual_seed(seed))[0] for seed in (1, 2)]
        assert sorted(one.indices) != list(range(25)), (
            "the first part has items 0 to 24, in whatever order: a file that is sorted would be split by "
            "class. Draw one permutation of all numbers, and cut that")
        assert sorted(one.indices) != sorted(other.indices), "two seeds gave the same split"

    def test_reproducible(self):
        "The same seed gives the same split, whatever the default generator has been doing"
        first = [list(part.indices) for part in random_split(range(20), [15, 5], self.seeded())]
        default_generator().random.random()
        again = [list(part.indices) for part in random_split(range(20), [15, 5], self.seeded())]
        expect(again, first, why="was the generator handed on?")

    def test_default(self):
        "Without a generator manual_seed decides"
        splits = []
        for _ in range(2):
            manual_seed(3)
            splits.append(list(random_split(range(20), [15, 5])[0].indices))
        expect(splits[0], splits[1])

    def test_plain_numbers(self):
        "The indices of a part are Python numbers in a list"
        part = random_split(range(4), [2, 2])[0]
        expect([type(i).__name__ for i in part.indices], ["int", "int"], why="call tolist() on the tensor")

    def test_wrong_sizes(self):
        "Sizes that do not add up are an error that names them"
        expect_error(ValueError, random_split, range(10), [6, 3], says=["[6, 3]", "10"])
        expect_error(ValueError, random_split, range(10), [0.6, 0.3], says=["[0.6, 0.3]"])


run_tests(TestRandomSplit)

# %% [markdown]
# ## Exercise 3: another order each time
#
# A **sampler** yields numbers of items. Shuffling once is not enough: then the same pictures meet in a
# batch in every epoch. So each `iter(sampler)` draws a new permutation:
#
# ```
# three items, first epoch    2 0 1         second    0 2 1         third    2 1 0
# ```
#
# The default generator must not decide: Dropout draws from it too, so a model with one more such layer
# would see the data in another order, and two runs could no longer be compared. The sampler has a
# generator of its own, `self.generator` (given), and **every** draw is made with it. It is never seeded
# again: it runs on from epoch to epoch, which makes the orders different.
#
# Two options make more of it. `self.num_samples` is how many numbers an epoch has. Where it is more than
# there are items, a second permutation follows the first, and so on; the last one is cut short. With five
# numbers of three items:
#
# ```
# 2 0 1 | 0 2              two permutations of 0 1 2, the second one cut
# ```
#
# With `self.replacement` every number is drawn by itself, so some come twice and others not at all:
# `randint(n, (k,), generator=...)` gives k of them below n. The numbers that are yielded are Python's, not
# tensors.

# %%
#| export data.samplers
class RandomSampler(Sampler):
    """The numbers of all items in random order, a new one each time.

    replacement: draw each number by itself. num_samples: how many; as many as there are items unless given.
    """
    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement!r}.")
        self.data_source, self.replacement, self._num_samples = data_source, replacement, num_samples
        self.generator = own_generator(generator)
        check_count("num_samples", self.num_samples)

    @property
    def num_samples(self): return len(self.data_source) if self._num_samples is None else self._num_samples

    def __len__(self): return self.num_samples

    def __iter__(self):
        """Yields `self.num_samples` numbers from 0 to len(self.data_source) - 1, drawn from `self.generator`.

        >>> sampler = RandomSampler("abc", num_samples=6, generator=Generator().manual_seed(0))
        >>> order = list(sampler)
        >>> sorted(order[:3]), sorted(order[3:])
        ([0, 1, 2], [0, 1, 2])
        """
        ### BEGIN SOLUTION
        n, count = len(self.data_source), self.num_samples
        if self.replacement:
            yield from randint(n, (count,), generator=self.generator).tolist()
        else:
            for done in range(0, count, n):
                yield from randperm(n, generator=self.generator).tolist()[:count - done]
        ### END SOLUTION


# %%
class TestRandomSamplerIter:
    """Another order each time"""
    def of(self, n, seed=1, **options):
        return RandomSampler(range(n), generator=Generator().manual_seed(seed), **options)

    def test_permutation(self):
        "Every number once, in an order that is not the one they had"
        order = list(self.of(30))
        expect(sorted(order), list(range(30)), why="each item must come exactly once")
        assert order != list(range(30)), "this is the stored order"
        expect(type(order[0]).__name__, "int", why="plain numbers: call tolist() on the tensor")

    def test_new_each_time(self):
        "The second epoch has another order than the first"
        sampler = self.of(30)
        assert list(sampler) != list(sampler), "the same order again: is it drawn anew at each __iter__?"

    def test_seed(self):
        "The same seed gives the same orders, epoch by epoch; another seed another one"
        for options in {}, {"num_samples": 70}, {"replacement": True}:
            one, two = self.of(30, **options), self.of(30, **options)
            expect([list(one), list(one)], [list(two), list(two)],
                   why=f"with {options}: is each draw made with generator=self.generator?")
        assert list(self.of(30, 2)) != list(self.of(30, 3)), "two seeds gave the same order"

    def test_own_generator(self):
        "The default generator is left alone, and has no say"
        for options in {}, {"num_samples": 70}, {"replacement": True}:
            before = default_generator().get_state()
            list(self.of(30, **options))
            untouched = default_generator().get_state() == before
            assert untouched, f"with {options} the default generator was drawn from: hand self.generator on"

    def test_manual_seed(self):
        "Without a generator the order is decided by manual_seed, when the sampler is made"
        orders = []
        for _ in range(2):
            manual_seed(5)
            sampler = RandomSampler(range(30))
            default_generator().random.random(7)
            orders.append(list(sampler))
        expect(orders[0], orders[1], why="what is drawn from the default generator later must not matter")

    def test_more_than_there_are(self):
        "Five numbers of three items: a permutation, and two of the next; six are two whole ones"
        order = list(self.of(3, num_samples=5))
        expect(len(order), 5)
        expect(sorted(order[:3]), [0, 1, 2])
        expect(len(set(order[3:])), 2, why="what follows is the beginning of a permutation too")
        orders = [list(self.of(3, seed, num_samples=6)) for seed in range(9)]
        expect(sorted(orders[0][3:]), [0, 1, 2])
        assert any(order[3:] != order[:3] for order in orders), "the second permutation repeats the first"
        rests = {tuple(sorted(list(self.of(3, seed, num_samples=5))[3:])) for seed in range(20)}
        expect(sorted(rests), [(0, 1), (0, 2), (1, 2)],
               why="the last two of five numbers, with 20 seeds: cut a permutation of all three, since a "
                   "permutation of two never has the number 2")

    def test_fewer(self):
        "Four numbers of thirty: all different, and not always the same four"
        orders = [list(self.of(30, seed, num_samples=4)) for seed in range(5)]
        expect([(len(order), len(set(order))) for order in orders], [(4, 4)] * 5)
        assert len({tuple(sorted(order)) for order in orders}) > 1, (
            f"five seeds gave the numbers {sorted(orders[0])}: cut a permutation of all thirty")

    def test_replacement(self):
        "With replacement each is drawn by itself: of 200 numbers below 3 all are about as frequent"
        order = list(self.of(3, replacement=True, num_samples=200))
        expect(len(order), 200)
        assert any(sorted(order[i:i + 3]) != [0, 1, 2] for i in range(0, 198, 3)), "these are permutations"
        counts = [order.count(i) for i in range(3)]
        assert sum(counts) == 200 and min(counts) > 40, f"0, 1 and 2 came {counts} times"


run_tests(TestRandomSamplerIter)

# %% [markdown]
# ## Exercise 4: in groups
#
# Ten numbers in batches of four: 4, 4 and a rest of 2. With `drop_last` the rest is left out, which is
# wanted where a batch of 1 would do harm (batch statistics, module 09), and costs nothing in the long
# run: with a new order, others are left out in the next epoch.
#
# ```
# 3 0 4 1 5 9 2 6 8 7        [3 0 4 1] [5 9 2 6] [8 7]        drop_last    [3 0 4 1] [5 9 2 6]
# ```
#
# The numbers come from any iterable, `self.sampler`. It may be endless, or not know its length; so take
# one number after the other, and hand out a list as soon as it is full. Each group is a new list:
# somebody may keep the last one.

# %%
#| export data.samplers
class BatchSampler(Sampler):
    """Lists of `batch_size` numbers from `sampler`; a rest that is shorter is dropped if `drop_last`."""
    def __init__(self, sampler, batch_size, drop_last):
        check_count("batch_size", batch_size)
        check_bool("drop_last", drop_last)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __len__(self):
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def __iter__(self):
        """Yields lists of `self.batch_size` numbers, in the sampler's order, and the rest unless dropped.

        >>> list(BatchSampler(range(10), 4, False))
        [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        """
        ### BEGIN SOLUTION
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch
        ### END SOLUTION


# %%
def endless():
    "0, 1, 2, ...; complains if somebody asks for too many"
    yield from range(10_000)
    raise AssertionError("this sampler is endless, and all of its numbers were asked for at once")


class TestBatchSamplerIter:
    """In groups"""
    def test_by_hand(self):
        "Ten by four: 4, 4, 2, in the sampler's order"
        expect(list(BatchSampler([3, 0, 4, 1, 5, 9, 2, 6, 8, 7], 4, False)),
               [[3, 0, 4, 1], [5, 9, 2, 6], [8, 7]], why="a rest that is not dropped is a batch too")

    def test_drop_last(self):
        "With drop_last the rest is not handed out, and len says so too"
        for n, size, kept, dropped in (10, 4, 3, 2), (8, 4, 2, 2), (3, 4, 1, 0):
            for drop, count in (False, kept), (True, dropped):
                sampler = BatchSampler(range(n), size, drop)
                expect(len(list(sampler)), count, why=f"{n} numbers by {size}, drop_last={drop}")
                expect(len(sampler), count)

    def test_exact(self):
        "Eight by four: no empty list at the end"
        expect(list(BatchSampler(range(8), 4, False)), [[0, 1, 2, 3], [4, 5, 6, 7]])

    def test_endless(self):
        "A sampler without an end: the first batch comes all the same"
        expect(next(iter(BatchSampler(endless(), 3, False))), [0, 1, 2])

    def test_new_lists(self):
        "A batch that is kept does not change later"
        batches = BatchSampler(range(4), 2, False)
        one, two = [batch for batch, _ in zip(batches, range(2))]
        assert one is not two, "the same list was filled again: each batch is a new one"
        expect([one, two], [[0, 1], [2, 3]])

    def test_again(self):
        "Going through it once more begins from the start"
        sampler = BatchSampler(range(5), 2, False)
        expect([len(list(sampler)), len(list(sampler))], [3, 3])


run_tests(TestBatchSamplerIter)

# %% [markdown]
# ## Exercise 5: from items to a batch
#
# Three items (picture, label) are wanted as one tensor of three pictures and one of three labels. Numbers
# become a tensor; what is nested is taken apart and put together part by part:
#
# ```
# 3, 5, 4                          tensor([3, 5, 4])
# (x0, 3), (x1, 5), (x2, 4)        [ tensor of x0 x1 x2,  tensor([3, 5, 4]) ]           a tuple becomes a list
# {"x": x0, "y": 3}, {...}, ...    { "x": tensor of x0 x1 x2,  "y": tensor([3, 5, 4]) }
# ```
#
# The parts may be nested again, so the function calls itself: the batch of a part is `default_collate` of
# that part of all items. At the ends are tensors, arrays, numbers and texts. A dictionary is whatever is a
# `Mapping`: there are others than `dict`. Four functions are given:
#
# ```
# outline(item)            what must be alike, in words         outline((x0, 3)) is "a tuple of 2"
# ragged(i, item, first)   the error for item i that differs    raise ragged(2, items[2], items[0])
# stacked(items)           one tensor, a new first axis         stacked([3, 5, 4]) is tensor([3, 5, 4])
# rebuilt(first, parts)    the parts' batches, made like first  rebuilt((x0, 3), [batch of x, batch of y])
# ```
#
# `rebuilt` takes a list of the parts' batches, or for a `Mapping` a dictionary of them. A tuple becomes a
# list by it, and a named tuple stays one.
#
# Items that differ cannot be put together: a picture of 28 by 28 among those of 32 by 32, an item without
# a label. In a dataset of a million files there is one. So before anything else, compare the outline of
# each item with that of the first, and raise `ragged` (a RuntimeError) for the first one that differs.

# %%
#| export data.collate
def default_collate(items):
    """One batch of a list of items: tensors, arrays and numbers get a new first axis, texts stay as they are.

    Tuples, lists and dictionaries are put together part by part; a tuple becomes a list. Raises RuntimeError
    that says which item is not like the first, TypeError for what makes no batch.

    >>> default_collate([(1, True), (2, False)])
    [tensor([1, 2]), tensor([ True, False])]
    """
    if isinstance(items, Rows):                        # TensorDataset took them all at once: nothing to do
        return list(items.tensors)
    if not len(items):
        raise ValueError("default_collate: a batch of no items. Does a sampler yield an empty list?")
    ### BEGIN SOLUTION
    first = items[0]
    for i, item in enumerate(items):
        if outline(item) != outline(first):
            raise ragged(i, item, first)
    if isinstance(first, Mapping):
        return rebuilt(first, {key: default_collate([item[key] for item in items]) for key in first})
    if isinstance(first, (tuple, list)):
        return rebuilt(first, [default_collate(part) for part in zip(*items)])
    return stacked(items)
    ### END SOLUTION


# %%
class TestDefaultCollate:
    """From items to a batch"""
    def test_numbers(self):
        "Whole numbers become int64, floats float64, truths bool"
        for items, dtype in ([3, 5, 4], "int64"), ([0.5, 2.5], "float64"), ([True, False], "bool"):
            batch = default_collate(items)
            expect(batch, items)
            expect(str(batch.dtype), dtype)

    def test_tensors(self):
        "Three tensors of shape (2,) become one of (3, 2), arrays too"
        rows = [[1., 2.], [3., 4.], [5., 6.]]
        for kind in Tensor, np.array:
            batch = default_collate([kind(row) for row in rows])
            expect(type(batch).__name__, "Tensor")
            expect(batch, rows)

    def test_tuples(self):
        "Items (picture, label): a list with all pictures and all labels"
        batch = default_collate([(Tensor([1., 2.]), 3), (Tensor([4., 5.]), 6), (Tensor([7., 8.]), 9)])
        expect((type(batch).__name__, len(batch)), ("list", 2), why="one part for each part of an item")
        expect(batch[0], [[1., 2.], [4., 5.], [7., 8.]])
        expect(batch[1], [3, 6, 9])

    def test_dictionaries(self):
        "Items {x, y}: a dictionary with all x and all y, whatever the order of their keys"
        batch = default_collate([{"x": 1, "y": 2.5}, {"y": 4.5, "x": 3}])
        expect(sorted(batch), ["x", "y"])
        expect(batch["x"], [1, 3])
        expect(batch["y"], [2.5, 4.5])

    def test_kinds(self):
        "What is like a dictionary is put together like one, and a named tuple stays one"
        batch = default_collate([MappingProxyType({"x": i}) for i in (3, 5)])
        expect(type(batch).__name__, "mappingproxy", why="ask for a Mapping (not a dict), and use rebuilt")
        expect(batch["x"], [3, 5])
        Point = namedtuple("Point", "x y")
        batch = default_collate([Point(1, 2.5), Point(3, 4.5)])
        expect(type(batch).__name__, "Point", why="rebuilt(first, parts) makes what is like the first item")
        expect(batch.y, [2.5, 4.5])

    def test_nested(self):
        "A dictionary in a tuple, a list in a dictionary"
        batch = default_collate([({"a": [1, 2.5]}, "one"), ({"a": [3, 4.5]}, "two")])
        expect(list(batch[1]), ["one", "two"])
        expect(batch[0]["a"][0], [1, 3])
        expect(batch[0]["a"][1], [2.5, 4.5])

    def test_one_item(self):
        "A batch of one item has the new axis too"
        expect(default_collate([Tensor([[1., 2.]])]).shape, (1, 1, 2))

    def test_texts(self):
        "Texts stay as they are"
        expect(list(default_collate(["seven", "nine"])), ["seven", "nine"])

    def test_ragged(self):
        "A picture of another shape: the error names its place and both shapes"
        items = [(Tensor(np.zeros(shape)), 0) for shape in [(2, 3), (2, 3), (3, 2), (1, 1)]]
        expect_error(RuntimeError, default_collate, items, says=["item 2 of the batch", "(3, 2)", "(2, 3)"],
                     why="raise ragged(i, item, first), with the items themselves, not their outlines")

    def test_another_length(self):
        "An item without a label, or a dictionary with other keys, is found before anything is dropped"
        expect_error(RuntimeError, default_collate, [(1, 2), (3, 4), (5,)], says=["item 2", "a tuple of 1"],
                     why="zip stops at the shortest item, without a word: compare outlines first")
        expect_error(RuntimeError, default_collate, [{"x": 1}, {"x": 2, "y": 3}],
                     says=["item 1", "['x', 'y']"])

    def test_unknown(self):
        "None makes no batch: a TypeError, or among numbers the item"
        expect_error(TypeError, default_collate, [None, None], says=["NoneType"])
        expect_error(RuntimeError, default_collate, [1, None], says=["item 1", "NoneType"])


run_tests(TestDefaultCollate)

# %% [markdown]
# ## Exercise 6: on one scale
#
# Pixels come as 0 to 1, but the pixels of MNIST are mostly black: their mean is 0.1307, their deviation
# 0.3081. A network learns faster from inputs around 0 with a deviation of 1 (module 03 chose its first
# weights for them). So subtract the mean and divide by the deviation:
#
# ```
# black    (0 - 0.1307) / 0.3081 = -0.4242         white    (1 - 0.1307) / 0.3081 = 2.8215
# ```
#
# $$ y_{chw} = \frac{x_{chw} - \mu_c}{\sigma_c} $$
#
# A colour picture has shape (C, H, W), three *channels* C, each with a mean and a deviation of its own. A
# tensor (C,) of means would be aligned with the **last** axis (module 01), that is with the columns of
# pixels; no error tells if a picture happens to be as wide as it has channels. To stand beside (C, H, W)
# it needs the shape (C, 1, 1).
#
# `self.mean` and `self.std` are lists of C numbers, or of one number, which serves all channels: shape
# (1, 1, 1). `x.new_tensor(numbers)` is a tensor with the dtype of x, on its device. The picture is left as
# it was, and a batch (B, C, H, W) works by the same rule.

# %%
#| export data.transforms
class Normalize(Transform):
    """Each channel with its mean subtracted, divided by its deviation: (..., C, H, W), floats.

    mean and std: C numbers each, or one for all channels. They come from the training data alone.
    """
    def __init__(self, mean, std):
        self.mean, self.std = [np.asarray(v, dtype="float64").reshape(-1).tolist() for v in (mean, std)]
        if 0 in self.std:
            raise ValueError(f"Normalize: std={self.std}: dividing by 0. Leave out constant channels.")

    def forward(self, x):
        """x with each channel shifted and scaled, in a new tensor of the same dtype.

        >>> Normalize([0.5, 0.0], [0.5, 2.0])(Tensor([[[1., 0.]], [[4., 2.]]])).tolist()
        [[[1.0, -1.0]], [[2.0, 1.0]]]
        """
        check_channels(x, self.mean, self.std)
        ### BEGIN SOLUTION
        mean, std = [x.new_tensor(numbers).reshape(-1, 1, 1) for numbers in (self.mean, self.std)]
        return (x - mean) / std
        ### END SOLUTION


# %%
class TestNormalize:
    """On one scale"""
    def test_by_hand(self):
        "MNIST's black is -0.4242, its white 2.8215"
        expect(Normalize([0.1307], [0.3081])(Tensor([[[0., 1.]]])), [[[-0.4242129, 2.8214867]]])

    def test_channels(self):
        "Each channel has its own mean and deviation, also in a picture of 2 by 2 with two channels"
        x = Tensor([[[1., 0.], [0., 1.]], [[4., 2.], [2., 4.]]])
        expect(Normalize([1., 2.], [0.5, 4.])(x), [[[0., -2.], [-2., 0.]], [[0.5, 0.], [0., 0.5]]],
               why="all C means and deviations, in shape (C, 1, 1): from (C,) they would stand beside the "
                   "columns, and mean[0] alone would serve every channel")

    def test_three_channels(self):
        "Three channels, 4 by 5 pixels: the shape stays"
        out = Normalize([1., 2., 3.], [1., 2., 4.])(Tensor(np.full((3, 4, 5), 5.)))
        expect(out.shape, (3, 4, 5))
        expect(out[:, 3, 4], [4., 1.5, 0.5])

    def test_batch(self):
        "A batch (B, C, H, W) is normalised as its pictures are"
        x = Tensor(np.random.default_rng(0).random((2, 3, 4, 5)))
        normalize = Normalize([0.1, 0.2, 0.3], [1., 2., 3.])
        expect(normalize(x)[1], normalize(x[1]))

    def test_one_for_all(self):
        "One mean and one deviation serve all channels"
        expect(Normalize(1., 2.)(Tensor(np.full((3, 1, 1), 5.))), np.full((3, 1, 1), 2.))

    def test_picture_untouched(self):
        "The picture is left as it was, and the dtype stays"
        for dtype in "float32", "float64":
            x = Tensor([[[3.]]], dtype=np.dtype(dtype))
            out = Normalize([1.], [2.])(x)
            expect(x, [[[3.]]], why="the picture was changed in place, and will be again in the next epoch")
            expect(str(out.dtype), dtype,
                   why="x.new_tensor(numbers) has the dtype of x, a NumPy array of them is float64")

    def test_other_channels(self):
        "Three means for a picture with one channel: an error, not a picture with three"
        expect_error(ValueError, Normalize([1., 2., 3.], [1., 1., 1.]), Tensor(np.zeros((1, 4, 4))),
                     says=["(1, 4, 4)", "C = 3"])


run_tests(TestNormalize)

# %% [markdown]
# ## Exercise 7: never twice the same
#
# A digit that is moved by a pixel is the same digit, but to the network above nearly all inputs have
# changed. So show it moved ones: add two pixels of black on every side, and cut out a window of the old
# size, somewhere. The label stays.
#
# ```
# 28 pixels, 2 more on each side: 32.    A window of 28 starts at 0, 1, 2, 3 or 4:    32 - 28 + 1 = 5 places
# down and across: 5 * 5 = 25 different pictures out of one
# ```
#
# The last place is as good as the others; whoever counts 32 - 28 loses it, and never notices. Draw the
# row first, then the column, each with `randint(n, (1,)).item()` from its n possible places. In this
# order, and from the default generator, the same seed gives everybody the same windows.
#
# `self.size` is the height and the width of the window. The last two axes are H and W, whatever stands
# before them: `x[..., a:b, c:d]`. `enlarged` (given) has padded the picture by now, and raised an error if
# the window does not fit.

# %%
#| export data.transforms
class RandomCrop(Transform):
    """A window of this size at a random place, (..., H, W) to (..., h, w), after `padding` pixels were added.

    size: h and w, or one number. padding, fill, padding_mode: as in Pad. pad_if_needed: also add what is
    missing to the size, on both sides. Raises ValueError if the picture is smaller than the window.
    """
    def __init__(self, size, padding=None, pad_if_needed=False, fill=0, padding_mode="constant"):
        self.size, self.padding, self.pad_if_needed = pair("size", size), padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode

    def forward(self, x):
        """The window, with every possible place equally likely.

        >>> RandomCrop(28, padding=2)(Tensor(np.zeros((1, 28, 28)))).shape
        (1, 28, 28)
        """
        x = enlarged(x, self.size, self.padding, self.pad_if_needed, self.fill, self.padding_mode)
        ### BEGIN SOLUTION
        (h, w), (height, width) = self.size, x.shape[-2:]
        top = randint(height - h + 1, (1,)).item()
        left = randint(width - w + 1, (1,)).item()
        return x[..., top:top + h, left:left + w]
        ### END SOLUTION


# %%
class TestRandomCrop:
    """Never twice the same"""
    def places(self, size, shape, draws=600, **options):
        "Which windows come out of a picture of these sides, as (first number, shape), and how often"
        x, crop, seen = Tensor(np.arange(shape[0] * shape[1]).reshape(shape)), RandomCrop(size, **options), {}
        manual_seed(0)
        for _ in range(draws):
            window = crop(x)
            key = int(window[0, 0].item()), window.shape
            seen[key] = seen.get(key, 0) + 1
        return seen

    def test_every_place(self):
        "A window of 2 by 3 in 4 by 5 pixels starts at 3 * 3 places, all of them about as often"
        seen = self.places((2, 3), (4, 5))
        expect(sorted(first for first, _ in seen), [0, 1, 2, 5, 6, 7, 10, 11, 12],
               why="the rows 0, 1, 2 (4 - 2 + 1 = 3 of them) with the columns 0, 1, 2, each by a draw of its "
                   "own: 9 places, which begin with these numbers")
        assert min(seen.values()) > 30, f"some places are much rarer than others: {sorted(seen.values())}"

    def test_sides(self):
        "Rows and columns have places of their own: 1 by 4 in 3 by 4 pixels starts at 0, 4 or 8"
        expect(sorted(first for first, _ in self.places((1, 4), (3, 4), 60)), [0, 4, 8])

    def test_shape(self):
        "The window has the size that was asked for, with and without padding"
        for shape in (5, 7), (3, 5, 7), (2, 3, 5, 7):
            expect(RandomCrop((4, 6))(Tensor(np.zeros(shape))).shape, (*shape[:-2], 4, 6))
            expect(RandomCrop((5, 7), padding=2)(Tensor(np.zeros(shape))).shape, shape)

    def test_25_windows(self):
        "28 pixels with 2 more on each side: 25 windows of 28"
        x, crop = Tensor(np.pad([[1.]], (10, 17))), RandomCrop(28, padding=2)
        manual_seed(0)
        seen = {crop(x).data.argmax() for _ in range(500)}
        expect(len(seen), 25)

    def test_contents(self):
        "The window is a piece of the picture: neighbours stay neighbours"
        window = RandomCrop(2)(Tensor(np.arange(20).reshape(4, 5)))
        expect(window - window[0, 0], [[0, 1], [5, 6]])

    def test_whole(self):
        "A window as large as the picture is the picture"
        x = Tensor([[1., 2.], [3., 4.]])
        expect(RandomCrop(2)(x), [[1., 2.], [3., 4.]])

    def test_seed(self):
        "manual_seed decides, and the row is drawn before the column"
        x, crop = Tensor(np.arange(100).reshape(10, 10)), RandomCrop((4, 2))
        for seed in range(5):
            manual_seed(seed)
            top, left = randint(7, (1,)).item(), randint(9, (1,)).item()
            manual_seed(seed)
            expect(crop(x)[0, 0], 10 * top + left, why=f"manual_seed({seed}) and the default generator give "
                   f"row {top}, then column {left}; the number there is 10 * row + column")

    def test_too_large(self):
        "A window that does not fit is an error with both sizes"
        expect_error(ValueError, RandomCrop((5, 2)), Tensor(np.zeros((1, 4, 4))), says=["5 by 2", "4 by 4"])


run_tests(TestRandomCrop)

# %% [markdown]
# A dataset calls a transform when an item is asked for, so each epoch sees other pictures. Here is one of
# the digits, a four, as it would come in six epochs, moved by up to two pixels:

# %%
class Moved(Dataset):
    "The digits (1, 8, 8), each at a random place"
    def __init__(self):
        pictures, labels, _, _ = digits()
        self.pictures, self.labels = pictures.reshape(-1, 1, 8, 8), labels
        self.transform = RandomCrop(8, padding=2)

    def __len__(self): return len(self.pictures)
    def __getitem__(self, index): return self.transform(self.pictures[index]), self.labels[index]


@measure
def six_times_the_same():
    data = Moved()
    manual_seed(1)
    four = data.labels.tolist().index(4)
    grids = [data[four][0][0].numpy() for _ in range(6)]
    for row in range(8):
        print("    ".join("".join(2 * " .:+#@"[int(5 * v)] for v in grid[row]) for grid in grids))

# %% [markdown]
# ## Exercise 8: the next batch, meanwhile
#
# Loading a batch takes 30 ms, a step of training 30 ms. One after the other that is 60. But while the
# processor multiplies matrices, nobody loads. A second **thread** can: it loads batches and puts them
# into a **queue**, and the loop takes them out.
#
# ```
# thread     load 0    load 1    load 2    load 3    waits, with 3    load 4    waits, with 4
# queue                          1         1 2       1 2              2 3       2 3
# the loop   waits     step 0 .............................           step 1 ................
# ```
#
# Here the queue has two places; batch 0 is taken as soon as it is there. It is harder than it looks:
#
# * **The queue is bounded.** A thread that is faster than the loop would fill the memory with batches.
#   `queue.Queue(ahead)` holds `ahead` of them; `put` waits while it is full, `get` while it is empty.
# * **An error in the thread** is seen by nobody: the thread ends, and the loop waits forever. So the
#   thread sends it through the queue, and it is raised here, in the place of the batch.
# * **The loop may stop early**, by `break` or by an error of its own. Then the thread hangs in `put`
#   forever, with a batch in its hands. So it must be told to stop, and freed if it waits.
#
# The thread's side is given: `fill` puts pairs into the queue, (item, None) for each item, and last of
# all `(END, error)`, where the error is None if all went well. After each `put` it looks at `stop`, and
# returns if that is set: a `threading.Event()` is a flag that one thread sets and another one sees.
#
# Yours is the other side, a generator. Make the queue and the event, and start the thread as a *daemon*,
# one that the program does not wait for when it ends:
# `threading.Thread(target=fill, args=(items, ready, stop), daemon=True).start()`. Take pairs out and yield
# the items; at END (ask with `is`), raise the error if there is one, else return.
#
# When the loop is left, by whatever way, the generator is closed where it stands, at its `yield`, and
# `finally` runs: set `stop`, **then** empty the queue with `ready.get_nowait()` until `ready.empty()`. A
# thread that waits in `put` then finds room, and sees `stop` next; the other way round it may fill the
# queue once more before `stop` is set, and wait forever.

# %%
#| export data.prefetching
END = object()


def fill(items, ready, stop):
    """Put each of `items` into the queue `ready` as (item, None), then (END, the error or None)."""
    error = None
    try:
        for item in items:
            ready.put((item, None))
            if stop.is_set():
                return
    except BaseException as raised:                    # whatever it is, the loop must hear of it
        error = raised
    ready.put((END, error))


def prefetch(items, ahead=2):
    """Yields what `items` yields, made in a thread: `ahead` items wait at most, and one is in its hands.

    An error in the thread is raised here, in its place. The thread begins when the first item is asked for,
    and ends with the item it is at when the loop is left.

    >>> list(prefetch(range(3)))
    [0, 1, 2]
    """
    ### BEGIN SOLUTION
    ready, stop = queue.Queue(ahead), threading.Event()
    threading.Thread(target=fill, args=(items, ready, stop), daemon=True).start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is END:
                return
            yield item
    finally:
        stop.set()
        while not ready.empty():
            ready.get_nowait()
    ### END SOLUTION


# %%
patience = [5]                                         # seconds; less once somebody waited in vain


def in_time(function):
    "What function() returns; fails if it has not returned after some seconds"
    found, seconds = queue.Queue(), patience[0]

    def run():
        try:
            found.put((function(), None))
        except BaseException as error:
            found.put((None, error))
    threading.Thread(target=run, daemon=True).start()
    try:
        value, error = found.get(timeout=seconds)
    except queue.Empty:
        patience[0] = 0.5
        raise AssertionError(f"still waiting after {seconds} seconds: nothing comes out of the queue, or "
                             "there is no room in it, and nobody will change that") from None
    if error is not None:
        raise error
    return value


class Source:
    "For the tests: counts how many items were made, says in which thread, and whether it was left to its end"
    def __init__(self, n, fails_at=None): self.n, self.fails_at, self.made, self.thread = n, fails_at, 0, None

    def __iter__(self):
        self.thread = threading.current_thread()
        for i in range(self.n):
            if i == self.fails_at:
                raise IndexError(f"item {i} is broken")
            self.made += 1
            yield 10 * i

    def settled(self, at_least=2):
        "How many were made, once there are so many (or two seconds are over) and no more come"
        made, give_up = None, time.monotonic() + 2
        while self.made < at_least and time.monotonic() < give_up:
            time.sleep(0.01)
        while made != self.made:
            made = self.made
            time.sleep(0.05)
        return made

    def ended(self):
        "Whether the thread ends within two seconds"
        self.thread.join(2)
        return not self.thread.is_alive()


class TestPrefetch:
    """The next batch, meanwhile"""
    def test_the_same(self):
        "The same items, in the same order; none if there are none"
        for n in 0, 1, 7:
            expect(in_time(lambda n=n: list(prefetch(Source(n), 2))), [10 * i for i in range(n)])

    def test_in_a_thread(self):
        "They are made in a thread of their own, which ends with the last item"
        source = Source(5)
        here = in_time(lambda: list(prefetch(source)) and threading.current_thread())
        assert source.thread is not here, "the items were made in the thread that asked for them"
        gone = source.ended()
        assert gone, "the thread is still there after the last item"

    def test_daemon(self):
        "The thread is a daemon: a program ends without waiting for it"
        in_time(lambda: list(prefetch(Source(2))))     # it ends; now here, where threads are no daemons
        source = Source(2)
        list(prefetch(source))
        assert source.thread.daemon, "Thread(..., daemon=True)"

    def test_meanwhile(self):
        "While the loop is busy with the first item, `ahead` more wait, and one is in the thread's hands"
        for ahead in 1, 3:
            source = Source(100)

            def start(source=source, ahead=ahead):
                with closing(prefetch(source, ahead)) as items:
                    next(items)
                    return source.settled(ahead + 2)
            made = in_time(start)
            expect(made, ahead + 2, why=f"with ahead={ahead}, one item is in use, {ahead} in the queue, and "
                                        "one in hands. More: the queue needs a bound. Fewer: is it "
                                        "`ahead`? Only one: nothing is made meanwhile")

    def test_waits_asleep(self):
        "Where nothing is ready the loop sleeps: it needs no time of the processor"
        def slow():
            time.sleep(0.3)
            yield 1

        def used():
            start = time.thread_time()                 # what this thread alone had of the processor
            list(prefetch(slow()))
            return time.thread_time() - start
        assert in_time(used) < 0.1, "asked again and again: `ready.get()` sleeps until there is a pair"

    def test_error(self):
        "An error in the thread is raised here, after the items before it, with its class and its text"
        def collect():
            got, items = [], prefetch(Source(5, fails_at=2), 2)
            try:
                for item in items:
                    got.append(item)
            except IndexError as error:
                return got, str(error)
            return got, "no error"
        got, said = in_time(collect)
        expect(got, [0, 10], why="the items before the error must come first")
        expect(said, "item 2 is broken", why="the thread's error must be raised here")

    def test_falsy(self):
        "None, 0, an empty list and an array are items like others: only what `is` END is the end"
        items = [None, 0, [], False, np.zeros(2), Tensor([0., 0.])]
        got = in_time(lambda: list(prefetch(items)))
        assert [*map(id, got)] == [*map(id, items)], f"of {items} came out {got}"

    def test_break(self):
        "After a break the thread ends, also when it waits for room in the queue"
        for ahead in 1, 2, 5:
            source = Source(1000)

            def leave(source=source, ahead=ahead):
                for _ in prefetch(source, ahead):
                    source.settled()                   # by now the queue is full, and the thread waits
                    break
            in_time(leave)
            gone = source.ended()
            assert gone, ("after a break the thread is still there: set stop, then empty the queue, in a "
                          "finally around the loop")
            assert source.made <= ahead + 3, f"{source.made} items were made, although the loop was left"

    def test_stop_first(self):
        "Whoever empties the queue has set `stop` before: else the thread may fill it once more, and wait"
        class Slow(threading.Event):
            def set(self):
                time.sleep(0.05)                       # long enough for a thread that is not told to stop
                super().set()
        source = Source(1000)

        def leave():
            with patch.object(threading, "Event", Slow), closing(prefetch(source, 1)) as items:
                next(items)
                source.settled(3)
        in_time(leave)
        gone = source.ended()
        assert gone, "the loop is left, and the thread waits in put: set stop first, then empty the queue"

    def test_error_in_the_loop(self):
        "An error in the loop ends the thread too"
        source = Source(1000)

        def leave():
            for _ in prefetch(source):
                raise KeyError
        expect_error(KeyError, in_time, leave)
        gone = source.ended()
        assert gone, "the loop was left by an error, and the thread is still there"


run_tests(TestPrefetch)

# %% [markdown]
# ## Exercise 9: the loader
#
# Everything is there, and a loader is the loop around it: for each list of numbers, get the items, put
# them together, hand the batch out. With the items a, b, c, d, e and the order [3 0] [4 1] [2]:
#
# ```
# [3 0] -> d, a -> a batch        [4 1] -> e, b -> a batch        [2] -> c -> a batch
# ```
#
# A batch is loaded **when it is asked for**, not before: all of them at once would not fit into memory.
# So `batches` is a generator. Two methods of the class do the work, and their errors name the items:
#
# * `self.items(indices)`: the items with these numbers, in this order, as a list;
# * `self.put_together(items, indices)`: what the `collate_fn` makes of them; the numbers are for its errors.
#
# The class stands here whole, but you need to read only the two methods that are exercises, `batches` now
# and `load_state_dict` next. Of the rest, `__init__` chooses the sampler, and `__iter__` starts an epoch: it
# sends each batch of your `batches` through what is given, and through your `prefetch` if it is asked to.

# %%
#| export data.loader
class DataLoader(LoaderBase):
    """Batches of a dataset, epoch by epoch: `for x, y in DataLoader(dataset, 32, shuffle=True)`.

    sampler yields numbers of items, batch_sampler lists of them; shuffle=True is a RandomSampler.
    batch_size=None hands out single items. prefetch: how many batches one thread loads ahead, 0 for none;
    num_workers=n is PyTorch's way to ask for 2 n (or prefetch_factor n). generator: where the order and the
    random numbers of transforms come from; by default one is made. worker_init_fn(0) is called in the
    thread, before its first batch. The others are about processes, and change nothing.
    """
    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch=0, prefetch_factor=None,
                 persistent_workers=False, pin_memory_device="", in_order=True):
        self.check(dataset, batch_size, shuffle, sampler, batch_sampler, drop_last, num_workers, timeout,
                   prefetch, prefetch_factor)
        self.dataset, self.generator, self.lock = dataset, own_generator(generator), threading.Lock()
        if self.is_stream:
            sampler = dataset                          # the items themselves, in groups
        elif sampler is None:
            sampler = (RandomSampler(dataset, generator=self.generator) if shuffle
                       else SequentialSampler(dataset))
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.order = sampler if batch_sampler is None else batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.num_workers, self.worker_init_fn, self.pin_memory = num_workers, worker_init_fn, pin_memory
        self.prefetch = prefetch or num_workers * (2 if prefetch_factor is None else prefetch_factor)

    @property
    def takes_rows(self): return self.collate_fn is default_collate

    def batches(self, order):
        """Yields a batch for each list of numbers in `order`; loads it when it is asked for.

        >>> list(DataLoader("abcde", collate_fn="".join).batches([[3, 0], [4, 1], [2]]))
        ['da', 'eb', 'c']
        """
        ### BEGIN SOLUTION
        for indices in order:
            yield self.put_together(self.items(indices), indices)
        ### END SOLUTION

    def __iter__(self):
        order, randoms, record = self.begin()
        batches = map(self.single, order) if self.batch_sampler is None else self.batches(order)
        batches = with_random(batches, randoms, self.lock)
        if self.prefetch:
            batches = prefetch(self.in_thread(batches), self.prefetch)
        return self.handed_out(batches, record)

    def load_state_dict(self, state):
        """Go on where a loader was that gave this `state_dict()`: the next epoch is the rest of its epoch.

        Raises ValueError if that loader had another plan: other data, batches or order.
        """
        ### BEGIN SOLUTION
        if state["plan"] != self.plan():
            raise ValueError(f"load_state_dict: the state is of a loader with {state['plan']}, this one has "
                             f"{self.plan()}. Make it as that one was made.")
        self.generator.set_state(state["generator"])
        self.load_sampler(state)
        self.position, self.skip = None, state["batches"]
        ### END SOLUTION


# %%
class Watched:
    "For the tests: a dataset of letters that notes which items it was asked for"
    def __init__(self, letters="abcde"): self.letters, self.asked = letters, []
    def __len__(self): return len(self.letters)
    def __getitem__(self, index):
        self.asked.append(index)
        return self.letters[index]


def together(items): return "".join(items)             # a collate_fn for letters


class TestDataLoaderBatches:
    """The loader"""
    def test_by_hand(self):
        "The order [3 0] [4 1] [2] of a to e gives da, eb, c"
        batches = DataLoader(Watched(), collate_fn=together).batches([[3, 0], [4, 1], [2]])
        expect(list(batches), ["da", "eb", "c"])

    def test_when_asked_for(self):
        "A batch is loaded when it is asked for, and no item earlier"
        data = Watched()
        batches = iter(DataLoader(data, collate_fn=together).batches([[3, 0], [4, 1], [2]]))
        expect(len(data.asked), 0, why="items were loaded before anybody asked: yield batch by batch")
        expect(next(batches), "da")
        expect(data.asked, [3, 0], why="items of later batches were loaded already")

    def test_order_taken_as_it_comes(self):
        "The order may be endless: only as many lists are taken as batches are asked for"
        order = ([i % 5] for i in endless())
        batches = DataLoader(Watched(), collate_fn=together).batches(order)
        expect([next(batches) for _ in range(7)], ["a", "b", "c", "d", "e", "a", "b"])

    def test_collate_fn(self):
        "The loader's own collate_fn makes the batch, from a list of items"
        def kind(items): return type(items).__name__, *items
        batch, = DataLoader(Watched(), collate_fn=kind).batches([[2, 0]])
        expect(batch, ("list", "c", "a"), why="collate_fn gets the list of items, in one call")

    def test_error_in_an_item(self):
        "An item that cannot be loaded: the error has its class, and names the item"
        class Broken(Watched):
            def __getitem__(self, index): return 1 // (index - 3)
        batches = DataLoader(Broken(), collate_fn=list).batches([[0, 1], [2, 3]])
        next(batches)
        expect_error(ZeroDivisionError, next, batches, says=["item 3", "Broken"])

    def test_error_in_the_batch(self):
        "A batch that cannot be put together: the error names the items of the dataset"
        def fails(items): raise KeyError("no such field")
        expect_error(KeyError, next, DataLoader(Watched(), collate_fn=fails).batches([[4, 1]]),
                     says=["[4, 1]", "no such field"])


run_tests(TestDataLoaderBatches)


# %%
class TestDataLoader:
    """The loader, whole"""
    def test_ten_by_four(self):
        "Ten items by four: 4, 4, 2, every item once, in another order in the second epoch"
        loader = DataLoader(TensorDataset(Tensor(np.arange(10))), 4, shuffle=True)
        epochs = [[x.tolist() for x, in loader] for _ in range(2)]
        for epoch in epochs:
            expect([len(x) for x in epoch], [4, 4, 2])
            expect(sorted(sum(epoch, [])), list(range(10)))
        assert epochs[0] != epochs[1], "both epochs had the same order"
        expect(len(loader), 3)

    def test_ragged(self):
        "Of a ragged batch the error names both items of the dataset"
        shapes = [(2,), (2,), (2,), (3,), (2,)]
        loader = DataLoader([np.zeros(shape) for shape in shapes], batch_sampler=[[4, 0], [2, 1, 3]])
        batches = iter(loader)
        next(batches)
        expect_error(RuntimeError, next, batches, says=["items [2, 3]", "(3,)", "(2,)"])

    def test_learns(self):
        "The digits, three epochs in shuffled batches: more than 90 % right"
        x, y, _, truth = digits()
        loader = DataLoader(TensorDataset(x, y), 16, shuffle=True, generator=Generator().manual_seed(0))
        right = (learn([loader] * 3) == truth.numpy()).mean()
        assert right > 0.9, f"{right:.0%} right"


class TestPrefetching:
    """A loader that prefetches"""
    def crops(self, **options):
        "All pictures of an epoch, cropped at random"
        loader = DataLoader(Moved(), 500, shuffle=True, generator=Generator().manual_seed(0), **options)
        return np.concatenate([x.numpy() for x, _ in loader])

    def test_same_numbers(self):
        "With a thread and without: the same order and the same random crops, bit by bit"
        plain, before = self.crops(), default_generator().get_state()
        for options in {"prefetch": 1}, {"num_workers": 2}:
            expect(in_time(lambda options=options: self.crops(**options)), plain, tol=0,
                   why="are all random numbers of the crops drawn from the default generator?")
        untouched = default_generator().get_state() == before
        assert untouched, "the crops were drawn from this thread's own generator, not from the one lent to it"

    def test_error(self):
        "An item that fails in the thread is named here"
        class Broken(Moved):
            def __getitem__(self, index): return super().__getitem__(index if index != 70 else "seventy")
        loader = DataLoader(Broken(), 32, prefetch=2)
        expect_error(IndexError, in_time, lambda: list(loader), says=["item 70 of Broken"])


run_tests(TestDataLoader, TestPrefetching)

# %% [markdown]
# ## Exercise 10: in the middle of an epoch
#
# Module 07 saves a run, and goes on with it to the same bits. Weights and moments are not enough: killed
# at batch 137, the run must go on with batch 138 *of the same permutation*. A permutation of a million
# items need not be saved, because it can be drawn again. It takes the generator's state from **before**
# it was drawn, and a count:
#
# ```
# generator      state A --draws 3 1 0 4 2--> state B
# handed out     [3 1]  [0 4]  now killed                       saved: state A, 2 batches
#
# later          state A --draws 3 1 0 4 2--> state B           leave out 2, go on with [2]
# ```
#
# Saving state B would give another permutation; some items would come twice in this epoch, and others
# never. Counting the batches that the thread *has loaded* would lose those that were in the queue.
#
# `state_dict()` (given) has it: for an epoch that is under way, its beginning and the batches handed out;
# between two epochs, the generator as it is, and 0; and the *plan*, which must be the same in both loaders.
# With the loader above:
#
# ```
# {"plan": {"items": 5, "batch_size": 2, "drop_last": False, "order": "RandomSampler"},
#  "generator": {...state A...}, "sampler": {...}, "batches": 2}
# ```
#
# The way back is the method `load_state_dict` of the class above. Before it changes anything, it compares
# `state["plan"]` with `self.plan()`, and for another one
#
# ```python
# raise ValueError(f"load_state_dict: the state is of a loader with {state['plan']}, this one has "
#                  f"{self.plan()}. Make it as that one was made.")
# ```
#
# Then it sets four things:
#
# * `self.generator` gets its state back, by its method `set_state`.
# * So does a sampler that has one of its own: `self.load_sampler(state)` (given) takes the whole state.
# * `self.skip` is how many batches the next epoch leaves out. Starting it takes that many lists from the
#   order without loading anything, and sets it back to 0.
# * `self.position` becomes None: whatever epoch was under way in this loader, it is forgotten.
#
# The random crops of a batch come out the same as well: while it is loaded, the thread is lent a generator
# (`with_random`, given) whose seed is made of the epoch and the number of the batch alone.

# %%
class TestDataLoaderLoadStateDict:
    """In the middle of an epoch"""
    def loader(self, seed=0, n=10, data=None, **options):
        options = {"batch_size": 2, "shuffle": True, "collate_fn": list, **options}
        return DataLoader(Watched("abcdefghijklmnopqrstuvwxyz"[:n]) if data is None else data,
                          generator=Generator().manual_seed(seed), **options)

    def interrupted(self, batches, epochs=0, **options):
        "The state after whole epochs and some batches, and what comes then: the rest, and the next epoch"
        loader = self.loader(**options)
        for _ in range(epochs):
            list(loader)
        epoch = iter(loader)
        for _ in range(batches):
            next(epoch)
        return loader.state_dict(), list(epoch), list(loader)

    def test_by_hand(self):
        "After two of five batches: another loader goes on with the other three, then the same next epoch"
        state, rest, following = self.interrupted(2)
        loader = self.loader(seed=99)
        loader.load_state_dict(state)
        expect(list(loader), rest, why="five batches: `self.skip` says how many to leave out; other letters: "
                                       "the random numbers did not go back, by set_state and load_sampler")
        expect(list(loader), following, why="only the first epoch after it is shorter")

    def test_every_place(self):
        "From each place of the third epoch, its start and its end included"
        for batches in range(6):
            state, rest, following = self.interrupted(batches, epochs=2)
            loader = self.loader(seed=99)
            loader.load_state_dict(state)
            expect([list(loader), list(loader)], [rest, following], why=f"after {batches} batches")

    def test_nothing_loaded_again(self):
        "Batches that were handed out are not loaded once more"
        state, rest, _ = self.interrupted(3)
        data = Watched("abcdefghij")
        loader = self.loader(data=data)
        loader.load_state_dict(state)
        expect(len(data.asked), 0, why="load_state_dict itself loads nothing")
        list(loader)
        expect(len(data.asked), 4, why="ten items, of which six were handed out: only four are loaded")

    def test_loaded_ahead(self):
        "What a thread had loaded ahead does not count as handed out"
        state, rest, _ = in_time(lambda: self.interrupted(2, prefetch=3))
        loader = self.loader(seed=99)
        loader.load_state_dict(state)
        expect(list(loader), rest)

    def test_crops(self):
        "Random crops go on as they would have"
        def cropped(x): return RandomCrop(2)(x)
        class Crops(Watched):
            def __getitem__(self, index): return cropped(Tensor(np.arange(64).reshape(8, 8)))[0, 0].item()
        for shuffle in True, False:
            state, rest, following = self.interrupted(3, data=Crops(), shuffle=shuffle)
            loader = self.loader(data=Crops(), seed=99, shuffle=shuffle)
            loader.load_state_dict(state)
            expect([list(loader), list(loader)], [rest, following],
                   why="the epoch's seed comes from the generator too, also where nothing is shuffled: was "
                       "its state set?")

    def test_sampler_of_its_own(self):
        "A sampler with a generator of its own goes on as well"
        def options(seed):
            sampler = RandomSampler(range(10), generator=Generator().manual_seed(seed))
            return {"sampler": sampler, "shuffle": False}
        state, rest, following = self.interrupted(2, epochs=1, **options(3))
        loader = self.loader(**options(4))
        loader.load_state_dict(state)
        expect([list(loader), list(loader)], [rest, following], why="was load_sampler called?")

    def test_in_the_middle_of_another(self):
        "A loader that is under way itself forgets where it was"
        state, rest, _ = self.interrupted(2)
        loader = self.loader(seed=99)
        next(iter(loader))
        loader.load_state_dict(state)
        same = loader.state_dict() == state
        assert same, "saved again at once, it must be the state that was loaded: is position None, skip set?"
        expect(list(loader), rest)

    def test_twice(self):
        "The same state loaded twice is loaded once"
        state, rest, _ = self.interrupted(2)
        loader = self.loader(seed=99)
        loader.load_state_dict(state)
        loader.load_state_dict(state)
        expect(list(loader), rest, why="skip is *set* to the state's batches, not counted up")

    def test_another_plan(self):
        "Other items, batches or order are an error that names both; nothing has changed"
        state, _, _ = self.interrupted(2)
        for options, said in (({"n": 12}, "12"), ({"batch_size": 5}, "5"),
                              ({"shuffle": False}, "SequentialSampler")):
            loader = self.loader(**options)
            before = loader.state_dict()
            expect_error(ValueError, loader.load_state_dict, state, says=["RandomSampler", "10", said])
            unchanged = loader.state_dict() == before
            assert unchanged, "the loader was changed, and then the error came: compare the plans first"


run_tests(TestDataLoaderLoadStateDict)

# %% [markdown]
# ## Measure
#
# A dataset whose items are slow, 30 ms for a batch of ten: first as if they came from a disk or the
# network, so that the thread only waits; then computed in plain Python. Beside it a step of 30 ms: one
# large NumPy operation, or the same work as many small ones.
#
# Guess first: how many milliseconds does a batch with its step take? Without a thread; with one, items from
# the disk; with items in plain Python; and those beside many small operations. Put your four numbers in.

# %%
guess_serial, guess_disk, guess_python, guess_small_steps = None, None, None, None     # milliseconds a batch


def plain_python(n): return sum(i * i for i in range(n))


class Slow(Dataset):
    "Ten items a batch; `when` keeps the beginning and the end of each batch"
    def __init__(self, one_item): self.one_item, self.when = one_item, []
    def __len__(self): return 100
    def __getitem__(self, index): return index

    def __getitems__(self, indices):
        start = time.perf_counter()
        for _ in indices:
            self.one_item()
        self.when.append((start, time.perf_counter()))
        return indices


def epoch_with(one_item, step, ahead):
    "Milliseconds a batch takes, and when each was loaded and used"
    data, used, start = Slow(one_item), [], time.perf_counter()
    with closing(iter(DataLoader(data, 10, prefetch=ahead))) as batches:
        for _ in batches:
            began = time.perf_counter()
            step()
            used.append((began, time.perf_counter()))
    return (used[-1][1] - start) / len(used) * 1e3, data.when, used


def draw(loaded, used, until=0.3):
    "Two lines of time: what was loaded when, and used when; a batch is its last digit"
    start = loaded[0][0]
    for name, spans in ("load", loaded), ("step", used):
        line = ["."] * 75
        for number, (begin, end) in enumerate(spans):
            for place in range(int(75 * (begin - start) / until), int(75 * (end - start) / until)):
                line[place:place + 1] = str(number) if place < 75 else []
        print(f"  {name}  {''.join(line)}")


@measure
def who_waits():
    if None in (guess_serial, guess_disk, guess_python, guess_small_steps):
        print("Guess first: put your four numbers into the cell above.")
        return
    small = np.ones(1000)
    loops, calls = round(0.003 / timed(plain_python, 1000)), round(0.03 / timed(np.sin, small))
    large = np.ones(1000 * calls)
    def disk(): time.sleep(0.003)
    def python(): plain_python(1000 * loops)
    def large_step(): np.sin(large)
    large_step()                                       # the first time is slower: memory must be fetched

    def small_steps():
        for _ in range(calls):
            np.sin(small)

    for said, one_item, step, ahead, guess in (
            ("one after the other", disk, large_step, 0, guess_serial),
            ("with a thread; items wait for a disk", disk, large_step, 2, guess_disk),
            ("with a thread; items in plain Python", python, large_step, 2, guess_python),
            ("the same beside many small operations", python, small_steps, 2, guess_small_steps)):
        per_batch, loaded, used = epoch_with(one_item, step, ahead)
        print(f"{per_batch:5.0f} ms a batch {said} (you guessed {guess})")
        draw(loaded, used)


# %% [markdown]
# What must hold on any machine with two cores to spare. One after the other takes the *sum* of the two,
# about 60 ms. With a thread that waits for a disk, a batch takes little more than the *longer* of the
# two: the first batch must be waited for, the others are ready when the step is done.
#
# Items in plain Python are nearly as good beside one large operation. Python has a lock that lets only
# one thread run Python at a time (unless yours is a free-threaded build), and NumPy lets go of it while
# it computes. Beside many small operations it is different: after each of them the loop wants the lock
# back, and the thread, busy with Python, hands it over only every few milliseconds. So the loop waits for
# the lock: the fourth row is about as slow as the first, or slower. There, only processes help.
#
# And items that are in memory already? Fetching 64 pictures one by one and putting them together takes 64
# times two small tensors; one index with 64 numbers takes two. `TensorDataset.__getitems__` does that,
# and the loader asks for it where there is one.

# %%
class OneByOne(TensorDataset):
    __getitems__ = None


@measure
def one_by_one_or_together():
    x, y = Tensor(np.zeros((5000, 1, 28, 28), "float32")), Tensor(np.zeros(5000, "int64"))
    for name, kind in ("one by one", OneByOne), ("together", TensorDataset):
        loader = DataLoader(kind(x, y), 64, shuffle=True)
        taken = timed(lambda loader=loader: [None for _ in loader], repeat=3)
        print(f"an epoch of 5,000 pictures, fetched {name:10} {taken * 1e3:6.1f} ms")


# %% [markdown]
# The opening question, once more with your own code. The order is the only difference:

# %%
@measure
def the_opening_question():
    x, y, _, truth = digits()
    data = Subset(TensorDataset(x, y), y.numpy().argsort(kind="stable").tolist())
    for name, shuffle in ("sorted", False), ("shuffled", True):
        manual_seed(0)
        loader = DataLoader(data, 16, shuffle=shuffle)
        right = [f"{(learn([loader] * epochs) == truth.numpy()).mean():.0%}" for epochs in (1, 5, 20)]
        print(f"{name:8} {right} right after 1, 5, 20 epochs")


# %% [markdown]
# ## Reflect
#
# Answer in a sentence or two each, then compare with `## reflection-1` and so on in HINTS.md.
#
# 1. PyTorch loads in processes, `prefetch` in a thread. Why can a thread be enough, and when is it not?
# 2. Name everything that must be fixed so that two runs see the same numbers in the same order. What
#    would a second loading thread add to the list?
# 3. `Normalize` needs a mean and a deviation. Of which pictures, and what goes wrong if it is of all
#    there are?
#
# ## Where this code lives
#
# `tito export 08` writes it to `tinytorch/data/`: `datasets.py`, `samplers.py`, `collate.py`,
# `loader.py`, `transforms.py`, `prefetching.py`, and beside them what was given, among it more
# transforms, windows of a text (`windows.py`) and pictures to learn from (`images.py`).
#
# ```python
# from tinytorch.utils.data import DataLoader, TensorDataset, random_split
# train, held_out = random_split(TensorDataset(x, y), [0.8, 0.2])
# for x, y in DataLoader(train, batch_size=64, shuffle=True, num_workers=1): ...
# ```
#
# Module 07's trainer saves the loader's state with everything else. `milestones/1986_mlp.py` and
# `1998_lenet.py` learn from MNIST through it, module 13 from windows of a text.
#
# In the real world: PyTorch's `DataLoader` has the same arguments, and starts *processes*, since its
# users decode photographs in Python. A process needs everything sent to it and back: shared memory,
# pickled datasets, a seed for each worker. For the middle of an epoch the package `torchdata` has a
# `StatefulDataLoader`.
