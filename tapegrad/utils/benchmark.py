"""``torch.utils.benchmark``: how long statements take, with the device waited for before a time is taken.

>>> found = Timer("x + 1", globals={"x": torch.ones(2)}).timeit(10)
>>> found.number_per_run, found.median > 0
(10, True)
"""

from __future__ import annotations

import statistics
import textwrap
import timeit
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import floor, log10
from time import perf_counter
from typing import Any, NoReturn

from tapegrad._src.absent import refused, refusing
from tapegrad._src.bindings.state.settings import get_num_threads, set_num_threads
from tapegrad._src.execution.data.devices import accelerator_type
from tapegrad._src.execution.data.devices import device as Device
from tapegrad._src.execution.programs.hardware import wait_for

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig", "unit_to_english"]

__getattr__ = refusing(__name__)
Compare = refused("torch.utils.benchmark.Compare", "print(measurement) shows each; sort them by measurement.median")
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
MOST_RUNS = 10**9


def timer() -> float:
    """The time in seconds, once the device has computed what it was given."""
    wait_for(Device(accelerator_type() or "cpu"))
    return perf_counter()


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time of some seconds is told, and how many seconds that is.

    >>> select_unit(2e-5)
    ('us', 1e-06)
    """
    power = max(min(floor(log10(t) / 3), 0), -3) if t > 0 else -3
    name = ("s", "ms", "us", "ns")[-power]
    return name, UNITS[name]


def unit_to_english(u: str) -> str:
    """The name of a unit."""
    return {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number with so many digits that count.

    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    if x == 0:
        return 0.0
    scale = 10 ** (floor(log10(abs(x))) + 1 - n)
    return float(round(x / scale) * scale)


@dataclass(frozen=True)
class TaskSpec:
    """A task that is measured."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The name of the task: its label, else its statement."""
        name = self.label or self.stmt.strip().replace("\n", "; ")
        return name + (f": {self.sub_label}" if self.sub_label else "")


@dataclass(frozen=True)
class Measurement:
    """A measurement.

    Attributes:
        number_per_run: how often the statement ran for each time.
        raw_times: the times, in seconds.
        task_spec: what was measured.
        metadata: what else is to be remembered.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @property
    def times(self) -> list[float]:
        """The seconds that the statement took, one for each time."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median of these."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance of their quartiles."""
        if len(self.raw_times) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return third - first

    @property
    def has_warnings(self) -> bool:
        """True if they differ so much that little is known: by a tenth of the median."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Tell whether their quartiles are closer than a share of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """The name of the task."""
        return self.task_spec.title

    def __getattr__(self, name: str) -> Any:
        if name in ("stmt", "setup", "label", "sub_label", "description", "env", "num_threads"):
            return getattr(self.task_spec, name)
        raise AttributeError(name)

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        count, threads = len(self.raw_times), self.task_spec.num_threads
        told = [self.title, *([self.task_spec.description] if self.task_spec.description else [])]
        several = count > 1
        told += [f"  {'Median: ' if several else ''}{self.median / scale:.2f} {unit}"]
        told += [f"  IQR:    {self.iqr / scale:.2f} {unit}"] if several else []
        runs = f"{self.number_per_run} runs {'per measurement' if several else ''}".strip()
        told += [f"  {count} measurement{'s' * several}, {runs}, {threads} thread{'s' * (threads > 1)}"]
        return "\n".join(told)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Those of one task as one measurement."""
        found: dict[TaskSpec, list[Measurement]] = {}
        for one in measurements:
            found.setdefault(one.task_spec, []).append(one)
        return [Measurement(1, [t for one in group for t in one.times], spec) for spec, group in found.items()]


class Timer:
    """The time that a statement takes.

    Args:
        stmt: the statement, as text.
        setup: what runs before.
        global_setup: for C++; refused.
        timer: what tells the time.
        globals: the names that the statement may use.
        label, sub_label, description, env: what it is called.
        num_threads: how many threads compute meanwhile, as far as that can be said.
        language: Python.

    Raises:
        NotImplementedError: C++.
    """

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None,
        description: str | None = None, env: str | None = None, num_threads: int = 1, language: Any = "python",
    ) -> None:  # fmt: skip
        if global_setup or str(language).rpartition(".")[2].lower() not in ("python", "py", "0"):
            raise NotImplementedError("torch.utils.benchmark.Timer: statements are Python's here")
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip() or "pass"
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)
        self._timer = timeit.Timer(stmt, setup, timer, dict(globals or {}))

    collect_callgrind = refused("torch.utils.benchmark.Timer.collect_callgrind", "jax.profiler.trace shows what runs")

    def autorange(self, callback: Callable[[int, float], NoReturn] | None = None) -> None:
        """Refused, as in PyTorch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Refused, as in PyTorch."""
        raise NotImplementedError("See `Timer.timeit.`")

    def _times(self, number: int) -> float:
        before = get_num_threads()
        try:
            set_num_threads(self._task_spec.num_threads)
            return max(self._timer.timeit(number), 1e-9)
        finally:
            set_num_threads(before)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Run it so often, after a few to warm up, and take one time."""
        self._times(max(number // 100, 2))
        return Measurement(number, [self._times(number)], self._task_spec)

    def _block_size(self, min_run_time: float) -> int:
        """The number of times that it has to run for taking the time to be a thousandth of the whole, about."""
        overhead = statistics.median(self._timer.timeit(0) for _ in range(5))
        number = 1
        while number < MOST_RUNS:
            taken = self._times(number)
            if (overhead / taken <= 1e-4 and taken >= min_run_time / 1000) or taken > min_run_time:
                break
            number *= 10
        return number

    def blocked_autorange(
        self, callback: Callable[[int, float], NoReturn] | None = None, min_run_time: float = 0.2
    ) -> Measurement:  # fmt: skip
        """Take times, each of so many runs that taking it costs little, for so many seconds at least.

        Args:
            callback: called with the number of runs and each time.
            min_run_time: how long.
        """
        number = self._block_size(min_run_time)
        return Measurement(number, self._until(number, callback, min_run_time, lambda times: True), self._task_spec)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Callable[[int, float], NoReturn] | None = None,
    ) -> Measurement:  # fmt: skip
        """Take times until their quartiles are closer than ``threshold`` times the median.

        Args:
            threshold: see above.
            min_run_time, max_run_time: how many seconds at least, and at most.
            callback: called with the number of runs and each time.
        """
        number = self._block_size(0.05)

        def known(times: list[float]) -> bool:
            found = Measurement(number, times, self._task_spec)
            return sum(times) > max_run_time or (len(times) > 3 and found.meets_confidence(threshold))

        return Measurement(number, self._until(number, callback, min_run_time, known), self._task_spec)

    def _until(
        self, number: int, callback: Any, min_run_time: float, known: Callable[[list[float]], bool]
    ) -> list[float]:
        times: list[float] = []
        while sum(times) < min_run_time or not known(times):
            times.append(self._times(number))
            if callback is not None:
                callback(number, times[-1])
        return times
