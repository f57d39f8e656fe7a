"""Tensors out of nothing: fixed numbers and random ones."""
import math
import threading

import numpy as np
import pytest

import tinytorch as torch

from .support import same

# ---- fixed numbers ----

def test_filled():
    same(torch.zeros(2, 3), np.zeros((2, 3)), "float32")
    same(torch.ones((2,)), [1., 1.], "float32")
    same(torch.zeros([1, 2], dtype=torch.int64), [[0, 0]], "int64")
    same(torch.ones(size=(1, 1)), [[1.]])
    same(torch.zeros(()), 0.)
    same(torch.zeros(0, 3), np.zeros((0, 3)))
    same(torch.full((2, 2), 7), [[7, 7], [7, 7]], "int64")
    same(torch.full((2,), 7.5), [7.5, 7.5], "float32")
    same(torch.full((), True), True, "bool")
    same(torch.full((2,), 7, dtype=torch.float16), [7., 7.], "float16")
    same(torch.full((1,), torch.tensor(3.)), [3.])
    assert torch.empty(2, 3).shape == (2, 3)
    assert torch.empty((4,), dtype=torch.int8).dtype == torch.int8
    same(torch.eye(2), [[1., 0.], [0., 1.]], "float32")
    same(torch.eye(2, 3, dtype=torch.int64), [[1, 0, 0], [0, 1, 0]], "int64")


def test_likes():
    x = torch.tensor([[1, 2]], dtype=torch.int32)
    same(torch.zeros_like(x), [[0, 0]], "int32")
    same(torch.ones_like(x, dtype=torch.float32), [[1., 1.]], "float32")
    same(torch.full_like(x, 5), [[5, 5]], "int32")
    assert torch.empty_like(x).shape == (1, 2)
    same(x.new_zeros(3), [0, 0, 0], "int32")
    same(x.new_ones((1, 2)), [[1, 1]], "int32")
    same(x.new_full((2,), 4), [4, 4], "int32")
    same(x.new_tensor([7, 8]), [7, 8], "int32")
    assert x.new_empty(2, 2).shape == (2, 2) and x.new_empty(2).dtype == torch.int32


def test_requires_grad():
    assert torch.zeros(2, requires_grad=True).requires_grad
    assert torch.eye(2, requires_grad=True).requires_grad
    assert torch.rand(2, requires_grad=True).requires_grad and torch.ones_like(
        torch.zeros(2), requires_grad=True).requires_grad


@pytest.mark.parametrize("arguments", [
    (5,), (2, 5), (1, 10, 3), (5, 1, -2), (0.,  1., 0.25), (3.5,), (2, 2), (0, 1, 0.1), (10, 0, -3),
    (1., 2., 0.3)], ids=str)
def test_arange(arguments):
    whole = all(isinstance(n, int) for n in arguments)
    expected = np.arange(*arguments)
    same(torch.arange(*arguments), expected, "int64" if whole else "float32")
    same(torch.arange(*arguments, dtype=torch.float64), expected, "float64")


def test_arange_by_name():
    same(torch.arange(end=3, start=1), [1, 2])
    same(torch.arange(0, 6, step=2), [0, 2, 4])
    for wrong in ((0, 5, 0), (5, 0), (0, 5, -1), (0, math.inf)):
        with pytest.raises(RuntimeError, match="step"):
            torch.arange(*wrong)


def test_linspace_and_logspace():
    same(torch.linspace(0, 1, 5), [0., 0.25, 0.5, 0.75, 1.], "float32")
    same(torch.linspace(3, -3, steps=3, dtype=torch.float64), [3., 0., -3.], "float64")
    same(torch.linspace(2, 5, 1), [2.])
    same(torch.linspace(2, 5, 0), np.zeros(0))
    same(torch.logspace(0, 2, 3), [1., 10., 100.])
    same(torch.logspace(0, 3, 4, base=2), [1., 2., 4., 8.])
    with pytest.raises(RuntimeError, match="steps"):
        torch.linspace(0, 1, -1)


def test_triangles_of_indices():
    same(torch.tril_indices(2, 3), [[0, 1, 1], [0, 0, 1]], "int64")
    same(torch.triu_indices(2, 3, 1), [[0, 0, 1], [1, 2, 2]])
    same(torch.tril_indices(3, 2, -1), np.stack(np.tril_indices(3, -1, 2)))


def test_negative_sizes():
    for attempt in (lambda: torch.zeros(-1), lambda: torch.randn(2, -3), lambda: torch.eye(-1),
                    lambda: torch.full((-2,), 1.)):
        with pytest.raises(RuntimeError, match="-"):
            attempt()


def test_unknown_keywords():
    with pytest.raises(TypeError, match="colour"):
        torch.zeros(2, colour="red")


def test_arrays_and_tensors():
    """from_numpy and as_tensor share memory; tensor copies"""
    array = np.arange(3, dtype="float32")
    shared, taken, copied = torch.from_numpy(array), torch.as_tensor(array), torch.tensor(array)
    array[0] = 9.
    same(shared, [9., 1., 2.])
    same(taken, [9., 1., 2.])
    same(copied, [0., 1., 2.])
    assert torch.as_tensor(shared) is shared and torch.asarray(shared) is shared
    same(torch.as_tensor([1, 2], dtype=torch.float64), [1., 2.], "float64")
    assert not np.shares_memory(torch.asarray(array, copy=True).data, array)
    with pytest.raises(TypeError, match="complex"):
        torch.from_numpy(np.zeros(2, complex))
    with pytest.raises(TypeError, match="list"):
        torch.from_numpy([1.])


# ---- random numbers ----

DRAWS = {
    "rand": lambda: torch.rand(3, 2), "randn": lambda: torch.randn(4),
    "randint": lambda: torch.randint(9, (5,)),
    "randperm": lambda: torch.randperm(8), "normal": lambda: torch.normal(1., 2., (3,)),
    "bernoulli": lambda: torch.bernoulli(torch.full((9,), 0.5)),
    "multinomial": lambda: torch.multinomial(torch.ones(2, 9), 4),
    "replacement": lambda: torch.multinomial(torch.ones(9), 4, replacement=True),
    "rand_like": lambda: torch.rand_like(torch.zeros(3)),
    "randn_like": lambda: torch.randn_like(torch.zeros(3)),
    "randint_like": lambda: torch.randint_like(torch.zeros(5), 9),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_repeats(name):
    """The same seed gives the same numbers, going on gives others, another seed gives others"""
    torch.manual_seed(3)
    first, second = DRAWS[name]().tolist(), DRAWS[name]().tolist()
    torch.manual_seed(3)
    assert DRAWS[name]().tolist() == first != second
    torch.manual_seed(4)
    assert DRAWS[name]().tolist() != first


def test_generators_are_independent():
    ours = torch.Generator().manual_seed(5)
    first = torch.rand(4, generator=ours).tolist()
    torch.manual_seed(0)
    expected = torch.rand(2).tolist()
    torch.manual_seed(0)
    ours.manual_seed(5)
    assert torch.randn(3, generator=torch.Generator().manual_seed(1)).shape == (3,)
    assert torch.rand(4, generator=ours).tolist() == first
    assert torch.rand(2).tolist() == expected
    assert ours.initial_seed() == 5


def test_a_generators_state_can_be_kept():
    generator = torch.Generator().manual_seed(7)
    torch.rand(3, generator=generator)
    state = generator.get_state()
    first = torch.randn(5, generator=generator).tolist()
    generator.set_state(state)
    assert torch.randn(5, generator=generator).tolist() == first
    assert generator.seed() == generator.initial_seed() != 7


def test_each_thread_has_a_stream_of_its_own():
    """Derived from the seed: the same in the next run, and different between threads"""
    def drawn():
        out = []
        def draw(): out.append(torch.rand(4).tolist())
        torch.manual_seed(11)
        for _ in range(2):
            thread = threading.Thread(target=draw)
            thread.start()
            thread.join()
        draw()
        return out
    first, again = drawn(), drawn()
    assert first == again
    assert first[0] != first[1] and first[0] != first[2] and first[1] != first[2]


def test_distributions():
    torch.manual_seed(0)
    u, n = torch.rand(20_000), torch.randn(20_000)
    assert 0 <= u.min().item() < 0.01 and 0.99 < u.max().item() < 1
    assert abs(u.mean().item() - 0.5) < 0.01 and abs(u.var().item() - 1 / 12) < 0.002
    assert abs(n.mean().item()) < 0.03 and abs(n.std().item() - 1) < 0.02
    assert abs((n ** 4).mean().item() - 3) < 0.3
    whole = torch.randint(-2, 3, (5000,))
    assert sorted(set(whole.tolist())) == [-2, -1, 0, 1, 2] and whole.dtype == torch.int64
    assert sorted(torch.randperm(100).tolist()) == list(range(100))
    assert u.dtype == n.dtype == torch.float32
    wide = torch.randn(1000, dtype=torch.float64)
    assert wide.dtype == torch.float64 and (wide.float().double() != wide).all().item()
    assert torch.rand(10, dtype=torch.float16).dtype == torch.float16


def test_normal():
    torch.manual_seed(0)
    x = torch.normal(torch.tensor([0., 100.]).expand(5000, 2), torch.tensor([1., 3.]))
    assert abs(x[:, 1].mean().item() - 100) < 0.2 and abs(x[:, 1].std().item() - 3) < 0.1
    assert abs(x[:, 0].mean().item()) < 0.1
    assert abs(torch.normal(5., torch.ones(5000)).mean().item() - 5) < 0.1
    with pytest.raises(RuntimeError, match="-1"):
        torch.normal(0., -1., (2,))


def test_bernoulli():
    torch.manual_seed(0)
    x = torch.bernoulli(torch.tensor([0., 0.3, 1.]).expand(5000, 3))
    assert x[:, 0].sum().item() == 0 and x[:, 2].sum().item() == 5000
    assert abs(x[:, 1].mean().item() - 0.3) < 0.03 and x.dtype == torch.float32
    for wrong in (torch.tensor([1.5]), torch.tensor([-0.1]), torch.tensor([1])):
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            torch.bernoulli(wrong)


def test_multinomial():
    """As often as the weights say; without replacement each index once; weight 0 never"""
    torch.manual_seed(0)
    weights = torch.tensor([1., 0., 3.])
    x = torch.multinomial(weights, 8000, replacement=True)
    assert (x == 1).sum().item() == 0 and abs((x == 2).float().mean().item() - 0.75) < 0.02
    assert x.dtype == torch.int64
    both = torch.multinomial(weights.expand(4000, 3), 2)
    assert both.shape == (4000, 2) and (both.sum(1) == 2).all().item()
    assert abs((both[:, 0] == 2).float().mean().item() - 0.75) < 0.03
    for wrong, n in [(weights, 3), (weights, 0), (torch.tensor([1, 2]), 1),
                     (torch.tensor([-1., 2.]), 1),
                     (torch.zeros(2), 1), (torch.tensor([math.nan, 1.]), 1), (torch.tensor(1.), 1),
                     (torch.ones(3), 4)]:
        with pytest.raises(RuntimeError, match="multinomial"):
            torch.multinomial(wrong, n)


def test_randint_needs_room():
    for low, high in [(3, 3), (5, 2)]:
        with pytest.raises(RuntimeError, match=f"{low}.*{high}"):
            torch.randint(low, high, (2,))
    same(torch.randint(3, 4, (2, 2)), [[3, 3], [3, 3]])
