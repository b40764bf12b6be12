"""Programs that are being recorded.

Note [Deferred programs]
With ``modes.deferred`` a kernel call computes nothing. It appends an *instruction* to the thread's ``Program``, and
gives a ``DeferredValue`` for each result, whose shape and dtype are known. The program is run when the elements of a
value are wanted (``materialized``), at the end of a backward call, and when it has grown long (``LONGEST``); a new one
is begun.

An instruction is a tuple ``(call, slot, ...)``: what is called (``Call`` in ``recorded_call.py``: a kernel for
arguments of certain types) and where its arguments are: a slot from 0 on is a result, counted from the beginning of the
program; a slot below 0 is an input, an array that was there before or a Python number. So a list of instructions *is*
the structure of a program: two that are equal do the same to other inputs, and comparing two lists of tuples takes
nanoseconds for each.

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

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import jax

from tapegrad._src.doors import Door
from tapegrad._src.execution.data.devices import device_of, get_default_device, refuse_forked
from tapegrad._src.execution.data.values import (
    NUMBERS,
    UNSEEN,
    DeferredValue,
    Traced,
    deferred_value,
    is_tracer,
    known_array,
    new,
    number_key,
    quiet_numbers,
)
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.execution.recording.recording_policy import WASTED, RecordingPolicy, may_suspend

LONGEST = 16384
"""A program is run when it has so many results. XLA's time to compile grows faster than the length of a program."""


class Program:
    """Instructions that have been recorded and not run. See Note [Deferred programs].

    Attributes:
        code: the instructions.
        values: the results, by slot; ``size``: how many there are, also when it has been run.
        inputs: the arrays and numbers that instructions take.
        slots: where an input is: by its identity, or a number by type and value.
        materialized: deferred values that are inputs as arrays.
        device: where it is run; None where there is only one device.
        held: whether it is not run, however long it grows; ``limit``: how many results it may have, else.
        suspended: how many calls are computed as they come, before one is recorded (Note [What is worth recording]).
        computed: what a run of it has computed so far, by slot, as far as it is needed (Note [The last reader]).
        unseen: a range of slots whose results nobody has seen, and the slots in it of which that is not so.
    """

    __slots__ = ("code", "values", "size", "inputs", "slots", "materialized", "device", "held", "unseen", "limit",
                 "suspended", "computed")  # fmt: skip

    def __init__(self, device: Any = None) -> None:
        self.device = device
        self.code: list[tuple] = []
        self.values: list[DeferredValue] = []
        self.size = 0
        self.inputs: list[Any] = []
        self.slots: dict[Any, int] = {}
        self.materialized: list[DeferredValue] = []
        self.held, self.limit, self.suspended = False, WASTED, 0
        self.unseen: tuple[range, Sequence[int]] = (range(0), ())
        self.computed: Sequence[Any] = ()

    def operand(self, given: Any) -> int:
        """The slot of an argument of the next instruction.

        Raises:
            Traced: the argument is a tracer.
        """
        value = given
        if type(given) is DeferredValue:
            if given.program is self:
                return given.slot
            value = given.materialize()
        key = number_key(value) if type(value) in NUMBERS else id(value)
        slot = self.slots.get(key)
        if slot is None:
            if is_tracer(value):
                raise Traced
            self.inputs.append(value)
            slot = self.slots[key] = -len(self.inputs)
        if given is not value:  # it will be found at once the next time, as long as it lives
            self.materialized.append(given)
            self.slots[id(given)] = slot
        return slot

    def append(self, call: Any, given: Iterable[Any]) -> list[Any]:
        """Append the instruction of a call, and give its results; what is written for calls of few does the same.

        Raises:
            Traced: an argument is a tracer.
        """
        instruction = call, *map(self.operand, given)
        results = [None if aval is None else deferred_value(self, 0, aval) for aval in call.avals]
        made = [value for value in results if value is not None]
        count, first = len(made), -1
        while first != self.size:  # else a finalizer has recorded something meanwhile
            first = self.size
            for slot, value in enumerate(made, first):
                value.slot = slot
        self.size = first + count
        self.code += (instruction,)
        self.values += made
        if first > self.limit:
            self.grown()
        return results

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

    def materialize(self, value: DeferredValue) -> None:
        """Give a result its array. See Note [Programs and threads]."""
        if self is recording.on(self.device):
            self.demand()
        else:
            value.array = self.evaluate(value)
            value.program = None

    def demand(self) -> None:
        """Somebody wants the elements of a result."""
        run(self)

    def grown(self) -> None:
        """It is long."""
        if self.limit < LONGEST and not may_suspend():
            self.limit = LONGEST
        elif not self.held:
            run(self)

    def begin(self, computed: list[Any]) -> None:
        """It is run, and ``computed`` is what that computes: nothing more is recorded, nor looked up."""
        self.computed = computed
        self.slots.clear()
        self.materialized.clear()

    def evaluate(self, value: DeferredValue) -> Any:
        """The array of one result, with nothing run but what it depends on and no run has found."""
        refuse_forked()
        firsts: dict[int, tuple] = {}
        first = 0
        for instruction in tuple(self.code):
            count = instruction[0].count
            for index in range(count):
                firsts[first + index] = (instruction, first)
            first += count
        with jax.core.eval_context(), quiet_numbers():
            computed = {slot: array for slot, array in enumerate(self.computed) if array is not None}
            return _evaluated(value.slot, firsts, self.inputs, computed)


def _evaluated(slot: int, firsts: dict[int, tuple], inputs: Sequence, done: dict[int, Any]) -> Any:
    """The array in a slot, where ``done`` are those that are known."""
    stack = [] if slot in done else [slot]
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


class _Recording(threading.local):
    """The recording of a thread.

    Attributes:
        program: the program, where there is only one device, or where what is computed is captured.
        others: the programs by device, where there are several.
        policy: whether it pays to record more.
    """

    def __init__(self) -> None:
        self.program = Program()
        self.policy = RecordingPolicy()
        self.others: dict[Any, Program] = {}

    def on(self, device: Any) -> Program:
        """The program for a device."""
        if device is None or capturing.by is not None:
            return self.program
        return self.others.setdefault(device, Program(device))

    @staticmethod
    def device_of(*values: Any) -> Any:
        """The device of arguments, as far as they are not numbers."""
        for value in values:
            if type(value) is DeferredValue and value.program is not None:
                return value.program.device
        arrays = [known for known in map(known_array, values) if hasattr(known, "devices")]
        return device_of(arrays[0]) if arrays else get_default_device()

    def renew(self, program: Program) -> None:
        """Begin another program in place of one."""
        if program.device is None:
            self.program, capturing.by = Program(), None
        else:
            self.others.pop(program.device, None)

    def go_on(self, program: Program, paid: int) -> None:
        """Decide, when a program has been run, whether what follows is recorded."""
        following, suspended = self.program, program.suspended
        if program.device is not None or following.code or following is program:
            return
        if program.code:
            cut = program.size > program.limit < LONGEST
            count = len(program.code) + max(WASTED - program.limit, 0)
            suspended = self.policy.suspended_after(count, paid, cut)
        following.suspended, following.limit = suspended, LONGEST if self.policy.budget else WASTED


recording = _Recording()

program_runner: Door[Callable[[Program, bytes], int]] = Door(
    "program_runner", filled_by="execution/programs/running.py"
)
"""Runs a program, of which these results are wanted; it says how often such came, if they pay, else 0."""


def run(program: Program) -> None:
    """Run the thread's program, and begin another one."""
    recording.renew(program)
    paid = 0
    if program.code:
        refuse_forked()
        with jax.core.eval_context(), quiet_numbers():  # what was recorded is no part of what jax may be tracing
            paid = program_runner.content(program, wanted_of(program))
    recording.go_on(program, paid)


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


def run_recorded() -> None:
    """Compute all that this thread has recorded; what is captured belongs to who captures it."""
    if capturing.by is None:
        for program in (recording.program, *recording.others.values()):
            if program.code or program.inputs:  # else there is nothing to run
                run(program)
            elif program.suspended:
                program.suspended = recording.policy.still_suspended(program.suspended)


def _lone() -> int:
    """The number that ``getrefcount`` gives for something that only a list holds."""
    return next(map(sys.getrefcount, [new(DeferredValue)]))


_HELD = _lone()


def _after_fork() -> None:
    recording.program.suspended = 0  # so that what is computed meets ``refuse_forked``


os.register_at_fork(after_in_child=_after_fork)
