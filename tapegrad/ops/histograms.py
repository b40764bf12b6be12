"""Histograms: how many elements, or how much of their weights, lie between edges.

An interval contains its lower edge, and the last one its upper edge too. Nothing of this is differentiable: PyTorch
records it, and refuses to go back.
"""

from __future__ import annotations

import math

import jax.numpy as jnp

from tapegrad._src.execution.tiers.host_trace import staged
from tapegrad.ops.formulas import underivable
from tapegrad.ops.kinds import general

_NONE, _NO_EDGES = underivable("aten::histogram"), underivable("aten::_histogramdd_bin_edges")
_NONE_IN_BOXES = underivable("aten::_histogramdd_from_bin_cts")
_NONE_BETWEEN = underivable("aten::_histogramdd_from_bin_tensors")


def spaced(low, high, count):
    """``count + 1`` edges at equal distances: from the lower end in the lower half, from the upper one in the other."""
    step, places = (high - low) / count, jnp.arange(count + 1)
    below = low + step * places.astype(low.dtype)
    above = high - step * (count - places).astype(low.dtype)
    return jnp.where(places < (count + 1) // 2, below, above)


@general(aten=None)
def extent(x):
    """The least and the largest number along the first axis, nan if there is one; 0 and 1 of none."""
    if x.shape[0] == 0:
        return jnp.stack([jnp.zeros(x.shape[1:], x.dtype), jnp.ones(x.shape[1:], x.dtype)])
    return jnp.stack([jnp.min(x, 0), jnp.max(x, 0)])


def _interval(x, edges):
    """The number of the interval that each element lies in, and whether it lies in any."""
    count = edges.shape[0] - 1
    place = staged(jnp.searchsorted)(edges, x, side="right") - 1
    place = jnp.where(x == edges[-1], count - 1, place)
    return place, (x >= edges[0]) & (x <= edges[-1])


def counted(points, weight, edges, density):
    """The histogram of ``points``, of shape (number, dimensions): a sum of weights for each box between edges."""
    if not edges:
        return jnp.zeros((), points.dtype)
    shape = tuple(edge.shape[0] - 1 for edge in edges)
    places, inside = [], jnp.ones(points.shape[:1], bool)
    for axis, edge in enumerate(edges):
        place, within = _interval(points[:, axis], edge)
        places.append(place)
        inside &= within
    zeros = jnp.zeros(shape, points.dtype)
    amounts = jnp.where(inside, 1 if weight is None else weight.reshape(-1), 0).astype(points.dtype)
    result = zeros.at[tuple(jnp.clip(p, 0, n - 1) for p, n in zip(places, shape, strict=True))].add(amounts)
    return _dense(result, edges) if density else result


def _dense(result, edges):
    """Amounts as a share of all, by the size of their boxes."""
    result = result / jnp.sum(result)
    for axis, edge in enumerate(edges):
        widths = edge[1:] - edge[:-1]
        result = result / widths.reshape((-1,) + (1,) * (len(edges) - axis - 1))
    return result


def _edged(extents, bins):
    """Edges at equal distances between two ends for each dimension; equal ends are moved apart by half."""
    low, high = extents
    same = low == high
    low, high = jnp.where(same, low - 0.5, low), jnp.where(same, high + 0.5, high)
    return [spaced(low[axis], high[axis], count) for axis, count in enumerate(bins)]


@general(
    x=_NONE, weight=_NONE, outputs=("hist", "bin_edges"), real=True, aten=".bins_tensor",
    node="torch::autograd::NotImplemented",
)  # fmt: skip
def histogram(x, extents, weight, *, bins, density):
    """The histogram of all elements in ``bins`` equal intervals between two ends (of shape (2, 1)), and its edges."""
    edges = _edged(extents, (bins,))
    return counted(x.reshape(-1, 1), weight, edges, density), edges[0]


@general(
    x=_NONE, edges=_NONE, weight=_NONE, outputs=("hist", "bin_edges"), real=True, aten=".bin_ct",
    node="torch::autograd::NotImplemented", family="histogram",
)  # fmt: skip
def histogram_between(x, edges, weight, *, density):
    """The histogram of all elements between edges, in ascending order; and these."""
    return counted(x.reshape(-1, 1), weight, [edges], density), edges


def _points(x):
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


@general(x=_NONE_IN_BOXES, weight=_NONE_IN_BOXES, node="torch::autograd::NotImplemented", real=True)
def histogramdd(x, extents, weight, *, bins, density):
    """The histogram of points (the last dimension of ``x``) in boxes between two ends (of shape (2, dimensions))."""
    return counted(_points(x), weight, _edged(extents, bins), density)


@general(
    x=_NO_EDGES, weight=_NO_EDGES, real=True, aten="_histogramdd_bin_edges", node="torch::autograd::NotImplemented",
)  # fmt: skip
def histogramdd_edges(x, extents, weight, *, bins):
    """The edges along each dimension; ``x`` and ``weight`` are only recorded."""
    return tuple(_edged(extents, bins))


@general(
    x=_NONE_BETWEEN, weight=_NONE_BETWEEN, edges=_NONE_BETWEEN, real=True, aten="_histogramdd_from_bin_cts",
    node="torch::autograd::NotImplemented",
)  # fmt: skip
def histogramdd_between(x, weight, *edges, density):
    """The histogram of points (the last dimension of ``x``) in boxes between edges, in ascending order."""
    return counted(_points(x), weight, list(edges), density)
