"""Reading pickles that are trusted: Python's own unpickler, which finds ours where a file names PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from tapegrad.serialization.names import find
from tapegrad.serialization.unpickling import Source


class TrustingUnpickler:
    """The additions to an unpickler: mixed into that of ``pickle``, or of another module of its kind."""

    def __init__(self, source: Source, persistent_load: Callable[[Any], Any], options: dict) -> None:
        super().__init__(source, **options)  # type: ignore[call-arg]
        self.storage_named = persistent_load

    def persistent_load(self, named: Any) -> Any:
        """The storage of a name."""
        return self.storage_named(named)

    def find_class(self, module: str, name: str) -> Any:
        """The object that a name stands for: ours, where it is PyTorch's."""
        if module.partition(".")[0] == "torch":
            return find(module, name)
        return super().find_class(module, name)  # type: ignore[misc]

    @staticmethod
    @cache
    def of(pickle_module: Any) -> Any:
        """The class that is made of a module's unpickler."""
        return type("Unpickler", (TrustingUnpickler, pickle_module.Unpickler), {})
