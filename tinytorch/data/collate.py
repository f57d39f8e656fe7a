# Generated from modules/08_dataloader/dataloader_dev.py by tito export. Edit the lesson, not this file.
# source sha256 265c888656fbbe250ce3aba4a47914e950ddab1877811bff89450837f6f34417  body sha256 5854c0cabf7eb2b8c195e57f334c10a438de261c3c690c2b6eb5613ba18f51db  # noqa: E501
"""data.collate: built in module 08_dataloader."""

from collections.abc import Mapping

from tinytorch.data.collate_parts import outline, ragged, rebuilt, stacked
from tinytorch.data.dataset_base import Rows

__all__ = ["default_collate"]


def default_collate(items):
    """One batch of a list of items: tensors, arrays and numbers get a new first axis, texts stay as they are.

    Tuples, lists and dictionaries are put together part by part; a tuple becomes a list. Raises RuntimeError
    that says which item is not like the first, TypeError for what makes no batch.

    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    if isinstance(items, Rows):                        # TensorDataset took them all at once: nothing to do
        return list(items.tensors)
    if not len(items):
        raise ValueError("default_collate: a batch of no items. Does a sampler yield an empty list?")
    first = items[0]
    for i, item in enumerate(items):
        if outline(item) != outline(first):
            raise ragged(i, item, first)
    if isinstance(first, Mapping):
        return rebuilt(first, {key: default_collate([item[key] for item in items]) for key in first})
    if isinstance(first, (tuple, list)):
        return rebuilt(first, [default_collate(part) for part in zip(*items)])
    return stacked(items)
