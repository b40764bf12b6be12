"""``Storage``: the one place where the data of several tensors lives, and how often it was written."""

from __future__ import annotations

import weakref
from typing import Any

from tapegrad.tape.node import Edge, Node


class Storage:
    """A value that tensors share, and its version counter.

    Arrays are immutable: a write replaces ``value`` and adds one to ``version``. A tensor that was never shared or
    written has no storage object of its own (its spec is *plain*); it gets one when that changes.
    """

    __slots__ = ("made_at", "maker", "value", "version")

    def __init__(self, value: Any, version: int = 0) -> None:
        self.value = value
        self.version = version
        self.maker: tuple[weakref.ref[Node], int] | None = None
        self.made_at = version

    @property
    def root(self) -> Storage:
        """The storage that holds the data: this one, unless it is an alias."""
        return self

    def comes_from(self, edge: Edge | None) -> None:
        """Remember which node made the present value, so that it learns of later writes."""
        self.maker = None if edge is None else (weakref.ref(edge[0]), edge[1])
        self.made_at = self.version

    def write(self, value: Any) -> None:
        """Replace the data; every tensor on this storage sees it, and the node that made the old data is told."""
        self.value = value
        self.version += 1
        if self.maker is not None:
            node = self.maker[0]()
            if node is not None:
                node.written_outputs = {**(node.written_outputs or {}), self.maker[1]: (self.version, self.made_at)}


class StorageAlias(Storage):
    """The data of another storage, under a version counter of its own: what ``x.data`` gives."""

    __slots__ = ("origin",)

    origin: Storage

    def __init__(self, origin: Storage, version: int = 0) -> None:
        self.origin = origin.origin if isinstance(origin, StorageAlias) else origin
        self.version = self.made_at = version
        self.maker = None

    @property
    def value(self) -> Any:
        """The value of the storage whose data this is."""
        return self.origin.value

    @value.setter
    def value(self, value: Any) -> None:
        self.origin.value = value

    @property
    def root(self) -> Storage:
        return self.origin
