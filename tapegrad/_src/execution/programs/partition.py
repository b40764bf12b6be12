"""Subprograms: stretches of instructions that are run as one, and how a program is cut into them.

Note [Repetition]
Python unrolls loops: a recurrent network of 50 steps is recorded as 50 times the same instructions. XLA would compile
each anew, in a time that grows faster than their number. So long programs are searched for stretches whose kernels come
again right after (``repetition``); of these, some periods at a time make a subprogram. In a subprogram results and
arguments are counted from its own beginning: so the subprograms of a loop are equal, and share an executable. The first
period and the last often are a little different, and are made equal: two arguments that are the same array there, as
the state that a recurrent cell begins with, stay two; and a result that nobody wants there is computed nevertheless, if
it is small.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from itertools import chain, compress
from typing import Any, NamedTuple

from tapegrad._src.execution.recording.recorded_call import Call

SHORT = 192
"""Programs of so many instructions are one subprogram, and subprograms have about so many at most."""

LONGEST_PERIOD = 512
"""The most instructions of a loop's body that is found."""

BROAD = 16
"""An instruction with so many results is a subprogram of its own in a long program: XLA compiles a kernel for each of
them, which nobody should have to do anew for what happens to stand beside it."""

SPARE = 16
"""Subprograms are made equal by results that are not needed, of this fraction of the bytes of those that are, at
most."""

Local = tuple[tuple[tuple, ...], tuple[int, ...]]
"""Instructions with slots counted from their own beginning, and which slots of the program their arguments are."""


class Subprogram:
    """Instructions whose arguments are the results of others among them (slots from 0 on) or come from outside.

    Two subprograms are equal if they do the same.

    Attributes:
        code: the instructions.
        wanted: for each of its results whether it is wanted outside.
        calls: the different calls.
        wide: whether one of the kernels needs 64-bit types.
        lone: whether it is one call, of which all results are wanted: so the kernel itself does what is to be done.
    """

    __slots__ = ("code", "wanted", "calls", "wide", "lone", "_hash")

    def __init__(self, code: tuple[tuple, ...], wanted: tuple[bool, ...]) -> None:
        self.code, self.wanted = code, wanted
        self.calls: tuple[Call, ...] = tuple({instruction[0]: None for instruction in code})
        self.wide = any(call.kernel.wide for call in self.calls)
        self.lone = len(code) == 1 and all(wanted)
        self._hash = hash((code, wanted))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subprogram) and self.wanted == other.wanted and self.code == other.code

    def run_by_kernels(self, arguments: Sequence[Any]) -> list[Any]:
        """The wanted results, computed with a call of XLA for each instruction."""
        return self._pick(run_through(self.code, arguments, Call.run))

    def inlined(self, kept: Iterable[int]) -> Callable:
        """The function of its arguments that gives the wanted results, and some more behind them, for a trace."""
        slots = [*(slot for slot, want in enumerate(self.wanted) if want), *kept]

        def subprogram(*arguments: Any) -> list[Any]:
            results = run_through(self.code, arguments, Call.inline)
            return [results[slot] for slot in slots]

        return subprogram

    def _pick(self, results: list[Any]) -> list[Any]:
        return [result for result, want in zip(results, self.wanted, strict=True) if want]


def run_through(code: Sequence[tuple], arguments: Sequence[Any] | dict[int, Any], run: Callable) -> list[Any]:
    """All results of some instructions, where ``run(call, *values)`` gives those of one."""
    results: list[Any] = []
    for call, *slots in code:
        results += run(call, *[results[slot] if slot >= 0 else arguments[~slot] for slot in slots])
    return results


class Placed(NamedTuple):
    """A subprogram in its place in a program.

    Attributes:
        subprogram: the subprogram.
        arguments: which slots of the program its arguments are.
        results: which slots of the program its wanted results are.
        done: the slots, also of inputs, that no later subprogram reads and nobody else wants.
        instructions: which instructions of the program it does the same as.
    """

    subprogram: Subprogram
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    done: tuple[int, ...]
    instructions: slice


def cut(code: Sequence[tuple], wanted: bytes) -> Iterator[Placed]:
    """Cut a program into subprograms, in the order in which they run."""
    broad = {id(call) for call in {instruction[0] for instruction in code} if call.count >= BROAD}
    call_ids = [id(instruction[0]) for instruction in code]
    stretches = list(stretches_of(call_ids, broad))
    last_reader: dict[int, int] = {}
    for number, (start, stop) in enumerate(stretches):
        for instruction in code[start:stop]:
            last_reader.update(dict.fromkeys(instruction[1:], number))
    first = 0
    ranges: list[range] = []
    parts: list[Local] = []
    needs: list[tuple[bool, ...]] = []
    for number, (start, stop) in enumerate(stretches):
        part = code[start:stop]
        slots = range(first, first + sum(instruction[0].count for instruction in part))
        ranges.append(slots)
        parts.append(localized(part, first))
        needs.append(tuple(bool(wanted[slot]) or last_reader.get(slot, number) > number for slot in slots))
        first = slots.stop
    for alike in grouped([tuple(call_ids[start:stop]) for start, stop in stretches]):
        made_equal(alike, parts, needs)
    for number, ((local, arguments), slots, gives) in enumerate(zip(parts, ranges, needs, strict=True)):
        results = tuple(slot for slot, given in zip(slots, gives, strict=True) if given)
        read = (slot for slot in arguments if last_reader[slot] == number)
        unread = (slot for slot in results if last_reader.get(slot, number) == number)
        done = tuple(slot for slot in chain(read, unread) if slot < 0 or not wanted[slot])
        yield Placed(Subprogram(local, gives), arguments, results, done, slice(*stretches[number]))


def grouped(keys: Sequence[Hashable]) -> Iterable[list[int]]:
    """The places of keys that come several times.

    >>> list(grouped("abcacc"))
    [[0, 3], [2, 4, 5]]
    """
    groups: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        groups.setdefault(key, []).append(index)
    return (group for group in groups.values() if len(group) > 1)


def made_equal(alike: list[int], parts: list[Local], needs: list[tuple[bool, ...]]) -> None:
    """Make those of some subprograms equal that can be: ``parts``, and which results they give, by number.

    See Note [Repetition]. They have the same calls.
    """
    general, _ = parts[max(alike, key=lambda number: len(parts[number][1]))]
    equal = []
    for number in alike:
        own = specialized(general, *parts[number])
        if own is not None:
            parts[number] = own
            equal.append(number)
    every = tuple(map(any, zip(*(needs[number] for number in equal), strict=True)))
    sizes = [known.nbytes for call, *_ in general for known in call.avals if known is not None]
    for number in equal:
        more, enough = (sum(compress(sizes, gives)) for gives in (every, needs[number]))
        if (more - enough) * SPARE <= enough:
            needs[number] = every


def specialized(general: tuple, code: tuple, arguments: tuple[int, ...]) -> Local | None:
    """A code and the arguments with which it does what another code does with its own; None if there are none.

    >>> specialized((("mul", -1, -2),), (("mul", -1, -1),), (7,))
    ((('mul', -1, -2),), (7, 7))
    """
    if code == general:
        return general, arguments
    operands = [(some[1:], others[1:]) for some, others in zip(general, code, strict=True)]
    pairs = {pair for some, others in operands for pair in zip(some, others, strict=True)}
    own = {slot: other for slot, other in pairs if slot < 0}
    if len({slot for slot, _ in pairs}) < len(pairs) or any(one != two for one, two in pairs if max(one, two) >= 0):
        return None
    return general, tuple(arguments[~own[~i]] for i in range(len(own)))


def localized(code: Sequence[tuple], first: int) -> Local:
    """Instructions with slots counted from slot ``first`` on, and the slots that come from outside, in order."""
    outside: dict[int, int] = {}
    local = tuple(
        (call, *[slot - first if slot >= first else outside.setdefault(slot, ~len(outside)) for slot in slots])
        for call, *slots in code
    )
    return local, tuple(outside)


def stretches_of(call_ids: Sequence[int], broad: Collection[int] = ()) -> Iterator[tuple[int, int]]:
    """The cuts of a program of which the kernels are given: pairs (start, stop). What is ``broad`` stands alone.

    >>> list(stretches_of([1, 2, 3])), list(stretches_of([7] * 384 + [8, 9], {8}))
    ([(0, 3)], [(0, 192), (192, 384), (384, 385), (385, 386)])
    """
    if len(call_ids) <= SHORT:
        yield 0, len(call_ids)
        return
    start = 0
    for first, period, times in chain(loops(call_ids, SHORT // 2), [(len(call_ids), 1, 0)]):
        for alone in (*(index for index in range(start, first) if call_ids[index] in broad), first):
            yield from parts_of(start, alone, SHORT)
            if alone < first:
                yield alone, alone + 1
            start = alone + 1
        start = first + period * times
        yield from parts_of(first, start, period * periods_in_a_subprogram(period, times))


def parts_of(start: int, stop: int, step: int) -> Iterator[tuple[int, int]]:
    """A stretch in parts that are ``step`` long, of which the last may be shorter."""
    return ((first, min(first + step, stop)) for first in range(start, stop, step))


def loops(call_ids: Sequence[int], least: int) -> Iterator[tuple[int, int, int]]:
    """Stretches of kernels that come again and again: (start, period, times), for those that are ``least`` kernels in
    all.

    >>> list(loops([9, 1, 2, 1, 2, 1, 2, 3], 6))
    [(1, 2, 3)]
    """
    position = 0
    while position < len(call_ids):
        period, times = repetition(call_ids, position)
        if times == 1 or period * times < least:
            position += 1
            continue
        yield position, period, times
        position += period * times


def periods_in_a_subprogram(period: int, times: int) -> int:
    """The number of periods that make a subprogram: as many as are not too long, preferably so that nothing is left
    over.

    >>> periods_in_a_subprogram(13, 50), periods_in_a_subprogram(1, 4096), periods_in_a_subprogram(300, 7)
    (10, 128, 1)
    """
    most = max(1, min(times, SHORT // period))
    return next((count for count in range(most, most // 2, -1) if times % count == 0), most)


def repetition(call_ids: Sequence[int], start: int) -> tuple[int, int]:
    """The shortest period with which the sequence goes on from ``start``, and how many times; (1, 1) if it does not.

    >>> repetition([9, 1, 2, 1, 2, 1, 2, 3], 1), repetition([1, 2, 3], 0)
    ((2, 3), (1, 1))
    """
    limit = min(LONGEST_PERIOD, (len(call_ids) - start) // 2)
    candidate = start
    while True:
        try:
            candidate = call_ids.index(call_ids[start], candidate + 1, start + limit + 1)
        except ValueError:
            return 1, 1
        period = candidate - start
        if call_ids[start : start + period] == call_ids[start + period : start + 2 * period]:
            return period, _times(call_ids, start, period)


def _times(call_ids: Sequence[int], start: int, period: int) -> int:
    """The number of times that the first ``period`` elements from ``start`` on stand one after the other."""
    times, body = 2, call_ids[start : start + period]
    while call_ids[start + times * period : start + (times + 1) * period] == body:
        times += 1
    return times
