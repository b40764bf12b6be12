"""Residuals: what a forward program keeps for the backward one.

Note [What is kept]
The nodes of a history have saved what their formulas read; so much is kept at most, and not what costs XLA little more
than to read it: reshaped and cast parameters, masks, what is added to something that is kept anyway. Parameters and
inputs themselves are not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from tapegrad._src.execution.data.values import NUMBERS
from tapegrad._src.execution.programs.loop_carry import computed_twice, type_of


class Residuals(NamedTuple):
    """The values that are kept of a captured program.

    Attributes:
        slots: the results that are kept.
        held: the inputs that are kept, by position.
        numbers: the numbers among the inputs, by slot.
        remade: the instructions that are run again, each with its first slot, in their order.
    """

    slots: tuple[int, ...]
    held: tuple[int, ...]
    numbers: dict[int, Any]
    remade: tuple[tuple[int, tuple], ...]


def residuals(
    code: Sequence[tuple], inputs: Sequence[Any], wanted: Collection[int], may_hold: Callable[[int], bool]
) -> Residuals:
    """Choose what is kept so that the ``wanted`` slots are there later; ``may_hold`` says it of inputs, by position."""
    search = _Search(code, inputs, may_hold)
    search.look(frozenset(wanted))
    return search.chosen(wanted)


class _Search:
    """A search for the parts of a program that can be computed again from what is kept."""

    def __init__(self, code: Sequence[tuple], inputs: Sequence[Any], may_hold: Callable[[int], bool]) -> None:
        self.code, self.inputs, self.may_hold = code, inputs, may_hold
        self.avals = [known for call, *_ in code for known in call.avals if known is not None]
        self.kept: set[int] = set()
        self.maker: dict[int, tuple[int, tuple]] = {}

    def look(self, wanted: Collection[int]) -> None:
        """Go through the program once: a wanted result is kept if it can't be made again."""
        first = 0
        for instruction in self.code:
            results = range(first, first + instruction[0].count)
            if all(map(self._is_there, instruction[1:])) and self._is_cheap(instruction):
                self.maker.update(dict.fromkeys(results, (first, instruction)))
            else:
                self.kept.update(slot for slot in results if slot in wanted)
            first = results.stop

    def _is_there(self, slot: int) -> bool:
        if slot >= 0:
            return slot in self.kept or slot in self.maker
        return isinstance(self.inputs[~slot], NUMBERS) or self.may_hold(~slot)

    def _is_cheap(self, instruction: tuple) -> bool:
        call, *slots = instruction
        values = [self.avals[slot] if slot >= 0 else self.inputs[~slot] for slot in slots]
        return computed_twice(call, tuple(map(type_of, values)))

    def chosen(self, wanted: Collection[int]) -> Residuals:
        """The values that are kept, with the instructions that are run again."""
        stack, known = list(wanted), set()
        while stack:
            slot = stack.pop()
            if slot not in known:
                known.add(slot)
                if slot in self.maker:
                    stack += self.maker[slot][1][1:]
        remade = {self.maker[slot][0]: self.maker[slot] for slot in known if slot in self.maker}
        inputs = sorted(~slot for slot in known if slot < 0)
        numbers = {~i: self.inputs[i] for i in inputs if isinstance(self.inputs[i], NUMBERS)}
        held = tuple(i for i in inputs if ~i not in numbers)
        slots = tuple(sorted(slot for slot in known if slot in self.kept))
        return Residuals(slots, held, numbers, tuple(remade[first] for first in sorted(remade)))
