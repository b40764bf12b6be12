"""Stretches of programs that come back, and are appended as they are.

Note [Excerpts]
Whoever knows that he is about to record the very instructions that were recorded before, as a backward pass that comes
back does (``autograd/backward_cache.py``), need not record them one by one. That they are the same takes two things:
the program is as long as it was then, and the values that they read are at the same places of it. An
``RecordedSegment`` keeps the instructions and those places.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import is_
from typing import Any, NamedTuple

from tapegrad._src.execution.data.devices import only_device
from tapegrad._src.execution.data.values import Traced, deferred_value
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.execution.recording.program import Program, recording

SEED = -1
"""In place of a slot: a result that is what the stretch began with."""


class Unrepeatable(Exception):
    """A stretch of a program can't be appended again."""


class ProgramLocation(NamedTuple):
    """A place in a program: how far it had come.

    Attributes:
        program: the program.
        size: how many results it had, ``length``: how many instructions, ``inputs``: how many inputs.
    """

    program: Program
    size: int
    length: int
    inputs: int

    def hold(self, held: bool) -> None:
        """Have the program wait, however long it grows; or no longer."""
        self.program.held = held


def present_location() -> ProgramLocation | None:
    """The place to which the thread's program has come; None where it is not known which, or all is captured."""
    if only_device() is None or capturing.by is not None:
        return None
    program = recording.program
    if program.suspended:
        return None
    return ProgramLocation(program, program.size, len(program.code), len(program.inputs))


class RecordedSegment:
    """The stretch of a program that was recorded from a place on.

    Args:
        since: the place.
        reads: the values that the instructions read, and the seed, in an order that is the same each time.
        results: those of their results that are wanted, or values that were there before; ``seed`` itself may be one.

    Raises:
        Unrepeatable: it can't be appended again: another program has been begun, or what it read came from elsewhere.

    Attributes:
        code: the instructions; ``count``: how many results they have.
        first: how many results the program had before.
        results: for each result where it is, and what is known of it; a slot below ``first`` was there before.
    """

    def __init__(self, since: ProgramLocation, reads: Sequence[Any], results: Sequence[Any], seed: Any) -> None:
        program = since.program
        if recording.program is not program:
            raise Unrepeatable
        self.code = program.code[since.length :]
        self.first, self.count = since.size, program.size - since.size
        self._note_reads(program, reads, since.inputs)
        self.results = [self._note_result(program, result, seed) for result in results]

    def _note_reads(self, program: Program, reads: Sequence[Any], inputs: int) -> None:
        """Note the places in the program of all that the instructions read."""
        slots = [program.known(value) for value in reads]
        if any(slot is not None and slot >= self.first for slot in slots):
            raise Unrepeatable  # something was read that only now was computed
        self.inner = [slot is not None and slot >= 0 for slot in slots]
        self.inner_slots = [slot for slot in slots if slot is not None and slot >= 0]
        outer = [index for index, slot in enumerate(slots) if slot is not None and slot < 0]
        outer.sort(key=lambda index: -(slots[index] or 0))  # in the order in which the program came to know them
        self.outer, self.outer_slots = outer, [slots[index] for index in outer]
        if not {-1 - number for number in range(inputs, len(program.inputs))} <= set(self.outer_slots):
            raise Unrepeatable  # the program has an input that came from elsewhere

    @staticmethod
    def _note_result(program: Program, result: Any, seed: Any) -> tuple[int, Any]:
        slot = SEED if result is seed else None if result is None else program.known(result)
        if slot is None or (slot < 0 and result is not seed):
            raise Unrepeatable
        return slot, getattr(result, "aval", None)

    def begins_at(self, location: ProgramLocation) -> bool:
        """Tell whether a program has come as far as this one had."""
        return location.program.size == self.first

    def fits(self, location: ProgramLocation, reads: Sequence[Any]) -> bool:
        """Tell whether what is read is where it was; arrays get the slots that they would get."""
        program = location.program
        try:
            values = map(program.values.__getitem__, self.inner_slots)
            if not all(map(is_, compress(reads, self.inner), values)):
                return False
            outer = list(map(reads.__getitem__, self.outer))
            slots = list(map(program.slots.get, map(id, outer)))
            if slots != self.outer_slots:  # numbers are found otherwise, and arrays may be new
                slots = [slot or program.operand(value) for slot, value in zip(slots, outer, strict=True)]
            return slots == self.outer_slots and program.size == self.first  # nothing was recorded in the meantime
        except (Traced, IndexError):
            return False

    def append(self, location: ProgramLocation, seed: Any) -> list[Any] | None:
        """Append it to the program, and return its results; None if a finalizer has used the program meanwhile."""
        program, first = location.program, self.first
        made = {slot: deferred_value(program, slot, aval) for slot, aval in self.results if slot >= first}
        if not program.extend(first, self.code, self.count, made):
            return None
        return [seed if slot < 0 else program.values[slot] for slot, _ in self.results]
