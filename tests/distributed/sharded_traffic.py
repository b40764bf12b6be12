"""What travels between devices in a training step, by XLA's own account: ours, and of the same step written in JAX.

Run by ``test_sharded.py``. It prints, for each model and layout, the collectives of both with their bytes.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sharded_models import LAYOUTS, MLP, Block, data, loss_of

import tapegrad as torch
from benchmarks.plan import collectives
from tapegrad._src.execution.programs.step_executable import StepExecutable
from tapegrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from tapegrad.distributed.tensor import Replicate, Shard, distribute_tensor

RATE = 0.1


def traffic(hlo: str) -> tuple[dict[str, int], int]:
    """How many collectives of each kind an optimized program has, and how many bytes their results take.

    XLA may or may not join collectives of one kind, so that a joint one of several arrays counts as several.
    """
    found = list(collectives(hlo))
    return dict(sorted(Counter(kind for kind, _ in found).items())), sum(size for _, size in found)


def prepared(kind: type, layout: str, mesh: DeviceMesh) -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    model = kind()
    x, y = data(model)
    model = LAYOUTS[layout](model, mesh)
    over = [Shard(0)] * 2 if layout == "data" else [Shard(0), Replicate()]
    return model, *(distribute_tensor(given, mesh, over) for given in (x, y))


def ours(kind: type, layout: str, mesh: DeviceMesh) -> str:
    """The program that a compiled step has become."""
    model, x, y = prepared(kind, layout, mesh)
    parameters = list(model.parameters())
    programs: list[str] = []
    original = StepExecutable._jit

    def spied(self: Any, inputs: Any) -> Any:
        jitted = original(self, inputs)
        with jax.enable_x64(True):
            programs.append(jitted.lower(*[inputs[i] for i in self._order]).compile().as_text())
        return jitted

    @torch.compile
    def step() -> Any:
        loss = loss_of(model, x, y)
        loss.backward()
        with torch.no_grad():
            for p in parameters:
                p.add_(p.grad, alpha=-RATE)
                p.grad = None
        return loss.detach()

    StepExecutable._jit = spied  # type: ignore[method-assign]
    try:
        for _ in range(3):
            step()
    finally:
        StepExecutable._jit = original  # type: ignore[method-assign]
    return programs[-1]


def theirs(kind: type, layout: str, mesh: DeviceMesh) -> str:
    """The program of the same step, written in JAX."""
    model, x, y = prepared(kind, layout, mesh)
    parameters = {name: p.detach().jax() for name, p in model.named_parameters()}
    apply = mlp if kind is MLP else block

    def loss(p: dict[str, Any], x: Any, y: Any) -> Any:
        scores = apply(p, x).reshape(-1, 4 if kind is MLP else 16)
        picked = jnp.take_along_axis(jax.nn.log_softmax(scores), y.reshape(-1, 1), axis=-1)
        return -picked.mean()

    def step(p: dict[str, Any], x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(p, x, y)
        return value, {name: p[name] - RATE * grads[name] for name in p}

    kept = {name: array.sharding for name, array in parameters.items()}
    with jax.enable_x64(True):
        jitted = jax.jit(step, out_shardings=(None, kept), donate_argnums=0)
        return jitted.lower(parameters, x.jax(), y.jax()).compile().as_text()


def linear(p: dict[str, Any], name: str, x: Any) -> Any:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def layer_norm(p: dict[str, Any], name: str, x: Any) -> Any:
    center, spread = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - center) / jnp.sqrt(spread + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]


def mlp(p: dict[str, Any], x: Any) -> Any:
    return linear(p, "down", jnp.tanh(linear(p, "up", x)))


def block(p: dict[str, Any], x: Any) -> Any:
    x = p["embed.weight"][x]
    y = layer_norm(p, "norm", x)
    split = lambda z: z.reshape(*z.shape[:2], 4, -1).swapaxes(1, 2)
    q, k, v = (split(linear(p, name, y)) for name in "qkv")
    scores = q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(q.shape[-1]))
    scores = jnp.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    y = (jax.nn.softmax(scores) @ v).swapaxes(1, 2)
    x = x + linear(p, "out", y.reshape(*y.shape[:2], -1))
    return linear(p, "head", x + linear(p, "down", jax.nn.gelu(linear(p, "up", layer_norm(p, "second", x)), False)))


def main() -> None:
    mesh = init_device_mesh("cpu", (4, 2), mesh_dim_names=("data", "model"))
    for kind in (MLP, Block):
        for layout in LAYOUTS:
            found = [traffic(of(kind, layout, mesh)) for of in (ours, theirs)]
            print(kind.__name__, layout, "|", found[0], "|", found[1], flush=True)


if __name__ == "__main__":
    sys.exit(main())
