"""Convolutions whose windows are single elements, with others between them that nobody reads.

Such are those on the short way of a residual net, where it grows narrower. What is read is taken out of each image:
then the convolution is a product with the kernel, image by image, and its gradients are products, too.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tapegrad._src.execution.numpy_backend.channels_innermost import Rows
from tapegrad._src.execution.numpy_backend.shares import summed, together


def _read(how: Rows) -> tuple[slice, ...]:
    """The index of what is read."""
    ends = zip(how.positions, how.strides, strict=True)
    return (slice(None), slice(None), *[slice(0, step * (count - 1) + 1, step) for count, step in ends])


def _taken(images: np.ndarray, how: Rows) -> np.ndarray:
    """The elements that are read, ``(images, channels, positions)``."""
    return images[_read(how)].reshape(*images.shape[:2], -1)


def at_positions(images: np.ndarray, kernel: np.ndarray, how: Rows) -> np.ndarray:
    """The convolution of ``(batch, channels, ...)`` by ``(outputs, channels, 1, ...)``."""
    outputs = len(kernel)
    matrix = kernel.reshape(outputs, how.channels)
    result = np.empty((how.batch, outputs, prod(how.positions)), images.dtype)
    together(lambda share: np.matmul(matrix, _taken(images[share], how), result[share]), how.parts(outputs))
    return result.reshape(how.batch, outputs, *how.positions)


def kernel_at_positions(images: np.ndarray, results: np.ndarray, how: Rows) -> np.ndarray:
    """The gradient of the kernel, where ``results`` is that of ``at_positions(images, kernel)``."""
    outputs = results.shape[1]

    def compute(share: slice) -> np.ndarray:
        given = results[share].reshape(-1, outputs, prod(how.positions))
        return np.add.reduce(np.matmul(given, _taken(images[share], how).mT), 0)

    total = summed(compute, how.parts(outputs, how.channels * outputs))
    return total.reshape(outputs, how.channels, *how.width)


def images_at_positions(results: np.ndarray, flipped: np.ndarray, how: Rows) -> np.ndarray:
    """The gradient of the images; ``flipped``: the kernel, ``(channels, outputs, 1, ...)``."""
    outputs = results.shape[1]
    matrix, read = flipped.reshape(how.channels, outputs), _read(how)
    gradient = np.zeros((how.batch, how.channels, *how.sizes), results.dtype)

    def compute(share: slice) -> None:
        given = results[share].reshape(-1, outputs, prod(how.positions))
        gradient[share][read] = np.matmul(matrix, given).reshape(-1, how.channels, *how.positions)

    together(compute, how.parts(outputs))
    return gradient
