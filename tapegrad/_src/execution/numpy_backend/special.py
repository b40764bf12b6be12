"""Rules of special functions, which NumPy has not: well-known approximations, vectorized.

They compute in float64, and are accurate to some 1e-15, relatively, where the function is not near a zero of its own.
Of narrower numbers some compute in float32, and are accurate to some units in the last place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend.operands import RULES, Operand, mapped


def polynomial(x: np.ndarray, coefficients: Sequence[Any]) -> np.ndarray:
    """A polynomial, by Horner's scheme, the highest power first.

    >>> polynomial(np.array([2.0]), [1, 0, -3])
    array([1.])
    """
    value = np.asarray(x * coefficients[0] + coefficients[1])
    for coefficient in coefficients[2:]:
        np.multiply(value, x, value)
        np.add(value, coefficient, value)
    return value


def chebyshev(x: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    """A series of Chebyshev polynomials of ``x / 2``, the highest first, half of the last; by Clenshaw's recurrence.

    >>> chebyshev(np.array([1.0]), [3.0, 2.0])
    array([2.5])
    """
    before = previous = current = np.zeros_like(x)
    for coefficient in coefficients:
        before, previous = previous, current
        current = x * previous - before + coefficient
    return 0.5 * (current - before)


def ratio(x: np.ndarray, pair: tuple[Sequence[float], Sequence[float]]) -> np.ndarray:
    """One polynomial over another."""
    return polynomial(x, pair[0]) / polynomial(x, pair[1])


ONE, TWO = map(np.asarray, np.array([1, 2], np.float32))

TOGETHER = 1 << 12
"""Up to so many numbers all of their powers or fractions are computed together: it is calls that take the time then."""


class Narrow:
    """Two polynomials of float32, the highest power first; of few numbers they are products with all of their powers.

    >>> list(Narrow((1, 0, -3), (4, 5))(np.array([2.0, 3.0], "float32")))
    [array([1., 6.], dtype=float32), array([13., 17.], dtype=float32)]
    """

    def __init__(self, *pair: Sequence[float]) -> None:
        self.pair = pair
        length = max(map(len, pair))
        self.ascending = np.array([[*one[::-1], *[0.0] * (length - len(one))] for one in pair], np.float32)

    def __call__(self, x: np.ndarray) -> Any:
        """Both of some numbers."""
        if x.size > TOGETHER:
            return [polynomial(x, one) for one in self.pair]
        powers = np.empty((self.ascending.shape[1], x.size), np.float32)
        powers[0] = ONE
        powers[1] = power = x.reshape(-1)
        for row in powers[2:]:
            power = np.multiply(power, powers[1], row)
        return self.ascending.dot(powers).reshape(2, *x.shape)

    def ratio(self, x: np.ndarray) -> np.ndarray:
        """One over the other."""
        above, below = self(x)
        return above / below


# -- the error function ------------------------------------------------------------------------------------------------
# S. L. Moshier, Cephes, ndtr.c, after W. J. Cody, Math. Comp. 23 (1969).

ERF = (
    (9.60497373987051638749, 9.00260197203842689217e1, 2.23200534594684319226e3, 7.00332514112805075473e3,
     5.55923013010394962768e4),
    (1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3, 2.26290000613890934246e4,
     4.92673942608635921086e4),
)  # fmt: skip
"""``erf(x) / x`` in ``x ** 2``, up to 1: numerator and denominator."""

ERFC = (
    (2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687, 4.86371970985681366614e1,
     1.96520832956077098242e2, 5.26445194995477358631e2, 9.34528527171957607540e2, 1.02755188689515710272e3,
     5.57535335369399327526e2),
    (1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2, 9.75708501743205489753e2,
     1.82390916687909736289e3, 2.24633760818710981792e3, 1.65666309194161350182e3, 5.57535340817727675546e2),
)  # fmt: skip
"""``exp(x ** 2) * erfc(x)`` between 1 and 8."""

ERFC_FAR = (
    (5.64189583547755073984e-1, 1.27536670759978104416, 5.01905042251180477414, 6.16021097993053585195,
     7.40974269950448939160, 2.97886665372100240670),
    (1.0, 2.26052863220117276590, 9.39603524938001434673, 1.20489539808096656605e1, 1.70814450747565897222e1,
     9.60896809063285878198, 3.36907645100081516050),
)  # fmt: skip
"""The same beyond 8."""

ERF_NARROW = tuple(map(np.asarray, np.array(
    [1.41892647e-07, -5.66900873e-06, 8.76397465e-05, -0.000619789239, -0.000191827324, 0.102769055, 1.12837927],
    np.float32,
)))  # fmt: skip
"""``atanh(erf(x)) / x`` in ``x ** 2``, fitted so that ``erf`` is off by 1e-7 at most, relatively; it grows beyond."""


def erf(x: np.ndarray) -> np.ndarray:
    """The error function.

    >>> with np.errstate(all="ignore"):
    ...     erf(np.array([-np.inf, -0.0, 0.5]))
    array([-1.        , -0.        ,  0.52049988])
    """
    if x.dtype != np.float64:
        x = x.astype(np.float32, copy=False)
        quotient = polynomial(x * x, ERF_NARROW)
        return np.tanh(np.multiply(quotient, x, quotient), quotient)
    return np.where(np.absolute(x) < 1, x * ratio(x * x, ERF), np.copysign(1 - _erfc_tail(np.absolute(x)), x))


def erfc(x: np.ndarray) -> np.ndarray:
    """One less the error function.

    >>> with np.errstate(all="ignore"):
    ...     erfc(np.array([-np.inf, 0.0, 5.0]))
    array([2.00000000e+00, 1.00000000e+00, 1.53745979e-12])
    """
    x = x.astype(np.float64)
    tail = _erfc_tail(np.absolute(x))
    return np.where(np.absolute(x) < 1, 1 - x * ratio(x * x, ERF), np.where(x < 0, 2 - tail, tail))


def _erfc_tail(x: np.ndarray) -> np.ndarray:
    """``erfc`` from 1 on. The square of the rounded number is exact, so that no error of it is blown up."""
    x = np.minimum(x, 30)
    rounded = np.rint(x * 64) * (1 / 64)
    scaled = np.where(x < 8, ratio(x, ERFC), ratio(x, ERFC_FAR))
    return np.exp(-rounded * rounded) * np.exp((rounded - x) * (rounded + x)) * scaled


# M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2010.

ERF_INV = (
    -3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18, 1.115787767802518096e-17,
    -1.333171662854620906e-16, 2.0972767875968561637e-17, 6.6376381343583238325e-15, -4.0545662729752068639e-14,
    -8.1519341976054721522e-14, 2.6335093153082322977e-12, -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09, -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
    -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352, -0.00074070253416626697512,
    -0.0060336708714301490533, 0.24015818242558961693, 1.6536545626831027356,
)  # fmt: skip
"""``erf_inv(x) / x`` in ``w - 3.125``, where ``w = -log(1 - x ** 2)`` is below 6.25."""

ERF_INV_FAR = (
    2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
    1.5027403968909827627e-06, -4.013867526981545969e-06, 2.9234449089955446044e-06, 1.2475304481671778723e-05,
    -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
    0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066, -0.0037512085075692412107,
    0.005370914553590063617, 1.0052589676941592334, 3.0838856104922207635,
)  # fmt: skip
"""The same in ``sqrt(w) - 3.25``, from there to 16."""

ERF_INV_FARTHER = (
    -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09, -3.7894654401267369937e-09,
    7.6157012080783393804e-09, -1.4960026627149240478e-08, 2.9147953450901080826e-08, -6.7711997758452339498e-08,
    2.2900482228026654717e-07, -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
    7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026, 1.0103004648645343977,
    4.8499064014085844221,
)  # fmt: skip
"""The same in ``sqrt(w) - 5``, from there on."""


ERF_INV_NARROW, ERF_INV_NARROW_FAR = (tuple(map(np.asarray, one)) for one in np.array((
    (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
     0.246640727, 1.50140941),
    (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
     1.00167406, 2.83297682),
), np.float32))  # fmt: skip
"""The same in ``w - 2.5`` up to 5, and in ``sqrt(w) - 3`` from there on, to the accuracy of float32."""


def erf_inv(x: np.ndarray) -> np.ndarray:
    """The inverse of the error function; nan outside of [-1, 1].

    >>> with np.errstate(all="ignore"):
    ...     erf_inv(np.array([-1.0, 0.5, 2.0])), erf_inv(np.array([-1.0, 0.5, 2.0], "float32"))
    (array([      -inf, 0.47693628,        nan]), array([      -inf, 0.47693628,        nan], dtype=float32))
    """
    if x.dtype != np.float64:
        return _narrow_erf_inv(x.astype(np.float32, copy=False))
    w = -np.log1p(-x * x)
    root = np.sqrt(w)
    far = np.where(w < 16, polynomial(root - 3.25, ERF_INV_FAR), polynomial(root - 5, ERF_INV_FARTHER))
    result = np.where(w < 6.25, polynomial(w - 3.125, ERF_INV), far) * x
    return np.where(np.absolute(x) == 1, np.copysign(np.inf, x), result)


def _narrow_erf_inv(x: np.ndarray) -> np.ndarray:
    w = -np.log((ONE - x) * (ONE + x))
    ratio = polynomial(w - np.float32(2.5), ERF_INV_NARROW)
    if w.size and not w.item(w.argmax()) < 5:  # or one is nan
        ratio = np.where(w < 5, ratio, polynomial(np.sqrt(w) - np.float32(3), ERF_INV_NARROW_FAR))
        ratio[np.isinf(w)] = np.inf
    return ratio * x


# -- the gamma function ------------------------------------------------------------------------------------------------
# C. Lanczos, SIAM J. Numer. Anal. 1 (1964), with the coefficients of P. Godfrey for g = 7.

LANCZOS = (
    676.520368121885098567009190444019, -1259.13921672240287047156078755283, 771.3234287776530788486528258894,
    -176.61502916214059906584551354, 12.507343278686904814458936853, -0.13857109526572011689554707,
    9.984369578019570859563e-6, 1.50563273514931155834e-7,
)  # fmt: skip
"""Of the partial fractions after the constant one."""

LANCZOS_BASE, LANCZOS_SHIFT = 0.99999999999980993227684700473478, 7.5

_NUMERATORS, _COUNTING = np.array(LANCZOS), np.arange(1.0, len(LANCZOS) + 1)


def _fractions(z: np.ndarray, with_slope: bool = False) -> list[np.ndarray]:
    """The sum of Lanczos's fractions, and perhaps its derivative.

    >>> _fractions(np.array([0.0, 1.0]), with_slope=True)
    [array([263.383..., 79.119...]), array([-436.896..., -70.713...])]
    """
    if z.size > TOGETHER:
        parts = [(c, z + number) for number, c in enumerate(LANCZOS, 1)]
        sums: list[Any] = [sum((c / part for c, part in parts), LANCZOS_BASE)]
        return [*sums, sum(-c / (part * part) for c, part in parts)] if with_slope else sums
    shares = np.reciprocal(np.add.outer(_COUNTING, z.reshape(-1)))
    series: list[Any] = [_NUMERATORS.dot(shares) + LANCZOS_BASE]
    series += [-_NUMERATORS.dot(shares * shares)] if with_slope else []
    return [one.reshape(z.shape) for one in series]


LGAMMA_NARROW = Narrow(
    (0.0008284938755, 0.5262373618, 14.94399035, 85.17341939, 121.8627061, 42.2285504, 2.427404841),
    (0.1308384677, 6.659681457, 68.35798277, 194.359599, 159.9296679, 32.4102531, 1.0),
)
"""``lgamma(x) / ((x - 1) * (x - 2))`` in ``NARROW``, to 3e-8."""

DIGAMMA_NARROW = Narrow(
    (2.992060752e-07, 0.0003547697905, 0.01839208613, 0.2272861023, 0.8991591267, 1.18432675, 0.3965298138),
    (6.58856689e-05, 0.005101243055, 0.08944774464, 0.50598357, 1.0, 0.5795775003, 2.030472623e-07),
)
"""``digamma(x) / (x - DIGAMMA_ZERO)`` there, to 6e-10. They were fitted; of positive terms nothing is cancelled."""

TRIGAMMA_NARROW = Narrow(
    (0.1654943026, 0.7170628909, 1.344731591, 1.336959069, 0.7311706144, 0.2048821211),
    (0.1654943144, 0.6343152365, 1.0, 0.731162533, 0.204882612, 0.0, 0.0),
)
"""The derivative of ``digamma`` there, to 5e-10."""

NARROW = 0.25, 16.0
DIGAMMA_ZERO = np.float32(1.4616321449683623), np.float32(1.4616321449683623 - float(np.float32(1.4616321449683623)))
"""The zero of ``digamma``: what float32 has of it, and the rest."""


def _is_narrow(x: np.ndarray) -> bool:
    """Tell whether numbers are few, narrower than float64, and in ``NARROW``.

    >>> _is_narrow(np.array([1.0, 3.0], "float32")), _is_narrow(np.array([1.0, np.nan], "float32"))
    (True, False)
    """
    if x.dtype == np.float64 or not 0 < x.size <= TOGETHER:
        return False
    return NARROW[0] <= x.item(x.argmin()) and x.item(x.argmax()) <= NARROW[1]  # quicker than min and max


def lgamma(x: np.ndarray) -> np.ndarray:
    """The logarithm of the absolute value of the gamma function; left of 1/2 by reflection.

    >>> with np.errstate(all="ignore"):
    ...     lgamma(np.array([4.0, -1.0, -1.5, -np.inf]))
    array([1.79175947,        inf, 0.8600470...,        inf])
    """
    if _is_narrow(x):
        x = x.astype(np.float32, copy=False)
        return (x - ONE) * (x - TWO) * LGAMMA_NARROW.ratio(x)
    x = x.astype(np.float64)
    reflected = x < 0.5
    z = np.where(reflected, -x, x - 1)
    t = z + LANCZOS_SHIFT
    (fractions,) = _fractions(z)
    log_t = np.log(LANCZOS_SHIFT) + np.log1p(z / LANCZOS_SHIFT)
    value = (z + 0.5 - t / log_t) * log_t + 0.5 * np.log(2 * np.pi) + np.log(fractions)
    if not reflected.any():
        return np.where(np.isinf(x), np.inf, value)
    distance = np.absolute(x) - np.floor(np.absolute(x))
    log_sine = np.log(np.sin(np.pi * np.minimum(distance, 1 - distance)))
    mirrored = np.where(np.isfinite(log_sine), np.log(np.pi) - log_sine - value, -log_sine)
    return np.where(np.isinf(x), np.inf, np.where(reflected, mirrored, value))


def digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of ``lgamma``; nan at zero and at negative integers.

    >>> with np.errstate(all="ignore"):
    ...     digamma(np.array([1.0, -0.5, -1.0]))
    array([-0.57721566,  0.03648997,         nan])
    """
    if _is_narrow(x):
        x = x.astype(np.float32, copy=False)
        return (x - DIGAMMA_ZERO[0] - DIGAMMA_ZERO[1]) * DIGAMMA_NARROW.ratio(x)
    x = x.astype(np.float64)
    reflected = x < 0.5
    z = np.where(reflected, -x, x - 1)
    t = z + LANCZOS_SHIFT
    fractions, slope = _fractions(z, with_slope=True)
    log_t = np.log(LANCZOS_SHIFT) + np.log1p(z / LANCZOS_SHIFT)
    value = log_t + slope / fractions - (LANCZOS_SHIFT - 0.5) / t
    if not reflected.any():
        return value
    mirrored = value - np.pi / np.tan(np.pi * (x + np.absolute(np.floor(x + 0.5))))
    return np.where((x <= 0) & (x == np.floor(x)), np.nan, np.where(reflected, mirrored, value))


# -- the zeta function -------------------------------------------------------------------------------------------------
# S. L. Moshier, Cephes, zeta.c: the Euler-Maclaurin formula.

BERNOULLI = (
    12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10, -2.950130727918164224e12,
    1.1646782814350067249e14, -4.5979787224074726105e15, 1.8152105401943546773e17, -7.1661652561756670113e18,
)  # fmt: skip
"""``(2 k)! / B(2 k)``."""

TERMS = 10
"""The number of terms that are added one by one."""


def zeta(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The zeta function of Hurwitz, the sum of ``(q + k) ** -x``.

    >>> with np.errstate(all="ignore"):
    ...     zeta(np.array([2.0, 1.0]), np.array([1.0, 1.0]))
    array([1.64493407,        inf])
    """
    x, q = x.astype(np.float64), q.astype(np.float64)
    last = q + (TERMS - 1)
    power = np.power(last, -x)
    total = sum(np.power(q + term, -x) for term in range(TERMS)) + power * last / (x - 1) - 0.5 * power
    factor = x
    for term, number in enumerate(BERNOULLI):
        power = power / last
        total = total + factor * power / number
        factor = factor * (x + (2 * term + 1)) * (x + (2 * term + 2))
        power = power / last
    is_pole = (q <= 0) & (q == np.floor(q))
    unknown = (x < 1) | is_pole | ((q <= 0) & (x != np.floor(x)))
    return np.where((x == 1) | (is_pole & (np.fmod(x, 2) == 0)), np.inf, np.where(unknown, np.nan, total))


def polygamma(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The derivatives of ``digamma``.

    >>> with np.errstate(all="ignore"):
    ...     polygamma(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    array([-0.57721566,  1.64493407])
    """
    if n.size == 1 and n == 1 and _is_narrow(x):
        return TRIGAMMA_NARROW.ratio(x.astype(np.float32, copy=False)).reshape(np.broadcast(n, x).shape)
    n, x = n.astype(np.float64), x.astype(np.float64)
    sign = np.where(np.fmod(n, 2) == 0, -1, 1)
    result = np.where(n == 0, digamma(x), sign * np.exp(lgamma(n + 1)) * zeta(n + 1, x))
    return np.where((n < 0) | (n != np.floor(n)), np.nan, result)


# -- the incomplete gamma function -------------------------------------------------------------------------------------
# S. L. Moshier, Cephes, igam.c: a series, or a continued fraction (W. Gautschi, ACM TOMS 5 (1979)).

EPSILON = 2.0**-53
LARGE = 2.0**52
MOST_TERMS = 2000


def igamma(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The regularized lower incomplete gamma function.

    >>> with np.errstate(all="ignore"):
    ...     igamma(np.array([1.0, 2.0, 2.0]), np.array([1.0, 0.0, 30.0]))
    array([0.63212056, 0.        , 1.        ])
    """
    return _incomplete(a, x)[0]


def igammac(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The upper one: one less ``igamma``.

    >>> with np.errstate(all="ignore"):
    ...     igammac(np.array([1.0, 2.0]), np.array([1.0, np.inf]))
    array([0.36787944, 0.        ])
    """
    return _incomplete(a, x)[1]


def _incomplete(a: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both: the one that is computed, and what is left of 1."""
    a, x = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    bad = ~((a > 0) & (x >= 0)) & ~((a == 0) & (x > 0))
    plain = (a > 0) & (x > 0) & np.isfinite(x) & np.isfinite(a)
    upper = plain & (x > 1) & (x > a)
    scale = np.exp(a * np.log(x) - x - lgamma(a))
    low = np.where(np.isinf(x) | (a == 0), 1.0, 0.0)
    high = np.asarray(1 - low)  # of no dimensions it would be a number
    low[plain ^ upper] = _series(a[plain ^ upper], x[plain ^ upper]) * scale[plain ^ upper]
    upper_scale = scale[upper]
    high[upper] = np.where(upper_scale > 0, _fraction(a[upper], x[upper]) * upper_scale, 0)  # of 1e300 it is nan
    low, high = np.where(upper, 1 - high, low), np.where(plain & ~upper, 1 - low, high)
    return np.where(bad, np.nan, low), np.where(bad, np.nan, high)


def _series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The lower one, up to its scale."""
    term = total = 1 / a
    for number in range(1, MOST_TERMS):
        term = term * (x / (a + number))
        total = total + term
        if (term <= EPSILON * total).all():
            break
    return total


def _fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The upper one, up to its scale, where ``x`` is greater than 1 and ``a``."""
    y, z = 1 - a, x + 2 - a
    p, q, previous_p, previous_q = x + 1, z * x, np.ones_like(x), x
    value = p / q
    for number in range(1, MOST_TERMS):
        y, z = y + 1, z + 2
        p, q, previous_p, previous_q = p * z - previous_p * (y * number), q * z - previous_q * (y * number), p, q
        before, value = value, np.where(q != 0, p / q, value)
        if (np.absolute(before - value) <= EPSILON * np.absolute(value)).all():
            break
        scale = np.where(np.absolute(p) > LARGE, 1 / LARGE, 1.0)
        p, q, previous_p, previous_q = p * scale, q * scale, previous_p * scale, previous_q * scale
    return value


# -- Bessel functions --------------------------------------------------------------------------------------------------
# S. L. Moshier, Cephes, i0.c and i1.c: Chebyshev series, up to 8 in ``x / 2 - 2``, from there on in ``32 / x - 2``.

I0E = (
    -4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16, 1.71539128555513303061e-15,
    -1.16853328779934516808e-14, 7.67618549860493561688e-14, -4.85644678311192946090e-13, 2.95505266312963983461e-12,
    -1.72682629144155570723e-11, 9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9,
    -1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7, 1.11738753912010371815e-6,
    -4.41673835845875056359e-6, 1.64484480707288970893e-5, -5.75419501008210370398e-5, 1.88502885095841655729e-4,
    -5.76375574538582365885e-4, 1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2,
    -2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2, 1.71620901522208775349e-1,
    -3.04682672343198398683e-1, 6.76795274409476084995e-1,
)  # fmt: skip
I0E_FAR = (
    -7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17, 3.46122286769746109310e-17,
    -2.82762398051658348494e-16, -3.42548561967721913462e-16, 1.77256013305652638360e-15, 3.81168066935262242075e-15,
    -9.55484669882830764870e-15, -4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13,
    7.18012445138366623367e-13, -1.79417853150680611778e-12, -1.32158118404477131188e-11, -3.14991652796324136454e-11,
    1.18891471078464383424e-11, 4.94060238822496958910e-10, 3.39623202570838634515e-9, 2.26666899049817806459e-8,
    2.04891858946906374183e-7, 2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3,
    8.04490411014108831608e-1,
)  # fmt: skip
I1E = (
    2.77791411276104639959e-18, -2.11142121435816608115e-17, 1.55363195773620046921e-16, -1.10559694773538630805e-15,
    7.60068429473540693410e-15, -5.04218550472791168711e-14, 3.22379336594557470981e-13, -1.98397439776494371520e-12,
    1.17361862988909016308e-11, -6.66348972350202774223e-11, 3.62559028155211703701e-10, -1.88724975172282928790e-9,
    9.38153738649577178388e-9, -4.44505912879632808065e-8, 2.00329475355213526229e-7, -8.56872026469545474066e-7,
    3.47025130813767847674e-6, -1.32731636560394358279e-5, 4.78156510755005422638e-5, -1.61760815825896745588e-4,
    5.12285956168575772895e-4, -1.51357245063125314899e-3, 4.15642294431288815669e-3, -1.05640848946261981558e-2,
    2.47264490306265168283e-2, -5.29459812080949914269e-2, 1.02643658689847095384e-1, -1.76416518357834055153e-1,
    2.52587186443633654823e-1,
)  # fmt: skip
I1E_FAR = (
    7.51729631084210481353e-18, 4.41434832307170791151e-18, -4.65030536848935832153e-17, -3.20952592199342395980e-17,
    2.96262899764595013876e-16, 3.30820231092092828324e-16, -1.88035477551078244854e-15, -3.81440307243700780478e-15,
    1.04202769841288027642e-14, 4.27244001671195135429e-14, -2.10154184277266431302e-14, -4.08355111109219731823e-13,
    -7.19855177624590851209e-13, 2.03562854414708950722e-12, 1.41258074366137813316e-11, 3.25260358301548823856e-11,
    -1.89749581235054123450e-11, -5.58974346219658380687e-10, -3.83538038596423702205e-9, -2.63146884688951950684e-8,
    -2.51223623787020892529e-7, -3.88256480887769039346e-6, -1.10588938762623716291e-4, -9.76109749136146840777e-3,
    7.78576235018280120474e-1,
)  # fmt: skip


def bessel_i0e(x: np.ndarray) -> np.ndarray:
    """``exp(-|x|) * I0(x)``.

    >>> with np.errstate(all="ignore"):
    ...     bessel_i0e(np.array([0.0, -1.0, np.inf]))
    array([1.        , 0.46575961, 0.        ])
    """
    x = np.absolute(x.astype(np.float64))
    return np.where(x <= 8, chebyshev(x / 2 - 2, I0E), chebyshev(32 / x - 2, I0E_FAR) / np.sqrt(x))


def bessel_i1e(x: np.ndarray) -> np.ndarray:
    """``exp(-|x|) * I1(x)``.

    >>> with np.errstate(all="ignore"):
    ...     bessel_i1e(np.array([-0.0, -1.0, np.inf]))
    array([-0.        , -0.20791042,  0.        ])
    """
    signed, x = x, np.absolute(x.astype(np.float64))
    result = np.where(x <= 8, chebyshev(x / 2 - 2, I1E) * x, chebyshev(32 / x - 2, I1E_FAR) / np.sqrt(x))
    return np.copysign(result, signed.astype(np.float64))


# -- their rules -------------------------------------------------------------------------------------------------------

FUNCTIONS = (erf, erfc, erf_inv, lgamma, digamma, zeta, polygamma, igamma, igammac, bessel_i0e, bessel_i1e)
"""They are called as the primitives are."""


def _rule_of(function: Any) -> Any:
    def written(writer: Any, equation: Any) -> Operand:
        return mapped(function, equation).method("astype", equation.aval.dtype, copy=False)

    return written


RULES.update({function.__name__: _rule_of(function) for function in FUNCTIONS})
