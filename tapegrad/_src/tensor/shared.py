"""``SharedStorage``: memory that a NumPy array shows, too, and that may change at any time.

Note [Memory that NumPy sees]
``numpy()``, ``from_numpy`` and their relatives share memory, as in PyTorch. A storage whose memory others see is a
``SharedStorage``: it becomes one by ``share_memory``, and an ordinary one again when nobody else holds the memory. In
the slot of its value lies a ``SharedBuffer``. All else of it is as Note [Memory that is shared] in ``storage.py`` has
it, so that tensors on other memory pay nothing:

- *Reading* ``value`` gives a snapshot, a value of its own: so values are immutable here, too, and whoever has read one
  keeps what was there when PyTorch's operator would have read it: a program that is deferred, a node, XLA. Two
  snapshots between which nothing has changed are the same object as long as somebody holds the first.
- *An operator* that is run at once by NumPy reads the memory where it lies (``operand``), so that ``x[index]`` does not
  cost what all of ``x`` does; results that would lie in it are copied (``Borrowed`` in
  ``execution/tiers/xla_copies.py``). Views are not read before somebody asks.
- *Its data_version* never is the same, so that whoever shows a part reads it again each time.
- *Writing* puts elements into the buffer, at once, for whoever holds the array may look: what is deferred is computed
  first. Of a part of it only that part is written. What NumPy writes is not counted, as in PyTorch.
- *A compiled step* reads the memory anew at each call. What it writes is put there when its program has been run; while
  it is captured the storage is withheld, an ordinary one (``withhold``). If it reaches an array of NumPy's, or nobody
  knows what it reaches, it is split at the write, as where elements are read.
- *Autograd* saves of shared memory what is there then (``held`` in ``dispatch/nodes/saved_tensor.py``); PyTorch uses
  what NumPy has written since, without a word. What it saved before the memory was shared is read as in PyTorch. A
  write through a tensor is an error in backward, as ever.
- *Nobody else holds it* when reference counts say so: views of NumPy's refer to the array that owns the memory. The
  next read finds that out, if there are no other threads, and makes the storage an ordinary one, whose value the array
  is; an unwritten one, with plain members, if no tensor has written to it. So it is where a compiled step begins: that
  a parameter was looked at in the meantime does not make it run its Python.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import islice
from math import nan
from sys import getrefcount
from typing import Any

import numpy as np

from tapegrad._src.execution.array_functions.host import is_given_away, is_traced, own_value, to_host
from tapegrad._src.execution.array_functions.windows import CONJUGATED, NEGATED
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.execution.recording.execution_mode import is_recording
from tapegrad._src.execution.tiers.settings import hosted
from tapegrad._src.execution.tiers.xla_copies import Borrowed, forget_xla_copy
from tapegrad._src.tape.modes import alone
from tapegrad._src.tensor.geometry import contiguous_strides
from tapegrad._src.tensor.storage import InferenceStorage, Storage
from tapegrad.errors import message

Ints = tuple[int, ...]

_COPIED = 1 << 15  # bytes: up to here a copy costs nothing
_ASKED = 64  # storages, or members of one, that are asked each time
_TAKEN = 3  # what getrefcount says in ``taken`` of an array that only the storage has
_FREE = 4  # what it says in ``is_free`` of one to which only the two arrays of a buffer refer


class SharedBuffer:
    """Memory on the host that others see.

    Attributes:
        array: all of it, as the storage's value would be; nobody else has this array.
        row: its bytes, from the first to the last.
        on: the device that its tensors name.
        shape, dtype, size, nbytes: those of ``array``.
        seen: gives the last snapshot, if somebody holds it still.
    """

    __slots__ = ("array", "row", "on", "shape", "dtype", "size", "nbytes", "seen")

    def __init__(self, row: np.ndarray, shape: Ints, strides: Ints, dtype: np.dtype, on: device) -> None:
        self.row, self.on = row, on
        self.array = self.part(shape, strides, 0, dtype)
        self.shape, self.dtype, self.size, self.nbytes = shape, dtype, self.array.size, self.array.nbytes
        self.seen: Callable[[], Any] = lambda: None

    def part(self, shape: Ints, strides: Ints, offset: int, dtype: np.dtype) -> np.ndarray:
        """The part that lies there, as an array that shares it; strides and offset count elements of this dtype."""
        unit = dtype.itemsize
        if 0 in shape:  # it may begin behind the end
            return np.ndarray(shape, dtype)
        return np.ndarray(shape, dtype, self.row, unit * offset, tuple([unit * stride for stride in strides]))

    def shown(self, window: Any) -> Any:
        """The elements that a tensor shows of it now, as a value."""
        spec = window._spec
        elements = self.part(tuple(spec.shape), spec.layout, window._offset, spec.dtype.numpy).copy()
        if window._view_bits & CONJUGATED:
            np.conjugate(elements, elements)
        if window._view_bits & NEGATED:
            np.negative(elements, elements)
        return own_value(elements, self.on)

    @property
    def address(self) -> int:
        """The address at which it begins."""
        return self.row.ctypes.data

    def snapshot(self) -> Any:
        """A value with its elements as they are now."""
        last = self.seen()
        if last is None or is_given_away(last) or not same_bits(self.array, np.asarray(last)):
            last = own_value(self.array.copy(), self.on)
            self.seen = weakref.ref(last)
        return last

    def is_free(self, storage: Storage) -> bool:
        """Tell whether nobody but a storage, and its members, can see it, for sure."""
        owner = self.row.base
        if type(owner) is not np.ndarray or owner.base is not None or not alone():
            return False
        if getrefcount(owner) > _FREE and getrefcount(owner) - kept_by_members(storage, owner) > _FREE:
            return False
        return owner.flags.owndata and not weakref.getweakrefcount(owner)

    def freed(self) -> Any:
        """Its value when nobody else sees it: the array itself, if it can be one."""
        owner: Any = self.row.base
        fits = owner.shape == self.shape and owner.dtype == self.dtype and owner.strides == self.array.strides
        array = owner if fits and owner.flags.c_contiguous else self.array.copy()
        return array if hosted() else own_value(array, self.on)

    def borrowed(self, array: np.ndarray) -> Any:
        """A part of it for a call that is made now: a copy, if that costs less than to watch where results lie."""
        return array.copy() if array.nbytes <= _COPIED else array.view(Borrowed)


class SharedStorage(Storage):
    """Memory that others see. See Note [Memory that NumPy sees].

    It counts as written, and nothing of it has another size than at first.
    """

    __slots__ = ()

    shared = True

    @property
    def value(self) -> Any:
        """All of it as it is now: nobody changes what is given."""
        if capturing.by is not None or not self.is_released():
            return self.memory.snapshot()
        return self.memory

    @value.setter
    def value(self, value: Any) -> None:
        """Write to all of it; the last step does that, and nothing is called after it."""
        buffer = self.memory
        if type(buffer) is SharedBuffer:
            elements, array = elements_of(value), buffer.array
            array[...] = elements
        else:
            self.memory = value

    @property
    def operand(self) -> Any:
        """All of it, for a call that is made now: the host may read it where it lies."""
        if is_recording() or not hosted() or self.is_released():
            return self.value
        return self.memory.borrowed(self.memory.array)

    def is_released(self) -> bool:
        """Make it an ordinary storage again, if nobody else holds the memory, and say whether it is one."""
        buffer = self.memory
        if type(buffer) is SharedBuffer:
            if not buffer.is_free(self):
                return False
            self.memory = buffer.freed()
        shared_now.pop(self.serial, None)
        written, ordinary = self.writes, ORDINARY[type(self)]
        self.writes += 1  # whoever shows a part reads it again
        self.__class__ = ordinary
        if type(buffer) is SharedBuffer and not written:
            _make_unwritten(self, buffer)
        return True

    @property
    def data_version(self) -> float:  # type: ignore[override]
        """Never the same as another one: NumPy does not tell when it writes."""
        return nan

    def _let_go(self) -> None:
        """Let members not keep what was written over, once that is safe. They read again in any case."""
        if self.writes > 1:
            super()._let_go()


def _make_unwritten(storage: Storage, buffer: SharedBuffer) -> None:
    """Let members be plain again, and have values of their own, if no tensor ever wrote to the memory."""
    counter, members = storage.counter, list(storage.living())
    if counter.version or counter.astray or len(members) > _ASKED:
        return
    if any(member._counter is not None or member._detached_from_outside for member in members):
        return
    values = [buffer.shown(member) if member._spec.window else storage.memory for member in members]
    for member, value in zip(members, values, strict=True):
        member._value = value
    storage.written, storage.writes = False, 0  # if this is interrupted, the next write counts as the first
    for member in members:
        member._spec = member._spec.replace(plain=True, window=False)


class SharedInferenceStorage(SharedStorage, InferenceStorage):
    """The memory of an inference tensor that others see."""

    __slots__ = ()


ORDINARY: dict[type, Any] = {SharedStorage: Storage, SharedInferenceStorage: InferenceStorage}
SHARED: dict[type, Any] = {ordinary: shared for shared, ordinary in ORDINARY.items()}


shared_now: dict[int, weakref.ref[Storage]] = {}
"""By their serials, the storages whose memory others see, as far as is known."""


def elements_of(value: Any) -> np.ndarray:
    """The elements that are to be written where NumPy sees them, computed now.
    Raises RuntimeError: jax traces what computes it: there are no elements then.
    """
    if is_traced(value):
        raise RuntimeError(message(
            "a function that jax traces can't write to memory that is shared with NumPy",
            hint="write to a clone() of the tensor, or let go of the NumPy array that shows it",
        ))  # fmt: skip
    return to_host(value)


def replace_part(
    storage: Storage, value: Any, strides: Ints, offset: int, dtype: np.dtype, view_bits: int = 0
) -> None:  # fmt: skip
    """Write to what a window shows of shared memory, and to nothing else; the caller counts the write."""
    if storage.watcher is not None:
        storage.watcher(storage)
    elements, buffer = elements_of(value), storage.memory
    if view_bits & CONJUGATED:
        elements = elements.conj()
    if view_bits & NEGATED:
        elements = -elements
    part = buffer.part(elements.shape, strides, offset, dtype)
    part[...] = elements
    storage.writes += 1


def borrowed_part(storage: Storage, shape: Ints, strides: Ints, offset: int, dtype: np.dtype) -> Any:
    """The part of shared memory that a window shows, for a call that is made now; None if it has to be read."""
    if is_recording() or not hosted() or not is_shared(storage):
        return None
    return storage.memory.borrowed(storage.memory.part(shape, strides, offset, dtype))


def is_shared(storage: Storage | None) -> bool:
    """Tell whether others see a memory, as far as is known."""
    return storage is not None and storage.shared and type(storage.memory) is SharedBuffer


def share_memory(storage: Storage, buffer: SharedBuffer) -> None:
    """Let a storage, which counts as written, have its elements where others see them. They are there already."""
    shared = SHARED.get(type(storage), type(storage))
    serial = storage.serial
    forget = shared_now.pop  # at the end of the process this module's names are gone before storages are
    shared_now[serial] = weakref.ref(storage, lambda gone: forget(serial, None))
    storage.memory, storage.fixed = buffer, True
    storage.__class__ = shared


def withhold(storage: Storage) -> None:
    """While a step is captured that is going to write: let a storage be an ordinary one until the step has run.

    So it is where nothing that the step reaches could look at the memory meanwhile.
    """
    value, ordinary = storage.memory.snapshot(), ORDINARY[type(storage)]
    if capturing.by is not None and capturing.by.withhold(storage):
        storage.memory = value
        storage.__class__ = ordinary


def give_back(storage: Storage, buffer: SharedBuffer, *, written: bool = True) -> None:
    """Let a storage that was withheld have its elements where others see them again; ``written``: what it has now."""
    if not is_shared(storage):
        if written:
            elements = to_host(storage.value)
            buffer.array[...] = elements
        share_memory(storage, buffer)


def release_shared() -> None:
    """Make storages ordinary ones again of which nobody else holds the memory: of those that were shared last."""
    for reference in list(islice(reversed(shared_now.values()), _ASKED)):
        storage = reference()
        if storage is not None and storage.shared:
            storage.is_released()  # type: ignore[attr-defined]


def copied(array: np.ndarray, strides: Ints | None, on: device) -> SharedBuffer:
    """A new buffer with the elements of an array, in an order in memory."""
    row, steps = np.empty(array.size, array.dtype), strides or contiguous_strides(array.shape)
    buffer = SharedBuffer(bytes_of(row), array.shape, steps, array.dtype, on)
    buffer.array[...] = array
    return buffer


def taken(storage: Storage, on: device) -> SharedBuffer | None:
    """A buffer in which the storage's value itself lies, if nobody but the storage has that; else None."""
    value = storage.memory
    if type(value) is not np.ndarray or value.base is not None or storage.strides is not None:
        return None
    forget_xla_copy(value)
    if getrefcount(value) > _TAKEN and getrefcount(value) - kept_by_members(storage, value) > _TAKEN:
        return None
    if weakref.getweakrefcount(value):
        return None
    if not (value.flags.owndata and value.flags.writeable and value.flags.c_contiguous and alone()):
        return None
    return SharedBuffer(bytes_of(value), value.shape, contiguous_strides(value.shape), value.dtype, on)


def kept_by_members(storage: Storage, array: np.ndarray) -> int:
    """The number of members that keep an array, or a part of it, as what they showed before they read through the
    storage.

    Where there are many, a read can't afford to ask them all.
    """
    kept = 0
    for reference in storage.members if len(storage.members) <= _ASKED else ():
        member = reference()
        value = None if member is None or member._storage is not storage else member._value
        kept += value is array or (type(value) is np.ndarray and value.base is array)
    return kept


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The bytes of a row-major array, which they share memory with."""
    return array.reshape(-1).view(np.uint8)


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Tell whether two arrays of one shape and dtype have the same bits.

    >>> same_bits(np.array([0.0, np.nan]), np.array([0.0, np.nan])), same_bits(np.array(0.0), np.array(-0.0))
    (True, False)
    """
    if one.dtype.kind == "c":
        return same_bits(one.real, other.real) and same_bits(one.imag, other.imag)
    bits = f"u{one.dtype.itemsize}"
    return bool((one.view(bits) == other.view(bits)).all())
