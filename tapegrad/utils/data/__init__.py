"""``torch.utils.data``: datasets, in which order their samples are taken, and loaders, which make batches of them."""

from collections.abc import Callable

from tapegrad._src.absent import refusing
from tapegrad.utils.data import dataloader, dataset, distributed, sampler
from tapegrad.utils.data.dataloader import DataLoader, _DatasetKind, default_collate, default_convert, get_worker_info
from tapegrad.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from tapegrad.utils.data.distributed import DistributedSampler
from tapegrad.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__getattr__ = refusing(__name__)


def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable[[type], type]:
    """Decorate a class of pipes, which is left as it is: it can be defined, and is refused when one is made.

    Args:
        name: what PyTorch calls the method that makes such a pipe of another.
        enable_df_api_tracing: ignored.

    >>> @torch.utils.data.functional_datapipe("lines")
    ... class Lines(torch.utils.data.IterDataPipe):
    ...     pass
    >>> Lines()
    Traceback (most recent call last):
    NotImplementedError: ...
    """
    return lambda cls: cls


__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "default_collate", "default_convert", "functional_datapipe", "get_worker_info",
    "random_split",
]  # fmt: skip
