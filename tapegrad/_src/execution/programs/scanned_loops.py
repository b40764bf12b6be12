"""Loops of a long program as loops of XLA's: ``jax.lax.scan`` over periods that Python has unrolled.

Note [Scanned loops]
A recurrent network of a hundred steps is recorded as a hundred times the same instructions (Note [Repetition] in
``partition.py``). XLA compiles a loop of one period in the time that a period takes. So in a program that is long for
its loops each operand of a period is looked at, what it is in all periods: a result of the same period; of the one
before, which the loop carries; the same value from outside; or another one in each, of which an array is made that the
loop goes through. What is read outside of the loop is carried, if it is the last period's, or put into an array. A loop
in which an operand is something else, as in the first and the last period it often is, is begun later, or ends before.
A loop that goes through the results of another one, forwards or backwards, as a backward pass does, takes its array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.programs.loop_carry import PRODUCTS, avals_of, operations_in
from tapegrad._src.execution.programs.partition import loops, run_through
from tapegrad._src.execution.recording.recorded_call import Call

LEAST_TIMES, LEAST_INSTRUCTIONS = 8, 64
"""The least periods and instructions of a loop that is made one of XLA's."""

MOST_BYTES = 1 << 16
"""So large may a value be of which each period reads another one: they are copied into one array."""

LEFT_OUT = (0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1), (2, 2)
"""The numbers of periods that may stand before and behind the loop, in the order in which that is tried."""

LOCAL, CARRIED, FIXED, VARIED = range(4)
"""The roles of operands: of the same period, of the one before, the same from outside, and another one each time."""


class Unscannable(Exception):
    """An error: a loop turns out to be none that XLA could go through, while it is traced."""


class ScannedLoop(NamedTuple):
    """A stretch of instructions that is one period, several times.

    Attributes:
        start, stop: the instructions.
        times: how many periods they are.
        first, width: the slot of its first result, and how many results a period has.
        body: the instructions of a period; operands are pairs of a role, and a slot or a number.
        carried: pairs of a result that the next period reads, and the slot that the first period reads instead; of
            results that no period reads, None.
        varied: the slots of which each period reads another one.
        last: the results of which that of the last period is read outside, as numbers of what the loop carries: results
            that no period reads are carried behind the others. ``stacked``: those of which others are read outside.
    """

    start: int
    stop: int
    times: int
    first: int
    width: int
    body: tuple[tuple[Call, tuple[tuple[int, int], ...]], ...]
    carried: tuple[tuple[int, int | None], ...]
    varied: tuple[tuple[int, ...], ...]
    last: tuple[int, ...]
    stacked: tuple[int, ...]

    @property
    def slots(self) -> range:
        """The slots of its results."""
        return range(self.first, self.first + self.times * self.width)


def scanned_loops(code: Sequence[tuple], wanted: Sequence, inputs: Sequence[Any]) -> list[ScannedLoop]:
    """The loops of a program that XLA can go through, without large arrays being put together for it.

    Args:
        code: its instructions.
        wanted: for each result whether it is wanted.
        inputs: the arrays and numbers that it may be given.
    """
    firsts = list(accumulate((call.count for call, *_ in code), initial=0))
    avals = avals_of(code)
    scanned: list[ScannedLoop] = []

    def is_small(slots: tuple[int, ...]) -> bool:
        if any(slots[1] in one.slots for one in scanned):
            return True
        return all(getattr(avals[slot] if slot >= 0 else inputs[~slot], "nbytes", 0) <= MOST_BYTES for slot in slots)

    for start, period, times in loops([id(instruction[0]) for instruction in code], LEAST_INSTRUCTIONS):
        for before, behind in LEFT_OUT:
            count = times - before - behind
            loop = _loop(code, firsts, start + before * period, period, count) if count >= LEAST_TIMES else None
            if loop is not None:
                scanned += [loop] if all(map(is_small, loop.varied)) else []
                break
    return [_with_outputs(loop, code, wanted) for loop in scanned]


def _loop(code: Sequence[tuple], firsts: Sequence[int], start: int, period: int, times: int) -> ScannedLoop | None:
    """The loop of so many periods, of which it is not known yet what is read outside; None if it is none."""
    stop, first, width = start + period * times, firsts[start], firsts[start + period] - firsts[start]
    end = firsts[stop]
    carried: dict[tuple[int, int], int] = {}
    varied: dict[tuple[int, ...], int] = {}

    def operand(slots: tuple[int, ...]) -> tuple[int, int] | None:
        own = [slot - first - number * width for number, slot in enumerate(slots)]
        if own[1:] == own[:-1] and 0 <= own[0] < width:
            return LOCAL, own[0]
        if own[2:] == own[1:-1] and -width <= own[1] < 0 and not first <= slots[0] < end:
            return CARRIED, carried.setdefault((own[1] + width, slots[0]), len(carried))
        if any(first <= slot < end for slot in slots):
            return None
        if slots[1:] == slots[:-1]:
            return FIXED, slots[0]
        return VARIED, varied.setdefault(slots, len(varied))

    body: list[Any] = []
    for instruction in range(start, start + period):
        rows = zip(*(code[one][1:] for one in range(instruction, stop, period)), strict=True)
        operands = tuple(map(operand, rows))
        if None in operands:
            return None
        body.append((code[instruction][0], operands))
    return ScannedLoop(start, stop, times, first, width, tuple(body), tuple(carried), tuple(varied), (), ())


def _with_outputs(loop: ScannedLoop, code: Sequence[tuple], wanted: Sequence) -> ScannedLoop:
    """A loop, with what is read of it outside."""
    end = loop.first + loop.times * loop.width
    readers = chain(code[: loop.start], code[loop.stop :])
    outside = {slot for _, *slots in readers for slot in slots if loop.first <= slot < end}
    outside.update(slot for slot in range(loop.first, end) if wanted[slot])
    begin = end - loop.width
    stacked = tuple(sorted({(slot - loop.first) % loop.width for slot in outside if slot < begin}))
    positions = {k: position for position, (k, _) in enumerate(loop.carried)}
    ends = sorted({slot - begin for slot in outside if slot >= begin} - set(stacked))
    more = [k for k in ends if k not in positions]
    positions |= {k: len(loop.carried) + number for number, k in enumerate(more)}
    carried = (*loop.carried, *((k, None) for k in more))
    return loop._replace(carried=carried, last=tuple(positions[k] for k in ends), stacked=stacked)


class Element(NamedTuple):
    """A result of a period: an element of the array of all."""

    array: Any
    number: int


def run_through_loops(code: Sequence[tuple], arguments: dict[int, Any], scanned: Sequence[ScannedLoop]) -> Callable:
    """Compute a program in a trace, with some of its loops as XLA's; the function that gives the value of a slot.

    Raises:
        Unscannable: one of them is no loop of XLA's.
    """
    results: list[Any] = []
    taken: dict[int, Any] = {}

    def value(slot: int) -> Any:
        one = results[slot] if slot >= 0 else arguments[~slot]
        if type(one) is not Element:
            return one
        if slot not in taken:
            taken[slot] = lax.index_in_dim(one.array, one.number, keepdims=False)
        return taken[slot]

    done = 0
    for loop in scanned:
        _straight(code[done : loop.start], results, value)
        results += _scan(loop, results, value)
        done = loop.stop
    _straight(code[done:], results, value)
    return value


def _straight(code: Sequence[tuple], results: list, value: Callable) -> None:
    for call, *slots in code:
        whole = _joined(call, slots, results) if len(slots) >= LEAST_TIMES and call.single else None
        results += call.inline(*map(value, slots)) if whole is None else [whole]


def _joined(call: Call, slots: Sequence[int], results: Sequence[Any]) -> Any:
    """The result of ``cat`` or ``stack`` of what the periods of a loop have given; None if a call is none such."""
    array = _stretch(slots, results)
    if array is None:
        return None
    each = jax.ShapeDtypeStruct(array.shape[1:], array.dtype)
    jaxpr = call.kernel.function.trace(*[each] * len(slots)).jaxpr
    while len(jaxpr.eqns) == 1 and "jaxpr" in jaxpr.eqns[0].params and jaxpr.eqns[0].invars == jaxpr.invars:
        jaxpr = jaxpr.eqns[0].params["jaxpr"].jaxpr
    if len(jaxpr.eqns) != 1 or jaxpr.eqns[0].invars != jaxpr.invars:
        return None
    name, params = jaxpr.eqns[0].primitive.name, jaxpr.eqns[0].params
    if (name, params.get("dimension")) != ("concatenate", 0) and (name, params.get("axis")) != ("stack", 0):
        return None
    (aval,) = call.avals
    return lax.reshape(array, aval.shape)


def _stretch(slots: Sequence[int], results: Sequence[Any]) -> Any:
    """The part of an array whose elements all slots are, one after the other, or backwards; None if they are not."""
    if len(next(_runs(slots, results))) < len(slots):
        return None
    array, *_ = results[slots[0]]
    first, last = results[slots[0]].number, results[slots[-1]].number
    part = lax.slice_in_dim(array, min(first, last), max(first, last) + 1)
    return lax.rev(part, (0,)) if last < first else part


def _scan(loop: ScannedLoop, results: list, value: Callable) -> list[Any]:
    """The results of a loop; None for those that nothing outside reads."""
    avals = avals_of(loop.body)
    fixed = {slot: value(slot) for _, operands in loop.body for role, slot in operands if role == FIXED}
    begun = [
        jnp.zeros(avals[k].shape, avals[k].dtype) if slot is None else value(slot) for k, slot in loop.carried
    ]
    if any(_type(one) != _type(avals[k]) for one, (k, _) in zip(begun, loop.carried, strict=True)):
        raise Unscannable
    gone_through = [_together(slots, results, value) for slots in loop.varied]

    def period(carried: list, varied: list) -> tuple[list, list]:
        local: list[Any] = []
        for call, operands in loop.body:
            given = [(local, carried, fixed, varied)[role][number] for role, number in operands]
            made = call.inline(*given)
            if any(_type(one) != _type(aval) for one, aval in zip(made, avals_of([(call,)]), strict=True)):
                raise Unscannable
            local += made
        return [local[k] for k, _ in loop.carried], [local[k] for k in loop.stacked]

    ended, stacked = lax.scan(period, begun, gone_through, length=loop.times)
    given: list[Any] = [None] * (loop.times * loop.width)
    for position in loop.last:
        given[loop.carried[position][0] - loop.width] = ended[position]
    for k, array in zip(loop.stacked, stacked, strict=True):
        given[k :: loop.width] = [Element(array, number) for number in range(loop.times)]
    return given


def _type(one: Any) -> tuple:
    """Shape and dtype; of numbers none that an array has."""
    return (tuple(one.shape), jnp.dtype(one.dtype)) if hasattr(one, "dtype") else (type(one), None)


def _together(slots: Sequence[int], results: Sequence[Any], value: Callable) -> Any:
    """The array of values of which each period reads another one.

    Raises:
        Unscannable: they are of several types.
    """
    runs = list(_runs(slots, results))
    if len(runs) == len(slots):
        values = [value(slot) for slot in slots]
        types = {_type(one) for one in values}
        if len(types) > 1 or types & {(bool, None), (complex, None)}:
            raise Unscannable
        return jnp.stack(values) if hasattr(values[0], "dtype") else jnp.asarray(values)
    parts = [jnp.expand_dims(value(run[0]), 0) if len(run) == 1 else _stretch(run, results) for run in runs]
    if len({(part.shape[1:], part.dtype) for part in parts}) > 1:
        raise Unscannable
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, 0)


def _runs(slots: Sequence[int], results: Sequence[Any]) -> Iterator[list[int]]:
    """Slots in runs, each of elements of one array that stand one after the other, or backwards; others are alone."""
    run: list[int] = []
    step = 0
    for slot in slots:
        one: Any = results[slot] if slot >= 0 else None
        before: Any = results[run[-1]] if run and run[-1] >= 0 else None
        apart = one.number - before.number if type(one) is type(before) is Element else 0
        if not run or abs(apart) != 1 or one.array is not before.array or (len(run) > 1 and apart != step):
            if run:
                yield run
            run = []
        else:
            step = apart
        run.append(slot)
    yield run


def with_products(scanned: Sequence[ScannedLoop], code: Sequence[tuple], inputs: Sequence[Any]) -> list[ScannedLoop]:
    """The loops in which there are products: of many periods of others XLA makes one kernel, which is quicker."""
    known = avals_of(code) if scanned else ()

    def has_products(loop: ScannedLoop) -> bool:
        period = code[loop.start : loop.start + len(loop.body)]
        return any(PRODUCTS & one for one in operations_in(period, known, inputs))

    return list(filter(has_products, scanned))


def shorter_by(scanned: Sequence[ScannedLoop]) -> int:
    """The number of instructions that XLA need not compile."""
    return sum((loop.times - 1) * len(loop.body) for loop in scanned)


def traced(code: Sequence[tuple], arguments: dict[int, Any], scanned: Sequence[ScannedLoop]) -> Callable[[int], Any]:
    """The function that gives the value of a slot of a program, computed in a trace, by loops if that can be."""
    if scanned:
        try:
            return run_through_loops(code, arguments, scanned)
        except Unscannable:
            pass
    return run_through(code, arguments, Call.inline).__getitem__

