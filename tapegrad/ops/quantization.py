"""Fake quantization: numbers as they would be if integers stood for them, with a gradient all the same.

The integer ``round(x / scale) + zero_point`` is kept between two bounds, and stands for ``scale`` times its distance
from ``zero_point``. Rounding counts as the identity (the straight-through estimator of Bengio, Leonard and Courville,
2013): inside of the bounds the gradient passes as it is, outside there is none. Kernels are such that jax sees it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from tapegrad.ops.formulas import underivable
from tapegrad.ops.kinds import elementwise, general


def _integers(x, scale, zero_point):
    """The integers that stand for numbers, as floats, without bounds; a float zero point is added before rounding."""
    wide = x if x.dtype.itemsize > 2 else x.astype(jnp.float32)
    scaled = wide * (1 / jnp.asarray(scale, jnp.float32))
    if jnp.issubdtype(jnp.asarray(zero_point).dtype, jnp.floating):
        return jnp.round(scaled + zero_point)
    return jnp.round(scaled) + zero_point


def _is_inside(integers, quant_min, quant_max):
    return (integers >= quant_min) & (integers <= quant_max)


def _quantized(x, scale, zero_point, quant_min, quant_max):
    """The numbers that are represented."""
    integers = _integers(x, scale, zero_point)
    low = jnp.isnan(integers) | (integers < quant_min)
    kept = jnp.where(low, quant_min, jnp.minimum(integers, quant_max))
    out = ((kept - zero_point + 0.0) * jnp.asarray(scale, jnp.float32)).astype(x.dtype)
    inside = _is_inside(integers, quant_min, quant_max)
    return out + jnp.where(inside, x - jax.lax.stop_gradient(x), 0)  # plus nothing, which has x's derivative


@general(real=True, aten=None)
def quantized_inside(x, scale, zero_point, *, quant_min, quant_max):
    """The mask of integers, which stand for numbers, that are within bounds."""
    return _is_inside(_integers(x, scale, zero_point), quant_min, quant_max)


def _passing(g, x, scale, zero_point, quant_min, quant_max):
    """The part of a gradient, or of a tangent, that passes."""
    return g * quantized_inside(x, scale, zero_point, quant_min=quant_min, quant_max=quant_max)


def _passing_tangent(t_x, x, scale, zero_point, quant_min, quant_max):
    return _passing(t_x, x, scale, zero_point, quant_min, quant_max)


_straight_through = partial(general, x=_passing, jvp=_passing_tangent, real=True)


@_straight_through(
    aten="fake_quantize_per_tensor_affine_cachemask",
    node="FakeQuantizePerTensorAffineCachemaskBackward0",
)  # fmt: skip
def fake_quantize_per_tensor(x, scale, zero_point, *, quant_min, quant_max):
    """``x`` rounded to what integers can stand for; ``scale`` and ``zero_point`` are numbers."""
    return _quantized(x, scale, zero_point, quant_min, quant_max)


@_straight_through(
    aten="_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    node="FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0",
)  # fmt: skip
def fake_quantize_by_tensors(x, scale, zero_point, *, quant_min, quant_max):
    """The same; ``scale`` and ``zero_point`` are arrays of one element, without dimensions."""
    return _quantized(x, scale, zero_point, quant_min, quant_max)


@_straight_through(
    aten="fake_quantize_per_channel_affine_cachemask",
    node="FakeQuantizePerChannelAffineCachemaskBackward0",
)  # fmt: skip
def fake_quantize_per_channel(x, scale, zero_point, *, quant_min, quant_max):
    """The same; ``scale`` and ``zero_point`` have dimensions to broadcast, with one element for each channel."""
    return _quantized(x, scale, zero_point, quant_min, quant_max)


def _zero_point(zero_point, quant_min, quant_max):
    """A learnt zero point: the nearest integer within bounds."""
    return jnp.clip(jnp.round(zero_point), quant_min, quant_max)


def _learnable_gradient(x, data, scale, zero_point, of, quant_min, quant_max, grad_factor):
    """The gradient of the numbers, of the scale or of the zero point, when ``x`` is that of the result.

    At fixed bounds the result is ``(q - z) s``. Inside of them it is ``(x / s + r) s``, where ``r`` is what rounding
    adds, and does not depend on ``z``.
    """
    point = _zero_point(zero_point, quant_min, quant_max).astype(jnp.int32)
    integers = _integers(data, scale, point)
    inside = _is_inside(integers, quant_min, quant_max)
    if of == "input":
        return x * inside
    if of == "zero_point":
        return jnp.where(inside, 0, x * scale) * -grad_factor
    bound = jnp.where(integers < quant_min, quant_min, quant_max) - point
    return x * jnp.where(inside, integers - point - data / scale, bound) * grad_factor


def _declared(kind: str) -> tuple[Any, Any]:
    """The operator whose scale and zero point are learnt, of a tensor or of a channel each, and its gradient."""
    name = f"fake_quantize_learnable_per_{kind}_affine"
    none = underivable(f"aten::_{name}_backward")

    @elementwise(
        x=none, data=none, scale=none, zero_point=none, real=True, name=f"{name}_backward", aten=f"_{name}_backward",
        node="torch::autograd::NotImplemented",
    )  # fmt: skip
    def backward(x, data, scale, zero_point, *, of, quant_min, quant_max, grad_factor):
        """The gradient of the numbers, of the scale or of the zero point: before it is summed."""
        return _learnable_gradient(x, data, scale, zero_point, of, quant_min, quant_max, grad_factor)

    def gradient(of):
        def formula(g, x, scale, zero_point, quant_min, quant_max, grad_factor):
            settings = {"quant_min": quant_min, "quant_max": quant_max, "grad_factor": grad_factor}
            return backward(g, x, scale, zero_point, of=of, **settings)

        return formula

    @elementwise(
        x=gradient("input"), scale=gradient("scale"), zero_point=gradient("zero_point"), real=True,
        name=name, aten=f"_{name}",
    )  # fmt: skip
    def forward(x, scale, zero_point, *, quant_min, quant_max, grad_factor):
        """``x`` rounded to what integers can stand for; ``scale`` and ``zero_point`` have gradients.

        They are Esser's and others', Learned Step Size Quantization, 2020, times ``grad_factor``.
        """
        point = _zero_point(zero_point, quant_min, quant_max).astype(jnp.int32)
        return _quantized(x, scale, point, quant_min, quant_max)

    return forward, backward


fake_quantize_learnable_per_tensor_affine, fake_quantize_learnable_per_tensor_affine_backward = _declared("tensor")
fake_quantize_learnable_per_channel_affine, fake_quantize_learnable_per_channel_affine_backward = _declared("channel")


@_straight_through(aten="_fused_moving_avg_obs_fq_helper", node="FusedMovingAvgObsFqHelperBackward0")
def fused_fake_quantize(x, scale, zero_point, *, quant_min, quant_max):
    """As ``fake_quantize_per_channel``, of a scale that was chosen by what was observed."""
    return _quantized(x, scale, zero_point, quant_min, quant_max)
