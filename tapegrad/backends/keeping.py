"""Switches of a library, kept as names in the module of ``torch.backends`` that has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def kept(switches: dict[str, Any], **given: Any) -> Iterator[None]:
    """A context in which switches have other values.

    >>> switches = {"enabled": True}
    >>> with kept(switches, enabled=False):
    ...     print(switches)
    {'enabled': False}
    >>> switches
    {'enabled': True}
    """
    before = {name: switches[name] for name in given}
    switches.update(given)
    try:
        yield
    finally:
        switches.update(before)
