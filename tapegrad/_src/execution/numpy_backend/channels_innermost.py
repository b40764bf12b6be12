"""Convolutions as products of matrices in whose rows channels lie innermost, whatever their strides are.

Note [Rows of windows]
Where windows move by more than one element, what they read at one place of the kernel are no long stretches of memory.
But all channels of an element are one, once they lie innermost. So images are copied so, with their padding, some at a
time; what a window reads is laid out as a row; and a product of those rows with the kernel is the result, channels
innermost. The gradient of the kernel is a product of the same rows with what is given for each window. The gradient of
the images is the other way round: what is given, times the kernel, are rows that are added to where they were read.

Images are shared out among threads: Note [Shares of a batch] in ``shares.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from tapegrad._src.caches import remembered
from tapegrad._src.execution.numpy_backend.shares import runs, shares, summed, together

Pairs = Sequence[tuple[int, int]]
Numbers = Sequence[int]

AT_A_TIME = 1 << 18
"""About how many elements are laid out at a time."""

STRIP, POSITIONS = 16, 256
"""Channels, and elements of an image, that are turned around at a time: what they lie on stays in the first cache."""


class Rows(NamedTuple):
    """The way in which windows lie on padded images whose channels lie innermost.

    Attributes:
        batch, channels, sizes: of the images.
        at_once: how many images are laid out at a time.
        width, positions: how long the kernel is along each dimension, and how many windows there are.
        lengths: how long the memory of an image is along each dimension.
        inside, taken: where an image lies in it, and what of the image does.
        strides, apart: how far windows, and a window's elements, are apart.
    """

    batch: int
    channels: int
    sizes: tuple[int, ...]
    at_once: int
    width: tuple[int, ...]
    positions: tuple[int, ...]
    lengths: tuple[int, ...]
    inside: tuple[slice, ...]
    taken: tuple[slice, ...]
    strides: tuple[int, ...]
    apart: tuple[int, ...]

    @property
    def depth(self) -> int:
        """The number of elements that a window reads."""
        return self.channels * prod(self.width)

    def parts(self, outputs: int, numbers: int = 0) -> list[slice]:
        """The images that are computed by one thread each; ``numbers``: as of ``shares``."""
        return shares(self.batch, self.batch * prod(self.positions) * self.depth * outputs, numbers)


@remembered("rows")
def rows(
    shape: tuple[int, ...], width: tuple[int, ...], positions: tuple[int, ...], padding: tuple[tuple[int, int], ...],
    strides: tuple[int, ...], apart: tuple[int, ...],
) -> Rows:  # fmt: skip
    """Rows for windows on images of a shape; padding may be negative, and behind an image there may be unread ones."""
    batch, channels, *sizes = shape
    reach = [d * (k - 1) + s * (n - 1) + 1 for d, k, s, n in zip(apart, width, strides, positions, strict=True)]
    ends = list(zip(sizes, padding, reach, strict=True))
    inside = tuple(slice(max(low, 0), max(min(low + size, length), max(low, 0))) for size, (low, _), length in ends)
    taken = tuple(slice(max(-low, 0), max(min(size, length - low), max(-low, 0))) for size, (low, _), length in ends)
    count = min(batch, max(AT_A_TIME // max(channels * prod(width) * prod(positions), 1), 1))
    return Rows(batch, channels, tuple(sizes), count, width, positions, tuple(reach), inside, taken, strides, apart)


def windows_of(memory: np.ndarray, how: Rows) -> np.ndarray:
    """The elements that windows read, ``(batch, *positions, *width, channels)``, of ``(batch, *lengths, channels)``."""
    first, *steps, last = memory.strides
    between = [step * stride for step, stride in zip(steps, how.strides, strict=True)]
    within = [step * apart for step, apart in zip(steps, how.apart, strict=True)]
    shape = (len(memory), *how.positions, *how.width, how.channels)
    return np.ndarray(shape, memory.dtype, memory, 0, (first, *between, *within, last))


def innermost(images: np.ndarray, memory: np.ndarray) -> None:
    """Put ``(images, channels, ...)`` into memory ``(images, ..., channels)``, some channels at a time."""
    turned = images.transpose(0, *range(2, images.ndim), 1)
    for first in range(0, turned.shape[-1], STRIP):
        some = slice(first, first + STRIP)
        memory[..., some] = turned[..., some]


def outermost(memory: np.ndarray, images: np.ndarray) -> None:
    """The other way round: some elements of the images at a time."""
    turned = memory.transpose(0, memory.ndim - 1, *range(1, memory.ndim - 1))
    if memory.ndim < 4:
        images[...] = turned
        return
    step = max(POSITIONS // max(prod(memory.shape[2:-1]), 1), 1)
    for first in range(0, memory.shape[1], step):
        some = slice(first, first + step)
        images[:, :, some] = turned[:, :, some]


def laid_out(images: np.ndarray, how: Rows) -> Iterator[tuple[slice, np.ndarray]]:
    """For some images after the others the rows of what their windows read, in the same memory."""
    at_once = min(how.at_once, len(images))
    memory = np.zeros((at_once, *how.lengths, how.channels), images.dtype)
    image, windows = memory[(slice(None), *how.inside)], windows_of(memory, how)
    laid = np.empty(windows.shape, images.dtype)
    for some in runs(len(images), at_once):
        number = some.stop - some.start
        innermost(images[(some, slice(None), *how.taken)], image[:number])
        laid[:number] = windows[:number]
        yield some, laid[:number].reshape(-1, how.depth)


def by_rows(images: np.ndarray, kernel: np.ndarray, how: Rows) -> np.ndarray:
    """The convolution of ``(batch, channels, ...)`` by ``(outputs, channels, ...)``. See Note [Rows of windows]."""
    outputs = len(kernel)
    matrix = np.moveaxis(kernel, (0, 1), (-1, -2)).reshape(how.depth, outputs)
    result = np.empty((how.batch, outputs, *how.positions), images.dtype)

    def compute(share: slice) -> None:
        results = result[share]
        for some, part in laid_out(images[share], how):
            outermost(part.dot(matrix).reshape(-1, *how.positions, outputs), results[some])

    together(compute, how.parts(outputs))
    return result


def kernel_by_rows(images: np.ndarray, results: np.ndarray, how: Rows) -> np.ndarray:
    """The gradient of the kernel, where ``results`` is that of ``by_rows(images, kernel)``."""
    outputs = results.shape[1]

    def compute(share: slice) -> np.ndarray:
        mine = results[share]
        given = np.empty((min(how.at_once, len(mine)), *how.positions, outputs), images.dtype)
        total = np.zeros((how.depth, outputs), images.dtype)
        for some, part in laid_out(images[share], how):
            these = given[: some.stop - some.start]
            innermost(mine[some], these)
            total += part.T.dot(these.reshape(-1, outputs))
        return total

    total = summed(compute, how.parts(outputs, how.depth * outputs))
    return np.moveaxis(total.reshape(*how.width, how.channels, outputs), (-1, -2), (0, 1))


def images_by_rows(results: np.ndarray, flipped: np.ndarray, how: Rows) -> np.ndarray:
    """The gradient of the images; ``flipped``: the kernel, ``(channels, outputs, ...)``, its elements reversed.

    ``how`` says how windows lie on the images.
    """
    outputs = results.shape[1]
    kernel = flipped[(slice(None), slice(None), *[slice(None, None, -1)] * len(how.width))]
    matrix = np.moveaxis(kernel, (1, 0), (0, -1)).reshape(outputs, how.depth)
    gradient = np.zeros((how.batch, how.channels, *how.sizes), results.dtype)
    together(lambda share: _add_rows(results[share], matrix, how, gradient[share]), how.parts(outputs))
    return gradient


def _add_rows(results: np.ndarray, matrix: np.ndarray, how: Rows, gradient: np.ndarray) -> None:
    """Put the gradient of some images into ``gradient``."""
    at_once, outputs = min(how.at_once, len(gradient)), len(matrix)
    given = np.empty((at_once, *how.positions, outputs), results.dtype)
    memory = np.empty((at_once, *how.lengths, how.channels), results.dtype)
    windows = windows_of(memory, how)
    for some in runs(len(gradient), at_once):
        number = some.stop - some.start
        innermost(results[some], given[:number])
        rows = given[:number].reshape(-1, outputs).dot(matrix).reshape(windows[:number].shape)
        memory[:number] = 0
        for offsets in np.ndindex(*how.width):
            at = (slice(number), *[slice(None)] * len(offsets), *offsets)
            windows[at] += rows[at]
        outermost(memory[(slice(number), *how.inside)], gradient[(some, slice(None), *how.taken)])
