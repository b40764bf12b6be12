"""Operators that a process meets for the first time: each once at one shape, forward, backward and double backward.

A process that has imported a library calls all of them, one after the other, and says what the CPU took for each, all
threads together. Another one that has done nothing yet does the same for PyTorch; and again, in turns. So what is
traced, written, planned and compiled for a call is measured, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from statistics import median
from typing import Any

import numpy as np

from benchmarks.first_operators import ARGUMENTS, CALLS, code_of
from benchmarks.fresh import EAGER, IMMEDIATE, cpu_seconds, found, nurseries, serve, started

LIMIT = 120.0
"""Seconds of the CPU that a process has."""

Costs = dict[str, dict[str, float]]
"""Milliseconds by call and by who took them."""


# -- in the fresh process ----------------------------------------------------------------------------------------------


def answer(who: str, families: list[str]) -> dict[str, float]:
    """Call everything once; milliseconds of each."""
    torch = started(who)
    functional = import_module(f"{torch.__name__}.nn.functional")
    warm = torch.ones(2, requires_grad=True)
    twice(torch, [warm], warm * warm)
    taken = {}
    for family in families:
        for call in CALLS[family]:
            rng = np.random.default_rng(0)
            code, names = code_of(call)
            given = {name: ARGUMENTS[name](rng) for name in names}
            arrays = {name: array if array.dtype == "int64" else array.astype("float32") for name, array in given.items()}
            tensors = {name: torch.tensor(array) for name, array in arrays.items()}
            leaves = [tensor.requires_grad_() for tensor in tensors.values() if tensor.dtype == torch.float32]
            scope = {"t": torch, "F": functional, **tensors}
            start = cpu_seconds()
            twice(torch, leaves, eval(code, scope))
            taken[call] = 1e3 * (cpu_seconds() - start)
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
    contestants = [who for who in found() if who in (IMMEDIATE, EAGER)]
    costs: Costs = {call: dict.fromkeys(contestants, math.inf) for family in families for call in CALLS[family]}
    with nurseries(__name__, contestants) as opened:
        for number in range(rounds):
            for who in contestants[:: -1 if number % 2 else 1]:
                taken = opened[who].ask(LIMIT, list(families))
                if taken is None:
                    raise RuntimeError(f"{who} has not ended in {LIMIT:g} seconds")
                for call, cost in taken.items():
                    costs[call][who] = min(costs[call][who], cost)
    return costs


def ratios(costs: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Our cost of each call over PyTorch's."""
    return {call: taken[IMMEDIATE] / taken[EAGER] for call, taken in costs.items() if EAGER in taken}


def table(costs: Costs, worst: int = 12) -> str:
    """A line for each family, with sums and ratios, and the calls that are worst.

    >>> print(table({"x + y": {IMMEDIATE: 2.0, EAGER: 0.5}, "x @ w": {IMMEDIATE: 1.0, EAGER: 0.5}}))
    first calls, twice differentiated      ms    PyTorch's   of sums   median   worst
    elementwise (1)                       2.0          0.5       4.0      4.0     4.0
    products (1)                          1.0          0.5       2.0      2.0     2.0
    all (2)                               3.0          1.0       3.0      3.0     4.0
    <BLANKLINE>
    worst: x + y 4.0 (2.0 ms), x @ w 2.0 (1.0 ms)
    """
    lines = ["first calls, twice differentiated      ms    PyTorch's   of sums   median   worst"]
    for name, calls in [*CALLS.items(), ("all", list(costs))]:
        measured = {call: costs[call] for call in calls if call in costs}
        if measured:
            lines.append(line(f"{name} ({len(measured)})", measured))
    found = sorted(ratios(costs).items(), key=lambda item: -item[1])[:worst]
    told = [f"{call} {ratio:.1f} ({costs[call][IMMEDIATE]:.1f} ms)" for call, ratio in found]
    return "\n".join([*lines, "", f"worst: {', '.join(told)}"])


def line(name: str, costs: Costs) -> str:
    """A line of the table."""
    mine, its = (sum(taken.get(who, math.nan) for taken in costs.values()) for who in (IMMEDIATE, EAGER))
    found = list(ratios(costs).values()) or [math.nan]
    return f"{name:30}{mine:11.1f}{its:13.1f}{mine / its:10.1f}{median(found):9.1f}{max(found):8.1f}"


if __name__ == "__main__":
    serve(answer)
