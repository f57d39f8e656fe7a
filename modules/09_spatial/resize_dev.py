# %% [markdown]
# # Other sizes
#
# Given code: nothing to solve here. `interpolate` asks for each new pixel where it stands between the old
# ones, and mixes those around it. Height and width are asked one after the other. 3 pixels made 4 wide by
# "linear":
#
# | new pixel | 0 | 1 | 2 | 3 |
# |---|---|---|---|---|
# | stands at | 0 | 0.625 | 1.375 | 2 |
# | of the pixel before it | 1 | 0.375 | 0.625 | 1 |
# | of the one behind it | 0 | 0.625 | 0.375 | 0 |
#
# (pixel 1 stands at 0.75 · 1.5 - 0.5 = 0.625: five eighths of the way from old pixel 0 to old pixel 1).

# %%
#| default_exp nn.resize

# %%
import math

import numpy as np
from places_dev import taken

from tinytorch.core.backend import array_module
from tinytorch.core.dtypes import float16, float32, float64
from tinytorch.nn.module import Module

# %% [markdown]
# ## Where a new pixel stands
#
# Each function gives the places (k, new) of the old pixels around each new one, and their shares (k, new).
# Places outside are the border's.

# %%
#| export
def positions(xp, n, size, scale, align_corners, dtype):
    """Where each of `size` new pixels stands among n old ones, in old pixels from the first one's centre.

    scale: how much larger the picture was asked to be, or None: as much as the sizes say.
    """
    new = xp.arange(size, dtype=float64)               # PyTorch rounds once: exact until here
    width = float(step(n, size, scale, align_corners, dtype))
    return (width * new if align_corners else width * (new + 0.5) - 0.5).astype(dtype)


def step(n, size, scale, align_corners, dtype):
    """The distance of new pixels, in old ones. With align_corners the corner pixels' centres stay."""
    if align_corners:
        return dtype.type((n - 1) / (size - 1) if size > 1 else 0)
    return dtype.type(1 / scale if scale else n / size)


def inside(places, n): return places.astype("int64").clip(0, n - 1)


def linear(xp, n, at):
    """The pixel before `at` and the one behind it."""
    at = np.maximum(at, 0)
    first = np.floor(at)
    return inside(xp.stack([first, first + 1]), n), xp.stack([1 - (at - first), at - first])


def near(t, a): return ((a + 2) * t - (a + 3)) * t * t + 1         # the cubic for distances to 1
def far(t, a): return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a    # and from 1 to 2: Keys, 1981


def cubic(xp, n, at, a=-0.75):
    """Two pixels before `at` and two behind it."""
    first = np.floor(at)
    t = at - first
    return (inside(xp.stack([first - 1, first, first + 1, first + 2]), n),
            xp.stack([far(t + 1, a), near(t, a), near(1 - t, a), far(2 - t, a)]))


def smooth(xp, n, size, width, curve, dtype):
    """As Pillow resizes. In a smaller picture a pixel mixes all that it covers, not 2 or 4.

    width: the distance of new pixels, in old ones; so much wider is the curve that gives the shares.
    """
    reach = max(float(width), 1.0) * (2 if curve is cubic else 1)
    centre = (xp.arange(size, dtype=dtype) + dtype.type(0.5)) * width
    places = np.floor(centre - reach) + xp.arange(2 * math.ceil(reach) + 1, dtype=dtype)[:, None]
    away = abs(places - centre + dtype.type(0.5)) / max(width, dtype.type(1))
    if curve is cubic:
        shares = xp.where(away < 1, near(away, -0.5), xp.where(away < 2, far(away, -0.5), 0))
    else:
        shares = (1 - away).clip(0)
    shares = shares * ((places >= 0) & (places < n))
    return inside(places, n), shares / shares.sum(0)


def covered(xp, n, size):
    """(places, how many): the old pixels that each of `size` new ones covers, in part or whole.

    A short list ends with its last place again and again.

    >>> places, count = covered(np, 5, 3)
    >>> places.T.tolist(), count.tolist()
    ([[0, 1, 1], [1, 2, 3], [3, 4, 4]], [2, 3, 2])
    """
    new, size = xp.arange(size), max(size, 1)
    start, stop = new * n // size, -(-(new + 1) * n // size)
    longest = max([-(-(i + 1) * n // size) - i * n // size for i in range(size)])
    return (start + xp.arange(longest)[:, None]).clip(None, stop - 1), stop - start


def area(xp, n, size, dtype):
    """All the pixels that a new one covers, equally."""
    places, count = covered(xp, n, size)
    return places, (xp.arange(len(places))[:, None] < count) / count.astype(dtype)


def nearest(xp, n, size, scale, exact, dtype):
    """The one old pixel for each new one. "nearest" takes a corner for its position, "-exact" the centre."""
    at = (xp.arange(size, dtype=dtype) + dtype.type(0.5 if exact else 0)) * step(n, size, scale, False, dtype)
    return inside(np.floor(at), n)[None], None


def around_each(xp, n, size, scale, mode, align_corners, antialias, dtype):
    """(places, shares) for one dimension in any mode."""
    if mode.startswith("nearest"):
        return nearest(xp, n, size, scale, mode == "nearest-exact", float64 if dtype == float64 else float32)
    if mode == "area":
        return area(xp, n, size, dtype)
    curve = cubic if mode in CUBIC else linear
    if antialias:
        return smooth(xp, n, size, step(n, size, scale, align_corners, dtype), curve, dtype)
    return curve(xp, n, positions(xp, n, size, scale, align_corners, dtype))


# %% [markdown]
# ## One dimension after the other

# %%
#| export
LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}  # for how many dimensions each is
CUBIC = {"bicubic": 2}
MODES = ("nearest", "nearest-exact", "area", *LINEAR, *CUBIC)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None,
                recompute_scale_factor=None, antialias=False):
    """`input` (N, C, ...) with 1 to 3 dimensions of pixels, resized to `size` or by `scale_factor`.

    mode: "nearest", "nearest-exact", "area", "linear" (one dimension), "bilinear", "bicubic" (two) or
    "trilinear" (three). align_corners: the corner pixels' centres stay where they are, else their outer
    corners. A scale_factor is also the step between pixels, unless recompute_scale_factor: then the sizes
    say. antialias (bilinear, bicubic): a smaller picture mixes all pixels, as Pillow does. Raises ValueError
    for arguments that contradict each other, NotImplementedError for a mode that the input's dimensions do
    not have.

    >>> interpolate(tensor([[[0., 8.]]]), size=4, mode="linear").tolist()
    [[[0.0, 2.0, 6.0, 8.0]]]
    """
    check_mode(input, mode, align_corners, antialias)
    sizes, scales = sizes_and_scales(input, size, scale_factor, recompute_scale_factor)
    xp, dtype = array_module(input.data), input.dtype
    if not mode.startswith("nearest"):
        if dtype.kind != "f":
            raise NotImplementedError(f"interpolate of {dtype} numbers by {mode!r}: mixtures have fractions. "
                                      "Convert them first: x.float(). Or take the 'nearest'.")
        if dtype == float16:
            return interpolate(input.float(), size, scale_factor, mode, align_corners,
                               recompute_scale_factor, antialias).half()
    for dim, new, scale in zip(range(2, input.ndim), sizes, scales):
        n = input.shape[dim]
        if new != n or mode in CUBIC or mode.startswith("nearest"):    # else each pixel stays
            input = taken(input, dim, *around_each(xp, n, new, scale, mode, align_corners, antialias, dtype))
    return input


def check_mode(input, mode, align_corners, antialias):
    """Raise unless the input's dimensions have the mode, and the mode has the options."""
    pixels = input.ndim - 2
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(f"interpolate: antialias is for bilinear and bicubic, not for {mode!r}.")
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise ValueError(f"interpolate: align_corners is for the linear and cubic modes; {mode!r} does "
                         "not ask where corners are. Leave it out.")
    if mode not in MODES or not 1 <= pixels <= 3 or (LINEAR | CUBIC).get(mode, pixels) != pixels:
        raise NotImplementedError(f"interpolate of {input.shape} by {mode!r}: the input is (N, C, ...) "
                                  "with 1, 2 or 3 dimensions of pixels, and the modes are "
                                  f"{', '.join(MODES)}: linear for 1, bilinear and bicubic for 2, "
                                  "trilinear for 3.")


def sizes_and_scales(input, size, scale_factor, recompute):
    """The new sizes, and the scales that decide where pixels stand, None where the sizes do."""
    pixels = input.shape[2:]
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor.")
    if recompute and scale_factor is None:
        raise ValueError("interpolate: recompute_scale_factor means nothing without a scale_factor.")
    name, asked = ("size", size) if scale_factor is None else ("scale_factor", scale_factor)
    asked = tuple(asked) if isinstance(asked, (tuple, list)) else (asked,) * len(pixels)
    if len(asked) != len(pixels):
        raise ValueError(f"interpolate of {input.shape}: {name} {asked} must be one number, or "
                         f"{len(pixels)}, one for each dimension after (N, C).")
    if scale_factor is None and any(not isinstance(n, int) for n in asked):
        raise TypeError(f"interpolate: size {asked} must be whole numbers. A factor is scale_factor.")
    sizes = asked if scale_factor is None else [int(n * s) for n, s in zip(pixels, asked)]
    if min(*sizes, *input.shape[1:]) < 1:
        raise RuntimeError(f"interpolate of {input.shape} to {tuple(sizes)}: every size but N's must be 1 or "
                           "more.")
    return sizes, [None] * len(pixels) if scale_factor is None or recompute else asked


# %% [markdown]
# ## Channels for pixels

# %%
#| export
def pixel_shuffle(input, upscale_factor):
    """(..., C r², H, W) as (..., C, H r, W r): r² channels become a square of pixels. arXiv:1609.05158."""
    r, (c, h, w) = upscale_factor, last_three("pixel_shuffle", input, upscale_factor)
    if c % (r * r):
        raise RuntimeError(f"pixel_shuffle of {input.shape} by {r}: {c} channels must be a multiple of "
                           f"{r * r}.")
    lead, n = input.shape[:-3], input.ndim - 3
    apart = input.reshape(*lead, c // (r * r), r, r, h, w)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)                       # C, H, r, W, r
    return apart.permute(order).reshape(*lead, c // (r * r), h * r, w * r)


def pixel_unshuffle(input, downscale_factor):
    """(..., C, H r, W r) as (..., C r², H, W): the way back of `pixel_shuffle`."""
    r, (c, h, w) = downscale_factor, last_three("pixel_unshuffle", input, downscale_factor)
    if h % r or w % r:
        raise RuntimeError(f"pixel_unshuffle of {input.shape} by {r}: {h} and {w} must be multiples of "
                           f"{r}.")
    lead, n = input.shape[:-3], input.ndim - 3
    apart = input.reshape(*lead, c, h // r, r, w // r, r)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)                       # C, r, r, H, W
    return apart.permute(order).reshape(*lead, c * r * r, h // r, w // r)


def last_three(name, input, factor):
    """The sizes C, H, W of `input`, if it has them and the factor is a factor."""
    if input.ndim < 3 or factor < 1:
        raise RuntimeError(f"{name} of {input.shape} by {factor}: it takes (..., C, H, W) and a factor of "
                           "1 or more.")
    return input.shape[-3:]


# %% [markdown]
# ## Layers

# %%
#| export
class Upsample(Module):
    """`interpolate` as a layer."""
    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None,
                 recompute_scale_factor=None):
        super().__init__()
        self.size = tuple(size) if isinstance(size, (tuple, list)) else size
        many = isinstance(scale_factor, (tuple, list))
        self.scale_factor = tuple(map(float, scale_factor)) if many else scale_factor and float(scale_factor)
        self.mode, self.align_corners = mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        return interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                           self.recompute_scale_factor)

    def extra_repr(self):
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    def __init__(self, size=None, scale_factor=None): super().__init__(size, scale_factor, "nearest")
class UpsamplingBilinear2d(Upsample):
    def __init__(self, size=None, scale_factor=None): super().__init__(size, scale_factor, "bilinear", True)


class PixelShuffle(Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input): return pixel_shuffle(input, self.upscale_factor)
    def extra_repr(self): return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input): return pixel_unshuffle(input, self.downscale_factor)
    def extra_repr(self): return f"downscale_factor={self.downscale_factor}"
