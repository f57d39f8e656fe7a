"""Products of vectors, matrices and whatever einsum can say, against NumPy in float64."""
import numpy as np
import pytest

import tinytorch as torch

from .support import same

A, B = np.arange(6.).reshape(2, 3), np.arange(-6., 6.).reshape(3, 4)
V, W = np.array([1., -2., 3.]), np.array([0.5, 2., -1.])


def test_named_products():
    a, b, v, w = [torch.tensor(x) for x in (A, B, V, W)]
    same(a @ b, A @ B, "float64")
    same(torch.mm(a, b), A @ B)
    same(torch.mv(a, v), A @ V)
    same(torch.dot(v, w), -6.5)
    same(torch.outer(v, w), [[0.5, 2., -1.], [-1., -4., 2.], [1.5, 6., -3.]])
    same(torch.inner(a, v), A @ V)
    same(torch.inner(v, torch.tensor(2., dtype=torch.float64)), [2., -4., 6.])
    same(torch.bmm(a[None], b[None]), (A @ B)[None])
    same(torch.kron(torch.tensor([[1., 2.]]), torch.tensor([[1.], [10.]])), [[1., 2.], [10., 20.]])
    same(torch.kron(a, b), np.kron(A, B))
    same(torch.trace(a @ a.mT), 0 + 1 + 4 + 9 + 16 + 25)
    same(torch.matmul(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5, 6], [7, 8]])),
         [[19, 22], [43, 50]], "int64")


def test_products_with_something_added():
    a, b, v = torch.tensor(A), torch.tensor(B), torch.tensor(V)
    bias = torch.tensor([1., 2., 3., 4.], dtype=torch.float64)
    same(torch.addmm(bias, a, b), A @ B + [1., 2., 3., 4.])
    same(torch.addmm(bias, a, b, beta=2, alpha=0.5), A @ B / 2 + [2., 4., 6., 8.])
    same(torch.addmv(torch.tensor([10., 20.], dtype=torch.float64), a, v), A @ V + [10., 20.])
    same(torch.baddbmm(bias, a[None], b[None]), (A @ B)[None] + [1., 2., 3., 4.])
    pair = torch.stack([a, 2 * a])
    same(torch.addbmm(bias, pair, torch.stack([b, b])), 3 * A @ B + [1., 2., 3., 4.])
    same(torch.addr(torch.tensor(1.), v, v), 1 + np.outer(V, V))


@pytest.mark.parametrize("x, y", [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((4, 2, 3), (3, 2)), ((4, 2, 3), (4, 3, 2)),
    ((2, 3), (5, 3, 2)), ((4, 1, 2, 3), (5, 3, 2)), ((3,), (4, 3, 2)), ((4, 2, 3), (3,)),
    ((0, 3), (3, 2)), ((2, 0), (0, 4)), ((0, 2, 3), (3, 2))])
def test_matmul_is_numpys(x, y):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=x), rng.normal(size=y)
    same(torch.tensor(x) @ torch.tensor(y), x @ y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("product, x, y", [
    (torch.matmul, (2, 3), (4, 5)), (torch.matmul, (2, 3), (2,)), (torch.matmul, (), (2, 2)),
    (torch.matmul, (2, 2, 3), (3, 3, 2)), (torch.mm, (2, 3), (3,)), (torch.mv, (2, 3), (2,)),
    (torch.dot, (2,), (3,)), (torch.dot, (2, 2), (2,)), (torch.bmm, (2, 2, 3), (3, 3, 2)),
    (torch.outer, (2, 2), (2,)), (torch.trace, (2,), None)])
def test_products_that_do_not_fit(product, x, y):
    """RuntimeError with both shapes"""
    with pytest.raises(RuntimeError) as error:
        product(*[torch.zeros(s) for s in (x, y) if s is not None])
    for shape in (x, y):
        assert shape is None or str(shape) in str(error.value)


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 3)),
    ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ij->j", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
    ("i,j->ij", (2,), (3,)), ("i,i", (4,), (4,)), ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("...ij,...jk->...ik", (2, 2, 3), (3, 4)), ("...i,i->...", (2, 4, 3), (3,)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("ijk,k->ij", (2, 3, 4), (4,)), ("ba", (2, 3)),
    ("ij,ij->ij", (2, 3), (2, 3)), ("ij,ij->i", (1, 3), (2, 3)), ("i...->...", (3, 2)),
    ("iij->j", (3, 3, 2)), ("a b , b -> a", (2, 3), (3,)), ("ijij->ij", (2, 3, 2, 3)),
]


@pytest.mark.parametrize("equation, shapes", [(e, s) for e, *s in EINSUMS],
                         ids=[e for e, *_ in EINSUMS])
def test_einsum(equation, shapes):
    arrays = [np.random.default_rng(i).normal(size=s) for i, s in enumerate(shapes)]
    same(torch.einsum(equation, *map(torch.tensor, arrays)), np.einsum(equation, *arrays),
         rtol=1e-12, atol=1e-12)


def test_einsum_takes_a_list():
    x = torch.tensor([1., 2.])
    same(torch.einsum("i,i->", [x, x]), 5.)


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk->ik", [(2, 3)]), ("ij->ik", [(2, 3)]), ("ij->ii", [(2, 3)]), ("ijk", [(2, 3)]),
    ("ij,jk->ik", [(2, 3), (4, 5)]), ("i1->i", [(2, 3)])])
def test_einsum_refuses(equation, shapes):
    with pytest.raises(RuntimeError, match="einsum"):
        torch.einsum(equation, *[torch.zeros(s) for s in shapes])


@pytest.mark.parametrize("dims", [0, 1, 2, ([0, 1], [1, 0]), ([2], [0])])
def test_tensordot(dims):
    x, y = np.arange(24.).reshape(2, 3, 4), np.arange(24.).reshape(3, 4, 2) - 7
    if dims == 1:
        y = y.transpose(1, 0, 2)
    elif dims == ([0, 1], [1, 0]):
        y = y.transpose(0, 2, 1)
    elif dims == ([2], [0]):
        y = y.transpose(1, 0, 2)
    same(torch.tensordot(torch.tensor(x), torch.tensor(y), dims), np.tensordot(x, y, dims))
