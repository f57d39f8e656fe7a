"""Clipping, vectors of parameters and files, against PyTorch and its safetensors."""
import math

import numpy as np
import pytest
import torch

import tinytorch as tiny
from tinytorch.nn import utils

rng = np.random.default_rng(0)
GRADIENTS = [rng.normal(size=(3, 4)).astype("float32"), rng.normal(size=5).astype("float32") * 3, None,
             np.array(2., "float32")]


def parameters(framework, gradients=GRADIENTS):
    made = []
    for g in gradients:
        p = framework.zeros(np.shape(g) if g is not None else (2,), requires_grad=True)
        p.grad = None if g is None else framework.tensor(g)
        made.append(p)
    return made


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert (a.grad is None) == (b.grad is None)
        if b.grad is not None:
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("norm_type", [1, 2, 2.0, 3, math.inf, 0.5])
@pytest.mark.parametrize("max_norm", [0.0, 0.5, 5, 100.0])
def test_clip_grad_norm(max_norm, norm_type):
    ours, theirs = parameters(tiny), parameters(torch)
    got = utils.clip_grad_norm_(ours, max_norm, norm_type)
    want = torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type)
    assert got.item() == pytest.approx(want.item(), rel=1e-6) and got.shape == tuple(want.shape)
    same(ours, theirs)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_not_finite(bad):
    gradients = [np.array([1., bad], "float32"), np.array([2.], "float32")]
    ours, theirs = parameters(tiny, gradients), parameters(torch, gradients)
    for module, p in (utils, ours), (torch.nn.utils, theirs):
        with pytest.raises(RuntimeError):
            module.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    same(ours, theirs)
    utils.clip_grad_norm_(ours, 1.0)
    torch.nn.utils.clip_grad_norm_(theirs, 1.0)
    same(ours, theirs)


def test_no_gradients():
    for empty in [], parameters(tiny, [None]):
        got = utils.clip_grad_norm_(empty, 1.0)
        assert got.item() == 0. == torch.nn.utils.clip_grad_norm_([], 1.0).item()


@pytest.mark.parametrize("limit", [0, 0.5, 100, -0.5])
def test_clip_grad_value(limit):
    ours, theirs = parameters(tiny), parameters(torch)
    utils.clip_grad_value_(ours, limit)
    torch.nn.utils.clip_grad_value_(theirs, limit)
    same(ours, theirs)


def test_vectors():
    ours, theirs = parameters(tiny), parameters(torch)
    numbers = rng.normal(size=20).astype("float32")
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(torch.tensor(numbers), theirs)
    utils.vector_to_parameters(tiny.tensor(numbers), ours)
    for a, b in zip(ours, theirs):
        assert np.array_equal(a.detach().numpy(), b.detach().numpy())
    assert utils.parameters_to_vector(ours).tolist() == torch.nn.utils.parameters_to_vector(theirs).tolist()


# ---- files ----

def test_a_model_of_pytorch(tmp_path):
    """Its state dict, written by safetensors.torch, read by us; and the other way round; also bfloat16"""
    from safetensors.torch import load_file, save_file
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
    save_file(model.state_dict(), tmp_path / "theirs")
    ours = tiny.nn.Sequential(tiny.nn.Linear(4, 3), tiny.nn.Linear(3, 2))
    ours.load_state_dict(tiny.load(tmp_path / "theirs"))
    x = rng.normal(size=(5, 4)).astype("float32")
    got, want = ours(tiny.tensor(x)), model(torch.tensor(x))
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-5, atol=1e-6)
    tiny.save(ours.state_dict(), tmp_path / "ours")
    for name, w in load_file(tmp_path / "ours").items():
        assert torch.equal(w, model.state_dict()[name])
    half = {name: w.bfloat16() for name, w in model.state_dict().items()}
    save_file(half, tmp_path / "half")
    for name, w in tiny.load(tmp_path / "half").items():
        assert np.array_equal(w.numpy(), half[name].float().numpy())


@pytest.mark.parametrize("new", [True, False])
def test_a_file_of_torch_save(tmp_path, new):
    torch.save({"w": torch.ones(2)}, tmp_path / "model.pt", _use_new_zipfile_serialization=new)
    with pytest.raises(RuntimeError, match=r"model\.pt.*(torch.save|pickle)"):
        tiny.load(tmp_path / "model.pt")
