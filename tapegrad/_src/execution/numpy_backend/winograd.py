"""Convolutions by kernels of three by three with fewer multiplications: Winograd's.

Note [Winograd]
Of a tile of six by six elements a kernel of three by three makes four by four results, with 144 multiplications for
each pair of channels. Winograd's algorithm, here ``F(4 x 4, 3 x 3)`` of Lavin and Gray (2016), makes them with 36: tile
and kernel are polynomials, whose values at some points are multiplied, and the results are what the product has as
coefficients::

    result = A' ((G kernel G') * (B' tile B)) A

The three transformations are products of matrices, too, and so is the multiplication, for each of the 36 points one of
all channels. Channels lie innermost meanwhile (Note [Rows of windows] in ``channels_innermost.py``). The gradient of
the kernel is the transposed of the same form.

Which points are chosen decides about the error. With 0, 5/8, -5/8, 3/2, -3/2 and infinity results of float32 are off by
three times as much as those of a direct sum: 8e-7 of their size on average, and 7e-6 at most of thousands. But the
error is one of the tile: beside elements that are a million times as large, small results have no correct digit. Where
a result is infinite or no number, all are computed directly. ``without("winograd")`` switches it off.

What a direct sum finds to be zero must be zero here: behind a ReLU a gradient passes where it isn't, or doesn't, by
chance. So results of windows that have only zeros are set to zero. Where a kernel has many, as masked ones have, all
are computed directly, for which windows it finds nothing but zeros can't be told so easily.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.execution.numpy_backend.channels_innermost import Rows, innermost, outermost, rows, windows_of
from tapegrad._src.execution.numpy_backend.shares import runs, shares, summed, together

MADE, READ = 4, 3
"""The results of a tile along each dimension, and the length of the kernel."""

TILE = MADE + READ - 1

POINTS = (Fraction(0), Fraction(5, 8), Fraction(-5, 8), Fraction(3, 2), Fraction(-3, 2))
"""Places at which polynomials have the values that are multiplied, besides infinity. See Note [Winograd]."""

MANY_ZEROS = 1 / 64
"""The share of a kernel's elements that may be zero."""

AT_A_TIME = 128
"""About how many tiles are computed together: what lies between the steps stays in the cache, and threads do not wait
for the interpreter too often."""

FEWEST, FEWEST_SUMMED = 16, 64
"""The least of them for a thread that reads the kernel for all, and for one that makes a sum that is as large."""

ELEMENT_READ, ELEMENT_MADE, POINT_OF_KERNEL, PRODUCT = 4.5, 3.5, 1.1, 0.018
"""The nanoseconds that it takes for each element of tiles that are read, for each one that is made, for each number
that the kernel is at the points, and for each multiplication there."""

LARGE_KERNEL, UNCACHED = 1 << 22, 0.9
"""From so many of such numbers on they are read from memory each time, and how much more one takes then."""


def _with_root(polynomial: list[Fraction], root: Fraction) -> list[Fraction]:
    """The coefficients of a polynomial times ``x - root``."""
    return [a - root * b for a, b in zip([Fraction(0), *polynomial], [*polynomial, Fraction(0)], strict=True)]


def _product_of_roots(roots: list[Fraction]) -> list[Fraction]:
    coefficients = [Fraction(1)]
    for root in roots:
        coefficients = _with_root(coefficients, root)
    return coefficients


def _matrices() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrices ``A'``, ``G`` and ``B'`` of Note [Winograd], for one dimension."""
    zero, last = Fraction(0), len(POINTS)
    others = [[y for y in POINTS if y != x] for x in POINTS]
    scales = [math.prod((x - y for y in rest), start=Fraction(1)) for x, rest in zip(POINTS, others, strict=True)]
    results = [[x**i for x in POINTS] + [Fraction(i == MADE - 1)] for i in range(MADE)]
    kernel = [[x**i / scale for i in range(READ)] for x, scale in zip(POINTS, scales, strict=True)]
    kernel.append([Fraction(i == READ - 1) for i in range(READ)])
    tile = [[*_product_of_roots(rest), zero] for rest in others] + [_product_of_roots(list(POINTS))]
    assert len(tile) == last + 1 == TILE
    return tuple(np.array(rows, float) for rows in (results, kernel, tile))  # type: ignore[return-value]


def _on_both(matrix: np.ndarray) -> np.ndarray:
    """A matrix for both dimensions of what lies in one line."""
    return np.kron(matrix, matrix).astype(np.float32)


TO_RESULTS, OF_KERNEL, OF_TILE = map(_on_both, _matrices())
OF_RESULTS, OF_FLIPPED = np.ascontiguousarray(TO_RESULTS.T), np.ascontiguousarray(OF_KERNEL[:, ::-1])


class Tiles(NamedTuple):
    """The way in which tiles lie on images, and their results on those of the convolution.

    Attributes:
        read, made: tiles as windows on the images, and on the results.
        strip: how many rows of tiles are computed together.
        outputs, sizes: the channels of the results, and how long these are along each dimension.
        is_near: whether each window reads elements of the image.
        parts, sums: the images that are computed together with one thread; the same of the gradient of the kernel.
    """

    read: Rows
    made: Rows
    strip: int
    outputs: int
    sizes: tuple[int, ...]
    is_near: bool
    parts: list[slice]
    sums: list[slice]


def nanoseconds(batch: int, channels: int, outputs: int, windows: tuple[int, ...]) -> float:
    """About how long it takes."""
    count = batch * math.prod(-(-size // MADE) for size in windows)
    numbers = TILE**2 * channels * outputs
    elements = MADE**2 * count * (ELEMENT_READ * channels + ELEMENT_MADE * outputs)
    each = POINT_OF_KERNEL + (UNCACHED if numbers > LARGE_KERNEL else 0.0)
    return elements + PRODUCT * count * numbers + each * numbers


def tiles(shape: tuple[int, ...], outputs: int, padding: tuple[tuple[int, int], ...]) -> Tiles:
    """Tiles for kernels of three by three over images of a shape, with this padding."""
    batch, channels, *lengths = shape
    sizes = tuple(length + low + high - READ + 1 for length, (low, high) in zip(lengths, padding, strict=True))
    counts, steps = tuple(-(-size // MADE) for size in sizes), (MADE, MADE)
    count = min(batch, max(AT_A_TIME // math.prod(counts), 1))
    read = rows(shape, (TILE, TILE), counts, padding, steps, (1, 1))
    made = rows((batch, outputs, *sizes), steps, counts, ((0, 0), (0, 0)), steps, (1, 1))
    strip = min(max(AT_A_TIME // counts[1], 1), counts[0])
    numbers = channels * outputs
    split = partial(shares, batch, batch * math.prod(sizes) * READ**2 * numbers)
    few_parts, few_sums = [-(-few // math.prod(counts)) for few in (FEWEST, FEWEST_SUMMED)]
    return Tiles(
        read._replace(at_once=count), made._replace(at_once=count), strip, outputs, sizes,
        is_near=max(side for pair in padding for side in pair) < READ,
        parts=split(least=few_parts), sums=split(numbers=TILE**2 * numbers, least=few_sums),
    )  # fmt: skip


def _tiled(images: np.ndarray, how: Rows, strip: int) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """For some images, and some rows of tiles, the tiles: ``(tiles, elements, channels)``, in the same memory."""
    at_once = min(how.at_once, len(images))
    memory = np.zeros((at_once, *how.lengths, how.channels), images.dtype)
    image, windows = memory[(slice(None), *how.inside)], windows_of(memory, how)
    laid = np.empty((at_once, strip, *windows.shape[2:]), images.dtype)
    for some in runs(len(images), at_once):
        number = some.stop - some.start
        innermost(images[(some, slice(None), *how.taken)], image[:number])
        for top in range(0, how.positions[0], strip):
            these = slice(top, min(top + strip, how.positions[0]))
            part = laid[:number, : these.stop - top]
            part[...] = windows[:number, these]
            yield some, these, part.reshape(-1, math.prod(how.width), how.channels)


def _at_points(matrix: np.ndarray, given: np.ndarray) -> np.ndarray:
    """The elements along the middle dimension, transformed: ``(points, ..., channels)``."""
    result = np.empty((len(matrix), len(given), given.shape[2]), given.dtype)
    np.matmul(matrix, given, result.swapaxes(0, 1))
    return result


def _of_kernel(kernel: np.ndarray) -> np.ndarray:
    """The kernel at the points: ``(points, channels, outputs)``; one that is reversed is read as it lies in memory."""
    outputs, channels = kernel.shape[:2]
    if kernel.strides[-1] < 0 and kernel.strides[-2] < 0:
        kernel, matrix = kernel[:, :, ::-1, ::-1], OF_FLIPPED
    else:
        matrix = OF_KERNEL
    lines = np.moveaxis(kernel.reshape(outputs, channels, READ * READ), 0, -1)
    return _at_points(matrix, lines)


def _clear(results: np.ndarray, images: np.ndarray, how: Tiles) -> None:
    """Set the results of windows to zero that have nothing but zeros."""
    has = np.bitwise_or.reduce(images.view(np.int32), 1) << 1 != 0  # the first bit is the sign
    if has.all() and how.is_near:
        return
    padded = np.zeros((len(images), *how.read.lengths), bool)
    padded[(slice(None), *how.read.inside)] = has[(slice(None), *how.read.taken)]
    for axis, size in enumerate(how.sizes, 1):
        parts = [padded[(slice(None),) * axis + (slice(first, first + size),)] for first in range(READ)]
        padded = np.logical_or.reduce(parts)
    np.copyto(results, 0, where=~padded[:, None])


def winograd(images: np.ndarray, kernel: np.ndarray, how: Tiles, otherwise: Callable) -> np.ndarray:
    """The convolution of ``(batch, channels, ...)`` by ``(outputs, channels, 3, 3)``. See Note [Winograd]."""
    if np.count_nonzero(kernel == 0) > MANY_ZEROS * kernel.size:
        return otherwise(images, kernel)
    points, made = _of_kernel(kernel), how.made
    result = np.empty((made.batch, how.outputs, *how.sizes), images.dtype)

    def compute(share: slice) -> bool:
        results = result[share]
        for some, these, part in _tiled(images[share], how.read, how.strip):
            tiles = np.matmul(TO_RESULTS, np.matmul(_at_points(OF_TILE, part), points).swapaxes(0, 1))
            number, columns = some.stop - some.start, made.positions[1]
            block = tiles.reshape(number, -1, columns, MADE, MADE, how.outputs).swapaxes(2, 3)
            block = block.reshape(number, -1, columns * MADE, how.outputs)
            lines = slice(these.start * MADE, min(these.stop * MADE, how.sizes[0]))
            outermost(block[:, : lines.stop - lines.start, : how.sizes[1]], results[some, :, lines])
        _clear(results, images[share], how)
        return math.isfinite(np.add.reduce(results, None))

    return result if all(together(compute, how.parts)) else otherwise(images, kernel)


def winograd_between(images: np.ndarray, results: np.ndarray, how: Tiles, otherwise: Callable) -> np.ndarray:
    """The gradient of the kernel, where ``results`` is that of ``winograd(images, kernel)``."""
    outputs, channels = how.outputs, how.read.channels

    def compute(share: slice) -> np.ndarray:
        total: Any = None
        read, made = _tiled(images[share], how.read, how.strip), _tiled(results[share], how.made, how.strip)
        for (_, _, part), (_, _, given) in zip(read, made, strict=True):
            left, right = _at_points(OF_RESULTS, given), _at_points(OF_TILE, part)
            product = np.matmul(left.swapaxes(1, 2), right)
            total = product if total is None else np.add(total, product, total)
        return total

    result = summed(compute, how.sums).reshape(len(OF_KERNEL), -1).T.dot(OF_KERNEL)
    finite = math.isfinite(np.add.reduce(result, None))
    return result.reshape(outputs, channels, READ, READ) if finite else otherwise(images, results)
