# Generated from modules/09_spatial/spatial_layers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 c8e37c2913b943f49c05380574cc968dbc4ea04b5a6aac4adbb38ca13006b666  body sha256 71f3f84e6ffc67dd4929af8f33110129cb7501768301c24edfe6c6699b55d51f  # noqa: E501
"""nn.spatial_layers: built in module 09_spatial."""

import math

from tinytorch.core.creation import empty, rand
from tinytorch.nn.floats import refuse_integers
from tinytorch.nn.initializers import fans, kaiming_uniform_, uniform_
from tinytorch.nn.layers import Dropout, scaled_mask
from tinytorch.nn.module import Module
from tinytorch.nn.more_pooling import (
    adaptive_avg_pool1d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    avg_pool1d,
    lp_pool1d,
    lp_pool2d,
    max_pool1d,
    max_unpool1d,
    max_unpool2d,
)
from tinytorch.nn.more_spatial import conv1d, conv_transpose1d, conv_transpose2d, fold, unfold
from tinytorch.nn.padding import pad
from tinytorch.nn.parameter import Parameter
from tinytorch.nn.pooling import adaptive_avg_pool2d, avg_pool2d, max_pool2d
from tinytorch.nn.spatial import conv2d, same_padding

__all__ = [
    "AdaptiveAvgPool", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveMaxPool",
    "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AvgPool1d", "AvgPool2d", "ChannelDropout", "Conv1d",
    "Conv2d", "ConvBase", "ConvTranspose1d", "ConvTranspose2d", "Convolution", "Dropout1d",
    "Dropout2d", "Dropout3d", "Fold", "LPPool", "LPPool1d", "LPPool2d", "MaxPool", "MaxPool1d",
    "MaxPool2d", "MaxUnpool", "MaxUnpool1d", "MaxUnpool2d", "Pool", "Transposed", "Unfold",
    "dropout1d", "dropout2d", "dropout3d", "dropped_channels", "each",
]


def each(value, n): return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


class ConvBase(Module):
    """What the convolutions share: their numbers, checked, and a weight and bias drawn from them.

    Raises ValueError for channels that groups do not divide, and for a padding or mode that is none.
    """
    dims, transposed = 2, False

    def _start(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation,
               groups, bias, padding_mode, device, dtype):
        super().__init__()
        word = padding if isinstance(padding, str) else None
        kernel_size, stride, dilation = [each(v, self.dims) for v in (kernel_size, stride, dilation)]
        self._check(in_channels, out_channels, stride, word, groups, padding_mode)
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation = stride, word or each(padding, self.dims), dilation
        self.output_padding, self.groups = each(output_padding, self.dims), groups
        self.padding_mode = padding_mode
        channels = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = channels[0], channels[1] // groups, *kernel_size
        self.weight = Parameter(empty(*shape, dtype=dtype, device=device))
        self.bias = Parameter(empty(out_channels, dtype=dtype, device=device)) if bias else None
        self.reset_parameters()

    def _check(self, in_channels, out_channels, stride, word, groups, padding_mode):
        name = type(self).__name__
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(f"{name}: groups={groups} must be 1 or more, and divide the {in_channels} "
                             f"channels in and the {out_channels} out.")
        if word not in (None, "same", "valid") or word == "same" and any(s != 1 for s in stride):
            raise ValueError(f"{name}: padding={word!r} with stride {stride}. The words are 'valid' and, "
                             "if the stride is 1, 'same'.")
        modes = ("zeros",) if self.transposed else ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            raise ValueError(f"{name}: padding_mode={padding_mode!r}, there is {', '.join(modes)}.")

    def reset_parameters(self):
        """Draw the numbers anew, as the constructor did."""
        kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(fans(self.weight)[0])
            uniform_(self.bias, -bound, bound)

    def extra_repr(self):
        n, said = self.dims, [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
                              f"stride={self.stride}"]
        for name, usual in ("padding", (0,) * n), ("dilation", (1,) * n), ("output_padding", (0,) * n), (
                "groups", 1):
            if getattr(self, name) != usual:
                said.append(f"{name}={getattr(self, name)}")
        said += ["bias=False"] * (self.bias is None)
        said += [f"padding_mode={self.padding_mode}"] * (self.padding_mode != "zeros")
        return ", ".join(said)


class Convolution(ConvBase):
    """What Conv1d and Conv2d share."""
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1,
                 bias=True, padding_mode="zeros", device=None, dtype=None):
        self._start(in_channels, out_channels, kernel_size, stride, padding, 0, dilation, groups, bias,
                    padding_mode, device, dtype)

    def arguments(self, input):
        """What the function is called with; the input is padded already, unless by zeros."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = pad(input, self.margins(), self.padding_mode), 0
        return input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups

    def margins(self):
        """The padding as `pad` takes it: from the last dimension on, before and after."""
        if self.padding == "same":
            both = map(same_padding, self.kernel_size, self.dilation)
        else:
            both = [(p, p) for p in ((0,) * self.dims if self.padding == "valid" else self.padding)]
        return [p for pair in reversed(list(both)) for p in pair]


class Conv1d(Convolution):
    """`conv1d` with a weight (out_channels, in_channels / groups, kernel_size); see Conv2d."""
    dims = 1
    def forward(self, input): return conv1d(*self.arguments(input))


class Conv2d(Convolution):
    """`conv2d` with a weight (out_channels, in_channels / groups, *kernel_size) and a bias (out_channels,).

    kernel_size, stride, padding and dilation: one number, or (height, width); padding also "same" or
    "valid". padding_mode: what stands in the padding, "zeros" or a mode of `pad`.

    >>> Conv2d(1, 32, 3, padding=1)(zeros(5, 1, 28, 28)).shape
    (5, 32, 28, 28)
    """
    dims = 2
    def forward(self, input): return conv2d(*self.arguments(input))


class Transposed(ConvBase):
    """What both share: `layer(input, output_size)` picks the output_padding that leads to that size."""
    transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0,
                 groups=1, bias=True, dilation=1, padding_mode="zeros", device=None, dtype=None):
        self._start(in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups,
                    bias, padding_mode, device, dtype)

    def arguments(self, input, output_size):
        """What the function is called with."""
        more = self.output_padding if output_size is None else self.padding_for(input, list(output_size))
        return input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation

    def padding_for(self, input, output_size):
        """The output_padding with which the result has output_size, which may name all dimensions."""
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in zip(
            input.shape[-self.dims:], self.stride, self.padding, self.dilation, self.kernel_size)]
        if len(output_size) == input.ndim:
            output_size = output_size[-self.dims:]
        if len(output_size) != self.dims or any(
                not m <= n < m + s for n, m, s in zip(output_size, least, self.stride)):
            raise ValueError(f"{type(self).__name__} of {input.shape}: output_size {output_size} must "
                             f"have {self.dims} numbers, from {least} on and less than stride "
                             f"{self.stride} more.")
        return tuple([n - m for n, m in zip(output_size, least)])


class ConvTranspose1d(Transposed):
    """`conv_transpose1d` with a weight (in_channels, out_channels / groups, kernel_size)."""
    dims = 1
    def forward(self, input, output_size=None): return conv_transpose1d(*self.arguments(input, output_size))


class ConvTranspose2d(Transposed):
    """`conv_transpose2d` with a weight (in_channels, out_channels / groups, *kernel_size)."""
    dims = 2
    def forward(self, input, output_size=None): return conv_transpose2d(*self.arguments(input, output_size))


class Pool(Module):
    """Keeps the values of `names`, in the order in which the function wants them; prints those `shown`."""
    names, shown = (), None

    def __init__(self, *values):
        super().__init__()
        for name, value in zip(self.names, values):
            setattr(self, name, value)

    def values(self): return [getattr(self, name) for name in self.names]
    def extra_repr(self):
        return ", ".join([f"{name}={getattr(self, name)}" for name in self.names[:self.shown]])


class MaxPool(Pool):
    names, shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"), 5

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False,
                 ceil_mode=False):
        stride = kernel_size if stride is None else stride
        super().__init__(kernel_size, stride, padding, dilation, ceil_mode, return_indices)


class MaxPool1d(MaxPool):
    """`max_pool1d`: the largest number of each window. The stride is the kernel_size unless given."""
    def forward(self, input): return max_pool1d(input, *self.values())


class MaxPool2d(MaxPool):
    """`max_pool2d`: the largest number of each window. The stride is the kernel_size unless given."""
    def forward(self, input): return max_pool2d(input, *self.values())


class AvgPool1d(Pool):
    """`avg_pool1d`: the mean of each window. The stride is the kernel_size unless given."""
    names, shown = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"), 3

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        sizes = kernel_size, kernel_size if stride is None else stride, padding
        super().__init__(*[each(size, 1) for size in sizes], ceil_mode, count_include_pad)

    def forward(self, input): return avg_pool1d(input, *self.values())


class AvgPool2d(Pool):
    """`avg_pool2d`: the mean of each window. The stride is the kernel_size unless given."""
    names, shown = (*AvgPool1d.names, "divisor_override"), 3

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                 divisor_override=None):
        stride = kernel_size if stride is None else stride
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    def forward(self, input): return avg_pool2d(input, *self.values())


class LPPool(Pool):
    names = "norm_type", "kernel_size", "stride", "ceil_mode"

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__(norm_type, kernel_size, stride, ceil_mode)


class LPPool1d(LPPool):
    """`lp_pool1d`: the p-norm of each window."""
    def forward(self, input): return lp_pool1d(input, *self.values())


class LPPool2d(LPPool):
    """`lp_pool2d`: the p-norm of each window."""
    def forward(self, input): return lp_pool2d(input, *self.values())


class AdaptiveAvgPool(Pool):
    names = "output_size",
    def __init__(self, output_size): super().__init__(output_size)


class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """`adaptive_avg_pool1d`: the means of windows for a wanted size."""
    def forward(self, input): return adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(AdaptiveAvgPool):
    """`adaptive_avg_pool2d`: the means of windows for a wanted size."""
    def forward(self, input): return adaptive_avg_pool2d(input, self.output_size)


class AdaptiveMaxPool(Pool):
    names, shown = ("output_size", "return_indices"), 1
    def __init__(self, output_size, return_indices=False): super().__init__(output_size, return_indices)


class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """`adaptive_max_pool1d`: the largest numbers of windows for a wanted size."""
    def forward(self, input): return adaptive_max_pool1d(input, *self.values())


class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """`adaptive_max_pool2d`: the largest numbers of windows for a wanted size."""
    def forward(self, input): return adaptive_max_pool2d(input, *self.values())


class MaxUnpool(Pool):
    names, dims = ("kernel_size", "stride", "padding"), 2

    def __init__(self, kernel_size, stride=None, padding=0):
        sizes = kernel_size, kernel_size if stride is None else stride, padding
        super().__init__(*[each(size, self.dims) for size in sizes])


class MaxUnpool1d(MaxUnpool):
    """`max_unpool1d` of what MaxPool1d(..., return_indices=True) gave, and perhaps an output_size."""
    dims = 1
    def forward(self, input, indices, output_size=None):
        return max_unpool1d(input, indices, *self.values(), output_size)


class MaxUnpool2d(MaxUnpool):
    """`max_unpool2d` of what MaxPool2d(..., return_indices=True) gave, and perhaps an output_size."""
    def forward(self, input, indices, output_size=None):
        return max_unpool2d(input, indices, *self.values(), output_size)


class Unfold(Pool):
    """`unfold`: every window as a column."""
    names = "kernel_size", "dilation", "padding", "stride"

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size, dilation, padding, stride)

    def forward(self, input): return unfold(input, *self.values())


class Fold(Pool):
    """`fold`: columns put back and added."""
    names = "output_size", *Unfold.names

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(output_size, kernel_size, dilation, padding, stride)

    def forward(self, input): return fold(input, *self.values())


def dropped_channels(input, lead, p, training, inplace):
    """`input` with whole channels set to 0: what is drawn is one number for each of the first `lead` dims."""
    Dropout(p)                                         # ValueError if p is no probability
    if not training:
        return input
    refuse_integers("dropout", input)
    if inplace:
        return input._take_over(dropped_channels(input.clone(), lead, p, training, False))
    shape = input.shape[:lead] + (1,) * (input.ndim - lead)
    mask = rand(*shape, dtype=input.dtype, device=input.device) >= p
    return scaled_mask(input, mask, 1 / (1 - p) if p < 1 else 0.0)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """(N, C, L) or (C, L) with each channel set to 0 with probability p, the others divided by 1 - p."""
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d of {input.shape}: it takes (N, C, L) or (C, L).")
    return dropped_channels(input, input.ndim - 1, p, training, inplace)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """(N, C, H, W) with each channel set to 0 with probability p, the others divided by 1 - p.

    Three dimensions are (N, C, L), as in PyTorch. Raises RuntimeError for fewer than two.
    """
    if input.ndim < 2:
        raise RuntimeError(f"dropout2d of {input.shape}: it takes (N, C, H, W).")
    return dropped_channels(input, 2, p, training, inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """(N, C, D, H, W) or (C, D, H, W) with each channel set to 0 with probability p."""
    if input.ndim < 2:
        raise RuntimeError(f"dropout3d of {input.shape}: it takes (N, C, D, H, W) or (C, D, H, W).")
    return dropped_channels(input, 2 if input.ndim == 5 else 1, p, training, inplace)


class ChannelDropout(Module):
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        Dropout(p)                                     # ValueError if p is no probability
        self.p, self.inplace = p, inplace

    def extra_repr(self): return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(ChannelDropout):
    """`dropout1d` in training, nothing in evaluation."""
    def forward(self, input): return dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(ChannelDropout):
    """`dropout2d` in training, nothing in evaluation."""
    def forward(self, input): return dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(ChannelDropout):
    """`dropout3d` in training, nothing in evaluation."""
    def forward(self, input): return dropout3d(input, self.p, self.training, self.inplace)
