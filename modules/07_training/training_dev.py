# %% [markdown]
# # Module 07: Training, a run that survives
#
# 150 handwritten digits, all by the same few people. A network learns them for 200 epochs; an *epoch* is
# once through the data. After each one we also look at 500 *held-out* digits, by other people, which it never
# learns from:
#
# ```
# epoch                               1       10       30      100      200
# loss on what it learns from       1.5     0.02    0.003   0.0004   0.0001    better and better
# loss on the held-out digits       1.7     0.58     0.61     0.68     0.74    worse, from about epoch 10 on
# of those, read correctly         68 %     81 %     81 %     82 %     82 %    hardly a change
# ```
#
# And in a second run, at step 137, somebody trips over the cable. **What should the program have done,
# twice?**
#
# It should have noticed, early, that it was learning the 150 pictures by heart: it reads hardly more of the
# others than before, and is surer and surer of its mistakes, which is what their loss says. And it should
# have kept the weights of that time. Against the cable, it should have written down enough to go on: not
# "roughly where it was", but to the same bits as if nothing had happened.

# %%
#| default_exp training.trainer
from tito.lesson import dataset, expect, expect_error, measure, run_tests, timed

# %%
import math
import os

from callbacks_dev import Callback
from gradients_dev import clip_grad_value_, gradients_of
from packing_dev import name_beside, packed, unpacked
from trainer_base_dev import TrainerBase

from tinytorch.core.autograd import no_grad
from tinytorch.core.joining import stack
from tinytorch.core.reductions import norm
from tinytorch.core.tensor import Tensor

# %% [markdown]
# Those were for your code. These are for tests and measurements.

# %%
import builtins
import tempfile
from time import perf_counter

import numpy as np
from curves_dev import draw_curves

from tinytorch.core.backend import manual_seed
from tinytorch.core.creation import rand
from tinytorch.nn.layers import Dropout, Linear
from tinytorch.nn.losses import cross_entropy
from tinytorch.nn.module import Module, Sequential
from tinytorch.nn.parameter import Parameter
from tinytorch.nn.simple_layers import ReLU
from tinytorch.optim.more_schedulers import ReduceLROnPlateau, StepLR
from tinytorch.optim.optimizers import SGD, Adam


# %%
def digits(count=150):
    "(x, y) to learn from, and (x, y) by other writers: the file goes writer by writer"
    pictures, labels = dataset("digits")
    x, y = Tensor(pictures / 16), Tensor(labels)
    return (x[:count], y[:count]), (x[150:650], y[150:650])


def network(seed=0, hidden=128, p=0.0):
    manual_seed(seed)
    return Sequential(Linear(64, hidden), ReLU(), Dropout(p), Linear(hidden, 10))


@measure
def what_happened():
    (x, y), (others, theirs) = digits()
    model = network()
    optimizer, order = Adam(model.parameters(), lr=0.01), np.random.default_rng(0)
    for epoch in range(1, 201):
        for rows in order.permutation(150).reshape(-1, 25):
            optimizer.zero_grad()
            cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
        if epoch in (1, 10, 30, 100, 200):
            with no_grad():
                own, scores = cross_entropy(model(x), y).item(), model(others)
                other, right = cross_entropy(scores, theirs).item(), (scores.argmax(1) == theirs).sum().item()
            print(f"epoch {epoch:3}: loss on its own {own:.4f}, on the others {other:.3f}, of which "
                  f"{right / 500:.0%} are right")


# %% [markdown]
# This loop is all that module 06 needed. It says nothing about the others unless asked, cannot stop, and
# forgets everything when it dies. In this module you build the one that you will use from here on:
#
# * two functions to begin with: a number that people understand, and a brake for gradients;
# * the class `Trainer`: a step, an honest look at other data, the loop, and going on;
# * `EarlyStopping`, which says when it is enough;
# * `save` and `load`: a file that is whole, whenever the power fails. With all in it that a run needs to go
#   on, it is called a *checkpoint*.
#
# Given, in the other files of this folder: options and their checks, the progress bar, the history and its
# picture, and what turns a dictionary into the bytes of a file.
#
# ## Exercise 1: how many are right
#
# A loss of 0.58 says little. "81 % are read correctly" is a number for people. The network gives a score for
# each of the C classes, and the largest one is its answer:
#
# ```
# scores                 answer    target
# 0.1   2.0  -1.0           1         1        right
# 3.0   0.0   2.9           0         2        wrong
# 0.0   0.2   0.5           2         2        right
# 1.0   0.0   0.0           0      -100        not asked            2 of 3 right
# ```
#
# As in `cross_entropy`, a target of -100 says "do not count this row", neither as right nor among all. Where
# each row has further dimensions, the classes are dimension 1: scores (N, C, ...), targets (N, ...).
#
# One trap. Targets of shape (4, 1) instead of (4,) are compared with four answers *by broadcasting*: 16
# comparisons, and a number that looks like an accuracy. So shapes that do not fit are an error. You are
# given its sentence:
#
# ```python
# raise ValueError(f"accuracy of scores {output.shape} and targets {target.shape}: they must be (N, C, ...) "
#                  "and (N, ...).")
# ```

# %%
#| export training.metrics
def accuracy(output, target, ignore_index=-100):
    """The share of targets whose score is the largest of its row: a tensor with one number.

    output: scores (N, C, ...). target: classes (N, ...); those equal to ignore_index do not count, and if
    none counts it is nan. Raises ValueError if the shapes do not fit.

    >>> accuracy(Tensor([[0.1, 2., -1.], [3., 0., 2.9]]), Tensor([1, 2])).item()
    0.5
    """
    ### BEGIN SOLUTION
    if output.ndim < 2 or (output.shape[0], *output.shape[2:]) != target.shape:
        raise ValueError(f"accuracy of scores {output.shape} and targets {target.shape}: they must be "
                         "(N, C, ...) and (N, ...).")
    counted = target != ignore_index
    right = (output.argmax(1) == target) & counted
    return right.sum() / counted.sum()
    ### END SOLUTION


# %%
class TestAccuracy:
    """How many are right"""
    scores = Tensor([[0.1, 2., -1.], [3., 0., 2.9], [0., 0.2, 0.5], [1., 0., 0.]])

    def test_by_hand(self):
        "Two of the three rows that count are right: 0.667"
        got = accuracy(self.scores, Tensor([1, 2, 2, -100]))
        expect(got, 2 / 3, why="0.5 would be: the ignored row counts among all; 0.75: it counts as right")
        assert isinstance(got, Tensor), f"a tensor with one number is wanted, not {type(got).__name__}"

    def test_ignored_class(self):
        "Any class can be the ignored one, and then even a right answer for it does not count"
        expect(accuracy(self.scores, Tensor([1, 2, 2, 0]), ignore_index=0), 2 / 3,
               why="0.75 would be: the fourth row is ignored, and was counted as right")

    def test_last_is_not_class(self):
        "With scores (1, 3, 2) the classes are dimension 1: targets (1, 2)"
        scores = Tensor([[[1., 5.], [2., 0.], [3., 9.]]])
        expect(accuracy(scores, Tensor([[2, 0]])), 0.5)

    def test_nothing_counts(self):
        "If no row counts there is no share: nan"
        assert math.isnan(accuracy(self.scores, Tensor([-100] * 4)))

    def test_shapes(self):
        "Targets (4, 1) for scores (4, 3) are an error that names both, not a broadcast"
        columns = Tensor([[1], [2], [2], [0]])
        expect_error(ValueError, accuracy, self.scores, columns, says=["(4, 3)", "(4, 1)"])
        expect_error(ValueError, accuracy, self.scores, Tensor([1, 2, 2]), says=["(4, 3)", "(3,)"])

    def test_one_row(self):
        "Scores (2,), a row without its batch, are an error too"
        expect_error(ValueError, accuracy, Tensor([1., 2.]), Tensor(1), says=["(2,)", "()"],
                     why="scores need two dimensions: ask for output.ndim before the sizes are compared")


run_tests(TestAccuracy)

# %% [markdown]
# ## Exercise 2: a brake
#
# One batch with a wrong label, one step into a steep place, and the gradient is a hundred times as large as
# ever before. The step is a hundred times as long, and the weights are somewhere else. So gradients that
# are too long are made shorter, *all by the same factor*: the direction is right, only the length is not.
#
# Two parameters have the gradients [3, 4] and [12], and none may be longer than 1:
#
# ```
#                    [3, 4]              [12]        both, as if they were one vector
# norm, p = 2        √(9 + 16) = 5       12          √(5² + 12²) = 13
# times 1/13         [0.2308, 0.3077]    [0.9231]    together of length 1
# norm, p = 1        3 + 4 = 7           12          7 + 12 = 19
# norm, p = inf      4, the largest      12          12, the larger one
# ```
#
# A factor for each tensor, 1/5 for one and 1/12 for the other, would give [0.6, 0.8] and [1]: another
# direction. And a gradient that is shorter than allowed stays as it is: the factor is never above 1.
#
# $$ n = \lVert g_1, g_2, \ldots \rVert_p \qquad
#    g_i \leftarrow g_i \cdot \min\left(1, \frac{\text{max\_norm}}{n + 10^{-6}}\right) $$
#
# For every p, the norm of both is the p-norm of the single norms: so take `norm(g, p)` of each gradient, and
# `norm` once more of those. The 10⁻⁶ is PyTorch's; it counts only where gradients are tiny themselves.
#
# `gradients_of(parameters)` gives the list of those gradients that are there, [3, 4] and [12] in the example,
# as tensors around the same memory: multiply **in place**, `g.mul_(factor)`. `stack` makes one tensor of a
# list of single numbers. The factor can stay a tensor: `clamp(max=1.0)` is its min. Nothing needs to be read
# as a Python number, so a GPU need not be waited for. Except for who asks for it: with `error_if_nonfinite`
# and a norm that is inf or nan (`total.isfinite()` says),
#
# ```python
# raise RuntimeError(f"clip_grad_norm_: the norm of the gradients is {total.item()}, so they cannot be "
#                    "clipped.")
# ```
#
# before anything is changed. If there is no gradient at all, the norm is `Tensor(0.0)`.

# %%
#| export training.clipping
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Shorten the gradients, in place and by one factor, so that their common norm is at most max_norm.

    parameters: an iterable of tensors, or one; those without a gradient are left out. norm_type: p, also
    inf. Returns the norm before, a tensor with one number. Raises RuntimeError, and changes nothing, if
    that is inf or nan and error_if_nonfinite is set. foreach is PyTorch's and changes nothing.
    (Pascanu et al., 2013)

    >>> w = Tensor([0., 0.], requires_grad=True); w.grad = Tensor([3., 4.])
    >>> clip_grad_norm_(w, 1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    ### BEGIN SOLUTION
    gradients = gradients_of(parameters)
    if not gradients:
        return Tensor(0.0)
    total = norm(stack([norm(g, norm_type) for g in gradients]), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(f"clip_grad_norm_: the norm of the gradients is {total.item()}, so they cannot be "
                           "clipped.")
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for g in gradients:
        g.mul_(factor)
    return total
    ### END SOLUTION


# %%
def with_gradients(*gradients):
    "For the tests: a parameter of zeros for each of these gradients; None gives one that has none"
    parameters = [Tensor(np.zeros(np.shape(g or 0.)), requires_grad=True) for g in gradients]
    for p, g in zip(parameters, gradients):
        p.grad = None if g is None else Tensor(g, dtype="float64")
    return parameters


class TestClipGradNorm:
    """A brake"""
    def test_by_hand(self):
        "[3, 4] and [12] have norm 13, and become [0.2308, 0.3077] and [0.9231]"
        a, b = with_gradients([3., 4.], [12.])
        total = clip_grad_norm_([a, b], 1.0)
        expect(total, 13., why="it returns the norm of all, before they are changed")
        expect(a.grad, [3 / 13, 4 / 13], why="[3, 4] would be: not changed in place; [0.6, 0.8]: a norm of "
                                             "its own")
        expect(b.grad, [12 / 13], why="1 would be: a norm of its own")
        assert isinstance(total, Tensor), f"a tensor with one number is wanted, not {type(total).__name__}"

    def test_short(self):
        "Gradients that are short enough stay as they are, to the bit"
        a, b = with_gradients([0.3, 0.4], [1.2])
        expect(clip_grad_norm_([a, b], 2.0), 1.3)
        expect(a.grad, [0.3, 0.4], tol=0, why="a factor above 1 makes short gradients long")

    def test_memory(self):
        "It is the memory of the gradient that changes"
        a, = with_gradients([3., 4.])
        seen = a.grad
        clip_grad_norm_([a], 1.0)
        expect(seen, [0.6, 0.8], why="another tensor was assigned to .grad")

    def test_infinity(self):
        "With norm_type inf the norm is the largest element: 12, and -2 becomes -0.5"
        a, b = with_gradients([[-2., 4.]], [-12.])
        expect(clip_grad_norm_([a, b], 3.0, math.inf), 12.)
        expect(a.grad, [[-0.5, 1.]], why="the factor is 3/12; [-1.5, 3] would be: a norm of its own")

    def test_one_norm(self):
        "With norm_type 1 it is the sum of sizes: 3 + 4 + 12 = 19"
        expect(clip_grad_norm_(with_gradients([3., -4.], [12.]), 1.0, 1), 19.)

    def test_without(self):
        "Parameters without a gradient are left out; if none has one the norm is 0"
        a, b = with_gradients(None, [3., 4.])
        expect(clip_grad_norm_(iter([a, b]), 1.0), 5.)
        assert a.grad is None
        expect(clip_grad_norm_([a], 1.0), 0.)

    def test_single(self):
        "One tensor will do in place of a list, and a gradient of zeros is no division by zero"
        a, = with_gradients([0., 0.])
        expect(clip_grad_norm_(a, 1.0), 0.)
        expect(a.grad, [0., 0.])

    def test_tiny(self):
        "A gradient of 10⁻⁶ that may be 10⁻⁶ long is halved, by the 10⁻⁶ in the formula"
        a, = with_gradients([1e-6])
        clip_grad_norm_(a, 1e-6)
        expect(a.grad * 1e6, [0.5], why="1 would be: the 10⁻⁶ is not in the denominator, or nothing is "
                                        "multiplied unless the norm is above max_norm")

    def test_not_finite(self):
        "error_if_nonfinite: a norm that is inf is an error, and the gradients stay; else all become 0 or nan"
        a, b = with_gradients([math.inf, 1.], [2.])
        expect_error(RuntimeError, clip_grad_norm_, [a, b], 1.0, error_if_nonfinite=True, says="inf")
        expect(b.grad, [2.], why="the check comes before anything is changed")
        assert math.isinf(clip_grad_norm_([a, b], 1.0))
        expect(b.grad, [0.], why="2 times 1/inf is 0")

    def test_history(self):
        "It is no part of a computation: a gradient that has a history can be clipped"
        w = Tensor([2.], dtype="float64", requires_grad=True)
        w.grad = w * 5
        expect(clip_grad_norm_(w, 1.0), 10.)
        expect(w.grad, [1.])


run_tests(TestClipGradNorm)

# %% [markdown]
# ## The trainer
#
# The class comes first, with four methods that you fill in: `train_step` and `evaluate` now, `fit` and
# `resume` after you have written what they need. What it inherits from `TrainerBase`, for the first two:
#
# ```
# self.model, self.optimizer, self.loss_fn         what it was made of
# self.metrics             {"accuracy": accuracy}: further functions of (output, target)
# self.output_of(batch)    what the model says to the batch's inputs, and the target: a pair
# self.size_of(batch)      how many examples are in it: 4 for x (4, 64), y (4,); a target of -100 is none
# self.checked(loss)       the loss itself; or an error that says where it is nan or inf
# self.clip_gradients()    your clip_grad_norm_, if the trainer was given a clip_norm; else nothing
# ```

# %%
#| export
class Trainer(TrainerBase):
    """Trains a model, looks at other data, stops, saves, and goes on to the same bits.

    loss_fn(output, target): the mean over a batch's examples. A batch is (*inputs, target), or a dictionary
    with "target"; arrays are taken as tensors.

    scheduler, schedule: takes its step after each "epoch" or after each "batch" (step of the optimizer).
    metrics: {name: function(output, target)}, means over examples, for `evaluate`.
    clip_norm, clip_value: the longest gradient, the largest element of one.
    accumulate: how many batches make one step. callbacks: told in this order.
    step: a function (trainer, batches) in the place of `train_step`; returns the loss.
    count: a function (batch) that says how many examples are in it; by default the rows of the target, or, if
    that holds classes (integers), all that are not -100.
    device: where batches are moved to; None leaves them. seed: where a run's random numbers start.
    progress: a bar, if stderr is a terminal.
    """
    def train_step(self, batches):
        """One step of the optimizer, by the mean loss over all examples of `batches`; returns that mean.

        batches: a list; they need not be of one size. The mean is a tensor with one number and without
        history. Gradients from before are forgotten, and clipped if asked for. Raises RuntimeError, and
        takes no step, if a loss is nan or inf.
        """
        ### BEGIN SOLUTION
        sizes = [self.size_of(batch) for batch in batches]
        self.optimizer.zero_grad()
        mean = 0.0
        for batch, size in zip(batches, sizes):
            loss = self.checked(self.loss_fn(*self.output_of(batch)))
            share = loss * (size / sum(sizes))
            share.backward()
            mean = mean + share.detach()
        self.clip_gradients()
        self.optimizer.step()
        return mean
        ### END SOLUTION

    def clip_gradients(self):
        """Clip all gradients of the model, by norm, then by value, as the trainer was told."""
        if self.clip_norm is not None:
            clip_grad_norm_(self.model.parameters(), self.clip_norm)
        if self.clip_value is not None:
            clip_grad_value_(self.model.parameters(), self.clip_value)

    def evaluate(self, batches):
        """{"loss": ..., and each metric by its name}: means over all examples, plain floats.

        The model is in evaluation mode meanwhile, and nothing is recorded. Afterwards, also after an error,
        each module has the mode that it had. Raises ValueError if there is no batch.
        """
        ### BEGIN SOLUTION
        modes = [(module, module.training) for module in self.model.modules()]
        sums, examples = dict.fromkeys(["loss", *self.metrics], 0.0), 0
        try:
            self.model.eval()
            with no_grad():
                for batch in batches:
                    output, target = self.output_of(batch)
                    size = self.size_of(batch)
                    examples += size
                    for name, function in {"loss": self.loss_fn, **self.metrics}.items():
                        sums[name] += float(function(output, target)) * size
        finally:
            for module, mode in modes:
                module.training = mode
        if not examples:
            raise ValueError("evaluate: there was no batch. Was an iterator read before?")
        return {name: total / examples for name, total in sums.items()}
        ### END SOLUTION

    def fit(self, batches, epochs, validation=None, checkpoint=None, save_every=None):
        """Train until `epochs` epochs are over, those before included, or a callback stops; the history.

        batches, validation: iterables that can be read once an epoch. checkpoint: a path, written after each
        epoch, after every `save_every` steps, and at Ctrl-C, which takes effect after the step that runs.
        A row of the history: "epoch" (from 1); "lr", the rate after the epoch's last step and before a
        schedule by epochs; "loss", the mean over the epoch's examples; with validation "val_loss" and "val_"
        for each metric.
        """
        ### BEGIN SOLUTION
        with self.running(batches, epochs, validation, checkpoint, save_every):
            self.tell("on_fit_start")
            while self.epoch < epochs and not self.stopped:
                self.begin_epoch()
                for group in self.groups(batches):
                    self.note(self.one_step(group), group)
                row = {"epoch": self.epoch + 1, "lr": self.lr(), "loss": self.mean_loss()}
                if validation is not None:
                    row.update({f"val_{name}": x for name, x in self.evaluate(validation).items()})
                self.step_schedule(row)
                self.end_epoch(row)
            self.tell("on_fit_end")
        return self.history
        ### END SOLUTION

    def save_checkpoint(self, path):
        """Write all that the rest of the run depends on; between two steps."""
        save(self.state_dict(), path)

    def resume(self, path):
        """Take over what `save_checkpoint` wrote: the next `fit` goes on as if nothing had happened.

        The trainer must be made as that one was. Raises RuntimeError that lists the names if the model is
        another one, ValueError if the file is no checkpoint of such a trainer; then nothing has changed.
        """
        ### BEGIN SOLUTION
        saved = load(path)
        self.check_saved(saved, path)
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(saved["scheduler"])
        for callback, state in zip(self.callbacks, saved["callbacks"]):
            callback.load_state_dict(state)
        self.history[:] = saved["history"]
        self.go_on_at(saved["position"])
        self.restore_random(saved["random"])
        ### END SOLUTION


# %% [markdown]
# ## Exercise 3: a step
#
# Four examples have the losses 1, 2, 3 and 6, mean 3. If memory holds only two at a time, they come as two
# *micro-batches*, small batches that make one step together. Each has a `backward()` of its own, after which
# its graph can go, and the gradients add up in `.grad`:
#
# ```
#              mean loss     as it is      times 1/2
# (1, 2)          1.5          1.5           0.75
# (3, 6)          4.5          4.5           2.25
#                              6.0           3.0          the mean of all four
# ```
#
# So each mean is multiplied by its share of the examples *before* `backward()`, and one step by two
# micro-batches is the same as one by the whole batch. Shares, not 1/k: (1, 2, 3) and (6) have the means 2 and
# 6, and 2 * 3/4 + 6 * 1/4 = 3, while halves would give 4. The last group of an epoch is often such a case,
# and so is a batch with ignored targets: a mean over three examples that count has the share of three.
#
# $$ \bar\ell = \sum_i \frac{n_i}{n_1 + n_2 + \ldots}\; \ell_i $$
#
# The order of the rest matters, and each way to get it wrong is silent: `zero_grad` once, before the first
# `backward()`; clip when all gradients are there and before the step. What is returned must have no history
# (`detach()`): whoever keeps a list of losses would keep every graph alive. And hand each loss through
# `self.checked`, so that a nan never reaches the weights.

# %%
class Line(Module):
    "For the tests: x w with one weight, 1 at first"
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.], dtype="float64"))

    def forward(self, x):
        return x * self.w


def pair(*numbers):
    "A batch of these numbers, with themselves as targets"
    x = Tensor(numbers, dtype="float64")
    return x, x


def mean_output(output, target): return output.mean()


def mean_counted(output, target):
    "The mean of the outputs whose target is not -100"
    return (output * (target != -100)).sum() / (target != -100).sum()


WITH_IGNORED = [(Tensor([1., 2., 9.]), Tensor([0, 0, -100])), (Tensor([6.]), Tensor([0]))]


def line_trainer(lr=0.1, **options):
    "A trainer whose loss is the mean of x w, so its gradient is the mean of x"
    model = Line()
    return Trainer(model, SGD(model.parameters(), lr), mean_output, **options)


class TestTrainerTrainStep:
    """A step"""
    def test_one_batch(self):
        "Losses 1, 2, 3, 6: the mean is 3, and w = 1 goes to 1 - 0.1 * 3 = 0.7"
        trainer = line_trainer()
        expect(trainer.train_step([pair(1., 2., 3., 6.)]), 3.)
        expect(trainer.model.w, [0.7], why="1 would be: no step was taken")

    def test_micro_batches(self):
        "In two micro-batches the step is the same: 0.7, not 0.4"
        trainer = line_trainer()
        mean = trainer.train_step([pair(1., 2.), pair(3., 6.)])
        expect(trainer.model.w, [0.7], why="0.4 would be the sum of both means; 0.775: gradients were "
                                           "forgotten between the two")
        expect(mean, 3., why="the mean over all examples of the step is wanted")

    def test_unequal(self):
        "Three examples and one: 2 * 3/4 + 6 * 1/4 = 3"
        trainer = line_trainer()
        expect(trainer.train_step([pair(1., 2., 3.), pair(6.)]), 3.,
               why="4 would be halves of both means, 8 their sum")
        expect(trainer.model.w, [0.7], why="0.6 would be halves of both means")

    def test_ignored(self):
        "Losses 1, 2, an ignored one, and 6: the mean over those that count is 3"
        trainer = line_trainer()
        trainer.loss_fn = mean_counted
        expect(trainer.train_step(WITH_IGNORED), 3.,
               why="2.625 would be: weighted by rows. self.size_of counts examples, without the ignored ones")

    def test_one_graph(self):
        "Each micro-batch has its backward before the next one goes through the model"
        trainer, seen = line_trainer(), []
        def loss(output, target):
            seen.append(trainer.model.w.grad is not None)
            return output.mean()
        trainer.loss_fn = loss
        trainer.train_step([pair(1.), pair(2.)])
        expect(seen, [False, True], why="(whether w has a gradient at each loss.) [False, False] would be: "
                                        "one backward at the end, with the graphs of all in memory")

    def test_forgotten(self):
        "A gradient from before has no part in the step"
        trainer = line_trainer()
        trainer.model.w.grad = Tensor([100.], dtype="float64")
        trainer.train_step([pair(3.)])
        expect(trainer.model.w, [0.7], why="nobody forgot the old gradient: zero_grad comes first")

    def test_clipped(self):
        "Gradients 8 and -4, mean 2: with clip_norm=1 it becomes 1, and w goes to 0.9"
        trainer = line_trainer(clip_norm=1.0)
        trainer.train_step([pair(8.), pair(-4.)])
        expect(trainer.model.w, [0.9], tol=1e-5, why="0.8 would be: not clipped, or only after the step; "
                                                     "1.1: clipped after each backward, not after the last")

    def test_no_history(self):
        "What is returned has no history, so a list of losses keeps no graph alive"
        loss = line_trainer().train_step([pair(3.)])
        assert isinstance(loss, Tensor), f"a tensor with one number is wanted, not {type(loss).__name__}"
        assert loss.node is None, "the loss still has its graph: detach() it"

    def test_not_finite(self):
        "A loss that is nan is an error that says where, and the weight is as it was"
        trainer = line_trainer()
        expect_error(RuntimeError, trainer.train_step, [pair(1.), pair(math.nan)], says=["epoch 1", "nan"],
                     why="hand each loss through self.checked")
        expect(trainer.model.w, [1.])

    def test_batches_of_any_kind(self):
        "A batch may be a dictionary, or hold arrays"
        trainer = line_trainer()
        x = np.array([3.])
        trainer.train_step([{"x": x, "target": x}])
        expect(trainer.model.w, [0.7], why="self.output_of knows every kind of batch")


run_tests(TestTrainerTrainStep)

# %% [markdown]
# ## Exercise 4: an honest look
#
# The others are evaluated in batches too, and the last one is small. Four examples with mean loss 1 and one
# with loss 6:
#
# ```
# (4 * 1 + 1 * 6) / 5 = 2.0          over examples
# (1 + 6) / 2         = 3.5          mean of means: one example counts as much as four
# ```
#
# Each batch counts by `self.size_of(batch)`, for the loss and for every metric. And three things around it:
#
# * **Evaluation mode.** With dropout on, the network is examined with half of its units missing.
# * **No graph.** `no_grad()`: nobody will call `backward()`, and memory stays flat.
# * **As it was before**, module by module. A part of the model may be *frozen*, that is, kept in evaluation
#   mode while the rest trains; it must not wake up in training mode. So remember `module.training` for each
#   of `self.model.modules()`, and put it back. Also if a batch is bad: `try`, `finally`.
#
# Results are floats. A metric may give a tensor with one number or a plain number; `float(x)` reads both,
# `x.item()` only a tensor. If there was no batch at all:
#
# ```python
# raise ValueError("evaluate: there was no batch. Was an iterator read before?")
# ```

# %%
class Watched(Line):
    "A Line that notes in which mode it was asked, and whether anybody recorded"
    def __init__(self):
        super().__init__()
        self.drop, self.seen = Dropout(0.5), []

    def forward(self, x):
        out = x * self.w
        self.seen.append((self.training, self.drop.training, out.requires_grad))
        return out


class TestTrainerEvaluate:
    """An honest look"""
    def trainer(self, **options):
        model = Watched()
        return Trainer(model, SGD(model.parameters()), mean_output, **options)

    def test_by_hand(self):
        "Four examples with loss 1, one with loss 6: 2.0"
        got = self.trainer().evaluate([pair(1., 1., 1., 1.), pair(6.)])
        expect(sorted(got), ["loss"])
        expect(got["loss"], 2.0, why="3.5 would be the mean of means")

    def test_metrics(self):
        "Each metric stands beside the loss, weighted in the same way"
        metrics = {"largest": lambda output, target: output.max(), "one": lambda output, target: 1.0}
        got = self.trainer(metrics=metrics).evaluate([pair(1., 1., 1., 5.), pair(10.)])
        expect(list(got), ["loss", "largest", "one"])
        expect([got["loss"], got["largest"], got["one"]], [3.6, 6., 1.],
               why="[6, 7.5, 1] would be means of means; 'largest' is (4 * 5 + 1 * 10) / 5")

    def test_ignored(self):
        "Losses 1, 2, an ignored one, and 6: the mean over those that count is 3"
        trainer = line_trainer()
        trainer.loss_fn = mean_counted
        expect(trainer.evaluate(WITH_IGNORED)["loss"], 3.,
               why="2.625 would be: weighted by rows. self.size_of counts examples, without the ignored ones")

    def test_floats(self):
        "They are plain floats, which keep no graph and can be written into a file"
        got = self.trainer(metrics=[accuracy_of_zero]).evaluate([pair(1.)])
        expect([type(x) for x in got.values()], [float, float])

    def test_mode(self):
        "Meanwhile the model, with all below it, is in evaluation mode, and nothing is recorded"
        trainer = self.trainer()
        trainer.evaluate([pair(1.)])
        expect(trainer.model.seen, [(False, False, False)],
               why="the three are: training mode of the model, of its dropout, and whether a graph was made")

    def test_mode_restored(self):
        "Afterwards each module has its mode back: the dropout that was frozen stays frozen"
        trainer = self.trainer()
        trainer.model.drop.eval()
        trainer.evaluate([pair(1.)])
        expect([trainer.model.training, trainer.model.drop.training], [True, False],
               why="[False, ...]: left in evaluation mode; [..., True]: train() woke up what was frozen")
        trainer.model.eval()
        trainer.evaluate([pair(1.)])
        expect(trainer.model.training, False, why="it was in evaluation mode before")

    def test_after_an_error(self):
        "Also after an error"
        trainer = self.trainer()
        expect_error(TypeError, trainer.evaluate, [pair(1.), "not a batch"])
        expect(trainer.model.training, True, why="an error left the model in evaluation mode: finally")

    def test_nothing(self):
        "No batch is an error, not 0/0"
        expect_error(ValueError, self.trainer().evaluate, iter([]), says="batch")


def accuracy_of_zero(output, target): return (output == 0).float().mean()


run_tests(TestTrainerEvaluate)

# %% [markdown]
# ## Exercise 5: when it is enough
#
# Held-out losses wobble, so one bad epoch means nothing. *Early stopping* has patience: it remembers the best
# value, and gives up only after `patience` epochs in a row that were not better. With patience 2, and
# `min_delta` 0.1, by which a value must be better to count:
#
# ```
# value      1.0     0.8     0.73    0.9     0.5     0.6     0.45
# best       1.0     0.8     0.8     0.8
# waited      0       0       1       2  stop        (the 0.5 is never seen)
# ```
#
# 0.73 is better than 0.8, but by less than 0.1: it counts as waiting, and the best *stays* 0.8. If the best
# moved to 0.73, a loss that falls by 0.05 each epoch would never count as better; as it is, its third epoch
# does, with 0.15. For an accuracy, `mode="max"`, better is larger. A nan is not better than anything.
#
# When it stops, the best weights are `patience` epochs old. So a copy of them is kept: `model.state_dict()`
# gives copies, while the parameters themselves will be overwritten by the next step. When `fit` ends, the
# model gets the best ones.
#
# At the start `self.best` is inf for "min" and -inf for "max": any number is better.

# %%
#| export training.stopping
class EarlyStopping(Callback):
    """Ends a run once a number of its history has not become better for `patience` epochs.

    monitor: its name. min_delta: by how much better counts. mode: "min" or "max" is better.
    restore_best: when `fit` ends the model gets the weights of the best epoch. (A checkpoint holds the last
    ones, to go on from; `save(model.state_dict(), path)` after `fit` makes a file of the best ones.)
    `best`, `best_epoch`, `best_state` are what it found. (Prechelt, 1998)
    """
    def __init__(self, monitor="val_loss", patience=5, min_delta=0.0, mode="min", restore_best=True):
        if not isinstance(patience, int) or patience < 1 or not min_delta >= 0 or mode not in ("min", "max"):
            raise ValueError(f"EarlyStopping(patience={patience!r}, min_delta={min_delta!r}, mode={mode!r}): "
                             "patience is at least 1, min_delta at least 0, mode 'min' or 'max'.")
        self.monitor, self.patience, self.min_delta = monitor, patience, min_delta
        self.mode, self.restore_best = mode, restore_best
        self.best = math.inf if mode == "min" else -math.inf
        self.waited, self.best_epoch, self.best_state = 0, None, None

    def update(self, value, model=None):
        """Look at the value of one more epoch; True if it is time to stop.

        One that is better than `best` by more than min_delta becomes the best, sets `waited` to 0, and, if
        a model is given, `best_state` to a copy of its state. Any other adds 1 to `waited`. It is time
        once that is `patience`.

        >>> stopping = EarlyStopping(patience=2)
        >>> [stopping.update(loss) for loss in (3., 2., 2.5, 2.)]
        [False, False, False, True]
        """
        ### BEGIN SOLUTION
        sign = 1 if self.mode == "max" else -1
        if sign * value > sign * self.best + self.min_delta:
            self.best, self.waited = value, 0
            if model is not None:
                self.best_state = model.state_dict()
        else:
            self.waited += 1
        return self.waited >= self.patience
        ### END SOLUTION

    def on_epoch_end(self, trainer, row):
        if self.monitor not in row:
            raise KeyError(f"EarlyStopping watches {self.monitor!r}, and an epoch has {', '.join(row)}. "
                           "val_... needs fit(..., validation=...).")
        stop = self.update(row[self.monitor], trainer.model if self.restore_best else None)
        if self.waited == 0:
            self.best_epoch = row["epoch"]
        if stop:
            trainer.stop()

    def on_fit_end(self, trainer):
        if self.best_state is not None:
            trainer.model.load_state_dict(self.best_state)

    def state_dict(self):
        return {name: getattr(self, name) for name in ("best", "waited", "best_epoch", "best_state")}

    def load_state_dict(self, state_dict):
        vars(self).update(state_dict)


# %%
class TestEarlyStoppingUpdate:
    """When it is enough"""
    def test_by_hand(self):
        "1.0, 0.8, 0.73, 0.9 with patience 2 and min_delta 0.1: stop at the fourth, and the best is 0.8"
        stopping, said = EarlyStopping(patience=2, min_delta=0.1), []
        for value in 1.0, 0.8, 0.73, 0.9:
            said.append((stopping.update(value), stopping.waited, stopping.best))
        expect(said, [(False, 0, 1.0), (False, 0, 0.8), (False, 1, 0.8), (True, 2, 0.8)],
               why="each triple is: stop, waited, best. 0.73 as best would be less than min_delta below 0.8")

    def test_reset(self):
        "A better value in time starts the waiting anew: 3, 4, 2, 4, 4 goes on for five epochs"
        stopping = EarlyStopping(patience=2)
        expect([stopping.update(x) for x in (3., 4., 2., 4., 4.)], [False] * 4 + [True],
               why="`waited` counts epochs in a row: a better one sets it to 0")

    def test_equal(self):
        "An equal value is not better"
        stopping = EarlyStopping(patience=1)
        expect([stopping.update(x) for x in (1., 1.)], [False, True])

    def test_largest(self):
        "With mode max larger is better, and min_delta is above the best: 0.5, 0.7, 0.77"
        stopping = EarlyStopping(patience=1, mode="max", min_delta=0.1)
        expect([stopping.update(x) for x in (0.5, 0.7, 0.77)], [False, False, True])
        expect(stopping.best, 0.7)

    def test_nan(self):
        "nan is not better than anything, also as the first value"
        why = "a comparison with nan is never true: ask whether it is better, not whether it is worse"
        stopping = EarlyStopping(patience=2)
        expect([stopping.update(x) for x in (1., math.nan, math.nan)], [False, False, True], why=why)
        expect(stopping.best, 1., why=why)
        expect(EarlyStopping(patience=1).update(math.nan), True, why=why)

    def test_copies(self):
        "The best weights are a copy: the next step does not change them"
        model, stopping = Line(), EarlyStopping()
        stopping.update(1., model)
        model.w.data[...] = 5.
        assert stopping.best_state is not None, "best_state is None: with a model its state must be kept"
        expect(stopping.best_state["w"], [1.], why="5 would be: it is the model's own memory")

    def test_kept(self):
        "Only a better value replaces them"
        model, stopping = Line(), EarlyStopping()
        stopping.update(1., model)
        model.w.data[...] = 5.
        stopping.update(2., model)
        expect(stopping.best_state["w"], [1.], why="5 would be the weights of a worse epoch")


run_tests(TestEarlyStoppingUpdate)

# %% [markdown]
# ## Exercise 6: a file that is whole
#
# Now the cable. A program that writes its weights into `run.safetensors` every few minutes opens the file,
# which *empties* it, and writes. If the power fails in between, the new weights are half there and the old
# ones are gone: nothing is left of a week of training. A disk that is full ends in the same way.
#
# ```
# run.safetensors            old, whole      old, whole      old, whole      new, whole
# run.safetensors.4711.tmp                   half            whole
#                                            writing         on the disk     os.replace
# ```
#
# So write beside it, and then let the new file take over the name. `os.replace` does that in one go: who
# opens the file finds the old one or the new one, never a half. In order:
#
# 1. make all the bytes first: `packed(obj)`; what cannot be saved is an error before any file is opened;
# 2. open `name_beside(path)`, and write. It is in the *same folder*, since between two disks replacing is
#    copying, and no other thread or process writes to it;
# 3. `file.flush()` hands what Python still holds to the system, `os.fsync(file.fileno())` makes the system
#    put it on the disk. Without it the name may be on the disk before the numbers are;
# 4. `os.replace(temporary, path)`;
# 5. if anything fails on the way, remove the temporary file (`os.unlink`; if `open` failed it is not there:
#    `os.path.exists`), and let the error go on: `except BaseException: ...; raise`. A Ctrl-C is no Exception.
#
# `packed` makes a [safetensors](https://github.com/huggingface/safetensors) file: a header in JSON that says
# where each tensor is, then the plain numbers. What is not a tensor stands in the header as JSON too; one
# file holds it all, so weights and JSON cannot be of different ages. It is not a pickle: reading it runs no
# code.

# %%
#| export training.saving
def save(obj, path):
    """Write `obj` into a file: the whole of it, or, if anything fails, nothing, and an older file stays.

    obj: {name: tensor}, which makes a safetensors file for any program; or dictionaries, lists, tuples,
    tensors, arrays, numbers, strings, bools and None in any nesting. Raises TypeError, that says where, for
    what cannot be saved, FileNotFoundError if there is no such folder.
    """
    ### BEGIN SOLUTION
    data = packed(obj)
    temporary = name_beside(path)
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    ### END SOLUTION


# %%
class Failing:
    "For the tests: open and two functions of os, of which one fails; and a list of what was called"
    places = {"open": builtins, "fsync": os, "replace": os}

    def __init__(self, fails=None, error=None):
        self.fails, self.error, self.called, self.size = fails, error, [], None

    def __enter__(self):
        self.real = {name: getattr(place, name) for name, place in self.places.items()}
        for name, function in self.real.items():
            setattr(self.places[name], name, self.instead(name, function))
        return self

    def __exit__(self, *error):
        for name, function in self.real.items():
            setattr(self.places[name], name, function)

    def instead(self, name, function):
        def call(*args, **kwargs):
            self.called.append((name, args))
            if name == "fsync":
                self.size = os.fstat(args[0]).st_size  # what the system has got by now
            if name == self.fails:
                raise self.error
            return function(*args, **kwargs)
        return call


class TestSave:
    """A file that is whole"""
    def test_written(self):
        "A state dict is a plain safetensors file: any program reads [1, 2.5] from it"
        from safetensors.numpy import load_file
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "w.safetensors")
            save({"w": Tensor([1., 2.5])}, path)
            expect(os.listdir(folder), ["w.safetensors"], why="exactly this file, and nothing beside it")
            expect(load_file(path)["w"], [1., 2.5])

    def test_order(self):
        "On the disk first, then the name, from a file in the same folder"
        with tempfile.TemporaryDirectory() as folder, Failing() as calls:
            path = os.path.join(folder, "w.safetensors")
            save({"w": Tensor([1.])}, path)
            called = [(name, args) for name, args in calls.called if name != "open"]
            expect([name for name, _ in called], ["fsync", "replace"],
                   why="fsync, once, before os.replace, once")
            old, new = called[1][1][:2]
            assert old != path, "it was written under its own name: a half file is possible"
            expect([old, new], [name_beside(path), path],
                   why="two programs that save to one path would write into one another's file: name_beside")
            expect(calls.size, os.path.getsize(path),
                   why="0 would be: at the fsync the bytes were still in Python's own buffer, flush it first")

    def test_failing(self):
        "After an error or Ctrl-C that error goes on, the old file is whole, and nothing is left beside it"
        full, pressed = OSError(28, "No space left on device"), KeyboardInterrupt("Ctrl-C")
        for fails, error in ("open", full), ("fsync", full), ("replace", full), ("fsync", pressed):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "w.safetensors")
                save({"w": Tensor([1.])}, path)
                with open(path, "rb") as file: before = file.read()
                got = None
                try:
                    with Failing(fails, error):
                        save({"w": Tensor([2.])}, path)
                except BaseException as other:
                    got = other
                assert got is error, f"{fails} failed with {error!r}, and save with {got!r}"
                assert os.path.exists(path), f"{fails} failed, and the old file is gone"
                with open(path, "rb") as file:
                    assert file.read() == before, f"{fails} failed, and the old file has changed"
                expect(os.listdir(folder), ["w.safetensors"],
                       why=f"the temporary file is still there after {error!r}")

    def test_refused(self):
        "A module inside is an error that says where; no file is opened"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "w.safetensors")
            wrong = {"epoch": 3, "model": {"fc": Line()}}
            with Failing() as calls:
                expect_error(TypeError, save, wrong, path, says=["model.fc", "Line"])
            expect(calls.called, [], why="make the bytes first, then open a file")
            expect_error(FileNotFoundError, save, {}, os.path.join(folder, "nowhere", "w"), says="nowhere")


run_tests(TestSave)

# %% [markdown]
# ## Exercise 7: reading it again
#
# The file that you read may not be the one that you wrote. Half of it is missing because a download broke
# off; it is a checkpoint of PyTorch, which is a zip archive of pickles; it is a text file. Each of these must
# end in one sentence that says which file, what is wrong and what to do, and **not** in a traceback from the
# depths, in half a model, or in a deleted file.
#
# `unpacked(data, device)` makes the object of the file's bytes, with tensors on the device. It raises
# ValueError with a reason, like "it is cut off: it has 60 bytes, and its header promises 84." The reason
# does not know the file's name; you do:
#
# ```python
# raise RuntimeError(f"load: {path} cannot be read: {error} The file is left as it is.") from None
# ```
#
# Only that: a file that is not there is a FileNotFoundError, as `open` says it already.

# %%
#| export training.saving
def load(path, device=None):
    """What `save` wrote, or any safetensors file, as {name: tensor}; tensors on the CPU, or on `device`.

    bfloat16 becomes float32. Raises RuntimeError, that names the file and the reason, if it is cut off or of
    another kind; the file stays. Raises FileNotFoundError if there is none.
    """
    ### BEGIN SOLUTION
    with open(path, "rb") as file:
        data = file.read()
    try:
        return unpacked(data, device)
    except ValueError as error:
        raise RuntimeError(f"load: {path} cannot be read: {error} The file is left as it is.") from None
    ### END SOLUTION


# %%
class TestLoad:
    """Reading it again"""
    def setup_method(self):
        self.kept = tempfile.TemporaryDirectory()      # is removed with this object
        self.path = os.path.join(self.kept.name, "run.safetensors")

    def write(self, data):
        with open(self.path, "wb") as file:
            file.write(data)

    def test_again(self):
        "What was saved comes back: tensors, tuples, None, numbers as keys, inf, integers of 100 bits"
        self.write(packed({"state": {0: {"m": Tensor([1., 2.])}}, "betas": (0.9, None), "best": math.inf,
                           "bits": 2 ** 100}))
        got = load(self.path)
        expect(got["state"][0]["m"], [1., 2.])
        expect((got["betas"], got["best"], got["bits"]), ((0.9, None), math.inf, 2 ** 100))

    def test_truncated(self):
        "Cut off at any place it is a RuntimeError that names the file, and the file stays"
        whole = packed({"w": Tensor([1., 2., 3.])})
        for length in 0, 5, 20, len(whole) - 1:
            self.write(whole[:length])
            expect_error(RuntimeError, load, self.path, says=["run.safetensors"],
                         why=f"only {length} of {len(whole)} bytes are there")
            expect(os.path.getsize(self.path), length, why="the file must stay as it is")
        self.write(whole[:-1])
        expect_error(RuntimeError, load, self.path, says=[len(whole) - 1, len(whole)],
                     why="hand on the reason that unpacked gave")

    def test_foreign(self):
        "A file of PyTorch, a pickle, a text: the error says what it is"
        kinds = {"zip": b"PK\x03\x04 and so on", "pickle": b"\x80\x02}q\x00.", "not a safe": b"hello"}
        for says, data in kinds.items():
            self.write(data)
            expect_error(RuntimeError, load, self.path, says=["run.safetensors", says])

    def test_missing(self):
        "A file that is not there is a FileNotFoundError that names it"
        expect_error(FileNotFoundError, load, self.path, says="run.safetensors")

    def test_device(self):
        "Tensors are made on the device that was asked for"
        self.write(packed({"w": Tensor([1.])}))
        expect(str(load(self.path, device="cpu")["w"].device), "cpu")
        expect_error(RuntimeError, load, self.path, device="no_such_device", says="no_such_device",
                     why="hand the device on to unpacked")


run_tests(TestLoad)

# %% [markdown]
# ## Exercise 8: the loop
#
# Now the parts are there, and `fit` puts them in order. What is given for it:
#
# ```
# around the run
#   self.running(batches, epochs, validation, checkpoint, save_every)
#                              `with` it around all that follows: it checks them, sets training mode, and
#                              lets Ctrl-C wait for the end of a step
#   self.tell("on_fit_start")  calls that method of every callback, in their order; at the end "on_fit_end"
#   self.epoch, self.stopped   how many epochs are over (0 at the start); whether a callback has said stop
# once an epoch
#   self.begin_epoch()         shows a bar, tells "on_epoch_start"
#   self.groups(batches)       lists of `accumulate` batches: for 5 batches and accumulate=2, of 2, 2 and 1
#   self.lr(), self.mean_loss()   the rate now; the mean over the examples of this epoch so far: floats
#   self.step_schedule(row)    schedule="epoch" (ReduceLROnPlateau, which waits for a loss that no longer
#                              falls, looks into the row for it)
#   self.end_epoch(row)        the row to self.history, one epoch more, "on_epoch_end", writes a checkpoint
# once a step
#   self.one_step(group)       your train_step, or what the trainer was given as step=; gives the loss
#   self.note(loss, group)     counts it; schedule="batch", "on_step_end", save_every
# ```
#
# An example of two epochs. There is one batch, with the two examples x = 1 and x = 3, so the loss is 2 w; at
# first w is 1, and a schedule by epochs halves the rate:
#
# ```
# {"epoch": 1, "lr": 0.1,  "loss": 2.0,  "val_loss": ...}      w = 1, then 1 - 0.1 * 2  = 0.8
# {"epoch": 2, "lr": 0.05, "loss": 1.6,  "val_loss": ...}      0.8, then 0.8 - 0.05 * 2 = 0.7
# ```
#
# The order within an epoch has reasons. The row is made after the last step, with the rate that the schedule
# has not changed yet, and held-out data are looked at by the weights of then. The schedule comes next, since
# it may look at "val_loss". `end_epoch` is last: it writes the file, in which the schedule's step must be. A
# callback may say stop at any time: the epoch is finished, and there is no further one. `epochs` counts from
# the beginning: 10 means 10 in all, also for a run that goes on at the fourth. After the last epoch, still
# inside the `with`, "on_fit_end" is told; then the history is returned.

# %%
class Diary(Callback):
    "For the tests: writes down what it is told"
    def __init__(self, stop_at=None): self.told, self.stop_at = [], stop_at
    def on_fit_start(self, trainer): self.told.append("fit")
    def on_epoch_start(self, trainer): self.told.append(f"epoch {trainer.epoch}")
    def on_step_end(self, trainer, loss): self.told.append(f"step {trainer.steps}")
    def on_fit_end(self, trainer): self.told.append("end")

    def on_epoch_end(self, trainer, row):
        self.told.append(f"row {row['epoch']}")
        if row["epoch"] == self.stop_at:
            trainer.stop()


class Cable(Callback):
    "Somebody trips over it after so many steps"
    def __init__(self, after): self.after = after
    def on_step_end(self, trainer, loss):
        if trainer.steps == self.after:
            raise ConnectionError("the cable")


class TestTrainerFit:
    """The loop"""
    def test_history(self):
        "x = 1 and x = 3, lr 0.1 then 0.05: a row for each epoch, and w = 0.7"
        trainer = line_trainer()
        trainer.scheduler, trainer.schedule = StepLR(trainer.optimizer, 1, 0.5), "epoch"
        history = trainer.fit([pair(1., 3.)], 2)
        expect(trainer.model.w, [0.7], why="0.6 would be: the schedule took no step, or train_step is wrong")
        assert history is trainer.history, "fit returns self.history"
        expect([list(row) for row in history], [["epoch", "lr", "loss"]] * 2)
        expect([list(row.values()) for row in history], [[1, 0.1, 2.], [2, 0.05, 1.6]],
               why="the row has the rate of its epoch: make it before the schedule's step")

    def test_once_an_epoch(self):
        "A schedule by epochs takes one step an epoch, one by batches a step for each of them"
        for schedule, rates in ("epoch", [0.1, 0.05]), ("batch", [0.1 / 4, 0.1 / 16]):
            trainer = line_trainer()
            trainer.scheduler, trainer.schedule = StepLR(trainer.optimizer, 1, 0.5), schedule
            expect(trainer.fit([pair(0.)] * 2, 2).column("lr"), rates,
                   why=f"schedule={schedule!r}: self.note steps by batches, self.step_schedule by epochs, "
                       "and 'lr' is read between the two, after the epoch's last step")

    def test_plateau(self):
        "A schedule that looks at val_loss sees it, and has taken its step when the file is written"
        with tempfile.TemporaryDirectory() as folder:
            path, trainer = os.path.join(folder, "run"), line_trainer()
            trainer.scheduler = ReduceLROnPlateau(trainer.optimizer, factor=0.5, patience=0)
            trainer.schedule = "epoch"
            trainer.fit([pair(2.)], 2, validation=[pair(-1.)], checkpoint=path)
            expect(trainer.lr(), 0.05, why="0.1 would be: step_schedule got a row without val_loss, "
                                           "which rises, while the loss falls")
            expect(load(path)["optimizer"]["param_groups"][0]["lr"], 0.05,
                   why="0.1 would be: end_epoch wrote the file before step_schedule")

    def test_validation(self):
        "val_loss and metrics come from the weights after the epoch's last step: w = 0.8, so 8"
        trainer = line_trainer(metrics={"half": lambda output, target: output.mean() / 2})
        row = trainer.fit([pair(2.)], 1, validation=[pair(10.)])[0]
        expect(list(row), ["epoch", "lr", "loss", "val_loss", "val_half"])
        expect([row["val_loss"], row["val_half"]], [8., 4.], why="10 would be the weights before the step")

    def test_no_validation_data(self):
        "validation=[] is an error, and no run without validation"
        expect_error(ValueError, line_trainer().fit, [pair(1.)], 1, validation=[], says="no batch",
                     why="`if validation:` passes over an empty list: ask whether it is None")

    def test_plain(self):
        "Rows hold plain numbers, so that a history keeps no graph and can be written as JSON"
        row = line_trainer().fit([pair(2.)], 1, validation=[pair(10.)])[0]
        expect([type(x) for x in row.values()], [int, float, float, float])

    def test_callbacks(self):
        "Callbacks are told in a fixed order; the one that stops ends the run after its epoch"
        diary = Diary(stop_at=2)
        trainer = line_trainer(callbacks=[diary], accumulate=2)
        trainer.fit([pair(1.), pair(2.), pair(3.)], 5)
        expect(diary.told, ["fit", "epoch 0", "step 1", "step 2", "row 1", "epoch 1", "step 3", "step 4",
                            "row 2", "end"])

    def test_accumulated(self):
        "Three batches in groups of two: the last one makes a step by itself, with its whole weight"
        trainer = line_trainer(accumulate=2)
        history = trainer.fit([pair(1.), pair(2.), pair(4.)], 1)
        expect(trainer.model.w, [1 - 0.15 - 0.4], why="0.85 would be: the incomplete group was left out")
        expect(history[0]["loss"], (1 + 2 + 4 * 0.85) / 3,
               why="the mean over all examples of the epoch is self.mean_loss(); 3.4 is the last step's loss")

    def test_stopped_early(self):
        "A callback that says stop after the first step: the epoch is finished, and is the last one"
        class Stop(Callback):
            def on_step_end(self, trainer, loss): trainer.stop()
        trainer = line_trainer(callbacks=[Stop()])
        trainer.fit([pair(1.)] * 3, 5)
        expect([trainer.steps, trainer.epoch], [3, 1], why="[1, ...] would be: the epoch was broken off "
                                                           "after a step; its row is not about all data")

    def test_total(self):
        "epochs counts from the beginning: after 2, fit(..., 3) is one more, and fit(..., 3) again none"
        trainer = line_trainer()
        for epochs in 2, 3, 3:
            trainer.fit([pair(1.)], epochs)
        expect(trainer.history.column("epoch"), [1, 2, 3])

    def test_given_step(self):
        "A step that was given takes the place of train_step"
        seen = []
        def step(trainer, batches):
            seen.append(len(batches))
            return Tensor(7.)
        trainer = line_trainer(step=step)
        expect(trainer.fit([pair(1.), pair(2.)], 1)[0]["loss"], 7., why="call self.one_step(group)")
        expect(seen, [1, 1])

    def test_one_shot(self):
        "An iterator, which can be read only once, is an error before the first step"
        trainer = line_trainer()
        expect_error(ValueError, trainer.fit, iter([pair(1.)]), 2, says="iterator",
                     why="self.running must be told the batches and the epochs")
        expect_error(ValueError, trainer.fit, [pair(1.)], 2, iter([pair(1.)]), says="validation",
                     why="self.running must be told the validation too")
        expect(trainer.model.w, [1.])

    def test_saved(self):
        "With a checkpoint there is a file after each epoch, with save_every=1 after each step"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run")
            line_trainer().fit([pair(1.)], 1, checkpoint=path)
            expect(os.listdir(folder), ["run"], why="self.running must be told the checkpoint")
            expect_error(ConnectionError, line_trainer(callbacks=[Cable(3)]).fit, [pair(1.)] * 4, 1,
                         checkpoint=path, save_every=1)
            expect(load(path)["position"]["step"], 2, why="self.running must be told save_every: the cable "
                                                          "came in step 3, so the last file was of step 2")

    def test_training_mode(self):
        "The model learns in training mode, also if it was left in evaluation mode"
        trainer = line_trainer()
        trainer.model.eval()
        trainer.fit([pair(1.)], 1)
        expect(trainer.model.training, True)


run_tests(TestTrainerFit)

# %% [markdown]
# ## Exercise 9: to the same bits
#
# What does the next step depend on? On the weights; on the moments and step counts of the optimizer; on where
# the schedule is; on how long `EarlyStopping` has waited; on the random numbers that dropout will draw; and
# on which batch comes next. Forget one, and the run goes on "roughly". Nobody will notice, except that the
# result can never be repeated. `Trainer.state_dict()`, given, has it all, and `save_checkpoint` saves it:
#
# ```
# {"model": {...}, "optimizer": {...}, "scheduler": {...} or None, "callbacks": [{...}, ...],
#  "history": [...], "position": {"epoch": 1, "batch": 3, ...}, "random": {...}, ...}
# ```
#
# `resume` is the way back. `load` the file; let `self.check_saved(saved, path)` complain if it is something
# else; then each part to its owner's `load_state_dict`, the model first: it refuses the weights of another
# model before anything has changed. The scheduler may be None. Three are given their part in another way:
# `self.history` is a list, filled in place (`self.history[:] = ...`, since `fit` may have handed it out);
# `self.go_on_at(position)`, which also lets the batches go on there; and `self.restore_random(random)`.
#
# Finding the next batch is the business of `groups` in exercise 8: batches that know their position, like
# those of module 08's DataLoader, are told it; others are read again from the epoch's start, with the random
# numbers of that time, and skipped up to there.
#
# The test is the hardest one there is, and the simplest to state: stop in any step, resume in a trainer that
# was made anew, and every weight is the same **to the last bit**.

# %%
class Shuffled:
    "For the tests: the batches in a new order each epoch, drawn from NumPy's global generator"
    def __init__(self, *batches): self.batches = batches
    def __iter__(self): return iter([self.batches[i] for i in np.random.permutation(len(self.batches))])


class TestTrainerResume:
    """To the same bits"""
    def setup_method(self):
        self.kept = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.kept.name, "run.safetensors")
        rng = np.random.default_rng(0)
        x, y = Tensor(rng.normal(size=(20, 64)), dtype="float32"), Tensor(rng.integers(0, 10, 20))
        self.batches = Shuffled(*[(x[i:i + 4], y[i:i + 4]) for i in range(0, 20, 4)])

    def trainer(self, after=None, seed=1):
        model = network(seed=seed, hidden=6, p=0.5)
        optimizer = Adam(model.parameters(), lr=0.02)
        return Trainer(model, optimizer, cross_entropy, scheduler=StepLR(optimizer, 4, 0.5), schedule="batch",
                       callbacks=[EarlyStopping("loss", 9), Cable(after)], accumulate=2, seed=5)

    def interrupted(self, after):
        "A run that ended with the cable after so many steps, the one before saved, and was resumed"
        try:
            self.trainer(after).fit(self.batches, 3, checkpoint=self.path, save_every=1)
        except ConnectionError:
            pass
        again = self.trainer(seed=99)                  # other weights, which must not matter
        np.random.seed(77)
        again.resume(self.path)
        return again

    def test_parts(self):
        "After resuming, each part is what it was: weights, moments, schedule, the next random numbers"
        first, again = self.trainer(), self.trainer(seed=99)
        first.fit(self.batches, 1, checkpoint=self.path)
        after = np.random.rand(), rand(1).item()
        again.resume(self.path)
        expect((np.random.rand(), rand(1).item()), after, why="restore_random: the numbers that come next")
        expect(again.model[0].weight, first.model[0].weight, tol=0, why="the model")
        mine, theirs = again.optimizer.state_dict()["state"], first.optimizer.state_dict()["state"]
        expect(len(mine), len(theirs), why="the optimizer's state")
        expect(mine[0]["exp_avg"], theirs[0]["exp_avg"], tol=0, why="the optimizer's moments")
        expect(again.scheduler.last_epoch, 3, why="the schedule took three steps")

    def test_bits(self):
        "Stopped in any of the steps 2 to 9 and resumed, every weight is the same to the last bit"
        whole = self.trainer()
        whole.fit(self.batches, 3)
        for after in range(2, 10):
            again = self.interrupted(after)
            again.fit(self.batches, 3)
            for name, w in whole.model.state_dict().items():
                same = np.array_equal(w.data, again.model.state_dict()[name].data)
                assert same, (f"stopped in step {after}, {name} is another one in the end. What is not "
                              "restored: a part of the check above, or the position?")
            expect(list(again.history), list(whole.history), why="the histories differ")

    def test_where_it_is(self):
        "Stopped in step 5, the position is: 1 epoch over, 2 batches of the next, 4 steps"
        again = self.interrupted(5)
        position = again.position
        expect([position["epoch"], position["batch"], position["step"]], [1, 2, 4],
               why="(a step that was taken but not saved is taken again)")
        expect(again.history.column("epoch"), [1])

    def test_callbacks(self):
        "A callback knows again what it knew: the best loss and its epoch"
        again = self.interrupted(5)
        best = again.callbacks[0].best_epoch, again.callbacks[0].best
        expect(best, (1, again.history[0]["loss"]), why="each callback gets its own state: zip pairs them")

    def test_goes_back(self):
        "A trainer that has run on goes back, and its batches with it"
        class Told(list):
            "Batches that write down which position they are given"
            def state_dict(self): return {"at": 0}
            def load_state_dict(self, state): told.append(state)
        told, batches, trainer = [], Told([pair(3.)]), line_trainer()
        trainer.fit(batches, 1, checkpoint=self.path)
        trainer.fit(batches, 2)
        trainer.resume(self.path)
        trainer.fit(batches, 2)
        expect(trainer.model.w, [0.4], why="0.7 after the first epoch, and once more 0.3 less")
        expect(told, [{"at": 0}], why="self.position = ... is not enough: self.go_on_at also says that the "
                                      "batches must go back")

    def test_same_list(self):
        "The history stays the same list, with other rows"
        self.interrupted(5)
        trainer = self.trainer()
        handed_out = trainer.history
        trainer.resume(self.path)
        expect(len(handed_out), 1, why="self.history[:] = ... fills the list that is there")

    def test_without_schedule(self):
        "A trainer without a schedule and callbacks resumes too"
        line_trainer().fit([pair(3.)], 1, checkpoint=self.path)
        again = line_trainer()
        again.resume(self.path)
        expect(again.model.w, [0.7])

    def test_another_model(self):
        "The checkpoint of another model is an error that lists the names, and nothing has changed"
        line_trainer().fit([pair(3.)], 1, checkpoint=self.path)
        model = Linear(2, 1)
        other = Trainer(model, SGD(model.parameters()), mean_output)
        expect_error(RuntimeError, other.resume, self.path, says=["weight", "bias", "w is unexpected"])
        expect((other.epoch, len(other.history)), (0, 0), why="the model comes first")

    def test_no_checkpoint(self):
        "A file that holds weights only is an error that says so"
        save(Line().state_dict(), self.path)
        expect_error(ValueError, line_trainer().resume, self.path, says=["run.safetensors", "no checkpoint"],
                     why="let self.check_saved look at it first")


run_tests(TestTrainerResume)

# %% [markdown]
# ## Two pictures
#
# The run from the opening once more, with your trainer: 200 epochs are allowed, and `EarlyStopping` ends it.
# Then it is run for 40 epochs, killed at step 137, in epoch 23, and resumed: the second curve is drawn over
# the first, and the weights in the end are compared (the checks above compare more). Drawn in a notebook;
# run as a script, the cell prints the numbers.

# %%
def batches_of(x, y, size):
    "A list of (x, y), in order"
    return [(x[i:i + size], y[i:i + size]) for i in range(0, len(x), size)]


def reader(*callbacks, seed=0, p=0.0):
    "A trainer of a network for digits"
    model = network(seed, p=p)
    return Trainer(model, Adam(model.parameters(), lr=0.01), cross_entropy, metrics={"accuracy": accuracy},
                   callbacks=callbacks, seed=seed)


def draw(history, best_epoch, whole, again):
    "On the left the run that was stopped, on the right a whole one and the resumed one over it"
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("The pictures need matplotlib: pip install matplotlib")
        return
    _, (left, right) = plt.subplots(1, 2, figsize=(12, 4))
    draw_curves(history, stop=best_epoch, axes=left)
    draw_curves(whole, axes=right)
    right.plot(*zip(*[(row["epoch"], row["val_loss"]) for row in again]), "k:", label="killed and resumed")
    right.legend()
    if plt.get_backend().lower() == "agg":
        print("No window to draw in: open this file as a notebook to see the pictures.")
        plt.close("all")
    else:
        plt.show()


@measure
def stopped_and_resumed():
    own, others = digits()
    batches, held_out = Shuffled(*batches_of(*own, 25)), batches_of(*others, 100)
    stopping = EarlyStopping(patience=15)
    trainer = reader(stopping)
    history = trainer.fit(batches, 200, validation=held_out)
    now = trainer.evaluate(held_out)
    print(f"stopped after {len(history)} of 200 epochs. The best was {stopping.best_epoch}, with a held-out "
          f"loss of {stopping.best:.3f}; now {now['loss']:.3f} again, and {now['accuracy']:.0%} are right")
    whole, cut = reader(p=0.2), reader(Cable(137), p=0.2)
    whole.fit(batches, 40, validation=held_out)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.safetensors")
        try:
            cut.fit(batches, 40, validation=held_out, checkpoint=path, save_every=5)
        except ConnectionError as error:
            print(f"{error}, after step {cut.steps}, with {len(cut.history)} epochs over")
        again = reader(Cable(None), seed=3, p=0.2)
        again.resume(path)
    print(f"resumed at step {again.steps}")
    again.fit(batches, 40, validation=held_out)
    pairs = list(zip(whole.model.state_dict().values(), again.model.state_dict().values()))
    same = sum(int((a.data == b.data).sum()) for a, b in pairs)
    print(f"{same:,} of {sum(a.numel() for a, _ in pairs):,} weights are the same to the bit")
    draw(history, stopping.best_epoch, whole.history, again.history)


# %% [markdown]
# ## Measure
#
# Guess first:
#
# 1. Of the time of one step of the network above, batch 25: what share is the forward pass, backward, the
#    optimizer? And in a batch of 2 and of 150 (`batch_size`)?
# 2. 40 MB of weights are saved. What share of the time goes by in `fsync`, waiting for the disk?
# 3. The norm of ten million numbers, as `(g * g).sum()` and as `g @ g`: which is faster, and how many times?

# %%
batch_size, guess_of_shares = 25, None               # forward, backward, optimizer: (0.3, 0.3, 0.4)?
guess_of_fsync, guess_of_norm = None, None           # a share; how many times as long


@measure
def where_the_time_goes():
    if guess_of_shares is None:
        print("guess_of_shares is None: guess, then run this again")
        return
    (x, y), _ = digits(batch_size)
    trainer = reader()
    model, optimizer = trainer.model, trainer.optimizer

    def forward(): return cross_entropy(model(x), y)

    def backward(): forward().backward()

    trainer.train_step([(x, y)])
    whole = timed(lambda: trainer.train_step([(x, y)]))
    first, both, last = timed(forward), timed(backward), timed(optimizer.step)
    for name, seconds in (("forward", first), ("backward", both - first), ("optimizer", last),
                          ("the rest", whole - both - last)):
        print(f"{name:10} {seconds * 1e6:7.0f} µs  {seconds / whole:4.0%}")
    print(f"you guessed {guess_of_shares}")


@measure
def what_a_whole_file_costs():
    if guess_of_fsync is None:
        print("guess_of_fsync is None: guess, then run this again")
        return
    weights = {"w": Tensor(np.random.default_rng(0).normal(size=10_000_000).astype("float32"))}
    real, waited = os.fsync, []

    def watched(file):
        start = perf_counter()
        real(file)
        waited.append(perf_counter() - start)

    os.fsync = watched
    try:
        with tempfile.TemporaryDirectory() as folder:
            whole = timed(lambda: save(weights, os.path.join(folder, "run.safetensors")))
    finally:
        os.fsync = real
    waiting = sorted(waited)[len(waited) // 2]
    print(f"saving 40 MB {whole * 1e3:.0f} ms, of which fsync {waiting * 1e3:.0f} ms, {waiting / whole:.0%}; "
          f"you guessed {guess_of_fsync}")


@measure
def what_a_norm_costs():
    if guess_of_norm is None:
        print("guess_of_norm is None: guess, then run this again")
        return
    g = np.random.default_rng(0).normal(size=10_000_000).astype("float32")
    squares, product = timed(lambda: (g * g).sum()), timed(lambda: g @ g)
    print(f"(g * g).sum() {squares * 1e3:.1f} ms, g @ g {product * 1e3:.1f} ms, "
          f"{squares / product:.1f} times; you guessed {guess_of_norm}")


# %% [markdown]
# The optimizer walks over the weights, whatever the batch size, while forward and backward grow with the
# batch: from 25 to 150 its share falls. From 2 to 25 it hardly does: with so few numbers most of the time is
# spent on calling functions, and there are as many calls for 2 as for 25. "The rest" is zero_grad, counting
# examples, looking for nan, weighting the loss.
#
# `(g * g).sum()` writes an array of 40 MB and reads it again; `g @ g` reads g and writes nothing. And `fsync`
# waits for the disk: from nothing at all (a folder for temporary files may be in memory) to most of the time.
# So a run saves every few minutes and not after each step: what can be lost is the time since the last file,
# and what it costs is one save.
#
# And the opening question, twice answered. Stop when the held-out loss has not fallen for as long as your
# patience lasts, and go back to the best weights: with 15 epochs of patience that was some 25 epochs instead
# of 200. And write, now and then, a file that is whole at any moment, with everything in it that the next
# step depends on. Then the cable costs some seconds.
#
# ## Reflect
#
# Answer in a sentence or two each, then compare with `## reflection-1` and so on in HINTS.md.
#
# 1. A resumed run that ends at 91.8 % instead of 91.9 % seems good enough. Why do we insist on the same bits?
# 2. The held-out digits chose the epoch at which training stopped. May you now report their loss as the
#    result? Which data may choose an epoch, a rate, a width?
# 3. Eight micro-batches of 4, or one batch of 32: what is the same, and what is not?
#
# ## Where this code lives
#
# `tito export 07` writes it to `tinytorch/training/`: `trainer.py`, `saving.py`, `stopping.py`,
# `clipping.py`, `metrics.py`, and beside them what was given: `trainer_base.py`, `callbacks.py`,
# `resuming.py`, `packing.py` (what is in a file) and others.
#
# ```python
# import tinytorch as torch
# from tinytorch.training import EarlyStopping, Trainer, accuracy
# trainer = Trainer(model, optimizer, torch.nn.CrossEntropyLoss(), metrics={"accuracy": accuracy},
#                   callbacks=[EarlyStopping(patience=5)], clip_norm=1.0, seed=0)
# if os.path.exists("run.safetensors"):
#     trainer.resume("run.safetensors")
# trainer.fit(batches, epochs=50, validation=held_out, checkpoint="run.safetensors").plot()
# torch.save(model.state_dict(), "model.safetensors")
# ```
#
# Module 08 makes the batches, with a position of their own. All later models are trained by this loop, 13
# reads other people's weights with `load`, 18 hands in a `step` that works on several cores.
#
# In the real world: PyTorch leaves the loop to you, and Lightning or the Trainer of Hugging Face write it,
# with the same parts under similar names. (Until October 2024 the latter gave micro-batches equal shares,
# however many of their tokens counted, and runs came out worse.) `torch.save` is a zip of pickles, written
# under the file's own name; large runs save from all machines at once, in the background, since a checkpoint
# of a model with hundreds of billions of weights takes minutes even then.
