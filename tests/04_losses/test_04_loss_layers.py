"""Losses as modules: they remember their options, and give what the functions give."""
import math

import pytest

import tinytorch as torch
import tinytorch.nn as nn
import tinytorch.nn.functional as F

X, Y = torch.tensor([[0.5, -3.0], [2.0, 0.25]]), torch.tensor([[1.0, 0.0], [0.0, 0.5]])
CLASSES = torch.tensor([1, 0])
W = torch.tensor([1.0, 3.0])
P = F.sigmoid(X)

MADE = {
    "MSELoss": (nn.MSELoss, {}, (X, Y), lambda **how: F.mse_loss(X, Y, **how)),
    "L1Loss": (nn.L1Loss, {}, (X, Y), lambda **how: F.l1_loss(X, Y, **how)),
    "SmoothL1Loss": (nn.SmoothL1Loss, {"beta": 0.4}, (X, Y), lambda **how: F.smooth_l1_loss(X, Y, **how)),
    "HuberLoss": (nn.HuberLoss, {"delta": 0.4}, (X, Y), lambda **how: F.huber_loss(X, Y, **how)),
    "BCELoss": (nn.BCELoss, {"weight": W}, (P, Y), lambda **how: F.binary_cross_entropy(P, Y, **how)),
    "BCEWithLogitsLoss": (nn.BCEWithLogitsLoss, {"weight": W, "pos_weight": W * 2}, (X, Y),
                          lambda **how: F.binary_cross_entropy_with_logits(X, Y, **how)),
    "NLLLoss": (nn.NLLLoss, {"weight": W, "ignore_index": 0}, (X, CLASSES),
                lambda **how: F.nll_loss(X, CLASSES, **how)),
    "CrossEntropyLoss": (nn.CrossEntropyLoss, {"weight": W, "ignore_index": 0, "label_smoothing": 0.2},
                         (X, CLASSES), lambda **how: F.cross_entropy(X, CLASSES, **how)),
    "KLDivLoss": (nn.KLDivLoss, {"log_target": True}, (X, Y), lambda **how: F.kl_div(X, Y, **how)),
}
each = pytest.mark.parametrize("make, options, inputs, function", MADE.values(), ids=MADE)


@each
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_as_the_function(make, options, inputs, function, reduction):
    """Called with input and target it gives the function's numbers, with its options and without"""
    assert make(reduction=reduction)(*inputs).tolist() == function(reduction=reduction).tolist()
    expected = function(reduction=reduction, **options).tolist()
    assert make(reduction=reduction, **options)(*inputs).tolist() == expected
    if reduction == "mean":
        assert make()(*inputs).tolist() == function().tolist()


@each
def test_options_change_the_loss(make, options, inputs, function):
    """Each option does something: with it the sum is another one"""
    for name, value in options.items():
        plain, changed = make(reduction="sum")(*inputs), make(reduction="sum", **{name: value})(*inputs)
        assert plain.item() != changed.item(), f"{name} changed nothing"


@each
def test_is_a_module(make, options, inputs, function):
    """It has no parameters, its weights are buffers under PyTorch's names, and it prints its name"""
    loss = make(**options)
    assert isinstance(loss, nn.Module) and list(loss.parameters()) == []
    assert list(loss.state_dict()) == [name for name in options if "weight" in name]
    assert repr(loss) == f"{make.__name__}()" and loss.reduction == "mean"
    loss.to(torch.float64)
    assert all(str(b.dtype) == "float64" for b in loss.buffers())


def test_positions():
    """The arguments stand where PyTorch has them"""
    assert nn.CrossEntropyLoss(W, None, 1, None, "sum", 0.3).label_smoothing == 0.3
    assert nn.NLLLoss(W, None, 1, None, "sum").ignore_index == 1
    assert nn.HuberLoss("sum", 2.0).delta == 2.0
    assert nn.SmoothL1Loss(None, None, "sum", 2.0).beta == 2.0
    assert nn.BCEWithLogitsLoss(None, None, None, "sum", W).pos_weight is W
    assert nn.KLDivLoss(None, None, "batchmean", True).log_target is True
    assert nn.BCELoss(W).weight is W


def test_old_names():
    """size_average and reduce win over reduction"""
    assert nn.MSELoss(False).reduction == "sum" and nn.MSELoss(None, False).reduction == "none"
    assert nn.CrossEntropyLoss(None, True, -100, True, "none").reduction == "mean"


def test_batchmean():
    """KLDivLoss takes the fourth reduction: by rows"""
    log_q, p = F.log_softmax(X, 1), F.softmax(Y, 1)
    terms = nn.KLDivLoss(reduction="sum")(log_q, p).item()
    assert math.isclose(nn.KLDivLoss(reduction="batchmean")(log_q, p).item(), terms / 2, rel_tol=1e-6)
    assert math.isclose(nn.KLDivLoss()(log_q, p).item(), terms / 4, rel_tol=1e-6)


def test_unknown_reduction():
    """It is refused when the loss is called, as in PyTorch"""
    for make, options, inputs, _ in MADE.values():
        with pytest.raises(ValueError, match="'average'"):
            make(reduction="average", **options)(*inputs)


def test_wrong_delta():
    with pytest.raises(TypeError, match="delta.*complex"):
        nn.HuberLoss(delta=1j)
    with pytest.raises(RuntimeError, match="delta is -1"):
        nn.HuberLoss(delta=-1)(X, Y)


def test_without_weight_the_buffer_is_none():
    assert nn.CrossEntropyLoss().weight is None and nn.CrossEntropyLoss().state_dict() == {}
