"""The graph as users see it: nodes and edges."""

from __future__ import annotations

from typing import Any, NamedTuple

from tapegrad.dispatch import gradient_edge
from tapegrad.tape.node import Node
from tapegrad.tensor.tensor import Tensor

__all__ = ["GradientEdge", "Node", "get_gradient_edge"]


class GradientEdge(NamedTuple):
    """A place where a gradient arrives: a node, and which of its inputs. ``ownership_token`` keeps the node alive."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that computes the gradient of ``tensor``; usable wherever ``backward`` and ``grad`` take tensors.

    Raises:
        RuntimeError: if the tensor does not require grad.
    """
    edge = gradient_edge(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)
