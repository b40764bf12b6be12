"""The models that are trained, each as a PyTorch program and as somebody would write it in JAX.

A model is a pair of functions of (parameters, buffers, data) that give the loss. ``torch`` is the module that speaks
PyTorch's language; there buffers (running statistics) are written to, in JAX the new ones are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Model:
    """One model: its numbers, and its loss twice.

    Attributes:
        arrays: makes parameters, buffers and data.
        torch: ``torch(module, parameters, buffers, data)``, on tensors: the loss.
        jax: ``jax(parameters, buffers, data)``, on arrays: the loss and the new buffers.
        dtype: what floating-point arrays are converted to.
    """

    arrays: Callable[[np.random.Generator], tuple[Arrays, Arrays, Arrays]]
    torch: Callable[[Any, list, list, Sequence], Any]
    jax: Callable[[list, list, Sequence], tuple[Any, list]]
    dtype: str = "float32"


def normal(rng: np.random.Generator, *shape: int, fan_in: int = 1) -> np.ndarray:
    """Normal numbers, made small enough for a layer with ``fan_in`` inputs."""
    return (rng.standard_normal(shape) * fan_in**-0.5).astype("float32")


def groups(sequence: Sequence, size: int) -> list[Sequence]:
    """A sequence in pieces of ``size``."""
    return [sequence[first : first + size] for first in range(0, len(sequence), size)]


def labels_of(rng: np.random.Generator, classes: int, batch: int) -> np.ndarray:
    """Labels, in the type that JAX would give them."""
    return rng.integers(0, classes, batch).astype("int32")


def cross_entropy(scores: Any, labels: Any) -> Any:
    """The mean, in JAX."""
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], axis=1))


# -- a multi-layer perceptron of scalars -------------------------------------------------------------------------------


def scalar_mlp(widths: tuple[int, ...], samples: int) -> Model:
    """A perceptron on 0-dimensional tensors, as micrograd has it: each product and each sum is an operator."""

    def torch_loss(torch: Any, parameters: list, buffers: list, data: Sequence) -> Any:
        return scalar_loss(torch.relu, widths, parameters, data)

    def jax_loss(parameters: list, buffers: list, data: Sequence) -> tuple[Any, list]:
        # XLA compiles jnp.maximum in seconds, and with jax.nn.relu, which selects, is not ready after five minutes
        return scalar_loss(lambda x: jnp.maximum(x, 0), widths, parameters, data), buffers

    return Model(partial(scalar_arrays, widths, samples), torch_loss, jax_loss)


def scalar_arrays(widths: tuple[int, ...], samples: int, rng: np.random.Generator) -> tuple[Arrays, Arrays, Arrays]:
    """For each neuron its weights and its bias; then, for each sample, the inputs and a label of -1 or 1."""
    count = sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(widths))
    inputs, labels = rng.standard_normal((samples, widths[0])), rng.choice([-1, 1], (samples, 1))
    data = np.concatenate([inputs, labels], axis=1).astype("float32")
    return list(rng.uniform(-1, 1, count).astype("float32")), [], list(data.reshape(-1))


def scalar_loss(relu: Callable, widths: tuple[int, ...], parameters: list, data: Sequence) -> Any:
    """Mean hinge loss with decay of the weights; the same text serves tensors and arrays."""
    losses = []
    for *values, label in groups(data, widths[0] + 1):
        remaining = iter(parameters)
        for number, (fan_in, fan_out) in enumerate(pairwise(widths)):
            neurons = [[next(remaining) for _ in range(fan_in + 1)] for _ in range(fan_out)]
            values = [sum((w * x for w, x in zip(ws, values, strict=True)), b) for *ws, b in neurons]
            values = [relu(value) for value in values] if number < len(widths) - 2 else values
        losses.append(relu(1 - label * values[0]))
    return sum(losses) * (1 / len(losses)) + 1e-4 * sum(p * p for p in parameters)


# -- a multi-layer perceptron ------------------------------------------------------------------------------------------


def mlp(widths: tuple[int, ...], batch: int) -> Model:
    """Linear layers with ``relu`` between them, and cross entropy."""
    return Model(partial(mlp_arrays, widths, batch), mlp_torch, mlp_jax)


def mlp_arrays(widths: tuple[int, ...], batch: int, rng: np.random.Generator) -> tuple[Arrays, Arrays, Arrays]:
    """Weight, bias, weight, ...; a batch, and its labels."""
    parameters: Arrays = []
    for fan_in, fan_out in pairwise(widths):
        parameters += [normal(rng, fan_out, fan_in, fan_in=fan_in), np.zeros(fan_out, "float32")]
    return parameters, [], [normal(rng, batch, widths[0]), labels_of(rng, widths[-1], batch)]


def mlp_torch(torch: Any, parameters: list, buffers: list, data: Sequence) -> Any:
    """Mean cross entropy."""
    x, labels = data
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        x = torch.nn.functional.linear(x, weight, bias).relu()
    return torch.nn.functional.cross_entropy(torch.nn.functional.linear(x, *parameters[-2:]), labels.long())


def mlp_jax(parameters: list, buffers: list, data: Sequence) -> tuple[Any, list]:
    """The same."""
    x, labels = data
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        x = jax.nn.relu(x @ weight.T + bias)
    return cross_entropy(x @ parameters[-2].T + parameters[-1], labels), buffers


# -- a convolutional net -----------------------------------------------------------------------------------------------


def conv_net(channels: tuple[int, ...], size: int, batch: int, classes: int = 10) -> Model:
    """Convolutions, each with a normalization over the batch, ``relu`` and pooling; then a linear layer."""
    return Model(partial(conv_arrays, channels, size, batch, classes), conv_torch, conv_jax)


def conv_arrays(
    channels: tuple[int, ...], size: int, batch: int, classes: int, rng: np.random.Generator
) -> tuple[Arrays, Arrays, Arrays]:
    """Filters, a bias, a scale and a shift for each convolution; running means and variances; images of size**2."""
    parameters: Arrays = []
    buffers: Arrays = []
    for fan_in, fan_out in pairwise(channels):
        parameters += [normal(rng, fan_out, fan_in, 3, 3, fan_in=9 * fan_in), np.zeros(fan_out, "float32")]
        parameters += [np.ones(fan_out, "float32"), np.zeros(fan_out, "float32")]
        buffers += [np.zeros(fan_out, "float32"), np.ones(fan_out, "float32")]
    width = channels[-1] * (size // 2 ** (len(channels) - 1)) ** 2
    parameters += [normal(rng, classes, width, fan_in=width), np.zeros(classes, "float32")]
    return parameters, buffers, [normal(rng, batch, channels[0], size, size), labels_of(rng, classes, batch)]


def conv_torch(torch: Any, parameters: list, buffers: list, data: Sequence) -> Any:
    """Mean cross entropy; the running statistics are written to."""
    functional, (x, labels) = torch.nn.functional, data
    layers = zip(groups(parameters[:-2], 4), groups(buffers, 2), strict=True)
    for (filters, bias, scale, shift), (running_mean, running_var) in layers:
        x = functional.conv2d(x, filters, bias, padding=1)
        x = functional.batch_norm(x, running_mean, running_var, scale, shift, training=True).relu()
        x = functional.max_pool2d(x, 2)
    return functional.cross_entropy(functional.linear(x.flatten(1), *parameters[-2:]), labels.long())


def conv_jax(parameters: list, buffers: list, data: Sequence) -> tuple[Any, list]:
    """The same."""
    x, labels = data
    statistics: list = []
    layers = zip(groups(parameters[:-2], 4), groups(buffers, 2), strict=True)
    for (filters, *channelwise), running in layers:
        bias, scale, shift = (p[:, None, None] for p in channelwise)
        x = jax.lax.conv_general_dilated(x, filters, (1, 1), ((1, 1), (1, 1))) + bias
        mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
        samples = x.size // x.shape[1]
        now = mean.reshape(-1), var.reshape(-1) * (samples / (samples - 1))
        statistics += [0.9 * old + 0.1 * jax.lax.stop_gradient(new) for old, new in zip(running, now, strict=True)]
        x = jax.nn.relu((x - mean) * jax.lax.rsqrt(var + 1e-5) * scale + shift)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "valid")
    return cross_entropy(x.reshape(len(x), -1) @ parameters[-2].T + parameters[-1], labels), statistics


# -- an LSTM cell in a loop --------------------------------------------------------------------------------------------


def lstm(steps: int, batch: int, inputs: int, hidden: int) -> Model:
    """A cell written by hand, run over a sequence by a Python loop."""
    return Model(partial(lstm_arrays, steps, batch, inputs, hidden), lstm_torch, lstm_jax)


def lstm_arrays(
    steps: int, batch: int, inputs: int, hidden: int, rng: np.random.Generator
) -> tuple[Arrays, Arrays, Arrays]:
    """Weights for inputs and for the state, a bias, and a sequence."""
    parameters = [normal(rng, 4 * hidden, n, fan_in=hidden) for n in (inputs, hidden)]
    return [*parameters, np.zeros(4 * hidden, "float32")], [], [normal(rng, steps, batch, inputs)]


def lstm_torch(torch: Any, parameters: list, buffers: list, data: Sequence) -> Any:
    """Mean square of the last state."""
    (w_x, w_h, bias), (xs,) = parameters, data
    h = c = xs.new_zeros(xs.shape[1], w_h.shape[1])
    for x in xs.unbind():
        gates = torch.nn.functional.linear(x, w_x, bias) + torch.nn.functional.linear(h, w_h)
        i, f, g, o = gates.chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return (h * h).mean()


def lstm_jax(parameters: list, buffers: list, data: Sequence) -> tuple[Any, list]:
    """The same."""
    (w_x, w_h, bias), (xs,) = parameters, data
    h = c = jnp.zeros((xs.shape[1], w_h.shape[1]), xs.dtype)
    for x in xs:
        i, f, g, o = jnp.split(x @ w_x.T + bias + h @ w_h.T, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return jnp.mean(h * h), buffers


# -- blocks of a transformer -------------------------------------------------------------------------------------------


def transformer(blocks: int, width: int, heads: int, length: int, batch: int, dtype: str = "float32") -> Model:
    """Blocks as GPT-2 has them: causal attention and a layer with ``gelu``, normalized in front, with residuals."""

    def torch_loss(torch: Any, parameters: list, buffers: list, data: Sequence) -> Any:
        (x,) = data
        for block in groups(parameters, 12):
            x = block_torch(torch.nn.functional, heads, x, *block)
        return (x * x).mean()

    def jax_loss(parameters: list, buffers: list, data: Sequence) -> tuple[Any, list]:
        (x,) = data
        for block in groups(parameters, 12):
            x = block_jax(heads, x, *block)
        return jnp.mean(x * x), buffers

    return Model(partial(transformer_arrays, blocks, width, length, batch), torch_loss, jax_loss, dtype)


def transformer_arrays(
    blocks: int, width: int, length: int, batch: int, rng: np.random.Generator
) -> tuple[Arrays, Arrays, Arrays]:
    """For each block, weight and bias of four layers, scale and shift of two normalizations; a batch of sequences."""
    parameters: Arrays = []
    for _ in range(blocks):
        for fan_out, fan_in in ((3 * width, width), (width, width), (4 * width, width), (width, 4 * width)):
            parameters += [normal(rng, fan_out, fan_in, fan_in=fan_in), np.zeros(fan_out, "float32")]
        parameters += 2 * [np.ones(width, "float32"), np.zeros(width, "float32")]
    return parameters, [], [normal(rng, batch, length, width)]


def block_torch(functional: Any, heads: int, x: Any, *parameters: Any) -> Any:
    """A block in PyTorch's language."""
    w_in, b_in, w_out, b_out, w_up, b_up, w_down, b_down, scale1, shift1, scale2, shift2 = parameters
    batch, length, width = x.shape
    y = functional.layer_norm(x, (width,), scale1, shift1)
    q, k, v = functional.linear(y, w_in, b_in).view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4).unbind()
    y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + functional.linear(y.transpose(1, 2).reshape(batch, length, width), w_out, b_out)
    y = functional.layer_norm(x, (width,), scale2, shift2)
    return x + functional.linear(functional.gelu(functional.linear(y, w_up, b_up)), w_down, b_down)


def block_jax(heads: int, x: Any, *parameters: Any) -> Any:
    """The same in JAX."""
    w_in, b_in, w_out, b_out, w_up, b_up, w_down, b_down, scale1, shift1, scale2, shift2 = parameters
    batch, length, width = x.shape
    y = _layer_norm(x, scale1, shift1) @ w_in.T + b_in
    q, k, v = y.reshape(batch, length, 3, heads, -1).transpose(2, 0, 3, 1, 4)
    scores = q @ k.mT * (width // heads) ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    y = jax.nn.softmax(scores) @ v
    x = x + y.transpose(0, 2, 1, 3).reshape(batch, length, width) @ w_out.T + b_out
    y = jax.nn.gelu(_layer_norm(x, scale2, shift2) @ w_up.T + b_up, approximate=False)
    return x + y @ w_down.T + b_down


def _layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


# -- their numbers -----------------------------------------------------------------------------------------------------


def loaded(torch: Any, device: str, dtype: str, arrays: list[np.ndarray]) -> list:
    """Tensors with copies of some arrays, floating-point numbers in ``dtype``, whole ones in 64 bits."""
    tensors = [torch.tensor(array, device=device) for array in arrays]
    return [x.to(getattr(torch, dtype)) if x.is_floating_point() else x.long() for x in tensors]


def tensors(model: Model, torch: Any, device: str) -> tuple[list, list, list]:
    """The parameters, buffers and data of a model as tensors."""
    parameters, buffers, data = (
        loaded(torch, device, model.dtype, arrays) for arrays in model.arrays(np.random.default_rng(0))
    )
    return [parameter.requires_grad_() for parameter in parameters], buffers, data


def arrays(model: Model) -> tuple[list, list, list]:
    """The parameters, buffers and data of a model as arrays of JAX."""

    def converted(array: np.ndarray) -> Any:
        return jnp.array(array, model.dtype if array.dtype.kind == "f" else None)

    return jax.tree.map(converted, model.arrays(np.random.default_rng(0)))


# -- all of them -------------------------------------------------------------------------------------------------------

MLP, CONV_NET, LSTM, TRANSFORMER, SCALAR_MLP = "MLP", "conv net", "LSTM loop", "transformer block", "scalar MLP"

MODELS = {
    MLP: mlp((784, 256, 256, 10), 128),
    CONV_NET: conv_net((3, 16, 32), 32, 16),
    LSTM: lstm(50, 32, 32, 64),
    TRANSFORMER: transformer(1, 128, 4, 64, 8),
}
"""The models that are trained on tensors, by name."""

SMALL_MODELS = {
    MLP: mlp((6, 5, 5, 3), 4),
    CONV_NET: conv_net((1, 2, 3), 8, 2, 3),
    LSTM: lstm(3, 2, 4, 5),
    TRANSFORMER: transformer(1, 8, 4, 3, 2),
}
"""The same, so small that they show what works and not how fast."""
