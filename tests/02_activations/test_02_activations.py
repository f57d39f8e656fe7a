"""The activations of the lesson: values by Python's math in float64, dtypes, shapes, edges, errors."""
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import tinytorch as torch
from tinytorch.core.op import Op
from tinytorch.nn import activations as F

from .support import same

inf, nan = math.inf, math.nan
NUMBERS = [-9.0, -2.0, -1.0, -0.3, 0.0, 0.3, 0.5, 1.0, 2.0, 9.0]


def tanh_form(x): return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
def exact_gelu(x): return 0.5 * x * math.erfc(-x / math.sqrt(2))
def logistic(x): return 1 / (1 + math.exp(-x))


ELEMENTWISE = {
    "relu": (F.relu, lambda x: x if x > 0 else 0.0),
    "leaky_relu": (F.leaky_relu, lambda x: x if x > 0 else 0.01 * x),
    "sigmoid": (F.sigmoid, logistic),
    "tanh": (F.tanh, math.tanh),
    "softplus": (F.softplus, lambda x: math.log1p(math.exp(x))),
    "silu": (F.silu, lambda x: x * logistic(x)),
    "gelu": (F.gelu, exact_gelu),
    "gelu, tanh form": (lambda x: F.gelu(x, approximate="tanh"), tanh_form),
}
each = pytest.mark.parametrize("f, formula", ELEMENTWISE.values(), ids=ELEMENTWISE)


def columns(shape, dim):
    """The flat places of an array of `shape`: one row for each run of numbers along `dim`."""
    return np.moveaxis(np.arange(math.prod(shape)).reshape(shape), dim, -1).reshape(-1, shape[dim])


# ---- one number at a time ----

@each
def test_values_and_dtypes(f, formula):
    """The formula, number by number, in float32, float64 and float16"""
    expected = [formula(x) for x in NUMBERS]
    same(f(torch.tensor(NUMBERS)), expected, "float32")
    same(f(torch.tensor(NUMBERS, dtype=torch.float64)), expected, "float64", 1e-13, 1e-15)
    same(f(torch.tensor(NUMBERS, dtype=torch.float16)), expected, "float16", 1e-3, 1e-3)


@each
def test_float16_is_rounded_once(f, formula):
    """float16 gives the float32 result, rounded: no step in between has three digits only"""
    x = torch.tensor(np.random.default_rng(0).normal(size=500).astype("float16"))
    expected = f(torch.tensor(x.numpy().astype("float32"))).numpy().astype("float16")
    np.testing.assert_array_equal(f(x).numpy(), expected)


@each
def test_shapes(f, formula):
    """Every number by itself, in any shape: (), (1, 3), (2, 1, 2), transposed, empty"""
    same(f(torch.tensor(-0.3)), formula(-0.3))
    same(f(torch.tensor([[-1.0, 0.5, 2.0]])), [[formula(-1.0), formula(0.5), formula(2.0)]])
    x = np.array([[[0.3, -2.0]], [[1.0, 9.0]]])
    same(f(torch.tensor(x)), np.vectorize(formula)(x), "float64")
    same(f(torch.tensor(x).transpose(0, 2)), np.vectorize(formula)(x).swapaxes(0, 2))
    same(f(torch.tensor(np.zeros((0, 4), "float32"))), np.zeros((0, 4)), "float32")


@each
def test_no_overflow(f, formula):
    """Nothing overflows between -1000 and 1000, in float16 neither"""
    for dtype, size in ("float32", 1000.0), ("float64", 1000.0), ("float16", 1000.0):
        with np.errstate(over="raise", invalid="raise"):
            out = f(np.array([-size, size], dtype))
        far = {"sigmoid": 1.0, "tanh": 1.0}.get(getattr(f, "name", ""), size)
        assert out[1] == far and abs(out[0]) <= 10, f"{dtype}: {out}"


@each
def test_nan_stays_and_input_is_untouched(f, formula):
    """nan gives nan, and the numbers that were given are there afterwards"""
    x = torch.tensor([nan, -1.0, 2.0])
    same(f(x), [nan, formula(-1.0), formula(2.0)])
    same(x, [nan, -1.0, 2.0])


@each
def test_arrays_give_arrays(f, formula):
    """Called with an array, an op answers with an array: ops and rules use it so"""
    out = f(np.array([-1.0, 2.0], "float32"))
    assert type(out) is np.ndarray and out.dtype == "float32"
    np.testing.assert_allclose(out, [formula(-1.0), formula(2.0)], 1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_integers(dtype):
    """relu keeps integers, sigmoid and tanh make float32 of them, the others refuse them"""
    x = torch.tensor([0, 3, 100], dtype=dtype)
    same(F.relu(x), [0, 3, 100], dtype)
    same(F.sigmoid(x), [0.5, logistic(3), 1.0], "float32")
    same(F.tanh(x), [0.0, math.tanh(3), 1.0], "float32")
    for f in F.leaky_relu, F.softplus, F.silu, F.gelu:
        with pytest.raises(RuntimeError, match=f"{f.name} of {dtype} .*float"):
            f(x)


def test_signed_integers():
    same(F.relu(torch.tensor([-128, -1, 127], dtype="int8")), [0, 0, 127], "int8")
    same(F.sigmoid(torch.tensor([-128, 2], dtype="int8")), [logistic(-128), logistic(2)], "float32")


def test_bools():
    """Bools are numbers for sigmoid and tanh, and refused by the others"""
    x = torch.tensor([True, False])
    same(F.sigmoid(x), [logistic(1), 0.5], "float32")
    same(F.tanh(x), [math.tanh(1), 0.0], "float32")
    for f in F.relu, F.leaky_relu, F.softplus, F.silu, F.gelu:
        with pytest.raises(RuntimeError, match=f"{f.name} of bool"):
            f(x)


def test_lists_are_no_tensors():
    for f in F.relu, F.leaky_relu, F.sigmoid, F.softplus, F.silu, F.gelu:
        with pytest.raises(TypeError, match=f"{f.name} of a list"):
            f([1.0, 2.0])
    with pytest.raises(TypeError, match="softmax of a list"):
        F.softmax([1.0, 2.0], 0)


def test_infinities():
    same(F.relu(torch.tensor([-inf, inf])), [0.0, inf])
    same(F.leaky_relu(torch.tensor([-inf, inf])), [-inf, inf])
    same(F.sigmoid(torch.tensor([-inf, inf])), [0.0, 1.0])
    same(F.tanh(torch.tensor([-inf, inf])), [-1.0, 1.0])
    same(F.softplus(torch.tensor([-inf, inf])), [0.0, inf])


def test_small_probabilities_are_not_lost():
    """sigmoid(-x) and softplus(-x) are e^-x far out, to all digits of the dtype"""
    for dtype, far, digits in ("float32", 80.0, 1e-5), ("float64", 700.0, 1e-12):
        x = torch.tensor([-far, -30.0], dtype=dtype)
        expected = [math.exp(-far), math.exp(-30.0)]
        same(F.sigmoid(x), expected, dtype, digits, 0)
        same(F.softplus(x), expected, dtype, digits, 0)


@settings(max_examples=50, deadline=None)
@given(st.floats(-700, 700))
def test_sigmoid_anywhere(x):
    """Any float64: the formula where it does not overflow, and both sides sum to 1"""
    got = F.sigmoid(np.array([x, -x]))
    assert math.isclose(got[0], logistic(x), rel_tol=1e-13) and abs(got.sum() - 1) < 1e-15


@pytest.mark.parametrize("slope", [0.0, 0.2, 1.0, 3.0, -0.5])
def test_leaky_relu_slopes(slope):
    """Any slope, by position and by name"""
    same(F.leaky_relu(torch.tensor([-4.0, 2.0]), slope), [-4 * slope, 2.0])
    same(F.leaky_relu(torch.tensor([-4.0, 2.0]), negative_slope=slope), [-4 * slope, 2.0])


def test_softplus_beta_and_threshold():
    """log(1 + e^(beta x)) / beta; above the threshold, which is compared with beta x, x itself"""
    x = torch.tensor([-1.0, 0.4, 3.0], dtype=torch.float64)
    for beta in 0.5, 2.0, 10.0:
        expected = [math.log1p(math.exp(beta * v)) / beta for v in (-1.0, 0.4, 3.0)]
        same(F.softplus(x, beta=beta, threshold=1e9), expected, "float64", 1e-12)
    bent = math.log1p(math.exp(0.8)) / 2
    same(F.softplus(x, 2.0, 5.0), [math.log1p(math.exp(-2.0)) / 2, bent, 3.0], "float64", 1e-12)
    assert F.softplus(torch.tensor([20.5])).item() == 20.5
    same(F.softplus(torch.tensor([1.0, 2.0]), threshold=1.0), [1.3132617, 2.0])


@pytest.mark.parametrize("form", ["none", "tanh"])
def test_gelu_in_pieces(form):
    """A large array, also one that is no single row of memory, gives what its parts give"""
    x = np.random.default_rng(2).normal(size=(3, 350003)).astype("float32")
    parts = [F.gelu.forward(row[start:start + 10000], form) for row in x for start in range(0, 350003, 10000)]
    for large in x, np.asfortranarray(x):
        for whole, some in zip(F.gelu.forward(large, form), zip(*parts)):
            np.testing.assert_array_max_ulp(whole.reshape(-1), np.concatenate(some), 4)


def test_gelu_refuses_an_unknown_form():
    """An approximate that is neither 'none' nor 'tanh' is named, with both words that are allowed"""
    with pytest.raises(RuntimeError, match="exact") as error:
        F.gelu(torch.tensor([1.0]), approximate="exact")
    for word in "none", "tanh":
        assert word in str(error.value)


def test_gelu_keeps_its_gate():
    """The gate, not the output, is what follows it: module 05 and kernels count on that"""
    x = np.array([-1.0, 2.0])
    assert F.gelu.keeps and not F.softmax.keeps
    out, gate = F.gelu.forward(x)
    np.testing.assert_allclose(gate, [0.15865525, 0.97724987], 1e-7)
    np.testing.assert_allclose(out, x * gate)
    out, gate = F.gelu.forward(x.astype("float16"), "tanh")
    assert out.dtype == "float16" and gate.dtype == "float32"


# ---- along a dimension ----

def test_softmax_by_hand():
    same(F.softmax(torch.tensor([1.0, 2.0, 3.0]), 0), [0.09003057, 0.24472847, 0.66524096], "float32")
    same(F.log_softmax(torch.tensor([1.0, 2.0, 3.0]), 0), [-2.4076059, -1.4076059, -0.4076059])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_along_any_dim_of_any_shape(data):
    """Rows along dim, wherever it is: their formula; adding a number to a row changes nothing"""
    shape = data.draw(array_shapes(min_dims=1, max_dims=4, max_side=4))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = data.draw(arrays("float64", shape, elements=st.floats(-20, 20)))
    index = columns(shape, dim)
    rows = np.exp(x.reshape(-1)[index])
    shares = np.empty(x.size)
    shares[index] = rows / rows.sum(1, keepdims=True)
    shares = shares.reshape(shape)
    same(F.softmax(torch.tensor(x), dim), shares, "float64", 1e-12, 1e-15)
    same(F.log_softmax(torch.tensor(x), dim), np.log(shares), "float64", 1e-10, 1e-12)
    row = np.random.default_rng(0).normal(0, 1e5, size=np.take(x, [0], dim).shape)
    same(F.softmax(torch.tensor(x + row), dim), shares, "float64", 1e-9, 1e-12)


def test_extremes():
    """Scores thousands apart, forbidden scores, and rows that have no answer: nan, as in PyTorch"""
    same(F.softmax(torch.tensor([-5000.0, 0.0, 5000.0]), 0), [0.0, 0.0, 1.0])
    same(F.log_softmax(torch.tensor([-5000.0, 0.0, 5000.0]), 0), [-10000.0, -5000.0, 0.0])
    same(F.softmax(torch.tensor([-inf, 1.0, 1.0]), -1), [0.0, 0.5, 0.5])
    same(F.log_softmax(torch.tensor([-inf, 1.0]), -1), [-inf, 0.0])
    with np.errstate(invalid="ignore"):
        same(F.softmax(torch.tensor([[-inf, -inf], [0.0, 0.0]]), 1), [[nan, nan], [0.5, 0.5]])
        same(F.log_softmax(torch.tensor([inf, 1.0]), 0), [nan, nan])
    same(F.softmax(torch.tensor([nan, 1.0]), 0), [nan, nan])


def test_log_softmax_far_down():
    """The logarithm of a share that float32 and float64 cannot hold is an ordinary number"""
    same(F.log_softmax(torch.tensor([[0.0, -200.0]]), 1), [[0.0, -200.0]], "float32")
    same(F.log_softmax(torch.tensor([[0.0, -2000.0]], dtype="float64"), 1), [[0.0, -2000.0]])


@pytest.mark.parametrize("f", [F.softmax, F.log_softmax])
def test_edges(f):
    """Shape () counts as (1,); empty stays empty, along the empty dim too; the input is untouched"""
    one = 1.0 if f is F.softmax else 0.0
    for dim in 0, -1:
        same(f(torch.tensor(4.0), dim), one, "float32")
    same(f(torch.tensor([[4.0]]), 1), [[one]])
    for shape, dim in ((0, 3), 1), ((0, 3), 0), ((2, 0), -1), ((0,), 0):
        same(f(torch.tensor(np.zeros(shape)), dim), np.zeros(shape), "float64")
    x = torch.tensor([1.0, 2.0])
    f(x, 0)
    same(x, [1.0, 2.0])


@pytest.mark.parametrize("f", [F.softmax, F.log_softmax])
def test_dtypes_along_a_dim(f):
    """The dtype stays; dtype= converts first, integers too"""
    scores = [1.0, 2.0, 3.0]
    expected = f(np.array(scores), 0)
    for dtype in "float16", "float32", "float64":
        tolerance = 1e-3 if dtype == "float16" else 1e-6
        same(f(torch.tensor(scores, dtype=dtype), 0), expected, dtype, tolerance)
    same(f(torch.tensor(scores), 0, dtype=torch.float64), expected, "float64", 1e-14)
    same(f(torch.tensor(scores, dtype="float16"), 0, dtype="float32"), expected, "float32", 1e-6)
    same(f(torch.tensor([1, 2, 3]), 0, dtype="float32"), expected, "float32")
    for x in torch.tensor([1, 2, 3]), torch.tensor([True, False]):
        with pytest.raises(RuntimeError, match=f"{f.name} of .*float"):
            f(x, 0)


def test_float16_sums_are_not_lost():
    """70,000 equal scores: their sum is beyond float16, and down a column it would stop at 2048"""
    x = np.zeros((70_000, 1), "float16")
    same(F.softmax(torch.tensor(x), 0)[:2], np.full((2, 1), 1 / 70_000), "float16", 1e-2)
    same(F.log_softmax(torch.tensor(x), 0)[:2], np.full((2, 1), -math.log(70_000)), "float16", 1e-3)


@pytest.mark.parametrize("f", [F.softmax, F.log_softmax])
def test_dim_is_named(f):
    """dim by position, as dim= or NumPy's axis=; a dim that is missing or no whole number is an error"""
    x = torch.tensor([[1.0, 2.0], [5.0, 3.0]])
    same(f(x, dim=0), f(x, 0).numpy())
    same(f(x, axis=1), f(x, -1).numpy())
    same(f(input=x, dim=np.int64(1)), f(x, 1).numpy())
    for wrong in 2, -3:
        with pytest.raises(IndexError):
            f(x, wrong)
    with pytest.raises(IndexError):
        f(torch.tensor(1.0), 1)
    with pytest.raises(IndexError):
        f(torch.tensor(np.zeros((0, 2))), 2)
    for wrong in None, (0, 1), 1.0, True:
        with pytest.raises(TypeError, match="dim"):
            f(x, wrong)
    with pytest.raises(TypeError, match="dim"):
        f(x)


# ---- how they are offered ----

def test_methods():
    """relu, sigmoid, tanh, softmax and log_softmax are methods too, and `_` writes in place"""
    x = torch.tensor([[-1.0, 2.0]])
    same(x.relu(), [[0.0, 2.0]])
    same(x.sigmoid(), [[logistic(-1), logistic(2)]])
    same(x.tanh(), [[math.tanh(-1), math.tanh(2)]])
    same(x.softmax(-1), [[0.04742587, 0.95257413]])
    same(x.log_softmax(dim=1), [[-3.0485874, -0.0485874]])
    assert x.relu_() is x
    same(x, [[0.0, 2.0]])


def test_all_are_ops():
    """Each is an Op, so that module 05 can give it a rule and module 18 a kernel"""
    for name in F.__all__:
        assert isinstance(getattr(F, name), Op), name
    assert sorted(F.__all__) == sorted("""relu leaky_relu sigmoid tanh softplus silu gelu softmax
                                          log_softmax""".split())
