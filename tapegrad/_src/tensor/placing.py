"""The memory of tensors: moving them on it or to another, and memory of another size.

Note [Addresses]
Arrays never change, and a write moves the data; yet programs ask by ``data_ptr()`` who shares memory with whom. So
addresses are made up: each storage has a stretch of them of its own, in which elements lie where strides and offsets
say. They stay the same however often it is written to, and are never given to another storage; except to one whose
value is the very same array, or lies in the same buffer, when it is first asked for its address. Memory that NumPy sees
has its true address, as long as it does; no program has memory at those that are made up.
"""

from __future__ import annotations

import weakref
from typing import Any

from tapegrad._src.execution.array_functions.host import address, is_readable
from tapegrad._src.execution.array_functions.windows import read_window, resized_row
from tapegrad._src.execution.data.dtypes import dtype as dtype_class
from tapegrad._src.execution.data.opaque import Meta
from tapegrad._src.execution.data.values import materialized
from tapegrad._src.tape.hooks import making
from tapegrad._src.tensor.geometry import Geometry
from tapegrad._src.tensor.shared import is_shared
from tapegrad._src.tensor.spec import named_strides
from tapegrad._src.tensor.storage import Storage
from tapegrad._src.tensor.tensor import Tensor, mark_written, memory_layout, shows_all, storage_of, wrap

STRETCH = 1 << 40
"""The number of addresses of a storage."""

FIRST = 1 << 8
"""The number of stretches that are left to true addresses: those that processors of 64 bits have for programs."""


_addresses: weakref.WeakKeyDictionary[Storage, int] = weakref.WeakKeyDictionary()
_buffers: dict[int, tuple[weakref.ref[Any], int]] = {}
"""The addresses of storages, and those of buffers as long as somebody holds an array in them."""


def address_of(storage: Storage) -> int:
    """The address of a memory, 0 if there is none of it. See Note [Addresses]."""
    if not nbytes_of(storage) or type(storage.memory) is Meta:
        return 0
    if is_shared(storage):
        return storage.memory.address
    with making:
        address = _addresses.get(storage)
        if address is None:
            address = _addresses[storage] = _address_of_value(storage.value, (FIRST + storage.serial) * STRETCH)
    return address


def _address_of_value(value: Any, new: int) -> int:
    """The address of the buffer in which a value lies: one that it has, or a new one."""
    if not is_readable(value):
        return new
    value = materialized(value)
    buffer = address(value)
    holder, known = _buffers.get(buffer, (None, new))
    if holder is None or holder() is None:
        _buffers[buffer] = weakref.ref(value, lambda gone: _forget(buffer, gone)), new
        return new
    return known


def _forget(buffer: int, gone: Any) -> None:
    if _buffers.get(buffer, (None,))[0] is gone:
        del _buffers[buffer]


def lie_alike(one: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors begin at the same place of memories of as many elements, and show them by the same
    bits."""
    sizes = [nbytes_of(storage_of(tensor)) // tensor.dtype.itemsize for tensor in (one, other)]
    return one._offset == other._offset and one._view_bits == other._view_bits and sizes[0] == sizes[1]


def nbytes_of(storage: Storage) -> int:
    """The size of a memory in bytes."""
    return storage.memory.size * storage.memory.dtype.itemsize


def set_memory(tensor: Tensor, storage: Storage, geometry: Geometry, dtype: dtype_class, view_bits: int = 0) -> Tensor:
    """Let a tensor show a part of a memory, whatever it showed before; nothing is read until somebody looks."""
    mark_written(storage)
    shape, strides, offset = geometry
    with making:
        if tensor._storage is not storage:
            storage.admit(tensor)
            tensor._storage = storage
        tensor._offset, tensor._view_bits = offset, view_bits
        tensor._value, tensor._seen = None, -1
        tensor._spec = tensor._spec.replace(
            shape=shape, strides=named_strides(shape, strides), dtype=dtype, plain=False, window=True
        )
        _look_again(tensor, storage)
    return tensor


def window_on(base: Tensor, spot: Geometry) -> Tensor:
    """A handle on a part of a tensor's memory, as the tensor itself would be written to there."""
    window = set_memory(wrap(None, base._spec), storage_of(base), spot, base.dtype, base._view_bits)
    window._counter = base._counter
    return window


def _look_again(tensor: Tensor, storage: Storage) -> None:
    """Settle whether a tensor is a window of its memory, after either has changed."""
    window = tensor._view is not None or not shows_all(tensor, storage)
    tensor._spec = tensor._spec.replace(window=window)


def resize_memory(storage: Storage, nbytes: int) -> None:
    """Give a memory another size; what is new of it is zero. That is not counted as a write.
    Raises RuntimeError: NumPy sees it, or has seen it.
    """
    if storage.fixed:
        raise RuntimeError("Trying to resize storage that is not resizable")
    mark_written(storage)
    with making:
        for member in storage.living():
            member._spec = member._spec.replace(window=True)
    storage.replace(resized_row(storage.value, memory_layout(storage), nbytes))
    storage.strides = None
    with making:
        for member in storage.living():
            _look_again(member, storage)


def memory_of(tensor: Tensor) -> Any:
    """All of a tensor's memory as a row of elements, as the tensor shows them."""
    storage = storage_of(tensor)
    numpy_dtype = tensor.dtype.numpy
    size = nbytes_of(storage) // numpy_dtype.itemsize
    return read_window(storage.value, memory_layout(storage), (size,), (1,), 0, numpy_dtype, tensor._view_bits)
