"""The XLA programs of one compiled function: calls that do the same share one, whatever numbers they use."""

from __future__ import annotations

from collections.abc import Sequence

from tapegrad.caches import Cache
from tapegrad.compiler.capture import Capture
from tapegrad.compiler.guards import alike
from tapegrad.compiler.side_effects import Effects
from tapegrad.compiler.sources import Source
from tapegrad.execution.step_executable import StepExecutable


class Programs:
    """The programs of a function, by their instructions, wanted results, and reused memory."""

    def __init__(self) -> None:
        self._executables = Cache("compiled programs")

    def of(
        self, capture: Capture, sources: Sequence[Source], effects: Effects, replaced: dict[int, int]
    ) -> StepExecutable:
        """The program of a captured call. A Python number that is not what it was becomes an input of it."""
        code, numbers = capture.code, {i: source.of for i, source in enumerate(sources) if source.kind == "number"}
        key = len(code), tuple(effects.slots), tuple(replaced.items()), tuple(numbers)
        known = self._executables
        entries: list[tuple[list[tuple], StepExecutable]] = known.get(key) or known.keep(key, [])
        entry = next((entry for entry in entries if entry[0] == code), None)
        if entry is not None:
            same = {i: number for i, number in entry[1].constants.items() if alike(number, numbers[i])}
            if len(same) == len(entry[1].constants):
                return entry[1]
            entries.remove(entry)
            numbers = same
        executable = StepExecutable(code, effects.slots, capture.size, numbers, replaced)
        entries.append((code, executable))
        return executable
