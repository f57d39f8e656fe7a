"""Sample inputs for the ops of module 11, `(inputs, params)`; float64 arrays are differentiated by."""
import importlib
import re
from pathlib import Path

import numpy as np

import tinytorch
from tinytorch.core.base import OpBase

_rng = np.random.default_rng(11)


def N(*shape): return _rng.normal(size=shape)


def call(*inputs, **params): return inputs, params


IDS, COUNTS = np.array([[1, 3, 1], [0, 1, 3]]), np.array([[3, 2, 3], [1, 3, 2]])
COS, SIN = [f(_rng.uniform(0, 6, (3, 2))).astype("float32") for f in (np.cos, np.sin)]

SAMPLES = {
    "embedding": [call(IDS, N(5, 2)), call(IDS[0], N(4, 3), padding_idx=2), call(np.array(1), N(3, 2)),
                  call(np.zeros((0, 2), "int64"), N(3, 2))],
    "embedding_grad": [call(N(2, 3, 2), IDS, 5), call(N(3, 1), IDS[1].astype("int32"), 4),
                       call(N(2), np.array(1), 3), call(N(0, 2), np.zeros(0, "int64"), 3)],
    "apply_rotary": [call(N(2, 3, 4), COS, SIN), call(N(3, 4), COS, SIN, "pairs"),
                     call(N(2, 2, 3, 4), COS, SIN, layout="pairs")],
    "divided_gradient": [],                            # its gradient is not that of its values, on purpose
}


def all_ops():
    """name -> op, of every file that module 11 builds."""
    found = {}
    package = Path(tinytorch.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if re.match("# Generated from modules/11_", path.read_text(encoding="utf-8")[:60]):
            parts = path.relative_to(package).with_suffix("").parts
            module = importlib.import_module(".".join(["tinytorch", *parts]))
            found |= {op.__name__: op for op in vars(module).values()
                      if isinstance(op, OpBase) and op.__module__ == module.__name__}
    return found
