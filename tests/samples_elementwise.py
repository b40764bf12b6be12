"""Samples for arithmetic, powers, transcendental and special functions, rounding, selection, comparison and bits."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from samples import Sample, array

A, V, ROW, POINT, EMPTY = array(2, 3), array(3), array(1, 3), array(), array(0, 3)
B, W = array(2, 3, seed=1), array(3, seed=1)
POSITIVE, POSITIVE_V, POSITIVE_POINT = array(2, 3, low=0.2), array(3, low=0.2, seed=1), array(low=0.2)
AWAY, AWAY_V = POSITIVE * np.array([1, -1, 1]), POSITIVE_V * np.array([-1, 1, 1])
UNIT, UNIT_V = array(2, 3, low=-0.9, high=0.9), array(3, low=0.1, high=0.9)
ABOVE = array(2, 3, low=1.1, high=3)
Z, ZV = array(2, 3, dtype="complex128"), array(3, dtype="complex128", seed=1)
RIGHT, RIGHT_V = Z / 2 + 1.5, ZV / 2 + 1.5
N, M = np.array([[1, -2, 3], [4, 5, -6]]), np.array([2, 3, -4])
BITS, SHIFTS = np.array([[1, 2, 300], [4, -5, 6]], "int16"), np.array([0, 3, 17], "int16")
FLAGS, FLAGS_V = A > 0, np.array([True, False, True])


def unary(op, *inputs, **options):
    return [Sample(op, (x,), **options) for x in inputs]


def pairs(op, *inputs, **options):
    return [Sample(op, args, **options) for args in inputs]


TWO = [(A, B), (A, V), (ROW, POINT), (POINT, A), (EMPTY, ROW), (POINT, POINT)]

def nextafter(x, y):
    """The convention: the result is ``x``, but where it can't move it is a constant."""
    return jnp.where(x == y, jax.lax.stop_gradient(x), x) + 0 * y


ARITHMETIC = [
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
    *unary("neg", A, Z, N, EMPTY, POINT),
    *unary("reciprocal", AWAY, Z, POINT, N),
]

POWERS = [
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
    *(
        Sample("power", (x,), {"exponent": e})
        for x in (POSITIVE, RIGHT)
        for e in (0, 1, 2, 3, 4, -1, -2, -3, 0.5, -0.5, 1.5)
    ),
    Sample("power", (AWAY,), {"exponent": 2}),
    Sample("power", (POINT,), {"exponent": 3}),
    *pairs("filled_like", (A, 2.0), (A, POINT)),
    *unary("sqrt", POSITIVE, RIGHT, N * N, POSITIVE_POINT, EMPTY),
    *unary("rsqrt", POSITIVE, RIGHT, N * N),
]

TRANSCENDENTAL = [
    *(sample for op in ("exp", "expm1", "sin", "cos", "tanh", "sinh", "cosh", "sigmoid", "asinh", "atan")
      for sample in unary(op, A, POINT, N, EMPTY)),
    *unary("tan", UNIT, POINT, N),
    *(sample for op in ("exp", "expm1", "sin", "cos", "tan", "tanh", "sinh", "cosh", "sigmoid", "asinh", "atan", "asin",
                        "acos", "atanh", "log", "log2", "log10", "log1p") for sample in unary(op, Z / 3 + 0.1)),
    *unary("exp2", A, POINT, N),
    *(sample for op in ("log", "log2", "log10", "log1p") for sample in unary(op, POSITIVE, POSITIVE_POINT, N * N)),
    *(sample for op in ("asin", "acos", "atanh") for sample in unary(op, UNIT)),
    *unary("acosh", ABOVE, RIGHT),
    *pairs("logaddexp", (A, V), (POINT, B), (Z, ZV)),
    *pairs("logaddexp2", (A, V), (POINT, B)),
    *(Sample("logit", (x,), {"eps": eps}) for x in (UNIT_V, np.asarray(0.3)) for eps in (None, 0.05)),
    *pairs("atan2", (A, AWAY_V), (POINT, B), (N, M)),
    *pairs("hypot", (A, AWAY_V), (POINT, B)),
    *unary("sinc", AWAY, POINT, N),
    *unary("deg2rad", A, N),
    *unary("rad2deg", A, N),
]  # fmt: skip

SPECIAL = [
    *(sample for op in ("erf", "erfc") for sample in unary(op, A, POINT, N)),
    *unary("erfinv", UNIT, np.asarray(0.3)),
    *unary("lgamma", AWAY, N),
    *unary("digamma", POSITIVE, AWAY - 0.05, N * N, second=False),
    *(Sample("polygamma", (POSITIVE,), {"n": n}, second=False) for n in (0, 1, 2, 3)),
    Sample("polygamma", (AWAY - 0.05,), {"n": 1}, second=False, oracle=lambda x, *, n: reflected_trigamma(x)),
    *pairs("xlogy", (A, POSITIVE_V), (POINT, POSITIVE)),
    *pairs("xlogy_number", (A, 1.7),),
    *pairs("number_xlogy", (1.7, POSITIVE),),
    *pairs("xlog1py", (A, POSITIVE_V),),
    *pairs("ldexp", (A, V), (A, M), (Z, ZV)),
    *pairs("igamma", (1.3, POSITIVE)),
    *pairs("igammac", (1.3, POSITIVE)),
    Sample("zeta", (3.0, POSITIVE), oracle=lambda x, y: zeta_series(x, y)),
    *(Sample("mvlgamma", (POSITIVE + 1,), {"p": p}, second=False) for p in (1, 3)),
    *unary("entr", POSITIVE),
    *unary("ndtri", UNIT_V),
    *unary("log_ndtr", A, A * 10),
    *(sample for op in ("i0", "i0e", "i1", "i1e") for sample in unary(op, AWAY)),
]  # fmt: skip


def zeta_series(x, y):
    """The Hurwitz zeta function by its series, and Euler and Maclaurin's formula for its tail."""
    terms, rest = sum((y + k) ** -x for k in range(60)), y + 60
    return terms + rest ** (1 - x) / (x - 1) + rest**-x / 2 + x / 12 * rest ** (-x - 1)


def reflected_trigamma(x):
    """trigamma by its series, which JAX differentiates on both sides of 0: sum of 1 / (x + k) ** 2, and its tail."""
    terms = sum(1 / (x + k) ** 2 for k in range(60))
    rest = x + 60
    return terms + 1 / rest + 1 / (2 * rest**2) + 1 / (6 * rest**3) - 1 / (30 * rest**5) + 1 / (42 * rest**7)


SIGNS = [
    *(sample for op in ("sign", "floor", "ceil", "trunc", "round") for sample in unary(op, AWAY, N, EMPTY)),
    *unary("sign", FLAGS),
    *(Sample("round_decimals", (A,), {"decimals": d}) for d in (1, -1)),
    *unary("frac", AWAY),
    *unary("abs", AWAY, Z, N, POINT, EMPTY),
    *unary("sgn", AWAY, N),
    Sample("sgn", (RIGHT,), oracle=lambda x: x / abs(x)),
    *unary("angle", AWAY, Z, N),
    *pairs("copysign", (AWAY, AWAY_V), (POINT, AWAY), (N, AWAY_V)),
    *(Sample("nextafter", (A, y), smooth=False, oracle=nextafter)
      for y in (W, np.where(B > 0, A, B))),
    *pairs("copysign_number", (AWAY, -2.0), (N, 2)),
    Sample("nan_to_num", (np.array([[1.0, -2.0, 3.0]]), 0.0, 9.0, -9.0)),
    Sample("nan_to_num", (Z, 0.0, 9.0, -9.0)),
    Sample("nan_to_num", (np.array([math.nan, math.inf, -math.inf]), 0.0, 9.0, -9.0), smooth=False),
    Sample("heaviside", (N, M)),
]

COMPLEX = [
    *unary("conj_physical", Z),
    *unary("real", Z, A),
    *unary("imag", Z),
    *pairs("complex", (A, B), (A, V), (POINT, A)),
    *pairs("polar", (POSITIVE, B), (POSITIVE, V)),
]

SELECTION = [
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
]

COMPARISON = [
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
]

SAMPLES = [*ARITHMETIC, *POWERS, *TRANSCENDENTAL, *SPECIAL, *SIGNS, *COMPLEX, *SELECTION, *COMPARISON]
