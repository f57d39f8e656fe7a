# %% [markdown]
# # What becomes of items in a batch
#
# Given code: nothing to solve here. The lesson builds `default_collate`, which goes through tuples and
# dictionaries; these are the things that it meets at the ends.

# %%
#| default_exp data.collate_parts

# %%
import copy
from collections.abc import Mapping, MutableMapping, Sequence

import numpy as np

from tinytorch.core.backend import is_array
from tinytorch.core.creation import as_tensor, from_numpy
from tinytorch.core.dtypes import float64
from tinytorch.core.joining import stack
from tinytorch.core.tensor import Tensor

# %% [markdown]
# Items of a batch must be alike. How alike says their outline: two items with the same one can be put
# together.

# %%
#| export
def outline(item):
    """What must be the same in all items of a batch, in words.

    >>> outline((np.zeros((2, 3)), 7)), outline(np.zeros((2, 3))), outline({"x": 1})
    ('a tuple of 2', 'an array of shape (2, 3)', "a dict with the keys ['x']")
    """
    if isinstance(item, Tensor):
        return f"a tensor of shape {item.shape}"
    if is_array(item):
        return f"an array of shape {item.shape}"
    if isinstance(item, (int, float, np.generic)):
        return "a number"
    if isinstance(item, Mapping):
        return f"a {type(item).__name__} with the keys {sorted(map(str, item))}"
    if isinstance(item, Sequence) and not isinstance(item, (str, bytes)):
        return f"a {type(item).__name__} of {len(item)}"
    return f"a {type(item).__name__}"


def ragged(i, item, first):
    """The error for item i of a batch, which is not like its first item."""
    error = RuntimeError(f"item {i} of the batch is {outline(item)}, item 0 is {outline(first)}. They cannot "
                         "be put together: make them alike, or give the loader a collate_fn that knows how.")
    error.position = i                                 # the loader knows which item of the dataset this is
    return error


# %% [markdown]
# What is no tuple, list or dictionary is put together here. Python's numbers are exact, so floats become
# float64 and whole numbers int64, as in PyTorch. Texts stay as they are.

# %%
#| export
def stacked(items):
    """One tensor of the tensors, arrays or numbers in `items`, with a new first axis; texts unchanged.

    >>> stacked([3, 5]), stacked(["three", "five"])
    (tensor([3, 5]), ['three', 'five'])
    """
    first = items[0]
    if isinstance(first, (str, bytes)):
        return items
    if isinstance(first, Tensor):
        return stack(list(items))
    if is_array(first):
        return stack([from_numpy(item) for item in items])
    if isinstance(first, np.generic):
        return from_numpy(np.array(items))
    if isinstance(first, (int, float)):
        return Tensor(list(items), dtype=float64 if isinstance(first, float) else None)
    raise TypeError("default_collate: a batch is made of tensors, arrays, numbers, texts, tuples, lists or "
                    f"dictionaries; found {outline(first)}. Give the loader a collate_fn that knows how.")


def rebuilt(first, parts):
    """`parts`, one for each part of the item `first`, as an item like it; a tuple becomes a list.

    That is PyTorch's way, where `x, y = batch` is all that anybody does with it. Named tuples stay.
    """
    if isinstance(first, MutableMapping):
        clone = copy.copy(first)                       # a defaultdict stays one
        clone.update(parts)
        return clone
    if isinstance(first, Mapping):
        return type(first)(parts)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*parts)
    return list(parts)


# %% [markdown]
# Without batches, items are handed out one by one, and only arrays are changed: they become tensors.

# %%
#| export
def default_convert(item):
    """`item` with tensors in place of NumPy's arrays and numbers, also inside of lists and dictionaries."""
    if isinstance(item, np.generic) and not isinstance(item, (str, bytes)):
        return from_numpy(np.array(item))
    if is_array(item):
        return as_tensor(item) if item.dtype.kind not in "USO" else item
    if isinstance(item, Mapping):
        return rebuilt(item, {key: default_convert(value) for key, value in item.items()})
    if isinstance(item, (tuple, list)):
        return rebuilt(item, [default_convert(value) for value in item])
    return item
