"""Functions that give tensors back unchanged, and what backward makes of them: an error, or no gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.dispatch.nodes.accumulate_grad import gradient_edge, node_made
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.node import HIGHEST_SEQUENCE_NR, Edge, Node, check_call, next_sequence_nr
from tapegrad._src.tensor.tensor import value_of, wrap


class Error(Node):
    """A node that raises when backward reaches it."""

    __slots__ = ("message",)

    def __init__(self, message: str, next_edges: Sequence[Edge | None], input_slots: int = 1) -> None:
        self.message = message
        self.next_edges = tuple(next_edges)
        self.sequence_nr = HIGHEST_SEQUENCE_NR
        self.input_slots = input_slots

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        raise RuntimeError(self.message)

    apply = apply_values

    def name(self) -> str:
        return "torch::autograd::Error"


class IdentityNode(Node):
    """A function of tensors that gives them back unchanged, with a node of its own kind between."""

    __slots__ = ()
    next_edges: tuple = ()

    def node_for(self, edges: list[Edge | None]) -> Node:
        """The node that the results get, if any gradient may be wanted."""
        raise NotImplementedError

    def __call__(self, *tensors: Any, **keywords: Any) -> Any:
        check_call(self, tensors, keywords)
        edges = [None if tensor is None else gradient_edge(tensor) for tensor in tensors]
        node = self.node_for(edges) if thread.modes.grad and any(edges) else None
        if node is not None and thread.modes.watched:
            node_made(node)
        results = tuple(
            None if tensor is None
            else wrap(value_of(tensor), tensor._spec.bare.replace(requires_grad=node is not None),
                      None if node is None else (node, position))
            for position, tensor in enumerate(tensors)
        )  # fmt: skip
        return results[0] if len(results) == 1 else results


class DelayedError(IdentityNode):
    """A function of tensors that gives them back unchanged; differentiating through the results raises.

    >>> x = torch.ones(2, requires_grad=True)
    >>> y = DelayedError("not today", 1)(x)
    >>> y.grad_fn.name()
    'torch::autograd::Error'
    """

    __slots__ = ("message",)

    def __init__(self, *arguments: Any) -> None:
        if len(arguments) != 2:
            raise RuntimeError(f"Requires two arguments, got {len(arguments)}")
        self.message, self.input_slots = arguments
        self.sequence_nr = next_sequence_nr()

    def node_for(self, edges: list[Edge | None]) -> Node:
        return Error(self.message, edges, len(edges))

    def name(self) -> str:
        return "torch::autograd::DelayedError"


class UndefinedGrad(IdentityNode):
    """A function that gives a tensor back unchanged; in backward the gradient ends there, undefined.

    >>> x = torch.ones(2, requires_grad=True)
    >>> (UndefinedGrad()(x * 1) + x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """

    __slots__ = ()

    def __init__(self, *arguments: Any) -> None:
        if arguments:
            raise RuntimeError(f"Requires zero arguments, got {len(arguments)}")
        self.sequence_nr = next_sequence_nr()

    def node_for(self, edges: list[Edge | None]) -> Node:
        return UndefinedGradBackward(edges)

    def name(self) -> str:
        return "torch::autograd::UndefinedGrad"


class UndefinedGradBackward(Node):
    """Takes a gradient and gives none."""

    __slots__ = ()

    def __init__(self, next_edges: Sequence[Edge | None]) -> None:
        self.next_edges = tuple(next_edges)
        self.sequence_nr = next_sequence_nr()

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        return (None,) * len(self.next_edges)

    apply = apply_values

    def name(self) -> str:
        return "torch::autograd::UndefinedGradBackward"
