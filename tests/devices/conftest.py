"""Each test of this folder runs on the stand-in of strict.py and, where there is one, on a GPU."""
import functools

import pytest

from . import strict


@functools.cache
def real_problem():
    """Why no real CuPy device can be used here; an empty string if one can."""
    try:
        import cupy
        return "" if cupy.cuda.is_available() else "CuPy finds no CUDA device"
    except Exception as error:  # a broken install raises errors of many classes
        return f"there is no CuPy here ({error})"


@pytest.fixture(params=["stand-in", "cuda"])
def device(request, monkeypatch):
    """The name of a device: the stand-in's, and where there is one, a real one's."""
    if request.param == "stand-in":
        strict.install(monkeypatch)
    elif real_problem():
        pytest.skip(f"needs a CUDA device: {real_problem()}")
    return "cuda"


@pytest.fixture
def stand_in(monkeypatch): return strict.install(monkeypatch)
