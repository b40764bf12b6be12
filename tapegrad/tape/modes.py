"""Thread-local modes: what the thread has switched on, as one interned object.

Note [One mode object]
A thread's modes (grad, inference, anomaly, ...) are one immutable, interned ``Modes`` object. Plans are keyed by it,
so a mode that changes how an operator runs costs nothing per call: another object, another plan. Code that asks
for a single mode reads an attribute of it.

Note [Watchers]
What wants to see every operator, every node that is made, or every node that is run registers a function with the
thread: ``interceptors`` get the calls of operators, the innermost first (``dispatch/call.py``); ``node_watchers`` every
node that is made; ``backward_watchers`` wrap the currency of a backward call. Whether there are any is a mode, so that
a program without them runs by other plans, which know nothing of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Modes:
    """An immutable set of modes; equal sets are the same object.

    >>> Modes.of(grad=False) is Modes.of(grad=False)
    True
    >>> Modes.of(grad=False).replace(grad=True) is Modes.of()
    True
    """

    __slots__ = (
        "grad", "inference", "anomaly", "forward_level", "multithreading", "torch_function", "saved_hooks",
        "intercepted", "watched", "forward_grad",
    )  # fmt: skip
    _defaults: dict[str, Any] = {
        "grad": True,
        "inference": False,
        "anomaly": None,
        "forward_level": -1,
        "multithreading": True,
        "torch_function": True,
        "saved_hooks": False,
        "intercepted": False,
        "watched": False,
        "forward_grad": True,
    }
    _interned: dict[tuple, Modes] = {}

    grad: bool
    inference: bool
    anomaly: Any
    forward_level: int
    multithreading: bool
    torch_function: bool
    saved_hooks: bool
    intercepted: bool
    watched: bool
    forward_grad: bool

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
    """What belongs to one thread.

    Attributes:
        modes: what is switched on.
        saved_hooks: pairs (pack, unpack) for tensors that are saved, the innermost last; ``modes.saved_hooks`` says
            whether the last one is in force.
        saved_hooks_disabled: why such hooks may not be used now, or None.
        duals: weak references to the tensors that have a tangent; see Note [Duals] in ``tensor/dual.py``.
        interceptors, node_watchers, backward_watchers: see Note [Watchers].
    """

    modes = Modes.of()
    saved_hooks: tuple = ()
    saved_hooks_disabled: str | None = None
    interceptors: tuple[Callable, ...] = ()
    node_watchers: tuple[Callable, ...] = ()
    backward_watchers: tuple[Callable, ...] = ()

    def __init__(self) -> None:
        self.duals: list = []


thread = _Thread()
"""The calling thread's state; ``thread.modes`` is its ``Modes`` object."""


def thread_state() -> dict[str, Any]:
    """All that is switched on in this thread, for another one that works on its behalf (``adopt``)."""
    return dict(vars(thread))


@contextmanager
def adopt(state: dict[str, Any]) -> Iterator[None]:
    """Run a block with another thread's state."""
    own = dict(vars(thread))
    vars(thread).clear()
    vars(thread).update(state)
    try:
        yield
    finally:
        vars(thread).clear()
        vars(thread).update(own)


@contextmanager
def watching(
    *,
    interceptor: Callable | None = None,
    node_watcher: Callable | None = None,
    backward_watcher: Callable | None = None,
) -> Iterator[None]:
    """Register watchers for a block. See Note [Watchers]."""
    before = thread.modes, thread.interceptors, thread.node_watchers, thread.backward_watchers
    if interceptor is not None:
        thread.interceptors = (*thread.interceptors, interceptor)
    if node_watcher is not None:
        thread.node_watchers = (*thread.node_watchers, node_watcher)
    if backward_watcher is not None:
        thread.backward_watchers = (*thread.backward_watchers, backward_watcher)
    thread.modes = thread.modes.replace(
        intercepted=bool(thread.interceptors), watched=bool(thread.node_watchers)
    )
    try:
        yield
    finally:
        modes, thread.interceptors, thread.node_watchers, thread.backward_watchers = before
        thread.modes = thread.modes.replace(intercepted=modes.intercepted, watched=modes.watched)


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
