"""Sample inputs for the ops of module 09, `(inputs, params)`; float64 arrays are differentiated by.

No number stands at a kink or a tie, where a difference quotient says nothing.
"""
import importlib
import re
from pathlib import Path

import numpy as np

import tinytorch
from tinytorch.core.base import OpBase
from tinytorch.nn.conv_parts import Grid

_rng = np.random.default_rng(9)


def N(*shape): return _rng.normal(size=shape)


def call(*inputs, **params): return inputs, params


PLAIN = Grid((2, 3), (2, 2), (1, 1), (1, 1), ((0, 0), (0, 0)))             # of 3 x 4, windows overlap
WIDE = Grid((2, 2), (2, 3), (2, 1), (1, 2), ((1, 0), (1, 1)))              # of 3 x 4, with margins
HOW = dict(stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)       # (4, 5) by (2, 2): (3, 3)
X, W, G = (2, 4, 4, 5), (6, 2, 2, 2), (2, 6, 3, 3)

PLACES, SHARES = np.array([[0, 1], [1, 2]]), np.array([[0.25, 0.75], [0.5, 0]]).astype("float32")

SAMPLES = {
    "conv2d": [call(N(2, 3, 4, 5), N(2, 3, 3, 2)), call(N(3, 4, 5), N(2, 3, 3, 2), N(2)),
               call(N(*X), N(*W), N(6), **HOW), call(N(1, 2, 4, 3), N(2, 2, 3, 2), padding="same")],
    "conv2d_weight": [call(N(2, 3, 4, 5), (2, 3, 3, 2), N(2, 2, 2, 4)),
                      call(N(*X), W, N(*G), **HOW)],
    "conv2d_input": [call((2, 3, 4, 5), N(2, 3, 3, 2), N(2, 2, 2, 4)), call(X, N(*W), N(*G), **HOW)],
    "channel_sums": [call(N(2, 3, 2, 4)), call(N(3, 2, 4))],
    "max_pool": [call(N(2, 3, 4), PLAIN), call(N(2, 2, 3, 4), WIDE)],
    "window_sums": [call(N(2, 3, 4), PLAIN), call(N(1, 2, 3, 4), WIDE)],
    "window_spread": [call(N(2, 2, 3), PLAIN, 3, 4), call(N(2, 2, 2), WIDE, 3, 4)],
    "picked": [call(N(1, 3, 4), np.array([[[0, 1, 3], [2, 2, 0]]]), PLAIN)],
    "put_back": [call(N(1, 2, 3), np.array([[[0, 1, 3], [2, 2, 0]]]), PLAIN, 3, 4)],
    "taken": [call(N(2, 3), 1, np.array([[2, 0, 0, 1]])),
              call(N(3, 2), 0, PLACES, SHARES)],
    "given_back": [call(N(2, 4), 1, np.array([[2, 0, 0, 1]]), None, 3),
                   call(N(2, 2), 0, PLACES, SHARES, 3)],
    "constant_pad": [call(N(2, 3), ((1, 0), (0, 2))), call(N(2), ((1, 1),), 5.)],
    "window_columns": [call(N(2, 3, 3, 4), PLAIN), call(N(1, 2, 3, 4), WIDE)],
    "added_columns": [call(N(2, 12, 6), PLAIN, 3, 4), call(N(1, 12, 4), WIDE, 3, 4)],
}


def all_ops():
    """name -> op, of every file that module 09 builds."""
    found = {}
    package = Path(tinytorch.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if re.match("# Generated from modules/09_", path.read_text(encoding="utf-8")[:60]):
            parts = path.relative_to(package).with_suffix("").parts
            module = importlib.import_module(".".join(["tinytorch", *parts]))
            found |= {op.__name__: op for op in vars(module).values()
                      if isinstance(op, OpBase) and op.__module__ == module.__name__}
    return found
