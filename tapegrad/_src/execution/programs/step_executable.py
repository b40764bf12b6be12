"""A program that is known beforehand, and run again and again: the step of a compiled function.

Note [Memory that is given away]
What a step writes anew it may write into the old memory, if nobody else holds it. XLA is told so by *donation*: inputs
are donated, and jax pairs them with results of their shape in the order of both. So that each result gets the memory
of what it replaces, and not that of another of the same shape (which XLA would have to copy first), the donated inputs
come first, in the order of the results that replace them, and these results come first, too.

Note [Compiled in the background]
On a CPU no call waits for XLA. The first calls of a step, whose instructions are recorded, run its kernels one by one,
as at once. When it is known that the step will come back (``compile_later``), it is compiled on the compiler's thread,
and calls go on at once, in Python, until these have cost what compiling is likely to take (``SECONDS_PER_STEP`` and so
on), ``PATIENCE`` times (``waits``). So who computes a call depends on the calls before it, not on the time, as with
tiers (Note [Tiers] in ``tiers/tiered_kernel.py``); a call waits only where the compiler takes longer than it was likely
to. A long step is compiled by subprograms, which take over together. What another process has compiled takes its place
sooner (Note [Compiled by another process] in ``compiled_before.py``). ``wait_for_compiler`` has all of it compiled now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from math import ceil, inf
from time import perf_counter
from typing import Any
from weakref import WeakSet

import jax
import ml_dtypes
import numpy as np

from tapegrad._src.caches import EXECUTABLE, weigh
from tapegrad._src.execution.data.allocating import give_back
from tapegrad._src.execution.data.devices import jitted
from tapegrad._src.execution.data.values import described, quiet_numbers
from tapegrad._src.execution.kernels.kernel import call_into
from tapegrad._src.execution.programs.compiled_before import CacheMark
from tapegrad._src.execution.programs.loop_carry import extra_outputs, pairs_of_periods
from tapegrad._src.execution.programs.program_text import shown
from tapegrad._src.execution.programs.releasing import InstructionStep, ProgramRun, steps_of
from tapegrad._src.execution.programs.running import CachedProgram
from tapegrad._src.execution.programs.scanned_loops import scanned_loops, shorter_by, traced, with_products
from tapegrad._src.execution.programs.subprogram import (
    COMPILED_INSTRUCTION,
    ROUNDED,
    SubprogramExecutable,
    counters,
    first_call,
    kernels_cost,
)
from tapegrad._src.execution.recording.recorded_call import Call
from tapegrad._src.execution.state.processes import processes
from tapegrad._src.execution.tiers.costs import XLA_ARRAY, XLA_CALL, memory_cost_of
from tapegrad._src.execution.tiers.settings import Due, compiler, in_background
from tapegrad._src.progress import waiting
from tapegrad._src.tape.mechanisms import SCANNED_LOOPS

AT_ONCE, AT_ONCE_IN_LOOPS, PAIRS_AT_ONCE = 8192, 1024, 1 << 14
"""Programs of so many instructions are compiled in one piece, longer ones in several, and equal ones once. Where much
goes through loops of many periods, as of recurrent cells, and not of the layers of a transformer, fewer are: what XLA
takes may grow with the pairs of periods, and what goes through may be too large to be given out."""

SECONDS_PER_STEP, SECONDS_PER_INSTRUCTION, SECONDS_PER_UPDATE, SECONDS_PER_CONVOLUTION = 0.2, 0.008, 0.0008, 0.15
"""About what XLA takes to compile a step, for each instruction of models and their backward passes, for each behind
them, and for each convolution, forward or back: measured with the steps of ``tests/compiled/``."""

SECONDS_TO_LOAD, SECONDS_TO_LOWER = 0.06, 0.0005
"""About what it takes where another process has compiled it: to load it, and to lower each of its instructions."""

HALVES = frozenset(map(np.dtype, ("float16", ml_dtypes.bfloat16)))
"""Dtypes of which XLA would keep more digits between two operations than they have."""

PATIENCE = 1.5
"""The time that calls take before the program takes their place, as a multiple of what compiling is likely to take."""

CALL_AT_ONCE = 4e-6
"""Seconds that a kernel takes at once, besides what it computes: Python, and the tape."""

TRAINING, IN_MODELS = 150e-6, 3e-6
"""The same of a call that runs a backward pass, for what is no kernel: the engine, an optimizer; and how much longer
each kernel of its model takes. Steps of ``tests/compiled/`` take 0.6 to 3 times as long."""

JOINED = 0.5e-6
"""The same of a kernel that is called for many small tensors together, for each of them."""

BYTES_PER_NANOSECOND = 8
"""So many bytes of results are written at most, whatever is known of what kernels take."""

MARGIN = 0.9
"""An update is compiled by itself if its program is likely to take less than such a part of what it takes at once."""

REPLAY, REPLAY_INPUT, REPLAY_WRITE = 60e-6, 5e-6, 6e-6
"""Seconds that a replay takes besides what its program computes, for each input, and for each that it replaces."""


LARGE_STEP = 1 << 24
"""From how many bytes of results on a step has memory given back before XLA runs it: Note [Memory that is given back]
in ``data/allocating.py``."""


class StepExecutable(Due):
    """A program whose inputs come in the same way each time: one XLA program, if it is not long.

    Args:
        code: its instructions.
        results: the slots that are wanted.
        size: how many results there are in all.
        constants: the inputs that always are the same Python numbers.
        replaced: for inputs whose memory may be used, which result is put there.
        inputs: such as it will be given.

    Attributes:
        results: the slots that are wanted, in the order in which they are given.
        donated: the inputs whose memory is used.
    """

    def __init__(
        self, code: list[tuple], results: Sequence[int], size: int, constants: dict[int, Any], replaced: dict[int, int],
        inputs: Sequence[Any],
    ) -> None:  # fmt: skip
        super().__init__()
        first = dict.fromkeys(replaced.values())
        self.results = (*first, *(slot for slot in results if slot not in first))
        self.constants = constants
        wanted = bytearray(size)
        for slot in results:
            wanted[slot] = 1
        self._wanted = bytes(wanted)
        loops = [] if SCANNED_LOOPS.off else scanned_loops(code, self._wanted, inputs)
        self._loops = with_products(loops, code, inputs)
        is_long = len(code) > AT_ONCE or (len(code) > AT_ONCE_IN_LOOPS and pairs_of_periods(code) > PAIRS_AT_ONCE)
        if self._loops:
            is_long = len(code) - shorter_by(self._loops) > AT_ONCE_IN_LOOPS
        self._cached = CachedProgram(code, self._wanted, asked=not in_background()) if is_long else None
        self.donated = () if self._cached else tuple(replaced)
        self._replaces = len(replaced)
        names = [instruction[0].kernel.name for instruction in code]
        self._models = max((i for i, name in enumerate(names, 1) if "Backward" in name), default=0)
        self._code = code
        self._wide = any(instruction[0].kernel.wide for instruction in code)
        self._jitted: Any = None
        self._order: tuple[int, ...] = ()
        self._steps: list[InstructionStep] | None = None
        self._program: Any = None
        self._subprograms: list[SubprogramExecutable] = []
        self._examples: list[Any] = []
        self._debt = self._each = 0.0
        self._nbytes = sum([instruction[0].nbytes for instruction in code])
        self._gives_back = self._nbytes >= LARGE_STEP

    def prepare(self, inputs: Sequence[Any]) -> None:
        """Have XLA compile it, for inputs such as these, where that is not done in the background.

        That takes long: nothing is lost meanwhile.
        """
        if in_background():
            self._examples = self._examples or list(map(described, inputs))
        if self._jitted is not None or self._cached is not None or in_background():
            return
        with jax.core.eval_context(), jax.enable_x64(True) if self._wide else nullcontext():
            program, operations = self._jit(inputs), len(self._code)
            processes.agree("a compiled step", inputs, lambda: [shown(one, inputs) for one in self._code])
            given = [inputs[i] for i in self._order]
            first_call(lambda *given: program.lower(*given).compile(), given, f"a step of {operations} operations")
        self._use(program)

    def compile_later(self) -> None:
        """Have XLA compile it in the background: it will come back."""
        if self.compiled or self._program is not None or not in_background():
            return
        if self._cached is not None:
            self._subprograms = self._cached.begin(self._examples)
            if not self._subprograms:
                return
        self._program = self._cached or self._jit(self._examples)
        self._mark = CacheMark(self._described())
        self._debt, self._each = PATIENCE * self._seconds(), self._at_once()
        steps = ceil(self._debt / self._each)
        for call, times in Counter(instruction[0] for instruction in self._code).items():
            call.kernel.postpone(steps * times)
        _waiting.add(self)
        compiler.add(self)

    def _seconds(self) -> float:
        """About what it takes until it can be run."""
        code = [one for executable in self._subprograms for one in executable.subprogram.code] or self._code
        count = len(code) if self._subprograms else len(code) - shorter_by(self._loops)
        if self._mark.is_there:
            return SECONDS_TO_LOAD + SECONDS_TO_LOWER * count
        convolutions = sum("onvolution" in instruction[0].kernel.name for instruction in code)
        models = min(self._models or count, count)
        seconds = SECONDS_PER_STEP + SECONDS_PER_INSTRUCTION * models + SECONDS_PER_UPDATE * (count - models)
        return seconds + SECONDS_PER_CONVOLUTION * convolutions

    def _described(self) -> Iterator[str]:
        """Its instructions and their types, its inputs and results, in words."""
        for call, *slots in self._code:
            yield f"{shown((call, *slots))} {[aval and (aval.shape, aval.dtype.name) for aval in call.avals]}"
        yield f"{self._examples} {self.constants} {self.results} {self.donated}"

    @property
    def is_large(self) -> bool:
        """True if a replay takes less time than calls at once, whatever its program takes; where XLA runs everything,
        it does."""
        return not in_background() or self._replay() < self._at_once()

    def worthwhile(self) -> bool:
        """Tell whether its program is likely to be quicker than calls at once; where XLA runs everything, it is.

        What XLA computes of it takes as long as by single kernels (Note [Costs] in ``tiers/costs.py``), but for their
        calls.
        """
        if not in_background():
            return True
        at_once, replayed = self._training(), self._replay()
        for call, *operands in self._code:
            by_xla = call.kernel.cost_by_xla()
            at_once += CALL_AT_ONCE + 1e-9 * call.present_cost()
            if by_xla is not None:
                replayed += 1e-9 * max(0.0, by_xla - XLA_CALL - XLA_ARRAY * (len(operands) + call.count))
        return replayed < at_once

    def _at_once(self) -> float:
        """About what a call at once takes."""
        kernels = 1e-9 * max(kernels_cost(self._code, Call.present_cost), self._nbytes / BYTES_PER_NANOSECOND)
        return CALL_AT_ONCE * len(self._code) + kernels + self._training()

    def _training(self) -> float:
        """About what a call takes at once besides its kernels: nothing, unless it runs a backward pass."""
        return TRAINING + IN_MODELS * self._models if self._models else 0.0

    def _replay(self) -> float:
        return REPLAY + REPLAY_INPUT * len(self._examples) + REPLAY_WRITE * self._replaces

    def worthwhile_as_update(self, joins: int) -> bool:
        """The same of an optimizer's update, which at once computes tensors of up to ``joins`` elements together.

        XLA makes one loop for each tensor of it, which writes where the parameters and states are; gradients are copied
        from the host.
        """
        if not in_background():
            return True
        copied = (one for i, one in enumerate(self._examples) if i not in self.donated and hasattr(one, "shape"))
        at_once, replayed = 0.0, self._replay() + 1e-9 * sum(map(memory_cost_of, copied))
        for call, *operands in self._code:
            by_xla, results = call.kernel.cost_by_xla(), [aval for aval in call.avals if aval is not None]
            joined = all(aval.size <= joins for aval in results)
            at_once += JOINED if joined else CALL_AT_ONCE + 1e-9 * call.present_cost()
            if by_xla is not None:
                calling = XLA_CALL + XLA_ARRAY * (len(operands) + call.count)
                replayed += 1e-9 * max(0.0, by_xla - calling - sum(map(memory_cost_of, results)))
        return replayed < MARGIN * at_once

    @property
    def waits(self) -> bool:
        """True if this call is still made at once. See Note [Compiled in the background]."""
        if self._program is None:
            return False
        self._debt -= self._each
        return self._debt > 0 or not self._finished()

    @property
    def calls_left(self) -> float:
        """The number of calls that are still made at once; infinite, if XLA can't compile it."""
        if self._program is None:
            return 0
        return self._debt if self._debt == inf else max(1, ceil(self._debt / self._each))

    def _finished(self) -> bool:
        """Use what was compiled, if it could be, as soon as it is there."""
        with waiting(f"compiling a step of {len(self._code)} operations"):
            done = self.finish(f"a step of {len(self._code)} operations")
        if done:
            self._use(self._program)
            self._program = None
        self._debt = inf
        _waiting.discard(self)
        return done

    def _compile(self) -> None:
        start = perf_counter()
        for executable in self._subprograms:
            executable.compile()
        if not self._subprograms:
            with jax.core.eval_context(), jax.enable_x64(True) if self._wide else nullcontext():
                self._program.lower(*[self._examples[i] for i in self._order]).compile()
            counters.compile_seconds += perf_counter() - start
            counters.compiled += 1
        self._mark.leave(perf_counter() - start)

    def _use(self, program: Any) -> None:
        self._steps, self.compiled = None, True
        for executable in self._subprograms:
            executable.take_over()
        self._subprograms.clear()
        if self._cached is None:
            self._jitted = program
            weigh(self, EXECUTABLE + COMPILED_INSTRUCTION * len(self._code))

    def run(self, inputs: list[Any], results: list[Any]) -> None:
        """Put the results into a list, for all inputs, when it is compiled; those that are constants are not looked at.

        If an interrupt is raised and the results are there, it came with them. See Note [Interrupts and donation].
        """
        with jax.core.eval_context():  # where jax traces: what is run is no part of that
            if self._cached is not None:
                run = ProgramRun(self._with_constants(inputs), len(self._wanted), uses_up=True)
                computed = self._cached.run(run)
                results.append([computed[slot] for slot in self.results])
                return
            if self._jitted is None and not in_background():
                self.prepare(inputs)
            if self._jitted is None:
                results.append(self._run_by_kernels(self._with_constants(inputs)))
                return
            given = [inputs[i] for i in self._order]
            inputs.clear()  # what is donated nobody may hold
            if self._gives_back:
                self._gives_back = False
                give_back()
            call_into(results, self._jitted, self._wide, given)

    def _with_constants(self, inputs: list[Any]) -> list[Any]:
        return [self.constants.get(i, value) for i, value in enumerate(inputs)] if self.constants else inputs

    def _run_by_kernels(self, inputs: list[Any]) -> list[Any]:
        """The results, computed one kernel after the other; what nothing reads any more is let go."""
        run = ProgramRun(inputs, len(self._wanted), uses_up=True)
        if self._steps is None:
            self._steps = list(steps_of(self._code, self._wanted))
        with quiet_numbers():
            run.by_kernels(self._steps)
        return run.values(self.results)

    def by_slot(self, results: list[Any]) -> dict[int, Any]:
        """The values that ``run`` has put into a list, by slot."""
        return dict(zip(self.results, results[0], strict=False))  # behind them may stand some that XLA needs only

    def _jit(self, inputs: Sequence[Any]) -> Any:
        code, constants = self._code, self.constants
        scanned, extra = self._loops, extra_outputs(code, self._wanted, inputs)
        wanted = (*self.results, *(slot for slot in extra if not any(slot in one.slots for one in scanned)))
        rest = (i for i in range(len(inputs)) if i not in constants and i not in self.donated)
        order = self._order = (*self.donated, *rest)

        def program(*given: Any) -> list[Any]:
            arguments = dict(constants)
            arguments.update(zip(order, given, strict=True))
            return list(map(traced(code, arguments, scanned), wanted))

        halves = any(aval is not None and aval.dtype in HALVES for call, *_ in code for aval in call.avals)
        options: dict[str, Any] = {"compiler_options": ROUNDED} if halves else {}
        return jitted(program, donate_argnums=tuple(range(len(self.donated))), **options)


_waiting: WeakSet[StepExecutable] = WeakSet()
"""Those that are being compiled, while calls are made at once."""


def wait_for_compiler() -> None:
    """Return when all compiled steps that have been captured are compiled, and use them from the next call on.

    Without it they take over after a number of calls that is the same in each run of a program.

    >>> wait_for_compiler()
    """
    for executable in list(_waiting):
        executable._finished()
