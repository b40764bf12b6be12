"""Programs that are being recorded, and the values that they will compute.

Note [Deferred programs]
With ``modes.deferred`` a kernel call computes nothing. It appends an *instruction* to the thread's ``Program``, and
gives a ``DeferredValue`` for each result, whose shape and dtype are known. The program is run when the elements of a
value are wanted (``settled``), at the end of a backward call, and when it has grown long (``LONGEST``); a new one is
begun.

An instruction is a tuple ``(call, slot, ...)``: what is called (``Call``: a kernel for arguments of certain types) and
where its arguments are: a slot from 0 on is a result, counted from the beginning of the program; a slot below 0 is an
input, an array that was there before or a Python number. So a list of instructions *is* the structure of a program:
two that are equal do the same to other inputs, and comparing two lists of tuples takes nanoseconds for each.

An instruction and its results are appended at once: between reading ``program.size`` and appending the last result
nothing is made that the garbage collector knows of, and nothing is called but ``list.append``, after which Python does
not look for interrupts (once it has specialised the call, as it does by the tenth time or so). So neither an interrupt
nor a finalizer that computes, too, comes between, and what was recorded before and after one belongs together. What a
program would have computed whose run was interrupted is evaluated like that of another thread.

Which results are still wanted when a program is run is a matter of counting references: those which nobody but the
program holds are never materialised.

Note [Programs and threads]
Each thread records a program of its own. A value of another thread's program (or of one that failed) is evaluated by
whoever wants it: the instructions that it depends on are run, one by one, and the program is left as it is. Kernels are
pure, so that it does no harm if the other thread runs them too.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import jax
import numpy as np

from tapegrad.caches import Cache, Interned
from tapegrad.execution.devices import device_of, get_default_device, only_device
from tapegrad.execution.forks import refuse_forked
from tapegrad.execution.opaque import Opaque
from tapegrad.tape.sources import defined

LONGEST = 16384
"""A program is run when it has so many results. XLA's time to compile grows faster than the length of a program."""

new = object.__new__


class Aval:
    """What is known of a value before it is computed. There is one object for each shape and dtype: ``aval``.

    Attributes:
        shape: the lengths of the dimensions; ``dtype``: NumPy's type of the elements.
        size, nbytes: how many elements there are, and how many bytes of memory they take.
    """

    __slots__ = ("shape", "dtype", "size", "nbytes", "__weakref__")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape, self.dtype = shape, dtype
        self.size = math.prod(shape)
        self.nbytes = self.size * dtype.itemsize


_avals = Interned()


def aval(shape: tuple[int, ...], dtype: np.dtype) -> Aval:
    """The ``Aval`` of this shape and dtype.

    >>> aval((2, 3), np.dtype("float32")).nbytes
    24
    """
    return _avals.get((shape, dtype)) or _avals.only((shape, dtype), Aval(tuple(shape), np.dtype(dtype)))


class DeferredValue:
    """A value that will be computed, or has been since.

    Attributes:
        program: the program that computes it; None when it has been run.
        slot: which result of the program it is.
        aval: its shape and dtype.
        array: the array that it is, once the program has been run.
    """

    __slots__ = ("program", "slot", "aval", "array")

    program: Program | None
    slot: int
    aval: Aval
    array: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def nbytes(self) -> int:
        """How many bytes of memory the elements take, once they are there."""
        return self.aval.nbytes

    def settle(self) -> Any:
        """The array, computed now if it has not been."""
        program = self.program
        if program is not None:
            if program is recording.on(program.device):
                program.demand()
            else:
                self.array = program.evaluate(self)
                self.program = None
        return self.array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.settle(), dtype)

    def __repr__(self) -> str:
        return f"DeferredValue({self.aval.dtype}{list(self.shape)})"


def pending(program: Program, slot: int, aval: Aval) -> DeferredValue:
    """The value that a program computes as one of its results."""
    value = new(DeferredValue)
    value.program, value.slot, value.aval = program, slot, aval
    return value


UNSEEN = new(DeferredValue)
"""Stands among the values of a program for those that nobody will see."""


def settled(value: Any) -> Any:
    """The array that a value is; computed now if it is pending. Anything else as it is."""
    return value.settle() if type(value) is DeferredValue else value


def same(left: Any, right: Any) -> bool:
    """Whether two values are one, computed or not."""
    return left is right or _known(left) is _known(right)


def _known(value: Any) -> Any:
    return value.array if type(value) is DeferredValue and value.program is None else value


_tracers: dict[type, bool] = {}


def is_tracer(value: Any) -> bool:
    """Whether a value stands for what a traced function will be given, or for nothing; quicker than ``isinstance``."""
    kind = type(value)
    found = _tracers.get(kind)
    if found is None:
        found = _tracers[kind] = issubclass(kind, (jax.core.Tracer, Opaque))
    return found


class Traced(Exception):
    """An argument is a tracer: what is called with it belongs to the trace, not to a program.

    So it is with what has no elements: nothing of it is run.
    """


class Program:
    """Instructions that have been recorded and not run. See Note [Deferred programs].

    Attributes:
        code: the instructions.
        values: the results, by slot; ``size``: how many there are, also when it has been run.
        inputs: the arrays and numbers that instructions take.
        slots: where an input is: by its identity, or a number by type and value.
        settled: values that were pending, and are inputs as arrays.
        device: where it is run; None where there is only one device.
        held: whether it waits, however long it grows.
        unseen: a range of slots whose results nobody has seen, and the slots in it of which that is not so.
    """

    __slots__ = ("code", "values", "size", "inputs", "slots", "settled", "device", "held", "unseen")

    captures = False
    """Whether all that the thread computes belongs to it, also what depends on nothing that is pending."""

    def __init__(self, device: Any = None) -> None:
        self.device = device
        self.code: list[tuple] = []
        self.values: list[DeferredValue] = []
        self.size = 0
        self.inputs: list[Any] = []
        self.slots: dict[Any, int] = {}
        self.settled: list[DeferredValue] = []
        self.held = False
        self.unseen: tuple[range, Sequence[int]] = (range(0), ())

    def moves(self, number: Any) -> bool:
        """Whether a number is another one in each call of a step that is captured."""
        return False

    def operand(self, given: Any) -> int:
        """The slot of an argument of the next instruction.

        Raises:
            Traced: the argument is a tracer.
        """
        value = given
        if type(given) is DeferredValue:
            if given.program is self:
                return given.slot
            value = given.settle()
        key = number_key(value) if type(value) in NUMBERS else id(value)
        slot = self.slots.get(key)
        if slot is None:
            if is_tracer(value):
                raise Traced
            self.inputs.append(value)
            slot = self.slots[key] = -len(self.inputs)
        if given is not value:  # it will be found at once the next time, as long as it lives
            self.settled.append(given)
            self.slots[id(given)] = slot
        return slot

    def known(self, given: Any) -> int | None:
        """The slot of an argument, if it has one already."""
        if type(given) is DeferredValue:
            if given.program is self:
                return given.slot
            slot = self.slots.get(id(given))
            return self.slots.get(id(given.array)) if slot is None and given.program is None else slot
        return self.slots.get(number_key(given) if type(given) in NUMBERS else id(given))

    def extend(self, first: int, code: list[tuple], count: int, made: dict[int, DeferredValue]) -> bool:
        """Append instructions with ``count`` results, of which nobody will see any but those that were ``made``.

        Returns:
            Whether that was done: not if the slots from ``first`` on are taken already.
        """
        values, unseen = [UNSEEN] * count, (range(first, first + count), tuple(made))
        for slot, result in made.items():
            values[slot - first] = result
        if self.size != first:
            return False
        self.size = first + count
        self.code += code
        self.values += values
        self.unseen = unseen
        return True

    def demand(self) -> None:
        """Somebody wants the elements of a result."""
        run(self)

    def grown(self) -> None:
        """It is long."""
        if not self.held:
            run(self)

    def note(self, tensor: Any) -> None:
        """A tensor is going to be written to; those who capture want to know."""

    def withhold(self, storage: Any) -> bool:
        """Whether NumPy sees what is written to a memory only when the program has been run."""
        return False

    def note_constant(self, array: np.ndarray) -> None:
        """The program has been given an array that no tensor has; those who capture want to know."""

    def note_key(self, key: np.ndarray, stream: Any) -> None:
        """A random key was taken from a stream; those who capture want to know."""

    def evaluate(self, value: DeferredValue) -> Any:
        """The array of one result, with nothing run but what it depends on."""
        refuse_forked()
        firsts: dict[int, tuple] = {}
        first = 0
        for instruction in tuple(self.code):
            count = instruction[0].count
            for index in range(count):
                firsts[first + index] = (instruction, first)
            first += count
        with jax.core.eval_context(), quiet_numbers():
            return _evaluated(value.slot, firsts, self.inputs)


quiet_numbers = partial(np.errstate, over="ignore")
"""Around the first call of a kernel: jax converts numbers by NumPy then, which warns of those that become infinite."""

NUMBERS = (bool, int, float, complex, type(None))
"""What kernels take besides arrays: Python numbers, and None for what is absent."""


def number_key(number: Any) -> Any:
    """What tells Python numbers apart that kernels must tell apart: also the signs of zeros."""
    return (type(number), number if number and type(number) is not complex else repr(number))


def _evaluated(slot: int, firsts: dict[int, tuple], inputs: Sequence) -> Any:
    done: dict[int, Any] = {}
    stack = [slot]
    while stack:
        instruction, first = firsts[stack[-1]]
        waiting = [operand for operand in instruction[1:] if operand >= 0 and operand not in done]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        arguments = [done[operand] if operand >= 0 else inputs[~operand] for operand in instruction[1:]]
        for index, result in enumerate(instruction[0].run(*arguments)):
            done[first + index] = result
    return done[slot]


class Call:
    """A kernel for arguments of certain types: what instructions name.

    Attributes:
        kernel: the kernel.
        avals: shape and dtype of each result; None for a result that the kernel leaves out.
        single: whether the kernel gives one array, not a tuple.
        count: how many results there are, without those left out.
        compiled_with_others: how many pieces were compiled that it is a part of.
    """

    __slots__ = ("kernel", "avals", "single", "count", "arity", "compiled_with_others", "__weakref__")

    def __init__(self, kernel: Any, avals: tuple, single: bool, arity: int) -> None:
        self.kernel, self.avals, self.single = kernel, avals, single
        self.count = sum(aval is not None for aval in avals)
        self.arity = arity
        self.compiled_with_others = 0

    @property
    def record(self) -> Callable:
        """``record(*values)`` appends the instruction to the thread's program and gives its results."""
        return _recorders.get(self) or _recorders.keep(self, recorder(self, self.arity))

    def run(self, *arrays: Any) -> tuple:
        """The results, computed now."""
        self.kernel.note_run()
        return self.present(self.kernel.run(*arrays))

    def inline(self, *arguments: Any) -> tuple:
        """The results, for a trace."""
        return self.present(self.kernel.function(*arguments))

    def present(self, results: Any) -> tuple:
        """What the kernel gave, without what it left out."""
        return (results,) if self.single else tuple(result for result in results if result is not None)

    def at_once(self, *values: Any) -> Any:
        """What the kernel gives; for arguments that no program can take."""
        return self.kernel.at_once(*map(settled, values))


_recorders = Cache("recorders")
"""What records each call. Elsewhere a call would hold itself, and the kernel with what was compiled."""


def recording_lines(call: Call, operands: Sequence[str], results: Sequence[str]) -> Iterator[str]:
    """The Python that records a call in ``program``: its arguments are in variables, and so will be its results.

    It uses the names of ``recording_names``, and raises ``Traced``.
    """
    for i, v in enumerate(operands):
        found = f"program.slots.get(id({v})) or program.operand({v})"
        yield f"s{i} = {v}.slot if type({v}) is DeferredValue and {v}.program is program else {found}"
    slots = "".join(f", s{i}" for i in range(len(operands)))
    made = []
    for i, (aval, result) in enumerate(zip(call.avals, results, strict=True)):
        if aval is None:
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
    yield f"if size > {LONGEST}:"
    yield "    program.grown()"


def recording_names(call: Call) -> dict[str, Any]:
    """What the lines that record a call refer to."""
    names = {"recording": recording, "DeferredValue": DeferredValue, "Traced": Traced, "call": call, "new": new}
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
    """The function that records a call, written for the number of its arguments and results."""
    given = [f"v{i}" for i in range(arity)]
    body = call_lines(call, given, program_for(f"recording.device_of({', '.join(given)})"))
    lines = (f"def record({', '.join(given)}):", *(f"    {line}" for line in body))
    return defined(lines, "record", recording_names(call))


class _Recording(threading.local):
    """What the thread is recording.

    Attributes:
        program: the program, where there is only one device, or where what is computed is captured.
        others: the programs by device, where there are several.
    """

    def __init__(self) -> None:
        self.program = Program()
        self.others: dict[Any, Program] = {}

    def on(self, device: Any) -> Program:
        """The program for a device."""
        if device is None or self.program.captures:
            return self.program
        return self.others.setdefault(device, Program(device))

    @staticmethod
    def device_of(*values: Any) -> Any:
        """Where arguments lie, as far as they are not numbers."""
        for value in values:
            if type(value) is DeferredValue and value.program is not None:
                return value.program.device
        arrays = [known for known in map(_known, values) if hasattr(known, "devices")]
        return device_of(arrays[0]) if arrays else get_default_device()

    def renew(self, program: Program) -> None:
        """Begin another program in place of one."""
        if program.device is None:
            self.program = Program()
        else:
            self.others.pop(program.device, None)


recording = _Recording()


def moves(number: Any) -> bool:
    """Whether a number is to be an argument of kernels whatever it is. See Note [Numbers that move]."""
    return recording.program.moves(number)

runners: list[Callable[[Program, bytes], None]] = []
"""What runs a program; ``programs.py`` puts it here."""


def run(program: Program) -> None:
    """Run the thread's program, and begin another one."""
    recording.renew(program)
    if program.code:
        refuse_forked()
        with jax.core.eval_context(), quiet_numbers():  # what was recorded is no part of what jax may be tracing
            runners[0](program, wanted_of(program))


def wanted_of(program: Program) -> bytes:
    """For each result of a program whether somebody holds it."""
    values, (unseen, but) = program.values, program.unseen
    between = bytearray(len(unseen))
    for slot, held in zip(but, _held(map(values.__getitem__, but)), strict=True):
        between[slot - unseen.start] = held
    return _held(islice(values, unseen.start)) + between + _held(islice(values, unseen.stop, None))


def _held(values: Iterable[DeferredValue]) -> bytes:
    """For each of the values of a program whether somebody else holds it."""
    return bytes(map(_HELD.__lt__, map(sys.getrefcount, values)))


def run_pending() -> None:
    """Compute all that this thread has recorded; what is captured belongs to who captures it."""
    if not recording.program.captures:
        for program in (recording.program, *recording.others.values()):
            run(program)


def _lone() -> int:
    """What ``getrefcount`` says of something that only a list holds."""
    return next(map(sys.getrefcount, [new(DeferredValue)]))


_HELD = _lone()
