"""Models of sequences in JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.whole.layers_jax import attention, cross_entropy, layer_norm, linear


def gpt(parameters: list, buffers: list, tokens: Any, following: Any, *, heads: int) -> tuple[Any, list]:
    """Mean cross entropy of the next tokens."""
    words, positions, *blocks = parameters
    x = words[tokens] + positions[: tokens.shape[1]]
    for first in range(0, len(blocks) - 4, 12):
        scale1, shift1, w_in, b_in, w_out, b_out, scale2, shift2, *mlp = blocks[first : first + 12]
        x = x + attention(layer_norm(x, scale1, shift1), heads, w_in, b_in, w_out, b_out, causal=True)
        x = x + two_layers(layer_norm(x, scale2, shift2), *mlp)
    scale, shift, weight, bias = blocks[-4:]
    return cross_entropy(linear(layer_norm(x, scale, shift), weight, bias), following), buffers


def two_layers(x: Any, w_up: Any, b_up: Any, w_down: Any, b_down: Any) -> Any:
    """Layers with ``gelu`` between them."""
    return linear(jax.nn.gelu(linear(x, w_up, b_up), approximate=False), w_down, b_down)


def lstm(parameters: list, buffers: list, tokens: Any, following: Any, *, layers: int) -> tuple[Any, list]:
    """The same of an LSTM, whose steps are a loop of XLA."""
    words, *cells = parameters
    x = words[tokens]
    for layer in range(layers):
        x = recurrent(x, *cells[4 * layer : 4 * layer + 4])
    return cross_entropy(linear(x, *cells[-2:]), following), buffers


def recurrent(x: Any, w_x: Any, w_h: Any, b_x: Any, b_h: Any) -> Any:
    """A layer: (length, batch, width)."""

    def step(state: tuple, gates: Any) -> tuple[tuple, Any]:
        h, c = state
        i, f, g, o = jnp.split(gates + h @ w_h.T, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((x.shape[1], w_h.shape[1]), x.dtype)
    return jax.lax.scan(step, (zeros, zeros), x @ w_x.T + (b_x + b_h))[1]


def vit(parameters: list, buffers: list, pictures: Any, targets: Any, *, heads: int, patch: int) -> tuple[Any, list]:
    """Mean cross entropy of pictures, which are cut into patches."""
    positions, filters, bias, *blocks = parameters
    x = jax.lax.conv_general_dilated(pictures, filters, (patch, patch), "valid")
    x = x.reshape(*x.shape[:2], -1).transpose(0, 2, 1) + bias + positions
    for first in range(0, len(blocks) - 4, 12):
        *weights, scale1, shift1, scale2, shift2 = blocks[first : first + 12]
        x = x + attention(layer_norm(x, scale1, shift1), heads, *weights[:4], causal=False)
        x = x + two_layers(layer_norm(x, scale2, shift2), *weights[4:])
    scale, shift, weight, head = blocks[-4:]
    return cross_entropy(linear(layer_norm(x, scale, shift).mean(1), weight, head), targets), buffers
