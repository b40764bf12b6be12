"""Perceptrons in JAX: losses as functions of a list of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.whole.layers_jax import cross_entropy, linear


def mlp(parameters: list, buffers: list, x: Any, targets: Any) -> tuple[Any, list]:
    """Mean cross entropy of linear layers."""
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        x = jax.nn.relu(linear(x, weight, bias))
    return cross_entropy(linear(x, *parameters[-2:]), targets), buffers


def policy(parameters: list, buffers: list, states: Any, chosen: Any, returns: Any) -> tuple[Any, list]:
    """The policy's loss, mapped over samples."""

    def one(state: Any, action: Any, reward: Any) -> Any:
        logits = linear(jax.nn.relu(linear(state, *parameters[:2])), *parameters[2:])
        return -jax.nn.log_softmax(logits)[action[0]] * reward

    return jnp.mean(jax.vmap(one)(states, chosen, returns)), buffers


def scalars(parameters: list, buffers: list, x: Any, signs: Any, *, widths: Sequence[int]) -> tuple[Any, list]:
    """Mean hinge loss, of the same scalars."""
    sizes, losses = list(pairwise(widths)), []
    for sample, sign in zip(x, signs, strict=True):
        values, remaining = list(sample), iter(parameters)
        for number, (inputs, outputs) in enumerate(sizes, 1):
            neurons = [[next(remaining) for _ in range(inputs + 1)] for _ in range(outputs)]
            values = [sum((w * v for w, v in zip(ws, values, strict=True)), b) for b, *ws in neurons]
            # XLA compiles jnp.maximum in seconds, and with jax.nn.relu, which selects, takes minutes
            values = [jnp.maximum(value, 0) for value in values] if number < len(sizes) else values
        losses.append(jnp.maximum(1 - sign * values[0], 0))
    return sum(losses) / len(losses), buffers
