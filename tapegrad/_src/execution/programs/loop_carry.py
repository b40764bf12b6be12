"""Values that go through a loop, and are given out so that XLA computes them once.

Note [What XLA computes twice]
XLA fuses what computes a value into all who read it, when it takes that to be ``CHEAP``, and computes it once for each.
With a value that goes through a loop, as the state of a recurrent cell and its gradient, this has no end: the tenth
period computes the nine before it once more, each of its readers for itself. Then compiling takes a time that grows
with the square of the periods, and running, too. What somebody outside wants, XLA does not compute twice. So what one
period of a loop gives to a later one we say is wanted, and drop it: a cell of 60 periods is compiled in a sixth of the
time, and runs in a ninth. Loops of nothing but cheap operations are one kernel anyway: there it would only write
to memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
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

PRODUCTS = frozenset(("conv_general_dilated", "dot_general"))
"""Operations that are kernels by themselves, so that what stands between those of two periods is several."""

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
    known = avals_of(code)
    done_in = partial(operations_in, known=known, arguments=arguments)
    extra = [slot for slot in loop_carry(code, done_in) if not wanted[slot]]
    total = sum(known[slot].nbytes for slot in extra)
    return extra if total <= max(KEPT_BYTES, sum(map(_nbytes, arguments)) // 2) else []


def avals_of(code: Sequence[tuple]) -> list[Any]:
    """Shape and dtype of each result of a program."""
    return [aval for call, *_ in code for aval in call.avals if aval is not None]


def operations_in(
    instructions: Sequence[tuple], known: Sequence[Any], arguments: Sequence[Any]
) -> Iterator[frozenset[str]]:
    """The names of what each of some instructions of a program does, with these arguments; ``known``: ``avals_of`` it.
    """
    for call, *slots in instructions:
        values = [known[slot] if slot >= 0 else arguments[~slot] for slot in slots]
        yield operations_of(call, tuple(map(type_of, values)))


def _nbytes(value: Any) -> int:
    return 0 if isinstance(value, NUMBERS) else math.prod(value.shape) * value.dtype.itemsize


def type_of(value: Any) -> Any:
    """The kind of an operand that ``computed_twice`` has to know: a number, or shape and dtype."""
    return value if isinstance(value, NUMBERS) else jax.ShapeDtypeStruct(value.shape, value.dtype)


def computed_twice(call: Call, operands: tuple) -> bool:
    """Tell whether XLA may compute the results of a kernel once for each reader, given its operands' shapes and
    dtypes."""
    return CHEAP.issuperset(operations_of(call, operands))


@remembered("looked through", nbytes=512)
def operations_of(call: Call, operands: tuple) -> frozenset[str]:
    """The names of what a kernel does, given its operands' shapes and dtypes."""
    with jax.enable_x64(call.kernel.wide):
        return frozenset(operations(call.kernel.function.trace(*operands).jaxpr))


def operations(jaxpr: Any) -> Iterator[str]:
    """The names of what is done in a jaxpr, and in what it calls."""
    for equation in jaxpr.eqns:
        inner = equation.params.get("jaxpr")
        if inner is None:
            yield equation.primitive.name
        else:
            yield from operations(inner)


def loop_carry(code: Sequence[tuple], done_in: Callable[[Sequence[tuple]], Iterable[frozenset[str]]]) -> list[int]:
    """The results of a loop that its later periods read.

    Only those that are read several times, if there are no products in the loop, and none if all in it is cheap.

    Args:
        done_in: gives the names of what each of some instructions does.
    """
    readers = Counter(slot for instruction in code for slot in set(instruction[1:]))
    carried: list[int] = []
    for start, period, _, read in _read_later(code):
        if not read:
            continue
        done = frozenset().union(*done_in(code[start : start + period]))
        if done <= CHEAP:
            continue  # XLA makes one kernel of it, and computes everything in it once
        least = 1 if done & PRODUCTS else 2
        carried += sorted(slot for slot in read if readers[slot] >= least)
    return carried


def pairs_of_periods(code: Sequence[tuple]) -> int:
    """The pairs of periods of loops that give something to later periods, times the instructions of a period."""
    return sum(period * times**2 for _, period, times, read in _read_later(code) if read)


def _read_later(code: Sequence[tuple]) -> Iterator[tuple[int, int, int, set[int]]]:
    """The loops, ``(start, period, times)``, with the results that later periods of them read."""
    firsts = list(accumulate((call.count for call, *_ in code), initial=0))
    for start, period, times in loops([id(instruction[0]) for instruction in code], SHORTEST_LOOP):
        indices = range(start, start + period * times)
        period_of = {slot: (i - start) // period for i in indices for slot in range(firsts[i], firsts[i + 1])}
        read = {slot for i in indices for slot in code[i][1:] if period_of.get(slot, times) < (i - start) // period}
        yield start, period, times, read
