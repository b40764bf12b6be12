"""Arithmetic, powers, exponentials, trigonometry, rounding, selection: what acts on each element by itself.

Formulas are PyTorch's choices where a function has a kink or a pole; otherwise textbook derivatives. A formula that
masks does so with ``where``, not with a product, so that what is masked out can't bring in a nan.
"""

from __future__ import annotations

import builtins
import math

import jax.numpy as jnp
from jax import lax

from tapegrad.execution.dtypes import as_dtype
from tapegrad.ops import conventions
from tapegrad.ops.comparison import eq as eq
from tapegrad.ops.comparison import integral, isfinite, isnan
from tapegrad.ops.conventions import kink, rule
from tapegrad.ops.kinds import Elementwise, conj, declaration, elementwise, linear, zeros_of


def _zero(g):
    """The gradient of a function that is constant wherever it has a derivative: zeros, not "no gradient"."""
    return zeros_of(g, shape=tuple(g.shape), dtype=as_dtype(g.dtype))


# -- arithmetic --------------------------------------------------------------------------------------------------------


@elementwise(
    x=lambda g: g, y=lambda g: g, aten=".Tensor", saved={"alpha": 1}, spoilt="difference", numbers_are_tensors=True,
)  # fmt: skip
def add(x, y):
    """``x + y``; of booleans, "or"."""
    return jnp.add(x, y)


@elementwise(x=lambda g: g, y=lambda g, alpha: g * conj(alpha), aten=".Tensor", family="add", spoilt="difference")
def add_scaled(x, y, alpha):
    """``x + alpha * y``, for a number ``alpha``."""
    return x + alpha * y


@elementwise(
    x=lambda g: g, y=lambda g: -g, aten=".Tensor", saved={"alpha": 1}, spoilt="difference", numbers_are_tensors=True,
)  # fmt: skip
def sub(x, y):
    """``x - y``."""
    return jnp.subtract(x, y)


@elementwise(x=lambda g: g, y=lambda g, alpha: -(g * conj(alpha)), aten=".Tensor", family="sub", spoilt="difference")
def sub_scaled(x, y, alpha):
    """``x - alpha * y``, for a number ``alpha``."""
    return x - alpha * y


@elementwise(
    x=lambda g: -g, y=lambda g: g, aten=".Tensor", saved={"alpha": 1}, spoilt="difference", numbers_are_tensors=True,
)  # fmt: skip
def rsub(x, y):
    """``y - x``."""
    return jnp.subtract(y, x)


@elementwise(x=lambda g: -g, aten=".Scalar", node=1, family="rsub", saved={"alpha": 1})
def rsub_number(x, y):
    """``y - x``, for a number ``y``."""
    return jnp.subtract(y, x)


@elementwise(x=lambda g, alpha: -(g * conj(alpha)), y=lambda g: g, aten=".Tensor", family="rsub")
def rsub_scaled(x, y, alpha):
    """``y - alpha * x``, for a number ``alpha``."""
    return y - alpha * x


@elementwise(x=lambda g, alpha: -(g * conj(alpha)), aten=".Scalar", node=1, family="rsub")
def rsub_number_scaled(x, y, alpha):
    """``y - alpha * x``, for two numbers."""
    return y - alpha * x


@elementwise(
    x=lambda g, y: g * conj(y), y=lambda g, x: g * conj(x), aten=".Tensor", spoilt="product", numbers_are_tensors=True,
    wraps_numbers=True,
)  # fmt: skip
def mul(x, y):
    """``x * y``; of booleans, "and"."""
    return jnp.multiply(x, y)


@elementwise(
    x=lambda g, y: g / conj(y), y=lambda g, x, y: g * conj(-(x / y) / y), promote="float", aten=".Tensor",
    edge=("y", 0, "the divisor is 0: keep it away from 0"), spoilt="quotient", numbers_are_tensors=True,
    wraps_numbers=True,
)  # fmt: skip
def div(x, y):
    """``x / y``; integers are divided as floating numbers.

    The sign between the two divisions of the gradient keeps XLA from dividing once by ``y * y``, which may overflow.
    """
    return jnp.true_divide(x, y)


def _quotient(x, y):
    """The quotient of integers, rounded towards zero."""
    return lax.div(*jnp.broadcast_arrays(x, y))


def _floor_divide(x, y):
    """The quotient that goes with a remainder of the sign of ``y``, as that of Python's ``//``."""
    if integral(x):
        quotient, rest = _quotient(x, y), jnp.fmod(x, y)
        return jnp.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - 1, quotient)
    rest = jnp.fmod(x, y)
    quotient = (x - rest) / y
    quotient = jnp.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - 1, quotient)
    whole = jnp.floor(quotient)
    whole = jnp.where(quotient - whole > 0.5, whole + 1, whole)
    whole = jnp.where(quotient == 0, jnp.copysign(jnp.zeros_like(x), x / y), whole)
    return jnp.where(y == 0, x / y, whole)


@elementwise(
    x=lambda g, y: _zero(g), y=lambda g, x, y: _zero(g), real=True, aten=".Tensor_mode", node=2, family="div",
    saved={"rounding_mode": "rounding_mode"}, spoilt="quotient", numbers_are_tensors=True,
)  # fmt: skip
def div_rounded(x, y, *, rounding_mode):
    """``x / y`` rounded to a whole number: ``"floor"`` downwards, ``"trunc"`` towards zero."""
    x, y = jnp.broadcast_arrays(x, y)  # in one dtype: a formula may give two
    dtype = jnp.result_type(x, y)
    x, y = x.astype(dtype), y.astype(dtype)
    if rounding_mode == "floor":
        return _floor_divide(x, y)
    return _quotient(x, y) if integral(x) else jnp.trunc(x / y)


def underivable(what: str):
    """The formula of an operator that PyTorch records but can't differentiate: raises once backward gets there."""

    def formula(g):
        raise RuntimeError(f"derivative for {what} is not implemented")

    formula.underivable = what  # type: ignore[attr-defined]
    return formula


_NO_FLOOR_DIVIDE = underivable("aten::floor_divide")
_NO_REMAINDER = underivable("aten::remainder")


@elementwise(
    x=_NO_FLOOR_DIVIDE, y=_NO_FLOOR_DIVIDE, real=True, node="torch::autograd::NotImplemented", numbers_are_tensors=True,
)  # fmt: skip
def floor_divide(x, y):
    """``x // y``. Not differentiable in PyTorch: use ``div(x, y, rounding_mode="floor")``, whose gradient is zero."""
    return _floor_divide(x, y)


def _remainder(x, y):
    rest = jnp.fmod(x, y)
    return jnp.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


@elementwise(
    x=lambda g: g, y=lambda g, x, y: -g * div_rounded(x, y, rounding_mode="floor"), real=True, aten=".Tensor", node=1,
    numbers_are_tensors=True,
)  # fmt: skip
def remainder(x, y):
    """``x`` modulo ``y``, with the sign of ``y``."""
    return _remainder(x, y)


@elementwise(x=lambda g: g, real=True, aten=".Scalar", family="remainder", numbers_are_tensors=True)
def remainder_number(x, y):
    """``x`` modulo a number ``y``."""
    return _remainder(x, y)


@elementwise(
    y=_NO_REMAINDER, real=True, aten=".Scalar_Tensor", node="torch::autograd::NotImplemented", family="remainder",
)  # fmt: skip
def number_remainder(x, y):
    """A number ``x`` modulo ``y``; PyTorch has no derivative."""
    return _remainder(x, y)


@elementwise(
    x=lambda g: g, y=lambda g, x, y: -g * div_rounded(x, y, rounding_mode="trunc"), real=True, aten=".Tensor", node=1,
    numbers_are_tensors=True,
)  # fmt: skip
def fmod(x, y):
    """The remainder of ``x / y``, with the sign of ``x``."""
    return jnp.fmod(x, y)


@elementwise(x=lambda g: g, real=True, aten=".Scalar", family="fmod", numbers_are_tensors=True)
def fmod_number(x, y):
    """The remainder of ``x`` divided by a number ``y``, with the sign of ``x``."""
    return jnp.fmod(x, y)


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


def _power_to_base(g, x, y):
    return where(y == 0, 0, g * conj(y * x ** (y - 1)))


def _power_to_exponent(g, x, y, out):
    return g * where((x == 0) & (real(y) >= 0), 0, conj(out * log(x)))


def _fixed_power_to_base(g, x, exponent):
    if exponent == 0:
        return _zero(g)
    return g * conj(exponent * power(x, exponent=exponent - 1))


@elementwise(
    x=_power_to_base, y=_power_to_exponent, aten=".Tensor_Tensor", node=1, saved={"exponent": "y"},
    convention=kink("in the base, where base and exponent are 0", "0", "nan"),
    edge=("x", 0, "the derivative of x**p at x = 0 is infinite for p < 1, and x**p log(x) is undefined there"),
    spoilt="power",
)  # fmt: skip
def pow(x, y):
    """``x ** y``. The gradients at ``x == 0`` are those of PyTorch: zero where the power is constant there."""
    return _int_power(x, y) if integral(x) else jnp.power(x, y)


def _int_power(x, y):
    """Whole powers, which wrap around; to a negative exponent 1 and -1 stay what they are and the others become 0."""
    inverse = jnp.where(x == 1, 1, jnp.where((x == -1) if jnp.issubdtype(x.dtype, jnp.signedinteger) else False,
                                             1 - 2 * (y & 1), 0))  # fmt: skip
    return jnp.where(y < 0, inverse, _by_squaring(x, jnp.maximum(y, 0))).astype(x.dtype)


def _by_squaring(x, y):
    """``x ** y`` by all bits of exponents that are not negative; ``jnp.power`` reads the lowest six alone."""

    def step(state):
        power, square, bits = state
        return jnp.where(bits & 1, power * square, power), square * square, bits >> 1

    shape = jnp.broadcast_shapes(x.shape, y.shape)
    start = jnp.ones(shape, x.dtype), jnp.broadcast_to(x, shape), jnp.broadcast_to(y, shape)
    return lax.while_loop(lambda state: jnp.any(state[2] > 0), step, start)[0]


@elementwise(
    x=lambda g, x, y: g * conj(y * x ** (y - 1)), aten=".Tensor_Scalar", family="pow", saved={"exponent": "y"},
    edge=("x", 0, "the derivative of x**p at x = 0 is infinite for p < 1"), spoilt="power",
)  # fmt: skip
def pow_number(x, y):
    """``x ** y`` for a number ``y`` other than 0."""
    return _int_power(x, y) if integral(x) else jnp.power(x, y)


@elementwise(
    y=lambda g, x, y, out: _power_to_exponent(g, filled_like(y, x), y, out), aten=".Scalar", node=2, family="pow",
    saved={"exponent": "y"}, spoilt="power",
)  # fmt: skip
def number_pow(x, y):
    """``x ** y`` for a number ``x``."""
    return _int_power(x, y) if integral(x) else jnp.power(x, y)


@elementwise(
    x=_fixed_power_to_base, aten=".Tensor_Scalar", family="pow",
    edge=("x", 0, "the derivative of x**p at x = 0 is infinite for p < 1"), spoilt="power",
)  # fmt: skip
def power(x, *, exponent):
    """``x ** exponent`` for an exponent that is compiled in: whole and half powers become products and roots."""
    cases = {0: jnp.ones_like, 1: lambda x: x, 2: lambda x: x * x, 3: lambda x: x * x * x, -1: lambda x: 1 / x,
             -2: lambda x: 1 / (x * x), 0.5: _sqrt, -0.5: lambda x: 1 / _sqrt(x)}  # fmt: skip
    return cases[exponent](x) if exponent in cases else jnp.power(x, exponent)


@elementwise(value=lambda g: g, aten=None)
def filled_like(x, value):
    """``value`` in the shape and in the dtype of both: a number becomes an array like ``x``."""
    return jnp.broadcast_arrays(x, value)[1].astype(jnp.result_type(x, value))


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


@elementwise(
    x=lambda g, y: g * conj(exp2(y)), y=lambda g, out: g * conj(out) * math.log(2), promote="float", aten=".Tensor",
)  # fmt: skip
def ldexp(x, y):
    """``x * 2 ** y``."""
    return x * jnp.exp2(y)


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


@elementwise(x=lambda g, x, y: g / conj(1 + exp(y - x)), y=lambda g, x, y: g / conj(1 + exp(x - y)))
def logaddexp(x, y):
    """``log(exp(x) + exp(y))``, without overflow; of complex numbers, from the one whose real part is larger on."""
    if not jnp.iscomplexobj(x):
        return jnp.logaddexp(x, y)
    first = jnp.real(x) >= jnp.real(y)
    top, low = jnp.where(first, x, y), jnp.where(first, y, x)
    return jnp.where(jnp.isneginf(jnp.real(top)), top, top + jnp.log1p(jnp.exp(low - top)))


@elementwise(
    x=lambda g, x, y: g / (1 + exp2(y - x)), y=lambda g, x, y: g / (1 + exp2(x - y)), real=True,
)
def logaddexp2(x, y):
    """``log2(2 ** x + 2 ** y)``, without overflow."""
    return jnp.logaddexp2(x, y)


@elementwise(x=lambda g, out: g * conj((1 - out) * out), promote="float")
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


@elementwise(x=lambda g, out: g * conj(1 - out * out), promote="float")
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


def _inverse_square_radius(x, y):
    radius = x * x + y * y
    return where(radius == 0, 0, reciprocal(radius))


@elementwise(
    x=lambda g, x, y: g * y * _inverse_square_radius(x, y),
    y=lambda g, x, y: -g * x * _inverse_square_radius(x, y),
    promote="float", real=True, convention=kink("where both are 0", "0", "nan"),
)  # fmt: skip
def atan2(x, y):
    """The angle of the point with ordinate ``x`` and abscissa ``y``."""
    return jnp.arctan2(x, y)


@elementwise(
    x=lambda g, x, out: g * (x / out), y=lambda g, y, out: g * (y / out), real=True,
    convention=kink("where both are 0", "nan", "1/2"),
)  # fmt: skip
def hypot(x, y):
    """``sqrt(x * x + y * y)``, without overflow."""
    return jnp.hypot(x, y)


def _sinc_gradient(g, x):
    angle, square = x * math.pi, x * x * math.pi
    return where(square == 0, 0, g * conj((angle * cos(angle) - sin(angle)) / square))


@elementwise(x=_sinc_gradient, promote="float")
def sinc(x):
    """``sin(pi x) / (pi x)``, 1 at 0."""
    angle = x * math.pi
    nonzero = jnp.where(angle == 0, 1, angle)
    return jnp.where(angle == 0, 1, jnp.sin(nonzero) / nonzero)


@elementwise(x=lambda g: g * (math.pi / 180), promote="float", real=True)
def deg2rad(x):
    """Degrees as radians."""
    return x * (math.pi / 180)


@elementwise(x=lambda g: g * (180 / math.pi), promote="float", real=True)
def rad2deg(x):
    """Radians as degrees."""
    return x * (180 / math.pi)


# -- signs and rounding ------------------------------------------------------------------------------------------------


@elementwise(x=_zero, real=True)
def sign(x):
    """-1, 0 or 1; 0 of nan."""
    if x.dtype == jnp.bool_:
        return x
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def _sgn_gradient(g, x, out):
    """What is left of ``g`` when its component along ``x`` is taken out, over ``|x|``; on the real line nothing."""
    if not as_dtype(x.dtype).is_complex:
        return _zero(g)
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
        return _zero(g)
    return where(x == 0, 0, g * x * 1j / real(x * conj(x)))


def _angle_tangent(t_x, x):
    if not as_dtype(x.dtype).is_complex:
        return _zero(t_x)
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


@elementwise(x=_zero, real=True)
def floor(x):
    """The next whole number below."""
    return x if integral(x) else jnp.floor(x)


@elementwise(x=_zero, real=True)
def ceil(x):
    """The next whole number above."""
    return x if integral(x) else jnp.ceil(x)


@elementwise(x=_zero, real=True)
def trunc(x):
    """The next whole number towards 0."""
    return x if integral(x) else jnp.trunc(x)


@elementwise(x=_zero, real=True)
def round(x):
    """The nearest whole number, the even one of two."""
    return x if integral(x) else lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


@elementwise(x=_zero, real=True, aten=".decimals", node=1, family="round")
def round_decimals(x, *, decimals):
    """Rounded to so many digits after the point (before it, if negative)."""
    ten = 10.0 ** builtins.abs(decimals)
    nearest = lax.RoundingMethod.TO_NEAREST_EVEN
    return lax.round(x * ten, nearest) / ten if decimals > 0 else lax.round(x / ten, nearest) * ten


@elementwise(x=lambda g: g, real=True)
def frac(x):
    """``x - trunc(x)``."""
    return x - jnp.trunc(x)


def _copysign_gradient(g, x, out):
    return g * where(x == 0, 0, out / x)


@elementwise(x=_copysign_gradient, y=_zero, promote="float", real=True, aten=".Tensor", convention=conventions.SIGNED)
def copysign(x, y):
    """``x`` with the sign of ``y``."""
    return jnp.copysign(x, y)


@elementwise(
    x=_copysign_gradient, promote="float", real=True, aten=".Scalar", node=1, family="copysign",
    convention=conventions.SIGNED,
)  # fmt: skip
def copysign_number(x, y):
    """``x`` with the sign of a number ``y``."""
    return jnp.copysign(x, y)


def _nan_to_num(x, nan, posinf, neginf):
    return jnp.where(jnp.isnan(x), nan, jnp.where(x == jnp.inf, posinf, jnp.where(x == -jnp.inf, neginf, x)))


@elementwise(x=lambda g, x: masked(g, isfinite(x)))
def nan_to_num(x, nan, posinf, neginf):
    """``x`` with numbers in place of nan and infinities; part by part, if complex."""
    if jnp.iscomplexobj(x):
        limits = [jnp.real(limit) for limit in (nan, posinf, neginf)]
        return lax.complex(_nan_to_num(jnp.real(x), *limits), _nan_to_num(jnp.imag(x), *limits))
    return _nan_to_num(x, nan, posinf, neginf)


@elementwise(
    x=underivable("aten::heaviside"), y=underivable("aten::heaviside"), node="torch::autograd::NotImplemented",
    real=True,
)
def heaviside(x, y):
    """0 below 0, 1 above, ``y`` at 0."""
    return jnp.where(x == 0, y, (x > 0).astype(x.dtype))


@elementwise(x=lambda g, x, y: where(eq(x, y), 0, g), y=_zero, promote="none", real=True)
def nextafter(x, y):
    """The number after ``x`` on the way to ``y`` (of the same dtype) that the dtype can hold."""
    return jnp.nextafter(x, y)


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
    return _zero(primal) if tangent is None else tangent


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


# -- selection ---------------------------------------------------------------------------------------------------------


@elementwise(x=lambda g, condition: where(condition, g, 0), y=lambda g, condition: where(condition, 0, g), aten=".self")
def where(condition, x, y):
    """``x`` where the condition holds, ``y`` elsewhere."""
    return jnp.where(condition, x, y)


class _InDtypeOfFirst(Elementwise):
    """Elementwise, but its first input alone decides the dtype."""

    def compute_dtype(self, specs):
        return specs[0].dtype


@declaration(_InDtypeOfFirst, promote="common")(x=lambda g, mask: where(mask, 0, g), aten=".Scalar")
def masked_fill(x, mask, value):
    """``x`` with a number ``value`` where the mask holds."""
    return jnp.where(mask, value, x)


@declaration(_InDtypeOfFirst, promote="common")(
    x=lambda g, mask: where(mask, 0, g), value=lambda g, mask: where(mask, g, 0), aten=".Tensor", node=1,
    family="masked_fill", records_integers=True,
)  # fmt: skip
def masked_fill_tensor(x, mask, value):
    """``x`` with the 0-dim ``value`` where the mask holds."""
    return jnp.where(mask, value, x)


def _inside(g, x, min, max):
    above = None if min is None else x >= min
    below = None if max is None else x <= max
    inside = below if above is None else above if below is None else above & below
    return where(inside, g, 0)


def masked(g, mask):
    """``g`` times a mask, which where it is False gives 0, but nan of what is not finite.

    Of a product with a mask XLA makes a selection, which gives 0 there.
    """
    return where(mask, g, g * 0)


def _below_min(g, x, min, max):
    return where(x < min if max is None else (x < min) & (min < max), g, 0)


def _above_max(g, x, min, max):
    return where(x > max if min is None else (x > max) | (max < min), g, 0)


def _clamp(x, min, max):
    x = x if min is None else jnp.maximum(x, min)
    return x if max is None else jnp.minimum(x, max)


@elementwise(x=_inside, real=True, node=1, convention=kink("at a bound", "1", "1/2"))
def clamp(x, min, max):
    """``x`` limited by two numbers, either of them None; ``max`` where they contradict each other."""
    return _clamp(x, min, max)


@elementwise(
    x=_inside, min=_below_min, max=_above_max, real=True, aten=".Tensor", family="clamp", convention=conventions.BOUND,
)  # fmt: skip
def clamp_tensor(x, min, max):
    """``x`` limited by two arrays, either of them None; ``max`` where they contradict each other."""
    return _clamp(x, min, max)


@elementwise(x=lambda g, x, min: where(x >= min, g, 0), real=True, convention=kink("at the bound", "1", "1/2"))
def clamp_min(x, min):
    """The greater of ``x`` and a number."""
    return jnp.maximum(x, min)


@elementwise(x=lambda g, x, max: where(x <= max, g, 0), real=True, convention=kink("at the bound", "1", "1/2"))
def clamp_max(x, max):
    """The smaller of ``x`` and a number."""
    return jnp.minimum(x, max)


@elementwise(
    x=lambda g, x, min: where(x >= min, g, 0), min=lambda g, x, min: where(x < min, g, 0), real=True, aten=".Tensor",
    node=1, family="clamp_min", convention=conventions.BOUND,
)  # fmt: skip
def clamp_min_tensor(x, min):
    """The greater of two; a tie's gradient goes to ``x``."""
    return jnp.maximum(x, min)


@elementwise(
    x=lambda g, x, max: where(x <= max, g, 0), max=lambda g, x, max: where(x > max, g, 0), real=True, aten=".Tensor",
    node=1, family="clamp_max", convention=conventions.BOUND,
)  # fmt: skip
def clamp_max_tensor(x, max):
    """The smaller of two; a tie's gradient goes to ``x``."""
    return jnp.minimum(x, max)


@elementwise(
    x=lambda g, x, y: where(x < y, 0, where(x == y, g / 2, g)),
    y=lambda g, x, y: where(x > y, 0, where(x == y, g / 2, g)),
    real=True,
)
def maximum(x, y):
    """The greater of two, nan if either is; a tie's gradient is shared."""
    return jnp.maximum(x, y)


@elementwise(
    x=lambda g, x, y: where(x > y, 0, where(x == y, g / 2, g)),
    y=lambda g, x, y: where(x < y, 0, where(x == y, g / 2, g)),
    real=True,
)
def minimum(x, y):
    """The smaller of two, nan if either is; a tie's gradient is shared."""
    return jnp.minimum(x, y)


@elementwise(
    x=lambda g, x, y: where((x >= y) | isnan(y), g, 0), y=lambda g, x, y: where((x >= y) | isnan(y), 0, g), real=True,
    convention=conventions.TIE,
)  # fmt: skip
def fmax(x, y):
    """The greater of two, the other one if one is nan; a tie's gradient goes to ``x``."""
    return jnp.fmax(x, y)


@elementwise(
    x=lambda g, x, y: where((x <= y) | isnan(y), g, 0), y=lambda g, x, y: where((x <= y) | isnan(y), 0, g), real=True,
    convention=conventions.TIE,
)  # fmt: skip
def fmin(x, y):
    """The smaller of two, the other one if one is nan; a tie's gradient goes to ``x``."""
    return jnp.fmin(x, y)


def _lerp(x, y, weight):
    """From whichever end is nearer, so that both ends are met exactly."""
    span = y - x
    return jnp.where(jnp.abs(weight) < 0.5, x + weight * span, y - span * (1 - weight))


@elementwise(x=lambda g, weight: g * (1 - conj(weight)), y=lambda g, weight: g * conj(weight), aten=".Scalar")
def lerp(x, y, weight):
    """``x + weight * (y - x)``, for a number ``weight``."""
    return _lerp(x, y, weight)


@elementwise(
    x=lambda g, weight: g * (1 - conj(weight)),
    y=lambda g, weight: g * conj(weight),
    weight=lambda g, x, y: g * conj(y - x),
    aten=".Tensor", node=1, family="lerp", saved={"end": "y"},
)  # fmt: skip
def lerp_tensor(x, y, weight):
    """``x + weight * (y - x)``."""
    return _lerp(x, y, weight)


@elementwise(
    x=lambda g: g,
    tensor1=lambda g, tensor2, value: g * conj(tensor2 * value),
    tensor2=lambda g, tensor1, value: g * conj(tensor1 * value),
)
def addcmul(x, tensor1, tensor2, value):
    """``x + value * tensor1 * tensor2``, for a number ``value``."""
    return x + value * tensor1 * tensor2


@elementwise(
    x=lambda g: g,
    tensor1=lambda g, tensor2, value: g * conj(value / tensor2),
    tensor2=lambda g, tensor1, tensor2, value: -g * conj((value * tensor1) / (tensor2 * tensor2)),
    promote="float",
)
def addcdiv(x, tensor1, tensor2, value):
    """``x + value * tensor1 / tensor2``, for a number ``value``."""
    return x + value * tensor1 / tensor2
