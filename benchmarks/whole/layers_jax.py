"""Layers as functions of arrays, as they are written in JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

MOMENTUM = 0.1
"""How much of a batch's statistics goes into the running ones."""


def linear(x: Any, weight: Any, bias: Any) -> Any:
    """A layer with PyTorch's layout of the weight."""
    return x @ weight.T + bias


def cross_entropy(scores: Any, labels: Any) -> Any:
    """The mean over all labels; classes are the last axis."""
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), labels[..., None], axis=-1))


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    """Normalization over the last axis."""
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * scale + shift


def attention(x: Any, heads: int, w_in: Any, b_in: Any, w_out: Any, b_out: Any, causal: bool) -> Any:
    """Attention of a sequence to itself: (batch, length, width)."""
    batch, length, width = x.shape
    q, k, v = linear(x, w_in, b_in).reshape(batch, length, 3, heads, -1).transpose(2, 0, 3, 1, 4)
    scores = q @ k.mT * (width // heads) ** -0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    y = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)
    return linear(y, w_out, b_out)


def conv(x: Any, filters: Any, bias: Any = None, stride: int = 1) -> Any:
    """A convolution that keeps the size, or divides it by ``stride``: (batch, channels, height, width)."""
    side = filters.shape[-1] // 2
    y = jax.lax.conv_general_dilated(x, filters, (stride, stride), ((side, side), (side, side)))
    return y if bias is None else y + bias[:, None, None]


def batch_norm(x: Any, scale: Any, shift: Any, running: Sequence) -> tuple[Any, list]:
    """Normalization over the batch, and the new running mean and variance."""
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    samples = x.size // x.shape[1]
    now = mean.reshape(-1), var.reshape(-1) * (samples / (samples - 1))
    new = [(1 - MOMENTUM) * old + MOMENTUM * jax.lax.stop_gradient(one) for old, one in zip(running, now, strict=True)]
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * scale[:, None, None] + shift[:, None, None], new


def group_norm(x: Any, groups: int, scale: Any, shift: Any) -> Any:
    """Normalization over groups of channels."""
    grouped = x.reshape(len(x), groups, -1)
    mean, var = grouped.mean(-1, keepdims=True), grouped.var(-1, keepdims=True)
    normal = ((grouped - mean) * jax.lax.rsqrt(var + 1e-5)).reshape(x.shape)
    return normal * scale[:, None, None] + shift[:, None, None]
