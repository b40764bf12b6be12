"""A program that is known beforehand, and run again and again: the step of a compiled function.

Note [Memory that is given away]
What a step writes anew it may write into the old memory, if nobody else holds it. XLA is told so by *donation*: inputs
are donated, and jax pairs them with results of their shape in the order of both. So that each result gets the memory
of what it replaces, and not that of another of the same shape (which XLA would have to copy first), the donated inputs
come first, in the order of the results that replace them, and these results come first, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import jax

from tapegrad.caches import EXECUTABLE, weigh
from tapegrad.execution.calls import Call
from tapegrad.execution.devices import jitted
from tapegrad.execution.kernel import call_into
from tapegrad.execution.loop_carry import extra_outputs
from tapegrad.execution.partition import run_through
from tapegrad.execution.processes import processes
from tapegrad.execution.programs import COMPILED_INSTRUCTION, CachedProgram, first_call, shown

AT_ONCE = 1024
"""Programs of so many instructions are compiled in one piece, longer ones in several, and equal ones once."""


class StepExecutable:
    """A program whose inputs come in the same way each time: one XLA program, if it is not long.

    Args:
        code: its instructions.
        results: the slots that are wanted.
        size: how many results there are in all.
        constants: the inputs that always are the same Python numbers.
        replaced: for inputs whose memory may be used, which result is put there.
    """

    def __init__(
        self, code: list[tuple], results: Sequence[int], size: int, constants: dict[int, Any], replaced: dict[int, int]
    ) -> None:
        first = dict.fromkeys(replaced.values())
        self.results = (*first, *(slot for slot in results if slot not in first))
        self.constants = constants
        wanted = bytearray(size)
        for slot in results:
            wanted[slot] = 1
        self._wanted = bytes(wanted)
        self._cached = None if len(code) <= AT_ONCE else CachedProgram(code, self._wanted, asked=True)
        self.donated = () if self._cached else tuple(replaced)
        self._code = code
        self._wide = any(instruction[0].kernel.wide for instruction in code)
        self._jitted: Any = None
        self._order: tuple[int, ...] = ()

    def compile(self, inputs: Sequence[Any]) -> None:
        """Have XLA compile it, for inputs such as these, if it has not. That takes long: nothing is lost meanwhile."""
        if self._jitted is not None or self._cached is not None:
            return
        with jax.core.eval_context(), jax.enable_x64(True) if self._wide else nullcontext():
            program, operations = self._jit(inputs), len(self._code)
            processes.agree("a compiled step", inputs, lambda: [shown(one, inputs) for one in self._code])
            given = [inputs[i] for i in self._order]
            first_call(lambda *given: program.lower(*given).compile(), given, f"a step of {operations} operations")
        self._jitted = program
        weigh(self, EXECUTABLE + COMPILED_INSTRUCTION * len(self._code))

    def run(self, inputs: list[Any], results: list[Any]) -> None:
        """Put the results into a list, for all inputs, when it is compiled; those that are constants are not looked at.

        If an interrupt is raised and the results are there, it came with them. See Note [Interrupts and donation].
        """
        with jax.core.eval_context():  # where jax traces: what is run is no part of that
            if self._cached is not None:
                found = self._cached.run([self.constants.get(i, value) for i, value in enumerate(inputs)])
                results.append([found[slot] for slot in self.results])
                return
            given = [inputs[i] for i in self._order]
            inputs.clear()  # what is donated nobody may hold
            call_into(results, self._jitted, self._wide, given)

    def by_slot(self, results: list[Any]) -> dict[int, Any]:
        """What ``run`` has put into a list, by slot."""
        return dict(zip(self.results, results[0], strict=False))  # behind them may stand some that XLA needs only

    def _jit(self, inputs: Sequence[Any]) -> Any:
        code, constants = self._code, self.constants
        wanted = (*self.results, *extra_outputs(code, self._wanted, inputs))
        rest = (i for i in range(len(inputs)) if i not in constants and i not in self.donated)
        order = self._order = (*self.donated, *rest)

        def program(*given: Any) -> list[Any]:
            arguments = dict(constants)
            arguments.update(zip(order, given, strict=True))
            results = run_through(code, arguments, Call.inline)
            return [results[slot] for slot in wanted]

        return jitted(program, donate_argnums=tuple(range(len(self.donated))))
