"""Pieces of programs: stretches of instructions that are run as one, and how a program is cut into them.

Note [Repetition]
Python unrolls loops: a recurrent network of 50 steps is recorded as 50 times the same instructions. XLA would compile
each anew, in a time that grows faster than their number. So long programs are searched for stretches whose kernels
come again right after (``repetition``); of these, some periods at a time make a piece. In a piece results and arguments
are counted from its own beginning: so the pieces of a loop are equal, and share an executable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tapegrad.execution.pending import Call

SHORT = 192
"""Programs of so many instructions are one piece, and pieces have about so many at most."""

LONGEST_PERIOD = 512
"""How many instructions a loop's body may have, to be found."""


class Piece:
    """Instructions whose arguments are the results of others among them (slots from 0 on) or come from outside.

    Two pieces are equal if they do the same.

    Attributes:
        code: the instructions.
        wanted: for each of its results whether it is wanted outside.
        calls: the different calls.
        wide: whether one of the kernels needs 64-bit types.
    """

    __slots__ = ("code", "wanted", "calls", "wide", "_hash")

    def __init__(self, code: tuple[tuple, ...], wanted: tuple[bool, ...]) -> None:
        self.code, self.wanted = code, wanted
        self.calls: tuple[Call, ...] = tuple({instruction[0]: None for instruction in code})
        self.wide = any(call.kernel.wide for call in self.calls)
        self._hash = hash((code, wanted))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Piece) and self.wanted == other.wanted and self.code == other.code

    def run_by_kernels(self, arguments: Sequence[Any]) -> list[Any]:
        """The wanted results, computed with a call of XLA for each instruction."""
        return self._pick(run_through(self.code, arguments, Call.run))

    def inlined(self, *arguments: Any) -> list[Any]:
        """The wanted results, for a trace: kernels are inlined."""
        return self._pick(run_through(self.code, arguments, Call.inline))

    def _pick(self, results: list[Any]) -> list[Any]:
        return [result for result, want in zip(results, self.wanted, strict=True) if want]


def run_through(code: Sequence[tuple], arguments: Sequence[Any] | dict[int, Any], run: Callable) -> list[Any]:
    """All results of some instructions, where ``run(call, *values)`` gives those of one."""
    results: list[Any] = []
    for call, *slots in code:
        results += run(call, *[results[slot] if slot >= 0 else arguments[~slot] for slot in slots])
    return results


class Placed(NamedTuple):
    """A piece in its place in a program.

    Attributes:
        piece: the piece.
        arguments: which slots of the program its arguments are.
        results: which slots of the program its wanted results are.
        done: the slots that no later piece reads and nobody else wants.
    """

    piece: Piece
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    done: tuple[int, ...]


def cut(code: Sequence[tuple], wanted: bytes) -> Iterator[Placed]:
    """Cut a program into pieces, in the order in which they run."""
    stretches = list(stretches_of([id(instruction[0]) for instruction in code]))
    last_reader: dict[int, int] = {}
    for number, (start, stop) in enumerate(stretches):
        for instruction in code[start:stop]:
            last_reader.update(dict.fromkeys(instruction[1:], number))
    first = 0
    for number, (start, stop) in enumerate(stretches):
        part = code[start:stop]
        local, arguments = localized(part, first)
        slots = range(first, first + sum(instruction[0].count for instruction in part))
        wants = tuple(bool(wanted[slot]) or last_reader.get(slot, number) > number for slot in slots)
        results = tuple(slot for slot, want in zip(slots, wants, strict=True) if want)
        done = tuple(slot for slot in arguments if slot >= 0 and last_reader[slot] == number and not wanted[slot])
        yield Placed(Piece(local, wants), arguments, results, done)
        first = slots.stop


def localized(code: Sequence[tuple], first: int) -> tuple[tuple[tuple, ...], tuple[int, ...]]:
    """Instructions with slots counted from slot ``first`` on, and the slots that come from outside, in order."""
    outside: dict[int, int] = {}
    local = tuple(
        (call, *[slot - first if slot >= first else outside.setdefault(slot, ~len(outside)) for slot in slots])
        for call, *slots in code
    )
    return local, tuple(outside)


def stretches_of(kinds: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where to cut a program of which the kernels are given: pairs (start, stop).

    >>> list(stretches_of([1, 2, 3])), list(stretches_of([7] * 384 + [8]))
    ([(0, 3)], [(0, 192), (192, 384), (384, 385)])
    """
    if len(kinds) <= SHORT:
        yield 0, len(kinds)
        return
    start = position = 0
    while position < len(kinds):
        period, times = repetition(kinds, position)
        if period * times < SHORT // 2:
            position += 1
            if position - start == SHORT:
                yield start, position
                start = position
            continue
        if start < position:
            yield start, position
        step = period * periods_in_a_piece(period, times)
        end = position + period * times
        while position < end:
            yield position, min(position + step, end)
            position = min(position + step, end)
        start = position
    if start < len(kinds):
        yield start, len(kinds)


def periods_in_a_piece(period: int, times: int) -> int:
    """How many periods make a piece: as many as are not too long, preferably so that nothing is left over.

    >>> periods_in_a_piece(13, 50), periods_in_a_piece(1, 4096), periods_in_a_piece(300, 7)
    (10, 128, 1)
    """
    most = max(1, min(times, SHORT // period))
    return next((count for count in range(most, most // 2, -1) if times % count == 0), most)


def repetition(kinds: Sequence[int], start: int) -> tuple[int, int]:
    """The shortest period with which the sequence goes on from ``start``, and how many times; (1, 1) if it does not.

    >>> repetition([9, 1, 2, 1, 2, 1, 2, 3], 1), repetition([1, 2, 3], 0)
    ((2, 3), (1, 1))
    """
    limit = min(LONGEST_PERIOD, (len(kinds) - start) // 2)
    candidate = start
    while True:
        try:
            candidate = kinds.index(kinds[start], candidate + 1, start + limit + 1)
        except ValueError:
            return 1, 1
        period = candidate - start
        if kinds[start : start + period] == kinds[start + period : start + 2 * period]:
            return period, _times(kinds, start, period)


def _times(kinds: Sequence[int], start: int, period: int) -> int:
    """How often the first ``period`` elements from ``start`` on stand one after the other."""
    times, body = 2, kinds[start : start + period]
    while kinds[start + times * period : start + (times + 1) * period] == body:
        times += 1
    return times
