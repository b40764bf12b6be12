"""Error functions, the gamma function and its derivatives, Bessel functions, entropies."""

from __future__ import annotations

import math
from functools import cache

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import special

from tapegrad.ops.elementwise import abs, exp, filled_like, log, log1p, reciprocal, sign, where
from tapegrad.ops.operator import elementwise


@elementwise(x=lambda g, x: 2 / math.sqrt(math.pi) * exp(-(x * x)) * g, promote="float")
def erf(x):
    """The error function."""
    return lax.erf(x)


@elementwise(x=lambda g, x: -2 / math.sqrt(math.pi) * exp(-(x * x)) * g, promote="float")
def erfc(x):
    """``1 - erf(x)``, accurate far to the right."""
    return lax.erfc(x)


def _erfinv_gradient(g, x):
    inverse = erfinv(x)
    return 0.5 * math.sqrt(math.pi) * exp(inverse * inverse) * g


@elementwise(x=_erfinv_gradient, promote="float")
def erfinv(x):
    """The inverse error function."""
    return lax.erf_inv(x)


@elementwise(x=lambda g, x: g * digamma(x), promote="float")
def lgamma(x):
    """The logarithm of the absolute value of the gamma function."""
    return lax.lgamma(x)


@elementwise(x=lambda g, x: g * polygamma(x, n=1), promote="float")
def digamma(x):
    """The derivative of ``lgamma``."""
    return jnp.where(x == 0, jnp.copysign(jnp.inf, -x), jnp.where(x == -jnp.inf, jnp.nan, lax.digamma(x)))


def _trigamma(x):
    """The reflection formula ``trigamma(1 - x) + trigamma(x) = (pi / sin(pi x)) ** 2`` takes care of the left side."""
    right = special.polygamma(1, jnp.where(x < 0.5, 1 - x, x))
    return jnp.where(x < 0.5, (math.pi / jnp.sin(math.pi * x)) ** 2 - right, right)


@elementwise(x=lambda g, x, n: g * polygamma(x, n=n + 1), promote="float")
def polygamma(x, *, n):
    """The ``n``-th derivative of ``digamma``."""
    if n == 0:
        return digamma.function(x)
    if n == 1:
        return _trigamma(x)
    pole = (x <= 0) & (x == jnp.floor(x))
    return jnp.where(pole, -math.inf if n % 2 == 0 else math.inf, _reflected_polygamma(jnp.where(pole, 1, x), n))


def _reflected_polygamma(x, n):
    """``(-1)^n polygamma(1 - x) - polygamma(x) = pi (d/dx)^n cot(pi x)`` takes care of the left side."""
    left = x < 0.5
    right = special.polygamma(n, jnp.where(left, 1 - x, x))
    cotangent = 1 / jnp.tan(math.pi * (x - jnp.round(x)))
    slope = math.pi ** (n + 1) * jnp.polyval(jnp.asarray(_cotangent_derivative(n), x.dtype), cotangent)
    return jnp.where(left, (-1) ** n * right - slope, right)


@cache
def _cotangent_derivative(n: int) -> tuple[float, ...]:
    """The ``n``-th derivative of the cotangent as a polynomial in it: each step is ``-(1 + c^2) d/dc``."""
    if n == 0:
        return (1.0, 0.0)
    return tuple(np.polymul((-1.0, 0.0, -1.0), np.polyder(_cotangent_derivative(n - 1))).tolist())


@elementwise(
    x=lambda g, x, y: where((x == 0) & (y <= 0), 0, g * log(y)),
    y=lambda g, x, y: g * x / y,
    promote="float",
)
def xlogy(x, y):
    """``x * log(y)``, 0 where ``x`` is 0 (and nan where ``y`` is)."""
    return jnp.where((x == 0) & ~jnp.isnan(y), 0, x * jnp.log(y))


@elementwise(
    x=lambda g, x, y: where((x == 0) & (y <= 0), 0, g * log(filled_like(x, y))), promote="float", node="XlogyBackward2"
)
def xlogy_number(x, y):
    """``x * log(y)`` for a number ``y``."""
    return xlogy.function(x, y)


@elementwise(y=lambda g, x, y: g * x / y, promote="float", node="XlogyBackward1")
def number_xlogy(x, y):
    """``x * log(y)`` for a number ``x``."""
    return xlogy.function(x, y)


@elementwise(
    x=lambda g, x, y: where((x == 0) & (y <= -1), 0, g * log1p(y)),
    y=lambda g, x, y: g * x / (y + 1),
    promote="float",
    node="SpecialXlog1PyBackward0",
)
def xlog1py(x, y):
    """``x * log1p(y)``, 0 where ``x`` is 0 (and nan where ``y`` is)."""
    return jnp.where((x == 0) & ~jnp.isnan(y), 0, x * jnp.log1p(y))


@elementwise(x=lambda g, x: g * -(1 + log(x)), promote="float", node="SpecialEntrBackward0")
def entr(x):
    """``-x * log(x)``; 0 at 0, ``-inf`` below."""
    return jnp.where(x > 0, -x * jnp.log(x), jnp.where(x == 0, 0, jnp.where(jnp.isnan(x), x, -jnp.inf)))


@elementwise(
    x=lambda g, out: g * math.sqrt(2 * math.pi) * exp(out * out / 2), promote="float", node="SpecialNdtriBackward0"
)
def ndtri(x):
    """The quantile of the standard normal distribution."""
    return special.ndtri(x)


@elementwise(
    x=lambda g, x, out: g * exp(-(out + x * x / 2)) / math.sqrt(2 * math.pi),
    promote="float",
    node="SpecialLogNdtrBackward0",
)
def log_ndtr(x):
    """The logarithm of the standard normal distribution function."""
    return special.log_ndtr(x)


@elementwise(x=lambda g, x: g * i1(x), promote="float")
def i0(x):
    """The modified Bessel function of order 0."""
    return special.i0(x)


@elementwise(x=lambda g, x, out: g * (i1e(x) - sign(x) * out), promote="float", node="SpecialI0EBackward0")
def i0e(x):
    """``i0(x) * exp(-|x|)``."""
    return special.i0e(x)


def _i1_gradient(g, x, out):
    near = abs(x) < 1e-20
    return g * where(near, 0.5, i0(x) - out / where(near, 1, x))


def _i1e_gradient(g, x, out):
    near = abs(x) < 1e-20
    safe = where(near, 1, x)
    return g * where(near, 0.5, i0e(x) - out * (sign(x) + reciprocal(safe)))


@elementwise(x=_i1_gradient, promote="float", node="SpecialI1Backward0")
def i1(x):
    """The modified Bessel function of order 1."""
    return special.i1(x)


@elementwise(x=_i1e_gradient, promote="float", node="SpecialI1EBackward0")
def i1e(x):
    """``i1(x) * exp(-|x|)``."""
    return special.i1e(x)


def _unknown(what):
    """The formula of an input for which PyTorch has none: raises once backward gets there."""

    def formula(g):
        raise NotImplementedError(f"the derivative for '{what}' is not implemented.")

    return formula


def _gamma_density(g, x, y):
    return g * exp((x - 1) * log(y) - y - lgamma(x))


@elementwise(x=_unknown("igamma: input"), y=lambda g, x, y: _gamma_density(g, filled_like(y, x), y))
def igamma(x, y):
    """The regularized lower incomplete gamma function ``P(x, y)``."""
    return lax.igamma(*jnp.broadcast_arrays(x, y))


@elementwise(x=_unknown("igammac: input"), y=lambda g, x, y: -_gamma_density(g, filled_like(y, x), y))
def igammac(x, y):
    """The regularized upper incomplete gamma function ``Q(x, y)``."""
    return lax.igammac(*jnp.broadcast_arrays(x, y))


@elementwise(
    x=_unknown("zeta"), y=lambda g, x, y: g * -x * zeta(x + 1, y), promote="float", node="SpecialZetaBackward0"
)
def zeta(x, y):
    """The Hurwitz zeta function: the sum of ``(k + y) ** -x`` over the whole numbers ``k``."""
    return special.zeta(x, y)


def _mvlgamma_gradient(g, x, p):
    slope = digamma(x)
    for step in range(1, p):
        slope = slope + digamma(x - step / 2)
    return g * slope


@elementwise(x=_mvlgamma_gradient, promote="float")
def mvlgamma(x, *, p):
    """The logarithm of the gamma function of ``p`` variables."""
    return p * (p - 1) / 4 * math.log(math.pi) + sum(lax.lgamma(x - step / 2) for step in range(p))
