"""Every gradient rule against differences, to first and second order; and that none is missing."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.autograd import grad, higher_order
from tinytorch.core.autograd import COMPOSITES, RULES

from .samples import BACKWARD_ONLY, NO_DERIVATIVE, SAMPLES, all_ops

OPS = all_ops()
SAMPLED = [name for name, calls in SAMPLES.items() if name in OPS and calls]


def each_call(check):
    """A check of (op, call) as one of those that test_rule runs."""
    CHECKS.append(check)
    return check


CHECKS = []


# ---- the tables are whole ----

def test_every_rule_has_samples():
    """A rule that nobody checks is a rule that may be wrong"""
    ruled = {op.__name__ for op in RULES} & set(OPS)
    assert ruled - set(SAMPLES) == set(), "these rules have no sample in samples.py"


def test_every_sample_has_an_op():
    assert set(SAMPLES) - set(OPS) == set(), "samples.py speaks of ops that are not there"


def test_every_op_has_a_rule_or_none_by_intention():
    without = {name for name, op in OPS.items() if op not in RULES}
    assert without == set(NO_DERIVATIVE) | set(BACKWARD_ONLY)


@pytest.mark.parametrize("name", NO_DERIVATIVE)
def test_ops_without_a_derivative_have_no_floats_to_give(name):
    """Called on what wants a gradient they give integers or bools, without history"""
    x = torch.tensor([[1., 3.], [2., 0.5]], requires_grad=True)
    more = {"order": (), "top_order": (1, 1, True), "median_index": (1,), "all": (), "any": (),
            "argmax": (),
            "argmin": (), "count_nonzero": (), "isnan": (), "isinf": (), "isfinite": (),
            "logical_not": ()}
    if name.startswith("bitwise"):
        x = x > 1
    inputs = (x, *more[name]) if name in more else (x,) if name == "bitwise_not" else (x, x)
    out = OPS[name](*inputs)
    assert out.dtype.kind in "biu" and not out.requires_grad and out.node is None


def test_an_op_that_keeps_floats_has_a_plain_form():
    """Kept floats have no history: without a composite the second derivative would be wrong"""
    keeping = [op for op in OPS.values() if op.keeps]
    assert {"gelu", "cross_entropy_rows"} <= {op.__name__ for op in keeping}
    for op in keeping:
        if op in COMPOSITES:
            continue
        for call in SAMPLES[op.__name__]:
            kept = op.forward(*call.inputs, **call.params)[1:]
            assert all(k.dtype.kind in "biu" for k in kept
                       if isinstance(k, np.ndarray)), op.__name__


# ---- first order ----

def value(op, call, arrays, weights):
    """The sum of the op's results times the weights, by arrays alone: nobody records."""
    out = op(*[x.copy() if isinstance(x, np.ndarray) else x for x in call.replaced(arrays)],
             **call.params)
    parts = out if op.outputs else [out]
    return sum(float((part * w).sum()) for part, w in zip(parts, weights))


def drawn(op, call, seed=1):
    """For a call: its arrays, weights for its outputs, and a direction for each array."""
    rng = np.random.default_rng(seed)
    arrays = [call.inputs[i] for i in call.floats()]
    out = op(*call.inputs, **call.params)
    weights = [rng.normal(size=np.shape(part)) for part in (out if op.outputs else [out])]
    return arrays, weights, [rng.normal(size=a.shape) for a in arrays]


def weighted(op, call, tensors, weights):
    out = op(*call.replaced(tensors), **call.params)
    parts = out if op.outputs else [out]
    return sum((part * torch.tensor(w, dtype=part.dtype)).sum() for part, w in zip(parts, weights))


def gradients(op, call, arrays, weights):
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    loss = weighted(op, call, leaves, weights)
    if loss.node is not None:
        loss.backward()
    return [np.zeros(a.shape) if leaf.grad is None else leaf.grad.numpy()
            for a, leaf in zip(arrays, leaves)]


def moved(arrays, directions, h):
    return [a + h * d for a, d in zip(arrays, directions)]


@each_call
def against_differences(op, call):
    """Along a random direction, each input by itself, in float64"""
    arrays, weights, directions = drawn(op, call)
    found = gradients(op, call, arrays, weights)
    for i, direction in enumerate(directions):
        only = [d if j == i else 0 * d for j, d in enumerate(directions)]
        up, down = [value(op, call, moved(arrays, only, h), weights) for h in (1e-6, -1e-6)]
        judge, slope = (up - down) / 2e-6, float((found[i] * direction).sum())
        assert found[i].shape == arrays[i].shape and found[i].dtype == "float64"
        assert abs(slope - judge) <= 1e-6 + 1e-5 * abs(judge), (
            f"input {i}: the rule says {slope}, nudging says {judge}")


@each_call
def in_float32(op, call):
    """The gradient of a float32 tensor is float32, and the same number"""
    if op.__name__ == "cast":
        return
    arrays, weights, _ = drawn(op, call)
    exact = gradients(op, call, arrays, weights)
    single = gradients(op, call, [a.astype("float32") for a in arrays],
                       [w.astype("float32") for w in weights])
    for wide, narrow in zip(exact, single):
        np.testing.assert_allclose(narrow, wide, rtol=2e-3, atol=2e-4)


@each_call
def writes_nothing(op, call):
    """Inputs, result and incoming gradient are as they were: a second walk gives the same"""
    arrays, weights, _ = drawn(op, call)
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    loss = weighted(op, call, leaves, weights)
    if loss.node is None:
        return
    loss.backward(retain_graph=True)
    first = [None if leaf.grad is None else leaf.grad.clone() for leaf in leaves]
    loss.backward()
    for leaf, g, a in zip(leaves, first, arrays):
        np.testing.assert_array_equal(leaf.detach().numpy(), a)
        if g is not None:
            np.testing.assert_allclose(leaf.grad.numpy(), 2 * g.numpy(), rtol=1e-12)


# ---- second order ----

@each_call
def second_derivative(op, call):
    """The gradient's own gradient, inside higher_order(), along a random direction"""
    arrays, weights, directions = drawn(op, call)
    others = [d for _, _, ds in [drawn(op, call, seed=2)] for d in ds]

    def slope(arrays):
        return sum(float((g * v).sum())
                   for g, v in zip(gradients(op, call, arrays, weights), others))

    with higher_order():
        leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
        loss = weighted(op, call, leaves, weights)
        if loss.node is None:
            assert slope(arrays) == 0
            return
        first = grad(loss, leaves, create_graph=True, allow_unused=True)
        total = sum((g * torch.tensor(v)).sum() for g, v in zip(first, others) if g is not None)
        recorded = isinstance(total, torch.Tensor) and total.node is not None
        second = grad(total, leaves, allow_unused=True) if recorded else [None] * len(leaves)
    ours = sum(float((g.numpy(force=True) * d).sum()) for g, d in zip(second, directions)
               if g is not None)
    h = 1e-6
    judge = (slope(moved(arrays, directions, h)) - slope(moved(arrays, directions, -h))) / (2 * h)
    assert abs(ours - judge) <= 1e-5 + 1e-4 * abs(judge), f"recorded {ours}, differences {judge}"


# ---- plain forms ----

@each_call
def plain_form(op, call):
    """The same numbers, shape and dtype, and the same gradient"""
    if op not in COMPOSITES:
        return
    plain = COMPOSITES[op]
    arrays, weights, _ = drawn(op, call)
    for dtype in ("float64", "float32"):
        tensors = [torch.tensor(a, dtype=np.dtype(dtype)) for a in arrays]
        inputs = [torch.tensor(x) if isinstance(x, np.ndarray) else x
                  for x in call.replaced(tensors)]
        ours, theirs = op(*inputs, **call.params), plain(*inputs, **call.params)
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5 if dtype == "float32"
                                   else 1e-12,
                                   atol=1e-6 if dtype == "float32" else 1e-12)
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    out = plain(*[torch.tensor(x) if isinstance(x, np.ndarray) else x
                  for x in call.replaced(leaves)], **call.params)
    (out * torch.tensor(weights[0])).sum().backward()
    for leaf, g in zip(leaves, gradients(op, call, arrays, weights)):
        np.testing.assert_allclose(leaf.grad.numpy(), g, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SAMPLED)
def test_rule(name):
    """Differences, float32, nothing written, second derivative, plain form: each for each sample"""
    for i, call in enumerate(SAMPLES[name]):
        for check in CHECKS:
            try:
                check(OPS[name], call)
            except AssertionError as error:
                raise AssertionError(f"{check.__name__} of sample {i}: {error}") from error


# ---- where a difference quotient says nothing ----

def gradient_at(f, *numbers):
    leaves = [torch.tensor(n, dtype=torch.float64, requires_grad=True) for n in numbers]
    f(*leaves).sum().backward()
    return [leaf.grad.tolist() for leaf in leaves]


def test_kinks_ties_and_edges():
    """PyTorch's choices: half each at a tie of maximum, 0 at |0|, clamp's bounds count as inside"""
    assert gradient_at(torch.maximum, [1., 2.], [1., 3.]) == [[0.5, 0.], [0.5, 1.]]
    assert gradient_at(torch.minimum, [1., 2.], [1., 3.]) == [[0.5, 1.], [0.5, 0.]]
    assert gradient_at(torch.fmax, [1., np.nan], [1., 3.]) == [[1., 0.], [0., 1.]]
    assert gradient_at(torch.abs, [0., -2.]) == [[0., -1.]]
    assert gradient_at(lambda x: x.clamp(-1, 1), [-1., 0., 1., 1.5]) == [[1., 1., 1., 0.]]
    assert gradient_at(lambda x: x.amax(), [3., 1., 3.]) == [[0.5, 0., 0.5]]
    assert gradient_at(lambda x: x.max(0).values, [3., 1., 3.]) == [[1., 0., 0.]]
    assert gradient_at(lambda x: x.max(), [3., 1., 3.]) == [[0.5, 0., 0.5]]
    assert gradient_at(lambda x: x.norm(), [0., 0.]) == [[0., 0.]]
    assert gradient_at(lambda x: x.std(), [2., 2.]) == [[0., 0.]]
    assert gradient_at(torch.relu, [-1., 0., 1.]) == [[0., 0., 1.]]
    assert gradient_at(torch.floor, [1.5, 2.]) == [[0., 0.]]
    assert gradient_at(lambda x: x ** 0, [0., 2.]) == [[0., 0.]]
    assert gradient_at(lambda x: x ** 2, [0., -3.]) == [[0., -6.]]
    assert gradient_at(torch.atan2, [0.], [0.]) == [[0.], [0.]]


def test_a_product_with_zeros():
    """The gradient of a product at a 0 is the product of the others"""
    assert gradient_at(lambda x: x.prod(), [2., 0., 5.]) == [[0., 10., 0.]]
    assert gradient_at(lambda x: x.prod(), [0., 0., 5.]) == [[0., 0., 0.]]
    assert gradient_at(lambda x: x.cumprod(0), [2., 0., 5.]) == [[1., 12., 0.]]


def test_what_was_masked_gets_no_nan():
    """where and masked_fill cut off a gradient entirely, also an infinite one"""
    x = torch.tensor([0., 4.], requires_grad=True)
    torch.where(x > 0, x, 1.).sqrt().sum().backward()
    assert x.grad.tolist() == [0., 0.25]


def test_floor_divide_has_no_history():
    """As in PyTorch: // of a tensor that wants a gradient gives one that has none"""
    x = torch.tensor([7., 5.], requires_grad=True)
    assert (x // 2).requires_grad is False
