"""Convolutions whose windows move by one element: products of matrices that are laid out by copies of whole rows.

Note [Swept planes]
Of a padded image, row after row in one line, what all windows read at one place of the kernel is one stretch of that
line: it begins where the first window reads there. So what a product of matrices needs is laid out in few long copies,
some images after others in memory that stays in the cache. Windows that would begin so near the end of a row that they
read the next one are computed, too, and left out of the result. In the gradient of the kernel they are multiplied by
zeros; if what they read is infinite or no number, that is none, and the product is made of true windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.execution.numpy_backend.shares import runs, shares, summed, together
from tapegrad._src.execution.state.threads import multiplies_small

Pairs = Sequence[tuple[int, int]]
Slices = tuple[Any, ...]

LAID_OUT = 1 << 20
"""About how many elements are laid out at a time. They lie in the cache that cores share: with fewer, threads would
wait for the interpreter too often."""

AT_ONCE = 10**6
"""Up to so many multiplications OpenBLAS makes a product of what it is given, in half the time, and no copies first:
with AVX-512."""

DEEP = 64
"""From so many elements in a window on a product with what is given for it is quicker where that lies by columns: with
AVX-512."""


class Sweep(NamedTuple):
    """A way in which windows lie on padded images.

    Attributes:
        batch, depth: how many images there are, and what a window reads: channels times places of the kernel.
        places, lengths: how many windows there are along each dimension, and how long it is with its padding.
        rows, row: how many rows of windows are laid out at a time, and how long one is.
        padded: the shape of some images with their padding in one line, behind which windows read on.
        inside, taken: where an image lies in its padding, and what of it does.
        cut: what of rows are windows.
        windows, steps: all that they read, ``(images, channels, *kernel, places)``, and how far elements are apart.
        parts, sums: the images that are computed by one thread; the same of the gradient of the kernel.
    """

    batch: int
    depth: int
    positions: tuple[int, ...]
    lengths: tuple[int, ...]
    rows: int
    row: int
    padded: tuple[int, ...]
    inside: Slices
    taken: Slices
    cut: Slices
    windows: tuple[int, ...]
    steps: tuple[int, ...]
    parts: list[slice]
    sums: list[slice]


def sweep(shape: tuple[int, ...], outputs: int, width: tuple[int, ...], padding: Pairs) -> Sweep | tuple:
    """Sweeps of kernels of a width over images of a shape, whose padding may be negative; ``()``, if there are none."""
    batch, channels, *sizes = shape
    lengths = tuple(size + low + high for size, (low, high) in zip(sizes, padding, strict=True))
    positions = tuple(length - reach + 1 for length, reach in zip(lengths, width, strict=True))
    if not prod(shape) * outputs * prod(width) or min(positions) < 1:
        return ()
    *steps, _ = accumulate((1, *lengths[:0:-1], 1), mul)
    steps.reverse()
    row, depth = steps[0], channels * prod(width)
    most = max(LAID_OUT // (depth * row), 1)
    if multiplies_small():
        most = min(most, AT_ONCE // (depth * row * outputs) or positions[0])
    rows = -(-positions[0] // -(-positions[0] // most))
    count = min(batch, max(LAID_OUT // (depth * row * rows), 1))
    behind = sum((reach - 1) * step for reach, step in zip(width[1:], steps[1:], strict=True))
    line = prod(lengths) + behind
    ends = list(zip(sizes, lengths, padding, strict=True))
    split = partial(shares, batch, batch * prod(positions) * depth * outputs)
    return Sweep(
        batch, depth, positions, lengths, rows, row,
        padded=(count, channels, line),
        inside=tuple(slice(max(low, 0), length - max(high, 0)) for _, length, (low, high) in ends),
        taken=tuple(slice(max(-low, 0), size + min(high, 0)) for size, _, (low, high) in ends),
        cut=tuple(slice(number) for number in positions[1:]),
        windows=(count, channels, *width, positions[0] * row),
        steps=(channels * line, line, *steps, 1),
        parts=split(), sums=split(numbers=depth * outputs),
    )  # fmt: skip


def laid_out(images: np.ndarray, how: Sweep) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """For some images, and some rows of windows, what these read: ``(images, depth, places)``, in the same memory."""
    (most, channels, line), size = how.padded, images.itemsize
    count = min(most, len(images))
    padded = np.zeros((count, channels, line), images.dtype)
    lines = padded[..., : prod(how.lengths)]
    image = lines.reshape(count, channels, *how.lengths)[(slice(None), slice(None), *how.inside)]
    shape = (count, *how.windows[1:])
    windows = np.ndarray(shape, images.dtype, padded, 0, [step * size for step in how.steps])
    memory = np.empty((*shape[:-1], how.rows * how.row), images.dtype)
    for some in runs(len(images), count):
        number = some.stop - some.start
        image[:number] = images[(some, slice(None), *how.taken)]
        for top in range(0, how.positions[0], how.rows):
            these = slice(top, min(top + how.rows, how.positions[0]))
            part = memory[:number, ..., : (these.stop - top) * how.row]
            part[...] = windows[:number, ..., top * how.row : these.stop * how.row]
            yield some, these, part.reshape(number, how.depth, -1)


def swept(images: np.ndarray, kernel: np.ndarray, how: Any, otherwise: Callable) -> np.ndarray:
    """The convolution of ``(batch, channels, ...)`` by ``(outputs, channels, ...)``. See Note [Swept planes]."""
    if not how:
        return otherwise(images, kernel)
    outputs = len(kernel)
    matrix = kernel.reshape(outputs, how.depth)
    result = np.empty((how.batch, outputs, *how.positions), images.dtype)

    def compute(share: slice) -> None:
        results = result[share]
        for some, these, part in laid_out(images[share], how):
            product = np.matmul(matrix, part)
            results[some, :, these] = product.reshape(len(part), outputs, -1, *how.lengths[1:])[(..., *how.cut)]

    together(compute, how.parts)
    return result


def swept_between(images: np.ndarray, results: np.ndarray, how: Any, otherwise: Callable) -> np.ndarray:
    """The gradient of the kernel, where ``results`` is that of ``swept(images, kernel)``."""
    if not how:
        return otherwise(images, results)
    total = summed(lambda share: _between(images[share], results[share], how), how.sums)
    if np.isnan(total).any():
        return otherwise(images, results)
    return total.T.reshape(results.shape[1], how.windows[1], *how.windows[2:-1])


def _between(images: np.ndarray, results: np.ndarray, how: Sweep) -> np.ndarray:
    """The sum over some images: ``(depth, outputs)``."""
    outputs, count = results.shape[1], min(how.padded[0], len(images))
    if how.depth < DEEP or not multiplies_small():
        turned = np.zeros((count, outputs, how.rows, *how.lengths[1:]), images.dtype)
    else:
        turned = np.moveaxis(np.zeros((count, how.rows, *how.lengths[1:], outputs), images.dtype), -1, 1)
    true, total = turned[(slice(None),) * 3 + how.cut], np.zeros((how.depth, outputs), images.dtype)
    for some, these, part in laid_out(images, how):
        given = results[some, :, these]
        true[: len(given), :, : given.shape[2]] = given
        lines = turned[: len(given), :, : given.shape[2]].reshape(len(given), outputs, -1)
        total += np.add.reduce(np.matmul(part, lines.mT), 0)
    return total
