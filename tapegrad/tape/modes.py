"""Thread-local modes: what the thread has switched on, as one interned object.

Note [One mode object]
A thread's modes (grad, inference, anomaly, ...) are one immutable, interned ``Modes`` object. Plans are keyed by it,
so a mode that changes how an operator runs costs nothing per call: another object, another plan. Code that asks
for a single mode reads an attribute of it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Modes:
    """An immutable set of modes; equal sets are the same object.

    >>> Modes.of(grad=False) is Modes.of(grad=False)
    True
    >>> Modes.of(grad=False).replace(grad=True) is Modes.of()
    True
    """

    __slots__ = ("grad", "inference", "anomaly", "forward_level", "multithreading", "torch_function")
    _defaults: dict[str, Any] = {
        "grad": True,
        "inference": False,
        "anomaly": None,
        "forward_level": -1,
        "multithreading": True,
        "torch_function": True,
    }
    _interned: dict[tuple, Modes] = {}

    grad: bool
    inference: bool
    anomaly: Any
    forward_level: int
    multithreading: bool
    torch_function: bool

    @classmethod
    def of(cls, **changes: Any) -> Modes:
        """The modes that differ from the defaults by ``changes``."""
        values = {**cls._defaults, **changes}
        key = tuple(values.values())
        modes = cls._interned.get(key)
        if modes is None:
            modes = cls._interned.setdefault(key, object.__new__(cls))
            for name, value in values.items():
                object.__setattr__(modes, name, value)
        return modes

    def replace(self, **changes: Any) -> Modes:
        """These modes, with ``changes``."""
        return self.of(**{name: getattr(self, name) for name in self.__slots__} | changes)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("Modes are immutable; use replace()")

    def __repr__(self) -> str:
        return f"Modes({', '.join(f'{name}={getattr(self, name)}' for name in self.__slots__)})"


class _Thread(threading.local):
    modes = Modes.of()


thread = _Thread()
"""The calling thread's state; ``thread.modes`` is its ``Modes`` object."""


@contextmanager
def switched(**changes: Any) -> Iterator[None]:
    """Run a block under changed modes and restore the caller's afterwards, whatever happens inside.

    >>> with switched(grad=False):
    ...     thread.modes.grad
    False
    >>> thread.modes.grad
    True
    """
    previous = thread.modes
    thread.modes = previous.replace(**changes)
    try:
        yield
    finally:
        thread.modes = previous
