"""Comparison, classification, logic and bits: elementwise operators without a gradient."""

from __future__ import annotations

import jax.numpy as jnp

from tapegrad.ops.kinds import elementwise, same
from tapegrad.ops.overloads import by_second


def integral(x):
    """Whether an array holds integers or booleans."""
    return jnp.issubdtype(x.dtype, jnp.integer) or jnp.issubdtype(x.dtype, jnp.bool_)


@elementwise(aten=by_second("eq"))
def eq(x, y):
    """Whether equal; never, if nan."""
    return jnp.equal(x, y)


@elementwise(aten=by_second("ne"))
def ne(x, y):
    """Whether different."""
    return jnp.not_equal(x, y)


@elementwise(real=True, aten=by_second("lt"))
def lt(x, y):
    """``x < y``."""
    return jnp.less(x, y)


@elementwise(real=True, aten=by_second("le"))
def le(x, y):
    """``x <= y``."""
    return jnp.less_equal(x, y)


@elementwise(real=True, aten=by_second("gt"))
def gt(x, y):
    """``x > y``."""
    return jnp.greater(x, y)


@elementwise(real=True, aten=by_second("ge"))
def ge(x, y):
    """``x >= y``."""
    return jnp.greater_equal(x, y)


@elementwise()
def isnan(x):
    """Whether nan, in either part."""
    return jnp.isnan(x)


@elementwise()
def isinf(x):
    """Whether infinite, in either part."""
    return jnp.isinf(x)


@elementwise()
def isfinite(x):
    """Whether neither nan nor infinite."""
    return jnp.isfinite(x)


@elementwise()
def isreal(x):
    """Whether the imaginary part is 0."""
    return jnp.isreal(x)


@elementwise(real=True)
def signbit(x):
    """Whether the sign is set; -0.0 has it."""
    if x.dtype == jnp.bool_ or jnp.issubdtype(x.dtype, jnp.unsignedinteger):
        return jnp.zeros(x.shape, bool)
    return jnp.signbit(x) if not integral(x) else x < 0


@elementwise(special=(0,))
def isclose(x, y, *, rtol, atol, equal_nan):
    """Whether ``|x - y| <= atol + rtol * |y|``; infinities must be equal, and nan too with ``equal_nan``."""
    close = x == y
    if equal_nan:
        close |= jnp.isnan(x) & jnp.isnan(y)
    if same(rtol, 0) and same(atol, 0):
        return close
    if x.dtype == bool:
        x, y = x.astype("int8"), y.astype("int8")
    error = jnp.abs(x - y)
    return close | (jnp.isfinite(error) & (error <= atol + jnp.abs(rtol * y)))


@elementwise()
def logical_and(x, y):
    """Whether both are nonzero."""
    return jnp.logical_and(x, y)


@elementwise()
def logical_or(x, y):
    """Whether at least one is nonzero."""
    return jnp.logical_or(x, y)


@elementwise()
def logical_xor(x, y):
    """Whether exactly one is nonzero."""
    return jnp.logical_xor(x, y)


@elementwise()
def logical_not(x):
    """Whether zero."""
    return jnp.logical_not(x)


@elementwise(real=True, aten=by_second("bitwise_and"))
def bitwise_and(x, y):
    """The bits set in both."""
    return jnp.bitwise_and(x, y)


@elementwise(real=True, aten=by_second("bitwise_or"))
def bitwise_or(x, y):
    """The bits set in either."""
    return jnp.bitwise_or(x, y)


@elementwise(real=True, aten=by_second("bitwise_xor"))
def bitwise_xor(x, y):
    """The bits set in one only."""
    return jnp.bitwise_xor(x, y)


@elementwise(real=True)
def bitwise_not(x):
    """All bits flipped; of booleans, "not"."""
    return jnp.bitwise_not(x)


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


@elementwise(real=True)
def gcd(x, y):
    """The greatest common divisor of integers."""
    return jnp.gcd(x, y)


@elementwise(real=True)
def lcm(x, y):
    """The least common multiple of integers."""
    return jnp.lcm(x, y)
