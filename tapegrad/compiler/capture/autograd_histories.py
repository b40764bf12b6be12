"""Histories: of the graph that a captured call has made, whether there is something in it that can be asked for.

Note [Histories that are used up]
The loss that a step returns has a history, of which the step's own ``backward`` has freed what was saved. Each replayed
call gives its loss the history of the captured one, but for the last node, which is its own: nothing of one call is in
it that another has not. Two kinds of nodes are of one call: the accumulators of leaves that it has made (points whose
gradients are penalized, say), and custom functions, on which their authors keep what they like. If nobody else has such
a leaf, no gradient of it can ever be asked for, and there is no edge in its place; a custom function whose backward
reads what was saved can only refuse to run again, and in its place is a node that refuses (``UsedUp``).
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from typing import Any

from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad
from tapegrad._src.dispatch.nodes.error import Error
from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.dispatch.nodes.saved_tensor import second_backward
from tapegrad._src.tape.node import Edge, Node
from tapegrad.autograd.function_node import BackwardCFunction
from tapegrad.compiler.capture.capture import Capture
from tapegrad.compiler.guards.code import mentions

_OF_NODES = frozenset({"_numbers", "versions", "output_storages"})
"""The attributes that a node may have had set, and be used up."""


class UsedUp(Error):
    """Stands for a custom function of which everything was freed."""

    __slots__ = ("named",)

    def __init__(self, node: BackwardCFunction) -> None:
        super().__init__(second_backward(node._freed_by), (), node.input_slots)
        self.named = node.name()

    def name(self) -> str:
        return self.named


def is_used_up(edge: Edge, capture: Capture) -> bool:
    """Tell whether the graph at an edge has nothing of this call in it: what was saved for backward has been freed."""
    return all(type(node) is UsedUp or _is_shared(node, capture) for node in _nodes(edge))


def _is_shared(node: Node, capture: Capture) -> bool:
    """Tell whether a node has nothing of this call: that of a leaf which was there before, or of an operator."""
    if node.hook_slots is not None:
        return False
    if isinstance(node, AccumulateGrad):
        seen = capture.seen.get(id(node.variable))
        return seen is not None and seen.before
    if not isinstance(node, OperatorNode) or node.__dict__.keys() - _OF_NODES:
        return False
    kept = node.saved if type(node.saved) is tuple else ()
    return not kept or not (node.plan.releases or any(map(capture.is_dynamic, kept)))


def _is_own(node: Node, capture: Capture) -> bool:
    """Tell whether a node is one of this call that can be left out: see Note [Histories that are used up]."""
    if node.hook_slots is not None:
        return False
    if isinstance(node, AccumulateGrad):
        bare = id(node.variable) not in capture.seen and "_hooks" not in node.variable.__dict__
        return bare and sys.getrefcount(node.variable) == 2  # the node's, getrefcount's
    if not isinstance(node, BackwardCFunction) or node._saved is not None:
        return False
    code = getattr(node._forward_cls.backward, "__code__", None)
    return code is not None and not mentions(code).names.isdisjoint({"saved_tensors", "saved_variables"})


def without_own(edge: Edge, capture: Capture) -> Edge:
    """A history that is used up, without what is of this call alone; any other as it is."""
    own = set()
    for node in _nodes(edge):
        if not _is_shared(node, capture):
            if not _is_own(node, capture):
                return edge
            own.add(id(node))
    return (_copied(edge[0], own), edge[1]) if own and not isinstance(edge[0], AccumulateGrad) else edge


def _copied(root: Node, own: Collection[int]) -> Node:
    """A graph without the nodes that are a call's own."""
    copies: dict[int, Node | None] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        missing = [] if id(node) in own else [one for one in _successors(node) if id(one) not in copies]
        if missing:
            stack += missing
        elif id(stack.pop()) not in copies:
            copies[id(node)] = _copy(node, own, copies)
    return copies[id(root)]  # type: ignore[return-value]


def _copy(node: Any, own: Collection[int], copies: dict[int, Node | None]) -> Node | None:
    if id(node) in own:
        return None if isinstance(node, AccumulateGrad) else UsedUp(node)
    edges = [None if edge is None else (copies[id(edge[0])], edge[1]) for edge in node.next_edges]
    if all(edge is None or edge[0] is old[0] for edge, old in zip(edges, node.next_edges, strict=True)):
        return node
    new = renewed(node)
    new.next_edges = tuple(None if edge is None or edge[0] is None else edge for edge in edges)
    return new


def _successors(node: Node) -> list[Node]:
    return [following[0] for following in node.next_edges if following is not None]


def _nodes(edge: Edge) -> Iterator[Node]:
    """All nodes that can be reached from an edge, each once."""
    stack, known = [edge[0]], set()
    while stack:
        node = stack.pop()
        if id(node) not in known:
            known.add(id(node))
            yield node
            stack += _successors(node)


def begins(edge: Edge, leaves: Collection[int]) -> bool:
    """Tell whether a history begins at one of some leaves, of which the identities are given."""
    return any(isinstance(node, AccumulateGrad) and id(node.variable) in leaves for node in _nodes(edge))


def renewed(node: Any) -> Any:
    """A node like one that is used up; each result has its own, for that remembers what becomes of the result."""
    if type(node) is UsedUp:
        return node
    new: OperatorNode = object.__new__(type(node))
    new.plan, new.saved, new.next_edges = node.plan, node.saved, node.next_edges
    new.sequence_nr = node.sequence_nr
    if "_numbers" in node.__dict__:
        new._numbers = node._numbers
    return new
