# %% [markdown]
# # Module 04: Losses, one number that can be improved
#
# A model with a single weight w says "yes" to a number x where w·x is positive. Here are ten numbers and
# the right answers. The model has w = 0.5 and is right about seven of ten. Is there a better weight? The
# natural thing is to nudge w a little and look whether it helped. Run the next cells.

# %%
#| default_exp nn.losses
from tito.lesson import expect, expect_error, measure, peak_bytes, run_tests, timed

# %%
import math

import numpy as np
from loss_parts_dev import (
    check_classes,
    class_axis,
    common_floats,
    holds_probabilities,
    refuse_outside,
    refuse_stretching,
    refuse_unequal,
    soft_losses,
    sum_of_squares,
)

from tinytorch.core.backend import array_module
from tinytorch.core.base import record_with
from tinytorch.core.creation import zeros
from tinytorch.core.op import op
from tinytorch.core.ops import gather
from tinytorch.core.tensor import Tensor
from tinytorch.nn.activations import log_softmax, sigmoid, softplus
from tinytorch.nn.floats import floats_only

# %%
x_of_ten = Tensor([-2.5, -2., -1.5, -1., -0.5, 0.5, 1., 1.5, 2., 2.5])
answers = Tensor([0., 0., 0., 0., 1., 1., 0., 0., 1., 1.])


@measure
def nudge_the_weight():
    for w in 0.5, 0.501, 0.499, 0.2, 1., 5.:
        right = ((w * x_of_ten > 0) == (answers == 1)).sum().item()
        print(f"w = {w:5}: {right} of 10 right")


# %% [markdown]
# Always seven. Every answer is either right or wrong, and a nudge that turns none of them leaves the
# count where it was. The count cannot even tell 0.5 from 5, where every w·x lies ten times as far from 0.
# **What number moves when the model gets a little better?**
#
# Such a number is called a *loss*. It compares what the model says with what is true, it is small when
# they agree, and every nudge of every weight moves it a little, down or up. At the end of this module you
# will know which w is the best for the ten points, and what loss a model has that knows nothing at all.
#
# A loss has two halves: one number for each example, and one number made of all of them. You write the
# second half first, then several ways to do the first. Some are ops as in module 02, functions on arrays.
# Others are plain functions of tensors: inside them you call ops and methods (`x.sum()`, `gather(x, 1,
# index)`), and everything stays a tensor.
#
# ## Exercise 1: what the mean divides by
#
# Three examples have the losses 0.4170, 2.3170 and 0. One number for all of them, in PyTorch's words:
#
# ```
# reduction="none"    0.4170  2.3170  0          as they are
# reduction="sum"     2.7340
# reduction="mean"    2.7340 / 3 = 0.9113        the default
# ```
#
# Now say that the 0 is no loss at all: the third example was padding, filled in to make the batch
# rectangular, and left out. Then the mean of what counts is 2.7340 / 2 = **1.3670**. It is not enough to
# set a loss to 0: the example must disappear from the divisor too. So what the mean divides by is part
# of the definition of a loss, and `total` says it where it is not simply the number of losses. Any other
# reduction is refused:
#
# ```python
# raise ValueError(f"reduction={reduction!r} is not known; it can be 'none', 'sum' or 'mean'.")
# ```
#
# Arrays have the methods `sum` and `mean`, and so have tensors. Use those, and it works for both: a tensor
# comes out where a tensor came in. (`size` would not do: it is a number on an array, a method on a tensor.)
# Inside an op the ValueError arrives as a RuntimeError, as every op turns the one into the other.

# %%
#| export
def reduce_loss(losses, reduction="mean", total=None):
    """One number made of many losses, or the losses themselves if reduction is "none".

    losses: a tensor or an array of any shape. reduction: "none", "sum" or "mean". total: what the mean
    divides by, if not the number of losses. Raises ValueError for another reduction. The mean of no
    losses is nan.

    >>> reduce_loss(Tensor([0.4170, 2.3170, 0.]), total=2)
    tensor(1.3670)
    """
    ### BEGIN SOLUTION
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction == "mean":
        return losses.mean() if total is None else losses.sum() / total
    raise ValueError(f"reduction={reduction!r} is not known; it can be 'none', 'sum' or 'mean'.")
    ### END SOLUTION


# %%
class TestReduceLoss:
    """One number for all"""
    losses = Tensor([0.4170, 2.3170, 0.])

    def test_by_hand(self):
        "0.4170, 2.3170 and 0 have the sum 2.7340 and the mean 0.9113"
        expect(reduce_loss(self.losses, "sum"), 2.7340)
        expect(reduce_loss(self.losses), 0.9113333, why="without a word it is the mean")

    def test_tensors(self):
        "A tensor stays a tensor, whatever the reduction: module 05 follows tensors only"
        for out in (reduce_loss(self.losses, "none"), reduce_loss(self.losses, "sum"),
                    reduce_loss(self.losses), reduce_loss(self.losses, "mean", 2)):
            assert isinstance(out, Tensor), f"a {type(out).__name__} came out: use the tensor's own methods"

    def test_total(self):
        "Where only two examples count, the mean is 1.3670; the sum does not care"
        expect(reduce_loss(self.losses, "mean", 2), 1.3670, why="0.9113 would count the one left out")
        expect(reduce_loss(self.losses, "mean", total=Tensor(4.)), 0.6835)
        expect(reduce_loss(self.losses, "sum", 2), 2.7340)

    def test_shapes(self):
        "(2, 2) losses become one number, not one for each row; without reduction they stay (2, 2)"
        losses = Tensor([[1., 2.], [4., 9.]])
        expect(reduce_loss(losses), 4.)
        expect(reduce_loss(losses, "none"), [[1., 2.], [4., 9.]])

    def test_arrays(self):
        "Arrays give the same, in their dtype: the ops below will call it with arrays"
        out = reduce_loss(np.array([0.5, 2.], "float32"))
        expect(out, 1.25)
        expect(str(out.dtype), "float32")

    def test_nothing(self):
        "The mean of no losses is nan, 0 / 0; a 0 would look like success"
        with np.errstate(invalid="ignore"):
            expect(reduce_loss(Tensor(np.zeros(0))), np.nan)
            expect(reduce_loss(Tensor([0., 0.]), "mean", 0), np.nan)

    def test_unknown(self):
        "Another reduction is refused by name, with the three that exist"
        for unknown in "average", None:
            expect_error(ValueError, reduce_loss, self.losses, unknown,
                         says=[repr(unknown), "none", "sum", "mean"])


run_tests(TestReduceLoss)

# %% [markdown]
# ## Exercise 2: the squared distance
#
# The model predicts [1, 2, 4], and [1, 4, 1] is right. The differences are 0, -2, 3, their squares 0, 4, 9,
# and the mean is 13 / 3 = **4.3333**:
#
# $$ \mathrm{mse} = \frac{1}{n} \sum_i (x_i - y_i)^2 $$
#
# Squares have no sign, so misses do not cancel, and one miss by 3 counts more than two by 2. For a loss
# in the unit of the target take the root, `mse_loss(x, y) ** 0.5`.
#
# The formula is easy; the trap is the shape. A model gives (3, 1), one row per example, and the data are
# (3,). Say it predicts [1, 2, 3] and is right about all of them. Subtract, and broadcasting compares
# everybody with everybody:
#
# ```
#                 right   1   2   3
# predicted   1           0   1   4
#             2           1   0   1        sum 12, mean 1.3333 where 0 is right
#             3           4   1   0
# ```
#
# Nothing fails, and training goes on. So here the shapes must be equal (PyTorch only warns):
#
# ```python
# raise RuntimeError(f"mse_loss of {input.shape} and a target of {target.shape}: the shapes ...")
# ```
#
# It is an op, so input and target are arrays. `common_floats` (given) has refused two arrays of integers
# and brought the others to one dtype of floats. The result has that dtype already, and `promote=False` says
# that the op need not settle it. Set two variables, `loss` and `difference`: module 05 will want the latter.
# The `return` is written, below your part, and hands over both, for an op with `keeps=True` always returns
# a pair: what the caller gets, and what is kept. `reduce_loss` knows all three reductions.

# %%
#| export
@op(keeps=True, promote=False)
@common_floats
def mse_loss(input, target, reduction="mean"):
    """The squared differences of input and target, reduced to one number: their mean, sum or "none".

    input, target: floats of one shape. Raises RuntimeError, naming both shapes, if they differ, also
    where they would broadcast; for another reduction; and (`common_floats`) if neither holds floats.

    >>> mse_loss(Tensor([1., 2., 4.]), Tensor([1., 4., 1.]))
    tensor(4.3333)
    """
    ### BEGIN SOLUTION
    if input.shape != target.shape:
        raise RuntimeError(f"mse_loss of {input.shape} and a target of {target.shape}: the shapes must be "
                           "equal. Reshape one of them; broadcasting would compare each with several.")
    difference = input - target
    if reduction == "mean":
        loss = sum_of_squares(difference) / difference.size   # quicker, and every step of training asks
    else:
        loss = reduce_loss(difference * difference, reduction)
    ### END SOLUTION
    return loss, difference


# %%
class TestMseLoss:
    """Squared distance"""
    x, y = Tensor([1., 2., 4.]), Tensor([1., 4., 1.])

    def test_kept(self):
        "The difference is kept for module 05, with the sign of input - target; the inputs stay as they were"
        x, y = np.array([[1., 2.]]), np.array([[4., 1.]])
        out = mse_loss.forward(x, y)
        assert isinstance(out, tuple), "an op that keeps returns (loss, difference): leave that line as it is"
        expect(out[1], [[-3., 1.]])
        expect([x, y], [[[1., 2.]], [[4., 1.]]])

    def test_by_hand(self):
        "[1, 2, 4] and [1, 4, 1]: squares 0, 4, 9, sum 13, mean 4.3333, and its root is 2.0817"
        expect(mse_loss(self.x, self.y), 4.3333333)
        expect(mse_loss(self.x, self.y, "sum"), 13.)
        expect(mse_loss(self.x, self.y, reduction="none"), [0., 4., 9.])
        expect(mse_loss(self.x, self.y) ** 0.5, 2.0816660)

    def test_any_shape(self):
        "(2, 1, 2) is one mean over all four; one number is a mean of one"
        x = Tensor([[[1., 2.]], [[3., 5.]]])
        expect(mse_loss(x, x * 2), 9.75)
        expect(mse_loss(Tensor(3.), Tensor(5.)), 4.)

    def test_shapes(self):
        "(3, 1) and (3,) are refused, though they would broadcast to 1.3333; so is another reduction"
        column = Tensor([[1.], [2.], [3.]])
        expect_error(RuntimeError, mse_loss, column, Tensor([1., 2., 3.]), says=["(3, 1)", "(3,)"])
        expect_error(RuntimeError, mse_loss, self.x, Tensor(1.), says=["(3,)", "()"])
        expect_error(RuntimeError, mse_loss, self.x, self.y, "average", says="'average'")

    def test_dtypes(self):
        "float32 stays float32, labels of int64 are taken, and two tensors of integers are refused"
        expect(str(mse_loss(self.x, self.y).dtype), "float32")
        expect(mse_loss(self.x, Tensor([1, 4, 1])), 4.3333333)
        expect_error(RuntimeError, mse_loss, Tensor([1, 2]), Tensor([1, 4]), says=["int64", "float"])


run_tests(TestMseLoss)

# %% [markdown]
# ## How surprised?
#
# A classifier does not say "yes", it says "yes, with probability 0.88". Its last layer gave a number of any
# size, the *score* z, also called *logit*, and the sigmoid of module 02 made the probability p = σ(z) of it.
# Suppose yes is right. How bad is 0.88? And how bad would 0.01 have been? The measure is **surprise**, minus
# the logarithm of the probability of what happened. The other candidate is the squared distance to 1:
#
# ```
# p of what happened       0.01      0.1      0.5      0.9     0.99
#
# surprise   -ln p         4.605    2.303    0.693    0.105    0.010
# squared  (1 - p)²        0.980    0.810    0.250    0.010    0.0001
#
# how fast each falls if the score is nudged up:
# surprise                 0.990    0.900    0.500    0.100    0.010
# squared                  0.020    0.162    0.250    0.018    0.0002
# ```
#
# The surprise at a certainty is 0, at 0.5 it is ln 2, and each factor of ten costs another 2.303, without
# end. The square never exceeds 1. The last two rows are why classifiers use the first: where the model is
# sure and wrong, at 0.01, a nudge is worth fifty times as much to the surprise as to the square. The
# square is flat there, and where a loss is flat nothing is learned.
#
# Surprises add up where probabilities multiply, so their sum is minus the log of the probability of the
# whole data set: the least loss is where the data are most likely. Statisticians call it the *negative
# log likelihood*, the `nll` below.

# %%
@measure
def draw_surprise():
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("This picture needs matplotlib: pip install matplotlib")
        return
    z = np.linspace(-6, 6, 300)
    p = sigmoid(z)
    for i, (x, label) in enumerate([(p, "probability of what happened"), (z, "its score z")]):
        plt.subplot(1, 2, i + 1, xlabel=label)
        plt.plot(x, -np.log(p), label="-ln p")
        plt.plot(x, (1 - p) ** 2, label="(1 - p)²")
        plt.legend()
    if plt.get_backend().lower() == "agg":
        print("No window to draw in: open this file as a notebook to see the two curves.")
    else:
        plt.show()


# %% [markdown]
# ## Exercise 3: yes or no
#
# The model says p = 0.8808 for yes, unrounded 0.8807971. If it was yes (y = 1) the surprise is
# -ln p = **0.1269**; if it was no (y = 0), -ln (1 - p) = **2.1269**. In one formula, where y picks the term,
# or mixes them if the truth itself is a probability:
#
# $$ \mathrm{loss} = -\left(y \ln p + (1 - y) \ln (1 - p)\right) $$
#
# Three traps, all at the ends:
#
# * p = 0 and y = 1: the surprise is infinite, and so is the mean of the batch. PyTorch stops each logarithm
#   at **-100**, an arbitrary number, so that one example cannot ruin a run: what is below -100 becomes -100,
#   be it the -inf of p = 0 or the -115 of p = 1e-50 in float64.
# * p = 0 and y = 0: the first term is 0 · (-inf), which is nan. Stop the logarithm *before* you multiply.
# * p = 1e-9 and y = 0: 1 - p is 1 in float32, and its log is 0. You know the cure from softplus: NumPy's
#   `log1p` takes -p and never forms 1 - p.
#
# Your part is `losses`, one for each element, from two arrays and in their dtype. (That NumPy warns of a
# log of 0 on the way is no harm.) The refusals stand above your part, and `floats_only`, of module 02,
# computes float16 in float32. Weights and reduction are the same for the next exercise, so they are given:
# a weight multiplies each loss, and here the mean divides by the number of losses all the same.

# %%
#| export
@op(promote=False)
@floats_only
def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    """The surprise at what happened, if `input` was the probability of yes and `target` is 1 for yes.

    input, target: floats of one shape, 0 to 1 (else RuntimeError). weight: what each loss is multiplied
    by, broadcast to them. Logarithms stop at -100, so a loss is at most 100.

    >>> binary_cross_entropy(Tensor([0.8807971, 0.8807971]), Tensor([1., 0.]), reduction="none")
    tensor([0.1269, 2.1269])
    """
    refuse_unequal("binary_cross_entropy", input, target, RuntimeError)
    refuse_outside("binary_cross_entropy", input=input, target=target)
    ### BEGIN SOLUTION
    yes = np.maximum(np.log(input), -100)
    no = np.maximum(np.log1p(-input), -100)
    losses = -(target * yes + (1 - target) * no)
    ### END SOLUTION
    return weigh_and_reduce(losses, weight, reduction)


def weigh_and_reduce(losses, weight, reduction):
    """The losses, times `weight` if there is one, reduced. Raises RuntimeError for one that does not fit."""
    if weight is not None:
        refuse_stretching("binary cross entropy", weight, losses.shape)
        losses = losses * weight
    return reduce_loss(losses, reduction)


# %%
class TestBinaryCrossEntropy:
    """Yes or no"""
    def losses(self, p, y, dtype="float32"):
        with np.errstate(divide="ignore"):
            return binary_cross_entropy(Tensor(p, dtype), Tensor(y, dtype), reduction="none")

    def test_by_hand(self):
        "0.8808 for yes: a surprise of 0.1269 if it was yes, of 2.1269 if it was no"
        expect(self.losses([0.8807971, 0.8807971], [1., 0.]), [0.1269280, 2.1269280], tol=1e-5)

        expect(self.losses([0.8], [0.7]), [-0.7 * math.log(0.8) - 0.3 * math.log(0.2)],
               why="the truth may be a probability as well")

    def test_mean(self):
        "Over a (2, 2) table, and without a word, it is the mean"
        p, y = Tensor([[0.5, 0.25], [0.8, 0.9]]), Tensor([[1., 1.], [0., 1.]])
        expect(binary_cross_entropy(p, y), (math.log(2) + math.log(4) + math.log(5) - math.log(0.9)) / 4)

    def test_ends(self):
        "What was impossible and happened costs 100, not infinity; what was certain and happened 0, not nan"
        expect(self.losses([0., 1.], [1., 0.]), [100., 100.])
        expect(self.losses([[0.], [1.]], [[0.], [1.]]), [[0.], [0.]],
               why="nan would be 0 * -inf: stop the log before you multiply")
        expect(self.losses([1e-40, 1e-50], [1., 1.], "float64"), [92.1034037, 100.],
               why="only logs below -100 are stopped, and all of those: that of 1e-50 is -115")

    def test_small(self):
        "A probability of 1e-9 for what did not happen costs 1e-9, not 0"
        expect(self.losses([1e-9], [0.]) * 1e9, [1.], why="0 would be the log of 1 - 1e-9, 1 in float32")

    def test_dtype(self):
        "float32 stays float32, float64 stays float64"
        for dtype in "float32", "float64":
            expect(str(self.losses([0.25, 0.5], [1., 0.], dtype).dtype), dtype)

    def test_weight(self):
        "A weight multiplies each loss, and the mean divides by their number: ln 2 times 1, 2, 6 over 3"
        p, y = Tensor([0.5, 0.5, 0.5]), Tensor([1., 0., 1.])
        expect(binary_cross_entropy(p, y, Tensor([1., 2., 6.])), 3 * math.log(2))
        expect(binary_cross_entropy(p, y, weight=Tensor([2.]), reduction="sum"), 6 * math.log(2))

    def test_outside(self):
        "1.5 is no probability, nan neither: these may be logits, and the error says so"
        expect_error(RuntimeError, self.losses, [1.5], [1.], says=["1.5", "logits"])
        expect_error(RuntimeError, self.losses, [math.nan], [1.])
        expect_error(RuntimeError, self.losses, [0.5], [2.], says=["target"])


run_tests(TestBinaryCrossEntropy)

# %% [markdown]
# ## Exercise 4: yes or no, from the score
#
# Where did 0.8808 come from? It is σ(2): the score was 2. What if it is 800, and the answer was no? σ(800)
# is 1, the log of 1 - 1 is stopped at -100, and the loss is 100, and stays there if the score is nudged.
# Right is **800**, and it falls with the score. It does not even take 800: in float32, σ(17) is exactly 1,
# and what costs 17 comes out as 100.
#
# So do not make a probability just to take its logarithm. Do both on paper:
#
# $$ -\ln \sigma(z) = \ln (1 + e^{-z}) = \mathrm{softplus}(-z)
#    \qquad -\ln (1 - \sigma(z)) = \mathrm{softplus}(z) $$
#
# ```
# z = 2, it was yes:  softplus(-2) = 0.1269         the numbers of exercise 3,
# z = 2, it was no:   softplus(2)  = 2.1269         without a probability on the way
# ```
#
# `pos_weight` multiplies the first of the two terms: how much more a missed yes shall cost than a false
# alarm. If one example in a hundred is a yes, 99 makes both sides equally heavy. It broadcasts: one number
# for each column is common. This is no op but a function on tensors, made of ops: your softplus, `*`, `+`.

# %%
#| export
def binary_cross_entropy_with_logits(input, target, weight=None, *, reduction="mean", pos_weight=None):
    """binary_cross_entropy of sigmoid(input), for scores of any size.

    input, target: floats of one shape (else ValueError). weight: what each loss is multiplied by.
    pos_weight: what the part of the target that is yes is multiplied by; both broadcast.

    >>> binary_cross_entropy_with_logits(Tensor([2., 800.]), Tensor([1., 0.]), reduction="none")
    tensor([1.2693e-01, 8.0000e+02])
    """
    refuse_unequal("binary_cross_entropy_with_logits", input, target)
    ### BEGIN SOLUTION
    yes = target if pos_weight is None else target * pos_weight
    losses = yes * softplus(-input) + (1 - target) * softplus(input)
    ### END SOLUTION
    return weigh_and_reduce(losses, weight, reduction)


# %%
class TestBinaryCrossEntropyWithLogits:
    """Yes or no, from the score"""
    def losses(self, z, y, **how):
        return binary_cross_entropy_with_logits(Tensor(z), Tensor(y), reduction="none", **how)

    def test_by_hand(self):
        "The score 2 costs 0.1269 if it was yes, 2.1269 if it was no"
        expect(self.losses([2., 2.], [1., 0.]), [0.1269280, 2.1269280])

    def test_same(self):
        "For moderate scores it is what exercise 3 gives for their sigmoid, in any shape"
        z, y = Tensor([[-3., 0.5, 1.], [2., -1., 0.]]), Tensor([[0., 1., 0.3], [0., 1., 1.]])
        p = sigmoid(z)
        by_hand = -(y * np.log(p) + (1 - y) * np.log(1 - p))
        expect(self.losses(z, y), by_hand, tol=1e-5)
        expect(binary_cross_entropy_with_logits(z, y), by_hand.mean(), tol=1e-5)

    def test_large(self):
        "A score of 800 for what did not happen costs 800; 17 costs 17, also in float32"
        expect(self.losses([800., -800., 17.], [0., 1., 0.]), [800., 800., 17.],
               why="100 or inf would be a probability made on the way")
        expect(self.losses([800., -800.], [1., 0.]), [0., 0.], why="sure and right costs nothing, not nan")

    def test_small(self):
        "A score of 20 for what happened costs 2e-9, not 0"
        expect(self.losses([20.], [1.]) * 1e9, [2.0611536], tol=1e-4,
               why="softplus(z) - y * z would be 20 - 20 here: float32 has no digits left for the rest")

    def test_pos_weight(self):
        "pos_weight 3 makes a missed yes three times as dear, and only that; a weight multiplies both sides"
        expect(self.losses([2., 2.], [1., 0.], pos_weight=Tensor([3., 3.])), [0.3807840, 2.1269280])
        expect(self.losses([[0., 0.]], [[1., 0.5]], pos_weight=Tensor([3., 9.])),
               [[3 * math.log(2), 5 * math.log(2)]], why="column by column: 0.5 * 9 + 0.5 * 1 is 5")
        expect(self.losses([2., 2.], [1., 0.], weight=Tensor([10., 100.])), [1.2692801, 212.69280], tol=1e-5)

    def test_error(self):
        "(2, 1) and (2,) are refused with a ValueError, as PyTorch has it"
        expect_error(ValueError, self.losses, [[1.], [2.]], [1., 0.], says=["(2, 1)", "(2,)"])


run_tests(TestBinaryCrossEntropyWithLogits)

# %% [markdown]
# ## Exercise 5: one of many
#
# Three classes have the scores [2, 1, 0.1]. Their probabilities are 0.6590, 0.2424, 0.0986, and the logs of
# those -0.4170, -1.4170, -2.3170. If class 0 is right the surprise is **0.4170**, if class 2 is right
# **2.3170**. A target is an *index*, 0 or 2, and not a row [1, 0, 0] to multiply by. And it may say that
# its row does not count:
#
# ```
# log p (each row)             target      loss
# -0.4170 -1.4170 -2.3170         0        0.4170
# -0.4170 -1.4170 -2.3170         2        2.3170      mean of both: 1.3670
# -0.4170 -1.4170 -2.3170      -100        0           still 1.3670, not 0.9113
#
# with the class weights 1, 1, 3:          (1 * 0.4170 + 3 * 2.3170) / (1 + 3) = 1.8420
# ```
#
# $$ \ell_n = -w_{y_n} \ln p_{n,\,y_n} \qquad \mathrm{mean} = \frac{\sum_n \ell_n}{\sum_n w_{y_n}} $$
#
# A target equal to `ignore_index` weighs 0. So the mean divides by the weights **of the targets that are
# there**, not by N. This function, given, makes them, and you will need it twice. For the targets 0, 2,
# -100 and the weights 1, 1, 3 it gives 1, 3, 0; without weights True, True, False, which count 1, 1, 0.
# One trick in it you will need again: -100 is no index, and [0, 2, -100] times [True, True, False] is
# [0, 2, 0], as True is 1 and False 0. Class 0 stands in where the target is ignored.

# %%
#| export
def class_weights(target, weight, ignore_index):
    """What each target counts: the weight of its class, 1 without weights, and 0 if it is ignored."""
    counts = target != ignore_index
    return counts if weight is None else weight[target * counts] * counts


# %% [markdown]
# The input may have more dimensions, (N, C, d1, ...): a picture with a class for every pixel, a text with
# one for every word. The classes lie along **dimension 1**, and the target is the same without it:
# (N, d1, ...). A single row is (C,) with a target (). `class_axis(input)` (given) is 1, for a single row 0.
#
# For picking you have `gather(input, dim, index)` of module 01. Its index must have as many dimensions as
# the input: `target.unsqueeze(dim)` puts a 1 there, `.squeeze(dim)` takes it away again, that one and no
# other. Two small things:
#
# * -100 is no index. Put any class in its place: `target.masked_fill(target == ignore_index, 0)`.
# * The loss of an ignored target is 0 whatever was picked for it. A log p of -inf times a weight of 0
#   would be nan, so fill what was picked as well. (Minus that 0 prints as -0.0000; take the minus first.)
#
# What must never pass is a target that is no class. NumPy takes -1 for the last one, without a word;
# labels that begin at 1 would train a class that does not exist. `check_classes` (given, above your part)
# refuses -1 and C with an IndexError, floats with a RuntimeError, shapes that do not match with a ValueError.

# %%
#| export
def nll_loss(input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    """Minus the log probability of the right class: how surprising each target was.

    input: log probabilities (C,), (N, C) or (N, C, d1, ...). target: the same without C, int64, each 0 to
    C - 1 (else IndexError) or ignore_index, which counts nothing. weight: (C,), how much a class counts.
    The mean divides by the weights of the targets.

    >>> log_p = Tensor([[-0.4170, -1.4170, -2.3170], [-0.4170, -1.4170, -2.3170]])
    >>> nll_loss(log_p, Tensor([0, 2]))
    tensor(1.3670)
    """
    target = check_classes("nll_loss", input, target, weight, ignore_index)
    ### BEGIN SOLUTION
    dim, ignored = class_axis(input), target == ignore_index
    index = target.masked_fill(ignored, 0).unsqueeze(dim)            # any class will do
    surprise = (-gather(input, dim, index)).squeeze(dim).masked_fill(ignored, 0.)
    weights = class_weights(target, weight, ignore_index)
    return reduce_loss(surprise * weights, reduction, weights.sum())
    ### END SOLUTION


# %%
SCORES, LOG_P = [2., 1., 0.1], [-0.4170300, -1.4170300, -2.3170300]


class TestNllLoss:
    """One of many"""
    two = Tensor([LOG_P, LOG_P])

    def test_by_hand(self):
        "Class 0 costs 0.4170, class 2 costs 2.3170, their mean is 1.3670"
        expect(nll_loss(self.two, Tensor([0, 2]), reduction="none"), [0.4170300, 2.3170300])
        expect(nll_loss(self.two, Tensor([0, 2])), 1.3670300)
        expect(nll_loss(self.two, Tensor([0, 2]), reduction="sum"), 2.7340600)

    def test_ignored(self):
        "A third row that is ignored costs 0 and is not counted: 1.3670, not 0.9113"
        three, target = Tensor([LOG_P] * 3), Tensor([0, 2, -100])
        expect(nll_loss(three, target), 1.3670300, why="0.9113 would divide by the ignored row as well")
        expect(nll_loss(three, target, reduction="none"), [0.4170300, 2.3170300, 0.])
        expect(nll_loss(three, Tensor([0, 1, 1]), ignore_index=1), 0.4170300)
        impossible = Tensor([[-math.inf, 0., -1.], LOG_P])
        expect(nll_loss(impossible, Tensor([-100, 0])), 0.4170300,
               why="nan would be -inf * 0: fill what was picked")

    def test_weights(self):
        "Weights 1, 1, 3: the mean is 1.8420, divided by the 1 + 3 of the targets"
        weight = Tensor([1., 1., 3.])
        expect(nll_loss(self.two, Tensor([0, 2]), weight), 1.8420300, why="3.6841 would divide by the rows")
        expect(nll_loss(Tensor([LOG_P] * 3), Tensor([0, -100, 2]), weight, reduction="none"),
               [0.4170300, 0., 6.9510900])
        expect(nll_loss(Tensor([LOG_P] * 3), Tensor([0, -100, 2]), weight), 1.8420300)

    def test_class_axis(self):
        "In (2, 3, 2) the classes lie along dim 1: the target is (2, 2), one for each place; and () for (3,)"
        expect(nll_loss(Tensor(LOG_P), Tensor(2), reduction="none"), 2.3170300)
        x = -Tensor(np.arange(12.).reshape(2, 3, 2))
        target = Tensor([[0, 2], [1, 0]])
        expect(nll_loss(x, target, reduction="none"), [[0., 5.], [8., 7.]],
               why="input[n, target[n, t], t]: the class is the second index, not the last")
        expect(nll_loss(x, target, Tensor([1., 2., 4.], "float64")), (0 + 20 + 16 + 7) / 8)
        expect(nll_loss(x[:, :, :1], target[:, :1], reduction="none"), [[0.], [8.]],
               why="one place is an axis as well: take away no 1 but your own")
        x = -Tensor(np.arange(8.).reshape(2, 2, 2))                  # where the wrong axis would fit
        expect(nll_loss(x, Tensor([[1, 0], [0, 1]]), reduction="none"), [[2., 1.], [4., 7.]])

    def test_nothing_counts(self):
        "If every target is ignored the mean is nan"
        with np.errstate(invalid="ignore"):
            expect(nll_loss(self.two, Tensor([-100, -100])), np.nan)

    def test_no_class(self):
        "-1 and 3 are no classes out of three, a float is no index, and two rows have two targets"
        expect_error(IndexError, nll_loss, self.two, Tensor([0, -1]), says=["-1"])
        expect_error(IndexError, nll_loss, self.two, Tensor([0, 3]), says=["3", "2"])
        expect_error(RuntimeError, nll_loss, self.two, Tensor([0., 2.]), says=["float32", "int64"])
        expect_error(ValueError, nll_loss, self.two, Tensor([0, 1, 2]), says=["(2, 3)", "(3,)"])


run_tests(TestNllLoss)

# %% [markdown]
# ## Exercise 6: in one op
#
# From scores to losses it takes log_softmax and then a pick. Of a table of N x C logarithms it picks N.
# For a language model C is 50,000, and the table is the largest array of the whole program. What is
# really needed, for the scores [2, 1, 0.1] and the classes 0 and 2:
#
# ```
# scores minus the largest     0        -1       -1.9
# e to the power of that       1         0.3679   0.1496     sum 1.5174, its log 0.4170
# p = that / sum               0.6590    0.2424   0.0986
#
# loss of class 0              0.4170 - 0      = 0.4170
# loss of class 2              0.4170 - (-1.9) = 2.3170
# ```
#
# $$ \ell_n = \ln \sum_j e^{x_{nj} - m_n} - (x_{n,\,y_n} - m_n) \qquad m_n = \max_j x_{nj} $$
#
# One table is enough: x - m. Pick the N scores from it; *then* let it become its own exponential, and then
# p, in place (`np.exp(p, out=p)`, `p /= ...`). p is kept, as module 05 makes the slope of it.
#
# It is an op, so logits and target are arrays, and targets were checked before. To pick you need a row and a
# column for each loss: the rows are `array_module(p).arange(len(p))`, the columns the target. An ignored
# target is no column, so put 0 there, by the trick of `class_weights`, and set its loss to 0 at the end.
# Your part sets `losses` and `p`; the `return` of both is written.

# %%
#| export
@op(keeps=True, promote=False)
@floats_only
def cross_entropy_rows(logits, target, ignore_index=-100):
    """The surprise at each row's target, from scores: nll_loss of log_softmax, in one op.

    logits: (N, C) floats. target: (N,) integers, 0 to C - 1, or ignore_index for a row whose loss is 0.
    Gives (N,), and keeps the probabilities (N, C) for the gradient.

    >>> cross_entropy_rows(Tensor([[2., 1., 0.1], [2., 1., 0.1]]), Tensor([0, 2]))
    tensor([0.4170, 2.3170])
    """
    ### BEGIN SOLUTION
    counts = target != ignore_index
    p = logits - logits.max(1, keepdims=True)
    score = p[array_module(p).arange(len(p)), target * counts]       # class 0 where ignored
    np.exp(p, out=p)                                                 # in place from here on: p is ours
    total = p.sum(1)
    p /= total[:, None]
    losses = np.log(total) - score
    losses[~counts] = 0
    ### END SOLUTION
    return losses, p


# %%
class TestCrossEntropyRows:
    """Scores to losses, in one op"""
    x = np.array([SCORES, SCORES])

    def test_by_hand(self):
        "Scores [2, 1, 0.1]: class 0 costs 0.4170, class 2 costs 2.3170; 0.6590, 0.2424, 0.0986 are kept"
        out = cross_entropy_rows.forward(self.x, np.array([0, 2]))
        assert isinstance(out, tuple), "an op that keeps returns (losses, p): leave that line as it is"
        losses, p = out
        expect(losses, [0.4170300, 2.3170300])
        expect(p, [[0.6590011, 0.2424330, 0.0985659]] * 2)

    def test_large(self):
        "Scores of 800 and -800 do not overflow: the impossible costs 1600, not inf or 100"
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            x = np.array([[800., -800.], [1., 3.]], "float32")
            expect(cross_entropy_rows(x, np.array([1, 0])), [1600., 2.1269280])

    def test_ignored(self):
        "An ignored row costs 0, whatever stands in it, and the others are left alone"
        x = np.array([[2., 1., 0.1], [math.nan, 0., 1.], [2., 1., 0.1]])
        expect(cross_entropy_rows(x, np.array([2, -100, 0])), [2.3170300, 0., 0.4170300])
        expect(cross_entropy_rows(self.x, np.array([2, 0]), 2), [0., 0.4170300])

    def test_inputs(self):
        "Scores and targets are left as they were; float32 stays float32; no rows give no losses"
        x, target = np.array([SCORES, SCORES], "float32"), np.array([0, -100])
        expect(str(cross_entropy_rows(x, target).dtype), "float32")
        expect(x, [SCORES, SCORES], why="logits -= ... would write into the caller's scores")
        expect(target, [0, -100])
        expect(cross_entropy_rows(np.zeros((0, 3)), np.zeros(0, "int64")).shape, (0,))

    def test_memory(self):
        "It takes one table of the size of the scores, not two"
        x, target = np.zeros((500, 1000), "float32"), np.zeros(500, "int64")
        taken = peak_bytes(lambda: cross_entropy_rows(x, target)) / x.nbytes
        assert taken < 1.5, f"at its peak it held {taken:.1f} tables beside the scores: work in place"


run_tests(TestCrossEntropyRows)

# %% [markdown]
# ## Exercise 7: a target with a doubt
#
# The loss of a right answer is 0 only at a score of infinity. So a model that is right about everything
# still pushes its scores apart, for ever, and ends up surer than it should be. *Label smoothing*
# (Szegedy et al., arXiv:1512.00567) takes a share ε of the target away from the right class and spreads
# it evenly over **all** C classes, the right one included. ε = 0.1, three classes, class 0 is right:
#
# ```
# target       0.9333   0.0333   0.0333        0.9 + 0.1/3, 0.1/3, 0.1/3
# surprise     0.4170   1.4170   2.3170
#
# 0.9 * 0.4170  +  0.1 * (0.4170 + 1.4170 + 2.3170) / 3  =  0.3753 + 0.1384  =  0.5137
# ```
#
# Spread over the *other* two classes only, ε/(C - 1), it would be 0.5620. In a formula, with weights,
# which go with the class whose surprise they multiply:
#
# $$ \ell_n = -(1 - \varepsilon)\, w_{y_n} \ln p_{n,\,y_n} - \frac{\varepsilon}{C} \sum_c w_c \ln p_{n,\,c} $$
#
# The first part is your `nll_loss`, not reduced; it must hear of `ignore_index` too. The second is a mean
# over the classes of a row. An ignored row is 0 in both, whatever stands in it. Nothing is reduced here:
# `cross_entropy`, the next exercise, will do it. This is a function on tensors.

# %%
#| export
def smoothed_cross_entropy(logits, target, label_smoothing, weight=None, ignore_index=-100):
    """The cross entropy of each row with a share of its target spread evenly over all classes.

    logits: (N, C), target: (N,) classes or ignore_index, whose loss is 0. label_smoothing: the share.
    weight: (C,), what the surprise at each class is multiplied by. Gives (N,).

    >>> smoothed_cross_entropy(Tensor([[2., 1., 0.1]]), Tensor([0]), 0.1)
    tensor([0.5137])
    """
    ### BEGIN SOLUTION
    log_p = log_softmax(logits, 1)
    right = nll_loss(log_p, target, weight, ignore_index=ignore_index, reduction="none")
    everywhere = -(log_p if weight is None else log_p * weight).mean(1)
    losses = (1 - label_smoothing) * right + label_smoothing * everywhere
    return losses.masked_fill(target == ignore_index, 0.)
    ### END SOLUTION


# %%
class TestSmoothedCrossEntropy:
    """A target with a doubt"""
    x = Tensor([SCORES, SCORES])

    def test_by_hand(self):
        "ε = 0.1: 0.9 of 0.4170 and 0.1 of the mean surprise, 0.5137"
        expect(smoothed_cross_entropy(self.x, Tensor([0, 2]), 0.1), [0.5136967, 2.2236967],
               why="0.5620 would spread over the other classes only")

    def test_ends(self):
        "With ε = 0 nothing changes, with ε = 1 the target does not matter; surer than the target costs"
        expect(smoothed_cross_entropy(self.x, Tensor([0, 2]), 0.), [0.4170300, 2.3170300])
        expect(smoothed_cross_entropy(self.x, Tensor([0, 2]), 1), [1.3836967, 1.3836967])
        expect(smoothed_cross_entropy(Tensor([[100., 0., 0.]]), Tensor([0]), 0.1), [0.1 * 200 / 3])

    def test_weights(self):
        "Each class's surprise has its class's weight: 1, 1, 3 give 0.6682 for class 0"
        weight = Tensor([1., 1., 3.])
        spread = (0.4170300 + 1.4170300 + 3 * 2.3170300) / 3
        expect(smoothed_cross_entropy(self.x, Tensor([0, 2]), 0.1, weight),
               [0.9 * 0.4170300 + 0.1 * spread, 0.9 * 3 * 2.3170300 + 0.1 * spread])

    def test_ignored(self):
        "An ignored row costs 0, not its share of doubt, whatever stands in it"
        expect(smoothed_cross_entropy(self.x, Tensor([-100, 0]), 0.1), [0., 0.5136967])
        for ignored in 1, -1:                                        # -1 is no class, if not ignored
            expect(smoothed_cross_entropy(self.x, Tensor([ignored, 0]), 0.1, ignore_index=ignored),
                   [0., 0.5136967])
        broken = Tensor([[math.nan, 0., math.inf], SCORES])
        expect(smoothed_cross_entropy(broken, Tensor([-100, 0]), 0.1), [0., 0.5136967],
               why="nan would be nan * 0: fill the ignored rows, a product does not make them 0")


run_tests(TestSmoothedCrossEntropy)

# %% [markdown]
# ## Exercise 8: cross_entropy
#
# Now the function that everybody calls. It takes **scores, not probabilities**. Whoever puts a softmax
# in front has it twice, and nothing fails: [0.6590, 0.2424, 0.0986] taken for scores cost 0.8021 where 0.4170
# is right, and even a model that is certain cannot get below 0.5514. It learns, but badly.
#
# The target may be a probability for each class, in the shape of the input: then each class's surprise is
# multiplied by how much of the truth that class is (given, `soft_losses`; module 17 lets a small model
# learn from a large one's probabilities). Or it names classes, and that is yours. Your op takes rows
# (N, C). An input (N, C, d1, ...) has to become that, and the class axis is in its middle: first move it
# to the end, `input.movedim(dim, -1)`, then make rows. A reshape alone would mix classes with places. The
# losses go back to the target's shape at the end.
#
# * Without smoothing the losses are those of your op. Call `cross_entropy_rows` itself, with the tensors, so
#   that module 05 can hear of it. Called, it gives the losses alone; p is kept without you.
# * `class_weights(wanted, weight, ignore_index)`, of the flat target, is what each row counts. The op's
#   losses are multiplied by it if there is a `weight`; without one they are right already, since ignored
#   rows are 0. The mean divides by its sum in both cases.
# * If `label_smoothing` is not 0, the losses are `smoothed_cross_entropy(rows, wanted, label_smoothing,
#   weight, ignore_index)`, weighted already.

# %%
#| export
def cross_entropy(input, target, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """The surprise at the right class, from scores: nll_loss of log_softmax along the class axis.

    input: (C,), (N, C) or (N, C, d1, ...) floats. target: the same without C, int64, each 0 to C - 1 (else
    IndexError) or ignore_index; or probabilities, floats in the shape of the input. weight: (C,), how
    much a class counts; the mean divides by the weights of the targets. label_smoothing: the share of
    the target that is spread over all classes, 0 to 1 (else RuntimeError).

    >>> cross_entropy(Tensor([[2., 1., 0.1], [2., 1., 0.1]]), Tensor([0, 2]))
    tensor(1.3670)
    """
    if holds_probabilities("cross_entropy", input, target, weight, ignore_index, label_smoothing):
        return reduce_loss(soft_losses(input, target, weight, label_smoothing), reduction)
    target = check_classes("cross_entropy", input, target, weight, ignore_index)
    ### BEGIN SOLUTION
    dim, flat = class_axis(input), input.ndim == 2                   # flat: these are rows already
    rows = input if flat else input.movedim(dim, -1).reshape(-1, input.shape[dim])
    wanted = target if flat else target.reshape(-1)
    weights = class_weights(wanted, weight, ignore_index)
    if label_smoothing:
        losses = smoothed_cross_entropy(rows, wanted, label_smoothing, weight, ignore_index)
    else:
        losses = cross_entropy_rows(rows, wanted, ignore_index)
        losses = losses if weight is None else losses * weights
    return reduce_loss(losses if flat else losses.reshape(target.shape), reduction, weights.sum())
    ### END SOLUTION


# %%
class TestCrossEntropy:
    """Cross entropy"""
    two = Tensor([SCORES, SCORES])

    def test_by_hand(self):
        "Scores [2, 1, 0.1]: 0.4170 for class 0, 2.3170 for class 2, mean 1.3670"
        expect(cross_entropy(self.two, Tensor([0, 2]), reduction="none"), [0.4170300, 2.3170300],
               why="0.8021 would be a second softmax: these are scores")
        expect(cross_entropy(self.two, Tensor([0, 2])), 1.3670300)
        expect(cross_entropy(self.two, Tensor([0, 2]), reduction="sum"), 2.7340600)

    def test_op(self):
        "It calls the op of exercise 6, with tensors: whoever records ops, as module 05 will, hears of it"
        names = []
        before = record_with(lambda op, *event: names.append(op.name))
        try:
            cross_entropy(self.two, Tensor([0, 2]))
        finally:
            record_with(before)
        called = "cross_entropy_rows" in names
        assert called, "the op was not called: cross_entropy_rows(...) itself, with tensors, not its forward"

    def test_chance(self):
        "A model that knows nothing gives ten classes equal scores: ln 10 = 2.3026, whatever is right"
        expect(cross_entropy(Tensor(np.full((4, 10), 7.)), Tensor([3, 0, 9, 3])), math.log(10))

    def test_ignored(self):
        "One ignored row more: still 1.3670; and any number can be the one to ignore"
        expect(cross_entropy(Tensor([SCORES] * 3), Tensor([0, 2, -100])), 1.3670300,
               why="0.9113 would count the ignored row")
        expect(cross_entropy(self.two, Tensor([0, 2]), ignore_index=2), 0.4170300)
        expect(cross_entropy(self.two, Tensor([-1, 2]), ignore_index=-1, reduction="none"), [0., 2.3170300])

    def test_weights(self):
        "Weights 1, 1, 3: 1.8420"
        weight = Tensor([1., 1., 3.])
        expect(cross_entropy(self.two, Tensor([0, 2]), weight), 1.8420300, why="3.6841 would divide by N")
        expect(cross_entropy(Tensor([SCORES] * 3), Tensor([0, 2, -100]), weight), 1.8420300)
        expect(cross_entropy(self.two, Tensor([2, 1]), weight, reduction="none"), [6.9510901, 1.4170300])

    def test_class_axis(self):
        "(2, 3, 2): each place of each example has its own three scores, along dim 1"
        x = np.zeros((2, 3, 2))
        x[0, :, 0], x[0, :, 1], x[1, :, 0], x[1, :, 1] = SCORES, [1., 2., 0.1], [0.1, 1., 2.], [5., 5., 5.]
        expect(cross_entropy(Tensor(x), Tensor([[0, 0], [1, 2]]), reduction="none"),
               [[0.4170300, 1.4170300], [1.4170300, math.log(3)]],
               why="a reshape alone would mix classes with places")
        expect(cross_entropy(Tensor(x), Tensor([[0, -100], [-100, 2]])), (0.4170300 + math.log(3)) / 2)
        picture = np.zeros((1, 3, 2, 2))                             # a class for each pixel
        picture[0, :, 0, 1] = SCORES
        expect(cross_entropy(Tensor(picture), Tensor([[[1, 2], [0, 0]]]), reduction="none"),
               [[[math.log(3), 2.3170300], [math.log(3), math.log(3)]]])
        expect(cross_entropy(Tensor(SCORES), Tensor(2)), 2.3170300, why="(3,) is a single row")

    def test_smoothing(self):
        "Smoothed by 0.1 it is 0.5137, in any shape; the mean divides by what counts"
        x = Tensor(np.array([SCORES, SCORES]).T[None])               # (1, 3, 2)
        expect(cross_entropy(x, Tensor([[0, 2]]), label_smoothing=0.1, reduction="none"),
               [[0.5136967, 2.2236967]])
        expect(cross_entropy(x, Tensor([[0, -100]]), label_smoothing=0.1), 0.5136967)
        expect(cross_entropy(x, Tensor([[0, 2]]), Tensor([1., 1., 3.], "float64"), label_smoothing=0.1),
               (0.6681653 + 6.5488653) / 4, tol=1e-5, why="these losses are weighted already: not twice")
        expect_error(RuntimeError, cross_entropy, x, Tensor([[0, 2]]), label_smoothing=1.5, says=["1.5"])

    def test_probabilities(self):
        "A target in the shape of the input is a distribution: half class 0, half class 2 costs 1.3670"
        expect(cross_entropy(Tensor([SCORES]), Tensor([[0.5, 0., 0.5]])), 1.3670300)
        expect(cross_entropy(self.two, Tensor([[1., 0., 0.], [0., 0., 1.]]), reduction="none"),
               [0.4170300, 2.3170300])

    def test_no_class(self):
        "-1 and 3 are refused, and so are a one-hot row of integers, and (2, 3) targets for (2, 3, 5) scores"
        expect_error(IndexError, cross_entropy, self.two, Tensor([0, -1]), says=["-1"])
        expect_error(IndexError, cross_entropy, self.two, Tensor([3, 0]), says=["3"])
        expect_error(RuntimeError, cross_entropy, self.two, Tensor([[1, 0, 0], [0, 0, 1]]), says=["int64"])
        expect_error(RuntimeError, cross_entropy, self.two, Tensor([0., 2.]), says=["float32"])
        expect_error(RuntimeError, cross_entropy, Tensor(np.zeros((2, 3, 5))), Tensor([[0, 1, 2]] * 2),
                     says=["(2, 3, 5)", "(2, 5)"])


run_tests(TestCrossEntropy)


# %%
class TestLosses:
    """The losses together"""
    def test_two_roads(self):
        "cross_entropy is nll_loss of log_softmax; and with two classes it is a yes or no"
        x = Tensor(np.sin(np.arange(24.)).reshape(2, 3, 4) * 5)
        target = Tensor([[0, 2, 1, -100], [1, 1, 2, 0]])
        expect(cross_entropy(x, target), nll_loss(log_softmax(x, 1), target))
        expect(cross_entropy(Tensor([[0., 2.], [0., -1.]]), Tensor([1, 0])),
               binary_cross_entropy_with_logits(Tensor([2., -1.]), Tensor([1., 0.])))


run_tests(TestLosses)

# %% [markdown]
# ## The ten points again

# %%
def loss_of_ten(w):
    return binary_cross_entropy_with_logits(w * x_of_ten, answers).item()


@measure
def nudge_again():
    for w in 0.5, 0.501, 0.499, 0.2, 1., 5.:
        print(f"w = {w:5}: loss {loss_of_ten(w):.5f}")
    best = min(np.arange(0., 5., 0.01), key=loss_of_ten)
    print(f"best: w = {best:.2f}, loss {loss_of_ten(best):.5f}")
    print(f"knowing nothing, w = 0: loss {loss_of_ten(0.):.5f}")


# %% [markdown]
# The nudge from 0.5 to 0.501 makes the loss smaller by about a ten-thousandth, the nudge to 0.499 larger
# by as much: w should grow. The best w is 0.80, and 5 is much worse than knowing nothing: three wrong
# answers, given with great certainty. Knowing nothing costs ln 2, and ln C if there are C classes.
# Whoever sees a larger loss at the start of training has a bug, or scores that are too large.
#
# Trying all w works for one weight. With 101,770 of them one needs to know in which direction to nudge
# all of them at once: the *slope* of the loss, which is module 05.
#
# ## Measure
#
# A language model's last layer gives a table of scores with 50,257 columns, one for each word piece, here
# with 256 rows: 51 MB. Guess how much memory each of these needs **beside** that table, in tables:
#
# 1. a one-hot target, `-(one_hot * log_softmax).sum()`, with a row of zeros and a single 1 for each word,
# 2. nll_loss of log_softmax, with an index,
# 3. your cross_entropy.

# %%
guess = [None, None, None]                             # tables: your three numbers, then run this cell


@measure
def three_roads():
    if None in guess:
        print("Write your three guesses first: then this cell measures.")
        return
    rows, classes = 256, 50_257
    x = Tensor(np.random.default_rng(0).normal(size=(rows, classes)).astype("float32"))
    target = Tensor(np.random.default_rng(1).integers(0, classes, rows))

    def one_hot():
        table = zeros(rows, classes)
        table[np.arange(rows), target] = 1.
        return -(table * log_softmax(x, 1)).sum() / rows

    roads = {"one-hot": one_hot, "log_softmax, nll": lambda: nll_loss(log_softmax(x, 1), target),
             "cross_entropy": lambda: cross_entropy(x, target)}
    for (name, road), guessed in zip(roads.items(), guess):
        print(f"{name:17} {peak_bytes(road) / x.nbytes:4.1f} tables, {timed(road, repeat=1) * 1e3:4.0f} ms, "
              f"loss {road().item():.4f}; you guessed {guessed} tables")


# %% [markdown]
# What must hold: three tables, two, one. The one-hot road pays for its zeros, for the logarithms, and for
# the product of both; an index needs neither the first nor the last. The second road holds two, as
# log_softmax makes exponentials beside its logarithms. Your op loses one of them because it picks first
# and works in place afterwards, and the table that is left is no waste: it holds the probabilities, of
# which the gradient is made. (The loss of these scores lies a little above ln 50,257 = 10.82, the price of
# knowing nothing: random scores are worse than none.) What may differ: the milliseconds. The exponentials
# are the same in all three, so the time shrinks less than the memory.
#
# ## Reflect
#
# Answer in a sentence or two each, then compare with `## reflection-1` and so on in HINTS.md.
#
# 1. A language model that predicts one of 65 characters starts its training with a loss of 4.2. Is that a
#    good sign? What if it starts with 9?
# 2. Why does the last layer hand scores to the loss, and not probabilities?
# 3. One example in a hundred is a yes. A model that always says no is right 99 times. What would you change,
#    and what does that do to the probabilities the model states?
#
# ## Where this code lives
#
# `tito export 04` writes it to `tinytorch/nn/losses.py`, and beside it what was given: `loss_parts.py`,
# `more_losses.py` (PyTorch's full signatures around yours, and l1, huber, smooth l1 and kl_div, made of
# the same parts) and `loss_layers.py` (each of them as a module).
#
# ```python
# import tinytorch as torch, tinytorch.nn as nn, tinytorch.nn.functional as F
# scores, target = torch.randn(5, 10), torch.tensor([3, 0, 9, 9, 1])
# print(F.cross_entropy(scores, target), nn.CrossEntropyLoss(label_smoothing=0.1)(scores, target))
# ```
#
# Module 05 calls it next, and asks for the slope of `cross_entropy_rows`. 07 trains with it, 13 uses
# `ignore_index` for padding and masked words, 17 kl_div, and 18 makes one pass of the whole op.
#
# In the real world: PyTorch's `cross_entropy` calls log_softmax and nll_loss one after the other, the
# second road above, and keeps the table of logarithms for the gradient. For large vocabularies there are
# fused kernels that never hold the whole table of scores: they multiply by the last layer's weights, take
# the loss and throw the scores away, a few rows at a time.
