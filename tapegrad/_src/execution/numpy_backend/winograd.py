"""Convolutions by kernels of three by three with fewer multiplications: Winograd's.

Note [Winograd]
Of a tile of four by four elements a kernel of three by three makes two by two results, with 36 multiplications for
each pair of channels. Winograd's algorithm, here ``F(2 x 2, 3 x 3)`` of Lavin and Gray (2016), makes them with 16: tile
and kernel are polynomials, whose values at the points 0, 1, -1 and infinity are multiplied, and the results are what
the product has as coefficients. Along one dimension, for elements ``d`` and a kernel ``g``::

    at points    d0 - d2       d1 + d2               d2 - d1               d1 - d3
    times        g0            (g0 + g1 + g2) / 2    (g0 - g1 + g2) / 2    g2
    results      m0 + m1 + m2, m1 - m2 - m3

Elements and results are added up as they lie, channels innermost (Note [Rows of windows] in
``channels_innermost.py``); the multiplication is, for each of the 16 points, a product of matrices of all channels. The
gradient of the kernel is the transposed of the same form.

Larger tiles need fewer multiplications, but points that are no powers of two, and there what a direct sum finds to be
exactly zero is rounded: behind a ReLU a gradient passes then, or doesn't, by chance. These results do not differ from
direct sums in that: a window of zeros gives zero, small whole numbers are added up exactly, and elements that no window
reads have no part in its result. A kernel with many zeros, as masked ones are, is used directly, and so are all where a
result is infinite or no number. ``without("winograd")`` switches it off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.execution.numpy_backend.channels_innermost import Rows, innermost, outermost, rows
from tapegrad._src.execution.numpy_backend.shares import runs, shares, summed, together

MADE, READ = 2, 3
"""The results of a tile along each dimension, and the length of the kernel."""

TILE = MADE + READ - 1

ALONG = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)
"""The kernel at the points, along one dimension."""

OF_KERNEL = np.kron(ALONG, ALONG)
OF_FLIPPED = np.ascontiguousarray(OF_KERNEL[:, ::-1])

MANY_ZEROS = 1 / 64
"""The share of a kernel's elements that may be zero."""

AT_A_TIME = 256
"""About how many tiles are computed together: what lies between the steps stays in the cache, and threads do not wait
for the interpreter too often."""

FEWEST, FEWEST_SUMMED = 64, 256
"""The least of them for a thread that reads the kernel for all, and for one that makes a sum that is as large."""

ELEMENT_READ, ELEMENT_MADE, POINT_OF_KERNEL, PRODUCT = 4.5, 3.5, 1.1, 0.018
"""The nanoseconds that it takes for each element of tiles that are read, for each one that is made, for each number
that the kernel is at the points, and for each multiplication there."""

LARGE_KERNEL, UNCACHED = 1 << 22, 0.9
"""From so many of such numbers on they are read from memory each time, and how much more one takes then."""


class Tiles(NamedTuple):
    """The way in which tiles lie on images, and their results on those of the convolution.

    Attributes:
        read, made: tiles as windows on the images, and on the results.
        strip: how many rows of tiles are computed together.
        outputs, sizes: the channels of the results, and how long these are along each dimension.
        parts, sums: the images that are computed together with one thread; the same of the gradient of the kernel.
    """

    read: Rows
    made: Rows
    strip: int
    outputs: int
    sizes: tuple[int, ...]
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
        parts=split(least=few_parts), sums=split(numbers=TILE**2 * numbers, least=few_sums),
    )  # fmt: skip


def _tiled(images: np.ndarray, how: Rows, strip: int) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """For some images, and some rows of tiles, what these lie on: ``(images, ..., channels)``, in the same memory."""
    at_once = min(how.at_once, len(images))
    memory = np.zeros((at_once, *how.lengths, how.channels), images.dtype)
    image = memory[(slice(None), *how.inside)]
    for some in runs(len(images), at_once):
        number = some.stop - some.start
        innermost(images[(some, slice(None), *how.taken)], image[:number])
        for top in range(0, how.positions[0], strip):
            these = slice(top, min(top + strip, how.positions[0]))
            yield some, these, memory[:number, MADE * top : MADE * these.stop + how.width[0] - MADE]


def _at_points_along(axis: int, given: np.ndarray, result: np.ndarray) -> None:
    """The elements of tiles along a dimension, at the points: the first dimension of the result."""
    count = given.shape[axis] // MADE - 1
    before = (slice(None),) * axis
    d0, d1, d2, d3 = (given[(*before, slice(i, i + MADE * count, MADE))] for i in range(TILE))
    np.subtract(d0, d2, result[0])
    np.add(d1, d2, result[1])
    np.subtract(d2, d1, result[2])
    np.subtract(d1, d3, result[3])


def _of_tiles(given: np.ndarray) -> np.ndarray:
    """The elements of tiles at the points: ``(points, tiles, channels)``."""
    number, height, width, channels = given.shape
    down, across = height // MADE - 1, width // MADE - 1
    half = np.empty((TILE, number, down, width, channels), given.dtype)
    whole = np.empty((TILE, TILE, number, down, across, channels), given.dtype)
    _at_points_along(1, given, half)
    _at_points_along(3, half, whole.swapaxes(0, 1))
    return whole.reshape(TILE**2, -1, channels)


def _of_results_along(axis: int, given: np.ndarray, result: np.ndarray) -> None:
    """The transposed of what makes results of the points: for a gradient of the results, along a dimension."""
    before = (slice(None),) * axis
    first, second = (given[(*before, slice(i, None, MADE))] for i in range(MADE))
    result[0] = first
    np.add(first, second, result[1])
    np.subtract(first, second, result[2])
    np.negative(second, result[3])


def _of_results(given: np.ndarray) -> np.ndarray:
    """A gradient of the results, for the products at the points: ``(points, tiles, outputs)``."""
    number, height, width, outputs = given.shape
    down, across = height // MADE, width // MADE
    half = np.empty((TILE, number, down, width, outputs), given.dtype)
    whole = np.empty((TILE, TILE, number, down, across, outputs), given.dtype)
    _of_results_along(1, given, half)
    _of_results_along(3, half, whole.swapaxes(0, 1))
    return whole.reshape(TILE**2, -1, outputs)


def _results_along(products: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """The two results along a dimension of the products at its points, the first dimension."""
    m0, m1, m2, m3 = products
    np.add(m0, m1, first)
    np.add(first, m2, first)
    np.subtract(m1, m2, second)
    np.subtract(second, m3, second)


def _to_results(products: np.ndarray, number: int, across: int) -> np.ndarray:
    """The results of products at the points: ``(images, ..., outputs)``."""
    products = products.reshape(TILE, TILE, number, -1, across, products.shape[-1])
    half = np.empty((MADE, *products.shape[1:]), products.dtype)
    _results_along(products, *half)
    down, outputs = products.shape[3], products.shape[-1]
    whole = np.empty((number, down, MADE, across, MADE, outputs), products.dtype)
    turned = whole.transpose(4, 2, 0, 1, 3, 5)
    _results_along(half.swapaxes(0, 1), *turned)
    return whole.reshape(number, down * MADE, across * MADE, outputs)


def _of_kernel(kernel: np.ndarray) -> np.ndarray:
    """The kernel at the points: ``(points, channels, outputs)``; one that is reversed is read as it lies in memory."""
    outputs, channels = kernel.shape[:2]
    if kernel.strides[-1] < 0 and kernel.strides[-2] < 0:
        kernel, matrix = kernel[:, :, ::-1, ::-1], OF_FLIPPED
    else:
        matrix = OF_KERNEL
    lines = np.moveaxis(kernel.reshape(outputs, channels, READ * READ), 0, -1)
    result = np.empty((len(matrix), channels, outputs), kernel.dtype)
    np.matmul(matrix, lines, result.swapaxes(0, 1))
    return result


def winograd(images: np.ndarray, kernel: np.ndarray, how: Tiles, otherwise: Callable) -> np.ndarray:
    """The convolution of ``(batch, channels, ...)`` by ``(outputs, channels, 3, 3)``. See Note [Winograd]."""
    if np.count_nonzero(kernel == 0) > MANY_ZEROS * kernel.size:
        return otherwise(images, kernel)
    points, made = _of_kernel(kernel), how.made
    result = np.empty((made.batch, how.outputs, *how.sizes), images.dtype)

    def compute(share: slice) -> bool:
        results = result[share]
        for some, these, part in _tiled(images[share], how.read, how.strip):
            products = np.matmul(_of_tiles(part), points)
            block = _to_results(products, some.stop - some.start, made.positions[1])
            lines = slice(these.start * MADE, min(these.stop * MADE, how.sizes[0]))
            outermost(block[:, : lines.stop - lines.start, : how.sizes[1]], results[some, :, lines])
        return math.isfinite(np.add.reduce(results, None))

    return result if all(together(compute, how.parts)) else otherwise(images, kernel)


def winograd_between(images: np.ndarray, results: np.ndarray, how: Tiles, otherwise: Callable) -> np.ndarray:
    """The gradient of the kernel, where ``results`` is that of ``winograd(images, kernel)``."""
    outputs, channels = how.outputs, how.read.channels

    def compute(share: slice) -> np.ndarray:
        total: Any = None
        read, made = _tiled(images[share], how.read, how.strip), _tiled(results[share], how.made, how.strip)
        for (_, _, part), (_, _, given) in zip(read, made, strict=True):
            product = np.matmul(_of_results(given).swapaxes(1, 2), _of_tiles(part))
            total = product if total is None else np.add(total, product, total)
        return total

    result = summed(compute, how.sums).reshape(len(OF_KERNEL), -1).T.dot(OF_KERNEL)
    finite = math.isfinite(np.add.reduce(result, None))
    return result.reshape(outputs, channels, READ, READ) if finite else otherwise(images, results)
