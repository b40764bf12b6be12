"""What it buys that optimizers' updates are compiled by themselves: ``python -m benchmarks.updates``, best pinned.

The updates of twenty parameters by SGD with momentum, Adam and AdamW: at once, and in a step that can't be replayed, as
it asks for the time, where the update is compiled by itself (``compiled_modules.settings.updates``). Beside them
PyTorch's, and ``jax.jit`` of optax's. Gradients are given; what is timed is the update alone. Where a program is not
likely to be quicker (``StepExecutable.pays_as_update``), the update stays at once.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import jax
import numpy as np
import optax

import tapegrad
from tapegrad.compiler.replay.compiled_modules import settings

COUNT, SIZES = 20, (1_000, 100_000, 1_000_000)
KINDS = ("SGD", "Adam", "AdamW")
OPTIONS = {"SGD": {"lr": 0.01, "momentum": 0.9}, "Adam": {"lr": 1e-3}, "AdamW": {"lr": 1e-3, "weight_decay": 1e-2}}
WARMING = 12


def drawn(seed: int, size: int) -> list[np.ndarray]:
    """Arrays for all parameters."""
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(size, dtype=np.float32) for _ in range(COUNT)]


def updating(torch: Any, kind: str, size: int, compiled: bool = False) -> Callable[[], float]:
    """A function that makes one update, and says how many seconds it took."""
    parameters = [torch.tensor(one, requires_grad=True) for one in drawn(0, size)]
    gradients = [torch.tensor(one) for one in drawn(1, size)]
    optimizer = getattr(torch.optim, kind)(parameters, **OPTIONS[kind])
    taken = [0.0]

    def step() -> float:
        start = perf_counter()
        optimizer.step()
        read = parameters[-1][0].item()  # by then all of it has been computed
        taken[0] = perf_counter() - start
        return read

    run = torch.compile(step) if compiled else step

    def measured() -> float:
        for p, grad in zip(parameters, gradients, strict=True):
            p.grad = grad
        run()
        return taken[0]

    return measured


def by_optax(kind: str, size: int) -> Callable[[], float]:
    """The same of ``jax.jit``."""
    options = {name.replace("lr", "learning_rate"): value for name, value in OPTIONS[kind].items()}
    optimizer = getattr(optax, kind.lower())(**options)
    parameters, gradients = ([jax.numpy.array(one, copy=True) for one in drawn(seed, size)] for seed in (0, 1))
    kept = [parameters, optimizer.init(parameters)]

    @partial(jax.jit, donate_argnums=(0, 1))  # in the order of the results that take their places
    def update(parameters: Any, state: Any, gradients: Any) -> Any:
        changes, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, changes), state

    def measured() -> float:
        start = perf_counter()
        kept[:] = jax.block_until_ready(update(*kept, gradients))
        return perf_counter() - start

    return measured


def contestants(kind: str, size: int) -> Iterator[tuple[str, Callable[[], float]]]:
    """Who takes part."""
    yield "at once", updating(tapegrad, kind, size)
    yield "by itself", updating(tapegrad, kind, size, compiled=True)
    if importlib.util.find_spec("torch") is not None:
        import torch

        torch.set_num_threads(1)
        yield "PyTorch", updating(torch, kind, size)
    yield "optax, jitted", by_optax(kind, size)


def row(kind: str, size: int, rounds: int) -> dict[str, float]:
    """The seconds of an update, by contestant: medians of rounds."""
    running = dict(contestants(kind, size))
    for _ in range(2):
        for _, run in (pair for pair in running.items() for _ in range(WARMING)):
            run()
        tapegrad.execution.wait_for_compiler()
    taken: dict[str, list[float]] = {name: [] for name in running}
    for _ in range(rounds):
        for name, run in running.items():
            taken[name].append(run())
    return {name: median(seconds) for name, seconds in taken.items()}


def main() -> None:
    """Print a table: milliseconds, and how many times as long as at once."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.updates", description=__doc__)
    parser.add_argument("--rounds", type=int, default=25, help="updates of each contestant")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="elements of each parameter")
    parser.add_argument("--off", action="store_true", help="as if updates were not compiled by themselves")
    options = parser.parse_args()
    settings.updates = not options.off
    for kind in KINDS:
        for size in options.sizes:
            found = row(kind, size, options.rounds)
            shown = (f"{name} {one * 1e3:.3f} ({one / found['at once']:.2f})" for name, one in found.items())
            print(f"{kind:6}{COUNT} x {size:>9,}: {'  '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
