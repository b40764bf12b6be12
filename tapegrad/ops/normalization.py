"""Normalization: of batches, layers and groups, and by the root mean square.

Note [One formula for all normalizations]
To *standardize* is to subtract the mean over some axes and to divide by the standard deviation ``s`` there::

    u = (x - mean(x)) / s            s = sqrt(mean((x - mean(x))**2) + eps)

Its derivative is symmetric: gradients and tangents go through the same map, ``(g - mean(g) - u mean(g u)) / s``. Batch,
layer and group normalization differ in the axes, and in the shape in which weight and bias meet ``u``; both are said
by a ``NormLayout``. Half types are computed in float32. Mean and deviation are found again in the backward pass, where
XLA fuses that with the rest, so only ``x`` is saved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.sizes import as_number
from tapegrad.ops.checks import checked, refuse_dtypes
from tapegrad.ops.kinds import broadcast_to, cast, general, sum_to
from tapegrad.ops.memory_formats import as_images, gradient_as_images, gradient_kept
from tapegrad.ops.operator import Operator
from tapegrad.ops.reductions import mean, sum
from tapegrad.ops.shape import view
from tapegrad.ops.unary import rsqrt, sqrt


class NormLayout(NamedTuple):
    """The view that a normalization has of its input: in which shape, over which axes, and its weight in which
    shape."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    weight: tuple[int, ...]


def layer_layout(shape: Sequence[int], axes: tuple[int, ...]) -> NormLayout:
    """Over the last axes; a weight for each element."""
    return NormLayout(tuple(shape), axes, tuple(shape[axis] for axis in axes))


def group_layout(shape: Sequence[int], groups: int) -> NormLayout:
    """Over the channels of each group, and space; a weight for each channel."""
    batch, channels, *space = shape
    split = (batch, groups, channels // groups, *space)
    return NormLayout(split, tuple(range(2, len(split))), (groups, channels // groups, *[1] * len(space)))


def channel_layout(shape: Sequence[int]) -> NormLayout:
    """Over everything but channels; a weight for each channel."""
    return NormLayout(tuple(shape), (0, *range(2, len(shape))), (shape[1], *[1] * (len(shape) - 2)))


# -- formulas ----------------------------------------------------------------------------------------------------------


def _wide(x: Any) -> Any:
    """``x`` in the type of the computation."""
    is_half = dtypes.as_dtype(x.dtype).itemsize == 2
    return cast(x, dtype=dtypes.float32) if is_half else x


def _centered(x: Any, layout: NormLayout, eps: float) -> tuple[Any, Any]:
    """``x - mean(x)`` and ``1 / s``."""
    x = view(_wide(x), shape=layout.shape)
    centered = x - mean(x, axis=layout.axes, keepdims=True)
    return centered, rsqrt(mean(centered * centered, axis=layout.axes, keepdims=True) + eps)


def _standardized(x: Any, layout: NormLayout, eps: float) -> tuple[Any, Any]:
    """``u`` and ``1 / s``. See Note [One formula for all normalizations]."""
    centered, scale = _centered(x, layout, eps)
    return centered * scale, scale


def _is_even(layout: NormLayout) -> bool:
    """Tell whether all that is standardized together has the same weight, which can be taken into the scale."""
    before = len(layout.shape) - len(layout.weight)
    return all(axis < before or layout.weight[axis - before] == 1 for axis in layout.axes)


def _spatial(layout: NormLayout) -> tuple[int, ...]:
    """The last axes, those of which a weight knows nothing."""
    count = next((place for place, length in enumerate(reversed(layout.weight)) if length != 1), len(layout.weight))
    return tuple(range(len(layout.shape) - count, len(layout.shape)))


def _through(t: Any, unit: Any, scale: Any, axes: tuple[int, ...]) -> Any:
    """A gradient or tangent, through the standardization."""
    mean_t = mean(t, axis=axes, keepdims=True)
    return (t - mean_t - unit * mean(t * unit, axis=axes, keepdims=True)) * scale


def _times(t: Any, weight: Any, layout: NormLayout) -> Any:
    return t if weight is None else t * view(_wide(weight), shape=layout.weight)


def _to_input(g: Any, x: Any, weight: Any, layout: NormLayout, eps: float) -> Any:
    centered, scale = _centered(x, layout, eps)
    g, even = view(_wide(g), shape=layout.shape), _is_even(layout)
    space = () if even else _spatial(layout)  # there the weight meets sums over space, not each element
    if not even and not space:
        g = _times(g, weight, layout)

    def average(t: Any) -> Any:
        t = _times(mean(t, axis=space, keepdims=True), weight, layout) if space else t
        return mean(t, axis=layout.axes, keepdims=True)

    slope, middle = average(g * centered) * scale * scale, average(g)
    factor = _times(scale, weight, layout) if even or space else scale
    if space:
        through = g * factor - (centered * (slope * scale) + middle * scale)
    else:
        through = (g - (centered * slope + middle)) * factor
    return view(through, shape=tuple(x.shape))


def _to_weight(g: Any, x: Any, shape: Sequence[int], layout: NormLayout, eps: float) -> Any:
    centered, scale = _centered(x, layout, eps)
    both = _of_one_weight(view(_wide(g), shape=layout.shape) * centered, layout)
    return view(sum_to(both * scale, shape=layout.weight), shape=tuple(shape))


def _to_bias(g: Any, shape: Sequence[int], layout: NormLayout) -> Any:
    both = _of_one_weight(view(_wide(g), shape=layout.shape), layout)
    return view(sum_to(both, shape=layout.weight), shape=tuple(shape))


def _of_one_weight(t: Any, layout: NormLayout) -> Any:
    """The sums over what is standardized together and has one weight."""
    axes = layout.axes if _is_even(layout) else _spatial(layout)
    return sum(t, axis=axes, keepdims=True) if axes else t


def _tangent(t_x: Any, t_weight: Any, t_bias: Any, x: Any, weight: Any, layout: NormLayout, eps: float) -> Any:
    unit, scale = _standardized(x, layout, eps)
    parts = []
    if t_x is not None:
        t_x = view(_wide(t_x), shape=layout.shape)
        parts.append(_times(_through(t_x, unit, scale, layout.axes), weight, layout))
    if t_weight is not None:
        parts.append(_times(unit, t_weight, layout))
    if t_bias is not None:
        parts.append(broadcast_to(view(_wide(t_bias), shape=layout.weight), shape=layout.shape))
    return _returned(parts, x)


def _returned(parts: Sequence[Any], x: Any) -> Any:
    """The sum of the parts of a tangent, in the shape and dtype of ``x``; None if there are none."""
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return cast(view(total, shape=tuple(x.shape)), dtype=dtypes.as_dtype(x.dtype))


# -- kernels -----------------------------------------------------------------------------------------------------------


def _moments(x, layout):
    """``x`` in the layout and the type of the computation, its mean and its variance."""
    x = x.reshape(layout.shape)
    x = x.astype(jnp.float32) if x.dtype.itemsize == 2 else x
    center = jnp.mean(x, layout.axes, keepdims=True)
    return x, center, jnp.mean(jnp.square(x - center), layout.axes, keepdims=True)


def _scaled_and_shifted(unit, weight, bias, layout, like):
    if weight is not None:
        unit = unit * weight.astype(unit.dtype).reshape(layout.weight)
    if bias is not None:
        unit = unit + bias.astype(unit.dtype).reshape(layout.weight)
    return unit.reshape(like.shape).astype(like.dtype)


def _normalized(x, weight, bias, layout, eps):
    wide, center, variance = _moments(x, layout)
    scale = lax.rsqrt(variance + eps)
    if weight is not None and _spatial(layout):
        scale, weight = scale * weight.astype(scale.dtype).reshape(layout.weight), None
    return _scaled_and_shifted((wide - center) * scale, weight, bias, layout, x)


# -- checks ------------------------------------------------------------------------------------------------------------


def _check_dtypes(kernel: str, x: Any, *parameters: Any) -> None:
    """Refuse parameters whose dtype is not that of ``x``; a half type takes float32 ones too."""
    present = [spec for spec in parameters if spec is not None]
    allowed = (x.dtype, dtypes.float32) if x.dtype.itemsize == 2 else (x.dtype,)
    if any(spec.dtype not in allowed for spec in present):
        if any(spec.dtype is not dtypes.float32 for spec in present):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    refuse_dtypes(kernel, x, bool=True, integral=True, complex=True)


def _check_shapes(x: Any, parameters: dict[str, Any], axes: tuple[int, ...]) -> None:
    shape = [x.shape[axis] for axis in axes]
    for name, spec in parameters.items():
        if spec is not None and list(spec.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(spec.shape)} "
                f"and normalized_shape = {shape}"
            )


def _check_layer(specs: Sequence, settings: dict) -> None:
    x, weight, bias = specs
    _check_shapes(x, {"weight": weight, "bias": bias}, settings["axes"])
    _check_dtypes("LayerNormKernelImpl", x, weight, bias)


def _check_group(specs: Sequence, settings: dict) -> None:
    x, *parameters = specs
    for name, spec in zip(("weight", "bias"), parameters, strict=True):
        if spec is not None and tuple(spec.shape) != (x.shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(spec.shape)} and input of shape {list(x.shape)}"
            )
    _check_dtypes("GroupNormKernelImpl", x, *parameters)


def _check_batch(specs: Sequence, settings: dict) -> None:
    x, weight, bias, running_mean, running_var, *_ = specs
    named = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, spec in named.items():
        if spec is not None and spec.numel != x.shape[1]:
            raise RuntimeError(f"{name} should contain {x.shape[1]} elements not {spec.numel}")
    _check_dtypes("batch_norm", x, *named.values())


# -- the operators -----------------------------------------------------------------------------------------------------


@checked(_check_layer)
@general(
    x=lambda g, x, weight, axes, eps: _to_input(g, x, weight, layer_layout(x.shape, axes), eps),
    weight=lambda g, x, weight_shape, axes, eps: _to_weight(g, x, weight_shape, layer_layout(x.shape, axes), eps),
    bias=lambda g, bias_shape, x_shape, axes: _to_bias(g, bias_shape, layer_layout(x_shape, axes)),
    jvp=lambda t_x, t_weight, t_bias, x, weight, axes, eps: _tangent(
        t_x, t_weight, t_bias, x, weight, layer_layout(x.shape, axes), eps
    ),
    real=True, aten="native_layer_norm", saved={"input": "x"}, again=("x", "weight", "bias"),
)  # fmt: skip
def layer_norm(x, weight, bias, *, axes, eps):
    """``x`` standardized over the last ``axes``, times ``weight``, plus ``bias``, which have their shape."""
    return _normalized(x, weight, bias, layer_layout(x.shape, axes), eps)


@checked(_check_group)
@general(
    x=lambda g, x, weight, groups, eps: _to_input(g, x, weight, group_layout(x.shape, groups), eps),
    weight=lambda g, x, weight_shape, groups, eps: _to_weight(g, x, weight_shape, group_layout(x.shape, groups), eps),
    bias=lambda g, bias_shape, x_shape, groups: _to_bias(g, bias_shape, group_layout(x_shape, groups)),
    jvp=lambda t_x, t_weight, t_bias, x, weight, groups, eps: _tangent(
        t_x, t_weight, t_bias, x, weight, group_layout(x.shape, groups), eps
    ),
    real=True, aten="native_group_norm", saved={"input": "x", "group": "groups"}, lies=as_images,
    gradient_lies=gradient_as_images,
)  # fmt: skip
def group_norm(x, weight, bias, *, groups, eps):
    """``x`` standardized over each group of channels, times ``weight``, plus ``bias``, a number for each channel."""
    return _normalized(x, weight, bias, group_layout(x.shape, groups), eps)


def _declare_batch_norm(name: str, **facts: Any) -> Operator:
    @checked(_check_batch)
    @general(
        x=lambda g_out, x, weight, eps: _to_input(g_out, x, weight, channel_layout(x.shape), eps),
        weight=lambda g_out, x, weight_shape, eps: _to_weight(g_out, x, weight_shape, channel_layout(x.shape), eps),
        bias=lambda g_out, bias_shape, x_shape: _to_bias(g_out, bias_shape, channel_layout(x_shape)),
        jvp=lambda t_x, t_weight, t_bias, x, weight, eps: (
            _tangent(t_x, t_weight, t_bias, x, weight, channel_layout(x.shape), eps), None, None
        ),
        outputs=("out", "new_mean", "new_var"),
        name=name,
        family="batch_norm",
        flowing=1,
        real=True,
        indifferent=True,
        again=("x", "weight"),
        lies=as_images,
        gradient_lies=gradient_as_images,
        **facts,
    )  # fmt: skip
    def operator(x, weight, bias, running_mean, running_var, momentum, *, eps):
        """``x`` standardized over batch and space, and what the running statistics become, which have no derivative.

        They move by the share ``momentum`` towards mean and unbiased variance of this batch, and are those if there
        were none."""
        layout = channel_layout(x.shape)
        wide, center, variance = _moments(x, layout)
        scale = lax.rsqrt(variance + eps)
        if weight is not None:
            scale = scale * weight.astype(scale.dtype).reshape(layout.weight)
        out = _scaled_and_shifted((wide - center) * scale, None, bias, layout, x)
        count = math.prod(layout.shape[axis] for axis in layout.axes)
        unbiased = variance * (count / max(count - 1, 1))
        return out, _moved(running_mean, center, momentum), _moved(running_var, unbiased, momentum)

    return operator


def _moved(running, current, momentum):
    current = current.reshape(-1)
    if running is None:
        return current
    return (running * (1 - momentum) + current.astype(running.dtype) * momentum).astype(running.dtype)


def _inference_scale(variance: Any, weight: Any, layout: NormLayout, eps: float) -> Any:
    scale = view(rsqrt(_wide(variance) + eps), shape=layout.weight)
    return scale if weight is None else scale * view(_wide(weight), shape=layout.weight)


def _inference_unit(x: Any, average: Any, variance: Any, layout: NormLayout, eps: float) -> Any:
    centered = _wide(x) - view(_wide(average), shape=layout.weight)
    return centered * _inference_scale(variance, None, layout, eps)


def _inference_tangent(
    t_x: Any, t_weight: Any, t_bias: Any, x: Any, weight: Any, average: Any, variance: Any, eps: float
) -> Any:
    layout = channel_layout(x.shape)
    parts = []
    if t_x is not None:
        parts.append(_wide(t_x) * _inference_scale(variance, weight, layout, eps))
    if t_weight is not None:
        parts.append(_times(_inference_unit(x, average, variance, layout, eps), t_weight, layout))
    if t_bias is not None:
        parts.append(broadcast_to(view(_wide(t_bias), shape=layout.weight), shape=tuple(x.shape)))
    return _returned(parts, x)


def _declare_inference(name: str, **facts: Any) -> Operator:
    @checked(_check_batch)
    @general(
        x=lambda g, x_shape, weight, running_var, eps: (
            _wide(g) * _inference_scale(running_var, weight, channel_layout(x_shape), eps)
        ),
        weight=lambda g, x, weight_shape, running_mean, running_var, eps: _to_bias(
            _wide(g) * _inference_unit(x, running_mean, running_var, channel_layout(x.shape), eps),
            weight_shape,
            channel_layout(x.shape),
        ),
        bias=lambda g, bias_shape, x_shape: _to_bias(g, bias_shape, channel_layout(x_shape)),
        jvp=lambda t_x, t_weight, t_bias, x, weight, running_mean, running_var, eps: _inference_tangent(
            t_x, t_weight, t_bias, x, weight, running_mean, running_var, eps
        ),
        name=name,
        family="batch_norm",
        real=True,
        indifferent=True,
        again=("x", "weight"),
        lies=as_images,
        gradient_lies=gradient_as_images,
        **facts,
    )
    def operator(x, weight, bias, running_mean, running_var, *, eps):
        """``x`` less a given mean over a given deviation of its channel, times ``weight``, plus ``bias``."""
        layout = channel_layout(x.shape)
        wide = x.astype(jnp.float32) if x.dtype.itemsize == 2 else x
        scale = lax.rsqrt(running_var.astype(wide.dtype) + eps).reshape(layout.weight)
        unit = (wide - running_mean.astype(wide.dtype).reshape(layout.weight)) * scale
        return _scaled_and_shifted(unit, weight, bias, layout, x)

    return operator


NATIVE = {"aten": "native_batch_norm", "saved": {"input": "x"}}

batch_norm = _declare_batch_norm("batch_norm", **NATIVE)
batch_norm_inference = _declare_inference("batch_norm_inference", **NATIVE)

TRAINED = {
    "native_batch_norm": batch_norm,
    "_native_batch_norm_legit": _declare_batch_norm("batch_norm_legit", aten="_native_batch_norm_legit"),
    "_native_batch_norm_legit.no_stats": _declare_batch_norm(
        "batch_norm_alone", aten="_native_batch_norm_legit", node=1
    ),
    "_batch_norm_with_update": _declare_batch_norm("batch_norm_with_update", aten="_batch_norm_with_update"),
}
"""Batch normalization under PyTorch's various names, each with its own node: by the statistics of the batch."""

GIVEN = {
    "native_batch_norm": batch_norm_inference,
    "_native_batch_norm_legit": _declare_inference("batch_norm_legit_inference", aten="_native_batch_norm_legit"),
    "_native_batch_norm_legit_no_training": _declare_inference(
        "batch_norm_no_training", aten="_native_batch_norm_legit_no_training"
    ),
}
"""The same, by given statistics."""


def _group_tangents(t_x: Any, x: Any, groups: int, eps: float) -> tuple[Any, Any]:
    """The tangents of the means and of the inverse deviations of groups; ``s' = -s**2 mean(u x')``."""
    if t_x is None:
        return None, None
    layout = group_layout(x.shape, groups)
    unit, scale = _standardized(x, layout, eps)
    t_x, shape = view(_wide(t_x), shape=layout.shape), (x.shape[0], groups)
    slope = -scale * scale * mean(unit * t_x, axis=layout.axes, keepdims=True)
    return tuple(
        cast(view(part, shape=shape), dtype=dtypes.as_dtype(x.dtype))
        for part in (mean(t_x, axis=layout.axes, keepdims=True), slope)
    )


def _from_statistics(g: Any, g_center: Any, g_scale: Any, x: Any, groups: int, eps: float) -> Any:
    """The gradient ``g`` of ``x``, and what those of the means and of the inverse deviations of groups add to it."""
    layout = group_layout(x.shape, groups)
    unit, scale = _standardized(x, layout, eps)
    shape = (x.shape[0], groups, *[1] * len(layout.axes))
    g_center, g_scale = (view(_wide(one), shape=shape) for one in (g_center, g_scale))
    count = math.prod(layout.shape[axis] for axis in layout.axes)
    return g + view((g_center - unit * (g_scale * scale * scale)) / as_number(max(count, 1)), shape=tuple(x.shape))


@checked(_check_group)
@general(
    x=lambda g_out, g_center, g_scale, x, weight, groups, eps: _from_statistics(
        _to_input(g_out, x, weight, group_layout(x.shape, groups), eps), g_center, g_scale, x, groups, eps
    ),
    weight=lambda g_out, x, weight_shape, groups, eps: _to_weight(
        g_out, x, weight_shape, group_layout(x.shape, groups), eps
    ),
    bias=lambda g_out, bias_shape, x_shape, groups: _to_bias(g_out, bias_shape, group_layout(x_shape, groups)),
    jvp=lambda t_x, t_weight, t_bias, x, weight, groups, eps: (
        _tangent(t_x, t_weight, t_bias, x, weight, group_layout(x.shape, groups), eps),
        *_group_tangents(t_x, x, groups, eps),
    ),
    outputs=("out", "center", "scale"),
    real=True,
    lies=as_images,
    gradient_lies=gradient_as_images,
)
def native_group_norm(x, weight, bias, *, groups, eps):
    """``group_norm``, and the mean and the inverse of the deviation of each group."""
    layout = group_layout(x.shape, groups)
    wide, center, variance = _moments(x, layout)
    scale = lax.rsqrt(variance + eps)
    out = _scaled_and_shifted((wide - center) * scale, weight, bias, layout, x)
    return out, *(part.reshape(x.shape[0], groups).astype(x.dtype) for part in (center, scale))


def _layout_of(shape: Sequence[int], kind: str, argument: Any) -> NormLayout:
    """The layout of a kind of normalization."""
    return layer_layout(shape, argument) if kind == "layer" else channel_layout(shape)


@general(outputs=("center", "scale"), aten=None)
def moments(x, *, kind, argument, eps):
    """The mean and the inverse of the standard deviation that a normalization (``"layer"``, with axes, or
    ``"channel"``) finds, in the type of the computation, in its layout."""
    _, center, variance = _moments(x, _layout_of(x.shape, kind, argument))
    return center, lax.rsqrt(variance + eps)


# -- the root mean square ----------------------------------------------------------------------------------------------


def _rms_unit(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    x = _wide(x)
    scale = rsqrt(mean(x * x, axis=axes, keepdims=True) + eps)
    return x * scale, scale


def _rms_through(t: Any, x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """A gradient or tangent, through the division by the root mean square, whose derivative is symmetric."""
    unit, scale = _rms_unit(x, axes, eps)
    return (t - unit * mean(t * unit, axis=axes, keepdims=True)) * scale


def _rms_tangent(t_x: Any, t_weight: Any, x: Any, weight: Any, axes: tuple[int, ...], eps: float) -> Any:
    parts = []
    if t_x is not None:
        through = _rms_through(_wide(t_x), x, axes, eps)
        parts.append(through if weight is None else through * weight)
    if t_weight is not None:
        parts.append(_rms_unit(x, axes, eps)[0] * t_weight)
    return _returned(parts, x)


def _check_rms(specs: Sequence, settings: dict) -> None:
    x, weight = specs
    _check_shapes(x, {"weight": weight}, settings["axes"])
    refuse_dtypes("rms_norm", x, bool=True, integral=True, complex=True)


@checked(_check_rms)
@general(
    x=lambda g, x, weight, axes, eps: _rms_through(_wide(g) if weight is None else _wide(g) * weight, x, axes, eps),
    weight=lambda g, x, weight_shape, axes, eps: sum_to(
        _wide(g) * _rms_unit(x, axes, eps)[0], shape=tuple(weight_shape)
    ),
    jvp=lambda t_x, t_weight, x, weight, axes, eps: _rms_tangent(t_x, t_weight, x, weight, axes, eps),
    real=True, aten="_fused_rms_norm", node="MulBackward0", lies=as_images,
    gradient_lies=gradient_kept, turns=("weight", "x"),
)  # fmt: skip
def rms_norm(x, weight, *, axes, eps):
    """``x`` over the root of the mean of its squares (and ``eps``) over the last ``axes``, times ``weight``."""
    wide = x.astype(jnp.float32) if x.dtype.itemsize == 2 else x
    unit = wide * lax.rsqrt(jnp.mean(jnp.square(wide), axes, keepdims=True) + eps)
    return (unit if weight is None else unit * weight).astype(x.dtype)


# -- weights of a given length -----------------------------------------------------------------------------------------


def _length(v: Any, axes: tuple[int, ...]) -> Any:
    return sqrt(sum(v * v, axis=axes, keepdims=True))


def _weight_norm_through(t: Any, v: Any, length: Any, axes: tuple[int, ...]) -> Any:
    """A gradient or tangent of ``v``, through the division by its length, whose derivative is symmetric."""
    unit = v / length
    return (t - unit * sum(t * unit, axis=axes, keepdims=True)) / length


def _weight_norm_to_v(g: Any, v: Any, scale: Any, axes: tuple[int, ...]) -> Any:
    v = _wide(v)
    return _weight_norm_through(_wide(g) * _wide(scale), v, _length(v, axes), axes)


def _weight_norm_to_scale(g: Any, v: Any, axes: tuple[int, ...]) -> Any:
    v = _wide(v)
    return sum(_wide(g) * v / _length(v, axes), axis=axes, keepdims=True)


def _weight_norm_tangent(t_v: Any, t_scale: Any, v: Any, scale: Any, axes: tuple[int, ...]) -> Any:
    wide, parts = _wide(v), []
    length = _length(wide, axes)
    if t_v is not None:
        parts.append(_weight_norm_through(_wide(t_v), wide, length, axes) * _wide(scale))
    if t_scale is not None:
        parts.append(wide / length * _wide(t_scale))
    return _returned(parts, v)


@general(
    v=lambda g, v, scale, axes: _weight_norm_to_v(g, v, scale, axes),
    scale=lambda g, v, axes: _weight_norm_to_scale(g, v, axes),
    jvp=lambda t_v, t_scale, v, scale, axes: _weight_norm_tangent(t_v, t_scale, v, scale, axes),
    aten="_weight_norm_interface",
    real=True,
)
def weight_norm(v, scale, *, axes):
    """``v`` over the root of the sum of its squares over ``axes``, times ``scale``, which has a 1 for each of these."""
    wide = v.astype(jnp.float32) if v.dtype.itemsize == 2 else v
    length = jnp.sqrt(jnp.sum(jnp.square(wide), axes, keepdims=True))
    return (wide * (scale.astype(wide.dtype) / length)).astype(v.dtype)
