"""Taking turns: how contestants are measured so that their ratio means something on a busy machine."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time


@dataclass(frozen=True)
class Contestant:
    """A callable to time. One call does ``units`` pieces of work and returns when all of its results are there.

    With ``cpu`` it is charged the seconds of the CPU, all threads together: on one core that is what a clock shows as
    long as nobody else is there, and where others are it says more.
    """

    name: str
    run: Callable[[], object]
    units: int = 1
    cpu: bool = False

    def seconds(self) -> float:
        """What one call takes."""
        return cpu_seconds_of(self.run) if self.cpu else seconds_of(self.run)


@dataclass(frozen=True)
class Timing:
    """What a contestant took: seconds per unit in each round, and seconds lost until it was warm (compilation)."""

    name: str
    seconds: tuple[float, ...]
    warming: float

    @property
    def median(self) -> float:
        """Median seconds per unit of work."""
        return median(self.seconds)

    @property
    def least(self) -> float:
        """Seconds per unit of the quickest round: what it takes when nobody is in the way."""
        return min(self.seconds)

    def ratio_to(self, other: Timing) -> float:
        """How many times as long as ``other`` this took: the median over the rounds in which both ran."""
        return median(mine / its for mine, its in zip(self.seconds, other.seconds, strict=False))

    def least_ratio_to(self, other: Timing) -> float:
        """How many times as long the quickest round took as that of ``other``: for few and short rounds."""
        return self.least / other.least


def seconds_of(run: Callable[[], object]) -> float:
    """Wall-clock seconds of one call, starting from a collected heap; collections that it causes count."""
    gc.collect()
    start = perf_counter()
    run()
    return perf_counter() - start


def cpu_seconds_of(run: Callable[[], object]) -> float:
    """The same in seconds of the CPU."""
    gc.collect()
    start = process_time()
    run()
    return process_time() - start


def take_turns(
    contestants: list[Contestant], *, rounds: int, warmups: int = 4, budget: float = float("inf"), least: int = 3
) -> dict[str, Timing]:
    """Time every contestant once per round, in alternating order, after all of them have warmed up.

    The last contestant warms up first: put those that compile a whole program behind those that compile its parts, and
    nobody finds half of his work done by another.

    Args:
        contestants: with distinct names.
        rounds: how many measurements each gets.
        warmups: calls before the first measurement; what some took longer than the quickest was lost for compilation.
        budget: who has run for longer than so many seconds sits out the rounds behind the ``least`` first ones.
        least: rounds that everybody gets.
    """
    warming: dict[str, float] = {}
    for contestant in contestants[::-1]:
        calls = [contestant.seconds() for _ in range(warmups)]
        warming[contestant.name] = sum(calls) - warmups * min(calls)
    seconds: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    spent = dict.fromkeys(seconds, 0.0)
    for number in range(rounds):
        for contestant in contestants[:: -1 if number % 2 else 1]:
            if number < least or spent[contestant.name] < budget:
                taken = contestant.seconds()
                spent[contestant.name] += taken
                seconds[contestant.name].append(taken / contestant.units)
    return {name: Timing(name, tuple(taken), warming[name]) for name, taken in seconds.items()}
