"""Which contestants run each program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import around, jax_programs, operators, programs, writes
from benchmarks.programs import Sizes
from benchmarks.timing import Contestant

OURS = "tapegrad"
FLOOR = "bare XLA call"
TWO_FLOORS = "two bare XLA calls"

Modules = dict[str, Any]
"""Column title to module, for all that speak PyTorch's language."""


@dataclass(frozen=True)
class Case:
    """A table of the report: contestants that do the same work."""

    title: str
    unit: str
    scale: float
    contestants: tuple[Contestant, ...]


def repeated(run: Callable[[], object], times: int) -> Callable[[], object]:
    """Call ``run`` several times, so that short programs last long enough to be timed."""

    def loop() -> object:
        for _ in range(times):
            result = run()
        return result

    return loop


def chain_cases(modules: Modules, length: int, *, repeats: int) -> list[Case]:
    """Forward, and forward with backward, of a chain of ``length`` multiplies; one unit is one multiply."""

    def contestant(name: str, run: Callable[[], object]) -> Contestant:
        return Contestant(name, repeated(run, repeats), length * repeats)

    forward = [contestant(FLOOR, jax_programs.floor(length))]
    total = [contestant(TWO_FLOORS, jax_programs.floor(2 * length))]
    for title, module in modules.items():
        forward.append(contestant(title, programs.chain_forward(module, length)))
        total.append(contestant(title, programs.chain_total(module, length)))
    forward.append(contestant("JAX eager, unrecorded", jax_programs.chain_forward(length)))
    total.append(Contestant("JAX eager", jax_programs.chain_total(length, compiled=False), length))
    total.append(contestant("JAX jit(value_and_grad)", jax_programs.chain_total(length, compiled=True)))
    return [
        Case(f"chain of {length:,} multiplies of 4 floats: forward", "us per multiply", 1e6, tuple(forward)),
        Case(f"chain of {length:,} multiplies of 4 floats: forward and backward", "us per multiply", 1e6, tuple(total)),
    ]


def around_cases(modules: Modules, length: int, *, repeats: int) -> list[Case]:
    """A chain with one feature around the engine in use at every operator; the first case is without any."""
    return [
        Case(
            f"chain of {length}, forward and backward, with {feature}",
            "us per multiply",
            1e6,
            tuple(
                Contestant(name, repeated(around.chain(module, length, feature), repeats), length * repeats)
                for name, module in modules.items()
            ),
        )
        for feature in around.FEATURES
    ]


def write_cases(modules: Modules) -> list[Case]:
    """Views and in-place writes; one unit is one write, read or row."""
    cases = []
    for title in writes.PROGRAMS:
        runs = {name: writes.program(module, title) for name, module in modules.items()}
        for name, compiled in (("JAX eager", False), ("JAX jit", True)):
            runs[name] = writes.jax_program(title, compiled=compiled)
        contestants = tuple(Contestant(name, run, writes.TIMES) for name, run in runs.items())
        cases.append(Case(f"{title}, {writes.TIMES} x {writes.WIDTH} floats", "us each", 1e6, contestants))
    return cases


def operator_cases(modules: Modules, family: str) -> list[Case]:
    """The operators of a family, forward and with backward, small and large; one unit is one call."""
    cases = []
    for name, program in operators.PROGRAMS[family].items():
        for large, backward in ((False, False), (False, True), (True, False), (True, True)):
            runs = {title: operators.torch_run(module, program, large, backward) for title, module in modules.items()}
            runs["JAX eager"] = operators.jax_run(program, large, backward)
            times = 1 if large else 20
            contestants = tuple(Contestant(title, repeated(run, times), times) for title, run in runs.items())
            title = f"{name}, {'1M' if large else '1k'} floats, forward{' and backward' if backward else ''}"
            cases.append(Case(title, "us each", 1e6, contestants))
    return cases


def step_case(title: str, step: Callable, jax_step: Callable, modules: Modules, sizes: Sizes) -> Case:
    """One training step; every contestant starts from the same numbers."""
    contestants = [Contestant(name, step(module, sizes, np.random.default_rng(0))) for name, module in modules.items()]
    for name, compiled in (("JAX eager", False), ("JAX jit(value_and_grad)", True)):
        contestants.append(Contestant(name, jax_step(sizes, np.random.default_rng(0), compiled=compiled)))
    return Case(title, "ms per step", 1e3, tuple(contestants))


def step_cases(modules: Modules, sizes: Sizes) -> list[Case]:
    """The two models."""
    layers = "-".join(map(str, sizes.layers))
    mlp = f"MLP {layers}, batch {sizes.batch}: a step of SGD"
    size = f"batch {sizes.lstm_batch}, hidden {sizes.hidden}"
    lstm = f"LSTM cell, loop of {sizes.steps} steps, {size}: loss and gradients"
    return [
        step_case(mlp, programs.mlp_step, jax_programs.mlp_step, modules, sizes),
        step_case(lstm, programs.lstm_step, jax_programs.lstm_step, modules, sizes),
    ]
