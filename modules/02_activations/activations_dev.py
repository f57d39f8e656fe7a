# %% [markdown]
# # Module 02: Activations, the bend
#
# A linear layer multiplies its input by a matrix of weights. Here are two of them, one after the other:
#
# ```
# W1 = [[1, 2],      W2 = [[3, 1]]        x  ->  W1 x  ->  W2 (W1 x)
#       [0, 1]]
# ```
#
# Multiply the two matrices: W2 W1 = [[3, 7]]. How many layers was that? And with biases, W2 (W1 x + b1)
# + b2? What about a stack of a hundred? Write a guess into the variable, multiply it out on paper, then
# run the cells, with any x you like. Last question: can any such stack draw a corner, the function |x|
# for example?

# %%
#| default_exp nn.activations
from tito.lesson import expect, expect_error, measure, peak_bytes, run_tests, timed

# %%
import math

import numpy as np
from floats_dev import along_dim, any_numbers, floats_only, refuse_bools

from tinytorch.core.math import erf, floats
from tinytorch.core.op import op
from tinytorch.core.tensor import Tensor
from tinytorch.core.threads import in_pieces


# %%
guess_of_layers = None             # how many layers two of them are worth


@measure
def two_layers():
    W1, b1 = Tensor([[1., 2.], [0., 1.]]), Tensor([1., -2.])
    W2, b2 = Tensor([[3., 1.]]), Tensor([0.5])
    W, b = W2 @ W1, W2 @ b1 + b2
    for x in Tensor([1., -1.]), Tensor([0.5, 3.]), Tensor([-20., 7.]):
        print(f"x = {x.tolist()}: two layers {(W2 @ (W1 @ x)).item()}, one {(W @ x).item()}; "
              f"with biases two {(W2 @ (W1 @ x + b1) + b2).item()}, one {(W @ x + b).item()}")
    print(f"you guessed {guess_of_layers}")


# %% [markdown]
# One layer says what the two say. Multiplied out, W2 (W1 x + b1) + b2 is (W2 W1) x + (W2 b1 + b2): again a
# matrix and a bias. So two layers are one, always, and so are a hundred. One number in gives a straight
# line, two give a plane, and neither has a corner.
#
# What must stand between two layers so that they do not fall together into one? Something that is not
# straight, and that is all: a function of one number, applied to every number by itself. It is called
# an *activation*. You write six of them (a seventh, tanh, is given), and after them softmax and its
# logarithm, which look at a whole row, because they turn scores into shares. The formulas are short. What
# takes care is that no input, be it 1000 or -1000, makes nonsense of them.
#
# Each is an op as in module 01, a function on arrays. Most carry a second decorator from `floats_dev.py`
# (given): it refuses integers where PyTorch does and computes float16 in float32. Below it, x is always
# an array of float32 or float64. `np.exp`, `np.maximum`, `np.where` and their like are all you need: an
# array on the GPU answers them itself.
#
# ## Exercise 1: relu
#
# Negative numbers become 0, all others stay: [-4, 0, 2.5] gives [0, 0, 2.5].
#
# $$ \mathrm{relu}(x) = \max(x, 0) $$
#
# That is one bend, at 0. Put it between the two layers, without biases: x = [1, -1] gives W1 x = [-1, -1],
# and W2 (W1 x) = **-4**. With relu between them, [-1, -1] becomes [0, 0], and W2 makes **0** of it.
#
# One trap: nan ("not a number") is what 0/0 leaves behind. It must stay nan, so that somebody sees it.
# Every comparison with nan is false, so "x where x > 0, else 0" would turn it into an innocent 0.

# %%
#| export
@op(method=True)
def relu(x):
    """x where it is positive, else 0; nan stays nan. Keeps the dtype, also of integers.

    Raises RuntimeError for bools.

    >>> relu(Tensor([-4., 0., 2.5]))
    tensor([0.0000, 0.0000, 2.5000])
    """
    refuse_bools("relu", x)
    ### BEGIN SOLUTION
    return np.maximum(x, 0)
    ### END SOLUTION


# %%
class TestRelu:
    """ReLU"""
    def test_by_hand(self):
        "Negative numbers become 0, the others stay: [-4, 0, 2.5] gives [0, 0, 2.5]"
        expect(relu(Tensor([-4., 0., 2.5])), [0., 0., 2.5])

    def test_between_layers(self):
        "Between two layers it makes a difference: -4 without it, 0 with it"
        W1, W2, x = Tensor([[1., 2.], [0., 1.]]), Tensor([[3., 1.]]), Tensor([1., -1.])
        expect(W2 @ (W1 @ x), [-4.])
        expect(W2 @ relu(W1 @ x), [0.])

    def test_nan(self):
        "nan stays nan: an error upstream must stay visible"
        assert np.isnan(relu(Tensor([math.nan])).data).all(), "x > 0 is false for nan: did it become 0?"

    def test_infinity(self):
        "Minus infinity becomes 0, plus infinity stays"
        expect(relu(Tensor([-math.inf, math.inf])), [0., math.inf], why="-inf * 0 would be nan")

    def test_integers(self):
        "Integers stay integers: [-2, 3] gives [0, 3], int64"
        out = relu(Tensor([-2, 3]))
        expect(out, [0, 3])
        expect(str(out.dtype), "int64")

    def test_new(self):
        "x itself is left as it was"
        x = Tensor([-1., 2.])
        relu(x)
        expect(x, [-1., 2.], why="x[x < 0] = 0 would write into the caller's numbers")

    def test_shape(self):
        "Every number by itself, in any shape; and x.relu() is the same op"
        expect(Tensor([[[-1., 2.]], [[3., -4.]]]).relu(), [[[0., 2.]], [[3., 0.]]])

    def test_bools(self):
        "Bools are refused"
        expect_error(RuntimeError, relu, Tensor([True, False]), says=["bool"])


run_tests(TestRelu)

# %% [markdown]
# ## Exercise 2: leaky_relu
#
# For relu all negative numbers are alike: -0.1 or -100, out comes 0, and nudging the input changes
# nothing. A neuron that ends up there for every picture learns nothing any more, as module 05 will show.
# The leaky relu leaves a little slope on that side. With a slope of 0.1, [-2, 3] gives [-0.2, 3]:
#
# $$ \mathrm{leaky}(x) = \begin{cases} x & x > 0 \\ s\,x & \text{else} \end{cases}
#    \qquad s = \texttt{negative\_slope} $$
#
# It is tempting to write max(x, s x). Try that with s = 2 and x = -1.

# %%
#| export
@op
@floats_only
def leaky_relu(x, negative_slope=0.01):
    """x where it is positive, else x times `negative_slope`, which may be any number.

    Raises RuntimeError for integers and bools.

    >>> leaky_relu(Tensor([-2., 3.]), 0.1)
    tensor([-0.2000,  3.0000])
    """
    ### BEGIN SOLUTION
    return np.maximum(x, 0) + negative_slope * np.minimum(x, 0)
    ### END SOLUTION


# %%
class TestLeakyRelu:
    """Leaky ReLU"""
    def test_by_hand(self):
        "The slope is on the negative side: [-2, 3] with 0.1 gives [-0.2, 3]"
        expect(leaky_relu(Tensor([-2., 3.]), 0.1), [-0.2, 3.], why="on the wrong side it would be [-2, 0.3]")

    def test_default(self):
        "Without a word the slope is 0.01: -50 gives -0.5"
        expect(leaky_relu(Tensor([[-50.], [4.]])), [[-0.5], [4.]])

    def test_any_slope(self):
        "The slope may be larger than 1, or negative: 2 makes -2 of -1, and -1 makes |x|"
        expect(leaky_relu(Tensor([-1., 3.]), 2.), [-2., 3.], why="max(x, s x) would be -1 for -1")
        expect(leaky_relu(Tensor([-5., 3.]), negative_slope=-1.), [5., 3.])

    def test_nan(self):
        "nan stays nan, infinities stay infinite"
        out = leaky_relu(Tensor([math.nan, math.inf, -math.inf])).data
        assert np.isnan(out[0]) and out[1] == math.inf and out[2] == -math.inf, f"got {out}"

    def test_new(self):
        "x itself is left as it was, and float32 stays float32"
        x = np.array([-1., 2.], "float32")
        expect(str(leaky_relu(x).dtype), "float32")
        expect(x, [-1., 2.])

    def test_integers(self):
        "Integers are refused: -0.01 is no integer"
        expect_error(RuntimeError, leaky_relu, Tensor([1, -2]), says=["int64", "float"])


run_tests(TestLeakyRelu)

# %% [markdown]
# ## Exercise 3: sigmoid
#
# Any number becomes one between 0 and 1, so that it can be read as a probability: "0.88 that this is a
# cat". Large numbers go to 1, very negative ones to 0, and 0 to one half.
#
# $$ \sigma(x) = \frac{1}{1 + e^{-x}} \qquad \sigma(2) = \frac{1}{1 + 0.1353} = 0.8808 \qquad
#    \sigma(-2) = \frac{1}{1 + 7.3891} = 0.1192 $$
#
# Now x = -1000: e^1000 has 435 digits, float32 ends at e^88.7 and float64 at e^709. NumPy makes it inf,
# with a warning, and 1 / (1 + inf) = 0 looks right. At -90 it is not: σ(-90) is 8.2e-40, float32 holds
# numbers down to 1.4e-45, and what comes out is 0. A loss will take the logarithm of it, and -inf is a
# long way from -90. Multiply top and bottom by e^x, and the same number reads
#
# $$ \sigma(x) = \frac{e^{x}}{1 + e^{x}} $$
#
# which is fine for -90 and -1000, and for 1000 it is inf/inf = nan. So there are two forms, each good on
# one side. In each take the exponential whose **exponent is not positive**; it is never above 1:
#
# ```
# x =  2:      1   / (1 + e^-2)           x >= 0:      1     / (1 + e^-|x|)
# x = -2:    e^-2  / (1 + e^-2)           x <  0:   e^-|x|   / (1 + e^-|x|)
# ```
#
# And not both forms for all numbers: `np.where(test, a, b)` computes the whole of a and the whole of b
# before it chooses, so the one that is thrown away overflows all the same, and warns.

# %%
#| export
@op(method=True)
@any_numbers
def sigmoid(x):
    """1 / (1 + e^-x), between 0 and 1, without overflow for any x. Integers give float32.

    >>> sigmoid(Tensor([0., 2., -1000.]))
    tensor([0.5000, 0.8808, 0.0000])
    """
    ### BEGIN SOLUTION
    small = np.exp(-abs(x))                          # e^-|x|, never above 1
    return np.maximum(x >= 0, small) / (1 + small)   # above the line: 1 (True) where x >= 0, else small
    ### END SOLUTION


# %%
def without_overflow(f, *args):
    """f(*args); an exponential that grows beyond all floats on the way is an error."""
    with np.errstate(over="raise", invalid="raise"):
        try:
            return f(*args)
        except FloatingPointError as error:
            error.add_note("Is every exponent 0 or below, for every number? Of np.where both branches are "
                           "computed, for all numbers.")
            raise


class TestSigmoid:
    """Sigmoid"""
    def test_by_hand(self):
        "0 gives one half, 2 gives 0.8808, -2 gives 0.1192"
        expect(sigmoid(Tensor([0., 2., -2.])), [0.5, 0.8807971, 0.1192029])

    def test_sum(self):
        "The two sides share 1 between them: sigmoid(x) + sigmoid(-x) = 1"
        x = Tensor([[0.3, 4.], [-1.5, 11.]])
        expect(sigmoid(x) + sigmoid(-x), [[1., 1.], [1., 1.]])

    def test_large(self):
        "-1000 gives 0 and 1000 gives 1, and no exponential overflows on the way"
        for dtype in "float32", "float64":
            expect(without_overflow(sigmoid, np.array([-1000., 1000.], dtype)), [0., 1.])

    def test_small(self):
        "Small probabilities are numbers too: sigmoid(-20) is 2.06e-9, not 0"
        expect(sigmoid(Tensor([-20.])) * 1e9, [2.0611536], tol=1e-4,
               why="as 1 minus something close to 1 it would be 0")

    def test_far(self):
        "Where e^-x overflows it is not 0 yet: 8.19e-40 at -90 in float32, 2.03e-313 at -720 in float64"
        why = "1 / (1 + inf) would be 0, and of an x cut off at -88 the result would be too large"
        expect(sigmoid(np.array([-90.], "float32")).astype("float64") * 1e39, [0.8194013], tol=1e-4, why=why)
        expect(sigmoid(np.array([-720.])) * 1e300 * 1e13, [2.0322308], why=why)

    def test_nan(self):
        "nan stays nan"
        assert np.isnan(sigmoid(Tensor([math.nan])).data).all()

    def test_dtypes(self):
        "float32 stays float32, float64 stays float64, integers become float32"
        for given, wanted in [("float32", "float32"), ("float64", "float64"), ("int64", "float32")]:
            expect(str(sigmoid(np.array([1, 2], given)).dtype), wanted)
        expect(Tensor([0, 2]).sigmoid(), [0.5, 0.8807971])

    def test_new(self):
        "x itself is left as it was"
        x = Tensor([-1., 2.])
        sigmoid(x)
        expect(x, [-1., 2.])


run_tests(TestSigmoid)

# %% [markdown]
# Its older sister goes from -1 to 1 and is the same S, stretched: tanh(x) = 2 σ(2x) - 1. NumPy has it,
# so it is given; the test compares it with your sigmoid.

# %%
#| export
@op(method=True)
def tanh(x):
    """The hyperbolic tangent, between -1 and 1. Integers give float32."""
    return np.tanh(floats(x))


# %%
class TestTanh:
    """Tanh"""
    def test_from_sigmoid(self):
        "It is a stretched sigmoid: tanh(x) = 2 sigmoid(2x) - 1"
        x = Tensor([[-3., -0.5], [0.25, 2.]])
        expect(tanh(x), 2 * sigmoid(2 * x) - 1)
        expect(x.tanh()[0, 1], -0.4621172)


run_tests(TestTanh)

# %% [markdown]
# ## Exercise 4: softplus
#
# A relu without the corner. Far to the right it is x, far to the left 0, and between them it bends:
#
# $$ \mathrm{softplus}(x) = \log(1 + e^{x}) \qquad
#    \begin{matrix} x: & -2 & 0 & 2 \\ & 0.1269 & 0.6931 & 2.1269 \end{matrix} $$
#
# The same trouble as before: e^1000 overflows. And the same cure, take the large part out. For a
# positive x, 1 + e^x = e^x (e^-x + 1), so the logarithm is x + log(1 + e^-x). Look at the table: 2.1269
# is 2 + 0.1269. For both sides at once:
#
# $$ \mathrm{softplus}(x) = \max(x, 0) + \log(1 + e^{-|x|}) $$
#
# A second trouble is quiet. For x = -20, e^-20 is 2.06e-9, and so is softplus(-20). But float32 cannot
# hold 1 + 2.06e-9: it is 1, and log(1) is 0. The function log1p(e) gives log(1 + e) without ever forming
# 1 + e; every numerical library has it, because this sum loses its small part everywhere.
#
# Your part: softplus of z, into a variable `soft`. What stands around it is given. PyTorch has two more
# arguments. `beta` makes the bend tighter: log(1 + e^z)/β, with z = βx. Where z is above `threshold` the
# result is x itself: PyTorch does compute e^z and must stop before it overflows, and above 20 the two
# differ by less than 2.1e-9, which float32 cannot show beside 20. Your form needs no threshold, so with
# `threshold=math.inf` it must be right as well.

# %%
#| export
@op
@floats_only
def softplus(x, beta=1.0, threshold=20.0):
    """log(1 + e^(beta x)) / beta, without overflow; x itself where beta x is above `threshold`.

    Raises RuntimeError for integers and bools.

    >>> softplus(Tensor([-2., 0., 2.]))
    tensor([0.1269, 0.6931, 2.1269])
    """
    z = x * beta
    ### BEGIN SOLUTION
    soft = np.maximum(z, 0) + np.log1p(np.exp(-abs(z)))
    ### END SOLUTION
    return np.where(z > threshold, x, soft / beta)


# %%
class TestSoftplus:
    """Softplus"""
    def test_by_hand(self):
        "log(1 + e^x): 0.1269 at -2, 0.6931 at 0, 2.1269 at 2"
        expect(softplus(Tensor([-2., 0., 2.])), [0.1269280, 0.6931472, 2.1269280])

    def test_sides(self):
        "softplus(x) - softplus(-x) = x, as for relu"
        x = Tensor([[0.5, 3.], [10., -7.]])
        expect(softplus(x) - softplus(-x), x, tol=1e-5)

    def test_large(self):
        "1000 gives 1000 and -1000 gives 0, and no exponential overflows on the way"
        expect(without_overflow(softplus, np.array([1000., -1000., 15.])), [1000., 0., 15.0000003])
        expect(softplus(Tensor([100., 1000.]), threshold=math.inf), [100., 1000.],
               why="log(1 + e^100) would be inf in float32, threshold or not")

    def test_small(self):
        "softplus(-20) is 2.06e-9: 1 + 2.06e-9 does not exist in float32"
        expect(softplus(Tensor([-20.])) * 1e9, [2.0611536], tol=1e-4,
               why="as the log of a sum that has lost its small part it would be 0")

    def test_beta(self):
        "beta = 2 bends twice as tightly: 1.0635 at 1 instead of 1.3133"
        expect(softplus(Tensor([1., -1.]), 2.), [1.0634640, 0.0634640],
               why="with x in place of z it would be 0.6566 at 1: z = beta x is what bends")

    def test_threshold(self):
        "Above the threshold the result is x itself"
        expect(softplus(Tensor([3., 5.]), threshold=4.), [3.0485874, 5.])

    def test_nan(self):
        "nan stays nan"
        assert np.isnan(softplus(Tensor([math.nan])).data).all()

    def test_integers(self):
        "Integers are refused"
        expect_error(RuntimeError, softplus, Tensor([1, 2]), says=["int64", "float"])


run_tests(TestSoftplus)

# %% [markdown]
# ## Exercise 5: silu
#
# Look at relu once more, as a product: x times a gate, and the gate is 1 where x is positive, else 0. A
# soft relu is x times a soft gate, and you have one that goes from 0 to 1. (x is an array here, without
# the methods of a tensor. But an op takes arrays as well as tensors, and for an array it gives an array.)
# Let x open its own gate:
#
# $$ \mathrm{silu}(x) = x\,\sigma(x) \qquad \begin{matrix} x: & -1 & 2 \\
#    \text{gate:} & 0.2689 & 0.8808 \\ & -0.2689 & 1.7616 \end{matrix} $$
#
# Unlike all before, it is not monotonic: it falls to about -0.28 near x = -1.28 and rises again to 0.
# LLaMA and its relatives use it. Its other name is swish.

# %%
#| export
@op
@floats_only
def silu(x):
    """x times sigmoid(x). Raises RuntimeError for integers and bools.

    >>> silu(Tensor([-1., 2.]))
    tensor([-0.2689,  1.7616])
    """
    ### BEGIN SOLUTION
    return x * sigmoid(x)
    ### END SOLUTION


# %%
class TestSilu:
    """SiLU"""
    def test_by_hand(self):
        "The gate of -1 is 0.2689, so silu(-1) = -0.2689; and silu(2) = 2 * 0.8808"
        expect(silu(Tensor([-1., 2.])), [-0.2689414, 1.7615942])

    def test_valley(self):
        "It dips below 0 and comes back: -0.2785 at -1.2785, -0.0335 at -5"
        expect(silu(Tensor([[-1.2784645], [-5.]])), [[-0.2784645], [-0.0334643]])

    def test_large(self):
        "Far out it is relu: 1000 stays 1000, -1000 gives 0"
        expect(without_overflow(silu, np.array([1000., -1000.], "float32")), [1000., 0.])
        expect(silu(np.array([-90.], "float32")).astype("float64") * 1e37, [-0.7374611], tol=1e-4,
               why="with a gate of 1 / (1 + e^90), which is inf below the line, it would be 0")

    def test_integers(self):
        "Integers are refused"
        expect_error(RuntimeError, silu, Tensor([1, 2]), says=["int64", "float"])


run_tests(TestSilu)

# %% [markdown]
# ## Exercise 6: gelu
#
# Another gate, and a good reason for it. Draw a number from the normal distribution (mean 0, deviation
# 1). How likely is it that **x is the larger one**? For x = 0 one half; for x = 1, 84.13 %, which is Φ(1)
# in every table. Let that be the gate:
#
# $$ \mathrm{gelu}(x) = x\,\Phi(x) \qquad \Phi(x) = \tfrac12\left(1 + \mathrm{erf}\,\tfrac{x}{\sqrt2}\right)
#    \qquad \begin{matrix} x: & -1 & 1 & 2 \\ \text{gate:} & 0.1587 & 0.8413 & 0.9772 \\
#    & -0.1587 & 0.8413 & 1.9545 \end{matrix} $$
#
# erf, the error function, is an op of module 01. It is not cheap, and GPT-2 was trained with a substitute,
# which PyTorch calls `approximate="tanh"`. (As tanh(u) = 2σ(2u) - 1, it is a sigmoid, too.)
#
# $$ \Phi(x) \approx \tfrac12\left(1 + \tanh u\right) = \sigma(2u)
#    \qquad u = \sqrt{\tfrac{2}{\pi}}\,(x + 0.044715\,x^3) $$
#
# gelu(2) is 1.9545 with Φ and 1.9546 with this: close, but a model gives its own numbers only with the
# one it was trained with. Write the cube as a product: `x**3` is a general power, and you will measure
# what that costs.
#
# Your part is the gate, into a variable `gate`. An `approximate` that is neither "none" nor "tanh" is
# named, with both words that are allowed: `raise RuntimeError(f"gelu: approximate={approximate!r} ...")`.
# `keeps=True` says that what follows the output is not for the caller: module 05 will want the gate again.
# `in_pieces` does a large array piece by piece: so many steps are quicker while a piece stays in the cache.

# %%
#| export
@op(keeps=True)
@floats_only
@in_pieces
def gelu(x, approximate="none"):
    """x times the probability that a normally distributed number is smaller than x.

    approximate: "none" for the exact probability, "tanh" for the substitute that GPT-2 uses. Raises
    RuntimeError for another one, and for integers and bools. Hendrycks and Gimpel, arXiv:1606.08415.

    >>> gelu(Tensor([-1., 2.]))
    tensor([-0.1587,  1.9545])
    """
    ### BEGIN SOLUTION
    if approximate == "none":
        gate = 0.5 * (1 + erf(x * math.sqrt(0.5)))
    elif approximate == "tanh":
        gate = 0.5 * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    else:
        raise RuntimeError(f"gelu: approximate={approximate!r} is not known; it can be 'none' or 'tanh'.")
    ### END SOLUTION
    return x * gate, gate


# %%
class TestGelu:
    """GELU"""
    x = Tensor([[-2., -1., -0.5], [0.5, 1., 2.]])

    def test_by_hand(self):
        "The gate of 1 is 0.8413, of -1 it is 0.1587: what lies below one deviation, and above"
        expect(gelu(Tensor([1., -1.])), [0.8413447, -0.1586553])

    def test_exact(self):
        "x times the normal distribution, in any shape"
        expect(gelu(self.x), [[-0.0455003, -0.1586553, -0.1542688], [0.3457312, 0.8413447, 1.9544997]])

    def test_tanh(self):
        "The tanh form is another function: 1.95460 at 2, not 1.95450"
        expect(gelu(self.x, approximate="tanh"),
               [[-0.0454023, -0.1588080, -0.1542860], [0.3457140, 0.8411920, 1.9545977]],
               why="without 0.044715 it would be 1.921 at 2, with a square for the cube 1.940")

    def test_large(self):
        "Far out both are relu, and nothing overflows: 30 stays 30, -30 gives 0"
        for form in "none", "tanh":
            expect(without_overflow(gelu, np.array([30., -30.], "float32"), form), [30., 0.])

    def test_float32(self):
        "float32 stays float32, output and gate"
        out, gate = gelu.forward(np.array([1., 2.], "float32"))
        expect(str(out.dtype) + " " + str(gate.dtype), "float32 float32",
               why="np.sqrt(2.) is a float64 and would widen; math.sqrt(2) is a Python number, it does not")

    def test_kept(self):
        "The gate is kept for module 05: the forward gives (x * gate, gate)"
        for form, gates in ("none", [0.1586553, 0.9772499]), ("tanh", [0.1588080, 0.9772989]):
            out, gate = gelu.forward(np.array([-1., 2.]), form)
            expect(gate, gates)

    def test_unknown(self):
        "Another approximate is an error that names it and says what is allowed"
        expect_error(RuntimeError, gelu, self.x, approximate="erf", says=["erf", "none", "tanh"])

    def test_integers(self):
        "Integers are refused"
        expect_error(RuntimeError, gelu, Tensor([1, 2]), says=["int64", "float"])


run_tests(TestGelu)

# %% [markdown]
# ## Exercise 7: softmax
#
# Three classes got the scores [1, 2, 3]. How sure is that, in shares that sum to 1? Make all of them
# positive by e^x, then divide by their sum:
#
# ```
# scores      1        2        3
# e^x         2.7183   7.3891  20.0855     sum 30.1929
# shares      0.0900   0.2447   0.6652     sum 1
# ```
#
# $$ \mathrm{softmax}(x)_i = \frac{e^{x_i}}{\sum_j e^{x_j}} = \frac{e^{x_i - m}}{\sum_j e^{x_j - m}} \qquad
#    m = \max_j x_j $$
#
# The second form is there because e^1001 overflows and inf/inf is nan. Subtracting the same number from
# all scores divides top and bottom by the same factor, so no share changes: [1001, 1002, 1003] has the
# shares of [1, 2, 3]. Take the largest score, and no exponent is above 0 while the sum is at least 1.
#
# `dim` is the dimension along which the shares sum to 1. Scores of shape (2, 3) can be read in two ways:
#
# ```
# scores         dim=1: two choices of three     dim=0: three choices of two
# 1  2  3        0.0900  0.2447  0.6652          0.1192  0.7311  0.9526
# 3  1  0        0.8438  0.1142  0.0420          0.8808  0.2689  0.0474
# ```
#
# Maximum and sum are taken along the same dim, **each row its own**: subtract 1003 from a row of scores
# around 1, and it becomes 0/0. Remember from module 01 what lets a (2, 1) of maxima go back to a (2, 3); x
# is an array here, so its `max` and `sum` call it `keepdims`, and `dim` is their `axis`.
#
# x minus its maxima is a new array and yours, so the rest may happen in it: `np.exp(a, out=a)` and `a /= s`
# make no further one. That is no duty; the measurements below show what it saves. (`promote=False`: which
# dtype comes out is the op's own business, because of `dtype=`.)

# %%
#| export
@op(method=True, promote=False)
@along_dim
def softmax(x, dim, dtype=None):
    """Shares between 0 and 1 that sum to 1 along `dim`, from scores x of any shape, without overflow.

    dtype: what x is converted to first (`along_dim` does that). Raises RuntimeError for integers unless
    a dtype of floats is given, IndexError if there is no such dim.

    >>> softmax(Tensor([[1., 2., 3.], [1003., 1001., 1000.]]), dim=1)
    tensor([[0.0900, 0.2447, 0.6652],
            [0.8438, 0.1142, 0.0420]])
    """
    ### BEGIN SOLUTION
    shares = x - x.max(dim, keepdims=True)
    np.exp(shares, out=shares)                       # in place from here on: this array is ours
    shares /= shares.sum(dim, keepdims=True)
    return shares
    ### END SOLUTION


# %%
class TestSoftmax:
    """Softmax"""
    x = Tensor([[1., 2., 3.], [3., 1., 0.]])

    def test_by_hand(self):
        "[1, 2, 3] become the shares 0.0900, 0.2447, 0.6652"
        expect(softmax(Tensor([1., 2., 3.]), 0), [0.0900306, 0.2447285, 0.6652410])

    def test_thousand(self):
        "Adding 1,000 to every score changes no share"
        expect(softmax(Tensor([1001., 1002., 1003.]), 0), [0.0900306, 0.2447285, 0.6652410],
               why="without subtracting the largest score it would be inf/inf, nan")

    def test_largest(self):
        "It is the largest score that is subtracted: [0, 1000] gives [0, 1]"
        expect(softmax(Tensor([[0., 1000.], [1000., 0.]]), 1), [[0., 1.], [1., 0.]],
               why="minus the least score, or the mean, e^1000 or e^500 would still be inf")

    def test_exact(self):
        "Nothing is added for safety: the sum is at least 1, and a share of 9.36e-14 is no 1e-9"
        why = "1e-9 added to the exponentials or 1e-7 to their sum would be found here"
        expect(softmax(Tensor([0., -30.]), 0)[1] * 1e13, 0.9357623, tol=1e-5, why=why)
        expect(softmax(np.array([1., 2., 3.]), 0),
               [0.09003057317038, 0.24472847105480, 0.66524095577482], tol=1e-13, why=why)

    def test_own_maximum(self):
        "Each row has its own maximum: rows of 1 to 3 and of 1001 to 1003 have the same shares"
        expect(softmax(Tensor([[1., 2., 3.], [1001., 1002., 1003.]]), 1),
               [[0.0900306, 0.2447285, 0.6652410]] * 2,
               why="with the maximum of the whole array for both rows, the first would be 0/0, nan")

    def test_dim(self):
        "Along dim 0 the columns sum to 1: a (2, 3) of scores holds three choices between two"
        expect(softmax(self.x, 0), [[0.1192029, 0.7310586, 0.9525741], [0.8807971, 0.2689414, 0.0474259]])

    def test_square(self):
        "Along dim 1 of a square each row sums to 1, though a sum of shape (2,) would fit the columns too"
        expect(softmax(Tensor([[1., 2.], [4., 1.]]), dim=1), [[0.2689414, 0.7310586], [0.9525741, 0.0474259]],
               why="a sum of shape (2,) would meet the columns; keep the dimension: (2, 1)")

    def test_three_dims(self):
        "In (2, 3, 2) along dim 1, and counted from the end it is -2; x.softmax is the same op"
        x = Tensor(np.arange(12.).reshape(2, 3, 2) * np.array([1., 0.5]))
        shares = [0.0158762, 0.1173104, 0.8668133], [0.0900306, 0.2447285, 0.6652410]
        expect(x.softmax(1).transpose(1, 2), [shares, shares])
        expect(x.softmax(dim=-2), softmax(x, 1))

    def test_forbidden(self):
        "A score of minus infinity gets a share of exactly 0: module 12 masks with it"
        expect(softmax(Tensor([1., -math.inf, 2.]), 0), [0.2689414, 0., 0.7310586])

    def test_temperature(self):
        "Scores divided by a temperature of 0.5 give sharper shares: 0.0159, 0.1173, 0.8668"
        expect(softmax(Tensor([1., 2., 3.]) / 0.5, 0), [0.0158762, 0.1173104, 0.8668133])

    def test_new(self):
        "The scores are left as they were"
        x = Tensor([1., 2.])
        softmax(x, 0)
        expect(x, [1., 2.], why="x -= ... would write into the caller's numbers; x - ... makes a new array")

    def test_edges(self):
        "One number gets all of it; an empty batch stays empty; float64 stays float64"
        expect(softmax(Tensor(7.), 0), 1.)
        expect(softmax(Tensor([[7.]]), 1), [[1.]])
        expect(softmax(Tensor(np.zeros((0, 3))), 1).shape, (0, 3))
        expect(str(softmax(np.array([1., 2.]), 0).dtype), "float64")

    def test_integers(self):
        "Integers are refused, unless the dtype of the shares is named"
        expect_error(RuntimeError, softmax, Tensor([1, 2, 3]), 0, says=["int64", "float"])
        expect(softmax(Tensor([1, 2, 3]), 0, dtype="float32"), [0.0900306, 0.2447285, 0.6652410])

    def test_no_such_dim(self):
        "A (2, 3) has no dim 2: IndexError; and dim must be named: TypeError"
        expect_error(IndexError, softmax, self.x, 2, says=["2"])
        expect_error(TypeError, softmax, self.x)


run_tests(TestSoftmax)

# %% [markdown]
# Divided by a *temperature* before the softmax, scores give sharper shares (temperature below 1) or
# flatter ones (above 1). Module 13 chooses words with it: the colder, the more often the most likely one.
#
# ## Exercise 8: log_softmax
#
# Training will ask: how surprised is the model by the right answer? The measure of surprise is -log of
# its share (module 04). Take the scores [0, -200]. The second share is e^-200, about 1e-87, and float32
# ends at 1e-45: softmax gives [1, 0], its log is [0, **-inf**], and with one such number the loss of a
# whole batch is infinite. The right answer is [0, **-200**], a perfectly ordinary number. The logarithm
# has to be taken *before* the share vanishes:
#
# $$ \log \frac{e^{x_i - m}}{\sum_j e^{x_j - m}} = (x_i - m) - \log \sum_j e^{x_j - m} $$
#
# ```
# scores               1         2         3            m = 3
# x - m               -2        -1         0
# e^(x - m)            0.1353    0.3679    1            sum 1.5032, its log 0.4076
# log_softmax         -2.4076   -1.4076   -0.4076
# ```

# %%
#| export
@op(method=True, promote=False)
@along_dim
def log_softmax(x, dim, dtype=None):
    """The logarithms of the shares that softmax gives along `dim`, also of those too small for a float.

    dtype: what x is converted to first. Raises RuntimeError for integers unless a dtype of floats is
    given, IndexError if there is no such dim.

    >>> log_softmax(Tensor([0., -200.]), dim=0)
    tensor([   0., -200.])
    """
    ### BEGIN SOLUTION
    x = x - x.max(dim, keepdims=True)
    x -= np.log(np.exp(x).sum(dim, keepdims=True))
    return x
    ### END SOLUTION


# %%
class TestLogSoftmax:
    """Log-softmax"""
    x = Tensor([[1., 2., 3.], [3., 1., 0.]])

    def test_by_hand(self):
        "[1, 2, 3] give -2.4076, -1.4076, -0.4076: one apart, like the scores"
        expect(log_softmax(Tensor([1., 2., 3.]), 0), [-2.4076060, -1.4076060, -0.4076060])
        expect(log_softmax(np.array([1., 2., 3.]), 0),
               [-2.40760596444438, -1.40760596444438, -0.40760596444438], tol=1e-13)

    def test_vanishing(self):
        "[0, -200] give [0, -200]: the share is too small for float32, its logarithm is not"
        expect(log_softmax(Tensor([0., -200.]), 0), [0., -200.],
               why="a log taken after the division would be that of 0, -inf (or of what was added to it)")

    def test_softmax(self):
        "e to the power of it is softmax, along the same dim"
        for dim in 0, 1, -1:
            expect(np.exp(log_softmax(self.x, dim)), softmax(self.x, dim))

    def test_dim(self):
        "Along dim 0 of a (2, 3), and along dim 1 of a square"
        expect(log_softmax(self.x, 0),
               [[-2.1269280, -0.3132617, -0.0485874], [-0.1269280, -1.3132617, -3.0485874]])
        expect(log_softmax(Tensor([[1., 2.], [4., 1.]]), dim=1),
               [[-1.3132617, -0.3132617], [-0.0485874, -3.0485874]])

    def test_thousand(self):
        "Rows of 1001 to 1003 and of 1 to 3 have the same logarithms"
        expect(log_softmax(Tensor([[1001., 1002., 1003.], [1., 2., 3.]]), 1),
               [[-2.4076060, -1.4076060, -0.4076060]] * 2)

    def test_new(self):
        "The scores are left as they were"
        x = Tensor([1., 2.])
        log_softmax(x, 0)
        expect(x, [1., 2.])

    def test_edges(self):
        "One score is certain: log 1 = 0; (1, 2, 1) along its last dim too; empty stays empty"
        expect(log_softmax(Tensor(7.), -1), 0.)
        expect(Tensor([[[5.], [-3.]]]).log_softmax(-1), [[[0.], [0.]]])
        expect(log_softmax(Tensor(np.zeros((0, 3))), 1).shape, (0, 3))

    def test_errors(self):
        "Integers are refused, and a (2, 3) has no dim -3"
        expect_error(RuntimeError, log_softmax, Tensor([1, 2, 3]), 0, says=["int64", "float"])
        expect_error(IndexError, log_softmax, self.x, -3)


run_tests(TestLogSoftmax)

# %% [markdown]
# ## The corner
#
# Back to the opening. Two linear layers cannot draw a corner. Two with a relu between them can: |x| is
# relu(x) + relu(-x), the weights are [[1], [-1]] and [[1, 1]]. With three neurons they draw a tent of
# height 1 that stands at 1 and is 0 everywhere else:
#
# $$ \mathrm{tent}(x) = \mathrm{relu}(x) - 2\,\mathrm{relu}(x - 1) + \mathrm{relu}(x - 2) $$
#
# And from tents, each moved and scaled, you can put up any curve without jumps between two ends, as closely
# as you like: take narrower tents, and more of them. So one bend is enough to bend anything. What remains
# is to find the weights when nobody tells you the curve, only some of its points: that is training,
# modules 04 to 07.

# %%
def tent(x):
    return relu(x) - 2 * relu(x - 1) + relu(x - 2)


def curve(x):
    return 2 * tent(x) + 4 * tent(x - 1) + 3 * tent(x - 2) - 1 * tent(x - 4)


class TestTent:
    """One bend is enough"""
    def test_tent(self):
        "Three bends make a tent: 0 0.5 1 0.5 0, and 0 outside"
        expect(tent(Tensor([-3., 0., 0.5, 1., 1.5, 2., 9.])), [0., 0., 0.5, 1., 0.5, 0., 0.])

    def test_curve(self):
        "Tents side by side go through any points: 0 2 4 3 0 -1 0"
        expect(curve(Tensor([0., 1., 2., 3., 4., 5., 6.])), [0., 2., 4., 3., 0., -1., 0.])


run_tests(TestTent)


# %%
@measure
def draw_the_curve():
    x = Tensor(np.arange(0, 6.01, 0.1, dtype="float32"))
    heights = np.round(curve(x).numpy() * 2)
    for row in range(8, -3, -1):
        print(f"{row / 2:5.1f} |" + "".join(["*" if h == row else "-" if row == 0 else " " for h in heights]))


# %% [markdown]
# ## Seven curves and their slopes
#
# A slope is measured by a small step to both sides; in module 05 the slopes decide what can be learned.
# Look for these: where is a slope 0 over a whole stretch? Whose largest slope is only 1/4? Whose slope is
# above 1 somewhere, and whose is negative somewhere?

# %%
CURVES = relu, leaky_relu, sigmoid, tanh, softplus, silu, gelu


def slope(f, x, h=1e-4):
    return (f(x + h) - f(x - h)) / (2 * h)


@measure
def slopes():
    x = np.array([-4., -2.5, -1.5, -0.5, 0., 0.5, 1.5, 2.5, 4.])
    print("slope at    " + "".join([f"{v:7.1f}" for v in x]))
    for f in CURVES:
        print(f"{f.name:12}" + "".join([f"{v:7.2f}" for v in slope(f, x)]))


@measure
def draw_curves():
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("The same as a picture needs matplotlib: pip install matplotlib")
        return
    x = np.linspace(-4, 4, 401)
    _, (above, below) = plt.subplots(2, 1, figsize=(7, 7), sharex=True)
    for f in CURVES:
        above.plot(x, f(x), label=f.name)
        below.plot(x, slope(f, x))
    above.set_title("activation")
    above.legend()
    below.set_title("slope")
    for axes in above, below:
        axes.grid(alpha=0.3)
    if plt.get_backend().lower() == "agg":
        print("There is no window for the picture here: open this file as a notebook.")
    else:
        plt.show()


# %% [markdown]
# relu has slope 0 over its whole left side. The sigmoid's largest is 1/4, at 0, and far out it is nearly 0,
# as tanh's is. Those of silu and gelu are above 1 right of about 1, and negative left of about -1. (At 0
# relu has a corner and no slope; 0.50 is the mean of its two sides.)
#
# ## Which one to take
#
# | | gives | slope | at home in |
# |---|---|---|---|
# | relu | 0 and up | 0 or 1 | hidden layers of simple and convolutional networks: try it first |
# | leaky_relu | anything | s or 1 | the same, where too many neurons stay at 0 |
# | sigmoid | 0 to 1 | at most 1/4 | a yes or no at the end; gates |
# | tanh | -1 to 1 | at most 1 | states that must not grow: recurrent networks |
# | softplus | above 0 | 0 to 1 | a number that must be positive, such as a deviation |
# | silu, gelu | -0.28, -0.17 and up | -0.13 to 1.13 at most | hidden layers of transformers |
# | softmax | shares that sum to 1 | | one of many at the end; attention |
# | log_softmax | 0 and down | | losses, always in place of log(softmax) |
#
# Between two hidden layers most of them work, and better data gain more than a better bend. At the end
# of a network there is no choice by taste: what is the number supposed to *be*?
#
# ## Measure
#
# Guess before you run, and write your guesses into the four variables.
#
# 1. relu takes a nanosecond a number or less. How many does gelu (tanh form) take? And how many with `x**3`
#    in place of the product?
# 2. x takes 4 MB. How much *new* memory does your softmax hold at its peak, the result included? And the
#    formula typed straight from the book, with two exponentials?

# %%
guess_of_gelu, guess_with_power = None, None         # nanoseconds a number
guess_of_softmax, guess_from_the_book = None, None   # MB


@measure
def what_a_number_costs():
    x = np.random.default_rng(0).normal(size=1_000_000).astype("float32")
    e, c = np.exp(-abs(x)), 2 * math.sqrt(2 / math.pi)
    for name, f in [("relu", relu), ("tanh", tanh), ("sigmoid, yours", sigmoid),
                    ("sigmoid, 1 / (1 + exp(-x))", lambda x: 1 / (1 + np.exp(-x))),
                    ("  of it: the exponential", lambda x: np.exp(-x)),
                    ("  a choice, by np.where", lambda x: np.where(x >= 0, 1, e)),
                    ("  a choice, by np.maximum", lambda x: np.maximum(x >= 0, e)),
                    ("gelu, exact", gelu), ("gelu, tanh form", lambda x: gelu(x, "tanh")),
                    ("gelu, tanh form by x**3", lambda x: x * sigmoid(c * (x + 0.044715 * x ** 3)))]:
        print(f"{name:27} {timed(f, x, repeat=7) / x.size * 1e9:5.1f} ns a number")
    print(f"you guessed {guess_of_gelu} and {guess_with_power} for gelu")


@measure
def what_softmax_holds():
    x = np.random.default_rng(0).normal(size=(1000, 1000)).astype("float32")

    def from_the_book(x):
        return np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)

    for name, f in ("yours", lambda: softmax(x, 1)), ("from the book", lambda: from_the_book(x)):
        print(f"softmax, {name:13} {peak_bytes(f) / 1e6:5.1f} MB at its peak, {timed(f) * 1e3:.1f} ms")
    print(f"you guessed {guess_of_softmax} and {guess_from_the_book} MB")


# %% [markdown]
# What should come out where nothing else keeps the machine busy (else run the cell again later): relu
# does one comparison and mostly waits for memory. `x**3` makes gelu several times slower, because NumPy
# has no special case for a cube and calls a general power for every number. Of the two ways to choose
# between 1 and e^-|x|, `np.where` takes several times as long: the signs are random, so the processor's
# guess which way to go is wrong half of the time. `np.maximum` needs no guess, because the larger one is
# the right one. Stability still has a price against 1 / (1 + exp(-x)): some more passes over the array.
#
# A softmax needs its result and nothing else of that size: 4 MB if everything after the subtraction
# happens in place, 8 MB with one more array, 12 MB from the book. In module 12 x will be the scores of
# every word with every word, and this will decide how long a text may be.
#
# What may differ: tanh, which on some processors costs hardly more than relu and on others more than an
# exponential; whether the exact gelu is slower than the tanh form; and all the digits.
#
# ## Reflect
#
# Answer in a sentence or two each, then compare with `## reflection-1` and so on in HINTS.md.
#
# 1. A network of twenty layers uses sigmoids throughout. Look at the table of slopes: what happens to a
#    small nudge of the first layer's input on its way to the output?
# 2. Somebody calls softmax with dim=0 where dim=1 is right. All shares are between 0 and 1 and sum to 1.
#    How could a test see it?
# 3. You measured how many times cheaper relu is than gelu. While a small GPT learns, gelu takes around a
#    tenth of the time, matrix products most of the rest. How much faster would relu make it, and why does
#    a GPT use gelu all the same?
#
# ## Where this code lives
#
# `tito export 02` writes it to `tinytorch/nn/`: `activations.py` (what you wrote), `floats.py` (the
# decorators) and `more_activations.py`, in which a dozen relatives (elu, hardswish, mish, ...) are a line
# or two each, made of yours.
#
# ```python
# import tinytorch as torch
# import tinytorch.nn.functional as F
# print(torch.randn(2, 5).softmax(-1).sum(-1), F.gelu(torch.tensor([1.0])))
# ```
#
# Module 03 wraps them as layers, 04 takes log_softmax and softplus into its losses, 12 softmax into
# attention. Module 18 writes gelu and softmax as one pass over memory each.
#
# In the real world: PyTorch's CPU softmax takes maximum, exponentials and sum of one row before it turns
# to the next, so that the row stays in the processor's cache; ours does one step for the whole array and
# then the next step. Same formula, same numbers, fewer trips to memory. FlashAttention goes further: it
# finds maximum and sum in a single pass and corrects the sum whenever a larger score turns up. You will
# write that in module 12.
