# Generated from modules/08_dataloader/dataloader_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2157eecb930d0116b6ee478b555c2e8cd4b7badab00d885f6bfe4a4c81b42b34  body sha256 48eae4b8b925db2bb1b3e4c49a6b9993f3b173dd65d2c36ed573ce85c0243e70  # noqa: E501
"""data.transforms: built in module 08_dataloader."""

import numpy as np

from tinytorch.core.creation import randint
from tinytorch.data.more_transforms import Transform, check_channels, enlarged, pair

__all__ = ["Normalize", "RandomCrop"]


class Normalize(Transform):
    """Each channel with its mean subtracted, divided by its deviation: (..., C, H, W), floats.

    mean and std: C numbers each, or one for all channels. They come from the training data alone.
    """
    def __init__(self, mean, std):
        self.mean, self.std = [np.asarray(v, dtype="float64").reshape(-1).tolist() for v in (mean, std)]
        if 0 in self.std:
            raise ValueError(f"Normalize: std={self.std}: dividing by 0. Leave out constant channels.")

    def forward(self, x):
        """x with each channel shifted and scaled, in a new tensor of the same dtype.

        >>> Normalize([0.5, 0.0], [0.5, 2.0])(Tensor([[[1., 0.]], [[4., 2.]]])).tolist()
        [[[1.0, -1.0]], [[2.0, 1.0]]]
        """
        check_channels(x, self.mean, self.std)
        mean, std = [x.new_tensor(numbers).reshape(-1, 1, 1) for numbers in (self.mean, self.std)]
        return (x - mean) / std


class RandomCrop(Transform):
    """A window of this size at a random place, (..., H, W) to (..., h, w), after `padding` pixels were added.

    size: h and w, or one number. padding, fill, padding_mode: as in Pad. pad_if_needed: also add what is
    missing to the size, on both sides. Raises ValueError if the picture is smaller than the window.
    """
    def __init__(self, size, padding=None, pad_if_needed=False, fill=0, padding_mode="constant"):
        self.size, self.padding, self.pad_if_needed = pair("size", size), padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode

    def forward(self, x):
        """The window, with every possible place equally likely.

        >>> RandomCrop(28, padding=2)(Tensor(np.zeros((1, 28, 28)))).shape
        (1, 28, 28)
        """
        x = enlarged(x, self.size, self.padding, self.pad_if_needed, self.fill, self.padding_mode)
        (h, w), (height, width) = self.size, x.shape[-2:]
        top = randint(height - h + 1, (1,)).item()
        left = randint(width - w + 1, (1,)).item()
        return x[..., top:top + h, left:left + w]
