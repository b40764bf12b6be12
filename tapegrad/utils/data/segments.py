"""Memory that two processes see: how a worker hands batches over.

Note [Segments]
A worker writes what it sends with ``packed``, the loader's process reads it with ``unpacked``. An array, or a tensor's
memory, of ``LEAST`` bytes and more doesn't go through the pipe: it lies in a segment of shared memory, and what is
sent is the segment's name. ``new_array`` makes an array in a segment to begin with, and what shows the whole of one is
sent without being copied. Whoever receives a segment unlinks its name at once; the memory is given back when the last
array that shows it is gone. What was made and not sent is unlinked by ``packed``, what was sent and never read by
``dropped``; what a killed worker leaves, by Python's resource tracker when the program ends.

Where there is no room for a segment, as in containers with little shared memory, arrays go through the pipe.
"""

from __future__ import annotations

import io
import math
import pickle
import shutil
import sys
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from tapegrad._src.bindings.protocols import own_attributes, rebuild_tensor
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import from_numpy
from tapegrad._src.tensor.tensor import Tensor

LEAST = 1 << 15
"""From how many bytes on an array is handed over in a segment: below, a pipe is as fast."""


class Segment:
    """Shared memory, as bytes; as the base of the arrays that show it, it lives as long as they.

    Args:
        memory: the memory.
        size: how many of its bytes are meant: systems round up.
    """

    def __init__(self, memory: SharedMemory, size: int) -> None:
        self.memory, self.size = memory, size
        self.address = np.frombuffer(memory.buf, np.uint8).ctypes.data  # type: ignore[arg-type]
        self.__array_interface__ = {"version": 3, "shape": (size,), "typestr": "|u1", "data": (self.address, False)}

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """All of it as an array."""
        return np.asarray(self).view(dtype).reshape(shape)


made: list[Segment] = []
"""The segments that this process has made and not sent yet."""


def has_room(size: int) -> bool:
    """Tell whether there is shared memory for so many bytes. A system that has too little kills who writes to it."""
    return sys.platform != "linux" or shutil.disk_usage("/dev/shm").free > 2 * size


def new_array(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An empty array, in a segment if it is large enough.

    >>> new_array((10, 10), np.dtype("float32")).shape
    (10, 10)
    """
    size = math.prod(shape) * dtype.itemsize
    if size < LEAST or not has_room(size):
        return np.empty(shape, dtype)
    try:
        made.append(Segment(SharedMemory(create=True, size=size), size))
    except OSError:
        return np.empty(shape, dtype)
    return made[-1].array(shape, dtype)


def segment_of(array: Any) -> Segment | None:
    """The segment of this process of which an array shows the whole, in order, and which hasn't been sent."""
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    if base not in made or not array.flags.c_contiguous:
        return None
    return base if (array.ctypes.data, array.nbytes) == (base.address, base.size) else None


def in_segment(array: Any) -> Segment | None:
    """A segment with the elements of an array: its own, or a copy; None if it is to go through the pipe."""
    if type(array) is not np.ndarray or array.nbytes < LEAST or array.dtype.hasobject or array.dtype.names:
        return None
    if (own := segment_of(array)) is not None:
        return own
    copied = new_array(array.shape, array.dtype)
    if (segment := segment_of(copied)) is not None:
        copied[...] = array
    return segment


def attached(name: str, size: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The array in a segment that another process has made; the name is free again."""
    memory = SharedMemory(name)
    memory.unlink()
    return Segment(memory, size).array(shape, dtype)


def attached_tensor(name: str, size: int, shape: tuple[int, ...], dtype: np.dtype) -> Tensor:
    """The same, as a tensor."""
    return rebuild_tensor(Tensor, attached(name, size, shape, dtype), from_numpy(dtype), device("cpu"), False)


class Packer(ForkingPickler):
    """Writes what is sent, and keeps the segments until it is."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.segments: list[Segment] = []

    def reducer_override(self, obj: Any) -> Any:
        """Arrays go in segments, those of tensors as well."""
        if isinstance(obj, np.ndarray):
            return self._sent(obj, attached)
        if type(obj) is Tensor and not obj.requires_grad and not own_attributes(obj):
            return self._sent(shown(obj), attached_tensor)
        return NotImplemented

    def _sent(self, array: Any, rebuild: Callable) -> Any:
        segment = in_segment(array)
        if segment is None:
            return NotImplemented
        self.segments.append(segment)
        return rebuild, (segment.memory.name, segment.size, array.shape, array.dtype)


def shown(tensor: Tensor) -> np.ndarray | None:
    """The memory of a large tensor as an array; None if NumPy hasn't its dtype."""
    if tensor.numel() * tensor.itemsize < LEAST:
        return None
    try:
        return tensor.numpy()
    except (TypeError, RuntimeError):
        return None


def packed(data: Any) -> tuple[bytes, list[Segment]]:
    """The message for some data, and the segments that mustn't be given back before it is.

    >>> unpacked(packed({"x": [1, 2]})[0])
    {'x': [1, 2]}
    """
    file = io.BytesIO()
    packer = Packer(file)
    sent: list[Segment] = []
    try:
        packer.dump(data)
        sent = packer.segments
    finally:
        for segment in made:
            if segment not in sent:
                segment.memory.unlink()
        made.clear()
    return file.getvalue(), sent


def unpacked(sent: bytes) -> Any:
    """The data that was packed, on the other side."""
    return pickle.loads(sent)


def dropped(sent: bytes) -> None:
    """Give back what was sent and is not wanted any more."""
    try:
        unpacked(sent)
    except Exception:  # classes that can't be read: their segments go with the process
        return
