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
from functools import lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from tapegrad.execution.bits import reinterpreted
from tapegrad.execution.boxes import is_box, read_box, write_box
from tapegrad.execution.kernel import WIDE, Kernel

Ints = tuple[int, ...]

CONJUGATED, NEGATED = 1, 2
"""Lenses, which may be added: a window shows the conjugates, or the negatives, of what is in memory."""


# -- rows --------------------------------------------------------------------------------------------------------------


def positions(shape: Ints, strides: Ints, offset: Any, size: int) -> Any:
    """Where in memory (of ``size`` elements) the elements of a window lie: integers of its shape."""
    dtype = jnp.int32 if size < 2**31 else jnp.int64
    result = jnp.full(shape, offset, dtype)
    for axis, stride in enumerate(strides):
        if stride and shape[axis] > 1:
            result = result + stride * lax.broadcasted_iota(dtype, shape, axis)
    return result


def order(shape: Ints, strides: Ints) -> Ints:
    """The dimensions in the order in which they lie in memory, the outermost first."""
    return tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis] if shape[axis] != 1 else 0, axis)))


def row(value: Any, strides: Ints) -> Any:
    """The elements of a dense array in the order in which its strides lay them."""
    axes = order(value.shape, strides)
    return value.transpose(axes).reshape(-1)


def from_row(elements: Any, shape: Ints, strides: Ints) -> Any:
    """The array of this shape whose elements lie in memory in this order: the inverse of ``row``."""
    axes = order(shape, strides)
    inverse = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    return elements.reshape(tuple(shape[axis] for axis in axes)).transpose(inverse)


def gather(memory: Any, shape: Ints, strides: Ints, offset: Any, box: bool = False) -> Any:
    """The window on a row of elements; ``box`` if it is known to be one."""
    if 0 in shape:
        return jnp.zeros(shape, memory.dtype)
    if box:
        return read_box(memory, shape, strides, offset)
    if is_row_major(shape, strides):
        return lax.dynamic_slice(memory, (offset,), (math.prod(shape),), allow_negative_indices=False).reshape(shape)
    return memory.at[positions(shape, strides, offset, memory.size)].get(mode="promise_in_bounds")


def scatter(memory: Any, window: Any, strides: Ints, offset: Any, box: bool = False) -> Any:
    """The row of elements with those of the window replaced; ``box`` if it is known to be one."""
    if 0 in window.shape:
        return memory
    if box:
        return write_box(memory, window, strides, offset)
    if is_row_major(window.shape, strides):
        return lax.dynamic_update_slice(memory, window.reshape(-1), (offset,), allow_negative_indices=False)
    return memory.at[positions(window.shape, strides, offset, memory.size)].set(window, mode="promise_in_bounds")


def is_row_major(shape: Ints, strides: Ints) -> bool:
    """Whether a window is one block of memory, in order."""
    step = 1
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1:
            if stride != step:
                return False
            step *= length
    return True


# -- windows -----------------------------------------------------------------------------------------------------------


class Window(NamedTuple):
    """A window on a memory of some dtype, apart from its offset.

    Attributes:
        shape, strides: of the window, in elements of ``dtype``.
        memory: the NumPy dtype of the memory.
        dtype: the NumPy dtype in which the window shows it.
        lens: how it shows it: the sum of ``CONJUGATED`` and ``NEGATED``, or 0.
    """

    shape: Ints
    strides: Ints
    memory: np.dtype
    dtype: np.dtype
    lens: int = 0

    @property
    def ratio(self) -> tuple[int, int]:
        """How many elements of the memory make one of the window, and how many of the window one of the memory."""
        old, new = self.memory.itemsize, self.dtype.itemsize
        return max(new // old, 1), max(old // new, 1)

    @property
    def retyped(self) -> Window:
        """The same window on a memory of its dtype, if the whole memory must be taken apart; else this one."""
        down = self.ratio[1]
        fits = all(stride % down == 0 for n, stride in zip(self.shape, self.strides, strict=True) if n > 1)
        return self if fits else self._replace(memory=self.dtype)

    def place(self, offset: Any) -> tuple[Ints, Ints, Any]:
        """Shape, strides and offset of what is read of the memory; the last dimension makes one element."""
        up, down = self.ratio
        return (*self.shape, up), (*(stride * up // down for stride in self.strides), 1), offset * up // down

    def is_box(self, size: int, offset: int) -> bool:
        """Whether these are a box, of a memory of ``size`` elements."""
        window = self.retyped
        return is_box(size * self.memory.itemsize // window.memory.itemsize, *window.place(offset))

    def read(self, memory: Any, offset: Any, box: bool) -> Any:
        """What the window shows of a row."""
        window = self.retyped
        items = window.items(_as_row_of(memory, window.memory), offset, box)
        down = window.ratio[1]
        last = lax.dynamic_index_in_dim(items, offset % down, -1, False, allow_negative_indices=False)
        return self.through(last if down > 1 else items[..., 0])

    def write(self, memory: Any, shown: Any, offset: Any, box: bool) -> Any:
        """The row in which the window shows this."""
        window, shown = self.retyped, self.through(shown.astype(self.dtype))[..., None]
        elements, down = _as_row_of(memory, window.memory), window.ratio[1]
        if down > 1:
            items = window.items(elements, offset, box)
            shown = lax.dynamic_update_slice_in_dim(items, shown, offset % down, -1, allow_negative_indices=False)
        shown = shown if shown.dtype == elements.dtype else reinterpreted(shown, elements.dtype)
        _, strides, start = window.place(offset)
        elements = scatter(elements, shown, strides, start, box)
        rest = memory[elements.size * elements.dtype.itemsize // memory.dtype.itemsize :]
        elements = _as_row_of(elements, self.memory)
        return jnp.concatenate([elements, rest]) if rest.size else elements

    def items(self, memory: Any, offset: Any, box: bool) -> Any:
        """What the window shows, with the parts of one element of the memory in a last dimension."""
        items = gather(memory, *self.place(offset), box)
        return items if items.dtype == self.dtype else reinterpreted(items, self.dtype)

    def through(self, shown: Any) -> Any:
        """What is seen through the lens; it undoes itself."""
        shown = jnp.conj(shown) if self.lens & CONJUGATED else shown
        return -shown if self.lens & NEGATED else shown


def _as_row_of(memory: Any, dtype: np.dtype) -> Any:
    """A row in another dtype, as far as there are whole elements of it."""
    if memory.dtype == dtype:
        return memory
    count = max(dtype.itemsize // memory.dtype.itemsize, 1)
    return reinterpreted(memory[: memory.size // count * count].reshape(-1, count), dtype).reshape(-1)


@lru_cache(maxsize=4096)
def reader(window: Window, memory_strides: Ints, box: bool) -> Callable:
    """A function of (value, offset) that reads a window on it."""

    def read(value: Any, offset: Any) -> Any:
        return window.read(row(value, memory_strides), offset, box)

    return Kernel(read, name="read_window", wide=window.memory in WIDE or window.dtype in WIDE).bind()


@lru_cache(maxsize=4096)
def writer(window: Window, memory_strides: Ints, box: bool) -> Callable:
    """A function of (value, shown, offset) that gives the value with what the window shows written into it."""

    def write(value: Any, shown: Any, offset: Any) -> Any:
        return from_row(window.write(row(value, memory_strides), shown, offset, box), value.shape, memory_strides)

    return Kernel(write, name="write_window", wide=window.memory in WIDE or window.dtype in WIDE).bind()


def read_window(
    value: Any, memory_strides: Ints, shape: Ints, strides: Ints, offset: int, dtype: Any = None, lens: int = 0
) -> Any:
    """The elements of ``value`` that a window shows.

    Args:
        value: an array whose elements fill a memory in the order that ``memory_strides`` say.
        shape, strides, offset: of the window, in elements of its dtype.
        dtype: the NumPy dtype in which it shows the memory, if that is another one.
        lens: the sum of ``CONJUGATED`` and ``NEGATED``, if it shows the conjugates or the negatives.
    """
    window = Window(shape, strides, value.dtype, dtype or value.dtype, lens)
    return reader(window, memory_strides, window.is_box(value.size, offset))(value, offset)


def write_window(
    value: Any, memory_strides: Ints, shown: Any, strides: Ints, offset: int, dtype: Any = None, lens: int = 0
) -> Any:
    """``value`` with what a window shows replaced by ``shown``, which is cast. See ``read_window``."""
    window = Window(tuple(shown.shape), strides, value.dtype, dtype or value.dtype, lens)
    return writer(window, memory_strides, window.is_box(value.size, offset))(value, shown, offset)


@lru_cache(maxsize=1024)
def _resizer(memory_strides: Ints, dtype: np.dtype, size: int, wide: bool) -> Callable:
    def resize(value: Any) -> Any:
        elements = _as_row_of(row(value, memory_strides), dtype)
        return jnp.pad(elements[:size], (0, max(size - elements.size, 0)))

    return Kernel(resize, name="resize", wide=wide).bind()


def resized_row(value: Any, memory_strides: Ints, nbytes: int) -> Any:
    """The elements of ``value`` as a row of so many bytes: a part of them, or with zeros behind them.

    The row has the dtype of the value, or of single bytes where that does not fit.
    """
    old = np.dtype(value.dtype)
    dtype = np.dtype("uint8") if nbytes % old.itemsize else old
    return _resizer(memory_strides, dtype, nbytes // dtype.itemsize, old in WIDE)(value)
