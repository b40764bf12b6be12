"""What it takes until a step is compiled: ``python -m benchmarks --compiled`` asks a fresh process for each contestant.

Steps are taken one by one until one was replayed; with ``jax.jit`` that is the second. What is *blocked* is what the
longest call takes beyond a call at once; nobody waits for the compiler but where the program itself does. Compiles are
those of XLA, of which jax tells. With a *warm cache* another process has compiled everything into the same folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from statistics import median
from time import perf_counter, process_time
from typing import Any

from benchmarks.fresh import ROOT, UNWANTED

COMPILED, IMMEDIATE, JAX_JIT = "tapegrad compiled", "tapegrad immediate", "jax.jit"
MODES = (COMPILED, IMMEDIATE, JAX_JIT)
MOST = 60.0
"""For so many seconds steps are taken at most: they go on at once until the compiler is likely to have ended."""

COMPILE = "/jax/core/compile/backend_compile_duration"
"""By what name jax tells of a compile."""

Results = dict[str, dict[str, dict[str, float]]]


def stepping(workload: Any, mode: str) -> tuple[Callable[[], object], Callable[[], bool]]:
    """A function that takes a step and waits for it, and one that says whether a step was replayed."""
    contest = import_module("benchmarks.contest")
    if mode == JAX_JIT:
        return contest.by_jax(workload, mode).run, lambda: True
    tapegrad = import_module("tapegrad")
    program = workload.program(tapegrad, "cuda" if contest.on_gpu() else "cpu")
    step = tapegrad.compile(program.step) if mode == COMPILED else program.step

    def run() -> object:
        return contest.wait_for_arrays([step(*program.arguments), *program.state])

    return run, lambda: mode == IMMEDIATE or step.replayed > 0


def lived(name: str, mode: str, cache: str | None, quick: bool) -> dict[str, float]:
    """What one process took: seconds until the first replay, of the longest call, and of XLA's compiles."""
    from dataclasses import replace

    import jax

    compiles: list[float] = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiles.append(seconds) if event == COMPILE else None
    )
    apart = import_module("benchmarks.apart")
    if cache:
        import_module("tapegrad._src.execution.state.persistent").persistent_cache(cache)
    workload = replace(apart.named(name, quick), steps=1)
    run, replayed = stepping(workload, mode)
    taken: list[float] = []
    began, worked = perf_counter(), process_time()
    while perf_counter() < began + MOST and not (len(taken) > 1 and replayed()):
        start = perf_counter()
        run()
        taken.append(perf_counter() - start)
    found = {"first replay": perf_counter() - began, "work": process_time() - worked, "calls": len(taken)}
    least = []
    for _ in range(5):
        start = perf_counter()
        run()
        least.append(perf_counter() - start)
    found |= {"longest": max(taken), "step": median(least)}
    return found | {"compiles": len(compiles), "compile seconds": sum(compiles)}


def main() -> None:
    """Live one process's life and print what it took, as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_replays", description=__doc__)
    parser.add_argument("workload")
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--cache", help="a directory with what was compiled before")
    parser.add_argument("--quick", action="store_true", help="a small model")
    options = parser.parse_args()
    print(json.dumps(lived(options.workload, options.mode, options.cache, options.quick)))


def measured(name: str, mode: str, quick: bool, cache: str | None = None) -> dict[str, float]:
    """What one fresh process took.

    Raises:
        RuntimeError: it failed; with what it had to say.
    """
    command = [sys.executable, "-m", "benchmarks.first_replays", name, mode]
    command += ["--cache", cache] if cache else []
    command += ["--quick"] if quick else []
    environment = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    environment["TAPEGRAD_CACHE_DIR"] = ""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}, {mode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def first_replays(names: list[str], quick: bool) -> Results:
    """For each workload, by contestants: cold, and compiled ones once more with a warm cache."""
    found: Results = {}
    for name in names:
        found[name] = {mode: measured(name, mode, quick) for mode in MODES}
        for mode in (COMPILED, JAX_JIT):
            with tempfile.TemporaryDirectory() as folder:
                measured(name, mode, quick, folder)
                found[name][f"{mode}, warm cache"] = measured(name, mode, quick, folder)
    return found


COLUMNS = ("first replay", "work", "calls", "longest", "step", "compiles", "compile seconds")


def table(found: Results) -> str:
    """The measurements as text."""
    return "\n".join(_lines(found))


def _lines(found: Results) -> Iterator[str]:
    yield f"{'until the first replay, s':44}" + "".join(f"{name:>16}" for name in COLUMNS)
    for name, contestants in found.items():
        for who, one in contestants.items():
            yield f"{name + ', ' + who:44}" + "".join(f"{one[column]:16.4g}" for column in COLUMNS)


if __name__ == "__main__":
    main()
