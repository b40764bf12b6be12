"""How long a fresh process takes until its first step of training is done: imports, compilation, and the step itself.

This module must import nothing that it measures: what it needs of the others it imports when the clock runs, or after.
Each measurement is a process of its own, and contestants take turns. With a *warm cache* another process has compiled
the same before, and kept it (``tapegrad.execution.persistent_cache``, which is JAX's cache, and serves JAX too).
Others that compute on the same machine prolong a first step; its *work*, the seconds of all cores, they change less.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

ROOT = Path(__file__).resolve().parent.parent
OTHERS = {"jax.jit": "jax.numpy", "PyTorch eager": "torch"}
"""Peers, and what a program that uses them imports."""

MINE = {"tapegrad immediate": "tensor", "tapegrad deferred": "deferred", "tapegrad compiled": "compile"}
"""Our modes, and the name in ``tapegrad`` that each of them needs."""

COLD, WARM = "nothing kept", "warm cache"
UNWANTED = ("PYTHONDONTWRITEBYTECODE", "JAX_COMPILATION_CACHE_DIR", "XLA_FLAGS")
"""Variables of the environment that would make a process another one than a user starts."""

Results = list[dict]


@dataclass(frozen=True)
class Fresh:
    """A contestant: who runs the step, and whether it finds it compiled.

    Attributes:
        mode: as ``contest.py`` calls it.
        cache: ``COLD`` or ``WARM``.
    """

    mode: str
    cache: str


# -- in the fresh process ----------------------------------------------------------------------------------------------


def seconds_to_import(module: str) -> float:
    """How long an import takes, of which this process has only what was imported before."""
    start = perf_counter()
    import_module(module)
    return perf_counter() - start


def lived(mode: str, cache: str | None, quick: bool) -> dict[str, float]:
    """Import what the mode needs, set the model up, and take two steps; the seconds of each.

    The *whole* is import, setup and first step; *work* is the seconds of all cores.
    """
    began = process_time()
    taken = {"import": seconds_to_import(OTHERS.get(mode, "jax.numpy"))}
    if mode not in OTHERS:
        taken["import over jax"] = seconds_to_import("tapegrad")
        taken["import"] += taken["import over jax"]
    importing = process_time() - began
    contest, workloads = import_module("benchmarks.contest"), import_module("benchmarks.workloads")
    if cache:
        import_module("tapegrad._src.execution.state.persistent").persistent_cache(cache)
    workload = replace(workloads.workloads(small=quick)["MLP"], steps=1)
    start, began = perf_counter(), process_time()
    running = contest.MODES[mode](workload, mode)
    ready, worked = perf_counter(), process_time()
    running.run()
    first, ended = perf_counter(), process_time()
    running.run()
    taken |= {"setup": ready - start, "first step": first - ready, "work": ended - worked}
    taken |= {"whole": taken["import"] + first - start, "whole work": importing + ended - began}
    return taken | {"second step": perf_counter() - first}


def main() -> None:
    """Live one process's life and print what it took, as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_start", description=__doc__)
    parser.add_argument("mode", choices=[*MINE, *OTHERS])
    parser.add_argument("--cache", help="a directory with what was compiled before")
    parser.add_argument("--quick", action="store_true", help="a small model")
    options = parser.parse_args()
    print(json.dumps(lived(options.mode, options.cache, options.quick)))


# -- in the process that measures --------------------------------------------------------------------------------------


def contestants(caches: Iterable[str] = (COLD, WARM)) -> list[Fresh]:
    """All that can run here: PyTorch may be missing, and so may a mode of ours."""
    ours = import_module("tapegrad")
    modes = [mode for mode, needs in MINE.items() if hasattr(ours, needs)]
    found = [Fresh(mode, cache) for cache in caches for mode in [*modes, "jax.jit"]]
    return [*found, Fresh("PyTorch eager", COLD)] if importlib.util.find_spec("torch") else found


def measured(contestant: Fresh, directory: str, quick: bool) -> dict[str, float]:
    """What one fresh process took.

    Raises:
        RuntimeError: it failed; with what it had to say.
    """
    command = [sys.executable, "-m", "benchmarks.cold_start", contestant.mode]
    command += ["--cache", directory] if contestant.cache == WARM else []
    command += ["--quick"] if quick else []
    environment = {name: value for name, value in os.environ.items() if name not in UNWANTED}
    environment["TAPEGRAD_CACHE_DIR"] = ""  # unless it is said in there
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{contestant.mode}, {contestant.cache}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def cold_start(rounds: int, quick: bool = False, caches: Iterable[str] = (COLD, WARM)) -> Results:
    """Measure all contestants that find one of the ``caches``, ``rounds`` times in alternating order.

    Before that each lives once for nothing, so that the cache is warm and Python has compiled all sources.

    Returns:
        For each contestant its ``mode`` and ``cache``, medians of seconds by what they were taken for, ``rounds`` with
        the seconds of each, and the first step over that of ``jax.jit`` in the same round: ``ratio``, and
        ``work ratio``, by the seconds of all cores; ``whole ratio`` and ``whole work ratio`` count import and setup.
    """
    everybody = contestants(caches)
    seconds: dict[Fresh, list[dict[str, float]]] = {one: [] for one in everybody}
    with tempfile.TemporaryDirectory() as directory:
        for one in everybody:
            measured(one, directory, quick)
        for number in range(rounds):
            for one in everybody[:: -1 if number % 2 else 1]:
                seconds[one].append(measured(one, directory, quick))
    return [_summary(one, taken, seconds[Fresh("jax.jit", one.cache)]) for one, taken in seconds.items()]


def _summary(one: Fresh, taken: list[dict[str, float]], jax_taken: list[dict[str, float]]) -> dict:
    medians = {what: median(each[what] for each in taken) for what in taken[0]}
    ratios = [
        median(mine[what] / its[what] for mine, its in zip(taken, jax_taken, strict=True))
        for what in ("first step", "work", "whole", "whole work")
    ]
    names = dict(zip(("ratio", "work ratio", "whole ratio", "whole work ratio"), ratios, strict=True))
    return {"mode": one.mode, "cache": one.cache, **medians, **names, "rounds": taken}


COLUMNS = ("import", "import over jax", "setup", "first step", "work", "second step")


def table(results: Results) -> str:
    """What ``cold_start`` gave, as text.

    >>> print(table([{"mode": "jax.jit", "cache": COLD, "import": 0.4, "setup": 0.1, "first step": 0.3, "work": 0.4,
    ...               "second step": 0.001, "ratio": 1.0, "work ratio": 1.0}]))
    seconds in a fresh process        import  import over jax   setup  first step    work  second step  over jax.jit's
    nothing kept  jax.jit             0.4000                   0.1000      0.3000  0.4000       0.0010  1.00x work 1.00x
    """
    lines = [f"{'seconds in a fresh process':32s}{''.join(map(_column, COLUMNS))}  over jax.jit's"]
    for one in results:
        numbers = [_column(name, f"{one[name]:.4f}" if name in one else "") for name in COLUMNS]
        ratios = f"  {one['ratio']:.2f}x work {one['work ratio']:.2f}x"
        lines.append(f"{one['cache']:14s}{one['mode']:18s}{''.join(numbers)}{ratios}")
    return "\n".join(lines)


def first_steps(results: Results) -> str:
    """The first step alone, and with import and setup, as text.

    >>> print(first_steps([{"mode": "jax.jit", "first step": 0.3, "work": 0.4, "whole": 0.8, "whole work": 0.9,
    ...                     "ratio": 1.0, "work ratio": 1.0, "whole ratio": 1.0, "whole work ratio": 1.0}]))
    seconds in a fresh process  first step    work  over jax.jit's   with import    work  over jax.jit's
    jax.jit                         0.3000  0.4000  1.00 work 1.00        0.8000  0.9000  1.00 work 1.00
    """
    half = "{:>8}  over jax.jit's"
    lines = [f"{'seconds in a fresh process':28}first step{half.format('work')}   with import{half.format('work')}"]
    for one in results:
        step = f"{one['first step']:10.4f}{one['work']:8.4f}  {one['ratio']:.2f} work {one['work ratio']:.2f}"
        whole = f"{one['whole']:14.4f}{one['whole work']:8.4f}  {one['whole ratio']:.2f}"
        lines.append(f"{one['mode']:28}{step}{whole} work {one['whole work ratio']:.2f}")
    return "\n".join(lines)


def _column(name: str, text: str | None = None) -> str:
    """A column's name, or what stands below it."""
    return f"{name if text is None else text:>{max(len(name) + 2, 8)}s}"


if __name__ == "__main__":
    main()
