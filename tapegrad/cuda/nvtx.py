"""``torch.cuda.nvtx``: names of what runs, for NVIDIA's profiler. They are counted, and nobody is told:
``torch.profiler.record_function`` names ranges that ``torch.profiler`` shows."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_open = threading.local()
_handles = itertools.count(1)


def range_push(msg: str) -> int:
    """Begin a range; returns how many are around it.

    >>> range_push("epoch"), range_push("step"), range_pop(), range_pop()
    (0, 1, 1, 0)
    """
    depth = getattr(_open, "depth", 0)
    _open.depth = depth + 1
    return depth


def range_pop() -> int:
    """End the innermost range; returns how many were around it."""
    _open.depth = max(getattr(_open, "depth", 0), 1) - 1
    return _open.depth


def range_start(msg: str) -> int:
    """Begin a range that may end on another thread; returns what ends it."""
    return next(_handles)


def range_end(range_id: int) -> None:
    """End a range, by what ``range_start`` gave."""


def mark(msg: str) -> None:
    """Name a moment."""


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context, and a decorator, that is a range.

    Args:
        msg: its name, with fields as those of ``str.format``.
        args, kwargs: what goes there.
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
