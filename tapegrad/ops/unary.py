"""Elementwise operators of one array: exponentials, roots, trigonometry, signs, rounding, complex numbers.

Formulas are PyTorch's choices where a function has a kink or a pole; otherwise textbook derivatives.
"""

from __future__ import annotations

import builtins
import math

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.data.dtypes import as_dtype
from tapegrad.ops import conventions
from tapegrad.ops.comparison import integral, isfinite
from tapegrad.ops.conventions import kink, rule
from tapegrad.ops.formulas import zeros
from tapegrad.ops.kinds import Elementwise, conj, declaration, elementwise, linear, same
from tapegrad.ops.selection import masked, where


@elementwise(x=lambda g: -g)
def neg(x):
    """``-x``."""
    return jnp.negative(x)


@elementwise(
    x=lambda g, out: -g * conj(out * out), promote="float",
    edge=("out", None, "the derivative of 1/x at 0 is infinite: keep x away from 0"),
)  # fmt: skip
def reciprocal(x):
    """``1 / x``."""
    return 1 / x


# -- powers ------------------------------------------------------------------------------------------------------------


def _fixed_power_to_base(g, x, exponent):
    if same(exponent, 0):
        return zeros(g)
    return g * conj(exponent * power(x, exponent=exponent - 1))


@elementwise(
    x=_fixed_power_to_base, aten=".Tensor_Scalar", family="pow",
    edge=("x", 0, "the derivative of x**p at x = 0 is infinite for p < 1"), spoilt="power",
    special=(0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 1.5),
)  # fmt: skip
def power(x, *, exponent):
    """``x ** exponent`` for an exponent that is compiled in: whole and half powers become products and roots."""
    cases = {0: jnp.ones_like, 1: lambda x: x, 2: lambda x: x * x, 3: lambda x: x * x * x, -1: lambda x: 1 / x,
             -2: lambda x: 1 / (x * x), 0.5: _sqrt, -0.5: lambda x: 1 / _sqrt(x)}  # fmt: skip
    found = next((case for number, case in cases.items() if same(exponent, number)), None)
    return found(x) if found else jnp.power(x, exponent)


def _with_imag_sign(value, sign):
    """A complex value on the side of a branch cut where ``sign``, which may be a signed zero, puts it."""
    return lax.complex(jnp.real(value), jnp.copysign(jnp.imag(value), sign))


def _sqrt(x):
    return _with_imag_sign(jnp.sqrt(x), jnp.imag(x)) if jnp.iscomplexobj(x) else jnp.sqrt(x)


@elementwise(
    x=lambda g, out: g / (2 * conj(out)), promote="float",
    edge=("out", 0, "the derivative of sqrt at 0 is infinite: clamp its argument, or add a small number to it"),
    spoilt="root",
)  # fmt: skip
def sqrt(x):
    """The square root."""
    return _sqrt(x)


@elementwise(
    x=lambda g, out: -0.5 * g * conj(power(out, exponent=3)), promote="float",
    edge=("out", None, "the derivative of rsqrt at 0 is infinite: clamp its argument"), spoilt="root",
)  # fmt: skip
def rsqrt(x):
    """``1 / sqrt(x)``."""
    return 1 / _sqrt(x)


# -- exponentials ------------------------------------------------------------------------------------------------------


@elementwise(x=lambda g, out: g * conj(out), promote="float", spoilt="overflow")
def exp(x):
    """``e ** x``."""
    return jnp.exp(x)


@elementwise(x=lambda g, out: g * conj(out) * math.log(2), promote="float", spoilt="overflow")
def exp2(x):
    """``2 ** x``."""
    return jnp.exp2(x)


@elementwise(x=lambda g, out: g * (conj(out) + 1), promote="float", spoilt="overflow")
def expm1(x):
    """``e ** x - 1``, accurate near 0."""
    return jnp.expm1(x)


@elementwise(
    x=lambda g, x: g / conj(x), promote="float",
    edge=("x", 0, "the derivative of log at 0 is infinite: clamp its argument, or add a small number to it"),
    spoilt="logarithm",
)  # fmt: skip
def log(x):
    """The natural logarithm."""
    return jnp.log(x)


@elementwise(
    x=lambda g, x: g / (conj(x) * math.log(2)), promote="float",
    edge=("x", 0, "the derivative of log2 at 0 is infinite: clamp its argument"), spoilt="logarithm",
)  # fmt: skip
def log2(x):
    """The logarithm to base 2."""
    return jnp.log2(x)


@elementwise(
    x=lambda g, x: g / (conj(x) * math.log(10)), promote="float",
    edge=("x", 0, "the derivative of log10 at 0 is infinite: clamp its argument"), spoilt="logarithm",
)  # fmt: skip
def log10(x):
    """The logarithm to base 10."""
    return jnp.log10(x)


@elementwise(x=lambda g, x: g / (conj(x) + 1), promote="float", spoilt="logarithm")
def log1p(x):
    """``log(1 + x)``, accurate near 0."""
    return jnp.log1p(x)


@elementwise(x=lambda g, out: g * conj((1 - out) * out), promote="float", rounds_once=True)
def sigmoid(x):
    """``1 / (1 + exp(-x))``."""
    return lax.logistic(x)


def _logit_gradient(g, x, eps):
    low, high = (0, 1) if eps is None else (eps, 1 - eps)
    return where((x < low) | (x > high), math.nan if eps is None else 0, g / (abs(x) * (1 - x)))


@elementwise(x=_logit_gradient, promote="float", real=True)
def logit(x, *, eps):
    """``log(x / (1 - x))``, of ``x`` clamped to ``[eps, 1 - eps]`` unless ``eps`` is None."""
    if eps is not None:
        x = jnp.clip(x, eps, 1 - eps)
    return jnp.log(x / (1 - x))


# -- trigonometry ------------------------------------------------------------------------------------------------------


@elementwise(x=lambda g, x: g * conj(cos(x)), promote="float")
def sin(x):
    """The sine, of radians."""
    return jnp.sin(x)


@elementwise(x=lambda g, x: -g * conj(sin(x)), promote="float")
def cos(x):
    """The cosine, of radians."""
    return jnp.cos(x)


@elementwise(x=lambda g, out: g * conj(1 + out * out), promote="float")
def tan(x):
    """The tangent, of radians."""
    return jnp.tan(x)


@elementwise(
    x=lambda g, x: g * conj(rsqrt(1 - x * x)), promote="float",
    edge=("x", 1, "the derivative of asin at -1 and 1 is infinite: clamp its argument"), spoilt="inverse_sine",
)  # fmt: skip
def asin(x):
    """The inverse sine."""
    return _with_imag_sign(jnp.arcsin(x), jnp.imag(x)) if jnp.iscomplexobj(x) else jnp.arcsin(x)


@elementwise(
    x=lambda g, x: -g * conj(rsqrt(1 - x * x)), promote="float",
    edge=("x", 1, "the derivative of acos at -1 and 1 is infinite: clamp its argument"), spoilt="inverse_sine",
)  # fmt: skip
def acos(x):
    """The inverse cosine."""
    return _with_imag_sign(jnp.arccos(x), -jnp.imag(x)) if jnp.iscomplexobj(x) else jnp.arccos(x)


@elementwise(x=lambda g, x: g / conj(x * x + 1), promote="float")
def atan(x):
    """The inverse tangent."""
    return jnp.arctan(x)


@elementwise(x=lambda g, x: g * conj(cosh(x)), promote="float", spoilt="overflow")
def sinh(x):
    """The hyperbolic sine."""
    return jnp.sinh(x)


@elementwise(x=lambda g, x: g * conj(sinh(x)), promote="float", spoilt="overflow")
def cosh(x):
    """The hyperbolic cosine."""
    return jnp.cosh(x)


@elementwise(x=lambda g, out: g * conj(1 - out * out), promote="float", rounds_once=True)
def tanh(x):
    """The hyperbolic tangent."""
    return jnp.tanh(x)


@elementwise(x=lambda g, x: g * conj(rsqrt(x * x + 1)), promote="float")
def asinh(x):
    """The inverse hyperbolic sine."""
    if not jnp.iscomplexobj(x):
        return jnp.arcsinh(x)
    value = jnp.arcsinh(x)
    return lax.complex(jnp.copysign(jnp.real(value), jnp.real(x)), jnp.imag(value))


def _acosh_gradient(g, x):
    if as_dtype(x.dtype).is_complex:  # the product of two roots has the right branch, the root of the product has not
        return g * conj(rsqrt(x + 1) * rsqrt(x - 1))
    return g * rsqrt(x * x - 1)


@elementwise(
    x=_acosh_gradient, promote="float", edge=("x", 1, "the derivative of acosh at 1 is infinite: clamp its argument"),
)  # fmt: skip
def acosh(x):
    """The inverse hyperbolic cosine."""
    return _with_imag_sign(jnp.arccosh(x), jnp.imag(x)) if jnp.iscomplexobj(x) else jnp.arccosh(x)


@elementwise(
    x=lambda g, x: g / conj(1 - x * x), promote="float",
    edge=("x", 1, "the derivative of atanh at -1 and 1 is infinite: clamp its argument"), spoilt="inverse_sine",
)  # fmt: skip
def atanh(x):
    """The inverse hyperbolic tangent."""
    return jnp.arctanh(x)


def _sinc_gradient(g, x):
    angle, square = x * math.pi, x * x * math.pi
    return where(square == 0, 0, g * conj((angle * cos(angle) - sin(angle)) / square))


@elementwise(x=_sinc_gradient, promote="float")
def sinc(x):
    """``sin(pi x) / (pi x)``, 1 at 0."""
    angle = x * math.pi
    nonzero = jnp.where(angle == 0, 1, angle)
    return jnp.where(angle == 0, 1, jnp.sin(nonzero) / nonzero)


@elementwise(x=lambda g: g * (math.pi / 180), promote="float", real=True, rounds_once=True)
def deg2rad(x):
    """Degrees as radians."""
    return x * (math.pi / 180)


@elementwise(x=lambda g: g * (180 / math.pi), promote="float", real=True, rounds_once=True)
def rad2deg(x):
    """Radians as degrees."""
    return x * (180 / math.pi)


# -- signs and rounding ------------------------------------------------------------------------------------------------


@elementwise(x=zeros, real=True)
def sign(x):
    """-1, 0 or 1; 0 of nan."""
    if x.dtype == jnp.bool_:
        return x
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def _sgn_gradient(g, x, out):
    """The rest of ``g`` when its component along ``x`` is taken out, over ``|x|``; on the real line nothing."""
    if not as_dtype(x.dtype).is_complex:
        return zeros(g)
    return where(x == 0, 0, (g - out * real(conj(out) * g)) / abs(x))


@elementwise(x=_sgn_gradient, jvp=lambda t_x, x, out: _sgn_gradient(t_x, x, out), convention=conventions.SIGN)
def sgn(x):
    """``x / |x|``, 0 at 0."""
    return jnp.sign(x) if jnp.iscomplexobj(x) else sign.function(x)


@elementwise(
    x=lambda g, x: g * sgn(x), jvp=lambda t_x, x: real(t_x * conj(sgn(x))),
    convention=kink("at 0, of real numbers", "0", "1"),
)  # fmt: skip
def abs(x):
    """The absolute value; real, of complex numbers too."""
    return jnp.abs(x)


def _angle_gradient(g, x):
    if not as_dtype(x.dtype).is_complex:
        return zeros(g)
    return where(x == 0, 0, g * x * 1j / real(x * conj(x)))


def _angle_tangent(t_x, x):
    if not as_dtype(x.dtype).is_complex:
        return zeros(t_x)
    return where(x == 0, 0, imag(t_x * conj(x)) / real(x * conj(x)))


class _Angle(Elementwise):
    """Angles of complex numbers are contiguous; those of real ones lie as these do."""

    def output_strides(self, shape, specs):
        return None if specs[0].dtype.is_complex else super().output_strides(shape, specs)


@declaration(_Angle, promote="float")(
    x=_angle_gradient, jvp=_angle_tangent, convention=kink("at 0, of complex numbers", "0", "nan"),
)  # fmt: skip
def angle(x):
    """The angle of a complex number; of a real one 0 or pi, or nan."""
    return jnp.angle(x) if jnp.iscomplexobj(x) else jnp.where(x < 0, math.pi, jnp.where(jnp.isnan(x), x, 0))


@elementwise(x=zeros, real=True)
def floor(x):
    """The next whole number below."""
    return x if integral(x) else jnp.floor(x)


@elementwise(x=zeros, real=True)
def ceil(x):
    """The next whole number above."""
    return x if integral(x) else jnp.ceil(x)


@elementwise(x=zeros, real=True)
def trunc(x):
    """The next whole number towards 0."""
    return x if integral(x) else jnp.trunc(x)


@elementwise(x=zeros, real=True)
def round(x):
    """The nearest whole number, the even one of two."""
    return x if integral(x) else lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


@elementwise(x=zeros, real=True, aten=".decimals", node=1, family="round")
def round_decimals(x, *, decimals):
    """Rounded to so many digits after the point (before it, if negative)."""
    ten = 10.0 ** builtins.abs(decimals)
    nearest = lax.RoundingMethod.TO_NEAREST_EVEN
    return lax.round(x * ten, nearest) / ten if decimals > 0 else lax.round(x / ten, nearest) * ten


@elementwise(x=lambda g: g, real=True)
def frac(x):
    """``x - trunc(x)``."""
    return x - jnp.trunc(x)


def _nan_to_num(x, nan, posinf, neginf):
    return jnp.where(jnp.isnan(x), nan, jnp.where(x == jnp.inf, posinf, jnp.where(x == -jnp.inf, neginf, x)))


@elementwise(x=lambda g, x: masked(g, isfinite(x)))
def nan_to_num(x, nan, posinf, neginf):
    """``x`` with numbers in place of nan and infinities; part by part, if complex."""
    if jnp.iscomplexobj(x):
        limits = [jnp.real(limit) for limit in (nan, posinf, neginf)]
        return lax.complex(_nan_to_num(jnp.real(x), *limits), _nan_to_num(jnp.imag(x), *limits))
    return _nan_to_num(x, nan, posinf, neginf)


# -- complex numbers ---------------------------------------------------------------------------------------------------


@elementwise(x=lambda g: conj(g))
def conj_physical(x):
    """The complex conjugate, under the name of PyTorch's other function for it."""
    return jnp.conj(x)


@linear(x=lambda g: g, aten="select.int")
def real(x):
    """The real part; of a real array, the array."""
    return jnp.real(x)


@linear(x=lambda g: g * 1j, aten="select.int")
def imag(x):
    """The imaginary part of a complex array."""
    return jnp.imag(x)


def _zero_unless(tangent, primal):
    return zeros(primal) if tangent is None else tangent


@elementwise(
    x=lambda g, x: real(g),
    y=lambda g, y: imag(g),
    jvp=lambda t_x, t_y, x, y: complex(_zero_unless(t_x, x), _zero_unless(t_y, y)),
    real=True,
)
def complex(x, y):
    """``x + i y``, for two real arrays."""
    return lax.complex(x, y) if x.shape == y.shape else lax.complex(*jnp.broadcast_arrays(x, y))


@elementwise(
    x=lambda g, out: real(conj(g) * sgn(out)),
    y=lambda g, out: real(conj(g) * (out * 1j)),
    jvp=lambda t_x, t_y, x, y: complex(
        _zero_unless(t_x, x) * cos(y) - x * sin(y) * _zero_unless(t_y, y),
        _zero_unless(t_x, x) * sin(y) + x * cos(y) * _zero_unless(t_y, y),
    ),
    real=True,
    convention=rule("where the absolute value is not positive", "its sign times that of jax", "that of the product"),
)  # fmt: skip
def polar(x, y):
    """The complex number of absolute value ``x`` and angle ``y``."""
    return complex.function(x * jnp.cos(y), x * jnp.sin(y))
