"""``Storage``: the one place where the data of several tensors lives, and how often it was written."""

from __future__ import annotations

from typing import Any


class Storage:
    """A value that tensors share, and its version counter.

    Arrays are immutable: a write replaces ``value`` and adds one to ``version``. A tensor that was never shared or
    written has no storage object of its own (its spec is *plain*); it gets one when that changes.
    """

    __slots__ = ("value", "version")

    def __init__(self, value: Any, version: int = 0) -> None:
        self.value = value
        self.version = version

    def write(self, value: Any) -> None:
        """Replace the data; every tensor on this storage sees it."""
        self.value = value
        self.version += 1


class StorageAlias(Storage):
    """The data of another storage, under a version counter of its own: what ``x.data`` gives."""

    __slots__ = ("origin",)

    def __init__(self, origin: Storage, version: int = 0) -> None:
        self.origin = origin.origin if isinstance(origin, StorageAlias) else origin
        self.version = version

    @property
    def value(self) -> Any:  # type: ignore[override]
        """The value of the storage whose data this is."""
        return self.origin.value

    @value.setter
    def value(self, value: Any) -> None:
        self.origin.value = value
