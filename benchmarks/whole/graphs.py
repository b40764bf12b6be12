"""A graph network: messages along edges, added up where they arrive."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.whole.model import Arrays, Model, labels, linear, normal


def graph(layers: int, nodes: int, edges: int, width: int) -> Model:
    """A class for each node from rounds of messages, by ``x[source]`` and ``index_add``, and cross entropy: Adam."""

    def net(torch: Any) -> Any:
        nn = torch.nn

        def mlp() -> Any:
            return nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width))

        class Round(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.message = mlp()
                self.update = mlp()

            def forward(self, x: Any, source: Any, target: Any) -> Any:
                messages = self.message(torch.cat([x[source], x[target]], dim=1))
                arrived = torch.zeros_like(x).index_add(0, target, messages)
                return x + self.update(torch.cat([x, arrived], dim=1))

        class GraphNetwork(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.rounds = nn.ModuleList([Round() for _ in range(layers)])
                self.head = nn.Linear(width, 10)

            def forward(self, x: Any, source: Any, target: Any) -> Any:
                for layer in self.rounds:
                    x = layer(x, source, target)
                return self.head(x)

        return GraphNetwork()

    def parameters(rng: np.random.Generator) -> Arrays:
        sizes = 2 * layers * [(2 * width, width), (width, width)]
        return [one for size in [*sizes, (width, 10)] for one in linear(rng, *size)]

    def loss(torch: Any, net: Any, x: Any, source: Any, target: Any, targets: Any) -> Any:
        return torch.nn.functional.cross_entropy(net(x, source, target), targets)

    def data(rng: np.random.Generator) -> Arrays:
        ends = [labels(rng, nodes, edges) for _ in range(2)]
        return [normal(rng, nodes, width), *ends, labels(rng, 10, nodes)]

    return Model(parameters, data, net, loss, "graphs_jax:graph", {}, ("Adam", {"lr": 1e-3}))
