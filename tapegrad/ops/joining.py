"""Operators that put arrays together and take them apart; each is the other's adjoint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tapegrad._src.dispatch.many_operands import OperandLoop
from tapegrad._src.tensor.geometry import Geometry, sliced
from tapegrad._src.tensor.spec import Spec
from tapegrad.ops.formulas import underivable
from tapegrad.ops.kinds import general, linear, zeros_of
from tapegrad.ops.memory_formats import as_all_images
from tapegrad.ops.shape import Shape
from tapegrad.ops.slicing import select, slice_


def _together(arrays: Sequence[np.ndarray], axis: int) -> list[np.ndarray]:
    return [np.concatenate(arrays, axis)]


def _apart(array: np.ndarray, sizes: Iterable[int], axis: int) -> list[np.ndarray]:
    """An array in pieces of these lengths."""
    before: tuple[Any, ...] = (slice(None),) * axis
    stops = list(accumulate(sizes, initial=0))
    return [array[(*before, slice(start, stop))] for start, stop in pairwise(stops)]


def _rows(array: np.ndarray, axis: int) -> list[np.ndarray]:
    """The parts at each place of a dimension; also of no dimensions arrays, not NumPy's numbers."""
    before: tuple[Any, ...] = (slice(None),) * axis
    return [array[(*before, i, ...)] for i in range(array.shape[axis])]


def _lengths(length: int, size: int) -> list[int]:
    """The lengths of pieces of which each is ``size`` long, but perhaps the last."""
    return [min(size, length - start) for start in (range(0, length, size) if length else (0,))]


def _shape(shape: Shape, axis: int, length: int) -> Shape:
    """A shape with another length."""
    return (*shape[:axis], length, *shape[axis + 1 :])


CAT = OperandLoop(
    lambda shapes, axis: [_shape(shapes[0], axis, sum(shape[axis] for shape in shapes))],
    _together,
    lambda grads, shapes, axis: _apart(grads[0], (shape[axis] for shape in shapes), axis),
)
STACK = OperandLoop(
    lambda shapes, axis: [(*shapes[0][:axis], len(shapes), *shapes[0][axis:])],
    lambda arrays, axis: [np.stack(arrays, axis)],
    lambda grads, shapes, axis: _rows(grads[0], axis),
)
UNBIND = OperandLoop(
    lambda shapes, axis: [shapes[0][:axis] + shapes[0][axis + 1 :]] * shapes[0][axis],
    lambda arrays, axis: _rows(arrays[0], axis),
    lambda grads, shapes, axis: [np.stack(grads, axis)],
)
SPLIT = OperandLoop(
    lambda shapes, axis, size: [_shape(shapes[0], axis, one) for one in _lengths(shapes[0][axis], size)],
    lambda arrays, axis, size: _apart(arrays[0], _lengths(arrays[0].shape[axis], size), axis),
    lambda grads, shapes, axis, size: _together(grads, axis),
)
SPLIT_WITH_SIZES = OperandLoop(
    lambda shapes, axis, sizes: [_shape(shapes[0], axis, size) for size in sizes],
    lambda arrays, axis, sizes: _apart(arrays[0], sizes, axis),
    lambda grads, shapes, axis, sizes: _together(grads, axis),
)


def _part_lies(place: Geometry, x: Spec, axis: int) -> Geometry | None:
    return sliced(place, axis, 0, x.shape[axis], 1) if x.ndim == len(place.shape) else None


@linear(
    xs=lambda g, xs_shapes, xs_dtypes, i, axis: _part(g, xs_shapes, xs_dtypes[i], i, axis),
    promote="common",
    loop=CAT,
    lies=as_all_images,
    gradient_lies=_part_lies,
    uniform=True,
)
def cat(*xs, axis):
    """Arrays one after another along a dimension; arrays of shape (0,) don't count, whatever the others' shape."""
    return jnp.concatenate([x for x in xs if x.shape != (0,)] or xs[:1], axis)


def _part(g: Any, shapes: Sequence[Shape], dtype: Any, i: int, axis: int) -> Any:
    """The part of the gradient of ``cat`` that belongs to the ``i``-th array."""
    if tuple(shapes[i]) == (0,):
        return zeros_of(g, shape=(0,), dtype=dtype)
    start = sum(shape[axis] for shape in shapes[:i] if tuple(shape) != (0,))
    return slice_(g, start, axis=axis, length=shapes[i][axis], step=1)


@linear(xs=lambda g, i, axis: select(g, i, axis=axis), promote="common", loop=STACK, uniform=True)
def stack(*xs, axis):
    """Arrays of one shape side by side along a new dimension."""
    shape = xs[0].shape
    if axis == len(shape):
        return jnp.stack(xs, axis)
    # One after another they lie in memory as they do side by side; this is quicker to trace.
    return lax.concatenate(_of_one_dtype(xs), axis).reshape(*shape[:axis], len(xs), *shape[axis:])


def _of_one_dtype(xs: Sequence[Any]) -> list[Any]:
    dtype = jnp.result_type(*{x.dtype for x in xs})
    return [x if x.dtype == dtype else x.astype(dtype) for x in xs]


@linear(x=lambda gs, axis: stack(*gs, axis=axis), aten=".int", loop=UNBIND)
def unbind(x, *, axis):
    """The slices of ``x`` along a dimension, without that dimension."""
    return tuple(jnp.unstack(x, axis=axis))


@linear(x=lambda gs, axis: cat(*gs, axis=axis), aten=".Tensor", loop=SPLIT)
def split(x, *, axis, size):
    """``x`` in pieces ``size`` long, of which the last may be shorter."""
    length = x.shape[axis]
    starts = range(0, length, size) if length else (0,)
    return tuple(lax.split(x, [min(size, length - start) for start in starts], axis))


@linear(x=lambda gs, axis: cat(*gs, axis=axis), aten=".Tensor", loop=SPLIT)
def unsafe_split(x, *, axis, size):
    """``split`` into tensors of their own."""
    return split.function(x, axis=axis, size=size)


@linear(x=lambda gs, axis: cat(*gs, axis=axis), loop=SPLIT_WITH_SIZES)
def split_with_sizes(x, *, axis, sizes):
    """``x`` in pieces of these lengths."""
    return tuple(lax.split(x, sizes, axis))


@linear(x=lambda gs, axis: cat(*gs, axis=axis), loop=SPLIT_WITH_SIZES)
def unsafe_split_with_sizes(x, *, axis, sizes):
    """``split_with_sizes`` into tensors of their own."""
    return split_with_sizes.function(x, axis=axis, sizes=sizes)


@linear(xs=lambda g, xs_shapes, i: _block(g, xs_shapes, i), promote="common")
def block_diag(*xs):
    """Matrices along the diagonal of a large one, zeros elsewhere."""
    rows, columns = (sum(x.shape[axis] for x in xs) for axis in (0, 1))
    padded, row, column = [], 0, 0
    for x in xs:
        height, width = x.shape
        around = ((row, rows - row - height, 0), (column, columns - column - width, 0))
        padded.append(lax.pad(x, jnp.zeros((), x.dtype), around))
        row, column = row + height, column + width
    return sum(padded[1:], padded[0]) if padded[0].dtype != bool else jnp.any(jnp.stack(padded), 0)


def _block(g: Any, shapes: Sequence[Shape], i: int) -> Any:
    """The block of the ``i``-th matrix."""
    row, column = (sum(shape[axis] for shape in shapes[:i]) for axis in (0, 1))
    rows = slice_(g, row, axis=0, length=shapes[i][0], step=1)
    return slice_(rows, column, axis=1, length=shapes[i][1], step=1)


@general(xs=underivable("aten::_chunk_cat"), aten="_chunk_cat", node="torch::autograd::NotImplemented")
def chunk_cat(*xs, axis, num_chunks):
    """Arrays padded with zeros and cut into chunks along ``axis``; chunks of one number are flattened into a row."""
    rows = []
    for x in xs:
        length = -(-x.shape[axis] // num_chunks)
        widths = [(0, 0)] * x.ndim
        widths[axis] = (0, length * num_chunks - x.shape[axis])
        rows.append(jnp.pad(x, widths).reshape(*x.shape[:axis], num_chunks, -1))
    return jnp.concatenate(rows, axis + 1)
