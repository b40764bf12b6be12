"""Dynamic programs, each in a fresh process: how long until they have ended, if they do.

Nothing is warm: what a library does for a shape, a setting or a graph that it has not seen counts. Who has not ended
after the limit is not asked again.
"""

from __future__ import annotations

import math
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.dynamic_programs import PROGRAMS
from benchmarks.fresh import EAGER, JAX, Nursery, cpu_seconds, found, nurseries, serve, started

LIMIT = 45.0
"""Seconds after which a program is not waited for any longer."""

SLOW = 5.0
"""Who has taken so many seconds is not measured again."""

Seconds = dict[str, float]
"""By contestant; infinite for a program that has not ended, nan for one that has no counterpart in JAX."""


def lived(who: str, name: str, few: bool) -> dict[str, float]:
    """Run a program in this process, and say what it took and gave."""
    torch, program = started(who), PROGRAMS[name]
    run, n = program.run, program.few if few else program.n
    if who == JAX:
        from benchmarks.dynamic_jax import PURE

        run = PURE[name]
    start, worked = perf_counter(), cpu_seconds()
    result = run(torch, n)
    return {"seconds": cpu_seconds() - worked, "clock": perf_counter() - start, "result": result}


def answer(who: str, name: str, few: bool) -> dict[str, float] | None:
    """The same where there is such a program; where not, nan seconds."""
    if who == JAX:
        from benchmarks.dynamic_jax import PURE

        if name not in PURE:
            return {"seconds": math.nan}
    return lived(who, name, few)


def least(taken: list[dict[str, float] | None]) -> float:
    """The least seconds of several rounds.

    >>> least([{"seconds": 2.0}, {"seconds": 1.0}]), least([{"seconds": 2.0}, None])
    (1.0, inf)
    """
    return min(one["seconds"] for one in taken if one) if all(taken) else math.inf


def program_seconds(name: str, opened: dict[str, Nursery], *, rounds: int, limit: float, few: bool) -> Seconds:
    """Measure one program, in turns."""
    taken: dict[str, list] = {who: [] for who in opened}
    for number in range(rounds):
        for who in list(opened)[:: -1 if number % 2 else 1]:
            if all(one and one["seconds"] < SLOW for one in taken[who]):
                taken[who].append(opened[who].ask(limit, name, few))
    return {who: least(rounds_of) for who, rounds_of in taken.items()}


def dynamic(*, rounds: int = 3, limit: float = LIMIT, few: bool = False) -> dict[str, Seconds]:
    """Measure all programs, and print each when it has been measured; ``few`` of everything shows that it works."""
    measured = {}
    with nurseries(__name__, found()) as opened:
        print(head(list(opened)))
        for name in PROGRAMS:
            measured[name] = program_seconds(name, opened, rounds=rounds, limit=limit, few=few)
            print(line(name, measured[name], limit), flush=True)
    return measured


# -- what is told ------------------------------------------------------------------------------------------------------


def head(everybody: list[str]) -> str:
    """The title and the columns of the table."""
    titles = "".join(f"{who:>22}" for who in everybody)
    return f"dynamic programs: CPU seconds in a fresh process (times {EAGER})\n  {'':29}{titles}"


def line(name: str, seconds: Seconds, limit: float) -> str:
    """A program's line: seconds, and times PyTorch's.

    >>> print(line("a loop", {EAGER: 0.5, "mine": 1.0, "his": math.inf, JAX: math.nan}, 45.0))
      a loop             0.500          1.000   (2.0)         > 45 s (> 90)         -
    """
    cells = []
    for who, taken in seconds.items():
        peer = seconds.get(EAGER, math.nan)
        if math.isnan(taken):
            cells.append("-")
        elif math.isinf(taken):
            cells.append(f"> {limit:g} s (> {limit / peer:.0f})")
        else:
            cells.append(f"{taken:.3f}" if who == EAGER else f"{taken:.3f} {f'({taken / peer:.1f})':>7}")
    return f"  {name:29}" + "".join(f"{cell:>22}" for cell in cells)


def ratios(measured: dict[str, Seconds], who: str, never: float = math.inf) -> dict[str, float]:
    """Times PyTorch's seconds, program by program; who has not ended has taken ``never`` seconds."""
    taken = {name: (seconds[who], seconds[EAGER]) for name, seconds in measured.items() if not math.isnan(seconds[who])}
    return {name: min(mine, never) / its for name, (mine, its) in taken.items()}


def summary(measured: dict[str, Seconds], limit: float) -> str:
    """Median and worst ratio of each contestant; a program that has not ended is worse than all others."""
    everybody = next(iter(measured.values()))
    if EAGER not in everybody:
        return f"no ratios without {EAGER}"
    return "\n".join(summary_line(measured, who, limit) for who in everybody if who != EAGER)


def summary_line(measured: dict[str, Seconds], who: str, limit: float) -> str:
    """The same of one contestant; a median of programs that have not ended is more than what is told."""
    of = ratios(measured, who)
    ended = {name: ratio for name, ratio in of.items() if math.isfinite(ratio)}
    middle = median(of.values())
    typical = f"{middle:.1f}" if math.isfinite(middle) else f"> {median(ratios(measured, who, limit).values()):.0f}"
    worst = max(of, key=lambda name: of[name])
    slowest = f"{of[worst]:.1f} ({worst})" if len(ended) == len(of) else "not ended"
    return f"  {who:20} median {typical}, worst {slowest}; {len(ended)} of {len(of)} ended within {limit:g} s"


def as_json(measured: dict[str, Seconds]) -> list[dict[str, Any]]:
    """For the file: seconds by contestant, None for what has not ended."""
    return [
        {"case": name, "seconds": {who: s if math.isfinite(s) else None for who, s in seconds.items() if s == s}}
        for name, seconds in measured.items()
    ]


if __name__ == "__main__":
    serve(answer)
