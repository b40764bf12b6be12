"""Samples of the operators in ``ops/selection.py``."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from kinks import Kink, f

from samples import array
from samples.unary import pairs

A, V, ROW, POINT = array(2, 3), array(3), array(1, 3), array()
B, W = array(2, 3, seed=1), array(3, seed=1)
POSITIVE, POSITIVE_V = array(2, 3, low=0.2), array(3, low=0.2, seed=1)
AWAY, AWAY_V = POSITIVE * np.array([1, -1, 1]), POSITIVE_V * np.array([-1, 1, 1])
UNIT, UNIT_V = array(2, 3, low=-0.9, high=0.9), array(3, low=0.1, high=0.9)
Z, ZV = array(2, 3, dtype="complex128"), array(3, dtype="complex128", seed=1)
N, M = np.array([[1, -2, 3], [4, 5, -6]]), np.array([2, 3, -4])
FLAGS, FLAGS_V = A > 0, np.array([True, False, True])

SAMPLES = [
    *pairs(
        "where",
        (FLAGS, A, B),
        (FLAGS, A, POINT),
        (FLAGS_V, V, A),
        (FLAGS, A, 2.0),
        (FLAGS, 2, A),
        (FLAGS, Z, A),
        (FLAGS, 1, 2),
        (FLAGS, N, V),
    ),
    *pairs("masked_fill", (A, FLAGS, 2.0), (A, FLAGS_V, 2.0), (ROW, FLAGS, 2.0), (Z, FLAGS, 1.5j), (N, FLAGS, 7)),
    *pairs("masked_fill_tensor", (A, FLAGS, POINT), (ROW, FLAGS, POINT), (Z, FLAGS, POINT)),
    *pairs("clamp", (A, -0.5, 0.7), (A, None, 0.7), (A, -0.5, None), (N, -1, 3), (N, 0.5, None)),
    *pairs("clamp_tensor", (A, V - 1, W + 1), (A, None, W), (A, V, None), (A, POINT + 3, POINT), (N, M, M + 4)),
    *pairs("clamp_min", (A, 0.5), (N, 2)),
    *pairs("clamp_max", (A, 0.5), (N, 2)),
    *pairs("clamp_min_tensor", (A, W), (POINT, A)),
    *pairs("clamp_max_tensor", (A, W), (POINT, A)),
    *(sample for op in ("maximum", "minimum", "fmax", "fmin") for sample in pairs(op, (A, W), (POINT, B), (N, M))),
    *pairs("lerp", (A, W, 0.3), (A, W, 0.8), (Z, ZV, 0.3)),
    *pairs("lerp_tensor", (A, W, UNIT_V), (A, POINT, UNIT), (Z, ZV, Z / 5)),
    *pairs("addcmul", (A, V, B, 2.0), (POINT, A, W, 0.5), (Z, ZV, Z, 1.5j), (N, M, N, 2)),
    *pairs("addcdiv", (A, V, AWAY, 2.0), (POINT, A, AWAY_V, 0.5), (Z, ZV, Z, 1.5j)),
]  # fmt: skip

KINKS = {
    "clamp": Kink(lambda t, x: x.clamp(0, 1), (f(0, 1, 2),), [1, 1, 0], [0.5, 0.5, 0], jnp=lambda x: jnp.clip(x, 0, 1)),
    "clamp_max": Kink(
        lambda t, x: t.clamp_max(x, 1), (f(0, 1, 2),), [1, 1, 0], [1, 0.5, 0], jnp=lambda x: jnp.minimum(x, 1)
    ),
    "clamp_max_tensor": Kink(
        lambda t, x, y: t.clamp_max(x, y), (f(0, 1, 2), f(1, 1, 1)), [1, 1, 0], [1, 0.5, 0], jnp=jnp.minimum
    ),
    "clamp_min": Kink(
        lambda t, x: t.clamp_min(x, 1), (f(0, 1, 2),), [0, 1, 1], [0, 0.5, 1], jnp=lambda x: jnp.maximum(x, 1)
    ),
    "clamp_min_tensor": Kink(
        lambda t, x, y: t.clamp_min(x, y), (f(0, 1, 2), f(1, 1, 1)), [0, 1, 1], [0, 0.5, 1], jnp=jnp.maximum
    ),
    "clamp_tensor": Kink(
        lambda t, x, y, z: x.clamp(y, z), (f(0, 1, 2), f(0, 0, 0), f(1, 1, 1)), [1, 1, 0], [0.5, 0.5, 0], jnp=jnp.clip
    ),
    "fmax": Kink(lambda t, x, y: t.fmax(x, y), (f(0, 1, 2), f(1, 1, 1)), [0, 1, 1], [0, 0, 1], jnp=jnp.fmax),
    "fmin": Kink(lambda t, x, y: t.fmin(x, y), (f(0, 1, 2), f(1, 1, 1)), [1, 1, 0], [1, 0, 0], jnp=jnp.fmin),
}  # fmt: skip
