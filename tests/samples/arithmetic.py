"""Samples of the operators in ``ops/arithmetic.py``."""

from __future__ import annotations

from math import nan

import jax
import jax.numpy as jnp
import numpy as np
from kinks import Kink, f

from samples import Sample, array
from samples.unary import pairs

A, V, ROW, POINT, EMPTY = array(2, 3), array(3), array(1, 3), array(), array(0, 3)
B, W = array(2, 3, seed=1), array(3, seed=1)
POSITIVE, POSITIVE_V, POSITIVE_POINT = array(2, 3, low=0.2), array(3, low=0.2, seed=1), array(low=0.2)
AWAY, AWAY_V = POSITIVE * np.array([1, -1, 1]), POSITIVE_V * np.array([-1, 1, 1])
Z, ZV = array(2, 3, dtype="complex128"), array(3, dtype="complex128", seed=1)
RIGHT, RIGHT_V = Z / 2 + 1.5, ZV / 2 + 1.5
N, M = np.array([[1, -2, 3], [4, 5, -6]]), np.array([2, 3, -4])
FLAGS, FLAGS_V = A > 0, np.array([True, False, True])
TWO = [(A, B), (A, V), (ROW, POINT), (POINT, A), (EMPTY, ROW), (POINT, POINT)]


def nextafter(x, y):
    """The convention: the result is ``x``, but where it can't move it is a constant."""
    return jnp.where(x == y, jax.lax.stop_gradient(x), x) + 0 * y


SAMPLES = [
    *pairs(
        "add", *TWO, (Z, ZV), (Z, A), (A, 2.0), (2.0, A), (A, 2), (Z, 1.5j), (N, M), (N, 2), (FLAGS, FLAGS_V), (N, V)
    ),
    *pairs("sub", *TWO, (Z, ZV), (A, Z), (A, 2.0), (2.0, A), (N, M)),
    *pairs("mul", *TWO, (Z, ZV), (Z, A), (A, Z), (A, 2.0), (2.0, A), (Z, 1.5j), (A, 1.5j), (N, M), (N, V), (FLAGS, V)),
    *pairs(
        "div", (A, AWAY_V), (AWAY, POINT), (POINT, AWAY), (Z, ZV), (A, Z), (A, 2.0), (2.0, AWAY), (N, M), (N, AWAY_V)
    ),
    *pairs("rsub", (A, V), (POINT, A)),
    *pairs("rsub_number", (A, 2.0), (Z, 1.0), (N, 2)),
    *pairs("add_scaled", (A, V, 3.0), (A, 2.0, 0.5), (Z, ZV, 1.5j), (N, M, 3), (Z, A, 2.0)),
    *pairs("sub_scaled", (A, V, 3.0), (Z, ZV, 1.5j)),
    *pairs("rsub_number_scaled", (A, 2.0, 3.0), (Z, 2.0, 1.5j)),
    *pairs("rsub_scaled", (A, V, 3.0), (A, 2.0, 0.5), (Z, ZV, 1.5j)),
    *(
        Sample("div_rounded", (x, y), {"rounding_mode": mode})
        for mode in ("floor", "trunc")
        for x, y in ((A, AWAY_V), (AWAY, 0.3), (N, M), (EMPTY, V))
    ),
    *pairs("floor_divide", (N, M), (N, 4), (7, N)),
    *pairs("remainder", (A, AWAY_V), (POINT, AWAY), (N, M)),
    *pairs("remainder_number", (A, 0.7), (A, -0.7), (N, 4)),
    *pairs("number_remainder", (7, N)),
    *pairs("fmod", (A, AWAY_V), (POINT, AWAY), (N, M)),
    *pairs("fmod_number", (A, 0.7), (N, 4)),
    *pairs(
        "pow",
        (POSITIVE, V),
        (POSITIVE_POINT, A),
        (A[:, :1] ** 2 + 1, A),
        (RIGHT, RIGHT_V),
        (POSITIVE, RIGHT),
        (RIGHT, V),
        (N, M),
        (POSITIVE, M),
    ),
    *pairs(
        "pow_number",
        (POSITIVE, 2.3),
        (POSITIVE, -1.7),
        (AWAY, 5.0),
        (RIGHT, 2.3),
        (RIGHT, 1.5j),
        (POSITIVE, 1.5j),
        (N, 3),
        (N, 2.0),
    ),
    *pairs("number_pow", (2.0, A), (2, A), (0.3, POINT), (2.0, RIGHT), (1.5j, A), (2, N)),
    *pairs("filled_like", (A, 2.0), (A, POINT)),
    *pairs("logaddexp", (A, V), (POINT, B), (Z, ZV)),
    *pairs("logaddexp2", (A, V), (POINT, B)),
    *pairs("atan2", (A, AWAY_V), (POINT, B), (N, M)),
    *pairs("hypot", (A, AWAY_V), (POINT, B)),
    *pairs("ldexp", (A, V), (A, M), (Z, ZV)),
    *pairs("copysign", (AWAY, AWAY_V), (POINT, AWAY), (N, AWAY_V)),
    *(Sample("nextafter", (A, y), smooth=False, oracle=nextafter)
      for y in (W, np.where(B > 0, A, B))),
    *pairs("copysign_number", (AWAY, -2.0), (N, 2)),
    Sample("heaviside", (N, M)),
]  # fmt: skip

KINKS = {
    "atan2": Kink(lambda t, x, y: t.atan2(x, y), (f(0, 1, 0), f(0, 1, 1)), [0, 0.5, 1], [nan, 0.5, 1], jnp=jnp.arctan2),
    "copysign": Kink(
        lambda t, x, y: t.copysign(x, y), (f(0, 1, 2), f(-1, -1, 1)), [0, -1, 1], [-1, -1, 1], jnp=jnp.copysign
    ),
    "copysign_number": Kink(
        lambda t, x: t.copysign(x, -1.0), (f(0, 1, 2),), [0, -1, -1], [-1, -1, -1], jnp=lambda x: jnp.copysign(x, -1.0)
    ),
    "hypot": Kink(lambda t, x, y: t.hypot(x, y), (f(0, 3, 0), f(0, 4, 1)), [nan, 0.6, 0], [0.5, 0.6, 0], jnp=jnp.hypot),
    "pow": Kink(lambda t, x, y: x**y, (f(0, 1, 2), f(0, 0, 2)), [0, 0, 4], [nan, 0, 4], jnp=jnp.power),
}  # fmt: skip
