"""Values that go through a loop, and are given out so that XLA computes them once.

Note [What XLA computes twice]
XLA fuses what computes a value into all who read it, when it takes that to be ``CHEAP``, and computes it once for each.
With a value that goes through a loop, as the gradient of the state of a recurrent cell, this has no end: the tenth
period computes the nine before it once more, each of its readers for itself. Then compiling takes a time that grows
with the square of the periods, and running, too. What somebody outside wants, XLA does not compute twice. So of a value
on a cheap way from one period to the next that is read several times (``loop_carry``) we say that it is wanted, and
drop it. Loops of nothing but cheap operations are one kernel anyway: there it would only write to memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import jax

from tapegrad._src.caches import remembered
from tapegrad._src.execution.data.values import NUMBERS
from tapegrad._src.execution.programs.partition import loops
from tapegrad._src.execution.recording.recorded_call import Call
from tapegrad._src.tape.mechanisms import LOOP_CARRY

CHEAP = frozenset((
    "abs", "add", "add_any", "and", "bitcast_convert_type", "broadcast_in_dim", "ceil", "clamp", "complex", "conj",
    "convert_element_type", "copy", "eq", "floor", "ge", "gt", "imag", "iota", "le", "lt", "max", "min", "mul", "ne",
    "neg", "not", "or", "pad", "real", "reshape", "rev", "round", "select_n", "sign", "slice", "square", "squeeze",
    "sub", "transpose", "xor",
))  # fmt: skip
"""The operations that XLA rather does several times than write what they give to memory, as jaxprs call them."""

KEPT_BYTES = 4 << 20
"""So many bytes may always be given out only for XLA's sake; more, if a subprogram is given twice as many."""

SHORTEST_LOOP = 32
"""The least instructions of a loop, with all its periods, for us to look at what goes through it."""


def extra_outputs(code: Sequence[tuple], wanted: Sequence, arguments: Sequence[Any]) -> list[int]:
    """The results to give out besides those that are wanted, in a program or subprogram with these arguments.

    See Note [What XLA computes twice]. There are none if they are large, for they take memory until all is done.

    Args:
        code: the instructions.
        wanted: for each result whether it is wanted.
        arguments: the arrays and numbers that instructions take.
    """
    if LOOP_CARRY.off:
        return []
    known = [aval for call, *_ in code for aval in call.avals if aval is not None]

    def is_cheap(instruction: tuple) -> bool:
        call, *slots = instruction
        values = [known[slot] if slot >= 0 else arguments[~slot] for slot in slots]
        return computed_twice(call, tuple(map(type_of, values)))

    extra = [slot for slot in loop_carry(code) if not wanted[slot]]
    if extra:
        extra = [slot for slot in loop_carry(code, is_cheap) if not wanted[slot]]
    total = sum(known[slot].nbytes for slot in extra)
    return extra if total <= max(KEPT_BYTES, sum(map(_nbytes, arguments)) // 2) else []


def _nbytes(value: Any) -> int:
    return 0 if isinstance(value, NUMBERS) else math.prod(value.shape) * value.dtype.itemsize


def type_of(value: Any) -> Any:
    """The kind of an operand that ``computed_twice`` has to know: a number, or shape and dtype."""
    return value if isinstance(value, NUMBERS) else jax.ShapeDtypeStruct(value.shape, value.dtype)


@remembered("looked through", nbytes=512)
def computed_twice(call: Call, operands: tuple) -> bool:
    """Tell whether XLA may compute the results of a kernel once for each reader, given its operands' shapes and
    dtypes."""
    with jax.enable_x64(call.kernel.wide):
        return CHEAP.issuperset(operations(call.kernel.function.trace(*operands).jaxpr))


def operations(jaxpr: Any) -> Iterator[str]:
    """The names of what is done in a jaxpr, and in what it calls."""
    for equation in jaxpr.eqns:
        inner = equation.params.get("jaxpr")
        if inner is None:
            yield equation.primitive.name
        else:
            yield from operations(inner)


def loop_carry(code: Sequence[tuple], is_cheap: Callable[[tuple], bool] | None = None) -> list[int]:
    """The results in loops on which depends what a later period does, and which depend on an earlier one themselves.

    Only those that are read several times; with ``is_cheap``, only as far as all that is between them is, and in loops
    where something is not.
    """
    firsts = list(accumulate((call.count for call, *_ in code), initial=0))
    readers = Counter(slot for instruction in code for slot in set(instruction[1:]))
    carried: list[int] = []
    for start, period, times in loops([id(instruction[0]) for instruction in code], SHORTEST_LOOP):
        indices = range(start, start + period * times)
        turns = {i: (i - start) // period for i in indices}
        period_of = {slot: turns[i] for i in indices for slot in range(firsts[i], firsts[i + 1])}
        cheap = [i for i in indices if is_cheap is None or is_cheap(code[i])]
        if is_cheap is not None and set(cheap).issuperset(_carried(code, firsts, turns, period_of, indices)[0]):
            continue  # XLA makes one kernel of what is carried, and computes everything in it once
        late = _carried(code, firsts, turns, period_of, cheap)[1]
        early: set[int] = set()
        for i in reversed(cheap):
            now, slots = turns[i], code[i][1:]
            needed = not early.isdisjoint(range(firsts[i], firsts[i + 1]))
            early.update(slot for slot in slots if needed or period_of.get(slot, now) < now)
        carried += sorted(slot for slot in late & early if readers[slot] > 1)
    return carried


def _carried(
    code: Sequence[tuple], firsts: Sequence[int], turns: dict[int, int], period_of: dict[int, int], among: Sequence[int]
) -> tuple[list[int], set[int]]:
    """Those of some instructions that depend on an earlier period by others of them, and their results."""
    carried: list[int] = []
    late: set[int] = set()
    for i in among:
        now = turns[i]
        if any(slot in late or period_of.get(slot, now) < now for slot in code[i][1:]):
            carried.append(i)
            late.update(range(firsts[i], firsts[i + 1]))
    return carried, late
