"""A program that is known beforehand, and run again and again: the step of a compiled function.

Note [Memory that is given away]
What a step writes anew it may write into the old memory, if nobody else holds it. XLA is told so by *donation*: inputs
are donated, and jax pairs them with results of their shape in the order of both. So that each result gets the memory
of what it replaces, and not that of another of the same shape (which XLA would have to copy first), the donated inputs
come first, in the order of the results that replace them, and these results come first, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from tapegrad.execution.carried import kept
from tapegrad.execution.pending import Call
from tapegrad.execution.pieces import run_through
from tapegrad.execution.programs import Structure, compiled, first_call

AT_ONCE = 1024
"""Programs of so many instructions are compiled in one piece, longer ones in several, and equal ones once."""


class Whole:
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
        self._structure = None if len(code) <= AT_ONCE else Structure(code, self._wanted, often=True)
        self.donated = () if self._structure else tuple(replaced)
        self._code = code
        self._compiled: Callable | None = None
        self._order: tuple[int, ...] = ()

    def run(self, inputs: list[Any]) -> dict[int, Any]:
        """The results by slot, for all inputs; those that are constants are not looked at."""
        with jax.core.eval_context():  # where jax traces: what is run is no part of that
            if self._structure is not None:
                found = self._structure.run([self.constants.get(i, value) for i, value in enumerate(inputs)])
                return {slot: found[slot] for slot in self.results}
            results = self._run_at_once(inputs)[: len(self.results)]  # behind them may stand some that XLA needs only
            return dict(zip(self.results, results, strict=True))

    def _run_at_once(self, inputs: list[Any]) -> Sequence[Any]:
        run, first = self._compiled, self._compiled is None
        if run is None:
            run = self._compiled = self._compile(inputs)
        given = [inputs[i] for i in self._order]
        inputs.clear()  # what is donated nobody may hold
        return first_call(run, given) if first else run(*given)

    def _compile(self, inputs: list[Any]) -> Callable:
        code, constants = self._code, self.constants
        wanted = (*self.results, *kept(code, self._wanted, inputs))
        rest = (i for i in range(len(inputs)) if i not in constants and i not in self.donated)
        order = self._order = (*self.donated, *rest)

        def program(*given: Any) -> list[Any]:
            arguments = dict(constants)
            arguments.update(zip(order, given, strict=True))
            results = run_through(code, arguments, Call.inline)
            return [results[slot] for slot in wanted]

        wide = any(instruction[0].kernel.wide for instruction in code)
        return compiled(program, wide, donated=len(self.donated))
