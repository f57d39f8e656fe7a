"""How a tensor prints: PyTorch's text, written out by hand."""
import math

import pytest

import tinytorch as torch

PRINTED = [
    (lambda: torch.tensor([1, 2, 3]), "tensor([1, 2, 3])"),
    (lambda: torch.tensor([1., 2.5]), "tensor([1.0000, 2.5000])"),
    (lambda: torch.tensor([1., 2.]), "tensor([1., 2.])"),
    (lambda: torch.tensor(3.14159), "tensor(3.1416)"),
    (lambda: torch.tensor(7), "tensor(7)"),
    (lambda: torch.tensor([-1., 10.]), "tensor([-1., 10.])"),
    (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
    (lambda: torch.tensor([[1, 20], [300, 4]]), "tensor([[  1,  20],\n        [300,   4]])"),
    (lambda: torch.tensor([1., 2.], dtype=torch.float64), "tensor([1., 2.], dtype=torch.float64)"),
    (lambda: torch.tensor([1], dtype=torch.int32), "tensor([1], dtype=torch.int32)"),
    (lambda: torch.tensor([0.00001, 1.]), "tensor([1.0000e-05, 1.0000e+00])"),
    (lambda: torch.tensor([1e9, 1.]), "tensor([1.0000e+09, 1.0000e+00])"),
    (lambda: torch.tensor([math.nan, 1.5, math.inf]), "tensor([   nan, 1.5000,    inf])"),
    (lambda: torch.tensor([math.nan, 1.]), "tensor([nan, 1.])"),
    (lambda: torch.tensor([]), "tensor([])"),
    (lambda: torch.zeros(0, 3), "tensor([], size=(0, 3))"),
    (lambda: torch.zeros(0, dtype=torch.int64), "tensor([], dtype=torch.int64)"),
    (lambda: torch.tensor([1., 2.], requires_grad=True), "tensor([1., 2.], requires_grad=True)"),
    (lambda: torch.tensor([[[1, 2]], [[3, 4]]]), "tensor([[[1, 2]],\n\n        [[3, 4]]])"),
    (lambda: torch.zeros(2, 0, 3), "tensor([], size=(2, 0, 3))"),
]


@pytest.mark.parametrize("make, text", PRINTED, ids=[text for _, text in PRINTED])
def test_small_tensors(make, text):
    assert repr(make()) == text.replace("dtype=torch.", "dtype=") or repr(make()) == text
    assert str(make()) == repr(make())


def test_more_than_a_thousand_numbers_are_summarised():
    """Three from each end of each dimension"""
    assert repr(torch.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    assert repr(torch.arange(1000)).count(",") == 999
    lines = repr(torch.zeros(40, 40)).split("\n")
    assert lines[0] == "tensor([[0., 0., 0.,  ..., 0., 0., 0.],"
    assert lines[3] == "        ..." + "," * lines[3].endswith(",") and len(lines) == 7
    assert lines[6] == "        [0., 0., 0.,  ..., 0., 0., 0.]])"


def test_long_rows_are_broken_below_80_columns():
    text = repr(torch.arange(30))
    assert max(map(len, text.split("\n"))) <= 80 and text.count("\n") == 1
    assert text.split("\n")[1].startswith("        1") and text.endswith("29])")


def test_the_hidden_middle_does_not_decide_the_format():
    x = torch.zeros(2000)
    x[1000] = 123456.75
    assert "0., 0., 0." in repr(x)
