"""``torch.classes``: classes in C++ that other libraries register with PyTorch; here nobody does."""

from __future__ import annotations

import types
from typing import Any, NoReturn

from tapegrad._src.absent import refused

__all__ = ["classes"]


class _ClassNamespace(types.ModuleType):
    """The classes of a library, which are asked for by name.

    Raises:
        RuntimeError: PyTorch's message, for any.
    """

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(
            f"Tried to instantiate class '{self.__name__}.{name}', but it does not exist! Ensure that it is registered "
            "via torch::class_"
        )


class _Classes(types.ModuleType):
    """The libraries, each by its name."""

    load_library = staticmethod(refused(
        "torch.classes.load_library", "there is no core in C++ that an extension could register with"
    ))  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _ClassNamespace(name)


classes = _Classes("torch.classes")
