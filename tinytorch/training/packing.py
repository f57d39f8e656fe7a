# Generated from modules/07_training/packing_dev.py by tito export. Edit the lesson, not this file.
# source sha256 48b295c0722ddfffe839ba5f7ad30536901e51df39bb177459a45046043585e0  body sha256 893d87004d99bcbd66e8fdb98c09146dce8a2bdde6828db2b72b7a5b8a08deeb  # noqa: E501
"""training.packing: built in module 07_training."""

import json
import os
import re
import threading

import numpy as np

from tinytorch.core.backend import is_array, to_numpy
from tinytorch.core.creation import as_tensor
from tinytorch.core.dtypes import int32, int64
from tinytorch.core.tensor import Tensor

__all__ = [
    "BITS", "SAVED", "TREE", "WIDER", "array_of", "below", "complaint", "described", "is_flat",
    "key_of", "name_beside", "packed", "plain_array", "promised_size", "rebuilt", "refused",
    "remove_leftovers", "tensor_of", "unpacked",
]


TREE = "tinytorch"                 # the entry of the header's __metadata__ that holds the structure
SAVED = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split()


def packed(obj):
    """The bytes of a safetensors file that holds `obj`.

    obj: {name: tensor or array}; or any nesting of dictionaries, lists, tuples, tensors, arrays, numbers,
    strings, bools and None. Raises TypeError for anything else, and says where it is.

    >>> unpacked(packed({"epoch": 3, "rates": (0.1, 2 ** 100)}))
    {'epoch': 3, 'rates': (0.1, 1267650600228229401496703205376)}
    """
    from safetensors.numpy import save as to_bytes
    if is_flat(obj):
        return to_bytes({name: plain_array(x, name) for name, x in obj.items()})
    arrays = {}
    tree = described(obj, "", arrays)
    return to_bytes(arrays, {TREE: json.dumps({"version": 1, "tree": tree})})


def is_flat(obj):
    """True for a dictionary of named tensors or arrays, which needs no structure beside it."""
    return type(obj) is dict and all(
        isinstance(name, str) and name != "__metadata__" and (isinstance(x, Tensor) or is_array(x))
        for name, x in obj.items())


def described(x, path, arrays):
    """x as JSON: a list begins with what it stands for; tensors go into `arrays`, under a name of their own.

    >>> described({"lr": 0.1, 0: (1, 2)}, "", {})
    ['dict', ['lr', 0.1], [0, ['tuple', 1, 2]]]
    """
    if isinstance(x, np.generic):
        x = x.item()
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    if isinstance(x, Tensor) or is_array(x):
        name = path or "tensor"
        while name in arrays or name == "__metadata__":
            name += "_"
        arrays[name] = plain_array(x, path)
        return ["tensor" if isinstance(x, Tensor) else "array", name]
    if isinstance(x, dict):
        return ["dict", *[[key_of(key, path), described(value, below(path, key), arrays)]
                          for key, value in x.items()]]
    if isinstance(x, (list, tuple)):
        kind = "list" if isinstance(x, list) else "tuple"
        return [kind, *[described(item, below(path, i), arrays) for i, item in enumerate(x)]]
    raise refused(x, path)


def below(path, key):
    if path.count(".") > 200:
        raise ValueError(f"save: {path[:60]}... is nested too deeply, or contains itself.")
    return f"{path}.{key}" if path else str(key)


def key_of(key, path):
    """A dictionary's key as JSON; it must be a plain one."""
    if key is None or isinstance(key, (bool, int, float, str)):
        return key
    if isinstance(key, tuple):
        return ["tuple", *[key_of(part, path) for part in key]]
    raise TypeError(f"save: {path or 'the dictionary'} has a key of class {type(key).__name__}. A key is a "
                    "string, a number, or a tuple of them.")


def plain_array(x, path):
    """The numbers of a tensor or array: on the CPU and in order, as the file will hold them."""
    array = to_numpy(x.data if isinstance(x, Tensor) else x)
    if array.dtype.name not in SAVED:
        raise refused(array, path)
    return np.array(array, order="C", copy=None)       # safetensors would write a transposed view wrongly


def refused(x, path):
    what = f"array of {x.dtype}" if is_array(x) else type(x).__name__
    return TypeError(f"save: {path or 'the object'}: {what} cannot be saved. A file holds tensors, arrays, "
                     "numbers, strings, bools, None, and dictionaries, lists and tuples of them. Of a module "
                     "or an optimizer, save its state_dict().")


BITS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "uint16", "I64": "int64",
        "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16",
        "U8": "uint8", "BOOL": "bool"}
WIDER = {"int16": int32, "uint16": int32, "uint32": int64}         # dtypes that a tensor does not have


def unpacked(data, device=None):
    """The object in the bytes of a safetensors file, ours or anybody's; tensors on `device`.

    Raises ValueError with the reason, a sentence, if they are not the bytes of a whole file.
    """
    from safetensors import SafetensorError, deserialize
    try:
        parts = deserialize(data)
    except SafetensorError as error:
        raise ValueError(complaint(data, error)) from None
    arrays = {name: array_of(name, part) for name, part in parts}
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    tree = header.pop("__metadata__", {}).get(TREE)
    if tree is None:                                   # in the order of the header, as it was written
        return {name: tensor_of(name, arrays[name], device) for name in sorted(
            header, key=lambda name: header[name]["data_offsets"])}
    try:
        tree = json.loads(tree)
        version = tree["version"]
        if version == 1:
            return rebuilt(tree["tree"], arrays, device)
    except (json.JSONDecodeError, KeyError, TypeError, IndexError) as error:
        raise ValueError(f"the structure in its header is damaged ({error!r}).") from None
    raise ValueError(f"it has version {version}, and this program reads version 1.")


def rebuilt(node, arrays, device):
    """What `described` made JSON of."""
    if not isinstance(node, list):
        return node
    kind, *parts = node
    if kind in ("tensor", "array"):
        array = arrays[parts[0]]
        return array if kind == "array" else tensor_of(parts[0], array, device)
    if kind == "dict":
        return {rebuilt(key, arrays, device): rebuilt(value, arrays, device) for key, value in parts}
    items = [rebuilt(part, arrays, device) for part in parts]
    return items if kind == "list" else tuple(items)


def array_of(name, part):
    """An array of what safetensors read: {"dtype", "shape", "data"}."""
    dtype = part["dtype"]
    if dtype not in BITS:
        raise ValueError(f"its tensor {name!r} holds {dtype}, which cannot be read here.")
    array = np.frombuffer(part["data"], BITS[dtype]).reshape(part["shape"])
    return (array.astype("uint32") << 16).view("float32") if dtype == "BF16" else array


def tensor_of(name, array, device):
    if array.dtype == "uint64":
        raise ValueError(f"its tensor {name!r} holds uint64, and tensors do not.")
    array = array.astype(WIDER.get(array.dtype.name, array.dtype), copy=False)
    return as_tensor(array, device=device)


def complaint(data, error):
    """Why these bytes are not a safetensors file."""
    if not data:
        return "it is empty."
    promised = promised_size(data)
    if promised and len(data) < promised:
        return f"it is cut off: it has {len(data)} bytes, and its header promises {promised}."
    if data[:4] == b"PK\x03\x04":
        return ("it is a zip archive, as torch.save writes them. Read it with PyTorch, and write its "
                "state_dict with safetensors.torch.save_file.")
    if data[:1] == b"\x80" and data[1:2] in b"\x02\x03\x04\x05":
        return ("it is a pickle, which may run any code when it is read. Read it with the program that made "
                "it, and write its tensors with safetensors.")
    return f"it is not a safetensors file ({error})."


def promised_size(data):
    """How many bytes the header says there are; 0 if there is no header to be read."""
    length = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8:8 + length])
        return 8 + length + max([part["data_offsets"][1] for name, part in header.items()
                                 if name != "__metadata__"], default=0)
    except (ValueError, TypeError, KeyError, AttributeError):
        return 8 + length if data[8:9] == b"{" and length < 2 ** 32 else 0


def name_beside(path):
    """A name in the folder of `path` that no other thread or process writes to.

    Raises FileNotFoundError if there is no such folder, IsADirectoryError if `path` is one itself.
    """
    path = os.fspath(path)
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"save: there is no folder {folder!r} for {path!r}. Make it first.")
    if os.path.isdir(path):
        raise IsADirectoryError(f"save: {path!r} is a folder. Name a file in it.")
    return f"{path}.{os.getpid()}-{threading.get_ident()}.tmp"


def remove_leftovers(path):
    """Remove what runs that were killed while writing left beside `path`."""
    folder, name = os.path.split(os.path.abspath(path))
    for other in os.listdir(folder):
        if re.fullmatch(re.escape(name) + r"\.\d+-\d+\.tmp", other):
            os.unlink(os.path.join(folder, other))
