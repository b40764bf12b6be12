"""Arithmetic and powers: elementwise operators of two arrays.

A formula that masks does so with ``where``, not with a product, so that what is masked out can't bring in a nan.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.data.dtypes import as_dtype
from tapegrad._src.execution.tiers.host_trace import while_loop
from tapegrad.ops import conventions
from tapegrad.ops.comparison import eq, integral
from tapegrad.ops.conventions import kink
from tapegrad.ops.formulas import underivable, zeros
from tapegrad.ops.kinds import conj, elementwise
from tapegrad.ops.memory_formats import exchanged
from tapegrad.ops.selection import where
from tapegrad.ops.unary import exp, exp2, imag, log, real, reciprocal


@elementwise(
    x=lambda g: g, y=lambda g: g, aten=".Tensor", saved={"alpha": 1}, spoilt="difference", numbers_are_tensors=True,
)  # fmt: skip
def add(x, y):
    """``x + y``; of booleans, "or"."""
    return jnp.add(x, y)


@elementwise(
    x=lambda g: g, y=lambda g, alpha: g * conj(alpha), aten=".Tensor", family="add", spoilt="difference",
    rounds_once=True,
)  # fmt: skip
def add_scaled(x, y, alpha):
    """``x + alpha * y``, for a number ``alpha``."""
    return x + alpha * y


@elementwise(
    x=lambda g: g, y=lambda g: -g, aten=".Tensor", saved={"alpha": 1}, spoilt="difference", numbers_are_tensors=True,
)  # fmt: skip
def sub(x, y):
    """``x - y``."""
    return jnp.subtract(x, y)


@elementwise(
    x=lambda g: g, y=lambda g, alpha: -(g * conj(alpha)), aten=".Tensor", family="sub", spoilt="difference",
    rounds_once=True,
)  # fmt: skip
def sub_scaled(x, y, alpha):
    """``x - alpha * y``, for a number ``alpha``."""
    return x - alpha * y


@elementwise(
    x=lambda g: -g, y=lambda g: g, aten=".Tensor", saved={"alpha": 1}, spoilt="difference", numbers_are_tensors=True,
    lies=exchanged,
)  # fmt: skip
def rsub(x, y):
    """``y - x``."""
    return jnp.subtract(y, x)


@elementwise(x=lambda g: -g, aten=".Scalar", node=1, family="rsub", saved={"alpha": 1})
def rsub_number(x, y):
    """``y - x``, for a number ``y``."""
    return jnp.subtract(y, x)


@elementwise(
    x=lambda g, alpha: -(g * conj(alpha)), y=lambda g: g, aten=".Tensor", family="rsub", rounds_once=True,
    lies=exchanged,
)  # fmt: skip
def rsub_scaled(x, y, alpha):
    """``y - alpha * x``, for a number ``alpha``."""
    return y - alpha * x


@elementwise(x=lambda g, alpha: -(g * conj(alpha)), aten=".Scalar", node=1, family="rsub", rounds_once=True)
def rsub_number_scaled(x, y, alpha):
    """``y - alpha * x``, for two numbers."""
    return y - alpha * x


@elementwise(
    x=lambda g, y: g * conj(y), y=lambda g, x: g * conj(x), aten=".Tensor", spoilt="product", numbers_are_tensors=True,
    wraps_numbers=True, rounds_once=("x",),
)  # fmt: skip
def mul(x, y):
    """``x * y``; of booleans, "and"."""
    return jnp.multiply(x, y)


@elementwise(
    x=lambda g, y: g / conj(y), y=lambda g, x, y: g * conj(-(x / y) / y), promote="float", aten=".Tensor",
    edge=("y", 0, "the divisor is 0: keep it away from 0"), spoilt="quotient", numbers_are_tensors=True,
    wraps_numbers=True, rounds_once=("x",), tangent_of_result=True,
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
    x=lambda g, y: zeros(g), y=lambda g, x, y: zeros(g), real=True, aten=".Tensor_mode", node=2, family="div",
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


# -- powers ------------------------------------------------------------------------------------------------------------


def _power_to_base(g, x, y, out):  # PyTorch keeps the result for the exponent, whoever asks
    return where(y == 0, 0, g * conj(y * pow(x, y - 1)))


def _power_to_exponent(g, x, y, out):
    constant = (x == 0) & (real(y) >= 0)
    if as_dtype(y.dtype).is_complex:
        constant = constant & (imag(y) == 0)
        x = filled_like(out, x)  # of a negative number there is a logarithm then
    return g * where(constant, 0, conj(out * log(x)))


def _power_of_complex(x, y):
    """``x ** y`` as ``exp(y * log(x))`` has it where ``x`` is 0."""
    power = jnp.power(x, y)
    if not jnp.iscomplexobj(power):
        return power
    part = jnp.real(y)
    of_zero = jnp.where(part > 0, 0, jnp.where(part < 0, complex("inf+nanj"), complex("nan+nanj"))).astype(power.dtype)
    return jnp.where(x == 0, of_zero, power)


@elementwise(
    x=_power_to_base, y=_power_to_exponent, aten=".Tensor_Tensor", node=1, saved={"exponent": "y"},
    convention=kink("in the base, where base and exponent are 0", "0", "nan"),
    edge=("x", 0, "the derivative of x**p at x = 0 is infinite for p < 1, and x**p log(x) is undefined there"),
    spoilt="power",
)  # fmt: skip
def pow(x, y):
    """``x ** y``. The gradients at ``x == 0`` are those of PyTorch: zero where the power is constant there."""
    return _int_power(x, y) if integral(x) else _power_of_complex(x, y)


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
    return while_loop(lambda state: jnp.any(state[2] > 0), step, start)[0]


def _power_of_number_to_base(g, x, y):
    slope = g * conj(y * x ** (y - 1))
    is_complex = isinstance(y, complex) or as_dtype(y.dtype).is_complex if not isinstance(y, (int, float)) else False
    return where(filled_like(slope, y) == 0, 0, slope) if is_complex else slope


@elementwise(
    x=_power_of_number_to_base, aten=".Tensor_Scalar", family="pow", saved={"exponent": "y"},
    edge=("x", 0, "the derivative of x**p at x = 0 is infinite for p < 1"), spoilt="power",
)  # fmt: skip
def pow_number(x, y):
    """``x ** y`` for a number ``y``: any complex one, or another one than 0."""
    if integral(x) or not jnp.iscomplexobj(y):
        return _int_power(x, y) if integral(x) else jnp.power(x, y)
    return jnp.where(y == 0, 1, _power_of_complex(x, y))


@elementwise(
    y=lambda g, x, y, out: _power_to_exponent(g, filled_like(y, x), y, out), aten=".Scalar", node=2, family="pow",
    saved={"exponent": "y"}, spoilt="power",
)  # fmt: skip
def number_pow(x, y):
    """``x ** y`` for a number ``x``."""
    if integral(x) or not (jnp.iscomplexobj(x) or jnp.iscomplexobj(y)):
        return _int_power(x, y) if integral(x) else jnp.power(x, y)
    return jnp.where(x == 1, 1, _power_of_complex(x, y))


@elementwise(value=lambda g: g, aten=None)
def filled_like(x, value):
    """``value`` in the shape and in the dtype of both: a number becomes an array like ``x``."""
    return jnp.broadcast_arrays(x, value)[1].astype(jnp.result_type(x, value))


# -- logarithms of sums ------------------------------------------------------------------------------------------------


@elementwise(
    x=lambda g, y, out: g * conj(exp2(y)), y=lambda g, out: g * conj(out) * math.log(2), promote="float",
    aten=".Tensor",
)  # fmt: skip
def ldexp(x, y):
    """``x * 2 ** y``."""
    return x * jnp.exp2(y)


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


# -- of two sides -----------------------------------------------------------------------------------------------------


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


# -- signs and neighbours ----------------------------------------------------------------------------------------------


def _copysign_gradient(g, x, out):
    return g * where(x == 0, 0, out / x)


@elementwise(x=_copysign_gradient, y=zeros, promote="float", real=True, aten=".Tensor", convention=conventions.SIGNED)
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


@elementwise(
    x=underivable("aten::heaviside"), y=underivable("aten::heaviside"), node="torch::autograd::NotImplemented",
    real=True,
)
def heaviside(x, y):
    """0 below 0, 1 above, ``y`` at 0."""
    return jnp.where(x == 0, y, (x > 0).astype(x.dtype))


@elementwise(x=lambda g, x, y: where(eq(x, y), 0, g), y=zeros, promote="none", real=True)
def nextafter(x, y):
    """The number after ``x`` on the way to ``y`` (of the same dtype) that the dtype can hold."""
    return jnp.nextafter(x, y)
