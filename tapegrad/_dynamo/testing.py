"""``torch._dynamo.testing``: counters of the graphs that PyTorch's tracer hands to a backend."""

from __future__ import annotations

from typing import Any

from tapegrad._src.absent import refused

__all__ = ["CompileCounter", "CompileCounterWithBackend"]

_GRAPH = "steps are compiled without graphs of torch.fx; step.report() says what is replayed and what isn't"


class CompileCounter:
    """A backend that counts graphs. ``torch.compile`` refuses it, as other functions.

    >>> CompileCounter().frame_count
    0
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin at zero."""
        self.frame_count = self.op_count = 0

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        """Refused: there are no graphs."""
        return refused("torch._dynamo.testing.CompileCounter", _GRAPH)()


class CompileCounterWithBackend(CompileCounter):
    """A backend that counts graphs and hands them to another one, by its name. It is given none here."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        super().__init__()
