"""Samples of the operators in ``ops/unary.py``."""

from __future__ import annotations

import math
from math import nan

import jax.numpy as jnp
import numpy as np
from kinks import Kink, f

from samples import Sample, array

A, V, POINT, EMPTY = array(2, 3), array(3), array(), array(0, 3)
B = array(2, 3, seed=1)
POSITIVE, POSITIVE_V, POSITIVE_POINT = array(2, 3, low=0.2), array(3, low=0.2, seed=1), array(low=0.2)
AWAY = POSITIVE * np.array([1, -1, 1])
UNIT, UNIT_V = array(2, 3, low=-0.9, high=0.9), array(3, low=0.1, high=0.9)
ABOVE = array(2, 3, low=1.1, high=3)
Z, ZV = array(2, 3, dtype="complex128"), array(3, dtype="complex128", seed=1)
RIGHT = Z / 2 + 1.5
N = np.array([[1, -2, 3], [4, 5, -6]])
FLAGS = A > 0


def unary(op, *inputs, **options):
    return [Sample(op, (x,), **options) for x in inputs]


def pairs(op, *inputs, **options):
    return [Sample(op, args, **options) for args in inputs]


SAMPLES = [
    *unary("neg", A, Z, N, EMPTY, POINT),
    *unary("reciprocal", AWAY, Z, POINT, N),
    *(
        Sample("power", (x,), {"exponent": e})
        for x in (POSITIVE, RIGHT)
        for e in (0, 1, 2, 3, 4, -1, -2, -3, 0.5, -0.5, 1.5)
    ),
    Sample("power", (AWAY,), {"exponent": 2}),
    Sample("power", (POINT,), {"exponent": 3}),
    *unary("sqrt", POSITIVE, RIGHT, N * N, POSITIVE_POINT, EMPTY),
    *unary("rsqrt", POSITIVE, RIGHT, N * N),
    *(sample for op in ("exp", "expm1", "sin", "cos", "tanh", "sinh", "cosh", "sigmoid", "asinh", "atan")
      for sample in unary(op, A, POINT, N, EMPTY)),
    *unary("tan", UNIT, POINT, N),
    *(sample for op in ("exp", "expm1", "sin", "cos", "tan", "tanh", "sinh", "cosh", "sigmoid", "asinh", "atan", "asin",
                        "acos", "atanh", "log", "log2", "log10", "log1p") for sample in unary(op, Z / 3 + 0.1)),
    *unary("exp2", A, POINT, N),
    *(sample for op in ("log", "log2", "log10", "log1p") for sample in unary(op, POSITIVE, POSITIVE_POINT, N * N)),
    *(sample for op in ("asin", "acos", "atanh") for sample in unary(op, UNIT)),
    *unary("acosh", ABOVE, RIGHT),
    *(Sample("logit", (x,), {"eps": eps}) for x in (UNIT_V, np.asarray(0.3)) for eps in (None, 0.05)),
    *unary("sinc", AWAY, POINT, N),
    *unary("deg2rad", A, N),
    *unary("rad2deg", A, N),
    *(sample for op in ("sign", "floor", "ceil", "trunc", "round") for sample in unary(op, AWAY, N, EMPTY)),
    *unary("sign", FLAGS),
    *(Sample("round_decimals", (A,), {"decimals": d}) for d in (1, -1)),
    *unary("frac", AWAY),
    *unary("abs", AWAY, Z, N, POINT, EMPTY),
    *unary("sgn", AWAY, N),
    Sample("sgn", (RIGHT,), oracle=lambda x: x / abs(x)),
    *unary("angle", AWAY, Z, N),
    Sample("nan_to_num", (np.array([[1.0, -2.0, 3.0]]), 0.0, 9.0, -9.0)),
    Sample("nan_to_num", (Z, 0.0, 9.0, -9.0)),
    Sample("nan_to_num", (np.array([math.nan, math.inf, -math.inf]), 0.0, 9.0, -9.0), smooth=False),
    *unary("conj_physical", Z),
    *unary("real", Z, A),
    *unary("imag", Z),
    *pairs("complex", (A, B), (A, V), (POINT, A)),
    *pairs("polar", (POSITIVE, B), (POSITIVE, V)),
]  # fmt: skip

KINKS = {
    "abs": Kink(lambda t, x: x.abs(), (f(0, 1, -2),), [0, 1, -1], [1, 1, -1], jnp=jnp.abs),
    "angle": Kink(lambda t, x: x.angle(), (np.array([0, 1j], "complex64"),), [0, -1], [nan, -1]),
}  # fmt: skip
