"""Currencies: gradients that flow along the edges of one backward call, and what the engine may do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tapegrad._src.tape.node import Node


def on_values(node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
    """Run a node's backward on raw values: the ``run`` of a gradient type that has nothing to add, so that the engine
    may do without the call."""
    return node.apply_values(grads, needed)


class GradientOps(Protocol):
    """The engine's only view of gradients. It is chosen once per backward call.

    tapegrad has two: raw values, when the backward is not recorded, and tensors, when it is (``create_graph``). The
    engine's own tests use plain floats. One that has an attribute ``plain``, which is true, doesn't look at the nodes
    that it runs: the engine need not show it the node that it starts with.
    """

    def add(self, left: Any, right: Any) -> Any:
        """The sum of two gradients; neither may be modified."""

    def add_into(self, left: Any, right: Any) -> Any:
        """The sum of two gradients; ``left``, a sum that the engine has made and nobody has seen, may be used up.

        A gradient type may do without it.
        """

    def run(self, node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """Run a node's backward and return one gradient, or None, for each of its edges."""

    def to_hook(self, grad: Any) -> Any:
        """A gradient as hooks see it."""

    def from_hook(self, given: Any, returned: Any, hook: Callable) -> Any:
        """The gradient after a hook was ``given`` one as it sees it and ``returned`` something, or None."""

    def to_hooks(self, grads: Sequence) -> tuple:
        """Several gradients, some of them None, as hooks of nodes see them."""

    def from_hooks(self, given: tuple, returned: Any, hook: Callable) -> list:
        """The gradients after a hook of a node was ``given`` some and ``returned`` as many, or None."""
