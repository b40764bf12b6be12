"""Parts of an array that need no index array: slices, diagonals, windows, triangles; and their adjoints."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tapegrad._src.execution.data.sizes import counting_along
from tapegrad._src.tensor.geometry import selected, sliced
from tapegrad.ops.kinds import linear, retyped, sum_to, zeros_of
from tapegrad.ops.memory_formats import as_input, gradient_kept
from tapegrad.ops.shape import Shape


@linear(
    x=lambda g, index, x_shape, axis: select_adjoint(g, index, axis=axis, length=x_shape[axis]), aten=".int",
    plain_inputs=("index",), uniform=True,
)  # fmt: skip
def select(x, index, *, axis):
    """The slice of ``x`` at one ``index`` (a number in range, not negative) of a dimension, without the dimension."""
    return lax.dynamic_index_in_dim(x, index, axis, keepdims=False, allow_negative_indices=False)


@linear(x=lambda g, index, axis: select(g, index, axis=axis), aten="select_backward", plain_inputs=("index",))
def select_adjoint(x, index, *, axis, length):
    """Zeros, ``length`` long along a new dimension ``axis``, with ``x`` at ``index``: the adjoint of ``select``."""
    zeros = jnp.zeros((*x.shape[:axis], length, *x.shape[axis:]), x.dtype)
    return lax.dynamic_update_index_in_dim(zeros, x, index, axis, allow_negative_indices=False)


@linear(
    x=lambda g, index, axis: select_scatter(g, 0, index, axis=axis),
    source=lambda g, index, source_shape, axis: sum_to(select(g, index, axis=axis), shape=tuple(source_shape)),
    lies=as_input, plain_inputs=("index",), records_integers=True,
    gradient_lies={"x": gradient_kept, "source": lambda place, x, axis: selected(place, axis, 0)},
)  # fmt: skip
def select_scatter(x, source, index, *, axis):
    """``x`` with ``source``, broadcast and cast, in place of what ``select`` gives."""
    source = as_part(source, (*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype)
    return lax.dynamic_update_index_in_dim(x, source, index, axis, allow_negative_indices=False)


def as_part(source: Any, shape: Shape, dtype: Any) -> Any:
    return jnp.broadcast_to(retyped(jnp.asarray(source), dtype), shape)


@linear(
    x=lambda g, start, x_shape, axis, step: slice_adjoint(g, start, axis=axis, step=step, length=x_shape[axis]),
    aten=".Tensor", plain_inputs=("start",),
)  # fmt: skip
def slice_(x, start, *, axis, length, step):
    """``length`` items of a dimension from ``start`` on, every ``step``-th; all in range, none negative."""
    if length == 0 or x.shape[axis] == length:
        return lax.slice_in_dim(x, 0, length, axis=axis)
    piece = lax.dynamic_slice_in_dim(x, start, (length - 1) * step + 1, axis, allow_negative_indices=False)
    return piece if step == 1 else lax.slice_in_dim(piece, 0, None, step, axis)


@linear(
    x=lambda g, start, x_shape, axis, step: slice_(g, start, axis=axis, length=x_shape[axis], step=step),
    aten="slice_backward", plain_inputs=("start",),
)  # fmt: skip
def slice_adjoint(x, start, *, axis, step, length):
    """Zeros, ``length`` long along ``axis``, with ``x`` where ``slice`` took it from: the adjoint of ``slice``."""
    if x.shape[axis] == length:
        return x
    zeros = jnp.zeros((*x.shape[:axis], length, *x.shape[axis + 1 :]), x.dtype)
    if x.shape[axis] == 0:
        return zeros
    spread = lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, (step - 1) * (axis == other)) for other in range(x.ndim)])
    return lax.dynamic_update_slice_in_dim(zeros, spread, start, axis, allow_negative_indices=False)


@linear(
    x=lambda g, start, axis, length, step: slice_scatter(g, 0, start, axis=axis, length=length, step=step),
    source=lambda g, start, source_shape, axis, length, step: sum_to(
        slice_(g, start, axis=axis, length=length, step=step), shape=tuple(source_shape)
    ),
    lies=as_input, plain_inputs=("start",), records_integers=True,
    gradient_lies={
        "x": gradient_kept, "source": lambda place, x, axis, length, step: sliced(place, axis, 0, length, step),
    },
)  # fmt: skip
def slice_scatter(x, source, start, *, axis, length, step):
    """``x`` with ``source``, broadcast and cast, in place of the items that ``slice`` gives."""
    if length == 0:
        return x
    source = as_part(source, (*x.shape[:axis], length, *x.shape[axis + 1 :]), x.dtype)
    if step == 1:
        return lax.dynamic_update_slice_in_dim(x, source, start, axis, allow_negative_indices=False)
    places = start + step * jnp.arange(length, dtype="int32")
    return x.at[(slice(None),) * axis + (places,)].set(source)


@linear(
    x=lambda g, x_shape, offset, axis1, axis2: diagonal_adjoint(
        g, offset=offset, axis1=axis1, axis2=axis2, shape=tuple(x_shape)
    )
)
def diagonal(x, *, offset, axis1, axis2):
    """A diagonal of the matrices that two dimensions make, as the last dimension."""
    return jnp.diagonal(x, offset, axis1, axis2)


@linear(
    x=lambda g, x_shape, offset: diagonal_adjoint(g, offset=offset, axis1=0, axis2=1, shape=tuple(x_shape)),
    node="DiagonalBackward0_copy",
)
def diagonal_copy(x, *, offset):
    """A diagonal of a matrix, as a fresh array."""
    return jnp.diagonal(x, offset)


@linear(
    x=lambda g, offset, axis1, axis2: diagonal(g, offset=offset, axis1=axis1, axis2=axis2), aten="diagonal_backward",
)  # fmt: skip
def diagonal_adjoint(x, *, offset, axis1, axis2, shape):
    """Zeros with ``x`` on a diagonal: the adjoint of ``diagonal``."""
    return _set_diagonal(jnp.zeros(shape, x.dtype), x, offset, axis1, axis2)


@linear(
    x=lambda g, source_shape, source_dtype, offset, axis1, axis2: diagonal_scatter(
        g, zeros_of(g, shape=tuple(source_shape), dtype=source_dtype), offset=offset, axis1=axis1, axis2=axis2
    ),
    source=lambda g, offset, axis1, axis2: diagonal(g, offset=offset, axis1=axis1, axis2=axis2),
    lies=as_input, gradient_lies={"x": gradient_kept},
)  # fmt: skip
def diagonal_scatter(x, source, *, offset, axis1, axis2):
    """``x`` with ``source`` in place of a diagonal."""
    return _set_diagonal(x, source, offset, axis1, axis2)


@linear(x=lambda g, offset, axis1, axis2: diagonal(g, offset=offset, axis1=axis1, axis2=axis2))
def diag_embed(x, *, offset, axis1, axis2):
    """Square matrices in dimensions ``axis1`` and ``axis2``, with the last dimension of ``x`` on a diagonal."""
    size = x.shape[-1] + abs(offset)
    shape = list(x.shape[:-1])
    for axis in sorted((axis1, axis2)):
        shape.insert(axis, size)
    return _set_diagonal(jnp.zeros(shape, x.dtype), x, offset, axis1, axis2)


def _set_diagonal(x: Any, source: Any, offset: int, axis1: int, axis2: int) -> Any:
    steps = counting_along(source.shape[-1])
    matrices = jnp.moveaxis(x, (axis1, axis2), (-2, -1))
    matrices = matrices.at[..., steps + max(-offset, 0), steps + max(offset, 0)].set(source)
    return jnp.moveaxis(matrices, (-2, -1), (axis1, axis2))


@linear(
    x=lambda g, x_shape, axis, size, step: unfold_adjoint(
        g, axis=axis, size=size, step=step, length=_length(x_shape, axis)
    ),
)
def unfold(x, *, axis, size, step):
    """Windows of ``size`` items of a dimension, ``step`` apart; a window's items are the last dimension."""
    if x.ndim == 0:
        return jnp.broadcast_to(x, (1,))[:size]
    places = _windows(x.shape[axis], size, step)
    return jnp.moveaxis(jnp.take(x, places, axis), axis + 1, -1)


@linear(
    x=lambda g, axis, size, step: unfold(g, axis=axis, size=size, step=step), aten="unfold_backward",
)  # fmt: skip
def unfold_adjoint(x, *, axis, size, step, length):
    """Windows added up where they came from: the adjoint of ``unfold`` of a dimension of this ``length``."""
    if length is None:
        return jnp.sum(x)
    windows = jnp.moveaxis(x, -1, axis + 1)
    zeros = jnp.zeros((*x.shape[:axis], length, *x.shape[axis + 1 : -1]), x.dtype)
    return zeros.at[(slice(None),) * axis + (_windows(length, size, step),)].add(windows)


def _length(shape: Shape, axis: int) -> int | None:
    return shape[axis] if shape else None


def _windows(length: int, size: int, step: int) -> np.ndarray:
    return counting_along((length - size) // step + 1)[:, None] * step + counting_along(size)


@linear(x=lambda g, diagonal: tril(g, diagonal=diagonal))
def tril(x, *, diagonal):
    """The lower triangles of matrices, up to a diagonal; the rest is zero."""
    return jnp.tril(x, diagonal)


@linear(x=lambda g, diagonal: triu(g, diagonal=diagonal))
def triu(x, *, diagonal):
    """The upper triangles of matrices, from a diagonal on; the rest is zero."""
    return jnp.triu(x, diagonal)
