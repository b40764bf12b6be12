"""How much memory a step takes at most: the peak of a fresh process for each contestant.

The model is a perceptron of 64 layers of 1,024 x 1,024, at batch 1,024: its parameters take 256 MiB, their gradients as
much, and so do the results of its layers. Measured is the resident memory of the whole process, and what of it was not
there yet when the libraries had been imported. Steps are taken twice: the second begins with what the first has left.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import jax

from benchmarks import targets
from benchmarks.contest import COMPILED, DEFERRED, EAGER, IMMEDIATE, JAX_JIT, MODES, Program, Pure, Workload
from benchmarks.fresh import highest
from benchmarks.models import Model, arrays, mlp, tensors
from benchmarks.workloads import jax_training, training

GRADIENTS, STEP = "forward and backward, gradients kept", "a step of SGD, gradients dropped"
CONTESTANTS = (IMMEDIATE, DEFERRED, COMPILED, EAGER, JAX_JIT)
LAYERS, WIDTH, BATCH = 64, 1024, 1024

ROOT = Path(__file__).parents[1]

Peaks = dict[str, dict[str, float]]
"""By contestant: MiB of the whole process, those of the step, and the loss of the last one."""


def keeping(model: Model, torch: Any, device: str) -> Program:
    """Forward and backward in PyTorch's language; the gradients are there until the next."""
    parameters, buffers, data = tensors(model, torch, device)

    def step(*data: Any) -> Any:
        for parameter in parameters:
            parameter.grad = None
        loss = model.torch(torch, parameters, buffers, data)
        loss.backward()
        return loss.detach()

    return Program(step, tuple(data), parameters)


def jax_keeping(model: Model) -> Pure:
    """The same in JAX: the state is that of before, and all results are kept until the next step."""
    parameters, buffers, data = arrays(model)

    def step(state: tuple, parameters: list, *data: Any) -> tuple[tuple, Any]:
        return state, jax.value_and_grad(model.jax, has_aux=True)(parameters, buffers, data)

    return Pure(step, (parameters, *data), ())


def workload(kind: str, layers: int, width: int, batch: int) -> Workload:
    """The perceptron, with or without the update."""
    model = mlp((width,) * (layers + 1), batch)
    programs = {GRADIENTS: (keeping, jax_keeping), STEP: (training, jax_training)}[kind]
    return Workload(kind, "MiB", 1.0, partial(programs[0], model), partial(programs[1], model))


def peak(kind: str, mode: str, *sizes: int) -> dict[str, float]:
    """Run the perceptron twice in this process, and say what it took: for fresh processes."""
    if mode == EAGER:
        import torch

        torch.ones(2).sum()
    jax.block_until_ready(jax.numpy.ones(2).sum())
    before = highest()
    running = MODES[mode](workload(kind, *sizes), mode)
    running.run()
    running.run()
    process = highest()
    return {"process": process, "step": process - before, "loss": float(running.numbers()[0])}


def in_fresh_process(kind: str, mode: str, *sizes: int) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", __name__, kind, mode, *map(str, sizes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(f"{mode}, {kind}: the process failed: {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def memory(
    modes: tuple[str, ...] = CONTESTANTS, sizes: tuple[int, int, int] = (LAYERS, WIDTH, BATCH)
) -> dict[str, Peaks]:
    """Measure some contestants, with and without the update."""
    return {kind: {mode: in_fresh_process(kind, mode, *sizes) for mode in modes} for kind in (GRADIENTS, STEP)}


def rows(found: dict[str, Peaks]) -> list[targets.Row]:
    """The promises: at once not more than PyTorch, compiled as much as ``jax.jit``."""
    promises = [(kind, IMMEDIATE, EAGER, 1.0) for kind in found] + [(kind, COMPILED, JAX_JIT, 1.05) for kind in found]
    measured = []
    for kind, mode, peer, bound in promises:
        if {mode, peer} <= found[kind].keys():
            ratio = found[kind][mode]["process"] / found[kind][peer]["process"]
            measured.append(targets.row(f"memory, {kind}: {mode} / {peer}", ratio, bound))
    return measured


def table(found: dict[str, Peaks]) -> str:
    """What was measured as text."""
    told = []
    for kind, peaks in found.items():
        told += [f"peak memory, MiB: {kind}", f"  {'':26}{'whole process':>16}{'of the step':>16}"]
        told += [f"  {mode:26}{one['process']:16.0f}{one['step']:16.0f}" for mode, one in peaks.items()]
    return "\n".join(told)


if __name__ == "__main__":
    print(json.dumps(peak(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))))
