# Generated from modules/04_losses/losses_dev.py by tito export. Edit the lesson, not this file.
# source sha256 0f4b616dd52648f76a9cf16f4d0cba2c8ac5f324f442b7758d58e408b40509bd  body sha256 edf9db421d60b02b956e3432f130613cfc6607633e42db009da86100ce18e70f  # noqa: E501
"""nn.losses: built in module 04_losses."""

import numpy as np

from tinytorch.core.backend import array_module
from tinytorch.core.op import op

__all__ = ["cross_entropy_rows"]


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
