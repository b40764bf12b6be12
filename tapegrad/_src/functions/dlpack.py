"""DLPack: data shared with NumPy, PyTorch, jax and others.

Note [Shared with others]
On the CPU memory is shared, both ways, as by ``numpy()`` and ``from_numpy`` (Note [Memory that NumPy sees] in
``tensor/shared.py``): writes are seen on both sides. That holds for jax, too, whose arrays should never change: give it
``x.jax()`` instead.

What NumPy has no dtype for (``bfloat16``), what is read-only, as jax's arrays are, and what is on a device is shared as
an array that nobody must write to: others are given the array that a tensor has now, and don't see later writes to the
tensor; and who gave the data must not write to it afterwards. Such an array is row-major, strides are bookkeeping of
tensors: so there a view that is not contiguous travels as a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._src.bindings.capsules import CPU, host_view, is_capsule, opened
from tapegrad._src.bindings.declaration.factory import named_device
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.viewing import sharing
from tapegrad._src.execution.array_functions.host import array_of
from tapegrad._src.execution.array_functions.host import from_dlpack as value_from_dlpack
from tapegrad._src.execution.array_functions.windows import CONJUGATED
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.data.devices import device as device_class
from tapegrad._src.functions.construction import checked_array, copy_of, shared_with
from tapegrad._src.functions.conversion import converted_to
from tapegrad._src.tensor.exposing import exposed
from tapegrad._src.tensor.level_messages import NO_MEMORY
from tapegrad._src.tensor.lifted import fresh
from tapegrad._src.tensor.storage import Counter
from tapegrad._src.tensor.tensor import Tensor, describe, value_of
from tapegrad.errors import message

INVALID_CAPSULE = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have "
    "already constructed a tensor from it once."
)


@public("Tensor")
def __dlpack__(
    self: Tensor, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """A DLPack capsule that shares the data with other libraries: on the CPU writes are seen on both sides.

    Elsewhere, and of dtypes that NumPy has not, they must not write to it, and don't see later writes to the tensor.

    Args:
        stream: of a GPU, the stream on which the data has to be ready; -1 or None for none.
        max_version: the newest version of DLPack that the reader knows.
        dl_device: where the data is to be, as ``__dlpack_device__`` says it.
        copy: whether to copy.

    Raises:
        BufferError: the tensor requires grad, or shows the conjugates of its memory.
        TypeError, AssertionError: a stream that is no integer, or one of the CPU.
    """
    if self._spec.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self._view_bits & CONJUGATED:
        raise BufferError("Can't export tensors with the conjugate bit set")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if self.device.type == "cpu" and stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if self._spec.level:
        raise RuntimeError(NO_MEMORY)
    if self.device is META:
        raise BufferError("Cannot pack tensors on meta")
    if _is_exposed(self) and dl_device in (None, (CPU, 0)):
        array = np.array(exposed(self)) if copy else exposed(self)
        try:
            return array.__dlpack__(max_version=max_version, copy=copy)
        except TypeError:  # NumPy 2.0 has neither
            return array.__dlpack__()
    stream = None if stream == -1 else stream
    return array_of(value_of(self)).__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def _is_exposed(tensor: Tensor) -> bool:
    """Tell whether others share a tensor's memory, and may write to it."""
    return tensor.device == device_class("cpu") and tensor.dtype.numpy.kind in "biufc"


@public("Tensor")
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    """DLPack's type and index of the device."""
    if self.device is META:
        raise ValueError("Unknown device type meta for Dlpack")
    if _is_exposed(self) and not self._spec.level:
        return CPU, 0
    return array_of(value_of(self)).__dlpack_device__()


@public("torch", "utils.dlpack")
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """The data of another library's array, shared with it unless ``copy`` is True: writes are seen on both sides.

    Who gave what is not on the CPU, or is read-only, must not write to it afterwards.

    Args:
        ext_tensor: an object with ``__dlpack__``, or a DLPack capsule.
        device: where the tensor is to be.
        copy: whether to copy; None copies if need be: to another device, or where the data has gaps.

    Raises:
        RuntimeError: neither, or a capsule that was used.
        ValueError: ``copy`` is False, and a copy is needed.
        BufferError: whoever has the data can't give it away: because it requires grad, for example.
    """
    if isinstance(ext_tensor, Tensor):
        result = _of_own(ext_tensor, copy)
    elif hasattr(ext_tensor, "__dlpack__"):
        result = _imported(ext_tensor, copy)
    elif device is not None or copy is not None:
        raise AssertionError("device and copy kwargs not supported when ext_tensor is already a DLPack capsule.")
    else:
        result = _of_capsule(ext_tensor)
    return result if device is None else _moved(result, named_device("from_dlpack", device), copy)


def _of_own(tensor: Tensor, copy: bool | None) -> Tensor:
    """A tensor of this library, in the same memory."""
    __dlpack__(tensor)  # refuses what it has to
    if copy:
        return tensor.clone()
    shared = sharing(tensor)
    shared._counter = Counter()  # writes through the one are not counted for the other
    return shared


def _imported(other: Any, copy: bool | None) -> Tensor:
    """The data of another library's array: shared; if it is read-only, only where it is row-major."""
    host = host_view(other)
    if host is not None and host.flags.writeable and copy is not True:
        return shared_with(checked_array(host))
    if host is None or host.flags.c_contiguous:
        try:
            value = value_from_dlpack(other, copy)
            return fresh(value, describe(value))
        except BufferError:  # NumPy does not share read-only data in the way that jax asks for
            if host is None:
                raise
    if copy is False:
        raise ValueError(message("the data can't be shared without copying it: it is read-only, or has gaps",
                                 hint="Set copy=None or copy=True."))  # fmt: skip
    return copy_of(checked_array(host))


def _of_capsule(capsule: Any) -> Tensor:
    if not is_capsule(capsule):
        raise RuntimeError(INVALID_CAPSULE)
    found = opened(capsule)
    return found if isinstance(found, Tensor) else shared_with(checked_array(found))


def _moved(tensor: Tensor, on: device_class, copy: bool | None) -> Tensor:
    if on is not tensor.device and copy is False:
        raise ValueError(
            f"cannot move DLPack tensor from device {tensor.device} to {on} without copying. "
            "Set copy=None or copy=True."
        )
    return converted_to(tensor, tensor.dtype, on)


@public("torch", "utils.dlpack")
def to_dlpack(data: Any) -> Any:
    """A DLPack capsule that shares the data of a tensor, which may require grad.

    Raises:
        TypeError: ``data`` is no tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError(f"_to_dlpack(): argument 'data' (position 1) must be Tensor, not {type(data).__name__}")
    if _is_exposed(data) and not data._spec.level:
        return exposed(data).__dlpack__()
    return array_of(value_of(data)).__dlpack__()
