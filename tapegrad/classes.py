"""``torch.classes``: classes in C++ that other libraries register with PyTorch; here nobody does."""

from __future__ import annotations

from typing import Any, NoReturn

from tapegrad._src.absent import refused

__all__ = ["load_library", "loaded_libraries"]

loaded_libraries: set[str] = set()
load_library = refused("torch.classes.load_library", "there is no core in C++ that an extension could register with")


class _ClassesOf:
    """The classes of a library, which are asked for by name.

    Raises:
        RuntimeError: PyTorch's message, for any.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(
            f"Tried to instantiate class '{self.name}.{name}', but it does not exist! Ensure that it is registered via "
            "torch::class_"
        )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _ClassesOf(name)
