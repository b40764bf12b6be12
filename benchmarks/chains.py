"""A chain of multiplies of four floats: nothing but what it costs to call an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.contest import Program, Pure


def chain_data() -> dict[str, np.ndarray]:
    """Four floats, a factor that neither grows nor shrinks them much in 10,000 multiplies, and a gradient."""
    return {
        "x": np.array([1.0, 2.0, 3.0, 4.0], np.float32),
        "c": np.full(4, 1.0001, np.float32),
        "seed": np.ones(4, np.float32),
    }


def forward(torch: Any, device: str, length: int) -> Program:
    """``y = y * c``, ``length`` times, recorded."""
    x, c, _ = (torch.tensor(array, device=device) for array in chain_data().values())
    x.requires_grad_()

    def step(c: Any) -> Any:
        y = x
        for _ in range(length):
            y = y * c
        return y.detach()

    return Program(step, (c,), [])


def total(torch: Any, device: str, length: int) -> Program:
    """The same, with its backward pass."""
    x, c, seed = (torch.tensor(array, device=device) for array in chain_data().values())
    x.requires_grad_()

    def step(c: Any, seed: Any) -> Any:
        x.grad = None
        y = x
        for _ in range(length):
            y = y * c
        y.backward(seed)
        return x.grad

    return Program(step, (c, seed), [])


def _multiplied(x: Any, c: Any, length: int) -> Any:
    for _ in range(length):
        x = x * c
    return x


def jax_forward(length: int) -> Pure:
    """The chain on JAX arrays; nothing is recorded."""
    x, c, _ = map(jnp.array, chain_data().values())
    return Pure(lambda state, x, c: (state, _multiplied(x, c, length)), (x, c), ())


def jax_total(length: int) -> Pure:
    """The chain and its derivative by ``jax.vjp``."""

    def step(state: Any, x: Any, c: Any, seed: Any) -> Any:
        _, pull = jax.vjp(lambda x: _multiplied(x, c, length), x)
        return state, pull(seed)[0]

    return Pure(step, tuple(map(jnp.array, chain_data().values())), ())


def floor(calls: int) -> Callable[[], object]:
    """A compiled multiply of four floats, called ``calls`` times: what XLA takes when nobody records anything."""
    multiply = jax.jit(jnp.multiply)
    x, c, _ = map(jnp.array, chain_data().values())

    def run() -> object:
        y = x
        for _ in range(calls):
            y = multiply(y, c)
        return jax.block_until_ready(y)

    return run
