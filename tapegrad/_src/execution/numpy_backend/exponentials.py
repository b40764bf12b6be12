"""The exponential of matrices by scaling and squaring (Higham, 2005): numbers for all tiers, and how NumPy does it."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from tapegrad._src.execution.numpy_backend.linear_algebra import or_nan

SQUARINGS = 64
"""The most times that a matrix is halved before it is small: up to norms of 1e19, far beyond where results overflow."""

PADE = (
    (120.0, 60.0, 12.0, 1.0),
    (30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0),
    (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0),
    (17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0, 3960.0, 90.0, 1.0),
    (
        64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
        10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
    ),
)  # fmt: skip
"""Coefficients of Padé approximants of degrees 3, 5, 7, 9 and 13, the constant one first."""

SINGLE = 3.925724783138660, (4.258730016922831e-1, 1.880152677804762)
DOUBLE = 5.371920351148152, (1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1, 2.097847961257068)
"""The largest norm that the last approximant takes, and the one from which on each of those after the first is used."""


def limits_for(dtype: np.dtype) -> tuple[float, tuple[float, ...]]:
    """``SINGLE`` or ``DOUBLE``."""
    return DOUBLE if dtype in (np.float64, np.complex128) else SINGLE


def approximant(terms, x, product, identity):
    """The odd and the even part of the numerator of an approximant; the denominator is their difference."""
    square, powers = product(x, x), [identity]
    for _ in range(min(len(terms) // 2 - 1, 4 if len(terms) < 14 else 3)):
        powers.append(square if len(powers) == 1 else product(powers[-1], square))

    def polynomial(terms):
        low = [term * power for term, power in zip(terms, powers, strict=False)][::-1]
        if len(terms) <= len(powers):
            return reduce(add, low)
        high = reduce(add, [term * power for term, power in zip(terms[4:], powers[1:], strict=True)][::-1])
        return reduce(add, [product(powers[3], high), *low])

    return product(x, polynomial(terms[1::2])), polynomial(terms[::2])


def exponentials(matrices: np.ndarray) -> np.ndarray:
    """The exponential of each of some square matrices.

    >>> exponentials(np.diag([0.0, 1.0])).round(4)
    array([[1.    , 0.    ],
           [0.    , 2.7183]])
    """
    results = np.empty(matrices.shape, matrices.dtype)
    size = matrices.shape[-1]
    for result, matrix in zip(results.reshape(-1, size, size), matrices.reshape(-1, size, size), strict=True):
        result[...] = _exponential(matrix)
    return results


def _exponential(x: np.ndarray) -> np.ndarray:
    most, limits = limits_for(x.dtype)
    norm = float(np.abs(x).sum(0).max())
    halvings = max(0.0, float(np.ceil(np.log2(norm / most)))) if 0 < norm < np.inf else norm
    if not halvings <= SQUARINGS:  # or it is no number
        return np.full_like(x, np.nan)
    x = x / x.dtype.type(2**halvings)
    terms = PADE[sum(norm >= limit for limit in limits)]
    odd, even = approximant(terms, x, np.matmul, np.eye(len(x), dtype=x.dtype))
    (power,) = or_nan(np.linalg.solve, even - odd, odd + even)
    for _ in range(int(halvings)):
        power = power @ power
    return power
