"""Convolution nets in JAX: running statistics go in and come out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.whole.layers_jax import batch_norm, conv, cross_entropy, group_norm, linear


def normed(x: Any, weights: Iterator, running: Iterator, new: list, stride: int = 1) -> Any:
    """A convolution and a normalization, whose statistics are appended to ``new``."""
    x = conv(x, next(weights), stride=stride)
    x, statistics = batch_norm(x, next(weights), next(weights), (next(running), next(running)))
    new += statistics
    return x


def resnet(parameters: list, buffers: list, x: Any, targets: Any, *, strides: Sequence[int]) -> tuple[Any, list]:
    """Mean cross entropy."""
    weights, running, new = iter(parameters[:-2]), iter(buffers), []  # type: ignore[var-annotated]
    x = jax.nn.relu(normed(x, weights, running, new))
    for stride in strides:
        y = jax.nn.relu(normed(x, weights, running, new, stride))
        y = normed(y, weights, running, new)
        x = jax.nn.relu(y + (x if stride == 1 else normed(x, weights, running, new, stride)))
    return cross_entropy(linear(x.mean((2, 3)), *parameters[-2:]), targets), new


def conv_net(parameters: list, buffers: list, x: Any, targets: Any) -> tuple[Any, list]:
    """The same of layers one behind the other."""
    weights, running, new = iter(parameters[:-2]), iter(buffers), []  # type: ignore[var-annotated]
    for _ in range(len(buffers) // 2):
        x = jax.nn.relu(normed(x, weights, running, new))
    return cross_entropy(linear(x.mean((2, 3)), *parameters[-2:]), targets), new


def unet(parameters: list, buffers: list, x: Any, noise: Any, *, levels: int, groups: int) -> tuple[Any, list]:
    """Mean square of what is wrong about the noise."""
    weights = iter(parameters)

    def double(x: Any) -> Any:
        for _ in range(2):
            x = conv(x, next(weights), next(weights))
            x = jax.nn.silu(group_norm(x, groups, next(weights), next(weights)))
        return x

    kept = [double(x)]
    for _ in range(levels):
        kept.append(double(halved(kept[-1])))
    x = kept.pop()
    for _ in range(levels):
        x = double(jnp.concatenate([jnp.repeat(jnp.repeat(x, 2, 2), 2, 3), kept.pop()], 1))
    return jnp.mean((conv(x, next(weights), next(weights)) - noise) ** 2), buffers


def halved(x: Any) -> Any:
    """The mean of each two by two pixels."""
    batch, channels, height, width = x.shape
    return x.reshape(batch, channels, height // 2, 2, width // 2, 2).mean((3, 5))
