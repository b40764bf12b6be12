"""Letting NumPy see the memory of a tensor, and tensors that of an array. See Note [Memory that NumPy sees]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tapegrad._src.caches import remembered
from tapegrad._src.execution.array_functions.host import to_host
from tapegrad._src.execution.data.devices import device, device_of
from tapegrad._src.execution.data.dtypes import from_numpy
from tapegrad._src.execution.data.row_layout import memory_order
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.tape.hooks import making
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.geometry import Geometry, extent, is_dense
from tapegrad._src.tensor.shared import Ints, SharedBuffer, bytes_of, copied, is_shared, share_memory, taken
from tapegrad._src.tensor.spec import Spec, named_strides
from tapegrad._src.tensor.storage import InferenceStorage, Storage
from tapegrad._src.tensor.tensor import Tensor, mark_written, materialize, storage_of, wrap, writing

CPU = device("cpu")


def exposed(tensor: Tensor) -> np.ndarray:
    """The memory of a tensor on the CPU, as an array that shares it."""
    spec = tensor._spec
    if not spec.numel:
        return np.empty(spec.shape, spec.dtype.numpy)
    buffer = _buffer_of(tensor, storage_of(tensor))
    return buffer.part(tuple(spec.shape), spec.layout, tensor._offset, spec.dtype.numpy)


def _buffer_of(tensor: Tensor, storage: Storage) -> SharedBuffer:
    """The buffer of a storage, in which its elements lie from now on. The storage's value is moved there if it can."""
    with writing, making:
        materialize(tensor)
        if is_shared(storage):
            return storage.memory
        to_host(storage.value)  # raises what there is to be raised before anything is changed
        mark_written(storage)
        for member in storage.living():
            _forget_output(member, storage)
        on = device_of(storage.value)
        buffer = taken(storage, on) or copied(to_host(storage.value), storage.strides, on)
        share_memory(storage, buffer)
        return buffer


def _forget_output(tensor: Tensor, storage: Storage) -> None:
    """Let the node of a tensor not look at its memory any more, for what it has saved of it."""
    if tensor._edge is not None:
        node, output_nr = tensor._edge
        storages: dict[int, Any] = node.output_storages or {}
        made = storages.get(output_nr)
        if made is not None and made.storage() is storage:
            node.output_storages = {**storages, output_nr: made._replace(storage=_nowhere)}


def _nowhere() -> None:
    """In place of a reference to a storage."""


def tensor_on(array: np.ndarray) -> Tensor:
    """A leaf on the memory of an array that can be written to.
    Raises ValueError: neighbours are no whole number of elements apart. PyTorch's message.
    """
    inference = thread.modes.inference
    spec, shape, steps, order = _lying(array.shape, array.strides, array.dtype, inference)
    if order is None:
        row = as_strided(array, shape, (array.itemsize,)).view(np.uint8)
    else:
        row = bytes_of(array.transpose(order))
    buffer = SharedBuffer(row, shape, steps, array.dtype, CPU)
    storage = (InferenceStorage if inference else Storage)(None, None if spec.window else spec.strides)
    storage.written = True
    share_memory(storage, buffer)
    tensor = wrap(None, spec)
    tensor._seen = -1
    storage.admit(tensor)
    tensor._storage = storage
    if capturing.by is not None:  # what a step makes of an array is the same in each call, as far as is known
        capturing.by.note_constant(storage.value)
    return tensor


class _Address:
    """The address from which NumPy makes an array that can be written to, where it has one that can't."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def writable(array: np.ndarray) -> np.ndarray:
    """The same memory, to be written to: whoever gave it is known to allow that."""
    return np.asarray(_Address(array))


@remembered("views")
def _lying(shape: Ints, steps: Ints, dtype: np.dtype, inference: bool) -> tuple[Spec, Ints, Ints, Ints | None]:
    """The spec of a tensor on an array of this shape and strides in bytes; shape and strides of all of its memory, from
    the first element to the last; and the order of its dimensions there, None if there are gaps."""
    unit = dtype.itemsize
    if any(step % unit for step in steps):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
            "memory."
        )
    place = Geometry(shape, tuple([step // unit for step in steps]), 0)
    strides, dense = named_strides(shape, place.strides), is_dense(shape, place.strides)
    spec = Spec.of(shape, from_numpy(dtype), CPU, plain=False, inference=inference, strides=strides, window=not dense)
    if dense:
        return spec, shape, place.strides, memory_order(*place[:2])
    return spec, (extent(place),), (1,), None
