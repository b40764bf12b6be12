"""Convolutions: by XLA's own, or as products of matrices.

Note [Products of matrices]
XLA's convolutions for CPUs are made for many channels, and the gradient of a weight is to them a convolution with a
kernel as large as the image. It is often quicker to lay side by side what each window reads, and to multiply matrices:
in half the time for photographs and for 1 x 1 kernels, and in a third for most gradients of weights. What is laid out
has to be stored. For inputs of few channels that is all of a window, and not much more than the result; for gradients
of weights it is one row of the kernel, for a few images after the other; small ones XLA's own are as quick, and take
half as long to compile. A transposed convolution, which is what gives the gradient of an input, is to XLA one of an
image with a wide border of zeros; if few channels come out, what each element adds to its window is one product, whose
parts are shifted and added up, in an eighth to a half of the time. ``_as_product``, ``_as_products`` and ``_as_sum``
say when, by what was measured; signals of one dimension are convolved well by XLA. NumPy makes products of all
convolutions, in its own way: what is said of a ``host`` is said to it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.data.sizes import at_most
from tapegrad._src.execution.tiers.host_trace import scan
from tapegrad.ops.matmul import FULL

Pairs = Sequence[tuple[int, int]]

_FEW_CHANNELS = 8  # below, XLA's convolutions are slow
_SMALL_WINDOW = 100  # elements: a product pays, however few channels come out
_LAID_OUT = 1 << 24  # elements: above, storing them costs more than it saves
_LAID_OUT_AT_ONCE = 1 << 20  # elements, of several images: what stays in a cache
_SMALL_IMAGES = 1 << 19  # elements, of a row of the kernel for all images: below, XLA's convolutions are as quick
_MANY_ROWS = 32  # in a kernel: above, so many products take too long to compile


def _channels_last(x: Any, padding: Pairs) -> Any:
    """``x`` with its channels behind space, which is padded by zeros, or cut where the padding is less than nothing."""
    last = jnp.moveaxis(x, 1, -1)
    return lax.pad(last, jnp.zeros((), x.dtype), [(0, 0, 0), *((low, high, 0) for low, high in padding), (0, 0, 0)])


def _read(
    x: Any, axes: Sequence[int], kernel: Sequence[int], sizes: Sequence[int], stride: Sequence[int],
    dilation: Sequence[int],
) -> list[Any]:  # fmt: skip
    """For each place of a kernel along some axes, what all windows read there."""

    def at(places: tuple[int, ...]) -> Any:
        start, stop, step = [0] * x.ndim, list(x.shape), [1] * x.ndim
        for axis, place, size, s, d in zip(axes, places, sizes, stride, dilation, strict=True):
            start[axis], stop[axis], step[axis] = place * d, place * d + s * (size - 1) + 1, s
        return lax.slice(x, start, stop, step)

    return [at(places) for places in itertools.product(*map(range, kernel))]


def _multiplied(x: Any, y: Any, groups: int) -> bool:
    """Tell whether the matrices would be of a type that XLA multiplies quickly, and not of signals, nor empty."""
    return groups == 1 and x.ndim > 3 and x.dtype in (jnp.float32, jnp.float64) and 0 not in (*x.shape, *y.shape)


def _as_product(x: Any, weight: Any, sizes: Sequence[int], groups: int) -> bool:
    """Tell whether a product of matrices is the quicker convolution on CPUs."""
    out, channels, *kernel = weight.shape
    window = channels * math.prod(kernel)
    narrow = channels < _FEW_CHANNELS and window <= max(4 * out, _SMALL_WINDOW)
    few = narrow and at_most(x.shape[0] * math.prod(sizes) * window, _LAID_OUT)
    return _multiplied(x, weight, groups) and all(size > 0 for size in sizes) and (few or math.prod(kernel) == 1)


def _as_products(x: Any, y: Any, kernel: Sequence[int], groups: int) -> bool:
    """Tell whether products of matrices, one for each row of the kernel, are the quicker gradient of a weight on
    CPUs."""
    (channels, *_), (out, *sizes) = x.shape[1:], y.shape[1:]
    row = channels * kernel[-1]
    wide = out >= (16 if channels < 4 or len(sizes) > 2 else 32) and out * row >= 96
    image = math.prod(sizes) * row
    fits = at_most(image, _LAID_OUT // 4) and math.prod(kernel[:-1]) <= _MANY_ROWS
    small = math.prod(kernel) > 1 and at_most(x.shape[0] * image, _SMALL_IMAGES)
    return _multiplied(x, y, groups) and wide and fits and not small


def _as_sum(x: Any, flipped: Any, groups: int) -> bool:
    """Tell whether a product of matrices, and a sum of its parts, is the quicker transposed convolution on CPUs."""
    inner, _, *kernel = flipped.shape
    added = math.prod((x.shape[0], *x.shape[2:], *kernel, inner))
    return _multiplied(x, flipped, groups) and inner < _FEW_CHANNELS and at_most(added, _LAID_OUT_AT_ONCE)


def convolved(x: Any, weight: Any, stride: Sequence[int], padding: Pairs, dilation: Sequence[int], groups: int) -> Any:
    """The cross-correlation of ``x`` with ``weight``."""
    out, _, *kernel = weight.shape
    sizes = [
        (length + low + high - d * (k - 1) - 1) // s + 1
        for length, (low, high), k, s, d in zip(x.shape[2:], padding, kernel, stride, dilation, strict=True)
    ]

    def whole(x: Any, weight: Any) -> Any:
        return lax.conv_general_dilated(
            x, weight, stride, padding, rhs_dilation=dilation, feature_group_count=groups, precision=FULL
        )

    def product(x: Any, weight: Any) -> Any:
        read = _channels_last(x, padding)
        for i in reversed(range(len(sizes))):  # one dimension after the other: what is copied is longer
            places = _read(read, [i + 1], kernel[i : i + 1], sizes[i : i + 1], stride[i : i + 1], dilation[i : i + 1])
            read = jnp.concatenate(places, -1)
        right = jnp.moveaxis(weight, (0, 1), (-1, -2)).reshape(-1, out)
        y = lax.dot(read.reshape(-1, len(right)), right, precision=FULL)
        return jnp.moveaxis(y.reshape(x.shape[0], *sizes, out), -1, 1)

    if _as_product(x, weight, sizes, groups):
        return lax.platform_dependent(x, weight, cpu=product, host=whole, default=whole)
    return whole(x, weight)


def transposed(
    x: Any, flipped: Any, stride: Sequence[int], padding: Pairs, dilation: Sequence[int], groups: int
) -> Any:
    """The cross-correlation with a weight of ``x``, between whose elements, ``stride`` apart, are zeros."""
    ones = (1,) * len(stride)

    def whole(x: Any, flipped: Any) -> Any:
        if tuple(stride) == ones:
            return convolved(x, flipped, ones, padding, dilation, groups)
        return lax.conv_general_dilated(
            x, flipped, ones, padding,
            lhs_dilation=stride, rhs_dilation=dilation, feature_group_count=groups, precision=FULL,
        )  # fmt: skip

    def added(x: Any, flipped: Any) -> Any:
        """Axes are the batch, space, the kernel, and channels; those of the kernel go, one after the other."""
        inner, out, *kernel = flipped.shape
        right = jnp.moveaxis(flipped, (1, 0), (0, -1)).reshape(out, -1)
        last, count = jnp.moveaxis(x, 1, -1), len(kernel)
        y = lax.dot(last.reshape(-1, out), right, precision=FULL).reshape(*last.shape[:-1], *kernel, inner)
        for i in reversed(range(count)):
            parts = [lax.index_in_dim(y, place, 1 + count + i, keepdims=False) for place in range(kernel[i])]
            y = _shifted_sum(parts, i + 1, stride[i], padding[i], dilation[i])
        return jnp.moveaxis(y, -1, 1)

    if _as_sum(x, flipped, groups):
        return lax.platform_dependent(x, flipped, cpu=added, host=whole, default=whole)
    return whole(x, flipped)


def _shifted_sum(parts: Sequence[Any], axis: int, stride: int, padding: tuple[int, int], dilation: int) -> Any:
    """The sum of what each place of a kernel adds along an axis."""
    reach = dilation * (len(parts) - 1)
    total: Any = 0
    for place, part in enumerate(parts):
        pairs = [(0, 0, 0)] * part.ndim
        low = padding[0] - place * dilation
        pairs[axis] = (low, sum(padding) - reach - low, stride - 1)
        total = total + lax.pad(part, jnp.zeros((), part.dtype), pairs)
    return total


def weight_between(
    x: Any, y: Any, kernel_size: Sequence[int], stride: Sequence[int], padding: Pairs, dilation: Sequence[int],
    groups: int,
) -> Any:  # fmt: skip
    """The weight whose inner product with any ``w`` is that of ``convolved(x, w)`` with ``y``.

    With this padding the windows, as many as ``y`` has elements, end where ``x`` does.
    """

    def whole(x: Any, y: Any) -> Any:
        batch_is_feature = (1, 0, *range(2, x.ndim))
        return lax.conv_general_dilated(
            x, y, dilation, padding, rhs_dilation=stride, batch_group_count=groups, precision=FULL,
            dimension_numbers=lax.ConvDimensionNumbers(batch_is_feature, batch_is_feature, batch_is_feature),
        )  # fmt: skip

    def products(x: Any, y: Any) -> Any:
        *before, last = range(1, x.ndim - 1)
        *sizes, size = y.shape[2:]

        def of_images(x: Any, y: Any) -> Any:
            read = _read(x, [last], kernel_size[-1:], [size], stride[-1:], dilation[-1:])
            rows = _read(jnp.concatenate(read, -1), before, kernel_size[:-1], sizes, stride[:-1], dilation[:-1])
            right = y.reshape(-1, y.shape[-1])
            return jnp.stack([lax.dot(row.reshape(len(right), -1).T, right, precision=FULL) for row in rows])

        last_x, last_y = _channels_last(x, padding), jnp.moveaxis(y, 1, -1)
        image = math.prod(y.shape[2:]) * kernel_size[-1] * x.shape[1]
        fitting = (n for n in range(1, len(x) + 1) if len(x) % n == 0 and n * image <= _LAID_OUT_AT_ONCE)
        at_once = max(fitting, default=1)
        if at_once == len(x):
            w = of_images(last_x, last_y)
        else:
            some = [a.reshape(-1, at_once, *a.shape[1:]) for a in (last_x, last_y)]
            zeros = jnp.zeros((math.prod(kernel_size[:-1]), kernel_size[-1] * x.shape[1], y.shape[1]), x.dtype)
            w, _ = scan(lambda w, images: (w + of_images(*images), None), zeros, some)
        return jnp.moveaxis(w.reshape(*kernel_size, x.shape[1], y.shape[1]), (-1, -2), (0, 1))

    if _as_products(x, y, kernel_size, groups):
        return lax.platform_dependent(x, y, cpu=products, host=whole, default=whole)
    return whole(x, y)
