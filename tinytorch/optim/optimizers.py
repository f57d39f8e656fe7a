# Generated from modules/06_optimizers/optimizers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2bee1b70eab52952aadb3bbfe07d3769c3e84d8cd9e81cdd80406c5dccc9ae2b  body sha256 da16b1bad9036c3c313f4903e8c06a6337721618de56b86dbc5e007142ad5e67  # noqa: E501
"""optim.optimizers: built in module 06_optimizers."""

import math

import numpy as np

from tinytorch.core.backend import wrote
from tinytorch.core.op import op
from tinytorch.optim.optimizer_base import (
    OptimizerBase,
    at_least_zero,
    check_betas,
    refuse_differentiable,
    restored,
    zeros_beside,
)

__all__ = [
    "Adam", "AdamW", "Optimizer", "SGD", "adam_update", "adamw_update", "largest_so_far",
    "momentum_update", "sgd_update",
]


class Optimizer(OptimizerBase):
    """Changes parameters by their gradients; a subclass says how, in `update_group(group)`."""
    def zero_grad(self, set_to_none=True):
        """Forget the gradients of all parameters: `.grad` becomes None.

        With set_to_none=False it becomes zeros, in the memory that it had and without history; a
        parameter that has no gradient has none afterwards.
        """
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad = p.grad.detach().zero_()   # the same memory, without history

    def load_state_dict(self, state_dict):
        """Take over what `state_dict()` of another optimizer gave; it is copied, and left as it was.

        Memory is replaced, and so are the options that were saved; an option that was not, and the
        parameters, stay. Raises ValueError if the groups have other sizes, before anything has changed.
        """
        saved, groups = state_dict["param_groups"], self.param_groups
        sizes, own_sizes = [[len(group["params"]) for group in some] for some in (saved, groups)]
        if sizes != own_sizes:
            raise ValueError(f"load_state_dict: the state has groups of {sizes} parameters, this optimizer "
                             f"has {own_sizes}. Was it saved from another model, or with other groups?")
        numbers, own = [[p for group in some for p in group["params"]] for some in (saved, groups)]
        parameter = dict(zip(numbers, own))
        self.state.clear()
        for number, memory in state_dict["state"].items():
            p = parameter.get(number, number)
            self.state[p] = {name: restored(name, value, p) for name, value in memory.items()}
        for group, options in zip(groups, saved):
            group.update({**options, "params": group["params"]})


def sgd_update(w, g, lr, weight_decay=0.0):
    """One step of gradient descent, in place: w - lr (g + weight_decay w).

    w, g: arrays of one shape; g is left as it was.

    >>> w = np.array([2., 1.])
    >>> sgd_update(w, np.array([1., 3.]), 0.1, 0.5)
    >>> w
    array([1.8 , 0.65])
    """
    w -= lr * (g + weight_decay * w if weight_decay else g)


def momentum_update(w, g, running, lr, momentum, dampening=0.0, nesterov=False):
    """One step by a running sum of gradients, in place: `running` first, then w.

    w, g, running: arrays of one shape; running is zeros before the first step. g is left as it was.

    >>> w, running = np.array([1.]), np.array([0.])
    >>> for _ in range(3): momentum_update(w, np.array([1.]), running, 0.1, 0.9)
    >>> w.round(3), running.round(2)
    (array([0.439]), array([2.71]))
    """
    running *= momentum
    running += (1 - dampening) * g if dampening else g
    sgd_update(w, g + momentum * running if nesterov else running, lr)


class SGD(Optimizer):
    """Gradient descent, with momentum if asked for (Sutskever et al., 2013).

    maximize: climb. foreach and fused are PyTorch's ways to compute the same numbers, and change nothing.
    """
    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *,
                 maximize=False, foreach=None, differentiable=False, fused=None):
        refuse_differentiable(differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening.")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening,
                                      weight_decay=weight_decay, nesterov=nesterov, maximize=maximize))

    def check(self, options): at_least_zero(options, "lr", "momentum", "weight_decay")

    def update_group(self, group):
        lr, momentum, decay = float(group["lr"]), float(group["momentum"]), float(group["weight_decay"])
        for p, w, g in self.gradients(group):
            if momentum:
                self._with_momentum(p, w, g + decay * w if decay else g, lr, momentum, group)
            else:
                sgd_update(w, g, lr, decay)
            wrote(w)

    def _with_momentum(self, p, w, g, lr, momentum, group):
        memory, dampening = self.state[p], group["dampening"]
        if "momentum_buffer" not in memory:            # the first gradient is taken whole
            memory["momentum_buffer"], dampening = zeros_beside(p), 0.0
        momentum_update(w, g, memory["momentum_buffer"].data, lr, momentum, float(dampening),
                        group["nesterov"])


def largest_so_far(v, largest):
    """v; or, if `largest` is an array, that array, with v written where it is larger."""
    if largest is None:
        return v
    np.maximum(v, largest, out=largest)
    return largest


@op
def adam_update(w, g, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, largest=None):
    """One step of Adam, in place: the averages m and v first, then w.

    w, g, m, v: arrays of one shape; m and v are zeros before the first step, and step is 1 for it.
    largest: an array like v for amsgrad, or None. g is left as it was.

    >>> w, m, v = np.array([1., 1.]), np.zeros(2), np.zeros(2)
    >>> adam_update(w, np.array([0.5, 50.]), m, v, 1, lr=0.01)
    >>> w.round(6)
    array([0.99, 0.99])
    """
    scratch = np.empty_like(w)                         # the only memory that is new
    np.subtract(g, m, out=scratch)
    scratch *= 1 - beta1
    m += scratch
    np.multiply(g, g, out=scratch)
    scratch *= 1 - beta2
    v *= beta2
    v += scratch
    root = math.sqrt(1 - beta2 ** step)                # √v̂ + ε is (√v + ε root) / root
    np.sqrt(largest_so_far(v, largest), out=scratch)
    scratch += eps * root
    np.divide(m, scratch, out=scratch)
    scratch *= lr * root / (1 - beta1 ** step)
    w -= scratch


@op
def adamw_update(w, g, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=1e-2,
                 largest=None):
    """One step of AdamW, in place: w shrinks by lr weight_decay w, then a step of Adam.

    The other arguments are those of `adam_update`.

    >>> w, m, v = np.array([1.]), np.zeros(1), np.zeros(1)
    >>> adamw_update(w, np.array([0.]), m, v, 1, lr=0.01, weight_decay=0.1)
    >>> w
    array([0.999])
    """
    if weight_decay:
        w *= 1 - lr * weight_decay
    adam_update.forward(w, g, m, v, step, lr, beta1, beta2, eps, largest)


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015); decay goes into the gradient, or with `decoupled_weight_decay` not.

    amsgrad: divide by the largest v (Reddi et al., 2018). foreach, fused and capturable change nothing.
    """
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False, fused=None,
                 decoupled_weight_decay=False):
        refuse_differentiable(differentiable)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                                      maximize=maximize, decoupled_weight_decay=decoupled_weight_decay))

    def check(self, options):
        at_least_zero(options, "lr", "eps", "weight_decay")
        check_betas(options["betas"])

    def update_group(self, group):
        lr, decay, eps = float(group["lr"]), float(group["weight_decay"]), float(group["eps"])
        beta1, beta2 = map(float, group["betas"])
        for p, w, g in self.gradients(group):
            m, v, largest, step = self._memory(p, group["amsgrad"])
            if group["decoupled_weight_decay"]:
                adamw_update(w, g, m, v, step, lr, beta1, beta2, eps, decay, largest)
            else:
                adam_update(w, g + decay * w if decay else g, m, v, step, lr, beta1, beta2, eps, largest)
            wrote(w)

    def _memory(self, p, amsgrad):
        """The arrays that are remembered of a parameter, and the number of the step that begins."""
        memory = self.state[p]
        if not memory:
            memory.update(step=0, exp_avg=zeros_beside(p), exp_avg_sq=zeros_beside(p))
        if amsgrad and "max_exp_avg_sq" not in memory:
            memory["max_exp_avg_sq"] = zeros_beside(p)
        memory["step"] += 1
        largest = memory["max_exp_avg_sq"].data if amsgrad else None
        return memory["exp_avg"].data, memory["exp_avg_sq"].data, largest, memory["step"]


class AdamW(Adam):
    """Adam with decay apart from the gradient (Loshchilov and Hutter, 2019)."""
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *,
                 maximize=False, foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize,
                         differentiable=differentiable, decoupled_weight_decay=True)
