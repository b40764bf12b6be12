"""Samples of the operators in ``ops/special.py``."""

from __future__ import annotations

from math import log, nan

import numpy as np
from kinks import Kink, f

from samples import Sample, array
from samples.unary import pairs, unary

A, POINT = array(2, 3), array()
POSITIVE, POSITIVE_V = array(2, 3, low=0.2), array(3, low=0.2, seed=1)
AWAY = POSITIVE * np.array([1, -1, 1])
UNIT, UNIT_V = array(2, 3, low=-0.9, high=0.9), array(3, low=0.1, high=0.9)
N = np.array([[1, -2, 3], [4, 5, -6]])


def zeta_series(x, y):
    """The Hurwitz zeta function by its series, and Euler and Maclaurin's formula for its tail."""
    terms, rest = sum((y + k) ** -x for k in range(60)), y + 60
    return terms + rest ** (1 - x) / (x - 1) + rest**-x / 2 + x / 12 * rest ** (-x - 1)


def reflected_trigamma(x):
    """trigamma by its series, which JAX differentiates on both sides of 0: sum of 1 / (x + k) ** 2, and its tail."""
    terms = sum(1 / (x + k) ** 2 for k in range(60))
    rest = x + 60
    return terms + 1 / rest + 1 / (2 * rest**2) + 1 / (6 * rest**3) - 1 / (30 * rest**5) + 1 / (42 * rest**7)


EXPONENTS = array(2, 3, low=0.6, high=7.0)


def mantissa(x):
    """The convention: the exponent is a constant."""
    exponent = np.floor(np.log2(np.abs(EXPONENTS))) + 1
    return x / 2**exponent, exponent.astype(np.int32)


SAMPLES = [
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
    *pairs("igamma", (1.3, POSITIVE)),
    *pairs("igammac", (1.3, POSITIVE)),
    Sample("zeta", (3.0, POSITIVE), oracle=lambda x, y: zeta_series(x, y)),
    *(Sample("mvlgamma", (POSITIVE + 1,), {"p": p}, second=False) for p in (1, 3)),
    *unary("entr", POSITIVE),
    *unary("ndtri", UNIT_V),
    *unary("log_ndtr", A, A * 10),
    *(sample for op in ("i0", "i0e", "i1", "i1e") for sample in unary(op, AWAY)),
    *(Sample("erfcx", (x,)) for x in (A, A * 9, array(), array(0, 3))),
    Sample("times", (A, 0.5)),
    Sample("plus", (A, 0.5)),
    Sample("xlog1py_number", (A, 0.7)),
    Sample("number_xlog1py", (1.7, POSITIVE)),
    Sample("zeta_number", (np.array([[2, 3, 4], [5, 6, 7]]), 2.5)),
    Sample("number_zeta", (3.0, POSITIVE), oracle=zeta_series),
    Sample("frexp", (EXPONENTS,), oracle=mantissa),
]  # fmt: skip

KINKS = {
    "xlog1py": Kink(
        lambda t, x, y: t.special.xlog1py(x, y), (f(0, 0, 2), f(1, -1, 1)), [log(2), 0, log(2)], [0, nan, log(2)]
    ),
    "xlog1py_number": Kink(
        lambda t, x: t.special.xlog1py(x, 1.0), (f(0, 1, 2),), [log(2), log(2), log(2)], [0, log(2), log(2)]
    ),
    "xlogy": Kink(lambda t, x, y: t.xlogy(x, y), (f(0, 0, 2), f(2, 0, 2)), [log(2), 0, log(2)], [0, nan, log(2)]),
    "xlogy_number": Kink(lambda t, x: t.xlogy(x, 2.0), (f(0, 1, 2),), [log(2), log(2), log(2)], [0, log(2), log(2)]),
}  # fmt: skip
