"""The same programs in JAX: eager, compiled whole, and the floor of one compiled call per operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.programs import Sizes, chain_data, lstm_data, mlp_data


def _chain_arrays() -> tuple[Any, Any, Any]:
    return tuple(jnp.asarray(array) for array in chain_data().values())  # type: ignore[return-value]


def floor(calls: int) -> Callable[[], object]:
    """A compiled multiply of four floats, called ``calls`` times: what XLA takes when nobody records anything."""
    multiply = jax.jit(jnp.multiply)
    x, c, _ = _chain_arrays()

    def run() -> object:
        y = x
        for _ in range(calls):
            y = multiply(y, c)
        return np.asarray(y)

    return run


def _chain(length: int) -> Callable:
    def chain(x: Any, c: Any) -> Any:
        for _ in range(length):
            x = x * c
        return x

    return chain


def chain_forward(length: int) -> Callable[[], object]:
    """``x = x * c`` on JAX arrays; nothing is recorded."""
    chain = _chain(length)
    x, c, _ = _chain_arrays()
    return lambda: np.asarray(chain(x, c))


def chain_total(length: int, *, compiled: bool) -> Callable[[], object]:
    """The chain and its derivative by ``jax.vjp``."""
    chain = _chain(length)
    x, c, seed = _chain_arrays()

    def value_and_grad(x: Any, c: Any, seed: Any) -> tuple[Any, Any]:
        value, pull = jax.vjp(lambda x: chain(x, c), x)
        return value, pull(seed)[0]

    function = jax.jit(value_and_grad) if compiled else value_and_grad
    return lambda: np.asarray(function(x, c, seed)[1])


def mlp_loss(parameters: list[Any], x: Any, labels: Any) -> Any:
    """Mean cross entropy of a multi-layer perceptron with ``relu`` between its layers."""
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        x = jax.nn.relu(x @ weight.T + bias)
    scores = jax.nn.log_softmax(x @ parameters[-2].T + parameters[-1])
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


def mlp_step(sizes: Sizes, rng: np.random.Generator, *, compiled: bool, lr: float = 0.01) -> Callable[[], object]:
    """One step of SGD of the multi-layer perceptron."""
    arrays, inputs, labels = mlp_data(sizes, rng)
    state = [jnp.asarray(array) for array in arrays]
    x, target = jnp.asarray(inputs), jnp.asarray(labels, jnp.int32)

    def step(parameters: list[Any], x: Any, target: Any) -> list[Any]:
        _, grads = jax.value_and_grad(mlp_loss)(parameters, x, target)
        return [p - lr * g for p, g in zip(parameters, grads, strict=True)]

    function = jax.jit(step) if compiled else step

    def run() -> object:
        state[:] = function(state, x, target)
        return jax.block_until_ready(state)

    return run


def lstm_loss(parameters: list[Any], xs: list[Any], zeros: Any) -> Any:
    """Mean square of the last hidden state of an LSTM cell run over a sequence by a Python loop."""
    w_x, w_h, bias = parameters
    h = c = zeros
    for x in xs:
        i, f, g, o = jnp.split(x @ w_x.T + bias + h @ w_h.T, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return jnp.mean(h * h)


def lstm_step(sizes: Sizes, rng: np.random.Generator, *, compiled: bool) -> Callable[[], object]:
    """Loss and gradients of the LSTM loop."""
    arrays, sequence = lstm_data(sizes, rng)
    parameters = [jnp.asarray(array) for array in arrays]
    xs = [jnp.asarray(x) for x in sequence]
    zeros = jnp.zeros((sizes.lstm_batch, sizes.hidden), jnp.float32)
    function = jax.value_and_grad(lstm_loss)
    function = jax.jit(function) if compiled else function
    return lambda: jax.block_until_ready(function(parameters, xs, zeros))
