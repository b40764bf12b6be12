"""Histories: of the graph that a captured call has made, whether there is something in it that can be asked for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tapegrad.compiler.capture import Capture
from tapegrad.dispatch.accumulation import AccumulateGrad
from tapegrad.dispatch.operator_node import OperatorNode
from tapegrad.tape.node import Edge

_OF_NODES = frozenset({"_numbers", "versions", "output_storages"})
"""What a node may have had set, and be used up."""


def is_used_up(edge: Edge, capture: Capture) -> bool:
    """Whether the graph at an edge has nothing of this call in it: what was saved for backward has been freed."""
    stack, known = [edge[0]], set()
    while stack:
        node = stack.pop()
        if id(node) in known:
            continue
        known.add(id(node))
        if isinstance(node, AccumulateGrad):
            seen = capture.seen.get(id(node.variable))
            if seen is None or not seen.before or node.hook_slots is not None:
                return False
            continue
        if not isinstance(node, OperatorNode) or node.hook_slots is not None or node.__dict__.keys() - _OF_NODES:
            return False
        if type(node.saved) is tuple and node.saved:
            return False
        stack += [following[0] for following in node.next_edges if following is not None]
    return True


def begins(edge: Edge, leaves: Collection[int]) -> bool:
    """Whether a history begins at one of some leaves, of which the identities are given."""
    stack, known = [edge[0]], set()
    while stack:
        node = stack.pop()
        if isinstance(node, AccumulateGrad) and id(node.variable) in leaves:
            return True
        if id(node) not in known:
            known.add(id(node))
            stack += [following[0] for following in node.next_edges if following is not None]
    return False


def renewed(node: Any) -> OperatorNode:
    """A node like one that is used up; each result has its own, for that remembers what becomes of the result."""
    new: OperatorNode = object.__new__(type(node))
    new.plan, new.saved, new.next_edges = node.plan, node.saved, node.next_edges
    new.sequence_nr = node.sequence_nr
    if "_numbers" in node.__dict__:
        new._numbers = node._numbers
    return new
