# %% [markdown]
# # Convolution in one dimension, and backwards
#
# Given code: nothing to solve here. A row is a picture of height one, so `conv1d` is `conv2d`. And a
# transposed convolution does to its input what `conv2d` does to a gradient on the way back: it spreads
# every number over a window. `conv2d_input` is that, and stride 2 then makes a picture larger instead of
# smaller.

# %%
#| default_exp nn.more_spatial

# %%
from padding_dev import pad
from spatial_dev import Windows, conv2d, conv2d_input, output_size
from conv_parts_dev import Grid, batched, pair

from tinytorch.core.autograd import vjp
from tinytorch.core.op import op

# %% [markdown]
# ## A picture of height one

# %%
#| export
def flat(name, input, weight=None):
    """The row(s) (N, C, L) or (C, L) as pictures of height one; a weight (O, C, k) as a kernel of height one.

    Raises RuntimeError for other numbers of dimensions.
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(f"{name} got an input of shape {input.shape}: it takes a batch (N, C, L) or "
                           "one row (C, L).")
    if weight is None:
        return input.unsqueeze(-2)
    if weight.ndim != 3:
        raise RuntimeError(f"{name} got a weight of shape {weight.shape}: it must be (channels, channels, "
                           "length).")
    return input.unsqueeze(-2), weight.unsqueeze(-2)


def beside(value, above, name):
    """(above, value): what a row is asked with, for a picture of height one. A word is handed on."""
    if isinstance(value, (tuple, list)):
        if len(value) != 1:
            raise RuntimeError(f"{name}={value!r}: for a row it must be one number.")
        value = value[0]
    return value if isinstance(value, str) else (above, value)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """conv2d of rows: input (N, C, L) or (C, L), weight (O, C / groups, k); gives (N, O, L').

    >>> conv1d(tensor([[1., 2., 4.]]), tensor([[[1., -1.]]]))
    tensor([[-1., -2.]])
    """
    input, weight = flat("conv1d", input, weight)
    stride, dilation = beside(stride, 1, "stride"), beside(dilation, 1, "dilation")
    return conv2d(input, weight, bias, stride, beside(padding, 0, "padding"), dilation, groups).squeeze(-2)


# %% [markdown]
# ## Transposed
#
# `conv2d` with stride 2 and a kernel of 1 makes 3 of 5 numbers, and 3 of 6. So on the way back 3 may become
# 5, or with `output_padding=1` 6. What no window reaches is 0.

# %%
#| export
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """What `conv2d` with this weight hands back for a gradient `input`, plus bias.

    input: (N, C, H, W) or (C, H, W); weight: (C, O / groups, kh, kw); gives (N, O, H', W') with
    H' = (H - 1) stride - 2 padding + dilation (kh - 1) + 1 + output_padding. Raises RuntimeError if the
    channels do not fit, or output_padding is not below stride or dilation.

    >>> conv_transpose2d(tensor([[[1., 2.]]]), tensor([[[[1., 10.]]]]))
    tensor([[[ 1., 12., 20.]]])
    """
    check_transposed(input, weight, bias, groups)
    stride, dilation = pair(stride, "stride", 1), pair(dilation, "dilation", 1)
    padding, more = pair(padding, "padding"), pair(output_padding, "output_padding")
    if any(m >= max(s, d) for m, s, d in zip(more, stride, dilation)):
        raise RuntimeError(f"conv_transpose2d: output_padding {more} must be smaller than stride {stride} "
                           f"or dilation {dilation}. A larger result is a larger picture: pad it.")
    whole = [(n - 1) * s + d * (k - 1) + 1
             for n, s, d, k in zip(input.shape[-2:], stride, dilation, weight.shape[2:])]
    if min(input.shape[-2:]) < 1 or any(w - 2 * p + m < 1 for w, p, m in zip(whole, padding, more)):
        raise RuntimeError(f"conv_transpose2d of {input.shape} with a weight of {weight.shape} and padding "
                           f"{padding}: nothing would be left. Take less padding.")
    size = (*input.shape[:-3], weight.shape[1] * groups, *whole)
    out = conv2d_input(size, weight, input, stride, 0, dilation, groups)
    (down, across), (below, right) = padding, more
    if any(padding + more):
        out = pad(out, (-across, right - across, -down, below - down))
    return out if bias is None else out + bias.reshape(-1, 1, 1)


def check_transposed(input, weight, bias, groups):
    """Raise RuntimeError unless channels, groups, bias and dtypes fit each other."""
    if input.ndim not in (3, 4) or weight.ndim != 4:
        raise RuntimeError(f"conv_transpose2d of {input.shape} with a weight of {weight.shape}: it takes "
                           "(N, C, H, W) or (C, H, W), and a weight (C, O / groups, kernel height, width).")
    channels, made = input.shape[-3], weight.shape[1] * groups
    if groups < 1 or channels != weight.shape[0] or channels % groups:
        raise RuntimeError(f"conv_transpose2d of {input.shape} with groups={groups} and a weight of "
                           f"{weight.shape}: the input's {channels} channels must be the weight's first "
                           "size and a multiple of groups.")
    if bias is not None and bias.shape != (made,):
        raise RuntimeError(f"conv_transpose2d with a weight of {weight.shape} and a bias of {bias.shape}: "
                           f"it must be ({made},).")
    if any(t is not None and t.dtype != input.dtype for t in (weight, bias)):
        raise RuntimeError(f"conv_transpose2d of {input.dtype} with a weight of {weight.dtype}: input, "
                           "weight and bias must be of one dtype. Convert one of them.")


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """conv_transpose2d of rows: input (N, C, L) or (C, L), weight (C, O / groups, k)."""
    input, weight = flat("conv_transpose1d", input, weight)
    how = [beside(value, above, name) for value, above, name in (
        (stride, 1, "stride"), (padding, 0, "padding"), (output_padding, 0, "output_padding"))]
    return conv_transpose2d(input, weight, bias, *how, groups, beside(dilation, 1, "dilation")).squeeze(-2)


# %% [markdown]
# ## All windows as columns
#
# `unfold` lays out the windows that `conv2d` multiplies; `fold` puts them back and adds where they
# overlap. Each is the other's gradient.

# %%
#| export
@op(promote=False)
def window_columns(x, grid):
    """(N, C, H, W) as (N, C kh kw, L): a column for each of the L windows."""
    return Windows(grid, 1, x.shape[2:]).rows(grid.padded(x))[:, 0]


@op(promote=False)
def added_columns(x, grid, height, width):
    """(N, C kh kw, L) put back as (N, C, height, width), and added where the windows overlap."""
    n, k = len(x), grid.kernel[0] * grid.kernel[1]
    parts = x.reshape(n, x.shape[1] // k, k, *grid.size)
    out = grid.zeros(x, n, parts.shape[1], height, width)
    for i, place in enumerate(grid.places()):
        out[place] += parts[:, :, i]
    return grid.cropped(out, height, width)


@vjp(window_columns)
def _(out, x, grid):
    height, width = x.shape[2:]
    return lambda g: (added_columns(g, grid, height, width),)
@vjp(added_columns)
def _(out, x, grid, height, width): return lambda g: (window_columns(g, grid),)


window_columns.name, added_columns.name = "unfold", "fold"   # what errors and graphs call them


def window_grid(name, size, kernel_size, dilation, padding, stride):
    """The Grid of unfold and fold; RuntimeError if not one window fits into `size`."""
    kernel, dilation = pair(kernel_size, "kernel_size", 1), pair(dilation, "dilation", 1)
    padding, stride = pair(padding, "padding"), pair(stride, "stride", 1)
    counts = tuple(map(output_size, size, kernel, stride, padding, dilation))
    if min(counts) < 1:
        raise RuntimeError(f"{name}: a window of {kernel} with dilation {dilation} does not fit into "
                           f"{tuple(size)} padded by {padding}.")
    return Grid(counts, kernel, stride, dilation, tuple([(p, p) for p in padding]))


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Every window of `input` (N, C, H, W) or (C, H, W) as a column: (N, C kh kw, L)."""
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(f"unfold of {input.shape}: it takes (N, C, H, W) or (C, H, W), and only the "
                           "batch may be empty.")
    grid = window_grid("unfold", input.shape[-2:], kernel_size, dilation, padding, stride)
    out = window_columns(batched(input), grid)
    return out if input.ndim == 4 else out[0]


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns (N, C kh kw, L) or (C kh kw, L) put back and added: (N, C, *output_size)."""
    size = pair(output_size, "output_size", 1)
    grid = window_grid("fold", size, kernel_size, dilation, padding, stride)
    numbers, count = grid.kernel[0] * grid.kernel[1], grid.size[0] * grid.size[1]
    if input.ndim not in (2, 3) or 0 in input.shape[-2:] or (
            input.shape[-2] % numbers or input.shape[-1] != count):
        raise RuntimeError(f"fold of {input.shape} to {size} with windows of {grid.kernel}: it takes (N, "
                           f"C * {numbers}, {count}) or (C * {numbers}, {count}), a column for each "
                           "window.")
    out = added_columns(input if input.ndim == 3 else input[None], grid, *size)
    return out if input.ndim == 3 else out[0]
