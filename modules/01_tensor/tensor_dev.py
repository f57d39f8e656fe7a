# %% [markdown]
# # Module 01: Tensor, numbers with a shape
#
# Here are 1,797 handwritten digits. Each is a picture of 8 by 8 numbers, flattened to a row of 64, so
# the whole set is a table of shape (1797, 64). We want to subtract the mean picture from every
# picture: column by column, the average over all rows. In plain Python that is a loop in a loop.
# With a tensor it is one line:
#
# ```python
# pictures - pictures.mean(0)
# ```
#
# Run the next cells. The loop and the line give the same numbers, and the line is about a hundred times
# faster. Two questions, and by the end of this module you can answer both:
#
# 1. `pictures` has shape (1797, 64) and `pictures.mean(0)` has shape (64,). Nobody said which of the
#    64 means belongs to which number. How does the machine know?
# 2. Where does the factor of a hundred come from?

# %%
#| default_exp core.ops
from tito.lesson import dataset, expect, expect_error, measure, peak_bytes, run_tests, timed

# %%
import math

import numpy as np
from backend_dev import array_module, is_array, to_device
from base_dev import (
    METHODS,
    OpBase,
    TensorBase,
    method,
    record_with,
    this_thread,
    without_tensors,
)
from dtypes_dev import float32, settle, whole_power


# %%
@measure
def the_loop_and_the_line():
    pictures = dataset("digits")[0]
    rows = pictures.tolist()

    def loop():
        means = [sum(row[j] for row in rows) / len(rows) for j in range(64)]
        return [[row[j] - means[j] for j in range(64)] for row in rows]

    def line():
        return pictures - pictures.mean(0)

    assert np.allclose(loop(), line(), atol=1e-4)
    slow, fast = timed(loop), timed(line)
    print(f"loops {slow * 1e3:.1f} ms, one line {fast * 1e3:.3f} ms: {slow / fast:.0f} times faster")


# %% [markdown]
# The line above used NumPy, which is also what we build on: NumPy knows how to add two arrays. It
# does not know how to learn from them. For that, somebody has to watch every operation, and later
# (module 05) answer for each: if this input grows a little, how does the result change?
#
# So the plan of this module is:
#
# * An **op** is a plain function on arrays, with a name. You write six of them, and two functions about
#   shapes. They are tested on arrays, before there is any tensor.
# * A **tensor** wraps one array and remembers a few more things about it. It has no arithmetic of
#   its own: `x + y` calls the op `add`.
# * `Op.__call__`, the last exercise, sits between the two. It takes the arrays out of the tensors,
#   computes, wraps the result, and tells a *recorder*, if there is one, what just happened.
#
# The class `Op` comes first, because the decorator `@op` needs it. What it inherits is bookkeeping and
# stands in `base_dev.py`, given. Go on to exercise 1; you will come back to `__call__` at the end, and
# until then the tests of exercise 10 and of the whole tensor stay open. That is as it should be.
#
# Three helpers you will meet: `is_array(x)` is true for NumPy arrays (and CuPy's, on a GPU) and false
# for Python numbers; `array_module(x)` is the library that made x, so `numpy` here; `expect(got, want)`
# in the tests compares shapes and values and says what differs.

# %%
#| export core.op
class Op(OpBase):
    """A function on arrays that can be called with tensors. Called with arrays alone, it gives arrays."""
    def __call__(self, *inputs, **params):
        """Unwrap the tensors among `inputs`, compute, wrap the result, tell the recorder."""
        if params:
            inputs, params = self.bind(inputs, params)
        ### BEGIN SOLUTION
        arrays, tensors = [], False
        for x in inputs:
            if isinstance(x, Tensor):
                x, tensors = x.data, True
            arrays.append(x)
        forward = self.kernels.get(type(arrays[0]), self.forward) if self.kernels else self.forward
        try:
            result = forward(*arrays, **params)
        except Exception as error:
            return self.retry(error, inputs, params)
        if not tensors:
            return result[0] if self.keeps else result
        if self.outputs:
            out = tuple([Tensor._of(array) for array in result])
        else:
            array = result[0] if self.keeps else result
            if array.dtype is not float32 or not array.ndim:   # anything but an ordinary array
                array = settle(array, arrays, self.promote)
                if not self.keeps:
                    result = array
            out = Tensor._of(array)
        if self.view:
            self.remember(inputs, params, out)
        recorder = this_thread.recorder
        if recorder is not None:
            recorder(self, inputs, arrays, params, result, out)
        return out
        ### END SOLUTION


def op(forward=None, *, method=False, **flags):
    """Make a function on arrays an `Op`: `@op`, or `@op(keeps=True, method=True, ...)`."""
    def make(forward):
        made = Op(forward, **flags)
        if method:
            METHODS[made.name] = made
        return made
    return make(forward) if forward else make


# %% [markdown]
# This is how small an op is. Eleven of them, given. (`alpha` is PyTorch's: `x + alpha * y`.)

# %%
#| export
@op(method=True)
def add(x, y, alpha=1): return x + y if alpha == 1 else x + y * alpha
@op(method=True)
def subtract(x, y, alpha=1): return x - y if alpha == 1 else x - y * alpha
@op(method=True)
def divide(x, y): return x / y
@op(method=True)
def pow(x, p):
    try:
        return x ** p
    except ValueError:                              # integers, and some of the powers are negative
        if not is_array(p):
            raise
        return whole_power(x, p)
@op(method=True)
def negative(x): return -x
@op(method=True)
def eq(x, y): return x == y
@op(method=True)
def ne(x, y): return x != y
@op(method=True)
def lt(x, y): return x < y
@op(method=True)
def le(x, y): return x <= y
@op(method=True)
def gt(x, y): return x > y
@op(method=True)
def ge(x, y): return x >= y


# %% [markdown]
# ## Exercise 1: multiply
#
# The first one is solved in a minute and shows how the tests speak. Multiply element by element:
#
# ```
# [[1, 2],     [[5, 6],     [[ 5, 12],
#  [3, 4]]  *   [7, 8]]  =   [21, 32]]
# ```
#
# This is *not* the matrix product, whose first number would be 1*5 + 2*7 = 19. That is exercise 4.
# Replace the `raise` line, save, and run this file (`python tensor_dev.py`, or the cell).
#
# The decorator makes an `Op` of your function, and the function itself is `multiply.forward`. Until
# exercise 10 is done, that is what can be called: the tests say `multiply.forward(...)`, and if you want
# one op inside another, say `mean.forward(...)` too.

# %%
#| export
@op(method=True)
def multiply(x, y):
    """The product of two arrays, or of an array and a number, element by element.

    >>> multiply.forward(np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]]))
    array([[ 5, 12],
           [21, 32]])
    """
    ### BEGIN SOLUTION
    return x * y
    ### END SOLUTION


# %%
class TestMultiply:
    """Multiplying"""
    def test_by_hand(self):
        "Each element meets the one in its own place: [[1,2],[3,4]] times [[5,6],[7,8]] starts with 5"
        expect(multiply.forward(np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]])),
               [[5, 12], [21, 32]], why="1*5 is 5; a matrix product would start with 19")

    def test_number(self):
        "A plain number meets every element"
        expect(multiply.forward(np.array([1., 2., 4.]), 3), [3., 6., 12.])

    def test_new_array(self):
        "The inputs are left as they were: an op makes a new array"
        x = np.array([1., 2.])
        multiply.forward(x, 10.)
        expect(x, [1., 2.], why="x *= y writes into the caller's array; x * y makes a new one")


run_tests(TestMultiply)

# %% [markdown]
# ## Exercise 2: which shapes fit
#
# The first question of the opening: (1797, 64) minus (64,). The rule is called *broadcasting*, and it
# looks at shapes only. Write the two shapes under each other, **aligned from the right**, and go
# through the columns:
#
# ```
#   (4, 1, 3)                    (1797, 64)
# +    (5, 1)   missing: 1     -      (64,)   missing: 1
# = (4, 5, 3)                  = (1797, 64)
# ```
#
# * Where one shape has no more sizes, take 1.
# * Equal sizes stay.
# * A size of 1 is stretched to the other one: that one slice is used again and again. Nothing is
#   copied in memory.
# * Anything else is an error. (2, 3) and (2,) do not fit: 3 meets 2. That is a pity if you meant
#   "one number per row", and the cure is to say so with a shape of (2, 1).
#
# An error message in this course has three parts: what happened, with the shapes; why; what to do.
# Raise what PyTorch would raise, here a RuntimeError. The sentence is given:
#
# ```python
# raise RuntimeError(f"shapes {a} and {b} do not fit: aligned from the right, {i} meets {j}. "
#                    "Two sizes fit if they are equal or one of them is 1.")
# ```

# %%
#| export
def broadcast_shape(a, b):
    """The shape, a tuple, of an elementwise op between arrays of the shapes `a` and `b`.

    Raises RuntimeError, naming both shapes and the two sizes that clash, if they do not fit.

    >>> broadcast_shape((4, 1, 3), (5, 1))
    (4, 5, 3)
    """
    ### BEGIN SOLUTION
    n = max(len(a), len(b))
    shape = []
    for i, j in zip((1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)):
        if i != j and 1 not in (i, j):
            raise RuntimeError(f"shapes {a} and {b} do not fit: aligned from the right, {i} meets {j}. "
                               "Two sizes fit if they are equal or one of them is 1.")
        shape.append(j if i == 1 else i)
    return tuple(shape)
    ### END SOLUTION


# %%
class TestBroadcastShape:
    """The shape two shapes agree on"""
    def test_by_hand(self):
        "(4, 1, 3) and (5, 1) agree on (4, 5, 3): each 1 stretches to its neighbour"
        expect(broadcast_shape((4, 1, 3), (5, 1)), (4, 5, 3))
        assert type(broadcast_shape((4, 1, 3), (5, 1))) is tuple, "a shape is a tuple"

    def test_right(self):
        "Shapes are aligned from the right: (1797, 64) with (64,) is (1797, 64)"
        expect(broadcast_shape((1797, 64), (64,)), (1797, 64),
               why="the shorter shape is filled up with 1 on its left")

    def test_order(self):
        "The order of the two does not matter: (3,) with (2, 1) is (2, 3)"
        expect(broadcast_shape((3,), (2, 1)), (2, 3))

    def test_number(self):
        "A number has the shape () and fits everything"
        expect(broadcast_shape((), (2, 3)), (2, 3))
        expect(broadcast_shape((), ()), ())

    def test_empty(self):
        "1 stretches to 0 as well: an empty batch stays empty"
        expect(broadcast_shape((0, 3), (1, 3)), (0, 3), why="take the other size, not the larger one")

    def test_error(self):
        "(2, 3) and (2,) do not fit: 3 meets 2, and the error names both shapes"
        expect_error(RuntimeError, broadcast_shape, (2, 3), (2,), says=["(2, 3)", "(2,)", "3", "2"])


run_tests(TestBroadcastShape)

# %% [markdown]
# NumPy applies the same rule by itself in every `x + y`. Your function tells the result's shape *without*
# computing anything (`torch.broadcast_shapes` will be made of it), and from now on you can do it in your
# head.

# %% [markdown]
# ## Exercise 3: the size you need not compute
#
# An array in memory is one row of boxes. Its shape says how to count along it, and *strides* say how
# many bytes to step for each dimension. Six float32 numbers as (2, 3), and the transpose of that:
#
# ```
# memory   | 0 | 1 | 2 | 3 | 4 | 5 |          4 bytes each
#
# shape (2, 3), strides (12, 4)      0 1 2    one down: 12 bytes, one right: 4
#                                    3 4 5
#
# shape (3, 2), strides (4, 12)      0 3      the same six boxes, other steps
#                                    1 4
#                                    2 5
# ```
#
# So a transpose moves nothing: other strides, same boxes. A reshape of (2, 3) to (6,) moves nothing
# either: one stride of 4 visits the boxes in order. But the transpose reshaped to (6,) must read 0 3 1 4
# 2 5, and no single stride walks the boxes in that order: there the reshape has to **copy**.
#
# What a reshape must keep is the **count**: 6 boxes can be (2, 3), (6,) or (1, 6, 1), never (4, 2). And
# that is why one size may be left open: with 6 elements, (2, -1) can only mean (2, 3). But (4, -1) means
# nothing at all, and `6 // 4` would hide that. The error, for everything that cannot be:
#
# ```python
# raise RuntimeError(f"shape {shape} is invalid for {count} elements: a reshape keeps their number. "
#                    "At most one size can be -1.")
# ```

# %%
#| export
def infer_shape(shape, count):
    """`shape` as a tuple, with its -1 (if there is one) replaced so that it holds `count` elements.

    Raises RuntimeError, naming the shape and the count, if no size fits, if there are two -1 or a size
    below -1, or if a shape without -1 has another number of elements.

    >>> infer_shape((2, -1), 6)
    (2, 3)
    """
    ### BEGIN SOLUTION
    known = math.prod([n for n in shape if n != -1])
    if list(shape).count(-1) == 1 and known > 0 and count % known == 0:
        return tuple([count // known if n == -1 else n for n in shape])
    if -1 in shape or known != count or min(shape, default=0) < 0:
        raise RuntimeError(f"shape {tuple(shape)} is invalid for {count} elements: a reshape keeps their "
                           "number. At most one size can be -1.")
    return tuple(shape)
    ### END SOLUTION


# %%
class TestInferShape:
    """The open size of a reshape"""
    def test_by_hand(self):
        "Six elements as (2, -1) are (2, 3)"
        expect(infer_shape((2, -1), 6), (2, 3))

    def test_middle(self):
        "The -1 can stand anywhere: 24 elements as (2, -1, 4) are (2, 3, 4)"
        expect(infer_shape((2, -1, 4), 24), (2, 3, 4))

    def test_nothing_open(self):
        "Without a -1 the shape comes back as it is, if the count is right"
        expect(infer_shape((3, 2), 6), (3, 2))
        expect(infer_shape((), 1), ())
        assert type(infer_shape([3, 2], 6)) is tuple, "a shape is a tuple, also if a list was asked for"

    def test_remainder(self):
        "Six elements cannot be (4, -1): 6 / 4 leaves a remainder"
        expect_error(RuntimeError, infer_shape, (4, -1), 6, says=["(4, -1)", "6"])

    def test_count(self):
        "Six elements cannot be (4, 2): a reshape keeps the count"
        expect_error(RuntimeError, infer_shape, (4, 2), 6, says=["(4, 2)", "6"])

    def test_two_open(self):
        "Two open sizes have many answers, so they have none; and there is no size of -2"
        expect_error(RuntimeError, infer_shape, (-1, -1), 6, says=["(-1, -1)", "6"])
        expect_error(RuntimeError, infer_shape, (-2, -3), 6, says=["(-2, -3)", "6"])

    def test_zero(self):
        "An empty array leaves nothing to divide by: (0, -1) is an error, (-1, 3) of 0 elements is (0, 3)"
        expect_error(RuntimeError, infer_shape, (0, -1), 0)
        expect(infer_shape((-1, 3), 0), (0, 3))


run_tests(TestInferShape)

# %% [markdown]
# With it, the ops that only look at the same boxes in another way are one line each. They are marked
# as views, because a write into their result is seen by what they came from. Given.

# %%
#| export
@op(view=True)
def reshape_to(x, shape): return x.reshape(infer_shape(shape, x.size))


@method
def reshape(x, *shape):
    """The same elements, in the same order, in another shape: `x.reshape(2, -1)`."""
    return reshape_to(x, tuple(shape[0]) if isinstance(shape[0], (tuple, list)) else shape)


@op(view=True, method=True)
def transpose(x, dim0, dim1): return x.swapaxes(dim0, dim1) if x.ndim else x


@op(view=True, promote=False, method=True)
def getitem(x, index):
    """x[index], with everything NumPy can index by. A single element is a view too, of shape ()."""
    if isinstance(index, (int, slice)) or index is None:
        return x[index, ...]
    if isinstance(index, tuple) and all(isinstance(i, (int, slice)) or i is None for i in index):
        return x[index + (...,)]
    return x[index]


@op(promote=False, method=True)
def write(x, value, index):
    """x[index] = value, in place; recorded by `Tensor.__setitem__`."""
    ones = value.ndim - x[index].ndim if is_array(value) else 0      # (1, 3) into (3,) is allowed
    x[index] = value.reshape(value.shape[ones:]) if ones > 0 else value
    return x


# %% [markdown]
# ## Exercise 4: the matrix product
#
# Row times column, summed. [[1, 2], [3, 4]] @ [[5, 6], [7, 8]]:
#
# ```
# 1*5 + 2*7 = 19    1*6 + 2*8 = 22
# 3*5 + 4*7 = 43    3*6 + 4*8 = 50
# ```
#
# In general the **last axis of x** (its rows' length) meets the **second to last axis of y** (its
# columns' length), and disappears:
#
# $$ \mathrm{out}_{ij} = \sum_k x_{ik}\, y_{kj} \qquad (m, k) \times (k, n) \to (m, n) $$
#
# All axes before the last two are a batch of such products, and broadcast like any other: (8, 1, 2, 3)
# with (5, 3, 4) gives (8, 5, 2, 4). A vector on the left is one row, on the right one column, and the
# axis it lacks is not in the result. NumPy does all of that. What it says when the two inner sizes
# differ is no help, so that part is yours. Compare them first:
#
# ```python
# raise RuntimeError(f"matmul of {x.shape} and {y.shape}: the last size of x, {k}, must be ...")
# ```
#
# A number on either side (`ndim` 0) has no row and no column: a RuntimeError as well.
#
# And one thing for speed, not for the result: with x of shape (B, T, C) and *one* matrix y, NumPy runs B
# small products. Flattened to (B*T, C) it is one large product, which keeps the processor busier. Call
# the given `flat_product(x, y)` when y has exactly two dimensions and x two or more.

# %%
#| export
def flat_product(x, y):
    """x @ y for a matrix y, as one product over all leading axes of x."""
    if x.ndim == 2:
        return x.dot(y) if is_array(x) else x @ y      # for matrices the same, and dot starts quicker
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    return (rows @ y).reshape(x.shape[:-1] + y.shape[1:])


@op(method=True)
def matmul(x, y):
    """The matrix product over the last two axes; the axes before them broadcast.

    x: (..., m, k), y: (..., k, n); gives (..., m, n). A vector on either side is allowed, a number
    is not. Raises RuntimeError naming both shapes and the two inner sizes.

    >>> matmul.forward(np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]]))
    array([[19, 22],
           [43, 50]])
    """
    ### BEGIN SOLUTION
    if x.ndim == 0 or y.ndim == 0:
        raise RuntimeError(f"matmul of {x.shape} and {y.shape}: both need a dimension to sum over. "
                           "Use * to multiply by a number.")
    inner = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if x.shape[-1] != inner:
        raise RuntimeError(f"matmul of {x.shape} and {y.shape}: the last size of x, {x.shape[-1]}, must be "
                           f"the second to last size of y, {inner}. Is one of them transposed?")
    if x.ndim > 1 and y.ndim == 2:
        return flat_product(x, y)
    return x @ y
    ### END SOLUTION


# %%
class TestMatmul:
    """The matrix product"""
    def test_by_hand(self):
        "Row times column: [[1,2],[3,4]] @ [[5,6],[7,8]] is [[19,22],[43,50]]"
        expect(matmul.forward(np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]])),
               [[19, 22], [43, 50]], why="[[5,12],[21,32]] is the elementwise product")

    def test_shapes(self):
        "(2, 3) with (3, 4) is (2, 4): the inner sizes meet and disappear"
        expect(matmul.forward(np.ones((2, 3)), np.ones((3, 4))), np.full((2, 4), 3.))

    def test_batch(self):
        "Axes before the last two broadcast: (8, 1, 2, 3) with (5, 3, 4) is (8, 5, 2, 4)"
        x = np.arange(48.).reshape(8, 1, 2, 3)
        y = np.arange(60.).reshape(5, 3, 4)
        out = matmul.forward(x, y)
        expect(out.shape, (8, 5, 2, 4))
        expect(out[7, 4], x[7, 0] @ y[4])

    def test_one_matrix(self):
        "(2, 2, 3) with one (3, 1): every row of every batch element meets the same column"
        x = np.arange(12.).reshape(2, 2, 3)
        expect(matmul.forward(x, np.array([[1.], [10.], [100.]])), [[[210.], [543.]], [[876.], [1209.]]])

    def test_vectors(self):
        "A vector is one row on the left and one column on the right; two of them give a number"
        expect(matmul.forward(np.array([1., 2.]), np.array([[1., 3.], [5., 7.]])), [11., 17.])
        expect(matmul.forward(np.array([[1., 3.], [5., 7.]]), np.array([1., 2.])), [7., 19.])
        expect(float(matmul.forward(np.array([1., 2.]), np.array([3., 4.]))), 11.)

    def test_error(self):
        "(2, 3) and (4, 5) cannot be multiplied: the error names the inner sizes 3 and 4"
        expect_error(RuntimeError, matmul.forward, np.ones((2, 3)), np.ones((4, 5)),
                     says=["(2, 3)", "(4, 5)", "3,", "4"])
        expect_error(RuntimeError, matmul.forward, np.ones(()), np.ones((4, 5)))


run_tests(TestMatmul)

# %% [markdown]
# ## Exercise 5: mean
#
# x = [[1, 2, 3], [4, 5, 6]] has shape (2, 3). "Over dim 0" means that dim 0 is the one that **goes
# away**: two rows become one, (2, 3) to (3,), and the means are [2.5, 3.5, 4.5]. Over dim 1 three
# columns go away, and the means are [2, 5]. Over both, one number is left: 3.5.
#
# $$ \mathrm{mean} = \frac{1}{n} \sum x \qquad n = \text{the number of elements that went into each result} $$
#
# n is 2 for dim 0 and 3 for dim 1. It is 6 only if everything goes away.
#
# `keepdim=True` leaves the removed dimension behind with size 1: (2, 1) instead of (2,). That is what
# you want when the means go back to where they came from: (2, 3) minus (2, 1) fits, (2, 3) minus (2,)
# does not. And it is what (1797, 64) minus (64,) got for free, since dim 0 is on the left.
#
# Integers and bools refuse, as in PyTorch: the mean of [1, 2] is no integer, and a silent change of dtype
# or a silent rounding are both worse than an error.
#
# ```python
# raise RuntimeError(f"mean of {x.dtype} numbers: ... Convert them first: x.float().mean().")
# ```
#
# Two helpers are given. `axes(dim)` is dim as NumPy's `axis=` wants it (a list becomes a tuple; an empty
# one means all, as in PyTorch). `counted(shape, dim)` is the n above.

# %%
#| export
def axes(dim):
    """`dim` as NumPy wants it: a list becomes a tuple, and an empty one means all dimensions."""
    return dim if not isinstance(dim, (list, tuple)) else tuple(dim) or None


def counted(shape, dim):
    """How many elements of an array of `shape` go into each result of a reduction over `dim`.

    dim: None for all dimensions, a number, or several; negative ones count from the end.

    >>> counted((2, 3), 1), counted((2, 3), None)
    (3, 6)
    """
    dim = axes(dim)
    dims = range(len(shape)) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    return math.prod([shape[d] for d in dims]) if shape else 1


@op(method=True, promote=False)
def mean(x, dim=None, keepdim=False, dtype=None):
    """The mean over one dimension, several, or all of them; with `dtype`, of x converted to that.

    x: floats of any shape; dim: None, a number or a tuple. The result lacks those dimensions, or has
    them with size 1 if `keepdim`. Raises RuntimeError for integers and bools.

    >>> mean.forward(np.array([[1., 2., 3.], [4., 5., 6.]]), 0)
    array([2.5, 3.5, 4.5])
    """
    x = x if dtype is None else x.astype(dtype)
    ### BEGIN SOLUTION
    if x.dtype.kind != "f":
        raise RuntimeError(f"mean of {x.dtype} numbers: their mean is no {x.dtype}. "
                           "Convert them first: x.float().mean().")
    return x.sum(axis=axes(dim), keepdims=keepdim) / counted(x.shape, dim)
    ### END SOLUTION


# %%
class TestMean:
    """Mean"""
    x = np.array([[1., 2., 3.], [4., 5., 6.]])

    def test_by_hand(self):
        "Over dim 0 the rows go away: [[1,2,3],[4,5,6]] has the means [2.5, 3.5, 4.5]"
        expect(mean.forward(self.x, 0), [2.5, 3.5, 4.5])

    def test_divides_by_what_went_away(self):
        "Over dim 1 each mean is of 3 numbers, not of 6: [2, 5]"
        expect(mean.forward(self.x, 1), [2., 5.], why="[1, 2.5] divides by all elements")
        expect(mean.forward(self.x, -1), [2., 5.])

    def test_all(self):
        "Without dim everything goes away: 3.5, of shape (), or (1, 1) with keepdim"
        expect(mean.forward(self.x), 3.5)
        expect(mean.forward(self.x, None, True), [[3.5]])
        expect(mean.forward(self.x, []), 3.5)

    def test_keepdim(self):
        "keepdim leaves a 1 behind: (2, 3) over dim 1 is (2, 1), so that x - mean fits"
        expect(mean.forward(self.x, 1, True), [[2.], [5.]])
        expect(self.x - mean.forward(self.x, 1, keepdim=True), [[-1., 0., 1.], [-1., 0., 1.]])

    def test_several(self):
        "Several dimensions can go at once: (2, 3, 4) over (0, 2) is (3,), means of 8 numbers"
        x = np.arange(24.).reshape(2, 3, 4)
        expect(mean.forward(x, (0, 2)), [7.5, 11.5, 15.5])
        expect(mean.forward(x, [0, 2], True).shape, (1, 3, 1))

    def test_float32(self):
        "float32 stays float32: the count must not widen it"
        expect(str(mean.forward(self.x.astype("float32"), 0).dtype), "float32")

    def test_integers(self):
        "Integers and bools refuse: the mean of [1, 2] is no integer"
        expect_error(RuntimeError, mean.forward, np.array([1, 2]), says=["int64"])
        expect_error(RuntimeError, mean.forward, np.array([True, False]), says=["bool"])


run_tests(TestMean)

# %% [markdown]
# ## Exercise 6: variance
#
# How far do the numbers lie from their mean? Column 0 of the table above is [1, 4], its mean 2.5, the
# distances -1.5 and 1.5, their squares 2.25 and 2.25. The variance is the sum of the squares, 4.5,
# divided by... 2 gives 2.25, the mean square. PyTorch says **4.5**: it divides by N - 1 = 1.
#
# $$ \mathrm{var} = \frac{1}{N - c} \sum (x - \bar{x})^2 \qquad c = \texttt{correction} = 1 $$
#
# Why N - 1? The mean was computed from the same numbers, so they lie closer to it than to the mean of
# whatever they were drawn from. Dividing by a little less makes up for that on average. Batch norm and
# layer norm (modules 09 and 13) want the plain mean square: `correction=0`.
#
# There is a tempting one-pass formula, mean of x² minus (mean of x)². Try it in float32 on 10000,
# 10001, 10002: the squares are about 10⁸, float32 keeps seven digits of them, and the difference of
# two such numbers has nothing left. It gives 0.0 where 0.667 is right (with correction 0). Two passes:
# first the mean, then the squares of the distances.

# %%
#| export
@op(method=True)
def var(x, dim=None, correction=1, keepdim=False):
    """The variance over `dim`: the sum of squared distances from the mean, divided by N - correction.

    x: floats of any shape; dim: None, a number or a tuple. N - correction is never taken below 0, so one
    number with correction 1 gives 0 / 0, nan, as in PyTorch. Raises RuntimeError for integers.

    >>> var.forward(np.array([[1., 2., 3.], [4., 5., 6.]]), 0)
    array([4.5, 4.5, 4.5])
    """
    ### BEGIN SOLUTION
    distance = x - mean.forward(x, dim, keepdim=True)
    n = max(counted(x.shape, dim) - correction, 0)
    return (distance * distance).sum(axis=axes(dim), keepdims=keepdim) / x.dtype.type(n)
    ### END SOLUTION


# %%
class TestVar:
    """Variance"""
    x = np.array([[1., 2., 3.], [4., 5., 6.]])

    def test_by_hand(self):
        "[1, 4] lies 1.5 on each side of 2.5: the squares sum to 4.5, and N - 1 is 1"
        expect(var.forward(self.x, 0), [4.5, 4.5, 4.5], why="2.25 divides by N; PyTorch divides by N - 1")

    def test_correction(self):
        "correction=0 divides by N: 2.25"
        expect(var.forward(self.x, 0, correction=0), [2.25, 2.25, 2.25])

    def test_rows(self):
        "[1, 2, 3] has variance 1, and keepdim leaves (2, 1)"
        expect(var.forward(self.x, 1, keepdim=True), [[1.], [1.]])

    def test_all(self):
        "Over everything: 17.5 / 5 = 3.5"
        expect(var.forward(self.x), 3.5)

    def test_several(self):
        "(2, 3, 2) over dims 0 and 2, each of four numbers: 0, 1, 6, 7 have 37 / 3 = 12.33"
        x = np.arange(12.).reshape(2, 3, 2)
        expect(var.forward(x, (0, 2)), [37 / 3, 37 / 3, 37 / 3])

    def test_two_passes(self):
        "float32 10000, 10001, 10002 have variance 0.667: the mean of squares loses all of it"
        x = np.array([10000, 10001, 10002], "float32")
        expect(var.forward(x, 0, correction=0), 2 / 3, tol=1e-4,
               why="0.0 comes from mean(x*x) - mean(x)**2: subtract the mean first, then square")

    def test_one_number(self):
        "One number has no spread to speak of: nan with correction 1, 0 with correction 0"
        with np.errstate(invalid="ignore"):
            expect(var.forward(np.array([3.])), np.nan, why="0 / 0: the squares sum to 0, and N - 1 is 0")
        expect(var.forward(np.array([3.]), correction=0), 0.)

    def test_no_negative_variance(self):
        "N - correction stops at 0: two numbers with correction 3 give inf, not a negative spread"
        with np.errstate(divide="ignore"):
            expect(var.forward(np.array([1., 2.]), correction=3), np.inf)

    def test_integers(self):
        "Integers refuse here too"
        expect_error(RuntimeError, var.forward, np.array([1, 2]))


run_tests(TestVar)

# %% [markdown]
# ## Exercise 7: masked_fill
#
# A choice without `if`. The mask is an array of bools; where it is true the result holds `value`,
# elsewhere the old number:
#
# ```
# x      5  3  8        mask   F  T  F        value 0        ->   5  0  8
# ```
#
# In module 12 the value will be minus infinity: whatever a word must not look at gets -inf, and the
# softmax turns it into a weight of exactly 0. Multiplying by a mask of 0 and 1 cannot do this: 0 times
# infinity is nan. The mask broadcasts to x, and x itself stays as it was.
#
# The result has x's dtype, whatever the value is: 1.5 in an array of int64 is 1, as in PyTorch. And a mask
# of 0 and 1 is not taken for bools:
#
# ```python
# raise RuntimeError(f"masked_fill: the mask holds {mask.dtype}, it must hold bools. ...")
# raise RuntimeError(f"masked_fill: the value has shape {value.shape}, it must be a single number.")
# ```

# %%
#| export
@op(method=True)
def masked_fill(x, mask, value):
    """A copy of x with `value` where `mask` is true; the mask broadcasts to x.

    value: a number, or an array of shape (). The dtype is that of x. Raises RuntimeError if the mask holds
    anything but bools, and for a value that has dimensions.

    >>> masked_fill.forward(np.array([5., 3., 8.]), np.array([False, True, False]), 0.)
    array([5., 0., 8.])
    """
    ### BEGIN SOLUTION
    if is_array(value) and value.ndim:
        raise RuntimeError(f"masked_fill: the value has shape {value.shape}, it must be a single number.")
    if mask.dtype.kind != "b":
        raise RuntimeError(f"masked_fill: the mask holds {mask.dtype}, it must hold bools. "
                           "Make it one by a comparison, such as mask != 0.")
    xp = array_module(x)
    return xp.where(mask, xp.asarray(value, x.dtype), x)
    ### END SOLUTION


# %%
class TestMaskedFill:
    """Choosing by a mask"""
    x = np.array([[5., 3., 8.], [1., 2., 4.]])

    def test_by_hand(self):
        "True is replaced, False is kept: 5 3 8 with F T F and 0 is 5 0 8"
        expect(masked_fill.forward(np.array([5., 3., 8.]), np.array([False, True, False]), 0.), [5., 0., 8.])

    def test_infinity(self):
        "Minus infinity is a value like any other, and leaves no nan beside it"
        mask = np.array([[True, False, False], [False, False, True]])
        expect(masked_fill.forward(self.x, mask, -np.inf), [[-np.inf, 3., 8.], [1., 2., -np.inf]])

    def test_broadcast(self):
        "A mask of shape (3,) holds for every row"
        expect(masked_fill.forward(self.x, np.array([False, True, False]), 9.), [[5., 9., 8.], [1., 9., 4.]])

    def test_copy(self):
        "x itself is left as it was"
        x = self.x.copy()
        masked_fill.forward(x, np.full((2, 3), True), 0.)
        expect(x, self.x, why="x[mask] = value writes into the caller's array")

    def test_dtype(self):
        "The dtype of x stays: float32 with the value 1.5 is float32, int64 with 7 is int64"
        mask = np.array([True, False])
        expect(str(masked_fill.forward(np.ones(2, "float32"), mask, 1.5).dtype), "float32")
        expect(str(masked_fill.forward(np.ones(2, "int64"), mask, 7).dtype), "int64")

    def test_value_that_does_not_fit(self):
        "1.5 in an array of integers is 1, and the array stays int64"
        out = masked_fill.forward(np.array([5, 3]), np.array([True, False]), 1.5)
        expect(out, [1, 3])
        expect(str(out.dtype), "int64", why="the value must not widen the result")

    def test_bools_only(self):
        "A mask of 0 and 1 is refused: it might have been meant as indices"
        expect_error(RuntimeError, masked_fill.forward, self.x, np.array([0, 1, 0]), 0.,
                     says=["int64", "bool"])

    def test_one_value(self):
        "There is one value for all places: an array of two is refused"
        expect_error(RuntimeError, masked_fill.forward, self.x, np.array([True, False, True]),
                     np.array([1., 2.]), says=["(2,)"])


run_tests(TestMaskedFill)

# %% [markdown]
# ## Exercise 8: gather
#
# Module 04 will hold a table of scores, one row per example and one column per class, and a list of
# right answers: row 0 wants column 2, row 1 wants column 0. Indices that are *data*:
#
# ```
# x      10  20  30        index   2         ->   30
#        40  50  60                0              40
# ```
#
# $$ \mathrm{out}_{ij} = x_{i,\, \mathrm{index}_{ij}} \qquad (\text{dim} = 1) $$
#
# The result has the shape of `index`. Every place (i, j) of it asks x for an element in its own row i,
# in the column that the index names there. With dim = 0 it is the row that is named:
# out[i][j] = x[index[i][j]][j]. This is not `x[:, index]` and not `take`, which use the *same* list of
# columns for every row.
#
# NumPy can index by one array of places for each dimension, and `places_of(index, dim)`, given, makes
# them. For the example above (dim 1) it returns two arrays that broadcast to the shape of the index: the
# rows [[0], [1]], because everybody stays in the own row, and for dim 1 the index itself, [[2], [0]].
#
# Two things are refused: an index with another number of dimensions than x, and an index outside:
#
# ```python
# raise RuntimeError(f"gather from {x.shape} by an index of {index.shape}: both need ...")
# raise RuntimeError(f"gather from {x.shape} along dim {dim}: the index holds {lowest} to {highest}, ...")
# ```

# %%
#| export
def places_of(index, dim):
    """For each element of `index` its own place in all dimensions, with the index itself in `dim`."""
    xp, last = array_module(index), index.ndim - 1
    places = [xp.arange(n).reshape((n,) + (1,) * (last - i)) for i, n in enumerate(index.shape)]
    places[dim] = index
    return tuple(places)


def corner_case(x, index):
    """True where PyTorch is generous: an empty index, and a 0-d array taken for a vector of one."""
    return index.size == 0 or x.ndim + index.ndim < 2


@op(method=True)
def gather(x, dim, index):
    """Elements of x picked along `dim` by `index`, an integer array with as many dimensions as x.

    out[i][j] = x[i][index[i][j]] for dim 1, x[index[i][j]][j] for dim 0; the result has the shape of
    `index`, which may be smaller than x. Raises RuntimeError if the numbers of dimensions differ or an
    index is negative or too large.

    >>> gather.forward(np.array([[10, 20, 30], [40, 50, 60]]), 1, np.array([[2], [0]]))
    array([[30],
           [40]])
    """
    if corner_case(x, index):
        return x.reshape(-1)[index.reshape(-1)].reshape(index.shape)
    ### BEGIN SOLUTION
    if x.ndim != index.ndim:
        raise RuntimeError(f"gather from {x.shape} by an index of {index.shape}: both need the same "
                           "number of dimensions. Add one to the index: index[:, None].")
    if not (0 <= index.min() and index.max() < x.shape[dim]):
        raise RuntimeError(f"gather from {x.shape} along dim {dim}: the index holds {index.min()} to "
                           f"{index.max()}, allowed are 0 to {x.shape[dim] - 1}.")
    return x[places_of(index, dim)]
    ### END SOLUTION


# %%
class TestGather:
    """Indices that are data"""
    x = np.array([[10, 20, 30], [40, 50, 60]])

    def test_by_hand(self):
        "Row 0 wants column 2, row 1 wants column 0: [[30], [40]]"
        expect(gather.forward(self.x, 1, np.array([[2], [0]])), [[30], [40]])

    def test_own_row(self):
        "Every row has indices of its own: [[2, 2], [0, 1]] gives [[30, 30], [40, 50]]"
        expect(gather.forward(self.x, 1, np.array([[2, 2], [0, 1]])), [[30, 30], [40, 50]],
               why="a list of columns shared by all rows is x[:, index], another thing")

    def test_dim_0(self):
        "Along dim 0 the index names the row: [[1, 0, 1]] gives [[40, 20, 60]]"
        expect(gather.forward(self.x, 0, np.array([[1, 0, 1]])), [[40, 20, 60]])

    def test_negative_dim(self):
        "dim -1 is the last one"
        expect(gather.forward(self.x, -1, np.array([[1], [1]])), [[20], [50]])

    def test_three_dims(self):
        "In three dimensions the other two stay where they are"
        x = np.arange(24).reshape(2, 3, 4)
        expect(gather.forward(x, 2, np.array([[[3], [0], [1]], [[2], [2], [0]]])),
               [[[3], [4], [9]], [[14], [18], [20]]])

    def test_errors(self):
        "An index of 3 into 3 columns is an error, and so is an index with a dimension too few"
        expect_error(RuntimeError, gather.forward, self.x, 1, np.array([[3], [0]]), says=["(2, 3)", "3"])
        expect_error(RuntimeError, gather.forward, self.x, 1, np.array([[-1], [0]]), says=["-1"])
        expect_error(RuntimeError, gather.forward, self.x, 1, np.array([2, 0]), says=["(2, 3)", "(2,)"])


run_tests(TestGather)

# %% [markdown]
# ## Exercise 9: from Python to numbers
#
# `Tensor([1, 2.5])` starts with a Python list. Which dtype should the array have? NumPy takes float64
# for anything with a decimal point: 8 bytes a number, 15 digits. A neural network's weights are noisy
# to the third digit, so PyTorch takes **float32**: half the memory, and twice the speed wherever
# memory or arithmetic is the limit. Integers stay int64, because they count and index things and must
# be exact; bools stay bools.
#
# ```
# [1, 2]      -> int64      [1, 2.5]    -> float32      [True]  -> bool
# array of float64 -> float64, the numbers copied: who made it had a reason
# ```
#
# A NumPy array, or a number of NumPy's such as `np.float64(2.)`, has chosen its dtype already and keeps
# it. The caller may also say `dtype=` and is obeyed. `without_tensors` is given: it takes the arrays out
# of a list that has tensors in it. Two errors:
#
# ```python
# raise TypeError(f"tensor of {data!r}: ... holds floats, integers or bools.")        # "three", None
# raise ValueError(f"tensor of {data!r}: lists at one depth need the same length.")   # [[1, 2], [3]]
# ```
#
# NumPy raises a ValueError for the second by itself, with an unhelpful text. To see what `data` holds,
# make the array *without* a dtype, look at `array.dtype.kind` ("f" float, "i" and "u" integer, "b" bool),
# and convert after that (`astype`).

# %%
#| export core.tensor
def as_array(data, dtype=None):
    """A new array with the numbers of `data`, in PyTorch's default dtype unless `dtype` is given.

    data: a number, nested lists, an array or a tensor. Raises TypeError for what holds no numbers and
    ValueError for lists of unequal lengths.

    >>> as_array([1, 2.5])
    array([1. , 2.5], dtype=float32)
    """
    data = without_tensors(data)
    ### BEGIN SOLUTION
    try:
        array = array_module(data).array(data)
    except ValueError:
        raise ValueError(f"tensor of {data!r:.60}: lists at one depth need the same length.") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"tensor of {data!r:.60}: this holds {array.dtype}, and a tensor holds floats, "
                        "integers or bools.")
    typed = is_array(data) or isinstance(data, np.generic)
    if dtype is None and array.dtype == "float64" and not typed:
        dtype = float32
    return array if dtype is None else array.astype(dtype)
    ### END SOLUTION


# %%
class TestAsArray:
    """From Python to numbers"""
    def test_floats(self):
        "A list of floats becomes float32, half the bytes of NumPy's float64"
        expect(str(as_array([1, 2.5]).dtype), "float32")
        expect(as_array([1, 2.5]), [1., 2.5])

    def test_integers_and_bools(self):
        "Integers become int64, bools stay bools"
        expect(str(as_array([[1, 2], [3, 4]]).dtype), "int64")
        expect(str(as_array([True, False]).dtype), "bool")

    def test_numbers(self):
        "A single number has the shape ()"
        expect(as_array(2.5).shape, ())
        expect(str(as_array(2.5).dtype), "float32")

    def test_arrays_keep_theirs(self):
        "An array keeps its dtype: a float64 array stays float64"
        expect(str(as_array(np.array([1., 2.])).dtype), "float64")
        expect(str(as_array(np.float64(2.)).dtype), "float64")

    def test_dtype(self):
        "Whoever says dtype is obeyed, also with float64 and with a list of floats"
        expect(str(as_array([1., 2.], "float64").dtype), "float64")
        expect(str(as_array([1, 2], "float32").dtype), "float32")
        expect(as_array(np.array([1.7]), "int64"), [1])

    def test_copies(self):
        "The numbers are copied: writing to the source later changes nothing"
        source = np.array([1., 2.])
        array = as_array(source)
        source[0] = 100.
        expect(array, [1., 2.])

    def test_no_numbers(self):
        "A string and None hold no numbers: TypeError, also when a dtype is asked for"
        expect_error(TypeError, as_array, "three", says=["three"])
        expect_error(TypeError, as_array, None)
        expect_error(TypeError, as_array, None, "float32")

    def test_ragged(self):
        "[[1, 2], [3]] has no shape: ValueError"
        expect_error(ValueError, as_array, [[1, 2], [3]], says=["length"])


run_tests(TestAsArray)

# %% [markdown]
# ## The tensor
#
# Now the class, given. A tensor holds **one array** (`data`) and four more fields that wait for module
# 05. All the rest it inherits from `TensorBase` in `base_dev.py`: read that for the operators, which
# look up their op by name in the table `METHODS`. Ops enter the table with `@op(method=True)`, so
# module 02 can add `x.softmax(-1)` without touching this class.

# %%
#| export core.tensor
class Tensor(TensorBase):
    """An array with a shape, a dtype, a device, and a place for a gradient.

    >>> x = Tensor([[1., 2.], [3., 5.]])
    >>> x - x.mean(0)
    tensor([[-1.0000, -1.5000],
            [ 1.0000,  1.5000]])

    data: nested lists or numbers, a NumPy or CuPy array, or a tensor; the numbers are copied.
    Floats become float32 and integers int64, unless an array or `dtype` says otherwise.
    Raises TypeError for what holds no numbers, ValueError for lists of unequal lengths.
    """
    __slots__ = ()

    def __init__(self, data, dtype=None, device=None, requires_grad=False):
        array = as_array(data, dtype)
        self.data = array if device is None else to_device(array, device)
        self.requires_grad, self.grad, self.node, self.origin = False, None, None, None
        self.requires_grad_(requires_grad)

    @staticmethod
    def _of(array):
        """A tensor around `array` itself, unchecked and without a copy: what ops use."""
        tensor = object.__new__(Tensor)
        tensor.data, tensor.requires_grad = array, False
        tensor.grad = tensor.node = tensor.origin = None
        return tensor


# %% [markdown]
# ## Exercise 10: the one seam
#
# All the parts are there and nothing works yet: `Tensor([1., 2.]) + 3` calls `add(tensor, 3)`, and that
# is `Op.__call__`, near the top of this file. Go there now, and write it in two stages.
#
# **First stage: it works.** For the example:
#
# ```
# inputs   Tensor([1., 2.]), 3          take the arrays out of the tensors: `tensor.data`
# arrays   [array([1., 2.]), 3]         run the forward on them: self.forward(*arrays, **params)
# result   array([4., 5.])              wrap it: Tensor._of(result)
# out      Tensor([4., 5.])
# ```
#
# Any of the inputs may be a tensor. If none is, return the result as it is, an array: so ops, and later
# gradient rules, may use other ops. If there was a tensor, tell the recorder, if there is one:
#
# ```python
# recorder = this_thread.recorder       # None if nobody watches
# recorder(self, inputs, arrays, params, result, out)
# ```
#
# With this the first six tests pass. **Second stage: the fine print.** Each line is one `if`, or one
# line, and one test:
#
# * *Kernels.* Module 18 will put faster forwards into the dictionary `self.kernels`, by type of array.
#   If there is one for `type(arrays[0])`, call it in place of `self.forward`.
# * *Errors.* If the forward raises, `return self.retry(error, inputs, params)`: it raises what PyTorch
#   would raise, or mends the inputs and calls the op once more. With arrays alone, too.
# * *keeps.* Some forwards return `(out, *kept)`: more than the caller wants, because the gradient will
#   want it. The caller gets `result[0]`, tensor or array; the recorder hears the whole `result`.
# * *outputs.* Some return a tuple of arrays, all of which the caller wants: `out` is a tuple of tensors.
# * *dtype.* NumPy and PyTorch disagree on some results: int64 * 2.5, or the sum of a float32 array, which
#   NumPy gives as a plain number without an array around it. `settle(array, arrays, self.promote)` gives
#   what PyTorch would give. It costs a microsecond, so call it only for what is not an ordinary float32
#   array: `array.dtype is not float32 or not array.ndim`. The recorder hears the settled result.
# * *Views.* If `self.view`: call `self.remember(inputs, params, out)` before the recorder is told. It
#   notes what the result is a view of, so that a later write into one is known to the other.

# %%
class TestOpCall:
    """An op on tensors"""
    def watched(self, f):
        heard = []
        before = record_with(lambda *event: heard.append(event))
        try:
            out = f()
        finally:
            record_with(before)
        return out, heard

    def test_wraps(self):
        "Tensors in, a tensor out: Tensor([1., 2.]) + 3 is Tensor([4., 5.])"
        out = add(Tensor([1., 2.]), 3)
        assert type(out) is Tensor, f"expected a Tensor, got {type(out).__name__}"
        expect(out, [4., 5.])

    def test_arrays(self):
        "Arrays in, an array out: so ops can use ops"
        out = add(np.array([1., 2.]), 3)
        assert type(out) is np.ndarray, f"expected an array, got {type(out).__name__}"

    def test_second_input(self):
        "The tensor may be any of the inputs: 10 - Tensor([1., 2.]) is Tensor([9., 8.])"
        expect(subtract(10, Tensor([1., 2.])), [9., 8.])

    def test_params(self):
        "Parameters go through, by position or by name"
        x = Tensor([[1., 2.], [3., 4.]])
        expect(transpose(x, 0, 1), [[1., 3.], [2., 4.]])
        expect(transpose(x, dim0=0, dim1=1), [[1., 3.], [2., 4.]])

    def test_tells(self):
        "The recorder hears the op, the inputs, the arrays, the parameters, the result and the tensor made"
        x = Tensor([1., 2.])
        out, heard = self.watched(lambda: add(x, 3, alpha=2))
        assert len(heard) == 1, f"expected one event, got {len(heard)}"
        op, inputs, arrays, params, result, told = heard[0]
        assert op is add and told is out
        assert inputs[0] is x and inputs[1] == 3, "inputs are what the caller gave: tensors stay tensors"
        assert arrays[0] is x.data, "arrays are what the forward got: the tensor's own array"
        assert params == {"alpha": 2}, f"expected {{'alpha': 2}}, got {params}"
        expect(result, [7., 8.])

    def test_tells_nobody(self):
        "Arrays alone are nobody's business: the recorder hears nothing"
        _, heard = self.watched(lambda: add(np.array([1.]), 3))
        assert heard == [], "the recorder was told of an op without tensors"

    def test_kernel(self):
        "A kernel for this type of array is used in place of the forward"
        fast = Op(_halves, keeps=True)
        fast.kernel(np.ndarray)(lambda x: (x * 100, "fast"))
        expect(fast(Tensor([1., 2.])), [100., 200.])

    def test_error(self):
        "Shapes that do not fit are PyTorch's RuntimeError, with the op's name and both shapes"
        expect_error(RuntimeError, add, Tensor([1., 2.]), Tensor([1., 2., 3.]),
                     says=["add", "(2,)", "(3,)"])
        expect_error(RuntimeError, add, np.ones(2), np.ones(3), says=["add", "(2,)", "(3,)"])

    def test_second_try(self):
        "What self.retry returns, if it does not raise, is returned as it is"
        mended = Op(_fails)
        mended.retry = lambda error, inputs, params: Tensor(inputs[0].data * 10)
        expect(mended(Tensor([1., 2.])), [10., 20.])

    def test_keeps(self):
        "What a forward keeps goes to the recorder and not to the caller"
        halves = Op(_halves, keeps=True)
        out, heard = self.watched(lambda: halves(Tensor([2., 4.])))
        expect(out, [1., 2.])
        assert heard[0][4][1] == "kept", "the recorder's result is the whole tuple (out, *kept)"
        expect(halves(np.array([2., 4.])), [1., 2.])

    def test_outputs(self):
        "An op with several outputs gives a tuple of tensors"
        out = Op(_first_and_rest, outputs=True)(Tensor([1., 2., 3.]))
        assert type(out) is tuple and all(type(t) is Tensor for t in out), "each output is a Tensor"
        expect(out[1], [2., 3.])

    def test_scalar_stays_weak(self):
        "A Python number never widens: float16 plus 2.5 is float16, int64 plus 2.5 is float32"
        expect(str(add(Tensor([1.], dtype="float16"), 2.5).dtype), "float16")
        out, heard = self.watched(lambda: add(Tensor([1, 2]), 2.5))
        expect(str(out.dtype), "float32", why="NumPy alone says float64: see settle")
        expect(str(heard[0][4].dtype), "float32", why="the recorder hears the settled result")

    def test_zero_d(self):
        "A result of shape () is an array as well, never a NumPy scalar"
        out = Op(_total)(Tensor([1., 2.]))
        assert type(out.data) is np.ndarray and out.shape == (), "settle() makes an array of it"

    def test_promote(self):
        "An op with promote=False decides on its own dtype: settle() is told"
        expect(str(Op(_as_float64, promote=False)(Tensor([1., 2.])).dtype), "float64")

    def test_view(self):
        "A view remembers what it is a view of, before the recorder is told"
        x, origins = Tensor([[1., 2.]]), []
        before = record_with(lambda *event: origins.append(event[-1].origin))
        try:
            transpose(x, 0, 1)
        finally:
            record_with(before)
        assert origins[0] is not None and origins[0][0] is x, "call self.remember(inputs, params, out) first"


def _halves(x): return x / 2, "kept"
def _first_and_rest(x): return x[:1], x[1:]
def _total(x): return x.sum()
def _as_float64(x): return x.astype("float64")
def _fails(x): raise ValueError("on purpose")


run_tests(TestOpCall)

# %% [markdown]
# ## The whole of it
#
# The opening once more, on numbers small enough to check, and then the rest of what a tensor promises.

# %%
class TestTensor:
    """The tensor, whole"""
    def test_opening(self):
        "Two pictures of three numbers, minus their mean picture: -1.5 and 1.5 everywhere"
        pictures = Tensor([[1., 2., 3.], [4., 5., 6.]])
        expect(pictures - pictures.mean(0), [[-1.5, -1.5, -1.5], [1.5, 1.5, 1.5]])

    def test_names(self):
        "Ops are methods and operators at once: x @ x.mT, x.matmul, x.var, x.reshape"
        x = Tensor([[1., 2.], [3., 4.]])
        expect(x @ x.mT, [[5., 11.], [11., 25.]])
        expect(x.matmul(x.transpose(0, 1)), [[5., 11.], [11., 25.]])
        expect(x.reshape(-1).var(), 5 / 3)

    def test_index(self):
        "Reading by index: a row, a column, a mask, a list of rows"
        x = Tensor([[1, 2, 3], [4, 5, 6]])
        expect(x[1], [4, 5, 6])
        expect(x[:, 1:], [[2, 3], [5, 6]])
        expect(x[x > 3], [4, 5, 6])
        expect(x[Tensor([1, 1, 0]), Tensor([0, 2, 1])], [4, 6, 2])

    def test_write(self):
        "Writing by index and in place changes this memory, and every view of it"
        x = Tensor([[1., 2.], [3., 4.]])
        row = x[0]
        x[0, 1] = 20.
        x += 1
        expect(x, [[2., 21.], [4., 5.]])
        expect(row, [2., 21.], why="a row is a view: it looks at the same boxes")

    def test_write_keeps_dtype(self):
        "In place the dtype cannot grow: adding 0.5 to integers is an error, not a silent rounding"
        x = Tensor([1, 2])
        expect_error(RuntimeError, lambda: x.__iadd__(0.5), says=["float32", "int64"])
        expect(x, [1, 2])

    def test_numpy(self):
        "NumPy and tensors meet: array * tensor is an op, numpy() is the array itself"
        x = Tensor([1., 2.])
        assert type(np.array([3., 4.], "float32") * x) is Tensor
        assert x.numpy() is x.data

    def test_truth(self):
        "if tensor: works for one number, and is an error for several"
        assert Tensor([2.])
        expect_error(RuntimeError, lambda: bool(Tensor([1., 2.])), says=["any"])

    def test_no_gradient_for_integers(self):
        "Only floats can ask for a gradient"
        assert Tensor([1.], requires_grad=True).requires_grad
        expect_error(RuntimeError, Tensor, [1, 2], requires_grad=True, says=["int64"])


run_tests(TestTensor)

# %% [markdown]
# ## Measure
#
# Guess before you run. Write your three guesses down, in a variable or on paper:
#
# 1. A million additions: Python list against array. How many times faster?
# 2. x has 4 million float32 numbers, 16 MB. How much new memory does `x.reshape(-1)` take? And
#    `x.mT.reshape(-1)`, where `mT` is the transpose?
# 3. An op on four numbers: how much of its time is arithmetic?

# %%
@measure
def a_list_and_an_array():
    numbers = list(range(1_000_000))
    array = np.arange(1_000_000, dtype="float32")
    slow = timed(lambda: [x + x for x in numbers])
    fast = timed(lambda: array + array)
    print(f"a million additions: list {slow * 1e3:.1f} ms, array {fast * 1e3:.2f} ms, "
          f"{slow / fast:.0f} times")


@measure
def a_view_and_a_copy():
    x = Tensor(np.zeros((2000, 2000), "float32"))
    for name, make in [("x.reshape(-1)  ", lambda: x.reshape(-1)),
                       ("x.mT.reshape(-1)", lambda: x.mT.reshape(-1))]:
        print(f"{name} takes {peak_bytes(make) / 1e6:5.1f} MB and {timed(make) * 1e3:.3f} ms")


@measure
def an_op_and_its_arithmetic():
    x, y = Tensor([1., 2., 3., 4.]), Tensor([1., 2., 3., 4.])
    a, b = x.data, y.data
    bare = timed(lambda: [a + b for _ in range(1000)]) / 1000
    ours = timed(lambda: [x + y for _ in range(1000)]) / 1000
    print(f"four numbers: bare array {bare * 1e6:.2f} us, tensor {ours * 1e6:.2f} us")


# %% [markdown]
# What must hold on any machine: the array is dozens of times faster, because the list holds a million
# *objects*, each with a type that has to be looked up at every `+`, while the array is one block of
# numbers and one loop in compiled code. That was the second question of the opening: the loop over the
# pictures did 115,008 subtractions on objects, the line did them in one loop over one block. The plain
# reshape takes no memory: new shape, same boxes. The transposed one has to copy all 16 MB, and the copy is
# slow because it jumps through memory.
#
# The third is the price of a framework: a bare addition of four numbers is already mostly Python and
# NumPy talking to each other, and an op costs several times that. The price is the same for a large
# array, so there it no longer shows: try it with a million numbers. This is why frameworks like large
# batches.
#
# What may differ on your machine: every single number.
#
# ## Reflect
#
# Answer in a sentence or two each, then compare with `## reflection-1` and so on in HINTS.md.
#
# 1. When does a reshape copy, and how could you tell from the strides?
# 2. Why is float32 the default, and when is float64 the right choice?
# 3. A bias of shape (C,) is added to an activation (B, T, C). By mistake somebody adds it to one of
#    shape (B, C, T), and T happens to equal C. What happens, and how would a test have caught it?
#
# ## Where this code lives
#
# `tito export 01` writes it to `tinytorch/core/`: `op.py` (Op and the seam), `ops.py` (what you wrote),
# `tensor.py` (the class), and beside them what was given: `math.py`, `shape.py`, `creation.py`,
# `dtypes.py`, `printing.py`, `backend.py`. With the given ops come `x.T`, `x.sum()`, `abs(x)` and a hundred
# more, which this lesson alone does not have. From now on, started in the course folder:
#
# ```python
# import tinytorch as torch
# x = torch.randn(1797, 64)
# print((x - x.mean(0)).var(0).shape)
# ```
#
# Every later module calls it: module 02 adds ops and nothing else, module 05 is a recorder.
#
# In the real world: PyTorch's `Tensor` is a C++ object with the same fields (storage, sizes, strides,
# dtype, device, and an `AutogradMeta` for the gradient). Its ops go through a *dispatcher* that does
# what `Op.__call__` does: look at the inputs, choose the kernel for this device and dtype, let autograd
# watch. The one thing it does differently: there is a whole stack of watchers, each of which may
# rewrite the call, and that is how it traces and compiles models. Ours has one recorder.
