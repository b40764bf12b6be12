"""Perceptrons: of matrices, of scalars, and a small policy that is asked sample by sample."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.whole.model import Arrays, Model, labels, linear, normal


def layers(rng: np.random.Generator, widths: Sequence[int]) -> Arrays:
    """Parameters of linear layers, one behind the other."""
    return [one for inputs, outputs in pairwise(widths) for one in linear(rng, inputs, outputs)]


def mlp(widths: Sequence[int], batch: int) -> Model:
    """Linear layers with ``ReLU`` between them, and cross entropy: SGD."""

    def net(torch: Any) -> Any:
        nn = torch.nn
        found: list[Any] = []
        for inputs, outputs in pairwise(widths):
            found += [nn.Linear(inputs, outputs), nn.ReLU()]
        return nn.Sequential(*found[:-1])

    def loss(torch: Any, net: Any, x: Any, targets: Any) -> Any:
        return torch.nn.functional.cross_entropy(net(x), targets)

    def data(rng: np.random.Generator) -> Arrays:
        return [normal(rng, batch, widths[0]), labels(rng, widths[-1], batch)]

    return Model(lambda rng: layers(rng, widths), data, net, loss, "small_jax:mlp")


def policy(observations: int, hidden: int, actions: int, samples: int) -> Model:
    """A policy that is asked for one sample after the other, as an episode goes; then all are learnt from: Adam."""

    def net(torch: Any) -> Any:
        class Policy(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.fc1 = torch.nn.Linear(observations, hidden)
                self.fc2 = torch.nn.Linear(hidden, actions)

            def forward(self, x: Any) -> Any:
                return self.fc2(torch.relu(self.fc1(x)))

        return Policy()

    def loss(torch: Any, net: Any, states: Any, chosen: Any, returns: Any) -> Any:
        losses = []
        for state, action, reward in zip(states, chosen, returns, strict=True):
            log_probs = torch.log_softmax(net(state), dim=-1)
            losses.append(-log_probs.gather(0, action) * reward)
        return torch.cat(losses).mean()

    def data(rng: np.random.Generator) -> Arrays:
        return [normal(rng, samples, observations), labels(rng, actions, samples, 1), normal(rng, samples)]

    widths = (observations, hidden, actions)
    adam = ("Adam", {"lr": 1e-3})
    return Model(lambda rng: layers(rng, widths), data, net, loss, "small_jax:policy", optimizer=adam)


def scalars(widths: Sequence[int], samples: int) -> Model:
    """A perceptron whose numbers are tensors of their own, as micrograd has it: each product is an operator. SGD."""

    def net(torch: Any) -> Any:
        nn = torch.nn

        class Neuron(torch.nn.Module):
            def __init__(self, inputs: int, nonlinear: bool) -> None:
                super().__init__()
                self.weights = nn.ParameterList([nn.Parameter(torch.zeros(())) for _ in range(inputs)])
                self.bias = nn.Parameter(torch.zeros(()))
                self.nonlinear = nonlinear

            def forward(self, x: list) -> Any:
                y = sum((w * one for w, one in zip(self.weights, x, strict=True)), self.bias)
                return y.relu() if self.nonlinear else y

        class Layer(torch.nn.Module):
            def __init__(self, inputs: int, outputs: int, nonlinear: bool) -> None:
                super().__init__()
                self.neurons = nn.ModuleList([Neuron(inputs, nonlinear) for _ in range(outputs)])

            def forward(self, x: list) -> list:
                return [neuron(x) for neuron in self.neurons]

        sizes = list(pairwise(widths))
        return nn.Sequential(*(Layer(*size, number < len(sizes)) for number, size in enumerate(sizes, 1)))

    def loss(torch: Any, net: Any, x: Any, signs: Any) -> Any:
        losses = []
        for sample, sign in zip(x.unbind(), signs.unbind(), strict=True):
            (y,) = net(list(sample.unbind()))
            losses.append((1 - sign * y).relu())
        return sum(losses) / len(losses)

    def parameters(rng: np.random.Generator) -> Arrays:
        # of each neuron the bias comes first: the list of weights is a module inside it
        count = sum((inputs + 1) * outputs for inputs, outputs in pairwise(widths))
        return [np.asarray(one) for one in rng.uniform(-1, 1, count).astype("float32")]

    def data(rng: np.random.Generator) -> Arrays:
        return [normal(rng, samples, widths[0]), rng.choice([-1.0, 1.0], samples).astype("float32")]

    return Model(parameters, data, net, loss, "small_jax:scalars", {"widths": tuple(widths)})
