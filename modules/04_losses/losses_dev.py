# %% [markdown]
# # Module 04: Losses, one number that can be improved

# %%
#| default_exp nn.losses
from tito.lesson import expect, expect_error, measure, peak_bytes, run_tests, timed

# %%
import numpy as np

from tinytorch.core.backend import array_module
from tinytorch.core.op import op


# %%
#| export
@op(keeps=True)
def cross_entropy_rows(logits, target, ignore_index=-100):
    """The cross entropy of each row: minus the log of the probability of its right class.

    logits: (N, C) floats. target: (N,) integers, 0 to C - 1, or ignore_index for a row whose loss is 0.
    Gives (N,), and keeps the probabilities (N, C) for the gradient.
    """
    counts = target != ignore_index
    picked = array_module(logits).arange(len(target)), target * counts     # class 0 where ignored
    p = logits - logits.max(1, keepdims=True)
    score = p[picked]
    np.exp(p, out=p)
    total = p.sum(1)
    p /= total[:, None]
    return (np.log(total) - score) * counts, p
