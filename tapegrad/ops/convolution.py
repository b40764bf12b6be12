"""Convolution, and its two adjoints, which are operators of their own.

Note [Three faces of one form]
``sum(convolution(x, w) * y)`` is linear in each of ``x``, ``w`` and ``y``. Taking out one leaves three operators::

    convolution(x, w)       what multiplies y
    conv_transpose(y, w)    what multiplies x: the gradient of the input, and PyTorch's transposed convolution
    conv_weight(x, y)       what multiplies w: the gradient of the weight

The gradients of each are the other two, so the family is closed under differentiation to any order.

All have the layout (batch, channels, *space), weights (out, in / groups, *kernel), and the same settings: ``stride``,
``padding`` (a pair for each dimension of space), ``dilation`` and ``groups``.
How they are computed is in ``convolving.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.execution.data.dtypes import FLOATING, float64
from tapegrad._src.tensor.geometry import Geometry, Ints, seems_channels_last, unsqueezed
from tapegrad._src.tensor.spec import core_type_name
from tapegrad.ops.checks import checked, cpp_name, refuse_dtypes
from tapegrad.ops.convolving import Pairs, convolved, transposed, weight_between
from tapegrad.ops.kinds import broadcast_to, conj, declaration, multilinear
from tapegrad.ops.matmul import Affine
from tapegrad.ops.memory_formats import as_any_images
from tapegrad.ops.operator import Operator
from tapegrad.ops.reductions import sum
from tapegrad.ops.shape import view


def _with_bias(y, bias):
    return y if bias is None else y + bias.reshape([-1] + [1] * (y.ndim - 2))


def _along_channels(bias, shape):
    """A number for each channel, repeated to the shape of a result."""
    return broadcast_to(view(bias, shape=(bias.shape[0], *[1] * (len(shape) - 2))), shape=tuple(shape))


def _over_channels(g):
    """The adjoint of ``_along_channels``: the sum over everything but channels."""
    return sum(g, axis=(0, *range(2, g.ndim)), keepdims=False)


def as_convolved(shape: Ints, *specs: Any) -> Ints | None:
    """Channels innermost, if they are so in the input or the weight; in volumes of doubles never."""
    if len(shape) == 3:  # signals are images that are one element high
        turned = any(seems_channels_last(*unsqueezed(Geometry(tuple(x.shape), x.layout), 2)[:2]) for x in specs[:2])
        return (shape[1] * shape[2], 1, shape[1]) if turned else None
    return None if len(shape) == 5 and specs[0].dtype is float64 else as_any_images(shape, *specs[:2])


class Convolution(Affine):
    """Its gradients lie as its result does."""

    def gradient_strides(self, plan: Plan, position: int, strides: Ints | None) -> Ints | None:
        return self.output_strides(plan.specs[position].shape, plan.specs)


def _check_dtypes(specs: Sequence, settings: dict) -> None:
    x, weight, bias = specs
    if bias is not None and bias.dtype is not x.dtype and (x.dtype is weight.dtype or "output_size" not in settings):
        raise RuntimeError(
            f"Input type ({cpp_name(x.dtype)}) and bias type ({cpp_name(bias.dtype)}) should be the same"
        )
    if x.dtype is not weight.dtype:
        names = f"Input type ({core_type_name(x)}) and weight type ({core_type_name(weight)}) should be the same"
        if x.dtype.is_complex:
            raise RuntimeError(names)
        if x.dtype.category == FLOATING and x.dtype.itemsize == 2:
            raise RuntimeError(f"{names} or input should be a MKLDNN tensor and weight is a dense tensor")
        raise RuntimeError(f"expected scalar type {x.dtype.scalar_name} but found {weight.dtype.scalar_name}")
    dims = max(x.ndim - 2, 2)
    if "output_size" in settings:
        refuse_dtypes(f"slow_conv_transpose{dims}d_out_cpu", x, bool=True, integral=x.dtype.name != "int64")
    refuse_dtypes("slow_conv2d_cpu" if dims == 2 else "compute_columns3d", x, bool=True)


def bias_sizes(plan: Plan) -> tuple[int, ...]:
    """The shape of the bias; of none, PyTorch says ``(0,)``."""
    return (0,) if plan.specs[2] is None else tuple(plan.specs[2].shape)


def _low_padding(plan: Plan) -> tuple[int, ...]:
    return tuple(low for low, _ in plan.settings["padding"])


SAVED = {"input": "x", "bias_sym_sizes_opt": bias_sizes, "padding": _low_padding}


def _declare(name: str, **facts: Any) -> Operator:
    @checked(_check_dtypes)
    @declaration(Convolution, lies=as_convolved)(
        x=lambda g, x, weight, x_shape, stride, padding, dilation, groups: conv_transpose(
            g, conj(weight), None, output_size=tuple(x_shape[2:]),
            stride=stride, padding=padding, dilation=dilation, groups=groups,
        ),
        weight=lambda g, x, weight, weight_shape, stride, padding, dilation, groups: conv_weight(
            conj(x), g, kernel_size=tuple(weight_shape[2:]),
            stride=stride, padding=padding, dilation=dilation, groups=groups,
        ),
        bias=lambda g: _over_channels(g),
        jvp=lambda t_bias, out: _along_channels(t_bias, out.shape),
        name=name,
        **facts,
    )  # fmt: skip
    def operator(x, weight, bias=None, *, stride, padding, dilation, groups):
        """The cross-correlation of ``x`` with ``weight``, plus a bias for each channel. See the Note."""
        return _with_bias(convolved(x, weight, stride, padding, dilation, groups), bias)

    return operator


COMPLEX = {"aten": "convolution", "node": "AddBackward0"}
"""Of complex numbers: PyTorch puts it together from those of real and imaginary parts."""

convolution = _declare(
    "convolution",
    saved=SAVED | {"transposed": False, "output_padding": lambda plan: (0,) * len(plan.settings["stride"])},
    again=("x", "weight"),
)
complex_convolution = _declare("complex_convolution", family="convolution", **COMPLEX)


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


def _declare_transposed(name: str, **facts: Any) -> Operator:
    @checked(_check_dtypes)
    @declaration(Convolution, lies=as_convolved)(
        x=lambda g, x, weight, x_shape, stride, padding, dilation, groups: convolution(
            g, conj(weight), None, stride=stride, dilation=dilation, groups=groups,
            padding=_exact_padding(g.shape[2:], x_shape[2:], weight.shape[2:], stride, padding, dilation),
        ),
        weight=lambda g, x, weight, weight_shape, stride, padding, dilation, groups: conv_weight(
            g, conj(x), kernel_size=tuple(weight_shape[2:]),
            stride=stride, padding=padding, dilation=dilation, groups=groups,
        ),
        bias=lambda g: _over_channels(g),
        jvp=lambda t_bias, out: _along_channels(t_bias, out.shape),
        name=name,
        **facts,
    )  # fmt: skip
    def operator(x, weight, bias=None, *, output_size, stride, padding, dilation, groups):
        """The operator from ``output_size`` elements to ``x`` that ``convolution`` is, transposed. See the Note."""
        pairs = _transposed_padding(x.shape[2:], output_size, weight.shape[2:], stride, padding, dilation)
        return _with_bias(transposed(x, _flipped(weight, groups), stride, pairs, dilation, groups), bias)

    return operator


conv_transpose = _declare_transposed(
    "conv_transpose", aten="convolution", saved=SAVED | {"transposed": True}, again=("x", "weight")
)
complex_conv_transpose = _declare_transposed("complex_conv_transpose", family="conv_transpose", **COMPLEX)


@multilinear(
    x=lambda g, y, x_shape, stride, padding, dilation, groups: conv_transpose(
        conj(y), g, None, output_size=tuple(x_shape[2:]),
        stride=stride, padding=padding, dilation=dilation, groups=groups,
    ),
    y=lambda g, x, y_shape, stride, padding, dilation, groups: convolution(
        conj(x), g, None, stride=stride, dilation=dilation, groups=groups,
        padding=_exact_padding(x.shape[2:], y_shape[2:], g.shape[2:], stride, padding, dilation),
    ),
    aten="convolution_backward",
)  # fmt: skip
def conv_weight(x, y, *, kernel_size, stride, padding, dilation, groups):
    """The weight whose inner product with any ``w`` is that of ``convolution(x, w)`` with ``y``. See the Note."""
    if not math.prod(y.shape) or not x.shape[1]:
        return jnp.zeros((y.shape[1], x.shape[1] // groups, *kernel_size), y.dtype)
    pairs = _exact_padding(x.shape[2:], y.shape[2:], kernel_size, stride, padding, dilation)
    return weight_between(x, y, kernel_size, stride, pairs, dilation, groups)
