"""Sampling at points of a grid, and grids of affine maps.

Note [Samples and their slopes]
A sample at a point is a sum over *taps*: the elements around the point, each times a product of one weight for each
dimension. A weight is a function of one coordinate, so that the derivative of a sample by a coordinate is a sample with
another weight there: the slope of it. ``orders`` says, for each dimension, how many times the weight is differentiated.
``grid_sample`` and its adjoint in the input, ``grid_spread``, are closed under differentiation between them: weights
are piecewise polynomials, whose slopes are polynomials too, and in the end 0.

Points have a coordinate for each dimension of space, the *last dimension first*, from -1 to 1 over the whole of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.array_functions.equal_steps import equal_steps
from tapegrad._src.execution.data.dtypes import as_dtype
from tapegrad.ops.checks import checked, expect_same_scalar_type, refuse_dtypes
from tapegrad.ops.joining import stack
from tapegrad.ops.kinds import general, linear, zeros_of
from tapegrad.ops.matmul import FULL
from tapegrad.ops.operator import Operator
from tapegrad.ops.reductions import sum, widened
from tapegrad.ops.shape import unsqueeze
from tapegrad.ops.slicing import select

# -- one dimension -----------------------------------------------------------------------------------------------------


def _place(coordinate: Any, length: int, align: bool, once: bool) -> tuple[Any, float]:
    """The place of a coordinate among ``length`` elements, and the derivative of that.

    On an element the left slope of the values is not the right one, so that the last digit decides. PyTorch's kernel
    for planes rounds ``slope * (coordinate + 1) - 0.5`` ``once``: of what is cut off, products need no rounding.
    """
    slope, moved = (length - 1) / 2 if align else length / 2, coordinate + 1
    if align:
        return moved * slope, slope
    if not once:
        return (moved * length - 1) / 2, slope
    cut = 2.0 ** (20 if moved.dtype.itemsize == 8 else 8)
    most = jnp.floor(moved * cut) / cut
    return (most * slope - 0.5) + jnp.where(most == moved, 0, moved - most) * slope, slope


def _clipped(place: Any, slope: Any, length: int) -> tuple[Any, Any]:
    """Places beyond the ends moved to them (and nan to the first), where they have no slope."""
    inside = (place > 0) & (place < length - 1)
    kept = jnp.where(place > 0, jnp.minimum(place, length - 1), 0)
    return kept, jnp.where(inside, slope, 0)


def _reflected(place: Any, slope: Any, length: int, align: bool) -> tuple[Any, Any]:
    """Places beyond the ends mirrored at them (at the outer edges of the elements there, if not ``align``)."""
    low, span = (0, length - 1) if align else (-0.5, length)
    if span == 0:
        return jnp.zeros_like(place), jnp.zeros_like(place)
    distance = jnp.abs(place - low)
    flips, rest = jnp.floor(distance / span), jnp.fmod(distance, span)
    even = jnp.fmod(flips, 2) == 0
    return jnp.where(even, rest + low, span - rest + low), slope * jnp.where((place < low) == even, -1, 1)


def _padded(place: Any, slope: Any, length: int, padding: str, align: bool) -> tuple[Any, Any]:
    if padding == "reflection":
        place, slope = _reflected(place, slope, length, align)
    return (place, slope) if padding == "zeros" else _clipped(place, slope, length)


def _position(place: Any, length: int) -> Any:
    """A whole number as an index; -1 where that is outside."""
    return jnp.where((place >= 0) & (place < length), place, -1).astype(jnp.int32)


@cache
def _weights(mode: str) -> list[np.polynomial.Polynomial]:
    """The weight of each tap, as a polynomial in how far the point lies behind the element before it.

    Bicubic: Keys' cubic convolution with a = -0.75, of the four elements around the point.
    """
    a, polynomial = -0.75, np.polynomial.Polynomial
    t = polynomial([0, 1])
    if mode == "bicubic":
        near, far = polynomial([1, 0, -(a + 3), a + 2]), polynomial([-4 * a, 8 * a, -5 * a, a])
        return [far(1 + t), near(t), near(1 - t), far(2 - t)]
    return [1 - t, t] if mode == "bilinear" else [polynomial([1])]


def _taps(
    coordinate: Any, length: int, order: int, once: bool, mode: str, padding: str, align: bool
) -> tuple[Any, Any]:
    """The index of each tap (-1: nothing) and its weight, differentiated ``order`` times by the coordinate.

    ``coordinate`` is (batch, points), the results (taps, batch, points).
    """
    place, slope = _place(coordinate, length, align, once)
    if mode != "bicubic":
        place, slope = _padded(place, slope, length, padding, align)
    base = jnp.round(place) if mode == "nearest" else jnp.floor(place)
    first = -1 if mode == "bicubic" else 0
    at = base + jnp.arange(first, first + len(_weights(mode)), dtype=base.dtype)[:, None, None]
    if mode == "bicubic":
        at, _ = _padded(at, slope, length, padding, align)
    weight = _polynomials([one.deriv(order) if order else one for one in _weights(mode)], place - base)
    return _position(at, length), weight * slope**order if order else weight


def _polynomials(polynomials: Sequence[np.polynomial.Polynomial], t: Any) -> Any:
    """The value of each polynomial: (polynomials, *shape of t)."""
    degree = max(one.degree() for one in polynomials)
    table = np.array([np.pad(one.coef, (0, degree + 1 - len(one.coef))) for one in polynomials]).astype(t.dtype)
    rows = [table[:, power].reshape(-1, *[1] * t.ndim) for power in range(degree + 1)]
    total = rows[-1] + jnp.zeros_like(t)
    for row in rows[-2::-1]:
        total = total * t + row
    return total


# -- all dimensions ----------------------------------------------------------------------------------------------------


def _samples(grid: Any, lengths: Sequence[int], orders: tuple[int, ...], settings: tuple) -> tuple[Any, Any]:
    """Flat indices (batch, taps, points), -1 for nothing, and weights of all taps, alike."""
    dims = len(lengths)
    points = grid.reshape(grid.shape[0], math.prod(grid.shape[1:-1]), dims)
    index: Any = None
    weight: Any = None
    for axis, length in enumerate(lengths):
        at, factor = _taps(points[:, :, dims - 1 - axis], length, orders[axis], dims == 2, *settings)
        if index is None:
            index, weight = at, factor
        else:
            both = (index[:, None], at[None])
            flat = jnp.where((both[0] < 0) | (both[1] < 0), -1, both[0] * length + both[1])
            count = flat.shape[0] * flat.shape[1]
            index, weight = (x.reshape(count, *at.shape[1:]) for x in (flat, weight[:, None] * factor[None]))
    return jnp.swapaxes(index, 0, 1), jnp.swapaxes(weight, 0, 1)


def _is_flat(mode: str, orders: tuple[int, ...]) -> bool:
    """Tell whether a weight was differentiated so often that nothing is left of it."""
    return max(orders) > _weights(mode)[0].degree()


def _bumped(orders: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return tuple(order + (i == axis) for i, order in enumerate(orders))


def _slopes(g: Any, x: Any, grid: Any, orders: tuple[int, ...], mode: str, padding: str, align: bool) -> Any:
    """The gradient of the points, when ``g`` is that of the samples: a slope for each coordinate."""
    along = []
    for axis in reversed(range(len(orders))):
        bumped = _bumped(orders, axis)
        if _is_flat(mode, bumped):
            along.append(zeros_of(g, shape=(g.shape[0], *g.shape[2:]), dtype=as_dtype(g.dtype)))
        else:
            slope = grid_sample(x, grid, orders=bumped, mode=mode, padding=padding, align=align)
            along.append(sum(g * slope, axis=(1,)))
    return stack(*along, axis=grid.ndim - 1)


def _tangent(t_x: Any, t_grid: Any, x: Any, grid: Any, orders: tuple[int, ...], **settings: Any) -> Any:
    parts = [] if t_x is None else [grid_sample(t_x, grid, orders=orders, **settings)]
    if t_grid is not None:
        for axis in range(len(orders)):
            step = unsqueeze(select(t_grid, len(orders) - 1 - axis, axis=grid.ndim - 1), axis=1)
            parts.append(grid_sample(x, grid, orders=_bumped(orders, axis), **settings) * step)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _check(specs: Sequence, settings: dict) -> None:
    x, grid = specs
    refuse_dtypes(f"grid_sampler_{x.ndim - 2}d_cpu{'_kernel_impl' * (x.ndim == 4)}", x,
                  bool=True, integral=True, complex=True)  # fmt: skip
    expect_same_scalar_type(x, grid)


def _declare(name: str, **facts: Any) -> Operator:
    @checked(_check)
    @general(
        x=lambda g, grid, x_shape, orders, mode, padding, align: grid_spread(
            g, grid, lengths=tuple(x_shape[2:]), orders=orders, mode=mode, padding=padding, align=align
        ),
        grid=lambda g, x, grid, orders, mode, padding, align: _slopes(g, x, grid, orders, mode, padding, align),
        jvp=lambda t_x, t_grid, x, grid, orders, mode, padding, align: _tangent(
            t_x, t_grid, x, grid, orders, mode=mode, padding=padding, align=align
        ),
        name=name,
        saved={"input": "x", "align_corners": "align"},
        real=True, again=("x", "grid"),
        **facts,
    )
    def operator(x, grid, *, orders, mode, padding, align):
        """``x`` (batch, channels, *space) at the points of ``grid`` (batch, *points, dimensions of space).

        ``mode``: ``"bilinear"``, ``"nearest"``, ``"bicubic"``; ``padding``: ``"zeros"``, ``"border"``,
        ``"reflection"``; ``align``: whether -1 and 1 mean the middle of the outer elements, or their outer edges.
        See the Note.
        """
        if _is_flat(mode, orders):
            return jnp.zeros((*x.shape[:2], *grid.shape[1:-1]), x.dtype)
        indices, weights = _samples(widened(grid), x.shape[2:], orders, (mode, padding, align))
        flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
        batch, taps, points = indices.shape
        places = jnp.maximum(indices, 0).reshape(batch, taps * points)
        found = jax.vmap(lambda plane, at: jnp.take(plane, at, axis=1, mode="clip"))(flat, places)
        found = widened(found.reshape(batch, x.shape[1], taps, points))
        found = jnp.where((indices < 0)[:, None], 0, found)
        if x.ndim == 5:
            weights = jnp.where(indices < 0, 0, weights)  # a plane gives nan for coordinates that are nan, as PyTorch's
        return jnp.sum(found * weights[:, None], 2).reshape(*x.shape[:2], *grid.shape[1:-1]).astype(x.dtype)

    return operator


grid_sample = _declare("grid_sample", aten="grid_sampler_2d", profile="grid_sampler_2d")
grid_sample3d = _declare("grid_sample3d", aten="grid_sampler_3d", family="grid_sample")


@general(
    x=lambda g, grid, orders, mode, padding, align: grid_sample(
        g, grid, orders=orders, mode=mode, padding=padding, align=align
    ),
    grid=lambda g, x, grid, orders, mode, padding, align: _slopes(x, g, grid, orders, mode, padding, align),
    jvp=lambda t_x, t_grid, x, grid, lengths, orders, mode, padding, align: _spread_tangent(
        t_x, t_grid, x, grid, orders, lengths=lengths, mode=mode, padding=padding, align=align
    ),
    real=True, aten="grid_sampler_2d_backward",
)  # fmt: skip
def grid_spread(x, grid, *, lengths, orders, mode, padding, align):
    """The adjoint of ``grid_sample``: samples ``x`` (batch, channels, *points), given back to where they were taken."""
    if _is_flat(mode, orders):
        return jnp.zeros((*x.shape[:2], *lengths), x.dtype)
    indices, weights = _samples(widened(grid), lengths, orders, (mode, padding, align))
    batch, taps, points = indices.shape
    flat = widened(x).reshape(*x.shape[:2], 1, points) * jnp.where(indices < 0, 0, weights)[:, None]
    places = jnp.where(indices < 0, math.prod(lengths), indices).reshape(batch, taps * points)
    zeros = jnp.zeros((batch, math.prod(lengths), x.shape[1]), flat.dtype)
    values = jnp.swapaxes(flat.reshape(*x.shape[:2], taps * points), 1, 2)
    total = zeros.at[jnp.arange(batch)[:, None], places].add(values, mode="drop")
    return jnp.swapaxes(total, 1, 2).reshape(*x.shape[:2], *lengths).astype(x.dtype)


def _spread_tangent(t_x: Any, t_grid: Any, x: Any, grid: Any, orders: tuple[int, ...], **settings: Any) -> Any:
    parts = [] if t_x is None else [grid_spread(t_x, grid, orders=orders, **settings)]
    if t_grid is not None:
        for axis in range(len(orders)):
            step = unsqueeze(select(t_grid, len(orders) - 1 - axis, axis=grid.ndim - 1), axis=1)
            parts.append(grid_spread(x * step, grid, orders=_bumped(orders, axis), **settings))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


# -- affine maps -------------------------------------------------------------------------------------------------------


def _base(size: Sequence[int], align: bool, dtype: Any) -> Any:
    """The points (elements of space, dimensions + 1) of the untransformed grid, in homogeneous coordinates."""
    axes = []
    for length in size:
        kind = np.float64 if dtype.itemsize == 8 else np.float32
        steps = equal_steps(-1, 1, length, kind) if length > 1 else np.zeros(1)
        axes.append(steps if align else steps * kind(length - 1) / kind(length))
    points = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(tuple(size))], -1)
    return jnp.asarray(points.reshape(math.prod(size), len(size) + 1), dtype)


@linear(
    x=lambda g, size, align: affine_grid_adjoint(g, size=size, align=align), aten="affine_grid_generator",
    profile="affine_grid_generator",
)  # fmt: skip
def affine_grid(x, *, size, align):
    """The points to which affine maps ``x`` (batch, dims, dims + 1) take those of a plane of this ``size``."""
    points = jnp.einsum("pj,bij->bpi", _base(size, align, x.dtype), x, precision=FULL)
    return points.reshape(x.shape[0], *size, len(size))


@linear(x=lambda g, size, align: affine_grid(g, size=size, align=align), aten="affine_grid_generator_backward")
def affine_grid_adjoint(x, *, size, align):
    """The adjoint of ``affine_grid``."""
    points = x.reshape(x.shape[0], math.prod(size), len(size))
    return jnp.einsum("pj,bpi->bij", _base(size, align, x.dtype), points, precision=FULL)
