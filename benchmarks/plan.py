"""A plan on paper: a transformer of 7 billion parameters on 256 devices, by XLA's own account of one of its blocks.

``python -m benchmarks.plan`` compiles a block, forward and backward, for 256 devices that are only pretended, in two
layouts, and prints what each device computes, holds and sends in a step of all 32 blocks. Nothing is run. Programs for
CPUs stand in for those of accelerators: XLA splits both alike, but fuses and lays out memory in its own way on each.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=256 {os.environ.get('XLA_FLAGS', '')}"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

WIDTH, HIDDEN, HEADS, LAYERS, VOCABULARY = 4096, 11008, 32, 32, 32000
BATCH, LENGTH = 1024, 4096
LOOPS = 4  # over heads, eight at a time
BLOCK = {"norm1": (WIDTH,), "qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "norm2": (WIDTH,),
         "gate": (WIDTH, HIDDEN), "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH)}  # fmt: skip
LAYOUTS = {
    "sharded over 256": ((256, 1), {}),
    "sharded over 32, tensors over 8": ((32, 8), {"qkv": 1, "gate": 1, "up": 1, "out": 0, "down": 0}),
}
"""The mesh, and for each matrix the dimension that is split over the second of its axes."""

COLLECTIVE = re.compile(r"= (\(?.*?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\(")
ARRAY = re.compile(r"([a-z]+)(\d+)\[([\d,]*)\]")


def norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x.astype("float32") ** 2, -1, keepdims=True) + 1e-6).astype(x.dtype) * scale


def attention(part: jax.Array) -> jax.Array:
    """Causal attention of some heads: (sequences, length, heads, 3, size)."""
    q, k, v = part[..., 0, :], part[..., 1, :], part[..., 2, :]
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / float(np.sqrt(q.shape[-1]))
    seen = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(seen, scores, -jnp.inf)), v)


def block(weights: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    shape = (*x.shape[:2], LOOPS, HEADS // LOOPS, 3, WIDTH // HEADS)
    qkv = (norm(x, weights["norm1"]) @ weights["qkv"]).reshape(shape)
    mixed = jax.lax.map(jax.checkpoint(attention), jnp.moveaxis(qkv, 2, 0))  # not all scores are there at a time
    x = x + jnp.moveaxis(mixed, 0, 2).reshape(x.shape) @ weights["out"]
    y = norm(x, weights["norm2"])
    return x + (jax.nn.silu(y @ weights["gate"]) * (y @ weights["up"])) @ weights["down"]


def backward(function: Callable, *arguments: Any) -> Any:
    """The gradients of a function that keeps nothing but its arguments: it is computed again first."""
    *inputs, g = arguments
    return jax.vjp(jax.checkpoint(function), *inputs)[1](g)


def account(name: str) -> dict[str, Any]:
    """What one device computes, holds and receives for a block: forward, forward once more, and backward."""
    shape, split = LAYOUTS[name]
    mesh = Mesh(np.array(jax.devices()).reshape(shape), ("data", "model"))

    def placed(lengths: tuple[int, ...], axis: int | None) -> NamedSharding:
        names: list[str | None] = [None] * len(lengths)
        if axis is not None:
            names[axis] = "model"
        names[1 if axis == 0 else 0] = "data"
        return NamedSharding(mesh, PartitionSpec(*names))

    weights = {
        key: jax.ShapeDtypeStruct(lengths, "bfloat16", sharding=placed(lengths, split.get(key)))
        for key, lengths in BLOCK.items()
    }
    rows = PartitionSpec("data" if split else ("data", "model"))
    x = jax.ShapeDtypeStruct((BATCH, LENGTH, WIDTH), "bfloat16", sharding=NamedSharding(mesh, rows))

    layouts = ({key: one.sharding for key, one in weights.items()}, x.sharding)
    forward = jax.jit(block, out_shardings=x.sharding).lower(weights, x).compile()
    back = jax.jit(partial(backward, block), out_shardings=layouts).lower(weights, x, x).compile()
    local = x.sharding.shard_shape(x.shape)[0]
    return {
        "flops": flops(forward) + flops(back) + (LOOPS - 1) * flops_of_heads(local, HEADS // LOOPS // shape[1]),
        "temporary": back.memory_analysis().temp_size_in_bytes,
        "received": Counter(received(forward.as_text())) + Counter(received(back.as_text())),
        "rows": local,
    }


def loss(weights: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
    """The mean of the losses of all words: scores of the whole vocabulary, in float32."""
    said = jax.nn.log_softmax((x @ weights["head"]).astype("float32"))
    return -jnp.take_along_axis(said, y[..., None], -1).mean()


def account_of_loss(name: str) -> dict[str, Any]:
    """The same of the matrix behind the last block, and the loss, forward and backward."""
    shape, split = LAYOUTS[name]
    mesh = Mesh(np.array(jax.devices()).reshape(shape), ("data", "model"))
    on = lambda *names: NamedSharding(mesh, PartitionSpec(*names))
    rows = on("data" if split else ("data", "model"))
    head = on("data", "model" if split else None)
    weights = {"head": jax.ShapeDtypeStruct((WIDTH, VOCABULARY), "bfloat16", sharding=head)}
    x = jax.ShapeDtypeStruct((BATCH, LENGTH, WIDTH), "bfloat16", sharding=rows)
    y = jax.ShapeDtypeStruct((BATCH, LENGTH), "int32", sharding=rows)
    run = jax.jit(jax.value_and_grad(loss, (0, 1)), out_shardings=(None, ({"head": head}, rows)))
    compiled = run.lower(weights, x, y).compile()
    return {"flops": flops(compiled), "temporary": compiled.memory_analysis().temp_size_in_bytes,
            "received": Counter(received(compiled.as_text()))}  # fmt: skip


def flops(compiled: Any) -> float:
    """XLA's count, which takes the body of a loop once."""
    return compiled.cost_analysis()["flops"]


def flops_of_heads(rows: int, heads: int) -> float:
    """What the body of the loop over heads computes: forward twice, and backward."""
    part = jax.ShapeDtypeStruct((rows, LENGTH, heads, 3, WIDTH // HEADS), "bfloat16")
    g = jax.ShapeDtypeStruct((rows, LENGTH, heads, WIDTH // HEADS), "bfloat16")
    forward = jax.jit(attention).lower(part).compile()
    return 2 * flops(forward) + flops(jax.jit(partial(backward, attention)).lower(part, g).compile())


def received(hlo: str) -> dict[str, int]:
    """The bytes of what collectives of each kind give to each device."""
    sizes: dict[str, int] = {}
    for kind, size in collectives(hlo):
        sizes[kind] = sizes.get(kind, 0) + size
    return sizes


def collectives(hlo: str) -> Iterator[tuple[str, int]]:
    """The arrays that collectives of an optimized program give: the kind, and the bytes, of each."""
    for shapes, kind in COLLECTIVE.findall(hlo):
        for _, bits, lengths in ARRAY.findall(shapes):
            yield kind, int(bits) // 8 * int(np.prod([int(n) for n in lengths.split(",") if n]))


def main() -> None:
    parameters = LAYERS * sum(int(np.prod(shape)) for shape in BLOCK.values()) + 2 * VOCABULARY * WIDTH
    print(f"{parameters / 1e9:.2f} billion parameters, {BATCH} sequences of {LENGTH}, 256 devices; each of them")
    for name in LAYOUTS:
        found = account(name)
        boundary = found["rows"] * LENGTH * WIDTH * 2
        print(f"{name}:")
        print(f"  parameters in float32 and bfloat16, gradients, two moments: {parameters * 18 / 256 / 2**30:.2f} GiB")
        print(f"  what {LAYERS} checkpoints keep: {LAYERS * boundary / 2**30:.1f} GiB")
        print(f"  one block at work: {found['temporary'] / 2**30:.1f} GiB")
        print(f"  computes {LAYERS * found['flops'] / 1e12:.0f} TFLOP in a step, by XLA's count of a block")
        sizes = ", ".join(f"{LAYERS * size / 2**30:.1f} by {kind}" for kind, size in found["received"].most_common())
        print(f"  receives in a step, GiB: {sizes}")
        last = account_of_loss(name)
        sizes = ", ".join(f"{size / 2**30:.2f} by {kind}" for kind, size in last["received"].most_common())
        print(f"  the loss: {last['temporary'] / 2**30:.1f} GiB, {last['flops'] / 1e12:.0f} TFLOP, receives {sizes}")


if __name__ == "__main__":
    main()
