# Generated from modules/08_dataloader/dataloader_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2157eecb930d0116b6ee478b555c2e8cd4b7badab00d885f6bfe4a4c81b42b34  body sha256 63ae1a7fca1d7f837af95589a95441d82efbb34d54496d29e3b5d27df86726ba  # noqa: E501
"""data.collate: built in module 08_dataloader."""

from collections.abc import Mapping

from tinytorch.data.collate_parts import outline, ragged, rebuilt, stacked
from tinytorch.data.dataset_base import Rows

__all__ = ["default_collate"]


def default_collate(items):
    """One batch of a list of items: tensors, arrays and numbers get a new first axis, texts stay as they are.

    Tuples, lists and dictionaries are put together part by part; a tuple becomes a list. Raises RuntimeError
    that says which item is not like the first, TypeError for what makes no batch.

    >>> default_collate([(1, True), (2, False)])
    [tensor([1, 2]), tensor([ True, False])]
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
