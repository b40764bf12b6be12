"""Those who train a model, and what each of them imports."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.fresh import DEFERRED, EAGER, IMMEDIATE
from benchmarks.whole.model import Model, program

COMPILED, MODEL_COMPILED, TORCH_COMPILE = "tapegrad compiled", "tapegrad model compiled", "torch.compile"
JAX_JIT = "jax.jit"
"""As ``contest.py`` calls them, which imports them all."""

OURS = (IMMEDIATE, DEFERRED, COMPILED, MODEL_COMPILED)

LIBRARIES = dict.fromkeys(OURS, "tapegrad") | {EAGER: "torch", TORCH_COMPILE: "torch", JAX_JIT: "jax"}
"""All of them, in the order of the report, and what a program imports for it."""

Steps = Callable[[int], list[float]]
"""Takes so many steps; returns the loss of each, which is read when its step was called."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Running:
    """A contestant that has a model in its hands.

    Attributes:
        steps: takes steps.
        wait: returns when nothing is computed or compiled any more.
    """

    def __init__(self, steps: Steps, wait: Callable[[], object]) -> None:
        self.steps, self.wait = steps, wait


def running(model: Model, who: str) -> Running:
    """A contestant with a new model."""
    library = import_module(LIBRARIES[who])
    if who == JAX_JIT:
        return by_jax(model, library)
    if who in (EAGER, TORCH_COMPILE):
        library.set_num_threads(cores())
    context = library.deferred if who == DEFERRED else nullcontext
    return imperative(model, who, library, context)


def imperative(model: Model, who: str, torch: Any, context: Callable[[], AbstractContextManager]) -> Running:
    """A contestant that speaks PyTorch's language."""
    with context():
        made = program(model, torch, torch.compile if who == MODEL_COMPILED else lambda net: net)
    step = torch.compile(made.step) if who in (COMPILED, TORCH_COMPILE) else made.step

    def steps(count: int) -> list[float]:
        with context():
            return [step(*made.data).item() for _ in range(count)]

    def wait() -> None:
        if who in OURS:
            torch.execution.wait_for_compiler()
            import_module("benchmarks.contest").wait_for_arrays(list(made.net.parameters()))

    return Running(steps, wait)


def by_jax(model: Model, jax: Any) -> Running:
    """The same in JAX; a step may use the memory of its state for the new one."""
    state, data = begun(model, jax)
    step = jax.jit(stepped(model, jax), donate_argnums=0)
    now = [state]

    def one() -> float:
        now[0], loss = step(now[0], *data)
        return float(loss)

    return Running(lambda count: [one() for _ in range(count)], lambda: jax.block_until_ready(now[0]))


def begun(model: Model, jax: Any) -> tuple[tuple, list]:
    """The state of before the first step, parameters, buffers and what the optimizer keeps; and the data."""
    parameters, data = (list(map(jax.numpy.array, arrays)) for arrays in model.arrays())
    buffers = list(map(jax.numpy.array, model.buffers()))
    return (parameters, buffers, optimizer_of(model).begin(parameters)), data


def optimizer_of(model: Model) -> Any:
    """A model's optimizer in JAX."""
    name, settings = model.optimizer
    return import_module("benchmarks.whole.optimizers_jax").OPTIMIZERS[name](**settings)


def function(name: str) -> Callable[..., Any]:
    """A function of this package by "module:function"."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"benchmarks.whole.{module}"), attribute)


def stepped(model: Model, jax: Any) -> Callable[..., tuple[tuple, Any]]:
    """A step: ``step(state, *data)`` gives the new state and the loss."""
    compute = jax.value_and_grad(partial(function(model.jax), **model.settings), has_aux=True)
    optimizer = optimizer_of(model)

    def one(state: tuple, *data: Any) -> tuple[tuple, Any]:
        parameters, buffers, moments = state
        (loss, buffers), grads = compute(parameters, buffers, *data)
        parameters, moments = optimizer.update(parameters, grads, moments)
        return (parameters, buffers, moments), loss

    return partial(function(model.jax_steps), one) if model.jax_steps else one
