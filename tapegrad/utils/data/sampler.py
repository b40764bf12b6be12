"""In which order samples are taken, and which of them make a batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from tapegrad._src.bindings.state.generator import Generator
from tapegrad._src.execution.data.dtypes import float64, int64
from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.creation import empty
from tapegrad._src.functions.random import multinomial, randint, randperm
from tapegrad._src.tensor.tensor import Tensor

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler",
]  # fmt: skip

T_co = TypeVar("T_co", covariant=True)

AT_ONCE = 32
"""The number of indices drawn at a time with replacement; whoever stops early leaves the generator as PyTorch does."""


def draw_seed(generator: Generator | None = None) -> int:
    """A seed: any number of 64 bits that isn't negative."""
    return int(empty((), dtype=int64).random_(generator=generator).item())


def is_positive(number: Any) -> bool:
    """Tell whether a number can be a count; True is none."""
    return isinstance(number, int) and not isinstance(number, bool) and number > 0


class Sampler(Generic[T_co]):
    """A source of indices, or lists of them: a subclass defines ``__iter__``, and ``__len__`` if it is known."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All indices in their order.

    Args:
        data_source: what has a length.

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    data_source: Any

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order.

    Args:
        data_source: what has a length.
        replacement: whether an index may come again.
        num_samples: how many; all, if None.
        generator: what draws them; without one each pass has a generator of its own, with a seed from the default one.

    Raises:
        TypeError: ``replacement`` is no bool.
        ValueError: ``num_samples`` is no positive integer.

    >>> sorted(RandomSampler("abc"))
    [0, 1, 2]
    """

    data_source: Any
    replacement: bool

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:  # fmt: skip
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """The number of indices that there will be; the length of the source may change."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(draw_seed())
        count = len(self.data_source)
        yield from self._drawn(count, generator) if self.replacement else self._shuffled(count, generator)

    def _drawn(self, count: int, generator: Generator) -> Iterator[int]:
        whole, rest = divmod(self.num_samples, AT_ONCE)
        for size in [AT_ONCE] * whole + [rest]:
            yield from randint(high=count, size=(size,), dtype=int64, generator=generator).tolist()

    def _shuffled(self, count: int, generator: Generator) -> Iterator[int]:
        whole, rest = divmod(self.num_samples, count)
        for size in [count] * whole + [rest]:
            yield from randperm(count, generator=generator).tolist()[:size]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    Args:
        indices: the indices.
        generator: what draws the order.
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices that are drawn in proportion to weights.

    Args:
        weights: one for each index; their sum doesn't matter.
        num_samples: how many are drawn.
        replacement: whether an index may come again.
        generator: what draws.

    Raises:
        ValueError: ``num_samples`` is no positive integer, ``replacement`` no bool, or the weights no sequence.

    >>> list(WeightedRandomSampler([0.0, 0.0, 1.0], 2))
    [2, 2]
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Generator | None = None,
    ) -> None:  # fmt: skip
        if not is_positive(num_samples):
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of what another sampler gives.

    Args:
        sampler: anything that can be iterated over.
        batch_size: how many make a batch.
        drop_last: whether to leave out a last batch that is smaller.

    Raises:
        ValueError: ``batch_size`` is no positive integer, ``drop_last`` no bool.

    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not is_positive(batch_size):
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        least = self.batch_size if self.drop_last else 1
        while len(batch := list(itertools.islice(indices, self.batch_size))) >= least:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
