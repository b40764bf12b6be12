"""Storages as programs see them: ``untyped_storage()``, a row of bytes, and ``storage()``, a row of elements."""

from __future__ import annotations

import copyreg
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tapegrad._src.bindings.declaration.factory import is_integer, type_name
from tapegrad._src.bindings.declaration.handing import overrides
from tapegrad._src.bindings.declaration.registry import NAMESPACES, public
from tapegrad._src.bindings.state.attributes import LEGACY_DTYPES
from tapegrad._src.bindings.viewing import geometry_of
from tapegrad._src.declaring import on_demand
from tapegrad._src.execution.array_functions.host import filled, from_host, resolve, to_host
from tapegrad._src.execution.array_functions.windows import CONJUGATED, NEGATED, read_window
from tapegrad._src.execution.data.devices import META, device, device_of, get_default_device
from tapegrad._src.execution.data.dtypes import complex32, float16, get_default_dtype, uint8
from tapegrad._src.execution.data.dtypes import dtype as dtype_class
from tapegrad._src.execution.recording.execution_mode import is_recording
from tapegrad._src.execution.tiers.xla_copies import is_xla_readable
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.geometry import Geometry
from tapegrad._src.tensor.placing import address_of, nbytes_of, resize_memory, set_memory
from tapegrad._src.tensor.refusals import refuse_memory
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.storage import Counter, Storage
from tapegrad._src.tensor.tensor import Tensor, mark_written, memory_layout, new_tensor, storage_of, wrap
from tapegrad.errors import WarnOnce

_handles: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()
"""By the storage's serial, the object that stands for it, so that there is one only."""


def storage_of_dtype(count: int, d: dtype_class, on: device) -> Storage:
    """A new memory of so many elements, which are zero."""
    storage = Storage(filled((count,), 0, d, on))
    mark_written(storage)
    return storage


def shown(storage: Storage, d: dtype_class) -> Tensor:
    """The elements of a memory, as far as there are whole ones; writing to them is not counted elsewhere."""
    if d is complex32:
        halves = shown(storage, float16)
        return halves[: halves.shape[0] // 2 * 2].view(-1, 2).view_as_complex()
    spot = Geometry((nbytes_of(storage) // d.itemsize,), (1,))
    tensor = set_memory(wrap(None, Spec.of(spot.shape, d, device_of(storage.value))), storage, spot, d)
    tensor._counter = Counter()
    return tensor


class UntypedStorage:
    """The memory of one or several tensors, as bytes.

    ``UntypedStorage(8)`` is new memory; that of a tensor is ``x.untyped_storage()``.

    Args:
        size: how many bytes, or a sequence of them.
        device: where it is.

    Raises:
        RuntimeError: an item of the sequence is no integer.

    >>> x = torch.zeros(2)
    >>> x.untyped_storage().nbytes(), x[1:].untyped_storage() is x.untyped_storage()
    (8, True)
    """

    __module__ = "tapegrad.storage"
    __slots__ = ("storage", "__weakref__")

    storage: Storage

    def __init__(self, size: Any = 0, *, device: Any = None) -> None:
        on = resolve(get_default_device() if device is None else device_named(device))
        if not isinstance(size, int):
            for byte in size:
                if not is_integer(byte):
                    raise RuntimeError(
                        f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type_name(size)}), "
                        f"but one of the items was of type {type_name(byte)} instead of int"
                    )
        self.storage = storage_of_dtype(size if isinstance(size, int) else len(size), uint8, on)
        if not isinstance(size, int):
            for index, byte in enumerate(size):
                self[index] = byte
        _handles[self.storage.serial] = self

    @property
    def bytes(self) -> Any:
        """The bytes as a tensor, which shows this memory."""
        return shown(self.storage, uint8)

    def nbytes(self) -> int:
        """The number of bytes."""
        return nbytes_of(self.storage)

    size = __len__ = nbytes

    def data_ptr(self) -> int:
        """The address of the first byte: it tells who shares memory with whom, and stays the same."""
        return address_of(self.storage)

    @property
    def _cdata(self) -> int:
        return self.storage.serial

    @property
    def device(self) -> device:
        """The device of the memory."""
        return device_of(self.storage.value)

    @property
    def is_cuda(self) -> bool:
        """True if it is a GPU's."""
        return self.device.type == "cuda"

    def element_size(self) -> int:
        """1: elements are bytes."""
        return 1

    def resize_(self, size: int) -> UntypedStorage:
        """Give the memory another size in bytes, for all tensors that show it; new bytes are zero.

        Raises:
            RuntimeError: a negative size.
        """
        if size < 0:
            raise RuntimeError(f"Expected size to be nonnegative, got {size}")
        if size != self.nbytes():
            resize_memory(self.storage, size)
        return self

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
            return _copy_of(self.bytes[index])
        if not is_integer(index):
            raise TypeError(f"can't index a torch.UntypedStorage with {type_name(index)}")
        return self.bytes[_position(index, self.nbytes())].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice) and not is_integer(index):
            raise RuntimeError(f"can't index a torch.UntypedStorage with {type_name(index)}")
        if not is_integer(value):
            raise RuntimeError(f"can only set storage content with a int types, but got {type_name(value)} instead")
        if not isinstance(index, slice) and not -self.nbytes() <= index < self.nbytes():
            raise RuntimeError("out of bounds")
        self.bytes[index] = value % 256

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """The bytes as Python ints."""
        return self.bytes.tolist()

    def fill_(self, value: int) -> UntypedStorage:
        """Replace every byte."""
        self.bytes.fill_(value % 256)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """Replace the bytes by those of another storage.

        Args:
            source: the other storage, of as many bytes.
        """
        self.bytes.copy_(source.untyped().bytes)
        return self

    def clone(self) -> UntypedStorage:
        """A copy."""
        return _copy_of(self.bytes)

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """The storage itself if it is on this device, else a copy that is."""
        on = resolve(device_named(device))
        return self if on is self.device else storage_of_host(host_bytes(self), uint8, on)

    def cpu(self) -> UntypedStorage:
        """The storage itself if it is on the CPU, else a copy that is."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """The storage itself if it is on this GPU, or on any if none is named; else a copy on it."""
        return self.to(device=f"cuda:{device}" if isinstance(device, int) else device or "cuda")

    def __repr__(self) -> str:
        return f"{_lines(self)}[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def host_bytes(storage: UntypedStorage) -> np.ndarray:
    """All bytes of a storage, as a read-only array on the host. Raises NotImplementedError: it is on ``meta``."""
    memory = storage.storage
    value = memory.value
    if memory.strides is not None:
        value = read_window(value, memory_layout(memory), (value.size,), (1,), 0, value.dtype, 0)
    return np.ascontiguousarray(to_host(value)).reshape(-1).view(np.uint8)


def _outside(value: Any, spec: Spec) -> Tensor:
    """A new leaf, outside of all transforms that are running; in inference mode an inference tensor."""
    return wrap(value, spec.replace(inference=True) if thread.modes.inference else spec)


def storage_of_host(data: np.ndarray, d: dtype_class, on: device) -> UntypedStorage:
    """A new storage with these bytes, to which nobody writes any more.

    Args:
        data: a row of bytes; on ``meta`` only how many there are matters.
        d: what they will be read as, if they are a whole number of elements.
    """
    d = uint8 if data.size % d.itemsize else float16 if d is complex32 else d
    elements = data.view(d.numpy)
    is_value = on.is_host and not is_recording() and is_xla_readable(elements)
    value = elements if is_value else from_host(elements, on)
    return untyped_storage(_outside(value, Spec.of(elements.shape, d, on)))


def fill_storage(storage: UntypedStorage, data: np.ndarray, d: dtype_class) -> None:
    """Put other bytes, as many, into a storage that nobody has read yet; that is not counted as a write."""
    storage.storage.replace(storage_of_host(data, d, storage.device).storage.value)


__getattr__, _ = on_demand(__name__, {})


def tensor_on(
    storage: UntypedStorage, d: dtype_class, geometry: Geometry, requires_grad: bool = False,
    conj: bool = False, neg: bool = False,
) -> Tensor:  # fmt: skip
    """A leaf that shows a part of a storage. The caller has seen that the part lies inside.

    ``conj``, ``neg``: whether it shows the conjugates, or the negatives, of what is there.
    """
    if d is complex32:
        return __getattr__("shown_on")(storage, geometry, requires_grad, conj)
    shown = _outside(None, Spec.of((0,), d, storage.device, requires_grad))
    return set_memory(shown, storage.storage, geometry, d, CONJUGATED * conj + NEGATED * neg)


def placed_as(cls: type, tensor: Tensor, requires_grad: bool) -> Any:
    """A leaf of another class that shows the same part of a storage as a tensor; nothing is read."""
    made: Any = new_tensor(cls)
    spec = _outside(None, Spec.of((0,), tensor.dtype, tensor.device, requires_grad))._spec
    made._value, made._spec, made._edge = None, spec.replace(overrides=overrides(cls)), None
    return set_memory(made, storage_of(tensor), geometry_of(tensor), tensor.dtype, tensor._view_bits)


def _lines(storage: UntypedStorage | TypedStorage) -> str:
    if storage.device is META:
        return "...\n"
    return " " + "\n ".join(map(str, storage.tolist())) + "\n"


def _copy_of(part: Tensor) -> UntypedStorage:
    return untyped_storage(part.clone())


def _position(index: int, count: int) -> int:
    """An index into a storage, counted from the beginning. Raises IndexError: out of range."""
    if not -count <= index < count:
        raise IndexError(f"index {index} out of range for storage of size {count}")
    return index % count


def device_named(given: Any) -> device:
    """A device by its name, or itself."""
    return given if isinstance(given, device) else device(given)


_LEAVING = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
    "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)
_warn_once = WarnOnce()  # PyTorch warns of this in Python, where set_warn_always does not count


def _misused(why: str) -> str:
    forms = ("*, torch.device device", "int size, *, torch.device device", "Sequence data, *, torch.device device",
             "*, UntypedStorage wrap_storage")  # fmt: skip
    lines = "".join(f"\n * ({form}, torch.dtype dtype)" for form in forms)
    return f"TypedStorage.__init__ received an invalid combination of arguments. Expected one of:{lines}\n{why}"


def _wrapped(args: tuple, wrapped: Any, dtype: Any, device: Any) -> UntypedStorage:
    """The bytes of which a typed storage is made, if that is all that is given besides their dtype."""
    if args:
        raise RuntimeError(_misused("No positional arguments should be given when using 'wrap_storage'"))
    if dtype is None:
        raise RuntimeError(_misused("Argument 'dtype' must be specified"))
    if not isinstance(dtype, dtype_class):
        raise TypeError(_misused(f"Argument 'dtype' must be torch.dtype, not {type(dtype)}"))
    if device is not None:
        raise RuntimeError(_misused("Argument 'device' should not be specified when 'wrap_storage' is given"))
    if not isinstance(wrapped, UntypedStorage):
        raise TypeError(_misused(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrapped)}"))
    return wrapped


def _of_elements(elements: Sequence, of: dtype_class, on: device) -> UntypedStorage:
    if isinstance(elements, str):
        raise TypeError("new(): invalid data type 'str'")
    array = np.array(elements, of.numpy)
    return untyped_storage(wrap(from_host(array, on), Spec.of(array.shape, of, on)))


class TypedStorage:
    """The memory of a tensor, as elements of its dtype. PyTorch means to remove it: use ``untyped_storage()``.

    Args:
        args: a number of elements, or a sequence of them; nothing for none.
        wrap_storage: the bytes, instead; then ``dtype`` must be given.
        dtype: the default one, if None.
        device: where new memory is.

    Raises:
        TypeError, RuntimeError: PyTorch's message about other arguments.

    >>> torch.TypedStorage([1, 2], dtype=torch.float64).tolist()
    [1.0, 2.0]
    """

    __module__ = "tapegrad.storage"
    __slots__ = ("_untyped_storage", "dtype")

    dtype: dtype_class

    def __init__(
        self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, _internal: bool = False
    ) -> None:
        if wrap_storage is not None:
            self._untyped_storage, self.dtype = _wrapped(args, wrap_storage, dtype, device), dtype
            return
        if len(args) > 1:
            raise RuntimeError(_misused("Too many positional arguments"))
        self.dtype = get_default_dtype() if dtype is None else dtype
        on = resolve(get_default_device() if device is None else device_named(device))
        if args and not is_integer(args[0]):
            if not isinstance(args[0], Sequence):
                raise TypeError(_misused(f"Argument type not recognized: {type(args[0])}"))
            self._untyped_storage = _of_elements(args[0], self.dtype, on)
        else:
            self._untyped_storage = UntypedStorage(args[0] * self.dtype.itemsize if args else 0, device=on)

    @property
    def elements(self) -> Any:
        """The elements as a tensor, which shows this memory."""
        return shown(self._untyped_storage.storage, self.dtype)

    def untyped(self) -> UntypedStorage:
        """The same memory, as bytes."""
        return self._untyped_storage

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def element_size(self) -> int:
        """The number of bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    @property
    def device(self) -> device:
        """The device of the memory."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """True if it is a GPU's."""
        return self._untyped_storage.is_cuda

    def resize_(self, size: int) -> TypedStorage:
        """Give the memory another size in elements, for all tensors that show it; new elements are zero."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self.elements[self._index(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self.elements[index if isinstance(index, slice) else self._index(index)] = value

    def _index(self, index: Any) -> int:
        if not is_integer(index):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        return _position(index, self.size())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self.elements.tolist()

    def fill_(self, value: Any) -> TypedStorage:
        """Replace every element."""
        self.elements.fill_(value)
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """Replace the elements by those of another storage.

        Args:
            source: the other storage, of as many elements.
        """
        self.elements.copy_(source.elements)
        return self

    def clone(self) -> TypedStorage:
        """A copy."""
        return typed_storage(self.elements.clone())

    def pickle_storage_type(self) -> str:
        """The name of the old class of storages of this dtype."""
        return next(f"{name}Storage" for name, d in LEGACY_DTYPES.items() if d is self.dtype)

    def __repr__(self) -> str:
        described = f"dtype={self.dtype}, device={self.device}"
        return f"{_lines(self)}[torch.storage.TypedStorage({described}) of size {self.size()}]"


@public("Tensor")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory of this tensor, as bytes; the same object for all tensors that share it."""
    refuse_memory(self)
    storage = storage_of(self)
    handle = _handles.get(storage.serial)
    if handle is None:
        handle = object.__new__(UntypedStorage)
        handle.storage = storage
        handle = _handles.setdefault(storage.serial, handle)
    return handle


def typed_storage(tensor: Tensor) -> TypedStorage:
    """The memory of a tensor, as elements of its dtype."""
    return TypedStorage(wrap_storage=untyped_storage(tensor), dtype=tensor.dtype)


@public("Tensor")
def storage(self: Tensor) -> TypedStorage:
    """The memory of this tensor, as elements of its dtype. Deprecated in favour of ``untyped_storage()``."""
    _warn_once(_LEAVING)
    return typed_storage(self)


@public("torch")
def is_storage(obj: Any, /) -> bool:
    """Tell whether ``obj`` is a storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


@public("Tensor")
def _typed_storage(self: Tensor) -> TypedStorage:
    """``storage()``, without its warning."""
    return typed_storage(self)


@public("Tensor")
def storage_type(self: Tensor) -> Any:
    """The class of the storages of this dtype.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):  # that typed storages will leave
    ...     print(torch.ones(2).storage_type())
    <class 'torch.FloatStorage'>
    """
    _warn_once(_LEAVING)
    return NAMESPACES["torch"][next(f"{name}Storage" for name, dtype in LEGACY_DTYPES.items() if dtype is self.dtype)]


class _Legacy(type):
    """The classes ``FloatStorage``, ``LongStorage``, ...: their instances are the typed storages of a dtype."""

    dtype: dtype_class

    def _misuse(cls, why: str) -> RuntimeError:
        return RuntimeError(
            f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments"
            f"\n * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n{why}"
        )

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def _from_buffer(cls, data: Any, *, dtype: Any = None, device: Any = None) -> TypedStorage:
        """A storage with the bytes of a buffer, as elements of the dtype."""
        array, on = np.frombuffer(data, cls.dtype.numpy).copy(), resolve(device_named(device or "cpu"))
        memory = untyped_storage(wrap(from_host(array, on), Spec.of(array.shape, cls.dtype, on)))
        return TypedStorage(wrap_storage=memory, dtype=cls.dtype)

    def __call__(cls, *args: Any, wrap_storage: UntypedStorage | None = None, **others: Any) -> TypedStorage:
        """A storage of so many elements, of these elements, or of these bytes."""
        _warn_once(_LEAVING)
        for name in ("dtype", "device"):
            if name in others:
                raise cls._misuse(f"Keyword argument '{name}' cannot be specified")
        if wrap_storage is not None and args:
            raise cls._misuse("No positional arguments should be given when using 'wrap_storage'")
        if len(args) > 1:
            raise cls._misuse("Too many positional arguments")
        if args and not is_integer(args[0]):
            if not isinstance(args[0], Sequence):
                raise TypeError(str(cls._misuse(f"Argument type not recognized: {type(args[0])}")))
            return TypedStorage(args[0], dtype=cls.dtype, device="cpu")
        memory = UntypedStorage(args[0] * cls.dtype.itemsize if args else 0) if wrap_storage is None else wrap_storage
        return TypedStorage(wrap_storage=memory, dtype=cls.dtype)


def legacy(name: str) -> Any:
    """The class of that name."""
    return NAMESPACES["torch"][name]


copyreg.pickle(_Legacy, lambda cls: (legacy, (cls.__name__,)))
NAMESPACES.setdefault("torch", {}).update(
    StorageBase=UntypedStorage, UntypedStorage=UntypedStorage, TypedStorage=TypedStorage
)
for _name, _dtype in LEGACY_DTYPES.items():
    _says = {"dtype": _dtype, "__module__": "torch", "__doc__": f"The typed storages of {_dtype}: deprecated."}
    NAMESPACES["torch"][f"{_name}Storage"] = _Legacy(f"{_name}Storage", (), _says)
NAMESPACES["torch"]["Storage"] = NAMESPACES["torch"]["FloatStorage"]
