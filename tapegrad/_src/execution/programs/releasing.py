"""Runs of programs in which nothing is kept that nobody reads any more.

Note [The last reader]
What a program computes on the way is let go of right after the instruction, or the subprogram, that reads it last,
as at once: so are its inputs, as the parameters that an update replaces. To know the last readers takes as long as to
call a small kernel, and so only programs whose results have ``WORTH`` bytes do it (``CachedProgram``). Inputs are let
go of only while no other thread could be evaluating what the same program computes.

A run may be interrupted. Then what it has found stays with the program: with that, all that was not computed yet can
be, for nothing is let go of before its last reader has given its results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tapegrad._src.execution.recording.recorded_call import Call

WORTH = 1 << 22
"""From how many bytes of results on a program lets go of what nobody reads any more, while it runs."""


class InstructionStep(NamedTuple):
    """One instruction of a program that is run kernel by kernel.

    Attributes:
        call: what is called.
        operands: where its arguments are.
        results: where its results belong: a range of slots.
        done: the slots, also of inputs, that nothing reads any more.
    """

    call: Call
    operands: tuple[int, ...]
    results: slice
    done: tuple[int, ...]


def steps_of(code: Sequence[tuple], wanted: Sequence) -> Iterator[InstructionStep]:
    """The instructions of a program, with what can be let go after each."""
    last = {slot: number for number, (_, *operands) in enumerate(code) for slot in operands}
    first = 0
    for number, (call, *operands) in enumerate(code):
        results = range(first, first + call.count)
        read = {slot for slot in operands if last[slot] == number}
        unread = {slot for slot in results if slot not in last}
        done = tuple(slot for slot in sorted(read | unread) if slot < 0 or not wanted[slot])
        yield InstructionStep(call, tuple(operands), slice(first, first + call.count), done)
        first += call.count


class ProgramRun:
    """A run of a program.

    Args:
        inputs: its inputs; those that nothing reads any more become None where ``uses_up``.
        size: how many results it has.

    Attributes:
        computed: the results by slot, as far as they were computed and are needed.
    """

    __slots__ = ("computed", "inputs", "uses_up")

    def __init__(self, inputs: list[Any], size: int, uses_up: bool) -> None:
        self.computed: list[Any] = [None] * size
        self.inputs, self.uses_up = inputs, uses_up

    def values(self, slots: Iterable[int]) -> list[Any]:
        """The values in some slots."""
        computed, inputs = self.computed, self.inputs
        return [computed[slot] if slot >= 0 else inputs[~slot] for slot in slots]

    def put(self, slots: Iterable[int], results: Iterable[Any]) -> None:
        """Put results into slots."""
        for slot, result in zip(slots, results, strict=True):
            self.computed[slot] = result

    def let_go(self, slots: Iterable[int]) -> None:
        """Nobody reads these slots any more."""
        for slot in slots:
            if slot >= 0:
                self.computed[slot] = None
            elif self.uses_up:
                self.inputs[~slot] = None

    def by_kernels(self, steps: Iterable[InstructionStep]) -> None:
        """Run some instructions, one kernel after the other."""
        computed, inputs = self.computed, self.inputs
        for call, operands, targets, done in steps:
            computed[targets] = call.run(*[computed[slot] if slot >= 0 else inputs[~slot] for slot in operands])
            self.let_go(done)
