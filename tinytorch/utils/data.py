"""Datasets, samplers and the loader: `torch.utils.data`'s names."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "data.dataset_base": "ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset",
    "data.datasets": "TensorDataset random_split",
    "data.sampler_base": "Sampler SequentialSampler SubsetRandomSampler WeightedRandomSampler",
    "data.samplers": "BatchSampler RandomSampler",
    "data.collate": "default_collate",
    "data.collate_parts": "default_convert",
    "data.loader": "DataLoader",
    "data.loader_base": "get_worker_info",
})
