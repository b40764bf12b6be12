"""The nets of ``lengths.py`` in JAX: compiled, again for each length. Trees would be compiled again for each tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dynamic_jax import leaf
from benchmarks.dynamic_programs import numbers
from benchmarks.lengths import ATTENTION, MLP, RNN, Step, drawn_words, labelled


def trained(parameters: list, loss: Callable[..., Any], batch: Callable[[int], tuple]) -> Step:
    """Steps of gradient descent."""
    now = [parameters]

    @jax.jit
    def update(parameters: list, *given: Any) -> tuple[list, Any]:
        value, grads = jax.value_and_grad(loss)(parameters, *given)
        return [p - 0.01 * g for p, g in zip(parameters, grads, strict=True)], value

    def step(length: int) -> float:
        now[0], value = update(now[0], *batch(length))
        return float(value)

    return step


def leaves(*shapes: tuple[int, ...]) -> list:
    """Parameters of some shapes."""
    return [leaf(*shape, seed=seed) for seed, shape in enumerate(shapes)]


def cross_entropy(scores: Any, labels: Any) -> Any:
    """For each row."""
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), labels[..., None], -1)[..., 0]


def mlp(jax: Any) -> Step:
    """Three layers."""

    def loss(parameters: list, x: Any, labels: Any) -> Any:
        for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
            x = jax.nn.relu(x @ weight.T + bias)
        return cross_entropy(x @ parameters[-2].T + parameters[-1], labels).mean()

    return trained(leaves((64, 32), (64,), (64, 64), (64,), (10, 64), (10,)), loss, labelled)


def attention(jax: Any) -> Step:
    """Causal attention and a layer behind it."""

    def loss(parameters: list, x: Any) -> Any:
        w_in, w_out, w_up, w_down = parameters
        length = len(x)
        q, k, v = (x @ w_in.T).reshape(length, 3, 4, 8).transpose(1, 2, 0, 3)
        scores = jnp.where(jnp.tri(length, dtype=bool), q @ k.mT / 8**0.5, -jnp.inf)
        x = x + (jax.nn.softmax(scores) @ v).transpose(1, 0, 2).reshape(length, 32) @ w_out.T
        x = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        x = x + jax.nn.gelu(x @ w_up.T, approximate=False) @ w_down.T
        return jnp.mean(x * x)

    parameters = leaves((96, 32), (32, 32), (64, 32), (32, 64))
    return trained(parameters, loss, lambda length: (numbers(length, 32, seed=length),))


def character_rnn(jax: Any) -> Step:
    """A scan over words that are padded to the longest."""

    def loss(parameters: list, words: Any, lengths: Any) -> Any:
        table, w, u, v = parameters

        def state(h: Any, letters: Any) -> tuple[Any, Any]:
            h = jnp.tanh(table[letters] @ w + h @ u)
            return h, h

        _, states = jax.lax.scan(state, jnp.zeros((4, 32)), words[:-1])
        counts = jnp.arange(1, len(words))[:, None] < lengths
        return jnp.sum(cross_entropy(states @ v, words[1:]), where=counts) / counts.sum()

    return trained(leaves((26, 16), (16, 32), (32, 32), (32, 26)), loss, padded)


def padded(length: int) -> tuple[np.ndarray, np.ndarray]:
    """The words of a batch, letter by letter, and their lengths."""
    words = drawn_words(length)
    columns = np.array([word + [0] * (len(words[0]) - len(word)) for word in words])
    return columns.T, np.array(list(map(len, words)))


PURE = {MLP: mlp, ATTENTION: attention, RNN: character_rnn}
"""By what the report calls them."""
