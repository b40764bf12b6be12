"""Nodes and edges of the graph as users see them."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tapegrad._src.dispatch import gradient_edge
from tapegrad._src.tape import node as tape
from tapegrad._src.tape.hooks import RemovableHandle
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.function_node import BackwardCFunction, FunctionBase


class Node(abc.ABC):
    """A class of which every node of the graph is an instance, though none inherits from it.

    >>> y = torch.ones(2, requires_grad=True).exp()
    >>> isinstance(y.grad_fn, torch.autograd.graph.Node), y.grad_fn.name()
    (True, 'ExpBackward0')
    """

    @abc.abstractmethod
    def name(self) -> str:
        """The node's name, such as ``MulBackward0``; that of an accumulator carries a namespace of C++."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """A pair for each input of the forward operator: the node that takes its gradient next, and in which slot."""

    @abc.abstractmethod
    def metadata(self) -> dict:
        """A dictionary for the user's own notes on the node (an attribute of nodes, though a method here)."""

    @abc.abstractmethod
    def _sequence_nr(self) -> int:
        """The order of creation: of the nodes that are ready, the one with the highest number runs first."""

    @property
    @abc.abstractmethod
    def _input_metadata(self) -> Sequence[Any]:
        """Shape, dtype and device of each gradient that the node takes."""

    @abc.abstractmethod
    def _register_hook_dict(self, tensor: Tensor) -> None:
        """Run the hooks of a tensor (``_backward_hooks``) on its gradient when it arrives at the node."""

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node; a tuple that it returns replaces ``grad_inputs``."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node runs; a tuple that it returns replaces the gradients."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> bool:
        if cls is not Node or not issubclass(subclass, tape.Node):
            return NotImplemented
        written = issubclass(subclass, FunctionBase)  # by a user, who writes a function: its nodes are of another class
        return not written or issubclass(subclass, BackwardCFunction)


class GradientEdge(NamedTuple):
    """A place where a gradient arrives: a node, and which of its inputs. ``ownership_token`` keeps the graph alive.

    Args:
        node: the node.
        output_nr: which of its inputs.
        ownership_token: what keeps the graph alive.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that computes the gradient of ``tensor``; usable wherever ``backward`` and ``grad`` take tensors.

    Raises:
        RuntimeError: if the tensor does not require grad.

    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x.exp()
    >>> torch.autograd.grad((y * 3).sum(), torch.autograd.graph.get_gradient_edge(y))
    (tensor([3., 3.]),)
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    edge = gradient_edge(tensor)
    assert edge is not None
    if not isinstance(edge[0], FunctionBase):
        return GradientEdge(*edge)
    with switched(grad=True):
        return GradientEdge(*edge, ownership_token=tensor.view_as(tensor).grad_fn)
