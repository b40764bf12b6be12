"""The order in which C++'s ``std::sort`` leaves rows of numbers where some are nan, which no order can tell apart.

It is that of introsort as libstdc++ has it, and depends on which rows are compared with which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_SHORT = 16  # as many as are sorted by insertion


def order_of_rows(rows: np.ndarray) -> np.ndarray:
    """The numbers of a matrix's rows as they are sorted by their first elements that are less or more.

    >>> order_of_rows(np.array([[np.nan], [2.0], [1.0]])).tolist()
    [0, 2, 1]
    """
    elements = rows.tolist()

    def less(a: int, b: int) -> bool:
        return next((x < y for x, y in zip(elements[a], elements[b], strict=True) if x < y or x > y), False)

    order = list(range(len(elements)))
    spans = [(0, len(order))]
    while spans:
        first, last = spans.pop()
        while last - first > _SHORT:
            cut = _parted(order, first, last, less)
            spans.append((cut, last))
            last = cut
    _insert(order, less)
    return np.array(order, np.int64)


def _parted(order: list[int], first: int, last: int, less: Callable[[Any, Any], bool]) -> int:
    """The place where a stretch falls into two, after what is less than its pivot was put in front."""
    middle, end = first + (last - first) // 2, last
    a, b, c = order[first + 1], order[middle], order[last - 1]
    if less(a, b):
        pivot = middle if less(b, c) else last - 1 if less(a, c) else first + 1
    else:
        pivot = first + 1 if less(a, c) else last - 1 if less(b, c) else middle
    order[first], order[pivot] = order[pivot], order[first]
    low = first + 1
    while True:
        while low < end - 1 and less(order[low], order[first]):
            low += 1
        last -= 1
        while last > first and less(order[first], order[last]):
            last -= 1
        if low >= last:
            return low
        order[low], order[last] = order[last], order[low]
        low += 1


def _insert(order: list[int], less: Callable[[Any, Any], bool]) -> None:
    for place in range(1, len(order)):
        row = order[place]
        to = place
        if place < _SHORT and less(row, order[0]):
            to = 0
        else:
            while to and less(row, order[to - 1]):
                to -= 1
        order[to + 1 : place + 1] = order[to:place]
        order[to] = row
