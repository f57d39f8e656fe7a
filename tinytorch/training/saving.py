# Generated from modules/07_training/training_dev.py by tito export. Edit the lesson, not this file.
# source sha256 0e6bb021ce37f05d8de46d39a3d0307c2a38f3d46c1f8aac71214c222618fa79  body sha256 4dfbfd43b61df9d03a0d08406d27f468b3d8fff809fd6853c8fbbb77b1a05eb2  # noqa: E501
"""training.saving: built in module 07_training."""

import os

from tinytorch.training.packing import name_beside, packed, unpacked

__all__ = ["load", "save"]


def save(obj, path):
    """Write `obj` into a file: the whole of it, or, if anything fails, nothing, and an older file stays.

    obj: {name: tensor}, which makes a safetensors file for any program; or dictionaries, lists, tuples,
    tensors, arrays, numbers, strings, bools and None in any nesting. Raises TypeError, that says where, for
    what cannot be saved, FileNotFoundError if there is no such folder.
    """
    data = packed(obj)
    temporary = name_beside(path)
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def load(path, device=None):
    """What `save` wrote, or any safetensors file, as {name: tensor}; tensors on the CPU, or on `device`.

    bfloat16 becomes float32. Raises RuntimeError, that names the file and the reason, if it is cut off or of
    another kind; the file stays. Raises FileNotFoundError if there is none.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        return unpacked(data, device)
    except ValueError as error:
        raise RuntimeError(f"load: {path} cannot be read: {error} The file is left as it is.") from None
