"""Convolution, and its two adjoints, which are operators of their own.

Note [Three faces of one form]
``sum(convolution(x, w) * y)`` is linear in each of ``x``, ``w`` and ``y``. Taking out one leaves three operators::

    convolution(x, w)       what multiplies y
    conv_transpose(y, w)    what multiplies x: the gradient of the input, and PyTorch's transposed convolution
    conv_weight(x, y)       what multiplies w: the gradient of the weight

The gradients of each are the other two, so the family is closed under differentiation to any order.

All have the layout (batch, channels, *space), weights (out, in / groups, *kernel), and the same settings: ``stride``,
``padding`` (a pair for each dimension of space), ``dilation`` and ``groups``.

Note [Products of matrices]
XLA's convolutions for CPUs are made for many channels. With few, and for the gradient of a weight, it is quicker to lay
the elements that each window reads side by side and to multiply matrices: in half the time for a photograph's three
channels, in a fifth for the weight of a 1 x 1 kernel. What is laid out has to be stored: for inputs of few channels
all of a window, which is about as large as the result; for weights one row of the kernel, the rows one after the other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from tapegrad.ops.checks import checked, cpp_name, refuse_dtypes
from tapegrad.ops.matmul import FULL, affine
from tapegrad.ops.operator import Operator, broadcast_to, conj, multilinear
from tapegrad.ops.reductions import sum
from tapegrad.ops.shape import view

Pairs = Sequence[tuple[int, int]]

_MANY_CHANNELS = 8  # from here on XLA convolves as quickly as it multiplies matrices
_WIDE_ROW = 8  # elements that a window reads in a row, from which on a weight's gradient is quicker as products
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


def _has_products(x: Any, y: Any, groups: int) -> bool:
    """Whether there is something to multiply, of a type whose matrices XLA multiplies quickly."""
    return groups == 1 and x.dtype in (jnp.float32, jnp.float64) and min(math.prod(x.shape), math.prod(y.shape)) > 0


def _convolved(
    x: Any, weight: Any, stride: Sequence[int], padding: Pairs, dilation: Sequence[int], groups: int
) -> Any:  # fmt: skip
    """The cross-correlation of ``x`` with ``weight``. See Note [Products of matrices]."""

    def whole(x: Any, weight: Any) -> Any:
        return lax.conv_general_dilated(
            x, weight, stride, padding, rhs_dilation=dilation, feature_group_count=groups, precision=FULL
        )

    def product(x: Any, weight: Any) -> Any:
        out, _, *kernel = weight.shape
        padded = _channels_last(x, padding)
        sizes = [
            (length - d * (k - 1) - 1) // s + 1
            for length, k, s, d in zip(padded.shape[1:-1], kernel, stride, dilation, strict=True)
        ]
        read = _read(padded, range(1, x.ndim - 1), kernel, sizes, stride, dilation)
        y = lax.dot(
            jnp.concatenate(read, -1).reshape(len(x) * math.prod(sizes), -1),
            jnp.moveaxis(weight, (0, 1), (-1, -2)).reshape(-1, out),
            precision=FULL,
        )
        return jnp.moveaxis(y.reshape(len(x), *sizes, out), -1, 1)

    few = x.shape[1] < _MANY_CHANNELS and math.prod(weight.shape[1:]) <= 4 * len(weight)
    if few and _has_products(x, weight, groups):
        return lax.platform_dependent(x, weight, cpu=product, default=whole)
    return whole(x, weight)


def _with_bias(y, bias):
    return y if bias is None else y + bias.reshape([-1] + [1] * (y.ndim - 2))


def _along_channels(bias, shape):
    """A number for each channel, repeated to the shape of a result."""
    return broadcast_to(view(bias, shape=(bias.shape[0], *[1] * (len(shape) - 2))), shape=tuple(shape))


def _over_channels(g):
    """The adjoint of ``_along_channels``: the sum over everything but channels."""
    return sum(g, axis=(0, *range(2, g.ndim)), keepdims=False)


def _check_dtypes(specs: Sequence, settings: dict) -> None:
    x, weight, bias = specs
    if x.dtype is not weight.dtype:
        raise RuntimeError(f"expected scalar type {x.dtype.scalar_name} but found {weight.dtype.scalar_name}")
    if bias is not None and bias.dtype is not x.dtype:
        raise RuntimeError(
            f"Input type ({cpp_name(x.dtype)}) and bias type ({cpp_name(bias.dtype)}) should be the same"
        )
    refuse_dtypes(f"slow_conv{x.ndim - 2}d_cpu", x, bool=True)


def _declare(name: str, node: str) -> Operator:
    @checked(_check_dtypes)
    @affine(
        x=lambda g, weight, x_shape, stride, padding, dilation, groups: conv_transpose(
            g, conj(weight), None, output_size=tuple(x_shape[2:]),
            stride=stride, padding=padding, dilation=dilation, groups=groups,
        ),
        weight=lambda g, x, weight_shape, stride, padding, dilation, groups: conv_weight(
            conj(x), g, kernel_size=tuple(weight_shape[2:]),
            stride=stride, padding=padding, dilation=dilation, groups=groups,
        ),
        bias=lambda g: _over_channels(g),
        jvp=lambda t_bias, out: _along_channels(t_bias, out.shape),
        node=node,
        name=name,
    )  # fmt: skip
    def operator(x, weight, bias=None, *, stride, padding, dilation, groups):
        """The cross-correlation of ``x`` with ``weight``, plus a bias for each channel. See the Note."""
        return _with_bias(_convolved(x, weight, stride, padding, dilation, groups), bias)

    return operator


COMPLEX = "AddBackward0"
"""The node of a convolution of complex numbers: PyTorch puts it together from those of real and imaginary parts."""

convolution = _declare("convolution", "ConvolutionBackward0")
complex_convolution = _declare("complex_convolution", COMPLEX)


def _flipped(weight: Any, groups: int) -> Any:
    """A weight with input and output exchanged and its kernel reversed."""
    out, inner, *kernel = weight.shape
    split = weight.reshape(groups, out // groups, inner, *kernel).swapaxes(1, 2)
    return jnp.flip(split.reshape(groups * inner, out // groups, *kernel), tuple(range(2, weight.ndim)))


def _transposed_padding(
    lengths: Sequence[int], sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], padding: Pairs,
    dilation: Sequence[int],
) -> list[tuple[int, int]]:  # fmt: skip
    """The padding with which a convolution of ``lengths`` elements, ``stride`` apart, gives ``sizes`` ones."""
    pairs = []
    for length, size, k, s, (low, _), d in zip(lengths, sizes, kernel, stride, padding, dilation, strict=True):
        reach = d * (k - 1)
        left = reach - low
        pairs.append((left, size - ((length - 1) * s + 1) - left + reach))
    return pairs


def _exact_padding(
    lengths: Sequence[int], sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], padding: Pairs,
    dilation: Sequence[int],
) -> tuple[tuple[int, int], ...]:  # fmt: skip
    """The padding with which ``sizes`` elements, ``stride`` apart, have ``kernel`` places on ``lengths`` elements.

    In front it is what was asked for; behind, just what the last place needs, which may be less than nothing.
    """
    return tuple(
        (low, d * (k - 1) + s * (size - 1) + 1 - length - low)
        for length, size, k, s, (low, _), d in zip(lengths, sizes, kernel, stride, padding, dilation, strict=True)
    )


def _declare_transposed(name: str, node: str) -> Operator:
    @checked(_check_dtypes)
    @affine(
        x=lambda g, weight, x_shape, stride, padding, dilation, groups: convolution(
            g, conj(weight), None, stride=stride, dilation=dilation, groups=groups,
            padding=_exact_padding(g.shape[2:], x_shape[2:], weight.shape[2:], stride, padding, dilation),
        ),
        weight=lambda g, x, weight_shape, stride, padding, dilation, groups: conv_weight(
            g, conj(x), kernel_size=tuple(weight_shape[2:]),
            stride=stride, padding=padding, dilation=dilation, groups=groups,
        ),
        bias=lambda g: _over_channels(g),
        jvp=lambda t_bias, out: _along_channels(t_bias, out.shape),
        node=node,
        name=name,
    )  # fmt: skip
    def operator(x, weight, bias=None, *, output_size, stride, padding, dilation, groups):
        """What ``convolution`` takes from ``output_size`` elements to ``x``, transposed. See the Note."""
        pairs = _transposed_padding(x.shape[2:], output_size, weight.shape[2:], stride, padding, dilation)
        y = lax.conv_general_dilated(
            x, _flipped(weight, groups), (1,) * len(stride), pairs,
            lhs_dilation=stride, rhs_dilation=dilation, feature_group_count=groups, precision=FULL,
        )  # fmt: skip
        return _with_bias(y, bias)

    return operator


conv_transpose = _declare_transposed("conv_transpose", "ConvolutionBackward0")
complex_conv_transpose = _declare_transposed("complex_conv_transpose", COMPLEX)


@multilinear(
    x=lambda g, y, x_shape, stride, padding, dilation, groups: conv_transpose(
        conj(y), g, None, output_size=tuple(x_shape[2:]),
        stride=stride, padding=padding, dilation=dilation, groups=groups,
    ),
    y=lambda g, x, y_shape, stride, padding, dilation, groups: convolution(
        conj(x), g, None, stride=stride, dilation=dilation, groups=groups,
        padding=_exact_padding(x.shape[2:], y_shape[2:], g.shape[2:], stride, padding, dilation),
    ),
    node="ConvolutionBackwardBackward0",
)  # fmt: skip
def conv_weight(x, y, *, kernel_size, stride, padding, dilation, groups):
    """The weight whose inner product with any ``w`` is that of ``convolution(x, w)`` with ``y``. See the Note."""
    if not math.prod(y.shape) or not x.shape[1]:
        return jnp.zeros((y.shape[1], x.shape[1] // groups, *kernel_size), y.dtype)
    pairs = _exact_padding(x.shape[2:], y.shape[2:], kernel_size, stride, padding, dilation)

    def whole(x: Any, y: Any) -> Any:
        batch_is_feature = (1, 0, *range(2, x.ndim))
        return lax.conv_general_dilated(
            x, y, dilation, pairs, rhs_dilation=stride, batch_group_count=groups, precision=FULL,
            dimension_numbers=lax.ConvDimensionNumbers(batch_is_feature, batch_is_feature, batch_is_feature),
        )  # fmt: skip

    def products(x: Any, y: Any) -> Any:
        *before, last = range(1, x.ndim - 1)
        *sizes, size = y.shape[2:]
        read = _read(_channels_last(x, pairs), [last], kernel_size[-1:], [size], stride[-1:], dilation[-1:])
        right = jnp.moveaxis(y, 1, -1).reshape(-1, y.shape[1])
        rows = _read(jnp.concatenate(read, -1), before, kernel_size[:-1], sizes, stride[:-1], dilation[:-1])
        w = jnp.stack([lax.dot(row.reshape(len(right), -1).T, right, precision=FULL) for row in rows])
        return jnp.moveaxis(w.reshape(*kernel_size, x.shape[1], y.shape[1]), (-1, -2), (0, 1))

    wide = x.shape[1] * kernel_size[-1] >= _WIDE_ROW and math.prod(kernel_size[:-1]) <= _MANY_ROWS
    if wide and _has_products(x, y, groups):
        return lax.platform_dependent(x, y, cpu=products, default=whole)
    return whole(x, y)
