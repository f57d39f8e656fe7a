# %% [markdown]
# # Module 11: Embeddings, what and where
#
# A tokenizer gives each word a number. A number says nothing about a word, so each gets a vector, to be
# learned. Here are three, and two sentences, each as the sum of its vectors:
#
# ```
# dog [1, 2]   bites [3, 0]   man [-1, 4]
#
# dog bites man    [1, 2] + [3, 0] + [-1, 4] = [3, 6]
# man bites dog    [-1, 4] + [3, 0] + [1, 2] = [3, 6]        the same
# ```
#
# One of them is a newspaper headline. The sum does not know which, and neither does the mean, nor attention
# (module 12), which is a weighted mean. A vector says *what*; nothing says *where*. The obvious answer is
# to add the position itself, a number. But next to a 501 a word of [1, 2] is hardly seen. So how else?
# **Position 501 is more like 500 than like 7: by which numbers would a network see that?**

# %%
#| default_exp nn.embeddings
from tito.lesson import expect, expect_error, measure, run_tests, timed

# %%
import math

import numpy as np
from embedding_parts_dev import (
    check_features,
    check_lookup,
    check_patches,
    check_rotary,
    even,
    sides,
)

from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module
from tinytorch.core.creation import empty
from tinytorch.core.indexing import add_at
from tinytorch.core.op import op
from tinytorch.core.ops import masked_fill
from tinytorch.nn.initializers import normal_
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter
from tinytorch.nn.spatial_layers import Conv2d

# %%
# Those were for your code. These are for the parts that are given: tests, measurements, pictures.
from pictures_dev import draw_by_distance, draw_positions, draw_waves, heat_text

from tinytorch.core.autograd import no_grad
from tinytorch.core.backend import manual_seed
from tinytorch.core.checks import check_gradient
from tinytorch.core.higher import higher_order
from tinytorch.core.tensor import Tensor
from tinytorch.nn.layers import Linear
from tinytorch.nn.losses import cross_entropy
from tinytorch.optim.optimizers import Adam

# %% [markdown]
# The plan. First *what*: a table with a row for each word (1), and its gradient (2, 3). Then *where*,
# in four ways: waves that are added to the vectors (4), a learned row for each place (5), vectors that
# are turned (6, 7), and a bias on the scores of attention (8, 9). At last, a picture as a sentence of
# patches (10).
#
# ## Exercise 1: rows by id
#
# A table `weight` has V rows, one for each id, with d features each. To look up the ids 1 3 1 is to
# take the rows 1, 3 and 1:
#
# ```
# weight  0:  0  0        ids 1 3 1        1 10
#         1:  1 10                         3 30
#         2:  2 20                         1 10
#         3:  3 30
# ```
#
# Ids of shape (B, T) give (B, T, d): each id is replaced by its row, whatever the shape. In mathematics
# it is a matrix product: each id as a row of zeros with a one at its place (*one-hot*), times the
# table. The end of this lesson measures what that would cost.
#
# NumPy takes an id of -1 for the last row. Here it is a mistake: ids below 0 and from V on are refused.
# The check is yours, with this sentence, in which `bad` is one of the wrong ids:
#
# ```
# raise IndexError(f"embedding: id {bad} is no row of the table: ids go from 0 to {len(weight) - 1}.")
# ```
#
# (`padding_idx` is for exercise 3. Looking up takes no notice of it.)

# %%
#| export
@op(promote=False)
def embedding(ids, weight, padding_idx=None):
    """The rows of weight (V, d) with these ids (...): (..., d), a copy, of the dtype of weight.

    Raises IndexError for an id below 0 or from V on; it names the id and the largest allowed.

    >>> embedding(np.array([1, 3, 1]), np.array([[0., 0.], [1., 10.], [2., 20.], [3., 30.]]))
    array([[ 1., 10.],
           [ 3., 30.],
           [ 1., 10.]])
    """
    check_lookup(ids, weight)
    ### BEGIN SOLUTION
    wrong = (ids < 0) | (ids >= len(weight))
    if wrong.any():
        bad = int(ids[wrong][0])
        raise IndexError(f"embedding: id {bad} is no row of the table: ids go from 0 to {len(weight) - 1}.")
    return weight[ids]
    ### END SOLUTION


# %%
def tens(): return np.array([[0., 0.], [1., 10.], [2., 20.], [3., 30.]])


class TestEmbedding:
    """Rows by id"""
    def test_by_hand(self):
        "The ids 1 3 1 give the rows 1, 3 and 1"
        expect(embedding(np.array([1, 3, 1]), tens()), [[1., 10.], [3., 30.], [1., 10.]],
               why="[10, 30, 10]: a column was taken, not rows")

    def test_any_shape(self):
        "Ids (2, 3) give (2, 3, d), a single id gives (d,), no ids give (0, d)"
        expect(embedding(np.array([[0, 1, 2], [3, 3, 0]]), tens())[1], [[3., 30.], [3., 30.], [0., 0.]])
        expect(embedding(np.array(2), tens()), [2., 20.])
        expect(embedding(np.zeros((0,), "int64"), tens()).shape, (0, 2),
               why="no ids are no mistake: what is the largest of none?")

    def test_copy(self):
        "The rows are copied: who writes into them does not change the table"
        weight = tens()
        embedding(np.array([1, 3]), weight)[...] = 7
        expect(weight, tens(), why="the result looks at the memory of the table")

    def test_dtype(self):
        "The numbers are of the table's dtype, here float32"
        expect(str(embedding(np.array([1]), tens().astype("float32")).dtype), "float32")

    def test_bad_id(self):
        "The ids 4, 9 and -1 are no rows: the error names the id, and the largest that is one"
        for bad in 4, 9, -1:
            expect_error(IndexError, embedding, np.array([[0, 1], [bad, 2]]), tens(),
                         says=[f"id {bad}", "to 3"],
                         why="NumPy takes -1 for the last row: ask whether an id is below 0" if bad < 0
                         else "four rows have the ids 0 to 3: check before NumPy does, and 4 is one too many")

    def test_kinds(self):
        "Ids that are no integers, and a table that is none, are refused (given)"
        expect_error(RuntimeError, embedding, np.array([1.]), tens(), says="float64")
        expect_error(RuntimeError, embedding, np.array([1]), tens()[0], says="(2,)")


run_tests(TestEmbedding)

# %% [markdown]
# ## Exercise 2: back to the rows
#
# Each row that was looked up gets a gradient. The ids 1 3 1, and what came back for each of the three:
#
# ```
# id 1:  1 10            row 0:  0  0
# id 3:  2 20            row 1:  5 50        1 + 4, 10 + 40: it was used twice, so it is to blame twice
# id 1:  4 40            row 2:  0  0
#                        row 3:  2 20
# ```
#
# `out[ids] += g` looks right and gives row 1 the numbers 4 40. NumPy reads all rows first, adds, and
# writes them back: the second write to row 1 overwrites the first.
#
# `np.add.at(out, ids, g)` adds one row after the other. It is right, and it passes the tests. There is
# a faster way. Sort the ids, so that equal ones stand in a row, and add up each run at once:
#
# ```
# ids                 1 3 1                            order = ids.argsort(kind="stable")    0 2 1
# sorted              1 1 3                            sorted = ids[order]
# g in that order     1 10   4 40   2 20               g[order]
# a run begins at     0       2                        where an id differs from the one before it
# sums                5 50    2 20                     np.add.reduceat(g[order], [0, 2])
# belong to the ids   1       3                        sorted[[0, 2]]
# ```
#
# `np.add.reduceat(x, starts)` adds up the rows of x from each start to the next. The array
# `np.diff(x, prepend=-1)` has each number less the one before it, with -1 before the first;
# `np.flatnonzero(x)` says where x is not 0. ("stable" keeps equal ids in their order; without it the same
# sum could be rounded differently.)

# %%
#| export
@op(promote=False)
def embedding_grad(g, ids, rows):
    """A table (rows, d) of zeros, with each vector of g (..., d) added to the row of its id, ids (...).

    >>> embedding_grad(np.array([[1., 10.], [2., 20.], [4., 40.]]), np.array([1, 3, 1]), 4)
    array([[ 0.,  0.],
           [ 5., 50.],
           [ 0.,  0.],
           [ 2., 20.]])
    """
    ids, g = ids.reshape(-1), g.reshape(ids.size, g.shape[-1])                 # (N,) and (N, d)
    out = array_module(g).zeros((rows, g.shape[-1]), g.dtype)
    if array_module(g) is not np:
        return add_at(out, ids, g)                     # a GPU adds all at once
    ### BEGIN SOLUTION
    order = ids.argsort(kind="stable")
    found = ids[order]
    starts = np.flatnonzero(np.diff(found, prepend=-1))
    out[found[starts]] = np.add.reduceat(g[order], starts)
    return out
    ### END SOLUTION


@vjp(embedding_grad)
def _(out, g, ids, rows): return lambda h: (embedding(ids, h), None)           # for second derivatives


# %%
class TestEmbeddingGrad:
    """Back to the rows"""
    def test_by_hand(self):
        "Row 1 was used twice and gets 5 50, row 3 gets 2 20, the others 0"
        g, ids = np.array([[1., 10.], [2., 20.], [4., 40.]]), np.array([1, 3, 1])
        out = embedding_grad(g, ids, 4)
        expect(ids, [1, 3, 1], why="the ids were sorted in place, and belong to somebody else")
        expect(g, [[1., 10.], [2., 20.], [4., 40.]], why="g was changed in place")
        expect(out, [[0., 0.], [5., 50.], [0., 0.], [2., 20.]],
               why="4 40 in row 1: `out[ids] += g` keeps only the last; 3 30: g is not in the order of the "
                   "sorted ids; 7 70: all were added up; only 0: nothing was written into out")

    def test_many(self):
        "Forty ids in any order: each row is the sum of its own"
        rng = np.random.default_rng(0)
        g, ids = rng.integers(-5, 6, (40, 3)).astype(float), rng.integers(0, 7, 40)
        want = [g[ids == i].sum(0) for i in range(9)]
        expect(embedding_grad(g, ids, 9), want,
               why="look at the order: which gradient belongs to which id after sorting?")

    def test_first_row(self):
        "A run of the id 0 is a run like any other"
        expect(embedding_grad(np.array([[1.], [2.]]), np.array([0, 0]), 2), [[3.], [0.]],
               why="0 in row 0: where does the first run begin?")

    def test_shapes(self):
        "Ids (2, 2) with g (2, 2, d); a single id; no ids give zeros"
        ids = np.array([[0, 1], [1, 1]])
        expect(embedding_grad(np.ones((2, 2, 3)), ids, 2), [[1., 1., 1.], [3., 3., 3.]])
        expect(embedding_grad(np.ones(3), np.array(1), 2), [[0., 0., 0.], [1., 1., 1.]])
        expect(embedding_grad(np.ones((0, 3)), np.zeros(0, "int64"), 2), np.zeros((2, 3)))

    def test_dtype(self):
        "The table is of the dtype of g, here float32"
        expect(str(embedding_grad(np.ones((1, 2), "float32"), np.array([0]), 1).dtype), "float32")


run_tests(TestEmbeddingGrad)

# %% [markdown]
# ## Exercise 3: the rule
#
# The rule of `embedding` is now nearly one call. Its pullback returns two entries, one for each array, in
# their order: None for the ids, which have no gradient, and for the table what `embedding_grad` gives.
#
# One thing is missing. Sentences of a batch are filled up to one length with a padding token, and its
# row should stay what it is, usually zeros. So what comes back for the id `padding_idx` counts as 0:
#
# ```
# padding_idx 1       id 1:  1 10  becomes  0  0        row 1:  0  0
#                     id 3:  2 20           2 20        row 3:  2 20
#                     id 1:  4 40           0  0
# ```
#
# `masked_fill(g, mask, 0.0)` gives a copy of g with 0 where mask is true, of tensors as well, which second
# derivatives need. (g times a mask of 0 and 1 would do, but for an infinite gradient: inf * 0 is nan.) g is
# (..., d) and the ids are (...), so the mask needs one dimension more, of size 1: `[..., None]`. Setting
# the finished row to 0 is right, too.
#
# What a pullback names must stay unchanged until `backward()`. The table of GPT-2 has 38.6 million numbers:
# name `rows` inside of it, which is given, and not `weight`.

# %%
#| export
@vjp(embedding)
def embedding_rule(out, ids, weight, padding_idx=None):
    """The pullback of `embedding`: None for the ids, and the gradient (V, d) of the table.

    The row padding_idx, if there is one, gets zeros.
    """
    rows = len(weight)
    ### BEGIN SOLUTION
    def pull(g):
        if padding_idx is not None:
            g = masked_fill(g, (ids == padding_idx)[..., None], 0.0)
        return None, embedding_grad(g, ids, rows)
    return pull
    ### END SOLUTION


# %%
class TestEmbeddingRule:
    """The rule of a lookup"""
    ids = np.array([1, 3, 1])

    def pulled(self, *how, ids=ids, rows=4, g=((1., 10.), (2., 20.), (4., 40.))):
        g = np.array(g)
        before, entries = g.copy(), embedding_rule(None, ids, np.ones((rows, g.shape[-1])), *how)(g)
        assert isinstance(entries, (tuple, list)) and len(entries) == 2, (
            "a pullback returns one entry for each array, `return None, gradient`: ids first, then the table")
        assert entries[0] is None, "ids are no numbers to be changed a little: their gradient is None"
        grad = entries[1]() if callable(entries[1]) else entries[1]
        expect(g, before, why="g was changed in place, and belongs to somebody else")
        return grad

    def test_by_hand(self):
        "The ids have no gradient; of the table row 1 gets 5 50, row 3 gets 2 20"
        expect(self.pulled(), [[0., 0.], [5., 50.], [0., 0.], [2., 20.]],
               why="row 1 wrong: padding_idx is None here, and no row is left out")

    def test_padding(self):
        "With padding_idx=1 row 1 gets 0, with 3 row 3, with 2, which was not looked up, none changes"
        for padding, row_1, row_3 in (1, [0., 0.], [2., 20.]), (3, [5., 50.], [0., 0.]), (
                2, [5., 50.], [2., 20.]):
            expect(self.pulled(padding), [[0., 0.], row_1, [0., 0.], row_3],
                   why=f"padding_idx={padding}: the padding's row gets 0, and only that one")

    def test_row_zero(self):
        "The padding may be row 0"
        out = self.pulled(0, ids=np.array([[0, 1], [0, 0]]), rows=2, g=np.ones((2, 2, 3)))
        expect(out, [[0., 0., 0.], [1., 1., 1.]],
               why="3 3 3 in row 0: it was not left out; `if padding_idx` is false for 0, ask whether it is "
                   "None")

    def test_infinite(self):
        "An infinite gradient for the padding is left out, too"
        out = self.pulled(0, ids=np.array([0, 1]), rows=2, g=((np.inf,), (1.,)))
        expect(out, [[0.], [1.]], why="nan: it was multiplied by 0; inf: the padding was not left out")

    def test_weight_is_free(self):
        "The table may be written before backward(): the pullback does not hold it"
        weight = Tensor(np.ones((4, 2)), requires_grad=True)
        loss = embedding(Tensor(self.ids), weight).sum()
        with no_grad():
            weight.mul_(2)
        try:
            loss.backward()
        except RuntimeError as error:
            raise AssertionError(f"{error}\nThis test changed the table, as an optimizer may. Does the "
                                 "pullback name `weight`? Name `rows` instead") from error
        expect(weight.grad, [[0., 0.], [2., 2.], [0., 0.], [1., 1.]])

    def test_gradient(self):
        "The judge agrees, also on the derivative of the derivative"
        check_gradient(lambda w: embedding(Tensor([[1, 3], [1, 0]]), w, 2).exp(), tens() / 10)
        w = Tensor(np.array([[1.], [2.]]), requires_grad=True)
        with higher_order():
            (embedding(Tensor([1, 1, 0]), w) ** 3).sum().backward(create_graph=True)
            first = w.grad
            w.grad = None
            first.sum().backward()
        expect(first, [[3.], [24.]])
        expect(w.grad, [[6.], [24.]], why="6 w for each use, and row 1 was used twice")


run_tests(TestEmbeddingRule)

# %% [markdown]
# That was *what*. The layer around it, `Embedding`, is given in `embedding_layers_dev.py`.
#
# ## Exercise 4: where, as waves
#
# Now a vector for each *position*, to be added to that of the word. A counter shows how few numbers
# tell many places apart: its last digit changes at every step, the one before it every ten, the next
# every hundred. Waves do the same, smoothly: fast ones tell neighbours apart, slow ones tell far places
# apart. For d = 4 there are two, one of 1 radian a step and one of 1/100, each as sine and cosine:
#
# ```
#                  sin p    cos p    sin p/100  cos p/100
# position 0       0        1        0          1
# position 1       0.8415   0.5403   0.0100     1.0000
# position 2       0.9093  -0.4161   0.0200     0.9998
# ```
#
# The product of the vectors of 0 and 1 is 1.5403, and that of 1 and 2 is the same. In general
# sin a sin b + cos a cos b is cos(a - b): the product depends on how far two places are apart, **not on
# where they are**. And a step of k turns each pair of sine and cosine by one angle wherever it starts, so
# that a layer can learn "three words before".
#
# $$ \mathrm{PE}(p, 2i) = \sin \frac{p}{10000^{2i/d}} \qquad
#    \mathrm{PE}(p, 2i+1) = \cos \frac{p}{10000^{2i/d}} $$
#
# (Vaswani et al., 2017.) i counts the waves: 0, 1, ... Sine and cosine alternate: even columns are
# sines, odd ones cosines. If d is odd there is one sine more than cosines, of the last wave.
# `positions` may have any shape; each number in it becomes d numbers.

# %%
#| export nn.positions
def sinusoidal_positions(positions, d_model, base=10000.0):
    """Sines and cosines of the `positions` (...), an array: (..., d_model) float64, fast waves first.

    >>> sinusoidal_positions(np.array([0, 2]), 4).round(4)
    array([[ 0.    ,  1.    ,  0.    ,  1.    ],
           [ 0.9093, -0.4161,  0.02  ,  0.9998]])
    """
    xp = array_module(positions)                       # NumPy, or CuPy on a GPU: it makes the arrays
    out = xp.empty((*positions.shape, d_model))
    ### BEGIN SOLUTION
    waves = xp.arange(0, d_model, 2)                   # 2i
    angles = positions[..., None] * base ** (-waves / d_model)
    out[..., 0::2] = np.sin(angles)
    out[..., 1::2] = np.cos(angles[..., :d_model // 2])
    return out
    ### END SOLUTION


# %%
class TestSinusoidalPositions:
    """Waves"""
    def test_by_hand(self):
        "d = 4: the three rows of the table"
        expect(sinusoidal_positions(np.arange(3), 4),
               [[0., 1., 0., 1.], [0.841471, 0.540302, 0.0099998, 0.99995],
                [0.909297, -0.416147, 0.0199987, 0.9998]],
               why="0.8415 0.0100 first: sines and cosines alternate; 0.0998 in the third column: the "
                   "exponent is 2i/d, not i/d; 0 1 in row 1: the second wave is one of 1/100")

    def test_far_and_between(self):
        "Any positions: 5000, and 0.5 as well"
        expect(sinusoidal_positions(np.array([5000.]), 2), [[-0.9879664, 0.1546684]])
        expect(sinusoidal_positions(np.array([0.5]), 2), [[0.479426, 0.877583]])

    def test_odd(self):
        "d = 5: three sines, but only two cosines: the last angle has none; d = 1: one sine"
        out = sinusoidal_positions(np.array([1]), 5)
        expect(out, [[0.841471, 0.540302, 0.0251162, 0.9996845, 0.000631]], tol=1e-5,
               why="0.0464 or 0.01 third: d in the exponent is 5, not 6 or 4")
        expect(sinusoidal_positions(np.array([1]), 1), [[0.841471]])

    def test_distance(self):
        "The product of two places depends on their distance: 1.5403 for 0 and 1, and for 7 and 8"
        pe = sinusoidal_positions(np.arange(10), 4)
        expect([pe[0] @ pe[1], pe[1] @ pe[2], pe[7] @ pe[8]], [1.540252] * 3)

    def test_base(self):
        "With base 100 the second wave of d = 4 is one of 1/10"
        expect(sinusoidal_positions(np.array([1]), 4, 100.)[0, 2:], [0.0998334, 0.9950042])

    def test_shapes(self):
        "Positions (2, 3) give (2, 3, d), a single one (d,), none (0, d)"
        expect(sinusoidal_positions(np.array([[0, 1, 2], [3, 4, 5]]), 4)[0, 1, 0], 0.841471)
        expect(sinusoidal_positions(np.array(1), 2), [0.841471, 0.540302])
        expect(sinusoidal_positions(np.arange(0), 6).shape, (0, 6))


run_tests(TestSinusoidalPositions)

# %% [markdown]
# A look at the sines, position by position, from -1 (blank) to 1 (@); = and + are nearly 0. On the left
# fast waves; on the right slow ones, which have hardly left 0:

# %%
@measure
def positions_as_text():
    print(heat_text(sinusoidal_positions(np.arange(24), 100)[:, ::2]))


# %% [markdown]
# The layer around it, `SinusoidalPositionalEncoding` in `position_layers_dev.py`, keeps such a table
# and makes it longer when a longer text comes. Once this module is exported, `write_positions_page` from
# `tinytorch.viz.positions_page` makes a page of it to play with in a browser:
# `write_positions_page("positions.html")`. A click on a column of its heat map shows that column as a wave.
#
# ## Exercise 5: where, learned
#
# If nobody knows the best vectors, learn them: a table with a row for each position, as for words. GPT-2
# and BERT do. With tokens (B, T, d) of value 5 and a table 0, 1, 2, 3 (d = 1):
#
# ```
# forward(tokens of T = 2)                 5 5        + 0 1  =  5 6
# forward(tokens of T = 2, offset=2)       5 5        + 2 3  =  7 8        two tokens came before
# forward(3)                                            0 1 2              a length gives the rows
# forward(3, offset=2)                                  2 3 ?              IndexError, below
# ```
#
# `offset` is for text that is written word by word: each new word comes alone, and stands behind all
# that came before. Who forgets it gives every word the position 0. What is past the end has never been
# learned, and is an error; so is a position before 0. The sentence, where `end` is the position after
# the last:
#
# ```
# raise IndexError(f"LearnedPositionalEmbedding: asked for the positions {offset} to {end - 1}, "
#                  f"and {self.max_len} were learned, from 0 on. Cut the text, or learn more.")
# ```
#
# T is the dimension before the last of x, so that (T, d) works as well as (B, T, d).

# %%
#| export nn.positions
class LearnedPositionalEmbedding(Module):
    """A learned vector for each of max_len positions, `weight` (max_len, d_model), added to the tokens."""
    def __init__(self, max_len, d_model):
        super().__init__()
        self.max_len, self.d_model = max_len, d_model
        self.weight = Parameter(normal_(empty(max_len, d_model)))

    def forward(self, x, offset=0):
        """x (..., T, d_model) plus the rows offset to offset + T - 1; or, for a length x, those rows alone.

        Raises IndexError for positions below 0 or past the end.
        """
        if not isinstance(x, int):
            check_features("LearnedPositionalEmbedding", x, self.d_model)
        ### BEGIN SOLUTION
        end = offset + (x if isinstance(x, int) else x.shape[-2])
        if offset < 0 or end > self.max_len:
            raise IndexError(f"LearnedPositionalEmbedding: asked for the positions {offset} to {end - 1}, "
                             f"and {self.max_len} were learned, from 0 on. Cut the text, or learn more.")
        rows = self.weight[offset:end]
        return rows if isinstance(x, int) else x + rows
        ### END SOLUTION

    def extra_repr(self): return f"{self.max_len}, {self.d_model}"


# %%
class TestLearnedPositionalEmbeddingForward:
    """Learned places"""
    def layer(self):
        layer = LearnedPositionalEmbedding(4, 1)
        layer.load_state_dict({"weight": np.array([[0.], [1.], [2.], [3.]], "float32")})
        return layer

    def test_by_hand(self):
        "Tokens of 5 at the places 0 and 1 become 5 6"
        expect(self.layer().forward(Tensor([[[5.], [5.]]])), [[[5.], [6.]]])

    def test_offset(self):
        "With two tokens before them they become 7 8"
        expect(self.layer().forward(Tensor([[[5.], [5.]]]), 2), [[[7.], [8.]]],
               why="5 6: every text would begin at 0, also one that goes on")

    def test_length(self):
        "A length gives the rows: 0 1 2, and 1 2 from 1 on"
        expect(self.layer().forward(3), [[0.], [1.], [2.]])
        expect(self.layer().forward(2, offset=1), [[1.], [2.]])

    def test_batch(self):
        "Three texts of two tokens: every text has the same places; one alone, (T, d), works as well"
        x = Tensor(np.zeros((3, 2, 1), "float32"))
        expect(self.layer().forward(x), [[[0.], [1.]]] * 3, why="0 1 2 from text to text: T is the "
               "dimension before the last, not the first")
        expect(self.layer().forward(x[0]), [[0.], [1.]])

    def test_to_the_end(self):
        "All four places can be used, and a text of no tokens at the end is no mistake"
        expect(self.layer().forward(4)[3], [3.])
        expect(self.layer().forward(0, 4).shape, (0, 1))

    def test_past_the_end(self):
        "Five places, or three from 2 on, or one from -1 on: an error that says how many there are"
        for x, offset in (5, 0), (3, 2), (1, -1), (Tensor(np.zeros((1, 5, 1), "float32")), 0):
            expect_error(IndexError, self.layer().forward, x, offset, says=["4", "learned"],
                         why="a slice from -1 to 0 is empty, and no error: is offset below 0?" if offset < 0
                         else "a slice past the end is only shorter, and adds what is there: is end above 4?")

    def test_gradient(self):
        "A row's gradient adds up over the batch; rows that were not used get 0"
        layer = self.layer()
        layer.forward(Tensor(np.zeros((3, 2, 1), "float32")), 1).sum().backward()
        expect(layer.weight.grad, [[0.], [3.], [3.], [0.]])


run_tests(TestLearnedPositionalEmbeddingForward)

# %% [markdown]
# The other two ways need words of attention, which module 12 builds. There each token has three vectors: a
# *query*, what it looks for; a *key*, what it is found by; a *value*, what it then says. The product q · k of
# a query and a key is a *score*: the higher it is, the more the token of q listens to that of k. This is done
# H times beside each other, in H *heads*, each with vectors of its own: q and k are (B, H, T, d).
#
# ## Exercise 6: where, as angles
#
# What is added to a vector is mixed into what it says. *Rotary* embeddings leave its length alone, and
# turn it: by one angle at position 1, by twice that at position 2. A score q · k depends on the angle
# between the two. Turn both by their positions, and that angle changes by the difference. (Values are not
# turned: they are *what* is said.)
#
# ```
# q = [1, 2], k = [3, 1], one radian a place     q · k unturned                  5
#                                                q at place 2, k at place 1     -1.5058
#                                                q at place 5, k at place 4     -1.5058     one apart, too
#                                                q at place 1, k at place 2      6.9089     the other way
# ```
#
# A vector of d features is d/2 pairs, each turned at its own speed, the speeds of exercise 4: pair i at
# position p by the angle
#
# $$ \theta_{p,i} = p \cdot \mathrm{base}^{-2i/d} \qquad i = 0, \dots, d/2 - 1 $$
#
# (Su et al., 2021.) For d = 4 and base 100, position 3: 3 and 0.3. A larger base makes the slow pairs
# slower; models for long texts use 500,000 and more.

# %%
#| export nn.rotary
def rotary_angles(positions, dim, base=10000.0):
    """By which angle each pair of `dim` features is turned at the positions (...): (..., dim/2), float64.

    >>> rotary_angles(np.array([1, 3]), 4, base=100.0)
    array([[1. , 0.1],
           [3. , 0.3]])
    """
    even("rotary_angles", dim)
    xp = array_module(positions)
    ### BEGIN SOLUTION
    pairs = xp.arange(dim // 2)
    return positions[..., None] * base ** (-2 * pairs / dim)
    ### END SOLUTION


# %%
class TestRotaryAngles:
    """Angles"""
    def test_by_hand(self):
        "d = 4, base 100: position 1 turns by 1 and 0.1, position 3 by 3 and 0.3"
        expect(rotary_angles(np.array([1, 3]), 4, 100.), [[1., 0.1], [3., 0.3]],
               why="0.3162 second: the exponent is 2i/d; 10: it is negative; 0.1 first: i begins at 0; 0.01: "
                   "base is 100 here")

    def test_default_base(self):
        "d = 8 with base 10,000: 1, 1/10, 1/100, 1/1000"
        expect(rotary_angles(np.array([1]), 8), [[1., 0.1, 0.01, 0.001]])

    def test_start(self):
        "At position 0 nothing is turned; d = 2 is one pair, a radian a place"
        expect(rotary_angles(np.array([0, 5]), 2), [[0.], [5.]])
        expect(rotary_angles(np.array([0]), 6), [[0., 0., 0.]])

    def test_exact(self):
        "At position 100,000 the angles are still exact to the ninth digit"
        out = rotary_angles(np.arange(100_000, 100_001), 4)
        expect(str(out.dtype), "float64", why="float32 knows seven digits, and five of them stand before the "
                                              "point here")
        expect(out, [[100_000., 1000.]], tol=1e-12)

    def test_shapes(self):
        "Positions (2, 3) give (2, 3, d/2); an odd d is an error (given)"
        expect(rotary_angles(np.zeros((2, 3), "int64"), 8).shape, (2, 3, 4))
        expect_error(ValueError, rotary_angles, np.arange(2), 5, says="5")


run_tests(TestRotaryAngles)

# %% [markdown]
# ## Exercise 7: turn
#
# A pair (a, b), turned by θ, is
#
# $$ (a \cos\theta - b \sin\theta,\;\; a \sin\theta + b \cos\theta) $$
#
# By a quarter, where cos is 0 and sin is 1, (a, b) becomes (-b, a). Which features make a pair is a
# convention, and there are two. The four features 1 2 3 4, each pair turned by a quarter:
#
# ```
# layout "pairs"      neighbours: (1, 2) and (3, 4)               -2  1 -4  3         the paper, GPT-J
# layout "halves"     first half with second: (1, 3) and (2, 4)   -3 -4  1  2         Llama, GPT-NeoX
# ```
#
# For a model that is trained from the start it makes no difference. But the weights of a trained one load
# into the other layout without complaint, and give nonsense.
#
# x is (..., T, d), such as queries (B, H, T, d); cos and sin are (T, d/2), a row for each
# position and a column for each pair. `out` is there, in the shape of x: write into its places. Slices
# do for both: `x[..., 0::2]` is every second feature.
#
# The rule is given: the gradient of a turn is the turn back, by -θ, and sin(-θ) is -sin θ.

# %%
#| export nn.rotary
@op(promote=False)
def apply_rotary(x, cos, sin, layout="halves"):
    """x (..., T, d) with its pairs of features turned by the angles of these cos and sin, (T, d/2) each.

    layout: "halves" pairs feature i with i + d/2, "pairs" pairs 2i with 2i + 1. x is left as it was.

    >>> apply_rotary(np.array([[1., 2., 3., 4.]]), np.zeros((1, 2)), np.ones((1, 2)), "pairs")
    array([[-2.,  1., -4.,  3.]])
    """
    check_rotary(x, cos, sin, layout)
    out = array_module(x).empty(x.shape, x.dtype)
    ### BEGIN SOLUTION
    half = x.shape[-1] // 2
    first, second = slice(0, None, 2), slice(1, None, 2)
    if layout == "halves":
        first, second = slice(half), slice(half, None)
    a, b = x[..., first], x[..., second]
    out[..., first] = a * cos - b * sin
    out[..., second] = a * sin + b * cos
    return out
    ### END SOLUTION


@vjp(apply_rotary)
def _(out, x, cos, sin, layout="halves"):
    return lambda g: (apply_rotary(g, cos, -sin, layout), None, None)


# %%
def turned(x, places, speeds, layout="halves"):
    "For the tests: x (..., T, d) at these places, each pair turned at its speed"
    angles = np.array(places)[:, None] * np.array(speeds)
    return apply_rotary(x, np.cos(angles), np.sin(angles), layout)


class TestApplyRotary:
    """Turned vectors"""
    x, nothing, quarter = np.array([[1., 2., 3., 4.]]), np.zeros((1, 2)), np.ones((1, 2))

    def test_pairs(self):
        "Neighbours, turned by a quarter: 1 2 3 4 becomes -2 1 -4 3"
        expect(apply_rotary(self.x, self.nothing, self.quarter, "pairs"), [[-2., 1., -4., 3.]],
               why="-3 -4 1 2: that is the other layout; 2 -1 4 -3: turned the wrong way; -2 -2: the new a "
                   "was used for b")
        expect(self.x, [[1., 2., 3., 4.]], why="x was changed in place")

    def test_halves(self):
        "Halves, turned by a quarter, and by default: 1 2 3 4 becomes -3 -4 1 2"
        for how in (), ("halves",):
            expect(apply_rotary(self.x, self.nothing, self.quarter, *how), [[-3., -4., 1., 2.]],
                   why="-2 1 -4 3: that is the other layout; 3 4 -1 -2: turned the wrong way; -3 -4 -3 -4: "
                       "the new a was used for b")

    def test_each_pair(self):
        "Each pair has its own angle: only the second by a quarter"
        cos, sin = np.array([[1., 0.]]), np.array([[0., 1.]])
        expect(apply_rotary(self.x, cos, sin, "pairs"), [[1., 2., -4., 3.]])
        expect(apply_rotary(self.x, cos, sin, "halves"), [[1., -4., 3., 2.]])

    def test_by_hand(self):
        "One radian a place: q · k is -1.5058 at the places 2, 1 and 5, 4, and 6.9089 at 1, 2"
        q, k = np.array([[1., 2.]]), np.array([[3., 1.]])
        for layout in "halves", "pairs":
            scores = [(turned(q, [i], [1.], layout) @ turned(k, [j], [1.], layout).T).item()
                      for i, j in [(2, 1), (5, 4), (1, 2)]]
            expect(scores, [-1.505844, -1.505844, 6.908867],
                   why="the first and the last exchanged: turned the wrong way")

    def test_only_the_difference(self):
        "Seven places later for both, every score of six features is the same, and the lengths stay"
        x = np.random.default_rng(0).normal(size=(2, 5, 6))
        for layout in "halves", "pairs":
            early, late = [turned(x, np.arange(5) + s, [1., 0.3, 0.05], layout) for s in (0, 7)]
            expect(late @ late.swapaxes(1, 2), early @ early.swapaxes(1, 2))
            expect((early ** 2).sum(-1), (x ** 2).sum(-1))

    def test_shapes(self):
        "Batches and heads come first, (B, H, T, d); the dtype stays; no tokens are fine"
        x = np.arange(48.).reshape(2, 3, 2, 4).astype("float32")
        cos, sin = np.zeros((2, 2), "float32"), np.ones((2, 2), "float32")
        out = apply_rotary(x, cos, sin, "pairs")
        expect(out[1, 2, 1], [-45., 44., -47., 46.])
        expect(str(out.dtype), "float32")
        expect(apply_rotary(x[:, :, :0], cos[:0], sin[:0]).shape, (2, 3, 0, 4))

    def test_gradient(self):
        "The judge agrees, in both layouts (given)"
        for layout in "halves", "pairs":
            check_gradient(lambda x, h=layout: turned(x, [0, 1, 2], [1., 0.1], h) ** 2,
                           np.random.default_rng(1).normal(size=(2, 3, 4)))


run_tests(TestApplyRotary)

# %% [markdown]
# `RotaryEmbedding` in `position_layers_dev.py` keeps the tables of cos and sin.
#
# ## Exercise 8: near is better
#
# A third way touches no vector, but the scores of attention: whoever is far away has something taken off,
# in proportion to the distance. Each of H heads has its own *slope*, so that some see only near words and
# others far ones. For 4 heads the slopes are 1/4, 1/16, 1/64, 1/256; for 8 heads 1/2, 1/4, ..., 1/256:
#
# $$ \mathrm{slope}_i = 2^{-8 i / H} \qquad i = 1, \dots, H $$
#
# (*ALiBi*, attention with linear biases, Press et al., 2021.) Nothing is learned, and there is an answer
# for any distance.
#
# That is for powers of two: 1, 2, 4, 8, ... For another H the authors take the largest power of two below
# it, n: first the slopes for n heads; then every second of those for 2n heads, the first, the third, ...,
# until there are H. For 6 heads: the four above, then from 1/2, 1/4, 1/8, ... the first and third, 1/2 and
# 1/8.
#
# n is given, and is H itself if H is a power of two. A function may call itself, for the slopes of 2n heads;
# **if n is H it must not**, or each call asks for twice as many heads, without end.

# %%
#| export nn.position_bias
def alibi_slopes(num_heads):
    """The slope of each head, a list of num_heads numbers. Raises ValueError unless there are 1 to 65,536.

    >>> alibi_slopes(4), alibi_slopes(3)
    ([0.25, 0.0625, 0.015625, 0.00390625], [0.0625, 0.00390625, 0.25])
    """
    if not 1 <= num_heads <= 65_536:
        raise ValueError(f"alibi_slopes({num_heads}): there must be 1 to 65,536 heads. Did a call ask for "
                         "twice as many, and that one again? For a power of two, n is all.")
    n = 1 << (num_heads.bit_length() - 1)              # the largest power of two that is not above num_heads
    ### BEGIN SOLUTION
    slopes = [2 ** (-8 * i / n) for i in range(1, n + 1)]
    return slopes if n == num_heads else slopes + alibi_slopes(2 * n)[::2][:num_heads - n]
    ### END SOLUTION


# %%
class TestAlibiSlopes:
    """Slopes"""
    def test_four(self):
        "Four heads: 1/4, 1/16, 1/64, 1/256"
        expect(alibi_slopes(4), [1/4, 1/16, 1/64, 1/256], why="1 first: i goes from 1 to H, not from 0")

    def test_eight(self):
        "Eight heads: 1/2, 1/4, ..., 1/256; one head: 1/256"
        expect(alibi_slopes(8), [2. ** -i for i in range(1, 9)])
        expect(alibi_slopes(1), [1/256])

    def test_six(self):
        "Six heads: those of four, then the first and the third of eight"
        expect(alibi_slopes(6), [1/4, 1/16, 1/64, 1/256, 1/2, 1/8],
               why="0.3968 first: six is no power of two, and the formula is not for it; 1/4 fifth: the "
                   "first of eight, and then every second")

    def test_twelve(self):
        "Twelve heads: those of eight, then four of those of sixteen, 2^(-1/2), 2^(-3/2), ..."
        expect(alibi_slopes(12)[8:], [2 ** -0.5, 2 ** -1.5, 2 ** -2.5, 2 ** -3.5])

    def test_list(self):
        "A list of floats"
        assert isinstance(alibi_slopes(3), list) and isinstance(alibi_slopes(3)[0], float)


run_tests(TestAlibiSlopes)

# %% [markdown]
# ## Exercise 9: distances in buckets
#
# And the fourth: learn the penalty. A number for each distance would be many, and most are rarely seen.
# T5 sorts distances into *buckets*, as one speaks of them: one word off, two words off, ..., some ten,
# some thirty, far. With 32 buckets, half for keys before the query and half for those after it, each
# side has n = 16. Half of these, e = 8, are exact. The others grow with the logarithm up to
# max_distance, 128:
#
# ```
# key - query      0  -7  -8  -11  -12  -16  -23  -32  -64  -127  -500      +1   +8   +500
# bucket           0   7   8    8    9   10   11   12   14    15    15      17   24     31
# ```
#
# The bucket of a distance a from e on (the code's `exact`) is this, and never above the last, n - 1:
#
# $$ e + \left\lfloor \frac{\ln(a / e)}{\ln(\mathrm{max\_distance} / e)} \cdot (n - e) \right\rfloor $$
#
# The brackets round down. For a = 16: ln 2 / ln 16 = 1/4, times 8 is 2: bucket 10. Buckets of keys after
# the query have n more: +8 has 16 + 8.
#
# If a model only looks back (`bidirectional=False`) all 32 are for keys before the query, so n = 32 and
# e = 16, and any key after it counts as distance 0.
#
# Compute the formula for all distances, then pick: `xp.where(a < exact, a, far)`. ln 0 would warn, so put
# `np.maximum(a, 1)` in place of a into the formula; what it gives for 0 is not picked. `.astype("int64")`
# rounds down. For the upper logarithm, of an array, take the given `log`: it computes in float32, as T5
# does, and on a border between two buckets float64 may round to the other. The lower is `math.log`.

# %%
#| export nn.position_bias
def relative_bucket(distance, num_buckets=32, max_distance=128, bidirectional=True):
    """The bucket, 0 to num_buckets - 1, of each distance key - query: an array of integers, int64.

    Raises ValueError if there are too few buckets, or if max_distance is below those that are exact.

    >>> relative_bucket(np.array([-7, -8, -16, -500, 1, 8]))
    array([ 7,  8, 10, 15, 17, 24])
    """
    xp = array_module(distance)
    n = num_buckets // 2 if bidirectional else num_buckets
    exact = n // 2
    if exact < 1 or max_distance <= exact:
        raise ValueError(f"relative_bucket with num_buckets={num_buckets} and max_distance={max_distance}: "
                         f"{exact} buckets are for exact distances; it must be at least 1, and max_distance "
                         "above it.")
    def log(x): return np.log(x.astype("float32"))     # of an array of positive numbers
    ### BEGIN SOLUTION
    away = abs(distance) if bidirectional else np.maximum(-distance, 0)
    share = log(np.maximum(away, 1) / exact) / math.log(max_distance / exact)
    far = np.minimum(exact + (share * (n - exact)).astype("int64"), n - 1)
    side = n * (distance > 0) if bidirectional else 0
    return xp.where(away < exact, away, far) + side
    ### END SOLUTION


# %%
class TestRelativeBucket:
    """Buckets"""
    def test_exact(self):
        "Up to seven words before: the distance itself"
        expect(relative_bucket(-np.arange(8)), np.arange(8), why="17 for a distance of 1: that is after "
               "the query; a distance is key - query, negative before it")

    def test_far(self):
        "-8 -11 -12 -16 -23 -32 -64 -127 -500: buckets 8 8 9 10 11 12 14 15 15"
        expect(relative_bucket(-np.array([8, 11, 12, 16, 23, 32, 64, 127, 500])),
               [8, 8, 9, 10, 11, 12, 14, 15, 15], why="above 15: the last bucket holds everything beyond; 9 "
               "for -11: rounded, not rounded down")

    def test_after(self):
        "Keys after the query: +1 +8 +500 in the buckets 17 24 31"
        expect(relative_bucket(np.array([1, 8, 500])), [17, 24, 31])

    def test_backwards(self):
        "Looking back only: -15 -16 -32 -127 in 15 16 21 31, and whatever comes after in 0"
        expect(relative_bucket(np.array([-15, -16, -32, -127, 1, 500]), bidirectional=False),
               [15, 16, 21, 31, 0, 0], why="5 for -32: n is 32 here and e is 16; 1 for +1: not its distance")

    def test_other_sizes(self):
        "8 buckets up to 20: two exact on each side, then two for the rest"
        expect(relative_bucket(np.arange(-25, 4), 8, 20)[[0, 15, 18, 19, 22, 23, 24, 25, 26, 27]],
               [3, 3, 3, 2, 2, 2, 1, 0, 5, 6])

    def test_on_a_border(self):
        "18 buckets: 8, 16 and 64 words before are where the buckets 5, 6 and 8 begin"
        expect(relative_bucket(-np.array([7, 8, 15, 16, 63, 64]), 18), [4, 5, 5, 6, 7, 8],
               why="4 for 8, 5 for 16: float64 gives 0.99999 and 1.99999 there; take the given `log`, which "
                   "computes in float32")

    def test_shape_and_dtype(self):
        "A matrix of distances gives a matrix of int64, and is left as it was"
        distance = np.arange(4)[None] - np.arange(3)[:, None]
        out = relative_bucket(distance)
        expect(out, [[0, 17, 18, 19], [1, 0, 17, 18], [2, 1, 0, 17]])
        expect(str(out.dtype), "int64")
        expect(distance[2, 0], -2)

    def test_too_few(self):
        "Too few buckets, or a max_distance below the exact ones, are refused (given)"
        expect_error(ValueError, relative_bucket, np.arange(3), 2, says="2")
        expect_error(ValueError, relative_bucket, np.arange(3), 32, 8, says="8")


run_tests(TestRelativeBucket)

# %% [markdown]
# `ALiBi` and `RelativePositionBias` in `position_layers_dev.py` make biases (H, queries, keys) of both.
#
# ## Exercise 10: a picture is a sentence
#
# A picture has no words. Cut it into square *patches*, and give each a vector: a matrix times its
# pixels. That is a convolution whose stride is its size: its windows do not overlap. With 1 to 16 in a
# picture of 4 by 4, patches of 2 by 2, and a matrix of ones:
#
# ```
#  1  2 |  3  4         14   22           1 + 2 + 5 + 6 = 14
#  5  6 |  7  8
# ------+------                           as a sentence, row by row:  14 22 46 54
#  9 10 | 11 12         46   54
# 13 14 | 15 16
# ```
#
# `projection` is that convolution: (B, C, H, W) becomes (B, d, rows, columns). A sentence is (B, T, d),
# so its last two dimensions become one, T, row by row, and change places with d. 224 by 224 pixels in
# patches of 16 are 14 rows of 14: a sentence of 196 words. (A batch may be empty, B = 0. Then -1 in a reshape
# could stand for any number, and is an error; `flatten(start)` makes one of all dimensions from start on.)

# %%
#| export nn.patches
class PatchEmbedding(Module):
    """Pictures (B, C, H, W) as sentences of patches, (B, T, d_model): ViT's input (Dosovitskiy et al., 2020).

    img_size, patch_size: one number, or (height, width). `n_patches` is T for pictures of img_size; others
    of whole patches are taken as well. embed_dim is another name for d_model.
    """
    def __init__(self, img_size=224, patch_size=16, in_channels=3, d_model=768, embed_dim=None):
        super().__init__()
        self.img_size, self.patch_size = sides(img_size), sides(patch_size)
        check_patches(empty(0, in_channels, *self.img_size), in_channels, self.patch_size)
        self.in_channels, self.d_model = in_channels, d_model if embed_dim is None else embed_dim
        self.n_patches = (self.img_size[0] // self.patch_size[0]) * (self.img_size[1] // self.patch_size[1])
        self.projection = Conv2d(in_channels, self.d_model, self.patch_size, stride=self.patch_size)

    def forward(self, x):
        """(B, C, H, W) to (B, T, d_model), patch by patch, row by row.

        Raises ValueError for other channels, and for sizes that are no multiples of the patch size.
        """
        check_patches(x, self.in_channels, self.patch_size)
        ### BEGIN SOLUTION
        return self.projection(x).flatten(2).transpose(1, 2)
        ### END SOLUTION


# %%
class TestPatchEmbeddingForward:
    """A picture is a sentence"""
    def of_ones(self, size, patch, channels=1, d=1):
        layer = PatchEmbedding(size, patch, channels, d)
        layer.load_state_dict({"projection.weight": np.ones((d, channels, *layer.patch_size), "float32"),
                               "projection.bias": np.arange(d, dtype="float32")})
        return layer

    def test_by_hand(self):
        "1 to 16 in patches of 2 by 2, times ones: 14 22 46 54"
        x = Tensor(np.arange(1., 17.).reshape(1, 1, 4, 4), dtype="float32")
        expect(self.of_ones(4, 2).forward(x), [[[14.], [22.], [46.], [54.]]],
               why="14 46 22 54: the patches are read column by column")

    def test_features_last(self):
        "Each patch has its d features beside each other: 14 15 16, then 22 23 24"
        x = Tensor(np.arange(1., 17.).reshape(1, 1, 4, 4), dtype="float32")
        expect(self.of_ones(4, 2, d=3).forward(x)[0, :2], [[14., 15., 16.], [22., 23., 24.]],
               why="14 22 46: transposed, not reshaped: a reshape to (B, T, d) mixes patches and features")

    def test_sizes(self):
        "224 / 16: 196 patches; a picture of 32 by 48: 2 rows of 3; patches of 2 by 3"
        expect(PatchEmbedding(d_model=4).n_patches, 196)
        layer = PatchEmbedding(32, 16, 3, embed_dim=4)
        expect(layer.forward(Tensor(np.zeros((2, 3, 32, 48), "float32"))).shape, (2, 6, 4))
        expect(self.of_ones((4, 6), (2, 3)).forward(Tensor(np.ones((1, 1, 4, 6), "float32"))),
               [[[6.], [6.], [6.], [6.]]])

    def test_none(self):
        "A batch of no pictures, (0, 3, 32, 32), gives (0, 4, 4): flatten can tell, -1 in a reshape cannot"
        x = Tensor(np.zeros((0, 3, 32, 32), "float32"))
        expect(PatchEmbedding(32, 16, 3, 4).forward(x).shape, (0, 4, 4))

    def test_refused(self):
        "A row of pixels too many, or one channel for three, is an error (given)"
        layer = PatchEmbedding(32, 16, 3, 4)
        for shape in (1, 3, 33, 32), (1, 1, 32, 32), (3, 32, 32):
            expect_error(ValueError, layer.forward, Tensor(np.zeros(shape, "float32")), says=str(shape))


run_tests(TestPatchEmbeddingForward)


# %% [markdown]
# ## Measure
#
# Guess first (nothing is measured before):
#
# 1. GPT-2's table has 50,257 rows of 768. Look up 768 ids: how many times as long as taking the rows does the
#    product with a one-hot matrix take? And how many times as long as your `embedding_grad` does
#    `np.add.at` take? (Here 1,000 rows, and 768 ids as in a text: a few words often, many once.)
# 2. The cosine of the angle between the vectors of two positions, d = 128: 0 and 1, 0 and 10? 500 and 501, 7
#    and 501?

# %%
guess_of_lookup = None             # times as long: (one-hot, np.add.at), such as (10, 10)
guess_of_cosines = None            # (0 and 1, 0 and 10, 500 and 501, 7 and 501), such as (1., 0.5, 0., 0.)


@measure
def looking_up():
    if guess_of_lookup is None:
        return print("guess_of_lookup is None: guess, then run this again")
    rng = np.random.default_rng(0)
    table, ids = np.ones((50_257, 768), "float32"), rng.integers(0, 50_257, 768)
    def one_hot(): return (ids[:, None] == np.arange(len(table))).astype("float32") @ table
    rows, product = timed(embedding, ids, table), timed(one_hot, repeat=1)
    print(f"rows {rows * 1e3:.2f} ms, one-hot product {product * 1e3:.0f} ms: {product / rows:,.0f} times; "
          f"{2 * len(ids) * table.size / 1e9:.0f} billion operations, nearly all with 0")
    print(f"the table of the gradient: {table.nbytes / 1e6:.0f} MB, "
          f"{timed(np.full, table.shape, 0., 'f') * 1e3:.0f} ms to write its zeros")
    few, g = rng.zipf(1.3, 768) % 1000, rng.normal(size=(768, 768)).astype("float32")
    added = timed(np.add.at, np.zeros((1000, 768), "float32"), few, g)
    yours = timed(embedding_grad, g, few, 1000)
    print(f"np.add.at {added * 1e3:.1f} ms, yours {yours * 1e3:.1f} ms: {added / yours:.1f} times; "
          f"you guessed {guess_of_lookup}")


@measure
def alike():
    if guess_of_cosines is None:
        return print("guess_of_cosines is None: guess, then run this again")
    pe = sinusoidal_positions(np.arange(600), 128)
    pe /= np.sqrt((pe ** 2).sum(1, keepdims=True))
    for p, q in (0, 1), (0, 10), (500, 501), (7, 501):
        print(f"positions {p} and {q}: {pe[p] @ pe[q]:.3f}")
    print("you guessed", guess_of_cosines)


# %% [markdown]
# What must hold on any machine. Taking rows copies 768 of them; the product looks at the whole table,
# for each id, and takes hundreds or thousands of times as long. The gradient is a table as large as the
# weights, 154 MB, zeros but for 768 rows. (PyTorch has sparse gradients for that, and they are rarely
# used: Adam's moments are dense all the same.) `np.add.at` adds number by number, a run is added row by
# row, and the 768 ids are only about 200 different words: the more they repeat, the more sorting gains.
#
# The cosines: 0.970 for 0 and 1, 0.669 for 0 and 10, 0.970 again for 500 and 501, and 0.345 for 7 and 501.
# So that is how a network sees that 501 is like 500, and less like 7: the vectors of neighbours point nearly
# the same way, wherever the neighbours are.
#
# ## Back to the dog
#
# Is that enough? Add to each word the vector of its place, and then add up the sentence:

# %%
WORDS = np.array([[1., 2.], [3., 0.], [-1., 4.]])      # dog, bites, man


@measure
def who_bites():
    places = sinusoidal_positions(np.arange(3), 2)
    sentences = {"dog bites man": [0, 1, 2], "man bites dog": [2, 1, 0]}
    for name, ids in sentences.items():
        x = WORDS[ids] + places
        print(f"{name}   added up {x.sum(0).round(2)}   after a relu {np.maximum(x, 0).sum(0).round(2)}")


# %% [markdown]
# No! A sum of sums is the sum of all words plus the sum of all places, in any order. The two must meet
# in something that is not a straight line, before anything is added up: a relu is enough, attention
# does it by its products.
#
# So a small network: the vector of a word, plus that of its place, a dense layer, a relu; the sum over
# the sentence; a dense layer. The task: twelve words, among them a 1 and a 2. Which of them comes
# first? And then with sentences of 24. Guess the shares of right answers, in per cent:

# %%
guess_of_order = None              # no places, learned, waves; at 12 and 24: ((50, 50), (50, 50), (50, 50))


def sentences(n, length, rng):
    "n sentences of ids from 3 to 9, with a 1 and a 2 at two places, and whether the 1 comes first"
    ids = rng.integers(3, 10, (n, length))
    places = rng.permuted(np.tile(np.arange(length), (n, 1)), axis=1)[:, :2]
    ids[np.arange(n), places[:, 0]], ids[np.arange(n), places[:, 1]] = 1, 2
    return Tensor(ids), Tensor((places[:, 0] < places[:, 1]).astype("int64"))


def trained(add_places, weights, d=32, steps=400):
    "Scores (n, 2) of sentences, from a network whose places are added by add_places(x)"
    manual_seed(0)
    table = Parameter(normal_(empty(10, d)))
    layers, rng = [Linear(d, 64), Linear(64, 2)], np.random.default_rng(1)
    def scores(ids): return layers[1](layers[0](add_places(embedding(ids, table))).relu().sum(1))
    optimizer = Adam([table, *weights, *layers[0].parameters(), *layers[1].parameters()], lr=0.003)
    for _ in range(steps):
        ids, first = sentences(64, 12, rng)
        optimizer.zero_grad()
        cross_entropy(scores(ids), first).backward()
        optimizer.step()
    return scores


@measure
def which_comes_first():
    if guess_of_order is None:
        return print("guess_of_order is None: guess, then run this again")
    manual_seed(0)
    learned = LearnedPositionalEmbedding(12, 32)
    waves = Tensor(sinusoidal_positions(np.arange(24), 32), dtype="float32")
    ways = {"no places": (lambda x: x, []), "learned": (learned.forward, [learned.weight]),
            "waves": (lambda x: x + waves[:x.shape[1]], [])}
    for name, (add_places, weights) in ways.items():
        scores, shares = trained(add_places, weights), []
        for length in 12, 24:
            ids, first = sentences(1000, length, np.random.default_rng(2))
            try:
                with no_grad():
                    right = (scores(ids).argmax(1) == first).float().mean().item()
                shares.append(f"{right:4.0%} at {length}")
            except IndexError as error:
                shares.append(f"at {length}: {error}")
        print(f"{name:10}", *shares)
    print("you guessed", guess_of_order)


# %% [markdown]
# What must hold: without places it is a coin. With them, learned or not, nearly all are right at 12. (The
# waves are somewhat behind: most of their 32 columns are too slow to move within twelve places. With three
# times the steps they are nearly level.) At 24 the learned ones have no row, and say so; the waves have
# vectors for places that were never trained, and do worse: *defined* is not *known*. Rotary embeddings,
# ALiBi and buckets see only distances, and in a longer text the short ones are the same as ever; ALiBi and
# the last bucket also have an answer for those that are new. They need attention, and so module 12.
#
# ## Pictures
#
# In a notebook: the table of waves, four of its columns, and how a score falls with distance: the mean
# of 64 random vectors with themselves, turned by rotary embeddings; and two heads of ALiBi.

# %%
@measure
def pictures():
    x, far = np.random.default_rng(0).normal(size=(64, 1, 64)), np.arange(100)
    speeds = rotary_angles(np.array(1), 64)
    rotary = (turned(x, [0], speeds) * turned(np.repeat(x, 100, 1), far, speeds)).sum(-1).mean(0)
    slopes = alibi_slopes(8)
    rotary /= 8                                        # attention divides scores by √d, and d is 64
    scores = {"rotary": rotary, f"ALiBi, slope {slopes[3]}": -slopes[3] * far,
              f"ALiBi, slope {slopes[7]}": -slopes[7] * far}
    print("rotary at distance 0, 1, 2, 5, 10, 50:", *rotary[[0, 1, 2, 5, 10, 50]].round(2))
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("The pictures need matplotlib: pip install matplotlib")
        return
    _, axes = plt.subplots(1, 3, figsize=(15, 4))
    pe = sinusoidal_positions(np.arange(100), 128)
    draw_positions(pe, axes[0])
    draw_waves(pe, (0, 10, 30, 60), axes[1])
    draw_by_distance(scores, axes[2])
    if plt.get_backend().lower() == "agg":
        print("No window to draw in: open this file as a notebook to see the pictures.")
    else:
        plt.show()


# %% [markdown]
# ## Reflect
#
# Answer in a sentence or two each, then compare with `## reflection-1` and so on in HINTS.md.
#
# 1. A model was trained on texts of 1,024 tokens, and gets one of 2,000. What happens with learned,
#    sinusoidal, and rotary positions?
# 2. GPT-2 uses one table twice (*tied*): to look up what comes in, and for the scores of what comes out.
#    What does that save, and what gradient does the table get?
# 3. A word occurs once in ten thousand steps. What does its row get in the others, and what do Adam and
#    weight decay do to it meanwhile?
#
# ## Where this code lives
#
# `tito export 11` writes it to `tinytorch/nn/`: `embeddings.py` (lookup and its gradient), `positions.py`,
# `rotary.py`, `position_bias.py`, `patches.py`, and beside them what was given: `embedding_layers.py`,
# `position_layers.py`.
#
# ```python
# from tinytorch import nn
# token, place = nn.Embedding(50_257, 768), nn.LearnedPositionalEmbedding(1024, 768)
# x = place(token(ids))                                # (B, T) to (B, T, 768)
# q = nn.RotaryEmbedding(64)(q, offset=0)              # (B, H, T, 64)
# ```
#
# Module 12 hands rotary embeddings and biases to attention, 13 builds GPT, BERT and ViT on these
# tables, and 15 gives the offset: how much of a text is in the cache.
#
# In the real world: PyTorch's `nn.Embedding` is this class; its gradient on a GPU sorts the ids, if
# there are many, as you did. For positions PyTorch has no layers at all. Each model's code brings its
# own, which is how two layouts of the same rotation came about.
