"""Operators on windows: what strides and an offset name of a tensor's memory, for views whose history is made again.

Note [Windows of tensors]
A tensor of a given shape and ``x_strides`` lies in a memory of ``size`` elements from ``x_offset`` on. A window on that
memory may show elements that the tensor doesn't; their gradient goes nowhere, as in PyTorch. ``box`` and ``x_box`` say
which kind of window the window, and the tensor, are known to be (Note [Boxes] in ``execution/data/boxes.py``): in here,
the offsets are not known. A memory that the tensor fills is looked at as the tensor, another one as a row.
"""

from __future__ import annotations

import math

import jax.numpy as jnp

from tapegrad._src.caches import remembered
from tapegrad._src.dispatch.view_history import ViewOperators, view_operators
from tapegrad._src.execution.array_functions.windows import gather, put_in_place, scatter
from tapegrad._src.execution.data.boxes import NO_BOX
from tapegrad._src.execution.data.row_layout import fills, from_row, positions, row
from tapegrad._src.execution.kernels.kernel import WIDE, Kernel
from tapegrad._src.tensor.geometry import may_overlap
from tapegrad.ops.kinds import conj, linear, sum_to
from tapegrad.ops.retyping import view_as_complex, view_as_real
from tapegrad.ops.slicing import as_part


def _memory(x, strides, offset, size, box):
    """A memory with the elements of ``x`` where they lie, and zeros elsewhere; and its strides."""
    if fills(x.shape, strides, size):
        return x, strides
    return scatter(jnp.zeros(size, x.dtype), (1,), x, strides, offset, box), (1,)


def _part(memory, memory_strides, shape, strides, offset, box):
    """The part of such a memory that a tensor with these strides shows."""
    if fills(shape, strides, memory.size):
        return memory
    return gather(memory, memory_strides, shape, strides, offset, box)


def _sum_into(memory, memory_strides, x, strides, offset, box):
    """A memory of zeros in which each place gets the sum of the elements of ``x`` that lie there."""
    x = jnp.sum(x, tuple(i for i, stride in enumerate(strides) if not stride), keepdims=True)
    if box or not x.size:
        return scatter(memory, memory_strides, x, strides, offset, box)
    places = positions(x.shape, strides, offset, memory.size)
    sums = row(memory, memory_strides).at[places].add(x, mode="promise_in_bounds")
    return from_row(sums, memory.shape, memory_strides)


@linear(
    x=lambda g, offset, x_offset, strides, x_shape, x_strides, size, box, x_box: window_adjoint(
        g, offset, x_offset, strides=strides, shape=tuple(x_shape), x_strides=x_strides, size=size, box=box, x_box=x_box
    ),
    jvp=lambda t_x, offset, x_offset, shape, strides, x_strides, size, box, x_box: as_strided(
        t_x, offset, x_offset, None, shape=shape, strides=strides, x_strides=x_strides, size=size, box=box, x_box=x_box
    ),
    saved={"storage_offset": "offset", "size": "shape", "stride": "strides"}, plain_inputs=("offset", "x_offset"),
    records_integers=True,
)  # fmt: skip
def as_strided(x, offset, x_offset, memory, *, shape, strides, x_strides, size, box=NO_BOX, x_box=NO_BOX):
    """The window of this shape, strides and offset on a ``memory``: that of ``x`` alone, if it is None."""
    memory, lies = (memory, (1,)) if memory is not None else _memory(x, x_strides, x_offset, size, x_box)
    return gather(memory, lies, shape, strides, offset, box)


@linear(
    x=lambda g, offset, x_offset, x_shape, strides, x_strides, size, box, x_box: as_strided(
        g, offset, x_offset, None, shape=tuple(x_shape), strides=strides, x_strides=x_strides, size=size, box=box,
        x_box=x_box,
    ),
    aten=None, plain_inputs=("offset", "x_offset"),
)  # fmt: skip
def window_adjoint(x, offset, x_offset, *, strides, shape, x_strides, size, box=NO_BOX, x_box=NO_BOX):
    """The adjoint of ``as_strided`` of an array of this shape; of it, elements at one place share the gradient."""
    own = fills(shape, x_strides, size)
    zeros, lies = (jnp.zeros(shape, x.dtype), x_strides) if own else (jnp.zeros(size, x.dtype), (1,))
    memory = _sum_into(zeros, lies, x, strides, offset, box)
    if math.prod(shape) and may_overlap(shape, x_strides):
        ones = jnp.ones(shape, jnp.real(x).dtype)
        memory = memory / jnp.maximum(_sum_into(jnp.zeros(size, ones.dtype), (1,), ones, x_strides, x_offset, x_box), 1)
    return _part(memory, lies, shape, x_strides, x_offset, x_box)


@linear(
    x=lambda g, offset, x_offset, shape, strides, x_strides, size, box, x_box: copy_slices(
        g, 0, offset, x_offset, shape=shape, strides=strides, x_strides=x_strides, size=size, box=box, x_box=x_box
    ),
    source=lambda g, offset, x_offset, source_shape, shape, strides, x_strides, size, box, x_box: sum_to(
        as_strided(g, offset, x_offset, None, shape=shape, strides=strides, x_strides=x_strides, size=size, box=box,
                   x_box=x_box),
        shape=tuple(source_shape),
    ),
    aten=None, node="torch::autograd::CopySlices", across_devices=True, records_integers=True, wraps_numbers=True,
    uniform=True,
)  # fmt: skip
def copy_slices(x, source, offset, x_offset, *, shape, strides, x_strides, size, box=NO_BOX, x_box=NO_BOX):
    """``x`` with a window on its memory replaced by ``source``, which is broadcast and cast.

    What it keeps is freed after a backward, numbers too: PyTorch's refuses a second one, whatever it has kept.
    """
    memory, lies = _memory(x, x_strides, x_offset, size, x_box)
    memory = scatter(memory, lies, as_part(source, shape, x.dtype), strides, offset, box)
    return _part(memory, lies, tuple(x.shape), x_strides, x_offset, x_box)


@remembered("kernels")
def _reusing(x_shape, source_shape, wide, **settings):
    def write(x, source, offset):
        return copy_slices.function(x, source, offset, 0, **settings)

    return Kernel(write, name="copy_slices", wide=wide, reuse=True).overwrite


def copied_slices(holder, value, source, offset, **settings):
    """``copy_slices`` of an array that nobody uses afterwards: see ``Kernel.overwrite``."""
    if value.size == settings["size"] and put_in_place(
        value, settings["x_strides"], source, settings["shape"], settings["strides"], offset
    ):
        return value
    wide = value.dtype in WIDE or getattr(source, "dtype", value.dtype) in WIDE
    return _reusing(value.shape, getattr(source, "shape", ()), wide, **settings)(holder, value, source, offset)


view_operators.fill(ViewOperators(as_strided, copy_slices, view_as_real, view_as_complex, conj))
