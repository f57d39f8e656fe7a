# %% [markdown]
# # Module 09: Spatial, one small window, everywhere
#
# A network of two dense layers learns the digits: small pictures, in the middle of a canvas of 12 by 12.
# Then it is shown others, first in the middle, then one pixel further to a side, then two.
#
# ```
# in the middle         98 % right
# one pixel aside       45 %
# two pixels aside      12 %      hardly better than guessing
# ```
#
# To a dense layer it is another picture: every pixel has weights of its own, and what was learned about
# pixel (5, 5) says nothing about pixel (5, 6). **How can a network know that a stroke is a stroke,
# wherever it is?**

# %%
#| default_exp nn.spatial
from tito.lesson import dataset, expect, expect_error, measure, peak_bytes, run_tests, timed

# %%
import math

import numpy as np
from batch_norm_parts_dev import batch_normalized, normalized_by, overwrite
from conv_parts_dev import (
    batched, check_batch_norm, check_bias, check_conv, check_gradient_size, conv_grid, halves_in_float32,
    margins_of, one_dtype, pair, pool_grid,
)
from pool_parts_dev import adaptive_sizes, counted_places, flat_places, put_back, window_sums, winners
from unrolling_dev import LongRows, Unrolling, channel_sums, in_parts

from tinytorch.core.autograd import no_grad, vjp
from tinytorch.core.backend import array_module, manual_seed
from tinytorch.core.dtypes import float16
from tinytorch.core.joining import cat
from tinytorch.core.op import op
from tinytorch.core.tensor import Tensor
from tinytorch.nn.floats import refuse_integers

# %%
# Those were for your code. These are for the parts that are given: tests, measurements, pictures.
from spatial_pictures_dev import draw_filters, window_text

from tinytorch.core.checks import check_gradient
from tinytorch.nn.initializers import kaiming_uniform_
from tinytorch.nn.layers import Linear
from tinytorch.nn.losses import cross_entropy
from tinytorch.optim.optimizers import Adam
from tinytorch.training.more_metrics import confusion_matrix
from tinytorch.viz.curves import draw_confusion


# %%
def digits_on_a_canvas():
    "Pictures (N, 1, 12, 12) with two empty pixels around each digit, and labels: to learn from, and held out"
    pictures, labels = dataset("digits")
    order = np.random.default_rng(0).permutation(len(pictures))       # the file goes writer by writer
    canvas = np.zeros((len(pictures), 1, 12, 12), "float32")
    canvas[:, :, 2:10, 2:10] = pictures[order].reshape(-1, 1, 8, 8) / 16
    return (canvas[:1408], labels[order][:1408]), (canvas[1437:], labels[order][1437:])


def learn(scores, weights, epochs=6):
    "Train scores(pictures), which uses these weights, on the digits in the middle"
    (pictures, labels), _ = digits_on_a_canvas()
    optimizer, rng = Adam(weights, lr=0.005), np.random.default_rng(0)
    for rows in [rows for _ in range(epochs) for rows in rng.permutation(len(pictures)).reshape(-1, 32)]:
        optimizer.zero_grad()
        cross_entropy(scores(Tensor(pictures[rows])), Tensor(labels[rows])).backward()
        optimizer.step()


def moved(pictures, by):
    "Moved by so many pixels: down, up, right, left"
    return [np.roll(pictures, way, (2, 3)) for way in ((by, 0), (-by, 0), (0, by), (0, -by))]


def print_moved(name, scores):
    "How much is right in the middle, one pixel aside, two pixels aside: the mean of four ways"
    _, (pictures, labels) = digits_on_a_canvas()
    with no_grad():
        shares = [np.mean([scores(Tensor(p)).argmax(1).data == labels for p in moved(pictures, by)])
                  for by in range(3)]
    print(f"{name:30}" + "".join([f"{by} aside {share:4.0%}    " for by, share in enumerate(shares)]))


@measure
def dense_layers_and_a_pixel():
    manual_seed(0)
    layers = [Linear(144, 64), Linear(64, 10)]
    def scores(x): return layers[1](layers[0](x.flatten(1)).relu())
    learn(scores, [p for layer in layers for p in layer.parameters()])
    print_moved("two dense layers", scores)


# %% [markdown]
# The idea: take a *window*, 3 by 3, and nine weights. Put it on every place of the picture in turn, and add
# up pixel times weight. That gives a new picture, bright where what is in the
# window looks like the weights: a map of where the stroke is. The weights are called a *filter* or a
# *kernel*, the map a *channel*, and the whole a *convolution*. If the digit moves, its map moves with it.
#
# It is cheap, too. From a picture of 28 by 28 to 32 maps of that size, a dense layer has a weight for each
# pair of numbers: 784 times 25,088, 19.7 million. A convolution has 32 filters of 9 weights and a bias: 320.
#
# The plan of this module: how many windows there are (1, 2); the convolution in loops (3), then as one
# matrix product (4 to 6), and its way back (7, 8); pools, which make pictures smaller (9 to 11); and batch
# norm, which keeps the numbers of each channel in bounds (12).
#
# ## Exercise 1: how many windows
#
# A row of n = 28 numbers, and windows of k = 3. The first begins at 0, the last at 25: 26 windows. With
# *padding* p = 1 a zero is put before the row and another after it, which makes 30 numbers and 28 windows.
# With *stride* s = 2 only every second one is kept: 14, which begin at 0, 2, ..., 26 of the 30. (One at 28
# would stick out.) With *dilation* d = 2 a window takes every second number, so that three of them span
# five. A row of 7, drawn from each of these:

# %%
@measure
def windows_of_a_row():
    for how in (dict(), dict(padding=1), dict(padding=1, stride=2), dict(dilation=2)):
        print(how or "k = 3", window_text(7, 3, **how), sep="\n")


# %% [markdown]
# A window spans d (k - 1) + 1 numbers: there are k - 1 gaps of d between k numbers. What the first window
# leaves of the padded row is the room for steps of s. A step that does not fit whole is dropped, and there
# is one window more than steps:
#
# $$ \left\lfloor \frac{n + 2p - d\,(k - 1) - 1}{s} \right\rfloor + 1 $$
#
# Height and width are counted apart, each with its own n, k, s, p and d.

# %%
#| export
def output_size(n, kernel, stride=1, padding=0, dilation=1):
    """How many windows of `kernel` numbers there are in n numbers with `padding` zeros at both ends.

    stride: how far the windows are apart. dilation: how far the numbers of a window are apart. An int.

    >>> output_size(28, 3, stride=2, padding=1)
    14
    """
    ### BEGIN SOLUTION
    return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    ### END SOLUTION


# %%
class TestOutputSize:
    """How many windows"""
    def test_by_hand(self):
        "28 numbers, windows of 3: 26; padded by 1: 28; and with stride 2: 14"
        expect(output_size(28, 3), 26, why="25 is where the last one begins: there is one more than steps")
        expect(output_size(28, 3, padding=1), 28, why="the padding stands at both ends")
        expect(output_size(28, 3, stride=2, padding=1), 14, why="14.5 rounded up, or not at all")

    def test_dilation(self):
        "Three numbers with gaps of 2 span five: 7 numbers hold 3 such windows, 7 with gaps of 3 just one"
        expect(output_size(7, 3, dilation=2), 3, why="k numbers have k - 1 gaps between them")
        expect(output_size(7, 3, dilation=3), 1)

    def test_all_at_once(self):
        "227 numbers, windows of 11, stride 4: 55, as in AlexNet (2012); and 10 with all four: 5"
        expect(output_size(227, 11, stride=4), 55)
        expect(output_size(10, 2, 3, 4, 5), 5, why="18 with the padding, a window spans 6: 12/3 = 4 steps")

    def test_whole(self):
        "A number of windows is an int"
        assert isinstance(output_size(10, 3, 2), int), "// is the division that gives whole numbers"


run_tests(TestOutputSize)

# %% [markdown]
# ## Exercise 2: as many windows as numbers
#
# How much padding keeps the size, with stride 1? Without any there are d (k - 1) windows fewer than numbers,
# so that many zeros are needed. For k = 3 two, one at each end. For k = 4 three, and the odd one goes to
# the end (to the right, or below). PyTorch calls this "same".

# %%
#| export
def same_padding(kernel, dilation=1):
    """(before, after): how many zeros keep a row's size. If they are odd in number, `after` gets one more.

    >>> same_padding(3), same_padding(3, dilation=2)
    ((1, 1), (2, 2))
    """
    ### BEGIN SOLUTION
    total = dilation * (kernel - 1)
    return total // 2, total - total // 2
    ### END SOLUTION


# %%
class TestSamePadding:
    """As many windows as numbers"""
    def test_odd_kernel(self):
        "Windows of 3 need a zero at each end, of 5 two, of 1 none"
        expect([same_padding(k) for k in (3, 5, 1)], [(1, 1), (2, 2), (0, 0)])

    def test_even_kernel(self):
        "Windows of 4 need three zeros, and the odd one goes to the end"
        expect(same_padding(4), (1, 2), why="(2, 1): the odd one stands before; (2, 2): one too many")
        expect(same_padding(2), (0, 1))

    def test_dilation(self):
        "Gaps count: a window of 3 with gaps of 2 needs (2, 2), one of 4 with gaps of 3 needs (4, 5)"
        expect(same_padding(3, 2), (2, 2))
        expect(same_padding(4, 3), (4, 5))


run_tests(TestSamePadding)

# %% [markdown]
# ## Exercise 3: to know what is meant
#
# A picture of 4 by 4, and a filter of 2 by 2:
#
# ```
#  1  2  3  4
#  5  6  7  8         1  0         the first window:   1*1 + 2*0 + 5*0 + 6*(-1) = -5
#  9 10 11 12         0 -1         the one beside it:  2*1 + 3*0 + 6*0 + 7*(-1) = -5
# 13 14 15 16
# ```
#
# -5 in all nine places: this filter sees how the picture changes along a diagonal, and here it changes
# everywhere alike. With the filter [[0, 1], [0, 0]] the first number is 2: it picks what stands at the
# upper right. (In mathematics a convolution flips the filter first, and would pick 5. Networks never
# do: what they compute is properly called a *correlation*. Since filters are learned, it makes no
# difference.)
#
# Pictures have several channels, three if they are coloured, and so has the result. The sum then goes over
# the channels in, too: one filter (C, kh, kw) makes one channel out of all of them. And pictures come in
# batches of N. The whole, with x: (N, C, H, W) and w: (O, C, kh, kw):
#
# $$ \mathrm{out}[n, o, a, b] = \sum_{c,\,i,\,j} x[n, c,\; s a + i,\; s b + j] \cdot w[o, c, i, j] $$
#
# Seven letters, seven loops. Write just that, as slow as it is: it says what everything below must agree
# with. (`output_size` gives the sizes of the result.)

# %%
#| export
def conv2d_loops(x, weight, stride=1):
    """The sum of each window times each filter, number by number, to know what is meant.

    x: (N, C, H, W), weight: (O, C, kh, kw), arrays. Returns (N, O, rows, columns), float64.

    >>> conv2d_loops(np.arange(1, 17).reshape(1, 1, 4, 4), np.array([[[[0, 1], [0, 0]]]]), stride=2)
    array([[[[ 2.,  4.],
             [10., 12.]]]])
    """
    n, c, h, w = x.shape
    o, _, kh, kw = weight.shape
    ### BEGIN SOLUTION
    out = np.zeros((n, o, output_size(h, kh, stride), output_size(w, kw, stride)))
    for at in np.ndindex(out.shape):                   # picture, filter, row, column
        for k in np.ndindex(c, kh, kw):                # channel, row and column in the window
            out[at] += x[at[0], k[0], stride * at[2] + k[1], stride * at[3] + k[2]] * weight[at[1]][k]
    return out
    ### END SOLUTION


# %%
def to_sixteen(): return np.arange(1., 17.).reshape(1, 1, 4, 4)
def one_filter(*rows): return np.array([[rows]], "float64")


class TestConv2dLoops:
    """What is meant"""
    def test_by_hand(self):
        "1 to 16 with [[1, 0], [0, -1]]: -5 in all nine places"
        expect(conv2d_loops(to_sixteen(), one_filter([1, 0], [0, -1])), np.full((1, 1, 3, 3), -5.),
               why="5: the filter is flipped; -6 first: `=` keeps only the last product")

    def test_not_flipped(self):
        "[[0, 1], [0, 0]] picks what stands at the upper right: 2 first"
        expect(conv2d_loops(to_sixteen(), one_filter([0, 1], [0, 0]))[0, 0, 0], [2., 3., 4.],
               why="5 first: the filter is flipped, or height and width are exchanged")

    def test_stride(self):
        "With stride 2 the windows begin at 1, 3, 9 and 11"
        expect(conv2d_loops(to_sixteen(), one_filter([1, 0], [0, 0]), 2), [[[[1., 3.], [9., 11.]]]])

    def test_wide(self):
        "A picture of 2 by 5 and a filter of 1 by 3: two rows of three"
        expect(conv2d_loops(np.ones((1, 0, 2, 5)), np.ones((1, 0, 1, 3))).shape, (1, 1, 2, 3),
               why="(1, 1, 3, 2): height and width of the result are exchanged")
        expect(conv2d_loops(np.arange(10.).reshape(1, 1, 2, 5), one_filter([1, 10, 100])),
               [[[[210., 321., 432.], [765., 876., 987.]]]],
               why="12 first: the filter is flipped; 200: `=`, not `+=`; else height and width are mixed")

    def test_channels(self):
        "The sum goes over the channels in, and each filter makes a channel of its own, for each picture"
        x = np.array([1., 10., 100., 1000.]).reshape(2, 2, 1, 1)
        weight = np.array([[1., 2.], [3., 4.], [0., 1.]]).reshape(3, 2, 1, 1)
        expect(conv2d_loops(x, weight)[:, :, 0, 0], [[21., 43., 10.], [2100., 4300., 1000.]])

    def test_dtype(self):
        "float64 comes out, of float32 and of integers too"
        for dtype in "float32", "int64":
            out = conv2d_loops(to_sixteen().astype(dtype), one_filter([1, 0], [0, -1]).astype(dtype))
            expect(str(out.dtype), "float64", why="np.zeros without a dtype gives float64")


run_tests(TestConv2dLoops)

# %% [markdown]
# ## Exercise 4: all windows, and no copy
#
# Now fast. The windows first: an array that has every window in it, so that the sums become one product.
# A pixel is in up to four windows of 2 by 2, but need not be copied for it. An array is a row of boxes and
# *strides* (module 01): how many bytes on is the next row, the next number. So:
#
# ```
# 1 2 3 4        strides (32, 8): one down is 32 bytes on, one right is 8
# 5 6 7 8
# ...            the window at row 1, column 2:  7  8      from  7  to  8:  8 bytes   one right
#                                               11 12      from  7  to 11: 32 bytes   one down
#                from the window to the one beside it: 8 bytes, to the one below: 32 bytes
# ```
#
# An array with *four* dimensions, window row, window column, row and column in the window, and strides
# (32, 8, 32, 8) has all windows in it, in the same sixteen boxes. With stride 2 the windows begin twice
# as far apart: (64, 16, 32, 8). With dilation 2 it is the numbers in a window that lie farther apart:
# (32, 8, 64, 16).
#
# `as_strided(x, shape, strides)` looks at the memory of x with a shape and strides of your choice. (It
# believes you: with a wrong shape it reads what lies behind the array. The tests look at the shape first.)

# %%
#| export
def windows(x, kernel, stride=(1, 1), dilation=(1, 1)):
    """All windows of x (N, C, H, W), as a view: (N, C, rows, columns, kernel height, kernel width).

    kernel, stride, dilation: pairs, for height and width.

    >>> windows(np.arange(16.).reshape(1, 1, 4, 4), (2, 2))[0, 0, 1, 2]
    array([[ 6.,  7.],
           [10., 11.]])
    """
    as_strided = array_module(x).lib.stride_tricks.as_strided
    to_picture, to_channel, down, right = x.strides    # bytes to the next picture, channel, row, number
    ### BEGIN SOLUTION
    rows = output_size(x.shape[2], kernel[0], stride[0], 0, dilation[0])
    columns = output_size(x.shape[3], kernel[1], stride[1], 0, dilation[1])
    return as_strided(x, (*x.shape[:2], rows, columns, *kernel), (
        to_picture, to_channel, stride[0] * down, stride[1] * right, dilation[0] * down, dilation[1] * right))
    ### END SOLUTION


# %%
class TestWindows:
    """All windows"""
    def found(self, x, *how, shape):
        out = windows(x, *how)
        expect(out.shape, shape, why="(N, C, windows down, windows across, kernel height, kernel width)")
        return out

    def test_by_hand(self):
        "1 to 16, windows of 2 by 2: the one at row 1, column 2 holds 7 8 11 12"
        out = self.found(to_sixteen(), (2, 2), shape=(1, 1, 3, 3, 2, 2))
        expect(out[0, 0, 1, 2], [[7., 8.], [11., 12.]])
        expect(out[0, 0, 2, 0], [[9., 10.], [13., 14.]])

    def test_no_copy(self):
        "It is a view: who writes into the picture sees it in four windows"
        x = to_sixteen()
        out = self.found(x, (2, 2), shape=(1, 1, 3, 3, 2, 2))
        x[0, 0, 1, 1] = 99.
        expect(int((out == 99).sum()), 4, why="0: the windows were copied")

    def test_stride(self):
        "With strides (1, 2) the windows begin at 1 and 3, 5 and 7, 9 and 11"
        out = self.found(to_sixteen(), (2, 2), (1, 2), shape=(1, 1, 3, 2, 2, 2))
        expect(out[0, 0, :, :, 0, 0], [[1., 3.], [5., 7.], [9., 11.]])

    def test_dilation(self):
        "With dilation (2, 3) the first window holds 1, 4, 9 and 12"
        out = self.found(to_sixteen(), (2, 2), (1, 1), (2, 3), shape=(1, 1, 2, 1, 2, 2))
        expect(out[0, 0, 0, 0], [[1., 4.], [9., 12.]])
        expect(out[0, 0, 1, 0], [[5., 8.], [13., 16.]])

    def test_any_memory(self):
        "Any strides will do: a transposed picture, every second picture of a batch, two channels, 5 by 7"
        x = np.arange(280.).reshape(4, 2, 7, 5).transpose(0, 1, 3, 2)[::2]
        out = self.found(x, (3, 2), shape=(2, 2, 3, 6, 3, 2))
        expect(out[1, 1, 2, 4], x[1, 1, 2:5, 4:6], why="take the bytes from x.strides")
        out = self.found(x, (3, 2), (2, 1), shape=(2, 2, 2, 6, 3, 2))
        expect(out[1, 1, 1, 4], x[1, 1, 2:5, 4:6], why="the windows are two rows apart, their numbers one")

    def test_empty(self):
        "A batch of none has no windows"
        self.found(np.zeros((0, 2, 5, 7)), (3, 3), shape=(0, 2, 3, 5, 3, 3))


run_tests(TestWindows)

# %% [markdown]
# ## Exercise 5: windows as columns
#
# Lay each window out as a column, and each filter as a row:
#
# ```
#                          windows:   1  2  3  5  6  7  9 10 11      number (0, 0) of each
#                                     2  3  4  6  7  8 10 11 12      number (0, 1)
#                                     5  6  7  9 10 11 13 14 15      number (1, 0)
#                                     6  7  8 10 11 12 14 15 16      number (1, 1)
#
# filters:   1  0  0 -1              -5 -5 -5 -5 -5 -5 -5 -5 -5      one row for each filter,
#            0  1  0  0               2  3  4  6  7  8 10 11 12      one column for each window
# ```
#
# That is a matrix product, and nothing on a computer has been polished as long as that: filters (O, K) times
# windows (K, L) is (O, L), where K = C kh kw counts the numbers of a window, and L the windows. This time
# the windows are copied, and that is the price: each pixel up to four times, up to nine for 3 by 3.
#
# With *groups* a layer is cut into G layers side by side: the first group of filters sees only the first
# group of channels, and so on. For you that is one more size: the windows of a group make a matrix of their
# own, (n, G, K, L), with K = C/G kh kw. (Without groups G is 1.)
#
# Write `rows` of the class `Windows`; `add_back` is exercise 8, and `Unrolling` has the rest. You need
# `self.groups`, G, and `self.grid`, which says where the windows lie: `.kernel`, `.stride` and `.dilation`
# are pairs. No size may be -1 in a `reshape`: for a batch of none it could be anything.

# %%
#| export
class Windows(Unrolling):
    """The windows of pictures as columns of matrices, and back."""
    def rows(self, x):
        """The windows of x (n, C, H, W), which has its margins already, as columns: (n, G, K, L).

        K counts channel, row and column in the window, in this order; L the windows, row by row.
        """
        ### BEGIN SOLUTION
        found = windows(x, self.grid.kernel, self.grid.stride, self.grid.dilation)
        n, c, rows, columns, kh, kw = found.shape
        found = found.transpose(0, 1, 4, 5, 2, 3)                              # (n, C, kh, kw, rows, columns)
        return found.reshape(n, self.groups, c // self.groups * kh * kw, rows * columns)
        ### END SOLUTION

    def add_back(self, dx, matrix, g):
        """Exercise 8. Add matrix @ g, (n, G, K, L), to dx in place: each number where `rows` took it from.

        dx: (n, C, H, W), with margins. matrix: (G, K, O/G). g: (n, G, O/G, L). K and L count as in `rows`.
        """
        ### BEGIN SOLUTION
        places = self.grid.places()
        cols = (matrix @ g).reshape(*dx.shape[:2], len(places), *self.grid.size)
        for i, place in enumerate(places):
            dx[place] += cols[:, :, i]
        ### END SOLUTION


def grid_of(input_size, weight_size, stride=1, padding=0, dilation=1):
    """Where the windows of a convolution lie, from what conv2d is asked with."""
    kernel, stride = tuple(weight_size[2:]), pair(stride, "stride", 1)
    dilation = pair(dilation, "dilation", 1)
    return conv_grid(input_size, kernel, stride, dilation,
                     margins_of(padding, kernel, stride, dilation, same_padding))


# %%
def windows_of(size, kernel, *how, groups=1):
    "For the tests: the Windows of pictures of this size"
    return Windows(grid_of(size, (1, 1, *kernel), *how), groups, size)


class TestWindowsRows:
    """Windows as columns"""
    def test_by_hand(self):
        "1 to 16, windows of 2 by 2: the four rows of the drawing"
        expect(windows_of((4, 4), (2, 2)).rows(to_sixteen()),
               [[[[1., 2., 3., 5., 6., 7., 9., 10., 11.], [2., 3., 4., 6., 7., 8., 10., 11., 12.],
                  [5., 6., 7., 9., 10., 11., 13., 14., 15.], [6., 7., 8., 10., 11., 12., 14., 15., 16.]]]],
               why="the first *row* holds the number (0, 0) of every window")

    def test_channels(self):
        "The channels stand below each other, window row by window row; each picture has a matrix"
        x = np.array([1., 2., 3., 4., 50., 60., 70., 80.]).reshape(2, 2, 1, 2)
        expect(windows_of((1, 2), (1, 1)).rows(x), [[[[1., 2.], [3., 4.]]], [[[50., 60.], [70., 80.]]]])
        expect(windows_of((1, 2), (1, 2)).rows(x)[0, 0, :, 0], [1., 2., 3., 4.],
               why="1 3 2 4: K counts the channel first, and in it the places of the window")

    def test_groups(self):
        "In two groups, each half of the channels has a matrix of its own"
        x = np.array([1., 2., 3., 4.]).reshape(1, 4, 1, 1)
        expect(windows_of((1, 1), (1, 1), groups=2).rows(x), [[[[1.], [2.]], [[3.], [4.]]]])

    def test_stride_and_dilation(self):
        "With stride (1, 2) and dilation (2, 1) every column is a window: the first holds 1, 2, 9, 10"
        expect(windows_of((4, 4), (2, 2), (1, 2), 0, (2, 1)).rows(to_sixteen())[0, 0],
               [[1., 3., 5., 7.], [2., 4., 6., 8.], [9., 11., 13., 15.], [10., 12., 14., 16.]])

    def test_margins(self):
        "A picture of 2 by 2 with its margins is 4 by 4, and has nine windows"
        expect(windows_of((2, 2), (2, 2), 1, 1).rows(to_sixteen()).shape, (1, 1, 4, 9),
               why="25 windows: x has its margins already, and was padded once more")

    def test_empty(self):
        "A batch of none has no matrices, but their sizes (a -1 in a reshape cannot be worked out here)"
        expect(windows_of((4, 5), (2, 2)).rows(np.zeros((0, 3, 4, 5))).shape, (0, 1, 12, 12))


run_tests(TestWindowsRows)

# %% [markdown]
# ## Exercise 6: one product
#
# Now the convolution: filters times windows, plus bias (which is added for you). All windows of a batch
# would be easily a hundred megabytes. So only those of a few pictures are laid out at a time, a megabyte or
# two, and multiplied while they are still in the *cache*, the small fast memory beside the processor.
# `in_parts`, given, calls your line for a few pictures at a time, and from several threads where the machine
# has several cores.
#
# `@` multiplies the last two dimensions and goes along with the others: (G, O/G, K) @ (n, G, K, L) is
# (n, G, O/G, L). Your line returns the result of the few pictures x, (n, O, rows, columns):
#
# ```
# u         a Windows; for stride 1 a `LongRows`, given: the same methods, with fewer and longer copies
#           u.rows(x)  (n, G, K, L)                 u.picture(sums)  (n, G, O/G, L) as (n, O, rows, columns)
# matrix    the filters, (G, O/G, K)              x  (n, C, H, W), a few pictures with their margins
# ```

# %%
#| export
def plan_of(input_size, weight_size, stride, padding, dilation, groups):
    """(grid, u, numbers) for a convolution: where windows lie, what unrolls them, how much that is."""
    check_conv(input_size, weight_size, groups)
    grid = grid_of(input_size, weight_size, stride, padding, dilation)
    u = (LongRows if grid.stride == (1, 1) else Windows)(grid, groups, input_size[-2:])
    return grid, u, math.prod(weight_size[1:]) * groups * math.prod(grid.size)


def conv_part(u, matrix, x):
    """Exercise 6. Windows of pictures x (n, C, H, W) times filters (G, O/G, K): (n, O, rows, columns)."""
    ### BEGIN SOLUTION
    return u.picture(matrix @ u.rows(x))
    ### END SOLUTION


@op
@halves_in_float32
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The sum of each window times each filter, plus bias: (N, O, rows, columns), PyTorch's arguments.

    input: (N, C, H, W) or (C, H, W), weight: (O, C/groups, kh, kw), bias: (O,). Numbers, or pairs for height
    and width; padding may also be "same" or "valid". Raises RuntimeError if sizes or dtypes do not fit.

    >>> conv2d(np.arange(1, 17).reshape(1, 4, 4), np.array([[[[1, 0], [0, -1]]]]), stride=2)
    array([[[-5, -5],
            [-5, -5]]])
    """
    grid, u, numbers = plan_of(input.shape, weight.shape, stride, padding, dilation, groups)
    check_bias(weight, bias)
    one_dtype("conv2d", input, weight, bias)
    x, matrix = u.padded(batched(input)), u.matrix(weight)
    out = array_module(x).empty((len(x), len(weight), *grid.size), x.dtype)

    def fill(part):
        out[part] = conv_part(u, matrix, x[part])
        if bias is not None:
            out[part] += bias.reshape(len(weight), 1, 1)
    in_parts(fill, x, numbers)
    return out if input.ndim == 4 else out[0]


# %%
def some_integers(*shape, times=7, modulo=11):
    "A fixed array of small whole numbers of both signs, as floats"
    return (np.arange(math.prod(shape)) * times % modulo - modulo // 2.).reshape(shape)


class TestConvPart:
    """One product"""
    def test_by_hand(self):
        "1 to 16 with two filters: -5 everywhere, and 2 3 4 6 7 8 10 11 12"
        weight = np.concatenate([one_filter([1, 0], [0, -1]), one_filter([0, 1], [0, 0])])
        out = conv2d(to_sixteen(), weight)
        expect(out[0, 0], np.full((3, 3), -5.), why="5: the filter is flipped")
        expect(out[0, 1], [[2., 3., 4.], [6., 7., 8.], [10., 11., 12.]], why="5 first: flipped")

    def test_batch_and_channels(self):
        "Each picture has its own result, and the sum goes over the channels"
        x = np.array([1., 10., 100., 1000.]).reshape(2, 2, 1, 1)
        weight = np.array([[1., 2.], [3., 4.], [0., 1.]]).reshape(3, 2, 1, 1)
        expect(conv2d(x, weight)[:, :, 0, 0], [[21., 43., 10.], [2100., 4300., 1000.]])

    def test_bias(self):
        "Each channel out has its own bias (given)"
        weight = np.zeros((2, 1, 2, 2))
        expect(conv2d(to_sixteen(), weight, np.array([3., -4.]))[0, :, 1, 2], [3., -4.],
               why="0: the bias is not added")

    def test_groups(self):
        "In two groups, the first filter sees only the first channel, the second only the second"
        x = np.array([1., 10.]).reshape(1, 2, 1, 1)
        weight = np.array([2., 3.]).reshape(2, 1, 1, 1)
        expect(conv2d(x, weight, groups=2)[0, :, 0, 0], [2., 30.], why="groups are ignored")

    def test_everything(self):
        "5 by 7, four channels in two groups, stride (2, 1), padding (1, 0), dilation (1, 2), and a bias"
        out = conv2d(some_integers(1, 4, 5, 7), some_integers(4, 2, 2, 3, times=5, modulo=7),
                     np.array([1., 2., 3., 4.]), (2, 1), (1, 0), (1, 2), 2)
        expect(out, [[[[16., 15., -8.], [5., 27., -17.], [-28., 27., 27.]],
                      [[-2., -9., -5.], [39., -23., -8.], [18., -22., 15.]],
                      [[-7., 24., 0.], [13., 10., -4.], [4., 12., -24.]],
                      [[-6., -4., 20.], [-15., -9., 8.], [25., -13., -7.]]]])

    def test_inputs_untouched(self):
        "The picture and the weights are left as they were, with a bias too"
        x, weight = to_sixteen(), one_filter([1, 2], [3, 4])
        conv2d(x, weight, np.array([5.]))
        expect(x, to_sixteen())
        expect(weight, one_filter([1, 2], [3, 4]))

    def test_one_picture(self):
        "A picture (C, H, W) without a batch gives one without a batch"
        expect(conv2d(to_sixteen()[0], one_filter([1, 0], [0, -1])).shape, (1, 3, 3))

    def test_many(self):
        "More pictures than fit into one part: each has its result, and the bias once"
        x = np.arange(4.).reshape(4, 1, 1, 1) + np.zeros((400, 400))
        expect(conv2d(x, one_filter([3]), np.array([1.]))[:, 0, 399, 399], [1., 4., 7., 10.])

    def test_few_at_a_time(self):
        "Of 64 pictures only the windows of a few are there at a time (given); of a batch of none, none"
        x, weight = np.ones((64, 8, 32, 32), "float32"), np.ones((1, 8, 3, 3), "float32")
        assert peak_bytes(conv2d, x, weight) < 6 * x.nbytes, "more than six copies of the batch"
        expect(conv2d(np.zeros((0, 1, 4, 4)), one_filter([1, 0], [0, -1])).shape, (0, 1, 3, 3))

    def test_same(self):
        "padding='same' keeps 4 by 4, and the odd zeros stand to the right and below"
        out = conv2d(to_sixteen(), one_filter([0, 0], [0, 1]), padding="same")
        expect(out[0, 0], [[6., 7., 8., 0.], [10., 11., 12., 0.], [14., 15., 16., 0.], [0., 0., 0., 0.]])

    def test_dtype(self):
        "float32 stays float32, integers stay integers"
        for dtype in "float32", "int64":
            out = conv2d(to_sixteen().astype(dtype), one_filter([1, 0], [0, -1]).astype(dtype),
                         np.array([1], dtype))
            expect(str(out.dtype), dtype)

    def test_errors(self):
        "Wrong channels, and a filter larger than the picture, are errors that name the sizes (given)"
        expect_error(RuntimeError, conv2d, np.zeros((1, 3, 4, 4)), np.zeros((1, 2, 2, 2)), says=["3", "2"])
        expect_error(RuntimeError, conv2d, to_sixteen(), np.zeros((1, 1, 5, 3)), says=["(4, 4)", "(5, 3)"])


run_tests(TestConvPart)

# %% [markdown]
# ## Exercise 7: the way back, to the filters
#
# The picture 1 to 16 and a filter of 2 by 2. From above comes a gradient g: for each number of the
# result, how much the loss changes with it. Say 1 for the first window, 2 for the one in the middle, 0
# for the rest. Which gradient has the filter?
#
# ```
#       1 0 0         the first window   1  2      times 1     \
#  g =  0 2 0                            5  6                    the sum:   13 16
#       0 0 0         the middle one     6  7      times 2     /           25 28
#                                       10 11
# ```
#
# Each weight was multiplied by one number of every window. So its gradient is the sum, over the
# windows, of that number times the window's g: **each window, times what came back to it, added up**.
# In matrices the forward was out = W @ rows, and module 05's rule of a product says dW = g @ rowsᵀ, or
# turned around dWᵀ = rows @ gᵀ, which is quicker here. This is one such product for each picture. The
# weights are the same for all of them, so the pictures add up: the sum has no dimension for them.
#
# Your line is called for a few pictures again, x (n, C, H, W) with margins and g (n, O, rows, columns), and
# returns their sum, (G, K, O/G); the sums of the parts are added up for you. `u.line(g)`, the inverse of
# `u.picture`, is (n, G, O/G, L).

# %%
#| export
def weight_part(u, x, g):
    """Exercise 7. Windows of x (n, C, H, W) times their g (n, O, rows, columns), summed: (G, K, O/G)."""
    ### BEGIN SOLUTION
    return (u.rows(x) @ u.line(g).swapaxes(2, 3)).sum(0)
    ### END SOLUTION


@op
@halves_in_float32
def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv2d's weight, of shape `weight_size`.

    input: (N, C, H, W), grad_output: (N, O, rows, columns), the gradient of the result; or both without N.

    >>> g = np.array([[[1, 0, 0], [0, 2, 0], [0, 0, 0]]])
    >>> conv2d_weight(np.arange(1, 17).reshape(1, 4, 4), (1, 1, 2, 2), g)
    array([[[[13, 16],
             [25, 28]]]])
    """
    grid, u, numbers = plan_of(input.shape, weight_size, stride, padding, dilation, groups)
    x, g, o, k = u.padded(batched(input)), batched(grad_output), weight_size[0], math.prod(weight_size[1:])
    check_gradient_size(g, len(x), o, *grid.size)

    total = array_module(x).zeros((groups, k, o // groups), x.dtype)
    for some in in_parts(lambda part: weight_part(u, x[part], g[part]), x, numbers):
        total += some
    return u.weight(total.swapaxes(1, 2), weight_size)


# %%
def corner_and_middle():
    g = np.zeros((1, 1, 3, 3))
    g[0, 0, 0, 0], g[0, 0, 1, 1] = 1., 2.
    return g


class TestWeightPart:
    """Back to the filters"""
    def test_by_hand(self):
        "1 for the first window, 2 for the middle one: 13, 16, 25, 28"
        expect(conv2d_weight(to_sixteen(), (1, 1, 2, 2), corner_and_middle()), [[[[13., 16.], [25., 28.]]]])

    def test_batch(self):
        "The pictures of a batch share the filters, so their gradients add up"
        x, g = np.concatenate([to_sixteen()] * 3), np.concatenate([corner_and_middle()] * 3)
        expect(conv2d_weight(x, (1, 1, 2, 2), g), [[[[39., 48.], [75., 84.]]]], why="a third: a mean, or one")

    def test_many(self):
        "Of more pictures than fit into one part, all count: four times 160,000"
        x = np.ones((4, 1, 400, 400))
        expect(conv2d_weight(x, (1, 1, 1, 1), x), [[[[640_000.]]]], why="some are missing")

    def test_none(self):
        "Of a batch of none there is no window: zeros"
        none = conv2d_weight(np.ones((0, 8, 5, 5)), (1, 8, 3, 3), np.ones((0, 1, 3, 3)))
        expect(none, np.zeros((1, 8, 3, 3)))

    def test_groups(self):
        "In groups, each filter has the gradient of its own channels only"
        x = np.array([1., 10.]).reshape(1, 2, 1, 1)
        g = np.array([2., 3.]).reshape(1, 2, 1, 1)
        expect(conv2d_weight(x, (2, 1, 1, 1), g, groups=2).reshape(2), [2., 30.])

    def test_everything(self):
        """With everything: the result, times g, has the same sum as the filters, times their gradient

        For each product of a pixel, a weight and a number of g occurs once on either side.
        """
        x, weight = some_integers(2, 4, 5, 7), some_integers(4, 2, 2, 3, times=5, modulo=7)
        how = (2, 1), (1, 0), (1, 2), 2
        g = some_integers(2, 4, 3, 3, times=3, modulo=5)
        expect(float((conv2d(x, weight, None, *how) * g).sum()),
               float((conv2d_weight(x, weight.shape, g, *how) * weight).sum()))


run_tests(TestWeightPart)

# %% [markdown]
# ## Exercise 8: the way back, to the picture
#
# The same g, with the filter 1, 2, 3, 4. Which gradient has each pixel?
#
# ```
# the first window, g = 1       the middle one, g = 2          both
#
#   1 2 . .                       . . . .                       1  2  0  0
#   3 4 . .                       . 2 4 .                       3  6  4  0        4 + 2 = 6: this pixel
#   . . . .                       . 6 8 .                       0  6  8  0        is in both windows
#   . . . .                       . . . .                       0  0  0  0
# ```
#
# A window sends back g times the filter, to where it was taken from; and a pixel that is in several
# windows is to blame several times: **add where they overlap**. In matrices, drows = Wᵀ @ g, and then
# every column goes back to its window.
#
# That is `Windows.add_back`: its body stands in exercise 5, below `rows`, as a class is whole in one cell.
# `conv2d_input`, given below, is made of it. The putting back is done a place at a time, not window by
# window: the numbers (0, 0) of all windows are every s-th pixel of a rectangle, a slice; so are all numbers
# (0, 1). `self.grid.places()` lists those slices, row by row, kh kw of them: `dx[place]` has the shape
# (n, C, rows, columns), and (rows, columns) is `self.grid.size`. In one slice no pixel occurs twice, so `+=`
# is safe there. `matrix` comes transposed already, (G, K, O/G), and K counts channel, row, column.

# %%
class TestWindowsAddBack:
    """Windows, put back"""
    def put(self, size, weight, g, *how, groups=1):
        u = windows_of(size, weight.shape[2:], *how, groups=groups)
        dx = u.zeros(g, len(g), weight.shape[1] * groups)
        u.add_back(dx, u.matrix(weight).swapaxes(1, 2), u.line(g))
        return dx

    def test_by_hand(self):
        "The first and the middle window overlap in one pixel: 4 + 2 = 6"
        expect(self.put((4, 4), one_filter([1, 2], [3, 4]), corner_and_middle())[0, 0],
               [[1., 2., 0., 0.], [3., 6., 4., 0.], [0., 6., 8., 0.], [0., 0., 0., 0.]],
               why="2 or 4 in place of 6: add where windows overlap, do not assign; all 0: dx is changed in "
                   "place")

    def test_all_windows(self):
        "With g = 1 everywhere a pixel in the middle has all four weights, 10, and a corner has one"
        dx = self.put((4, 4), one_filter([1, 2], [3, 4]), np.ones((1, 1, 3, 3)))
        expect(dx[0, 0], [[1., 3., 3., 2.], [4., 10., 10., 6.], [4., 10., 10., 6.], [3., 7., 7., 4.]])

    def test_filters_and_channels(self):
        "A pixel hears from every filter, each channel by its own weights, each picture by its own g"
        weight = np.array([[1., 2.], [3., 4.], [5., 6.]]).reshape(3, 2, 1, 1)
        g = np.array([[1., 10., 100.], [1., 0., 0.]]).reshape(2, 3, 1, 1)
        expect(self.put((1, 1), weight, g)[:, :, 0, 0], [[531., 642.], [1., 2.]])
        expect(self.put((1, 2), np.array([[[[1., 2.]], [[3., 4.]]]]), np.ones((1, 1, 1, 1)))[0, :, 0],
               [[1., 2.], [3., 4.]], why="1 3 and 2 4: K counts the channel first, and in it the places")

    def test_what_is_there(self):
        "It adds to what dx holds"
        u, dx = windows_of((1, 2), (1, 1)), np.array([[[[100., 200.]]]])
        u.add_back(dx, np.array([[[5.]]]), np.array([[[[1., 2.]]]]))
        expect(dx, [[[[105., 210.]]]])

    def test_stride_and_groups(self):
        "With everything: the windows, times what they send back, have the same sum as the picture, times dx"
        x, weight = some_integers(2, 4, 5, 7), some_integers(4, 2, 2, 3, times=5, modulo=7)
        how, g = ((2, 1), 0, (1, 2)), some_integers(2, 4, 2, 3, times=3, modulo=5)
        u = windows_of((5, 7), (2, 3), *how, groups=2)
        expect(float((self.put((5, 7), weight, g, *how, groups=2) * x).sum()),
               float((u.rows(x) * (u.matrix(weight).swapaxes(1, 2) @ u.line(g))).sum()))


run_tests(TestWindowsAddBack)

# %%
#| export
@op
@halves_in_float32
def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv2d's input, of shape `input_size`: each window's g times the filter, put back.

    input_size: (N, C, H, W). weight: (O, C/groups, kh, kw). grad_output: (N, O, rows, columns). Or without N.

    >>> conv2d_input((1, 1, 3), np.array([[[[1, 10]]]]), np.array([[[2, 3]]]))
    array([[[ 2, 23, 30]]])
    """
    grid, u, numbers = plan_of(input_size, weight.shape, stride, padding, dilation, groups)
    g, matrix = batched(grad_output), u.matrix(weight).swapaxes(1, 2)
    check_gradient_size(g, *(input_size[:-3] or (1,)), len(weight), *grid.size)
    dx = u.zeros(g, len(g), input_size[-3])
    in_parts(lambda part: u.add_back(dx[part], matrix, u.line(g[part])), g, numbers)
    return grid.cropped(dx, *input_size[-2:]).reshape(input_size)


# %% [markdown]
# The rules, given. Three functions, each a product of two things: picture and filter, picture and g,
# filter and g. And each one's gradients are the other two. So a gradient of a gradient needs no further
# line.

# %%
#| export
@vjp(conv2d)
def _(out, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    how = stride, padding, dilation, groups
    return lambda g: (lambda: conv2d_input(input.shape, weight, g, *how),
                      lambda: conv2d_weight(input, weight.shape, g, *how),
                      lambda: channel_sums(g))
@vjp(conv2d_weight)
def _(out, input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    how = stride, padding, dilation, groups
    return lambda h: (lambda: conv2d_input(input.shape, h, grad_output, *how), None,
                      lambda: conv2d(input, h, None, *how))
@vjp(conv2d_input)
def _(out, input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    how = stride, padding, dilation, groups
    return lambda h: (None, lambda: conv2d_weight(h, weight.shape, grad_output, *how),
                      lambda: conv2d(h, weight, None, *how))


# %%
class TestConvolution:
    """Forward and back, in the graph"""
    def test_gradients(self):
        "The judge of module 05 agrees on input, weight and bias, for a batch and for one picture"
        def f(x, w, b): return conv2d(x, w, b, 2, "valid", (1, 2), 2)
        weight, bias = some_integers(4, 2, 2, 3), some_integers(4)
        check_gradient(f, some_integers(2, 4, 5, 7), weight, bias)
        check_gradient(f, some_integers(4, 5, 7), weight, bias)

    def test_moved(self):
        "If the picture moves, its map moves with it"
        x, weight = np.zeros((1, 1, 8, 8)), some_integers(1, 1, 3, 3)
        x[0, 0, 2:5, 2:4] = some_integers(3, 2)
        expect(conv2d(np.roll(x, (1, 2), (2, 3)), weight, padding=1),
               np.roll(conv2d(x, weight, padding=1), (1, 2), (2, 3)))


run_tests(TestConvolution)

# %% [markdown]
# ## Exercise 9: the largest of each window
#
# A map says where a stroke is, to the pixel. Later layers need not know it that exactly: "somewhere
# here" is enough, and a quarter of the numbers. A *max pool* keeps of each window, mostly 2 by 2 with
# stride 2, the largest number:
#
# ```
# 1 3 | 2 0
# 4 2 | 1 1          4 2
# ----+----
# 0 7 | 5 6          7 8
# 1 1 | 8 2
# ```
#
# With padding, windows stick out of the picture. What stands in the margin must never win, so it is not 0: a
# window of negative numbers would become 0. It is -∞ (for integers the least there is): `lowest`, given.
#
# `windows(...).max((-2, -1))` would be slow: NumPy walks over four numbers, stops, walks over the next four.
# Go a place at a time instead, as in exercise 8: all numbers (0, 0), then all numbers (0, 1), and so on, each
# compared with the largest so far. `grid.places()` lists the places, `np.maximum(a, b, out=a)` compares in
# place.

# %%
#| export nn.pooling
@op
def max_pool(x, grid):
    """The largest number of each window: (..., rows, columns), with the dtype of x.

    x: (..., H, W), left as it was. grid: where the windows lie; grid.size is (rows, columns), and
    grid.padded(x, value) is x with its margins.
    """
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    out = array_module(x).full((*x.shape[:-2], *grid.size), lowest, x.dtype)
    ### BEGIN SOLUTION
    x = grid.padded(x, lowest)
    for place in grid.places():
        np.maximum(out, x[place], out=out)
    return out
    ### END SOLUTION


# %% [markdown]
# Its gradient, given, goes to the number that won, and to the first of them where several are equal.
# `winners` finds out which it was, `put_back` puts g there: read the two in `pool_parts_dev.py`.

# %%
#| export nn.pooling
@vjp(max_pool)
def _(out, x, grid):
    numbers, largest = [a.data if isinstance(a, Tensor) else a for a in (x, out)]
    which, (height, width) = winners(numbers, largest, grid), x.shape[-2:]
    return lambda g: (put_back(g, which, grid, height, width),)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
               return_indices=False):
    """The largest number of each window of (N, C, H, W) or (C, H, W); PyTorch's arguments.

    stride: the kernel's size if None. ceil_mode: a last window may stick out. return_indices: also where the
    largest stood, counted row by row through the picture.
    """
    grid = pool_grid("max_pool2d", input.shape, kernel_size, stride, padding, dilation, ceil_mode)
    one_dtype("max_pool2d", input)
    out = max_pool(input, grid)
    if not return_indices:
        return out
    which = winners(input.data, out.data, grid)
    return out, Tensor._of(flat_places(which, grid, input.shape[-1]))


# %%
def four_by_four():
    return np.array([[[[1., 3., 2., 0.], [4., 2., 1., 1.], [0., 7., 5., 6.], [1., 1., 8., 2.]]]])


class TestMaxPool:
    """The largest of each window"""
    def test_by_hand(self):
        "The largest of each quarter: 4, 2, 7, 8"
        expect(max_pool2d(four_by_four(), 2), [[[[4., 2.], [7., 8.]]]])

    def test_negative(self):
        "With a margin, the largest of negative numbers is still one of them"
        expect(max_pool2d(-four_by_four() - 1, 3, 2, 1), [[[[-2., -1.], [-1., -2.]]]],
               why="0 first: the margin won, pad with lowest; -1 first: x has no margins")

    def test_overlapping(self):
        "Windows of 3 with stride 1: all four have the 7, the 5 or the 8 in them"
        expect(max_pool2d(four_by_four(), 3, 1), [[[[7., 7.], [8., 8.]]]])

    def test_wide(self):
        "5 by 7, windows of 2 by 3 with gaps of 1 and 2: height and width each have their own"
        expect(max_pool2d(some_integers(1, 5, 7), (2, 3), (3, 1), dilation=(1, 2)),
               [[[3., 5., 4.], [5., 3., 5.]]])

    def test_input_untouched(self):
        "The picture is left as it was, also where windows are single numbers"
        x = four_by_four()
        out = max_pool2d(x, 1)
        out += 100.
        expect(x, four_by_four(), why="the result must have memory of its own")

    def test_nan(self):
        "A window with a nan has no largest number: nan"
        x = four_by_four()
        x[0, 0, 0, 1] = np.nan
        expect(max_pool2d(x, 2), [[[[np.nan, 2.], [7., 8.]]]])

    def test_dtype(self):
        "float32 stays float32; integers have a largest number too"
        expect(str(max_pool2d(four_by_four().astype("float32"), 2, padding=1).dtype), "float32")
        expect(max_pool2d(-four_by_four().astype("int64"), 3, 2, 1), [[[[-1, 0], [0, -1]]]])

    def test_gradient(self):
        "The gradient goes to the largest, and of equal ones to the first (given)"
        x = Tensor([[[[1., 3., 2., 2.], [4., 2., 1., 2.]]]], requires_grad=True)
        max_pool2d(x, 2).backward(Tensor([[[[10., 20.]]]]))
        expect(x.grad, [[[[0., 0., 20., 0.], [10., 0., 0., 0.]]]])


run_tests(TestMaxPool)

# %% [markdown]
# ## Exercise 10: the mean of each window
#
# The mean is the sum of the window, divided by how many numbers it has. But how many is that? 2 by 2
# ones, padded by 1, in windows of 2 by 2 with stride 2:
#
# ```
# . . . .
# . 1 1 .         every window has three zeros of the padding and one 1
# . 1 1 .         padding counted:      1/4 = 0.25       count_include_pad=True, PyTorch's default
# . . . .         padding not counted:  1/1 = 1          count_include_pad=False
# ```
#
# And with `ceil_mode` the last window may stick out even of the padding; nothing there is ever counted.
# There is a trick that answers all of this at once: **to count, sum up ones**. Take a picture that is 1
# where a number counts and 0 elsewhere, and sum its windows. Two given functions:
#
# ```
# window_sums(x, grid)                the sum of each window, (..., rows, columns); the margins are zeros
# counted_places(x, grid, border)     a picture as large as x with its margins: 1 over x and over border =
#                                     (rows above and below, columns left and right) around it, else 0
# ```
#
# The second has its margins already, so its windows are those of `grid.bare()`, the same grid without
# margins. Yours is only the line or two that makes `counts`, an array (rows, columns). `padding` is a pair
# here, of the form that `border` wants.

# %%
#| export nn.pooling
def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
               divisor_override=None):
    """The mean of each window of (N, C, H, W) or (C, H, W); PyTorch's arguments.

    count_include_pad: whether the padding counts. divisor_override: a number to divide by instead.
    """
    grid = pool_grid("avg_pool2d", input.shape, kernel_size, stride, padding, 1, ceil_mode)
    one_dtype("avg_pool2d", input)
    if divisor_override == 0:
        raise RuntimeError("avg_pool2d: divisor_override=0, and nothing can be divided by 0.")
    x, padding, sums = input.data, pair(padding, "padding"), window_sums(input, grid)
    ### BEGIN SOLUTION
    border = padding if count_include_pad else (0, 0)
    counts = window_sums(counted_places(x, grid, border), grid.bare())
    ### END SOLUTION
    counts = divisor_override or counts
    return sums / counts if sums.dtype.kind == "f" else sums.div(counts, rounding_mode="trunc")


# %%
class TestAvgPool2d:
    """The mean of each window"""
    def pooled(self, x, *how, **more): return avg_pool2d(Tensor(x), *how, **more)

    def test_by_hand(self):
        "Four ones, padded by 1: 0.25 each, and 1 if the padding is not counted"
        expect(self.pooled(np.ones((1, 2, 2)), 2, 2, 1), np.full((1, 2, 2), 0.25),
               why="1 first: the zeros of the padding count too (is it `grid.bare()`?)")
        expect(self.pooled(np.ones((1, 2, 2)), 2, 2, 1, count_include_pad=False), np.ones((1, 2, 2)),
               why="0.25: with count_include_pad=False only x counts, and the border is (0, 0)")

    def test_quarters(self):
        "Without padding there is nothing to ask: 2.5, 1, 2.25, 5.25"
        expect(self.pooled(four_by_four(), 2), [[[[2.5, 1.], [2.25, 5.25]]]])

    def test_sticking_out(self):
        "ceil_mode: 1 to 5 in windows of 2; the last has one number, 5, and not 2.5"
        row = np.arange(1., 6.).reshape(1, 1, 5)
        expect(self.pooled(row, (1, 2), ceil_mode=True), [[[1.5, 3.5, 5.]]],
               why="what lies beyond the padding is no number")
        expect(self.pooled(row, (1, 2), padding=(0, 1), ceil_mode=True), [[[0.5, 2.5, 4.5]]],
               why="1 first: the zero of the padding counts, to the left and right of the row")
        expect(self.pooled(row, (1, 3), 2, (0, 1), ceil_mode=True), [[[1., 3., 3.]]])

    def test_wide(self):
        "The padding of the height is not that of the width"
        x = np.array([[[6., 12.]]])
        expect(self.pooled(x, (2, 1), 1, (1, 0)), [[[3., 6.], [3., 6.]]], why="inf: border (1, 0) as (0, 1)")
        expect(self.pooled(x, (2, 1), 1, (1, 0), count_include_pad=False), [[[6., 12.], [6., 12.]]])
        expect(self.pooled(x, (1, 2), 1, (0, 1)), [[[3., 9., 6.]]])

    def test_override(self):
        "divisor_override divides by what it says: the sums over 3 (given)"
        expect(self.pooled(four_by_four(), 2, divisor_override=3), np.array([[[[10., 4.], [9., 21.]]]]) / 3)

    def test_gradient(self):
        "Each number of a window has the same share of the gradient (given); the judge agrees"
        check_gradient(lambda x: avg_pool2d(x, 3, 2, 1, True, False), some_integers(2, 5, 6))


run_tests(TestAvgPool2d)

# %% [markdown]
# ## Exercise 11: as many as you want
#
# A network that ends in a dense layer needs a fixed number of numbers, whatever the size of the
# picture. An *adaptive* pool turns the question around: given the size that you want, where are the
# windows? Five numbers, three windows:
#
# ```
#   1  2  3  4  5          5/3 = 1.67 numbers for each window
#   [====]                 from 0    to 1.67       begins at 0, ends before 2
#      [=======]           from 1.67 to 3.33       begins at 1, ends before 4
#            [====]        from 3.33 to 5          begins at 3, ends before 5          means 1.5, 3, 4.5
# ```
#
# Window i of m goes from i n/m to (i + 1) n/m. Where that is no whole number, the start is rounded down
# and the end up, so that a number that is cut by a border belongs to both. Do it with whole numbers: in
# floats 25 * (7/25) is 7.000000000000001, rounded up 8. Rounded down is `//`, and rounded up is `//` of the
# negative, negated.

# %%
#| export nn.pooling
def adaptive_bounds(n, size):
    """[(start, end), ...] of `size` windows that cover n numbers; `end` is the first that is outside.

    >>> adaptive_bounds(5, 3)
    [(0, 2), (1, 4), (3, 5)]
    """
    ### BEGIN SOLUTION
    return [(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]
    ### END SOLUTION


# %%
class TestAdaptiveBounds:
    """As many as you want"""
    def test_by_hand(self):
        "Three windows for five numbers: 0 to 2, 1 to 4, 3 to 5"
        expect(adaptive_bounds(5, 3), [(0, 2), (1, 4), (3, 5)], why="start rounded down, end rounded up")

    def test_even(self):
        "If it goes without a rest they do not overlap"
        expect(adaptive_bounds(6, 3), [(0, 2), (2, 4), (4, 6)])

    def test_one(self):
        "One window holds everything, none holds nothing"
        expect(adaptive_bounds(7, 1), [(0, 7)])
        expect(adaptive_bounds(7, 0), [])

    def test_more_than_there_are(self):
        "More windows than numbers: some hold the same one"
        expect(adaptive_bounds(2, 3), [(0, 1), (0, 2), (1, 2)])

    def test_exact(self):
        "Exactly: the last of 25 windows for 7 numbers goes from 6 to 7; and all are ints"
        expect(adaptive_bounds(7, 25)[-1], (6, 7), why="(6, 8): 25 * (7/25) is more than 7 in floats")
        assert all(type(b) is int for bounds in adaptive_bounds(5, 3) for b in bounds), "they must be ints"


run_tests(TestAdaptiveBounds)

# %% [markdown]
# The pool made of it, given: first the rows are averaged, then the columns.

# %%
#| export nn.pooling
def adaptive_avg_pool2d(input, output_size):
    """The mean of each of (H', W') windows that cover the picture (N, C, H, W) or (C, H, W).

    output_size: one number, or a pair; None keeps the input's size.
    """
    sizes = adaptive_sizes("adaptive_avg_pool2d", input, output_size)
    refuse_integers("adaptive_avg_pool2d", input)
    if sizes == (1, 1):
        return input.mean((-2, -1), True)
    for dim, size in zip((-2, -1), sizes):
        parts = [input.narrow(dim, start, end - start).mean(dim, True)
                 for start, end in adaptive_bounds(input.shape[dim], size)]
        input = cat(parts, dim) if parts else input.narrow(dim, 0, 0)
    return input


# %%
class TestAdaptiveAvgPool2d:
    """Any size to the wanted one"""
    def test_by_hand(self):
        "1 to 5 in three: 1.5, 3, 4.5"
        expect(adaptive_avg_pool2d(Tensor([[[1., 2., 3., 4., 5.]]]), (1, 3)), [[[1.5, 3., 4.5]]])

    def test_sizes(self):
        "None keeps the size, 1 is the mean of the whole picture, 0 is nothing"
        x = Tensor(some_integers(2, 5, 7))
        expect(adaptive_avg_pool2d(x, (None, 2)).shape, (2, 5, 2))
        expect(adaptive_avg_pool2d(x, 1)[:, 0, 0], x.mean((1, 2)))
        expect(adaptive_avg_pool2d(x, 0).shape, (2, 0, 0))
        check_gradient(lambda x: adaptive_avg_pool2d(x, (3, 4)), x)


run_tests(TestAdaptiveAvgPool2d)

# %% [markdown]
# ## Exercise 12: batch norm
#
# A convolution multiplies and adds, the next one too; after ten of them the numbers of a channel may be
# a thousand times too large, or all but zero. *Batch norm* (Ioffe and Szegedy, 2015) brings each
# channel back to mean 0 and variance 1. One channel, four numbers, 1 2 3 4:
#
# ```
# mean 2.5      distances  -1.5 -0.5 0.5 1.5      variance (2.25 + 0.25 + 0.25 + 2.25)/4 = 1.25
#                          /√1.25: -1.3416 -0.4472 0.4472 1.3416
# ```
#
# $$ y = \frac{x - \mathrm{mean}}{\sqrt{\mathrm{var} + \varepsilon}}\; \gamma + \beta $$
#
# with a weight γ and a bias β for each channel, so that the layer can learn to undo it. **For each channel**,
# that is over the batch and over all pixels: the mean of (N, C, H, W) has C numbers.
#
# And when the network is used, on a single picture? It must not matter which other pictures are in the
# batch. So while training, a *running* mean and variance are kept, and those are used in evaluation:
#
# $$ \mathrm{running} \leftarrow (1 - m)\, \mathrm{running} + m\, \mathrm{new} \qquad m = 0.1 $$
#
# (m is called momentum and is the share of what is *new*; the optimizer's momentum was the share of the
# old.) From 0 and 1, with the four numbers above: the mean becomes 0.9*0 + 0.1*2.5 = 0.25. The variance
# becomes 0.9*1 + 0.1*1.6667 = 1.0667, and not 0.9 + 0.1*1.25. This batch is normalised by its own variance,
# 1.25, divided by n. What is remembered is an estimate for all pictures. A sample's own mean lies in its
# middle, so its variance is too small, by (n - 1)/n on average: hence 1.25 times n/(n - 1) = 1.6667.
#
# Three given functions do the arithmetic:
#
# ```
# batch_normalized(input, weight, bias, mean, var, eps)    the formula, in training: mean and var are those of
#                                                          the input itself, and the gradient knows it
# normalized_by(input, weight, bias, mean, var, eps)       the formula, with mean and var from elsewhere
# overwrite(running, numbers)                              writes an array into a tensor's memory
# ```
#
# The first takes mean and var as arrays, (C,), so take them of `input.data`: arrays have methods for both,
# over several dimensions, as in `x.mean((0, 2))`. `x.var` divides by n. The running ones are tensors, and
# `running_mean.data` is the array.
#
# Yours: in training the statistics of the batch, the running ones brought up to date (both may be None), and
# the formula; otherwise the running ones as they are. `dims` are the dimensions to go over, all but that of
# the channels, and n is how many numbers a channel has.

# %%
#| export nn.batch_norm
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1,
               eps=1e-5):
    """Each channel of (N, C, ...) with mean 0 and variance 1, times weight, plus bias: (C,) each, or None.

    In training by the statistics of the batch; running_mean and running_var, (C,) or both None, are then
    brought up to date in place, by the share `momentum` of the batch's mean and unbiased variance. Otherwise
    by the running ones. Raises ValueError for one number a channel in training.
    """
    check_batch_norm(input, running_mean, running_var, weight, bias, training, eps)
    if input.dtype == float16:                         # three digits are not enough for a variance
        weight, bias = [None if p is None else p.float() for p in (weight, bias)]
        out = batch_norm(input.float(), running_mean, running_var, weight, bias, training, momentum, eps)
        return out.half()
    dims, n = (0, *range(2, input.ndim)), len(input) * math.prod(input.shape[2:])
    if not n:                                          # a batch of none has no statistics
        return input * 1
    ### BEGIN SOLUTION
    if not training:
        return normalized_by(input, weight, bias, running_mean, running_var, eps)
    mean, var = input.data.mean(dims), input.data.var(dims)
    if running_mean is not None:
        overwrite(running_mean, (1 - momentum) * running_mean.data + momentum * mean)
        overwrite(running_var, (1 - momentum) * running_var.data + momentum * var * (n / (n - 1)))
    return batch_normalized(input, weight, bias, mean, var, eps)
    ### END SOLUTION


# %%
class TestBatchNorm:
    """Batch norm"""
    def running(self, c=1): return Tensor(np.zeros(c)), Tensor(np.ones(c))

    def test_by_hand(self):
        "1 2 3 4: -1.3416, -0.4472, 0.4472, 1.3416"
        out = batch_norm(Tensor([[1.], [2.], [3.], [4.]]), None, None, training=True)
        expect(out.reshape(4), [-1.3416, -0.4472, 0.4472, 1.3416], tol=1e-4,
               why="-1.1619 first: this batch is divided by its own variance, over n")

    def test_remembered(self):
        "The running mean becomes 0.25, the running variance 0.9 + 0.1667"
        mean, var = self.running()
        arrays = mean.data, var.data
        batch_norm(Tensor([[1.], [2.], [3.], [4.]]), mean, var, training=True)
        expect(mean, [0.25], why="2.25: momentum is the share of the new; 0: nothing was written")
        expect(var, [1.066667], why="1.025: to remember, the variance is divided by n - 1")
        assert mean.data is arrays[0] and var.data is arrays[1], \
            "the tensor has another array now, and whoever holds the old one sees nothing: use `overwrite`"

    def test_momentum(self):
        "With momentum 1 only the new ones are left, with 0 only the old ones, 3 and 5"
        for momentum, expected in (1., [2.5, 5 / 3]), (0., [3., 5.]):
            mean, var = Tensor(np.array([3.])), Tensor(np.array([5.]))
            batch_norm(Tensor([[1.], [2.], [3.], [4.]]), mean, var, training=True, momentum=momentum)
            expect([mean.item(), var.item()], expected)

    def test_per_channel(self):
        "A channel's mean goes over the batch and all pixels"
        x = Tensor(np.array([[[[1., 2.]], [[10., 10.]]], [[[3., 4.]], [[20., 20.]]]]))    # (2, 2, 1, 2)
        out = batch_norm(x, None, None, training=True)
        expect(out[:, 0, 0], [[-1.341635, -0.447212], [0.447212, 1.341635]], tol=1e-4,
               why="-1 and 1: statistics of each pixel, not of each channel")
        expect(out[:, 1, 0], [[-1., -1.], [1., 1.]], tol=1e-4)

    def test_evaluation(self):
        "In evaluation the running statistics are used, and left as they were"
        mean, var = Tensor(np.array([10.])), Tensor(np.array([4.]))
        expect(batch_norm(Tensor(np.array([[12.]])), mean, var, eps=0.), [[1.]])
        expect([mean.item(), var.item()], [10., 4.], why="nothing is remembered in evaluation")

    def test_weight_and_bias(self):
        "Weight and bias come last, in training and in evaluation"
        x, weight, bias = Tensor(np.array([[1.], [3.]])), Tensor(np.array([5.])), Tensor(np.array([7.]))
        expect(batch_norm(x, None, None, weight, bias, True, eps=1e-12), [[2.], [12.]])
        expect(batch_norm(x, *self.running(), weight, bias, eps=0.), [[12.], [22.]])

    def test_eps(self):
        "eps stands under the root, beside the variance"
        expect(batch_norm(Tensor(np.array([[1.], [3.]])), None, None, training=True, eps=3.), [[-0.5], [0.5]])
        expect(batch_norm(Tensor(np.array([[6.]])), *self.running(), eps=3.), [[3.]])

    def test_which_function(self):
        "In training the gradient adds up to 0, as the mean moves with x; in evaluation it is g over the root"
        for training, want in (True, 0.), (False, 0.5):
            x = Tensor(np.array([[1.], [2.], [3.], [6.]]), requires_grad=True)
            running = Tensor(np.zeros(1)), Tensor(np.full(1, 4.))
            batch_norm(x, *running, training=training, eps=1e-9)[3].sum().backward()
            expect(x.grad.sum().item(), want, why="the other of the two functions: in training it is "
                   "batch_normalized, whose gradient knows that mean and var are x's; else normalized_by")

    def test_gradient(self):
        "The judge agrees on input, weight and bias, in training and in evaluation (given)"
        for training in True, False:
            check_gradient(lambda x, w, b, t=training: batch_norm(x, *self.running(2), w, b, t),
                           some_integers(3, 2, 4) + 0.5, np.array([2., 3.]), np.array([1., -1.]))

    def test_one_number(self):
        "One number a channel has no variance: an error in training, fine in evaluation"
        expect_error(ValueError, batch_norm, Tensor([[1., 2.]]), None, None, training=True, says=["(1, 2)"])
        batch_norm(Tensor(np.array([[1.]])), *self.running())


run_tests(TestBatchNorm)

# %% [markdown]
# The gradient was given (`batch_norm_parts_dev.py`), and is soon derived. Call x̂ the normalised numbers.
# Adding the same to all x of a channel changes no x̂, and neither does stretching all x away from their mean.
# So the gradient of x must be blind to both: it must add up to 0, and so must its product with x̂. Take g,
# and take out exactly these two parts:
#
# $$ \frac{\partial L}{\partial x} = \frac{\gamma}{\sqrt{\mathrm{var} + \varepsilon}}
#    \left( g - \mathrm{mean}(g) - \hat x \cdot \mathrm{mean}(g\, \hat x) \right) $$
#
# (ε makes the second nearly true; the formula is exact with it.) The gradient of γ is the sum of g x̂, that
# of β the sum of g.
#
# ## Measure
#
# Guess first (nothing is measured before):
#
# 1. A batch (8, 3, 32, 32), 16 filters of 3 by 3. The seven loops in Python, or one matrix product: how
#    many times as long do the loops take?
# 2. 512 such pictures. How many times the memory of the batch do all its windows take? And at the peak, the
#    result included: one product with all windows, and `conv2d`, which lays out a few pictures at a time?
# 3. Three networks for the opening's digits: dense layers; two convolutions with a max pool between them; the
#    same without it. Both of these end in a dense layer on the largest number of each map. Which share is
#    right of digits moved by one pixel, and by two?

# %%
guess_of_product = None            # times as long; copies: all windows, one product, conv2d: (10, 2, 3, 2)?
guess_of_shares = None             # by one pixel and by two, for each network: ((45, 12), (50, 20), (50, 20))


@measure
def loops_or_one_product():
    if guess_of_product is None:
        return print("guess_of_product is None: guess, then run this again")
    rng = np.random.default_rng(0)
    x, weight = [rng.normal(size=s).astype("float32") for s in [(512, 3, 32, 32), (16, 3, 3, 3)]]
    loops, product = timed(lambda: conv2d_loops(x[:8], weight), repeat=1), timed(conv2d, x[:8], weight)
    print(f"loops {loops:.2f} s, one product {product * 1e3:.2f} ms: {loops / product:,.0f} times")
    u = windows_of((32, 32), (3, 3))
    def all_at_once(): return u.picture(u.matrix(weight) @ u.rows(x))
    at_peak = [peak_bytes(f) / x.nbytes for f in (all_at_once, lambda: conv2d(x, weight))]
    print(f"copies of the batch: all windows {u.rows(x).nbytes / x.nbytes:.1f}; at the peak one product with "
          f"all {at_peak[0]:.1f}, conv2d {at_peak[1]:.1f}; you guessed {guess_of_product}")


# %%
def small_network(pool):
    "Two convolutions, the largest number of each map, one dense layer: its scores(x), and its weights"
    manual_seed(0)
    filters = [kaiming_uniform_(Tensor(np.zeros(s, "float32"), requires_grad=True), nonlinearity="relu")
               for s in [(16, 1, 3, 3), (32, 16, 3, 3)]]
    last = Linear(32, 10)

    def scores(x):
        x = conv2d(x, filters[0], None, 1, "same").relu()
        if pool:
            x = max_pool2d(x, 2)
        return last(conv2d(x, filters[1], None, 1, "same").relu().amax((2, 3)))

    return scores, [*filters, *last.parameters()]


@measure
def three_networks_and_a_pixel():
    if guess_of_shares is None:
        return print("guess_of_shares is None: guess, then run this again")
    dense_layers_and_a_pixel()
    for pool in True, False:
        scores, weights = small_network(pool)
        learn(scores, weights)
        print_moved(f"convolutions, {'with' if pool else 'without'} a pool", scores)
    print("you guessed", guess_of_shares)


# %% [markdown]
# What must hold on any machine. The loops take more than a thousand times as long: Python looks at each
# of a few million products, the matrix product does eight and more at a time and never asks what a number
# is. All windows are eight copies (not nine: there are fewer windows than pixels), and the result, 16
# channels for 3, nearly five more. `conv2d` needs the result too, and a copy with margins, but of the windows
# only those of a few pictures: about half. (Of a small batch, a few pictures are most.)
#
# The third: the dense layers lose half of the digits by one pixel. The convolutions without a pool lose
# hardly any, and that is the answer to the opening question: **one set of weights for every place**, and at
# the end the *largest* of each map, wherever it is. Nothing was learned about places. (What is still lost is
# lost at the border.)
#
# But look at the network with a pool: by one pixel it does worse than by *two*. A pool of 2 by 2 lies on a
# grid of its own. If the digit moves by two pixels, the pooled map moves by one, and is the same otherwise;
# if it moves by one, other numbers share a window. A convolution goes along with every step, a pool with
# stride 2 only with every second. Then why pool? Without it the second layer has four times as many windows,
# and real networks have dozens of layers.
#
# ## Pictures
#
# In a notebook: the first filters (look for edges, red on one side and blue on the other), and who is taken
# for whom by the network with a pool when digits are moved by one pixel.

# %%
@measure
def filters_and_mistakes():
    scores, weights = small_network(pool=True)
    learn(scores, weights)
    _, (pictures, labels) = digits_on_a_canvas()
    with no_grad():
        answers = scores(Tensor(moved(pictures, 1)[0])).argmax(1)
    counts = confusion_matrix(answers, labels, 10)
    t, p = divmod(int((counts.numpy() * (1 - np.eye(10, dtype=int))).argmax()), 10)
    print(f"moved down by one pixel: {t} was taken for {p} {int(counts[t, p])} times, the commonest mistake")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("The pictures need matplotlib: pip install matplotlib")
        return
    draw_filters(weights[0])
    draw_confusion(counts)
    if plt.get_backend().lower() == "agg":
        print("No window to draw in: open this file as a notebook to see the pictures.")
    else:
        plt.show()


# %% [markdown]
# ## Reflect
#
# Answer in a sentence or two each, then compare with `## reflection-1` and so on in HINTS.md.
#
# 1. One filter for every place: what does that assume about pictures? When is it false?
# 2. What do all windows cost in memory, as a formula? How could you pay less? And a filter of 1 by 1?
# 3. A batch of one picture in training: what does batch norm do with it, after a dense layer and after a
#    convolution? And in evaluation?
#
# ## Where this code lives
#
# `tito export 09` writes it to `tinytorch/nn/`: `spatial.py` (windows, convolution), `pooling.py`,
# `batch_norm.py`, and beside them what was given: `conv_parts.py`, `pool_parts.py`, the layers (`Conv2d`,
# `MaxPool2d`, `BatchNorm2d`, ...), `conv1d`, transposed convolutions, other norms and `interpolate`.
#
# ```python
# from tinytorch import nn
# model = nn.Sequential(nn.Conv2d(1, 32, 3, padding="same"), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
# ```
#
# Module 11 cuts pictures into patches with a convolution whose stride is its size. Module 13 asks whether
# one needs convolutions at all. Modules 16 and 18 make them smaller and faster.
#
# In the real world: PyTorch has several algorithms for a convolution and picks one by the sizes. Some never
# store the windows, but read them from the picture tile by tile while they multiply. For 3 by 3 there is
# Winograd's way, which adds more and multiplies less than half as often.
