"""A model that is trained: its numbers, its modules and its optimizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

Arrays = list[np.ndarray]


class Program(NamedTuple):
    """A step of training in PyTorch's language: ``step(*data)`` returns the loss, and ``net`` has its parameters."""

    step: Callable[..., Any]
    data: list
    net: Any


@dataclass(frozen=True)
class Model:
    """A model, the data it is trained on, and the loss in both languages.

    Attributes:
        parameters: makes their first values, in the order of ``net.parameters()``.
        data: makes what a step is given.
        net: ``net(torch)`` makes the module, for a module ``torch`` that speaks PyTorch's language.
        loss: ``loss(torch, net, *data)``.
        jax: names a function ``f(parameters, buffers, *data, **settings)``, which gives the loss and the new buffers,
            as "module:function" in this package.
        settings: its keywords.
        optimizer: a name in ``torch.optim``, and what it is given.
        buffers: makes running statistics for JAX; modules have their own.
        steps: ``steps(torch, net, one)`` makes a step that takes several of ``one``, with data that it makes.
        jax_steps: the same in JAX, named as ``jax``: ``f(one, state, *data, **settings)``.
    """

    parameters: Callable[[np.random.Generator], Arrays]
    data: Callable[[np.random.Generator], Arrays]
    net: Callable[[Any], Any]
    loss: Callable[..., Any]
    jax: str
    settings: dict[str, Any] = field(default_factory=dict)
    optimizer: tuple[str, dict[str, Any]] = ("SGD", {"lr": 0.01})
    buffers: Callable[[], Arrays] = list
    steps: Callable[..., Callable[..., Any]] | None = None
    jax_steps: str = ""

    def arrays(self) -> tuple[Arrays, Arrays]:
        """Parameters and data, the same each time."""
        rng = np.random.default_rng(0)
        return self.parameters(rng), self.data(rng)


def program(model: Model, torch: Any, compiles: Callable[[Any], Any] = lambda net: net) -> Program:
    """A step of training, with the module as ``compiles`` returns it."""
    parameters, data = model.arrays()
    net = model.net(torch)
    fill(torch, net, parameters)
    net = compiles(net)
    name, settings = model.optimizer
    optimizer = getattr(torch.optim, name)(net.parameters(), **settings)

    def step(*data: Any) -> Any:
        loss = model.loss(torch, net, *data)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    whole = model.steps(torch, net, step) if model.steps else step
    return Program(whole, [torch.tensor(array) for array in data], net)


def fill(torch: Any, net: Any, arrays: Sequence[np.ndarray]) -> None:
    """Give parameters their values.

    Raises:
        ValueError: arrays have other shapes than the parameters, or there are more or fewer.
    """
    with torch.no_grad():
        for (name, parameter), array in zip(net.named_parameters(), arrays, strict=True):
            if tuple(parameter.shape) != array.shape:
                raise ValueError(f"{name} has shape {tuple(parameter.shape)}, and the array {array.shape}")
            parameter.copy_(torch.tensor(array))


# -- first values ------------------------------------------------------------------------------------------------------


def normal(rng: np.random.Generator, *shape: int, fan_in: int = 1) -> np.ndarray:
    """Normal numbers, made small enough for a layer with ``fan_in`` inputs."""
    return (rng.standard_normal(shape) * fan_in**-0.5).astype("float32")


def linear(rng: np.random.Generator, inputs: int, outputs: int) -> Arrays:
    """Weight and bias."""
    return [normal(rng, outputs, inputs, fan_in=inputs), np.zeros(outputs, "float32")]


def conv(rng: np.random.Generator, inputs: int, outputs: int, size: int = 3, bias: bool = False) -> Arrays:
    """Filters, and a bias if there is one."""
    filters = normal(rng, outputs, inputs, size, size, fan_in=inputs * size * size)
    return [filters, np.zeros(outputs, "float32")][: 1 + bias]


def norm(width: int) -> Arrays:
    """Scale and shift."""
    return [np.ones(width, "float32"), np.zeros(width, "float32")]


def statistics(*widths: int) -> Arrays:
    """Running means and variances."""
    return [one for width in widths for one in (np.zeros(width, "float32"), np.ones(width, "float32"))]


def labels(rng: np.random.Generator, classes: int, *shape: int) -> np.ndarray:
    """Whole numbers below ``classes``."""
    return rng.integers(0, classes, shape)


def residual_block(torch: Any, width: int, attention: Any) -> Any:
    """A block of attention and a layer with ``gelu``, normalized in front, with residuals."""
    nn = torch.nn

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln1 = nn.LayerNorm(width)
            self.attention = attention
            self.ln2 = nn.LayerNorm(width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.ln1(x))
            return x + self.mlp(self.ln2(x))

    return Block()
