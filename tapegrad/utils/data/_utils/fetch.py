"""Functions that read the samples of a batch and put them together, in the loader's process or in a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.utils.data._utils.collate import default_collate
from tapegrad.utils.data.dataset import Subset, TensorDataset

MISSING = object()


class MapFetcher:
    """Reads a dataset by index.

    Args:
        dataset: what is read.
        auto_collation: whether an index stands for a batch: it is a list then.
        collate_fn: what makes the batch.
        drop_last: without meaning here.
    """

    ends = False

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn

    def fetch(self, index: Any) -> Any:
        """The batch, or the sample, of an index."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        if self.collate_fn is default_collate and (found := rows_together(self.dataset, index)) is not MISSING:
            return found
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(index))
        return self.collate_fn([self.dataset[one] for one in index])


class IterableFetcher:
    """Reads a dataset from its beginning to its end; the arguments are those of ``MapFetcher``."""

    ends = True
    """True if StopIteration means the end, and no mistake of the dataset."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.samples = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The next batch, of as many samples as the index is long, or the next sample.
        Raises StopIteration: there is none.
        """
        if self.ended:
            raise StopIteration
        return self.collate_fn(self._several(len(index)) if self.auto_collation else next(self.samples))

    def _several(self, count: int) -> list:
        data = []
        for _ in range(count):
            try:
                data.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < count):
            raise StopIteration
        return data


def rows_together(dataset: Any, indices: Any) -> Any:
    """The batch that samples of tensors make, read at once; ``MISSING`` if it has to be made of its samples.

    >>> rows_together(Subset(TensorDataset(torch.arange(4) * 10), [3, 1]), [1, 0])
    [tensor([10, 30])]
    """
    if type(indices) is not list or not indices:
        return MISSING
    while type(dataset) is Subset and type(dataset.indices) is list:
        if not _all_below(indices, len(dataset.indices)):
            return MISSING
        indices, dataset = [dataset.indices[index] for index in indices], dataset.dataset
    if type(dataset) is not TensorDataset or not all(map(_is_plain, dataset.tensors)):
        return MISSING
    if not _all_below(indices, len(dataset)):
        return MISSING
    return [tensor[indices] for tensor in dataset.tensors]


def _all_below(indices: list, length: int) -> bool:
    return all(type(index) is int and 0 <= index < length for index in indices)


def _is_plain(tensor: Any) -> bool:
    """Tell whether nothing can be told apart by how a tensor was read: no graph, and no class of its own."""
    return type(tensor) is Tensor and not tensor.requires_grad
