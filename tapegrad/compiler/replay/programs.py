"""The XLA programs of one compiled function: calls that do the same share one, whatever numbers they use."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tapegrad._src.caches import Cache
from tapegrad._src.execution.programs.step_executable import StepExecutable
from tapegrad.compiler.capture.capture import Capture
from tapegrad.compiler.capture.compiled_function import Histories
from tapegrad.compiler.capture.side_effects import SideEffects
from tapegrad.compiler.capture.sources import Input, TensorSources
from tapegrad.compiler.guards.locations import TupleSlot
from tapegrad.compiler.replay.write_outputs import memory_of


class Programs:
    """The programs of a function, by their instructions, wanted results, and reused memory."""

    def __init__(self) -> None:
        self._known = Cache("compiled programs")

    def of(
        self, capture: Capture, inputs: Sequence[Input], effects: SideEffects, sources: TensorSources,
        arguments: Sequence[Any], held: Collection[int] = (),
    ) -> StepExecutable:  # fmt: skip
        """The program of a captured call. A number that is not what it was becomes an input of it.

        The inputs that are ``held``, by position, are there when it has been run, too.
        """
        replaced = replaced_by(inputs, effects, sources, arguments)
        replaced = {position: slot for position, slot in replaced.items() if position not in held}
        code, numbers = capture.code, {i: one.of for i, one in enumerate(inputs) if is_number(one)}
        key = len(code), tuple(effects.slots), tuple(replaced.items()), tuple(numbers)
        known: list[tuple[list[tuple], StepExecutable]] = self._known.get(key) or self._known.keep(key, [])
        before = next((one for one in known if one[0] == code), None)
        if before is not None:
            had = before[1].constants.items()
            same = {i: number for i, number in had if inputs[i].same(Input(inputs[i].tag, number))}
            if len(same) == len(had):
                return before[1]
            known.remove(before)
            numbers = same
        executable = StepExecutable(code, effects.slots, capture.size, numbers, replaced, capture.inputs)
        known.append((code, executable))
        return executable

    def histories(self, executable: StepExecutable, new: Histories) -> Histories:
        """The histories that leave a call of a program: those of an earlier call, if they are the same."""
        known: list[Histories] = self._known.get(executable) or self._known.keep(executable, [])
        before = next((one for one in known if one.joint.same(new.joint)), None)
        if before is None:
            known.append(new)
        return before or new


def is_number(one: Input) -> bool:
    """Tell whether an input is a number that XLA may know: one of Python's, or an array of one element, as seeds
    are."""
    return one.tag == "number" or (one.tag == "constant" and one.of.size == 1)


def replaced_by(
    inputs: Sequence[Input], effects: SideEffects, sources: TensorSources, arguments: Sequence[Any]
) -> dict[int, int]:
    """For inputs that are memories which are written to: which result is put there."""
    slots = {id(memory_of(sources.meant(one.source, arguments))): one.slot for one in effects.written}
    for source, now in effects.rebound:
        others_may_hold = type(source.of.container) is TupleSlot  # of a tuple the reference count is not looked at
        if now.tag == "result" and now.of.base is None and not others_may_hold:
            slots[id(sources.meant(source, arguments))] = now.of.slot
    replaced: dict[int, int] = {}
    for position, (tag, of) in enumerate(inputs):
        if tag == "storage" or (tag == "tensor" and not sources.meant(of, arguments)._spec.window):
            slot = slots.get(id(memory_of(sources.meant(of, arguments))))
            if slot is not None and slot not in replaced.values():
                replaced[position] = slot
    return replaced
