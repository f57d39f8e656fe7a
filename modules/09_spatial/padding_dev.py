# %% [markdown]
# # Padding
#
# Given code: nothing to solve here. A convolution makes its picture smaller; padding makes it larger
# first. What stands outside the border is a constant, the picture mirrored, its last row repeated, or its
# other side.

# %%
#| default_exp nn.padding

# %%
from places_dev import taken

from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module
from tinytorch.core.op import op
from tinytorch.nn.module import Module

# %% [markdown]
# ## A constant

# %%
#| export
@op(promote=False)
def constant_pad(x, pads, value=0):
    """x with `value` around it; pads: (before, after) for each dimension, all 0 or more.

    >>> constant_pad.forward(np.array([1, 2]), ((1, 2),), 9)
    array([9, 1, 2, 9, 9])
    """
    shape = tuple([before + n + after for n, (before, after) in zip(x.shape, pads)])
    out = array_module(x).full(shape, value, x.dtype)
    out[inside(x.shape, pads)] = x
    return out


def inside(shape, pads):
    """Where an array of `shape` stands in the one that was padded."""
    return tuple([slice(before, before + n) for n, (before, _) in zip(shape, pads)])


@vjp(constant_pad)
def _(out, x, pads, value=0):
    place = inside(x.shape, pads)
    return lambda g: (g[place],)


constant_pad.name = "pad"                              # what errors and graphs call it

# %% [markdown]
# ## Whatever is there already
#
# Each of the other modes says for every place of the wider picture from which place of the narrow one its
# number comes. For a row of 4, padded by 2 on both sides, these are
#
# | mode | places |
# |---|---|
# | reflect | 2 1 0 1 2 3 2 1 |
# | replicate | 0 0 0 1 2 3 3 3 |
# | circular | 2 3 0 1 2 3 0 1 |
#
# and `taken` along each dimension does it.

# %%
#| export
def reflected(xp, n, before, after):
    """Places mirrored at the first and at the last one, which are not repeated."""
    return n - 1 - abs(n - 1 - abs(xp.arange(-before, n + after)))


def replicated(xp, n, before, after):
    """The first and the last place again and again."""
    return xp.arange(-before, n + after).clip(0, n - 1)


def circled(xp, n, before, after):
    """Over the border to the other side; what a negative padding cuts off is cut off first."""
    first, n = max(-before, 0), n + min(before, 0) + min(after, 0)
    return first + xp.arange(-max(before, 0), n + max(after, 0)) % max(n, 1)


# mode -> its places, and how much padding a row of n has numbers for
MODES = {"reflect": (reflected, lambda n: n - 1), "circular": (circled, lambda n: n),
         "replicate": (replicated, lambda n: float("inf") if n else -1)}


def pad(input, pad, mode="constant", value=None):
    """`input` made larger: pad is (left, right), (left, right, top, bottom), ... from the last dimension on.

    Negative numbers cut off. mode "constant" puts `value` (0 if None) outside, for any dimensions;
    "reflect", "replicate" and "circular" take the last 1, 2 or 3 of (N, C, ...) or (C, ...).
    Raises RuntimeError for a pad that does not fit, NotImplementedError for a mode that is not there.

    >>> pad(tensor([1, 2, 3]), (1, 2))
    tensor([0, 1, 2, 3, 0, 0])
    """
    pads = pairs_of(input, pad, mode)
    if mode == "constant":
        kept = tuple([slice(max(-before, 0), n - max(-after, 0))
                      for n, (before, after) in zip(input.shape, pads)])
        wider = tuple([(max(before, 0), max(after, 0)) for before, after in pads])
        return constant_pad(input[kept], wider, 0 if value is None else value)
    if value:
        raise RuntimeError(f"pad: mode {mode!r} takes its numbers from the input, not value={value}.")
    places, xp = MODES[mode][0], array_module(input.data)
    for dim, (before, after) in enumerate(pads):
        if before or after:
            input = taken(input, dim, places(xp, input.shape[dim], before, after)[None])
    return input


def pairs_of(input, pad, mode):
    """(before, after) for each dimension of `input`, checked."""
    some = len(pad) // 2
    if len(pad) % 2 or some > input.ndim:
        raise RuntimeError(f"pad of {input.shape} by {tuple(pad)}: give two numbers for each dimension, "
                           f"from the last one on, for at most {input.ndim}.")
    if mode not in ("constant", *MODES) or mode != "constant" and (
            some not in (1, 2, 3) or input.ndim - some not in (1, 2)):
        raise NotImplementedError(f"pad of {input.shape} by {tuple(pad)} in mode {mode!r}: there are "
                                  "'constant' for any shape; 'reflect', 'replicate' and 'circular' for "
                                  "the last 1 to 3 dimensions of (N, C, ...) or (C, ...), all but N and "
                                  "C.")
    pads = [(0, 0)] * (input.ndim - some) + [tuple(pad[2 * i:2 * i + 2]) for i in reversed(range(some))]
    for dim, (n, (before, after)) in list(enumerate(zip(input.shape, pads)))[input.ndim - some:]:
        most = float("inf") if mode == "constant" else MODES[mode][1](n)
        if max(before, after) > most:
            raise RuntimeError(f"pad of {input.shape} in mode {mode!r}: dimension {dim} has {n} numbers, "
                               f"enough for {most} on each side, not for {max(before, after)}.")
        if n + before + after < (mode != "constant") or n + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError(f"pad of {input.shape} by {tuple(pad)}: nothing is left of dimension {dim}.")
    return pads


# %% [markdown]
# ## Layers
#
# One class for all; the numbers in the names are only for how many dimensions a single number stands.

# %%
#| export
class Padding(Module):
    """`pad` as a layer. padding: one number for all sides, or one for each, as `pad` takes them."""
    sides, mode, value = 2, "constant", 0.0

    def __init__(self, padding):
        super().__init__()
        self.padding = (padding,) * self.sides if isinstance(padding, int) else tuple(padding)

    def forward(self, input): return pad(input, self.padding, self.mode, self.value)
    def extra_repr(self): return f"{self.padding}"


class ConstantPad(Padding):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def extra_repr(self): return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(ConstantPad): sides = 2
class ConstantPad2d(ConstantPad): sides = 4
class ConstantPad3d(ConstantPad): sides = 6
class ZeroPad1d(Padding): sides = 2
class ZeroPad2d(Padding): sides = 4
class ZeroPad3d(Padding): sides = 6
class ReflectionPad1d(Padding): mode, sides = "reflect", 2
class ReflectionPad2d(Padding): mode, sides = "reflect", 4
class ReflectionPad3d(Padding): mode, sides = "reflect", 6
class ReplicationPad1d(Padding): mode, sides = "replicate", 2
class ReplicationPad2d(Padding): mode, sides = "replicate", 4
class ReplicationPad3d(Padding): mode, sides = "replicate", 6



class CircularPad(Padding):
    mode = "circular"

    def forward(self, input):
        """Raises ValueError unless the input is (N, C, ...) or (C, ...), as PyTorch does here alone."""
        if input.ndim - self.sides // 2 not in (1, 2):
            raise ValueError(f"{type(self).__name__} of {input.shape}: it takes {self.sides // 2} dimensions "
                             "after (N, C) or (C,).")
        return super().forward(input)


class CircularPad1d(CircularPad): sides = 2
class CircularPad2d(CircularPad): sides = 4
class CircularPad3d(CircularPad): sides = 6
