"""What each mechanism buys: programs with and without it, in turns. ``python -m benchmarks --ablate``.

Each measurement is made by a fork of a process that has imported the package and done nothing, so that nobody finds
what another has left: it makes the program, takes steps until that is warm, and gives the median of the next ones, in
seconds of the CPU, all threads together, on one core. A round has one measurement with everything and one without each
mechanism that may concern the program; the table has the medians of all rounds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.ablation_programs import EARLY, FIRST, LONGEST, NEW, WORKLOADS, Workload
from benchmarks.fresh import IMMEDIATE, ROOT, cpu_seconds, nurseries, serve, started

WARM, MEASURED = 0.5, 0.5
"""Seconds until a program counts as warm, and for how many it is measured."""

WARM_PROGRAM = 2.0
"""Seconds until one counts as warm of which XLA compiles programs."""

LIMIT = 90.0
"""Seconds after which a measurement is given up."""

FEWEST = 5
"""How many steps are measured at least, and how many come before them."""

PAYS = 1.3
"""What a mechanism should buy on a program, to stay."""

BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
"""Between these lines of a page stands the table."""


# -- in the fresh process ----------------------------------------------------------------------------------------------


def answer(who: str, name: str, without: str | None, directory: str, quick: bool) -> float:
    """The seconds of a step of a workload, without a mechanism, or with all."""
    torch, workload = started(who), WORKLOADS[name]
    from tapegrad._src.tape import kept

    if workload.what == FIRST:
        kept.keep_in(Path(directory))
    with ExitStack() as stack:
        names = workload.never if without is None else (*workload.never, without)
        stack.enter_context(torch.execution.without(*names))
        if workload.by_xla:
            stack.enter_context(torch.execution.tiers("xla"))
        if workload.deferred:
            torch.set_execution("deferred")
        found = seconds(torch, workload, quick)
    if workload.what == FIRST and without is None:
        kept.store.write()
    return found


def seconds(torch: Any, workload: Workload, quick: bool) -> float:
    """What is measured of a workload."""
    step = workload.make(torch)
    if workload.what == FIRST:
        return taken(step, [0])[0]
    if workload.what == EARLY:
        return sum(taken(step, range(4)))
    if workload.what == LONGEST:
        return max(taken(step, range(20 if quick else 250), perf_counter)[1:])
    in_programs = workload.deferred or workload.compiled
    warm, measured = (0.0, 0.0) if quick else (WARM_PROGRAM if in_programs else WARM, MEASURED)
    before = len(taken_for(step, 0, warm))
    if workload.what != NEW:
        torch.execution.wait_for_compiler()
        before += len(taken_for(step, before, warm / 4))
    return median(taken_for(step, before, measured))


def taken(step: Any, steps: Iterable[int], clock: Any = cpu_seconds) -> list[float]:
    """What some steps take."""
    found = []
    for number in steps:
        start = clock()
        step(number)
        found.append(clock() - start)
    return found


def taken_for(step: Any, first: int, limit: float) -> list[float]:
    """What steps take from a number on, for so many seconds, and ``FEWEST`` steps at least."""
    found: list[float] = []
    while len(found) < FEWEST or sum(found) < limit:
        found += taken(step, [first + len(found)])
    return found


# -- in the process that measures --------------------------------------------------------------------------------------


class Row(NamedTuple):
    """What a mechanism buys on a workload.

    Attributes:
        without, with_it: milliseconds a step; None for what had not ended after ``LIMIT``.
    """

    mechanism: str
    workload: str
    without: float | None
    with_it: float | None

    @property
    def factor(self) -> float:
        """How many times as long it takes without."""
        if self.with_it is None:
            return float("nan")
        return float("inf") if self.without is None else self.without / self.with_it


def ablate(rounds: int, quick: bool = False, only: str = "", limit: float = LIMIT) -> list[Row]:
    """Measure the workloads with ``only`` in their names, or in that of a mechanism, and print rows as they come."""
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory() as directory,
        shipped(Path(directory)),
        nurseries("benchmarks.ablate", [IMMEDIATE]) as opened,
    ):
        for name, workload in WORKLOADS.items():
            others = [one for one in workload.mechanisms if only in one or only in name]
            if others:
                times: dict[str | None, list[float | None]] = {one: [] for one in (None, *others)}
                for number in range(-1 if workload.what == FIRST else 0, rounds):
                    for one in times:
                        found: Any = opened[IMMEDIATE].ask(limit, name, one, directory, quick)
                        if number >= 0:  # else it was kept for the others
                            times[one].append(found)
                rows += rows_of(name, times)
                print(*[line(row) for row in rows[-len(others) :]], sep="\n", flush=True)
    return rows


class shipped:
    """Processes that are started in the block find what comes with the package, written now if it was not before."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "shipped.bin"

    def __enter__(self) -> None:
        from tapegrad._src.tape import kept

        self.before = os.environ.get(kept.SHIPPED)
        if not kept.shipped.is_there:
            command = [sys.executable, "-m", "tapegrad._src.shipping", str(self.path)]
            subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
            os.environ[kept.SHIPPED] = str(self.path)

    def __exit__(self, *error: object) -> None:
        from tapegrad._src.tape import kept

        if self.before is None:
            os.environ.pop(kept.SHIPPED, None)


def rows_of(name: str, times: dict[str | None, list[float | None]]) -> list[Row]:
    """The rows of a workload, from what each measurement took."""
    medians = {one: None if None in found else 1e3 * median(found) for one, found in times.items()}  # type: ignore[type-var]
    return [Row(one, name, medians[one], medians[None]) for one in medians if one is not None]


def milliseconds(value: float | None) -> str:
    """As the table has it.

    >>> milliseconds(1.2345), milliseconds(123.4), milliseconds(None)
    ('1.23', '123', 'not ended')
    """
    return "not ended" if value is None else f"{value:.3g}"


def line(row: Row) -> str:
    """A row of the table.

    >>> line(Row("view cache", "views", 3.0, 2.0))
    '| view cache | views | 3 | 2 | **1.50** |'
    """
    factor = f"{row.factor:.2f}" if row.factor < 10 else f"{row.factor:.3g}"
    factor = f"**{factor}**" if row.factor >= PAYS else factor
    return " | ".join(
        ["| " + row.mechanism, row.workload, milliseconds(row.without), milliseconds(row.with_it), factor + " |"]
    )


def table(rows: Iterable[Row]) -> str:
    """All rows, those of one mechanism together."""
    names = list(dict.fromkeys(row.mechanism for row in rows))
    ordered = sorted(rows, key=lambda row: (names.index(row.mechanism), -row.factor))
    head = "| without | program | ms without | ms with | times |\n| --- | --- | --- | --- | --- |"
    return "\n".join([head, *map(line, ordered)])


def lesser(rows: Iterable[Row]) -> Iterator[str]:
    """The mechanisms that buy less than ``PAYS`` on every program.

    >>> list(lesser([Row("a", "x", 1.0, 1.0), Row("b", "x", 1.0, 1.0), Row("b", "y", 2.0, 1.0)]))
    ['a']
    """
    best: dict[str, float] = {}
    for row in rows:
        best[row.mechanism] = max(best.get(row.mechanism, 0.0), row.factor)
    return (name for name, factor in best.items() if factor < PAYS)


def written(page: str, rows: Iterable[Row]) -> str:
    """A page with another table.

    >>> written(f"a\\n{BEGIN}\\nold\\n{END}\\nb", []).splitlines()[0]
    'a'
    """
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{table(rows)}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    serve(answer)
