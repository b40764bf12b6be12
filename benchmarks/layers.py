"""What a call of a module costs: nothing but calls, and a network of modules beside the same one of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CALLS = 100
DEPTH = 20

Run = Callable[[], Any]


def calls(torch: Any) -> dict[str, Run]:
    """A module that gives back what it is given, called, and its ``forward`` called."""

    class Same(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    same, x = Same(), torch.ones(1)

    def called() -> None:
        for _ in range(CALLS):
            same(x)

    def forward() -> None:
        for _ in range(CALLS):
            same.forward(x)

    return {"modules": called, "functions": forward}


def network(torch: Any) -> dict[str, Run]:
    """A deep and narrow network, forward and backward, of modules and of functions on the same parameters."""
    nn = torch.nn
    net = nn.Sequential(*(layer for _ in range(DEPTH) for layer in (nn.Linear(8, 8), nn.ReLU())))
    parameters, x = [(layer.weight, layer.bias) for layer in net[::2]], torch.ones(4, 8)

    def of_modules() -> None:
        net(x).sum().backward()

    def of_functions() -> None:
        y = x
        for weight, bias in parameters:
            y = nn.functional.relu(nn.functional.linear(y, weight, bias))
        y.sum().backward()

    return {"modules": of_modules, "functions": of_functions}


PROGRAMS = {"a call that does nothing": (calls, CALLS), f"a network of {DEPTH} layers": (network, DEPTH)}
"""What is measured by title, and how many units of it a run has."""
