"""The tape under ``jax.jit``: is the program that XLA gets as good as that of ``jax.value_and_grad``?

Each model of ``models.py`` is compiled three times: with gradients by the tape (which is built and run
while jax traces), with gradients of the same function on tensors by jax, and written in JAX by hand. Counted are the
operations of the optimized program, those inside of fusions too, without what computes nothing (parameters, constants,
tuples, bitcasts); timed are tracing with lowering (from scratch: jax's caches are cleared), compiling, and the program
itself, in turns.
"""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time
from typing import Any

import jax
import numpy as np

import tapegrad
from benchmarks.models import LSTM, MODELS, SMALL_MODELS, Model, lstm
from benchmarks.timing import Contestant, Timing, take_turns
from tapegrad._src.tensor.tensor import describe, value_of, wrap

TAPE, OURS_BY_JAX, JAX = "the tape", "tapegrad by jax", "JAX by hand"

FULL_MODELS = MODELS | {LSTM: lstm(20, 32, 32, 64)}
"""A shorter loop, for it is compiled a dozen times."""

NOTHING = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"}
"""What counts as no operation."""


def tensor(value: Any, requires_grad: bool = False) -> Any:
    """A tensor around an array or a tracer."""
    return wrap(value, describe(value).replace(requires_grad=requires_grad))


def by_tape(model: Model) -> Callable:
    """Loss, buffers and gradients by the tape, as a function of arrays."""

    def value_and_grad(parameters: list, buffers: list, data: list) -> tuple[tuple[Any, list], list]:
        leaves, written = [tensor(parameter, True) for parameter in parameters], list(map(tensor, buffers))
        loss = model.torch(tapegrad, leaves, written, list(map(tensor, data)))
        grads = tapegrad.autograd.grad(loss, leaves)
        return (value_of(loss), list(map(value_of, written))), list(map(value_of, grads))

    return value_and_grad


def ours_by_jax(model: Model) -> Callable:
    """Loss, buffers and gradients of the same function by jax."""

    def loss(*arrays: list) -> tuple[Any, list]:
        parameters, buffers, data = (list(map(tensor, group)) for group in arrays)
        value = value_of(model.torch(tapegrad, parameters, buffers, data))
        return value, list(map(value_of, buffers))

    return jax.value_and_grad(loss, has_aux=True)


def contestants(model: Model) -> dict[str, Callable]:
    """The three functions of (parameters, buffers, data) that give ((loss, buffers), gradients)."""
    return {TAPE: by_tape(model), OURS_BY_JAX: ours_by_jax(model), JAX: jax.value_and_grad(model.jax, has_aux=True)}


def operations(program: str) -> Counter[str]:
    """How often each operation stands in the text of an optimized program.

    >>> text = '''  %p = f32[2]{0} parameter(0)
    ...   ROOT %y.1 = f32[2]{0} add(%p, %p), metadata={op_name="add"}'''
    >>> operations(text)
    Counter({'add': 1})
    """
    found = re.findall(r"^\s+(?:ROOT )?%?[\w.-]+ = (?:\([^=]*?\)|\S+) ([a-z][\w-]*)\(", program, re.MULTILINE)
    return Counter(name for name in found if name not in NOTHING)


@dataclass
class Compiled:
    """One contestant's program: what it consists of, and what it took to make it (seconds, each round)."""

    program: Callable
    operations: Counter[str]
    lowering: list[float] = field(default_factory=list)
    compiling: list[float] = field(default_factory=list)


def compiled(functions: dict[str, Callable], arguments: tuple, rounds: int) -> dict[str, Compiled]:
    """Compile each function, in turns, several times from scratch."""
    found: dict[str, Compiled] = {}
    for number in range(rounds + 1):  # the first is a warm-up: imports, caches, and plans of ours
        for name, function in list(functions.items())[:: -1 if number % 2 else 1]:
            program, lowering, compiling = _compile(function, arguments)
            if number == 0:
                found[name] = Compiled(program, operations(program.as_text()))
            else:
                found[name].lowering.append(lowering)
                found[name].compiling.append(compiling)
    return found


def _compile(function: Callable, arguments: tuple) -> tuple[Any, float, float]:
    jax.clear_caches()
    gc.collect()
    start = process_time()  # one thread traces and lowers: that others are busy does not count
    lowered = jax.jit(lambda *given: function(*given)).lower(*arguments)
    lowering = process_time() - start
    start = perf_counter()
    program = lowered.compile()
    return program, lowering, perf_counter() - start


@dataclass
class Result:
    """What was measured of one model."""

    title: str
    compiled: dict[str, Compiled]
    timings: dict[str, Timing]

    def ratios(self, name: str) -> tuple[float, ...]:
        """A contestant's operations, time, least time, time to lower and to compile, as times those of JAX by hand."""
        mine, its = self.compiled[name], self.compiled[JAX]
        pairs = [(mine.lowering, its.lowering), (mine.compiling, its.compiling)]
        making = [median(a / b for a, b in zip(*pair, strict=True)) for pair in pairs]
        count = mine.operations.total() / its.operations.total()
        time, its_time = self.timings[name], self.timings[JAX]
        return count, time.ratio_to(its_time), time.least / its_time.least, *making


def measure(title: str, model: Model, *, rounds: int) -> Result:
    """Compile and time one model."""
    arguments = model.arrays(np.random.default_rng(0))
    programs = compiled(contestants(model), arguments, min(rounds, 3))
    on_device = jax.device_put(arguments)

    def run_of(program: Callable) -> Callable[[], object]:
        return lambda: jax.block_until_ready(program(*on_device))

    turns = [Contestant(name, run_of(one.program)) for name, one in programs.items()]
    return Result(title, programs, take_turns(turns, rounds=rounds))


def under_jit(rounds: int, quick: bool) -> list[Result]:
    """Measure all models and print a table for each."""
    results = []
    for title, model in (SMALL_MODELS if quick else FULL_MODELS).items():
        results.append(measure(title, model, rounds=rounds))
        print(table(results[-1]), end="\n\n")
    return results


def table(result: Result) -> str:
    """One model: each contestant's numbers, and how many times those of JAX by hand they are."""
    heads = ("operations", "time, ms", "least time, ms", "lowering, s", "compiling, s")
    lines = [result.title, f"  {'':18}" + "".join(f"{head:>22}" for head in heads)]
    for name, one in result.compiled.items():
        making = median(one.lowering), median(one.compiling)
        running = result.timings[name].median * 1e3, result.timings[name].least * 1e3
        numbers = (f"{one.operations.total()}", *(f"{number:.3f}" for number in (*running, *making)))
        cells = (f"{number:>14} ({ratio:.2f})" for number, ratio in zip(numbers, result.ratios(name), strict=True))
        lines.append(f"  {name:18}" + "".join(f"{cell:>22}" for cell in cells))
    return "\n".join(lines)


def as_json(result: Result) -> dict[str, Any]:
    """One model's numbers."""
    return {
        "case": f"{result.title} under jit",
        "contestants": {
            name: {
                "operations": one.operations.total(),
                "lowering_s": one.lowering,
                "compiling_s": one.compiling,
                "rounds_s": list(result.timings[name].seconds),
                "ratios": result.ratios(name),
            }
            for name, one in result.compiled.items()
        },
    }
