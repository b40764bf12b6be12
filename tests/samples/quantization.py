"""Samples of the operators in ``ops/quantization.py``: scales exact in float32, roundings away from halves."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from samples import Sample, array

BOUNDS = {"quant_min": -5, "quant_max": 6}
LEARNT = {**BOUNDS, "grad_factor": 0.5}
X, SCALES, POINTS = array(3, 4), np.array([[0.25], [0.375], [0.125]]), np.array([[0.8], [-1.2], [2.1]])
INTEGERS = np.array([[0], [1], [-2]], "int32")


def learnt(x, scale, zero_point, *, quant_min, quant_max, grad_factor):
    """The kernel, with roundings that jax takes for the identity, and gradients of what is learnt times a factor."""
    stop = jax.lax.stop_gradient
    scale, zero_point = (one * grad_factor + stop(one * (1 - grad_factor)) for one in (scale, zero_point))
    point = stop(jnp.clip(jnp.round(zero_point), quant_min, quant_max))
    integers = jnp.round(x / scale) + point
    inside = (integers >= quant_min) & (integers <= quant_max)
    ratio = x / scale
    moved = point + zero_point - stop(zero_point)
    edge = jnp.where(integers < quant_min, quant_min, quant_max) - moved
    return jnp.where(inside, (ratio + stop(integers - point - ratio)) * scale, edge * scale)


GIVEN = {"smooth": False, "constants": ("scale", "zero_point")}
GRADIENT = "fake_quantize_learnable_per_{}_affine_backward"

SAMPLES = [
    Sample("fake_quantize_per_tensor", (X, 0.25, 1), BOUNDS, smooth=False),
    Sample("fake_quantize_by_tensors", (X, np.array(0.25, "float32"), np.array(-1, "int32")), BOUNDS, **GIVEN),
    Sample("fake_quantize_per_channel", (X, SCALES.astype("float32"), INTEGERS), BOUNDS, **GIVEN),
    Sample("fake_quantize_per_channel", (X, SCALES.astype("float32"), POINTS.astype("float32")), BOUNDS, **GIVEN),
    Sample("fused_fake_quantize", (X, SCALES.astype("float32"), INTEGERS), BOUNDS, **GIVEN),
    Sample("quantized_inside", (X, 0.25, 1), BOUNDS),
    Sample("fake_quantize_learnable_per_tensor_affine", (X, np.array([0.25]), np.array([0.7])), LEARNT, smooth=False,
           oracle=learnt, twice=False),
    Sample("fake_quantize_learnable_per_channel_affine", (X, SCALES, POINTS), LEARNT, smooth=False, oracle=learnt,
           twice=False),
    *[
        Sample(GRADIENT.format(kind), (X, X[::-1].copy(), *given), {"of": of, **LEARNT}, derivable=False, twice=False)
        for kind, given in (("tensor", (np.array([0.25]), np.array([0.7]))), ("channel", (SCALES, POINTS)))
        for of in ("input", "scale", "zero_point")
    ],
]  # fmt: skip
