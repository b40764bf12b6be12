"""Many small tensors, put behind one another to be computed with at once.

Note [Fused updates]
An elementwise update of ten thousand small tensors is ten thousand times the cost of a call, ten times over, and nearly
nothing of it is arithmetic. So their elements are put into one array (``FlatBuffer``), the update is computed on the
array, and each tensor gets its part of the result: one write, which counts as many as if it had been computed alone. It
pays where values are arrays of the host, tensors are small, and nobody watches each call.

The parts of the array are the tensors' values then. The next time nothing has to be put together where they still are,
and nothing has to be taken apart where nobody but the row and the tensors has them, as reference counts tell: the
result is put into the array itself. A node that has saved such a value, say, is somebody else; it keeps what it saved,
and the row begins anew.

A tensor of more than ``LARGEST`` elements has a row of its own, if its whole update is one formula: Note [Updates in
place] in ``execution/array_functions/updates.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from operator import attrgetter, is_
from sys import getrefcount
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tapegrad._src.execution.array_functions.host import from_host, may_look, to_host
from tapegrad._src.execution.recording.execution_mode import is_recording
from tapegrad._src.execution.tiers.settings import hosted
from tapegrad._src.execution.tiers.xla_copies import forget_xla_copies
from tapegrad._src.tape.mechanisms import FUSED_UPDATES
from tapegrad._src.tape.modes import alone, thread
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.storage import Counter, Storage
from tapegrad._src.tensor.tensor import Tensor, counter_of, storage_of, value_of, wrap, write

LARGEST = 4096
"""Elements of a tensor above which it is computed alone: from there on arithmetic costs more than calls do."""


def may_join() -> bool:
    """Tell whether tensors may be computed together now: at once, on the host, where no call is recorded or watched."""
    modes = thread.modes
    watched = modes.intercepted or modes.watched or modes.results_watched or modes.function_modes
    if modes.grad or is_recording() or modes.inference or modes.level or watched or FUSED_UPDATES.off:
        return False
    return may_look() and hosted()


partitions: WeakKeyDictionary[Any, Sequence[Any]] = WeakKeyDictionary()
"""The partition of the parameters of each optimizer at its last step: it is no state of theirs, and may be
forgotten."""


def joined_up_to(optimizer: Any) -> int:
    """Up to how many elements the parameters of an optimizer are updated together, as far as it has been seen."""
    return LARGEST if any(optimizer is one for one in list(partitions)) else 0


def can_join(tensor: Any) -> bool:
    """Tell whether a tensor may be one of a row: small, of real numbers, a plain one, and nobody else's memory."""
    return tensor._spec.numel <= LARGEST and can_be_row(tensor)


def can_be_row(tensor: Any) -> bool:
    """The same, but that it need not be small."""
    storage = tensor._storage
    return may_be_part(tensor._spec) and (storage is None or not storage.shared) and tensor._tangent is None


def may_be_part(spec: Spec) -> bool:
    """``can_be_row``, as far as the spec tells."""
    return (
        spec.strides is None
        and not (spec.window or spec.level or spec.inference or spec.dtype.is_complex or spec.overrides)
        and spec.device.is_host
    )


def have_own_memory(tensors: Sequence[Tensor]) -> bool:
    """Tell whether no two tensors show the same memory."""
    storages = [tensor._storage for tensor in tensors if tensor._storage is not None]
    return len(set(map(id, storages))) == len(storages)


def elements_of(tensors: Sequence[Tensor]) -> np.ndarray:
    """The elements of tensors of one dtype behind one another: an array that nobody else has."""
    values = [value_of(tensor) for tensor in tensors]
    return np.concatenate([value if type(value) is np.ndarray else to_host(value) for value in values], axis=None)


def host_value_of(tensor: Tensor) -> np.ndarray:
    """A tensor's elements, for reading."""
    value = value_of(tensor)
    return value if type(value) is np.ndarray else to_host(value)


def row_tensor(array: np.ndarray, like: Tensor) -> Tensor:
    """A tensor of one dimension with the elements of an array, which the caller does not write to any more."""
    return wrap(from_host(array, like.device), Spec.of(array.shape, like.dtype, like.device))


def parts_of(array: np.ndarray, likes: Sequence[Tensor]) -> Iterator[np.ndarray]:
    """The parts of an array, in the shapes of tensors that were put behind one another."""
    start = 0
    for like in likes:
        spec = like._spec
        part = array[start : start + spec.numel]
        start += spec.numel
        yield part if spec.ndim == 1 else part.reshape(spec.shape)


def parts_made(row: Tensor, likes: Sequence[Tensor]) -> list[Tensor]:
    """New tensors with the parts of a row, in the shapes of others."""
    array = to_host(value_of(row)).copy()
    return [wrap(value, Spec.of(value.shape, row.dtype, row.device)) for value in parts_of(array, likes)]


class FlatBuffer:
    """Tensors of one dtype whose elements lie behind one another. See Note [Fused updates].

    Args:
        tensors: such as ``can_join``, and ``have_own_memory``.
    """

    __slots__ = ("tensors", "_array", "_parts", "_specs", "_storages", "_counters")

    def __init__(self, tensors: list[Tensor]) -> None:
        self.tensors = tensors
        self._array: np.ndarray | None = None
        self._parts: list[np.ndarray] = []
        self._specs: list[Spec] = []
        self._storages: list[Storage] = []
        self._counters: list[Counter] = []

    def is_whole(self) -> bool:
        """Tell whether the tensors have their parts of the array, as when they were ``give``n them."""
        tensors = self.tensors
        return (
            self._array is not None
            and all(map(is_, map(spec_of, tensors), self._specs))
            and all(map(is_, map(_storage_of, tensors), self._storages))
            and all(map(is_, map(_memory_of, self._storages), self._parts))
        )

    def elements(self) -> np.ndarray:
        """The elements of the tensors, behind one another, for reading; the row ``is_whole``, or new."""
        return elements_of(self.tensors) if self._array is None else self._array

    def give(self, elements: np.ndarray, writes: int = 1) -> None:
        """Write to each tensor its part of an array that was computed from ``elements()``; it counts as some writes."""
        if self._array is not None and self._is_alone():
            self._count(writes)
            np.copyto(self._array, elements)  # last: an interrupt before it leaves a version too many, and no harm
        else:
            self._begin(elements.copy(), writes)

    def written(self, writes: int) -> np.ndarray:
        """The array, for the caller to write to at once; it counts as some writes."""
        if self._array is not None and self._is_alone():
            self._count(writes)
        else:
            self._begin(elements_of(self.tensors), writes)
        return self._array  # type: ignore[return-value]

    def _count(self, writes: int) -> None:
        for storage, counter in zip(self._storages, self._counters, strict=True):
            storage.writes += 1
            counter.version += writes

    def _begin(self, array: np.ndarray, writes: int) -> None:
        tensors, parts = self.tensors, list(parts_of(array, self.tensors))
        for tensor, part in zip(tensors, parts, strict=True):
            write(tensor, part)
        self._specs, self._storages = [tensor._spec for tensor in tensors], [storage_of(tensor) for tensor in tensors]
        self._counters = [counter_of(tensor) for tensor in tensors]
        for counter in self._counters:
            counter.version += writes - 1
        self._array, self._parts = array, parts

    def _is_alone(self) -> bool:
        """Tell whether nobody else has the array, or a part of it, so that it can be written to."""
        parts = self._parts
        if not alone() or not _can_be_counted(self._storages):
            return False
        if getrefcount(self._array) != _OWN + len(parts) or list(map(getrefcount, parts)).count(_HELD) != len(parts):
            return False
        forget_xla_copies(parts)
        return True


class Number:
    """Tensors without dimensions that have the same number, and nearly always the same value."""

    __slots__ = ("tensors", "_value", "_storages")

    def __init__(self, tensors: list[Tensor]) -> None:
        self.tensors = tensors
        self._value: Any = None
        self._storages: list[Storage] = []

    def is_whole(self) -> bool:
        """Tell whether the tensors have what they were ``give``n."""
        return all(map(is_, map(_storage_of, self.tensors), self._storages)) and all(
            map(is_, map(_memory_of, self._storages), repeat(self._value))
        )

    def item(self) -> float:
        """The number."""
        return float(to_host(value_of(self.tensors[0])))

    def give(self, number: float) -> None:
        """Write a number to all of them."""
        spec = self.tensors[0]._spec
        value = from_host(np.array(number, spec.dtype.numpy), spec.device)
        if self._storages and _can_be_counted(self._storages):
            for storage in self._storages:
                storage.counter.version += 1
                storage.writes += 1
                storage.value = value
        else:
            for tensor in self.tensors:
                write(tensor, value)
            self._storages = [storage_of(tensor) for tensor in self.tensors]
        self._value = value


def _can_be_counted(storages: Sequence[Storage]) -> bool:
    """Tell whether nobody has to be told of writes, so that it is enough to count them."""
    return not thread.modes.recording and not any(map(_watcher_of, storages))


spec_of, _storage_of = attrgetter("_spec"), attrgetter("_storage")
_memory_of, _watcher_of = attrgetter("memory"), attrgetter("watcher")


def _reference_counts() -> tuple[int, int]:
    """The counts that ``getrefcount`` gives, as it is called in ``FlatBuffer``, of an array without parts and of a
    part."""
    row = FlatBuffer([])
    row._array = np.zeros(1)
    parts = [row._array[:]]
    storage = Storage(parts[0])
    part = next(map(getrefcount, parts))
    del parts, storage
    return getrefcount(row._array), part


_OWN, _HELD = _reference_counts()


def is_same_number(one: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors without dimensions have the same number; nearly always they have the same value."""
    first, second = value_of(one), value_of(other)
    return first is second or bool(to_host(first) == to_host(second))
