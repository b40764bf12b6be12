"""The ways in which NumPy computes a convolution, and about how long each of them takes.

Note [Ways of a convolution]
jax has one primitive for a convolution and for its two gradients. ``seen_in`` tells them apart, and says each by the
convolution that it belongs to: which images, which windows. There are five ways that are made for some of them: tiles
(Note [Winograd]), columns of all images, rows of windows, planes that are swept, and single positions, besides products
of what all windows read (``windowed.py``), which can do all. Which one is taken is decided by figures that were
measured, on one core of a Xeon (AVX-512, OpenBLAS), of the layers of residual nets and UNets: nanoseconds for each
multiplication, for each element of what windows read, and for each one of the images and the results. No clock decides
anything. A kernel for any lengths finds the way for those that it is given, and remembers it (``choices`` in
``windowed.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.execution.numpy_backend import winograd
from tapegrad._src.tape.mechanisms import WINOGRAD

Pairs = tuple[tuple[int, int], ...]

FORWARD, IMAGES, KERNEL = "forward", "images", "kernel"
"""A convolution, the gradient of its images, and that of its kernel."""

TILES, COLUMNS, ROWS, PLANES, SINGLE, ANY = "tiles", "columns", "rows", "planes", "single", "any"
"""The ways."""


class ConvolutionForm(NamedTuple):
    """A convolution, or one of its gradients.

    Attributes:
        direction: ``FORWARD``, ``IMAGES`` or ``KERNEL``.
        images: the shape of what windows lie on, ``(batch, channels, ...)``.
        outputs: the channels of the results.
        width, positions: how long the kernel is along each dimension, and how many windows there are.
        padding: zeros around the images, or fewer elements where it is negative.
        strides, apart: how far windows, and a window's elements, are apart.
    """

    direction: str
    images: tuple[int, ...]
    outputs: int
    width: tuple[int, ...]
    positions: tuple[int, ...]
    padding: Pairs
    strides: tuple[int, ...]
    apart: tuple[int, ...]


def windows_along(size: int, between: int, sides: tuple[int, int], apart: int, reach: int, stride: int) -> int:
    """The number of windows along a dimension.

    Args:
        size, between: of the image, and how far its elements are apart.
        sides: the padding before and behind.
        apart, reach: how far a window's elements are apart, and how many there are.
        stride: how far windows are apart.

    >>> windows_along(8, 1, (1, 1), 1, 3, 2)
    4
    """
    length = max((size - 1) * between + 1, 0) + sum(sides)
    return max((length - apart * (reach - 1) - 1) // stride + 1, 0)


class ConvolutionSettings(NamedTuple):
    """Parameters of jax's primitive, under its names, for a convolution without groups."""

    dimension_numbers: tuple[tuple[int, ...], ...]
    window_strides: tuple[int, ...]
    padding: Pairs
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]

    def shape_of(self, left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result for operands of these shapes."""
        of_left, of_right, of_result = self.dimension_numbers
        result = {of_result[0]: left[of_left[0]], of_result[1]: right[of_right[0]]}
        sizes, reaches = [left[axis] for axis in of_left[2:]], [right[axis] for axis in of_right[2:]]
        ends = sizes, self.lhs_dilation, self.padding, self.rhs_dilation, reaches, self.window_strides
        result.update(zip(of_result[2:], map(windows_along, *ends), strict=True))
        return tuple(result[axis] for axis in range(len(result)))


def settings_of(params: Mapping[str, Any]) -> ConvolutionSettings | None:
    """The settings among the parameters of an equation; None for groups, and where they are not known."""
    if params["feature_group_count"] != 1 or params["batch_group_count"] != 1:
        return None
    if not all(isinstance(side, int) for pair in params["padding"] for side in pair):
        return None
    numbers, padding = (tuple(map(tuple, params[name])) for name in ("dimension_numbers", "padding"))
    steps, *dilations = (tuple(params[name]) for name in ("window_strides", "lhs_dilation", "rhs_dilation"))
    return ConvolutionSettings(numbers, steps, padding, *dilations)


def seen_in(settings: ConvolutionSettings, left: Sequence[int], right: Sequence[int]) -> ConvolutionForm | None:
    """The form of what is computed of operands of these shapes.

    None for other orders of dimensions, and where elements of both operands are spread apart.
    """
    numbers, steps, padding, dilation, apart = settings
    order = tuple(range(len(left)))
    if len(left) < 3 or set(numbers) - {order, (1, 0, *order[2:])}:
        return None
    out = settings.shape_of(left, right)
    if 0 in (*left, *right, *out):
        return None
    is_dilated = any(step != 1 for step in dilation)
    if numbers == (order,) * 3 and not is_dilated:
        return ConvolutionForm(FORWARD, tuple(left), out[1], tuple(right[2:]), tuple(out[2:]), padding, steps, apart)
    if numbers == (order,) * 3 and all(step == 1 for step in steps):
        before = [d * (k - 1) - low for d, k, (low, _) in zip(apart, right[2:], padding, strict=True)]
        sides = tuple((low, 0) for low in before)
        return ConvolutionForm(IMAGES, tuple(out), left[1], tuple(right[2:]), tuple(left[2:]), sides, dilation, apart)
    if numbers == ((1, 0, *order[2:]),) * 3 and not is_dilated:
        return ConvolutionForm(KERNEL, tuple(left), right[1], tuple(out[2:]), tuple(right[2:]), padding, apart, steps)
    return None


class Way(NamedTuple):
    """A way of a convolution, and about how many nanoseconds it takes."""

    nanoseconds: float
    name: str


FEW_WINDOWS, MOST_COLUMNS = 64, 1 << 22
"""The windows of an image, and the elements that are laid out, up to which all images are taken together."""


def ways_of(seen: ConvolutionForm, dtype: Any) -> list[Way]:
    """The ways in which it can be computed; those first that are likely to be the quickest."""
    return sorted(ways(seen, np.dtype(dtype)))


def ways(seen: ConvolutionForm, dtype: np.dtype) -> Iterator[Way]:
    """All ways in which it can be computed."""
    batch, channels = seen.images[:2]
    windows = batch * prod(seen.positions)
    depth = channels * prod(seen.width)
    products, read, numbers = windows * depth * seen.outputs, windows * depth, depth * seen.outputs
    is_wide = dtype.itemsize // 4  # twice as much memory, and half as many at a time
    ones = (1,) * len(seen.width)
    is_dense = (seen.strides, seen.apart) == (ones, ones) and seen.width != ones
    is_dense = is_dense and seen.direction != IMAGES
    if dtype.kind == "f" and dtype.itemsize >= 4 and not _is_product(seen):
        turned = windows * seen.outputs + prod(seen.images)
        if prod(seen.positions) <= FEW_WINDOWS and read <= MOST_COLUMNS:
            yield Way(20e3 + is_wide * (0.0157 * products + 1.2 * read + 1.0 * turned), COLUMNS)
        if is_apart(seen):
            written = 0.15 * prod(seen.images) if seen.direction == IMAGES else 0.0
            yield Way(20e3 + is_wide * (0.022 * products + 1.0 * read + written), SINGLE)
        if not is_dense:
            rows = 0.0165 * products + 0.35 * read + 1.2 * turned + 2.5 * numbers
            yield Way(30e3 + is_wide * (rows + (0.5 * read if seen.direction == IMAGES else 0.0)), ROWS)
    if is_dense:
        waste = prod(a + k - 1 for a, k in zip(seen.positions, seen.width, strict=True)) / prod(seen.positions)
        waste *= seen.positions[0] / (seen.positions[0] + seen.width[0] - 1)
        yield Way(20e3 + is_wide * waste * (0.021 * products + 0.25 * read), PLANES)
        tiled = dtype == np.float32 and seen.width == (winograd.READ,) * 2 and min(seen.positions) > 1
        if tiled and not WINOGRAD.off:
            took = winograd.nanoseconds(batch, channels, seen.outputs, seen.positions)
            yield Way(40e3 + took, TILES)
    if is_dense:  # planes are swept in any case
        return
    each, more = {FORWARD: (1, 0.8), IMAGES: (prod(seen.strides), 0.8), KERNEL: (1, 1.5)}[seen.direction]
    at_all = 0.0 if _is_product(seen) else more
    yield Way(10e3 + is_wide * (0.022 * products * each + at_all * read * each), ANY)


def is_apart(seen: ConvolutionForm) -> bool:
    """Tell whether windows are single elements of the images, with others between them that are not read."""
    ends = zip(seen.images[2:], seen.positions, seen.strides, seen.padding, strict=True)
    inside = all(low == 0 and step * (count - 1) < size for size, count, step, (low, _) in ends)
    return inside and all(size == 1 for size in seen.width)


def _is_product(seen: ConvolutionForm) -> bool:
    """Tell whether windows are single elements, side by side: a product of matrices as they are."""
    return all(size == 1 for size in (*seen.width, *seen.strides))
