"""Taking turns: how contestants are measured so that their ratio means something on a busy machine."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter


@dataclass(frozen=True)
class Contestant:
    """A callable to time. One call does ``units`` pieces of work and returns when all of its results are there."""

    name: str
    run: Callable[[], object]
    units: int = 1


@dataclass(frozen=True)
class Timing:
    """What a contestant took: seconds per unit in each round, and seconds before it was first ready (compilation)."""

    name: str
    seconds: tuple[float, ...]
    first_call: float

    @property
    def median(self) -> float:
        """Median seconds per unit of work."""
        return median(self.seconds)

    def ratio_to(self, other: Timing) -> float:
        """How many times as long as ``other`` this took: the median over rounds, for both ran in each of them."""
        return median(mine / its for mine, its in zip(self.seconds, other.seconds, strict=True))


def seconds_of(run: Callable[[], object]) -> float:
    """Wall-clock seconds of one call, starting from a collected heap; collections that it causes count."""
    gc.collect()
    start = perf_counter()
    run()
    return perf_counter() - start


def take_turns(contestants: list[Contestant], *, rounds: int, warmups: int = 2) -> dict[str, Timing]:
    """Time every contestant once per round, in alternating order, after all of them have warmed up.

    Args:
        contestants: with distinct names.
        rounds: how many measurements each gets.
        warmups: calls before the first measurement; the first of them pays for compilation.
    """
    first_calls: dict[str, float] = {}
    for contestant in contestants:
        first_calls[contestant.name] = seconds_of(contestant.run)
        for _ in range(warmups - 1):
            contestant.run()
    seconds: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    for number in range(rounds):
        for contestant in contestants[:: -1 if number % 2 else 1]:
            seconds[contestant.name].append(seconds_of(contestant.run) / contestant.units)
    return {name: Timing(name, tuple(taken), first_calls[name]) for name, taken in seconds.items()}
