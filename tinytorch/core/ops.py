# Generated from modules/01_tensor/tensor_dev.py by tito export. Edit the lesson, not this file.
# source sha256 5d89683f5dabb2a81d8638c7262c521fa5b5d05f0c628d93a789aab60287b7a4  body sha256 f627967325c198709a36cc34b7abfdeae6544db95d02128384a950df7f6f4a97  # noqa: E501
"""core.ops: built in module 01_tensor."""

import math

from tinytorch.core.backend import array_module, is_array
from tinytorch.core.base import method
from tinytorch.core.dtypes import whole_power
from tinytorch.core.op import op

__all__ = [
    "add", "axes", "broadcast_shape", "corner_case", "counted", "divide", "eq", "flat_product",
    "gather", "ge", "getitem", "gt", "infer_shape", "le", "lt", "masked_fill", "matmul", "mean",
    "multiply", "ne", "negative", "places_of", "pow", "reshape", "reshape_to", "subtract",
    "transpose", "var", "write",
]


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


@op(method=True)
def multiply(x, y):
    """The product of two arrays, or of an array and a number, element by element.

    >>> multiply.forward(np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]]))
    array([[ 5, 12],
           [21, 32]])
    """
    return x * y


def broadcast_shape(a, b):
    """The shape, a tuple, of an elementwise op between arrays of the shapes `a` and `b`.

    Raises RuntimeError, naming both shapes and the two sizes that clash, if they do not fit.

    >>> broadcast_shape((4, 1, 3), (5, 1))
    (4, 5, 3)
    """
    n = max(len(a), len(b))
    shape = []
    for i, j in zip((1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)):
        if i != j and 1 not in (i, j):
            raise RuntimeError(f"shapes {a} and {b} do not fit: aligned from the right, {i} meets {j}. "
                               "Two sizes fit if they are equal or one of them is 1.")
        shape.append(j if i == 1 else i)
    return tuple(shape)


def infer_shape(shape, count):
    """`shape` as a tuple, with its -1 (if there is one) replaced so that it holds `count` elements.

    Raises RuntimeError, naming the shape and the count, if no size fits, if there are two -1 or a size
    below -1, or if a shape without -1 has another number of elements.

    >>> infer_shape((2, -1), 6)
    (2, 3)
    """
    known = math.prod([n for n in shape if n != -1])
    if list(shape).count(-1) == 1 and known > 0 and count % known == 0:
        return tuple([count // known if n == -1 else n for n in shape])
    if -1 in shape or known != count or min(shape, default=0) < 0:
        raise RuntimeError(f"shape {tuple(shape)} is invalid for {count} elements: a reshape keeps their "
                           "number. At most one size can be -1.")
    return tuple(shape)


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
    if x.dtype.kind != "f":
        raise RuntimeError(f"mean of {x.dtype} numbers: their mean is no {x.dtype}. "
                           "Convert them first: x.float().mean().")
    return x.sum(axis=axes(dim), keepdims=keepdim) / counted(x.shape, dim)


@op(method=True)
def var(x, dim=None, correction=1, keepdim=False):
    """The variance over `dim`: the sum of squared distances from the mean, divided by N - correction.

    x: floats of any shape; dim: None, a number or a tuple. N - correction is never taken below 0, so one
    number with correction 1 gives 0 / 0, nan, as in PyTorch. Raises RuntimeError for integers.

    >>> var.forward(np.array([[1., 2., 3.], [4., 5., 6.]]), 0)
    array([4.5, 4.5, 4.5])
    """
    distance = x - mean.forward(x, dim, keepdim=True)
    n = max(counted(x.shape, dim) - correction, 0)
    return (distance * distance).sum(axis=axes(dim), keepdims=keepdim) / x.dtype.type(n)


@op(method=True)
def masked_fill(x, mask, value):
    """A copy of x with `value` where `mask` is true; the mask broadcasts to x.

    value: a number, or an array of shape (). The dtype is that of x. Raises RuntimeError if the mask holds
    anything but bools, and for a value that has dimensions.

    >>> masked_fill.forward(np.array([5., 3., 8.]), np.array([False, True, False]), 0.)
    array([5., 0., 8.])
    """
    if is_array(value) and value.ndim:
        raise RuntimeError(f"masked_fill: the value has shape {value.shape}, it must be a single number.")
    if mask.dtype.kind != "b":
        raise RuntimeError(f"masked_fill: the mask holds {mask.dtype}, it must hold bools. "
                           "Make it one by a comparison, such as mask != 0.")
    xp = array_module(x)
    return xp.where(mask, xp.asarray(value, x.dtype), x)


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
    if x.ndim != index.ndim:
        raise RuntimeError(f"gather from {x.shape} by an index of {index.shape}: both need the same "
                           "number of dimensions. Add one to the index: index[:, None].")
    if not (0 <= index.min() and index.max() < x.shape[dim]):
        raise RuntimeError(f"gather from {x.shape} along dim {dim}: the index holds {index.min()} to "
                           f"{index.max()}, allowed are 0 to {x.shape[dim] - 1}.")
    return x[places_of(index, dim)]
