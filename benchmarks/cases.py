"""Tables of the report: which contestants are compared with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks import around, layers, nets, operators, writes
from benchmarks.contest import MODES, OURS, Workload, on_gpu
from benchmarks.timing import Contestant

TAPEGRAD = "tapegrad"
"""Our column where there is one only."""

Modules = dict[str, Any]
"""Column title to module, for all that speak PyTorch's language."""


@dataclass(frozen=True)
class Case:
    """A table of the report: contestants that do the same work."""

    title: str
    unit: str
    scale: float
    contestants: tuple[Contestant, ...]


def is_ours(name: str) -> bool:
    """Whether a contestant is tapegrad."""
    return name == TAPEGRAD or name in OURS


def repeated(run: Callable[[], object], times: int) -> Callable[[], object]:
    """Call ``run`` several times, so that short programs last long enough to be timed."""

    def loop() -> object:
        for _ in range(times):
            result = run()
        return result

    return loop


def workload_case(workload: Workload, modes: Iterable[str]) -> Case:
    """A workload in some of the modes, and its floors."""
    runnings = {mode: MODES[mode](workload, mode) for mode in modes}
    found = [Contestant(mode, one.run, workload.units * one.steps) for mode, one in runnings.items()]
    for name, run in workload.floors.items():
        found.append(Contestant(name, repeated(run, workload.steps), workload.units * workload.steps))
    return Case(workload.title, workload.unit, workload.scale, tuple(found))


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


def layer_cases(modules: Modules) -> list[Case]:
    """Calls of modules, and networks of them, beside the same without."""
    cases = []
    for title, (program, units) in layers.PROGRAMS.items():
        runs = {f"{name}, {way}": run for name, module in modules.items() for way, run in program(module).items()}
        contestants = tuple(Contestant(name, repeated(run, 10), 10 * units) for name, run in runs.items())
        cases.append(Case(title, "us each", 1e6, contestants))
    return cases


def net_cases(modules: Modules, small: bool) -> list[Case]:
    """A step of each net of modules beside the same of functions."""
    cases = []
    for title in nets.NETS:
        found = {name: nets.steps(module, title, small) for name, module in modules.items()}
        runs = {f"{name}, {way}": run for name, of in found.items() for way, run in of.items()}
        contestants = tuple(Contestant(name, repeated(run, 20), 20, not on_gpu()) for name, run in runs.items())
        cases.append(Case(title, "us a step", 1e6, contestants))
    return cases


def operator_cases(modules: Modules, name: str, program: operators.Program) -> Iterator[Case]:
    """An operator in all sizes, forward and with backward, each made when it is its turn; one unit is one call."""
    for floats, size in operators.SIZES.items():
        for backward in (False, True)[: 1 + program.differentiable]:
            title = f"{name}, {size} floats, forward{' and backward' if backward else ''}"
            runs = {who: operators.torch_run(module, program, floats, backward) for who, module in modules.items()}
            runs["JAX eager"] = operators.jax_run(program, floats, backward)
            times = 20 if floats < 100_000 else 1
            contestants = tuple(Contestant(who, repeated(run, times), times, not on_gpu()) for who, run in runs.items())
            yield Case(title, "us each", 1e6, contestants)
