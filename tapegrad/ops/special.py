"""Error functions, the gamma function and its derivatives, the Bessel functions that have one, entropies."""

from __future__ import annotations

import math
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tapegrad.ops import conventions
from tapegrad.ops.arithmetic import filled_like
from tapegrad.ops.kinds import conj, elementwise, general
from tapegrad.ops.memory_formats import as_input, by_rows
from tapegrad.ops.selection import where
from tapegrad.ops.unary import abs, exp, exp2, log, reciprocal, sign


@elementwise(x=lambda x, g: 2 / math.sqrt(math.pi) * exp(-(x * x)) * g, promote="float", real=True)
def erf(x):
    """The error function."""
    return lax.erf(x)


@elementwise(x=lambda g, x: -2 / math.sqrt(math.pi) * exp(-(x * x)) * g, promote="float", real=True)
def erfc(x):
    """``1 - erf(x)``, accurate far to the right."""
    return lax.erfc(x)


ASYMPTOTIC = [(-1) ** k * math.prod(range(1, 2 * k, 2)) / 2**k for k in range(16)]
"""The value of ``erfcx(x) x sqrt(pi)`` at large ``x``, in powers of ``1 / x^2`` (DLMF 7.12.1)."""


@elementwise(
    x=lambda g, x, out: g * (2 * x * out - 2 / math.sqrt(math.pi)), promote="float", real=True, aten="special_erfcx",
)  # fmt: skip
def erfcx(x):
    """``exp(x^2) * erfc(x)``."""
    border = 8 if x.dtype == jnp.float64 else 5
    near, far = jnp.where(x < border, x, 0), jnp.where(x < border, border, x)
    series = jnp.polyval(jnp.asarray(ASYMPTOTIC[::-1], x.dtype), 1 / (far * far)) / (far * math.sqrt(math.pi))
    return jnp.where(x < border, jnp.exp(near * near) * lax.erfc(near), series)


def _erfinv_gradient(x, g):
    inverse = erfinv(x)
    return 0.5 * math.sqrt(math.pi) * exp(inverse * inverse) * g


@elementwise(x=_erfinv_gradient, promote="float", real=True)
def erfinv(x):
    """The inverse error function; in float64 with a step of Newton's, which XLA's needs close to 1."""
    value = lax.erf_inv(x)
    if x.dtype != jnp.float64:
        return value
    near = jnp.abs(jnp.where(jnp.isfinite(value), value, 0))
    step = (lax.erfc(near) - (1 - jnp.abs(x))) * (math.sqrt(math.pi) / 2) * jnp.exp(near * near)
    return jnp.where(near > 2, value + jnp.sign(x) * step, value)


@elementwise(x=lambda g, x: g * digamma(x), promote="float", real=True)
def lgamma(x):
    """The logarithm of the absolute value of the gamma function."""
    return lax.lgamma(x)


@elementwise(x=lambda g, x: g * polygamma(x, n=1), promote="float", real=True)
def digamma(x):
    """The derivative of ``lgamma``."""
    return jnp.where(x == 0, jnp.copysign(jnp.inf, -x), jnp.where(x == -jnp.inf, jnp.nan, lax.digamma(x)))


def _trigamma(x):
    """The reflection formula ``trigamma(1 - x) + trigamma(x) = (pi / sin(pi x)) ** 2`` takes care of the left side."""
    right = jax.scipy.special.polygamma(1, jnp.where(x < 0.5, 1 - x, x))
    value = jnp.where(x < 0.5, (math.pi / jnp.sin(math.pi * x)) ** 2 - right, right)
    return jnp.where(x == jnp.inf, 0, value)


@elementwise(x=lambda g, x, n: g * polygamma(x, n=n + 1), promote="float", real=True)
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
    right = jax.scipy.special.polygamma(n, jnp.where(left, 1 - x, x))
    rest = x - jnp.round(x)
    steep = jnp.tan(math.pi * jnp.where(jnp.abs(rest) > 0.25, 0.5 - jnp.abs(rest), rest))
    cotangent = jnp.where(jnp.abs(rest) > 0.25, jnp.sign(rest) * steep, 1 / steep)
    slope = math.pi ** (n + 1) * jnp.polyval(jnp.asarray(_cotangent_derivative(n), x.dtype), cotangent)
    return jnp.where(left, (-1) ** n * right - slope, right)


@cache
def _cotangent_derivative(n: int) -> tuple[float, ...]:
    """The ``n``-th derivative of the cotangent as a polynomial in it: each step is ``-(1 + c^2) d/dc``."""
    if n == 0:
        return (1.0, 0.0)
    return tuple(np.polymul((-1.0, 0.0, -1.0), np.polyder(_cotangent_derivative(n - 1))).tolist())


@elementwise(
    x=lambda g, x, y: where((x == 0) & (y <= 0), 0, xlogy(g, y)),
    y=lambda g, x, y: g * x / y,
    promote="float", real=True, aten=".Tensor", convention=conventions.ZERO_TIMES,
)  # fmt: skip
def xlogy(x, y):
    """``x * log(y)``, 0 where ``x`` is 0 (and nan where ``y`` is)."""
    return jnp.where((x == 0) & ~jnp.isnan(y), 0, x * jnp.log(y))


@elementwise(
    x=lambda g, x, y: where((x == 0) & (y <= 0), 0, xlogy_number(g, y)), promote="float", real=True,
    aten=".Scalar_Other", node=2, family="xlogy", convention=conventions.ZERO_TIMES,
)  # fmt: skip
def xlogy_number(x, y):
    """``x * log(y)`` for a number ``y``."""
    return xlogy.function(x, y)


@elementwise(y=lambda g, x, y: g * x / y, promote="float", real=True, aten=".Scalar_Self", node=1, family="xlogy")
def number_xlogy(x, y):
    """``x * log(y)`` for a number ``x``."""
    return xlogy.function(x, y)


@elementwise(
    x=lambda g, x, y: where((x == 0) & (y <= -1), 0, xlog1py(g, y)),
    y=lambda g, x, y: g * x / (y + 1),
    promote="float", real=True, aten="special_xlog1py", convention=conventions.ZERO_TIMES,
)  # fmt: skip
def xlog1py(x, y):
    """``x * log1p(y)``, 0 where ``x`` is 0 (and nan where ``y`` is)."""
    return jnp.where((x == 0) & ~jnp.isnan(y), 0, x * jnp.log1p(y))


@elementwise(
    x=lambda g, x, y: where((x == 0) & (y <= -1), 0, xlog1py_number(g, y)), promote="float", real=True,
    aten="special_xlog1py.other_scalar", node=2, family="xlog1py", convention=conventions.ZERO_TIMES,
)  # fmt: skip
def xlog1py_number(x, y):
    """``x * log1p(y)`` for a number ``y``."""
    return xlog1py.function(x, y)


@elementwise(
    y=lambda g, x, y: g * x / (y + 1), promote="float", real=True, aten="special_xlog1py.self_scalar", node=1,
    family="xlog1py",
)  # fmt: skip
def number_xlog1py(x, y):
    """``x * log1p(y)`` for a number ``x``."""
    return xlog1py.function(x, y)


@elementwise(x=lambda g, x: g * -(1 + log(x)), promote="float", real=True, aten="special_entr")
def entr(x):
    """``-x * log(x)``; 0 at 0, ``-inf`` below."""
    return jnp.where(x > 0, -x * jnp.log(x), jnp.where(x == 0, 0, jnp.where(jnp.isnan(x), x, -jnp.inf)))


@elementwise(
    x=lambda g, out: g * math.sqrt(2 * math.pi) * exp(out * out / 2), promote="float", real=True, aten="special_ndtri",
)  # fmt: skip
def ndtri(x):
    """The quantile of the standard normal distribution."""
    return jax.scipy.special.ndtri(x)


@elementwise(
    x=lambda g, x, out: g * exp(-(out + x * x / 2)) / math.sqrt(2 * math.pi), promote="float", real=True,
    aten="special_log_ndtr",
)  # fmt: skip
def log_ndtr(x):
    """The logarithm of the standard normal distribution function."""
    z = x * math.sqrt(0.5)
    left, right = jnp.minimum(z, -0.5), jnp.maximum(z, -0.5)
    far = jnp.log(erfcx.function(-left) / 2) - left * left
    return jnp.where(z < -0.5, far, jnp.log1p(-lax.erfc(right) / 2))


@elementwise(x=lambda g, x: g * i1(x), promote="float", real=True)
def i0(x):
    """The modified Bessel function of order 0."""
    return jax.scipy.special.i0(x)


@elementwise(x=lambda g, x, out: g * (i1e(x) - sign(x) * out), promote="float", real=True, aten="special_i0e")
def i0e(x):
    """``i0(x) * exp(-|x|)``."""
    return jax.scipy.special.i0e(x)


def _i1_gradient(g, x, out):
    far = abs(x) >= 1e-20
    return g * where(far, i0(x) - out / where(far, x, 1), 0.5)


def _i1e_gradient(g, x, out):
    far = abs(x) >= 1e-20
    return g * where(far, i0e(x) - out * (sign(x) + reciprocal(where(far, x, 1))), 0.5)


@elementwise(x=_i1_gradient, promote="float", real=True, aten="special_i1")
def i1(x):
    """The modified Bessel function of order 1."""
    return jax.scipy.special.i1(x)


@elementwise(x=_i1e_gradient, promote="float", real=True, aten="special_i1e")
def i1e(x):
    """``i1(x) * exp(-|x|)``."""
    return jax.scipy.special.i1e(x)


@elementwise(x=lambda g, y: g * conj(y), aten=".Scalar", node=1, family="mul", plain_inputs=("y",))
def times(x, y):
    """``x * y`` for a number ``y``, as PyTorch writes it in functions of its own."""
    return jnp.multiply(x, y)


@elementwise(x=lambda g: g, aten=".Scalar", node=1, family="add")
def plus(x, y):
    """``x + y`` for a number ``y``, as PyTorch writes it in functions of its own."""
    return jnp.add(x, y)


def _unknown(what):
    """The formula of an input for which PyTorch has none: raises once backward gets there."""

    def formula(g):
        raise NotImplementedError(f"the derivative for '{what}' is not implemented.")

    return formula


def _gamma_density(g, x, y):
    return g * exp((x - 1) * log(y) - y - lgamma(x))


def _incomplete_gamma(kernel, sign, x, y):
    """P (``sign`` -1) or Q (1) by a kernel that sums a series, which for large numbers takes long, or never ends."""
    large = (x > 2e4) & (x < jnp.inf) & (y > 0) & (y < jnp.inf)
    found = kernel(jnp.where(large, 1, x), jnp.where(large, 1, y))
    found = jnp.where(large, _large_gamma(sign, jnp.where(large, x, 2e4), jnp.where(large, y, 2e4)), found)
    none, all_ = (0, 1) if sign < 0 else (1, 0)
    found = jnp.where((y == jnp.inf) & ~(x < 0), all_, found)
    found = jnp.where(jnp.isnan(x) & (y == 0), none, found)
    return jnp.where(x == jnp.inf, jnp.where((y == jnp.inf) | (y < 0), jnp.nan, none), found)


def _large_gamma(sign, x, y):
    """Temme's uniform expansion, for x from 2e4 on (DLMF 8.12).

    With ``m = y / x - 1``, ``t^2 / 2 = m - log(1 + m)`` and the sign of ``t`` that of ``m``, P and Q are
    ``erfc(-+ t sqrt(x / 2)) / 2 -+ exp(-x t^2 / 2) / sqrt(2 pi x) (c_0 + c_1 / x)``, ``c_0 = 1 / m - 1 / t`` and
    ``c_1 = 1 / t^3 - 1 / m^3 - 1 / m^2 - 1 / (12 m)``.
    """
    m = (y - x) / x
    near = jnp.abs(m) < 0.01
    powers = jnp.asarray([1 / 8, -1 / 7, 1 / 6, -1 / 5, 1 / 4, -1 / 3, 1 / 2], x.dtype)
    half = jnp.where(near, m**2 * jnp.polyval(powers, m), m - jnp.log1p(m))
    t = jnp.sign(m) * jnp.sqrt(2 * half)
    first = jnp.polyval(jnp.asarray([1 / 2835, 1 / 864, -2 / 135, 1 / 12, -1 / 3], x.dtype), t)
    second = jnp.polyval(jnp.asarray([25 / 6048, -1 / 288, -1 / 540], x.dtype), t)
    m, t_far = jnp.where(near, 1, m), jnp.where(near, 1, t)
    first = jnp.where(near, first, 1 / m - 1 / t_far)
    second = jnp.where(near, second, 1 / t_far**3 - 1 / m**3 - 1 / m**2 - 1 / (12 * m))
    density = jnp.exp(-x * half) / jnp.sqrt(2 * math.pi * x)
    rest = jnp.where(density > 0, density * (first + second / x), 0)
    return lax.erfc(sign * t * jnp.sqrt(x / 2)) / 2 + sign * rest


@elementwise(x=_unknown("igamma: input"), y=lambda g, x, y: _gamma_density(g, filled_like(y, x), y), real=True)
def igamma(x, y):
    """The regularized lower incomplete gamma function ``P(x, y)``."""
    x, y = jnp.broadcast_arrays(x, y)
    return jnp.where((x == 0) & (y > 0), 1, _incomplete_gamma(lax.igamma, -1, x, y))


@elementwise(x=_unknown("igammac: input"), y=lambda g, x, y: -_gamma_density(g, filled_like(y, x), y), real=True)
def igammac(x, y):
    """The regularized upper incomplete gamma function ``Q(x, y)``."""
    return _incomplete_gamma(lax.igammac, 1, *jnp.broadcast_arrays(x, y))


def _zeta(x, y):
    large = (x > 1e6) & (y <= 1) & ((y > 0) | (x == jnp.floor(x)))  # the first term, or those near 0, are all there is
    found = jnp.where(large, jnp.where(y > 0, y**-x, jnp.inf), jax.scipy.special.zeta(jnp.where(large, 2, x), y))
    pole = (y <= 0) & (y == jnp.floor(y))
    return jnp.where(x < 1, jnp.nan, jnp.where(pole, jnp.inf, found))


@elementwise(
    x=_unknown("zeta"), y=lambda g, x, y: g * -x * zeta(x + 1, y), promote="float", real=True, aten="special_zeta",
)  # fmt: skip
def zeta(x, y):
    """The Hurwitz zeta function: the sum of ``(k + y) ** -x`` over the whole numbers ``k``."""
    return _zeta(x, y)


@elementwise(x=_unknown("zeta"), promote="float", real=True, aten="special_zeta.other_scalar", node=2, family="zeta")
def zeta_number(x, y):
    """The Hurwitz zeta function for a number ``y``."""
    return _zeta(x, y)


@elementwise(
    y=lambda g, x, y: g * -x * zeta(x + 1, y), promote="float", real=True, aten="special_zeta.self_scalar", node=1,
    family="zeta",
)  # fmt: skip
def number_zeta(x, y):
    """The Hurwitz zeta function for a number ``x``."""
    return _zeta(x, y)


def _mvlgamma_gradient(g, x, p):
    slope = digamma(where(x == 0, 0, x))  # -0 as 0: PyTorch adds 0 to it
    for step in range(1, p):
        slope = slope + digamma(x - step / 2)
    return g * slope


@general(
    x=lambda g_mantissa, exponent: g_mantissa / exp2(exponent),
    jvp=lambda t_x, exponent: (t_x / exp2(exponent), None),
    outputs=("mantissa", "exponent"), real=True, aten=".Tensor", lies=as_input,
)  # fmt: skip
def frexp(x):
    """``x`` as ``mantissa * 2 ** exponent``, the mantissa in [0.5, 1) without its sign; the exponent is int32."""
    mantissa, exponent = jnp.frexp(x)
    return mantissa, jnp.where(jnp.isfinite(x), exponent, 0).astype(jnp.int32)


@elementwise(x=_mvlgamma_gradient, promote="float", real=True, lies=by_rows)
def mvlgamma(x, *, p):
    """The logarithm of the gamma function of ``p`` variables."""
    steps = jnp.arange(p, dtype=x.dtype) / 2
    return p * (p - 1) / 4 * math.log(math.pi) + lax.lgamma(x[..., None] - steps).sum(-1)
