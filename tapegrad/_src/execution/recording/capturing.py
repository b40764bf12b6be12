"""The capture of what a thread computes, and who captures it.

Note [Capturing]
While a call is captured (Note [Captured calls] in ``compiler/capture/capture.py``) nothing is computed: all belongs to
a program that is run later, and again. Whoever asks for elements, writes to memory, takes a random key, or makes a
tensor of something that kernels don't see has to tell. ``capturing.by`` is who wants to know; None mostly, and in all
threads but the one that calls.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
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


capturing = _Capturing()
"""The capturer of what the calling thread computes, and the function that Python tells what runs, if it is the only
one."""


@contextmanager
def unwatched() -> Iterator[None]:
    """Have Python tell nothing of what runs, in a block: Note [What is not watched]."""
    tracer = capturing.tracer
    if tracer is None or sys.gettrace() is not tracer:
        yield
        return
    try:
        sys.settrace(None)
        yield
    finally:
        sys.settrace(tracer)


def is_dynamic(number: Any) -> bool:
    """Tell whether a number is to be an argument of kernels whatever it is. See Note [Dynamic numbers]."""
    capture = capturing.by
    return capture is not None and capture.is_dynamic(number)
