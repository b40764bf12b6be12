"""Samples of the operators in ``ops/comparison.py``."""

from __future__ import annotations

import math

import numpy as np

from samples import Sample, array
from samples.unary import pairs, unary

A, V = array(2, 3), array(3)
Z, ZV = array(2, 3, dtype="complex128"), array(3, dtype="complex128", seed=1)
N, M = np.array([[1, -2, 3], [4, 5, -6]]), np.array([2, 3, -4])
BITS, SHIFTS = np.array([[1, 2, 300], [4, -5, 6]], "int16"), np.array([0, 3, 17], "int16")
FLAGS, FLAGS_V = A > 0, np.array([True, False, True])

SAMPLES = [
    *(
        sample
        for op in ("eq", "ne", "lt", "le", "gt", "ge")
        for sample in pairs(op, (A, V), (A, 0.5), (N, M), (N, 2), (N, 2.5), (FLAGS, FLAGS_V))
    ),
    *pairs("eq", (Z, ZV), (Z, A)),
    *(
        sample
        for op in ("isnan", "isinf", "isfinite")
        for sample in unary(op, np.array([math.nan, math.inf, 1.0]), Z, N, FLAGS)
    ),
    *unary("signbit", np.array([-0.0, 0.0, -1.0]), N, FLAGS),
    *unary("isreal", Z, A),
    *(Sample("isclose", (A, A + 1e-7), {"rtol": 1e-5, "atol": 1e-8, "equal_nan": nan}) for nan in (True, False)),
    Sample("isclose", (N, N), {"rtol": 0.0, "atol": 0.0, "equal_nan": False}),
    *(
        sample
        for op in ("logical_and", "logical_or", "logical_xor")
        for sample in pairs(op, (FLAGS, FLAGS_V), (A, M), (Z, M))
    ),
    *unary("logical_not", FLAGS, A, Z),
    *(
        sample
        for op in ("bitwise_and", "bitwise_or", "bitwise_xor")
        for sample in pairs(op, (N, M), (N, 3), (FLAGS, FLAGS_V))
    ),
    *unary("bitwise_not", N, FLAGS),
    *(
        sample
        for op in ("bitwise_left_shift", "bitwise_right_shift")
        for sample in pairs(op, (BITS, SHIFTS), (BITS, 2), (BITS, -1))
    ),
    *pairs("gcd", (N, M)),
    *pairs("lcm", (N, M)),
]  # fmt: skip
