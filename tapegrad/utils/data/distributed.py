"""The part of a dataset that one of several processes reads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tapegrad._src.bindings.state.generator import Generator
from tapegrad._src.execution.state.processes import processes
from tapegrad._src.functions.random import randperm
from tapegrad.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Each ``num_replicas``-th index, from ``rank`` on, of an order that is the same in all processes.

    Args:
        dataset: with a length.
        num_replicas: how many processes there are; those that have met, if it isn't said.
        rank: which of them this is.
        shuffle: whether the order is random; ``set_epoch`` gives each pass another one.
        seed: the same in all processes.
        drop_last: whether to leave samples out, so that all get as many; otherwise the first ones come again.

    Raises:
        ValueError: there is no such rank; or it is not said, and no processes have met.

    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
        seed: int = 0, drop_last: bool = False,
    ) -> None:  # fmt: skip
        if (num_replicas is None or rank is None) and not processes.count:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        num_replicas = processes.count if num_replicas is None else num_replicas
        rank = processes.rank if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        indices = list(range(count))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = randperm(count, generator=generator).tolist()
        if not self.drop_last:
            indices *= max(1, math.ceil(self.total_size / max(1, count)))
        return iter(indices[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which pass begins, so that it gets an order of its own."""
        self.epoch = epoch
