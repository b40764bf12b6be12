"""Methods of storages beyond reading and writing: conversions, copies, files. See ``storages.py``."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.state.attributes import LEGACY_DTYPES
from tapegrad._src.bindings.state.storages import (
    TypedStorage,
    UntypedStorage,
    _Legacy,
    host_bytes,
    storage_of_host,
    typed_storage,
    untyped_storage,
)
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import META, device
from tapegrad._src.execution.data.dtypes import dtype as dtype_class
from tapegrad._src.execution.data.dtypes import uint8
from tapegrad._src.tensor.exposing import tensor_on
from tapegrad._src.tensor.refusals import refuse_memory
from tapegrad._src.tensor.storage import Storage
from tapegrad._src.tensor.tensor import Tensor, storage_of

_files: weakref.WeakKeyDictionary[Storage, tuple[str, Any]] = weakref.WeakKeyDictionary()
"""Memory that lies in a file, with its name and NumPy's array of it: as long as somebody holds that, it stays there."""

_shared: weakref.WeakSet[Storage] = weakref.WeakSet()
"""Memory of which ``share_memory_`` was asked."""


def _method(*classes: Any, name: str | None = None) -> Callable[[Any], Any]:
    """Put a function on storages as a method."""

    def attach(function: Any) -> Any:
        for cls in classes:
            setattr(cls, name or function.__name__, function)
        return function

    return attach


BOTH = UntypedStorage, TypedStorage


def _elements(storage: Any) -> Tensor:
    return storage.bytes if isinstance(storage, UntypedStorage) else storage.elements


# Conversions ----------------------------------------------------------------------------------------------------------


def _conversion(name: str, to: dtype_class) -> None:
    def convert(self: Any) -> TypedStorage:
        return typed_storage(_elements(self).to(to, copy=True))

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"A new storage with the elements, of bytes the bytes, as {to}."
    _method(*BOTH)(convert)


for _legacy, _dtype in LEGACY_DTYPES.items():
    _conversion(_legacy.lower().replace("complex", "complex_"), _dtype)


@_method(UntypedStorage, name="type")
def untyped_type(self: UntypedStorage, dtype: Any = None, non_blocking: bool = False) -> str:
    """The name of the class."""
    return "torch.storage.UntypedStorage"


@_method(TypedStorage, name="type")
def typed_type(self: TypedStorage, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the old class of storages of this dtype; with ``dtype``, the elements as those of that class."""
    if dtype is None:
        return f"torch.{self.pickle_storage_type()}"
    name = dtype.rpartition(".")[2] if isinstance(dtype, str) else dtype.__name__
    return typed_storage(self.elements.to(LEGACY_DTYPES[name.removesuffix("Storage")], copy=True))


@_method(TypedStorage)
def to(self: TypedStorage, *, device: Any, non_blocking: bool = False) -> TypedStorage:
    """The elements on a device: the same memory if it is there, else a copy."""
    return TypedStorage(wrap_storage=self.untyped().to(device=device), dtype=self.dtype)


@_method(TypedStorage)
def cpu(self: TypedStorage) -> TypedStorage:
    """The elements on the CPU: the same memory if it is there, else a copy."""
    return to(self, device="cpu")


@_method(TypedStorage)
def cuda(self: TypedStorage, device: Any = None, non_blocking: bool = False) -> TypedStorage:
    """The elements on a GPU: the same memory if it is there, else a copy."""
    return TypedStorage(wrap_storage=self.untyped().cuda(device), dtype=self.dtype)


@_method(UntypedStorage)
def byteswap(self: UntypedStorage, dtype: dtype_class) -> None:
    """Turn round the order of bytes in each element of this dtype."""
    size = dtype.itemsize // (2 if dtype.is_complex else 1)
    self.bytes.copy_(self.bytes.view(-1, size).flip(1).reshape(-1))


# Copies ---------------------------------------------------------------------------------------------------------------


@_method(*BOTH)
def new(self: Any) -> Any:
    """A storage of this kind without any element."""
    if isinstance(self, UntypedStorage):
        return UntypedStorage(device=self.device)
    return TypedStorage(dtype=self.dtype, device=self.device)


@_method(*BOTH)
def __copy__(self: Any) -> Any:
    return self.clone()


@_method(*BOTH)
def __deepcopy__(self: Any, memo: dict[Any, Any]) -> Any:
    untyped = self.untyped()
    copied = memo.setdefault("tapegrad", {})
    if untyped._cdata not in copied:
        copied[untyped._cdata] = untyped.clone()
    again = copied[untyped._cdata]
    return again if self is untyped else TypedStorage(wrap_storage=again, dtype=self.dtype)


def rebuild_storage(data: np.ndarray, of: str | None, on: str) -> Any:
    """The storage that was pickled as these bytes, and the name of its dtype if it has one."""
    made = storage_of_host(data, uint8 if of is None else getattr(dtypes, of), device(on))
    return made if of is None else TypedStorage(wrap_storage=made, dtype=getattr(dtypes, of))


rebuild_storage.__module__ = "tapegrad.storage"  # as pickles name it, wherever it is


@_method(*BOTH)
def __reduce__(self: Any) -> tuple:
    untyped = self.untyped()
    of = None if self is untyped else self.dtype.name
    return rebuild_storage, (np.array(host_bytes(untyped)), of, str(self.device))


# What is asked of them ------------------------------------------------------------------------------------------------


@_method(*BOTH)
def get_device(self: Any) -> Any:
    """The number of the GPU on which the memory is, as far as its device has one."""
    return self.device.index


@_method(*BOTH)
def resizable(self: Any) -> bool:
    """Tell whether it can be given another size."""
    return self.untyped().storage not in _files


@_method(*BOTH)
def is_pinned(self: Any, device: Any = None) -> bool:
    """False: memory of the host is not pinned here."""
    return False


@_method(*BOTH)
def is_shared(self: Any) -> bool:
    """Tell whether the memory is a GPU's, lies in a file, or was to be shared with other processes."""
    storage = self.untyped().storage
    return self.is_cuda or storage in _shared or storage in _files


@_method(*BOTH)
def share_memory_(self: Any) -> Any:
    """The storage itself: queues to other processes copy what they are given."""
    if self.device.type == "cpu":
        _shared.add(self.untyped().storage)
    return self


@public("Tensor", name="is_shared")
def is_tensor_shared(self: Tensor) -> bool:
    """Tell whether the memory is a GPU's, lies in a file, or was to be shared with other processes.

    >>> x = torch.ones(2)
    >>> x.is_shared(), x.share_memory_().is_shared()
    (False, True)
    """
    refuse_memory(self)
    return self.device is not META and untyped_storage(self).is_shared()


@public("Tensor", name="share_memory_")
def share_memory_of_tensor_(self: Tensor) -> Tensor:
    """The tensor itself: queues to other processes copy what they are given.

    Raises:
        RuntimeError: there is no memory at all, on the device ``meta``.
    """
    refuse_memory(self)
    if self.device is META:
        raise RuntimeError("_share_fd_: only available on CPU")
    untyped_storage(self).share_memory_()
    return self


def _filename(self: Any) -> str | None:
    """The name of the file in which the memory lies; None if it lies in none."""
    return _files.get(self.untyped().storage, (None,))[0]


for _cls in BOTH:
    _method(_cls, name="filename")(property(_filename))
    for _name in ("is_sparse", "is_hpu", *["is_sparse_csr"] * (_cls is UntypedStorage)):
        _method(_cls, name=_name)(False)
for _name, _called in {
    "_size": "size", "_nbytes": "nbytes", "_element_size": "element_size", "_data_ptr": "data_ptr",
    "_resize_": "resize_", "_setitem": "__setitem__", "_getitem": "__getitem__", "_is_shared": "is_shared",
    "_share_memory_": "share_memory_", "_pickle_storage_type": "pickle_storage_type", "_deepcopy": "__deepcopy__",
}.items():  # fmt: skip
    _method(TypedStorage, name=_name)(getattr(TypedStorage, _called))
_method(TypedStorage, name="_cdata")(property(lambda self: self.untyped()._cdata))


# Files and buffers ----------------------------------------------------------------------------------------------------


def tensor_of_file(filename: Any, shared: bool, count: int, of: dtype_class) -> Tensor:
    """A row of the first elements of a file.

    Args:
        filename: its path.
        shared: whether what is written to the tensor is written to the file, which is made, or made longer, if need be.
        count: of how many elements.
        of: their dtype.

    Raises:
        RuntimeError: there is no such file, or it has fewer bytes.
    """
    nbytes = count * of.itemsize
    if shared and nbytes:
        with open(filename, "r+b" if os.path.exists(filename) else "w+b") as file:
            if os.path.getsize(filename) < nbytes:
                file.truncate(nbytes)
    try:
        size = os.stat(filename).st_size
    except OSError as error:
        reason = f"{error.strerror} ({error.errno})"
        raise RuntimeError(f"unable to open file <{filename}> in read-only mode: {reason}") from None
    if size < nbytes:
        raise RuntimeError(f"file <{filename}> size <{size}> is smaller than the required mapping size <{nbytes}>")
    if not nbytes:
        return tensor_on(np.zeros(0, of.numpy))
    data = np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,))
    made = tensor_on(np.asarray(data).view(of.numpy))
    if shared:
        _files[storage_of(made)] = str(filename), data
    return made


def from_file(filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
    """The first bytes of a file.

    Args:
        filename: its path.
        shared: whether what is written to the storage is written to the file, which is made, or made longer, if need
            be.
        nbytes: how many bytes.

    Raises:
        RuntimeError: there is no such file, or it has fewer bytes.
    """
    return untyped_storage(tensor_of_file(filename, shared, nbytes, uint8))


def typed_from_file(cls: Any, filename: Any, shared: bool, size: int = 0) -> TypedStorage:
    """The first elements of a file, of a class of one dtype.

    Args:
        filename: its path.
        shared: whether what is written to the storage is written to the file; see ``UntypedStorage.from_file``.
        size: how many elements.

    Raises:
        RuntimeError: the class is that of all dtypes; there is no such file, or it is too short.
    """
    if cls is TypedStorage:
        raise RuntimeError("from_file can only be called on derived classes")
    return typed_storage(tensor_of_file(filename, shared, size, cls.dtype))


def typed_from_buffer(
    cls: Any, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0
) -> TypedStorage:
    """The elements in an object with a buffer, copied.

    Args:
        buffer: the object.
        byte_order: ``"native"``, ``"little"`` or ``"big"``.
        count: how many elements; -1: all.
        offset: how many bytes are before them.
    """
    data = np.frombuffer(buffer, np.uint8, offset=offset)
    data = data[: count * cls.dtype.itemsize] if count >= 0 else data
    made = storage_of_host(data.copy(), cls.dtype, device("cpu"))
    if byte_order not in (None, "native", sys.byteorder) and cls.dtype.itemsize > 1:
        byteswap(made, cls.dtype)
    return TypedStorage(wrap_storage=made, dtype=cls.dtype)


_method(UntypedStorage, name="from_file")(staticmethod(from_file))
_method(TypedStorage, name="from_file")(classmethod(typed_from_file))
_method(_Legacy, name="from_file")(typed_from_file)
_method(_Legacy, name="from_buffer")(typed_from_buffer)
