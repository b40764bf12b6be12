"""Calls of kernels that programs are made of, and the Python that records one.

Note [Recording is written]
To record a call is to append one instruction (Note [Deferred programs] in ``program.py``). That is done so often that
it is written down for each call as straight-line Python: by ``recorder`` as a function of its own, and by runners and
appliers (``dispatch/codegen/runner.py``, ``codegen/backward.py``) in the middle of theirs, for which
``recording_lines`` and ``call_lines`` give the lines and ``recording_names`` what they refer to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from tapegrad._src.caches import Cache
from tapegrad._src.execution.data.devices import only_device
from tapegrad._src.execution.data.sizes import MEMORY_ERRORS, out_of_memory
from tapegrad._src.execution.data.values import DeferredValue, Traced, materialized, new
from tapegrad._src.execution.recording.program import recording
from tapegrad._src.execution.tiers.costs import HOST_CALL, XLA_ARRAY, XLA_CALL
from tapegrad._src.tape.kept import defined

MANY = 16
"""The Python that records a call of more arguments or results is not written down: to compile that takes longer."""


class Call:
    """A kernel for arguments of certain types: what instructions name.

    Attributes:
        kernel: the kernel.
        avals: shape and dtype of each result; None for a result that the kernel leaves out.
        single: whether the kernel gives one array, not a tuple.
        count: how many results there are, without those left out.
        nbytes: how many bytes the results take.
        compiled_with_others: how many subprograms were compiled that it is a part of.
    """

    __slots__ = ("kernel", "avals", "single", "count", "arity", "nbytes", "compiled_with_others", "__weakref__")

    def __init__(self, kernel: Any, avals: tuple, single: bool, arity: int) -> None:
        self.kernel, self.avals, self.single = kernel, avals, single
        self.count = sum(aval is not None for aval in avals)
        self.arity = arity
        self.nbytes = sum([aval.nbytes for aval in avals if aval is not None])
        self.compiled_with_others = 0

    @property
    def record(self) -> Callable:
        """``record(*values)`` appends the instruction to the thread's program and gives its results."""
        return recorders.get(self) or recorders.keep(self, recorder(self, self.arity))

    def run(self, *arrays: Any) -> tuple:
        """The results, computed now."""
        self.kernel.note_run()
        return self.present(self.kernel.run(*arrays))

    def inline(self, *arguments: Any) -> tuple:
        """The results, for a trace."""
        return self.present(self.kernel.function(*arguments))

    def present(self, results: Any) -> tuple:
        """The results of the kernel, without what it left out."""
        return (results,) if self.single else tuple(result for result in results if result is not None)

    def likely_cost(self) -> float:
        """The nanoseconds that a call is likely to take by itself; of kernels that run for any shapes it is a guess."""
        return self.kernel.cost_on_host() or self._guessed_cost()

    def present_cost(self) -> float:
        """The same as long as who runs the kernel now goes on to do so, also where that is not the quicker one."""
        return self.kernel.present_cost() or self._guessed_cost()

    def _guessed_cost(self) -> float:
        if self.kernel.arguments:
            return XLA_CALL + XLA_ARRAY
        return HOST_CALL + sum([one.nbytes for one in self.avals if one is not None]) / 8

    def at_once(self, *values: Any) -> Any:
        """The results of the kernel; for arguments that no program can take."""
        return self.kernel.at_once(*map(materialized, values))

    def otherwise(self, error: Exception, *values: Any) -> Any:
        """The results of the kernel for arguments at which it failed; called while that error is handled.

        Raises:
            Exception: that error, in other words if there was no memory, where there is no other way.
        """
        if isinstance(error, MEMORY_ERRORS):
            raise out_of_memory(error) from None
        if isinstance(error, TypeError):
            return self.at_once(*values)
        raise error


recorders = Cache("recorders")
"""Functions that record each call; and those of a sum, by the two ``Aval``. Elsewhere a call would hold itself,
and the kernel with what was compiled."""


def recording_lines(call: Call, operands: Sequence[str], results: Sequence[str]) -> tuple[str, ...]:
    """The Python that records a call in ``program``: its arguments are in variables, and so will be its results.

    Where nothing is recorded now (Note [What is worth recording] in ``recording_policy.py``), it calls the kernel. It
    uses the names of ``recording_names``, and raises ``Traced``.
    """
    absent = [aval is None for aval in call.avals]
    arguments, targets = ", ".join(operands), ", ".join(results) + ("" if call.single else ",")
    given: Iterable[str] = ()
    if max(len(operands), len(results)) > MANY:
        recorded: Iterable[str] = [f"{', '.join(results)}, = program.append(call, ({arguments},))"]
        called = f"kernel(*map(materialized, ({arguments},)))"
    else:
        recorded = appending_lines(operands, results, absent)
        given = (f"    {v} = {v}.materialize() if type({v}) is DeferredValue else {v}" for v in operands)
        called = f"kernel({arguments})"
    return (
        "if program.suspended:",
        "    program.suspended -= 1",
        *given,
        "    try:",
        f"        {targets} = {called}",
        "    except Exception as error:",
        f"        {targets} = call.otherwise({', '.join(['error', *operands])})",
        "else:",
        *(f"    {line}" for line in recorded),
    )


def appending_lines(operands: Sequence[str], results: Sequence[str], absent: Sequence[bool]) -> Iterator[str]:
    """The Python that appends the instruction of a call to ``program``."""
    for i, v in enumerate(operands):
        slot = f"program.slots.get(id({v})) or program.operand({v})"
        yield f"s{i} = {v}.slot if type({v}) is DeferredValue and {v}.program is program else {slot}"
    slots = "".join(f", s{i}" for i in range(len(operands)))
    made = []
    for i, (missing, result) in enumerate(zip(absent, results, strict=True)):
        if missing:
            yield f"{result} = None"
            continue
        made.append(result)
        yield f"{result} = new(DeferredValue)"
        yield f"{result}.program = program"
        yield f"{result}.aval = aval{i}"
    yield f"instruction = call{slots or ','}"
    yield "code, values, size = program.code, program.values, program.size"
    for i, result in enumerate(made):
        yield f"{result}.slot = size{f' + {i}' if i else ''}"
    yield f"program.size = size + {len(made)}"
    yield "code.append(instruction)"
    yield from (f"values.append({result})" for result in made)
    yield "if size > program.limit:"
    yield "    program.grown()"


def recording_names(call: Call) -> dict[str, Any]:
    """The names that the lines that record a call refer to."""
    names = {"recording": recording, "DeferredValue": DeferredValue, "Traced": Traced, "call": call, "new": new}
    names |= {"kernel": call.kernel.run, "materialized": materialized}
    return names | {f"aval{i}": aval for i, aval in enumerate(call.avals)}


def call_lines(call: Call, operands: Sequence[str], program: str) -> Iterator[str]:
    """The Python that records a call and returns its results; tracers are computed with at once."""
    results = [f"r{i}" for i in range(len(call.avals))]
    yield f"program = {program}"
    yield "try:"
    yield from (f"    {line}" for line in recording_lines(call, operands, results))
    yield "except Traced:"
    yield f"    return call.at_once({', '.join(operands)})"
    yield f"return {results[0] if call.single else '(' + ', '.join([*results, ')'])}"


def program_for(device: str) -> str:
    """The Python that finds the thread's program for a device, which Python names."""
    return "recording.program" if only_device() is not None else f"recording.on({device})"


def recorder(call: Call, arity: int) -> Callable:
    """The function that records a call, written for the number of its arguments and results, if they are not many."""
    if max(arity, len(call.avals)) > MANY:
        return partial(record_many, call)
    given = [f"v{i}" for i in range(arity)]
    body = call_lines(call, given, program_for(f"recording.device_of({', '.join(given)})"))
    lines = (f"def record({', '.join(given)}):", *(f"    {line}" for line in body))
    return defined(lines, "record", recording_names(call))


def record_many(call: Call, *values: Any) -> Any:
    """Make a call of many arguments or results, as the function that ``recorder`` writes does."""
    program = recording.program if only_device() is not None else recording.on(recording.device_of(*values))
    try:
        if not program.suspended:
            results = program.append(call, values)
            return results[0] if call.single else tuple(results)
    except Traced:
        return call.at_once(*values)
    program.suspended -= 1
    try:
        return call.kernel.run(*map(materialized, values))
    except Exception as error:
        return call.otherwise(error, *values)
