# Generated from modules/06_optimizers/optimizer_base_dev.py by tito export. Edit the lesson, not this file.
# source sha256 0574afe446dbf5bbb21f25085e36d8eaf0d00ea86cfdeb10f631c03feafdb21d  body sha256 72cc5baa56dbe0f691c06fd377842dd2cc2a567879f3ae331335d86542c59dee  # noqa: E501
"""optim.optimizer_base: built in module 06_optimizers."""

import warnings
from collections import defaultdict
from copy import deepcopy
from numbers import Real

from tinytorch.core.backend import array_module
from tinytorch.core.higher import enable_grad
from tinytorch.core.tensor import Tensor
from tinytorch.nn.hooks import Hook, RemovableHandle

__all__ = [
    "OptimizerBase", "at_least_zero", "check_betas", "named_tensors", "refuse_differentiable",
    "restored", "zeros_beside",
]


class OptimizerBase:
    """Everything of `Optimizer` but forgetting gradients and taking over a saved state.

    params: tensors that require a gradient; or (name, tensor) pairs; or dictionaries, each a group with
    options of its own: `{"params": [w, b], "lr": 0.1}`. defaults: the options of groups that have none.
    """
    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError("an optimizer takes several parameters, and got one tensor. "
                            "Put it into a list: [w].")
        self.defaults, self.state, self.param_groups = defaults, defaultdict(dict), []
        self.check(defaults)
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list. A generator can be used only once: "
                             "was model.parameters() read before?")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def check(self, options):
        """Raise ValueError for options that make no sense; for a subclass to override."""

    def add_param_group(self, param_group):
        """Take in further parameters, with options of their own; what is left out comes from `defaults`."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dictionary, got {type(param_group).__name__}.")
        tensors, names = named_tensors(param_group["params"])
        group = {**self.defaults, **param_group, "params": tensors}
        if names:
            group["param_names"] = names
        self.check(group)
        self._check_new(group)
        self.param_groups.append(group)

    def _check_new(self, group):
        """Refuse what cannot be optimized, and what is there already."""
        for p in group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, and got {type(p).__name__}. "
                                "Of a module, pass module.parameters().")
            if p.node is not None:
                raise ValueError(f"can't optimize a non-leaf Tensor: one of shape {p.shape} was computed. "
                                 "Optimize what it was computed from.")
        new = set(group["params"])
        if len(new) < len(group["params"]):
            warnings.warn("optimizer contains a parameter group with duplicate parameters: each step "
                          "changes them twice.", stacklevel=5)
        for other in self.param_groups:
            if ("param_names" in group) != ("param_names" in other):
                raise ValueError("all optimizer param groups should be with/without names: "
                                 "pass named_parameters() for all of them, or for none.")
            if not new.isdisjoint(other["params"]):
                raise ValueError("some parameters appear in more than one parameter group.")

    # A step
    def step(self, closure=None):
        """Change every parameter that has a gradient; none of it is recorded.

        closure: computes the loss again, with its gradients; then its loss is what `step` returns.
        """
        args, loss = () if closure is None else (closure,), None
        for hook in self._hooks:
            if hook.before and hook.function(self, args, {}) is not None:
                raise RuntimeError("step pre-hook: it cannot change the arguments here, so it must "
                                   "return None.")
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            self.update_group(group)
        self.stepped = True
        for hook in self._hooks:
            if not hook.before:
                hook.function(self, args, {})
        return loss

    stepped = False                # a schedule warns if it is stepped first
    _hooks = ()

    def update_group(self, group):
        """Change the parameters of one group; a subclass says how."""
        raise NotImplementedError(f"{type(self).__name__} must define update_group(group), or a step() of "
                                  "its own.")

    def gradients(self, group):
        """(parameter, its array, the array of its gradient) for each parameter that has a gradient.

        With the option `maximize` the sign of the gradients is reversed.
        """
        found, maximize = [], group.get("maximize")
        for p in group["params"]:
            if p.grad is not None:
                w, g = p.data, p.grad.data
                if g.shape != w.shape:
                    raise RuntimeError(f"a parameter of shape {w.shape} has a gradient of shape {g.shape}: "
                                       "they must be equal. Was .grad assigned by hand?")
                found.append((p, w, -g if maximize else g))
        return found

    def register_step_pre_hook(self, hook):
        """Call `hook(optimizer, args, kwargs)` before each step."""
        return self._register(Hook(hook, before=True, with_kwargs=True))

    def register_step_post_hook(self, hook):
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return self._register(Hook(hook, before=False, with_kwargs=True))

    def _register(self, hook):
        self._hooks = [*self._hooks, hook]
        return RemovableHandle(self, hook)

    # Saving
    def state_dict(self):
        """What `load_state_dict` needs to go on from here; copies, so that later steps leave it alone.

        {"state": {number of a parameter: its memory}, "param_groups": [options, "params" by number]}.
        """
        numbers = {}
        for i, p in enumerate(p for group in self.param_groups for p in group["params"]):
            numbers.setdefault(p, i)
        groups = [{**group, "params": [numbers[p] for p in group["params"]]} for group in self.param_groups]
        state = {numbers.get(p, p): memory for p, memory in self.state.items()}
        return deepcopy({"state": state, "param_groups": groups})

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def named_tensors(params):
    """The tensors among `params`, a list, and their names, a list that is empty if there are none."""
    if isinstance(params, Tensor):
        return [params], []
    if isinstance(params, set):
        raise TypeError("optimizer parameters need an order, and a set has none that two runs share. "
                        "Use a list.")
    params = list(params)
    names = [p[0] for p in params if isinstance(p, tuple)]
    if names and len(names) != len(params):
        raise ValueError("all optimizer params should be with/without names: some are missing.")
    return [p[1] if isinstance(p, tuple) else p for p in params], names


def at_least_zero(options, *names):
    """Raise ValueError if one of these options is negative or no number."""
    for name in names:
        if isinstance(options[name], Tensor) and options[name].numel() != 1:
            raise ValueError(f"Invalid {name}: a tensor must have one element, not {options[name].numel()}.")
        if not float(options[name]) >= 0:
            raise ValueError(f"Invalid {name}: {options[name]}. It must be at least 0.")


def check_betas(betas):
    """Raise ValueError if one of them is no number from 0 on and below 1."""
    for i, beta in enumerate(betas):
        if not isinstance(beta, Real) or not 0 <= beta < 1:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}. It must be a float in [0, 1).")


def refuse_differentiable(differentiable):
    """A step writes into memory and is not recorded, so no gradient can pass through it."""
    if differentiable:
        raise NotImplementedError("differentiable=True: steps are not recorded here. "
                                  "Write w - lr * g with ops, inside higher_order().")


def restored(name, value, parameter):
    """What a parameter's memory was, for `load_state_dict`: a copy.

    A tensor gets the parameter's dtype and device. The number of steps, which PyTorch keeps in a tensor,
    becomes a plain integer.
    """
    if name == "step":
        return int(value)
    if isinstance(value, Tensor) and isinstance(parameter, Tensor):
        return Tensor(value.detach(), dtype=parameter.dtype, device=parameter.device)
    return deepcopy(value)


def zeros_beside(parameter):
    """A tensor of zeros with the shape, dtype and device of a parameter: an empty memory."""
    return Tensor._of(array_module(parameter.data).zeros_like(parameter.data))
