"""Runs of recorded programs: in which subprograms, which of them are compiled, and what is remembered.

Note [Running a program]
What a program does is known by its instructions and by which results are wanted: by these it is remembered
(``CachedProgram``). One that was not seen before is cut into *subprograms* (``partition.py``): one, if it is short; in
a long one a stretch that repeats itself becomes several equal subprograms, which share one executable, so that a loop
costs XLA no more than its body.

A subprogram is compiled when there is evidence that this will pay: it has come before, it comes several times in this
program, or it has so many kernels that were never compiled that one compilation for all of them is the cheaper way.
Otherwise its kernels run one by one, as if nothing had been deferred: most programs whose course depends on numbers
never come back. Where kernels need not be compiled (Note [Tiers] in ``tiers/tiered_kernel.py``), all this is decided by
what things are likely to cost: when a subprogram has come so often that its kernels cost what XLA takes for the
subprogram, it is compiled in the background, and when they have cost ``PATIENCE`` times as much again it is put in
their place. So it is at the same calls in each run, and nothing is measured. Programs are remembered as all else is
(Note [One memory] in ``caches.py``), executables as long as a program is that has such a subprogram.

A long program that computes nothing but tiny things is not cut: when it comes back, it is batched (``batching.py``).
"""

from __future__ import annotations

import atexit
import threading
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import inf
from typing import Any, NamedTuple

import jax

from tapegrad._src.caches import Cache, memory, weigh
from tapegrad._src.execution.data.devices import only_device
from tapegrad._src.execution.programs.batching import Batched, batched, is_fine
from tapegrad._src.execution.programs.partition import SHORT, cut, run_through
from tapegrad._src.execution.programs.program_text import common_length, listed, shown, why_unlike
from tapegrad._src.execution.programs.releasing import WORTH, InstructionStep, ProgramRun, steps_of
from tapegrad._src.execution.programs.subprogram import (
    Meanwhile,
    SubprogramExecutable,
    SubprogramRun,
    SubprogramStep,
    counters,
    executable_of,
    first_call,
    has_come_back,
    kernels_cost,
    seconds_to_compile,
    xla_call_cost,
)
from tapegrad._src.execution.recording.program import Program, program_runner
from tapegrad._src.execution.recording.recorded_call import Call
from tapegrad._src.execution.state.processes import processes
from tapegrad._src.execution.tiers.settings import Due, TierStats, compiler, in_background, tier_stats
from tapegrad._src.execution.tiers.tiered_kernel import PATIENCE
from tapegrad._src.tape.mechanisms import RELEASING
from tapegrad._src.tape.modes import alone, thread
from tapegrad._src.tape.showing import shown_in_html

MOST_ALIKE = 16
"""The most programs that are looked through that are as long, with the same results wanted, the same last
instruction."""

INSTRUCTION = 256
"""About how many bytes an instruction takes that is remembered: measured."""

SECONDS_PER_TINY_INSTRUCTION = 0.00002
"""About what XLA takes to compile an instruction of what is batched."""

BATCHED_ARGUMENT = 2_000.0
"""Nanoseconds for each input and each result of what is batched: rows are made of them, and they of rows; measured."""

PROGRAM_CALL, INSTRUCTION_CALL = 15_000.0, 700.0
"""Nanoseconds that a program takes besides what it computes, and each instruction to be recorded: measured."""


class CachedProgram:
    """The common part of programs with the same instructions and the same wanted results.

    Attributes:
        slots: the results that are wanted.
        seen: how many times such a program was run; ``asked``: it is to be compiled at once.
    """

    __slots__ = ("code", "wanted", "slots", "seen", "_fine", "_batched", "_steps", "_asked", "_meanwhile", "_due",
                 "_gain", "_lets_go", "_instructions", "__weakref__")  # fmt: skip

    def __init__(self, code: list[tuple], wanted: bytes, asked: bool = False) -> None:
        self.code, self.wanted = code, wanted
        self.slots = tuple(slot for slot, want in enumerate(wanted) if want)
        self.seen = 0
        self._asked, self._meanwhile = asked, Meanwhile()
        self._fine = is_fine(code)
        self._batched: Batched | None = None
        self._due: DueBatch | None = None
        self._gain: float | None = None
        self._steps: list[SubprogramStep] | None = None
        self._lets_go = sum([instruction[0].nbytes for instruction in code]) >= WORTH and not RELEASING.off
        self._instructions: list[InstructionStep] | None = None

    def run(self, run: ProgramRun) -> list[Any] | dict[int, Any]:
        """The results that are wanted, by slot."""
        self.seen += 1
        inputs = run.inputs
        if not (self._fine and on_cpu(inputs)):
            if len(self.code) <= SHORT and self._waits() and self._is_rare():
                return self._run_by_kernels(run)
            return self._run_subprograms(run)
        if self._batched is None and (self._is_rare() or (self._waits() and not self._is_ripe(inputs))):
            return self._run_by_kernels(run)
        batched = self.batch(inputs) if self._fine and self._batched is None else None
        if self._batched is not None:
            return self._batched.run(inputs) if batched is None else batched
        return self._run_subprograms(run)

    def begin(self, inputs: Sequence[Any]) -> list[SubprogramExecutable]:
        """Its subprograms that XLA is to compile, for inputs such as these: it will come back. None, if it is batched
        then."""
        if self._fine:
            return []
        results = [one for call, *_ in self.code for one in call.avals if one is not None]
        shapes = [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in results]
        steps = {step.executable: step.arguments for step in self._subprograms()}
        examples = ([shapes[slot] if slot >= 0 else inputs[~slot] for slot in slots] for slots in steps.values())
        return [one for one, given in zip(steps, examples, strict=True) if one.begin(given)]

    def _is_ripe(self, inputs: list[Any]) -> bool:
        """See to it that it is batched in the background, and say whether it is time for what that has given."""
        if self._due is None:
            self._due = DueBatch(self.code, self.slots, inputs)
            if self._kernels_cost() > BATCHED_ARGUMENT * (len(inputs) + len(self.slots)) + xla_call_cost(0):
                compiler.add(self._due)
            else:
                self._meanwhile.deficit = -inf
        if self._meanwhile.deficit < (1 + PATIENCE) * self._compiling_cost():
            return False
        self._due.compile()
        self._batched = self._due.batched
        self._fine = self._batched is not None
        return True

    def worthwhile(self, inputs: int) -> bool:
        """Tell whether it pays to record such programs, of so many inputs. See Note [What is worth recording].

        They have to come back for that, and their kernels to take longer, one by one, than XLA does for all of them.
        """
        if not self._has_come_back():
            return False
        if self._gain is None:
            recording = PROGRAM_CALL + INSTRUCTION_CALL * len(self.code)
            self._gain = self._kernels_cost() - recording - xla_call_cost(inputs + len(self.slots))
        return self._gain > 0

    def _kernels_cost(self) -> float:
        return kernels_cost(self.code, Call.likely_cost)

    def _waits(self) -> bool:
        """Tell whether it is compiled in the background; not if the user has asked for it."""
        return not self._asked and in_background()

    def _is_rare(self) -> bool:
        if self._waits():
            return self._meanwhile.deficit <= self._compiling_cost()
        return not self._has_come_back()

    def _has_come_back(self) -> bool:
        return self._asked or has_come_back(self.seen)

    def _compiling_cost(self) -> float:
        """About how many seconds it takes to compile it."""
        return seconds_to_compile(len(self.code), SECONDS_PER_TINY_INSTRUCTION if self._fine else None)

    def _run_by_kernels(self, run: ProgramRun) -> list[Any]:
        steps = self._instruction_steps()
        if steps is None:
            run.computed = run_through(self.code, run.inputs, Call.run)
        else:
            run.by_kernels(steps)
        self._meanwhile.add(self.code)
        return run.computed

    def _instruction_steps(self) -> list[InstructionStep] | None:
        """Its instructions one by one, if it lets go of what nobody reads any more: Note [The last reader]."""
        if self._lets_go and self._instructions is None:
            self._instructions = list(steps_of(self.code, self.wanted))
        return self._instructions

    def batch(self, inputs: list[Any]) -> dict[int, Any] | None:
        """Batch what is alike in such programs, if that can be, and give the results for these inputs."""
        due = DueBatch(self.code, self.slots, inputs)
        due.compile()
        self._batched, self._fine = due.batched, due.batched is not None
        return due.results

    def _run_subprograms(self, run: ProgramRun) -> list[Any]:
        steps = self._instruction_steps()
        for step in self._subprograms():
            results = step.executable.run(SubprogramRun(run, step, steps), step.often, self._asked)
            if results is not None:
                run.put(step.results, results)
            run.let_go(step.done)
        return run.computed

    def _subprograms(self) -> list[SubprogramStep]:
        if self._steps is None:
            placed = list(cut(self.code, self.wanted))
            counts, often = Counter(each.subprogram for each in placed), self._asked
            self._steps = [
                SubprogramStep(
                    one.arguments, executable_of(one.subprogram), often or has_come_back(counts[one.subprogram]),
                    one.results, one.done, one.instructions,
                )
                for one in placed
            ]
        return self._steps


class DueBatch(Due):
    """Programs that are to be batched, of certain instructions and results; ``inputs`` are those of one of them.

    Attributes:
        batched: what runs them; None if they can't be batched.
        results: the results for ``inputs``.
    """

    __slots__ = ("batched", "results", "_of")

    def __init__(self, code: list[tuple], slots: tuple[int, ...], inputs: list[Any]) -> None:
        super().__init__()
        self.batched: Batched | None = None
        self.results: dict[int, Any] | None = None
        self._of: Any = code, slots, inputs

    def _compile(self) -> None:
        (code, slots, inputs), self._of = self._of, None
        new = batched(code, slots, inputs)
        self.results = None if new is None else first_call(new.run, [inputs])
        self.batched = new  # not if jax can't map a kernel, as a callback that says nothing of it: subprograms need not


def on_cpu(inputs: Iterable[Any]) -> bool:
    """Tell whether a program with these inputs is run on a CPU."""
    array = next((value for value in inputs if isinstance(value, jax.Array)), None)
    return (jax.default_backend() if array is None else next(iter(array.devices())).platform) == "cpu"


_programs = Cache("programs")
_recent: deque[CachedProgram] = deque(maxlen=8)
memory.others.append(_recent)
_reasons: deque[str] = deque(maxlen=16)
_remembering = threading.RLock()


def cached_program(program: Program, wanted: bytes) -> CachedProgram:
    """The cached program of such programs: a known one, or a new one."""
    code = program.code
    key = thread.modes.without, len(code), code[-1], wanted
    for cached in tuple(_programs.get(key) or ()):
        if cached.code == code:
            counters.hits += 1
            return cached
    with _remembering:
        counters.misses += 1
        _reasons.append(why_new(code, wanted))
        cached = CachedProgram(code, wanted)
        weigh(cached, INSTRUCTION * len(code))
        alike: list[CachedProgram] = _programs.get(key) or _programs.keep(key, [])
        alike.append(cached)
        if len(alike) > MOST_ALIKE:
            del alike[0]
        _recent.append(cached)
    return cached


def run_program(program: Program, wanted: bytes) -> int:
    """Compute what is wanted of a program, and say how often such programs came, if it pays to record them; else 0."""
    cached, values = cached_program(program, wanted), program.values
    if not cached.seen:
        lines = lambda: [*(shown(one, program.inputs) for one in program.code), f"wanted: {wanted.hex()}"]
        processes.agree("a program", program.inputs, lines)
    run = ProgramRun(program.inputs, len(wanted), uses_up=alone() and type(program) is Program)
    if run.uses_up:
        program.begin(run.computed)
    by_slot = cached.run(run)
    for slot in cached.slots:
        value = values[slot]
        value.array = by_slot[slot]
        value.program = None
    values.clear()  # they know the program: without this there would be a cycle
    return cached.seen * cached.worthwhile(len(program.inputs))


@atexit.register
def _finish() -> None:
    """Wait at the end of the process for all arrays: what XLA still computes must not lose what it computes with."""
    if only_device.cache_info().currsize and not thread.modes.forked:  # else nothing runs here: see Note [Forks]
        for array in jax.live_arrays():
            with suppress(Exception):  # what has failed, or was given away, is none that runs
                array.block_until_ready()


# -- what there is to know ---------------------------------------------------------------------------------------------


class Stats(NamedTuple):
    """The costs and savings of deferred programs.

    Attributes:
        programs: how many kinds of programs are remembered.
        hits: how many programs were known.
        misses: how many were not.
        compiled: how many subprograms were compiled.
        compile_seconds: what the first calls of compiled subprograms took: tracing, compiling, running.
        reasons: of the last misses, what was new: the first instruction that differs from those of a program before.
        entries: how much is remembered of all calls, deferred or not: plans, kernels and so on; ``kinds`` says
            how many there are of each kind.
        bytes: about how many bytes that takes, with what XLA has compiled.
        made, evictions: how many entries were made since the process started, each after a look-up that found none, and
            how many of them were forgotten since, as they were not used. See ``set_cache_limit``.
        tiers: how kernels are run, also those of no program: see Note [Tiers] in ``tiers/tiered_kernel.py``.
    """

    programs: int
    hits: int
    misses: int
    compiled: int
    compile_seconds: float
    reasons: tuple[str, ...]
    entries: int
    bytes: int
    made: int
    evictions: int
    kinds: dict[str, int]
    tiers: TierStats

    def _repr_html_(self) -> str:
        return shown_in_html(self)


def stats() -> Stats:
    """The costs and savings of deferred programs, in all threads, what is remembered, and how kernels are run.

    >>> before = torch.execution.stats().hits
    >>> x = torch.ones(3)
    >>> with torch.deferred():
    ...     for _ in range(3):
    ...         y = (x * 2 + 1).sum().item()
    >>> torch.execution.stats().hits - before >= 2
    True
    """
    programs = sum(map(len, _programs.values()))
    known = memory.remembered()
    return Stats(
        programs, counters.hits, counters.misses, counters.compiled, counters.compile_seconds, tuple(_reasons),
        known.entries, known.bytes, known.made, known.evictions, known.kinds, tier_stats(),
    )  # fmt: skip


def reset_stats() -> None:
    """Count from zero again; what was compiled is kept."""
    counters.__init__()  # type: ignore[misc]
    _reasons.clear()


def why_new(code: list[tuple], wanted: bytes) -> str:
    """The difference of a program from the one among the last that is most like it."""
    best, length = None, -1
    for cached in reversed(_recent):
        common = common_length(cached.code, code)
        if common > length:
            best, length = cached, common
    if best is None or not length:
        best = next((cached for cached in reversed(_recent) if shown(cached.code[0]) == shown(code[0])), None)
    if best is None:
        return f"the first program that begins with {shown(code[0])}"
    if length == len(code) == len(best.code):
        wants = [i for i, (old, new) in enumerate(zip(best.wanted, wanted, strict=True)) if old != new]
        return f"the same {len(code)} instructions, but other results are wanted: {listed(wants)}"
    return why_unlike(best.code, code)


program_runner.fill(run_program)
