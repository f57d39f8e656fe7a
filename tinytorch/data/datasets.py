# Generated from modules/08_dataloader/dataloader_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2157eecb930d0116b6ee478b555c2e8cd4b7badab00d885f6bfe4a4c81b42b34  body sha256 937e935954bfed26b8b8f62f4c7b58bd4766c046b2214234fbb76ac53f0b560e  # noqa: E501
"""data.datasets: built in module 08_dataloader."""

from tinytorch.core.creation import as_tensor, randperm
from tinytorch.data.dataset_base import Dataset, Rows, Subset, part_sizes

__all__ = ["TensorDataset", "random_split"]


class TensorDataset(Dataset):
    """Item i is the tuple of row i of each tensor; all have the same number of rows. Arrays will do, too."""
    def __init__(self, *tensors):
        self.tensors = tuple([as_tensor(t) for t in tensors])
        if not tensors or any(t.ndim == 0 for t in self.tensors):
            raise ValueError(f"TensorDataset of {[t.shape for t in self.tensors]}: it takes tensors whose "
                             "first axis counts the items.")
        if len({len(t) for t in self.tensors}) > 1:
            raise ValueError(f"TensorDataset: size mismatch, tensors of {[len(t) for t in self.tensors]} "
                             "rows. Item i is row i of each, so they must have the same number.")

    def __len__(self): return len(self.tensors[0])

    def __getitem__(self, index):
        """Row `index` of every tensor, as a tuple; a list of indices gives those rows of every tensor.

        >>> TensorDataset(Tensor([[1, 2], [3, 4]]), Tensor([7, 8]))[1]
        (tensor([3, 4]), tensor(8))
        """
        return tuple([t[index] for t in self.tensors])

    def __getitems__(self, indices): return Rows(self[list(indices)])


def random_split(dataset, lengths, generator=None):
    """The dataset in parts that have no item in common, as a list of Subsets, drawn at random.

    lengths: the sizes of the parts, which add up to the number of items, or shares that add up to 1.
    Raises ValueError if they do not.

    >>> parts = random_split(range(10), [0.7, 0.3], Generator().manual_seed(0))
    >>> [len(part) for part in parts], sorted([*parts[0], *parts[1]]) == list(range(10))
    ([7, 3], True)
    """
    sizes = part_sizes(lengths, len(dataset))
    order, parts = randperm(len(dataset), generator=generator).tolist(), []
    for size in sizes:
        parts.append(Subset(dataset, order[:size]))
        order = order[size:]
    return parts
