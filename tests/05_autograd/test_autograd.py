"""The recorder and the walk: what is right, what is refused, how deep it goes."""
import copy
import itertools
import sys

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.autograd import Node, central_difference, newest_first, unbroadcast, vjp
from tinytorch.core.checks import check_gradient
from tinytorch.core.op import op


def leaf(*numbers, dtype=torch.float64):
    return torch.tensor(list(numbers) if len(numbers) > 1 else numbers[0], dtype=dtype,
                        requires_grad=True)


# ---- right numbers ----

def test_by_hand():
    """x = 2, y = 3, L = (xy + x)²: 64 and 32"""
    x, y = leaf(2.), leaf(3.)
    b = x * y + x
    (b * b).backward()
    assert (x.grad.item(), y.grad.item()) == (64., 32.)
    assert x.grad.shape == () and type(x.grad) is torch.Tensor and x.grad.requires_grad is False


def test_a_network_against_differences():
    rng = np.random.default_rng(0)
    data, target = rng.normal(size=(7, 5)), rng.normal(size=(7, 2))

    def loss(w1, b1, w2, b2):
        h = (torch.tensor(data) @ w1 + b1).relu()
        return ((h @ w2 + b2).tanh() - torch.tensor(target)).pow(2).mean()

    check_gradient(loss, rng.normal(size=(5, 6)), rng.normal(size=6), rng.normal(size=(6, 2)),
                   rng.normal(size=2))


def test_gradients_accumulate():
    """Two losses add up in .grad; None starts anew; a second input adds too"""
    x = leaf(1., 2.)
    (x * 3).sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [5., 7.]
    x.grad = None
    (x * 2 + x * 5).sum().backward()
    assert x.grad.tolist() == [7., 7.]


def test_accumulating_does_not_write_into_the_old_gradient():
    """Whoever kept x.grad, or a gradient shared by two leaves, sees no change"""
    x, y = leaf(1., 2.), leaf(3., 4.)
    (x + y).sum().backward()
    assert not np.shares_memory(x.grad.data, y.grad.data)
    first = x.grad
    (x * 2).sum().backward()
    assert first.tolist() == [1., 1.] and x.grad.tolist() == [3., 3.]


def test_a_gradient_to_start_from():
    """Left out for one number; given, it has the tensor's shape, and is not changed"""
    x, start = leaf(1., 2.), torch.tensor([10., 100.], dtype=torch.float64)
    (x * x).backward(start)
    assert x.grad.tolist() == [20., 400.] and start.tolist() == [10., 100.]
    y = leaf(3.)
    (y * 2).reshape(1, 1).backward()
    assert y.grad.item() == 2.
    z = leaf(1., 2.)
    z.exp().add(1).backward(gradient=torch.ones(2, dtype=torch.float64))
    np.testing.assert_allclose(z.grad.numpy(), np.exp([1, 2]))


def test_mixed_dtypes():
    """Each leaf's gradient has the leaf's dtype"""
    x, y = leaf(1., 2., dtype=torch.float32), leaf(3., 4.)
    half = leaf(1., 1., dtype=torch.float16)
    out = x * y * half
    assert out.dtype == torch.float64
    out.sum().backward()
    assert [t.grad.dtype for t in (x, y, half)] == [torch.float32, torch.float64, torch.float16]
    assert x.grad.tolist() == [3., 4.] and y.grad.tolist() == [1., 2.]
    assert half.grad.tolist() == [3., 8.]


def test_tensors_by_keyword():
    """A tensor given by name has its gradient like any other"""
    x, y = leaf(1., 2.), leaf(3., 4.)
    torch.multiply(input=x, other=y).sum().backward()
    assert x.grad.tolist() == [3., 4.] and y.grad.tolist() == [1., 2.]
    z = leaf(5., 6.)
    torch.add(x, other=z, alpha=3).sum().backward()
    assert z.grad.tolist() == [3., 3.]


def test_numpy_in_between_stays_recorded():
    x = leaf(1., 2.)
    (np.exp(x) * np.array([1., 10.])).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1, 2]) * [1, 10])


def test_unused_parts_of_a_split():
    """Parts that nobody used count as zero"""
    x = leaf(1., 2., 3., 4.)
    first, second, third = x.split([1, 2, 1])
    (second * torch.tensor([10., 100.])).sum().backward()
    assert x.grad.tolist() == [0., 10., 100., 0.]
    y = leaf(1., 2.)
    a, b = y.unbind()
    (a * a + b * a).backward()
    assert y.grad.tolist() == [4., 1.]


def test_integers_and_numbers_get_nothing():
    x, index = leaf(1., 2., 3.), torch.tensor([0, 0, 2])
    x.gather(0, index).sum().backward()
    assert x.grad.tolist() == [2., 0., 1.] and index.grad is None


def test_broadcasting_is_undone():
    """unbroadcast is the transpose of broadcast: <stretched x, g> = <x, unbroadcast g>"""
    rng = np.random.default_rng(0)
    shapes = [s for n in range(4) for s in itertools.product((1, 2, 3), repeat=n)]
    for shape, other in itertools.product(shapes, shapes):
        try:
            wide = np.broadcast_shapes(shape, other)
        except ValueError:
            continue
        x, g = rng.normal(size=shape), rng.normal(size=wide)
        back = unbroadcast(g, shape)
        assert back.shape == shape
        assert abs(np.vdot(np.broadcast_to(x, wide), g) - np.vdot(x, back)) < 1e-9


# ---- which tensors have a history ----

def test_who_requires_a_gradient():
    x, plain = leaf(1., 2.), torch.tensor([1., 2.])
    assert (x + plain).requires_grad and not (plain + plain).requires_grad
    assert not (x > 0).requires_grad and not x.detach().requires_grad
    assert not x.argmax().requires_grad
    assert (x * 2).is_leaf is False and x.is_leaf is True and plain.is_leaf is True
    assert (x * 2).detach().node is None
    assert x.long().requires_grad is False and x.float().requires_grad is True


def test_the_name_of_a_node():
    x = leaf(1., 2.)
    y = torch.log_softmax(x * 2, -1)
    assert repr(y.grad_fn) == "<LogSoftmaxBackward0>" and "grad_fn=<LogSoftmaxBackward0>" in repr(y)
    assert y.grad_fn.next_functions[0][0].name == "MultiplyBackward0"
    assert y.grad_fn.next_functions[0][0].next_functions[0][0] is x


def test_backward_from_a_leaf():
    """A leaf is its own slope: 1"""
    x = leaf(3.)
    x.backward()
    assert x.grad.item() == 1.


# ---- refused ----

def test_backward_twice():
    x = leaf(1., 2.)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()
    assert x.grad.tolist() == [2., 4.]


def test_retain_graph():
    x = leaf(1., 2.)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4., 8.]
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()


def test_a_shared_part_is_used_up():
    x = leaf(1., 2.)
    middle = x.exp()
    (middle * 2).sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        (middle * 3).sum().backward()


def test_backward_of_several_numbers():
    with pytest.raises(RuntimeError, match=r"\(2,\).*sum"):
        (leaf(1., 2.) * 2).backward()
    with pytest.raises(RuntimeError, match=r"\(3,\).*\(2,\)"):
        (leaf(1., 2.) * 2).backward(torch.ones(3))


def test_backward_of_what_was_not_recorded():
    x = leaf(1., 2.)
    with torch.no_grad():
        y = (x * 2).sum()
    for unrecorded in (y, torch.tensor(1.), x.detach().sum(), (x > 1).sum()):
        with pytest.raises(RuntimeError, match="no_grad"):
            unrecorded.backward()


def test_a_rule_that_gives_none():
    """The error names the op, and .grad is untouched"""
    @op
    def forgetful(x, y): return x + y

    @vjp(forgetful)
    def _(out, x, y): return lambda g: (g, None)

    x, y = leaf(1.), leaf(2.)
    forgetful(x, 2.).backward()
    assert x.grad.item() == 1.
    with pytest.raises(RuntimeError, match="forgetful"):
        forgetful(x, y).backward()
    with pytest.raises(RuntimeError, match="forgetful"):
        forgetful(2., y).backward()


def test_a_rule_that_gives_too_few():
    """A wanted gradient that nobody computed is an error, wherever the input stands"""
    @op
    def weighed(x, y, w): return x * y * w

    @vjp(weighed)
    def _(out, x, y, w): return lambda g: (g * y * w, g * x * w)

    x, y, w = leaf(1.), leaf(2.), leaf(3.)
    weighed(x, y, 3.).backward()
    assert (x.grad.item(), y.grad.item()) == (6., 3.)
    with pytest.raises(RuntimeError, match="weighed"):
        weighed(x, y, w).backward()


def test_an_op_without_a_rule():
    """An error at the forward line if something requires a gradient; otherwise it just computes"""
    @op
    def cube(x): return x ** 3

    @op
    def counted(x): return (x > 1).sum()

    with pytest.raises(NotImplementedError, match="cube.*no_grad"):
        cube(leaf(2.))
    assert cube(torch.tensor(2.)).item() == 8.
    with torch.no_grad():
        assert cube(leaf(2.)).item() == 8.
    assert counted(leaf(2., 0.)).item() == 1


def test_requires_grad_of_a_result_cannot_be_changed():
    y = leaf(1.) * 2
    with pytest.raises(RuntimeError, match="detach"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="detach"):
        copy.deepcopy(y)
    for attempt in (y.numpy, lambda: np.asarray(y)):
        with pytest.raises(RuntimeError, match="detach"):
            attempt()


# ---- deep and wide ----

def test_ten_thousand_ops():
    """No recursion: neither in the walk nor when the graph is freed"""
    x = leaf(1.)
    y = x
    for _ in range(10_000):
        y = y * 1.0001
    y.backward()
    np.testing.assert_allclose(x.grad.item(), 1.0001 ** 10_000, rtol=1e-9)
    for _ in range(10_000):
        y = y + x
    del y                                              # freed without a walk


def test_thousands_of_views():
    """A view of a view of a view: neither recursion nor work that grows with the depth"""
    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(600):
        y = y.mT.unsqueeze(0)[0].reshape(2, 3)
    (y * torch.arange(6.).reshape(2, 3)).sum().backward()
    assert sorted(x.grad.numpy().ravel().tolist()) == [0., 1., 2., 3., 4., 5.]


def test_a_deep_view_of_what_was_written():
    """The history of the write reaches it, however many views lie between"""
    x, w = leaf(1., 2.), leaf(5.)
    y = x * 1
    v = y
    for _ in range(1_200):
        v = v.unsqueeze(0)[0]
    y.add_(w)
    (v * v).sum().backward()
    assert w.grad.item() == 26. and x.grad.tolist() == [12., 14.]


def test_thirty_diamonds():
    """2^30 paths, 30 nodes, each pulled once"""
    pulls = []

    @op
    def doubled(x, y): return x + y

    @vjp(doubled)
    def _(out, x, y): return lambda g: pulls.append(1) or (g, g)

    x = leaf(1.)
    y = x
    for _ in range(30):
        y = doubled(y, y)
    y.backward()
    assert x.grad.item() == 2. ** 30 and len(pulls) == 30


def test_the_walk_is_linear():
    """Sixteen times the nodes take sixteen times the calls, counted and not timed"""
    def calls(n):
        y = x = leaf(1.)
        for i in range(n):
            y = y + x if i % 2 else y * 1.
        events = []
        sys.setprofile(lambda frame, event, argument: events.append(event))
        try:
            y.backward()
        finally:
            sys.setprofile(None)
        return len(events)
    assert 15 < calls(4_000) / calls(250) < 17


def test_newest_first_yields_each_node_once():
    x = leaf(1.)
    a = x * 2
    b = a * a
    c = (b + a) * b
    nodes = list(newest_first(c.node))
    assert len(nodes) == len(set(nodes)) == 4
    assert [n.order for n in nodes] == sorted(n.order for n in nodes) and nodes[-1] is a.node
    assert all(type(n) is Node for n in nodes)


# ---- the judge ----

def test_central_difference():
    assert central_difference(lambda x: float(x ** 3), np.array(2.), np.array(1.),
                              h=0.1) == pytest.approx(12.01)
    x = np.array([2., 5.])
    assert central_difference(lambda x: x[0] * x[1], x, np.array([1., -1.])) == pytest.approx(3.)
    assert x.tolist() == [2., 5.]


def test_check_gradient_catches_a_wrong_rule():
    """The right rule passes; a forgotten factor, a sign and a lost broadcast do not"""
    def checked(pull):
        made = op(lambda x, y: x * y)
        vjp(made)(lambda out, x, y: lambda g: pull(g, x, y))
        return check_gradient(made, np.array([[1., 2.], [3., 4.]]), np.array([5., 6.]))

    ours, judge = checked(lambda g, x, y: (g * y, g * x))
    assert ours == pytest.approx(judge, rel=1e-6) and judge != 0
    for wrong in (lambda g, x, y: (g, g * x), lambda g, x, y: (-g * y, g * x), lambda g, x,
                  y: (g * y, g * y)):
        with pytest.raises(AssertionError, match="input"):
            checked(wrong)


def test_the_gradient_of_a_number_is_an_array():
    """Not one of NumPy's scalars, which cannot be printed or written to"""
    w = leaf(3.)
    (w * 2).backward()
    (w * 2).backward()
    assert type(w.grad.data) is np.ndarray and repr(w.grad) == "tensor(4., dtype=torch.float64)"
    w.grad.zero_()
    assert w.grad.item() == 0.
