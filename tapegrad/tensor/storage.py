"""``Storage``: the one place where the data of several tensors lives, and how often it was written."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tapegrad.errors import INFERENCE_IN_PLACE
from tapegrad.tape.modes import thread
from tapegrad.tape.node import Edge, Node
from tapegrad.tape.positions import Position, here


class Storage:
    """A value that tensors share, and its version counter.

    Arrays are immutable: a write replaces ``value`` and adds one to ``version``. A tensor that was never shared or
    written has no storage object of its own (its spec is *plain*); it gets one when that changes.
    ``writes`` says where each version was written, as far as that is recorded. A ``watcher`` is told before each write.
    """

    __slots__ = ("founder", "made_at", "maker", "value", "version", "watcher", "writes", "__weakref__")

    watcher: Callable[[Storage], None] | None
    founder: weakref.ref[Any] | None

    def __init__(self, value: Any, version: int = 0) -> None:
        self.value = value
        self.version = version
        self.maker: tuple[weakref.ref[Node], int] | None = None
        self.made_at = version
        self.watcher = self.founder = None
        self.writes: dict[int, Position | None] | None = None

    @property
    def root(self) -> Storage:
        """The storage that holds the data: this one, unless it is an alias."""
        return self

    def comes_from(self, edge: Edge | None) -> None:
        """Remember which node made the present value, so that it learns of later writes and finds this storage."""
        self.maker = None if edge is None else (weakref.ref(edge[0]), edge[1])
        self.made_at = self.version
        if edge is not None:
            node, output_nr = edge
            node.output_storages = {**(node.output_storages or {}), output_nr: weakref.ref(self)}

    def write(self, value: Any) -> None:
        """Replace the data; every tensor on this storage sees it, and the node that made the old data is told."""
        if self.watcher is not None:
            self.watcher(self)
        self.value = value
        self.version += 1
        if self.founder is not None:
            self.refresh_founder()
        if thread.modes.recording:
            self._note_write()
        if self.maker is not None:
            self._tell_maker()

    def set_version(self, version: int) -> None:
        """Set how often the data counts as written."""
        self.version = version
        self._tell_maker()

    def _tell_maker(self) -> None:
        """Let the node that made the old data know of the present version."""
        node = None if self.maker is None else self.maker[0]()
        if node is None or self.maker is None:
            return
        others = {nr: versions for nr, versions in (node.written_outputs or {}).items() if nr != self.maker[1]}
        written = {self.maker[1]: (self.version, self.made_at)} if self.version != self.made_at else {}
        node.written_outputs = others | written or None
        if self.writes is not None:
            node._writes = {**(node._writes or {}), self.maker[1]: self.writes}

    def refresh_founder(self) -> None:
        """Let the tensor that was plain before it got this storage see the present value as its own.

        Another thread may have looked at its spec before, and read its value only now; besides, the old value is free.
        """
        assert self.founder is not None
        tensor = self.founder()
        if tensor is not None and tensor._storage is self:
            tensor._value = self.value

    def _note_write(self) -> None:
        """Remember where this version was written."""
        if self.writes is None or len(self.writes) >= 64:  # errors can do without the older ones
            self.writes = {}
        self.writes[self.version] = here()


class InferenceStorage(Storage):
    """The data of a tensor that was made in inference mode: it can be written to in that mode only.

    See Note [Inference tensors] in ``spec.py``.
    """

    __slots__ = ("data",)

    @property
    def value(self) -> Any:
        """The value.

        Raises:
            RuntimeError: set outside inference mode.
        """
        return self.data

    @value.setter
    def value(self, value: Any) -> None:
        if hasattr(self, "data") and not thread.modes.inference:
            raise RuntimeError(INFERENCE_IN_PLACE)
        self.data = value


def storage_made_by(edge: Edge, value: Any) -> Storage:
    """The storage of an output of a node: the one that handles on it share, while it is as the node made it."""
    node, output_nr = edge
    reference = None if node.output_storages is None else node.output_storages.get(output_nr)
    storage = None if reference is None else reference()
    if storage is None or storage.version != storage.made_at or storage.value is not value:
        storage = Storage(value)
        storage.comes_from(edge)
    return storage


class StorageAlias(Storage):
    """The data of another storage, under a version counter of its own: what ``x.data`` gives."""

    __slots__ = ("origin",)

    origin: Storage

    def __init__(self, origin: Storage, version: int = 0) -> None:
        self.origin = origin.origin if isinstance(origin, StorageAlias) else origin
        self.version = self.made_at = version
        self.maker = self.writes = None

    @property
    def value(self) -> Any:
        """The value of the storage whose data this is."""
        return self.origin.value

    @value.setter
    def value(self, value: Any) -> None:
        self.origin.value = value

    @property
    def watcher(self) -> Callable[[Storage], None] | None:  # type: ignore[override]
        """Who is told before a write: whoever is told of writes to the storage whose data this is."""
        return self.origin.watcher

    @property
    def founder(self) -> weakref.ref[Any] | None:  # type: ignore[override]
        """The tensor whose own value is to be refreshed: that of the storage whose data this is."""
        return self.origin.founder

    def refresh_founder(self) -> None:
        self.origin.refresh_founder()

    @property
    def root(self) -> Storage:
        return self.origin
