"""Where arrays live, who wrote to them, and what happens without a GPU."""
import builtins
import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core import backend

from .support import same


@pytest.fixture
def no_cupy(monkeypatch):
    """A machine on which CuPy cannot be imported."""
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == "cupy":
            raise ImportError("libcuda.so.1: cannot open shared object file")
        return real(name, *args, **kwargs)

    for name in [n for n in sys.modules if n.split(".")[0] == "cupy"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.setattr(backend, "_why_no_cuda", None)


def test_numpy_is_the_library_of_arrays_and_numbers():
    for x in (np.zeros(2), np.float64(1), 3, [1.], None):
        assert backend.array_module(x) is np
    assert backend.is_array(np.zeros(())) is True
    for x in (1., [1.], np.float64(1), torch.zeros(2)):
        assert backend.is_array(x) is False


def test_device():
    """Written as PyTorch writes it; equal to another device and to a string of the same place"""
    device = torch.device
    assert str(device("cuda:1")) == "cuda:1" and str(device("cpu")) == "cpu"
    assert repr(device("cuda", 1)) == "device(type='cuda', index=1)" and repr(
        device("cpu")) == "device(type='cpu')"
    assert (device("cuda:2").type, device("cuda:2").index, device("cpu").index) == ("cuda", 2, None)
    assert device("cuda") == "cuda:0" and device("cpu") == "cpu"
    assert device("cuda:1") != device("cuda:0")
    assert device("cpu") != "cuda" and device("cpu") != 3 and device(device("cuda:1")) == "cuda:1"
    assert len({device("cuda"), device("cuda:0"), device("cpu")}) == 2
    for wrong in ("gpu", "cuda:x", "cpu:", "tpu:0", ""):
        if wrong != "cpu:":
            with pytest.raises(RuntimeError, match="cuda:1"):
                device(wrong)


def test_the_device_of_a_tensor():
    assert torch.zeros(2).device == torch.device("cpu")
    assert torch.zeros(2, device="cpu").is_cuda is False


def test_moving_to_where_it_is_moves_nothing():
    x = np.zeros(2)
    assert backend.to_device(x, "cpu") is x and backend.to_numpy(x) is x
    t = torch.zeros(2)
    assert t.cpu() is t and t.to("cpu") is t and t.to(torch.device("cpu")) is t


def test_without_cupy_the_reason_is_told(no_cupy):
    """is_available() is False, and to("cuda") is a RuntimeError that says why and what to do"""
    assert torch.cuda.is_available() is False and backend.cuda_available() is False
    assert "libcuda.so.1" in backend.cuda_problem()
    for attempt in (lambda: torch.zeros(2).to("cuda"), lambda: torch.zeros(2).cuda(),
                    lambda: torch.zeros(2, device="cuda:1"), lambda: torch.randn(2, device="cuda"),
                    lambda: torch.tensor([1.], device="cuda")):
        with pytest.raises(RuntimeError, match=r"(?s)libcuda\.so\.1.*\[gpu\]"):
            attempt()


def test_asking_does_not_import_cupy(no_cupy):
    """The library of an array is known without an import"""
    x = torch.zeros(2) + 1
    assert x.device.type == "cpu" and "cupy" not in sys.modules


def test_shares_memory():
    x = np.zeros((2, 3))
    assert backend.shares_memory(x, x[0]) and backend.shares_memory(x.T, x)
    assert not backend.shares_memory(x, x.copy()) and not backend.shares_memory(x[0], x[1])


# ---- the write log ----

def test_the_log_knows_when_memory_was_written():
    log, x, y = backend.WriteLog(), np.zeros(4), np.zeros(4)
    before = log.tick()
    log.note(x[1:3])
    after = log.tick()
    assert log.since(x, before) and log.since(x[:1], before), "a view is the same memory"
    assert not log.since(x, after) and not log.since(y, before)
    assert after < log.last < before
    log.note(x)
    assert log.since(x, after)


def test_the_log_forgets_memory_that_is_gone():
    """An address that is used again is not the old memory"""
    log = backend.WriteLog()
    before = log.tick()
    for _ in range(200):
        x = np.zeros(1000)
        assert not log.since(x, before)
        log.note(x)
        del x
    gc.collect()
    for _ in range(10_050):
        log.note(np.zeros(1))
    assert len(log._written) < 10_010


# ---- glibc ----

def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment},
                          text=True,
                          capture_output=True, timeout=60, check=True).stdout.strip()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc is Linux's C library")
def test_freed_memory_is_kept_and_can_be_let_go():
    code = "from tinytorch.core.backend import keep_freed_memory; print(keep_freed_memory())"
    assert run(code, TINYTORCH_MALLOC="0") == "False"
    assert run(code) in ("True", "False")


# ---- seeds ----

def test_manual_seed_returns_the_generator():
    generator = torch.manual_seed(9)
    first = torch.rand(2, generator=generator).tolist()
    torch.manual_seed(9)
    assert torch.rand(2).tolist() == first and generator.initial_seed() == 9
    assert generator.device == "cpu"


def test_the_seed_of_numpy_is_not_touched():
    np.random.seed(1)
    expected = np.random.rand()
    np.random.seed(1)
    torch.manual_seed(5)
    torch.rand(10)
    assert np.random.rand() == expected


def test_negative_and_large_seeds():
    for seed in (-1, 2 ** 62, 0):
        torch.manual_seed(seed)
        first = torch.rand(2).tolist()
        torch.manual_seed(seed)
        same(torch.rand(2), first)


def test_a_generator_can_be_lent():
    """Inside, the default numbers come from it; afterwards the thread's own go on, also after an error"""
    torch.manual_seed(3)
    own, lent = torch.rand(2).tolist(), torch.Generator().manual_seed(5)
    torch.manual_seed(3)
    first = torch.rand(1).item()
    with pytest.raises(KeyError), backend.drawing_from(lent):
        assert backend.default_generator() is lent
        drawn = torch.rand(3).tolist()
        raise KeyError
    assert [first, torch.rand(1).item()] == pytest.approx(own)
    assert drawn == torch.rand(3, generator=torch.Generator().manual_seed(5)).tolist()
