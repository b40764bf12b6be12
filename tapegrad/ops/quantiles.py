"""Quantiles: where among sorted elements a quantile lies."""

from __future__ import annotations

import jax.numpy as jnp

from tapegrad._src.execution.data.dtypes import as_dtype
from tapegrad.ops.comparison import eq
from tapegrad.ops.kinds import cast, general, sum_to
from tapegrad.ops.selection import where

ROUNDINGS = {"lower": jnp.floor, "higher": jnp.ceil, "nearest": jnp.round}
"""The ways in which a place between two elements becomes one of them."""


def _last_place(sorted, ignore_nan):
    """The place of the last element that counts, in the last axis; None where there is none, or one that is nan."""
    nan = jnp.isnan(sorted)
    if ignore_nan:
        last = jnp.sum(~nan, -1, keepdims=True, dtype=jnp.int32) - 1
        return jnp.maximum(last, 0), last < 0
    last = jnp.full((*sorted.shape[:-1], 1), sorted.shape[-1] - 1, jnp.int32)
    return last, jnp.any(nan, -1, keepdims=True)


def _place(q, sorted, ignore_nan):
    """The place of each quantile, not whole; the last one where a nan is to be the result."""
    last, fixed = _last_place(sorted, ignore_nan)
    last = last.astype(q.dtype)
    return jnp.where(fixed, last, q * last)


@general(real=True, aten=None)
def rank(q, sorted, *, rounding, ignore_nan):
    """The places of the quantiles ``q`` in the last axis of ``sorted``, rounded: int64 of shape (..., len(q))."""
    return ROUNDINGS[rounding](_place(q, sorted, ignore_nan)).astype(jnp.int64)


@general(real=True, aten=None)
def rank_slope(q, sorted, *, ignore_nan):
    """The rate at which the place of a quantile moves with ``q``: the number of intervals, or nothing where nan is the
    result."""
    last, fixed = _last_place(sorted, ignore_nan)
    return jnp.where(fixed, 0, last).astype(q.dtype)


@general(
    q=lambda g_weights, q, sorted, ignore_nan: _moved(
        g_weights, rank_slope(q, sorted, ignore_nan=ignore_nan), tuple(q.shape)
    ),
    jvp=lambda t_q, q, sorted, weights, ignore_nan: (
        None, None,
        None if t_q is None else t_q * rank_slope(q, sorted, ignore_nan=ignore_nan) + _zero(weights),
    ),
    outputs=("below", "above", "weights"), real=True, aten=None, node="SubBackward0", profile="sub",
)  # fmt: skip
def ranks(q, sorted, *, ignore_nan):
    """The places (int64) on both sides of each quantile, and how far it is from the first to the second."""
    place = _place(q, sorted, ignore_nan)
    below = jnp.floor(place)
    return below.astype(jnp.int64), jnp.ceil(place).astype(jnp.int64), place - below


def _moved(g, slope, shape):
    """The gradient of what moves a place; where none is moved, ``g`` may be nan."""
    return sum_to(where(eq(slope, 0), 0, g * slope), shape=shape)


def _zero(like):
    """Zeros that give a sum the shape of ``like``."""
    return cast(like != like, dtype=as_dtype(like.dtype)) * 0
