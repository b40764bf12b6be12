"""``Storage``: the memory that several tensors show, and ``Counter``: how often it was written to.

Note [Memory that is shared]
Arrays are immutable. A tensor that nobody shares has a value of its own and no storage. The first view, or
``detach()``, gives it an *unwritten* storage, which only knows who its members are: each keeps a value of its own, is
*plain*, and pays nothing. From the first write on it is *written*: its ``value`` is the one truth, each write replaces
it and adds one to ``data_version``, and no member is plain any more. A member that shows all of the memory as it lies
reads the storage's value. Any other is a *window* (``Spec.window``): it keeps what it last read, with the data_version
that was (``window_value``), so that reading again what has not changed costs a comparison.

How often data was written is counted apart, for ``x.data`` shares the data of ``x`` but has a ``Counter`` of its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

from tapegrad._src.execution.data.values import same
from tapegrad._src.tape.modes import alone, thread
from tapegrad._src.tape.node import Edge
from tapegrad._src.tape.positions import Position, here


class Counter:
    """The count of writes to data: views share it, and what was saved for backward remembers it.

    Attributes:
        version: the number of writes.
        writes: where each version was written, as far as that is recorded.
        astray: whether a tensor took it along to other memory, and left others behind that share it.
        untracked: whether it is an inference tensor's, of which nobody may ask the version.
    """

    __slots__ = ("version", "writes", "astray", "untracked")

    def __init__(self, version: int = 0) -> None:
        self.version = version
        self.astray = self.untracked = False
        self.writes: dict[int, Position | None] | None = None

    def bump(self) -> None:
        """Count a write."""
        self.version += 1
        if thread.modes.recording:
            self.remember_place()

    def remember_place(self) -> None:
        """Remember where the present version was written."""
        if self.writes is None or len(self.writes) >= 64:  # errors can do without the older ones
            self.writes = {}
        self.writes[self.version] = here()


class OutputMemory(NamedTuple):
    """The memory of one of a node's outputs as the node knows it: where it is now, and its version when the node made
    it.

    ``view_node``: of what was written through a view, the node of the view then, after which errors name it.
    """

    storage: weakref.ref[Storage]
    counter: Counter
    version: int
    view_node: weakref.ref[Any] | None = None

    def now(self, value: Any) -> Any:
        """The value that an output of this value has now: uncounted writes, to ``.data``, may have changed it.

        Memory that NumPy sees is looked at no more. See Note [Memory that NumPy sees] in ``shared.py``.
        """
        storage = self.storage()
        if storage is None or not storage.written or self.view_node is not None or storage.shared:
            return value
        same = storage.value.shape == value.shape and storage.value.dtype == value.dtype
        return storage.value if same else value


class Storage:
    """The memory of one or several tensors. See Note [Memory that is shared].

    Attributes:
        value: all of it, as an array, whose elements lie in memory as ``strides`` say (None: row-major).
        operand: the same for an operator that reads it now, keeps nothing of it, and is not deferred.
        memory: what has its shape, dtype, size and nbytes: ``value`` itself, except where NumPy sees it.
        writes: how often ``value`` was replaced; ``data_version`` is the same, except where NumPy sees it.
        shared: whether NumPy may see it. See Note [Memory that NumPy sees] in ``shared.py``.
        written: whether it has been written to, so that members read their values through it.
        counter: counts writes, for all members that have no counter of their own.
        members: weak references to the tensors that show it, the oldest first.
        watcher: told before each write.
        serial: tells storages apart, also from those that are gone.
        fixed: whether its size is what it is: somebody else has seen the memory, as NumPy does, if only once.
    """

    __slots__ = (
        "value", "strides", "writes", "written", "counter", "members", "watcher", "serial", "fixed", "__weakref__",
    )  # fmt: skip

    _serials = count(1).__next__

    operand: Any
    memory: Any
    data_version: float
    shared = False

    def __init__(self, value: Any, strides: tuple[int, ...] | None = None) -> None:
        self.value, self.strides = value, strides
        self.writes = 0
        self.written = False
        self.counter = Counter()
        self.members: list[weakref.ref[Any]] = []
        self.watcher: Callable[[Storage], None] | None = None
        self.serial = Storage._serials()
        self.fixed = False

    @property
    def version(self) -> int:
        """The number of times that it was written to, not counting writes to ``.data``."""
        return self.counter.version

    def admit(self, tensor: Any) -> None:
        """Note that a tensor shows this memory. The caller holds ``making``, if others may know of it."""
        members = self.members
        if len(members) >= 8 and not len(members) & (len(members) - 1):  # at each power of two: forget the dead
            members[:] = [member for member in members if member() is not None]
        members.append(weakref.ref(tensor))

    def living(self) -> Iterator[Any]:
        """The members that somebody still holds."""
        tensors = (member() for member in tuple(self.members))
        return (tensor for tensor in tensors if tensor is not None and tensor._storage is self)

    def replace(self, value: Any) -> None:
        """Put other data in place of the present; the caller counts the write."""
        if self.watcher is not None:
            self.watcher(self)
        self.value = value
        self.writes += 1
        self._let_go()

    def _let_go(self) -> None:
        """Let members not keep what was written over.

        Where there are many members, a write can't afford to tell them all.
        """
        for member in self.members[:16]:
            tensor = member()
            if tensor is not None and tensor._storage is self:
                spec = tensor._spec
                last = self.writes > 1 and not spec.level
                if last and (spec.window or tensor._value is None or alone()):
                    tensor._value = None
                elif not spec.window:  # a write may meet a thread that reads what was a plain tensor
                    tensor._value = self.value

    def comes_from(self, edge: Edge, counter: Counter | None = None) -> None:
        """Let the node that made the present data find it again, and learn of later writes."""
        node, output_nr = edge
        counter = counter or self.counter
        made = OutputMemory(weakref.ref(self), counter, counter.version)
        node.output_storages = {**(node.output_storages or {}), output_nr: made}


Storage.memory = Storage.operand = Storage.value  # type: ignore[misc]  # the slots, by other names
Storage.data_version = Storage.writes  # type: ignore[misc]


class InferenceStorage(Storage):
    """The memory of a tensor that was made in inference mode: nobody may ask how often it was written to.

    See Note [Inference tensors] in ``spec.py``.
    """

    __slots__ = ()

    def __init__(self, value: Any, strides: tuple[int, ...] | None = None) -> None:
        super().__init__(value, strides)
        self.counter.untracked = True


def storage_made_by(edge: Edge, value: Any, strides: tuple[int, ...] | None) -> Storage:
    """The storage of an output of a node: the one that handles on it share, while it is as the node made it."""
    node, output_nr = edge
    made = None if node.output_storages is None else node.output_storages.get(output_nr)
    if made is None:
        storage = Storage(value, strides)
        storage.comes_from(edge)
        return storage
    present = made.storage()
    unwritten = made.counter.version == made.version
    if unwritten and present is not None and same(present.value, made.now(value)):
        return present
    storage = Storage(value, strides)
    if unwritten:  # a part of a memory, or one that nobody holds any more: writes to it still count
        storage.counter = made.counter
        if present is None:
            storage.comes_from(edge)
    return storage
