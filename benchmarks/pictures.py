"""Nets of pictures that are deep: a residual net and one like a U, in PyTorch's language and in JAX.

Parameters and buffers are taken from iterators in the order in which layers need them: filters, scale and shift of each
convolution with a normalization (``norm``), and its running mean and variance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.models import Arrays, Model, cross_entropy, labels_of, normal

MOMENTUM = 0.1


def resnet(widths: tuple[int, ...], blocks: int, size: int, batch: int, classes: int = 10) -> Model:
    """A residual net of so many blocks in each width, which halves the pictures where it grows wider."""
    plan = residual_plan(widths, blocks)
    arrays = partial(residual_arrays, plan, widths, size, batch, classes)
    return Model(arrays, partial(residual_torch, plan), partial(residual_jax, plan))


def residual_plan(widths: tuple[int, ...], blocks: int) -> list[tuple[int, int, int]]:
    """For each block the width of what comes in, that of what goes out, and the stride.

    >>> residual_plan((4, 8), 2)
    [(4, 4, 1), (4, 4, 1), (4, 8, 2), (8, 8, 1)]
    """
    grown = [(before, after, 2) for before, after in pairwise(widths)]
    firsts = [(widths[0], widths[0], 1), *grown]
    return [one for first in firsts for one in (first, *[(first[1], first[1], 1)] * (blocks - 1))]


def filters(rng: np.random.Generator, fan_in: int, fan_out: int, side: int) -> tuple[Arrays, Arrays]:
    """The parameters and buffers of a convolution with a normalization."""
    ones, zeros = np.ones(fan_out, "float32"), np.zeros(fan_out, "float32")
    return [normal(rng, fan_out, fan_in, side, side, fan_in=side * side * fan_in), ones, zeros], [zeros, ones]


def residual_arrays(
    plan: Sequence, widths: tuple[int, ...], size: int, batch: int, classes: int, rng: np.random.Generator
) -> tuple[Arrays, Arrays, Arrays]:
    """A first convolution, two in each block and one of 1 by 1 where it grows, a linear layer; pictures of size**2."""
    layers = [filters(rng, 3, widths[0], 3)]
    for fan_in, fan_out, stride in plan:
        layers += [filters(rng, fan_in, fan_out, 3), filters(rng, fan_out, fan_out, 3)]
        layers += [filters(rng, fan_in, fan_out, 1)] if stride > 1 else []
    last = [normal(rng, classes, widths[-1], fan_in=widths[-1]), np.zeros(classes, "float32")]
    parameters = [one for layer, _ in layers for one in layer] + last
    buffers = [one for _, running in layers for one in running]
    return parameters, buffers, [normal(rng, batch, 3, size, size), labels_of(rng, classes, batch)]


def norm_torch(functional: Any, x: Any, parameters: Iterator, buffers: Iterator, stride: int = 1) -> Any:
    """A convolution and a normalization, whose running statistics are written to."""
    weight, scale, shift = next(parameters), next(parameters), next(parameters)
    x = functional.conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2)
    return functional.batch_norm(x, next(buffers), next(buffers), scale, shift, training=True, momentum=MOMENTUM)


def norm_jax(x: Any, parameters: Iterator, buffers: Iterator, new: list, stride: int = 1) -> Any:
    """The same in JAX: running statistics are appended to ``new``."""
    weight, scale, shift = next(parameters), next(parameters)[:, None, None], next(parameters)[:, None, None]
    side = weight.shape[-1] // 2
    x = jax.lax.conv_general_dilated(x, weight, (stride, stride), ((side, side), (side, side)))
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    samples = x.size // x.shape[1]
    for now in (mean.reshape(-1), var.reshape(-1) * (samples / (samples - 1))):
        new.append((1 - MOMENTUM) * next(buffers) + MOMENTUM * jax.lax.stop_gradient(now))
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * scale + shift


def residual_torch(plan: Sequence, torch: Any, parameters: list, buffers: list, data: Sequence) -> Any:
    """Mean cross entropy."""
    functional, (x, labels) = torch.nn.functional, data
    weights, running = iter(parameters[:-2]), iter(buffers)
    x = norm_torch(functional, x, weights, running).relu()
    for _, _, stride in plan:
        y = norm_torch(functional, x, weights, running, stride).relu()
        y = norm_torch(functional, y, weights, running)
        x = (y + (x if stride == 1 else norm_torch(functional, x, weights, running, stride))).relu()
    return functional.cross_entropy(functional.linear(x.mean((2, 3)), *parameters[-2:]), labels.long())


def residual_jax(plan: Sequence, parameters: list, buffers: list, data: Sequence) -> tuple[Any, list]:
    """The same."""
    x, labels = data
    weights, running, new = iter(parameters[:-2]), iter(buffers), []  # type: ignore[var-annotated]
    x = jax.nn.relu(norm_jax(x, weights, running, new))
    for _, _, stride in plan:
        y = jax.nn.relu(norm_jax(x, weights, running, new, stride))
        y = norm_jax(y, weights, running, new)
        x = jax.nn.relu(y + (x if stride == 1 else norm_jax(x, weights, running, new, stride)))
    return cross_entropy(x.mean((2, 3)) @ parameters[-2].T + parameters[-1], labels), new


def unet(widths: tuple[int, ...], size: int, batch: int) -> Model:
    """A net like a U: two convolutions in each width, down and up again, where what came down is put beside."""
    return Model(partial(u_arrays, widths, size, batch), partial(u_torch, widths), partial(u_jax, widths))


def u_arrays(
    widths: tuple[int, ...], size: int, batch: int, rng: np.random.Generator
) -> tuple[Arrays, Arrays, Arrays]:
    """Layers going down; upwards filters that double the size, and layers; at last one of 1 by 1. Pictures, masks."""
    layers, up = [], []
    for fan_in, fan_out in pairwise((3, *widths)):
        layers += [filters(rng, fan_in, fan_out, 3), filters(rng, fan_out, fan_out, 3)]
    for deep, wide in pairwise(widths[::-1]):
        up.append(normal(rng, deep, wide, 2, 2, fan_in=deep))
        layers += [filters(rng, 2 * wide, wide, 3), filters(rng, wide, wide, 3)]
    parameters = [one for layer, _ in layers for one in layer] + up + [normal(rng, 1, widths[0], 1, 1)]
    buffers = [one for _, running in layers for one in running]
    mask = (rng.random((batch, 1, size, size)) < 0.5).astype("float32")
    return parameters, buffers, [normal(rng, batch, 3, size, size), mask]


def u_torch(widths: tuple[int, ...], torch: Any, parameters: list, buffers: list, data: Sequence) -> Any:
    """Mean binary cross entropy of each pixel."""
    functional, (x, mask) = torch.nn.functional, data
    weights, running, kept = iter(parameters), iter(buffers), []
    for level in range(len(widths)):
        x = functional.max_pool2d(x, 2) if level else x
        for _ in range(2):
            x = norm_torch(functional, x, weights, running).relu()
        kept.append(x)
    for filters in parameters[-len(widths) : -1]:
        x = torch.cat([kept[-2], functional.conv_transpose2d(x, filters, stride=2)], 1)
        kept.pop()
        for _ in range(2):
            x = norm_torch(functional, x, weights, running).relu()
    return functional.binary_cross_entropy_with_logits(functional.conv2d(x, parameters[-1]), mask)


def u_jax(widths: tuple[int, ...], parameters: list, buffers: list, data: Sequence) -> tuple[Any, list]:
    """The same."""
    x, mask = data
    weights, running, kept, new = iter(parameters), iter(buffers), [], []  # type: ignore[var-annotated]
    for level in range(len(widths)):
        if level:
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "valid")
        for _ in range(2):
            x = jax.nn.relu(norm_jax(x, weights, running, new))
        kept.append(x)
    for filters in parameters[-len(widths) : -1]:
        x = jnp.concatenate([kept[-2], doubled(x, filters)], 1)
        kept.pop()
        for _ in range(2):
            x = jax.nn.relu(norm_jax(x, weights, running, new))
    logits = jax.lax.conv_general_dilated(x, parameters[-1], (1, 1), "valid")
    return jnp.mean(jnp.maximum(logits, 0) - logits * mask + jnp.log1p(jnp.exp(-jnp.abs(logits)))), new


def doubled(x: Any, filters: Any) -> Any:
    """A transposed convolution of 2 by 2 with a stride of 2: each pixel becomes four."""
    y = jnp.einsum("bchw,cdij->bdhiwj", x, filters)
    batch, width, height, _, across, _ = y.shape
    return y.reshape(batch, width, 2 * height, 2 * across)
