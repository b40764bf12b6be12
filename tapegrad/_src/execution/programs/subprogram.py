"""Subprograms that can be run: kernel by kernel, or compiled. See Note [Running a program] in ``running.py``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from math import inf
from time import perf_counter
from typing import Any, NamedTuple

import jax

from tapegrad._src.caches import EXECUTABLE, Interned, weigh
from tapegrad._src.execution.data.devices import jitted
from tapegrad._src.execution.data.values import described, quiet_numbers
from tapegrad._src.execution.kernels.kernel import scoped
from tapegrad._src.execution.programs.loop_carry import extra_outputs
from tapegrad._src.execution.programs.partition import Subprogram
from tapegrad._src.execution.programs.releasing import InstructionStep, ProgramRun
from tapegrad._src.execution.recording.recorded_call import Call
from tapegrad._src.execution.tiers.settings import Due, compiler, hosted, in_background, settings
from tapegrad._src.execution.tiers.tiered_kernel import PATIENCE
from tapegrad._src.execution.tiers.xla_copies import readable
from tapegrad._src.progress import waiting

COMPILED_INSTRUCTION = 48 << 10
"""About how many bytes take what XLA has compiled of an instruction: measured."""

SECONDS_PER_KERNEL = 0.035
SECONDS_PER_SUBPROGRAM, SECONDS_PER_INSTRUCTION = 0.05, 0.001
"""About what XLA takes to compile a kernel by itself, and a subprogram: measured on small kernels."""

SEEN_ENOUGH = 2
"""The number of times that a subprogram comes, in any programs, to be compiled; at once, if it comes so often in the
first."""

KERNEL_CALL = 500.0
"""Nanoseconds that it takes to run one kernel after the other, besides what they compute."""

PROGRAM_ON_XLA, XLA_ARGUMENT = 7_000.0, 300.0
"""Nanoseconds that XLA takes for a program, whatever it computes, and for each argument and result."""

ROUNDED = {"xla_allow_excess_precision": False}
"""Each operation of half precision rounds its result, as it does at once, where XLA would keep digits between two."""


class Counters:
    """Counts of what has happened since the process started, or since ``reset_stats``."""

    def __init__(self) -> None:
        self.hits = self.misses = self.compiled = 0
        self.compile_seconds = 0.0


counters = Counters()
_executables = Interned()


class Meanwhile:
    """The cost of the kernels of a subprogram or program while they run one by one, for it is not compiled.

    Attributes:
        deficit: how many seconds, by what is likely.
    """

    __slots__ = ("deficit", "_count", "_each")

    def __init__(self) -> None:
        self.deficit, self._count, self._each = 0.0, 0, 0.0

    def add(self, code: Sequence[tuple]) -> None:
        """Count a run that has ended. What one costs is asked in the first, second, fourth and so on: tiers change."""
        self._count += 1
        if self._count & (self._count - 1) == 0:
            self._each = 1e-9 * kernels_cost(code, Call.present_cost)
        self.deficit += self._each


def kernels_cost(code: Iterable[tuple], cost: Callable[[Call], float]) -> float:
    """About how many nanoseconds kernels take, one by one."""
    calls = Counter(instruction[0] for instruction in code)
    return sum(count * (cost(call) + KERNEL_CALL) for call, count in calls.items())


def has_come_back(seen: int) -> bool:
    """Tell whether something came so often that it is likely to come again."""
    return seen >= SEEN_ENOUGH


def seconds_to_compile(instructions: int, each: float | None = None) -> float:
    """About how many seconds XLA takes to compile so many instructions."""
    return SECONDS_PER_SUBPROGRAM + (SECONDS_PER_INSTRUCTION if each is None else each) * instructions


def xla_call_cost(values: int) -> float:
    """About how many nanoseconds XLA takes for a call of so many arguments and results, whatever it computes."""
    return PROGRAM_ON_XLA + XLA_ARGUMENT * values


class SubprogramExecutable(Due):
    """A subprogram that can be run: kernel by kernel, until there is evidence that compiling it pays."""

    __slots__ = ("subprogram", "count", "seen", "_ready", "_program", "_examples", "_meanwhile", "__weakref__")

    def __init__(self, subprogram: Subprogram) -> None:
        super().__init__()
        self.subprogram = subprogram
        self.count = sum(subprogram.wanted)
        self.seen = 0
        self._ready: Callable | None = None
        self._program: Callable | None = None
        self._examples: tuple[Any, list[Any]] | None = None
        self._meanwhile = Meanwhile()

    def begin(self, examples: list[Any]) -> bool:
        """Make what XLA compiles of it, for arguments such as these; False if XLA is not to, or has."""
        if self.compiled or self._ready is not None or self.subprogram.lone or self._is_small(examples):
            return False
        if self._program is None:
            program, self._program = self._jitted(examples)
            self._examples = program, examples
        return True

    def take_over(self) -> None:
        """Run what was compiled from here on, if it could be."""
        if self.compiled and self._ready is None:
            self._ready = self._program

    def run(self, step_run: SubprogramRun, often: bool, asked: bool = False) -> list[Any] | None:
        """The results that are wanted in a place; None if they are there.

        ``often``: it comes several times in one program. ``asked``: it is to be compiled now, as the user has said.
        """
        if self._ready is not None:
            return self._ready(*map(readable, step_run.arguments()))[: self.count]
        self.seen += 1
        if in_background() and not asked:
            return self._run_meanwhile(step_run)
        if self.subprogram.lone or self._is_rare(often) or self._is_small(step_run.step.arguments):
            return step_run.by_kernels()
        arguments = step_run.arguments()
        self._ready = self._jitted(arguments)[1]
        what = f"a program of {len(self.subprogram.code)} operations"
        return first_call(self._ready, map(readable, arguments), what)[: self.count]

    def _run_meanwhile(self, step_run: SubprogramRun) -> list[Any] | None:
        """Run its kernels, and see to it that it is compiled in the background when that pays."""
        subprogram, deficit = self.subprogram, self._meanwhile.deficit
        cost = seconds_to_compile(len(subprogram.code))
        if self._program is None:
            if not subprogram.lone and deficit > cost and self.begin(list(map(described, step_run.arguments()))):
                compiler.add(self)
        elif deficit >= (1 + PATIENCE) * cost:
            if self.finish(f"a program that begins with {subprogram.calls[0].kernel.name}"):
                self._ready = self._program
                return self._ready(*map(readable, step_run.arguments()))[: self.count]
            self._meanwhile.deficit = -inf
        results = step_run.by_kernels()
        self._meanwhile.add(subprogram.code)
        return results

    def _jitted(self, arguments: list) -> tuple[Any, Callable]:
        """The program that XLA compiles for it, and what is called with arguments."""
        subprogram = self.subprogram
        program = jitted(
            subprogram.inlined(extra_outputs(subprogram.code, subprogram.wanted, arguments)), compiler_options=ROUNDED
        )
        weigh(self, EXECUTABLE + COMPILED_INSTRUCTION * len(subprogram.code))
        for call in subprogram.calls:
            call.compiled_with_others += 1
        return program, scoped(program) if subprogram.wide else program

    def _compile(self) -> None:
        start = perf_counter()
        program, examples = self._examples  # type: ignore[misc]
        with jax.core.eval_context(), jax.enable_x64(True) if self.subprogram.wide else nullcontext():
            program.lower(*examples).compile()
        self._examples = None
        counters.compile_seconds += perf_counter() - start
        counters.compiled += 1

    def _is_rare(self, often: bool) -> bool:
        """Tell whether compiling it can't be known to pay. See Note [Running a program]."""
        return not has_come_back(self.seen) and not often and not self._is_cheaper_compiled()

    def _is_small(self, arguments: Sequence) -> bool:
        """Tell whether NumPy takes less time for its kernels, one by one, than XLA for one call."""
        if not hosted() or settings.deterministic:
            return False
        costs = [call.kernel.cost_on_host() for call in self.subprogram.calls]
        if None in costs:
            return False
        each = dict(zip(self.subprogram.calls, costs, strict=True))
        total = sum(each[instruction[0]] + KERNEL_CALL for instruction in self.subprogram.code)
        return total < xla_call_cost(len(arguments) + self.count)

    def _is_cheaper_compiled(self) -> bool:
        """Tell whether its kernels, one by one, would take longer to compile, of which others may make use, too."""
        calls = self.subprogram.calls
        each = sum(SECONDS_PER_KERNEL / (1 + call.compiled_with_others) for call in calls if not call.kernel.ran)
        return each > seconds_to_compile(len(self.subprogram.code))


def first_call(run: Callable, arguments: Iterable[Any], what: str = "a program") -> Any:
    """Call what was compiled for the first time, and count it and how long it takes. ``what`` is told who waits."""
    start = perf_counter()
    with quiet_numbers(), waiting(f"compiling {what}"):
        results = run(*arguments)
    counters.compile_seconds += perf_counter() - start
    counters.compiled += 1
    return results


class SubprogramStep(NamedTuple):
    """The step for one subprogram of a program: where its arguments are, what runs, where the results belong.

    ``done`` are the slots that no later subprogram reads, ``instructions`` those of the program that it stands for.
    """

    arguments: tuple[int, ...]
    executable: SubprogramExecutable
    often: bool
    results: tuple[int, ...]
    done: tuple[int, ...]
    instructions: slice


class SubprogramRun:
    """A subprogram in its place in a program that is run.

    Args:
        run: the run of the program.
        step: the subprogram.
        steps: the instructions of the program, if it lets go of what nobody reads any more.
    """

    __slots__ = ("step", "_run", "_steps")

    def __init__(self, run: ProgramRun, step: SubprogramStep, steps: Sequence[InstructionStep] | None) -> None:
        self.step, self._run, self._steps = step, run, steps

    def arguments(self) -> list[Any]:
        """The values that the subprogram takes."""
        return self._run.values(self.step.arguments)

    def by_kernels(self) -> list[Any] | None:
        """Run its kernels one by one; the results, if they are not in their places."""
        if self._steps is None:
            return self.step.executable.subprogram.run_by_kernels(self.arguments())
        self._run.by_kernels(self._steps[self.step.instructions])
        return None


def executable_of(subprogram: Subprogram) -> SubprogramExecutable:
    """The executable that all subprograms equal to this one share."""
    return _executables.get(subprogram) or _executables.only(subprogram, SubprogramExecutable(subprogram))
