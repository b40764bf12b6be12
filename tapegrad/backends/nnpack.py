"""``torch.backends.nnpack``: a library for convolutions that XLA does without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["flags", "is_available", "set_flags"]

_state = {"enabled": True}


def is_available() -> bool:
    """False.

    >>> is_available()
    False
    """
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Keep whether it may be used, and give what was kept before."""
    before, _state["enabled"] = _state["enabled"], _enabled
    return (before,)


@contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """A context in which that is another."""
    (before,) = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(before)
