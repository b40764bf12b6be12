"""Convolutions of many images, some images by each thread.

Note [Shares of a batch]
Each image is convolved by itself, so the images of a batch are shared out among threads (Note [Threads that help] in
``state/threads.py``), some to a share. What all of them read, as the kernel at Winograd's points, is made once before;
each share has memory of its own for what is laid out. The gradient of a kernel is a sum over images: each share makes
one, and they are added in order.

The shares follow from the shapes alone, so the same bits come on any number of threads. Where they are few beside the
threads, as of a single image, BLAS has these instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad._src.execution.state.threads import blas_alone, helpers

MOST, EACH, SUMS = 32, 1e7, 1 << 23
"""The most shares, the least multiplications of each, and the most numbers of all sums together."""

FEW, LEAST = 4, 3e6
"""Up to so many shares may have fewer multiplications, but so many."""


def shares(batch: int, multiplications: float, numbers: int = 0, least: int = 1) -> list[slice]:
    """The images of each share.

    Args:
        batch: how many images there are.
        multiplications: of all of them.
        numbers: how many of them a sum has, if each share makes one.
        least: of how many images a share is at least.

    >>> shares(8, 8e6)
    [slice(0, 4, None), slice(4, 8, None)]
    """
    wanted = max(multiplications / EACH, min(multiplications / LEAST, FEW))
    most = int(min(batch // least, wanted, SUMS / numbers if numbers else MOST, MOST))
    each = max(-(-batch // (1 << max(most, 1).bit_length() - 1)), 1)
    return [slice(first, min(first + each, batch)) for first in range(0, max(batch, 1), each)]


def together(compute: Callable[[slice], Any], parts: list[slice]) -> list[Any]:
    """The results of a function for all shares, computed by several threads if that is quicker."""
    results: list[Any] = [None] * len(parts)

    def work(number: int) -> None:
        results[number] = compute(parts[number])

    if len(parts) > 1 and 2 * len(parts) >= helpers.number and helpers.can_help():
        with blas_alone():
            helpers.run(work, len(parts))
    else:
        for number in range(len(parts)):
            work(number)
    return results


def summed(compute: Callable[[slice], np.ndarray], parts: list[slice]) -> np.ndarray:
    """The sum of what a function gives for all shares, in an array that it has given."""
    total, *others = together(compute, parts)
    for one in others:
        np.add(total, one, total)
    return total


def runs(count: int, at_once: int) -> Iterator[slice]:
    """So many images, some after the others, about as many each time.

    >>> list(runs(4, 3))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    each = -(-count // -(-count // at_once))
    for first in range(0, count, each):
        yield slice(first, min(first + each, count))
