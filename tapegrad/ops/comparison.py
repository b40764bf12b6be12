"""Comparison, classification, logic and bits: elementwise operators without a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from tapegrad.ops.kinds import elementwise, same
from tapegrad.ops.operator import Operator
from tapegrad.ops.overloads import by_second


def _of_one(name: str, kernel: Callable, says: str, **facts: Any) -> Operator:
    """Declare the operator that is a function of one array."""

    def operator(x):
        return kernel(x)

    operator.__doc__ = says
    return elementwise(name=name, **facts)(operator)


def _of_two(name: str, kernel: Callable, says: str, numbers: bool = False, **facts: Any) -> Operator:
    """Declare the operator that is a function of two arrays, or has an overload for ``numbers``."""

    def operator(x, y):
        return kernel(x, y)

    operator.__doc__ = says
    return elementwise(name=name, **facts, **({"aten": by_second(name)} if numbers else {}))(operator)


def integral(x):
    """Tell whether an array holds integers or booleans."""
    return jnp.issubdtype(x.dtype, jnp.integer) or jnp.issubdtype(x.dtype, jnp.bool_)


eq = _of_two("eq", jnp.equal, "Whether equal; never, if nan.", numbers=True)
ne = _of_two("ne", jnp.not_equal, "Whether different.", numbers=True)
lt = _of_two("lt", jnp.less, "``x < y``.", real=True, numbers=True)
le = _of_two("le", jnp.less_equal, "``x <= y``.", real=True, numbers=True)
gt = _of_two("gt", jnp.greater, "``x > y``.", real=True, numbers=True)
ge = _of_two("ge", jnp.greater_equal, "``x >= y``.", real=True, numbers=True)
isnan = _of_one("isnan", jnp.isnan, "Whether nan, in either part.")
isinf = _of_one("isinf", jnp.isinf, "Whether infinite, in either part.")
isfinite = _of_one("isfinite", jnp.isfinite, "Whether neither nan nor infinite.")
isreal = _of_one("isreal", jnp.isreal, "Whether the imaginary part is 0.")


@elementwise(real=True)
def signbit(x):
    """Tell whether the sign is set; -0.0 has it."""
    if x.dtype == jnp.bool_ or jnp.issubdtype(x.dtype, jnp.unsignedinteger):
        return jnp.zeros(x.shape, bool)
    return jnp.signbit(x) if not integral(x) else x < 0


@elementwise(special=(0,))
def isclose(x, y, *, rtol, atol, equal_nan):
    """Tell whether ``|x - y| <= atol + rtol * |y|``; infinities must be equal, and nan too with ``equal_nan``."""
    close = x == y
    if equal_nan:
        close |= jnp.isnan(x) & jnp.isnan(y)
    if same(rtol, 0) and same(atol, 0):
        return close
    if x.dtype == bool:
        x, y = x.astype("int8"), y.astype("int8")
    error = jnp.abs(x - y)
    return close | (jnp.isfinite(error) & (error <= atol + jnp.abs(rtol * y)))


logical_and = _of_two("logical_and", jnp.logical_and, "Whether both are nonzero.")
logical_or = _of_two("logical_or", jnp.logical_or, "Whether at least one is nonzero.")
logical_xor = _of_two("logical_xor", jnp.logical_xor, "Whether exactly one is nonzero.")
logical_not = _of_one("logical_not", jnp.logical_not, "Whether zero.")
bitwise_and = _of_two("bitwise_and", jnp.bitwise_and, "The bits set in both.", real=True, numbers=True)
bitwise_or = _of_two("bitwise_or", jnp.bitwise_or, "The bits set in either.", real=True, numbers=True)
bitwise_xor = _of_two("bitwise_xor", jnp.bitwise_xor, "The bits set in one only.", real=True, numbers=True)
bitwise_not = _of_one("bitwise_not", jnp.bitwise_not, 'All bits flipped; of booleans, "not".', real=True)


def _bits(x):
    return jnp.iinfo(x.dtype).bits


@elementwise(real=True, aten=".Tensor")
def bitwise_left_shift(x, y):
    """``x << y``; 0 if shifted by more bits than there are, or by a negative number."""
    possible = (y >= 0) & (y < _bits(x))
    return jnp.where(possible, jnp.left_shift(x, jnp.where(possible, y, 0)), 0)


@elementwise(real=True, aten=".Tensor")
def bitwise_right_shift(x, y):
    """``x >> y``, keeping the sign; an impossible number of bits shifts all out."""
    possible = (y >= 0) & (y < _bits(x))
    gone = jnp.where(x < 0, -1, 0).astype(x.dtype) if jnp.issubdtype(x.dtype, jnp.signedinteger) else jnp.zeros_like(x)
    return jnp.where(possible, jnp.right_shift(x, jnp.where(possible, y, 0)), gone)


gcd = _of_two("gcd", jnp.gcd, "The greatest common divisor of integers.", real=True)
lcm = _of_two("lcm", jnp.lcm, "The least common multiple of integers.", real=True)
