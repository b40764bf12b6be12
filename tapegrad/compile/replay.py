"""Running the program of a call that was captured: right after that, or later without any Python.

Note [Who holds what is written over]
What a step writes anew may be written into the old memory (Note [Memory that is given away] in
``execution/whole.py``). That nobody else holds it is known from the reference count of its array: handles in jax's or
NumPy's world on the same buffer XLA knows of itself. If somebody does, or another thread could be reading, it is
copied.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from tapegrad.compile.capture import Capture
from tapegrad.compile.effects import Effects
from tapegrad.compile.leaving import Leaving, memory_of
from tapegrad.compile.refs import Ref, Refs, Source
from tapegrad.execution.copies import copied
from tapegrad.execution.pending import Pending, wanted_of
from tapegrad.execution.programs import why_unlike
from tapegrad.execution.whole import Whole
from tapegrad.tape.modes import alone
from tapegrad.tensor.tensor import settle, value_of
from tapegrad.tensor.trees import TreeSpec, unflatten


class Recorded(NamedTuple):
    """A captured call: its program, where the inputs come from, what it leaves behind, what comes back."""

    code: list[tuple]
    sources: list[Source]
    effects: Effects
    tree: TreeSpec
    whole: Whole

    def unlike(self, other: Recorded) -> str | None:
        """What makes a difference between running one and the other, in words; None if nothing does."""
        if self.code != other.code or len(self.sources) != len(other.sources):
            return "its program differs: " + why_unlike(other.code, self.code)
        for position, (mine, its) in enumerate(zip(self.sources, other.sources, strict=True)):
            if not mine.same(its):
                return f"input {position} of its program, a {mine.kind}, was {its} and is {mine}"
        if not self.effects.same(other.effects):
            return "it leaves its results in other places"
        return None if self.tree == other.tree else "it returns another structure"


def replaced_by(sources: Sequence[Source], effects: Effects, refs: Refs, arguments: Sequence[Any]) -> dict[int, int]:
    """For inputs that are memories which are written to: which result is put there."""
    slots = {id(memory_of(refs.meant(one.ref, arguments))): one.slot for one in effects.written}
    replaced: dict[int, int] = {}
    for position, (kind, of) in enumerate(sources):
        if kind == "storage" or (kind == "tensor" and not refs.meant(of, arguments)._spec.window):
            slot = slots.get(id(memory_of(refs.meant(of, arguments))))
            if slot is not None and slot not in replaced.values():
                replaced[position] = slot
    return replaced


def run_captured(new: Recorded, capture: Capture, refs: Refs, arguments: Sequence[Any]) -> None:
    """Run the program of a call that was just captured; what it left behind gets its arrays."""
    inputs, capture.inputs = capture.inputs, []
    for seen in capture.seen.values():
        seen.own = seen.value = None
    capture.slots.clear()
    for position in new.whole.donated:
        if sys.getrefcount(inputs[position]) > 2 or not alone():  # inputs', getrefcount's
            inputs[position] = copied(inputs[position])
    for slot, array in new.whole.run(inputs).items():
        value = capture.values[slot]
        value.array, value.program = array, None
    capture.values.clear()  # what nobody wants refers to the capture, and that to it
    for one in new.effects.written:
        settle(refs.meant(one.ref, arguments))


def held_results(capture: Capture) -> bytes:
    """Which results somebody holds."""
    return wanted_of(capture)


class Replay:
    """A call that can be made without its Python.

    Args:
        recorded: what it is.
        arguments: those of the call that was recorded.
    """

    def __init__(self, recorded: Recorded, arguments: Sequence[Any]) -> None:
        self.recorded = recorded
        self._leaving = Leaving(recorded.effects, arguments)
        self._reads = [_read(*source) for source in recorded.sources]
        refs = [of for kind, of in recorded.sources if kind in ("tensor", "storage")]
        refs += [one.ref for one in recorded.effects.written]
        self._moving = list({(id(ref.of), ref.grad): ref for ref in refs if ref.moves}.values())
        read = {(id(ref.of), ref.grad) for ref in (*refs, *(one.ref for one in recorded.effects.counted))}
        graded = (one.ref for one in recorded.effects.graded)
        self._dropped = [ref for ref in graded if (id(ref.of), True) not in read]
        moving = [one.ref for one in recorded.effects.written if one.ref.moves and not one.ref.grad]
        self._unshared = [ref for ref in moving if memory_of(ref.find(arguments)) is ref.find(arguments)]
        self._fixed = {id(ref.find(arguments)._storage) for ref in refs if not ref.moves}

    def obstacle(self, arguments: Sequence[Any]) -> str | None:
        """What of these arguments, or of gradients, makes it impossible: they share memory."""
        known = set()
        for ref in self._moving:
            tensor = ref.find(arguments)
            if tensor._spec.plain:
                continue
            identity = id(tensor._storage)
            if identity in self._fixed or identity in known or tensor._spec.window:
                return f"{ref} shares memory with something else"
            known.add(identity)
        shared = next((ref for ref in self._unshared if ref.find(arguments)._storage is not None), None)
        return None if shared is None else f"{shared} gets new data, which others may have to see"

    def run(self, arguments: Sequence[Any]) -> Any:
        """Make the call."""
        recorded = self.recorded
        inputs = [read(of, arguments) for read, of in self._reads]
        if recorded.whole.donated:
            self._keep_what_others_hold(inputs, arguments)
        for ref in self._dropped:  # their memory may be used from here on
            ref.find(arguments)._grad = None
        found = recorded.whole.run(inputs)
        return unflatten(self._leaving.leave(found, arguments), recorded.tree)

    def _keep_what_others_hold(self, inputs: list[Any], arguments: Sequence[Any]) -> None:
        """Put copies in place of arrays that are to be written over and that others hold, too."""
        lonely = alone()
        for position in self.recorded.whole.donated:
            held = sys.getrefcount(inputs[position])
            if held > 3:  # the memory's, ours, getrefcount's
                held -= self._stale_handles(position, inputs[position], arguments)
            if held > 3 or not lonely:
                inputs[position] = copied(inputs[position])

    def _stale_handles(self, position: int, array: Any, arguments: Sequence[Any]) -> int:
        """How many tensors hold an array that they will not read any more, for their memory has it, too."""
        storage = self.recorded.sources[position].of.find(arguments)._storage
        members = [] if storage is None else list(storage.living())
        return sum(member._value is array and not member._spec.plain for member in members)


def _read(kind: str, of: Any) -> tuple[Any, Any]:
    """How an input is read: a function of what is given with it, and of the arguments."""
    if kind == "key":
        return _key, of
    if kind in ("number", "constant"):
        return _itself, of
    if of.moves:
        return (_storage_found if kind == "storage" else _value_found), of
    tensor = of.of
    if kind == "tensor" and (tensor._spec.plain or tensor._spec.window):
        return _value, tensor
    return _storage_value, tensor._storage


def _key(taken: tuple[Any, int], arguments: Sequence[Any]) -> Any:
    stream, number = taken
    return stream.key_at(stream.offset + number)


def _itself(value: Any, arguments: Sequence[Any]) -> Any:
    return value


def _value(tensor: Any, arguments: Sequence[Any]) -> Any:
    value = value_of(tensor)
    if type(value) is Pending:
        settle(tensor)
        value = value.settle()
    return value


def _storage_value(storage: Any, arguments: Sequence[Any]) -> Any:
    value = storage.value
    if type(value) is Pending:
        value = storage.value = value.settle()
    return value


def _value_found(ref: Ref, arguments: Sequence[Any]) -> Any:
    return _value(ref.find(arguments), arguments)


def _storage_found(ref: Ref, arguments: Sequence[Any]) -> Any:
    return _storage_value(ref.find(arguments)._storage, arguments)
