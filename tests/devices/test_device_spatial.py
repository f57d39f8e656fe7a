"""Module 09 on a device: every op, layer and function gives the CPU's numbers, and nothing crosses over."""
import importlib

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn import functional as F

from .alike import close, layer_alike, op_alike
from .strict import traffic

samples = importlib.import_module("..09_spatial.samples", __package__)
OPS = samples.all_ops()
rng = np.random.default_rng(4)


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_op(name, device):
    """Results and first and second derivatives stay there and are the CPU's"""
    op_alike(OPS[name], samples.SAMPLES[name], device)


ROWS, PICTURES = (2, 4, 9), (2, 4, 7, 6)
LAYERS = {
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, padding="same", groups=2), ROWS),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, 2, 1), PICTURES),
    "Conv2d reflecting": (lambda: nn.Conv2d(4, 2, (3, 2), padding=1, padding_mode="reflect"), PICTURES),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(4, 3, 3, 2, 1, 1), ROWS),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2), PICTURES),
    "MaxPool1d": (lambda: nn.MaxPool1d(3, 2, 1), ROWS), "MaxPool2d": (lambda: nn.MaxPool2d(2), PICTURES),
    "AvgPool1d": (lambda: nn.AvgPool1d(3, 2, 1), ROWS),
    "AvgPool2d": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), PICTURES),
    "LPPool2d": (lambda: nn.LPPool2d(2, 2), PICTURES),
    "AdaptiveAvgPool1d": (lambda: nn.AdaptiveAvgPool1d(4), ROWS),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((3, None)), PICTURES),
    "AdaptiveMaxPool1d": (lambda: nn.AdaptiveMaxPool1d(4), ROWS),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d((3, 4)), PICTURES),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(4), ROWS), "BatchNorm2d": (lambda: nn.BatchNorm2d(4), PICTURES),
    "BatchNorm2d in eval": (lambda: nn.BatchNorm2d(4).eval(), PICTURES),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True), PICTURES),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), PICTURES),
    "Unfold": (lambda: nn.Unfold(2, padding=1), PICTURES),
    "Fold": (lambda: nn.Fold((4, 3), (2, 1)), (2, 4, 9)),
    "PixelUnshuffle": (lambda: nn.PixelUnshuffle(1), PICTURES),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), PICTURES),
    "nearest": (lambda: nn.Upsample(scale_factor=1.7), PICTURES),
    "bilinear": (lambda: nn.Upsample((5, 9), mode="bilinear"), PICTURES),
    "bicubic": (lambda: nn.Upsample((5, 9), mode="bicubic", align_corners=True), PICTURES),
    "area": (lambda: nn.Upsample((5, 3), mode="area"), PICTURES),
    "ZeroPad2d": (lambda: nn.ZeroPad2d(1), PICTURES),
    "ReflectionPad1d": (lambda: nn.ReflectionPad1d((2, 1)), ROWS),
    "ReplicationPad2d": (lambda: nn.ReplicationPad2d(2), PICTURES),
    "CircularPad2d": (lambda: nn.CircularPad2d((1, 2, -1, 3)), PICTURES),
    "Dropout2d in eval": (lambda: nn.Dropout2d(0.5).eval(), PICTURES),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, device):
    """Output, buffers and gradients of input and parameters"""
    make, shape = LAYERS[name]
    layer_alike(make, rng.normal(size=shape).astype("float32"), device)


def test_a_pool_and_back(device):
    """Indices live where the picture lives, and lead back"""
    x = rng.normal(size=PICTURES).astype("float32")

    def run(where):
        largest, index = F.max_pool2d(torch.tensor(x, device=where), 2, 2, return_indices=True)
        return largest, index, F.max_unpool2d(largest, index, 2, 2, output_size=(7, 6))

    for g, e in zip(run(device), run("cpu")):
        close(g, e)


def test_channels_are_dropped_on_the_device(device):
    x = torch.ones(50, 40, 3, 3, device=device, requires_grad=True)
    traffic.clear()
    out = F.dropout2d(x, 0.25)
    out.sum().backward()
    assert traffic.counts() == (0, 0, 0)
    whole = out.sum((2, 3))
    assert sorted(set(whole.round(decimals=3).reshape(-1).tolist())) == pytest.approx([0., 12.])
    close(x.grad, out.detach().cpu())
