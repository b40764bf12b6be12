"""Scans: cumulative sums, products, extrema; and the product, whose derivative is made of scans.

Note [Products without division]
The derivative of a product by one of its factors is the product of the others. Dividing the whole by the factor fails
at 0; the others are the product of those before and of those after, and both are scans. A cumulative product C gives

    grad_i = (x_0 ... x_{i-1}) * R_i,    R_i = g_i + x_{i+1} R_{i+1}

where R, all that comes after, is a ``recurrence`` run backwards. Its derivatives are recurrences again, so that any
order of derivative is right at zeros, without a case for them.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.numpy_backend.forms import like_last, on_host
from tapegrad._src.execution.numpy_backend.scans import recurred
from tapegrad.ops import conventions
from tapegrad.ops.kinds import broadcast_to, cast, conj, general, linear
from tapegrad.ops.memory_formats import gradient_as_input
from tapegrad.ops.reductions import accumulated, axes_of, scaled, spread, sum, sum_all, widened
from tapegrad.ops.selection import where
from tapegrad.ops.shape import view
from tapegrad.ops.sorting import chosen, unchosen
from tapegrad.ops.unary import exp, log


@linear(x=lambda g, axis, reverse: cumsum(g, axis=axis, reverse=not reverse))
def cumsum(x, *, axis, reverse=False, dtype=None):
    """The sums of all elements up to each along ``axis`` (from each on, if ``reverse``); of integers in int64."""
    x = accumulated(x, dtype)
    if x.ndim == 0:
        return x
    if x.dtype == jnp.bool_:
        return lax.cummax(x.astype(jnp.int32), axis, reverse).astype(jnp.bool_)
    return lax.cumsum(widened(x), axis, reverse).astype(x.dtype)


# -- products ----------------------------------------------------------------------------------------------------------


def _shifted(x, axis, by, fill=0):
    """``x`` moved by one place along ``axis``, with ``fill`` in the place that was left."""
    padding = [(0, 0, 0)] * x.ndim
    padding[axis] = (by, -by, 0)
    return lax.pad(x, jnp.asarray(fill, x.dtype), padding)


@linear(x=lambda g, axis, by: shift(g, axis=axis, by=-by), aten=None)
def shift(x, *, axis, by):
    """``x`` moved by one place along ``axis``: forward if ``by`` is 1, back if it is -1; zero in the place it left."""
    return _shifted(x, axis, by)


def step(reverse):
    """The direction in which a scan goes."""
    return -1 if reverse else 1


def passed_back(g, a, axis, reverse):
    """The gradients that come back to the elements of a ``recurrence`` from those after: see Note [Products without
    division]."""
    return recurrence(shift(conj(a), axis=axis, by=-step(reverse)), g, axis=axis, reverse=not reverse)


def plus(x, y):
    """``x + y``, where either may be None."""
    return y if x is None else x if y is None else x + y


@general(
    a=lambda g, a, out, axis, reverse: (
        passed_back(g, a, axis, reverse) * conj(shift(out, axis=axis, by=step(reverse)))
    ),
    b=lambda g, a, axis, reverse: passed_back(g, a, axis, reverse),
    jvp=lambda t_a, t_b, a, out, axis, reverse: recurrence(
        a,
        plus(None if t_a is None else t_a * shift(out, axis=axis, by=step(reverse)), t_b),
        axis=axis,
        reverse=reverse,
    ),
    aten=None,
)  # fmt: skip
def recurrence(a, b, *, axis, reverse):
    """The solution h of ``h_i = a_i h_{i-1} + b_i`` along ``axis`` (``h_{i+1}`` if ``reverse``), starting from 0."""
    axis %= max(b.ndim, 1)
    turned = (lambda x: lax.rev(x, (axis,))) if reverse else (lambda x: x)
    return turned(_solved(turned(widened(a)), turned(widened(b)), axis=axis)).astype(b.dtype)


FEW = 8
"""So many steps are made one by one."""


def solved(a, b, axis):
    """``recurrence`` forward: every second element first, by steps of two, and from each of them the one behind it."""
    length = b.shape[axis]

    def part(x, start, stride=1, stop=length):
        return lax.slice_in_dim(x, start, stop, stride, axis)

    if length <= FEW:
        found = [part(b, 0, stop=1)] if length else [b]
        for i in range(1, length):
            found.append(part(a, i, stop=i + 1) * found[-1] + part(b, i, stop=i + 1))
        return jnp.concatenate(found, axis)
    to, count = part(a, 1, 2), length // 2
    odd = solved(to * part(a, 0, 2, 2 * count), to * part(b, 0, 2, 2 * count) + part(b, 1, 2), axis)
    even = part(a, 2, 2) * lax.slice_in_dim(odd, 0, (length - 1) // 2, 1, axis) + part(b, 2, 2)
    even = jnp.concatenate([part(b, 0, stop=1), even], axis)
    shape = (*b.shape[:axis], 2 * count, *b.shape[axis + 1 :])
    pairs = jnp.stack([lax.slice_in_dim(even, 0, count, 1, axis), odd], axis + 1).reshape(shape)
    return pairs if length % 2 == 0 else jnp.concatenate([pairs, lax.slice_in_dim(even, count, None, 1, axis)], axis)


_solved = on_host(recurred, nanoseconds=15, gives=like_last)(solved)


@general(
    x=lambda g, x, out, axis, reverse: (
        conj(out)
        * shift(
            recurrence(conj(x), g, axis=axis, reverse=not reverse),
            axis=axis,
            by=-step(reverse),
        )
    ),
    jvp=lambda t_x, x, out, axis, reverse: shift(
        recurrence(x, t_x * out, axis=axis, reverse=reverse), axis=axis, by=step(reverse)
    ),
    aten=None,
)  # fmt: skip
def products_before(x, *, axis, reverse):
    """The product of all elements before each along ``axis`` (after each, if ``reverse``); 1 at the start."""
    return _shifted(lax.cumprod(widened(x), axis, reverse), axis, step(reverse), 1).astype(x.dtype)


def _on_both_sides(part, x, axis):
    """The sum of ``part`` of the products before and after each element, and of those after and before."""
    products = [products_before(x, axis=axis, reverse=reverse) for reverse in (False, True)]
    return part(*products, False) + part(*reversed(products), True)


@general(
    x=lambda g, x, axis: _on_both_sides(
        lambda own, other, reverse: conj(own) * shift(
            recurrence(conj(x), g * conj(other), axis=axis, reverse=not reverse), axis=axis, by=-step(reverse)
        ),
        x, axis,
    ),
    jvp=lambda t_x, x, axis: _on_both_sides(
        lambda own, other, reverse: other * shift(
            recurrence(x, t_x * own, axis=axis, reverse=reverse), axis=axis, by=step(reverse)
        ),
        x, axis,
    ),
    aten=None,
)  # fmt: skip
def products_beside(x, *, axis):
    """The product of all other elements along ``axis``."""
    return products_before.function(x, axis=axis, reverse=False) * products_before.function(x, axis=axis, reverse=True)


def in_type(x, dtype):
    """``x`` in the type in which a product was taken, if one was asked for."""
    return x if dtype is None or dtypes.as_dtype(x.dtype) is dtype else cast(x, dtype=dtype)


def cumprod_gradient(g, x, axis):
    """The gradient of ``cumprod``: see Note [Products without division]."""
    if x.ndim == 0 or x.shape[axis] == 1:
        return g
    return conj(products_before(x, axis=axis, reverse=False)) * passed_back(g, x, axis, False)


def cumprod_tangent(t, x, axis):
    """The tangent of ``cumprod``."""
    if x.ndim == 0 or x.shape[axis] == 1:
        return t
    return recurrence(x, t * products_before(x, axis=axis, reverse=False), axis=axis, reverse=False)


@general(
    x=lambda g, x, out, axis, dtype: cumprod_gradient(g, in_type(x, dtype), axis),
    jvp=lambda t_x, x, axis, dtype: cumprod_tangent(in_type(t_x, dtype), in_type(x, dtype), axis),
)
def cumprod(x, *, axis, dtype=None):
    """The products of all elements up to each along ``axis``; of integers in int64."""
    x = accumulated(x, dtype)
    if x.ndim == 0:
        return x
    if x.dtype == jnp.bool_:
        return lax.cummin(x.astype(jnp.int32), axis).astype(jnp.bool_)
    return lax.cumprod(widened(x), axis).astype(x.dtype)


def others(x, axis):
    """The product of all the other elements along ``axis``."""
    return 1 if x.ndim == 0 else products_beside(x, axis=axis)


def others_of_all(x):
    """The product of all the other elements."""
    flat = view(x, shape=(math.prod(x.shape),))
    return view(others(flat, 0), shape=x.shape)


def _prod(x, axis, keepdims, dtype):
    x = accumulated(x, dtype)
    if x.dtype == jnp.bool_:
        return jnp.all(x, axis=axis, keepdims=keepdims)
    wide = widened(x)
    return jnp.prod(wide, axis=axis, keepdims=keepdims, dtype=wide.dtype).astype(x.dtype)


@general(
    x=lambda g, x, out, axis, dtype: spread(g, shape=x.shape, axis=axis) * conj(others(in_type(x, dtype), axis)),
    jvp=lambda t_x, x, axis, keepdims, dtype: sum(
        in_type(t_x, dtype) * others(in_type(x, dtype), axis), axis=axis, keepdims=keepdims
    ),
    aten=".dim_int", node=1, gradient_lies=scaled,
)  # fmt: skip
def prod(x, *, axis, keepdims=False, dtype=None):
    """The product over ``axis``; of booleans and integers in int64, unless ``dtype`` says otherwise."""
    return _prod(x, axes_of(axis, x.ndim), keepdims, dtype)


@general(
    x=lambda g, x, out, dtype: broadcast_to(g, shape=x.shape) * conj(others_of_all(in_type(x, dtype))),
    jvp=lambda t_x, x, dtype: sum_all(in_type(t_x, dtype) * others_of_all(in_type(x, dtype))),
    family="prod", gradient_lies=gradient_as_input,
)  # fmt: skip
def prod_all(x, *, dtype=None):
    """The product of all elements."""
    return _prod(x, None, False, dtype)


# -- logarithms of sums ------------------------------------------------------------------------------------------------


def _log_add(a, b):
    """``log(exp(a) + exp(b))``, from the larger one."""
    top, low = jnp.where(jnp.real(a) >= jnp.real(b), a, b), jnp.where(jnp.real(a) >= jnp.real(b), b, a)
    return jnp.where(jnp.isinf(jnp.real(top)), top, top + jnp.log1p(jnp.exp(low - top)))


def weighted(g, before, after, axis, reverse):
    """The sum over a scan of ``g_j exp(before_j + after_i)``, through logarithms.

    So that neither exponential overflows by itself. The positive and the negative ``g`` are summed apart, for their
    logarithms; a complex logarithm takes any.
    """

    def part(log_g):
        return exp(logcumsumexp(log_g + before, axis=axis, reverse=reverse) + after)

    if dtypes.as_dtype(g.dtype).is_complex:
        return part(log(g))
    lowest = dtypes.finfo(dtypes.as_dtype(g.dtype)).min  # -inf would meet itself in the second derivative
    return part(where(g > 0, log(g), lowest)) - part(where(g < 0, log(-g), lowest))


@general(
    x=lambda g, x, out, axis, reverse: weighted(g, -conj(out), conj(x), axis, not reverse) if x.ndim else g,
    jvp=lambda t_x, x, out, axis, reverse: weighted(t_x, x, -out, axis, reverse) if x.ndim else t_x,
)
def logcumsumexp(x, *, axis, reverse=False):
    """The logarithms of the cumulative sums of ``exp(x)`` along ``axis``."""
    if x.ndim == 0 or x.size == 0:
        return x
    if jnp.iscomplexobj(x):
        return lax.associative_scan(_log_add, x, reverse, axis)
    return lax.cumlogsumexp(widened(x), axis, reverse).astype(x.dtype)


# -- extrema -----------------------------------------------------------------------------------------------------------


def _extrema(find, x, axis):
    """Running extrema and where they are: the last place that set, or met, the record; nan is one, and stays."""
    if x.ndim == 0:
        return x, jnp.zeros((), jnp.int64)
    values = find(x.astype(jnp.uint8) if x.dtype == jnp.bool_ else x, axis).astype(x.dtype)
    places = lax.broadcasted_iota(jnp.int32, x.shape, axis)
    records = jnp.where((x == values) | (x != x), places, 0)
    return values, lax.cummax(records, axis).astype(jnp.int64)


@general(
    x=lambda g_values, x, indices, axis: unchosen(g_values, indices, x.shape, axis),
    jvp=lambda t_x, indices, axis: (chosen(t_x, indices, axis), None),
    outputs=("values", "indices"), real=True, convention=conventions.RUNNING,
)  # fmt: skip
def cummax(x, *, axis):
    """The largest elements so far along ``axis``, and their indices (int64; the latest of equals)."""
    return _extrema(lax.cummax, x, axis)


@general(
    x=lambda g_values, x, indices, axis: unchosen(g_values, indices, x.shape, axis),
    jvp=lambda t_x, indices, axis: (chosen(t_x, indices, axis), None),
    outputs=("values", "indices"), real=True, convention=conventions.RUNNING,
)  # fmt: skip
def cummin(x, *, axis):
    """The smallest elements so far along ``axis``, and their indices (int64; the latest of equals)."""
    return _extrema(lax.cummin, x, axis)
