"""Sample inputs for every op of modules 01 to 05 that has a gradient rule, and who has none.

A float64 array among the inputs is differentiated by; the rest is handed on as it is. No number
stands at a kink or a tie, where a difference quotient says nothing.
"""
import importlib
import re
from pathlib import Path

import numpy as np

import tinytorch
from tinytorch.core.base import OpBase

_rng = np.random.default_rng(5)


class Call:
    """One call of an op: `inputs` by position, `params` by name."""
    def __init__(self, *inputs, **params): self.inputs, self.params = inputs, params

    def floats(self):
        """The places of the inputs to differentiate by."""
        return [i for i, x in enumerate(self.inputs)
                if isinstance(x, np.ndarray) and x.dtype == "float64"]

    def replaced(self, new):
        """The inputs, with `new` in the places of the floats."""
        inputs = list(self.inputs)
        for i, x in zip(self.floats(), new):
            inputs[i] = x
        return inputs


def N(*shape): return _rng.normal(size=shape)                          # any number
def P(*shape): return _rng.uniform(0.3, 2.5, size=shape)               # positive
def U(*shape): return _rng.uniform(-0.9, 0.9, size=shape)              # inside (-1, 1)
def A(*shape): return _rng.uniform(0.1, 0.9, size=shape)               # a probability
def B(*shape): return _rng.uniform(size=shape) < 0.5                   # bools
def I(*numbers): return np.array(numbers)                              # noqa: E743


def far(*shape):
    """Away from whole numbers and halves, where staircases jump."""
    return _rng.integers(-3, 4, size=shape) + _rng.uniform(0.1, 0.4, size=shape)


SAMPLES = {
    # ops
    "add": [Call(N(2, 3), N(3)), Call(N(2, 3), 2.5), Call(N(3), N(2, 1), alpha=-3)],
    "subtract": [Call(N(2, 1), N(3)), Call(2., N(3)), Call(N(3), N(3), alpha=0.5)],
    "multiply": [Call(N(2, 3), N(3)), Call(N(2, 3), -1.5), Call(N(1, 3), N(2, 1)), Call(N(), N(2))],
    "divide": [Call(N(2, 3), P(3)), Call(1., P(3)), Call(N(3), 3)],
    "pow": [Call(N(3), 3), Call(P(3), 0.5), Call(P(2, 3), N(3)), Call(2., N(3)), Call(N(3), 0),
            Call(N(3), 1)],
    "negative": [Call(N(2, 3))],
    "reshape_to": [Call(N(2, 6), (3, -1)), Call(N(), (1, 1))],
    "transpose": [Call(N(2, 3, 4), 0, -1)],
    "getitem": [Call(N(3, 4), 1), Call(N(3, 4), (slice(None), slice(1, 4, 2))), Call(N(3, 4), None),
                Call(N(3, 4), (Ellipsis, 2)), Call(N(4), I(0, 2, 2, 0)), Call(N(3, 4), [1, 1]),
                Call(N(3, 4), (I(0, 2, 0), I(1, 3, 1))),
                Call(N(2, 3), B(2, 3) | np.eye(2, 3, dtype=bool)),
                Call(N(2, 3, 4), (slice(None), I([2, 0], [2, 2]))), Call(N(3), slice(0, 0)),
                Call(N(3, 4), (1, 2))],
    "matmul": [Call(N(2, 3), N(3, 4)), Call(N(3), N(3)), Call(N(3), N(3, 2)), Call(N(2, 3), N(3)),
               Call(N(5, 2, 3), N(3, 4)), Call(N(5, 2, 3), N(5, 3, 4)), Call(N(2, 3), N(5, 3, 4)),
               Call(N(4, 1, 2, 3), N(5, 3, 2)), Call(N(3), N(5, 3, 2)), Call(N(5, 2, 3), N(3))],
    "mean": [Call(N(2, 3)), Call(N(2, 3), 1), Call(N(2, 3, 4), (0, -1), True),
             Call(N(2, 3), dim=0)],
    "var": [Call(N(2, 3)), Call(N(2, 3), 1), Call(N(2, 3, 4), (0, 2), 0, True), Call(N(4), 0, 2)],
    "masked_fill": [Call(N(2, 3), B(3), 7.), Call(N(2, 3), B(2, 1), N()), Call(N(3), B(3), N())],
    "gather": [Call(N(2, 3), 1, I([2, 2], [0, 1])), Call(N(2, 3), 0, I([1, 0, 1])),
               Call(N(2, 3), -1, I([1], [1]))],
    # one number at a time
    "exp": [Call(N(2, 3))], "exp2": [Call(N(2, 3))], "expm1": [Call(N(2, 3))],
    "log": [Call(P(2, 3))], "log2": [Call(P(2, 3))], "log10": [Call(P(2, 3))],
    "log1p": [Call(P(2, 3))],
    "sqrt": [Call(P(2, 3))], "rsqrt": [Call(P(2, 3))], "square": [Call(N(2, 3))],
    "reciprocal": [Call(P(2, 3)), Call(-P(2))], "sin": [Call(N(2, 3))], "cos": [Call(N(2, 3))],
    "tan": [Call(U(2, 3))], "asin": [Call(U(2, 3))], "acos": [Call(U(2, 3))],
    "atan": [Call(N(2, 3))],
    "sinh": [Call(N(2, 3))], "cosh": [Call(N(2, 3))], "asinh": [Call(N(2, 3))],
    "acosh": [Call(P(2, 3) + 1)], "atanh": [Call(U(2, 3))], "erf": [Call(N(2, 3)), Call(3 * N(5))],
    "abs": [Call(N(2, 3))], "sign": [Call(N(2, 3))], "floor": [Call(far(4))],
    "ceil": [Call(far(4))],
    "trunc": [Call(far(4))], "round": [Call(far(4)), Call(far(4), 1)], "frac": [Call(far(4))],
    "nan_to_num": [Call(N(3))], "nothing": [Call(N(3))],
    # two numbers
    "floor_divide": [], "trunc_divide": [Call(far(4), P(4))],
    "floor_quotient": [Call(far(4), P(4))],
    "remainder": [Call(far(2, 3), P(3)), Call(far(3), -2.), Call(-P(3), P(3))],
    "fmod": [Call(far(2, 3), P(3)), Call(far(3), -2.), Call(-P(3), P(3))],
    "maximum": [Call(N(2, 3), N(3)), Call(N(3), 0.1)],
    "minimum": [Call(N(2, 3), N(3)), Call(0.1, N(3))],
    "fmax": [Call(N(2, 3), N(3))], "fmin": [Call(N(2, 3), N(3))], "atan2": [Call(N(2, 3), N(3))],
    "hypot": [Call(N(2, 3), N(3))], "logaddexp": [Call(N(2, 3), N(3))],
    "xlogy": [Call(N(2, 3), P(3)), Call(N(3), 2.)],
    "clamp": [Call(N(5), -0.5, 0.5), Call(N(5), 0.), Call(N(5), None, 0.),
              Call(N(2, 3), N(3), N(3) + 2),
              Call(N(4), N(4) + 2, N(4) - 2)],
    "choose": [Call(B(2, 3), N(2, 3), N(3)), Call(B(3), N(), 0.)],
    # many into one
    "sum": [Call(N(2, 3)), Call(N(2, 3), 1), Call(N(2, 3, 4), (0, -1), True), Call(N(), 0)],
    "prod": [Call(N(2, 3)), Call(N(2, 3), 1), Call(N(2, 3), 0, True), Call(np.array([2., 0., 3.])),
             Call(np.array([[2., 0., 0.], [1., 2., 0.]]), 1)],
    "cumsum": [Call(N(2, 3), 1), Call(N(2, 3), 0), Call(N(), 0)],
    "cumprod": [Call(N(2, 3), 1), Call(N(3, 2), 0), Call(np.array([2., 0., 3., 4.]), 0)],
    "amax": [Call(N(2, 3)), Call(N(2, 3), 1), Call(N(2, 3, 4), (0, -1), True)],
    "amin": [Call(N(2, 3)), Call(N(2, 3), 1), Call(N(2, 3, 4), (0, -1), True)],
    "deviation": [Call(N(2, 3)), Call(N(2, 3), 1), Call(N(2, 3, 4), (0, -1), 0, True)],
    "logsumexp": [Call(N(2, 3), 1), Call(N(2, 3, 4), (0, -1), True)],
    "vector_norm": [Call(N(2, 3), p, dim) for p in (1, 2, 3, 0.5, float("inf"), -float("inf"))
                    for dim in (None, 1)] + [Call(N(2, 3), 2, 0, True), Call(N(3), 0)],
    # shapes
    "permute_to": [Call(N(2, 3, 4), (2, 0, 1)), Call(N(2, 3), (-1, 0))],
    "spread_to": [Call(N(2, 1), (4, 2, 3))], "spread": [Call(N(2, 1), (2, 3))],
    "clone": [Call(N(2, 3))],
    "flip_all": [Call(N(2, 3), (0, 1)), Call(N(2, 3), (-1,))],
    "roll_by": [Call(N(2, 3), 2, None), Call(N(2, 3), (1, -1), (0, 1))],
    "diagonal": [Call(N(3, 4)), Call(N(2, 3, 4), 1, 1, 2), Call(N(3, 2), -1)],
    "on_diagonal": [Call(N(2), (3, 3), 1, 0, 1), Call(N(4, 2), (4, 2, 2), 0, 1, 2)],
    "tril": [Call(N(2, 3, 4)), Call(N(3, 3), -1)], "triu": [Call(N(2, 3, 4)), Call(N(3, 3), 1)],
    "join": [Call(N(2, 3), N(1, 3)), Call(N(2, 3), N(2, 1), N(2, 2), dim=-1)],
    "stack_up": [Call(N(2, 3), N(2, 3)), Call(N(2), N(2), N(2), dim=-1)],
    "split_sizes": [Call(N(2, 6), (1, 3, 2), 1), Call(N(4), (0, 4))],
    "unbind_all": [Call(N(2, 3), 1)],
    "place_along": [Call(N(2, 3), 1, I([2, 0], [1, 2]), N(2, 2))],
    "add_along": [Call(N(2, 3), 1, I([2, 2], [1, 1]), N(2, 2)),
                  Call(N(2, 3), 0, I([1, 1, 0]), N(1, 3))],
    "place_at": [Call(N(3, 4), N(2, 4), (I(2, 0),)), Call(N(3), N(), (I(1, 2),))],
    "added_at": [Call(N(3, 4), N(2, 4), (I(1, 1),)), Call(N(3), N(), (I(1, 1),))],
    "put": [Call(N(3), I(0, 2, 2), (4,)), Call(N(2, 2), (slice(None), slice(1, 3)), (2, 3))],
    "zero_at": [Call(N(3, 4), 1), Call(N(4), I(0, 2))],
    "last_at": [Call(N(4), I(2, 0, 2)), Call(N(3, 4), (slice(None), I([1, 1], [3, 1]))),
                Call(N(4), 1)],
    "write": [],                                   # in place: test_inplace_gradients.py
    # other dtypes, other devices, draws
    "cast": [Call(N(3), np.dtype("float64"))], "move": [Call(N(3), "cpu")],
    "drawn_below": [Call(np.array([0.2, 0.8]), I(0.5, 0.5).astype("float32"))],
    # activations
    "relu": [Call(N(2, 3))], "leaky_relu": [Call(N(2, 3)), Call(N(4), 0.3), Call(N(4), -1.)],
    "sigmoid": [Call(N(2, 3)), Call(np.array([-40., 40.]))], "tanh": [Call(N(2, 3))],
    "softplus": [Call(N(2, 3)), Call(N(4), 3., 1.)], "silu": [Call(N(2, 3))],
    "gelu": [Call(N(2, 3)), Call(N(2, 3), "tanh")],
    "hardtanh_op": [Call(N(8)), Call(N(8), -0.5, 0.7)],
    "hardsigmoid_op": [Call(N(8)), Call(np.array([-4., -1., 2., 5.]))],
    "softmax": [Call(N(2, 3), 1), Call(N(2, 3), 0)],
    "log_softmax": [Call(N(2, 3), -1), Call(N(3, 2), 0)],
    "through": [Call(N(4), B(4))],
    # layers and losses
    "linear": [Call(N(2, 3), N(4, 3)), Call(N(2, 3), N(4, 3), N(4)),
               Call(N(5, 2, 3), N(4, 3), N(4)),
               Call(N(3), N(4, 3), N(4))],
    "scaled_mask": [Call(N(2, 3), B(2, 3), 2.)],
    "mse_loss": [Call(N(2, 3), N(2, 3), reduction) for reduction in ("mean", "sum", "none")],
    "binary_cross_entropy": [Call(A(2, 3), A(2, 3)),
                             Call(A(2, 3), A(2, 3), P(3).astype("float32"), "sum")],
    "cross_entropy_rows": [Call(N(4, 3), I(0, 2, 1, 1)), Call(N(3, 2), I(1, -7, 0), -7)],
}

# Ops whose results are no floats, or carry no number of their inputs onward
NO_DERIVATIVE = """
    eq ne lt le gt ge logical_and logical_or logical_xor logical_not isnan isinf isfinite isclose
    bitwise_and bitwise_or bitwise_xor bitwise_not argmax argmin all any count_nonzero
    order top_order median_index
""".split()

# Ops that only a rule calls, whose op has a plain form for the second derivative
BACKWARD_ONLY = {"gelu_slope": "gelu"}


def all_ops():
    """name -> op, of every file that modules 01 to 05 build."""
    found = {}
    package = Path(tinytorch.__file__).parent
    for path in sorted(package.rglob("*.py")):
        by = re.match(r"# Generated from modules/0([1-5])_", path.read_text(encoding="utf-8")[:60])
        if not by:
            continue
        parts = path.relative_to(package).with_suffix("").parts
        module = importlib.import_module(".".join(["tinytorch", *parts]))
        for value in vars(module).values():
            if isinstance(value, OpBase) and value.__module__ == module.__name__:
                name = value.__name__                  # `.name` is what users read: "permute"
                assert found.setdefault(name, value) is value, f"two ops are called {name}"
    return found
