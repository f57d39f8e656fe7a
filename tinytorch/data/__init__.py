"""Datasets, loaders and transforms: from files and arrays to batches."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "data.dataset_base": "ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset",
    "data.datasets": "TensorDataset random_split",
    "data.windows": "SequenceWindows",
    "data.images": "MNIST FashionMNIST digits fashion_mnist mnist",
    "data.texts": "questions sentences shakespeare",
    "data.tasks": "dates number_words",
    "data.sampler_base": "Sampler SequentialSampler SubsetRandomSampler WeightedRandomSampler",
    "data.samplers": "BatchSampler RandomSampler",
    "data.collate": "default_collate",
    "data.collate_parts": "default_convert",
    "data.loader": "DataLoader",
    "data.prefetching": "prefetch",
    "data.transforms": "Normalize RandomCrop",
    "data.more_transforms": """CenterCrop Compose Lambda Pad RandomErasing RandomHorizontalFlip
        RandomVerticalFlip ToTensor Transform""",
})
