"""``torch._dynamo.testing``: backends that count the graphs that they are given, or keep them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._dynamo.backends.registry import lookup_backend

__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs"]


class CompileCounter:
    """A backend that counts graphs and their calls, and runs them as they are.

    Attributes:
        frame_count: how many graphs there were.
        op_count: how many calls they have.

    >>> counter = CompileCounter()
    >>> f = torch.compile(lambda x: x.sin() + 1, backend=counter)
    >>> y = f(torch.ones(2)), f(torch.ones(2))
    >>> counter.frame_count, counter.op_count
    (1, 2)
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin at zero."""
        self.frame_count: int | Any = 0
        self.op_count = 0

    def _count(self, gm: Any) -> None:
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        """Count a graph, and give what runs it.

        Args:
            gm: the graph, as a module.
            example_inputs: examples of its inputs.
        """
        self._count(gm)
        return gm.forward


class CompileCounterWithBackend(CompileCounter):
    """A backend that counts graphs, keeps them, and hands them to another one.

    Args:
        backend: the name of that.

    Attributes:
        graphs: the graphs.

    >>> counter = CompileCounterWithBackend("eager")
    >>> torch.compile(lambda x: x + 1, backend=counter)(torch.ones(1)), len(counter.graphs)
    (tensor([2.]), 1)
    """

    def __init__(self, backend: str) -> None:
        self.backend = backend
        super().__init__()

    def clear(self) -> None:
        """Begin at zero."""
        super().clear()
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        """Count and keep a graph, and give what the other backend gives for it."""
        self._count(gm)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)


class EagerAndRecordGraphs:
    """A backend that keeps graphs, and runs them as they are.

    Attributes:
        graphs: the graphs.

    >>> kept = EagerAndRecordGraphs()
    >>> y = torch.compile(lambda x: x * 2, backend=kept)(torch.ones(1))
    >>> [node.name for node in kept.graphs[0].graph.nodes]
    ['l_x_', 'mul', 'output']
    """

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Any:
        """Keep a graph, and give it back."""
        self.graphs.append(gm)
        return gm.forward
