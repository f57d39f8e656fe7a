"""The ops over whole sequences: step by step the same, with first and second derivatives."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core.autograd import RULES
from tinytorch.core.checks import check_gradient
from tinytorch.nn.activations import relu, sigmoid, tanh
from tinytorch.nn.recurrent_cells import gru_step
from tinytorch.nn.recurrent_ops import gru_steps, lstm_steps, rnn_steps


def drawn(*shape): return np.random.default_rng(sum(shape)).normal(size=shape)


def rnn_plain(a, h, w, nonlinearity="tanh"):
    out = []
    for step in a:
        h = (tanh if nonlinearity == "tanh" else relu)(step + h @ w.T)
        out.append(h)
    return torch.stack(out)


def lstm_plain(a, h, c, w, w_hr=None):
    outs = []
    for step in a:
        i, f, g, o = (step + h @ w.T).chunk(4, -1)
        i, f, g, o = sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)
        c = f * c + i * g
        h = o * tanh(c) if w_hr is None else (o * tanh(c)) @ w_hr.T
        outs.append((h, c, torch.cat([i, f, g, o], -1)))
    return [torch.stack(every) for every in zip(*outs)]


def gru_plain(a, h, w, b=None):
    outs = []
    for step in a:
        product = h @ w.T if b is None else h @ w.T + b
        (x_r, x_z, x_n), (h_r, h_z, q) = step.chunk(3, -1), product.chunk(3, -1)
        r, z = sigmoid(x_r + h_r), sigmoid(x_z + h_z)
        n = tanh(x_n + r * q)
        h = (1 - z) * n + z * h
        outs.append((h, torch.cat([r, z, n, q], -1)))
    return [torch.stack(every) for every in zip(*outs)]


CALLS = {
    "rnn": (rnn_steps, rnn_plain, (drawn(4, 2, 3), drawn(2, 3), drawn(3, 3)), {}),
    "rnn relu": (rnn_steps, rnn_plain, (drawn(4, 2, 3), drawn(2, 3), drawn(3, 3)), {"nonlinearity": "relu"}),
    "rnn of one step": (rnn_steps, rnn_plain, (drawn(1, 2, 3), drawn(2, 3), drawn(3, 3)), {}),
    "lstm": (lstm_steps, lstm_plain, (drawn(4, 2, 12), drawn(2, 3), drawn(2, 3), drawn(12, 3)), {}),
    "lstm of one step": (
        lstm_steps, lstm_plain, (drawn(1, 1, 12), drawn(1, 3), drawn(1, 3), drawn(12, 3)), {}),
    "lstm projected": (
        lstm_steps, lstm_plain, (drawn(4, 2, 12), drawn(2, 2), drawn(2, 3), drawn(12, 2), drawn(2, 3)), {}),
    "gru": (gru_steps, gru_plain, (drawn(4, 2, 9), drawn(2, 3), drawn(9, 3), drawn(9)), {}),
    "gru of one step": (gru_steps, gru_plain, (drawn(1, 2, 9), drawn(2, 3), drawn(9, 3), drawn(9)), {}),
    "gru without bias": (gru_steps, gru_plain, (drawn(4, 2, 9), drawn(2, 3), drawn(9, 3)), {}),
}
every_call = pytest.mark.parametrize("name", CALLS)


def as_tuple(out): return (out,) if isinstance(out, torch.Tensor) else tuple(out)


def weighed(function, params):
    """All outputs in one number, each place with a weight of its own, so that none can hide."""
    def total(*inputs):
        outs = as_tuple(function(*inputs, **params))
        return sum(((out * torch.tensor(drawn(*out.shape))) ** 2).sum() for out in outs)
    return total


@every_call
def test_steps_in_a_loop(name):
    """Every output, and nothing is written into an input"""
    fused, plain, arrays, params = CALLS[name]
    inputs = [torch.tensor(a) for a in arrays]
    both = [as_tuple(function(*inputs, **params)) for function in (fused, plain)]
    for out, expected in zip(*both, strict=True):
        np.testing.assert_allclose(out.numpy(), expected.numpy(), rtol=1e-12)
    assert all((x.numpy() == a).all() for x, a in zip(inputs, arrays))


@every_call
def test_first_order(name):
    """Each input by itself, against differences, through all outputs"""
    fused, _, arrays, params = CALLS[name]
    check_gradient(weighed(fused, params), *arrays)


@every_call
def test_gradients_of_the_loop(name):
    """To ten digits in float64, to four in float32"""
    fused, plain, arrays, params = CALLS[name]
    for dtype, digits in ((np.float64, 1e-10), (np.float32, 1e-4)):
        both = []
        for function in (fused, plain):
            leaves = [torch.tensor(a, dtype=dtype, requires_grad=True) for a in arrays]
            outs = as_tuple(function(*leaves, **params))
            sum((out ** 2).sum() for out in outs).backward()
            assert outs[0].dtype == dtype and leaves[0].grad.dtype == dtype
            both.append([leaf.grad.numpy() for leaf in leaves])
        for g, expected in zip(*both):
            np.testing.assert_allclose(g, expected, rtol=digits, atol=digits * abs(expected).max())


@every_call
def test_second_order(name):
    """The gradient of a gradient is the loop's"""
    fused, plain, arrays, params = CALLS[name]
    every, inputs = tuple(range(len(arrays))), [torch.tensor(a) for a in arrays]

    def second(function):
        slope = torch.func.grad(weighed(function, params), argnums=every)
        return torch.func.grad(lambda *x: sum((g * g).sum() for g in slope(*x)), argnums=every)(*inputs)

    for g, expected in zip(second(fused), second(plain)):
        np.testing.assert_allclose(g.numpy(), expected.numpy(), rtol=1e-9, atol=1e-9)


def test_only_the_last_state_is_asked_for():
    """Outputs that nobody used count as zero; an input that needs no gradient gets none"""
    a, h, c, w = [torch.tensor(x, requires_grad=i > 1) for i, x in enumerate(CALLS["lstm"][2])]
    lstm_steps(a, h, c, w)[1][-1].sum().backward()
    got = w.grad.numpy().copy()
    w.grad = None
    lstm_plain(a, h, c, w)[1][-1].sum().backward()
    np.testing.assert_allclose(got, w.grad.numpy(), rtol=1e-12)
    assert a.grad is None and h.grad is None and c.grad is not None


def test_an_lstm_step_by_hand():
    """Gates sigmoid 1, sigmoid 2, tanh 0.5, sigmoid 0: c = 0.8808 + 0.7311 * 0.4621, h = tanh c / 2"""
    h, c, gates = lstm_steps(torch.tensor([[[1., 2., 0.5, 0.]]]), *torch.tensor([[[0.]], [[1.]]]),
                             torch.zeros(4, 1))
    assert c.item() == pytest.approx(1.2186, abs=1e-4) and h.item() == pytest.approx(0.4196, abs=1e-4)
    assert gates.flatten().tolist() == pytest.approx([0.7311, 0.8808, 0.4621, 0.5], abs=1e-4)


def test_a_gru_step_by_hand():
    """r = 1/2, z = 1/4, q = 4: n = tanh(-1 + 2) and h = 3/4 n + 1/4 * 2"""
    x, h = torch.tensor([[0., -np.log(3.), -1.]]), torch.tensor([[2.]])
    w_hh, b_hh = torch.tensor([[0.], [0.], [1.5]]), torch.tensor([0., 0., 1.])
    expected = 0.75 * np.tanh(1) + 0.5
    assert gru_step(x, h, torch.eye(3), w_hh, None, b_hh).item() == pytest.approx(expected, rel=1e-6)
    assert gru_steps(x[None], h, w_hh, b_hh)[0].item() == pytest.approx(expected, rel=1e-6)


def test_saturated_gates():
    """±1000 and inf give shares 0 and 1, and no nan, forward and backward"""
    a = torch.tensor([[[1000., -1000., 1000., float("inf")]]] * 3, requires_grad=True)
    h, c, _ = lstm_steps(a, torch.zeros(1, 1), torch.ones(1, 1), torch.ones(4, 1))
    (h.sum() + c.sum()).backward()
    assert c.flatten().tolist() == [1., 1., 1.] and a.grad.flatten().tolist() == [0.] * 12


def test_every_op_has_a_rule():
    assert all(op in RULES for op in (rnn_steps, lstm_steps, gru_steps))
