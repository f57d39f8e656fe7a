"""Losses as classes: PyTorch's module samples; values and gradients, and PyTorch's wrong calls."""
import pytest
import torch

from . import modules

LOSSES = ["MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCELoss", "BCEWithLogitsLoss",
          "CrossEntropyLoss", "NLLLoss", "KLDivLoss"]
OFFERED = [name for name in modules.offered(LOSSES) if name.endswith("Loss")]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", OFFERED)
def test_losses(name, dtype):
    "A loss gives PyTorch's value and gradients, for each reduction, weight and target"
    modules.run(name, dtype, training=True)


@pytest.mark.parametrize("name", [name for name in OFFERED if modules.wrong_calls(name)])
def test_wrong_calls(name):
    "PyTorch's wrong calls of a loss raise PyTorch's class of error"
    modules.check_wrong_calls(name)
