# Generated from modules/08_dataloader/dataloader_dev.py by tito export. Edit the lesson, not this file.
# source sha256 0933ff175886b23794b4d1158b0f3a450d006316c9f8774386490ce1c6407520  body sha256 095d48e49467f813159c88f569f236a81b99647e787651cf03d260aeca4e5b6d  # noqa: E501
"""data.collate: built in module 08_dataloader."""

from collections.abc import Mapping

from tinytorch.data.collate_parts import outline, ragged, rebuilt, stacked
from tinytorch.data.dataset_base import Rows

__all__ = ["default_collate"]


def default_collate(items):
    """One batch of a list of items: tensors, arrays and numbers get a new first axis, texts stay as they are.

    Tuples, lists and dictionaries are put together part by part; a tuple becomes a list. Raises RuntimeError
    that says which item is not like the first, TypeError for what makes no batch.

    >>> default_collate([(1.5, "a"), (2.5, "b")])
    [tensor([1.5000, 2.5000], dtype=float64), ('a', 'b')]
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
