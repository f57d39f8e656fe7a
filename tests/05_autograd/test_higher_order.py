"""Gradients of gradients, and functions of functions."""
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.autograd import grad, higher_order
from tinytorch.core.autograd import composite, vjp
from tinytorch.core.op import op
from tinytorch.func import grad as gradient_of
from tinytorch.func import grad_and_value, hessian, jacrev, jvp
from tinytorch.func import vjp as pulled_back


def leaf(*numbers):
    return torch.tensor(list(numbers) if len(numbers) > 1 else numbers[0], dtype=torch.float64,
                        requires_grad=True)


def close(got, expected, tol=1e-9):
    np.testing.assert_allclose(got.numpy(force=True), expected, rtol=tol, atol=tol)


def derivatives(f, x, n):
    """f and its first n derivatives at the number x."""
    found = []
    with higher_order():
        x = leaf(x)
        y = f(x)
        for _ in range(n):
            found.append(y.item())
            (y,) = grad(y, x, create_graph=True)
    return [*found, y.item()]


# ---- by hand ----

def test_derivatives_of_a_power():
    assert derivatives(lambda x: x ** 4, 2., 4) == [16., 32., 48., 48., 24.]


@pytest.mark.parametrize("f, expected", [
    (lambda x: x * x * x, [8., 12., 12., 6.]),
    (torch.exp, [math.exp(2)] * 4),
    (torch.sin, [math.sin(2), math.cos(2), -math.sin(2), -math.cos(2)]),
    (torch.log, [math.log(2), 0.5, -0.25, 0.25]),
    (lambda x: 1 / x, [0.5, -0.25, 0.25, -0.375]),
    (torch.sqrt, [2 ** .5, 2 ** -.5 / 2, -2 ** -1.5 / 4, 3 * 2 ** -2.5 / 8]),
    (torch.tanh, [math.tanh(2), 1 - math.tanh(2) ** 2, -2 * math.tanh(2) * (1 - math.tanh(2) ** 2),
                  (1 - math.tanh(2) ** 2) * (6 * math.tanh(2) ** 2 - 2)]),
    (lambda x: x.reshape(1, 1).expand(2, 3).sum() * x * x, [48., 72., 72., 36.])],
    ids=["cube", "exp", "sin", "log", "1/x", "sqrt", "tanh", "expand"])
def test_three_derivatives(f, expected):
    np.testing.assert_allclose(derivatives(f, 2., 3), expected, rtol=1e-12, atol=1e-12)


def test_backward_of_a_gradient():
    """backward(create_graph=True) leaves gradients that can be differentiated"""
    x = leaf(1., 2.)
    with higher_order():
        (x ** 3).sum().backward(create_graph=True)
        first = x.grad
        assert first.requires_grad and first.tolist() == [3., 12.]
        x.grad = None
        (first * torch.tensor([1., 10.])).sum().backward()
    assert x.grad.tolist() == [6., 120.]


def test_a_gradient_penalty():
    """A loss made of a gradient: d/dw (d/dx w x²)² = d/dw (2 w x)² = 8 w x²"""
    x, w = leaf(3.), leaf(2.)
    with higher_order():
        (dx,) = grad(w * x * x, x, create_graph=True)
        (dx * dx).backward()
    assert w.grad.item() == 8 * 2 * 9 and x.grad.item() == 8 * 4 * 3


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_twice(dim):
    """The second derivative of log softmax is that of softmax, with the sign turned"""
    data, v = np.random.default_rng(0).normal(size=(2, 2, 3))

    def twice(f):
        with higher_order():
            x = torch.tensor(data, requires_grad=True)
            (g,) = grad(f(x), x, create_graph=True)
            return grad((g * torch.tensor(v)).sum(), x)[0].numpy()

    p = np.exp(data) / np.exp(data).sum(dim, keepdims=True)
    expected = p * (v - (p * v).sum(dim,
                                    keepdims=True))           # the Hessian of log sum exp, times v
    close(torch.tensor(twice(lambda x: torch.logsumexp(x, dim).sum())), expected)
    close(torch.tensor(twice(lambda x: -torch.log_softmax(x, dim)[0, 0])),
          expected * (np.arange(2)[:, None] == 0 if dim != 0 else np.arange(3)[None] == 0))


# ---- refused ----

def test_create_graph_outside_higher_order():
    """The graph's pullbacks keep numbers without a history: the error says what to do"""
    x = leaf(1., 2.)
    loss = (x * x).sum()
    for attempt in (lambda: loss.backward(create_graph=True),
                    lambda: grad(loss, x, create_graph=True)):
        with pytest.raises(RuntimeError, match="higher_order"):
            attempt()
    assert x.grad is None
    loss.backward()
    assert x.grad.tolist() == [2., 4.]


def test_kept_floats_without_a_plain_form():
    """An op that keeps floats has no second derivative, unless its plain form is known"""
    @op(keeps=True)
    def cubed(x): return x * x * x, 3 * x * x

    @vjp(cubed)
    def _(kept, x): return lambda g: (g * kept[1],)

    x = leaf(2.)
    cubed(x).backward()
    assert x.grad.item() == 12.
    with higher_order(), pytest.raises(NotImplementedError, match="cubed.*composite"):
        cubed(x)
    composite(cubed)(lambda x: x * x * x)
    assert derivatives(cubed, 2., 3) == [8., 12., 12., 6.]


def test_a_rule_that_uses_an_op_without_a_rule():
    """Then the second derivative is an error, not a constant"""
    @op
    def slope(x): return 2 * x

    @op
    def parabola(x): return x * x

    @vjp(parabola)
    def _(out, x): return lambda g: (g * slope(x),)

    x = leaf(3.)
    parabola(x).backward()
    assert x.grad.item() == 6.
    with higher_order(), pytest.raises(NotImplementedError, match="slope"):
        grad(parabola(x), x, create_graph=True)


def test_numpy_functions_do_not_cut_the_history():
    """np.cumsum(tensor) would copy the numbers out: an error, never a wrong second derivative"""
    @op
    def total(x): return x.cumsum()

    @vjp(total)
    def _(out, x): return lambda g: (np.cumsum(g) * 1,)

    x = leaf(1., 2.)
    with higher_order(), pytest.raises((RuntimeError, TypeError)):
        grad((total(x) * x).sum(), x, create_graph=True)


def test_outside_of_the_block_all_is_as_before():
    x = leaf(2.)
    with higher_order():
        with torch.no_grad():
            assert not (x * 2).requires_grad
        assert (x * 2).requires_grad
    y = x * x
    y.backward()
    assert x.grad.requires_grad is False


# ---- functions of functions ----

def test_grad_of_a_function():
    f = lambda x: x ** 3  # noqa: E731
    x = torch.tensor(2., dtype=torch.float64)
    assert gradient_of(f)(x).item() == 12.
    assert gradient_of(gradient_of(f))(x).item() == 12.
    assert gradient_of(gradient_of(gradient_of(f)))(x).item() == 6.
    assert x.grad is None and x.requires_grad is False
    assert gradient_of(f)(x).requires_grad is False


def test_grad_and_value_of_several_arguments():
    def f(x, y, scale=1.): return (x * y * y).sum() * scale
    x, y = torch.tensor([1., 2.]), torch.tensor([3., 4.])
    (dx, dy), value = grad_and_value(f, argnums=(0, 1))(x, y, scale=2.)
    assert value.item() == 82. and dx.tolist() == [18., 32.] and dy.tolist() == [12., 32.]
    assert gradient_of(f, argnums=1)(x, y).tolist() == [6., 16.]
    with pytest.raises(RuntimeError, match=r"\(2,\)"):
        gradient_of(lambda x: x * 2)(x)


def test_a_gradient_inside_of_a_loss():
    """d/dw of f'(x; w): functions of functions see what they close over"""
    w = leaf(5.)
    with higher_order():
        slope = gradient_of(lambda x: w * x * x)(torch.tensor(3., dtype=torch.float64))
        slope.backward()
    assert w.grad.item() == 6.


def test_newtons_method():
    f = lambda x: x ** 4 - 3 * x ** 2 + x  # noqa: E731
    x = torch.tensor(1., dtype=torch.float64)
    for _ in range(8):
        x = x - gradient_of(f)(x) / gradient_of(gradient_of(f))(x)
    assert 4 * x.item() ** 3 - 6 * x.item() + 1 == pytest.approx(0, abs=1e-12)


A = np.array([[2., 1., 0.], [0., 3., -1.]])


def test_vjp_and_jvp():
    """For f = A x²: u times the Jacobian, and the Jacobian times v"""
    def f(x): return torch.tensor(A) @ (x * x)
    x = np.array([1., 2., -1.])
    jacobian = A * 2 * x
    out, pull = pulled_back(f, torch.tensor(x))
    close(out, A @ x ** 2)
    u, v = np.array([1., -2.]), np.array([0.5, 1., 3.])
    close(pull(torch.tensor(u))[0], u @ jacobian)
    close(pull(torch.tensor(2 * u))[0], 2 * u @ jacobian)
    value, moved = jvp(f, (torch.tensor(x),), (torch.tensor(v),))
    close(value, A @ x ** 2)
    close(moved, jacobian @ v)


def test_jvp_of_two_arguments():
    out, moved = jvp(lambda x, y: x * y, (torch.tensor(2.), torch.tensor(5.)),
                     (torch.tensor(1.), torch.tensor(10.)))
    assert out.item() == 10. and moved.item() == 25.


def test_jacobian_and_hessian():
    def f(x): return torch.stack([x[0] * x[1], x[1] ** 2, x.sum()])
    close(jacrev(f)(torch.tensor([3., 5.], dtype=torch.float64)), [[5., 3.], [0., 10.], [1., 1.]])

    def g(x): return x[0] ** 3 * x[1] + x[1].exp()
    h = hessian(g)(torch.tensor([2., 1.], dtype=torch.float64))
    close(h, [[12., 12.], [12., math.e]])
    quadratic = np.array([[2., 1.], [1., 6.]])
    bowl = hessian(lambda x: (x @ (torch.tensor(quadratic) @ x)) / 2)
    close(bowl(torch.tensor([7., -3.], dtype=torch.float64)), quadratic)


def test_hessian_of_a_matrix_argument():
    h = hessian(lambda x: (x ** 3).sum())(torch.tensor([[1., 2.]], dtype=torch.float64))
    close(h, np.diag([6., 12.]).reshape(1, 2, 1, 2))


def test_what_does_not_depend_on_the_argument_has_slope_0():
    """An argument that is not used, a constant, the Hessian of a straight line: zeros"""
    x, y = torch.tensor([1., 2.]), torch.tensor(3.)
    assert gradient_of(lambda x, y: y * y)(x, y).tolist() == [0., 0.]
    assert gradient_of(lambda x: torch.tensor(5.))(x).tolist() == [0., 0.]
    assert hessian(lambda x: (x * 2).sum())(x).tolist() == [[0., 0.], [0., 0.]]
    out, moved = jvp(lambda x: torch.ones(3), (x,), (x,))
    assert out.tolist() == [1.] * 3 and moved.tolist() == [0.] * 3
