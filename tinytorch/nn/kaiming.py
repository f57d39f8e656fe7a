# Generated from modules/03_layers/layers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 82b998d80c89b026c5e85ffa28e10cccd9f7d0aec7037878de400e6cdd913338  body sha256 1f366f6a3c8513155b17c6db8f1bdde35c80606603e678f043b2105c0b1ba077  # noqa: E501
"""nn.kaiming: built in module 03_layers."""

import math

from tinytorch.nn.initializers import calculate_gain, fans, normal_

__all__ = ["kaiming_normal_"]


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fill a weight with normal numbers of deviation gain / √fan, and return it (He et al., 2015).

    a: the slope below 0 of a leaky relu (0: a plain relu). mode: "fan_in" keeps the size of the signal,
    "fan_out" that of the gradient. Raises ValueError for another mode.

    >>> round(float(kaiming_normal_(zeros(1000, 64)).data.std()), 2)
    0.18
    """
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"kaiming_normal_: mode is 'fan_in' or 'fan_out', got {mode!r}.")
    fan = fans(tensor)[mode == "fan_out"]
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)
