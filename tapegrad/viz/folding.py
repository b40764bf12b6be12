"""Repetition, found and folded: fifty steps of a loop are one box, × 50.

Note [Repeated boxes]
The boxes of a group stand in an order (Note [Boxes in order]), so what a loop made is a stretch that comes again and
again. Boxes are alike that have the same name, take gradients of the same shapes and dtypes, and, of groups, have like
boxes inside. Of all stretches that are repeated, those that leave out most boxes are folded first; what is inside is
folded in turn. Then one repetition stands for all: the last one that was made, to which backward comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from tapegrad.viz.boxes import REPEAT, TapeBox
from tapegrad.viz.describing import inputs_of, is_leaf, plain_name

FEWEST, LEAST_SAVED = 3, 6
"""The least number of times that something comes to be folded, and of boxes that are left out by it."""

WORK = 30_000_000
"""About how many comparisons are made at most: where there are many boxes, only short periods are looked for."""


class TapeFolding:
    """The result of folding.

    Attributes:
        stands_for: of a box that isn't drawn, the one that is drawn in its place.
        turns: of each box in a repetition, in which it is: the box of all of them, and a number.
    """

    def __init__(self) -> None:
        self.stands_for: dict[TapeBox, TapeBox] = {}
        self.turns: dict[TapeBox, dict[TapeBox, int]] = {}
        self._likeness: dict[tuple, int] = {}

    def drawn(self, box: TapeBox) -> TapeBox:
        """The box that is drawn for one."""
        while box in self.stands_for:
            box = self.stands_for[box]
        return box

    def fold(self, group: TapeBox) -> None:
        """Fold what is repeated in a group, and in those inside."""
        for box in group.inside:
            if box.inside:
                self.fold(box)
        self._fold_row(group)

    def _fold_row(self, group: TapeBox) -> None:
        """Fold what is repeated in one row of boxes."""
        row, kept, end = group.inside, [], 0
        sizes = [1 + sum(1 for _ in box.boxes()) for box in row]
        for start, period, count in repeats([self.likeness(box) for box in row], sizes):
            kept += row[end:start]
            end = start + period * count
            kept.append(self._folded(row[start:end], period, count))
        group.put([*kept, *row[end:]])

    def _folded(self, row: Sequence[TapeBox], period: int, count: int) -> TapeBox:
        """One box for several repetitions."""
        first = row[:period]
        box = first[0] if period == 1 else TapeBox(REPEAT, label="repeated")
        for turn in range(count):
            members = row[turn * period : (turn + 1) * period]
            for one in members:
                for inner in (one, *one.boxes()):
                    self.turns.setdefault(inner, {})[box] = turn
            if turn:
                self._let_stand(first, members)
                box.others.append(members[0] if period == 1 else undrawn(members))
        box.count *= count
        if len({one.label for one in row[::period]}) > 1:
            first[0].label = without_numbers(first[0].label)
        if period > 1:
            box.put(first)
            self._fold_row(box)
        return box

    def _let_stand(self, first: Iterable[TapeBox], others: Iterable[TapeBox]) -> None:
        """Let the boxes of one repetition stand for those of another, and so for those that are inside."""
        for one, other in zip(first, others, strict=True):
            self.stands_for[other] = one
            self._let_stand(one.inside, other.inside)

    def likeness(self, box: TapeBox) -> int:
        """A number that boxes share which are alike."""
        if box.node is not None:
            key: tuple = (is_leaf(box.node) or plain_name(box.node), inputs_of(box.node), box.count)
        else:
            key = (box.kind, without_numbers(box.label), box.count, tuple(map(self.likeness, box.inside)))
        return self._likeness.setdefault(key, len(self._likeness))

    def is_carried(self, source: TapeBox, target: TapeBox) -> bool:
        """Tell whether an edge leads from one repetition to another."""
        one, other = self.turns.get(source, {}), self.turns.get(target, {})
        return any(other.get(box, turn) != turn for box, turn in one.items())


def undrawn(members: Sequence[TapeBox]) -> TapeBox:
    """A box for one repetition that isn't drawn."""
    box = TapeBox(REPEAT)
    box.inside = list(members)
    return box


def without_numbers(label: str) -> str:
    """The name of a box, whichever of several it is.

    >>> without_numbers("layers.11: Layer")
    'layers.*: Layer'
    """
    return re.sub(r"\d+", "*", label)


def repeats(numbers: Sequence[int], sizes: Sequence[int] | None = None) -> list[tuple[int, int, int]]:
    """Stretches that are repeated: where they start, how long one repetition is, and how many there are.

    Args:
        numbers: the row, alike ones with the same number.
        sizes: how many boxes each of them is; one, if nothing is said.

    >>> repeats([9, *[1, 2, 3] * 5, 9])
    [(1, 3, 5)]
    >>> repeats([1, 2, 3, 4]), repeats([7] * 10)
    ([], [(0, 1, 10)])
    """
    row = np.asarray(numbers)
    before = np.concatenate([[0], np.cumsum(np.ones_like(row) if sizes is None else np.asarray(sizes))])

    def left_out(run: tuple[int, int, int]) -> int:
        start, period, count = run
        return int(before[start + period * count] - before[start + period])

    found = [run for period in range(1, longest_period(len(row)) + 1) for run in runs_of(row, period)]
    found = [run for run in found if left_out(run) >= LEAST_SAVED]
    found.sort(key=lambda run: (-left_out(run), run[1]))
    taken, chosen = np.zeros(len(row), bool), []
    for start, period, count in found:
        part = taken[start : start + period * count]
        if not part.any():
            part[:] = True
            chosen.append((start, period, count))
    return sorted(chosen)


def longest_period(length: int) -> int:
    """The longest repetition that is looked for among so many boxes."""
    return min(length // FEWEST, max(16, WORK // max(length, 1)))


def runs_of(row: np.ndarray, period: int) -> list[tuple[int, int, int]]:
    """The stretches of one length that are repeated, often enough to be folded."""
    same = np.concatenate([[False], row[:-period] == row[period:], [False]])
    edges = np.flatnonzero(same[1:] != same[:-1])
    runs = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    counted = [(start, period, (end - start) // period + 1) for start, end in runs]
    return [run for run in counted if run[2] >= FEWEST]
