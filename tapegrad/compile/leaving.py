"""Leaving behind what a call would, without running it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad.compile.effects import Effects, Returned
from tapegrad.dispatch.nodes import OperatorNode
from tapegrad.tensor.tensor import Tensor, counter_of


def memory_of(tensor: Tensor) -> Any:
    """What has the elements of a tensor: its storage, once that has been written to; before, itself."""
    storage = tensor._storage
    return storage if storage is not None and storage.live else tensor


class Leaving:
    """Leaves behind what a call would. What is the same in every call is looked up once.

    Args:
        effects: what the call leaves behind.
        arguments: those of the call that was captured.
    """

    def __init__(self, effects: Effects, arguments: Sequence[Any]) -> None:
        self._effects = effects
        lasting = [one.ref.fixed and not isinstance(memory_of(one.ref.of), Tensor) for one in effects.written]
        pairs = list(zip(effects.written, lasting, strict=True))
        self._storages = [(memory_of(one.ref.of), one.slot) for one, lasts in pairs if lasts]
        self._written = [one for one, lasts in pairs if not lasts]
        self._counters = [(counter_of(one.ref.of), one.writes) for one in effects.counted if one.ref.fixed]
        self._counted = [one for one in effects.counted if not one.ref.fixed]

    def leave(self, found: dict[int, Any], arguments: Sequence[Any]) -> list[Any]:
        """Leave it behind, with these results, and give the leaves of what the call returns."""
        effects = self._effects
        for stream, keys in effects.drawn:
            stream.offset += keys
        for storage, slot in self._storages:
            storage.replace(found[slot])
        for counter, writes in self._counters:
            counter.version += writes
        if self._written or self._counted:
            self._leave_elsewhere(found, arguments)
        for (of, _), made in effects.graded:
            leaf = arguments[of] if type(of) is int else of
            leaf._grad = None if made is None else made.tensor(found)
        given: list[Any] = []
        for one in effects.returned:
            given.append(_given(one, found, arguments, given))
        return given

    def _leave_elsewhere(self, found: dict[int, Any], arguments: Sequence[Any]) -> None:
        """Write to what is another tensor in each call, or has no storage."""
        for ref, slot in self._written:
            memory = memory_of(ref.find(arguments))
            if isinstance(memory, Tensor):
                memory._value = found[slot]
            else:
                memory.replace(found[slot])
        for ref, writes in self._counted:
            counter_of(ref.find(arguments)).version += writes


def _given(one: Returned, found: dict[int, Any], arguments: Sequence[Any], given: list[Any]) -> Any:
    if one.kind == "result":
        return one.of.tensor(found, None if one.edge is None else (renewed(one.edge[0]), one.edge[1]))
    if one.kind == "tensor":
        return one.of.find(arguments)
    return given[one.of] if one.kind == "again" else one.of


def renewed(node: Any) -> OperatorNode:
    """A node like one that is used up; each result has its own, for that remembers what becomes of the result."""
    new: OperatorNode = object.__new__(type(node))
    new.plan, new.saved, new.next_edges = node.plan, node.saved, node.next_edges
    new.sequence_nr = node.sequence_nr
    if "_numbers" in node.__dict__:
        new._numbers = node._numbers
    return new
