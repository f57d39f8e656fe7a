"""Many numbers into one: sums, means, largest numbers, norms, against NumPy in float64."""
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.reductions import linalg_norm, matrix_norm, vector_norm

from .support import same

inf, nan = math.inf, math.nan

X = np.array([[[3., -1., 2.], [0.5, 4., -2.]], [[1., 1., 5.], [-3., 2., 0.25]]])  # (2, 2, 3)


@pytest.mark.parametrize("dim", [None, 0, 1, -1, (0, 2), (1,), [0, 1], ()])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "var", "std", "logsumexp", "all",
                                  "any", "norm"])
def test_reductions(name, dim, keepdim):
    """Every reduction over no, one, several and all dims, with and without keepdim"""
    if dim is None and name == "logsumexp":
        dim = (0, 1, 2)
    axis = tuple(dim) or None if isinstance(dim, (tuple, list)) else dim
    reference = {
        "sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min,
        "var": lambda x, **how: np.var(x, ddof=1, **how),
        "std": lambda x, **how: np.std(x, ddof=1, **how),
        "logsumexp": lambda x, **how: np.log(np.sum(np.exp(x), **how)),
        "all": lambda x, **how: np.all(x > -2, **how), "any": lambda x, **how: np.any(x > 4, **how),
        "norm": lambda x, **how: np.sqrt(np.sum(x * x, **how))}[name]
    x = torch.tensor(X, dtype=torch.float32)
    x = x > -2 if name == "all" else x > 4 if name == "any" else x
    got = getattr(torch, name)(x, dim=dim, keepdim=keepdim)
    same(got, reference(X, axis=axis, keepdims=keepdim), rtol=2e-6)
    assert got.dtype == (torch.bool if name in ("all", "any") else torch.float32)


@pytest.mark.parametrize("name", ["prod", "cumsum", "cumprod", "argmax", "argmin"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_reductions_over_one_dim(name, dim):
    reference = getattr(np, name)(X, axis=dim)
    same(getattr(torch.tensor(X), name)(dim), reference,
         "int64" if name.startswith("arg") else "float64")


def test_without_dim():
    x = torch.tensor([[3., -1.], [0.5, 4.]])
    same(x.prod(), -6.)
    same(x.argmax(), 3, "int64")
    same(x.argmin(), 1)
    same(x.max(), 4.)
    same(torch.min(x), -1.)
    same(x.argmax(1, keepdim=True), [[0], [1]])
    same(x.prod(0, keepdim=True), [[1.5, -4.]])
    same(torch.count_nonzero(torch.tensor([[0., 2.], [0., 0.]])), 1, "int64")
    same(torch.tensor([[0., 2.], [1., 3.]]).count_nonzero(0), [1, 2])


def test_max_with_its_place():
    """max(dim) gives values and indices, the first one where several are equal"""
    x = torch.tensor([[1., 7., 7.], [9., 0., 2.]])
    found = x.max(1)
    same(found.values, [7., 9.])
    same(found.indices, [1, 0], "int64")
    values, indices = torch.min(x, 0, keepdim=True)
    same(values, [[1., 0., 2.]])
    same(indices, [[0, 1, 1]])
    same(torch.max(x, torch.tensor(5.)), [[5., 7., 7.], [9., 5., 5.]])
    same(x.min(torch.tensor([3.])), [[1., 3., 3.], [3., 0., 2.]])


def test_nan_is_the_largest():
    x = torch.tensor([1., nan, 3.])
    same(x.max(), nan)
    same(x.argmax(), 1)
    same(x.sum(), nan)


def test_sums_of_integers_are_int64():
    """200 times uint8 200 would overflow 8 bits"""
    same(torch.full((200,), 200, dtype=torch.uint8).sum(), 40000, "int64")
    same(torch.tensor([True, True, False]).sum(), 2, "int64")
    same(torch.tensor([100, 100], dtype=torch.int8).cumsum(0), [100, 200], "int64")
    same(torch.tensor([16, 16], dtype=torch.int8).prod(), 256, "int64")
    same(torch.tensor([3, 4], dtype=torch.int8).cumprod(0), [3, 12], "int64")
    same(torch.tensor([1, 2]).sum(dtype=torch.float64), 3., "float64")
    same(torch.tensor([1.5, 2.], dtype=torch.float16).sum(), 3.5, "float16")


def test_integers_have_no_mean():
    for name in ("mean", "var", "std"):
        with pytest.raises(RuntimeError, match="int64"):
            getattr(torch.tensor([1, 2]), name)()


def test_spread():
    """correction 1 divides by N - 1, correction 0 by N; one number alone has no spread"""
    x = torch.tensor([1., 4.])
    same(x.var(), 4.5)
    same(x.var(correction=0), 2.25)
    same(x.std(), math.sqrt(4.5))
    same(x.std(0, correction=0, keepdim=True), [1.5])
    same(torch.tensor([3.]).var(), nan)
    spread, middle = torch.var_mean(torch.tensor(X), dim=1)
    same(spread, X.var(1, ddof=1))
    same(middle, X.mean(1))
    spread, middle = torch.std_mean(torch.tensor(X), dim=(0, 2), correction=0, keepdim=True)
    same(spread, X.std((0, 2), keepdims=True))
    same(middle, X.mean((0, 2), keepdims=True))


def test_logsumexp_of_large_and_lost_numbers():
    same(torch.logsumexp(torch.tensor([1000., 1000.]), 0), 1000 + math.log(2))
    same(torch.logsumexp(torch.tensor([-inf, -inf]), 0), -inf)
    same(torch.logsumexp(torch.tensor([inf, 1.]), 0), inf)
    same(torch.logsumexp(torch.tensor([0, 0]), 0), math.log(2), "float32")


def test_reductions_of_nothing():
    """The sum of nothing is 0, the product 1, the mean nan, the largest number an error"""
    x = torch.zeros(0, 3)
    same(x.sum(), 0.)
    same(x.sum(0), [0., 0., 0.])
    same(x.sum(1), np.zeros(0))
    same(x.prod(), 1.)
    same(x.mean(), nan)
    same(x.all(), True)
    same(x.any(), False)
    for name in ("amax", "max", "argmax"):
        with pytest.raises((RuntimeError, IndexError)):
            getattr(x, name)()


def test_a_single_number_can_be_reduced_over_dim_0():
    x = torch.tensor(3.)
    for name in ("sum", "mean", "amax", "logsumexp", "prod"):
        same(getattr(x, name)(0), 3.)
    same(x.cumsum(0), 3.)
    same(x.max(0).indices, 0)
    with pytest.raises(IndexError):
        x.sum(1)


@pytest.mark.parametrize("name",
                         ["sum", "mean", "amax", "var", "argmax", "cumsum", "all", "logsumexp"])
def test_a_dimension_that_is_not_there(name):
    """IndexError that names the shape and the dimension"""
    x = torch.zeros(2, 3) if name != "all" else torch.zeros(2, 3) > 0
    with pytest.raises(IndexError, match=r"(?s)(?=.*\(2, 3\))(?=.*2)"):
        getattr(x, name)(2)


def test_median_is_the_lower_one():
    x = torch.tensor([[3., 1., 2., 4.], [9., 9., 0., 5.]])
    same(x.median(), 3.)
    values, indices = x.median(1)
    same(values, [2., 5.])
    same(indices, [2, 3])
    same(x.median(0, keepdim=True).values, [[3., 1., 0., 4.]])
    same(torch.tensor([1., nan, 2.]).median(), nan)


# ---- norms ----

@pytest.mark.parametrize("p", [0, 1, 2, 3, 0.5, inf, -inf])
def test_p_norms(p):
    x = np.array([[3., -4., 0.5], [1., 2., -2.]])
    same(torch.norm(torch.tensor(x), p=p), np.linalg.norm(x.ravel(), p))
    same(vector_norm(torch.tensor(x), p, dim=1), np.linalg.norm(x, p, axis=1))
    same(torch.tensor(x).norm(p, dim=0, keepdim=True), np.linalg.norm(x, p, axis=0, keepdims=True))


@pytest.mark.parametrize("kind", ["fro", 1, -1, inf, -inf])
def test_matrix_norms(kind):
    x = np.arange(-5., 7.).reshape(2, 2, 3)
    expected = np.linalg.norm(x, kind, axis=(1, 2))
    same(matrix_norm(torch.tensor(x), kind), expected)
    same(linalg_norm(torch.tensor(x), kind, dim=(1, 2), keepdim=True), expected[:, None, None])


def test_norm_by_hand_and_refused():
    same(torch.norm(torch.tensor([3., 4.])), 5.)
    same(torch.dist(torch.tensor([1., 1.]), torch.tensor([4., 5.])), 5.)
    same(torch.dist(torch.tensor([1., 1.]), torch.tensor([4., 5.]), p=1), 7.)
    same(linalg_norm(torch.tensor([[3., 0.], [0., 4.]])), 5.)
    with pytest.raises(RuntimeError, match="int64"):
        torch.norm(torch.tensor([3, 4]))
    with pytest.raises(NotImplementedError, match="singular"):
        matrix_norm(torch.eye(2), 2)
