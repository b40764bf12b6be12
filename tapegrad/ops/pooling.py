"""Max pooling: the greatest element of each window, and where it was.

The forward operator finds the places; its gradient is scattered to them, and a tangent gathered from them, by two
operators that are adjoint to each other. Average pooling is in ``resampling.py``, whose windows are used here too.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tapegrad._src.caches import tabulated
from tapegrad._src.execution.data.sizes import at_most
from tapegrad._src.execution.numpy_backend.forms import like_last, on_host
from tapegrad.ops.kinds import general, linear
from tapegrad.ops.memory_formats import IMAGES
from tapegrad.ops.operator import Operator
from tapegrad.ops.resampling import Sampling, library, on_axis, refuse_nothing, taken, tapped, taps


def _flat(x: Any, dims: int) -> Any:
    """``x`` with its last ``dims`` dimensions made one, and those before made one."""
    return x.reshape(math.prod(x.shape[: x.ndim - dims]), math.prod(x.shape[x.ndim - dims :]))


@linear(x=lambda g, indices, lengths: plane_gather(g, indices, dims=len(lengths)), aten="max_unpool2d")
def plane_scatter(x, indices, *, lengths):
    """Elements added, in an array of zeros whose last dimensions have these ``lengths``, at flat indices into them."""
    dims = len(lengths)
    flat, places = _flat(x, dims), _flat(indices, dims)
    rows = jnp.arange(flat.shape[0], dtype=places.dtype)[:, None]
    zeros = jnp.zeros((flat.shape[0], math.prod(lengths)), x.dtype)
    return zeros.at[rows, places].add(flat, mode="drop").reshape(*x.shape[: x.ndim - dims], *lengths)


@linear(
    x=lambda g, indices, lengths, samplings: plane_gather(g, indices, dims=len(lengths)), aten=None,
    node="MaxUnpool2DBackward0", profile="max_pool2d_with_indices_backward", indifferent=True,
)  # fmt: skip
def window_scatter(x, indices, *, lengths, samplings):
    """``plane_scatter`` where each element lies in one window at most, and each window has one index.

    So every element looks whether the index of its window is its own, and nothing is scattered; but few by NumPy.
    """
    dims = len(lengths)

    def looked_at(x: Any, indices: Any) -> Any:
        for axis, (sampling, length) in enumerate(zip(samplings, lengths, strict=True), x.ndim - dims):
            x, indices = (_each_window(values, axis, sampling, length) for values in (x, indices))
        own = jnp.arange(math.prod(lengths), dtype=indices.dtype).reshape(lengths)
        return jnp.where(indices == own, x, jnp.zeros((), x.dtype))

    def put(x: Any, indices: Any) -> Any:
        flat, places = _flat(x, dims), _flat(indices, dims)
        rows = jnp.arange(flat.shape[0], dtype=places.dtype)[:, None]
        planes = jnp.zeros((flat.shape[0], math.prod(lengths)), x.dtype)
        planes = planes.at[rows, places].set(flat, mode="promise_in_bounds", unique_indices=True)
        return planes.reshape(*x.shape[: x.ndim - dims], *lengths)

    if not all(isinstance(length, int) for length in (*x.shape, *lengths)):
        return _placed(x, indices, lengths=lengths)
    few = at_most(x.size, FEW_PLACED) and bool(x.size)
    return lax.platform_dependent(x, indices, host=put, default=looked_at) if few else looked_at(x, indices)


def _put(x: np.ndarray, indices: np.ndarray, lengths: tuple[int, ...]) -> np.ndarray:
    outer = x.shape[: x.ndim - len(lengths)]
    planes, count = np.zeros((*outer, *lengths), x.dtype), math.prod(outer)
    if planes.size:
        planes.reshape(count, -1)[_column(count), indices.reshape(count, -1)] = x.reshape(count, -1)
    return planes


@tabulated(256)
def _column(count: int) -> np.ndarray:
    return np.arange(count)[:, None]


def _as_planes(x: Any, indices: Any, lengths: tuple[Any, ...]) -> tuple[Any, Any]:
    return (*x.shape[: x.ndim - len(lengths)], *lengths), x.dtype


@on_host(_put, nanoseconds=4.0, gives=_as_planes)
def _placed(x: Any, indices: Any, *, lengths: tuple[int, ...]) -> Any:
    """Elements put at their indices into planes of zeros."""
    return plane_scatter.function(x, indices, lengths=lengths)


def _each_window(values: Any, axis: int, sampling: Sampling, length: int) -> Any:
    """For each of ``length`` elements what its window has, and -1 where there is none."""
    repeated = jnp.repeat(values, sampling.stride, axis)
    behind = length + sampling.low - repeated.shape[axis]
    padding = [(-sampling.low, behind, 0) if i == axis else (0, 0, 0) for i in range(values.ndim)]
    return lax.pad(repeated, jnp.asarray(-1, values.dtype), padding)


def _apart(samplings: tuple[Sampling, ...]) -> bool:
    """Tell whether no element lies in two windows."""
    return all(s.kind == "window" and s.stride > s.dilation * (s.kernel - 1) for s in samplings)


def _to_places(g_out: Any, x: Any, indices: Any, samplings: tuple[Sampling, ...]) -> Any:
    """The gradient of max pooling: what each window is given, at its index."""
    lengths = tuple(x.shape[x.ndim - len(samplings) :])
    if samplings[-1].kind == "adaptive":
        refuse_nothing(f"adaptive_max_pool{max(len(samplings), 2)}d", g_out)
    if _apart(samplings):
        return window_scatter(g_out, indices, lengths=lengths, samplings=samplings)
    return plane_scatter(g_out, indices, lengths=lengths)


@linear(
    x=lambda g, indices, x_shape, dims: plane_scatter(g, indices, lengths=tuple(x_shape[len(x_shape) - dims :])),
    aten=None, node="MaxPoolBackwardBackward0", profile="max_pool2d_backward",
)  # fmt: skip
def plane_gather(x, indices, *, dims):
    """The elements at flat indices into the last ``dims`` dimensions of ``x``."""
    return jnp.take_along_axis(_flat(x, dims), _flat(indices, dims), -1, mode="clip").reshape(indices.shape)


def _lowest(dtype: Any) -> Any:
    return -jnp.inf if jnp.issubdtype(dtype, jnp.inexact) else jnp.iinfo(dtype).min


def _greatest(x: Any, axis: int, sampling: Sampling, places: Any) -> tuple[Any, Any, Any]:
    """The greatest along one axis in each window, the position of each, and what stands in ``places`` there.

    ``places`` may be None. The first of equals wins, and the last nan. Padding never does: where nothing is above the
    lowest number there is, the position is that of the window's first element.
    """
    positions, _ = taps(sampling, x.shape[axis])
    lowest = _lowest(x.dtype)
    if not positions.size:
        nothing = (*x.shape[:axis], sampling.size, *x.shape[axis + 1 :])
        position = jnp.zeros(nothing, jnp.int32)
        return jnp.zeros(nothing, x.dtype), position, None if places is None else position
    first = library(positions).take_along_axis(positions, (positions >= 0).argmax(0)[None], 0)[0]
    shape = (*x.shape[:axis], sampling.size, *x.shape[axis + 1 :])
    whole = not sampling.low  # no window begins in the padding: its first element is the best so far
    best = tapped(x, axis, sampling, 0, lowest) if whole else jnp.full(shape, lowest, x.dtype)
    position = jnp.broadcast_to(on_axis(first.astype(np.int32), axis, x.ndim), shape)
    carried = places
    if places is not None:
        carried = tapped(places, axis, sampling, 0, 0) if whole else taken(places, axis, first, 0)
    for tap, row in enumerate(positions[whole:], whole):
        value = tapped(x, axis, sampling, tap, lowest)
        wins = (value > best) | (value != value)
        best = jnp.where(wins, value, best)
        position = jnp.where(wins, on_axis(row.astype(np.int32), axis, x.ndim), position)
        if places is not None:
            carried = jnp.where(wins, tapped(places, axis, sampling, tap, 0), carried)
    return best, position, carried


def _max_pool(x: Any, samplings: tuple[Sampling, ...]) -> tuple[Any, Any]:
    """Values and flat indices: one axis after the other, the last first."""
    if _are_tiles(x.shape, samplings):
        return _max_of_tiles(x, *samplings)
    lengths = x.shape[x.ndim - len(samplings) :]
    best, flat = x, None
    for i in reversed(range(len(samplings))):
        best, position, flat = _greatest(best, x.ndim - len(samplings) + i, samplings[i], flat)
        flat = position if flat is None else position * math.prod(lengths[i + 1 :]) + flat
    return best, _found_once(flat)


FEW_PLACED = 1 << 12
"""So many elements, at most, NumPy puts to their places in less time than XLA looks."""

FEW = 9
"""Tiles of so many elements, at most, are compared element by element."""


def _are_tiles(shape: tuple[int, ...], samplings: tuple[Sampling, ...]) -> bool:
    """Tell whether small windows lie side by side and fill planes."""
    lie = [(s.kind, s.low, s.dilation, s.stride, s.size * s.stride) for s in samplings]
    fill = [("window", 0, 1, s.kernel, length) for s, length in zip(samplings, shape[-len(samplings) :], strict=True)]
    return lie == fill and len(lie) == 2 and math.prod(s.kernel for s in samplings) <= FEW


def _max_of_tiles(x: Any, rows: Sampling, columns: Sampling) -> tuple[Any, Any]:
    """``_max_pool`` of tiles: all elements of a tile are compared in their order, planes and rows of tiles as one axis.

    Where rows are short, XLA takes a sixth of the time. NumPy compares all rows of tiles at once.
    """
    (*outer, _, width), tiles = x.shape, (rows.size, columns.size)
    each = x.reshape(math.prod(outer) * rows.size, rows.kernel, columns.size, columns.kernel)

    def one_by_one(each: Any) -> tuple[Any, Any]:
        places = np.arange(rows.kernel * width, dtype=np.int32).reshape(rows.kernel, width)
        lines = [
            reduce(_greater, [(each[:, row, :, column], places[row, column]) for column in range(columns.kernel)])
            for row in range(rows.kernel)
        ]
        best, place = reduce(_greater, lines)
        return best, jnp.broadcast_to(place, best.shape)

    def together(each: Any) -> tuple[Any, Any]:
        best, place = reduce(_greater, [(each[..., column], np.int32(column)) for column in range(columns.kernel)])
        at = jnp.broadcast_to(place, best.shape)
        number = np.int32 if isinstance(width, int) else jnp.int32
        below = [(best[:, row], at[:, row] + number(row * width)) for row in range(1, rows.kernel)]
        return reduce(_greater, below, (best[:, 0], at[:, 0]))

    if not all(isinstance(length, int) for length in x.shape):  # see Note [Shape classes]: it is the host's
        best, place = together(each)
        flat = _in_planes(place.reshape(*outer, *tiles), kernel=(rows.kernel, columns.kernel))
        return best.reshape(*outer, *tiles), flat
    best, place = lax.platform_dependent(each, host=together, default=one_by_one)
    flat = place.reshape(*outer, *tiles) + _corners(*tiles, rows.kernel, columns.kernel)
    return best.reshape(*outer, *tiles), _found_once(flat)


@tabulated(256)
def _corners(rows: int, columns: int, height: int, width: int) -> np.ndarray:
    """The place in a plane of the first element of each tile; int32."""
    return (np.arange(rows)[:, None] * (height * columns * width) + np.arange(columns) * width).astype(np.int32)


def _moved(place: np.ndarray, kernel: tuple[int, int]) -> np.ndarray:
    return place + _corners(*place.shape[-2:], *kernel)


@on_host(_moved, smooth=False, nanoseconds=1.0, gives=like_last)
def _in_planes(place: Any, *, kernel: tuple[int, int]) -> Any:
    """Places in tiles as those in planes."""
    return place + _corners(*place.shape[-2:], *kernel)


def _greater(before: tuple[Any, Any], after: tuple[Any, Any]) -> tuple[Any, Any]:
    """Of two values with their places the greater one: the first of equals, the last nan."""
    wins = (after[0] > before[0]) | (after[0] != after[0])
    return jnp.where(wins, after[0], before[0]), jnp.where(wins, after[1], before[1])


def _found_once(flat: Any) -> Any:
    """Indices that XLA does not look for again wherever they are read.

    The gradient reads each several times, and to find it is to read all that the window's elements were computed from.
    On CPUs XLA knows no barrier against that but a branch that it can't foresee.
    """
    return _kept(flat) if flat.size else flat


def as_it_is(flat: np.ndarray) -> np.ndarray:
    """The result that NumPy has found once: it doesn't look again."""
    return flat


@on_host(as_it_is, smooth=False, nanoseconds=10)
def _kept(flat: Any) -> Any:
    return lax.platform_dependent(flat, cpu=_behind_a_branch, default=lax.optimization_barrier)


def _behind_a_branch(flat: Any) -> Any:
    return lax.cond(flat[(0,) * flat.ndim] >= 0, lambda x: x, lambda x: -x, flat)


def _declare(name: str, aten: str = "", **facts: Any) -> Operator:
    @general(
        x=_to_places,
        jvp=lambda t_x, indices, samplings: (plane_gather(t_x, indices, dims=len(samplings)), None),
        outputs=("out", "indices"),
        name=name,
        aten=aten,
        real=True,
        again="zeros",
        indifferent=True,
        **facts,
    )
    def operator(x, *, samplings):
        """The greatest of each window along the last dimensions, and its flat index in them, of int32.

        The first of equals counts; a nan does always.
        """
        return _max_pool(x, samplings)

    return operator


MAXIMA = {
    1: _declare("max_pool1d", "max_pool2d_with_indices"),
    2: _declare("max_pool2d", "max_pool2d_with_indices", **IMAGES),
    3: _declare("max_pool3d", "max_pool3d_with_indices", **IMAGES),
}
"""Max pooling, by the number of dimensions of space; lines, where somebody asks for more than the values, as planes."""

ADAPTIVE_MAXIMA = {
    2: _declare("adaptive_max_pool2d", **IMAGES),
    3: _declare("adaptive_max_pool3d"),
}
