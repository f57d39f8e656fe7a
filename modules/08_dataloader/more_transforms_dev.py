# %% [markdown]
# # Transforms for pictures
#
# Given code: nothing to solve here. A transform takes one picture, (C, H, W), and gives another. The
# lesson builds `Normalize` and `RandomCrop`; these are the others, with torchvision's names. All of them
# look at the last two axes only, so they take a whole batch too, but then every picture of it gets the
# same crop or flip.

# %%
#| default_exp data.more_transforms

# %%
import numpy as np

from tinytorch.core.backend import is_array
from tinytorch.core.creation import from_numpy, rand, randint
from tinytorch.core.tensor import Tensor

# %%
#| export
class Transform:
    """Changes a picture, a tensor or an array (..., H, W); a subclass defines `forward(x)`, for tensors.

    Random ones draw from the default generator. The result may share memory with the picture.
    """
    def __call__(self, x):
        x = from_numpy(x) if is_array(x) else x
        if not isinstance(x, Tensor):
            raise TypeError(f"{type(self).__name__} got {type(x).__name__}: it takes a tensor or an array "
                            "(..., H, W). ToTensor() makes one of a photograph.")
        if x.ndim < 2:
            raise ValueError(f"{type(self).__name__} got {x.shape}: a picture is (..., H, W). Reshape it.")
        return self.forward(x)

    def forward(self, x): raise NotImplementedError(f"{type(self).__name__} must define forward(x).")

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in vars(self).items())})"


def pair(name, size):
    """A height and a width from one number, or two."""
    two = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    two = two * 2 if len(two) == 1 else two
    if len(two) != 2 or not all(isinstance(n, int) and n > 0 for n in two):
        raise ValueError(f"{name}={size!r}: a number of pixels, or (height, width), 1 or more.")
    return two


def by_chance(p):
    """True with probability p."""
    return rand(1).item() < p


def check_chance(p):
    if not 0 <= p <= 1:
        raise ValueError(f"p={p!r}: a probability is between 0 and 1.")
    return p


# %% [markdown]
# ## More pixels around
#
# Padding comes as PyTorch takes it: one number for all sides, two for left and right, top and bottom, or
# four for left, top, right, bottom.

# %%
#| export
MODES = "constant", "edge", "reflect", "symmetric"


def four_sides(padding):
    """(left, top, right, bottom) from one, two or four numbers."""
    sides = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,)
    if len(sides) not in (1, 2, 4) or not all(isinstance(n, int) and n >= 0 for n in sides):
        raise ValueError(f"padding={padding!r}: one number of pixels, two (sides, top and bottom), or four "
                         "(left, top, right, bottom), 0 or more.")
    return (sides * 4)[:4]


def padded(x, padding, fill=0, mode="constant"):
    """x (..., H, W) with more pixels around: of the colour `fill`, or made from those at the border.

    >>> padded(Tensor([[1, 2]]), 1).tolist()
    [[0, 0, 0, 0], [0, 1, 2, 0], [0, 0, 0, 0]]
    """
    left, top, right, bottom = four_sides(padding)
    h, w = x.shape[-2:]
    if mode == "constant":
        out = x.new_full((*x.shape[:-2], top + h + bottom, left + w + right), fill)
        out[..., top:top + h, left:left + w] = x
        return out
    if mode not in MODES:
        raise ValueError(f"padding_mode={mode!r}: there are {', '.join(MODES)}.")
    rows, columns = [np.pad(np.arange(n), around, mode).tolist()       # where each pixel comes from
                     for n, around in ((h, (top, bottom)), (w, (left, right)))]
    return x[..., rows, :][..., columns]


class Pad(Transform):
    """More pixels around the picture."""
    def __init__(self, padding, fill=0, padding_mode="constant"):
        self.padding, self.fill, self.padding_mode = four_sides(padding), fill, padding_mode

    def forward(self, x): return padded(x, self.padding, self.fill, self.padding_mode)


class CenterCrop(Transform):
    """The middle of the picture, of this size; a smaller picture gets zeros around."""
    def __init__(self, size): self.size = pair("size", size)

    def forward(self, x):
        (h, w), (height, width) = self.size, x.shape[-2:]
        left, top = max(0, w - width) // 2, max(0, h - height) // 2
        x = padded(x, (left, top, max(0, w - width) - left, max(0, h - height) - top))
        top, left = round((x.shape[-2] - h) / 2), round((x.shape[-1] - w) / 2)
        return x[..., top:top + h, left:left + w]


# %% [markdown]
# ## Of the two transforms of the lesson, what carries no idea

# %%
#| export
def check_channels(x, mean, std):
    """TypeError unless x holds floats, ValueError unless it is (..., C, H, W) with C means and deviations."""
    if x.dtype.kind != "f":
        raise TypeError(f"Normalize got {x.dtype}: it takes floats. Convert first: x.float() / 255.")
    channels, sizes = x.shape[-3] if x.ndim > 2 else 0, (len(mean), len(std))
    if not channels or not {1, channels}.issuperset(sizes):
        raise ValueError(f"Normalize got {x.shape}: with {sizes[0]} means and {sizes[1]} deviations it takes "
                         f"(..., C, H, W) with C = {max(sizes)}.")


def enlarged(x, size, padding, pad_if_needed, fill, mode):
    """x with padding, such that a window of this size fits; ValueError if it does not."""
    if padding is not None:
        x = padded(x, padding, fill, mode)
    (h, w), (height, width) = size, x.shape[-2:]
    if pad_if_needed:
        x = padded(x, (max(0, w - width), max(0, h - height)), fill, mode)
    elif h > height or w > width:
        raise ValueError(f"RandomCrop: a window of {h} by {w} does not fit into {height} by {width} pixels. "
                         "Take a smaller size, or padding=, or pad_if_needed=True.")
    return x


# %% [markdown]
# ## By chance

# %%
#| export
class RandomHorizontalFlip(Transform):
    """Left and right exchanged, with probability p. Fine for cats, wrong for digits and text."""
    def __init__(self, p=0.5): self.p = check_chance(p)
    def forward(self, x): return x.flip(-1) if by_chance(self.p) else x


class RandomVerticalFlip(Transform):
    """Top and bottom exchanged, with probability p."""
    def __init__(self, p=0.5): self.p = check_chance(p)
    def forward(self, x): return x.flip(-2) if by_chance(self.p) else x


class RandomErasing(Transform):
    """A rectangle of the picture painted over, with probability p (Zhong et al., 2020).

    scale: the share of the picture, from and to. ratio: height over width, from and to.
    """
    def __init__(self, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0):
        self.p, self.scale, self.ratio, self.value = check_chance(p), tuple(scale), tuple(ratio), value

    def forward(self, x):
        if not by_chance(self.p):
            return x
        height, width = x.shape[-2:]
        for _ in range(10):                            # until one fits
            u = rand(2).tolist()
            area = height * width * (self.scale[0] + u[0] * (self.scale[1] - self.scale[0]))
            ratio = self.ratio[0] * (self.ratio[1] / self.ratio[0]) ** u[1]
            h, w = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
            if 0 < h < height and 0 < w < width:
                top, left = randint(height - h + 1, (1,)).item(), randint(width - w + 1, (1,)).item()
                out = x.clone()
                out[..., top:top + h, left:left + w] = self.value
                return out
        return x


# %% [markdown]
# ## One after the other, and from photographs

# %%
#| export
class Compose:
    """Transforms, one after the other."""
    def __init__(self, transforms): self.transforms = list(transforms)

    def __call__(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def __repr__(self): return f"Compose({self.transforms})"


class Lambda:
    """A function of yours among the transforms."""
    def __init__(self, lambd):
        if not callable(lambd):
            raise TypeError(f"Lambda takes a function, not {type(lambd).__name__}.")
        self.lambd = lambd

    def __call__(self, x): return self.lambd(x)


class ToTensor:
    """A photograph (H, W, C) or (H, W) as a float32 tensor (C, H, W); bytes 0 to 255 become 0 to 1.

    Takes an array, or a PIL image. Floats keep their values. A tensor is returned as it is: the pictures of
    `MNIST` are tensors from the beginning, where torchvision has images.
    """
    def __call__(self, picture):
        if isinstance(picture, Tensor):
            return picture
        array = np.asarray(picture)
        if array.ndim not in (2, 3):
            raise ValueError(f"ToTensor got {array.shape}: a photograph is (H, W) or (H, W, C).")
        array = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
        return from_numpy(array.astype("float32") / 255 if array.dtype == "uint8" else array.copy())
