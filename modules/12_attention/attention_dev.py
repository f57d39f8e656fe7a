# %% [markdown]
# # Module 12: Attention, ask everyone at once
#
# A reader has a memory of one number, h. At each word x it becomes tanh(x + h/2): half of the old, plus
# the new. The first word is 1, and all that follow are 0, to see how long it is remembered:
#
# ```
# after word 1    0.7616          after word 3    0.1797          after word 20    ?
# ```
#
# Guess the last one, on paper. Then think of a sentence whose first and last word belong together: "the
# *keys* that the man who lives beside the baker with the old blue car lost *were* found". **How can word
# 20 know what word 1 was?**

# %%
#| default_exp nn.attention
from tito.lesson import expect, expect_error, measure, peak_bytes, run_tests, timed

# %%
import math

import numpy as np
from attention_parts_dev import (
    attention_gradients,
    check_attention,
    drawn_to_keep,
    grouped,
    merged_mask,
    part_by_part,
    ungrouped,
)
from heads_dev import HeadsBase, sorted_out
from tiles_dev import Part, Tiling, part_of, tiled_gradients

from tinytorch.core.autograd import composite, no_grad, vjp
from tinytorch.core.creation import arange, ones_like
from tinytorch.core.indexing import tril
from tinytorch.core.joining import cat
from tinytorch.core.math import sum                     # from here on not Python's, but of tensors
from tinytorch.core.op import op
from tinytorch.core.tensor import Tensor
from tinytorch.nn.activations import relu, sigmoid, tanh
from tinytorch.nn.floats import floats_only
from tinytorch.nn.layers import linear
from tinytorch.nn.more_activations import elu

# %%
# Those were for your code. These are for the parts that are given: tests, measurements, pictures.
from pictures_dev import draw_attention, mask_text
from recurrent_layers_dev import LSTM

from tinytorch.core.backend import manual_seed
from tinytorch.core.checks import check_gradient
from tinytorch.core.creation import randn


# %%
@measure
def remembered_of_the_first_word():
    h = 0.
    for t in range(20):
        h = math.tanh((t == 0) + h / 2)
        if t in (0, 1, 2, 9, 19):
            print(f"after word {t + 1:2}: {h:.7f}")


# %% [markdown]
# 0.0000014 of what was 1: nineteen words have each halved it, and 0.5¹⁹ is two in a million. A larger
# factor than a half? Above 1 the old drowns the new. This module goes through three answers: a memory (1,
# 2), which is what one had until 2017; then *asking*: every word asks all the others (3 to 8); and asking
# in little memory (9 to 11).
#
# ## Exercise 1: one state, carried on
#
# The reader above, with vectors. Its state h has H numbers, each word x has I. One matrix says what of
# the word goes in, another what of the old state: W_ih (H, I) and W_hh (H, H). Everything is a row of a
# batch:
#
# $$ h' = \tanh(x\, W_{ih}^\top + b_{ih} + h\, W_{hh}^\top + b_{hh}) $$
#
# With W_ih = 1 and W_hh = 1/2 that is the opening: x = 1, h = 0 gives tanh(1) = 0.7616; then x = 0 gives
# tanh(0.3808) = 0.3634. `linear(x, weight, bias)` is one of the products with its bias. (There are two
# biases because PyTorch has two. One would do.)

# %%
#| export nn.recurrent
def rnn_step(x, h, w_ih, w_hh, b_ih=None, b_hh=None, nonlinearity="tanh"):
    """The next state (B, H) of a recurrent network that has the state h and reads x (B, I).

    w_ih: (H, I), w_hh: (H, H), b_ih and b_hh: (H,) or None. nonlinearity: "tanh" or "relu"; ValueError for
    another. Elman, "Finding structure in time" (1990).

    >>> rnn_step(Tensor([[0.]]), Tensor([[0.7616]]), Tensor([[1.]]), Tensor([[0.5]]))
    tensor([[0.3634]])
    """
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"rnn_step: nonlinearity={nonlinearity!r} is not known; it can be 'tanh' or 'relu'.")
    ### BEGIN SOLUTION
    z = linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh)
    return tanh(z) if nonlinearity == "tanh" else relu(z)
    ### END SOLUTION


# %%
def rows(*numbers): return Tensor(np.array(numbers, "float64"))


class TestRnnStep:
    """One state, carried on"""
    def test_by_hand(self):
        "x + h/2 through tanh: 0.7616, then 0.3634, then 0.1797"
        h = rows([0.])
        for x, want in (1., 0.761594), (0., 0.363396), (0., 0.179724):
            h = rnn_step(rows([x]), h, rows([1.]), rows([0.5]))
            expect(h, [[want]], tol=1e-5, why="0.4621 first: the two weights are exchanged; 1: no tanh")

    def test_matrices(self):
        "Two numbers in, three in the state: w_ih is (3, 2), w_hh (3, 3), each with its bias"
        w_ih, w_hh = rows([1., 2.], [0., 1.], [1., 0.]), rows([0., 1., 0.], [0., 0., 1.], [2., 0., 0.])
        args = rows([1., 10.]), rows([100., 200., 300.]), w_ih, w_hh
        expect(rnn_step(*args, nonlinearity="relu"), [[221., 310., 201.]],
               why="1 everywhere: tanh, and `nonlinearity` says relu; 221 = 1*1 + 2*10 + 200; 621 first: "
                   "w_hh was not transposed, use `linear`")
        expect(rnn_step(*args, Tensor([1., 2., 3.]).double(), Tensor([-1000., 20., 30.]).double(), "relu"),
               [[0., 332., 234.]], why="-778 first: no relu; 222: b_hh is missing; 22: relu of each half, "
                                       "and then the sum")

    def test_batch(self):
        "Each row of a batch has a state of its own, and the way back is known"
        x, h = Tensor(np.array([[1.], [2.]]), requires_grad=True), rows([10.], [20.])
        out = rnn_step(x, h, rows([1.]), rows([0.5]), nonlinearity="relu")
        expect(out, [[6.], [12.]], why="x + h/2 of the same row; 1: tanh, and `nonlinearity` says relu")
        assert getattr(out, "requires_grad", False), "no history: compute with tensors, not with their arrays"
        out.sum().backward()
        expect(x.grad, [[1.], [1.]], why="the gradient of x + h/2 by x")

    def test_unknown(self):
        "Another nonlinearity is an error that names it (given)"
        expect_error(ValueError, rnn_step, rows([1.]), rows([0.]), rows([1.]), rows([1.]),
                     nonlinearity="sigmoid", says=["sigmoid"])


run_tests(TestRnnStep)

# %% [markdown]
# ## Exercise 2: a memory with doors
#
# The state was multiplied, word by word, and what is multiplied fades (or explodes). An LSTM (1997) has a
# second state, c, that is only *added* to, and three doors, numbers between 0 and 1:
#
# ```
# f   forget    how much of the old c stays               c' = f c + i g
# i   input     how much of the new, g, comes in          h' = o tanh(c')
# o   output    how much of it is shown, as h
# ```
#
# All four are sums as in exercise 1 (those before its tanh), each with matrices of its own, and these stand
# below each other: the four times H numbers come in the order **i, f, g, o**. g goes through tanh, the
# doors through the sigmoid. Both states are handed back, as (h', c'); the old ones stay as they are.
#
# One number in the state, the four sums 1, 2, 0.5 and 0, and c = 1. The doors: i = σ(1) = 0.7311, f =
# σ(2) = 0.8808, o = σ(0) = 0.5; and g = tanh(0.5) = 0.4621. So c' = 0.8808 * 1 + 0.7311 * 0.4621 =
# 1.2186, and h' = 0.5 * tanh(1.2186) = 0.4196.
#
# With f near 1 a c stays for hundreds of words, and its gradient with it: the way back through `f c` is a
# product with f, and no tanh. (`z.chunk(4, -1)` cuts the last dimension into four.)

# %%
#| export nn.recurrent
def lstm_step(x, h, c, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next (h, c), each (B, H), of a long short-term memory that reads x (B, I).

    w_ih: (4 H, I), w_hh: (4 H, H), b_ih and b_hh: (4 H,) or None, their rows in the order i, f, g, o.
    Hochreiter and Schmidhuber (1997); the door f is by Gers and others (1999).
    """
    ### BEGIN SOLUTION
    i, f, g, o = (linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh)).chunk(4, -1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c
    ### END SOLUTION


# %%
class TestLstmStep:
    """A memory with doors"""
    def one(self, z, c=1., h=0.):
        w_hh = rows([0.], [0.], [0.], [0.])
        return lstm_step(rows([1.]), rows([h]), rows([c]), rows(*[[n] for n in z]), w_hh)

    def test_by_hand(self):
        "The sums 1, 2, 0.5, 0 and c = 1: c becomes 1.2186, h 0.4196"
        h, c = self.one([1., 2., 0.5, 0.])
        expect(c, [[1.218633]], tol=1e-5,
               why="0.4196: that is h, return (h, c); 1.1381: i and f exchanged; 0.8808: g and o exchanged; "
                   "1.3359: g through the sigmoid; 1.0184: the four sums went through tanh before")
        expect(h, [[0.419625]], tol=1e-5, why="0.6093: h is o * tanh(c), with the new c; 0.3808: the old c")

    def test_untouched(self):
        "The old h and c are left as they were"
        h, c, w = rows([2.]), rows([1.]), rows([1.], [2.], [0.5], [0.])
        lstm_step(rows([1.]), h, c, w, rows([0.], [0.], [0.], [0.]))
        expect([h[0, 0].item(), c[0, 0].item()], [2., 1.], why="written into a state of the caller: no `*=`")

    def test_doors(self):
        "With f open and i shut c stays, with both shut it is 0; with o shut nothing is shown"
        expect(self.one([-50., 50., 3., 0.], c=7.)[1], [[7.]], tol=1e-6,
               why="here f is 1 and i is 0: c is 1 * 7 + 0 * g")
        expect(self.one([-50., -50., 3., 0.], c=7.)[1], [[0.]], tol=1e-6)
        expect(self.one([1., 2., 3., -50.], c=7.)[0], [[0.]], tol=1e-6)

    def test_state(self):
        "The doors look at the old h too, and at both biases"
        w = rows([0.], [0.], [0.], [0.])
        h, c = lstm_step(rows([5.]), rows([2.]), rows([1.]), w, rows([0.5], [1.], [0.25], [0.]))
        expect(c, [[1.218633]], tol=1e-5, why="here all four sums are w_hh times h; 0.5: it is missing")
        half = Tensor(np.array([0.5, 1., 0.25, 0.]))
        expect(lstm_step(rows([5.]), rows([2.]), rows([1.]), w, w, half, half)[1], [[1.218633]], tol=1e-5,
               why="here all four sums are b_ih + b_hh; 0.8470: one of the two is missing")

    def test_two_numbers(self):
        "A state of two: the first two rows are i, the next two f"
        w_ih = rows([50.], [-50.], [-50.], [50.], [50.], [50.], [50.], [-50.])
        h, c = lstm_step(rows([1.]), rows([0., 0.]), rows([3., 5.]), w_ih, Tensor(np.zeros((8, 2))))
        expect(c, [[1., 5.]], tol=1e-6,
               why="`chunk(4, -1)`: of the 4 H numbers the first H are i, the next H f")
        expect(h, [[math.tanh(1.), 0.]], tol=1e-6)


run_tests(TestLstmStep)

# %% [markdown]
# `RNN`, `LSTM` and `GRU` (two doors, no c) are given as layers (`recurrent_layers_dev.py`). Two things
# stay. All of the past must fit into one state, whatever will be asked. And step 20 waits for step 19,
# which waits for step 18: a machine that could do a thousand products at once does one after the other.
#
# ## Ask everyone
#
# So throw the state away. Each word keeps what it has, on two pieces of paper: a *key*, by which it is
# found, and a *value*, what it has to say. A word that wants to know something has a *query*. It compares
# its query with all keys, and takes a mean of the values, in which a key that is like the query weighs
# more.
#
# How like two vectors are is their product. The query [1, 0], and three words:
#
# ```
# key       product    over √2     softmax     value
# [1, 0]       1        0.7071      0.4011       10
# [0, 1]       0        0           0.1978       20        0.4011*10 + 0.1978*20 + 0.4011*60 = 32.03
# [1, 1]       1        0.7071      0.4011       60
# ```
#
# (The 2 in √2 is how many numbers a vector has; why the root, comes in exercise 6.) Word 1 is as near as
# word 19: one product, whatever the distance. And all words can ask at once: the queries are the rows of
# a matrix Q, the keys those of K, the values those of V, and all of it is two matrix products with a
# softmax between them.
#
# ## Exercise 3: who may look at whom
#
# A model that writes word by word must not see the words to come, or it would learn to copy them. T
# queries, S keys: a *mask* (T, S) has True where query i **may look** at key j. Causal means j ≤ i:
#
# ```
# 4 queries, 4 keys            2 new queries after 3 old places: offset 3, 5 keys
# x . . .                      x x x x .        the query at place 3 sees 0 to 3
# x x . .                      x x x x x        the one at place 4 sees all
# x x x .
# x x x x
# ```
#
# On the right a model has read three words, and two more come: query i stands at place i + offset. A row
# of places compared with a column of places is a table of bools; `arange(n, device=device)` counts them,
# on the device that the caller wants. (True is "may look" throughout this module, as in PyTorch's
# `scaled_dot_product_attention`. PyTorch's `MultiheadAttention` means the opposite: True is hidden.)

# %%
#| export
def causal_mask(queries, keys=None, offset=0, device=None):
    """Who may look at whom: (queries, keys) bools. Query i is at place i + offset and sees keys up to it.

    keys: how many there are, queries + offset if not given. device: where the tensor lies.

    >>> causal_mask(2, offset=1)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    keys = queries + offset if keys is None else keys
    ### BEGIN SOLUTION
    return arange(keys, device=device) <= arange(queries, device=device).reshape(queries, 1) + offset
    ### END SOLUTION


# %%
class TestCausalMask:
    """Who may look at whom"""
    def test_by_hand(self):
        "Three words: the first sees itself, the second two, the third all"
        expect(causal_mask(3), [[True, False, False], [True, True, False], [True, True, True]],
               why="first row all True: turned around, the first word sees the future; first number False: a "
                   "word may look at itself")

    def test_offset(self):
        "Two queries after three places: the first sees four of the five keys"
        expect(causal_mask(2, offset=3), [[True, True, True, True, False], [True] * 5],
               why="query i is at place i + offset: the first at 3, it sees the keys 0 to 3")

    def test_keys(self):
        "With keys=4 the mask is (2, 4), and nobody sees the last two; with keys=1 all see the only one"
        expect(causal_mask(2, 4), [[True, False, False, False], [True, True, False, False]],
               why="query i is at place i, counted from the first key, however many keys there are")
        expect(causal_mask(2, 1), [[True], [True]])

    def test_empty(self):
        "No queries have a mask of no rows"
        expect(causal_mask(0, 3).shape, (0, 3))

    def test_bools(self):
        "It is a tensor of bools, and not of numbers"
        assert isinstance(causal_mask(2), Tensor), "an array came out: make it of `arange`, which is a tensor"
        expect(str(causal_mask(2).dtype), "bool")

    def test_device(self):
        "It is made on the device that is asked for: one that does not exist is refused by `arange`"
        expect_error(RuntimeError, causal_mask, 2, device="nowhere", says=["nowhere"],
                     why="`device` was not handed on to `arange`")


run_tests(TestCausalMask)

# %% [markdown]
# ## Exercise 4: two masks in one
#
# Sentences of a batch have different lengths, and the shorter ones are filled up with a *padding*, a word
# that means nothing. Nobody should look at it. `padding_mask(ids)`, given, is (B, S): True where a real
# word is.
#
# Weights will have the shape (B, H, T, S): for each sentence and each *head* (exercise 7) a row for each
# query and a column for each key. A causal mask (T, S) is the same for all sentences, a padding mask (B,
# S) for all queries. Together, (B, 1, T, S):
#
# ```
# causal     x . .       padding of sentence 0   x x x     ->   x . .      of sentence 1   x x .   ->   x . .
#            x x .                                              x x .                                   x x .
#            x x x                                              x x x                                   x x .
# ```
#
# The padding takes away *columns*, keys. Its own query (row 3 of sentence 1) may ask what it likes:
# nobody reads the answer. If there is only one mask, it comes back in a shape that fits (B, 1, T, S).

# %%
#| export
def padding_mask(ids, pad=0):
    """True where ids, (B, S) integers, are real words: (B, S) bools."""
    return ids != pad


def combine_masks(mask=None, padding=None):
    """One mask for (B, H, T, S), where both are True: (B, 1, T, S), or (1, 1, T, S), or (B, 1, 1, S).

    mask: (T, S) bools, the same for all sentences, or None. padding: (B, S) bools, True for real words, or
    None. Returns None if both are.

    >>> combine_masks(causal_mask(2), Tensor([[True, True], [False, True]]))[1, 0]
    tensor([[False, False],
            [False,  True]])
    """
    ### BEGIN SOLUTION
    if mask is not None:
        mask = mask.reshape(1, 1, *mask.shape)
    if padding is not None:
        padding = padding.reshape(len(padding), 1, 1, padding.shape[1])
    if mask is None or padding is None:
        return padding if mask is None else mask
    return mask & padding
    ### END SOLUTION


# %%
class TestCombineMasks:
    """Two masks in one"""
    words = Tensor([[True, True, True], [True, True, False]])
    past = Tensor([[True, False, False], [True, True, False], [True, True, True]])

    def test_by_hand(self):
        "Three words and two: a row sees what both masks let through"
        out = combine_masks(self.past, self.words)
        expect(out.shape, (2, 1, 3, 3), why="(B, 1, T, S): the 1 is for the heads")
        expect(out[0, 0], self.past, why="True above the diagonal: it takes both to be seen, & and not |")
        expect(out[1, 0], [[True, False, False], [True, True, False], [True, True, False]],
               why="last row all False: the padding masks queries; it has to mask keys, a column")

    def test_three_sentences(self):
        "Three sentences of three: sentence b has the padding of row b"
        out = combine_masks(self.past, Tensor([[True] * 3, [False, True, True], [True] * 3]))
        expect(out[1, 0], [[False, False, False], [False, True, False], [False, True, True]],
               why="a padding (B, S) beside (T, S) without dimensions of 1 meets the queries")

    def test_one_alone(self):
        "One mask alone comes in a shape that fits (B, H, T, S), and two times None is None"
        out = combine_masks(padding=self.words)
        expect(out.shape, (2, 1, 1, 3))
        expect(out[1, 0, 0], [True, True, False])
        expect(combine_masks(self.past).shape, (1, 1, 3, 3))
        assert combine_masks() is None, "without masks there is nothing to combine: None"

    def test_other_sizes(self):
        "Two queries, three keys, one sentence; and a batch of none"
        expect(combine_masks(self.past[:2], self.words[:1]).shape, (1, 1, 2, 3))
        expect(combine_masks(self.past, self.words[:0]).shape, (0, 1, 3, 3))


run_tests(TestCombineMasks)

# %% [markdown]
# ## Exercise 5: shares of what may be seen
#
# Scores 0.7071, 0, 0.7071, and the third may not be seen. Softmax first and then a 0 in its place gives
# 0.4011, 0.1978, 0: together 0.599, and a mean of values with such weights is too small by two fifths.
# The forbidden has to go *before*: its score becomes -∞, and e to the power of it 0. What is left shares
# the whole:
#
# ```
# 0.7071  0  -∞     e^s:  2.028  1  0     over their sum, 3.028:   0.6698   0.3302   0
# ```
#
# Module 02 took off the largest score first, so that no e^s is too large for a float; so do you. And a
# row that may see nothing? All scores are -∞, the largest too, and -∞ - (-∞) is nan, which walks through
# a whole model. Here the shares of such a row are **zeros**: who may ask nobody hears nothing. That needs
# no `if`, but two floors. Under the largest score: the lowest finite number, `np.finfo(scores.dtype).min`;
# then -∞ minus it is -∞, e to that 0. Under the sum, by which you divide: 1; then 0/1 is 0. (If anything
# is seen the sum is at least 1, as the largest score gives e^0.) Nothing else is mended: a nan that is seen
# makes its row nan, so that a mistake shows.
#
# A mask of bools (`mask.dtype == bool`) says what may be seen: `np.where(mask, scores, -np.inf)`. One of
# floats is *added* to the scores, as in PyTorch: 0 for seen, -∞ for hidden, and everything between, as
# module 11's ALiBi. Both broadcast to the scores. The op gets arrays; none of them may be written into.

# %%
#| export
@op(promote=False)
@floats_only
def masked_softmax(scores, mask=None, dim=-1):
    """Shares that sum to 1 along `dim`, of what the mask lets through; zeros if that is nothing.

    mask: None, bools (True: may be seen), or floats to be added; it broadcasts to the shape of scores. Keeps
    the dtype of scores and leaves them as they are. Raises RuntimeError for integers.

    >>> masked_softmax(np.array([0.7071, 0., 0.7071]), np.array([True, True, False])).round(4)
    array([0.6698, 0.3302, 0.    ])
    """
    if not scores.size:
        return scores * 1
    ### BEGIN SOLUTION
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    shares = scores - np.maximum(scores.max(dim, keepdims=True), np.finfo(scores.dtype).min)
    np.exp(shares, out=shares)                         # in place from here on: this array is ours
    shares /= np.maximum(shares.sum(dim, keepdims=True), 1)
    return shares
    ### END SOLUTION


# %% [markdown]
# The gradient is softmax's (module 05): a hidden score has the share 0, and so the gradient 0.

# %%
#| export
@vjp(masked_softmax)
def _(out, scores, mask=None, dim=-1):
    def pull(g):
        slope = out * (g - sum(g * out, dim, True))
        return slope, slope                            # of a mask that is added, too
    return pull


# %%
class TestMaskedSoftmax:
    """Shares of what may be seen"""
    def setup_method(self):
        self.scores = np.array([[0.707107, 0., 0.707107], [3., 1., 2.]])

    def test_untouched(self):
        "The scores are left as they were, with and without a mask"
        for mask in None, np.array([[True, False, True]] * 2), np.zeros((2, 3)):
            scores = self.scores.copy()
            masked_softmax(scores, mask)
            expect(scores, self.scores, why="written in place into an array of the caller")

    def test_by_hand(self):
        "The third hidden: 0.6698 and 0.3302"
        out = masked_softmax(self.scores[0], np.array([True, True, False]))
        expect(out, [0.669761, 0.330239, 0.], tol=1e-5,
               why="0.4011 first: masked after the softmax; 0, 0, 1: True and False exchanged; nan: 0 * -inf "
                   "is nan, take np.where")

    def test_no_mask(self):
        "Without a mask it is softmax, along dim"
        expect(masked_softmax(self.scores)[0], [0.401112, 0.197776, 0.401112], tol=1e-5)
        out = masked_softmax(self.scores, dim=0)
        expect(out[:, 0], [0.091713, 0.908287], tol=1e-5, why="0.4011 first: along the last dim, not `dim`")
        expect(masked_softmax(self.scores).sum(-1), [1., 1.], tol=1e-12,
               why="they add up to a bit less than 1: was something added to the divisor?")

    def test_nothing_to_see(self):
        "A row that may see nothing is zeros, and not nan"
        out = masked_softmax(self.scores, np.array([[False] * 3, [True, False, True]]))
        expect(out, [[0., 0., 0.], [0.731059, 0., 0.268941]], tol=1e-5,
               why="nan: -inf less -inf, or 0/0; a third each: a large negative number in place of -inf")
        expect(masked_softmax(self.scores, np.full(3, -np.inf)), np.zeros((2, 3)))

    def test_added(self):
        "A mask of floats is added: log 2 doubles a share's weight, -inf hides it"
        out = masked_softmax(np.zeros(3), np.array([math.log(2), 0., -np.inf]))
        expect(out, [2 / 3, 1 / 3, 0.], tol=1e-6,
               why="0.5, 0, 0.5: floats taken for bools (all but 0 are True); ask for mask.dtype")

    def test_large(self):
        "Scores of 1,000 and 998, of -1,000 and -1,002: 0.8808 and 0.1192"
        for most in 1000., -1000.:
            expect(masked_softmax(np.array([most, most - 2])), [0.880797, 0.119203], tol=1e-5,
                   why="nan: the largest was not taken off; 0, 0: it was taken to be about 0. The floor is "
                       "np.finfo(...).min, the lowest number, and not tiny, the smallest above 0")

    def test_nan(self):
        "A nan that is seen makes its row nan, and no other row; a hidden one does no harm"
        scores = np.array([[1., np.nan, 2.], [0., 0., 0.]])
        expect(np.isnan(masked_softmax(scores)), [[True] * 3, [False] * 3],
               why="a nan was made a number, and a mistake in a model would no longer show")
        expect(masked_softmax(scores, np.array([True, False, True]))[0], [0.268941, 0., 0.731059], tol=1e-5,
               why="nan + -inf is nan: put -inf in its place, by np.where and before the largest is taken")

    def test_large_and_hidden(self):
        "How large a hidden score is does not matter"
        out = masked_softmax(np.array([1., 2000., 2.]), np.array([True, False, True]))
        expect(out, [0.268941, 0., 0.731059], tol=1e-5,
               why="zeros: the largest score was taken before the mask")

    def test_broadcasting(self):
        "Scores (2, 2, 3) with a mask (2, 1, 3), along the first dimension too; and scores of none"
        scores, mask = np.zeros((2, 2, 3)), np.array([[[True, False, True]], [[True, True, True]]])
        expect(masked_softmax(scores, mask)[:, 1], [[0.5, 0., 0.5], [1 / 3] * 3], tol=1e-6)
        expect(masked_softmax(scores, mask, 0)[:, 1, :2], [[0.5, 0.], [0.5, 1.]], tol=1e-6)
        expect(masked_softmax(np.zeros((2, 0)), np.ones((2, 0), bool)).shape, (2, 0))

    def test_dtype(self):
        "float32 stays float32, with either kind of mask; integers are refused (given)"
        for mask in None, np.array([True, False, True]), np.zeros(3, "float32"):
            expect(str(masked_softmax(self.scores.astype("float32"), mask).dtype), "float32")
        expect_error(RuntimeError, masked_softmax, np.array([1, 2]), says=["int64"])

    def test_gradient(self):
        "The judge agrees, on scores and on a mask that is added; a row of zeros sends nothing back (given)"
        mask = Tensor([[True, False, True], [False] * 3, [True] * 3])
        check_gradient(lambda s: masked_softmax(s, mask, dim=1), np.arange(9.).reshape(3, 3) % 4)
        check_gradient(masked_softmax, np.arange(6.).reshape(2, 3) % 4, np.array([0.5, -1., 2.]))


run_tests(TestMaskedSoftmax)

# %% [markdown]
# ## Exercise 6: attention
#
# Now the worked example for all queries at once. Q is (T, d), K is (S, d), V (S, e):
#
# $$ \mathrm{weights} = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt d} + \mathrm{mask}\right) \qquad
#    \mathrm{out} = \mathrm{weights} \cdot V $$
#
# Q Kᵀ is (T, S), the product of each query with each key. The softmax goes along each row, over the keys:
# what a query takes from all keys adds up to 1. (Over the queries, what a key gives away would.)
#
# Why √d? The product of two vectors of d random numbers is a sum of d terms, of both signs. Its typical
# size is √d times that of a term. With d = 64 the scores are around ±8, and softmax makes of scores as
# far apart as 8 and 0 nearly 1 and 0. One key takes all, and where one share is 1 the gradient out*(g -
# sum) is 0: nothing is learned. Divided by √d the scores are around ±1 whatever d is:

# %%
@measure
def why_the_root():
    rng = np.random.default_rng(0)
    for d in 4, 64, 1024:
        scores = (rng.normal(size=(2000, 16, d)) * rng.normal(size=(2000, 1, d))).sum(-1)
        most = [float(masked_softmax(s).max(-1).mean()) for s in (scores, scores / math.sqrt(d))]
        print(f"d = {d:4}: scores around {scores.std():5.1f}; the largest of 16 weights {most[0]:.2f}, "
              f"over the root {most[1]:.2f}")


# %% [markdown]
# Sentences and heads, the leading dimensions, go along: `@` multiplies the last two, `swapaxes(-1, -2)`
# exchanges them (an array's `transpose` is something else). `keep` is what dropout multiplies the weights
# with, after the softmax: None, or an array of their shape with 0 for what is dropped, 1/(1-p) elsewhere.
# Return (output, weights): the op keeps the weights for its gradient, as they were before `keep`. (Where
# there are many, `part_by_part` hands your lines a part at a time; then they are not kept, but made again.)
#
# `*`, `@`, `swapaxes` and `masked_softmax` all know arrays and tensors: so the same lines serve, with
# tensors, for second derivatives and for who wants the weights with their history. Multiply Q by 1/√d, and
# not the scores, which are more. And let 1/√d be a number of Python, `d ** -0.5` or by `math.sqrt`: a
# float32 array times `np.sqrt(d)`, which is a NumPy float64, is float64, and all that follows with it.

# %%
#| export
@op(keeps=True)
@part_by_part
def attention(query, key, value, mask=None, keep=None, scale=None):
    """For each query the mean of the values, by likeness of the keys: (output, weights).

    query: (..., T, d), key: (..., S, d), value: (..., S, e). output: (..., T, e), weights: (..., T, S), or
    None if they are many. mask: as in masked_softmax. keep: None, or what the weights are multiplied with in
    the end. scale: 1/√d if None. Who calls the op gets the output alone.
    "Attention Is All You Need", arXiv:1706.03762, equation 1.

    >>> query, key = np.array([[1., 0.]]), np.array([[1., 0.], [0., 1.], [1., 1.]])
    >>> attention(query, key, np.array([[10.], [20.], [60.]])).round(2)
    array([[32.03]])
    """
    ### BEGIN SOLUTION
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    weights = masked_softmax((query * scale) @ key.swapaxes(-1, -2), mask)
    return (weights if keep is None else weights * keep) @ value, weights
    ### END SOLUTION


# %% [markdown]
# The way back is given. With P = weights and S the scores: the gradient of V is Pᵀ g, that of P is g Vᵀ,
# and softmax makes of it P * (g Vᵀ - r), with r the sum of P * (g Vᵀ) over a row. That goes to Q, times
# K, and to K, times Q, both with 1/√d.

# %%
#| export
@vjp(attention)
def _(kept, query, key, value, mask=None, keep=None, scale=None):
    weights = kept[1]
    return lambda g: attention_gradients(g, weights, masked_softmax, query, key, value, mask, keep, scale)


@composite(attention)                                  # the same lines, with tensors: see module 05
def _(*inputs, **params): return attention.forward(*inputs, **params)[0]


# %%
class TestAttention:
    """Attention"""
    def setup_method(self):
        self.query, self.key = np.array([[1., 0.]]), np.array([[1., 0.], [0., 1.], [1., 1.]])
        self.value = np.array([[10.], [20.], [60.]])

    def both(self, *args, **params):
        out = attention.forward(*args, **params)
        if not isinstance(out, tuple) or len(out) != 2:
            raise TypeError("attention has to return two things: (output, weights)")
        return out

    def test_untouched(self):
        "Queries, keys, values and mask are left as they were"
        arrays = [x.copy() for x in (self.query, self.key, self.value, np.zeros((1, 3)), np.ones((1, 3)))]
        before = [x.copy() for x in arrays]
        self.both(*arrays)
        for x, old in zip(arrays, before):
            expect(x, old, why="written in place into an array of the caller")

    def test_by_hand(self):
        "The query [1, 0] and three words: weights 0.4011, 0.1978, 0.4011, and 32.03"
        out, weights = self.both(self.query, self.key, self.value)
        expect(weights, [[0.401112, 0.197776, 0.401112]], tol=1e-5, why="0.4223: no root, or that of T = 1; "
               "it is d's, of how many numbers a query has. Else: each query's weights add up to 1")
        expect(out, [[32.03336]], tol=1e-4)

    def test_masked(self):
        "The third word hidden: 13.30"
        out, weights = self.both(self.query, self.key, self.value, np.array([True, True, False]))
        expect(out, [[13.30239]], tol=1e-4, why="7.97: masked after the softmax; 32.03: not masked")

    def test_scale(self):
        "With a scale of 1 it is 32.67, and with 0 all keys weigh the same: 30"
        expect(self.both(self.query, self.key, self.value, scale=1.)[0], [[32.6699]], tol=1e-4)
        expect(self.both(self.query, self.key, self.value, scale=0.)[0], [[30.]], tol=1e-6,
               why="32.03: 0 was taken for None, as `scale or ...` does")

    def test_dtype(self):
        "Of float32 all is float32"
        for x in self.both(*[x.astype("float32") for x in (self.query, self.key, self.value)]):
            expect(str(x.dtype), "float32", why="np.sqrt(d) is a float64, and makes all float64: d ** -0.5")

    def test_two_queries(self):
        "Two queries, three keys, values of two numbers: each row has its own weights"
        value = np.array([[1., 10.], [2., 20.], [4., 80.]])
        out, weights = self.both(np.array([[1., 0.], [0., 2.]]), self.key, value)
        expect(weights[1], [0.108390, 0.445805, 0.445805], tol=1e-5,
               why="the columns add up to 1: the softmax goes over the queries")
        expect(out, [[2.401112, 40.055599], [2.783219, 45.664399]], tol=1e-4)

    def test_leading(self):
        "Sentences and heads go along: each has its own keys"
        rng = np.random.default_rng(0)
        q, k, v = [rng.normal(size=(2, 3, n, 4)) for n in (5, 6, 6)]
        out, weights = self.both(q, k, v)
        expect((out.shape, weights.shape), ((2, 3, 5, 4), (2, 3, 5, 6)))
        expect(out[1, 2], self.both(q[1, 2], k[1, 2], v[1, 2])[0], tol=1e-9)

    def test_keep(self):
        "Dropout comes last: [0, 2, 2] makes 0 + 2*0.1978*20 + 2*0.4011*60, and the weights do not change"
        out, weights = self.both(self.query, self.key, self.value, None, np.array([0., 2., 2.]))
        expect(out, [[56.04448]], tol=1e-4, why="32.03: not used; smaller: used before the softmax")
        expect(weights, [[0.401112, 0.197776, 0.401112]], tol=1e-5, why="those before dropout are returned")

    def test_tensors(self):
        "The same lines with tensors: the weights have a history"
        q, k, v = [Tensor(x, requires_grad=True) for x in (self.query, self.key, self.value)]
        out, weights = self.both(q, k, v)
        assert isinstance(weights, Tensor), \
            "an array came out: *, @, swapaxes and masked_softmax make tensors of tensors"
        weights[0, 0].backward()
        expect(k.grad, [[0.169860, 0.], [-0.056095, 0.], [-0.113765, 0.]], tol=1e-5)

    def test_gradient(self):
        "The judge agrees on queries, keys, values and an added mask, and with dropout (given)"
        rng = np.random.default_rng(0)
        args = [rng.normal(size=s) for s in [(2, 3, 4), (2, 5, 4), (2, 5, 2), (3, 5)]]
        check_gradient(attention, *args)
        keep = Tensor(rng.integers(0, 2, (2, 3, 5)) * 2.)
        check_gradient(lambda q, k, v: attention(q, k, v, None, keep, scale=0.3), *args[:3])


run_tests(TestAttention)

# %% [markdown]
# Around it, given, what PyTorch's function has besides: checks of shapes and dtypes, `is_causal`,
# dropout, and *grouped queries*, where several heads of queries share one of keys (there are fewer of
# those to keep, which module 15 will like). `attend` is the one function that everything below goes
# through.

# %%
#| export
def attend(query, key, value, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False,
           need_weights=False):
    """(output, weights, or None unless needed): see scaled_dot_product_attention.

    The weights are those before dropout. They have a history: for it the op's lines are run with tensors.
    """
    check_attention(query, key, value, mask, dropout_p)
    mask = mask.to(query.dtype) if mask is not None and mask.dtype.kind == "f" else mask
    if is_causal:
        mask = merged_mask(mask, causal_mask(query.shape[-2], key.shape[-2], device=query.device))
    gqa = enable_gqa and query.shape[-3] != key.shape[-3]
    q, k, v, mask = grouped(query, key, value, mask) if gqa else (query, key, value, mask)
    inputs = q, k, v, mask, drawn_to_keep(dropout_p, q, k)
    scale = scale if q.shape[-1] else 0.0              # vectors of no numbers are all alike
    found = (attention.forward(*inputs, scale=scale) if need_weights
             else (attention(*inputs, scale=scale), None))
    return tuple([ungrouped(x) for x in found]) if gqa else found


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False,
                                 scale=None, enable_gqa=False):
    """For each query the mean of the values, by likeness of the keys: softmax(Q Kᵀ scale + mask) V.

    query: (..., H, T, d), key: (..., H, S, d), value: (..., H, S, e), floats; gives (..., H, T, e).
    attn_mask: bools (True: may be seen) or floats to be added, broadcast to (..., H, T, S). is_causal: query
    i sees keys 0 to i. scale: 1/√d if None. enable_gqa: keys and values have G heads, H/G heads of queries
    share one. A query that may see nothing gets zeros. Raises RuntimeError if sizes or dtypes do not fit.
    """
    return attend(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)[0]


# %% [markdown]
# ## Exercise 7: heads
#
# One softmax gives one mean. A word may want several things at once: its verb, its adjective, the word
# before. So the vectors of d_model numbers are cut into H pieces of head_dim numbers, *heads*, and each
# asks for itself. Two words, four numbers each, two heads:
#
# ```
# word 0:  0 1 2 3          head 0:  0 1    word 0           head 1:  2 3    word 0
# word 1:  4 5 6 7                   4 5    word 1                    6 7    word 1
# ```
#
# From (B, T, H d) to (B, H, T, d), that is: the head becomes a dimension that goes along, like the
# sentence. A single `reshape` to that shape would deal out the numbers in the order in which they lie:
# head 0 would get 0 1 and 2 3, all of word 0, and nothing of word 1. The shapes are right then, and a
# model even trains. First cut (`reshape`), then exchange (`transpose(1, 2)`). And back, with what the heads
# have found, in the opposite order. Name all sizes: a -1 cannot be worked out for a batch of none.

# %%
#| export
def split_heads(x, heads):
    """x, (B, T, heads * d), as (B, heads, T, d).

    >>> split_heads(Tensor([[[0, 1, 2, 3], [4, 5, 6, 7]]]), 2)[0, 1]
    tensor([[2, 3],
            [6, 7]])
    """
    ### BEGIN SOLUTION
    b, t, c = x.shape
    return x.reshape(b, t, heads, c // heads).transpose(1, 2)
    ### END SOLUTION


def join_heads(x):
    """x, (B, H, T, d), as (B, T, H * d): what `split_heads` did, undone."""
    ### BEGIN SOLUTION
    b, h, t, d = x.shape
    return x.transpose(1, 2).reshape(b, t, h * d)
    ### END SOLUTION


# %%
def counted(*shape): return Tensor(np.arange(math.prod(shape), dtype="float64").reshape(shape))


class TestSplitHeads:
    """Heads, cut"""
    def test_by_hand(self):
        "Two words, two heads: head 1 has 2 3 of word 0 and 6 7 of word 1"
        out = split_heads(counted(1, 2, 4), 2)
        expect(out.shape, (1, 2, 2, 2))
        expect(out[0, 1], [[2., 3.], [6., 7.]], why="4 5 and 6 7: cut in the order in which they lie, heads "
               "are mixed with words, first (B, T, heads, d), then exchange; 1 3 and 5 7: cut as (d, heads)")

    def test_sizes(self):
        "Two sentences of three words, four heads of five numbers: (2, 4, 3, 5)"
        out = split_heads(counted(2, 3, 20), 4)
        expect(out.shape, (2, 4, 3, 5))
        expect(out[1, 2, 0], [70., 71., 72., 73., 74.], why="sentence 1 begins at 60, its head 2 at 70")

    def test_empty(self):
        "No sentences have no heads, but their sizes (a -1 in a reshape cannot be worked out here)"
        expect(split_heads(counted(0, 3, 20), 4).shape, (0, 4, 3, 5))


class TestJoinHeads:
    """Heads, joined"""
    def test_by_hand(self):
        "Two heads of two words: word 0 gets 0 1 of head 0 and 4 5 of head 1"
        expect(join_heads(counted(1, 2, 2, 2)), [[[0., 1., 4., 5.], [2., 3., 6., 7.]]],
               why="0 1 2 3: joined in the order in which they lie, both words of head 0")

    def test_sizes(self):
        "(2, 4, 3, 5) becomes (2, 3, 20), and (0, 4, 3, 5) becomes (0, 3, 20)"
        out = join_heads(counted(2, 4, 3, 5))
        expect(out.shape, (2, 3, 20))
        expect(out[1, 2, 5:10], [85., 86., 87., 88., 89.], why="head 1 of word 2 of sentence 1")
        expect(join_heads(counted(0, 4, 3, 5)).shape, (0, 3, 20))


run_tests(TestSplitHeads)
run_tests(TestJoinHeads)

# %% [markdown]
# ## Exercise 8: the layer
#
# Where do queries, keys and values come from? All three from the words, by a `Linear` each: `q_proj`,
# `k_proj`, `v_proj`. So a model *learns* what to ask for, by what to be found, and what to say. A fourth,
# `out_proj`, mixes what the heads found. (Without it head 0 could never tell anything to the numbers that
# belong to head 1.)
#
# Queries and keys from the same words are *self-attention*: `layer(x)`, or `layer(x, x, x, mask)`. Keys
# from elsewhere, a French sentence say for queries of its English one, are *cross-attention*:
# `layer(x, memory, memory, mask)`. Nothing else changes.
#
# `self.heads(...)`, given, makes q, k and v in heads, with your `split_heads`. Yours: ask, with `attend`,
# join the heads, and mix them. `attend` needs the mask; as dropout_p `self.dropout` in training, else 0.0;
# by name `enable_gqa=True`, as keys may have fewer heads, and `need_weights`. Return its weights as they are.

# %%
#| export
class MultiHeadAttention(HeadsBase):
    """Attention in num_heads heads: called with (query, key, value, mask), gives (output, weights).

    d_model: how long the vectors are. head_dim: how long a head's are, d_model / num_heads if not given.
    num_kv_heads: how many heads keys and values have, if fewer. rotary: called as rotary(x, place of the
    first) on queries and keys, or None. ValueError if the numbers do not fit. arXiv:1706.03762, 2305.13245.

    >>> out, weights = MultiHeadAttention(d_model=8, num_heads=2)(randn(3, 5, 8), causal_mask(5))
    >>> out.shape, weights.shape
    ((3, 5, 8), (3, 2, 5, 5))
    """
    split = staticmethod(split_heads)                  # for `heads`

    def forward(self, query, key=None, value=None, mask=None, cache=None, layer=0, bias=None,
                need_weights=True):
        """(output (B, T, d_model), weights (B, H, T, S), or None unless needed).

        query: (B, T, d_model); key, value: (B, S, d_model), the query if not given. mask: (T, S), (B, T, S)
        or what broadcasts to (B, H, T, S); True, or a number other than 0 where all are 0 or 1, where a query
        may look at a key; other floats are added. With two arguments the second is the mask. bias: floats
        that are always added. cache, layer: see `AttentionCache`.
        """
        query, key, value, mask = sorted_out(query, key, value, mask, bias)
        q, k, v = self.heads(query, key, value, cache, layer)
        ### BEGIN SOLUTION
        out, weights = attend(q, k, v, mask, self.dropout if self.training else 0.0, enable_gqa=True,
                              need_weights=need_weights)
        return self.out_proj(join_heads(out)), weights
        ### END SOLUTION


# %%
def plain_layer(d_model, heads, **how):
    "For the tests: a layer whose q_proj, k_proj and v_proj change nothing, its out_proj multiplies by 10"
    layer = MultiHeadAttention(d_model, heads, bias=False, dtype=np.float64, **how)
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        getattr(layer, name).weight.data[...] = np.eye(d_model) * (10 if name == "out_proj" else 1)
    return layer


class TestMultiHeadAttention:
    """The layer"""
    x = Tensor(np.random.default_rng(0).normal(size=(2, 3, 4)))

    def test_by_hand(self):
        "Two heads of one number, words [0, 1] and [2, 1]: head 0 of word 1 weighs them e^0 and e^4"
        out, weights = plain_layer(2, 2)(rows([0., 1.], [2., 1.]).unsqueeze(0))
        assert weights is not None, "no weights: hand need_weights on to `attend`, by its name"
        expect(weights[0, 0], [[0.5, 0.5], [0.017986, 0.982014]], tol=1e-5,
               why="0.0558: over the root of d_model; it has to be the head's: leave the scale to `attend`")
        expect(out[0], [[10., 10.], [19.640276, 10.]], tol=1e-4,
               why="1 first: out_proj is missing; 10, 19.64 in the first row: joined without `join_heads`")

    def test_heads(self):
        "Each head is attention on its own numbers, and they stand side by side"
        out, weights = plain_layer(4, 2)(self.x)
        for h in range(2):
            part = self.x.data[..., 2 * h:2 * h + 2]
            found, shares = attention.forward(part, part, part)
            expect(weights[:, h], shares, tol=1e-9)
            expect(out[..., 2 * h:2 * h + 2], found * 10, tol=1e-9,
                   why="a tenth of it: out_proj is missing; else `join_heads` puts the heads side by side")

    def test_mask(self):
        "With a causal mask a change of the last word changes no word before it"
        layer, other = plain_layer(4, 2), self.x.clone()
        other[:, 2] = 5.
        mask = Tensor([[True, False, False], [True, True, False], [True] * 3])
        before, after = [layer(x, x, x, mask)[0][:, :2] for x in (self.x, other)]
        expect(after, before, tol=1e-12, why="a later word was seen: the mask is not used, or turned around")
        assert float(abs(layer(self.x)[0][:, :2] - layer(other)[0][:, :2]).max()) > 0.01, \
            "without a mask all is seen, and a change of the last word changes the others"

    def test_another_mask(self):
        "With a padding in front a change of word 0 changes no other, and each of those sees all of them"
        layer, other, mask = plain_layer(4, 2), self.x.clone(), Tensor([[False, True, True]] * 3)
        other[:, 0] = 5.
        before, after = [layer(x, x, x, mask)[0][:, 1:] for x in (self.x, other)]
        expect(after, before, tol=1e-12, why="word 0 was seen: hand on the mask itself, not all are causal")
        assert (layer(self.x, mask)[1].data[..., 1:] > 0).all(), "a 0 for what the mask shows: is_causal?"

    def test_cross(self):
        "Queries of one sentence, keys and values of another: three queries, five keys"
        memory = Tensor(np.random.default_rng(1).normal(size=(2, 5, 4)))
        out, weights = plain_layer(4, 2)(self.x, memory, memory)
        expect((out.shape, weights.shape), ((2, 3, 4), (2, 2, 3, 5)))

    def test_dropout(self):
        "Weights are dropped in training, and not in evaluation"
        layer = plain_layer(4, 2, dropout=0.9)
        expect(layer.eval()(self.x)[0], plain_layer(4, 2)(self.x)[0], tol=1e-12, why="dropped in evaluation")
        manual_seed(0)
        whole = layer.train()(self.x)[0]
        assert (abs(whole.data) < 1e-12).any(), "nothing was dropped in training: use self.dropout"

    def test_weights(self):
        "The weights come only if they are needed, and the output is the same"
        out, weights = plain_layer(4, 2)(self.x, need_weights=False)
        assert weights is None, "need_weights was not handed on: without it `attend` gives None"
        expect(out, plain_layer(4, 2)(self.x)[0], tol=1e-12)

    def test_head_dim(self):
        "Heads may be longer than their part; four of queries share two of keys (enable_gqa=True)"
        layer = MultiHeadAttention(4, 4, head_dim=3, num_kv_heads=2, dtype=np.float64)
        out, weights = layer(self.x)
        expect((out.shape, weights.shape), ((2, 3, 4), (2, 4, 3, 3)), why="join with `join_heads`")


run_tests(TestMultiHeadAttention)

# %% [markdown]
# ## Exercise 9: two softmaxes become one
#
# Eight heads of a text with 8,192 tokens have 8 x 8,192 x 8,192 scores: two gigabytes, for a result of 17
# megabytes (64 numbers a head). Nobody wants the scores. Could one look at a few keys at a time, and forget
# their scores again?
#
# In a plain sum, yes: sums of parts add up. A softmax has two catches. It divides by a sum over *all*
# keys; so divide at the very end. And it takes off the largest score first, so that no power overflows;
# which score is the largest of all, nobody knows before the last key. Four keys with scores 1, 3, 2, 5
# and values 1, 2, 3, 4, two by two:
#
# ```
# scores 1 3, values 1 2     largest 3     e⁻² + e⁰ = 1.1353      1 e⁻² + 2 e⁰ = 2.1353
# scores 2 5, values 3 4     largest 5     e⁻³ + e⁰ = 1.0498      3 e⁻³ + 4 e⁰ = 4.1494
# ```
#
# The first line was computed with the wrong largest score: 3 was taken off, and should have been 5. So
# every power in it is e² times too large, all by the same factor, and times e⁻² = 0.1353 makes that good:
#
# ```
# total      e⁻² * 1.1353 + 1.0498 = 1.2034
# summed     e⁻² * 2.1353 + 4.1494 = 4.4383        4.4383 / 1.2034 = 3.688: the attention over all four
# ```
#
# If the first half has the larger score, it is the second that needs the factor. Call m the larger of
# both tops, for each query (`np.maximum`):
#
# $$ m = \max(m_1, m_2) \qquad l = e^{m_1 - m}\, l_1 + e^{m_2 - m}\, l_2 \qquad
#    s = e^{m_1 - m}\, s_1 + e^{m_2 - m}\, s_2 $$
#
# Given: `Part(top, total, summed)` holds m, l and s for every query: two columns (..., T, 1) and (..., T,
# v). You return one. `part_of(scores, values)` makes the Part of some keys, as in the two lines above (and
# writes over the scores). A query that may see none of them has zeros, and as its top the lowest number
# there is, not -inf: you need no special case.

# %%
#| export nn.efficient_attention
def merge_blocks(one, two):
    """The Part of all keys together, from the Parts of some keys and of the others.

    >>> both = merge_blocks(Part(3., 1.1353, 2.1353), Part(5., 1.0498, 4.1494))
    >>> [round(float(x), 3) for x in both]
    [5.0, 1.203, 4.438]
    """
    ### BEGIN SOLUTION
    top = np.maximum(one.top, two.top)
    first, second = np.exp(one.top - top), np.exp(two.top - top)
    return Part(top, first * one.total + second * two.total, first * one.summed + second * two.summed)
    ### END SOLUTION


# %%
def four_keys():
    "For the tests: the Parts of scores 1 3 with values 1 2, and of scores 2 5 with values 3 4"
    return (part_of(np.array([[1., 3.]]), np.array([[1.], [2.]])),
            part_of(np.array([[2., 5.]]), np.array([[3.], [4.]])))


class TestMergeBlocks:
    """Two softmaxes become one"""
    def test_by_hand(self):
        "Scores 1 3 and 2 5, values 1 2 and 3 4: top 5, total 1.2034, summed 4.4383"
        both = merge_blocks(*four_keys())
        assert isinstance(both, Part), "return a Part(top, total, summed): who merges next asks for its .top"
        expect(both[0], [[5.]], why="the top of both is the larger of the two")
        expect(both[1], [[1.203438]], tol=1e-5, why="2.185: the first total was not scaled by e⁻²; "
               "9.439: it was scaled by e², the difference is the wrong way round")
        expect(both[2], [[4.438347]], tol=1e-5,
               why="6.285: the first sum was not scaled; 3.688: divided, and that comes at the very end")

    def test_the_other_order(self):
        "The order does not matter: now it is the second half that is scaled"
        one, two = four_keys()
        both = merge_blocks(two, one)
        expect([float(x[0, 0]) for x in both], [5., 1.203438, 4.438347], tol=1e-5,
               why="top 3: it is not the last one that counts but the larger; else one is never scaled")

    def test_parts_untouched(self):
        "The two Parts are left as they were"
        one, two = four_keys()
        merge_blocks(one, two)
        want = [3., 1.135335, 2.135335, 5., 1.049787, 4.149361]
        expect([float(x[0, 0]) for x in (*one, *two)], want, tol=1e-5, why="a Part was written into")

    def test_each_query(self):
        "Each query has its own top (np.maximum, no `if`): one is scaled in the first half, one in the second"
        one = part_of(np.array([[1., 3.], [9., 7.]]), np.array([[1., 0.], [2., 10.]]))
        two = part_of(np.array([[2., 5.], [7., 8.]]), np.array([[3., 20.], [4., 30.]]))
        both = merge_blocks(one, two)
        expect(both[0], [[5.], [9.]])
        expect(both[2] / both[1], [[3.688057, 26.880566], [1.921329, 9.213293]], tol=1e-5)

    def test_large(self):
        "Scores of 1,000 and 3,000 overflow nothing"
        one, two = [part_of(np.array([[s]]), np.array([[v]])) for s, v in ((1000., 1.), (3000., 2.))]
        both = merge_blocks(one, two)
        expect([float(x[0, 0]) for x in both], [3000., 1., 2.],
               why="inf or nan: only a difference that is 0 or less may go into exp")

    def test_nothing_seen(self):
        "A half of which nothing may be seen changes nothing, and two of them stay zeros"
        unseen, one = part_of(np.array([[-np.inf, -np.inf]]), np.array([[1.], [2.]])), four_keys()[0]
        for both in merge_blocks(unseen, one), merge_blocks(one, unseen):
            expect([float(x[0, 0]) for x in both], [3., 1.135335, 2.135335], tol=1e-5)
        expect([float(x[0, 0]) for x in merge_blocks(unseen, unseen)[1:]], [0., 0.])


run_tests(TestMergeBlocks)

# %% [markdown]
# ## Exercise 10: attention in tiles
#
# Now cut the T x S scores into tiles, 256 queries by 512 keys. For each row of tiles, begin with nothing;
# for each tile make its Part, and merge it into what there is. Only one tile's scores exist at a time:
#
# ```
#                     keys
#             0-511  512-1023  ...            causal: above the diagonal
# queries  0   ■  →     ■    →  ■                ◩  .  .  .
#        256   ■  →     ■    →  ■                ■  ◩  .  .       a tile without a visible
#        ...   ■  →     ■    →  ■                ■  ■  ◩  .       key is never computed
# ```
#
# It is FlashAttention's algorithm (arXiv:2205.14135; there a tile stays on the chip, here in the cache).
# The class `Tiling`, given, knows where the tiles lie, and masks their scores:
#
# ```
# t.rows()       loop over the rows of tiles; at: an index, the result's rows of these queries are out[at]
# t.tiles(at)    loop over the tiles of such a row: (where, scores). where: an index of the keys, their
#                values are t.value[where]. What may not be seen is -inf in the scores already.
# t.nothing      the Part of no keys at all: merged with another, it changes nothing
# ```
#
# (`t.value` is `value` with a place for every sentence and head, also where these share theirs.) Your lines
# leave in `part` the Part of all keys for the queries at `at`. Below them it is divided, by the total (or
# by 1 for who sees nothing and has the total 0), and tops and totals are kept for the way back.

# %%
#| export nn.efficient_attention
@op(keeps=True)
def tiled_attention(query, key, value, mask=None, is_causal=False, scale=None, block=None):
    """Attention tile by tile, (..., T, v): the same numbers, in memory that does not grow with T times S.

    query: (..., T, d), key: (..., S, d), value: (..., S, v). mask: (..., T, S), True where a query may look,
    or floats to add to the scores; it gets no gradient. is_causal: query i sees keys 0 to i. A query that
    sees nothing gets zeros. block: how many queries and keys a tile has, a number or a pair.
    Raises RuntimeError if sizes or dtypes do not fit. Dao, FlashAttention-2, arXiv:2307.08691.

    >>> query, key = np.array([[1.]]), np.array([[1.], [3.], [2.], [5.]])
    >>> tiled_attention(query, key, np.array([[1.], [2.], [3.], [4.]]), block=2).round(3)
    array([[3.688]])
    """
    t = Tiling(query, key, value, mask, is_causal, scale, block)
    out, top, total = t.empty(value.shape[-1], query.dtype), t.empty(1), t.empty(1)
    for at in t.rows():
        part = t.nothing
        ### BEGIN SOLUTION
        for where, scores in t.tiles(at):
            part = merge_blocks(part, part_of(scores, t.value[where]))
        ### END SOLUTION
        top[at], total[at] = part.top, part.total + (part.total == 0)
        out[at] = part.summed / total[at]
    return out, top, total


# %%
def dense(query, key, value, hidden=None):
    "For the tests: softmax(Q Kᵀ / √d) V of arrays by its definition; hidden: True where not to look"
    scores = query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5
    powers = np.exp(scores if hidden is None else np.where(hidden, -np.inf, scores))
    return powers / powers.sum(-1, keepdims=True) @ value


def three(*shape):
    "For the tests: fixed queries, keys and values of this shape"
    return [np.sin(np.arange(np.prod(shape)) * by).reshape(shape) for by in (1.1, 2.3, 0.7)]


class TestTiledAttention:
    """Attention in tiles"""
    def test_by_hand(self):
        "Scores 1 3 2 5 in tiles of two keys, values 1 2 3 4: 3.688"
        out = tiled_attention(np.array([[1.]]), np.array([[1.], [3.], [2.], [5.]]),
                              np.array([[1.], [2.], [3.], [4.]]), block=2)
        expect(out, [[3.688057]], tol=1e-5,
               why="1.881 or 3.953: the Part of one tile alone; 0: nothing was merged into `part`")

    def test_every_tiling(self):
        "All tilings give the dense numbers: one tile, many, tiles that do not fill the last row or column"
        query, key, value = three(2, 7, 2)
        want = dense(query, key, value)
        for block in 100, 1, 3, (3, 5), (5, 2):
            expect(tiled_attention(query, key, value, block=block), want, tol=1e-9,
                   why="every tile of the row has to be merged into what there is")

    def test_shared_values(self):
        "Two sentences and three heads may share their values: they stand in t.value, at `where`"
        query, key, value = *three(2, 3, 4, 2)[:2], three(4, 2)[2]
        expect(tiled_attention(query, key, value, block=2), dense(query, key, value), tol=1e-9)

    def test_causal(self):
        "Causal, each query sees the keys up to its own, with tiles above the diagonal left out"
        query, key, value = three(2, 9, 4)
        want = dense(query, key, value, np.arange(9) > np.arange(9)[:, None])
        for block in 100, 2, (2, 4), (4, 3):
            expect(tiled_attention(query, key, value, is_causal=True, block=block), want, tol=1e-9)

    def test_masks(self):
        "A mask of bools is cut into tiles with the scores; one of numbers is added"
        query, key, value = three(7, 4)
        seen = (np.arange(7) * 3 + np.arange(7)[:, None] * 5) % 7 < 4
        want = dense(query, key, value, ~seen)
        expect(tiled_attention(query, key, value, seen, block=3), want, tol=1e-9)
        expect(tiled_attention(query, key, value, np.where(seen, 0., -np.inf), block=3), want, tol=1e-9)

    def test_who_sees_nothing(self):
        "A query that may see nothing gets zeros, the others what they should"
        query, key, value = three(4, 3)
        seen = np.array([[True], [False], [True], [True]]) & np.ones((4, 4), bool)
        out = tiled_attention(query, key, value, seen, block=2)
        expect(out[1], [0., 0., 0.], why="t.nothing, merged with Parts of which nothing is seen, has the "
               "total 0: begin with `part` as it is given, and divide nothing yourself")
        expect(out[[0, 2, 3]], dense(query, key, value)[[0, 2, 3]], tol=1e-9)

    def test_other_sizes(self):
        "Five queries, eight keys, values of two numbers; and no keys at all: zeros"
        query, key, value = three(5, 4)[0], three(8, 4)[1], three(8, 2)[2]
        expect(tiled_attention(query, key, value, block=3), dense(query, key, value), tol=1e-9)
        expect(tiled_attention(query, key[:0], value[:0]), np.zeros((5, 2)))

    def test_memory(self):
        "At 4,096 places the scores of a head are 64 megabytes; all of the memory used is less than 4"
        query = np.ones((4096, 16), "float32")
        assert peak_bytes(tiled_attention, query, query, query) < 4e6, \
            "more than 4 MB: tiles are collected before they are merged"

    def test_gradients(self):
        "The judge of module 05 agrees on query, key and value, over several tiles (the rule is given below)"
        check_gradient(lambda q, k, v: tiled_attention(q, k, v, is_causal=True, block=2), *three(2, 5, 3))


# %% [markdown]
# The way back needs the weights, and they are gone. With the tops and totals that were kept they are
# computed again, each tile for itself (`tiles_dev.py`). Gradients of gradients go through the plain form.

# %%
#| export nn.efficient_attention
@vjp(tiled_attention)
def _(kept, query, key, value, mask=None, is_causal=False, scale=None, block=None):
    tiling = Tiling(query, key, value, mask, is_causal, scale, block)
    return lambda g: (*tiled_gradients(tiling, *kept, g), None)


@composite(tiled_attention)
def _(query, key, value, mask=None, is_causal=False, scale=None, block=None):
    return scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal, scale=scale)


# %%
run_tests(TestTiledAttention)

# %% [markdown]
# ## Exercise 11: no softmax, and no table
#
# Memory now grows with T, but time still with T²: each query meets each key. What if the likeness of q
# and k were not e^(q·k) but a product φ(q)·φ(k), with a function φ of each alone? Take φ(x) = elu(x) + 1,
# that is x + 1 above 0 and eˣ below: never negative. With d = 1, q = 1, keys 0 and 2, values 10 and 20:
#
# ```
# φ(q) = 2     φ(k) = 1, 3        one by one:    (2*1 * 10 + 2*3 * 20) / (2*1 + 2*3) = 140 / 8 = 17.5
#                                 keys first:    2 * (1*10 + 3*20) / (2 * (1 + 3)) = 2 * 70 / (2 * 4)
# ```
#
# (With softmax it would be 18.81: it is another attention, not a faster way to the same.) The 70 and the
# 4 are sums over the keys, *the same for every query*. In matrices it is only where the brackets stand:
#
# $$ (\varphi(Q)\, \varphi(K)^{T})\, V \;=\; \varphi(Q)\, (\varphi(K)^{T} V) $$
#
# The left has T x T numbers in the middle, the right d x v. And the divisor is the same thing again, with
# 1 for every value. So a column of ones is put beside the values: what comes out in it is the divisor
# (given).
#
# Causal, query i may use only the sum up to key i, another one for each query: a running sum, d x v each.
# To keep all T of them would be too much, so go in blocks: within a block every query with every key of
# the block, and those above the diagonal made 0 by `tril`; to that add what the query makes of all
# *earlier* blocks, whose sum is at hand:
#
# ```
# block 2 of queries:     tril(Q₂ K₂ᵀ) V₂  +  Q₂ · seen          seen = K₀ᵀ V₀ + K₁ᵀ V₁
# afterwards:             seen = seen + K₂ᵀ V₂
# ```
#
# Yours: `out`, (..., T, v + 1), without and with is_causal. Work with q and k, which are features already,
# and v, the values with their ones, and no longer with query, key and value. `for some_q, some_k, some_v in
# blocks` goes through them block by block (once: it is an iterator). `seen` is there too, and begins as
# zeros, (..., d, v + 1). These are tensors, so write into none of them (no `+=`); collect what the blocks
# give in a list and join it along the places: `cat(list, -2)`.

# %%
#| export nn.efficient_attention
def elu_plus_one(x):
    """x + 1 above 0, e^x below: never negative, and its slope is nowhere 0."""
    return elu(x) + 1


def linear_attention(query, key, value, is_causal=False, feature=elu_plus_one, eps=1e-6, block=64):
    """Each query's mean of the values, weighted by feature(q) · feature(k): (..., T, v), in time O(T).

    query: (..., T, d), key: (..., S, d), value: (..., S, v), tensors. feature: a function that keeps the
    shape and is never negative. eps is added to the sum of the weights. is_causal: query i sees keys 0 to i,
    and it goes by blocks of so many places. Katharopoulos et al., Transformers are RNNs, arXiv:2006.16236.

    >>> linear_attention(tensor([[1.]]), tensor([[0.], [2.]]), tensor([[10.], [20.]]), eps=0)
    tensor([[17.5000]])
    """
    check_attention(query, key, value, None)
    if is_causal and query.shape[-2] != key.shape[-2]:
        raise RuntimeError(f"linear_attention got {query.shape[-2]} queries and {key.shape[-2]} keys: "
                           "causal, they must be of the same places.")
    q, k, v = feature(query), feature(key), cat([value, ones_like(value[..., :1])], -1)
    blocks = zip(*[x.split(block, -2) for x in (q, k, v)])
    seen = k[..., :0, :].swapaxes(-1, -2) @ v[..., :0, :]
    ### BEGIN SOLUTION
    if not is_causal:
        out = q @ (k.swapaxes(-1, -2) @ v)
    else:
        parts = []
        for some_q, some_k, some_v in blocks:
            near = tril(some_q @ some_k.swapaxes(-1, -2))
            parts.append(near @ some_v + some_q @ seen)
            seen = seen + some_k.swapaxes(-1, -2) @ some_v
        out = cat(parts, -2)
    ### END SOLUTION
    return out[..., :-1] / (out[..., -1:] + eps)


# %%
def one_by_one(query, key, value, is_causal=False):
    "For the tests: linear attention of arrays by its definition, with the T x S table"
    features = [np.where(x > 0, x + 1, np.exp(x)) for x in (query, key)]
    weights = features[0] @ features[1].swapaxes(-1, -2)
    weights = np.tril(weights) if is_causal else weights
    return weights @ value / weights.sum(-1, keepdims=True)


class TestLinearAttention:
    """No softmax, and no table"""
    def found(self, *shape, **how):
        query, key, value = three(*shape)
        return linear_attention(*[Tensor(x) for x in (query, key, value)], eps=0, **how), one_by_one(
            query, key, value, how.get("is_causal", False))

    def test_by_hand(self):
        "q = 1, keys 0 and 2, values 10 and 20: 140 / 8"
        inputs = [Tensor(np.array(x)) for x in ([[1.]], [[0.], [2.]], [[10.], [20.]])]
        expect(linear_attention(*inputs, eps=0), [[17.5]],
               why="16.67: q and k are features already, and elu + 1 was taken once more; 20: `key` in place "
                   "of k; no numbers at all: `value` in place of v, which has the column of ones")

    def test_table(self):
        "It is what the table of all pairs gives, for two heads of seven places"
        out, want = self.found(2, 7, 4)
        expect(out, want, tol=1e-9, why="it is all computed with q, k and v, not with query, key and value")

    def test_causal_by_hand(self):
        "Causal, in blocks of 1: the first query sees 10 alone, the second both: 17.5"
        inputs = [Tensor(np.array(x)) for x in ([[1.], [1.]], [[0.], [2.]], [[10.], [20.]])]
        expect(linear_attention(*inputs, True, eps=0, block=1), [[10.], [17.5]],
               why="17.5 first: it sees what comes later; 20 last: what was seen before is not added")

    def test_causal(self):
        "Causal, any blocks give the same: one, many, a last one that is not full"
        for block in 64, 1, 3, 4:
            out, want = self.found(2, 8, 4, is_causal=True, block=block)
            expect(out.shape, want.shape, why="join the blocks along the places: cat(list, -2)")
            expect(out, want, tol=1e-9, why="a block sees itself up to the diagonal, and all that come "
                   "before it: `seen` must grow after the block, and not before")

    def test_later_changes_nothing(self):
        "Causal, another last key and value move the last result only"
        arrays = query, key, value = three(6, 3)
        before = linear_attention(*[Tensor(x.copy()) for x in arrays], True, block=2).data
        key[-1], value[-1] = 9., 9.
        after = linear_attention(*map(Tensor, arrays), True, block=2).data
        expect(after[:-1], before[:-1], tol=1e-12, why="some query sees a key that comes later")
        assert abs(after[-1] - before[-1]).max() > 0.1, "the last query does not see the last key"

    def test_inputs_untouched(self):
        "The tensors that came in are left as they were, and what is computed has a history"
        arrays = three(5, 3)
        for is_causal in False, True:
            linear_attention(*map(Tensor, arrays), is_causal, block=2)
            for x, kept in zip(arrays, three(5, 3)):
                expect(x, kept)
            check_gradient(lambda q, k, v, c=is_causal: linear_attention(q, k, v, c, block=2), *three(5, 3))

    def test_memory(self):
        "At 4,096 places a table of all pairs would be 64 megabytes; less than 8 are used"
        x = Tensor(np.ones((4096, 16), "float32"))
        for is_causal in False, True:
            assert peak_bytes(linear_attention, x, x, x, is_causal) < 8e6, \
                "more than 8 MB: keys and values must meet first, and causal in blocks"

    def test_empty(self):
        "No places: no results, causal or not"
        for is_causal in False, True:
            expect(linear_attention(*map(Tensor, three(0, 3)), is_causal).shape, (0, 3))


run_tests(TestLinearAttention)

# %% [markdown]
# A third way: softmax, but for some of the pairs. In a *sliding window* each query sees the keys at most w
# places away, T · (2w + 1) pairs; a few chosen tokens see all and are seen by all (Longformer), and BigBird
# adds some pairs at random. `sparse_dev.py` has both, each with a function that draws its mask:
#
# ```python
# sliding_window_attention(query, key, value, window=64, global_tokens=[0])
# scaled_dot_product_attention(query, key, value, sliding_window_mask(T, 64, [0]))      # the same numbers
# ```
#
# ## Measure: memory against length
#
# Two heads of 32, causal, forward and backward, at 512, 1,024, 2,048 and 4,096 places. By how much does
# the peak grow when T doubles: dense, in tiles, linear? And how much time does each take at 2,048, dense
# being 1? (Dense asks for the weights, and so has all of them at once; without that yours has only a part.)

# %%
guess_of_memory = None             # the factor when T doubles, for dense, tiled, linear: (2, 2, 2)?
guess_of_time = None               # the time of tiled and linear at 2,048, dense being 1: (2, 0.5)?


@measure
def memory_against_length():
    if guess_of_memory is None or guess_of_time is None:
        return print("guess_of_memory or guess_of_time is None: guess both, then run this again")
    lengths, rng = (512, 1024, 2048, 4096), np.random.default_rng(0)
    def both_ways(attend, t):
        inputs = [Tensor(x, requires_grad=True) for x in rng.normal(size=(3, 2, t, 32)).astype("float32")]
        return lambda: attend(*inputs, is_causal=True).sum().backward()
    def all_there(*inputs, is_causal): return attend(*inputs, is_causal=is_causal, need_weights=True)[0]
    kinds = {"dense": all_there, "tiled": tiled_attention, "linear": linear_attention}
    print(f"{'MB at the peak, T =':20}" + "".join([f"{t:8,}" for t in lengths]) + "   s at 2,048")
    for name, attend in kinds.items():
        peaks = [peak_bytes(both_ways(attend, t)) / 1e6 for t in lengths]
        seconds = timed(both_ways(attend, 2048), repeat=3)
        print(f"{name:20}" + "".join([f"{mb:8.1f}" for mb in peaks]) + f"{seconds:13.3f}")
    print(f"you guessed {guess_of_memory} and {guess_of_time}")


# %% [markdown]
# What must hold on any machine: dense memory grows fourfold with each doubling of T, the tiles' and the
# linear one's at most twofold. (At first less, as a few tiles are there at any length. The linear one can
# hold more than the tiles: for its way back each block's small table and `seen` are kept, where tiles keep
# nothing and compute again.) And the tiles, which compute every score twice, take less time than the dense
# table, not more: half of a causal table is never looked at, and a tile is still in the cache when its
# powers are taken, where the table comes from main memory at each step. How much depends on the machine.

# %% [markdown]
# ## Measure: an LSTM against attention
#
# Four sentences of vectors of 128 numbers, forward only: the layer `LSTM`, and your `MultiHeadAttention`
# with four heads, for 64 to 2,048 words. (That takes a few seconds: at 2,048 words there are 67 million
# scores.) Guess first, nothing is measured before:
#
# 1. Which of the two is quicker at 64 words, and from which length on is it the other?
# 2. Back to the opening. Twenty words: how much does the state after word 20 change if word 1 changes a
#    little, for the opening's reader, for an LSTM whose forget door stands at σ(4) = 0.98, and for
#    attention that has learned nothing yet (all weights alike)?

# %%
guess_of_length = None             # who is quicker at 64 words, and from how many on not: ("LSTM", 512)?
guess_of_change = None             # three numbers, for reader, LSTM and attention: (1, 1, 1)?


@measure
def lstm_or_attention():
    if guess_of_length is None:
        return print("guess_of_length is None: guess, then run this again")
    manual_seed(0)
    attends, reads = MultiHeadAttention(128, 4), LSTM(128, 128, batch_first=True)
    with no_grad():
        for t in 64, 128, 256, 512, 1024, 2048:
            x = randn(4, t, 128)
            one, other = [timed(f, x, repeat=3) for f in (reads, lambda x: attends(x, need_weights=False))]
            print(f"{t:5} words: LSTM {one * 1e3:6.0f} ms, attention {other * 1e3:6.0f} ms")
    print("you guessed", guess_of_length)


@measure
def what_is_left_of_word_one():
    if guess_of_change is None:
        return print("guess_of_change is None: guess, then run this again")
    words = [Tensor(np.array([[float(t == 0)]]), requires_grad=True) for t in range(20)]
    h = c = cell = Tensor(np.zeros((1, 1)))
    ones, half, none = rows([1.]), rows([0.5]), rows([0.], [0.], [0.], [0.])
    doors = Tensor(np.array([4., 4., 0., 4.]))         # i, f and o nearly open, g as the word says
    for x in words:
        h = rnn_step(x, h, ones, half)
        cell, c = lstm_step(x, cell, c, rows([0.], [0.], [1.], [0.]), none, doors)
    x = Tensor(np.stack([w.data[0] for w in words]), requires_grad=True)                       # (20, 1)
    asked, learned = [attention(rows([q]), x, x) for q in (0., 20.)]     # with 20 it asks for word 1
    for name, out, leaf in (("reader", h, words[0]), ("LSTM", cell, words[0]), ("attention", asked, x),
                            ("attention that asks for word 1", learned, x)):
        leaf.grad = None
        out.sum().backward()
        print(f"{name} changes by {abs(float(leaf.grad[0, 0])):.1e} of what word 1 changes by")
    print("you guessed", guess_of_change)


# %% [markdown]
# What should show on any machine, apart from what else it is doing. The LSTM's time grows with T: twice the
# words, twice the time. Attention's grows faster, in the end about fourfold for twice the words, as the
# table of scores is T by T (and by more once, where it no longer fits into the cache). For short texts
# attention is the quicker one, with a few large products instead of T small ones of which each waits for
# the one before. So it is not true that attention is quicker. Up to a length it is, some hundred words
# perhaps on one core; the more a machine does at once the farther away that is, and on a GPU, which waits
# for a small product as long as for a large one, it is far off this list.
#
# The second is the answer to the opening question. The reader has less than a millionth left. The LSTM
# keeps a fifth: after nineteen words the door has left 0.98¹⁹ = 0.71, and the rest went *once*, as word 1
# came in through tanh (whose slope at 1 is 0.42) and as c is shown through another (0.76). Every further
# word takes 2 percent. Attention has a twentieth, as of every word, *before it has learned anything*, and
# with a query that fits word 1 it has all of it. How far away that is does not matter. The price is the
# table: exercises 9 to 11 made it smaller.
#
# ## Pictures
#
# In a notebook: the four kinds of masks, and what two heads look at. The layer has learned nothing: its
# weights are set so that head 0 looks for equal words, and head 1 for nothing special.

# %%
@measure
def masks_and_maps():
    words = "the cat saw the dog and the dog ran".split()
    seen = Tensor(np.array([[True] * 4, [True, True, True, False]]))
    for name, mask in {"all": np.ones((4, 4), bool), "causal": causal_mask(4).data,
                       "padding": np.tile(seen[1].data, (4, 1)),
                       "both": combine_masks(causal_mask(4), seen)[1, 0].data}.items():
        print(f"{name}:\n{mask_text(mask)}")
    vectors = np.eye(6)[[sorted(set(words)).index(w) for w in words]][None] * 3
    layer = MultiHeadAttention(6, 2, head_dim=6, bias=False, dtype=np.float64)
    for name in "q_proj", "k_proj":
        getattr(layer, name).weight.data[...] = np.concatenate([np.eye(6), np.zeros((6, 6))])
    with no_grad():
        weights = layer(Tensor(vectors))[1][0]
    shares = [f"{word} {share:.2f}" for word, share in zip(words, weights[0, 7].tolist())]
    print('head 0, the second "dog" looks at', ", ".join(shares))
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("The pictures need matplotlib: pip install matplotlib")
        return
    draw_attention(weights, words)
    if plt.get_backend().lower() == "agg":
        print("No window to draw in: open this file as a notebook to see the pictures.")
    else:
        plt.show()


# %% [markdown]
# ## Reflect
#
# Answer in a sentence or two each, then compare with `## reflection-1` and so on in HINTS.md.
#
# 1. What does √d do? What would happen to the scores, the weights and the gradient without it, with d =
#    64?
# 2. Tiles compute more than the dense table does, and may take less time. How can that be?
# 3. A translator reads a batch of padded German sentences and writes padded English ones. Which mask does
#    which of its attentions need? And what of the paddings' own rows?
#
# ## Where this code lives
#
# `tito export 12` writes it to `tinytorch/nn/`: `recurrent.py`, `attention.py`, `efficient_attention.py`,
# and beside them what was given: `RNN`, `LSTM` and `GRU`, PyTorch's `MultiheadAttention`, sliding
# windows.
#
# ```python
# from tinytorch import nn
# layer = nn.MultiHeadAttention(d_model=64, num_heads=4)
# out, weights = layer(x, x, x, nn.causal_mask(x.shape[1]))
# ```
#
# Module 13 builds transformers of it, module 15 a cache for `cache=`, module 17 takes heads away, module
# 18 makes `masked_softmax` one pass.
#
# In the real world: PyTorch's `scaled_dot_product_attention` picks one of several kernels, nearly always
# the tiled one. What differs most from yours is the place: a tile lies in the memory of a few dozen
# kilobytes that each processor of the GPU has for itself, and the products of one tile run while the next
# is on its way.
