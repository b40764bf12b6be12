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
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from math import inf
from time import perf_counter
from typing import Any, NamedTuple

import jax

from tapegrad._src.caches import EXECUTABLE, Cache, Interned, memory, weigh
from tapegrad._src.execution.data.devices import jitted, only_device
from tapegrad._src.execution.data.values import NUMBERS, described, quiet_numbers
from tapegrad._src.execution.kernels.kernel import scoped
from tapegrad._src.execution.programs.batching import Batched, batched, is_fine
from tapegrad._src.execution.programs.loop_carry import extra_outputs
from tapegrad._src.execution.programs.partition import SHORT, Subprogram, cut, run_through
from tapegrad._src.execution.programs.releasing import WORTH, InstructionStep, ProgramRun, steps_of
from tapegrad._src.execution.recording.program import Program, program_runner
from tapegrad._src.execution.recording.recorded_call import Call
from tapegrad._src.execution.state.processes import processes
from tapegrad._src.execution.tiers.settings import Due, TierStats, compiler, hosted, in_background, settings, tier_stats
from tapegrad._src.execution.tiers.tiered_kernel import PATIENCE
from tapegrad._src.execution.tiers.xla_copies import readable
from tapegrad._src.progress import waiting
from tapegrad._src.tape.mechanisms import RELEASING
from tapegrad._src.tape.modes import alone, thread
from tapegrad._src.tape.showing import shown_in_html

MOST_ALIKE = 16
"""The most programs that are looked through that are as long, with the same results wanted, the same last
instruction."""

INSTRUCTION, COMPILED_INSTRUCTION = 256, 48 << 10
"""About how many bytes an instruction takes that is remembered, and what XLA has compiled of one: measured."""

SECONDS_PER_KERNEL = 0.035
SECONDS_PER_SUBPROGRAM, SECONDS_PER_INSTRUCTION, SECONDS_PER_TINY_INSTRUCTION = 0.05, 0.001, 0.00002
"""About what XLA takes to compile a kernel by itself, a subprogram, and what is batched: measured on small kernels."""

SEEN_ENOUGH = 2
"""The number of times that a subprogram comes, in any programs, to be compiled; at once, if it comes so often in the
first."""

KERNEL_CALL = 500.0
"""Nanoseconds that it takes to run one kernel after the other, besides what they compute."""

PROGRAM_ON_XLA, XLA_ARGUMENT = 7_000.0, 300.0
"""Nanoseconds that XLA takes for a program, whatever it computes, and for each argument and result."""

BATCHED_ARGUMENT = 2_000.0
"""Nanoseconds for each input and each result of what is batched: rows are made of them, and they of rows; measured."""

PROGRAM_CALL, INSTRUCTION_CALL = 15_000.0, 700.0
"""Nanoseconds that a program takes besides what it computes, and each instruction to be recorded: measured."""

ROUNDED = {"xla_allow_excess_precision": False}
"""Each operation of half precision rounds its result, as it does at once, where XLA would keep digits between two."""


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
        cost = SECONDS_PER_SUBPROGRAM + SECONDS_PER_INSTRUCTION * len(subprogram.code)
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
        return self.seen < SEEN_ENOUGH and not often and not self._is_cheaper_compiled()

    def _is_small(self, arguments: Sequence) -> bool:
        """Tell whether NumPy takes less time for its kernels, one by one, than XLA for one call."""
        if not hosted() or settings.deterministic:
            return False
        costs = [call.kernel.cost_on_host() for call in self.subprogram.calls]
        if None in costs:
            return False
        each = dict(zip(self.subprogram.calls, costs, strict=True))
        total = sum(each[instruction[0]] + KERNEL_CALL for instruction in self.subprogram.code)
        return total < PROGRAM_ON_XLA + XLA_ARGUMENT * (len(arguments) + self.count)

    def _is_cheaper_compiled(self) -> bool:
        """Tell whether its kernels, one by one, would take longer to compile, of which others may make use, too."""
        calls = self.subprogram.calls
        each = sum(SECONDS_PER_KERNEL / (1 + call.compiled_with_others) for call in calls if not call.kernel.ran)
        return each > SECONDS_PER_SUBPROGRAM + SECONDS_PER_INSTRUCTION * len(self.subprogram.code)


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
        self.seen = SEEN_ENOUGH if asked else 0
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
            if self._kernels_cost() > PROGRAM_ON_XLA + BATCHED_ARGUMENT * (len(inputs) + len(self.slots)):
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
        if self.seen < SEEN_ENOUGH:
            return False
        if self._gain is None:
            recording = PROGRAM_CALL + INSTRUCTION_CALL * len(self.code)
            self._gain = self._kernels_cost() - recording - PROGRAM_ON_XLA - XLA_ARGUMENT * (inputs + len(self.slots))
        return self._gain > 0

    def _kernels_cost(self) -> float:
        return kernels_cost(self.code, Call.likely_cost)

    def _waits(self) -> bool:
        """Tell whether it is compiled in the background; not if the user has asked for it."""
        return not self._asked and in_background()

    def _is_rare(self) -> bool:
        if self._waits():
            return self._meanwhile.deficit <= self._compiling_cost()
        return self.seen < SEEN_ENOUGH

    def _compiling_cost(self) -> float:
        """About how many seconds it takes to compile it."""
        return SECONDS_PER_SUBPROGRAM + (SECONDS_PER_TINY_INSTRUCTION if self._fine else SECONDS_PER_INSTRUCTION) * len(
            self.code
        )

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
                    one.arguments, executable_of(one.subprogram), often or counts[one.subprogram] >= SEEN_ENOUGH,
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


class Counters:
    """Counts of what has happened since the process started, or since ``reset_stats``."""

    def __init__(self) -> None:
        self.hits = self.misses = self.compiled = 0
        self.compile_seconds = 0.0


counters = Counters()
_programs = Cache("programs")
_executables = Interned()
_recent: deque[CachedProgram] = deque(maxlen=8)
memory.others.append(_recent)
_reasons: deque[str] = deque(maxlen=16)
_remembering = threading.RLock()


def executable_of(subprogram: Subprogram) -> SubprogramExecutable:
    """The executable that all subprograms equal to this one share."""
    return _executables.get(subprogram) or _executables.only(subprogram, SubprogramExecutable(subprogram))


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
        common = _common(cached.code, code)
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


def why_unlike(before: list[tuple], code: list[tuple]) -> str:
    """The first difference between two programs that are not the same, in words."""
    length = _common(before, code)
    if length == len(before) or length == len(code):
        return f"{len(code)} instructions, of which the first {length} are those of one with {len(before)}"
    new, old = code[length], before[length]
    now, then = told_apart(new[0], old[0])
    return f"instruction {length} is {shown(new)}{now}; it was {shown(old)}{then}"


def told_apart(now: Call, then: Call) -> tuple[str, str]:
    """The differences of two calls besides their names: settings and types.

    >>> from tapegrad._src.execution.kernels.kernel import Kernel
    >>> calls = [
    ...     Kernel(lambda x: x**2, name="power", wide=False, settings={"exponent": exponent}).call_for([1.0])
    ...     for exponent in (2, 3)
    ... ]
    >>> told_apart(*calls)
    (' with exponent=2', ' with exponent=3')
    """
    if now is then:
        return "", ""
    traits = [traits_of(now), traits_of(then)]
    different = [name for name in traits[0] | traits[1] if traits[0].get(name) != traits[1].get(name)]
    if not different and now.kernel.name == then.kernel.name:
        return ", a kernel that was made again", ""
    told = [", ".join(f"{name}={one[name]}" for name in different if name in one) for one in traits]
    return tuple(f" with {text}" if text else "" for text in told)  # type: ignore[return-value]


def traits_of(call: Call) -> dict[str, str]:
    """The traits of a call among others of kernels of the same name: settings, and the types of arguments and
    results."""
    arguments = {f"argument {number}": type_text(one) for number, one in enumerate(call.kernel.arguments)}
    results = {f"result {number}": type_text(one) for number, one in enumerate(call.avals)}
    return {name: repr(value) for name, value in call.kernel.settings.items()} | arguments | results


def type_text(given: Any) -> str:
    """The type of an argument or a result: dtype and shape, or that of a Python number."""
    if given is None or isinstance(given, type):
        return getattr(given, "__name__", "nothing")
    shape, dtype = given if isinstance(given, tuple) else (given.shape, given.dtype)
    return f"{dtype}[{', '.join(map(str, shape))}]"


def _common(left: list, right: list) -> int:
    """The number of instructions that two programs have in common, from the first on."""
    return next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def listed(numbers: Iterable[int], most: int = 5) -> str:
    """Some numbers in words."""
    numbers = list(numbers)
    return ", ".join(map(str, numbers[:most])) + (", ..." if len(numbers) > most else "")


def shown(instruction: tuple[Call, Any], inputs: Sequence[Any] = ()) -> str:
    """An instruction as messages show it: results are ``%0``, ``%1``, inputs ``in0``, ``in1``, or numbers, if given.

    >>> from tapegrad._src.execution.kernels.kernel import Kernel
    >>> call = Kernel(lambda x, y: x + y, name="add", wide=False).call_for([1.0, 2.0])
    >>> shown((call, 3, -1)), shown((call, 3, -1), [2.0])
    ('add(%3, in0)', 'add(%3, 2.0)')
    """
    call, *slots = instruction
    is_number = lambda slot: 0 <= ~slot < len(inputs) and type(inputs[~slot]) in NUMBERS
    names = (f"%{slot}" if slot >= 0 else repr(inputs[~slot]) if is_number(slot) else f"in{~slot}" for slot in slots)
    return f"{call.kernel.name}({', '.join(names)})"


program_runner.fill(run_program)
