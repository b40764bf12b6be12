"""The optimizers of PyTorch as formulas over lists of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp

B1, B2, EPS = 0.9, 0.999, 1e-8


class Optimizer(NamedTuple):
    """``begin(parameters)`` makes the state; ``update(parameters, grads, state)`` gives new parameters and state."""

    begin: Callable[[list], Any]
    update: Callable[[list, list, Any], tuple[list, Any]]


def sgd(lr: float, momentum: float = 0.0, weight_decay: float = 0.0) -> Optimizer:
    """Gradient descent."""

    def begin(parameters: list) -> list:
        return [jnp.zeros_like(p) for p in parameters] if momentum else []

    def update(parameters: list, grads: list, state: list) -> tuple[list, list]:
        steps = [g + weight_decay * p for p, g in zip(parameters, grads, strict=True)] if weight_decay else grads
        if momentum:
            steps = state = [momentum * m + g for m, g in zip(state, steps, strict=True)]
        return [p - lr * g for p, g in zip(parameters, steps, strict=True)], state

    return Optimizer(begin, update)


def adamw(lr: float, weight_decay: float = 0.01) -> Optimizer:
    """Adam, whose decay is apart from gradients; without decay it is Adam."""

    def begin(parameters: list) -> tuple:
        return jnp.zeros(()), [jnp.zeros_like(p) for p in parameters], [jnp.zeros_like(p) for p in parameters]

    def update(parameters: list, grads: list, state: tuple) -> tuple[list, tuple]:
        count, means, squares = state
        count = count + 1
        means = [B1 * m + (1 - B1) * g for m, g in zip(means, grads, strict=True)]
        squares = [B2 * v + (1 - B2) * g * g for v, g in zip(squares, grads, strict=True)]
        rate, scale = lr / (1 - B1**count), (1 - B2**count) ** -0.5
        new = [
            p * (1 - lr * weight_decay) - rate * m / (jnp.sqrt(v) * scale + EPS)
            for p, m, v in zip(parameters, means, squares, strict=True)
        ]
        return new, (count, means, squares)

    return Optimizer(begin, update)


def adam(lr: float) -> Optimizer:
    """Adam without decay."""
    return adamw(lr, 0.0)


OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {"SGD": sgd, "Adam": adam, "AdamW": adamw}
"""By their names in ``torch.optim``."""
