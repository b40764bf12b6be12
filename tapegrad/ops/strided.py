"""Operators on windows: what strides and an offset name of a tensor's memory, for views whose history is made again.

Note [Windows of tensors]
A tensor of a given shape and ``x_strides`` lies in a memory of ``size`` elements from ``x_offset`` on. A window on that
memory may show elements that the tensor doesn't; their gradient goes nowhere, as in PyTorch.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from tapegrad.dispatch import views
from tapegrad.execution.windows import from_row, gather, positions, row, scatter
from tapegrad.ops.operator import linear, sum_to
from tapegrad.ops.shape import as_part, moving, view_as_complex, view_as_real


def _fills(x, strides, size):
    """Whether an array fills its memory, so that it can be laid there without looking at single places."""
    return x.size == size and all(stride or length == 1 for length, stride in zip(x.shape, strides, strict=True))


def _spread(x, strides, offset, size):
    """A memory with the elements of ``x`` where they lie, and zeros elsewhere."""
    if _fills(x, strides, size):
        return row(x, strides)
    return scatter(jnp.zeros(size, x.dtype), x, strides, offset)


def _gathered_sum(x, strides, offset, size):
    """A memory in which each place has the sum of the elements of ``x`` that lie there."""
    places = positions(x.shape, strides, offset, size)
    return jnp.zeros(size, x.dtype).at[places].add(x, mode="promise_in_bounds")


@moving("offset", "x_offset")
@linear(
    x=lambda g, offset, x_offset, strides, x_shape, x_strides, size: window_adjoint(
        g, offset, x_offset, strides=strides, shape=tuple(x_shape), x_strides=x_strides, size=size
    ),
    jvp=lambda t_x, offset, x_offset, shape, strides, x_strides, size: as_strided(
        t_x, offset, x_offset, None, shape=shape, strides=strides, x_strides=x_strides, size=size
    ),
    node="AsStridedBackward0",
)
def as_strided(x, offset, x_offset, memory, *, shape, strides, x_strides, size):
    """The window of this shape, strides and offset on a ``memory``: that of ``x`` alone, if it is None."""
    elements = _spread(x, x_strides, x_offset, size) if memory is None else memory
    return gather(elements, shape, strides, offset)


@moving("offset", "x_offset")
@linear(
    x=lambda g, offset, x_offset, x_shape, strides, x_strides, size: as_strided(
        g, offset, x_offset, None, shape=tuple(x_shape), strides=strides, x_strides=x_strides, size=size
    ),
)
def window_adjoint(x, offset, x_offset, *, strides, shape, x_strides, size):
    """The adjoint of ``as_strided`` of an array of this shape, which shows no element twice."""
    elements = _gathered_sum(x, strides, offset, size)
    if _fills(jax.ShapeDtypeStruct(shape, x.dtype), x_strides, size):
        return from_row(elements, shape, x_strides)
    return gather(elements, shape, x_strides, x_offset)


@moving("offset", "x_offset")
@linear(
    x=lambda g, offset, x_offset, shape, strides, x_strides, size: copy_slices(
        g, 0, offset, x_offset, shape=shape, strides=strides, x_strides=x_strides, size=size
    ),
    source=lambda g, offset, x_offset, source_shape, shape, strides, x_strides, size: sum_to(
        as_strided(g, offset, x_offset, None, shape=shape, strides=strides, x_strides=x_strides, size=size),
        shape=tuple(source_shape),
    ),
    node="torch::autograd::CopySlices",
)
def copy_slices(x, source, offset, x_offset, *, shape, strides, x_strides, size):
    """``x`` with a window on its memory replaced by ``source``, which is broadcast and cast."""
    memory = scatter(_spread(x, x_strides, x_offset, size), as_part(source, shape, x.dtype), strides, offset)
    fills = _fills(x, x_strides, size)
    return from_row(memory, x.shape, x_strides) if fills else gather(memory, x.shape, x_strides, x_offset)


copy_slices.wraps_numbers, copy_slices.plain_inputs = True, frozenset()
"""What it keeps is freed after a backward, numbers too: PyTorch's refuses a second one, whatever it has kept."""

views.operators.update(
    as_strided=as_strided, copy_slices=copy_slices, view_as_real=view_as_real, view_as_complex=view_as_complex
)
