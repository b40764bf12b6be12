"""Convolutions of small images as products of matrices in whose rows images lie innermost.

Note [Columns of all images]
A small image has few windows, and a product for each image reads the whole kernel for these few. So all images of a
batch are taken together, the same element of all of them side by side: what windows read at one place of the kernel are
few stretches of memory then, however short the rows of an image are. The kernel is read as it lies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend.channels_innermost import Rows, rows


def _memory(how: Rows, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Memory of zeros ``(channels, *lengths, images)``; what windows see: ``(channels, *width, *places, images)``."""
    memory = np.zeros((how.channels, *how.lengths, how.batch), dtype)
    first, *steps, last = memory.strides
    within = [step * apart for step, apart in zip(steps, how.apart, strict=True)]
    between = [step * stride for step, stride in zip(steps, how.strides, strict=True)]
    shape = (how.channels, *how.width, *how.positions, how.batch)
    return memory, np.ndarray(shape, memory.dtype, memory, 0, (first, *within, *between, last))


def _columns(images: np.ndarray, how: Rows) -> np.ndarray:
    """The elements that all windows of all images read, side by side."""
    memory, windows = _memory(how, images.dtype)
    memory[(slice(None), *how.inside)] = np.moveaxis(images[(slice(None), slice(None), *how.taken)], 0, -1)
    return np.ascontiguousarray(windows).reshape(how.depth, -1)


def _given(results: np.ndarray) -> np.ndarray:
    """Numbers for windows, ``(batch, outputs, ...)``, as ``(outputs, windows of all images)``."""
    return np.ascontiguousarray(np.moveaxis(results, 0, -1)).reshape(results.shape[1], -1)


def by_columns(images: np.ndarray, kernel: np.ndarray, how: Rows) -> np.ndarray:
    """The convolution of images by ``(outputs, channels, ...)``. See Note [Columns of all images]."""
    if max(kernel.strides[2:]) < 0:  # it is that of a gradient: reversed, it lies as it is read
        return _transposed(images, kernel, how)
    result = kernel.reshape(len(kernel), how.depth).dot(_columns(images, how))
    return np.ascontiguousarray(np.moveaxis(result.reshape(len(kernel), *how.positions, how.batch), -1, 0))


def _transposed(images: np.ndarray, flipped: np.ndarray, how: Rows) -> np.ndarray:
    """The same, computed as the gradient of images, which has what is given here as numbers for its windows."""
    outputs, _, *width = flipped.shape
    if any(step != 1 for step in how.strides):
        return by_columns(images, np.ascontiguousarray(flipped), how)
    lows = zip(how.apart, width, how.inside, how.taken, strict=True)
    padding = tuple((d * (k - 1) - (at.start - of.start), 0) for d, k, at, of in lows)
    shape = (how.batch, outputs, *how.positions)
    return images_by_columns(images, flipped, rows(shape, how.width, images.shape[2:], padding, how.strides, how.apart))


def kernel_by_columns(images: np.ndarray, results: np.ndarray, how: Rows) -> np.ndarray:
    """The gradient of the kernel, where ``results`` is that of ``by_columns(images, kernel)``."""
    result = _given(results).dot(_columns(images, how).T)
    return result.reshape(-1, how.channels, *how.width)


def images_by_columns(results: np.ndarray, flipped: np.ndarray, how: Rows) -> np.ndarray:
    """The gradient of the images; ``flipped``: the kernel, ``(channels, outputs, ...)``, its elements reversed.

    ``how`` says how windows lie on the images.
    """
    kernel = flipped[(slice(None), slice(None), *[slice(None, None, -1)] * len(how.width))].swapaxes(0, 1)
    columns = np.ascontiguousarray(kernel).reshape(-1, how.depth).T.dot(_given(results))
    columns = columns.reshape(how.channels, *how.width, *how.positions, how.batch)
    memory, windows = _memory(how, results.dtype)
    for offsets in np.ndindex(*how.width):
        windows[:, *offsets] += columns[:, *offsets]
    images = np.zeros((how.batch, how.channels, *how.sizes), results.dtype)
    images[(slice(None), slice(None), *how.taken)] = np.moveaxis(memory[(slice(None), *how.inside)], -1, 0)
    return images
