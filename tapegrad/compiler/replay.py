"""Running the program of a call that was captured: right after that, or later without any Python.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from tapegrad.compiler.capture import Capture
from tapegrad.compiler.leaving import Leaving, memory_of
from tapegrad.compiler.moving import Numbers
from tapegrad.compiler.reading import Inputs
from tapegrad.compiler.rebinding import Holdings
from tapegrad.compiler.side_effects import Effects
from tapegrad.compiler.sources import Refs, Source
from tapegrad.execution.copies import copied
from tapegrad.execution.deferred import wanted_of
from tapegrad.execution.late import Check, Findings, nothing
from tapegrad.execution.programs import why_unlike
from tapegrad.execution.step_executable import StepExecutable
from tapegrad.execution.values import quiet_numbers
from tapegrad.tape.modes import alone
from tapegrad.tensor.tensor import materialize
from tapegrad.tensor.trees import TreeSpec, unflatten


class RecordedCall(NamedTuple):
    """A captured call: its program, where the inputs come from, what it leaves behind, what comes back."""

    code: list[tuple]
    sources: list[Source]
    effects: Effects
    tree: TreeSpec
    executable: StepExecutable
    checks: Sequence[Check]
    numbers: Numbers | None

    def unlike(self, other: RecordedCall) -> str | None:
        """What makes a difference between running one and the other, in words; None if nothing does."""
        if self.code != other.code or len(self.sources) != len(other.sources):
            return "its program differs: " + why_unlike(other.code, self.code)
        for position, (mine, its) in enumerate(zip(self.sources, other.sources, strict=True)):
            if not mine.same(its):
                return f"input {position} of its program, a {mine.kind}, was {its} and is {mine}"
        if (self.numbers is not None or other.numbers is not None) and not (
            self.numbers is not None and self.numbers.same(other.numbers)
        ):
            return "Python computes something else from numbers"
        if not self.effects.same(other.effects):
            return "it leaves its results in other places"
        return None if self.tree == other.tree else "it returns another structure"


def replaced_by(sources: Sequence[Source], effects: Effects, refs: Refs, arguments: Sequence[Any]) -> dict[int, int]:
    """For inputs that are memories which are written to: which result is put there."""
    slots = {id(memory_of(refs.meant(one.ref, arguments))): one.slot for one in effects.written}
    for ref, now in effects.rebindings:
        if now.kind == "result" and now.of.base is None:
            slots[id(refs.meant(ref, arguments))] = now.of.slot
    replaced: dict[int, int] = {}
    for position, (kind, of) in enumerate(sources):
        if kind == "storage" or (kind == "tensor" and not refs.meant(of, arguments)._spec.window):
            slot = slots.get(id(memory_of(refs.meant(of, arguments))))
            if slot is not None and slot not in replaced.values():
                replaced[position] = slot
    return replaced


def run_captured(new: RecordedCall, capture: Capture, refs: Refs, arguments: Sequence[Any]) -> None:
    """Run the program of a call that was just captured; what it left behind gets its arrays."""
    executable = new.executable
    executable.compile(capture.inputs)
    for seen in capture.seen.values():
        seen.own = seen.value = None
    capture.slots.clear()
    with capture.running:
        _use_up(capture, executable)
    for one in new.effects.written:
        materialize(refs.meant(one.ref, arguments))
    for ref, _ in new.effects.rebindings:
        materialize(ref.find(arguments))


def _use_up(capture: Capture, executable: StepExecutable) -> None:
    """Run the program of a capture. An interrupt that comes before leaves it its inputs: it can be evaluated."""
    inputs = capture.inputs
    for position in executable.donated:
        if sys.getrefcount(inputs[position]) > 2 or not alone():  # inputs', getrefcount's
            inputs[position] = copied(inputs[position])
    results: list[Any] = []
    try:
        with quiet_numbers():
            executable.run(inputs.copy(), results)
        settle_captured(capture, executable, results)
    except BaseException:
        if results:  # an interrupt came with them
            settle_captured(capture, executable, results)
        raise
    inputs.clear()
    capture.values.clear()  # what nobody wants refers to the capture, and that to it


def settle_captured(capture: Capture, executable: StepExecutable, results: list[Any]) -> None:
    """Give the values of a capture that are wanted their arrays."""
    for slot, array in executable.by_slot(results).items():
        value = capture.values[slot]
        value.array, value.program = array, None


def held_results(capture: Capture) -> bytes:
    """Which results somebody holds."""
    return wanted_of(capture)


class Replay:
    """A call that can be made without its Python.

    Args:
        recorded: what it is.
        arguments: those of the call that was recorded.
        fixed: the identities of tensors that are the same in each call.
        known: the arguments that the function reaches otherwise, too, by position: Python may have noticed.
    """

    def __init__(
        self, recorded: RecordedCall, arguments: Sequence[Any], fixed: Collection[int], known: dict[int, Any]
    ) -> None:
        executable, effects, self._tree = recorded.executable, recorded.effects, recorded.tree
        self._known = known
        self._executable = executable
        self._inputs = Inputs(recorded.sources, executable, effects)
        self._leaving = Leaving(effects, arguments)
        self._found, self._findings = effects.found, Findings(nothing(len(recorded.checks)), recorded.checks)
        self._before = next((i for i, (kind, _) in enumerate(recorded.sources) if kind == "found"), -1)
        self._numbers, self._values = recorded.numbers, []  # type: ignore[var-annotated]
        self._moving_inputs = [(i, of) for i, (kind, of) in enumerate(recorded.sources) if kind == "moving"]
        self._moving_results = [(i, of) for i, (kind, of, _) in enumerate(effects.returned) if kind == "moving"]
        self.diverted = False
        self._holdings = Holdings(effects, fixed)
        refs = [of for kind, of in recorded.sources if kind in ("tensor", "storage")]
        refs += [one.ref for one in effects.written]
        self._moving = list({(id(ref.of), ref.grad): ref for ref in refs if ref.moves}.values())
        read = {(id(ref.of), ref.grad) for ref in (*refs, *(one.ref for one in effects.counted))}
        dropped = [one.ref for one in effects.graded if (id(one.ref.of), True) not in read]
        self._dropped = [ref for ref in dropped if ref.moves]
        self._ungraded = [ref.of for ref in dropped if ref.fixed]
        moving = [one.ref for one in effects.written if one.ref.moves and not one.ref.grad]
        self._unshared = [ref for ref in moving if memory_of(ref.find(arguments)) is ref.find(arguments)]
        self._fixed = {id(ref.find(arguments)._storage) for ref in refs if not ref.moves}
        plain = all(ref.find(arguments)._spec.plain for ref in self._moving if not ref.grad)
        self._looks = bool(self._unshared or known) or not plain or any(ref.grad for ref in self._moving)

    def unobstructed(self, arguments: Sequence[Any]) -> bool:
        """Whether there is no obstacle, where arguments are of the same kinds, and different tensors."""
        if self._numbers is not None and self._diversion(arguments) is not None:
            return False
        if self._looks or not self._holdings.unchanged(arguments):
            return self.obstacle(arguments) is None
        return True

    def obstacle(self, arguments: Sequence[Any]) -> str | None:
        """What of these arguments, of gradients, or in rebound places, makes it impossible: they share memory."""
        change = self._diversion(arguments) or self._holdings.changed(arguments)
        if change is not None:
            return change
        for position, tensor in self._known.items():
            if arguments[position] is not tensor:
                return f"argument {position} was a tensor that it reaches otherwise, too, and is another"
        known = set()
        for ref in self._moving:
            tensor = ref.find(arguments)
            identity = id(tensor if tensor._spec.plain else tensor._storage)
            if identity in self._fixed or identity in known or tensor._spec.window:
                return f"{ref} shares memory with something else"
            known.add(identity)
        shared = next((ref for ref in self._unshared if ref.find(arguments)._storage is not None), None)
        return None if shared is None else f"{shared} gets new data, which others may have to see"

    def _diversion(self, arguments: Sequence[Any]) -> str | None:
        """Compute numbers for the call; why it takes another course."""
        self.diverted = False
        if self._numbers is None:
            return None
        computed = self._numbers.computed(arguments)
        if isinstance(computed, str):
            self.diverted = True
            return computed
        self._values = computed
        return None

    def run(self, arguments: Sequence[Any]) -> Any:
        """Make the call, to which there was no obstacle."""
        inputs = self._inputs.read(arguments)
        for position, register in self._moving_inputs:
            inputs[position] = self._values[register]
        if self._found is not None:
            inputs[self._before] = self._findings.value
        for leaf in self._ungraded:  # the memory of these gradients may be used from here on
            leaf._grad = None
        for ref in self._dropped:
            ref.find(arguments)._grad = None
        results: list[Any] = []
        try:
            self._executable.run(inputs, results)
            found = self._executable.by_slot(results)
            given = self._leave(found, arguments)
        except BaseException:
            if results:  # an interrupt came with them; what is left behind twice is counted twice
                self._leave(self._executable.by_slot(results), arguments)
            raise
        if self._found is not None:
            self._findings.expect(found[self._found])
        return given[0] if self._tree.kind is None else unflatten(given, self._tree)

    def _leave(self, found: dict[int, Any], arguments: Sequence[Any]) -> list[Any]:
        given = self._leaving.leave(found, arguments)
        if self._numbers is not None:
            self._numbers.write(self._values)
            for position, register in self._moving_results:
                given[position] = self._values[register]
        return given
