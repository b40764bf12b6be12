"""Reductions of segments, pieces of a dimension that lie behind one another; as in PyTorch, derived once."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from tapegrad.ops.formulas import underivable
from tapegrad.ops.kinds import general
from tapegrad.ops.reductions import widened

NEUTRAL = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}
"""The value of an empty segment, by the name of the reduction; a mean of nothing is nan."""


def _laid_out(data: Any, axis: int) -> Any:
    """(before, along, behind) the axis."""
    return widened(data).reshape(math.prod(data.shape[:axis]), data.shape[axis], math.prod(data.shape[axis + 1 :]))


def _segments(bounds: Any, length: int) -> tuple[Any, Any, Any]:
    """For bounds (rows, segments + 1): the row and the segment of each element, and the length of each segment.

    An element that is in no segment has a number that no segment has.
    """
    place = jnp.arange(length)
    number = jnp.sum(place[:, None] >= bounds[:, None, 1:], -1)
    number = jnp.where(place < bounds[:, :1], bounds.shape[1], number)
    rows = jnp.broadcast_to(jnp.arange(bounds.shape[0])[:, None], number.shape)
    return rows, number, jnp.diff(bounds, axis=1)


def _reduced(rows: Any, number: Any, flat: Any, count: int, how: str, initial: float) -> Any:
    start = jnp.full((flat.shape[0], count, flat.shape[2]), initial, flat.dtype).at[rows, number]
    change: dict[str, Any] = {
        "sum": start.add, "mean": start.add, "max": start.max, "min": start.min, "prod": start.multiply
    }  # fmt: skip
    return change[how](flat, mode="drop")


@general(
    x=lambda g, x, bounds, out, axis, how, initial: segment_gradient(
        g, x, bounds, out, axis=axis, how=how, initial=initial
    ),
    real=True, saved={"data": "x", "reduce": "how"},
)  # fmt: skip
def segment_reduce(x, bounds, *, axis, how, initial):
    """The ``"sum"``, ``"mean"``, ``"max"``, ``"min"`` or ``"prod"`` of each segment along ``axis``.

    ``bounds`` (*dimensions before, segments + 1) is where segments begin, and the last one ends. ``initial`` takes part
    in each segment (None: nothing does).
    """
    flat = _laid_out(x, axis)
    count = bounds.shape[-1] - 1
    rows, number, lengths = _segments(bounds.reshape(flat.shape[0], count + 1), x.shape[axis])
    out = _reduced(rows, number, flat, count, how, NEUTRAL[how] if initial is None else initial)
    if how == "mean":
        empty = (lengths == 0)[:, :, None]
        out = jnp.where(empty, jnp.nan if initial is None else out, out / jnp.maximum(lengths, 1)[:, :, None])
    return out.reshape(*x.shape[:axis], count, *x.shape[axis + 1 :]).astype(x.dtype)


def _others(flat: Any, out: Any, rows: Any, number: Any, initial: float) -> Any:
    """For each element the product of the others of its segment: by division, but by counting at 0 and nan."""
    count, special = out.shape[1], (flat == 0) | jnp.isnan(flat)

    def gathered(values: Any, how: str, start: float) -> Any:
        return _reduced(rows, number, values, count, how, start)[rows, jnp.minimum(number, count - 1)]

    rest = gathered(jnp.where(special, 1, flat), "prod", initial)
    specials = gathered(special.astype(flat.dtype), "sum", 0.0)
    nans = gathered(jnp.isnan(flat).astype(flat.dtype), "sum", 0.0) - jnp.isnan(flat)
    at_special = jnp.where(specials == 1, rest, jnp.where(nans > 0, jnp.nan, 0))
    whole = out[rows, jnp.minimum(number, count - 1)]
    return jnp.where(special, at_special, whole / jnp.where(special, 1, flat))


_NO_SECOND = underivable("aten::_segment_reduce_backward")


@general(
    x=_NO_SECOND, data=_NO_SECOND, real=True, aten="_segment_reduce_backward", node="torch::autograd::NotImplemented",
)  # fmt: skip
def segment_gradient(x, data, bounds, out, *, axis, how, initial):
    """The gradient of the data, when ``x`` is that of the reductions ``out``; equal extrema share."""
    flat, given, result = (_laid_out(each, axis) for each in (data, x, out))
    count = bounds.shape[-1] - 1
    if not count:
        return jnp.zeros_like(data)
    rows, number, lengths = _segments(bounds.reshape(flat.shape[0], count + 1), data.shape[axis])
    own = jnp.minimum(number, count - 1)
    if how == "mean":
        given = given / jnp.maximum(lengths, 1)[:, :, None].astype(given.dtype)
    if how in ("max", "min"):
        here = (flat == result[rows, own]) | jnp.isnan(flat)
        shares = _reduced(rows, number, here.astype(flat.dtype), count, "sum", 0.0)
        gradient = jnp.where(here, (given / jnp.maximum(shares, 1))[rows, own], 0)
    else:
        gradient = given[rows, own]
    if how == "prod":
        gradient = gradient * _others(flat, result, rows, number, 1.0 if initial is None else initial)
    return jnp.where((number < count)[:, :, None], gradient, 0).reshape(data.shape).astype(data.dtype)
