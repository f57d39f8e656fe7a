# %% [markdown]
# # Module 05: Autograd, who is to blame
#
# A network of 784-128-10 has 101,770 weights. Its loss is one number. To improve it, we want to know
# for *each* weight: if it grows a little, does the loss rise or fall, and how fast?
#
# The obvious way is to try: nudge one weight, run the network again, look at the loss. Two runs for
# every weight. One run takes about a quarter of a millisecond, so all weights take **a minute**, and
# that for a single step of training. At the end of this module you will get all 101,770 answers at
# once, for the price of about *two* more runs.
#
# The trick is old and simple. A loss is computed in small steps, and each small step knows its own
# slope. Write the steps down while they happen; then go back from the loss to the weights, and at each
# step ask it to share out the blame.

# %%
#| default_exp core.autograd
from tito.lesson import expect, expect_error, measure, peak_bytes, run_tests, timed

# %%
import math
import threading
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import islice, takewhile, zip_longest

import numpy as np
from graph_dev import attach_outputs, check_unwritten, missing_rule, refresh, saved_in

from tinytorch.core import math as math_ops
from tinytorch.core import ops
from tinytorch.core.backend import array_module, is_array, writes
from tinytorch.core.base import record_with
from tinytorch.core.op import op
from tinytorch.core.tensor import Tensor
from tinytorch.nn.losses import cross_entropy_rows

# %% [markdown]
# ## Exercise 1: the judge comes first
#
# Before we build something clever we need something stupid that we trust. The slope of f at x is how
# much f changes for a small step h, per step. Look to both sides and the error is much smaller than
# with one side:
#
# $$ f'(x) \approx \frac{f(x + h) - f(x - h)}{2h} $$
#
# For f(x) = x³ at 2, with h = 0.1: (2.1³ - 1.9³) / 0.2 = (9.261 - 6.859) / 0.2 = **12.01**. The truth is
# 3·2² = 12. One-sided, (9.261 - 8) / 0.1 = 12.61.
#
# If x is an array, "a small step" needs a direction d, an array of the shape of x: compare f(x + h·d)
# and f(x - h·d). One random direction checks all elements at once: a mistake in any of them shows, except
# by a coincidence that a random direction makes practically impossible.
#
# How small should h be? Small enough that f is nearly straight, large enough that the difference of
# two nearly equal numbers keeps some digits. In float64 that is about 1e-6, in float32 there is no
# good answer (you will measure it). So the judge works in float64.

# %%
#| export
def central_difference(f, x, direction, h=1e-6):
    """The slope of f at the array x along `direction`: how fast f(x + t * direction) changes with t.

    f: takes an array of the shape of x and returns a number. x: a float64 array, left as it was.

    >>> round(central_difference(lambda x: float(x ** 3), np.array(2.), np.array(1.), h=0.1), 4)
    12.01
    """
    ### BEGIN SOLUTION
    return (f(x + h * direction) - f(x - h * direction)) / (2 * h)
    ### END SOLUTION


# %%
class TestCentralDifference:
    """The judge"""
    def test_by_hand(self):
        "x cubed at 2 with h = 0.1: (9.261 - 6.859) / 0.2 = 12.01"
        expect(central_difference(lambda x: float(x ** 3), np.array(2.), np.array(1.), h=0.1), 12.01,
               why="12.61 would look to one side only, 24.02 forget the 2 of 2h, 0.1201 multiply by h")

    def test_direction(self):
        "Along (1, -1), x0 * x1 at (2, 5) changes by 5 - 2 = 3"
        expect(central_difference(lambda x: x[0] * x[1], np.array([2., 5.]), np.array([1., -1.])), 3.,
               tol=1e-6)

    def test_longer_direction(self):
        "Twice the direction, twice the slope: it is not divided by its length"
        expect(central_difference(lambda x: x[0] * x[1], np.array([2., 5.]), np.array([2., -2.])), 6.,
               tol=1e-6)

    def test_untouched(self):
        "x is left as it was, to the last bit"
        x = np.array([2., 5.])
        central_difference(lambda x: x[0] * x[1], x, np.array([1., 1.]), h=0.1)
        assert x.tolist() == [2., 5.], f"x is {x.tolist()} now: x += ... writes into the caller's array"


run_tests(TestCentralDifference)

# %% [markdown]
# ## Blame on the way back
#
# Take x = 2, y = 3, and compute a = x·y, b = a + x, L = b². Forward, left to right: a = 6, b = 8, L = 64.
# Backward, right to left, we carry g, "how fast does L change with this number":
#
# ```
#  x = 2 ─────┬───────────────┐
#     g = 64  │               │ 16
#             │ 48            ▼
#             └──▶ a = x·y ──▶ b = a + x ──▶ L = b²
#             ┌──▶   = 6        = 8            = 64
#             │   g = 16       g = 16         g = 1
#  y = 3 ─────┘
#     g = 32
# ```
#
# * L = b², at b = 8: slope 2·8 = 16. So g at b is 16.
# * b = a + x: a sum passes g on to both, unchanged. 16 to a, 16 to x.
# * a = x·y: if x grows by 1, a grows by y = 3. So x gets 16·3 = 48, and y gets 16·2 = 32.
# * x was used **twice**. Both parts count: 16 + 48 = **64**. Whoever overwrites instead of adding gets 16
#   or 48.
#
# Check with the judge: L = (x·y + x)², dL/dx = 2·8·(y + 1) = 64.
#
# So each op needs a *pullback*: a function from the gradient of its output to the gradients of its
# inputs. It is made when the op runs, because it needs to know the numbers (3 and 2 above), and called
# later, when g arrives. In Python that is a function that returns a function:
#
# ```python
# def add_rule(out, x, y):                 # called when the op runs
#     return lambda g: (g, g)              # this function is called on the way back
# ```
#
# A rule gets the result and the inputs of its op, all as arrays. Whatever the inner function **names**
# stays in memory until the way back; `add_rule` names nothing, so an addition costs no memory.
#
# One refinement: a gradient that costs arithmetic is given as a function without arguments. If nobody
# wants it (the input is data, not a weight), it is never computed. `(lambda: g * y, ...)` instead of
# `(g * y, ...)`.
#
# The decorator `@vjp(op)` (vector-Jacobian product, the field's name for a pullback) enters a rule in a
# table. Given. (`composite`, below it, is for later: the sheet `higher_dev.py` uses it for gradients of
# gradients. Skip it.)

# %%
#| export
RULES = {}                         # op -> its rule
COMPOSITES = {}                    # fused op -> the same function in plain ops


def vjp(op):
    """Register a rule: from an op's result and inputs to its pullback.

    rule(out, *inputs, **params) returns pull; pull(g) returns a tuple, a gradient for each input, in
    order. One that costs something may be a function without arguments, called only if it is wanted.
    None stands for an input that has no gradient. For an op that keeps, `out` is (out, *kept). A rule
    that returns None says that the result has no history.
    """
    def register(rule):
        RULES[op] = rule
        return rule
    return register


def composite(op):
    """Register the plain form of a fused op: its definition, and the source of its second derivative."""
    def register(plain_form):
        COMPOSITES[op] = plain_form
        return plain_form
    return register


# %%
#| export core.rules
def both(g): return g, g               # it names nothing, so one function serves all additions


@vjp(ops.add)
def add_rule(out, x, y, alpha=1):
    """The pullback of x + alpha * y (alpha is PyTorch's: x.add(y, alpha=2))."""
    return both if alpha == 1 else lambda g: (g, lambda: g * alpha)


# %% [markdown]
# ## Exercise 2: the pullback of a product
#
# From the picture: x gets g·y, y gets g·x. Do not worry about broadcasting; the walk will undo it, in
# one place, for all rules.
#
# Two lines are given, for plain numbers. In `x * 2` nobody wants the gradient of 2, so nobody needs x, and
# the pullback must not keep it: then x may be freed, or overwritten.

# %%
#| export core.rules
@vjp(ops.multiply)
def multiply_rule(out, x, y):
    """The pullback of x * y: from the gradient of the product to those of x and y.

    >>> x, y, g = np.array(2.), np.array(3.), np.array(16.)
    >>> dx, dy = multiply_rule(x * y, x, y)(g)
    >>> float(dx()), float(dy())
    (48.0, 32.0)
    """
    if isinstance(y, (int, float)): return lambda g: (g * y, None)
    if isinstance(x, (int, float)): return lambda g: (None, g * x)
    ### BEGIN SOLUTION
    return lambda g: (lambda: g * y, lambda: g * x)
    ### END SOLUTION


# %%
def pulled(pull, g):
    """The gradients that a pullback gives for g, whether they come as values or as functions."""
    parts = pull(g)
    assert isinstance(parts, tuple), f"a pullback returns a tuple, a part for each input; got {parts!r:.60}"
    return [part() if callable(part) else part for part in parts]


class TestMultiplyRule:
    """The pullback of a product"""
    def test_by_hand(self):
        "x = 2, y = 3, and 16 arrives: x gets 16 * 3 = 48, y gets 16 * 2 = 32"
        x, y = np.array(2.), np.array(3.)
        dx, dy = pulled(multiply_rule(x * y, x, y), np.array(16.))
        expect(dx, 48., why="x gets g times y: 16 * 3. (16 * 2 = 32 is what y gets)")
        expect(dy, 32.)

    def test_zero(self):
        "A zero is a number like any other: x = 0, y = 3 gives 48 and 0"
        x, y = np.array(0.), np.array(3.)
        dx, dy = pulled(multiply_rule(x * y, x, y), np.array(16.))
        expect(dx, 48., why="g * out / x would divide by zero")
        expect(dy, 0.)

    def test_waits(self):
        "A product is only computed if somebody asks: both parts are functions"
        x, y = np.array(2.), np.array(3.)
        assert all(callable(part) for part in multiply_rule(x * y, x, y)(np.array(16.))), "lambda: g * ..."

    def test_arrays(self):
        "On arrays it is the same, element by element"
        x, y, g = np.array([1., 2.]), np.array([3., 5.]), np.array([10., 100.])
        dx, dy = pulled(multiply_rule(x * y, x, y), g)
        expect(dx, [30., 500.])
        expect(dy, [10., 200.])

    def test_judge(self):
        "The judge agrees"
        x, y, d = np.array([1.5, -2.]), np.array([3., 0.5]), np.array([0.3, 0.7])
        g = np.array([2., 7.])
        dx, _ = pulled(multiply_rule(x * y, x, y), g)
        expect(float((dx * d).sum()), central_difference(lambda x: float((g * x * y).sum()), x, d), tol=1e-6)


run_tests(TestMultiplyRule)

# %% [markdown]
# ## Exercise 3: the pullback of a sum
#
# If s = x₀ + x₁ + x₂ and s is worth g to the loss, each xᵢ is worth g too: a sum **hands g to every
# element**. Over one dimension of a (2, 3) array the same holds row by row:
#
# ```
# sum over dim 1: (2, 3) -> (2,)      g = [10, 20]  ->  [[10, 10, 10],
#                                                        [20, 20, 20]]
# ```
#
# Two steps: give g its lost dimension back (here (2,) to (2, 1)), then stretch. Helpers are given:
# `kept_shape((2, 3), 1)` is the shape with keepdim, (2, 1), for one dim, several or all; and the op
# `spread(g, shape)` stretches without a copy. It is an op, not plain NumPy, because a gradient may be
# differentiated again. The pullback returns a tuple, here of one: `(..., )`.
#
# What may the inner function name? Only shapes. `x.shape` inside the lambda names x, and keeps the whole
# array alive for the sake of two small numbers. Take the shape *outside*.

# %%
#| export core.rules
@op
def spread(x, shape):
    """x stretched to `shape`, without a copy."""
    return array_module(x).broadcast_to(x, shape)


def kept_shape(shape, dim):
    """The shape that a reduction of an array of `shape` over `dim` has with keepdim.

    >>> kept_shape((2, 3), 1)
    (2, 1)
    """
    dim = ops.axes(dim)
    dims = range(len(shape)) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    return tuple([1 if i in dims or i - len(shape) in dims else n for i, n in enumerate(shape)])


@vjp(math_ops.sum)
def sum_rule(out, x, dim=None, keepdim=False, dtype=None):
    """The pullback of x.sum(dim, keepdim)."""
    ### BEGIN SOLUTION
    shape, once = x.shape, kept_shape(x.shape, dim)
    return lambda g: (spread(g.reshape(once), shape),)
    ### END SOLUTION


# %%
class TestSumRule:
    """The pullback of a sum"""
    x = np.array([[1., 2., 3.], [4., 5., 6.]])

    def test_by_hand(self):
        "Over dim 1, g = [10, 20] goes to every element of its row"
        expect(pulled(sum_rule(self.x.sum(1), self.x, 1), np.array([10., 20.]))[0],
               [[10., 10., 10.], [20., 20., 20.]])

    def test_dim_0(self):
        "Over dim 0, g = [1, 2, 4] goes down its column"
        expect(pulled(sum_rule(self.x.sum(0), self.x, 0), np.array([1., 2., 4.]))[0],
               [[1., 2., 4.], [1., 2., 4.]])

    def test_all(self):
        "Over everything, one g goes to all six"
        expect(pulled(sum_rule(self.x.sum(), self.x), np.array(7.))[0], [[7., 7., 7.], [7., 7., 7.]])

    def test_several(self):
        "Over dims 0 and 1 of (2, 3, 2), the g of each remaining place goes to six"
        expect(pulled(sum_rule(None, np.ones((2, 3, 2)), (0, 1)), np.array([3., 5.]))[0],
               np.broadcast_to(np.array([3., 5.]), (2, 3, 2)))

    def test_keepdim(self):
        "With keepdim g arrives as (2, 1) and the result is the same"
        expect(pulled(sum_rule(None, self.x, -1, True), np.array([[10.], [20.]]))[0],
               [[10., 10., 10.], [20., 20., 20.]])

    def test_keeps_no_array(self):
        "Only shapes are kept alive: the array itself may be freed"
        kept = list(saved_in(sum_rule(None, self.x, 1)))
        assert kept == [], f"the pullback keeps an array of shape {kept[0].shape}: take x.shape outside"


run_tests(TestSumRule)

# %% [markdown]
# ## Exercise 4: the pullback of a matrix product
#
# out = X @ Y. Let the loss be the plain sum of out, so that g is all ones. With X = [[1,2],[3,4]] and
# Y = [[5,6],[7,8]]: X[0][0] = 1 meets the first row of Y, 5 and 6, and nothing else. So it is worth
# 5 + 6 = **11**; X[0][1] meets the second row: 7 + 8 = **15**. The same for the second row of X:
#
# ```
# dX = [[11, 15],        dY = [[4, 4],      Y[0][0] = 5 meets the first column of X: 1 + 3 = 4
#       [11, 15]]              [6, 6]]
# ```
#
# In general, with g in place of the ones:
#
# $$ dX = g\, Y^{T} \qquad dY = X^{T} g $$
#
# You need not remember it: the shapes leave no choice. X is (m, k), Y is (k, n), g is (m, n), and the
# only way to make (m, k) from g and Y is g (m, n) times Yᵀ (n, k).
#
# With batches, transpose the last two axes only: `y.swapaxes(-1, -2)`.
#
# If x is (B, T, k) and y *one* matrix, every row of every batch element used the same Y, so dY is a sum
# over all B·T rows. You may leave that sum to the walk, but then a (B, k, n) array is made first. As one
# product it is quicker and small: the rows of x transposed, times the rows of g. `as_rows`, given, makes
# a matrix (B·T, k) of x. Vectors are given too.

# %%
#| export core.rules
def as_rows(x):
    """x (..., d) as one matrix (n, d)."""
    return x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def vector_rule(x, y):
    """The pullback of a product with a vector: a row on the left, a column on the right."""
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    columns = y.reshape(-1, 1) if y.ndim == 1 else y

    def pull(g):
        if x.ndim == 1:
            g = g.reshape(g.shape[:-1] + (1,) + g.shape[-1:] if y.ndim > 1 else (1,))
        if y.ndim == 1:
            g = g.reshape(g.shape + (1,))
        dx, dy = g @ columns.swapaxes(-1, -2), rows.swapaxes(-1, -2) @ g
        return (dx.reshape(dx.shape[:-2] + dx.shape[-1:]) if x.ndim == 1 else dx,
                dy.reshape(dy.shape[:-1]) if y.ndim == 1 else dy)

    return pull


@vjp(ops.matmul)
def matmul_rule(out, x, y):
    """The pullback of x @ y; x: (..., m, k), y: (..., k, n)."""
    if x.ndim == 1 or y.ndim == 1:
        return vector_rule(x, y)
    ### BEGIN SOLUTION
    if x.ndim > 2 and y.ndim == 2:                     # one large product, not one for each batch element
        return lambda g: (lambda: g @ y.swapaxes(0, 1), lambda: as_rows(x).swapaxes(0, 1) @ as_rows(g))
    return lambda g: (lambda: g @ y.swapaxes(-1, -2), lambda: x.swapaxes(-1, -2) @ g)
    ### END SOLUTION


# %%
class TestMatmulRule:
    """The pullback of a matrix product"""
    def test_by_hand(self):
        "X[0][0] meets 5 and 6: it is worth 11. Y[0][0] meets 1 and 3: it is worth 4"
        x, y = np.array([[1., 2.], [3., 4.]]), np.array([[5., 6.], [7., 8.]])
        dx, dy = pulled(matmul_rule(x @ y, x, y), np.ones((2, 2)))
        expect(dx, [[11., 15.], [11., 15.]])
        expect(dy, [[4., 4.], [6., 6.]])

    def test_shapes(self):
        "(2, 3) @ (3, 4): the gradients have the shapes of x and y"
        x, y = np.arange(6.).reshape(2, 3), np.arange(12.).reshape(3, 4)
        g = np.array([[1., 0., 0., 0.], [0., 0., 0., 2.]])
        dx, dy = pulled(matmul_rule(x @ y, x, y), g)
        expect(dx, [[0., 4., 8.], [6., 14., 22.]])
        expect(dy, [[0., 0., 0., 6.], [1., 0., 0., 8.], [2., 0., 0., 10.]])

    def test_batch(self):
        "(5, 2, 3) @ (5, 3, 4): each pair by itself"
        x, y = np.arange(30.).reshape(5, 2, 3), np.arange(60.).reshape(5, 3, 4)
        dx, dy = pulled(matmul_rule(x @ y, x, y), np.ones((5, 2, 4)))
        expect(dx[4], np.ones((2, 4)) @ y[4].T)
        expect(dy[4], x[4].T @ np.ones((2, 4)))

    def test_one_matrix(self):
        "(5, 2, 3) @ one (3, 4): all ten rows used it, and it gets the sum"
        x, y = np.arange(30.).reshape(5, 2, 3), np.arange(12.).reshape(3, 4)
        dx, dy = pulled(matmul_rule(x @ y, x, y), np.ones((5, 2, 4)))
        expect(dx.shape, (5, 2, 3))
        expect(dy, np.broadcast_to(x.reshape(10, 3).sum(0)[:, None], (3, 4)),
               why="one product over all ten rows: as_rows(x) transposed, times as_rows(g)")

    def test_vectors(self):
        "A vector's gradient is a vector"
        x, y = np.array([1., 2.]), np.array([[1., 3.], [5., 7.]])
        dx, dy = pulled(matmul_rule(x @ y, x, y), np.array([1., 10.]))
        expect(dx, [31., 75.])
        expect(dy, [[1., 10.], [2., 20.]])


run_tests(TestMatmulRule)

# %% [markdown]
# ## Nodes
#
# When an op runs and somebody wants gradients, we note three things: where its inputs came from, its
# pullback, and when it was. That is a **node**. Given; read the constructor, the rest serves printing.
#
# * `edges` says where gradients go next: for each input the node that made it; or the leaf tensor itself,
#   if nobody made it and it wants a gradient; or None.
# * `order` is the time, from a clock that runs **down**: the younger the node, the smaller its number.
#   (A heap gives the smallest first, and we will want the youngest first.)
#
# A node does **not** hold its output. The output holds its node, the node holds the nodes before it, and
# nothing points forward. So when the last user of an output lets go, its memory is free at once.

# %%
#| export
tick = writes.tick                     # the next, smaller, number of the clock


class Node:
    """One recorded op: where gradients go next, and how they get there.

    op: what was computed. edges: for each input the node that made it, the leaf itself, or None.
    pull: the pullback; None once it was used. shape, dtype: of the output, and so of its gradient.
    order: when it was made; smaller is younger.
    """
    __slots__ = ("op", "edges", "pull", "shape", "dtype", "order")

    def __init__(self, op, edges, pull, shape, dtype):
        self.op, self.edges, self.pull, self.shape, self.dtype = op, edges, pull, shape, dtype
        self.order = tick()

    @property
    def name(self): return "".join([w.capitalize() for w in self.op.name.split("_")]) + "Backward0"

    @property
    def next_functions(self): return tuple([(edge, 0) for edge in self.edges])

    def __repr__(self): return f"<{self.name}>"

    def backward(self, out, gradient=None, retain_graph=False, create_graph=False):
        """What `Tensor.backward` calls: walk the graph, and add to `.grad` of its leaves."""
        add_to_leaves(gradients(out, gradient, retain_graph, create_graph), create_graph)


# %% [markdown]
# ## Exercise 5: in which order
#
# A node may be asked only when *everything* that flows into it has arrived. In the picture above, x's
# node (if it had one) must wait for both 48 and 16. Going breadth first gets this wrong as soon as one
# path is longer than the other; following every path by itself is right but doubles with each diamond:
#
# ```
# t ──▶ t + t ──▶ that + that ──▶ ...        30 of these: 2^30 paths, but only 30 nodes
# ```
#
# There is an order that needs no thought: **by age**. A node is always older than what was computed
# from it. So the youngest node first, then the next, each exactly once. A heap gives the smallest number
# quickly (`heappush`, `heappop` on pairs `(node.order, node)`), and a set remembers who is in it
# already. No recursion: Python's stack ends at a thousand calls, and graphs are deeper than that.
#
# The edges of a node hold nodes, leaves (tensors) and None; only nodes are yielded.

# %%
#| export
def newest_first(root):
    """Yield `root` and every node below it, each once, the youngest (smallest order) first.

    >>> older = Node(ops.negative, (None,), None, (), None)
    >>> [node is older for node in newest_first(Node(ops.add, (older, older), None, (), None))]
    [False, True]
    """
    ### BEGIN SOLUTION
    heap, seen = [(root.order, root)], {root}
    while heap:
        node = heappop(heap)[1]
        yield node
        for edge in node.edges:
            if type(edge) is Node and edge not in seen:
                seen.add(edge)
                heappush(heap, (edge.order, edge))
    ### END SOLUTION


# %%
def node(*edges, pull=None, shape=()):
    return Node(ops.add, edges, pull, shape, np.dtype("float64"))


class TestNewestFirst:
    """Youngest first"""
    def test_chain(self):
        "In a chain each comes before what it was made from"
        a = node()
        b = node(a)
        c = node(b)
        assert list(newest_first(c)) == [c, b, a]

    def test_short_and_long_path(self):
        "a is reached at once from d, and again over c and b: it still comes last, whichever edge is first"
        a = node()
        b = node(a)
        c = node(b)
        for d in (node(a, c), node(c, a)):
            names = {d: "d", c: "c", b: "b", a: "a"}
            found = [names[n] for n in islice(newest_first(d), 10)]
            assert found == ["d", "c", "b", "a"], f"expected d c b a, got {' '.join(found)}"

    def test_once(self):
        "A node that was used twice is yielded once"
        a = node()
        b = node(a, a)
        assert list(newest_first(b)) == [b, a]

    def test_leaves(self):
        "Leaves and None are not nodes"
        a = node(Tensor([1.]), None)
        assert list(newest_first(a)) == [a]

    def test_diamonds(self):
        "30 diamonds are 31 nodes, not a billion paths"
        bottom = top = node()
        for _ in range(30):
            top = node(top, top)
        found = list(islice(newest_first(top), 1000))
        assert len(found) == 31 and found[-1] is bottom, f"{len(found)} nodes: remember who was seen"

    def test_deep(self):
        "10,000 in a row: no recursion"
        top = node()
        for _ in range(10_000):
            top = node(top)
        assert sum(1 for _ in newest_first(top)) == 10_001


run_tests(TestNewestFirst)

# %% [markdown]
# ## Exercise 6: undo the stretching
#
# A bias of shape (3,) was added to an array (2, 3). The gradient that comes back has shape (2, 3), but
# the bias has three numbers, each used twice. By the rule of "used twice": add up. With g all ones the
# bias gets [2, 2, 2].
#
# So broadcasting forward is summing backward, over two kinds of axes:
#
# ```
# (3,)    was stretched to (2, 3):   axis 0 was ADDED       sum it away
# (2, 1)  was stretched to (2, 3):   axis 1 was STRETCHED   sum it, but keep the 1
# ```
#
# Both can happen at once: (4, 1) stretched to (2, 4, 3).
#
# The commonest case, a bias with one axis added in front, is given as a short cut; yours are all the
# others.

# %%
#| export
def unbroadcast(g, shape):
    """The gradient g summed back to `shape`, which had been stretched to the shape of g.

    >>> unbroadcast(np.ones((2, 3)), (3,))
    array([2., 2., 2.])
    """
    added = g.ndim - len(shape)
    if added == 1 and g.shape[1:] == shape:            # a bias: the commonest case, and the shortest way
        return g.sum(0)
    ### BEGIN SOLUTION
    stretched = [added + i for i, n in enumerate(shape) if n == 1 and g.shape[added + i] != 1]
    return g.sum(axis=(*range(added), *stretched), keepdims=True).reshape(shape)
    ### END SOLUTION


def fitted(g, edge):
    """g in the shape and dtype of what it is the gradient of."""
    if g.shape != edge.shape:                          # fewer dimensions: x[0] = a value of shape (1, 3)
        g = g.reshape(edge.shape) if g.ndim < len(edge.shape) else unbroadcast(g, edge.shape)
    return g if g.dtype is edge.dtype else g.astype(edge.dtype)


# %%
class TestUnbroadcast:
    """Undoing the stretching"""
    def test_by_hand(self):
        "(3,) stretched to (4, 2, 3): two axes were added, each number was used eight times"
        expect(unbroadcast(np.ones((2, 3)), (3,)), [2., 2., 2.])
        expect(unbroadcast(np.ones((4, 2, 3)), (3,)), [8., 8., 8.])

    def test_stretched(self):
        "(2, 1) stretched to (2, 3): sum each row, and keep the 1"
        expect(unbroadcast(np.array([[1., 2., 4.], [10., 20., 40.]]), (2, 1)), [[7.], [70.]])

    def test_both(self):
        "(4, 1) stretched to (2, 4, 3): the front axis goes, the last one stays as 1"
        g = np.arange(24.).reshape(2, 4, 3)
        expect(unbroadcast(g, (4, 1)), g.sum((0, 2)).reshape(4, 1))

    def test_number(self):
        "A number () stretched to (2, 3) gets the sum of all"
        expect(unbroadcast(np.array([[1., 2., 4.], [10., 20., 40.]]), ()), 77.)

    def test_real_ones(self):
        "A dimension that was 1 all along stays as it is: (1, 3) stretched to (4, 2, 1, 3)"
        expect(unbroadcast(np.arange(24.).reshape(4, 2, 1, 3), (1, 3)), [[84., 92., 100.]])


run_tests(TestUnbroadcast)

# %% [markdown]
# ## Exercise 7: the walk
#
# Now all of it together. `nodes` comes from exercise 5, in the right order. `arrived` holds, for each
# node, the gradient that has arrived there so far; at the start that is `{root: g}`. For each node:
#
# 1. Take its pullback. If it is None, an earlier walk has used it up: RuntimeError, "backward() a second
#    time", which names the way out, `retain_graph=True`.
# 2. If something was written since the node was made, its pullback may hold numbers that are gone. The
#    given `check_unwritten(node)` raises then. It takes time, so call it only if there was a write later
#    than the node; on a clock that runs down: `node.order > writes.last`.
# 3. Set `node.pull = None`, unless `retain_graph`. The arrays that only the pullback kept alive are
#    free from here on, while the walk still goes.
# 4. Call the pullback with what arrived, and go through edges and parts. A part that the rule forgot
#    counts as None: `zip_longest(node.edges, parts)` fills up with None. No edge: nobody wants it. A
#    function: call it. Still None: RuntimeError with the op's name, `node.op.name`.
# 5. `fitted(part, edge)`, given, undoes broadcasting and dtype.
# 6. Add it to what arrived at that edge, or make it the first. Nodes in `arrived`, leaves in `leaves`.
#
# Step 6 hides a trap. The rule of add hands **the same array** to both edges. If you add into it with
# `+=`, the other edge's gradient changes too. Make a new array: `old + part`.

# %%
#| export
def walk(nodes, root, g, retain_graph=False):
    """Carry the gradient g from `root` down to the leaves; returns {leaf: gradient}.

    nodes: those to visit, youngest first, as `newest_first(root)` yields them.

    Raises RuntimeError at a node that an earlier walk has used up ("a second time", "retain_graph"), and,
    naming the op, if a rule gives None, or nothing, where a gradient is wanted.
    """
    ### BEGIN SOLUTION
    arrived, leaves = {root: g}, {}
    for node in nodes:
        pull = node.pull
        if pull is None:
            raise RuntimeError("backward() a second time: the graph was used up by the first, to free its "
                               "memory. Call the first with retain_graph=True, or run the forward again.")
        if node.order > writes.last:                   # the clock runs down: written after the node
            check_unwritten(node)
        if not retain_graph:
            node.pull = None
        for edge, part in zip_longest(node.edges, pull(arrived.pop(node))):
            if edge is None:
                continue
            if callable(part):
                part = part()
            if part is None:
                raise RuntimeError(f"the rule of {node.op.name} gave None for an input that requires a "
                                   "gradient. Mend the rule, or detach() the input.")
            if part.shape != edge.shape or part.dtype is not edge.dtype:
                part = fitted(part, edge)
            to = arrived if type(edge) is Node else leaves
            to[edge] = to.pop(edge) + part if edge in to else part
        del pull                                       # frees what only the pullback kept alive
    return leaves
    ### END SOLUTION


# %%
class TestWalk:
    """The walk"""
    def walk(self, root, g, **how): return walk(newest_first(root), root, g, **how)

    def leaf(self, *numbers): return Tensor(list(numbers) if len(numbers) > 1 else numbers[0], "float64")

    def test_by_hand(self):
        "x = 2, y = 3, L = (xy + x)²: x gets 48 + 16 = 64, y gets 32"
        x, y = self.leaf(2.), self.leaf(3.)
        a = node(x, y, pull=lambda g: (g * 3, g * 2))
        b = node(a, x, pull=lambda g: (g, g))
        loss = node(b, pull=lambda g: (g * 16,))
        found = self.walk(loss, np.array(1.))
        expect(found[x], 64., why="48 or 16 alone: where paths meet, add")
        expect(found[y], 32.)

    def test_shared(self):
        "A gradient handed to two inputs is not changed through the other: a gets 1, b gets 1 + 10"
        a, b = self.leaf(1., 1.), self.leaf(1., 1.)
        older = node(b, pull=lambda g: (g * 10,), shape=(2,))
        top = node(a, b, older, pull=lambda g: (g, g, g), shape=(2,))
        found = self.walk(top, np.array([1., 1.]))
        expect(found[a], [1., 1.], why="+= writes into the array that a has as well")
        expect(found[b], [11., 11.])

    def test_caller(self):
        "The gradient that the caller passed is left as it was"
        a, g = self.leaf(1., 1.), np.array([1., 1.])
        self.walk(node(a, a, pull=lambda g: (g, g), shape=(2,)), g)
        expect(g, [1., 1.])

    def test_fitted(self):
        "Stretching is undone, and the dtype is that of the input"
        bias = Tensor([1., 2., 3.])
        found = self.walk(node(bias, pull=lambda g: (g,), shape=(2, 3)), np.ones((2, 3)))
        expect(found[bias], [2., 2., 2.])
        expect(str(found[bias].dtype), "float32")

    def test_lazy(self):
        "A part that nobody wants is never computed"
        asked = []
        a = self.leaf(1.)
        lazy = node(None, a, pull=lambda g: (lambda: asked.append(1), lambda: g * 5))
        found = self.walk(lazy, np.array(1.))
        assert asked == []
        expect(found[a], 5.)

    def test_none(self):
        "None for an input that wants a gradient is an error that names the op"
        expect_error(RuntimeError, self.walk, node(self.leaf(1.), pull=lambda g: (None,)), np.array(1.),
                     says=["add"])

    def test_forgotten(self):
        "A rule that forgot an input is found out too"
        expect_error(RuntimeError, self.walk, node(None, self.leaf(1.), pull=lambda g: (g,)), np.array(1.),
                     says=["add"])

    def test_twice(self):
        "A second walk over the same graph is an error, unless the first kept it"
        kept = node(self.leaf(1.), pull=lambda g: (g,))
        self.walk(kept, np.array(1.), retain_graph=True)
        self.walk(kept, np.array(1.))
        expect_error(RuntimeError, self.walk, kept, np.array(1.), says=["second time", "retain_graph"])

    def test_written(self):
        "An array that the pullback needs was overwritten: an error, and not a wrong number"
        kept = np.array([1., 2.])
        old = node(self.leaf(1., 1.), pull=lambda g: (g * kept,), shape=(2,))
        kept += 1.
        writes.note(kept)
        expect_error(RuntimeError, self.walk, old, np.array([1., 1.]), says=["in place"],
                     why="step 2, before node.pull is dropped")

    def test_diamonds(self):
        "30 diamonds: 2^30 arrives at the leaf, in a few microseconds"
        a = self.leaf(1.)
        top = node(a, pull=lambda g: (g,))
        for _ in range(30):
            top = node(top, top, pull=lambda g: (g, g))
        expect(self.walk(top, np.array(1.))[a], 2. ** 30)


run_tests(TestWalk)

# %% [markdown]
# ## Exercise 8: look away
#
# When a model is only used, nobody will ask for gradients, and the pullbacks are wasted memory. When an
# optimiser changes a weight, that change must not become part of the graph. So: a block in which
# nothing is recorded. `record_with(None)` switches the recorder of this thread off and returns the one
# before, which may be None itself. Afterwards put *that* back, whatever happened inside.
#
# `@contextmanager` makes a context manager of a function with one `yield`: what stands before it happens
# on entering the block, what stands after it on leaving. An error inside the block arises at the `yield`.

# %%
#| export
@contextmanager
def no_grad():
    """Nothing is recorded inside, in this thread: `with no_grad(): ...`, or `@no_grad()` on a function."""
    ### BEGIN SOLUTION
    previous = record_with(None)
    try:
        yield
    finally:
        record_with(previous)
    ### END SOLUTION


# %%
class TestNoGrad:
    """Looking away"""
    def events(self, f):
        "How many ops a recorder hears of while f runs."
        heard = []
        before = record_with(lambda *event: heard.append(event))
        try:
            f()
        finally:
            record_with(before)
        return len(heard)

    def look(self): return Tensor([2.]) * 3.

    def test_off_and_on(self):
        "Inside nothing is recorded, afterwards it is again"
        def watched():
            with no_grad():
                self.look()
                self.look()
            self.look()
        expect(self.events(watched), 1, why="two ops inside that count for nothing, one after it that counts")

    def test_nested(self):
        "Two blocks, one in the other: leaving the inner one does not switch recording on"
        def watched():
            with no_grad():
                with no_grad():
                    pass
                self.look()
        expect(self.events(watched), 0, why="put back what was there before")

    def test_error(self):
        "An error inside does not leave recording off"
        def watched():
            try:
                with no_grad():
                    raise KeyError("on purpose")
            except KeyError:
                self.look()
        expect(self.events(watched), 1, why="try / finally: restore whatever happened")

    def test_decorator(self):
        "As a decorator it works at every call"
        silent = no_grad()(self.look)
        expect(self.events(lambda: (silent(), silent(), self.look())), 1)


run_tests(TestNoGrad)

# %% [markdown]
# What `backward()` does around the walk, given: it starts with a gradient of 1, walks with recording off,
# and adds what it found to `.grad` of the leaves. (`create_graph` and `oldest` serve gradients of
# gradients; skip them at first reading.)

# %%
#| export
def gradients(out, gradient=None, retain_graph=False, create_graph=False, oldest=math.inf):
    """{leaf: gradient} of all leaves below `out`: arrays, or with create_graph tensors with a history.

    Nodes older than `oldest` are left alone.
    """
    if gradient is None:
        if out.numel() != 1:
            raise RuntimeError(f"backward() of a tensor of shape {out.shape}: only a single number has a "
                               "gradient of its own. Reduce it (.sum(), .mean()), or pass a gradient.")
        gradient = array_module(out.data).ones(out.shape, out.dtype)
    gradient = gradient if isinstance(gradient, Tensor) else Tensor._of(gradient)
    if gradient.shape != out.shape:
        raise RuntimeError(f"backward(): the gradient has shape {gradient.shape} and the tensor {out.shape}. "
                           "They must be equal.")
    nodes = newest_first(out.node)
    if oldest < math.inf:
        nodes = takewhile(lambda node: node.order <= oldest, nodes)
    if not create_graph:
        with no_grad():
            return walk(nodes, out.node, gradient.data, retain_graph)
    nodes = list(nodes)
    for node in nodes:
        if any(is_array(saved) and saved.dtype.kind == "f" for saved in saved_in(node.pull)):
            raise RuntimeError(f"create_graph: {node} was recorded outside higher_order(), and saved numbers "
                               "without history. Run the forward inside `with higher_order():`.")
    return walk(nodes, out.node, gradient, retain_graph=True)


_accumulating = threading.Lock()


def add_to_leaves(found, create_graph=False):
    """Add the gradients of {leaf: gradient} to the leaves' `.grad`; two threads may meet at one leaf."""
    with _accumulating:
        while found:
            leaf, g = found.popitem()
            if create_graph:
                leaf.grad = g if leaf.grad is None else leaf.grad + g
                continue
            if isinstance(g, Tensor):                      # recorded in higher_order(): drop the history
                g = g.data
            g = g if leaf.grad is None else leaf.grad.data + g
            leaf.grad = Tensor._of(g.copy() if g.ndim else array_module(g).array(g))   # g may be shared


# %% [markdown]
# ## Exercise 9: the recorder
#
# Module 01 left a seat: after each op, `recorder(op, inputs, arrays, params, result, out)` is called, if
# there is one. Now we write who sits there. It must be quick, because it runs at every op.
#
# * For each input: its edge. A tensor that requires a gradient gives its node, or itself if it has none
#   (a leaf). Everything else gives None.
# * If no edge is left, there is nothing to record.
# * Look up the rule and call it with arrays: `rule(result, *arrays, **params)`. (`result` is what the
#   forward returned, an array or a tuple of arrays; `out` is the tensor made of it.) If the op has no
#   rule, `missing_rule(op, out)`, given, raises; or, if the result holds no floats, it returns a rule
#   that answers None. None for a pullback means: no history, done.
# * Then `out` requires a gradient too, and gets a Node. If the op has several outputs (`op.outputs`), `out`
#   is a tuple of tensors, and the given `attach_outputs(Node, op, edges, pull, out)` does it all.
#
# One line is for the case that a tensor is a view of something that was overwritten in the meantime:
# `if x.origin: refresh(x)`, before you look at the tensor. Take it as it is.

# %%
#| export
def record(op, inputs, arrays, params, result, out):
    """Give `out` a node, if one of the inputs requires a gradient.

    Raises NotImplementedError for an op of floats without a rule.
    """
    ### BEGIN SOLUTION
    edges, wanted = [], False
    for x in inputs:
        edge = None
        if isinstance(x, Tensor):
            if x.origin:
                refresh(x)
            if x.requires_grad:
                edge, wanted = x if x.node is None else x.node, True
        edges.append(edge)
    if not wanted:
        return
    rule = RULES.get(op) or missing_rule(op, out)
    pull = rule(result, *arrays, **params)
    if pull is None:
        return
    if op.outputs:
        attach_outputs(Node, op, edges, pull, out)
    else:
        out.requires_grad, out.node = True, Node(op, edges, pull, out.data.shape, out.data.dtype)
    ### END SOLUTION


# %%
class TestRecord:
    """The recorder"""
    def recorded(self, op, *inputs, **params):
        before = record_with(record)
        try:
            return op(*inputs, **params)
        finally:
            record_with(before)

    def test_leaf(self):
        "A leaf that wants a gradient is an edge itself; a number is None"
        x = Tensor([2., 3.], requires_grad=True)
        out = self.recorded(ops.multiply, x, 5.)
        assert out.requires_grad and out.node.edges[0] is x and out.node.edges[1] is None
        expect(out.node.shape, (2,))

    def test_node(self):
        "A tensor that was computed gives its node"
        x = Tensor([2., 3.], requires_grad=True)
        y = self.recorded(ops.multiply, x, 5.)
        assert self.recorded(ops.add, y, x).node.edges[0] is y.node

    def test_nothing(self):
        "If nobody wants a gradient, nothing is recorded"
        out = self.recorded(ops.multiply, Tensor([2., 3.]), Tensor([1., 1.]))
        assert out.node is None and not out.requires_grad

    def test_params(self):
        "The rule gets the parameters too"
        x = Tensor([[1., 2.], [3., 4.]], requires_grad=True)
        out = self.recorded(math_ops.sum, x, dim=1)
        expect(pulled(out.node.pull, np.array([10., 20.]))[0], [[10., 10.], [20., 20.]])

    def test_comparison(self):
        "A comparison holds no floats: no rule, no node, no error"
        out = self.recorded(ops.gt, Tensor([2., 3.], requires_grad=True), 2.5)
        assert out.node is None and not out.requires_grad

    def test_keeps(self):
        "The rule gets arrays, and of an op that keeps the whole result"
        def halves(x): return x / 2, np.array([10., 100.])
        told = op(halves, keeps=True)
        vjp(told)(lambda result, x: lambda g: (g * result[1],))
        out = self.recorded(told, Tensor([2., 4.], requires_grad=True))
        expect(pulled(out.node.pull, np.array([1., 1.]))[0], [10., 100.])

    def test_outputs(self):
        "An op with two outputs: each requires a gradient and has a node"
        def ends(x): return x[:1], x[1:]
        told = op(ends, outputs=True)
        vjp(told)(lambda result, x: lambda parts: (np.concatenate([parts[0] * 2, parts[1] * 3]),))
        x = Tensor([2., 4., 8.], requires_grad=True)
        first, rest = self.recorded(told, x)
        assert first.requires_grad and rest.requires_grad, "attach_outputs(Node, op, edges, pull, out)"
        self.recorded(math_ops.sum, rest).backward()
        expect(x.grad, [0., 3., 3.])

    def test_missing(self):
        "An op of floats without a rule is an error at once, not a silent None later"
        def cube(x): return x ** 3
        expect_error(NotImplementedError, self.recorded, op(cube), Tensor([2.], requires_grad=True),
                     says=["cube"])

    def test_backward(self):
        "And from end to end: L = (xy + x)² at 2 and 3 gives 64 and 32"
        x, y = Tensor(2., requires_grad=True), Tensor(3., requires_grad=True)
        b = self.recorded(ops.add, self.recorded(ops.multiply, x, y), x)
        self.recorded(ops.multiply, b, b).backward()
        expect(x.grad, 64.)
        expect(y.grad, 32.)

    def test_accumulates(self):
        "A second loss adds to .grad: 3, then 3 + 3"
        x = Tensor([1.], requires_grad=True)
        self.recorded(ops.multiply, x, 3.).backward()
        self.recorded(ops.multiply, x, 3.).backward()
        expect(x.grad, [6.])


run_tests(TestRecord)

# %% [markdown]
# ## Exercise 10: the slope of a guess
#
# Scores [2, 1, 0.1] become probabilities p = [0.659, 0.242, 0.099]. Class 0 was right, and the loss is
# -ln 0.659 = 0.417. What is its slope with respect to the three scores? The derivation is short (the
# log of a softmax is `score - log Σ exp`, and the slope of log Σ exp is exactly the softmax), and the
# answer is worth remembering, because it is why everybody trains on logits:
#
# $$ \frac{\partial\, \mathrm{loss}}{\partial\, \mathrm{score}} = p - y \qquad
#    [0.659, 0.242, 0.099] - [1, 0, 0] = [-0.341, 0.242, 0.099] $$
#
# Probability minus truth. It sums to 0: what one class gains the others lose. It is never large, and it
# vanishes only when the guess is right and certain.
#
# `cross_entropy_rows` of module 04 computes one loss per row and *keeps* p, so its rule gets
# `(losses, p)` where others get `out`. g has one number per row (for the mean over N rows, 1/N each).
# A row whose target is `ignore_index` was given the loss 0, so its slope is 0 too.

# %%
#| export core.rules
@vjp(cross_entropy_rows)
def cross_entropy_rule(kept, logits, target, ignore_index=-100):
    """The pullback of the cross entropy of each row.

    kept: (losses (N,), probabilities (N, C)). target: (N,) integers. Gives a gradient (N, C) for the
    logits and None for the target.
    """
    losses, p = kept
    ### BEGIN SOLUTION
    def pull(g):
        counts = target != ignore_index
        rows = counts.nonzero()[0]
        slope = p * g[:, None]
        slope[rows, target[rows]] -= g[rows]
        slope[~counts] = 0                             # not slope * counts: g may be inf, and inf * 0 is nan
        return slope, None

    return pull
    ### END SOLUTION


# %%
class TestCrossEntropyRule:
    """The slope of a guess"""
    p = np.array([[0.659, 0.242, 0.099], [0.2, 0.3, 0.5]])

    def slope(self, target, g):
        return pulled(cross_entropy_rule((None, self.p.copy()), None, np.array(target)), np.array(g))[0]

    def test_by_hand(self):
        "Probability minus truth: class 0 was right, [-0.341, 0.242, 0.099]"
        expect(self.slope([0, 2], [1., 1.])[0], [-0.341, 0.242, 0.099])

    def test_rows(self):
        "Each row has its own g: the second, worth 10, gets [2, 3, -5]"
        expect(self.slope([0, 2], [1., 10.])[1], [2., 3., -5.])

    def test_sums_to_zero(self):
        "What one class gains the others lose"
        expect(self.slope([1, 1], [1., 3.]).sum(1), [0., 0.])

    def test_ignored(self):
        "An ignored row has slope 0, whatever arrives"
        expect(self.slope([-100, 2], [5., 1.]), [[0., 0., 0.], [0.2, 0.3, -0.5]])

    def test_all_ignored(self):
        "Even where an infinity arrives (a mean over no rows), an ignored row has slope 0"
        expect(self.slope([-100, -100], [np.inf, np.inf]), np.zeros((2, 3)),
               why="inf * 0 is nan: set it to 0")

    def test_other_ignore_index(self):
        "The index to ignore may be any number: with ignore_index=0, class 0 is left out"
        p, target = self.p.copy(), np.array([0, 2])
        slope = pulled(cross_entropy_rule((None, p), None, target, 0), np.array([5., 1.]))[0]
        expect(slope, [[0., 0., 0.], [0.2, 0.3, -0.5]])

    def test_p_untouched(self):
        "The kept probabilities are left as they were: a second walk may need them"
        p = self.p.copy()
        pull = cross_entropy_rule((None, p), None, np.array([0, 2]))
        pulled(pull, np.array([1., 1.]))
        expect(p, self.p)

    def test_judge(self):
        "The judge agrees: nudge the logits along a random direction"
        logits, target = np.array([[2., 1., 0.1], [-1., 0.5, 3.]]), np.array([0, 1])
        d = np.array([[0.3, -0.2, 0.5], [0.1, 0.9, -0.4]])

        def loss(x): return float(cross_entropy_rows(x, target).sum())
        result = cross_entropy_rows.forward(logits, target)
        slope = pulled(cross_entropy_rule(result, logits, target), np.ones(2))[0]
        expect(float((slope * d).sum()), central_difference(loss, logits, d), tol=1e-6)


run_tests(TestCrossEntropyRule)

# %% [markdown]
# ## From here on, everything is recorded
#
# One line, and every op of modules 01 to 04 takes part, in every thread, though none of them was
# changed. Their other rules are one or two lines each and given as formula sheets beside this file.
# Read two of them, softmax in `activation_rules_dev.py` and x[index] in `ops_rules_dev.py`:
#
# * softmax: nudging one score moves all probabilities. Each output pᵢ sends back pᵢ·gᵢ, and since the
#   probabilities must sum to 1, every input pays its share of the total:
#   `out * (g - (g * out).sum(dim, keepdims=True))`.
# * x[index]: the gradient is put back where the numbers came from, zeros elsewhere. If a place was read
#   twice, both gradients count: they are *added*, `out[index] = g` would lose one.

# %%
#| export
record_with(record, everywhere=True)


# %%
class TestBackward:
    """The whole machine"""
    def test_by_hand(self):
        "The picture again: L = (xy + x)², 64 and 32"
        x, y = Tensor(2., requires_grad=True), Tensor(3., requires_grad=True)
        b = x * y + x
        (b * b).backward()
        expect(x.grad, 64.)
        expect(y.grad, 32.)

    def test_network(self):
        "Two layers and a loss: the judge agrees on every weight matrix, in float64"
        rng = np.random.default_rng(0)
        data, target = rng.normal(size=(5, 4)), np.array([0, 2, 1, 1, 0])
        start = [rng.normal(size=(4, 6)), rng.normal(size=6), rng.normal(size=(6, 3))]

        def loss(w1, b1, w2):
            h = Tensor(data) @ w1 + b1
            return cross_entropy_rows(h * h @ w2, Tensor(target)).sum()

        weights = [Tensor(w, requires_grad=True) for w in start]
        loss(*weights).backward()
        for i, weight in enumerate(weights):
            d = rng.normal(size=start[i].shape)

            def moved(w, i=i): return loss(*[Tensor(w if j == i else v) for j, v in enumerate(start)]).item()
            expect(float((weight.grad.data * d).sum()), central_difference(moved, start[i], d), tol=1e-5,
                   why=f"weight {i} of 0, 1, 2 has a wrong gradient")

    def test_written(self):
        "A number that was overwritten after it was used is an error, not a wrong gradient"
        x = Tensor([2., 3.], requires_grad=True)
        y = x * 1.
        loss = (y * y).sum()
        with no_grad():
            y += 100.
        expect_error(RuntimeError, loss.backward, says=["multiply", "in place"])

    def test_not_a_number(self):
        "Only a single number has a gradient of its own"
        x = Tensor([2., 3.], requires_grad=True)
        expect_error(RuntimeError, (x * 2.).backward, says=["(2,)"])

    def test_nothing_recorded(self):
        "What was computed under no_grad has no way back, and says so"
        x = Tensor([2.], requires_grad=True)
        with no_grad():
            y = x * 2.
        expect_error(RuntimeError, y.backward, says=["no_grad"])


run_tests(TestBackward)

# %% [markdown]
# ## Measure
#
# Three guesses first:
#
# 1. Forward and backward together, for a network of 101,632 weights (784-128-10 without biases): how many
#    times as long as the forward alone?
# 2. How much more memory does a forward take when it is recorded?
# 3. The judge divides a difference by 2h. Which h is best for x³ at 2, in float64 and in float32: 1e-1,
#    1e-2, 1e-3, 1e-5, 1e-8, 1e-12?
#
# (The bend between the two layers is h·h, since the rule of relu lives in a sheet.)

# %%
def network(batch=32):
    rng = np.random.default_rng(0)
    data = Tensor(rng.normal(size=(batch, 784)), dtype="float32")
    target = Tensor(rng.integers(0, 10, batch))
    weights = [Tensor(rng.normal(size=s) * 0.05, dtype="float32", requires_grad=True)
               for s in [(784, 128), (128, 10)]]

    def loss():
        h = data @ weights[0]
        return cross_entropy_rows(h * h @ weights[1], target).sum()

    return loss


@measure
def all_weights_at_once():
    loss = network()
    forward, both = timed(loss), timed(lambda: loss().backward())
    print(f"forward {forward * 1e3:.2f} ms, forward and backward {both * 1e3:.2f} ms: "
          f"{both / forward:.1f} times. Nudging each weight: {2 * 101_632 * forward:.0f} s")


@measure
def what_the_graph_keeps():
    x = Tensor(np.ones((256, 1024), "float32"), requires_grad=True)

    def chain():
        y = x
        for _ in range(10):
            y = y * y                  # its pullback keeps y
        return y

    def unrecorded():
        with no_grad():
            return chain()

    print(f"ten products of 1 MB: recorded {peak_bytes(chain) / 1e6:.0f} MB, "
          f"under no_grad {peak_bytes(unrecorded) / 1e6:.0f} MB")


@measure
def doublings():
    for n in (4, 8, 12, 16):
        def run(n=n):
            t = x = Tensor([1.], requires_grad=True)
            for _ in range(n):
                t = t + t
            t.backward()
            return x
        print(f"{n:2} doublings, {2 ** n:6} paths: {timed(run) * 1e6:.0f} us")


@measure
def the_best_step():
    for dtype in ("float64", "float32"):
        x, one = np.array(2., dtype), np.array(1., dtype)
        errors = [abs(float(central_difference(lambda x: x ** 3, x, one, np.array(h, dtype))) - 12)
                  for h in (1e-1, 1e-2, 1e-3, 1e-5, 1e-8, 1e-12)]
        print(dtype, "error at h = 1e-1, 1e-2, 1e-3, 1e-5, 1e-8, 1e-12:",
              " ".join([f"{e:.0e}" for e in errors]))


# %% [markdown]
# What must hold on an idle machine: backward alone costs about two forwards (each product has two
# gradients), so both together about three, whatever the number of weights. (If other programs keep the
# cores busy, set OPENBLAS_NUM_THREADS=1 first: BLAS threads that wait for a core spoil the figure.)
# Recorded, the ten products keep all their inputs, under no_grad only two are alive at a time. The
# doublings grow like n, not like 2ⁿ. And the best h lies in the middle: too large and the curve shows,
# too small and the digits are gone; float32 is not good to more than five digits at any h.
#
# And the opening's question: 101,632 answers for three runs in place of 203,264.
#
# ## Reflect
#
# Then compare with `## reflection-1` ... in HINTS.md.
#
# 1. Why do we go backwards? When would going forwards, from one weight to everything it changes, be the
#    better choice? (Forwards, each number would carry along how fast it changes with *one* weight.)
# 2. Which of these keep an array alive until the way back: x + y, x * y, exp(x), x.sum(), x.reshape(...)?
# 3. What is the slope of |x| at 0, and why does a check of gradients keep away from such points?
#
# ## Where this code lives
#
# `tinytorch/core/autograd.py` (registry, node, walk, recorder, no_grad), `core/rules.py` (your rules) and
# the given sheets: `core/graph.py`, `core/higher.py` (gradients of gradients, hooks, detect_anomaly),
# `core/func.py` (`grad`, `vjp`, `jvp`, `hessian`), `core/checks.py` (`check_gradient`). From now on:
#
# ```python
# import tinytorch as torch
# x = torch.tensor([1., 2.], requires_grad=True)
# (x * x).sum().backward()
# print(x.grad)                          # tensor([2., 4.])
# ```
#
# To look at a graph: `from tinytorch.viz.graph import graph_text, draw_graph`, before you call backward.
#
# Module 06 reads `.grad`; modules 09 and 11 to 13 put a rule beside each op they add; the profiler of
# module 14 is another recorder.
#
# In the real world: PyTorch does the same, in C++: `grad_fn` is our node, `next_functions` our edges, and
# its engine also goes by a number that grows as nodes are made (the *sequence number*). The one thing it
# does differently: several threads work through one graph at a time, so it also counts for each node
# how many gradients are still to come.
