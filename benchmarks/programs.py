"""Whole programs, those in ``examples/``, from a cold start: what they take, their first step, and a later one.

Each is run by a fresh process, as a user would run it; nothing that was compiled before is found again. What is taken
down is when each line of its table of losses arrives: the heading comes before the first step, a line after each.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.contest import COMPILED, EAGER, IMMEDIATE, TORCH_COMPILE
from benchmarks.fresh import ROOT, environment

EXAMPLES = ROOT / "examples"
HEADING = "step  loss"

COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    IMMEDIATE: (["-m", "tapegrad"], []),
    EAGER: ([], []),
    COMPILED: (["-m", "tapegrad"], ["--compile"]),
    TORCH_COMPILE: ([], ["--compile"]),
}
"""Who runs them: what stands before the script on the command line, and after it."""

Taken = dict[str, float]
Measured = dict[str, dict[str, Taken]]


def scripts() -> list[Path]:
    """The programs; other files there are what they import."""
    return [
        path for path in sorted(EXAMPLES.glob("*.py")) if "from training import" in path.read_text(encoding="utf-8")
    ]


def run(command: list[str]) -> Taken:
    """What a program takes, in seconds: in whole, for its first step, and in the median for one of its later half.

    Raises:
        subprocess.CalledProcessError: the program failed; it has printed why.
    """
    began, times = perf_counter(), []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment()) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(HEADING) or line[:4].strip().isdigit():
                times.append(perf_counter() - began)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return {"whole": perf_counter() - began, **steps(times)}


def steps(times: list[float]) -> Taken:
    """The first step, and one of the later half, from when lines were printed.

    >>> steps([1.0, 3.0, 4.0, 4.5, 4.75, 5.0])
    {'first step': 2.0, 'step': 0.25}
    """
    taken = [after - before for before, after in pairwise(times)]
    return {"first step": taken[0], "step": median(taken[len(taken) // 2 + 1 :] or taken)}


def programs(contestants: Iterable[str], rounds: int, quick: bool, only: str = "") -> Measured:
    """Measure all programs with ``only`` in their names; prints a row for each as it comes."""
    found: Measured = {}
    contestants = list(contestants)
    print(f"{'seconds: whole, first step, later':26}", *(f"{who:>26}" for who in contestants))
    for script in scripts():
        if only in script.stem:
            found[script.stem] = {who: best(script, who, rounds, quick) for who in contestants}
            print(f"{script.stem:26}", *(row_of(one) for one in found[script.stem].values()), flush=True)
    return found


def best(script: Path, who: str, rounds: int, quick: bool) -> Taken:
    """The median of some runs."""
    before, after = COMMANDS[who]
    command = [sys.executable, *before, str(script), *after, *(["--steps", "4"] if quick else [])]
    runs = [run(command) for _ in range(rounds)]
    return {what: median(one[what] for one in runs) for what in runs[0]}


def row_of(taken: Taken) -> str:
    """One contestant's part of a row.

    >>> row_of({"whole": 2.25, "first step": 0.5, "step": 0.0125})
    '     2.25   0.500   0.0125'
    """
    return f"{taken['whole']:9.2f}{taken['first step']:8.3f}{taken['step']:9.4f}"


def ratios(measured: Mapping[str, Mapping[str, Taken]], who: str, what: str) -> dict[str, float]:
    """By program: a contestant's seconds as a multiple of PyTorch eager's."""
    return {
        name: taken[who][what] / taken[EAGER][what] for name, taken in measured.items() if {who, EAGER} <= set(taken)
    }


def summary(measured: Measured) -> str:
    """Medians, and the worst, of all programs as multiples of PyTorch eager's.

    >>> fast, slow = {"whole": 1.0, "first step": 1.0, "step": 1.0}, {"whole": 2.0, "first step": 3.0, "step": 4.0}
    >>> print(summary({"a": {IMMEDIATE: slow, EAGER: fast}}))
    times PyTorch eager: median, worst
    tapegrad immediate         whole 2.00, 2.00 (a)   first step 3.00, 3.00 (a)   step 4.00, 4.00 (a)
    """
    lines = [f"times {EAGER}: median, worst"]
    for who in COMMANDS:
        parts = []
        for what in ("whole", "first step", "step"):
            found = ratios(measured, who, what)
            if found and who != EAGER:
                worst = max(found, key=found.__getitem__)
                parts.append(f"{what} {median(found.values()):.2f}, {found[worst]:.2f} ({worst})")
        if parts:
            lines.append(f"{who:26} " + "   ".join(parts))
    return "\n".join(lines)
