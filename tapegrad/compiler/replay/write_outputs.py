"""Writing the outputs that a call would have, without running it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.state.attributes import set_flag
from tapegrad._src.tape.node import Node
from tapegrad._src.tensor.storage import Counter, Storage
from tapegrad._src.tensor.tensor import Tensor, counter_of, storage_to_write, wrap
from tapegrad._src.tensor.trees import TreeSpec
from tapegrad.compiler.capture.autograd_histories import renewed
from tapegrad.compiler.capture.results import Results, put_together
from tapegrad.compiler.capture.side_effects import NewTensor, Returned, SideEffects, WrittenMemory
from tapegrad.compiler.capture.sources import TensorSource
from tapegrad.compiler.guards.appended import AppendedTo
from tapegrad.compiler.guards.locations import Binding


def memory_of(tensor: Tensor) -> Any:
    """The object that has the elements of a tensor: its storage, once that has been written to; before, itself."""
    storage = tensor._storage
    return storage if storage is not None and storage.written else tensor


class OutputWriter:
    """Leaves behind what a call would. What is the same in every call is looked up once.

    Args:
        effects: what the call leaves behind.
        arguments: those of the call that was captured.
    """

    def __init__(self, effects: SideEffects, arguments: Sequence[Any]) -> None:
        self._drawn, self._returned = [one for one in effects.drawn if one.stream.has_keys], effects.returned
        counters = {id(counter_of(one.source.of)): one for one in effects.counted if one.source.fixed}
        self._flagged, self._data = effects.flagged, effects.data
        self._memories: list[tuple[Storage, int, Counter, int]] = []
        self._written: list[WrittenMemory] = []
        for one in effects.written:
            memory = memory_of(one.source.of) if one.source.fixed and not one.source.of._spec.window else None
            if type(memory) is Storage:
                counted = counters.pop(id(memory.counter), None)
                self._memories.append((memory, one.slot, memory.counter, 0 if counted is None else counted.writes))
            else:
                self._written.append(one)
        self._counters = [(counter_of(one.source.of), one.writes) for one in counters.values()]
        self._counted = [one for one in effects.counted if not one.source.fixed]
        self._gradients = [
            (source.of, new.slot, new.spec)
            for source, new in effects.graded
            if new is not None and _is_simple(source, new)
        ]
        self._graded = [one for one in effects.graded if not _is_simple(*one)]
        easy = all(now.tag == "result" and now.edge is None and now.of.simple for _, now in effects.rebound)
        self._locations = [
            (source.of.container, source.of.key, now.of.slot, now.of.spec) for source, now in effects.rebound if easy
        ]
        self._rebound = () if easy else effects.rebound

    def leave(self, values: dict[int, Any], arguments: Sequence[Any], nodes: Sequence[Node] = ()) -> list[Any]:
        """Leave it behind, with these results, and give the leaves of what the call returns.

        Their histories are ``nodes``, one for each stage.
        """
        for stream, keys in self._drawn:
            stream.offset += keys
        for storage, slot, counter, writes in self._memories:
            if len(storage.members) == 1 and storage.watcher is None:  # only the tensor that we know: no need to tell
                storage.value = values[slot]
                storage.writes += 1
            else:
                Storage.replace(storage, values[slot])
            counter.version += writes
        for counter, writes in self._counters:
            counter.version += writes
        for source, requires_grad in self._flagged:
            set_flag(source.find(arguments), requires_grad)
        if self._written or self._counted:
            self._leave_elsewhere(values, arguments)
        for source, slot in self._data:
            tensor = source.find(arguments)
            tensor.data = wrap(values[slot], tensor._spec.replace(requires_grad=False, plain=True, overrides=False))
        for leaf, slot, spec in self._gradients:
            leaf._grad = wrap(values[slot], spec)
        for source, new in self._graded:
            source.find(arguments)._grad = None if new is None else new.tensor(values)
        for container, key, slot, spec in self._locations:
            container[key] = wrap(values[slot], spec)
        if self._rebound:
            self._bind(values, arguments)
        given: list[Any] = []
        for one in self._returned:
            given.append(_given(one, values, arguments, given, nodes))
        return given

    def _bind(self, values: dict[int, Any], arguments: Sequence[Any]) -> None:
        """Give places that are rebound their new tensors."""
        given: list[Any] = []
        for source, now in self._rebound:
            given.append(_given(now, values, arguments, given))
            source.of.bind(given[-1])

    def _leave_elsewhere(self, values: dict[int, Any], arguments: Sequence[Any]) -> None:
        """Write to what is another tensor in each call, or has no storage."""
        for source, slot, stored in self._written:
            tensor = source.find(arguments)
            memory = storage_to_write(tensor) if stored else memory_of(tensor)
            if isinstance(memory, Tensor):
                memory._value = values[slot]
            else:
                Storage.replace(memory, values[slot])  # in inference mode, if it was written to in that
        for source, writes in self._counted:
            counter_of(source.find(arguments)).version += writes


class Appended:
    """The items that a recorded call appends to one list.

    Attributes:
        binding: where the list is.
        trees: how each of the items is made of leaves.
    """

    def __init__(self, binding: Binding, trees: Sequence[TreeSpec], leaves: Sequence[list]) -> None:
        self.binding, self.trees = binding, trees
        self._counts = [len(one) for one in leaves]
        self._leaves = [leaf for one in leaves for leaf in one]

    @classmethod
    def of(cls, one: AppendedTo, results: Results) -> Appended:
        """The items that were appended to a list."""
        pairs = [results.take(item) for item in one.items or ()]
        return cls(one.binding, [tree for _, tree in pairs], [leaves for leaves, _ in pairs])

    def take_leaves(self) -> list[Any]:
        """The leaves of all items; they are forgotten."""
        leaves, self._leaves = self._leaves, []
        return leaves

    def same(self, other: Appended) -> bool:
        """Tell whether as much is appended to what is in the same place."""
        return self.binding.identity == other.binding.identity and self.trees == other.trees

    def append(self, leaves: Sequence[Any]) -> int:
        """Append items again, made of the first of some leaves; how many these are."""
        first, things = 0, self.binding.find()
        for tree, count in zip(self.trees, self._counts, strict=True):
            things.append(put_together(leaves[first : first + count], tree))
            first += count
        return first


def _is_simple(source: TensorSource, new: NewTensor | None) -> bool:
    """Tell whether a gradient is a result as it is, of a tensor that is the same in each call."""
    return source.fixed and new is not None and new.simple


def _given(
    one: Returned, values: dict[int, Any], arguments: Sequence[Any], given: list[Any], nodes: Sequence[Node] = ()
) -> Any:
    if one.tag == "result":
        if one.output is not None:
            return one.of.tensor(values, (nodes[one.output[0]], one.output[1]))
        return one.of.tensor(values, None if one.edge is None else (renewed(one.edge[0]), one.edge[1]))
    if one.tag == "tensor":
        return one.of.find(arguments)
    return given[one.of] if one.tag == "again" else one.of
