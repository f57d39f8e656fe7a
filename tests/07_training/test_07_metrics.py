"""Accuracy and the confusion matrix."""
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.training import accuracy, confusion_matrix

SCORES = torch.tensor([[0.1, 2., -1.], [3., 0., 2.9], [0., 0.2, 0.5], [1., 0., 0.]])


def test_accuracy():
    got = accuracy(SCORES, torch.tensor([1, 2, 2, -100]))
    assert got.item() == pytest.approx(2 / 3) and got.shape == () and got.dtype == torch.float32
    assert accuracy(SCORES, torch.tensor([1, 0, 2, 0])).item() == 1.
    assert accuracy(SCORES, torch.tensor([0, 1, 1, 1])).item() == 0.
    assert accuracy(SCORES, torch.tensor([1, 0, 2, 0]), ignore_index=0).item() == 1.


def test_a_batch_of_rows():
    """(N, C, T) against (N, T), counted by hand over every place"""
    rng = np.random.default_rng(0)
    scores, target = rng.normal(size=(2, 4, 5)), rng.integers(0, 4, (2, 5))
    right = sum(scores[n, :, t].argmax() == target[n, t] for n in range(2) for t in range(5))
    assert accuracy(torch.tensor(scores), torch.tensor(target)).item() == pytest.approx(right / 10)


def test_without_examples():
    assert math.isnan(accuracy(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64)).item())


@pytest.mark.parametrize("scores, target", [((4, 3), (4, 1)), ((4, 3), (3,)), ((3,), ()), ((), ()),
                                            ((2, 3, 4), (2, 3))])
def test_shapes_that_do_not_fit(scores, target):
    with pytest.raises(ValueError) as error:
        accuracy(torch.zeros(scores), torch.zeros(target, dtype=torch.int64))
    assert str(scores) in str(error.value) and str(target) in str(error.value)


# ---- who is taken for whom ----

def test_confusion():
    """Rows are the true classes, columns what was said"""
    got = confusion_matrix(torch.tensor([0, 2, 2, 1]), torch.tensor([0, 1, 2, 1]))
    assert got.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]] and got.dtype == torch.int64


def test_confusion_of_scores():
    """A column for each score, also for a class that does not occur"""
    target = torch.tensor([1, 2, 1, 0])
    got = confusion_matrix(SCORES, target)
    assert got.tolist() == [[1, 0, 0], [0, 1, 1], [1, 0, 0]]
    assert got.trace().item() == accuracy(SCORES, target).item() * 4
    assert confusion_matrix([0], [0], classes=3).shape == (3, 3)
    assert confusion_matrix(torch.zeros(0, 2), torch.zeros(0, dtype=torch.int64)).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("predicted, target, says", [
    ([0, 1], [0], "(2,)"), ([0.5], [1], "float"), ([0], [-100], "-100"), ([[0., 1.]], [2], "0 to 1")])
def test_confusion_errors(predicted, target, says):
    with pytest.raises(ValueError) as error:
        confusion_matrix(torch.tensor(predicted), torch.tensor(target))
    assert says in str(error.value)
