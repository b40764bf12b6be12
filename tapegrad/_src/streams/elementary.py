"""Elementary functions to the last bit: as PyTorch's kernels for CPUs compute them.

Note [The last digit]
NumPy's logarithms and sines may differ from the C library's in the last digit, and PyTorch takes the C library's in
float64: so does ``libm``, one number after the other. Where the result is rounded to float32, NumPy's decides, unless
it lies so near the middle between two numbers that its last digits matter (``rounded``).

Kernels are compiled with fused multiplications: ``a * b + c`` is rounded once (``fma``, ``fma32``). Normal numbers of
float32 are made with the polynomials of Cephes (Moshier, 1992), eight at a time (``log32``, ``sincos32``).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Unary = Callable[[np.ndarray], np.ndarray]


def libm(function: Callable[[float], float], x: np.ndarray) -> np.ndarray:
    """A function of ``math`` of each of some float64 numbers, which it must be defined for.

    >>> libm(math.log1p, np.array([0.0, 1.0]))
    array([0.        , 0.69314718])
    """
    return np.fromiter(map(function, x.tolist()), np.float64, x.size)


def log(x: float) -> float:
    """The logarithm; -inf of 0."""
    return math.log(x) if x else -math.inf


_BELOW = np.int64(2**29 - 1)  # the bits that float32 has not
_MIDDLE = np.int64(2**28)
_DOUBTFUL = np.int64(64)  # so many steps of float64 around the middle


def rounded(quick: Unary, exact: Unary, x: np.ndarray) -> np.ndarray:
    """``exact(x)`` as float32, from ``quick(x)`` wherever that is known to be rounded to the same number."""
    y = quick(x)
    below = y.view(np.int64) & _BELOW
    doubtful = np.flatnonzero(np.abs(below - _MIDDLE) <= _DOUBTFUL)
    if doubtful.size:
        y[doubtful] = exact(x[doubtful])
    return y.astype(np.float32)


# a * b + c, rounded once --------------------------------------------------------------------------------------------


_LARGE = 2.0**900


def fma(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """``a * b + c`` in float64, by sums and products without error (Dekker, 1971), unless one of these overflows."""
    if abs(b) > _LARGE:
        return fma(a, b / _LARGE, c / _LARGE) * _LARGE
    product = a * b
    if c == 0.0:
        return product + c
    (a1, a2), (b1, b2) = _halves(a), _halves(np.float64(b))
    product_error = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    total = product + c
    kept = total - product
    exact = total + ((product - (total - kept)) + (c - kept) + product_error)
    return exact if np.isfinite(exact).all() else np.where(np.isfinite(exact), exact, total)


def _halves(x: np.ndarray | np.float64) -> tuple:
    shifted = x * 134217729.0
    upper = shifted - (shifted - x)
    return upper, x - upper


def fma32(a: np.ndarray, b: np.ndarray | np.float64, c: np.ndarray | np.float64) -> np.ndarray:
    """``a * b + c`` rounded to float32: of float64 arrays whose elements are numbers of float32, and such again.

    The product is exact, and the sum has 29 bits more than are kept. So one in some 10**8 is rounded twice.
    """
    total = a * b
    total += c
    return to32(total)


def to32(x: np.ndarray) -> np.ndarray:
    """The nearest numbers of float32, as float64."""
    return x.astype(np.float32).astype(np.float64)


# Cephes, float32 ----------------------------------------------------------------------------------------------------


def _singles(*numbers: float) -> list[np.float64]:
    return [np.float64(np.float32(number)) for number in numbers]


_SQRT_HALF, _LN2_LOW, _LN2_HIGH, _FOUR_OVER_PI = _singles(math.sqrt(0.5), -2.12194440e-4, 0.693359375, 4 / math.pi)
_LOG = _singles(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_QUARTER_PI = _singles(-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
_SIN = _singles(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _singles(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


def _polynomial(coefficients: list[np.float64], x: np.ndarray) -> np.ndarray:
    total = fma32(x, coefficients[0], coefficients[1])
    for coefficient in coefficients[2:]:
        total = fma32(total, x, coefficient)
    return total


def log32(x: np.ndarray) -> np.ndarray:
    """The logarithm of numbers of float32 in (0, 1], which are given as float64, and so is the result."""
    x, exponent = np.frexp(x)
    small = x < _SQRT_HALF
    x = x + x * small - 1
    power = (exponent - small).astype(np.float64)
    square = to32(x * x)
    y = to32(_polynomial(_LOG, x) * x)
    y = fma32(y, square, to32(power * _LN2_LOW))
    y = fma32(square, np.float64(-0.5), y)
    return fma32(power, _LN2_HIGH, to32(x + y))


def sincos32(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine of numbers of float32 that are not negative, given as float64, and so are the results."""
    octant = (to32(x * _FOUR_OVER_PI).astype(np.int64) + 1) & ~1
    y = octant.astype(np.float64)
    for part in _QUARTER_PI:
        x = fma32(y, part, x)
    square = to32(x * x)
    cosine = to32(_polynomial(_COS, square) * square)
    cosine = to32(fma32(cosine, square, square * -0.5) + 1)
    sine = to32(_polynomial(_SIN, square) * square)
    sine = fma32(sine, x, x)
    sine, cosine = _exchanged(sine, cosine, octant & 2)
    return _negated(sine, octant & 4), _negated(cosine, (octant + 2) & 4)


def _exchanged(one: np.ndarray, other: np.ndarray, two: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays, exchanged where ``two`` is 2 and not 0: bits are faster than ``where``."""
    bits, others = one.view(np.int64), other.view(np.int64)
    differing = (bits ^ others) & -(two >> 1)
    return (bits ^ differing).view(np.float64), (others ^ differing).view(np.float64)


def _negated(x: np.ndarray, four: np.ndarray) -> np.ndarray:
    """An array, negated where ``four`` is 4 and not 0."""
    return (x.view(np.int64) ^ (four << 61)).view(np.float64)
