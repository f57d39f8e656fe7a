# %% [markdown]
# # Module 06: Optimizers, from slope to step
#
# Module 05 tells for every weight which way is down. What is left seems easy: go there. Here is a valley
# with two weights, f = (x² + 100 y²) / 2. Its slope is (x, 100 y), and it is steep across and flat along.
# We start at (10, 1), where f is 100, and take 50 steps against the slope:
#
# ```
#  step 0.021                x = 3.5    y = 117        f = 689,037     y grows by a tenth with each step
#  step 0.019                x = 3.8    y = 0.005      f = 7.3         y is fine, x crawls
#  step 0.019, momentum      x = 0.75   y = -0.07      f = 0.54
# ```
#
# A step a little too long and the run explodes. A step that is just short enough for the steep direction
# is far too short for the flat one. And *momentum*, three lines of code away, is thirteen times lower after
# the same number of steps of the same size. **What does momentum know that plain descent does not?**

# %%
#| default_exp optim.optimizers
from tito.lesson import dataset, expect, expect_error, measure, peak_bytes, run_tests, timed

# %%
import math

import numpy as np
from optimizer_base_dev import OptimizerBase, restored, zeros_beside
from scheduler_base_dev import RATES, OneCycleBase, PlannedLR

from tinytorch.core.op import op
from tinytorch.core.tensor import Tensor

# %% [markdown]
# Those were for your code. These are for the parts that are given: classes, tests, measurements.

# %%
from more_schedulers_dev import SequentialLR, StepLR
from optimizer_base_dev import at_least_zero, check_betas, refuse_differentiable

from tinytorch.core.backend import manual_seed, wrote
from tinytorch.nn.layers import Linear
from tinytorch.nn.losses import cross_entropy
from tinytorch.nn.parameter import Parameter


# %%
def valley(x): return (x[0] ** 2 + 100 * x[1] ** 2) / 2
def slope(x): return np.array([x[0], 100 * x[1]])


@measure
def fifty_steps():
    for step in 0.021, 0.019, 0.001:
        x = np.array([10., 1.])
        for _ in range(50):
            x -= step * slope(x)
        print(f"step {step}: x = {x[0]:.4g}, y = {x[1]:.4g}, f = {valley(x):.4g}")


# %% [markdown]
# Try other steps: how low can you get? (Not below 7.)
#
# The plan of this module:
#
# * An **update** is a function on arrays: weights, gradient and options in, the weights changed in place.
#   You write four, each a line or two more than the one before.
# * An **optimizer** knows which arrays: it holds the parameters in groups, and for each parameter what an
#   update must remember. Most of it is given in `optimizer_base_dev.py`.
# * A **schedule** changes the size of the step during a run. You write three.
#
# The class `Optimizer` comes first, with two methods that you fill in: `zero_grad` now, `load_state_dict`
# as exercise 6. What it inherits:
#
# ```
# self.param_groups      [{"params": [w, b], "lr": 0.1, ...}, {"params": [...], "lr": 0.01, ...}]
# self.state             {w: {"momentum_buffer": tensor}, ...}         what is remembered of w
# self.gradients(group)  [(w, its array, the array of its gradient), ...]     where there is a gradient
# self.step()            calls self.update_group(group) for each group
# ```

# %%
#| export
class Optimizer(OptimizerBase):
    """Changes parameters by their gradients; a subclass says how, in `update_group(group)`."""
    def zero_grad(self, set_to_none=True):
        """Forget the gradients of all parameters: `.grad` becomes None.

        With set_to_none=False it becomes zeros, in the memory that it had and without history; a
        parameter that has no gradient has none afterwards.
        """
        ### BEGIN SOLUTION
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad = p.grad.detach().zero_()   # the same memory, without history
        ### END SOLUTION

    def load_state_dict(self, state_dict):
        """Take over what `state_dict()` of another optimizer gave; it is copied, and left as it was.

        Memory is replaced, and so are the options that were saved; an option that was not, and the
        parameters, stay. Raises ValueError if the groups have other sizes, before anything has changed.
        """
        ### BEGIN SOLUTION
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
        ### END SOLUTION


# %% [markdown]
# ## Exercise 1: forget
#
# `backward()` *adds* to `.grad`, because a weight that is used twice is to blame twice. It also adds when
# the second use is in the next step of training:
#
# ```
# loss = 3 w     backward()     w.grad = 3
# loss = 3 w     backward()     w.grad = 6      nobody forgot the first one
# ```
#
# This is the most common mistake in a training loop, and a silent one: nothing fails, the steps just
# point to where it went down some time ago. So before each `backward()`, `zero_grad()`.
#
# It sets `.grad` to **None**, not to zeros. None costs no memory, and it means something else: a
# parameter with None is left alone by a step, while zeros are a gradient like any other, and with
# momentum or weight decay a parameter moves although its gradient is 0. Whoever wants zeros says
# `set_to_none=False`. They are written into the memory of the gradient, where others may look at it, and a
# parameter that had None keeps None. One thing more: a gradient that is to be differentiated once more
# (`create_graph=True`) has a history of its own, and zeros have none. `p.grad.detach().zero_()` is a tensor
# without history around the same memory, zeros by now; it becomes the new `p.grad`.
#
# The method is above. Go over all parameters of all groups: over `group["params"]`, since
# `self.gradients(group)` is for a step, and refuses a gradient of the wrong shape.

# %%
def leaf(numbers, gradient=None):
    "For the tests: a float64 parameter with this gradient"
    p = Tensor(numbers, dtype="float64", requires_grad=True)
    p.grad = None if gradient is None else Tensor(gradient, dtype="float64")
    return p


class TestOptimizerZeroGrad:
    """Forgetting"""
    def test_by_hand(self):
        "3w twice: 3, and 6 if nobody forgets; after zero_grad it is 3 again"
        w = leaf([5.])
        optimizer = Optimizer([w], {})
        for expected in 3., 6.:
            (3 * w).sum().backward()
            expect(w.grad, [expected])
        optimizer.zero_grad()
        (3 * w).sum().backward()
        expect(w.grad, [3.], why="the old gradient is still there")

    def test_none(self):
        "By default a forgotten gradient is None, in every group"
        a, b, c = leaf([1.], [2.]), leaf([1.], [3.]), leaf([[1.]], [[4.]])
        Optimizer([{"params": [a, b]}, {"params": [c]}], {}).zero_grad()
        assert a.grad is None and b.grad is None, "a parameter of the first group still has a gradient"
        assert c.grad is None, "the parameter of the second group still has a gradient"

    def test_zeros(self):
        "set_to_none=False gives zeros in its place, and None stays None"
        a, b = leaf([1., 2.], [3., 4.]), leaf([1.])
        old = a.grad
        Optimizer([a, b], {}).zero_grad(set_to_none=False)
        assert a.grad is not None, "with set_to_none=False it must be zeros, and is None"
        expect(a.grad, [0., 0.])
        assert b.grad is None, "this parameter had no gradient, and has one now"
        expect(old, [0., 0.], why="the zeros must be in the memory of the old gradient, not in another array")

    def test_history(self):
        "Zeros have no history, even where the gradient had one"
        w = leaf([3.])
        w.grad = 2 * w                                 # recorded
        Optimizer([w], {}).zero_grad(set_to_none=False)
        assert w.grad is not None, "with set_to_none=False it must be zeros, and is None"
        assert w.grad.node is None, "the gradient still has its history: assign what detach() gave"
        expect(w.grad, [0.])

    def test_wrong_shape(self):
        "A gradient of the wrong shape, which a step refuses, can be forgotten"
        w = leaf([1., 2.], [3.])
        Optimizer([w], {}).zero_grad()
        assert w.grad is None


run_tests(TestOptimizerZeroGrad)

# %% [markdown]
# ## Exercise 2: a step down
#
# w = 1, and the gradient is 1 three times in a row. With a step size, the *learning rate* lr, of 0.1:
#
# ```
# w = 1      1 - 0.1*1 = 0.9      0.9 - 0.1*1 = 0.8      0.8 - 0.1*1 = 0.7
# ```
#
# With *weight decay* λ each weight is also pulled towards 0, in proportion to its own size: λ w is
# added to its gradient. For w = 2, g = 1 and λ = 0.5: 2 - 0.1 (1 + 0.5*2) = 1.8. Large weights must
# earn their keep. (λ w is the slope of λ w²/2, so it is as if that were a part of the loss.)
#
# $$ w \leftarrow w - \mathrm{lr}\,(g + \lambda\, w) $$
#
# The arrow means: **into the array itself**. The model holds this array, the optimizer does not know the
# model, and `w = w - ...` would only give a local name to a new array. `w -= ...` writes. An update works
# on arrays, so no recorder hears of it: a step is not part of any loss. Without decay leave its term out:
# 0 w changes nothing, and costs two more walks over memory and another array.

# %%
#| export
def sgd_update(w, g, lr, weight_decay=0.0):
    """One step of gradient descent, in place: w - lr (g + weight_decay w).

    w, g: arrays of one shape; g is left as it was.

    >>> w = np.array([2., 1.])
    >>> sgd_update(w, np.array([1., 3.]), 0.1, 0.5)
    >>> w
    array([1.8 , 0.65])
    """
    ### BEGIN SOLUTION
    w -= lr * (g + weight_decay * w if weight_decay else g)
    ### END SOLUTION


# %%
class TestSgdUpdate:
    """A step down"""
    def test_by_hand(self):
        "w = 1, g = 1, lr = 0.1: 0.9, 0.8, 0.7"
        w, g = np.array([1.]), np.array([1.])
        for expected in 0.9, 0.8, 0.7:
            sgd_update(w, g, 0.1)
            expect(w, [expected], why="1: w was not changed in place; 1.1: uphill")

    def test_decay(self):
        "Decay pulls towards 0 from both sides: 2 goes to 1.8, and without a slope -2 goes to -1.9"
        w = np.array([2., -2.])
        sgd_update(w, np.array([1., 0.]), 0.1, 0.5)
        expect(w, [1.8, -1.9], why="the decay belongs to the gradient, with its sign and times lr")

    def test_gradient_untouched(self):
        "The gradient is left as it was, with decay too"
        w, g = np.array([2.]), np.array([1.])
        sgd_update(w, g, 0.1, 0.5)
        expect(g, [1.])

    def test_shapes(self):
        "Any shape: a matrix, a single number, nothing"
        w = np.array([[1., 2.], [3., 4.]])
        sgd_update(w, np.array([[1., 0.], [0., -1.]]), 0.5)
        expect(w, [[0.5, 2.], [3., 4.5]])
        one = np.array(3.)
        sgd_update(one, np.array(2.), 0.5, 1.0)
        expect(one, 0.5)
        sgd_update(np.zeros((0, 3)), np.zeros((0, 3)), 0.5)

    def test_float32(self):
        "float32 stays float32"
        w = np.array([1.], "float32")
        sgd_update(w, np.array([1.], "float32"), 0.1, 0.5)
        expect(str(w.dtype), "float32")


run_tests(TestSgdUpdate)

# %% [markdown]
# ## Exercise 3: what momentum knows
#
# Look at the gradients along the way through the valley. Across it they alternate: right side, left side,
# right side. Along it they all say the same. A sum of the last gradients keeps what they agree on and
# loses what they do not. So keep a *running sum* b, which forgets a tenth at each step, and step by b:
#
# ```
# g = 1, 1, 1        b = 1    0.9*1 + 1 = 1.9    0.9*1.9 + 1 = 2.71      in the long run 10
#                    w = 1    0.9      0.71      0.439                    lr = 0.1
# g = 1, -1, 1       b = 1    0.9*1 - 1 = -0.1   0.9*-0.1 + 1 = 0.91     never above 1
# ```
#
# $$ b \leftarrow \mu\, b + (1 - \tau)\, g \qquad w \leftarrow w - \mathrm{lr}\; b $$
#
# μ is the momentum, 0.9 above, and τ the *dampening*, 0 above and nearly always: the part of a gradient that
# is kept out. b is a **sum**, not an average: where the slopes agree it grows until what is forgotten, 0.1 b,
# is what comes in, g. So it ends at g / (1 - μ), ten times g, and the steps get ten times as long. That is
# what momentum knows. (With μ = 1 nothing is ever lost and it never comes to rest: that is what a forgotten
# `zero_grad` does.)
#
# *Nesterov*'s variant steps by g + μ b, where b is already the new one. μ b is what momentum would add at
# the next step anyway; it is added now, so the next gradient is taken where momentum leads, a step ahead. The
# same three gradients give 0.81, 0.539, 0.1951.
#
# Both arrays, `running` (the b) and w, change **in place**, as in exercise 2.

# %%
#| export
def momentum_update(w, g, running, lr, momentum, dampening=0.0, nesterov=False):
    """One step by a running sum of gradients, in place: `running` first, then w.

    w, g, running: arrays of one shape; running is zeros before the first step. g is left as it was.

    >>> w, running = np.array([1.]), np.array([0.])
    >>> for _ in range(3): momentum_update(w, np.array([1.]), running, 0.1, 0.9)
    >>> w.round(3), running.round(2)
    (array([0.439]), array([2.71]))
    """
    ### BEGIN SOLUTION
    running *= momentum
    running += (1 - dampening) * g if dampening else g
    sgd_update(w, g + momentum * running if nesterov else running, lr)
    ### END SOLUTION


# %%
class TestMomentumUpdate:
    """The running sum"""
    def path(self, gradients, **options):
        "w after each step from 1, and the running sum at the end"
        w, running, seen = np.array([1.]), np.array([0.]), []
        for g in gradients:
            momentum_update(w, np.array([g]), running, 0.1, 0.9, **options)
            seen.append(float(w[0]))
        return seen, running

    def test_by_hand(self):
        "Three times the slope 1: 0.9, 0.71, 0.439, and the sum is 2.71"
        seen, running = self.path([1., 1., 1.])
        expect(running, [2.71], why="0: `running` was not changed in place; `running = ...` is a new array")
        expect(seen, [0.9, 0.71, 0.439], why="1: w was not changed in place; 0.99, 0.971: it is a sum, not "
                                             "the average with (1 - 0.9) g")

    def test_alternating(self):
        "Slopes that alternate cancel: 0.9, 0.91, 0.819"
        expect(self.path([1., -1., 1.])[0], [0.9, 0.91, 0.819])

    def test_nesterov(self):
        "Nesterov steps by g + 0.9 b with the new b: 0.81, 0.539, 0.1951"
        seen, running = self.path([1., 1., 1.], nesterov=True)
        expect(seen, [0.81, 0.539, 0.1951], why="0.9 first: that is the old b")
        expect(running, [2.71], why="Nesterov changes the step, not the sum")

    def test_dampening(self):
        "Dampening 0.75 lets a quarter of each gradient in"
        expect(self.path([1., 2.], dampening=0.75)[1], [0.725])

    def test_gradient_untouched(self):
        "The gradient is left as it was, and the sum has memory of its own"
        w, g, running = np.array([1.]), np.array([1.]), np.array([0.])
        momentum_update(w, g, running, 0.1, 0.9, nesterov=True)
        momentum_update(w, np.array([5.]), running, 0.1, 0.9)
        expect(g, [1.])

    def test_matrix(self):
        "Each element has its own sum"
        w, running = np.zeros((2, 2)), np.array([[1., 0.], [0., 2.]])
        momentum_update(w, np.array([[0., 1.], [0., 1.]]), running, 1.0, 0.5)
        expect(w, [[-0.5, -1.], [0., -2.]])


run_tests(TestMomentumUpdate)

# %% [markdown]
# With these two, `SGD` is complete (*stochastic* gradient descent: the gradient is of a batch drawn at
# random). Given. Its first gradient comes in whole, without dampening, as in PyTorch: there is no sum yet
# beside which it could count less. `wrote(w)` notes that this memory was written: a `backward()` through a
# graph that was made before the step, and needs the old numbers, is then an error and not a wrong gradient.

# %%
#| export
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


# %%
def walk(make_optimizer, steps=50):
    "The way through the valley: (steps + 1, 2) points from (10, 1)"
    w = leaf([10., 1.])
    optimizer, path = make_optimizer([w]), [w.numpy(force=True).copy()]
    for _ in range(steps):
        optimizer.zero_grad()
        valley(w).backward()
        optimizer.step()
        path.append(w.numpy(force=True).copy())
    return np.array(path)


class TestSGD:
    """Gradient descent, whole"""
    def test_valley(self):
        "The opening: after 50 steps 7.34 without momentum, 0.54 with it, and y = 117 if the step is too long"
        expect(valley(walk(lambda w: SGD(w, lr=0.019))[-1]), 7.34428, tol=1e-5)
        expect(valley(walk(lambda w: SGD(w, lr=0.019, momentum=0.9))[-1]), 0.54252, tol=1e-5)
        expect(walk(lambda w: SGD(w, lr=0.021))[-1][1], 117.3909, tol=1e-5)

    def test_groups(self):
        "Each group has its own rate, and a parameter without a gradient stays where it is"
        a, b, c = leaf([1.], [1.]), leaf([1.], [1.]), leaf([1.])
        SGD([{"params": [a]}, {"params": [b, c], "lr": 0.5}], lr=0.1, weight_decay=0.2).step()
        expect([a.item(), b.item(), c.item()], [0.88, 0.4, 1.])

    def test_not_recorded(self):
        "A step is no part of a graph: the weight is a leaf before and after it"
        w = leaf([1.], [1.])
        SGD([w], lr=0.1, momentum=0.9).step()
        assert w.node is None and w.requires_grad

    def test_stale_graph(self):
        "A graph that needs the weights of before the step is an error"
        w = leaf([3.])
        loss = (w * w).sum()
        w.grad = Tensor([1.], dtype="float64")
        SGD([w], lr=0.1).step()
        expect_error(RuntimeError, loss.backward, says=["in place"])


run_tests(TestSGD)

# %% [markdown]
# ## Exercise 4: a step without a scale
#
# Momentum still takes the same lr for x, whose slope is small, and y, whose slope is a hundred times
# larger. Adam (Kingma and Ba, 2015) divides each slope by its own usual size. It keeps two running
# *averages* per weight, the *moments*: m of the gradients, v of their squares. Both start at 0, so at first
# they are far too small; a division by 1 - βᵗ, where t is the number of the step, 1 at first, makes up for
# it. With β₁ = 0.9, β₂ = 0.999, lr = 0.1, and the gradients 1 and then 3:
#
# ```
# t   g   m                      m̂ = m/(1-0.9ᵗ)     v                            v̂ = v/(1-0.999ᵗ)
# 1   1   0.1*1 = 0.1            0.1/0.1  = 1        0.001*1 = 0.001              1
# 2   3   0.9*0.1+0.1*3 = 0.39   0.39/0.19 = 2.053   0.999*0.001+0.001*9          5.002
#                                                    = 0.009999
#
# w = 1      1 - 0.1 * 1/√1 = 0.9      0.9 - 0.1 * 2.053/√5.002 = 0.8082
# ```
#
# At the first step m̂/√v̂ = g/|g|: whatever the slope, 0.5 or 50, each weight moves by exactly lr. That is
# why one lr, such as 0.001, is good for so many networks. (Without the corrections it would be
# 0.1/√0.001 = 3.16 times as much.)
#
# $$ m \leftarrow \beta_1 m + (1 - \beta_1)\, g \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2 \qquad
#    w \leftarrow w - \mathrm{lr}\, \frac{\hat m}{\sqrt{\hat v} + \varepsilon} $$
#
# ε, 1e-8, keeps a weight that never had a gradient from 0/0. It stands outside the root. m, v and w change
# **in place**. m̂ and v̂ are used once and forgotten.
#
# Fine print: the variant *amsgrad* divides by the largest v there ever was. So v̂ is made of
# `largest_so_far(v, largest)` (given), called when v is the new one; without amsgrad that is v itself.
#
# `@op` (module 01) is there because module 18 puts a faster kernel into this place. Write the formula as it
# stands; the measurements below come back to its speed.

# %%
#| export
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
    ### BEGIN SOLUTION
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
    ### END SOLUTION


# %%
class TestAdamUpdate:
    """A step without a scale"""
    def path(self, gradients, **options):
        "w after each step from 1, and m and v at the end"
        w, m, v, seen = np.array([1.]), np.array([0.]), np.array([0.]), []
        for i, g in enumerate(gradients):
            adam_update(w, np.array([g]), m, v, i + 1, **options)
            seen.append(float(w[0]))
        return seen, m, v

    def test_first_step(self):
        "The first step is lr, whatever the slope: 0.5, 50 and -50 move w by 0.01"
        w, m, v = np.ones(3), np.zeros(3), np.zeros(3)
        adam_update(w, np.array([0.5, 50., -50.]), m, v, 1, lr=0.01)
        expect(w, [0.99, 0.99, 1.01],
               why="1: w was not changed in place; 0.968: a step of 3.16 lr, m and v are not corrected")

    def test_by_hand(self):
        "Gradients 1 and 3 with lr 0.1: 0.9, then 0.8082; m is 0.39 and v 0.009999"
        seen, m, v = self.path([1., 3.], lr=0.1)
        expect(m, [0.39], why="0: m was not changed in place; `m = ...` only names a new array")
        expect(v, [0.009999], why="0: v was not changed in place; 0.003999: it is not of the squares")
        expect(seen, [0.9, 0.8082220], why="1: w was not changed in place; other numbers: is the power of "
                                           "the correction the number of the step?")

    def test_betas(self):
        "Other betas: with 0.5 and 0.75, gradients 1 and 3 give 0.9 and 0.8011"
        expect(self.path([1., 3.], lr=0.1, beta1=0.5, beta2=0.75)[0], [0.9, 0.8011462])

    def test_eps(self):
        "ε is added to the corrected root: slope 1 and ε = 0.5 make a step of lr / 1.5"
        expect(self.path([1.], lr=0.1, eps=0.5)[0], [1 - 0.1 / 1.5],
               why="0.9184 has ε inside the root, 0.994 adds it to the root of the uncorrected v")

    def test_no_gradient(self):
        "A weight that never had a slope stays where it is: 0 / (0 + ε)"
        expect(self.path([0., 0.])[0], [1., 1.])

    def test_largest(self):
        "amsgrad: after a slope of 3 and one of 0, v has fallen and the largest v is divided by"
        w, m, v, largest = np.array([1.]), np.array([0.]), np.array([0.]), np.array([0.])
        for i, g in enumerate((3., 0.)):
            adam_update(w, np.array([g]), m, v, i + 1, lr=0.1, largest=largest)
        expect(v, [0.008991], why="v itself goes on as without amsgrad")
        expect(largest, [0.009])
        expect(w, [0.9 - 0.1 * (0.27 / 0.19) / math.sqrt(0.009 / 0.001999)])

    def test_shapes(self):
        "A matrix, a single number in float32, nothing; the gradient is left as it was"
        g = np.array([[1., -2.], [3., -4.]])
        w, m, v = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))
        adam_update(w, g, m, v, 1, lr=0.5)
        expect(w, [[-0.5, 0.5], [-0.5, 0.5]])
        expect(g, [[1., -2.], [3., -4.]])
        one, m, v = [np.array(x, "float32") for x in (1., 0., 0.)]
        adam_update(one, np.array(7., "float32"), m, v, 1, lr=0.25)
        expect(one, 0.75)
        expect(str(one.dtype), "float32")
        adam_update(*np.zeros((4, 0, 3)), 1)


run_tests(TestAdamUpdate)

# %% [markdown]
# ## Exercise 5: decay the weight, not the gradient
#
# Weight decay was λ w added to the gradient. In Adam that does not do what it says. Take a weight of 1
# that has no slope at all, lr = 0.01 and λ = 0.1:
#
# ```
# in the gradient       g = 0 + 0.1*1 = 0.1     Adam's first step is lr whatever g is      w = 0.99
# from the weight       w = 1 - 0.01*0.1*1 = 0.999      then Adam's step, with g = 0       w = 0.999
# ```
#
# The first lost a hundredth, and would have for λ = 0.001 and for λ = 10. What is divided by its own
# usual size has no size. In a run with slopes it is the other way round: a weight with large gradients has
# a large v, and its decay is divided by that too, so the weights that move most decay least. The second
# is AdamW (Loshchilov and Hutter, 2019), and most language models since were trained with it: first the
# weight shrinks by the factor 1 - lr λ, then comes Adam's step, which hears nothing of it.
#
# Call `adam_update` for that step, with all the other arguments as they came.

# %%
#| export
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
    ### BEGIN SOLUTION
    if weight_decay:
        w *= 1 - lr * weight_decay
    adam_update.forward(w, g, m, v, step, lr, beta1, beta2, eps, largest)
    ### END SOLUTION


# %%
class TestAdamwUpdate:
    """Decay apart from the gradient"""
    def start(self): return np.array([1.]), np.array([0.]), np.array([0.])

    def test_by_hand(self):
        "Without a slope, w = 1 decays to 0.999 by lr 0.01 and decay 0.1"
        w, m, v = self.start()
        adamw_update(w, np.array([0.]), m, v, 1, lr=0.01, weight_decay=0.1)
        expect(w, [0.999], why="1: w was not changed in place; 0.99: the decay went "
                               "through the moments; 1.001: wrong sign; 0.9: without lr")

    def test_moments(self):
        "The moments hear nothing of it"
        w, m, v = self.start()
        adamw_update(w, np.array([2.]), m, v, 1, weight_decay=0.5)
        expect(m, [0.2])
        expect(v, [0.004])

    def test_order(self):
        "First decay, then the step: 1 * 0.95 - 0.1 = 0.85"
        w, m, v = self.start()
        adamw_update(w, np.array([1.]), m, v, 1, lr=0.1, weight_decay=0.5)
        expect(w, [0.85], why="0.855 decays after the step")

    def test_options(self):
        "The other options reach Adam: ε, the betas, amsgrad's array; a decay of 0 is Adam"
        w, m, v = self.start()
        adamw_update(w, np.array([1.]), m, v, 1, lr=0.1, eps=0.5, weight_decay=0.)
        expect(w, [1 - 0.1 / 1.5])
        largest, (w, m, v) = np.array([7.]), self.start()
        adamw_update(w, np.array([2.]), m, v, 1, lr=0.1, beta1=0.5, beta2=0.75, largest=largest)
        expect(m, [1.])
        expect(v, [1.])
        expect(w, [0.999 - 0.1 * 2 / math.sqrt(7 / 0.25)])

    def test_default(self):
        "The decay is 0.01 if nothing is said"
        w, m, v = self.start()
        adamw_update(w, np.array([[0.]])[0], m, v, 1, lr=0.5)
        expect(w, [0.995])


run_tests(TestAdamwUpdate)

# %% [markdown]
# The two optimizers, given. Each parameter has memory of its own: the two moments, and the number of its
# steps.

# %%
#| export
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


# %%
class TestAdam:
    """Adam and AdamW, whole"""
    def test_decay(self):
        "A weight of 1 without a slope: Adam with weight_decay 0.1 takes a whole step of 0.01, AdamW 0.001"
        for kind, expected in (Adam, 0.99), (AdamW, 0.999):
            w = leaf([1.], [0.])
            kind([w], lr=0.01, weight_decay=0.1).step()
            expect(w, [expected])

    def test_own_memory(self):
        "Each parameter has moments and a count of its own: one that had no gradient begins later at step 1"
        a, b = leaf([1.], [1.]), leaf([1.])
        optimizer = Adam([a, b], lr=0.1)
        optimizer.step()
        a.grad, b.grad = Tensor([3.], dtype="float64"), Tensor([50.], dtype="float64")
        optimizer.step()
        expect([a.item(), b.item()], [0.8082220, 0.9])

    def test_valley(self):
        "Both directions of the valley go down at the same pace, though one is a hundred times steeper"
        path = walk(lambda w: Adam(w, lr=0.05), steps=5)
        expect(path[-1] - path[0], [-0.25, -0.25], tol=0.01)


run_tests(TestAdam)

# %% [markdown]
# ## Exercise 6: as if it had never stopped
#
# A run is saved and goes on tomorrow, in a new process, with a new model and a new optimizer. The weights
# are not enough: without its moments Adam would begin with a blind step of lr in every direction.
# `state_dict()` (given) has it all. Since tensors of another process mean nothing, parameters are
# **numbered**, in the order of the groups. With w, b in one group and c in another:
#
# ```
# {"state": {0: {"step": 7, "exp_avg": ...}, 2: {"step": 3, "exp_avg": ...}},        b had no gradient yet
#  "param_groups": [{"lr": 0.1, "params": [0, 1]}, {"lr": 0.01, "params": [2]}]}
# ```
#
# The way back, in the class `Optimizer` above, is a table from the saved numbers to my own parameters, in
# their order. Numbers are only names: they may be others than 0, 1, 2.
#
# ```
# saved "params"     [0, 1]  [2]
# my own             [w, b]  [c]          so number 2 is c
# ```
#
# * The memory of a number goes to `self.state[parameter]`, value by value through
#   `restored(name, value, parameter)` (given): a copy, with the parameter's dtype, so that two optimizers
#   that load one state do not share moments. (A key that is no number of a parameter stays as it is.)
# * What was remembered before is gone: `self.state.clear()`. Not `self.state = {}`: it is a
#   `defaultdict(dict)`, which makes an empty memory for a parameter it does not know; updates rely on that.
# * Each of my groups takes over the options of its counterpart. It keeps its own "params", and the options
#   that the state does not have.
#
# If the groups have other sizes, the numbers mean something else. Check that first, change nothing, and
#
# ```python
# raise ValueError(f"load_state_dict: the state has groups of {sizes} ..., this optimizer has {own_sizes}...")
# ```
#
# with two lists of sizes; for the state above the first is [2, 1].

# %%
class Summing(Optimizer):
    "For the tests: steps by the sum of all gradients, and counts them"
    def update_group(self, group):
        for p, w, g in self.gradients(group):
            memory = self.state[p]
            if not memory:
                memory.update(step=0, total=zeros_beside(p))
            memory["step"] += 1
            memory["total"].data += g
            w -= group["lr"] * memory["total"].data


class TestOptimizerLoadStateDict:
    """Going on"""
    def stepped(self, *groups):
        "An optimizer of these groups after one step, and its state as it is saved"
        optimizer = Summing(list(groups), {"lr": 0.5})
        optimizer.step()
        return optimizer, optimizer.state_dict()

    def test_by_hand(self):
        "Memory by number, also of a second group; who has none, has none"
        _, saved = self.stepped({"params": [leaf([1.], [2.]), leaf([1.])]},
                                {"params": [leaf([1., 1.], [3., 4.])], "lr": 0.1})
        expect(saved["param_groups"][1]["params"], [2])
        w, b, c = leaf([5.]), leaf([5.]), leaf([5., 5.])
        fresh = Summing([{"params": [w, b]}, {"params": [c]}], {"lr": 9.})
        state = fresh.state
        fresh.load_state_dict(saved)
        expect(fresh.state is state, True, why="self.state must stay the dictionary that it was: clear it")
        expect([w in state, c in state], [True, True], why="w and c had memory: are the keys parameters?")
        expect(state[w]["total"], [2.])
        expect(state[c]["total"], [3., 4.], why="c is number 2: numbers go on through the groups")
        expect(state[c]["step"], 1)
        assert b not in state, "number 1 had no memory"

    def test_options(self):
        "Groups take over the options and keep their own parameters"
        _, saved = self.stepped({"params": [leaf([1.], [2.])]}, {"params": [leaf([1.])], "lr": 0.1, "tag": 7})
        a, b = leaf([5.]), leaf([5.])
        fresh = Summing([{"params": [a]}, {"params": [b]}], {"lr": 9.})
        fresh.load_state_dict(saved)
        expect([group["lr"] for group in fresh.param_groups], [0.5, 0.1])
        expect(fresh.param_groups[1]["tag"], 7)
        assert fresh.param_groups[0]["params"][0] is a and fresh.param_groups[1]["params"][0] is b, \
            "a group must keep its own params, not the numbers of the saved ones"

    def test_missing_option(self):
        "An option that the state does not have stays: a program saved it that knew less"
        fresh = Summing([leaf([5.])], {"lr": 9., "newer": 4})
        fresh.load_state_dict({"state": {}, "param_groups": [{"lr": 0.5, "params": [0]}]})
        expect(fresh.param_groups[0]["lr"], 0.5)
        assert "newer" in fresh.param_groups[0], "only the options that were saved are replaced"
        expect(fresh.param_groups[0]["newer"], 4)

    def test_old_memory(self):
        "What was remembered before is gone"
        _, saved = self.stepped({"params": [leaf([1.]), leaf([1.], [2.])]})
        a, b = leaf([1.], [7.]), leaf([1.], [8.])
        optimizer, _ = self.stepped({"params": [a, b]})
        optimizer.load_state_dict(saved)
        assert a not in optimizer.state, "the first one had no memory in the state that was loaded"
        expect(optimizer.state[b]["total"], [2.])

    def test_copies(self):
        "Two optimizers that load one state go their own ways, and the state is left as it was"
        _, saved = self.stepped({"params": [leaf([1.], [2.])]})
        a, b = leaf([1.], [5.]), leaf([1.])
        one, other = Summing([a], {"lr": 9.}), Summing([b], {"lr": 9.})
        for optimizer in one, other:
            optimizer.load_state_dict(saved)
        one.step()
        expect(one.state[a]["total"], [7.])
        expect(other.state[b]["total"], [2.], why="they share memory: restored(...) makes a copy")
        expect(saved["state"][0]["total"], [2.])
        expect(saved["param_groups"][0]["params"], [0])

    def test_dtype(self):
        "The memory of a float32 parameter is float32, whatever was saved"
        _, saved = self.stepped({"params": [leaf([1.], [2.])]})
        w = Parameter(Tensor([1.]))
        fresh = Summing([w], {"lr": 9.})
        fresh.load_state_dict(saved)
        expect(str(fresh.state[w]["total"].dtype), "float32")

    def test_other_sizes(self):
        "Groups of [2, 1] do not fit into [1, 2]: the error names both, and nothing has changed"
        _, saved = self.stepped({"params": [leaf([1.], [2.]), leaf([1.])]}, {"params": [leaf([1.])]})
        w = leaf([1.], [3.])
        optimizer, _ = self.stepped({"params": [w], "lr": 0.2}, {"params": [leaf([1.]), leaf([1.])]})
        expect_error(ValueError, optimizer.load_state_dict, saved, says=["the state has groups of [2, 1]",
                                                                         "this optimizer has [1, 2]"])
        expect(optimizer.state[w]["total"], [3.])
        expect(optimizer.param_groups[0]["lr"], 0.2)
        _, saved = self.stepped({"params": [leaf([1.])]})
        expect_error(ValueError, optimizer.load_state_dict, saved, says=["groups of [1]", "has [1, 2]"])

    def test_other_keys(self):
        "A key that is no number of a parameter is kept as it is"
        optimizer, saved = self.stepped({"params": [leaf([1.])]})
        saved["state"]["all"] = {"count": 3}
        optimizer.load_state_dict(saved)
        expect(optimizer.state["all"]["count"], 3)


run_tests(TestOptimizerLoadStateDict)


# %%
class TestResuming:
    """Going on, with Adam"""
    def test_bit_equal(self):
        "Ten steps, or five, a new optimizer that loads the state, and five: the same bits"
        for kind, options in (SGD, {"momentum": 0.9}), (Adam, {"amsgrad": True}), (AdamW, {}):
            whole = self.run(10, kind, options)
            expect((whole == self.run(10, kind, options, stop=5)).all(), True,
                   why=f"{kind.__name__} does not go on where it was")

    def run(self, steps, kind, options, stop=None):
        w = leaf([10., 1.])
        optimizer = kind([w], lr=0.01, **options)
        for i in range(steps):
            if i == stop:
                saved, optimizer = optimizer.state_dict(), kind([w], lr=9.)
                optimizer.load_state_dict(saved)
            optimizer.zero_grad()
            valley(w).backward()
            optimizer.step()
        return w.numpy(force=True)


run_tests(TestResuming)

# %% [markdown]
# ## Exercise 7: half a cosine
#
# Far away, long steps are good. Near the bottom, the gradient of a batch is mostly noise, and long steps
# only run around in it. So lower the rate during the run. A favourite is the first half of a cosine, from
# the rate at the start down to a floor η. With lr = 0.1, no floor and T = 4:
#
# ```
# t    0      1        2      3        4
# lr   0.1    0.0854   0.05   0.0146   0              0.0854 = 0.1 * (1 + cos(π/4)) / 2
# ```
#
# It stays up for a while, falls quickly, and lands softly. (After T the cosine rises again, and the
# formula is left to do so.)
#
# $$ \mathrm{lr}_t = \eta + (\mathrm{lr}_0 - \eta)\, \frac{1 + \cos(\pi\, t / T)}{2} $$
#
# A schedule in this module is a formula: `get_lr()` says what the rates are at the time `self.last_epoch`
# (t above, 0 before the first call of `step()`), as a **list** with one rate for each group of the
# optimizer, also if there is one group only. `self.base_lrs` are the rates they began with, also a list.
# Asking changes nothing. `PlannedLR` (given) asks at each `step()`, before and after t goes up; it writes the
# new rate into the group or, if somebody else has changed the rate, changes it in the same proportion.

# %%
#| export optim.schedulers
class CosineAnnealingLR(PlannedLR):
    """Half a cosine from the rate at the start down to `eta_min` in `T_max` epochs, then up again.

    Loshchilov and Hutter, 2017.
    """
    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rate of each group at `self.last_epoch`, as a list.

        >>> schedule = CosineAnnealingLR(SGD([Tensor([1.])], lr=0.1), T_max=4)
        >>> schedule.last_epoch = 1
        >>> round(schedule.get_lr()[0], 4)
        0.0854
        """
        ### BEGIN SOLUTION
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (lr - self.eta_min) * share for lr in self.base_lrs]
        ### END SOLUTION


# %%
def run_of(make_schedule, steps, rates=(0.1,)):
    "For the tests: the rates of groups that begin with `rates`, before each of so many steps"
    optimizer = SGD([{"params": [leaf([1.])], "lr": lr} for lr in rates])
    schedule, seen = make_schedule(optimizer), []
    for _ in range(steps):
        seen.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        schedule.step()
    return seen if len(rates) > 1 else [one for one, in seen]


class TestCosineAnnealingLRGetLr:
    """Half a cosine"""
    def test_by_hand(self):
        "From 0.1 over 4: 0.1, 0.0854, 0.05, 0.0146, 0"
        expect(run_of(lambda o: CosineAnnealingLR(o, 4), 5), [0.1, 0.0853553, 0.05, 0.0146447, 0.],
               why="the first step is made with the whole rate, and after 4 it is at the floor")

    def test_floor(self):
        "With a floor of 0.02 the middle is 0.06, and the end 0.02"
        expect(run_of(lambda o: CosineAnnealingLR(o, 2, eta_min=0.02), 3), [0.1, 0.06, 0.02])

    def test_groups(self):
        "Each group comes down from its own rate"
        expect(run_of(lambda o: CosineAnnealingLR(o, 2, 0.2), 3, rates=(1., 0.4)),
               [[1., 0.4], [0.6, 0.3], [0.2, 0.2]])

    def test_up_again(self):
        "After the floor the cosine rises again"
        expect(run_of(lambda o: CosineAnnealingLR(o, 2), 6), [0.1, 0.05, 0., 0.05, 0.1, 0.05])

    def test_asking(self):
        "Asking twice gives the same answer: get_lr changes nothing"
        schedule = CosineAnnealingLR(SGD([leaf([1.])], lr=0.1), 4)
        schedule.last_epoch = 2
        expect([schedule.get_lr(), schedule.get_lr()], [[0.05], [0.05]])


run_tests(TestCosineAnnealingLRGetLr)

# %% [markdown]
# ## Exercise 8: warm up
#
# Adam's first step is lr in every direction, and after one batch the direction is the sign of one noisy
# gradient. Only after some dozens of batches do the averages mean something. Deep transformers (module 13)
# do not survive a full first step. So begin with a fraction of the rate, and let it grow along a straight
# line. From a quarter of lr = 0.1 to the whole in 3:
#
# ```
# t    0       1      2       3      4
# lr   0.025   0.05   0.075   0.1    0.1           the factors are 0.25, 0.5, 0.75, 1, 1
# ```
#
# In general the factor goes from `start_factor` at t = 0 to `end_factor` at t = `total_iters`, and stays
# there. As before, the formula takes `self.last_epoch` and `self.base_lrs` and gives a list.

# %%
#| export optim.schedulers
class LinearLR(PlannedLR):
    """The rate times a factor that goes in a straight line from `start_factor` to `end_factor`, and stays.

    total_iters: how many epochs that takes.
    """
    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: the factors must be at most 1 and not negative, start_factor not 0; "
                             f"got {start_factor} and {end_factor}.")
        if total_iters < 1:
            raise ValueError(f"LinearLR: total_iters must be at least 1, got {total_iters}.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rate of each group at `self.last_epoch`, as a list.

        >>> schedule = LinearLR(SGD([Tensor([1.])], lr=0.1), start_factor=0.25, total_iters=3)
        >>> schedule.last_epoch = 2
        >>> round(schedule.get_lr()[0], 4)
        0.075
        """
        ### BEGIN SOLUTION
        done = min(1, self.last_epoch / self.total_iters)
        factor = self.start_factor + (self.end_factor - self.start_factor) * done
        return [lr * factor for lr in self.base_lrs]
        ### END SOLUTION


# %%
class TestLinearLRGetLr:
    """Warming up"""
    def test_by_hand(self):
        "From a quarter to the whole in 3: 0.025, 0.05, 0.075, 0.1, and then it stays"
        expect(run_of(lambda o: LinearLR(o, 0.25, total_iters=3), 6), [0.025, 0.05, 0.075, 0.1, 0.1, 0.1],
               why="the first step is made at start_factor, and the line ends at total_iters")

    def test_down(self):
        "It may also go down, to a fifth of the rate"
        expect(run_of(lambda o: LinearLR(o, 1., 0.2, total_iters=2), 4), [0.1, 0.06, 0.02, 0.02])

    def test_groups(self):
        "Each group is warmed up to its own rate"
        expect(run_of(lambda o: LinearLR(o, 0.5, total_iters=1), 2, rates=(1., 0.4)), [[0.5, 0.2], [1., 0.4]])

    def test_default(self):
        "If nothing is said: from a third to the whole in 5"
        expect(run_of(LinearLR, 7, rates=(3., 30.))[:6:5], [[1., 10.], [3., 30.]])

    def test_in_sequence(self):
        "Up to the whole rate in 2, there for 2, then a tenth: two schedules, one after the other"
        def make(o):
            return SequentialLR(o, [LinearLR(o, 0.5, total_iters=2), StepLR(o, 2, 0.1)], milestones=[2])
        expect(run_of(make, 5), [0.05, 0.075, 0.1, 0.1, 0.01])


run_tests(TestLinearLRGetLr)

# %% [markdown]
# ## Exercise 9: one cycle
#
# Both ideas in one curve (Smith, 2018): up to a rate so large that it would not survive for long, then
# down, and at the end *far* below the start. The largest rate is given; the first is 25 times smaller,
# and the last another 10,000 times. With max_lr = 1, 10 steps, 30 % of them up, and straight lines:
#
# ```
# t    0      1      2      3       4      ...    8      9          10
# lr   0.04   0.52   1      0.857   0.714         0.143  0.000004   beyond: nobody uses it
#      first  ---- largest ------------------------------- last
# ```
#
# 30 % are three steps, 0 to 2, so the top is at 2; the last step is 9. At t = 3, one of the seven steps down
# is done: the share of this phase is 1/7, and the rate is 1 + (0.000004 - 1)/7 = 0.857. By default the way
# is half a cosine and no line; `self.anneal(start, end, share)` (given) knows which.
#
# The three rates stand in each group, under three names:
#
# ```
# names          ("initial_lr", "max_lr", "min_lr")      the default of the argument
# group[name]     0.04           1.0       0.000004
# ```
#
# `self.phases` (given) says which part of the run goes from which of them to which:
#
# ```
# (2.0, 0, 1)    up to t = 2.0:  from names[0] to names[1]        2.0 is 0.3 * 10 - 1, a float that may have
# (9, 1, 2)      up to t = 9:    from names[1] to names[2]        a fraction in other runs
# ```
#
# A phase begins at the t where the one before it ended, the first at 0. The phase of t is the first one with
# `t <= its end`; beyond them all, at t = 10, it is the last (its share is then above 1, whatever comes out).
# So: the phase, the share, then one `anneal` for each group of `self.optimizer.param_groups`.
#
# The run has a length. t may be `self.total_steps`, since a loop calls `step()` after its last step too, but
# not more:
#
# ```python
# raise ValueError(f"Tried to step {self.last_epoch} times. The run has ... total_steps = ...")
# ```
#
# (Why `names` is an argument: at a large rate momentum is lowered, along the same curve upside down. The
# given part calls `get_lr` once more, with the names of three momenta.)

# %%
#| export optim.schedulers
class OneCycleLR(OneCycleBase):
    """Up to `max_lr`, then down far below the start; call `step()` after each batch (Smith, 2018).

    max_lr: a number, or one for each group. total_steps, or epochs and steps_per_epoch: the length of the
    run. pct_start: the share of it that goes up. cycle_momentum: momentum (or beta1) goes the other way,
    from `max_momentum` to `base_momentum` and back. three_phase: down to the first rate as fast as up.
    """
    def get_lr(self, names=RATES):
        """The rate of each group at `self.last_epoch`, as a list; or another value, by the names of three.

        Raises ValueError after the end of the run.
        """
        ### BEGIN SOLUTION
        t, begin = self.last_epoch, 0
        if t > self.total_steps:
            raise ValueError(f"Tried to step {t} times. The run has total_steps = {self.total_steps}: "
                             "is step() called once for each batch?")
        for phase in self.phases:
            end, first, last = phase
            if t <= end or phase == self.phases[-1]:
                break
            begin = end
        share = (t - begin) / (end - begin)
        return [self.anneal(group[names[first]], group[names[last]], share)
                for group in self.optimizer.param_groups]
        ### END SOLUTION


# %%
class TestOneCycleLRGetLr:
    """One cycle"""
    def cycle(self, steps=10, rates=(0.1,), **options):
        return run_of(lambda o: OneCycleLR(o, **{"max_lr": 1., "total_steps": 10, "cycle_momentum": False,
                                                 **options}), steps, rates)

    def test_by_hand(self):
        "In straight lines: 0.04, 0.52, 1 at step 2, then 0.857, ..., and 0.000004 at step 9"
        expect(self.cycle(anneal_strategy="linear"),
               [0.04, 0.52, 1., 0.8571434, 0.7142869, 0.5714303, 0.4285737, 0.2857171, 0.1428606, 0.000004])

    def test_cosine(self):
        "In cosines: half way up it is 0.52 as well, one seventh of the way down still 0.95"
        seen = self.cycle()
        expect(seen[:4], [0.04, 0.52, 1., 0.9504847])
        expect(seen[-1], 0.000004, tol=1e-9)

    def test_three_phases(self):
        "In three phases: up to step 2, down to the first rate at step 4, then far below"
        seen = self.cycle(three_phase=True, anneal_strategy="linear")
        expect(seen[:6], [0.04, 0.52, 1., 0.52, 0.04, 0.0320008])
        expect(seen[9], 0.000004, tol=1e-9)

    def test_groups(self):
        "Each group has its own largest rate"
        expect(self.cycle(4, rates=(0.1, 0.1), max_lr=[1., 0.5])[1:3], [[0.52, 0.26], [1., 0.5]])

    def test_momentum(self):
        "Momentum goes the other way: 0.95, 0.9, 0.85 at the top, and back to 0.95"
        optimizer, seen = SGD([leaf([1.])], lr=0.1, momentum=0.5), []
        schedule = OneCycleLR(optimizer, 1., total_steps=10)
        for _ in range(9):
            seen.append(optimizer.param_groups[0]["momentum"])
            optimizer.step()
            schedule.step()
        expect(seen[:3], [0.95, 0.9, 0.85])
        expect(optimizer.param_groups[0]["momentum"], 0.95)

    def test_end(self):
        "The tenth call of step() is allowed, the eleventh is an error that names both numbers"
        optimizer = SGD([leaf([1.])])
        schedule = OneCycleLR(optimizer, 1., total_steps=10, cycle_momentum=False)
        for _ in range(10):
            optimizer.step()
            schedule.step()
        expect_error(ValueError, schedule.step, says=["11", "10"])


run_tests(TestOneCycleLRGetLr)

# %% [markdown]
# ## It learns
#
# In 1969 Minsky and Papert showed that no single layer can compute XOR: 1 if exactly one of two inputs is
# 1. The four points cannot be split by one line. Everything is there now to let a network with a hidden
# layer find it by itself: layers, a loss, gradients, and a step.

# %%
def train_xor(make_optimizer, hidden=8, steps=200, seed=0):
    "How many of the four answers are right after so many steps; hidden=0 is a single layer"
    rng = np.random.default_rng(seed)
    x, y = Tensor([[0., 0.], [0., 1.], [1., 0.], [1., 1.]]), Tensor([[0.], [1.], [1.], [0.]])
    shapes = [(2, hidden), (hidden,), (hidden, 1), (1,)] if hidden else [(2, 1), (1,)]
    weights = [Parameter(Tensor(rng.normal(size=s), dtype="float32")) for s in shapes]

    def answer():
        h = x
        for i in range(0, len(weights), 2):
            h = (h.tanh() if i else h) @ weights[i] + weights[i + 1]
        return h

    optimizer = make_optimizer(weights)
    for _ in range(steps):
        optimizer.zero_grad()
        ((answer() - y) ** 2).mean().backward()
        optimizer.step()
    return int(((answer() > 0.5).data == (y.data > 0.5)).sum())


class TestXor:
    """A network that learns"""
    def test_one_layer(self):
        "A single layer never has all four right, whatever the optimizer"
        for kind in SGD, Adam:
            assert train_xor(lambda w, kind=kind: kind(w, lr=0.1), hidden=0) < 4

    def test_two_layers(self):
        "With eight hidden units all four are right: momentum, Nesterov, Adam, AdamW"
        for name, make in {"momentum": lambda w: SGD(w, lr=0.1, momentum=0.9),
                           "nesterov": lambda w: SGD(w, lr=0.1, momentum=0.9, nesterov=True),
                           "Adam": lambda w: Adam(w, lr=0.05),
                           "AdamW": lambda w: AdamW(w, lr=0.05)}.items():
            expect(train_xor(make), 4, why=f"{name} did not get there in 200 steps")


run_tests(TestXor)

# %% [markdown]
# ## Two pictures
#
# Drawn in a notebook; run as a script, the cell prints only how low each one gets. On the left, the valley
# from above, with the ways of four optimizers. Look for: who jumps from side to side, who overshoots the
# bottom and comes back, and who walks diagonally at first, as if the valley were round. (Nesterov's step is
# 0.013: it counts the newest gradient once more, and 0.019 would explode.) On the right, four schedules.

# %%
WAYS = {"SGD": lambda w: SGD(w, lr=0.019), "momentum": lambda w: SGD(w, lr=0.019, momentum=0.9),
        "Nesterov": lambda w: SGD(w, lr=0.013, momentum=0.9, nesterov=True),
        "Adam": lambda w: Adam(w, lr=0.5)}
PLANS = {"steps": lambda o: StepLR(o, 30, 0.3), "cosine": lambda o: CosineAnnealingLR(o, 100),
         "warm-up, cosine": lambda o: SequentialLR(o, [LinearLR(o, 0.05, total_iters=10),
                                                       CosineAnnealingLR(o, 90)], milestones=[10]),
         "one cycle": lambda o: OneCycleLR(o, 0.1, total_steps=100, cycle_momentum=False)}


@measure
def four_ways_and_four_plans():
    for name, make in WAYS.items():
        print(f"f after 0, 10, ... 50 steps  {name:9}", *[f"{valley(x):9.3g}" for x in walk(make)[::10]])
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("The pictures need matplotlib: pip install matplotlib")
        return
    _, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5))
    x, y = np.meshgrid(np.linspace(-8, 11, 200), np.linspace(-1.5, 1.5, 200))
    left.contour(x, y, valley((x, y)), levels=np.geomspace(0.5, 150, 10), alpha=0.3)
    for name, make in WAYS.items():
        left.plot(*walk(make).T, ".-", label=name, linewidth=1, markersize=3)
    left.set_ylim(-1.5, 1.5)
    for name, make in PLANS.items():
        right.plot(run_of(make, 100), label=name)
    for axes, title in (left, "50 steps through the valley"), (right, "learning rate at each step"):
        axes.set_title(title)
        axes.legend()
    if plt.get_backend().lower() == "agg":
        print("No window to draw in: open this file as a notebook to see the pictures.")
    else:
        plt.show()


# %% [markdown]
# ## Measure
#
# Guess first:
#
# 1. A step of SGD reads w and g and writes w. Adam also reads and writes m and v. How many times as long
#    does it take, written as one formula?
# 2. How much *new* memory does that take at its peak, counted in copies of the weights?
# 3. A network for the digits, 3 epochs: which of the rates 0.0001, 0.001, 0.01, 0.1, 1 is the best for SGD,
#    which for Adam? And if somebody multiplies the loss by 100?

# %%
guess_of_time, guess_of_memory = None, None           # times SGD, copies of the weights
guess_of_best = {("SGD", 1): None, ("SGD", 100): None, ("Adam", 1): None, ("Adam", 100): None}


def adam_as_written(w, g, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
    m[...] = beta1 * m + (1 - beta1) * g
    v[...] = beta2 * v + (1 - beta2) * g ** 2
    w -= lr * (m / (1 - beta1 ** step)) / (np.sqrt(v / (1 - beta2 ** step)) + eps)


def print_costs(**updates):
    "Time and new memory of each update(w, g, m, v), with four million weights"
    w, g, m, v = np.random.default_rng(0).normal(size=(4, 4_000_000)).astype("float32")
    v = abs(v)
    for name, update in updates.items():
        def run(update=update): update(w, g, m, v)
        print(f"{name:16} {timed(run, repeat=7) / w.size * 1e9:5.1f} ns a weight, "
              f"{peak_bytes(run) / w.nbytes:.1f} copies of the weights at the peak")


@measure
def what_a_step_costs():
    print_costs(SGD=lambda w, g, m, v: sgd_update(w, g, 1e-3),
                momentum=lambda w, g, m, v: momentum_update(w, g, m, 1e-3, 0.9),
                Adam_one_formula=lambda w, g, m, v: adam_as_written(w, g, m, v, 5))
    print(f"you guessed {guess_of_time} times SGD, {guess_of_memory} copies")


# %% [markdown]
# A step does hardly any arithmetic: it waits for memory, and what counts is how often an array of the size
# of the weights is read or written. SGD makes one new array, lr g. Adam as one formula makes a dozen
# temporaries, and at its peak three or four are alive at once: the answer to the second question.
#
# Now try this in `adam_update`: one scratch array, `np.empty_like(w)`, made at the start and used for
# everything (`np.multiply(g, g, out=scratch)`, `scratch *= 1 - beta2`). The tests tell whether it is still
# Adam, and the next cell what it is worth: one copy, and up to twice as fast. If you leave it as it is, the
# two rows are about the same.

# %%
@measure
def what_yours_costs():
    print_costs(Adam_one_formula=lambda w, g, m, v: adam_as_written(w, g, m, v, 5),
                Adam_yours=lambda w, g, m, v: adam_update(w, g, m, v, 5))


@measure
def what_is_remembered():
    for name, make in {"SGD": SGD, "momentum": lambda w: SGD(w, momentum=0.9), "Adam": Adam}.items():
        w = Parameter(Tensor(np.zeros(810_000, "float32")))
        w.grad = zeros_beside(w)
        optimizer = make([w])
        optimizer.step()
        kept = sum(t.nbytes for t in optimizer.state[w].values() if isinstance(t, Tensor))
        print(f"{name:9} remembers {kept / 1e6:.1f} MB beside {w.nbytes / 1e6:.1f} MB of weights; "
              f"with 124 million weights {kept / 810_000 * 124e6 / 1e9:.1f} GB")


# %%
def right_after_training(optimizer_class, lr, times, pictures, labels):
    "The share of right answers on 360 held-out digits after 3 epochs with the loss times a number"
    manual_seed(0)
    layers = [Linear(64, 32), Linear(32, 10)]
    def scores(x): return layers[1](layers[0](x).tanh())
    optimizer = optimizer_class([p for layer in layers for p in layer.parameters()], lr)
    for rows in list(np.arange(1408).reshape(-1, 32)) * 3:
        optimizer.zero_grad()
        (times * cross_entropy(scores(pictures[rows]), labels[rows])).backward()
        optimizer.step()
    return (scores(pictures[1437:]).argmax(1) == labels[1437:]).float().mean().item()


@measure
def which_rate_is_good():
    pictures, labels = dataset("digits")
    order = np.random.default_rng(0).permutation(len(pictures))      # the file goes writer by writer
    x, y, rates = Tensor(pictures[order] / 16), Tensor(labels[order]), [0.0001, 0.001, 0.01, 0.1, 1.]
    print("rate           ", *[f"{lr:7}" for lr in rates])
    for kind in SGD, Adam:
        for times in 1, 100:
            with np.errstate(all="ignore"):            # too large a rate ends in inf
                reached = [right_after_training(kind, lr, times, x, y) for lr in rates]
            print(f"{kind.__name__:4} loss x {times:3} ", *[f"{share:7.0%}" for share in reached],
                  f"   you guessed {guess_of_best[kind.__name__, times]}")


# %% [markdown]
# What must hold on any machine. The scratch array saves memory, and with it time. Yours walks over memory a
# dozen times all the same: module 18 makes one loop of it that reads each array once, and is several times
# faster again. For small arrays none of this matters: there a step costs the number of calls.
#
# What is remembered: nothing, one copy of the weights, two. The gradients are there too, so training with
# Adam takes four copies where using takes one.
#
# The third: multiply the loss by 100, and SGD's good rates are a hundred times smaller. Adam does not even
# notice, since m and √v grow alike. Nobody multiplies losses for fun; but gradients differ as much between
# two networks, or between the first and the last layer of one.
#
# And the opening question: momentum knows whether the last gradients *agreed*. Where they did it takes
# steps ten times as long; where they cancelled, hardly any. Adam knows something else: how large the
# gradients usually *are*, for each weight.
#
# ## Reflect
#
# Answer in a sentence or two each, then compare with `## reflection-1` and so on in HINTS.md.
#
# 1. Adam's default rate of 0.001 is used for networks of a thousand weights and of a billion. Why does
#    it need so little tuning, and what does SGD need to know that Adam finds by itself?
# 2. Adam with weight_decay=0.1, or AdamW with the same: which weights decay differently, and why?
# 3. Why does a run with Adam begin with a warm-up? Would you need it for SGD?
#
# ## Where this code lives
#
# `tito export 06` writes it to `tinytorch/optim/`: `optimizers.py` (the updates and the optimizers),
# `schedulers.py` (the three schedules), and beside them what was given: `optimizer_base.py`,
# `scheduler_base.py`, `more_schedulers.py` (StepLR, SequentialLR, ReduceLROnPlateau and others).
#
# ```python
# from tinytorch import nn, optim
# model = nn.Linear(64, 10)
# optimizer = optim.AdamW(model.parameters(), lr=3e-3)
# schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=1000)
# ```
#
# Module 07 puts the loop around it: zero_grad, backward, step, schedule.step, and everything that can go
# wrong between. Module 17 tunes small models with it, and 18 replaces `adamw_update`.
#
# In the real world: PyTorch's optimizers are Python classes like these, with the same groups, state and
# numbers. But a step works on *lists* of tensors at once (`foreach`, `fused`), since on a GPU a hundred small
# launches cost more than the arithmetic.
