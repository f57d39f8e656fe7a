"""The tensor: what it is, what it says of itself, and how its numbers get in and out."""
import copy
import math

import numpy as np
import pytest

import tinytorch as torch

from .support import same


def x23(): return torch.tensor([[1., 2., 3.], [4., 5., 6.]])


def test_construction():
    same(torch.Tensor([[1, 2], [3, 4]]), [[1, 2], [3, 4]], "int64")
    same(torch.tensor([1., 2.]), [1., 2.], "float32")
    same(torch.tensor(True), True, "bool")
    same(torch.tensor([1, 2], dtype=torch.float64), [1., 2.], "float64")
    same(torch.tensor(np.arange(3, dtype="int32")), [0, 1, 2], "int32")
    same(torch.tensor([]), np.zeros(0), "float32")
    same(torch.tensor([[]]), np.zeros((1, 0)))
    same(torch.tensor([torch.tensor(1.), torch.tensor(2.)]), [1., 2.])


def test_the_numbers_are_copied():
    source = np.array([1., 2.])
    x, y = torch.tensor(source), torch.tensor(torch.tensor(source))
    source[0] = 9.
    same(x, [1., 2.])
    same(y, [1., 2.])


def test_what_it_is():
    x = x23()
    assert x.shape == (2, 3) and x.size() == (2, 3) and x.size(1) == 3 and x.size(-2) == 2
    assert x.ndim == 2 and x.dim() == 2
    assert x.numel() == x.nelement() == 6
    assert x.dtype == torch.float32 and x.element_size() == x.itemsize == 4 and x.nbytes == 24
    assert x.stride() == (3, 1) and x.stride(0) == 3 and x.mT.stride() == (1, 3)
    assert x.device == "cpu" and str(x.device) == "cpu" and x.is_cuda is False
    assert x.is_floating_point() is True and torch.tensor([1]).is_floating_point() is False
    assert x.is_contiguous() and not x.mT.is_contiguous()
    assert x.requires_grad is False and x.grad is None and x.is_leaf is True and x.grad_fn is None
    assert torch.is_tensor(x) is True and torch.is_tensor([1.]) is False
    assert type(x.data) is np.ndarray


def test_hash_is_identity():
    """Equal numbers are not the same key; == compares numbers"""
    x, y = torch.tensor([1., 2.]), torch.tensor([1., 2.])
    assert len({x, y}) == 2 and {x: "a", y: "b"}[x] == "a"
    same(x == y, [True, True])
    assert (x == None) is False and (x != None) is True  # noqa: E711


# ---- numbers out of it ----

def test_item_and_tolist():
    assert torch.tensor([[2.5]]).item() == 2.5 and type(torch.tensor(3).item()) is int
    assert torch.tensor(True).item() is True
    assert x23().tolist() == [[1., 2., 3.], [4., 5., 6.]] and torch.tensor(1.5).tolist() == 1.5
    with pytest.raises(RuntimeError, match=r"\(2, 3\).*6"):
        x23().item()
    with pytest.raises(RuntimeError):
        torch.tensor([]).item()


def test_python_numbers():
    x = torch.tensor([2.75])
    assert float(x) == 2.75 and int(x) == 2 and bool(x) is True
    assert bool(torch.tensor([[0]])) is False
    assert [10, 20, 30][torch.tensor(1)] == 20 and list(range(torch.tensor(2))) == [0, 1]
    assert f"{torch.tensor(3.14159):.2f}" == "3.14"
    with pytest.raises(TypeError):
        [10, 20][torch.tensor(1.)]
    for several in (x23(), torch.tensor([])):
        with pytest.raises(RuntimeError, match="ambiguous|any"):
            bool(several)
    with pytest.raises(RuntimeError):
        float(x23())


def test_numpy_shares_memory():
    x = x23()
    array = x.numpy()
    assert array is x.data
    array[0, 0] = 100.
    assert x[0, 0].item() == 100.
    assert x.numpy(force=True).tolist() == x.tolist()


def test_numpy_reads_tensors():
    """np.asarray, np.array and whole NumPy functions work on the numbers"""
    x = x23()
    assert np.asarray(x).tolist() == x.tolist() and np.shares_memory(np.asarray(x), x.data)
    assert np.asarray(x, dtype="int64").tolist() == [[1, 2, 3], [4, 5, 6]]
    taken = np.array(x)
    taken[0, 0] = 9.
    assert x[0, 0].item() == 1.
    assert np.concatenate([x, x]).shape == (4, 3)
    np.testing.assert_allclose(x, [[1, 2, 3], [4, 5, 6]])
    assert np.linalg.norm(torch.tensor([3., 4.])) == 5.


def test_a_ufunc_is_an_op():
    """np.exp(tensor) and array * tensor are tensors: nothing is detached silently"""
    x = torch.tensor([0., 1.])
    same(np.exp(x), [1., math.e], "float32")
    same(np.array([2., 3.], "float32") * x, [0., 3.])
    same(np.array([2., 3.], "float32") - x, [2., 2.])
    same(np.array([[1., 1.]], "float32") @ x, [1.])
    same(np.float32(2) * x, [0., 2.])
    same(np.sqrt(x), [0., 1.])
    same(np.power(x, 2), [0., 1.])
    same(np.maximum(x, 0.5), [0.5, 1.])
    same(np.negative(x), [0., -1.])
    same(np.array([0., 5.], "float32") == x, [True, False])
    same(np.array([0., 5.], "float32") > x, [False, True])
    with pytest.raises(TypeError):
        np.exp(x, out=np.zeros(2, "float32"))
    with pytest.raises(TypeError):
        np.add.reduce(x)


def test_dlpack():
    """Other libraries read the memory, and we read theirs"""
    x = x23()
    other = np.from_dlpack(x)
    other_writes = torch.from_dlpack(np.arange(3.))
    assert np.shares_memory(other, x.data) and x.__dlpack_device__() == (1, 0)
    same(other_writes, [0., 1., 2.], "float64")
    same(torch.from_dlpack(x), x.tolist())


def test_copies():
    x = x23()
    for other in (copy.deepcopy(x), copy.copy(x).clone(), x.clone()):
        other[0, 0] = 9.
        assert x[0, 0].item() == 1. and other.dtype == x.dtype
    leaf = torch.tensor([1., 2.], requires_grad=True)
    leaf.grad = torch.tensor([5., 6.])
    twin = copy.deepcopy(leaf)
    assert twin.requires_grad and twin.grad.tolist() == [5., 6.] and twin.grad is not leaf.grad
    shared = copy.deepcopy([x, x])
    assert shared[0] is shared[1]


def test_detach_shares_memory():
    x = torch.tensor([1., 2.], requires_grad=True)
    y = x.detach()
    assert y.requires_grad is False and np.shares_memory(x.data, y.data)


def test_only_floats_ask_for_a_gradient():
    assert torch.tensor([1.], requires_grad=True).requires_grad is True
    assert torch.tensor([1.]).requires_grad_().requires_grad is True
    assert torch.tensor([1.], requires_grad=True).requires_grad_(False).requires_grad is False
    for attempt in (lambda: torch.tensor([1], requires_grad=True),
                    lambda: torch.tensor([True]).requires_grad_(),
                    lambda: torch.zeros(2, dtype=torch.int64, requires_grad=True)):
        with pytest.raises(RuntimeError, match="float"):
            attempt()


def test_backward_of_what_was_not_recorded():
    with pytest.raises(RuntimeError, match="requires_grad"):
        torch.tensor(1.).backward()


def test_a_history_is_not_lost_in_numpy():
    x = torch.tensor([1.], requires_grad=True)
    for attempt in (x.numpy, lambda: np.asarray(x), lambda: np.array(x),
                    lambda: np.concatenate([x])):
        with pytest.raises(RuntimeError, match="detach"):
            attempt()
    assert x.detach().numpy().tolist() == [1.] and x.numpy(force=True).tolist() == [1.]


def test_methods_of_ops():
    """Every op is a method where PyTorch has one"""
    x = x23()
    same(x.add(1).mul(2).sub(2).div(2), x.tolist())
    same(x.matmul(x.mT), [[14., 32.], [32., 77.]])
    same(x.pow(2).sum(), 91.)
    same(x.mean(0).var(), 1.)
    same(x.lt(3).logical_not().count_nonzero(), 4)
    for name in ("add", "softplus_not_there"):
        assert hasattr(x, name) is (name == "add")
    assert {"add", "sum", "reshape", "topk", "shape", "numpy"} <= set(dir(x))
