"""The capture of what a thread computes, and who captures it.

Note [Capturing]
While a call is captured (Note [Captured calls] in ``compiler/capture/capture.py``) nothing is computed: all belongs to
a program that is run later, and again. Whoever asks for elements, writes to memory, takes a random key, or makes a
tensor of something that kernels don't see has to tell. ``capturing.by`` is who wants to know; None mostly, and in all
threads but the one that calls.

Note [What is not watched]
Before Python 3.12 it tells of each function that begins, also of ours: a hundred thousand while a first call is
planned and traced, a microsecond each. So it tells nothing in blocks that can't call anything of the user's
(``unwatched``): where a call of an operator of our own is planned, or its kernels are traced; and in the updates of
parameters that are like one before (``Repetition``).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np


class Capturer(Protocol):
    """A listener that is told of calls while it captures.

    Attributes:
        checks: results of checks that are part of what is captured, each with the check; to be appended to.
        reads_grad: to be set when Python looks at the gradient of a tensor, or sets it.
    """

    checks: list[tuple[Any, Any]]
    reads_grad: bool

    def note(self, tensor: Any) -> None:
        """A tensor is going to be written to."""

    def note_constant(self, array: np.ndarray) -> None:
        """An array was used that no tensor has."""

    def note_random(self, array: np.ndarray | None, stream: Any, before: Any, how: Any) -> None:
        """Something was taken from a stream of random numbers.

        Args:
            array: a key, or numbers; None if the stream only was moved.
            stream: the stream.
            before: its mark before that.
            how: what a stream without keys does to make it again.
        """

    def withhold(self, storage: Any) -> bool:
        """Tell whether NumPy sees what is written to a memory only when the program has been run."""
        ...

    def is_dynamic(self, number: Any) -> bool:
        """Tell whether a number is another one in each call of what is captured."""
        ...

    def read_late(self, value: Any, number_type: type) -> Any:
        """A stand-in for the only element of a value until that is known; None if it is to be read now."""

    def may_read(self, value: Any) -> bool:
        """Tell whether the elements of a value may be read, which are then the same in each call of what is
        captured."""
        ...

    def demand(self) -> None:
        """Somebody wants elements."""


class _Capturing(threading.local):
    by: Capturer | None = None
    tracer: Any = None
    users_code = 0


capturing = _Capturing()
"""The capturer of what the calling thread computes, the function that Python tells what runs, if it is the only one,
and how often it was told that code of the user's begins."""


@contextmanager
def unwatched(own: bool = True) -> Iterator[None]:
    """Have Python tell nothing of what runs, in a block: Note [What is not watched]. ``own``: if it is all our own."""
    tracer = capturing.tracer
    if not own or tracer is None or sys.gettrace() is not tracer:
        yield
        return
    try:
        sys.settrace(None)
        yield
    finally:
        sys.settrace(tracer)


class Repetition:
    """Blocks that do the same for things that are alike: if none of the user's code runs in one, Python tells nothing
    of those that follow. See Note [What is not watched].
    """

    def __init__(self) -> None:
        self._known: set[Hashable] = set()

    @contextmanager
    def of(self, key_of: Callable[..., Hashable], *things: Any) -> Iterator[None]:
        """A block for some things, of which ``key_of`` gives all that decides what it runs."""
        if capturing.tracer is None:
            yield
            return
        key, before = key_of(*things), capturing.users_code
        with unwatched(key in self._known):
            yield
        if capturing.users_code == before:
            self._known.add(key)


def is_dynamic(number: Any) -> bool:
    """Tell whether a number is to be an argument of kernels whatever it is. See Note [Dynamic numbers]."""
    capture = capturing.by
    return capture is not None and capture.is_dynamic(number)
