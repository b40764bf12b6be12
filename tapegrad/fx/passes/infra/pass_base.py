"""``PassBase``: a pass over a graph, with checks before and after it."""

from __future__ import annotations

import abc
from typing import NamedTuple

from tapegrad.fx.graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The result of a pass.

    Attributes:
        graph_module: the module, which may be the one that was given.
        modified: whether anything was changed.
    """

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass over a graph: ``call`` is to be written.

    >>> class Relus(PassBase):
    ...     def call(self, graph_module):
    ...         found = [node for node in graph_module.graph.nodes if node.target is torch.relu]
    ...         return PassResult(graph_module, bool(found))
    >>> Relus()(torch.fx.symbolic_trace(lambda x: torch.relu(x))).modified
    True
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        """Check what it needs, run it, and check what it gives."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Run the pass.

        Args:
            graph_module: the module.

        Returns:
            what has become of it.
        """

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 - may be left as it is
        """Check the module before the pass.

        Args:
            graph_module: the module.
        """

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027 - may be left as it is
        """Check the module after the pass.

        Args:
            graph_module: the module.
        """
