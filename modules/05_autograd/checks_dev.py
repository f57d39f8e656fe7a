# %% [markdown]
# # Checking a gradient
#
# Given code: the judge of exercise 1, for any function of tensors. One random direction for all inputs
# at once: a wrong gradient would have to be wrong at a right angle to it.

# %%
#| default_exp core.checks

# %%
import numpy as np

from tinytorch.core.autograd import central_difference
from tinytorch.core.tensor import Tensor

# %%
#| export
def check_gradient(f, *inputs, h=1e-6, atol=1e-5, rtol=1e-3, seed=0):
    """Compare the gradient of f with central differences, along a random direction, in float64.

    f: takes tensors, returns a tensor; a random weight for each of its numbers makes it one number.
    inputs: tensors or arrays; the floats among them are checked, and must not stand at a kink.
    Returns (gradient's slope, judge's slope); raises AssertionError naming the input if they differ by
    more than atol + rtol * |judge| (gradcheck's tolerances in PyTorch).
    """
    rng = np.random.default_rng(seed)
    arrays = [np.array(x.data if isinstance(x, Tensor) else x) for x in inputs]
    checked = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    arrays = [a.astype("float64") if a.dtype.kind == "f" else a for a in arrays]
    tensors = [Tensor(a, requires_grad=i in checked) for i, a in enumerate(arrays)]
    out = f(*tensors)
    weights = Tensor(rng.normal(size=out.shape))
    (out * weights).sum().backward()

    def value(i, moved):
        return (f(*[Tensor(moved if j == i else a) for j, a in enumerate(arrays)]) * weights).sum().item()

    ours = theirs = 0.0
    for i in checked:
        direction = rng.normal(size=arrays[i].shape)
        g = tensors[i].grad
        slope = float((g.data * direction).sum()) if g is not None else 0.0
        judge = central_difference(lambda x, i=i: value(i, x), arrays[i], direction, h)
        if not abs(slope - judge) <= atol + rtol * abs(judge):
            raise AssertionError(f"the gradient of input {i}, of shape {arrays[i].shape}, has slope "
                                 f"{slope:.8g} along a random direction; nudging it gives {judge:.8g}.")
        ours, theirs = ours + slope, theirs + judge
    return ours, theirs
