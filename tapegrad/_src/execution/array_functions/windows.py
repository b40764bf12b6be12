"""Windows on a value: reading and writing the elements that strides and an offset name.

The value of a storage is an array of some shape whose elements lie in memory in the order that its strides say. These
kernels see it as that memory, one row of elements, in which a window names some.

Note [Memory of another dtype]
A window may show memory of another dtype: the real part of complex numbers, or ``view(dtype)``. Its shape, strides and
offset count elements of its own dtype. Where that has a size by which all its strides can be divided, elements of the
memory are read and taken apart; where it is larger, each of its elements is read as several and put together; else the
whole row is taken apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from tapegrad._src.caches import tabulated
from tapegrad._src.execution.array_functions.bits import reinterpreted
from tapegrad._src.execution.data.boxes import box_form, divided, read_box, write_box
from tapegrad._src.execution.data.opaque import Meta
from tapegrad._src.execution.data.row_layout import Ints, from_row, memory_lengths, positions, row
from tapegrad._src.execution.kernels.kernel import WIDE, Kernel, dispatched, is_here, kernel_for
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.execution.tiers.xla_copies import LARGE, forget_xla_copy
from tapegrad._src.tape.modes import thread

CONJUGATED, NEGATED = 1, 2
"""Lenses, which may be added: a window shows the conjugates, or the negatives, of what is in memory."""


# -- of the memory's dtype ---------------------------------------------------------------------------------------------


def gather(value: Any, value_strides: Ints, shape: Ints, strides: Ints, offset: Any, box: str) -> Any:
    """The window on a memory; ``box`` says which kind it is known to be."""
    if 0 in shape:
        return jnp.zeros(shape, value.dtype)
    if box:
        return read_box(value, value_strides, shape, strides, offset, box)
    memory = row(value, value_strides)
    return memory.at[positions(shape, strides, offset, memory.size)].get(mode="promise_in_bounds")


def scatter(value: Any, value_strides: Ints, window: Any, strides: Ints, offset: Any, box: str) -> Any:
    """The memory with the elements of the window replaced; ``box`` says which kind it is known to be."""
    if 0 in window.shape:
        return value
    if box:
        return write_box(value, value_strides, window, strides, offset, box)
    memory = row(value, value_strides)
    memory = memory.at[positions(window.shape, strides, offset, memory.size)].set(window, mode="promise_in_bounds")
    return from_row(memory, value.shape, value_strides)


# -- windows -----------------------------------------------------------------------------------------------------------


class Window(NamedTuple):
    """A window on a memory of some dtype, apart from its offset.

    Attributes:
        shape, strides: of the window, in elements of ``dtype``.
        memory: the NumPy dtype of the memory.
        dtype: the NumPy dtype in which the window shows it.
        view_bits: how it shows it: the sum of ``CONJUGATED`` and ``NEGATED``, or 0.
    """

    shape: Ints
    strides: Ints
    memory: np.dtype
    dtype: np.dtype
    view_bits: int = 0

    @property
    def ratio(self) -> tuple[int, int]:
        """The number of elements of the memory that make one of the window, and of those of the window that make one of
        the memory."""
        old, new = self.memory.itemsize, self.dtype.itemsize
        return max(new // old, 1), max(old // new, 1)

    @property
    def retyped(self) -> Window:
        """The same window on a memory of its dtype, if the whole memory must be taken apart; else this one."""
        down = self.ratio[1]
        fits = all(stride % down == 0 for n, stride in zip(self.shape, self.strides, strict=True) if n > 1)
        return self if fits else self._replace(memory=self.dtype)

    def geometry(self, offset: Any) -> tuple[Ints, Ints, Any]:
        """Shape, strides and offset of what is read of the memory; the last dimension makes one element."""
        up, down = self.ratio
        start = offset * up if down == 1 else divided(offset, down)[1]
        return (*self.shape, up), (*(stride * up // down for stride in self.strides), 1), start

    def box_form(self, shape: Ints, strides: Ints, offset: int) -> str:
        """The kind of box that these are, of a memory of this shape and strides."""
        window = self.retyped
        if window is not self:
            shape, strides = (math.prod(shape) * self.ratio[1],), (1,)
        return box_form(memory_lengths(shape, strides), *window.geometry(offset))

    def read(self, value: Any, value_strides: Ints, offset: Any, box: str) -> Any:
        """The part of a memory that the window shows."""
        window = self.retyped
        if window is not self:
            value, value_strides = _retyped_row(row(value, value_strides), self.dtype), (1,)
        items, down = window.items(value, value_strides, offset, box), window.ratio[1]
        if down == 1:
            return self.through(items[..., 0])
        part = divided(offset, down)[0]
        return self.through(lax.dynamic_index_in_dim(items, part, -1, False, allow_negative_indices=False))

    def write(self, value: Any, value_strides: Ints, shown: Any, offset: Any, box: str) -> Any:
        """The memory in which the window shows this."""
        window, shown = self.retyped, self.through(shown.astype(self.dtype))[..., None]
        if window is not self:
            memory = _retyped_row(row(value, value_strides), self.dtype)
            memory = scatter(memory, (1,), shown, window.geometry(offset)[1], offset, box)
            return from_row(_retyped_row(memory, self.memory), value.shape, value_strides)
        if self.ratio[1] > 1:
            items, part = self.items(value, value_strides, offset, box), divided(offset, self.ratio[1])[0]
            shown = lax.dynamic_update_slice_in_dim(items, shown, part, -1, allow_negative_indices=False)
        if self.dtype != self.memory:
            shown = reinterpreted(shown, self.memory)
        _, strides, start = self.geometry(offset)
        return scatter(value, value_strides, shown, strides, start, box)

    def items(self, value: Any, value_strides: Ints, offset: Any, box: str) -> Any:
        """The elements that the window shows, with the parts of one element of the memory in a last dimension."""
        items = gather(value, value_strides, *self.geometry(offset), box)
        return items if items.dtype == self.dtype else reinterpreted(items, self.dtype)

    def through(self, shown: Any) -> Any:
        """The elements as they are seen through them; it undoes itself."""
        shown = jnp.conj(shown) if self.view_bits & CONJUGATED else shown
        return -shown if self.view_bits & NEGATED else shown


def _retyped_row(memory: Any, dtype: np.dtype) -> Any:
    """A row in another dtype, the smaller or larger by a whole number."""
    count = max(dtype.itemsize // memory.dtype.itemsize, 1)
    return reinterpreted(memory.reshape(-1, count), dtype).reshape(-1)


def reader(window: Window, memory_shape: Ints, memory_strides: Ints, box: str) -> Callable:
    """A function of (value, offset) that reads a window on it."""

    def read(value: Any, offset: Any) -> Any:
        return window.read(value, memory_strides, offset, box)

    return Kernel(read, name="read_window", wide=window.memory in WIDE or window.dtype in WIDE).dispatcher()


def writer(window: Window, memory_shape: Ints, memory_strides: Ints, box: str) -> Callable:
    """A function of (value, shown, offset) that gives the value with what the window shows written into it."""
    return _writing(window, memory_strides, box).dispatcher()


def overwriter(window: Window, memory_shape: Ints, memory_strides: Ints, box: str) -> Callable:
    """The ``Kernel.overwrite`` of a ``writer`` that puts the result where the value lies."""
    return _writing(window, memory_strides, box, reuse=True).overwrite


def _writing(window: Window, memory_strides: Ints, box: str, reuse: bool = False) -> Kernel:
    def write(value: Any, shown: Any, offset: Any) -> Any:
        return window.write(value, memory_strides, shown, offset, box)

    wide = window.memory in WIDE or window.dtype in WIDE
    return Kernel(write, name="write_window", wide=wide, reuse=reuse)


def kernel_at(
    make: Callable, memory_shape: Ints, memory_strides: Ints, shape: Ints, strides: Ints, memory: np.dtype,
    dtype: np.dtype, view_bits: int, offset: int,
) -> Callable:  # fmt: skip
    """The reader or writer for a window that begins at an offset. ``kernel_for`` remembers it: one look-up."""
    window = Window(shape, strides, memory, dtype, view_bits)
    box = window.box_form(memory_shape, memory_strides, offset)
    return kernel_for(make, window, memory_shape, memory_strides, box)


def read_window(
    value: Any, memory_strides: Ints, shape: Ints, strides: Ints, offset: int, dtype: Any = None, view_bits: int = 0
) -> Any:
    """The elements of ``value`` that a window shows.

    Args:
        value: an array whose elements fill a memory in the order that ``memory_strides`` say.
        shape, strides, offset: of the window, in elements of its dtype.
        dtype: the NumPy dtype in which it shows the memory, if that is another one.
        view_bits: the sum of ``CONJUGATED`` and ``NEGATED``, if it shows the conjugates or the negatives.
    """
    memory = value.dtype
    if type(value) is Meta:
        return Meta(shape, dtype or memory)
    if type(value) is np.ndarray and not view_bits:
        copied = read_at_once(value, memory_strides, shape, strides, offset, dtype)
        if copied is not None:
            return copied
    sizes = value.shape, memory_strides, shape, strides
    read = kernel_for(kernel_at, reader, *sizes, memory, dtype or memory, view_bits, offset)
    return dispatched(read, value, offset)


def write_window(
    value: Any, memory_strides: Ints, shown: Any, strides: Ints, offset: int, dtype: Any = None, view_bits: int = 0,
    holder: Any = None,
) -> Any:  # fmt: skip
    """``value`` with what a window shows replaced by ``shown``, which is cast. See ``read_window``.

    With ``holder``, nobody may use ``value`` afterwards: the result may lie where it lay, and then is
    ``holder.value`` at once. See Note [Interrupts and donation] in ``kernels/kernel.py``.
    """
    if type(value) is Meta:
        return Meta(value.shape, value.dtype)
    memory = value.dtype
    if holder is not None and not view_bits and (dtype is None or dtype == memory):
        here = type(shown) is np.ndarray or is_here(shown)
        if here and put_in_place(value, memory_strides, shown, shown.shape, strides, offset):
            return value
    over = holder is not None and is_here(value) and is_here(shown)
    make = overwriter if over else writer
    sizes = value.shape, memory_strides, shown.shape, strides
    write = kernel_for(kernel_at, make, *sizes, memory, dtype or memory, view_bits, offset)
    return write(holder, value, shown, offset) if over else dispatched(write, value, shown, offset)


def put_in_place(
    value: Any, memory_strides: Ints, shown: Any, shape: Ints, strides: Ints, offset: int
) -> bool:  # fmt: skip
    """Write to a NumPy array that nobody else has, if this is simple; False if it was not done.

    One call into NumPy writes, so that no interrupt comes between.
    """
    if type(value) is not np.ndarray or value.base is not None or not value.flags.c_contiguous:
        return False
    dtype = value.dtype
    if dtype.kind not in "fiubc" or (getattr(shown, "dtype", None) != dtype and not _fits(shown, value)):
        return False
    if not value.flags.writeable or _in_bytes(memory_strides, dtype.itemsize) != value.strides:
        return False
    forget_xla_copy(value)
    if 0 not in shape:  # what is empty may lie beyond the memory
        unit = dtype.itemsize
        np.ndarray(shape, dtype, value, unit * offset, _in_bytes(strides, unit))[...] = shown
    return True


def read_at_once(
    value: np.ndarray, memory_strides: Ints, shape: Ints, strides: Ints, offset: int, dtype: Any
) -> Any:  # fmt: skip
    """A copy of the elements of a NumPy array that a small window shows, if this is simple; None if it is not.

    Nothing is copied while calls are recorded or captured, for then the read is one of them.
    """
    memory = value.dtype
    if thread.modes.deferred or capturing.by is not None or not value.flags.c_contiguous:
        return None
    if memory.kind not in "fiubc" or not (dtype is None or dtype == memory):
        return None
    unit = memory.itemsize
    if not 0 < math.prod(shape) * unit < LARGE or _in_bytes(memory_strides, unit) != value.strides:
        return None
    return np.ndarray(shape, memory, value, unit * offset, _in_bytes(strides, unit)).copy()


@tabulated(1 << 10)
def _in_bytes(strides: Ints, unit: int) -> Ints:
    """Strides in elements of so many bytes, as NumPy has them."""
    return tuple([unit * stride for stride in strides])


def _fits(shown: Any, value: np.ndarray) -> bool:
    """Tell whether a number is converted to the dtype of an array in one way only."""
    return type(shown) is float and value.dtype in (np.float32, np.float64) and abs(shown) < 1e38


def _resizer(memory_shape: Ints, memory_strides: Ints, dtype: np.dtype, size: int, wide: bool) -> Callable:
    def resize(value: Any) -> Any:
        elements = row(value, memory_strides)
        elements = elements if elements.dtype == dtype else _retyped_row(elements, dtype)
        return jnp.pad(elements[:size], (0, max(size - elements.size, 0)))

    return Kernel(resize, name="resize", wide=wide).dispatcher()


def resized_row(value: Any, memory_strides: Ints, nbytes: int) -> Any:
    """The elements of ``value`` as a row of so many bytes: a part of them, or with zeros behind them.

    The row has the dtype of the value, or of single bytes where that does not fit.
    """
    old = np.dtype(value.dtype)
    dtype = np.dtype("uint8") if nbytes % old.itemsize else old
    if type(value) is Meta:
        return Meta((nbytes // dtype.itemsize,), dtype)
    size = nbytes // dtype.itemsize
    return kernel_for(_resizer, value.shape, memory_strides, dtype, size, old in WIDE)(value)
