"""Operators that move elements without computing: views, slices, diagonals, copies in another order, padding.

An operator and its adjoint stand together. An index or a start is an argument, not a setting: ``x[0]`` and ``x[1]``
are one kernel, and ``plain_inputs`` says that such a number is no saved value (PyTorch frees only those after a
backward).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tapegrad.execution.bits import reinterpreted
from tapegrad.execution.sizes import places_along
from tapegrad.ops.kinds import general, linear, sum_to, zeros_of
from tapegrad.ops.operator import Operator

Shape = tuple[int, ...]


# -- the same elements in another shape --------------------------------------------------------------------------------


@linear(x=lambda g, x_shape: view(g, shape=tuple(x_shape)))
def view(x, *, shape):
    """The elements of ``x``, in row-major order, in another shape."""
    return x.reshape(shape)


@linear(x=lambda g, x_shape: view(g, shape=tuple(x_shape)), aten="_unsafe_view")
def unsafe_view(x, *, shape):
    """``view`` of a fresh result, which no other tensor shares."""
    return x.reshape(shape)


@linear(x=lambda g: g)
def alias(x):
    """``x``, as a tensor of its own."""
    return x


@linear(x=lambda g: g, keeps_layout=True)
def clone(x):
    """A copy of ``x``."""
    return jnp.asarray(x)


@linear(x=lambda g, axes: permute(g, axes=inverse_permutation(axes)))
def permute(x, *, axes):
    """``x`` with its dimensions in the order ``axes``."""
    return jnp.transpose(x, axes)


def inverse_permutation(axes: Sequence[int]) -> Shape:
    """The permutation that undoes ``axes``.

    >>> inverse_permutation((2, 0, 1))
    (1, 2, 0)
    """
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


@linear(x=lambda g, axis0, axis1: transpose(g, axis0=axis0, axis1=axis1), aten=".int")
def transpose(x, *, axis0, axis1):
    """``x`` with two dimensions exchanged; of a 0-dim array, the array."""
    return jnp.swapaxes(x, axis0, axis1) if x.ndim else x


@linear(x=lambda g: t(g))
def t(x):
    """The transpose of a matrix; an array of fewer dimensions as it is."""
    return x.T


@linear(x=lambda g, x_shape: view(g, shape=tuple(x_shape)))
def squeeze(x):
    """``x`` without its dimensions of length 1."""
    return jnp.squeeze(x, tuple(axis for axis, length in enumerate(x.shape) if length == 1))


@linear(x=lambda g, x_shape: view(g, shape=tuple(x_shape)), aten=".dim", node=1, family="squeeze")
def squeeze_axis(x, *, axis):
    """``x`` without the dimension ``axis`` if that has length 1."""
    return x.reshape(without_ones(x.shape, (axis,)))


@linear(x=lambda g, x_shape: view(g, shape=tuple(x_shape)), aten=".dims", node=2, family="squeeze")
def squeeze_axes(x, *, axis):
    """``x`` without those of the dimensions ``axis`` that have length 1."""
    return x.reshape(without_ones(x.shape, axis))


def without_ones(shape: Shape, axes: Sequence[int]) -> Shape:
    """``shape`` without those of ``axes`` in which it is 1."""
    return tuple(length for axis, length in enumerate(shape) if axis not in axes or length != 1)


@linear(x=lambda g, x_shape: view(g, shape=tuple(x_shape)))
def unsqueeze(x, *, axis):
    """``x`` with a dimension of length 1 inserted before ``axis``."""
    return jnp.expand_dims(x, axis)


@linear(x=lambda g: neg_view(g), aten="_neg_view")
def neg_view(x):
    """``-x``, as a view that shows it of memory that has ``x``."""
    return -x


@linear(x=lambda g: view_as_complex(g))
def view_as_real(x):
    """The real and imaginary parts of a complex array along a new last dimension."""
    return jnp.stack([jnp.real(x), jnp.imag(x)], -1)


@linear(x=lambda g: view_as_real(g), real=True)
def view_as_complex(x):
    """The inverse of ``view_as_real``: a last dimension of length 2 as complex numbers."""
    return lax.complex(x[..., 0], x[..., 1])


@general(aten="view.dtype")
def bitcast(x, *, dtype):
    """The bytes of ``x`` read as another dtype; the last dimension changes if the sizes of the two differ."""
    old, new = np.dtype(x.dtype).itemsize, dtype.itemsize
    if old < new:
        x = x.reshape(*x.shape[:-1], x.shape[-1] * old // new, new // old)
        return reinterpreted(x, dtype.numpy)[..., 0]
    parts = reinterpreted(x[..., None], dtype.numpy)
    return parts[..., 0] if old == new else parts.reshape(*x.shape[:-1], -1)


# -- parts of an array -------------------------------------------------------------------------------------------------


@linear(
    x=lambda g, index, x_shape, axis: select_adjoint(g, index, axis=axis, length=x_shape[axis]), aten=".int",
    plain_inputs=("index",),
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
    keeps_layout=True, plain_inputs=("index",), records_integers=True,
)  # fmt: skip
def select_scatter(x, source, index, *, axis):
    """``x`` with ``source``, broadcast and cast, in place of what ``select`` gives."""
    source = as_part(source, (*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype)
    return lax.dynamic_update_index_in_dim(x, source, index, axis, allow_negative_indices=False)


def as_part(source: Any, shape: Shape, dtype: Any) -> Any:
    if jnp.iscomplexobj(source) and not jnp.issubdtype(dtype, jnp.complexfloating):
        source = jnp.real(source)
    return jnp.broadcast_to(jnp.asarray(source).astype(dtype), shape)


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
    keeps_layout=True, plain_inputs=("start",), records_integers=True,
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
    keeps_layout=True,
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
    steps = places_along(source.shape[-1])
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
    return places_along((length - size) // step + 1)[:, None] * step + places_along(size)


@linear(x=lambda g, diagonal: tril(g, diagonal=diagonal))
def tril(x, *, diagonal):
    """The lower triangles of matrices, up to a diagonal; the rest is zero."""
    return jnp.tril(x, diagonal)


@linear(x=lambda g, diagonal: triu(g, diagonal=diagonal))
def triu(x, *, diagonal):
    """The upper triangles of matrices, from a diagonal on; the rest is zero."""
    return jnp.triu(x, diagonal)


# -- the same elements in another order, or several times --------------------------------------------------------------


@linear(x=lambda g, x_shape, repeats: _fold(g, tuple(x_shape), repeats))
def repeat(x, *, repeats):
    """``x`` laid side by side, ``repeats`` times along each dimension (of which there may be new ones in front)."""
    return jnp.tile(x, repeats)


def _fold(g: Any, shape: Shape, repeats: Shape) -> Any:
    """The adjoint of ``repeat``: the copies added up."""
    lengths = (1,) * (len(repeats) - len(shape)) + shape
    blocks = tuple(part for pair in zip(repeats, lengths, strict=True) for part in pair)
    kept = tuple(part for length in lengths for part in (1, length))
    return view(sum_to(view(g, shape=blocks), shape=kept), shape=shape)


@linear(x=lambda g, axes: flip(g, axes=axes), keeps_layout=True)
def flip(x, *, axes):
    """``x`` with the order of the items reversed along some dimensions."""
    return jnp.flip(x, axes) if x.ndim else x


@linear(x=lambda g, shifts, axes: roll(g, shifts=tuple(-shift for shift in shifts), axes=axes))
def roll(x, *, shifts, axes):
    """``x`` with the items of some dimensions moved on cyclically; without ``axes``, of the whole in a row."""
    return jnp.roll(x, shifts, axes) if axes else jnp.roll(x.reshape(-1), shifts[0]).reshape(x.shape)


@linear(x=lambda g, k, axes: rot90(g, k=-k, axes=axes))
def rot90(x, *, k, axes):
    """``x`` turned ``k`` times by a right angle in the plane of two dimensions, from the first towards the second."""
    return jnp.rot90(x, k, axes)


# -- padding -----------------------------------------------------------------------------------------------------------

Widths = tuple[tuple[int, int], ...]


@linear(
    x=lambda g, widths: constant_pad(g, 0, widths=tuple((-low, -high) for low, high in widths)),
    jvp=lambda t_x, widths: constant_pad(t_x, 0, widths=widths),
    aten="constant_pad_nd",
)  # fmt: skip
def constant_pad(x, value, *, widths):
    """``x`` with ``value`` put before and after it, ``widths`` for each dimension; negative widths cut off."""
    return lax.pad(x, jnp.asarray(value).astype(x.dtype), [(*pair, 0) for pair in widths])


def _pad_operator(mode: str, dims: int, aten: str | None, **facts: Any) -> Operator:
    def by_shape(g: Any, x_shape: Shape, widths: Widths) -> Any:
        return pad_adjoint(g, mode=mode, widths=widths, shape=tuple(x_shape))

    def by_input(g: Any, x: Any, widths: Widths) -> Any:
        return by_shape(g, x.shape, widths)

    formula = by_shape if mode == "circular" else by_input  # PyTorch copies slices around

    @linear(x=formula, name=f"{mode}_pad{dims}d", aten=None if aten is None else f"{aten}{dims}d", **facts)
    def pad(x, *, widths):
        """``x`` with its own items put around it, ``widths`` for each of the last dimensions."""
        for axis, places in _pad_places(x.shape, widths, mode):
            x = jnp.take(x, places, axis)
        return x

    return pad


@linear(x=lambda g, mode, widths: PADS[mode, len(widths)](g, widths=widths), aten=None)
def pad_adjoint(x, *, mode, widths, shape):
    """What padding copied added up where it came from: the adjoint of padding an array of this ``shape``."""
    for axis, places in _pad_places(shape, widths, mode):
        zeros = jnp.zeros((*x.shape[:axis], shape[axis], *x.shape[axis + 1 :]), x.dtype)
        x = zeros.at[(slice(None),) * axis + (places,)].add(x)
    return x


def _pad_places(shape: Shape, widths: Widths, mode: str) -> list[tuple[int, np.ndarray]]:
    """For each padded dimension, which item of the array stands at each place of the padded one."""
    first = len(shape) - len(widths)
    places = []
    for axis, (low, high) in enumerate(widths, first):
        length = shape[axis]
        steps = places_along(length + low + high) - low
        if mode == "replicate":
            steps = steps.clip(0, length - 1)
        elif mode == "circular":
            first_kept, kept = max(-low, 0), length + min(low, 0) + min(high, 0)
            steps = (steps - first_kept) % max(kept, 1) + first_kept
        else:  # mirrored at the outermost items, which are not doubled
            steps = (length - 1) - abs((length - 1) - abs(steps))
        places.append((axis, steps))
    return places


PADS: dict[tuple[str, int], Operator] = {
    (mode, dims): _pad_operator(mode, dims, aten, **facts)
    for mode, aten, facts in (
        ("reflect", "reflection_pad", {}),
        ("replicate", "replication_pad", {}),
        ("circular", None, {"node": "torch::autograd::CopySlices", "profile": "_pad_circular"}),
    )
    for dims in (1, 2, 3)
}
"""The padding operator of a mode and a number of padded dimensions."""


# -- between channels and pixels ---------------------------------------------------------------------------------------


@linear(x=lambda g, factor: pixel_unshuffle(g, factor=factor))
def pixel_shuffle(x, *, factor):
    """(..., C r^2, H, W) to (..., C, H r, W r): channels become blocks of pixels."""
    *batch, channels, height, width = x.shape
    n = len(batch)
    blocks = x.reshape(*batch, channels // factor**2, factor, factor, height, width)
    order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return blocks.transpose(order).reshape(*batch, channels // factor**2, height * factor, width * factor)


@linear(x=lambda g, factor: pixel_shuffle(g, factor=factor))
def pixel_unshuffle(x, *, factor):
    """(..., C, H r, W r) to (..., C r^2, H, W): the inverse of ``pixel_shuffle``."""
    *batch, channels, height, width = x.shape
    n = len(batch)
    blocks = x.reshape(*batch, channels, height // factor, factor, width // factor, factor)
    order = (*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return blocks.transpose(order).reshape(*batch, channels * factor**2, height // factor, width // factor)


@linear(x=lambda g, x_shape, groups: channel_shuffle(g, groups=x_shape[1] // groups))
def channel_shuffle(x, *, groups):
    """(N, C, ...) with the channels of ``groups`` groups dealt out in turn."""
    n, channels, *rest = x.shape
    return jnp.swapaxes(x.reshape(n, groups, channels // groups, *rest), 1, 2).reshape(x.shape)
