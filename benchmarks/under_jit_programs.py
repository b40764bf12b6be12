"""Four models, each as a PyTorch program and as somebody would write it in JAX: what is compiled under ``jax.jit``.

A model is a pair of functions of (parameters, data) that return the loss; ``torch`` is the module that speaks PyTorch's
language.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Model:
    """One model: its parameters and data, and its loss twice.

    Attributes:
        arrays: makes the parameters and the data, of full size or small.
        torch: ``torch(module, parameters, data)``, on tensors.
        jax: ``jax(parameters, data)``, on arrays.
    """

    arrays: Callable[[np.random.Generator, bool], tuple[Arrays, Arrays]]
    torch: Callable[[Any, list, list], Any]
    jax: Callable[[list, list], Any]


def normal(rng: np.random.Generator, *shape: int, fan_in: int = 1) -> np.ndarray:
    """Normal numbers, made small enough for a layer with ``fan_in`` inputs."""
    return (rng.standard_normal(shape) * fan_in**-0.5).astype("float32")


# -- a multi-layer perceptron ------------------------------------------------------------------------------------------


def mlp_arrays(rng: np.random.Generator, small: bool) -> tuple[Arrays, Arrays]:
    """Three layers, a batch, and its labels."""
    widths, batch = ((6, 5, 5, 3), 4) if small else ((784, 256, 256, 10), 128)
    parameters: Arrays = []
    for fan_in, fan_out in pairwise(widths):
        parameters += [normal(rng, fan_out, fan_in, fan_in=fan_in), np.zeros(fan_out, "float32")]
    return parameters, [normal(rng, batch, widths[0]), rng.integers(0, widths[-1], batch).astype("int32")]


def mlp_torch(torch: Any, parameters: list, data: list) -> Any:
    """Mean cross entropy, with ``relu`` between the layers."""
    x, labels = data
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        x = torch.nn.functional.linear(x, weight, bias).relu()
    return torch.nn.functional.cross_entropy(torch.nn.functional.linear(x, *parameters[-2:]), labels.long())


def mlp_jax(parameters: list, data: list) -> Any:
    """The same."""
    x, labels = data
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        x = jax.nn.relu(x @ weight.T + bias)
    scores = jax.nn.log_softmax(x @ parameters[-2].T + parameters[-1])
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


# -- a convolutional net -----------------------------------------------------------------------------------------------


def conv_arrays(rng: np.random.Generator, small: bool) -> tuple[Arrays, Arrays]:
    """Two convolutions, each with a scale and a shift for every channel, and a linear layer."""
    channels, size, batch, classes = ((1, 2, 3), 8, 2, 3) if small else ((3, 16, 32), 32, 16, 10)
    parameters: Arrays = []
    for fan_in, fan_out in pairwise(channels):
        parameters += [normal(rng, fan_out, fan_in, 3, 3, fan_in=9 * fan_in), np.zeros(fan_out, "float32")]
        parameters += [np.ones(fan_out, "float32"), np.zeros(fan_out, "float32")]
    width = channels[-1] * (size // 4) ** 2
    parameters += [normal(rng, classes, width, fan_in=width), np.zeros(classes, "float32")]
    images = normal(rng, batch, channels[0], size, size)
    return parameters, [images, rng.integers(0, classes, batch).astype("int32")]


def conv_torch(torch: Any, parameters: list, data: list) -> Any:
    """Convolution, normalization over the batch, ``relu`` and pooling, twice; then cross entropy."""
    functional, (x, labels) = torch.nn.functional, data
    for first in range(0, len(parameters) - 2, 4):
        filters, bias, scale, shift = parameters[first : first + 4]
        x = functional.conv2d(x, filters, bias, padding=1)
        x = functional.batch_norm(x, None, None, scale, shift, True).relu()
        x = functional.max_pool2d(x, 2)
    return functional.cross_entropy(functional.linear(x.flatten(1), *parameters[-2:]), labels.long())


def conv_jax(parameters: list, data: list) -> Any:
    """The same."""
    x, labels = data
    for first in range(0, len(parameters) - 2, 4):
        filters, bias, scale, shift = (p if p.ndim > 1 else p[:, None, None] for p in parameters[first : first + 4])
        x = jax.lax.conv_general_dilated(x, filters, (1, 1), ((1, 1), (1, 1))) + bias
        mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
        x = jax.nn.relu((x - mean) * jax.lax.rsqrt(var + 1e-5) * scale + shift)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "valid")
    scores = jax.nn.log_softmax(x.reshape(len(x), -1) @ parameters[-2].T + parameters[-1])
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


# -- an LSTM cell in a loop --------------------------------------------------------------------------------------------


def lstm_arrays(rng: np.random.Generator, small: bool) -> tuple[Arrays, Arrays]:
    """Weights for inputs and for the state, a bias, and a sequence."""
    steps, batch, width, hidden = (3, 2, 4, 5) if small else (20, 32, 32, 64)
    parameters = [normal(rng, 4 * hidden, n, fan_in=hidden) for n in (width, hidden)]
    return [*parameters, np.zeros(4 * hidden, "float32")], [normal(rng, steps, batch, width)]


def lstm_torch(torch: Any, parameters: list, data: list) -> Any:
    """Mean square of the last state, by a Python loop."""
    (w_x, w_h, bias), (xs,) = parameters, data
    h = c = torch.zeros(xs.shape[1], w_h.shape[1])
    for x in xs.unbind():
        gates = torch.nn.functional.linear(x, w_x, bias) + torch.nn.functional.linear(h, w_h)
        i, f, g, o = gates.chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return (h * h).mean()


def lstm_jax(parameters: list, data: list) -> Any:
    """The same."""
    (w_x, w_h, bias), (xs,) = parameters, data
    h = c = jnp.zeros((xs.shape[1], w_h.shape[1]), "float32")
    for x in xs:
        i, f, g, o = jnp.split(x @ w_x.T + bias + h @ w_h.T, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return jnp.mean(h * h)


# -- a transformer block -----------------------------------------------------------------------------------------------


def transformer_arrays(rng: np.random.Generator, small: bool) -> tuple[Arrays, Arrays]:
    """Projections of attention (in and out), two layers behind it, two normalizations; a batch of sequences."""
    batch, length, width = (2, 3, 8) if small else (8, 64, 128)
    shapes = [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width)]
    parameters = [normal(rng, *shape, fan_in=shape[1]) for shape in shapes]
    parameters += [np.zeros(shape[0], "float32") for shape in shapes]
    for _ in range(2):
        parameters += [np.ones(width, "float32"), np.zeros(width, "float32")]
    return parameters, [normal(rng, batch, length, width)]


def transformer_torch(torch: Any, parameters: list, data: list, heads: int = 4) -> Any:
    """Causal attention and a layer with ``gelu``, normalized in front, with residuals; mean square of the result."""
    functional, (x,) = torch.nn.functional, data
    w_in, w_out, w_up, w_down, b_in, b_out, b_up, b_down, scale1, shift1, scale2, shift2 = parameters
    batch, length, width = x.shape
    y = functional.layer_norm(x, (width,), scale1, shift1)
    q, k, v = functional.linear(y, w_in, b_in).view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4).unbind()
    y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + functional.linear(y.transpose(1, 2).reshape(batch, length, width), w_out, b_out)
    y = functional.layer_norm(x, (width,), scale2, shift2)
    x = x + functional.linear(functional.gelu(functional.linear(y, w_up, b_up)), w_down, b_down)
    return (x * x).mean()


def _layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def transformer_jax(parameters: list, data: list, heads: int = 4) -> Any:
    """The same."""
    (x,) = data
    w_in, w_out, w_up, w_down, b_in, b_out, b_up, b_down, scale1, shift1, scale2, shift2 = parameters
    batch, length, width = x.shape
    y = _layer_norm(x, scale1, shift1) @ w_in.T + b_in
    q, k, v = y.reshape(batch, length, 3, heads, -1).transpose(2, 0, 3, 1, 4)
    scores = q @ k.mT * (width // heads) ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    y = jax.nn.softmax(scores) @ v
    x = x + y.transpose(0, 2, 1, 3).reshape(batch, length, width) @ w_out.T + b_out
    y = jax.nn.gelu(_layer_norm(x, scale2, shift2) @ w_up.T + b_up, approximate=False)
    return jnp.mean(jnp.square(x + y @ w_down.T + b_down))


MODELS: dict[str, Model] = {
    "MLP": Model(mlp_arrays, mlp_torch, mlp_jax),
    "conv net": Model(conv_arrays, conv_torch, conv_jax),
    "LSTM loop": Model(lstm_arrays, lstm_torch, lstm_jax),
    "transformer block": Model(transformer_arrays, transformer_torch, transformer_jax),
}
"""By name."""
