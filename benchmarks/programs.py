"""The programs in PyTorch's language: ``torch`` is the module, tapegrad or PyTorch itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Sizes:
    """The sizes of the models; those of the full run by default."""

    batch: int = 128
    layers: tuple[int, ...] = (784, 256, 256, 10)
    steps: int = 50
    lstm_batch: int = 32
    inputs: int = 32
    hidden: int = 64


def chain_data() -> Arrays:
    """Four floats, and a factor that neither grows nor shrinks them much in 10,000 multiplies."""
    return {
        "x": np.array([1.0, 2.0, 3.0, 4.0], np.float32),
        "c": np.full(4, 1.0001, np.float32),
        "seed": np.ones(4, np.float32),
    }


def mlp_data(sizes: Sizes, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Parameters (weight, bias, weight, ...), a batch of inputs, and its labels."""
    parameters: list[np.ndarray] = []
    for fan_in, fan_out in zip(sizes.layers[:-1], sizes.layers[1:], strict=True):
        parameters.append(rng.normal(0, fan_in**-0.5, (fan_out, fan_in)).astype(np.float32))
        parameters.append(np.zeros(fan_out, np.float32))
    inputs = rng.normal(size=(sizes.batch, sizes.layers[0])).astype(np.float32)
    return parameters, inputs, rng.integers(0, sizes.layers[-1], sizes.batch)


def lstm_data(sizes: Sizes, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """The cell's parameters (input weight, hidden weight, bias) and a sequence (steps, batch, inputs)."""
    shapes = [(4 * sizes.hidden, sizes.inputs), (4 * sizes.hidden, sizes.hidden), (4 * sizes.hidden,)]
    parameters = [rng.normal(0, sizes.hidden**-0.5, shape).astype(np.float32) for shape in shapes]
    return parameters, rng.normal(size=(sizes.steps, sizes.lstm_batch, sizes.inputs)).astype(np.float32)


def chain_forward(torch: Any, length: int) -> Callable[[], object]:
    """``y = y * c``, ``length`` times, recorded."""
    data = {name: torch.tensor(array) for name, array in chain_data().items()}
    x, c = data["x"].requires_grad_(), data["c"]

    def run() -> object:
        y = x
        for _ in range(length):
            y = y * c
        return y.detach().numpy()

    return run


def chain_total(torch: Any, length: int) -> Callable[[], object]:
    """The same, with its backward pass."""
    data = {name: torch.tensor(array) for name, array in chain_data().items()}
    x, c, seed = data["x"].requires_grad_(), data["c"], data["seed"]

    def run() -> object:
        x.grad = None
        y = x
        for _ in range(length):
            y = y * c
        y.backward(seed)
        return x.grad.numpy()

    return run


def mlp_step(torch: Any, sizes: Sizes, rng: np.random.Generator, lr: float = 0.01) -> Callable[[], object]:
    """One step of SGD of a multi-layer perceptron."""
    arrays, inputs, labels = mlp_data(sizes, rng)
    parameters = [torch.tensor(array, requires_grad=True) for array in arrays]
    x, target = torch.tensor(inputs), torch.tensor(labels)
    functional = torch.nn.functional

    def run() -> object:
        out = x
        for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
            out = functional.linear(out, weight, bias).relu()
        loss = functional.cross_entropy(functional.linear(out, *parameters[-2:]), target)
        loss.backward()
        with torch.no_grad():
            for parameter in parameters:
                parameter.sub_(parameter.grad, alpha=lr)
                parameter.grad = None
        return [parameter.detach().numpy() for parameter in parameters]

    return run


def lstm_step(torch: Any, sizes: Sizes, rng: np.random.Generator) -> Callable[[], object]:
    """Loss and gradients of an LSTM cell run over a sequence by a Python loop."""
    arrays, sequence = lstm_data(sizes, rng)
    parameters = [torch.tensor(array, requires_grad=True) for array in arrays]
    w_x, w_h, bias = parameters
    xs = [torch.tensor(x) for x in sequence]
    zeros = torch.zeros(sizes.lstm_batch, sizes.hidden)
    functional = torch.nn.functional

    def run() -> object:
        h = c = zeros
        for x in xs:
            gates = functional.linear(x, w_x, bias) + functional.linear(h, w_h)
            i, f, g, o = gates.chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        loss = (h * h).mean()
        loss.backward()
        grads = [parameter.grad.numpy() for parameter in parameters]
        for parameter in parameters:
            parameter.grad = None
        return grads

    return run
