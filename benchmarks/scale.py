"""Training steps on several devices: beside the same steps written in JAX, and what they cost the host.

Each number of devices needs a process of its own, in which the CPU counts as so many. A step is that of a network of
two layers, and of a block of a transformer, in three layouts: a part of the batch on each device (``data``), parts of
matrices (``tensor``), and all parameters in parts (``sharded``). Devices that share cores don't show how a program
scales, but what is done for each step on the host they do: each device has as many rows of the batch, however many
there are, and what is told is the time of the thread that calls.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import cycle, permutations
from statistics import median
from time import perf_counter, thread_time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.fresh import ROOT, environment

DEVICES = (1, 2, 4, 8)
LAYOUTS = ("data", "tensor", "sharded")
RATE, WORDS, LENGTH, ROWS = 0.01, 64, 32, 8
SPLIT = {"up.weight": 0, "up.bias": 0, "down.weight": 1, "q.weight": 0, "k.weight": 0, "v.weight": 0, "out.weight": 1}
"""Along which dimension the layout ``tensor`` splits a parameter; all others are on each device."""


def model_of(torch: Any, kind: str) -> Any:
    """The layers, by their names."""
    linear, width = torch.nn.Linear, 128
    torch.manual_seed(0)
    layers = {"up": linear(width, 4 * width), "down": linear(4 * width, width), "head": linear(width, WORDS)}
    if kind == "block":
        norms = {name: torch.nn.LayerNorm(width) for name in ("norm", "second")}
        layers |= {name: linear(width, width) for name in ("q", "k", "v", "out")} | norms
    return torch.nn.ModuleDict(layers | {"embed": torch.nn.Embedding(WORDS, width)})


def scores(torch: Any, model: Any, kind: str, x: Any) -> Any:
    """What the model says of each word."""
    functional = torch.nn.functional
    x = model["embed"](x)
    if kind == "block":
        y = model["norm"](x)
        q, k, v = (model[name](y).unflatten(-1, (4, -1)).transpose(1, 2) for name in "qkv")
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + model["out"](y.transpose(1, 2).flatten(2))
        return model["head"](x + model["down"](functional.gelu(model["up"](model["second"](x)))))
    return model["head"](model["down"](torch.tanh(model["up"](x))))


def scores_in_jax(p: dict[str, Any], kind: str, x: Any) -> Any:
    """The same, written in JAX."""
    linear = lambda name, x: x @ p[f"{name}.weight"].T + p[f"{name}.bias"]
    x = p["embed.weight"][x]
    if kind == "mlp":
        return linear("head", linear("down", jnp.tanh(linear("up", x))))

    def norm(name: str, x: Any) -> Any:
        spread = jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return (x - x.mean(-1, keepdims=True)) / spread * p[f"{name}.weight"] + p[f"{name}.bias"]

    y = norm("norm", x)
    q, k, v = (linear(name, y).reshape(*y.shape[:2], 4, -1).swapaxes(1, 2) for name in "qkv")
    seen = jnp.where(np.tril(np.ones((LENGTH, LENGTH), bool)), q @ k.swapaxes(-1, -2) / float(np.sqrt(32)), -jnp.inf)
    x = x + linear("out", (jax.nn.softmax(seen) @ v).swapaxes(1, 2).reshape(x.shape))
    return linear("head", x + linear("down", jax.nn.gelu(linear("up", norm("second", x)), False)))


def steps(kind: str, layout: str, devices: int) -> dict[str, Callable[[], Any]]:
    """Steps of training, on all devices of this process: as they are called, compiled, and in JAX."""
    import tapegrad as torch
    from tapegrad.distributed.device_mesh import init_device_mesh
    from tapegrad.distributed.tensor import Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (devices,))
    model = model_of(torch, kind)
    for name, p in list(model.named_parameters()):
        owner, _, last = name.rpartition(".")
        split = {"data": None, "tensor": SPLIT.get(name), "sharded": 0}[layout]
        placement = Replicate() if split is None else Shard(split)
        spread = distribute_tensor(p.detach(), mesh, [placement])
        setattr(model.get_submodule(owner), last, torch.nn.Parameter(spread))
    words = np.random.default_rng(0).integers(0, WORDS, (ROWS * devices, LENGTH + 1))
    over = [Replicate() if layout == "tensor" else Shard(0)]
    x, y = (distribute_tensor(torch.tensor(part), mesh, over) for part in (words[:, :-1], words[:, 1:]))

    def step() -> Any:
        loss = torch.nn.functional.cross_entropy(scores(torch, model, kind, x).flatten(0, 1), y.flatten())
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(p.grad, alpha=RATE)
                p.grad = None
        return loss.detach()

    at_once, compiled = step, torch.compile(step)
    state = {name: p.detach().clone().jax() for name, p in model.named_parameters()}
    kept = {name: array.sharding for name, array in state.items()}
    inputs = x.jax(), y.jax()

    def loss_in_jax(p: dict[str, Any], x: Any, y: Any) -> Any:
        said = jax.nn.log_softmax(scores_in_jax(p, kind, x))
        return -jnp.take_along_axis(said, y[..., None], -1).mean()

    def update(p: dict[str, Any], x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(loss_in_jax)(p, x, y)
        return value, {name: p[name] - RATE * grads[name] for name in p}

    jitted = jax.jit(update, out_shardings=(None, kept), donate_argnums=0)

    def by_hand() -> Any:
        nonlocal state
        with jax.enable_x64(True):  # the words are 64-bit integers
            value, state = jitted(state, *inputs)
        return value

    ended = lambda run: lambda: run().item()
    return {"at once": ended(at_once), "compiled": ended(compiled), "jax.jit": ended(by_hand)}


def measured(kind: str, layout: str, devices: int, quick: bool) -> dict[str, dict[str, float]]:
    """The seconds of a step, and of those the time of the calling thread, for each who runs it, in turns.

    Each comes after each other as often: who comes after steps at once finds nothing of its own in the caches.
    """
    runs = steps(kind, layout, devices)
    taken: dict[str, list[tuple[float, float]]] = {who: [] for who in runs}
    for number, turn in zip(range(8 if quick else 47), cycle(permutations(runs)), strict=False):
        for who in turn:
            began, busy = perf_counter(), thread_time()
            runs[who]()
            if number >= 5:
                taken[who].append((perf_counter() - began, thread_time() - busy))
    whole, host = ({who: median(one[i] for one in found) for who, found in taken.items()} for i in (0, 1))
    return {"step": whole, "host": host}


def in_fresh_process(kind: str, layout: str, devices: int, quick: bool) -> dict[str, dict[str, float]]:
    """``measured`` in a process that has so many devices."""
    command = [sys.executable, "-m", "benchmarks.scale", kind, layout, str(devices), str(int(quick))]
    flags = f"--xla_force_host_platform_device_count={devices} {os.environ.get('XLA_FLAGS', '')}"
    settings = environment() | {"XLA_FLAGS": flags, "NPROC": "32", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, cwd=ROOT, env=settings, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def scale(quick: bool = False, only: str = "") -> list[dict[str, Any]]:
    """Measure all layouts on the most devices, and each number of devices in one layout, and print what was found."""
    found = []
    asked = [(kind, layout, DEVICES[-1]) for kind in ("mlp", "block") for layout in LAYOUTS]
    asked += [("block", "data", devices) for devices in DEVICES[:-1]]
    for kind, layout, devices in asked[:: 4 if quick else 1]:
        if only in f"{kind} {layout} {devices}":
            taken = in_fresh_process(kind, layout, devices, quick)
            found.append({"model": kind, "layout": layout, "devices": devices} | taken)
            print(row_of(found[-1]), flush=True)
    return found


def row_of(found: dict[str, Any]) -> str:
    """A line of the table: milliseconds, and multiples of JAX.

    >>> row_of({"model": "mlp", "layout": "data", "devices": 2, "step": {"compiled": 0.011, "jax.jit": 0.01},
    ...         "host": {"compiled": 0.002, "jax.jit": 0.001}})
    'mlp, data, on 2: jax.jit 10.0 ms, host 1.00 ms; compiled 11.0 ms (1.10), host 2.00 ms (2.00)'
    """
    step, host = found["step"], found["host"]
    parts = [f"jax.jit {step['jax.jit'] * 1e3:.1f} ms, host {host['jax.jit'] * 1e3:.2f} ms"]
    for who in (who for who in step if who != "jax.jit"):
        whole, own = f"{step[who] * 1e3:.1f} ms", f"{host[who] * 1e3:.2f} ms"
        times = step[who] / step["jax.jit"], host[who] / host["jax.jit"]
        parts.append(f"{who} {whole} ({times[0]:.2f}), host {own} ({times[1]:.2f})")
    return f"{found['model']}, {found['layout']}, on {found['devices']}: {'; '.join(parts)}"


if __name__ == "__main__":
    kind, layout, devices, quick = sys.argv[1:]
    print(json.dumps(measured(kind, layout, int(devices), bool(int(quick)))))
