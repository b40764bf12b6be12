"""Who competes: one workload, seven ways to run it.

A ``Workload`` is one program, given twice: in PyTorch's language (``Program``: imperative, with tensors that it writes
to) and in JAX (``Pure``: what it would write to goes in and comes out). A *mode* turns it into a ``Running``: tapegrad
at once, deferred and compiled; PyTorch at once and compiled; JAX at once and compiled.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

import tapegrad
from tapegrad._src.execution.data.values import materialized
from tapegrad._src.tensor.tensor import value_of

IMMEDIATE, DEFERRED, COMPILED = "tapegrad immediate", "tapegrad deferred", "tapegrad compiled"
EAGER, TORCH_COMPILE = "PyTorch eager", "torch.compile"
JAX_EAGER, JAX_JIT = "JAX eager", "jax.jit"

OURS = (IMMEDIATE, DEFERRED, COMPILED)
PEERS = (EAGER, TORCH_COMPILE, JAX_EAGER, JAX_JIT)


@dataclass(frozen=True)
class Program:
    """A program in PyTorch's language: ``step(*arguments)`` returns a tensor, and writes to those in ``state``."""

    step: Callable[..., Any]
    arguments: tuple
    state: list


@dataclass(frozen=True)
class Pure:
    """A program in JAX: ``step(state, *arguments)`` returns the new state and a result.

    What ``seen`` gives of the state is that of the ``Program``; there may be more that PyTorch's hides.
    """

    step: Callable[..., tuple[Any, Any]]
    arguments: tuple
    state: Any
    seen: Callable[[Any], Any] = field(default=lambda state: state)


@dataclass(frozen=True)
class Workload:
    """What is measured.

    Attributes:
        title: what the report calls it.
        unit, scale: what one piece of work is called, and what seconds are multiplied by.
        program: ``program(torch, device)`` makes it for a module that speaks PyTorch's language.
        pure: makes it for JAX.
        units: pieces of work in a step.
        steps: steps in a measurement; slow modes take one.
        floors: contestants that do the least that could be done, by name.
    """

    title: str
    unit: str
    scale: float
    program: Callable[[Any, str], Program]
    pure: Callable[[], Pure]
    units: int = 1
    steps: int = 1
    floors: dict[str, Callable[[], object]] = field(default_factory=dict)


@dataclass(frozen=True)
class Running:
    """A workload made ready in one mode.

    Attributes:
        run: takes ``steps`` steps, and returns when what they compute is there.
        numbers: what the last step returned, and the state, as NumPy arrays of float32.
    """

    run: Callable[[], object]
    numbers: Callable[[], list[np.ndarray]]
    steps: int


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_gpu() -> bool:
    """Whether JAX computes on a GPU; if so, all contestants do."""
    return jax.default_backend() == "gpu"


def _imperative(
    program: Program, steps: int, wait: Callable[[list], object], context: Callable[[], AbstractContextManager]
) -> Running:
    last: list = [None]

    def run() -> object:
        with context():
            for _ in range(steps):
                result = program.step(*program.arguments)
            last[0] = result.detach()
            del result  # and its graph with it, as in a loop
        return wait([last[0], *program.state])

    def numbers() -> list[np.ndarray]:
        return [tensor.detach().float().cpu().numpy() for tensor in (last[0], *program.state)]

    return Running(run, numbers, steps)


def ours(workload: Workload, mode: str) -> Running:
    """The workload on tapegrad."""
    program = workload.program(tapegrad, "cuda" if on_gpu() else "cpu")
    if mode == COMPILED:
        program = Program(tapegrad.compile(program.step), program.arguments, program.state)
    context = tapegrad.deferred if mode == DEFERRED else nullcontext
    return _imperative(program, workload.steps, _wait, context)


def wait_for_arrays(tensors: list) -> object:
    """Return when tensors and their gradients are there: for hundreds of them, ``to_arrays`` would take too long."""
    wanted = [*tensors, *(tensor.grad for tensor in tensors if tensor.grad is not None)]
    return jax.block_until_ready([materialized(value_of(tensor)) for tensor in wanted])


def _wait(tensors: list) -> object:
    """The same, with what compiles in the background: that takes over with the next measurement."""
    tapegrad.execution.wait_for_compiler()
    return wait_for_arrays(tensors)


def pytorch(workload: Workload, mode: str) -> Running:
    """The workload on PyTorch, with as many threads as we have cores."""
    import torch

    torch.set_num_threads(cores())
    program = workload.program(torch, "cuda" if on_gpu() else "cpu")
    if mode == TORCH_COMPILE:
        torch._dynamo.reset()  # each workload is allowed the recompilations of a fresh process
        program = Program(torch.compile(program.step), program.arguments, program.state)
    wait = (lambda tensors: torch.cuda.synchronize()) if on_gpu() else (lambda tensors: None)
    return _imperative(program, workload.steps, wait, nullcontext)


def by_jax(workload: Workload, mode: str) -> Running:
    """The workload in JAX; compiled, it may use the memory of its state for the new one."""
    pure = workload.pure()
    steps = workload.steps if mode == JAX_JIT else 1
    step = jax.jit(pure.step, donate_argnums=0) if mode == JAX_JIT else pure.step
    now: list = [pure.state, None]

    def run() -> object:
        for _ in range(steps):
            now[1] = None
            now[:] = step(now[0], *pure.arguments)
        return jax.block_until_ready(now)

    def numbers() -> list[np.ndarray]:
        return [np.asarray(array, "float32") for array in jax.tree.leaves((now[1], pure.seen(now[0])))]

    return Running(run, numbers, steps)


MODES: dict[str, Callable[[Workload, str], Running]] = (
    dict.fromkeys(OURS, ours)
    | dict.fromkeys((EAGER, TORCH_COMPILE), pytorch)
    | dict.fromkeys((JAX_EAGER, JAX_JIT), by_jax)
)
"""All modes, in the order of the report."""
