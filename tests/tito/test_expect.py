"""What `expect` takes for the same, and what it says where two values differ."""

import numpy as np
import pytest

from tito.checks import expect, expect_error
from tito.compare import difference


class Tensor:
    def __init__(self, data):
        self.data = np.asarray(data)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (Tensor([1.0, 2.0]), [1, 2]),
        ([Tensor(1.0), Tensor(2.0)], np.array([1, 2])),
        (np.float32(0.1), 0.1),
        (np.array([1e8 + 1], "float32"), [1e8]),
        (np.array(True), True),
        ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]], "int8")),
        ((2, 3), (2, 3)),
        ("text", "text"),
        (None, None),
        ({"a": 1}, {"a": 1}),
        ([np.nan, np.inf], [np.nan, np.inf]),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        ([[1, 2], [3]], [[1, 2], [3]]),
        (1 + 2j, 1 + 2j),
        ([], []),
    ],
)
def test_what_is_the_same(got, want):
    expect(got, want)


@pytest.mark.parametrize(
    ("got", "want", "message"),
    [
        (Tensor([1.5, 2.5]), [[1, 2, 3], [4, 5, 6]],
         "expected [[1, 2, 3], [4, 5, 6]] (2, 3), got [1.5, 2.5] (2,)\nThe shapes differ."),
        ([1.0, 2.0, 3.5], [1, 2, 3],
         "expected [1, 2, 3] (3,), got [1., 2., 3.5] (3,)\n"
         "1 of 3 values differ, the most at [2]: expected 3, got 3.5."),
        (3.0000041, 3, "expected 3, got 3.000004"),
        ((2, 3), (2, 4), "expected (2, 4), got (2, 3)"),
        ((2, 3), (2, 3, 1), "expected (2, 3, 1), got (2, 3)"),
        (None, [1, 2], "expected [1, 2] (2,), got None"),
        (None, 3, "expected 3, got None"),
        ("a", 3, "expected 3, got 'a'"),
        ("a", "b", "expected 'b', got 'a'"),
        (1, None, "expected None, got 1"),
        ([np.nan, 1.0], [0, 1],
         "expected [0, 1] (2,), got [nan, 1.] (2,)\n"
         "1 of 2 values differ, the most at [0]: expected 0, got nan.\n"
         "1 of the values are nan (0/0, 0 * inf, inf - inf or log(-1))."),
        ([1.0, 0.0], [1, 2],
         "expected [1, 2] (2,), got [1., 0.] (2,)\n"
         "1 of 2 values differ, the most at [1]: expected 2, got 0.\nThink"),
        ([[1, 3], [2, 4]], [[1, 2], [3, 4]], "They are the right values, transposed."),
        ([-1.0, 2.0], [1, -2], "The sign is reversed."),
        ([2.0, 4.0, 6.0], [1, 2, 3], "Every value is 2. times what it should be."),
        ([1 / 3, 2 / 3, -1], [1, 2, -3], "Every value is 0.3333333 times what it should be."),
        ([2.0, 4.0, 8.0], [1, 3, 7], "Every value is off by 1."),
        ([0.0, 0.0], [1, 3], "Every value got is 0."),
        (np.ones((2, 3)), np.ones((3, 2)), "got is turned on its side."),
        (np.ones((1, 3)), np.ones(3), "though the number of values is the same."),
        (np.inf, 1.0, "expected 1., got inf"),
        (True, False, "expected False, got True"),
    ],
)  # fmt: skip
def test_what_differs_is_said(got, want, message):
    with pytest.raises(AssertionError) as error:
        expect(got, want, why="Think of the axis.")
    text = str(error.value)
    assert message in text and text.endswith("\nThink of the axis.")
    if "\n" in message or message.startswith("expected"):
        assert text.startswith(message)


@pytest.mark.parametrize(("got", "want"), [
    ([2.0, 4.0], [1, 2]),  # two values, or one and a 0: some number times those that are wanted
    ([0.0, 2.0, 2.0], [0, 1, 1]),
    ([3.0, 5.0], [1, 3]),
    ([1.1036163, 2.2072326, 3.3108489], [1, 2, 3]),  # no slip makes a number like this
    ([0.9565951, 1.9565951, 2.9565951], [1, 2, 3]),
])
def test_a_coincidence_is_not_told_as_a_finding(got, want):
    assert "Every" not in difference(got, want)


def test_the_tolerance_is_relative_above_one():
    assert difference(1000.0005, 1000, 1e-6) == ""
    assert difference([0.1 + 1e-9, 1, 2, 4], [0.1, 1, 2, 4], 1e-12).splitlines()[1:] == [
        "1 of 4 values differ, the most at [0]: expected 0.1, got 0.100000001."]
    assert difference(1000.002, 1000, 1e-6) != ""
    assert difference(0.0005, 0, 1e-3) == "" and difference(0.002, 0, 1e-3) != ""


def test_large_arrays_are_shortened():
    message = difference(np.arange(10_000.0), np.arange(10_000.0) + (np.arange(10_000) == 77))
    assert len(message) < 300 and "[77]: expected 78., got 77." in message


def test_expect_error_wants_the_kind_and_the_words():
    def fail(x):
        raise ValueError(f"got (2, {x})")

    assert str(expect_error(ValueError, fail, 3, says=["(2, 3)", "got"])) == "got (2, 3)"
    expect_error(ValueError, fail, 3, says="got")
    for kind, says, message in (
        (TypeError, [], "expected TypeError, got ValueError: got (2, 3)\nWhy"),
        (ValueError, ["(2, 4)"], "ValueError is right, but its message does not name '(2, 4)':"),
    ):
        with pytest.raises(AssertionError) as error:
            expect_error(kind, fail, 3, says=says, why="Why")
        assert str(error.value).startswith(message)
    with pytest.raises(AssertionError, match="to raise ValueError, got 4"):
        expect_error(ValueError, len, "four")


def test_an_unsolved_exercise_is_not_taken_for_the_error_that_is_asked_for():
    def unsolved():
        raise NotImplementedError("05_five: f is not written yet")

    def deep():
        raise RecursionError("maximum")

    with pytest.raises(NotImplementedError):
        expect_error(RuntimeError, unsolved)
    with pytest.raises(AssertionError, match="expected RuntimeError, got RecursionError"):
        expect_error(RuntimeError, deep)
