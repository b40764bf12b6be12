"""Operators that a process meets for the first time: each once at one shape, forward, backward and double backward.

A process that has imported a library calls all of them, one after the other, and says what the CPU took for each, all
threads together. Another one that has done nothing yet does the same for PyTorch; and again, in turns. So what is
traced, written, planned and compiled for a call is measured, and nothing else: once where nothing is kept on disk, and
once where another process has written the same before (Note [Kept functions] in ``tapegrad/_src/tape/kept.py``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.first_operators import ARGUMENTS, CALLS, code_of
from benchmarks.fresh import EAGER, IMMEDIATE, Nursery, cpu_seconds, found, nurseries, serve, started

KEPT = "tapegrad, written before"
"""Who finds on disk what another process has written."""

LIMIT = 120.0
"""Seconds of the CPU that a process has."""

Costs = dict[str, dict[str, float]]
"""Milliseconds by call and by who took them."""


# -- in the fresh process ----------------------------------------------------------------------------------------------


def answer(who: str, families: list[str], directory: str | None = None) -> dict[str, float]:
    """Call everything once; milliseconds of each. In the directory it is kept what was written for the calls."""
    torch = started(who)
    if directory:
        import_module("tapegrad._src.tape.kept").keep_in(Path(directory))
    functional = import_module(f"{torch.__name__}.nn.functional")
    warm = torch.ones(2, requires_grad=True)
    twice(torch, [warm], warm * warm)
    taken = {}
    for family in families:
        for call in CALLS[family]:
            rng = np.random.default_rng(0)
            code, names = code_of(call)
            given = {name: ARGUMENTS[name](rng) for name in names}
            tensors = {
                name: torch.tensor(array if array.dtype == "int64" else array.astype("float32"))
                for name, array in given.items()
            }
            leaves = [tensor.requires_grad_() for tensor in tensors.values() if tensor.dtype == torch.float32]
            scope = {"t": torch, "F": functional, **tensors}
            start = cpu_seconds()
            twice(torch, leaves, eval(code, scope))
            taken[call] = 1e3 * (cpu_seconds() - start)
    if directory:
        import_module("tapegrad._src.tape.kept").store.write()
    return taken


def twice(torch: Any, leaves: Sequence[Any], output: Any) -> None:
    """Differentiate, and differentiate what comes out."""
    grads = torch.autograd.grad(output, leaves, torch.ones_like(output), create_graph=True, allow_unused=True)
    again = [grad for grad in grads if grad is not None and grad.requires_grad]
    if again:
        torch.autograd.grad(again, leaves, [torch.ones_like(grad) for grad in again], allow_unused=True)


# -- in the process that measures --------------------------------------------------------------------------------------


def first_calls(rounds: int, families: Sequence[str] = tuple(CALLS)) -> Costs:
    """Measure all calls in turns; the least of the rounds.

    Raises:
        RuntimeError: a process has not ended in time.
    """
    contestants = [IMMEDIATE, *(who for who in found() if who == EAGER)]
    costs: Costs = {call: {} for family in families for call in CALLS[family]}
    with nurseries(__name__, contestants) as opened, TemporaryDirectory() as directory:
        asked(opened[IMMEDIATE], families, directory)  # so that there is something in it
        everybody = [(who, opened[who], None) for who in contestants] + [(KEPT, opened[IMMEDIATE], directory)]
        for number in range(rounds):
            for who, nursery, place in everybody[:: -1 if number % 2 else 1]:
                for call, cost in asked(nursery, families, place).items():
                    costs[call][who] = min(costs[call].get(who, math.inf), cost)
    return costs


def asked(nursery: Nursery, families: Sequence[str], directory: str | None) -> dict[str, float]:
    """What a fresh process took.

    Raises:
        RuntimeError: it has not ended in time.
    """
    taken = nursery.ask(LIMIT, list(families), directory)
    if taken is None:
        raise RuntimeError(f"{nursery.who} has not ended in {LIMIT:g} seconds")
    return taken


def ratios(costs: Mapping[str, Mapping[str, float]], who: str = IMMEDIATE) -> dict[str, float]:
    """Our cost of each call over PyTorch's."""
    return {call: taken[who] / taken[EAGER] for call, taken in costs.items() if EAGER in taken}


def table(costs: Costs, worst: int = 12) -> str:
    """A line for each family, with sums and ratios, and the calls that are worst.

    >>> print(table({"x + y": {IMMEDIATE: 2.0, EAGER: 0.5, KEPT: 1.0}, "x @ w": {IMMEDIATE: 1.0, EAGER: 0.5, KEPT: 1}}))
    tapegrad immediate: first calls, twice differentiated      ms    PyTorch's   of sums   median   worst
    elementwise (1)                                           2.0          0.5       4.0      4.0     4.0
    products (1)                                              1.0          0.5       2.0      2.0     2.0
    all (2)                                                   3.0          1.0       3.0      3.0     4.0
    worst: x + y 4.0 (2.0 ms), x @ w 2.0 (1.0 ms)
    <BLANKLINE>
    tapegrad, written before: first calls, twice differentiated      ms    PyTorch's   of sums   median   worst
    elementwise (1)                                                 1.0          0.5       2.0      2.0     2.0
    products (1)                                                    1.0          0.5       2.0      2.0     2.0
    all (2)                                                         2.0          1.0       2.0      2.0     2.0
    worst: x + y 2.0 (1.0 ms), x @ w 2.0 (1.0 ms)
    """
    return "\n\n".join(part(costs, who, worst) for who in (IMMEDIATE, KEPT))


def part(costs: Costs, who: str, worst: int) -> str:
    """The same of one contestant."""
    title = f"{who}: first calls, twice differentiated"
    lines = [f"{title}      ms    PyTorch's   of sums   median   worst"]
    for name, calls in [*CALLS.items(), ("all", list(costs))]:
        measured = {call: costs[call] for call in calls if call in costs}
        if measured:
            lines.append(line(f"{name} ({len(measured)})".ljust(len(title)), measured, who))
    found = sorted(ratios(costs, who).items(), key=lambda item: -item[1])[:worst]
    told = [f"{call} {ratio:.1f} ({costs[call][who]:.1f} ms)" for call, ratio in found]
    return "\n".join([*lines, f"worst: {', '.join(told)}"])


def line(name: str, costs: Costs, who: str) -> str:
    """A line of the table."""
    mine, its = (sum(taken.get(one, math.nan) for taken in costs.values()) for one in (who, EAGER))
    found = list(ratios(costs, who).values()) or [math.nan]
    return f"{name}{mine:8.1f}{its:13.1f}{mine / its:10.1f}{median(found):9.1f}{max(found):8.1f}"


if __name__ == "__main__":
    serve(answer)
