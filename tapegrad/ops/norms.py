"""Norms: of vectors, of what ``renorm`` bounds, of differences."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from tapegrad._src.execution.data import dtypes
from tapegrad.ops import conventions
from tapegrad.ops.conventions import kink
from tapegrad.ops.kinds import cast, general, same, sum_to
from tapegrad.ops.memory_formats import gradient_as_input
from tapegrad.ops.operator import Operator
from tapegrad.ops.reductions import along, axes_of, everything, real_dtype, share, spread, weighed, widened
from tapegrad.ops.selection import where
from tapegrad.ops.unary import abs, power, sgn


def _norm(x, ord, axis, keepdims):
    axes, x = axes_of(axis, x.ndim), jnp.abs(widened(x))
    if same(ord, math.inf):
        return jnp.max(x, axis=axes, keepdims=keepdims)
    if same(ord, -math.inf):
        return jnp.min(x, axis=axes, keepdims=keepdims)
    if same(ord, 0):
        return jnp.sum((x != 0).astype(x.dtype), axis=axes, keepdims=keepdims)
    if same(ord, 1):
        return jnp.sum(x, axis=axes, keepdims=keepdims)
    if same(ord, 2):
        return jnp.sqrt(jnp.sum(jnp.square(x), axis=axes, keepdims=keepdims))
    return jnp.sum(x ** (1.0 * ord), axis=axes, keepdims=keepdims) ** (1.0 / ord)


def norm_slope(g, x, out, ord, axis):
    """The gradient of the norm ``out`` of ``x`` at each element; ``g`` has the shape of ``x``, or is a number.

    With n the norm, it is sgn(x) |x|^(p-1) / n^(p-1). PyTorch's choices where that is undefined: 0 at n = 0; for p < 2
    also at the elements that are 0; infinite p by Note [Extrema share]. Its second derivatives follow from the form
    that is written here: nan at n = 0 for p <= 2, 0 for higher ones.
    """
    size = abs(x)
    if isinstance(ord, jax.core.Tracer):  # it moves: whatever it is, but for the special ones
        n, less = spread(out, shape=x.shape, axis=axis), ord - 1
        return sgn(x) * where(x == 0, 0, size**less) * where(n == 0, 0, g / n**less)
    if math.isinf(ord):
        return sgn(x) * share(size, out, axis=axis, nan=True) * g
    if ord == 1:
        return sgn(x) * g
    n = spread(out, shape=x.shape, axis=axis)
    if ord == 2:
        return where(n == 0, 0, x / n) * g
    if ord < 1:
        return sgn(x) * where(x == 0, 0, power(size, exponent=ord - 1)) * g * power(n, exponent=1 - ord)
    scale = where(n == 0, 0, g / power(n, exponent=ord - 1))
    if ord > 2:
        return x * power(size, exponent=ord - 2) * scale
    return sgn(x) * where(x == 0, 0, power(size, exponent=ord - 1)) * scale


def norm_gradient(g, x, out, ord, axis):
    """The gradient of a norm; that of p = 0, the number of nonzero elements, is undefined."""
    return None if same(ord, 0) else norm_slope(spread(g, shape=x.shape, axis=axis), x, out, ord, axis)


def norm_tangent(t, x, out, ord, axis, keepdims):
    """The tangent of a norm."""
    return along(x * 0 if ord == 0 else norm_slope(1, x, out, ord, axis), t, axis, keepdims)


def _declare_norm(name: str, **facts: Any) -> Operator:
    @general(
        x=lambda g, x, out, ord, axis: norm_gradient(g, x, out, ord, axis),
        jvp=lambda t_x, x, out, ord, axis, keepdims: norm_tangent(t_x, x, out, ord, axis, keepdims),
        name=name,
        convention=conventions.ORIGIN,
        gradient_lies=weighed,
        special=(0, 1, 2),
        uniform=True,
        **facts,
    )
    def operator(x, *, ord, axis, keepdims=False, dtype=None):
        """The p-norm over ``axis``, p = ``ord`` being any number: real, of the real type of ``dtype`` or of ``x``."""
        x = x if dtype is None else cast(x, dtype=dtype)
        return _norm(x, ord, axis, keepdims).astype(real_dtype(x))

    return operator


vector_norm = _declare_norm(
    "vector_norm",
    aten="linalg_vector_norm",
    edge=("out", 0, "the norm is 0, where it has no derivative: add a small number under the root"),
)
distance_norm = _declare_norm("distance_norm", aten="norm.ScalarOpt_dim", node=1)  # in PyTorch's pairwise_distance


def renorm_scale(x, ord, axis, limit):
    """Which slices of ``x`` are shrunk, their norms, what they are multiplied by, and the derivative of that by these.

    The last three mean nothing where nothing is shrunk: those who use them choose between results, not factors.
    """
    norm = vector_norm(x, ord=ord, axis=axis)
    room = norm + 1e-7
    return spread(norm > limit, shape=x.shape, axis=axis), norm, limit / room, -limit / (room * room)


def renorm_gradient(g, x, ord, axis, limit):
    """The gradient of ``renorm``: of the product with the scale, and through the norm."""
    shrunk, norm, scale, slope = renorm_scale(x, ord, axis, limit)
    to_norm = cast(slope * along(g, x, axis, False), dtype=dtypes.as_dtype(x.dtype))
    moved = g * spread(scale, shape=x.shape, axis=axis) + norm_gradient(to_norm, x, norm, ord, axis)
    return where(shrunk, moved, g)


def renorm_tangent(t, x, ord, axis, limit):
    """The tangent of ``renorm``."""
    shrunk, norm, scale, slope = renorm_scale(x, ord, axis, limit)
    change = slope * norm_tangent(t, x, norm, ord, axis, False)
    moved = t * spread(scale, shape=x.shape, axis=axis) + x * spread(change, shape=x.shape, axis=axis)
    return where(shrunk, moved, t)


@general(
    x=lambda g, x, ord, axis, limit: renorm_gradient(g, x, ord, axis, limit),
    jvp=lambda t_x, x, ord, axis, limit: renorm_tangent(t_x, x, ord, axis, limit),
    convention=kink("where an element is 0, for ord=1", "0 for the norm", "1 for the norm"),
    special=(0, 1, 2),
)  # fmt: skip
def renorm(x, *, ord, axis, limit):
    """``x`` with those parts shrunk whose p-norm over ``axis``, p = ``ord`` > 0, is larger than a limit."""
    norm = _norm(x, ord, axis, True)
    return (x * jnp.where(norm > limit, limit / (norm + 1e-7), 1)).astype(x.dtype)


def dist_gradient(g, x, y, out, ord):
    """The gradient of the norm of the broadcast difference ``x - y``, at each element of it."""
    difference = x - y
    return norm_gradient(g, difference, out, ord, everything(difference.ndim))


def to_shape(grad, shape):
    """A gradient with broadcasting undone; None stays None."""
    return None if grad is None else sum_to(grad, shape=shape)


@general(
    x=lambda g, x, y, out, ord: to_shape(dist_gradient(g, x, y, out, ord), x.shape),
    y=lambda g, x, y, out, ord: to_shape(dist_gradient(g, y, x, out, ord), y.shape),
    jvp=lambda t_x, t_y, x, y, out, ord: norm_tangent(
        difference_of(t_x, t_y), x - y, out, ord, everything((x - y).ndim), False
    ),
    promote="common", convention=conventions.COINCIDENT, gradient_lies=gradient_as_input, special=(0, 1, 2),
)  # fmt: skip
def dist(x, y, *, ord):
    """The p-norm of all of ``x - y``, which may broadcast."""
    return _norm(x - y, ord, everything(max(x.ndim, y.ndim)), False).astype(real_dtype(x))


def difference_of(x, y):
    """``x - y``, where either may be None."""
    return -y if x is None else x if y is None else x - y
