"""Datasets, which samples come from: those with an index, streams of samples, and datasets made of others."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from tapegrad._src.bindings.state.generator import Generator, default_generator
from tapegrad._src.functions.random import randperm
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
    "random_split",
]  # fmt: skip

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples that are found by an index; the base of all datasets.

    A subclass defines ``__getitem__``, mostly ``__len__``, and may define ``__getitems__``, which takes a list of
    indices and gives a list of samples.

    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 5
    ...
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> (Squares() + Squares())[7]
    4
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples that come one after the other: a subclass defines ``__iter__``, and ``__len__`` if it is known.

    Each worker of a ``DataLoader`` has a copy of the dataset; ``get_worker_info()`` says in ``__iter__`` which part of
    the samples is its own.

    >>> class Numbers(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(Numbers() + Numbers())
    [0, 1, 2, 0, 1, 2]
    """

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors that have as many rows.

    Args:
        tensors: each of a shape (samples, ...).

    Raises:
        AssertionError: they differ in their first dimension.

    >>> TensorDataset(torch.arange(6).reshape(3, 2), torch.arange(3))[1]
    (tensor([2, 3]), tensor(1))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


def _samples(dataset: Any, indices: list) -> list:
    """The samples of some indices, all at once if the dataset can."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    found = dataset.__getitems__(indices)
    if len(found) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(found)}")
    return found


class StackDataset(Dataset[Any]):
    """Datasets side by side: a sample is the tuple, or the dictionary, of their samples.

    Args:
        args: datasets of one length, for tuples.
        kwargs: the same by name, for dictionaries.

    Raises:
        ValueError: both, or neither, or of different lengths.

    >>> StackDataset(x=range(3), y="abc")[1]
    {'x': 1, 'y': 'b'}
    """

    datasets: tuple | dict

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        parts = args or tuple(kwargs.values())
        self._length = len(parts[0])
        if any(self._length != len(dataset) for dataset in parts):
            raise ValueError("Size mismatch between datasets")
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list) -> list:
        if isinstance(self.datasets, dict):
            columns = [_samples(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)]
        return list(zip(*[_samples(dataset, indices) for dataset in self.datasets], strict=True))

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other.

    Args:
        datasets: at least one; none of them iterable.

    Raises:
        AssertionError: there are none, or one is iterable.

    >>> ConcatDataset([range(3), "ab"])[-1], ConcatDataset([range(3), "ab"]).cumulative_sizes
    ('b', [3, 5])
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The lengths, added up."""
        return list(itertools.accumulate(len(one) for one in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - self.cumulative_sizes[which - 1] if which else idx]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The former name of ``cumulative_sizes``."""
        warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", category=FutureWarning)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Iterable datasets one after the other.

    Args:
        datasets: the datasets; that they are iterable is checked when their samples are wanted.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[T_co]):
    """Some samples of a dataset.

    Args:
        dataset: the whole.
        indices: which of its samples.

    Raises:
        NotImplementedError: a subclass overrides ``__getitem__`` and not ``__getitems__``, by which batches are read.

    >>> list(Subset("abcdef", [4, 0]))
    ['e', 'a']
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        own = type(self)
        if own.__getitem__ is not Subset.__getitem__ and own.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{own.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with your "
                "custom logic. A simple implementation:\n\ndef __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list:
        chosen = [self.indices[index] for index in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[index] for index in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset]:
    """Split a dataset at random.

    Args:
        dataset: with a length.
        lengths: how many samples each part gets; or fractions that add up to 1, of which each is rounded down, and what
            is left over goes to the first parts, one sample each.
        generator: what draws the order.

    Raises:
        ValueError: the lengths don't add up to the dataset's; a fraction below 0.

    >>> [len(part) for part in random_split(range(10), [0.5, 0.25, 0.25])]
    [6, 2, 2]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _whole_lengths(len(dataset), lengths)
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(sum(lengths), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[int(end - length) : int(end)]) for end, length in zip(ends, lengths, strict=True)]


def _whole_lengths(count: int, fractions: Sequence[float]) -> list[int]:
    lengths = []
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        lengths.append(math.floor(count * fraction))
    for i in range(count - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warn(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    return lengths
