"""The network of the demo, twice: on tapegrad as a PyTorch program, and in JAX as the function to compare with."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tapegrad as torch

functional = torch.nn.functional

Arrays = dict[str, np.ndarray]

SHAPES = {
    "conv1.weight": (16, 1, 3, 3),
    "conv1.bias": (16,),
    "conv2.weight": (32, 16, 3, 3),
    "conv2.bias": (32,),
    "linear.weight": (10, 32 * 4 * 4),
    "linear.bias": (10,),
}
"""The parameters: two convolutions that keep 8 by 8 pixels, then, from 4 by 4, a score for each digit."""


def initial(rng: np.random.Generator) -> Arrays:
    """Random weights scaled by their fan-in (He's rule), and zero biases."""
    scales = {name: (2 / np.prod(shape[1:])) ** 0.5 if len(shape) > 1 else 0.0 for name, shape in SHAPES.items()}
    return {name: rng.normal(0, scales[name], shape).astype("f4") for name, shape in SHAPES.items()}


def scores(p: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The score of each digit, (count, 10), for pictures (count, 1, 8, 8)."""
    x = functional.conv2d(x, p["conv1.weight"], p["conv1.bias"], padding=1).relu()
    x = functional.conv2d(x, p["conv2.weight"], p["conv2.bias"], padding=1).relu()
    x = functional.max_pool2d(x, 2).flatten(1)
    return functional.linear(x, p["linear.weight"], p["linear.bias"])


def loss(p: dict[str, torch.Tensor], x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy of a batch."""
    return functional.cross_entropy(scores(p, x), labels)


def jax_loss(p: dict[str, Any], x: Any, labels: Any) -> Any:
    """The same function of JAX arrays, written with ``jax.numpy`` and ``jax.lax``."""

    def convolution(x: Any, weight: Any, bias: Any) -> Any:
        dimensions = ("NCHW", "OIHW", "NCHW")
        y = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=dimensions)
        return y + bias[:, None, None]

    x = jax.nn.relu(convolution(x, p["conv1.weight"], p["conv1.bias"]))
    x = jax.nn.relu(convolution(x, p["conv2.weight"], p["conv2.bias"]))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    logits = x.reshape(len(x), -1) @ p["linear.weight"].T + p["linear.bias"]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1))
