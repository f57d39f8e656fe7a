"""Files: what comes back, who else can read them, and what is said about bad ones."""
import json
import math
import os
import threading
from collections import OrderedDict

import numpy as np
import pytest
import safetensors.numpy

import tinytorch as torch
from tinytorch import nn
from tinytorch.optim import Adam
from tinytorch.training.packing import packed, unpacked

DTYPES = ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"]


@pytest.fixture
def path(tmp_path): return tmp_path / "run.safetensors"


def again(obj): return unpacked(packed(obj))


# ---- a state dict is anybody's file ----

@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 3), (2, 3, 4)])
def test_each_dtype_and_shape(path, dtype, shape):
    """Ours read by the package safetensors, and its files read by us"""
    numbers = np.asarray(np.random.default_rng(0).normal(size=shape) * 50).astype(dtype)
    torch.save({"a.b": torch.tensor(numbers)}, path)
    theirs = safetensors.numpy.load_file(path)["a.b"]
    assert theirs.dtype == dtype and theirs.shape == shape and np.array_equal(theirs, numbers)
    safetensors.numpy.save_file({"": numbers}, path, {"format": "np"})
    ours = torch.load(path)[""]
    assert isinstance(ours, torch.Tensor) and ours.dtype == dtype and ours.shape == shape
    assert np.array_equal(ours.numpy(), numbers)


def test_a_plain_file(path):
    """A state dict has no metadata, keeps its order, and loads into a model"""
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    torch.save(model.state_dict(), path)
    with safetensors.safe_open(path, "np") as file:
        assert file.metadata() is None and set(file.keys()) == {"weight", "bias"}
    other.load_state_dict(torch.load(path))
    assert np.array_equal(other.weight.data, model.weight.data)
    assert torch.load(path)["weight"].data.flags.writeable


@pytest.mark.parametrize("turned", [lambda x: x.T, lambda x: x[:, ::2], lambda x: x[::-1], np.asfortranarray])
def test_not_in_order(path, turned):
    """A view is written as what it shows"""
    numbers = turned(np.arange(12.).reshape(3, 4))
    torch.save({"x": numbers, "t": torch.from_numpy(numbers)}, path)
    for read in safetensors.numpy.load_file(path), torch.load(path):
        assert np.asarray(read["x"]).tolist() == np.asarray(read["t"]).tolist() == numbers.tolist()


def test_the_other_byte_order(path):
    torch.save({"x": np.arange(3.).astype(">f8")}, path)
    assert torch.load(path)["x"].tolist() == [0., 1., 2.] and torch.load(path)["x"].dtype == "float64"


def test_bfloat16(path):
    """The upper half of a float32: 1, -2.5, 3.140625, inf"""
    bits = np.array([0x3F80, 0xC020, 0x4049, 0x7F80], "uint16")
    spec = safetensors.TensorSpec(dtype="bfloat16", shape=(2, 2), data_ptr=bits.ctypes.data, data_len=8)
    path.write_bytes(safetensors.serialize({"w": spec}))
    got = torch.load(path)["w"]
    assert got.dtype == torch.float32 and got.tolist() == [[1., -2.5], [3.140625, math.inf]]


@pytest.mark.parametrize("dtype, becomes", [("int16", "int32"), ("uint16", "int32"), ("uint32", "int64")])
def test_dtypes_that_tensors_lack(path, dtype, becomes):
    numbers = np.array([0, 1, np.iinfo(dtype).max], dtype)
    safetensors.numpy.save_file({"w": numbers}, path)
    got = torch.load(path)["w"]
    assert got.dtype == becomes and got.tolist() == numbers.tolist()


@pytest.mark.parametrize("dtype", ["uint64", "complex64"])
def test_dtypes_that_cannot_be_read(path, dtype):
    safetensors.numpy.save_file({"w": np.zeros(2, dtype)}, path)
    with pytest.raises(RuntimeError, match="run.safetensors.*'w'"):
        torch.load(path)


# ---- any nesting ----

def test_a_checkpoint(path):
    """PyTorch's usual dictionary: numbers as keys, tuples, None, and tensors at every depth"""
    model = nn.Linear(3, 2)
    optimizer = Adam(model.parameters(), betas=(0.8, 0.99))
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)
    got = torch.load(path)
    assert list(got) == ["model", "optimizer", "epoch"] and got["epoch"] == 3
    assert list(got["optimizer"]["state"]) == [0, 1]
    assert got["optimizer"]["param_groups"][0]["betas"] == (0.8, 0.99)
    fresh = Adam(nn.Linear(3, 2).parameters())
    fresh.load_state_dict(got["optimizer"])
    assert fresh.state_dict()["param_groups"] == optimizer.state_dict()["param_groups"]
    names = set(safetensors.numpy.load_file(path))
    assert {"model.weight", "model.bias", "optimizer.state.0.exp_avg"} <= names


VALUES = [None, True, False, 0, -1, 2 ** 127 + 1, 0.1, -0.0, math.inf, -math.inf, "", "é\n\0\"", [], (), {},
          [[]], ((),), {"a": {"b": [1, (2, "x"), None]}},
          {3: "int", "3": "str", 2.5: 0, None: 1, True: 2, (1, "a"): 3}, ["dict", ["tensor", "x"]],
          {"tensor": "x", "__metadata__": 1, "": 0, "a.b": {"c": 1}, "a": {"b.c": 2}}]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values(value):
    """They come back equal and of the same class, at the top and inside"""
    for got in again({"x": value})["x"], again([value])[0], again(value):
        assert got == value and type(got) is type(value) and repr(got) == repr(value)


def test_nan():
    assert math.isnan(again({"x": math.nan})["x"])


def test_kinds():
    """Tensors come back as tensors, arrays as arrays, NumPy's scalars as numbers, parameters as tensors"""
    got = again({"p": nn.Parameter(torch.ones(2)), "a": np.arange(3, dtype="uint64"), "f": np.float32(0.5),
                 "i": np.int64(3), "b": np.bool_(True), "o": OrderedDict(x=1), "n": None})
    assert type(got["p"]) is torch.Tensor and not got["p"].requires_grad
    assert type(got["a"]) is np.ndarray and got["a"].dtype == "uint64" and got["a"].tolist() == [0, 1, 2]
    assert [got["f"], got["i"], got["b"]] == [0.5, 3, True] and type(got["b"]) is bool
    assert got["o"] == {"x": 1}


def test_names_that_meet():
    """Two places whose dotted names are the same keep their own numbers"""
    got = again({"a": {"b.c": torch.ones(1)}, "a.b": {"c": torch.zeros(1)},
                 "__metadata__": torch.tensor([2.])})
    assert [got["a"]["b.c"].item(), got["a.b"]["c"].item(), got["__metadata__"].item()] == [1., 0., 2.]
    assert again(torch.tensor([1., 2.])).tolist() == [1., 2.]


@pytest.mark.parametrize("value, says", [
    ({"model": {"fc": nn.Linear(1, 1)}}, "model.fc: Linear"), ([0, {"f": print}], "1.f: builtin"),
    ({"x": {1, 2}}, "x: set"), ({"x": b"raw"}, "x: bytes"), ({"x": np.array(["a"])}, "x: array of"),
    ({"x": np.zeros(2, "complex128")}, "complex128"), ({"y": {torch.ones(1): 1}}, "key of class Tensor"),
    (nn.Linear(1, 1), "the object: Linear"), ({"z": 1j}, "z: complex")])
def test_what_cannot_be_saved(path, value, says):
    """A TypeError that names the place, and nothing is written"""
    with pytest.raises(TypeError) as error:
        torch.save(value, path)
    assert says in str(error.value) and os.listdir(path.parent) == []


def test_a_list_that_contains_itself(path):
    endless = [1]
    endless.append(endless)
    with pytest.raises(ValueError, match="contains itself"):
        torch.save(endless, path)


# ---- bad files ----

def test_every_truncation(path):
    """Whatever the length: one kind of error, which names the file; the file stays"""
    for obj in {"w": torch.arange(5.)}, {"w": torch.arange(5.), "epoch": 3}:
        whole = packed(obj)
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            with pytest.raises(RuntimeError, match="run.safetensors"):
                torch.load(path)
            assert path.stat().st_size == length
    path.write_bytes(whole + b"x")
    with pytest.raises(RuntimeError, match="run.safetensors"):
        torch.load(path)


def test_what_is_said():
    whole = packed({"w": torch.arange(5.)})
    said = {b"": "empty", whole[:-3]: f"{len(whole) - 3} bytes.*promises {len(whole)}", whole[:30]: "cut off",
            b"PK\x03\x04xx": "torch.save", b"\x80\x02}q": "pickle",
            b"# a text file, long enough": "not a safe",
            b"\x80\x00\x00": "not a safe", b"\x80" + bytes(7) + b"{": "cut off", b"PKzip": "not a safe"}
    for data, reason in said.items():
        with pytest.raises(ValueError, match=reason):
            unpacked(data)


def test_a_newer_version():
    data = packed({"epoch": 3})
    with pytest.raises(ValueError, match="version 7"):
        unpacked(data.replace(b'\\"version\\": 1', b'\\"version\\": 7'))


def test_damaged_structure(path):
    """Structure that is no JSON is an error of the file too"""
    path.write_bytes(safetensors.numpy.save({}, {"tinytorch": "{"}))
    with pytest.raises(RuntimeError, match="run.safetensors"):
        torch.load(path)
    for tree in ("[]", '{"version": 1}', '{"version": 1, "tree": ["tensor", "gone"]}',
                 '{"version": 1, "tree": []}'):
        path.write_bytes(safetensors.numpy.save({}, {"tinytorch": tree}))
        with pytest.raises(RuntimeError, match="run.safetensors"):
            torch.load(path)


def test_no_file(path):
    with pytest.raises(FileNotFoundError, match="run.safetensors"):
        torch.load(path)
    with pytest.raises(OSError):
        torch.load(path.parent)
    with pytest.raises(FileNotFoundError, match="no such folder|there is no folder"):
        torch.save({}, path.parent / "no" / "x")
    with pytest.raises(IsADirectoryError):
        torch.save({}, path.parent)


# ---- writing ----

def test_a_failing_disk(path, monkeypatch):
    """Whatever fails, the old file stays and nothing lies beside it"""
    torch.save({"x": torch.ones(1)}, path)
    for name in "fsync", "replace":
        with monkeypatch.context() as patch:
            patch.setattr(os, name, lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                torch.save({"x": torch.zeros(1)}, path)
        assert os.listdir(path.parent) == [path.name] and torch.load(path)["x"].item() == 1.


def test_a_folder_that_may_not_be_written(path, monkeypatch):
    """The error is the first one, not that there is nothing to remove"""
    def refuse(*args, **kwargs): raise PermissionError("not yours")
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionError, match="not yours"):
        torch.save({"x": torch.zeros(1)}, path)


def test_relative_and_str(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"epoch": 1}, "here")
    assert torch.load("here") == {"epoch": 1} and os.listdir() == ["here"]


def test_two_writers(path):
    """Threads that write to one name: the file is always one of theirs, whole"""
    def write(i):
        for _ in range(10):
            torch.save({"x": torch.full((1000,), float(i)), "i": i}, path)
    threads = [threading.Thread(target=write, args=(i,)) for i in range(3)]
    write(9)
    for thread in threads: thread.start()
    for _ in range(20):
        got = torch.load(path)
        assert (got["x"] == got["i"]).all()
    for thread in threads: thread.join()
    assert os.listdir(path.parent) == [path.name]


def test_the_header_is_small(path):
    """Structure costs some hundred bytes, and the numbers their own size"""
    torch.save({"x": torch.zeros(1000), "epoch": 1}, path)
    assert 4000 < path.stat().st_size < 4400
    length = int.from_bytes(path.read_bytes()[:8], "little")
    assert set(json.loads(path.read_bytes()[8:8 + length])) == {"__metadata__", "x"}
