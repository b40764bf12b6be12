"""Backward programs: the backward pass of a stage, recorded when it is first asked for and compiled by XLA.

Note [Backward programs]
Which nodes a backward pass runs, and what they compute, depends on which outputs gradients arrive for, and on which
gradients are wanted; for each such *pattern* the graph is made again on values of a program of its own, and the engine
runs it there once. What it has recorded is compiled, and run by every call of that pattern. A pass that can't be
recorded so, for its formulas read elements, draw random numbers, or have something checked, is walked anew each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.execution.data.values import NUMBERS, DeferredValue, aval, known_array, materialized
from tapegrad._src.execution.programs.step_executable import StepExecutable
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.tensor import value_of
from tapegrad.autograd.gradient_types import RecordedValues
from tapegrad.autograd.running import engine
from tapegrad.compiler.capture.capture import Capture, DataDependentError, captured
from tapegrad.compiler.capture.joint_graph import Joint
from tapegrad.compiler.capture.rebuilt_graph import rebuilt
from tapegrad.compiler.capture.residuals import residuals

Pattern = tuple[tuple[bool, ...], tuple[bool, ...]]
"""For which outputs there is a gradient, and for which ends one is wanted."""


class GivenValues:
    """In place of a call: the instruction whose results are what a program is given."""

    kernel = None
    single = False

    def __init__(self, avals: Sequence[Any]) -> None:
        self.avals, self.count = tuple(avals), len(avals)


class BackwardProgram:
    """A recorded pass.

    Args:
        executable: what XLA compiles.
        constants: the inputs behind those that are given.
        results: for each end which slot its gradient is; below 0 which of what is given or constant; None: there is
            none.
    """

    def __init__(self, executable: StepExecutable, constants: list[Any], results: list[int | None]) -> None:
        self.executable, self._constants, self._results = executable, constants, results
        self._comes_back = False

    def run(self, given: list[Any], is_compiled: bool = True) -> list[Any]:
        """The gradients at the ends. From the second time on it is compiled, if at all, on a CPU in the background."""
        inputs, results = [*given, *self._constants], []  # type: ignore[var-annotated]
        fixed = [inputs[~slot] if slot is not None and slot < 0 else None for slot in self._results]
        executable = self.executable
        if not executable.results:
            return fixed
        if not executable.compiled:
            executable.prepare(inputs)
            if self._comes_back and is_compiled:
                executable.compile_later()
            self._comes_back = True
        executable.run(inputs, results)
        values = executable.by_slot(results)
        return [
            one if slot is None or slot < 0 else values[slot] for one, slot in zip(fixed, self._results, strict=True)
        ]


class Backward:
    """The backward pass of a stage of a joint graph.

    Args:
        joint: the graph.
        number: which stage.
        capture: the call whose forward program it belongs to.

    Attributes:
        kept: what a forward program keeps for it (``residuals.py``).
        is_compiled: whether it is to be compiled: as the forward program is.
    """

    is_compiled = True

    def __init__(self, joint: Joint, number: int, capture: Capture) -> None:
        self.joint, self.number, self.stage = joint, number, joint.stages[number]
        saved = {id(known_array(value_of(joint.inputs[i]))) for i in self.stage.inputs}
        inputs = capture.inputs

        def may_hold(position: int) -> bool:
            value = inputs[position]
            return position not in capture.dynamic and (value.nbytes <= SMALL or id(value) in saved)

        self.kept = residuals(capture.code, inputs, self.stage.slots, may_hold)
        self._programs: dict[Pattern, BackwardProgram | None] = {}

    def locations(self) -> list[int]:
        """The slots that are kept, in their order: results first, and then inputs."""
        return [*self.kept.slots, *(~position for position in self.kept.held)]

    def values(self, kept: Sequence[Any]) -> dict[int, Any]:
        """All that the nodes have saved, by slot."""
        elements = dict(zip(self.locations(), kept, strict=True)) | self.kept.numbers
        for first, (call, *slots) in self.kept.remade:
            elements.update(enumerate(call.run(*[materialized(elements[slot]) for slot in slots]), first))
        return elements

    @property
    def programs(self) -> list[StepExecutable]:
        """The programs that XLA has compiled of it, or is going to."""
        return [one.executable for one in self._programs.values() if one is not None]

    def program(self, pattern: Pattern, given: Sequence[Any]) -> BackwardProgram | None:
        """A function that runs a pass of a pattern, given values such as these; None if it has to be walked."""
        if pattern not in self._programs:
            self._programs[pattern] = self._recorded(pattern, given)
        return self._programs[pattern]

    def _recorded(self, pattern: Pattern, given: Sequence[Any]) -> BackwardProgram | None:
        capture = Capture(False)
        call = GivenValues([aval(tuple(one.shape), one.dtype) for one in given])

        def record() -> list[Any]:
            return self._walked(pattern, capture.append(call, ()), capture)

        try:
            with switched(grad=False):
                gradients = captured(capture, record)
        except DataDependentError:
            return None
        if capture.checks or capture.streams or capture.refused is not None:
            return None
        return _program(capture, len(given), gradients)

    def walk(self, pattern: Pattern, given: Sequence[Any]) -> list[Any]:
        """The gradients at the ends, with the nodes run one by one."""
        with switched(grad=False, deferred=True):
            return self._walked(pattern, given, None)

    def _walked(self, pattern: Pattern, given: Sequence[Any], capture: Capture | None) -> list[Any]:
        """The gradients at the ends; given are the gradients, what was kept, and the inputs that were saved."""
        defined, wanted = pattern
        count, kept = sum(defined), len(self.locations())
        values = self._remade(given[count : count + kept], capture)
        inputs = dict(zip(self.stage.inputs, given[count + kept :], strict=True))
        outputs, ends = rebuilt(self.joint, self.number, values.__getitem__, inputs, (None,) * len(wanted))
        roots = [edge for edge, there in zip(outputs, defined, strict=True) if there]
        targets = [edge for edge, want in zip(ends, wanted, strict=True) if want]
        gradients = iter(engine.execute(roots, given[:count], True, False, False, targets, RecordedValues, _always))  # type: ignore[arg-type]
        return [next(gradients) if want else None for want in wanted]

    def _remade(self, kept: Sequence[Any], capture: Capture | None) -> dict[int, Any]:
        if capture is None:
            return self.values(kept)
        values = dict(zip(self.locations(), kept, strict=True)) | self.kept.numbers
        for first, (call, *slots) in self.kept.remade:
            made = [one for one in capture.append(call, [values[slot] for slot in slots]) if one is not None]
            values.update(enumerate(made, first))
        return values


SMALL = 64
"""Inputs of so many bytes may be kept though no node has saved them."""


def _always() -> bool:
    return True


def _program(capture: Capture, count: int, gradients: Sequence[Any]) -> BackwardProgram:
    """The program that was recorded after an instruction with ``count`` results, which become inputs."""

    def slot_of(slot: int) -> int:
        return slot - count if slot >= count else ~slot if slot >= 0 else ~(count + ~slot)

    constants = list(capture.inputs)
    results: list[int | None] = []
    for gradient in gradients:
        if gradient is None:
            results.append(None)
        elif type(gradient) is DeferredValue and gradient.program is capture:
            results.append(slot_of(gradient.slot))
        else:
            constants.append(materialized(gradient))
            results.append(~(count + len(constants) - 1))
    code = [(call, *map(slot_of, slots)) for call, *slots in capture.code[1:]]
    wanted = list(dict.fromkeys(slot for slot in results if slot is not None and slot >= 0))
    numbers = {count + i: value for i, value in enumerate(constants) if isinstance(value, NUMBERS)}
    inputs = [*(aval for aval in capture.code[0][0].avals if aval is not None), *constants]
    return BackwardProgram(StepExecutable(code, wanted, capture.size - count, numbers, {}, inputs), constants, results)

