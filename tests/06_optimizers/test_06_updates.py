"""The four updates on arrays, against the formulas written plainly in float64."""
import math

import numpy as np
import pytest

from tinytorch.core.op import Op
from tinytorch.optim.optimizers import (
    adam_update,
    adamw_update,
    largest_so_far,
    momentum_update,
    sgd_update,
)


def drawn(shape, seed, count, dtype="float64"):
    rng = np.random.default_rng(seed)
    return [np.array(rng.normal(size=shape), dtype) for _ in range(count)]


def plain_adam(w, gradients, lr, beta1, beta2, eps, decay=0.0, amsgrad=False):
    """Adam as the paper writes it, out of place; `decay` is AdamW's."""
    m, v, largest = 0 * w, 0 * w, 0 * w
    for t, g in enumerate(gradients, 1):
        w = w - lr * decay * w
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        largest = np.maximum(largest, v)
        root = np.sqrt((largest if amsgrad else v) / (1 - beta2 ** t))
        w = w - lr * m / (1 - beta1 ** t) / (root + eps)
    return w, m, v


SHAPES = [(), (1,), (5,), (0, 3), (3, 1), (2, 4), (4, 0, 2), (2, 3, 4)]


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_sgd(decay):
    """w - lr (g + decay w), written into w; g stays"""
    for shape in SHAPES:
        w, g = drawn(shape, 1, 2)
        start, slope = w.copy(), g.copy()
        sgd_update(w, g, 0.05, decay)
        np.testing.assert_allclose(w, start - 0.05 * (slope + decay * start), rtol=1e-12)
        np.testing.assert_array_equal(g, slope)


@pytest.mark.parametrize("dampening, nesterov", [(0.0, False), (0.0, True), (0.4, False), (0.4, True)])
def test_momentum(dampening, nesterov):
    """Four steps of the running sum"""
    for shape in SHAPES:
        w, *gradients = drawn(shape, 2, 5)
        running, expected, sum_so_far = np.zeros(shape), w.copy(), np.zeros(shape)
        for g in gradients:
            momentum_update(w, g, running, 0.1, 0.8, dampening, nesterov)
            sum_so_far = 0.8 * sum_so_far + (1 - dampening) * g
            expected = expected - 0.1 * (g + 0.8 * sum_so_far if nesterov else sum_so_far)
        np.testing.assert_allclose(w, expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(running, sum_so_far, rtol=1e-10, atol=1e-12)


options = pytest.mark.parametrize(
    "betas, eps", [((0.9, 0.999), 1e-8), ((0.0, 0.5), 1e-2), ((0.6, 0.0), 1e-8)])


def follow(update, amsgrad, betas, eps, decay):
    """Five steps of `update(w, g, m, v, step, largest)` beside the plain formula, in every shape"""
    for shape in SHAPES:
        w, *gradients = drawn(shape, 3, 6)
        expected = plain_adam(w.copy(), gradients, 0.1, *betas, eps, decay, amsgrad)
        m, v, largest = np.zeros(shape), np.zeros(shape), np.zeros(shape) if amsgrad else None
        for t, g in enumerate(gradients, 1):
            update(w, g, m, v, t, largest)
        for got, want in zip((w, m, v), expected):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@options
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam(amsgrad, betas, eps):
    """Five steps of Adam, with and without amsgrad"""
    def update(w, g, m, v, t, largest): adam_update(w, g, m, v, t, 0.1, *betas, eps, largest)
    follow(update, amsgrad, betas, eps, 0.0)


@options
@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.2])
def test_adamw(amsgrad, betas, eps, decay):
    """Five steps of AdamW, with and without amsgrad"""
    def update(w, g, m, v, t, largest): adamw_update(w, g, m, v, t, 0.1, *betas, eps, decay, largest)
    follow(update, amsgrad, betas, eps, decay)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes(dtype):
    """Every dtype stays what it is, in w and in what is remembered, and follows float64"""
    start, g = drawn((3, 2), 1, 2)
    for step, count in [(lambda w, g, m, v: sgd_update(w, g, 0.1, 0.2), 0),
                        (lambda w, g, m, v: momentum_update(w, g, m, 0.1, 0.9, 0.1, True), 1),
                        (lambda w, g, m, v: adam_update(w, g, m, v, 1, 0.1, eps=1e-3), 2),
                        (lambda w, g, m, v: adamw_update(w, g, m, v, 1, 0.1, eps=1e-3), 2)]:
        memory = [np.zeros((3, 2), dtype), np.zeros((3, 2), dtype)]
        w, exact = start.astype(dtype), start.copy()
        step(w, g.astype(dtype), *memory)
        step(exact, g, np.zeros((3, 2)), np.zeros((3, 2)))
        assert w.dtype == dtype and all(x.dtype == dtype for x in memory)
        np.testing.assert_allclose(w.astype("float64"), exact, atol=4 * np.finfo(dtype).eps)
        assert [bool(x.any()) for x in memory] == [i < count for i in range(2)]


def test_views():
    """A weight that is a view of other memory is written there: every second column, and a transpose"""
    for take in (lambda x: x[:, ::2], lambda x: x.T):
        memory = np.arange(12.).reshape(3, 4)
        w = take(memory)
        expected, g = w - 0.5, np.ones(w.shape)
        m, v = np.zeros(w.shape), np.zeros(w.shape)
        adam_update(w, g, m, v, 1, lr=0.5, eps=0.0)
        np.testing.assert_allclose(take(memory), expected)


def test_long_run_without_a_slope():
    """A weight without a slope stays, for ever; AdamW's decays by (1 - lr decay) a step"""
    w, m, v = np.array([2.]), np.zeros(1), np.zeros(1)
    for t in range(1, 101):
        adamw_update(w, np.zeros(1), m, v, t, lr=0.1, weight_decay=0.1)
    assert w[0] == pytest.approx(2 * 0.99 ** 100)


def test_defaults_are_pytorchs():
    """lr 0.001, betas 0.9 and 0.999, eps 1e-8; AdamW's decay 0.01"""
    w, m, v = np.array([1.]), np.zeros(1), np.zeros(1)
    adam_update(w, np.array([2.]), m, v, 1)
    assert (w[0], m[0], v[0]) == pytest.approx((0.999, 0.2, 0.004))
    w, m, v = np.array([1.]), np.zeros(1), np.zeros(1)
    adamw_update(w, np.array([1e-8]), m, v, 1)
    assert w[0] == pytest.approx(1 - 1e-5 - 0.001 / 2), "eps is as large as this gradient"


def test_largest_so_far():
    v, largest = np.array([1., 5.]), np.array([3., 4.])
    assert largest_so_far(v, None) is v
    assert largest_so_far(v, largest) is largest
    assert largest.tolist() == [3., 5.] and v.tolist() == [1., 5.]


@pytest.mark.parametrize("update", [adam_update, adamw_update])
def test_kernel(update):
    """Both are ops, so that a kernel for an array type takes the place of the plain form"""
    assert isinstance(update, Op)
    heard = []
    update.kernel(np.ndarray)(lambda *args, **kwargs: heard.append(args[4]))
    try:
        update(*np.zeros((4, 2)), 7)
    finally:
        del update.kernels[np.ndarray]
    assert heard == [7]


def test_first_step_is_the_rate():
    """Whatever the slope, over twenty orders of magnitude"""
    g = np.array([1e-5, 1., 1e15, -1e-5])
    w, m, v = np.zeros(4), np.zeros(4), np.zeros(4)
    adam_update(w, g, m, v, 1, lr=0.25, eps=0.0)
    np.testing.assert_allclose(w, [-0.25, -0.25, -0.25, 0.25])
    assert math.isclose(m[2], 1e14)
