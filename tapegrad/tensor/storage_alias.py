"""``StorageAlias``: the data of a storage under another version counter."""

from __future__ import annotations

from typing import Any

from tapegrad.tensor.storage import Storage


class StorageAlias(Storage):
    """Shares the value of another storage, but counts its own writes only: what is behind ``x.data``."""

    __slots__ = ("shared",)

    def __init__(self, of: Storage, version: int = 0) -> None:
        self.shared = of.shared if isinstance(of, StorageAlias) else of
        super().__init__(self.shared.value, version)

    @property
    def value(self) -> Any:  # type: ignore[override]
        """The value of the storage whose data this is."""
        return self.shared.value

    @value.setter
    def value(self, value: Any) -> None:
        self.shared.value = value
